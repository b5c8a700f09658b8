"""The tables of openapi.yaml that the suite judges by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
OPERATIONS = ("list", "create", "read", "update", "delete")


def operation_of(operation_id: str) -> str:
    """The operation that an `operationId` names."""
    return next(each for each in OPERATIONS if operation_id.startswith(each))


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the contract.

    Attributes:
        id: its permanent name, `area.slug`.
        level: `stated`, `implied` or `advisory`.
        decided_by: `exchange` if one answer is enough to judge it, `state` if several are needed, `round` if requests
            that overlap are.
        section: the heading of the specification that it stands under.
        numbers: the statements of the specification that it covers.
        resources: the names of the resources that it applies to.
    """

    id: str
    level: str
    decided_by: str
    section: str
    statement: str
    numbers: tuple[int | str, ...]
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """A freedom of the specification, with the values known to occur and what each means."""

    id: str
    section: str
    statement: str
    numbers: tuple[int | str, ...]
    values: dict[str, str]
    default: str


class Contract:
    """openapi.yaml, as the suite needs it."""

    def __init__(self, path: Path | None = None) -> None:
        installed = ROOT / "link_management_contract" / "openapi.yaml"
        self.path = path or (installed if installed.exists() else ROOT / "openapi.yaml")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.document: dict[str, Any] = yaml.load(self.path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506
        self.version: str = self.document["info"]["version"]
        names = [tag["name"] for tag in self.document["tags"]]
        self.rules = {entry["id"]: _rule(entry, names) for entry in self.document["x-rules"]}
        self.open_points = {
            entry["id"]: OpenPoint(**entry | {"numbers": tuple(entry["numbers"])})
            for entry in self.document["x-open-points"]
        }
        self.resources = {name: self._resource(name) for name in names}

    def resolve(self, node: Any) -> Any:
        """Follow a reference within the document; what stands beside a reference to a schema is added."""
        while isinstance(node, dict) and "$ref" in node:
            reference, beside = node["$ref"], {name: value for name, value in node.items() if name != "$ref"}
            node = self.document
            for step in reference.removeprefix("#/").split("/"):
                node = node[step]
            node = {**node, **beside} if beside else node
        return node

    def _resource(self, name: str) -> Resource:
        operations = {
            operation["operationId"]: (path, operation)
            for path, item in self.document["paths"].items()
            for operation in item.values()
            if isinstance(operation, dict) and name in operation["tags"]
        }
        size = self.resolve(self.document["components"]["parameters"]["results_per_page"]["schema"])
        paths = {identifier: path for identifier, (path, _) in operations.items()}
        by_start = {operation_of(key): key for key in operations}
        read = self.resolve(operations[by_start["read"]][1]["responses"]["2XX"])["content"]["application/json"]
        form, required = self._object(
            operations[by_start["create"]][1]["requestBody"]["content"]["multipart/form-data"]["schema"]
        )
        return Resource(
            name=name,
            list_path=paths[by_start["list"]],
            create_path=paths[by_start["create"]],
            record_path=paths[by_start["read"]].partition("{")[0],
            collection=operations[by_start["list"]][1]["x-link-collection"],
            shape=tuple(self.resolve(read["schema"]["properties"]["data"])["required"]),
            required=tuple(field for field in form if field in required),
            optional={field: _form_type(schema) for field, schema in form.items() if field not in required},
            types=tuple(form.get("type", {}).get("enum", ())),
            types_of={
                name: schema["x-applies-when"]["type"] for name, schema in form.items() if "x-applies-when" in schema
            },
            page_sizes=tuple(size["enum"]),
            default_page_size=size["default"],
        )

    def _object(self, schema: Any) -> tuple[dict[str, Any], set[str]]:
        schema = self.resolve(schema)
        properties = {name: self.resolve(value) for name, value in schema.get("properties", {}).items()}
        required = set(schema.get("required", ()))
        for part in schema.get("allOf", ()):
            inner, names = self._object(part)
            properties, required = properties | inner, required | names
        return properties, required


def _form_type(schema: dict[str, Any]) -> str:
    if schema.get("format") == "binary":
        return "file"
    return str(schema.get("x-form-type") or {"string": "text"}.get(schema["type"], schema["type"]))


def _rule(entry: dict[str, Any], every: list[str]) -> Rule:
    missing = {"id", "level", "decided_by", "section", "statement", "numbers"} - entry.keys()
    if missing:
        raise ValueError(f"openapi.yaml, x-rules: {entry.get('id', entry)} lacks {', '.join(sorted(missing))}")
    return Rule(**entry | {"numbers": tuple(entry["numbers"]), "resources": tuple(entry.get("resources", every))})


@dataclass(frozen=True, slots=True)
class Resource:
    """One of the three resources.

    Attributes:
        name: its name in paths, such as `splash-pages`.
        list_path: where it is listed, with the trailing slash.
        create_path: where records are created.
        record_path: the path of a record, without the id at the end.
        collection: the collection that its page links name.
        shape: the fields of its read representation.
        required: the fields that a create must have.
        optional: the other fields of a create, by name, each `text`, `integer`, `boolean` or `file`.
        types: the values that `type` may have, if it has one.
        types_of: the fields that go with one type alone, each with that type.
        page_sizes: the allowed numbers of records on a page.
        default_page_size: the page size if none is asked for.
    """

    name: str
    list_path: str
    create_path: str
    record_path: str
    collection: str
    shape: tuple[str, ...]
    required: tuple[str, ...]
    optional: dict[str, str]
    types: tuple[str, ...]
    types_of: Mapping[str, str]
    page_sizes: tuple[int, ...]
    default_page_size: int

    @property
    def label(self) -> str:
        """The field that carries a run's marker: the name or host."""
        return self.required[0]
