"""The contract as generators of clients read it: derived from openapi.yaml, and never stored.

It is OpenAPI 3.0, which every generator takes. Where the contract leaves statuses, error bodies and texts open, this
names those that a client meets usually; so it serves to write clients with, not to judge servers by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from link_management_contract import OPERATIONS, Contract

STATUSES = {"list": ("200",), "create": ("200", "201"), "read": ("200",), "update": ("200",), "delete": ("200", "204")}
DESCRIPTION = """\
For generators of clients, derived from the contract in `openapi.yaml`. Deployments may answer with other statuses and
other error bodies than those given here; the contract says what is certain.
"""
ERRORS = {
    "ErrorEnvelope": {
        "type": "object",
        "description": "What the mock server answers to a request that it refuses; other deployments may differ.",
        "properties": {"errors": {"type": "array", "items": {"$ref": "#/components/schemas/ErrorDetail"}}},
    },
    "ErrorDetail": {
        "type": "object",
        "required": ["title"],
        "properties": {
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "rule": {"type": "string"},
            "field": {"type": "string"},
        },
    },
}
FAILED = {
    "description": "The request was refused, or the service failed.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorEnvelope"}}},
}
DROPPED = frozenset({"not", "contentMediaType", "links", "encoding"})


def client_contract(contract: Contract, base_url: str) -> dict[str, Any]:
    """The rendering of a contract.

    Args:
        contract: what it is derived from.
        base_url: the URL of the deployment that clients call unless they are told of another.

    Returns:
        An OpenAPI 3.0 document.
    """
    document = contract.document
    return {
        "openapi": "3.0.3",
        "info": {
            "title": document["info"]["title"],
            "version": document["info"]["version"],
            "description": DESCRIPTION,
            "license": {"name": document["info"]["license"]["name"]},
        },
        "servers": [{"url": base_url}],
        "security": document["security"],
        "tags": document["tags"],
        "paths": {path: _path(contract, item) for path, item in document["paths"].items()},
        "components": {
            "securitySchemes": document["components"]["securitySchemes"],
            "schemas": {name: _schema(contract, each) for name, each in document["components"]["schemas"].items()}
            | ERRORS,
        },
    }


def _path(contract: Contract, item: Mapping[str, Any]) -> dict[str, Any]:
    shared = [contract.resolve(each) for each in item.get("parameters", ())]
    return {
        method: _operation(contract, operation, shared) for method, operation in item.items() if method != "parameters"
    }


def _operation(contract: Contract, operation: Mapping[str, Any], shared: list[Any]) -> dict[str, Any]:
    kind = next(each for each in OPERATIONS if operation["operationId"].startswith(each))
    answer = _answer(contract, operation["responses"]["2XX"])
    rendered = {name: operation[name] for name in ("operationId", "tags", "summary", "description")}
    parameters = [*shared, *(contract.resolve(each) for each in operation.get("parameters", ()))]
    if parameters:
        rendered["parameters"] = [_schema(contract, each) for each in parameters]
    if "requestBody" in operation:
        form = operation["requestBody"]["content"]["multipart/form-data"]["schema"]
        rendered["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": form}}}
    rendered["responses"] = {**dict.fromkeys(STATUSES[kind], answer), "default": FAILED}
    return rendered


def _answer(contract: Contract, response: Any) -> dict[str, Any]:
    found = contract.resolve(response)
    content = found.get("content", {}).get("application/json")
    if not content:
        return {"description": found["description"]}
    schema = _schema(contract, content["schema"])
    return {
        "description": found["description"],
        "content": {"application/json": {"schema": schema, "example": content["example"]}},
    }


def _schema(contract: Contract, node: Any) -> Any:
    """A schema, or what holds one, in OpenAPI 3.0: no `not`, no `allOf`, no list of types, no `x-` key."""
    if isinstance(node, list):
        return [_schema(contract, each) for each in node]
    if not isinstance(node, dict):
        return node
    if "allOf" in node:
        node = _merged(contract, node)
    rendered = {
        name: {key: _schema(contract, each) for key, each in value.items()}
        if name == "properties"
        else _schema(contract, value)
        for name, value in node.items()
        if name not in DROPPED and not name.startswith("x-")
    }
    if isinstance(rendered.get("type"), list):
        rendered |= {"type": next(each for each in rendered["type"] if each != "null"), "nullable": True}
    if isinstance(rendered.get("examples"), list):
        rendered["example"] = rendered.pop("examples")[0]
    return rendered


def _merged(contract: Contract, schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object schema with the properties and required names of all its parts."""
    parts = [contract.resolve(part) for part in schema["allOf"]]
    own = {name: value for name, value in schema.items() if name != "allOf"}
    properties = {name: value for part in parts for name, value in part.get("properties", {}).items()}
    required = [name for part in parts for name in part.get("required", ())]
    return own | {"type": "object", "properties": properties} | ({"required": required} if required else {})
