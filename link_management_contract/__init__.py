"""The contract, `openapi.yaml`, as the mock and the suite read it: resources, form fields, rules, open points.

Data, no behaviour. Both programs import it; it imports neither.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

PACKAGE_FOLDER = Path(__file__).parent
POINT_DEFAULTS = {"each_request": False, "unseen": ""}
OPERATIONS = ("list", "create", "read", "update", "delete")


def shipped(name: str) -> Path:
    """The path of a file that ships with the project: in this package once installed, else in the checkout."""
    installed = PACKAGE_FOLDER / name
    return installed if installed.exists() else PACKAGE_FOLDER.parent / name


def load_yaml(text: str) -> Any:
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe loaders


def operation_of(operation_id: str) -> str:
    return next(operation for operation in OPERATIONS if operation_id.startswith(operation))


@dataclass(frozen=True, slots=True)
class Field:
    """A form field.

    Attributes:
        kind: `text`, `integer`, `boolean` or `file`.
        values: the allowed texts; empty if any text is allowed.
        applies_when: another field and the value that it must have for this field to apply, or None.
        operations: which of `create` and `update` take it.
    """

    name: str
    kind: str
    values: tuple[str, ...]
    applies_when: tuple[str, str] | None
    operations: frozenset[str]
    required: bool

    def applies_to(self, record: Mapping[str, Any]) -> bool:
        return self.applies_when is None or record.get(self.applies_when[0]) == self.applies_when[1]


@dataclass(frozen=True)
class Resource:
    """Splash pages, domains or notification handlers.

    Attributes:
        name: its name as paths spell it, such as `splash-pages`.
        paths: the path of each of the five operations; `{id}` stands for a record's id.
        link_collection: the collection that its page links name.
        record_schema: the schema of each field of its read representation.
        required_in_reads: those of them that every record has to show.
        page_sizes: the allowed numbers of records on a page.
        default_page_size: the page size if none is asked for.
    """

    name: str
    paths: Mapping[str, str]
    link_collection: str
    fields: Mapping[str, Field]
    record_schema: Mapping[str, Mapping[str, Any]]
    required_in_reads: tuple[str, ...]
    page_sizes: tuple[int, ...]
    default_page_size: int

    @cached_property
    def list_path(self) -> str:
        return self.paths["list"]

    @cached_property
    def create_path(self) -> str:
        return self.paths["create"]

    @cached_property
    def record_path(self) -> str:
        """The path of a record, without the id at the end."""
        return self.paths["read"].partition("{")[0]

    @cached_property
    def required(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields.values() if field.required)

    @cached_property
    def optional(self) -> dict[str, str]:
        fields = self.fields.values()
        return {field.name: field.kind for field in fields if "create" in field.operations and not field.required}

    @cached_property
    def types(self) -> tuple[str, ...]:
        return self.fields["type"].values if "type" in self.fields else ()

    @cached_property
    def types_of(self) -> Mapping[str, str]:
        """The fields that go with one type alone, each with that type."""
        return {field.name: field.applies_when[1] for field in self.fields.values() if field.applies_when}

    @cached_property
    def label(self) -> str:
        """The field that people know a record by: the first that a create must have."""
        return self.required[0]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the contract.

    Attributes:
        id: its permanent name, `area.slug`.
        level: `stated`, `implied` or `advisory`.
        decided_by: `exchange` if one answer is enough to judge it, `state` if several are needed, `round` if requests
            that overlap are.
        numbers: the statements of the specification that it covers.
        resources: the names of the resources that it applies to.
        implies: the ids of rules whose violation may be no more than a consequence of this one's.
    """

    id: str
    level: str
    decided_by: str
    section: str
    statement: str
    numbers: tuple[int | str, ...]
    resources: tuple[str, ...]
    implies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """A freedom of the specification.

    Attributes:
        values: those known to occur, each with its meaning.
        default: what the mock chooses unless told otherwise.
        each_request: whether a server may choose again for each request.
        unseen: why no run sees the choice; empty if runs do.
    """

    id: str
    section: str
    statement: str
    numbers: tuple[int | str, ...]
    values: Mapping[str, str]
    default: str
    each_request: bool
    unseen: str

    @property
    def name(self) -> str:
        return self.id.removeprefix("open.")


class Contract:
    """openapi.yaml.

    Raises:
        OSError: if the file cannot be read.
        yaml.YAMLError: if it is not YAML.
        KeyError: if it is not this API's contract.
        ValueError: if an entry of its tables lacks something.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or shipped("openapi.yaml")
        self.text = self.path.read_text(encoding="utf-8")
        self.document: dict[str, Any] = load_yaml(self.text)
        self.version: str = self.document["info"]["version"]
        parameters = self.document["components"]["parameters"]
        size = self.resolve(parameters["results_per_page"]["schema"])
        self.page_sizes: tuple[int, ...] = tuple(size["enum"])
        self.default_page_size: int = size["default"]
        self.default_page: int = parameters["page"]["schema"]["default"]
        self.resources = {tag["name"]: self._resource(tag["name"]) for tag in self.document["tags"]}
        rules = (
            _entry(Rule, "x-rules", rule, {"resources": [*self.resources], "implies": []})
            for rule in self.document["x-rules"]
        )
        points = (_entry(OpenPoint, "x-open-points", point, POINT_DEFAULTS) for point in self.document["x-open-points"])
        self.rules: dict[str, Rule] = {rule.id: rule for rule in rules}
        self.open_points: dict[str, OpenPoint] = {point.name: point for point in points}

    @property
    def base_url(self) -> str:
        url: str = self.document["servers"][0]["variables"]["base_url"]["default"]
        return url

    def resolve(self, node: Any) -> Any:
        """Follow a reference within the document; what stands beside a reference to a schema is added."""
        while isinstance(node, dict) and "$ref" in node:
            reference, siblings = node["$ref"], {name: value for name, value in node.items() if name != "$ref"}
            node = self.document
            for step in reference.removeprefix("#/").split("/"):
                node = node[step.replace("~1", "/").replace("~0", "~")]
            node = {**node, **siblings} if siblings else node
        return node

    def _resource(self, tag: str) -> Resource:
        operations = {name: (path, operation) for name, path, operation in self._operations(tag)}
        read = self.resolve(operations["read"][1]["responses"]["2XX"])["content"]["application/json"]["schema"]
        record_schema, required = self._object(read["properties"]["data"])
        return Resource(
            name=tag,
            paths={name: path for name, (path, _) in operations.items()},
            link_collection=operations["list"][1]["x-link-collection"],
            fields=self._fields(operations["create"][1], operations["update"][1]),
            record_schema=record_schema,
            required_in_reads=tuple(name for name in record_schema if name in required),
            page_sizes=self.page_sizes,
            default_page_size=self.default_page_size,
        )

    def _operations(self, tag: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, item in self.document["paths"].items():
            for operation in item.values():
                if isinstance(operation, dict) and tag in operation["tags"]:
                    prefix, brace, _ = path.partition("{")
                    yield operation_of(operation["operationId"]), prefix + (brace and "{id}"), operation

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
        forms = {
            name: self._object(operation["requestBody"]["content"]["multipart/form-data"]["schema"])
            for name, operation in (("create", create), ("update", update))
        }
        properties = forms["create"][0] | forms["update"][0]
        return {
            name: Field(
                name=name,
                kind=_kind(schema),
                values=tuple(schema["enum"]) if _kind(schema) == "text" and "enum" in schema else (),
                applies_when=next(iter(schema.get("x-applies-when", {}).items()), None),
                operations=frozenset(form for form, (schemas, _) in forms.items() if name in schemas),
                required=name in forms["create"][1],
            )
            for name, schema in properties.items()
        }


def _kind(schema: dict[str, Any]) -> str:
    if schema.get("format") == "binary":
        return "file"
    return str(schema.get("x-form-type") or {"string": "text"}.get(schema["type"], schema["type"]))


def _entry(model: Any, table: str, entry: dict[str, Any], defaults: dict[str, Any]) -> Any:
    """An entry of a table as its model; lists become tuples."""
    entry = defaults | entry
    if missing := set(model.__slots__) - entry.keys():
        raise ValueError(f"openapi.yaml, {table}: {entry.get('id', entry)} lacks {', '.join(sorted(missing))}")
    return model(**{name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()})


@cache
def shipped_contract() -> Contract:
    """The contract that ships with the project, read once."""
    return Contract()
