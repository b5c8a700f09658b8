"""What the mock reads from openapi.yaml: resources, their form fields and read shapes, rules and open points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
OPERATIONS = ("list", "create", "read", "update", "delete")


def shipped(name: str) -> Path:
    """The path of a file that ships with the project: beside the installed package, in a folder, or in the checkout."""
    installed = ROOT / "link_management_contract" / name
    return installed if installed.exists() else ROOT / name


def load_yaml(text: str) -> Any:
    """Parse YAML with the fast loader where PyYAML has it."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders


@dataclass(frozen=True, slots=True)
class Field:
    """A form field.

    Attributes:
        kind: `text`, `integer`, `boolean` or `file`.
        values: the allowed texts; empty if any text is allowed.
        applies_when: another field and the value that it must have for this field to apply, or None.
        operations: which of `create` and `update` take it.
        required: whether a create must have it.
    """

    name: str
    kind: str
    values: tuple[str, ...]
    applies_when: tuple[str, str] | None
    operations: frozenset[str]
    required: bool

    def applies_to(self, record: Mapping[str, Any]) -> bool:
        """Whether the field applies to a record with these values."""
        return self.applies_when is None or record.get(self.applies_when[0]) == self.applies_when[1]


@dataclass(frozen=True, slots=True)
class Resource:
    """Splash pages, domains or notification handlers.

    Attributes:
        name: its name as paths spell it, such as `splash-pages`.
        paths: the path of each of the five operations; `{id}` stands for a record's id.
        link_collection: the collection that its page links name.
        fields: its form fields by name.
        shape: the schema of each field of its read representation.
    """

    name: str
    paths: Mapping[str, str]
    link_collection: str
    fields: Mapping[str, Field]
    shape: Mapping[str, Mapping[str, Any]]

    @property
    def label(self) -> str:
        """The field that people know a record by: the first that a create must have."""
        return next(field.name for field in self.fields.values() if field.required)


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """A freedom of the specification: its known values, each with its meaning, and the mock's default."""

    name: str
    statement: str
    values: Mapping[str, str]
    default: str


class Contract:
    """openapi.yaml, as the mock needs it.

    Raises:
        OSError: if the file cannot be read.
        yaml.YAMLError: if it is not YAML.
        KeyError: if it is not this API's contract.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or shipped("openapi.yaml")
        self.text = self.path.read_text(encoding="utf-8")
        self.document: dict[str, Any] = load_yaml(self.text)
        self.resources = tuple(self._resource(tag["name"]) for tag in self.document["tags"])
        self.rules = {rule["id"]: tuple(rule.get("resources", ())) for rule in self.document["x-rules"]}
        self.open_points = {point.name: point for point in map(_open_point, self.document["x-open-points"])}
        parameters = self.document["components"]["parameters"]
        size = self.resolve(parameters["results_per_page"]["schema"])
        self.page_sizes: tuple[int, ...] = tuple(size["enum"])
        self.default_page_size: int = size["default"]
        self.default_page: int = parameters["page"]["schema"]["default"]

    def text_for(self, base_url: str) -> str:
        """The file's text, with the base URL of a deployment in it."""
        default = self.document["servers"][0]["variables"]["base_url"]["default"]
        return self.text.replace(default, base_url)

    def resolve(self, node: Any) -> Any:
        """Follow a reference within the document; what stands beside a reference to a schema is added."""
        while isinstance(node, dict) and "$ref" in node:
            reference, beside = node["$ref"], {name: value for name, value in node.items() if name != "$ref"}
            node = self.document
            for step in reference.removeprefix("#/").split("/"):
                node = node[step.replace("~1", "/").replace("~0", "~")]
            node = {**node, **beside} if beside else node
        return node

    def _resource(self, tag: str) -> Resource:
        operations = {name: (path, operation) for name, path, operation in self._operations(tag)}
        read = self._success_schema(operations["read"][1])
        shape, _ = self._object(read["properties"]["data"])
        return Resource(
            name=tag,
            paths={name: path for name, (path, _) in operations.items()},
            link_collection=operations["list"][1]["x-link-collection"],
            fields=self._fields(operations["create"][1], operations["update"][1]),
            shape=shape,
        )

    def _operations(self, tag: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, item in self.document["paths"].items():
            for operation in item.values():
                if isinstance(operation, dict) and tag in operation["tags"]:
                    name = next(name for name in OPERATIONS if operation["operationId"].startswith(name))
                    prefix, brace, _ = path.partition("{")
                    yield name, prefix + (brace and "{id}"), operation

    def _success_schema(self, operation: dict[str, Any]) -> dict[str, Any]:
        schema: dict[str, Any] = self.resolve(operation["responses"]["2XX"])["content"]["application/json"]["schema"]
        return schema

    def _object(self, schema: Any) -> tuple[dict[str, Any], set[str]]:
        """The resolved properties and the required names of an object schema, `allOf` merged in."""
        schema = self.resolve(schema)
        properties = {name: self.resolve(value) for name, value in schema.get("properties", {}).items()}
        required = set(schema.get("required", ()))
        for part in schema.get("allOf", ()):
            inner, names = self._object(part)
            properties |= inner
            required |= names
        return properties, required

    def _fields(self, create: dict[str, Any], update: dict[str, Any]) -> dict[str, Field]:
        forms = {name: self._form(operation) for name, operation in (("create", create), ("update", update))}
        properties = forms["create"][0] | forms["update"][0]
        return {
            name: Field(
                name=name,
                kind=_kind(schema),
                values=tuple(schema["enum"]) if _kind(schema) == "text" and "enum" in schema else (),
                applies_when=next(iter(schema.get("x-applies-when", {}).items()), None),
                operations=frozenset(form for form, (known, _) in forms.items() if name in known),
                required=name in forms["create"][1],
            )
            for name, schema in properties.items()
        }

    def _form(self, operation: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
        return self._object(operation["requestBody"]["content"]["multipart/form-data"]["schema"])


def _kind(schema: dict[str, Any]) -> str:
    if schema.get("format") == "binary":
        return "file"
    return str(schema.get("x-form-type") or {"string": "text"}.get(schema["type"], schema["type"]))


def _open_point(entry: dict[str, Any]) -> OpenPoint:
    missing = {"id", "section", "numbers", "statement", "values", "default"} - entry.keys()
    if missing:
        raise ValueError(f"openapi.yaml, x-open-points: {entry.get('id', entry)} lacks {', '.join(sorted(missing))}")
    return OpenPoint(entry["id"].removeprefix("open."), entry["statement"], entry["values"], entry["default"])


@cache
def shipped_contract() -> Contract:
    """The contract that ships with the project, read once."""
    return Contract()
