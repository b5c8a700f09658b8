"""The contract as generators of clients read it: derived from openapi.yaml, and never stored.

It is OpenAPI 3.0, which every generator takes. Where the contract leaves statuses, error bodies and texts open, this
names those that a client meets usually; so it serves to write clients with, not to judge servers by.

Mocks are made of it, too. They cannot follow patterns, or take the first value that does, so schemas of answers have
examples instead: those of the contract's responses, as a whole and for each property.
"""

from collections.abc import Mapping
from typing import Any

from link_management_contract import OPERATIONS, Contract

STATUSES = {"list": ("200",), "create": ("200", "201"), "read": ("200",), "update": ("200",), "delete": ("200", "204")}
DESCRIPTION = """\
For generators of clients, derived from the contract in `openapi.yaml`. Deployments may answer with other statuses and
other error bodies than those given here; the contract says what is certain.

The page links of splash pages name a path at which no list answers. To read another page, send the list its number
(`page`) and the page size of the first (`results_per_page`).
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
DROPPED = frozenset({"not", "contentMediaType", "links", "encoding"})


def client_contract(contract: Contract) -> dict[str, Any]:
    """The rendering of a contract, an OpenAPI 3.0 document; its base URL is that of the contract's examples."""
    document = contract.document
    named_schemas = document["components"]["schemas"] | ERRORS
    schemas = {name: _schema(contract, schema) for name, schema in named_schemas.items()}
    paths = {path: _path(contract, item) for path, item in document["paths"].items()}
    for operation in (operation for path in paths.values() for operation in path.values()):
        for answer in operation["responses"].values():
            for content in answer.get("content", {}).values():
                _illustrate(schemas, content["schema"], content["example"])
    return {
        "openapi": "3.0.3",
        "info": {
            "title": document["info"]["title"],
            "version": document["info"]["version"],
            "description": DESCRIPTION,
            "license": {"name": document["info"]["license"]["name"]},
        },
        "servers": [{"url": contract.base_url}],
        "security": document["security"],
        "tags": document["tags"],
        "paths": paths,
        "components": {"securitySchemes": document["components"]["securitySchemes"], "schemas": schemas},
    }


def _path(contract: Contract, item: Mapping[str, Any]) -> dict[str, Any]:
    shared = [contract.resolve(parameter) for parameter in item.get("parameters", ())]
    return {
        method: _operation(contract, operation, shared) for method, operation in item.items() if method != "parameters"
    }


def _operation(contract: Contract, operation: Mapping[str, Any], shared: list[Any]) -> dict[str, Any]:
    kind = next(name for name in OPERATIONS if operation["operationId"].startswith(name))
    answer = _answer(contract, operation["responses"]["2XX"])
    rendered = {name: operation[name] for name in ("operationId", "tags", "summary", "description")}
    parameters = [*shared, *(contract.resolve(parameter) for parameter in operation.get("parameters", ()))]
    if parameters:
        rendered["parameters"] = [_schema(contract, parameter) for parameter in parameters]
    if "requestBody" in operation:
        form = operation["requestBody"]["content"]["multipart/form-data"]["schema"]
        rendered["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": form}}}
    rendered["responses"] = {**dict.fromkeys(STATUSES[kind], answer), "default": _failed(contract)}
    return rendered


def _answer(contract: Contract, response: Any) -> dict[str, Any]:
    resolved = contract.resolve(response)
    content = resolved.get("content", {}).get("application/json")
    if not content:
        return {"description": resolved["description"]}
    return _described(resolved["description"], _schema(contract, content["schema"]), content["example"])


def _failed(contract: Contract) -> dict[str, Any]:
    client_error = contract.document["components"]["responses"]["ClientError"]["content"]["*/*"]
    schema = {"$ref": "#/components/schemas/ErrorEnvelope"}
    return _described("The request was refused, or the service failed.", schema, client_error["example"])


def _described(description: str, schema: Any, example: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema, "example": example}}}


def _illustrate(schemas: Mapping[str, Any], schema: dict[str, Any], example: Any) -> None:
    """Replace patterns by examples, in a schema of answers and in those of all its parts."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    schema.pop("pattern", None)
    if example is not None:
        schema.setdefault("example", example)
    for name, part in schema.get("properties", {}).items():
        _illustrate(schemas, part, (example or {}).get(name))
    if "items" in schema:
        _illustrate(schemas, schema["items"], next(iter(example or ()), None))


def _schema(contract: Contract, node: Any) -> Any:
    """A schema, or what holds one, in OpenAPI 3.0: no `not`, no `allOf`, no list of types, no `x-` key."""
    if isinstance(node, list):
        return [_schema(contract, item) for item in node]
    if not isinstance(node, dict):
        return node
    if "allOf" in node:
        node = _merge_parts(contract, node)
    rendered = {
        name: {key: _schema(contract, member) for key, member in value.items()}
        if name == "properties"
        else _schema(contract, value)
        for name, value in node.items()
        if name not in DROPPED and not name.startswith("x-")
    }
    if isinstance(rendered.get("type"), list):
        rendered |= {"type": next(type_name for type_name in rendered["type"] if type_name != "null"), "nullable": True}
    if isinstance(rendered.get("examples"), list):
        rendered["example"] = rendered.pop("examples")[0]
    return rendered


def _merge_parts(contract: Contract, schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object schema with the properties and required names of all its parts."""
    parts = [contract.resolve(part) for part in schema["allOf"]]
    own_members = {name: value for name, value in schema.items() if name != "allOf"}
    properties = {name: value for part in parts for name, value in part.get("properties", {}).items()}
    required = [name for part in parts for name in part.get("required", ())]
    return own_members | {"type": "object", "properties": properties} | ({"required": required} if required else {})
