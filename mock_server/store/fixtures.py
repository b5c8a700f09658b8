"""Fixtures: the accounts and records that a mock server starts with, checked against the contract."""

from __future__ import annotations

import mimetypes
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mock_server.contract import Field, Resource, shipped
from mock_server.documents import read_document
from mock_server.errors import SettingsError
from mock_server.settings import check_key
from mock_server.store.new_record import TIME_FORMAT, NewRecords
from mock_server.store.records import Generated, Record
from mock_server.store.uploads import Uploads

SHIPPED = ("demo", "empty")
HIGHEST_ID = 10**15
LONGEST_FILE = 16 * 2**20  # bytes
EARLIEST, LATEST = 1970, 8999
EMBEDDED = re.compile(r"data:([^;,]+)(?:;name=([^;,]*))?;base64,(.*)", re.DOTALL)
EXPECTED = {"integer": "a whole number", "boolean": "true or false", "string": "text", "file": "the path of a file"}
JSON_TYPES = {"text": "string"}
PYTHON_TYPES: dict[str, Any] = {"integer": int, "boolean": bool, "string": str, "file": str}


@dataclass(frozen=True, slots=True)
class FixtureAccount:
    """An account as a fixture gives it: its name, its key and its records by resource."""

    name: str
    api_key: str
    records: dict[str, list[Record]]


@dataclass(frozen=True, slots=True)
class Fixture:
    """What a mock server starts with; `now` is where its clocks start (UTC)."""

    now: datetime
    accounts: tuple[FixtureAccount, ...]


class FixtureReader:
    """Reads fixtures.

    Args:
        resources: all resources.
        new_records: the values of fields that a fixture leaves out.
        uploads: stores the content of files.
    """

    def __init__(self, resources: tuple[Resource, ...], new_records: NewRecords, uploads: Uploads) -> None:
        self._resources = {resource.name: resource for resource in resources}
        self._new_records = new_records
        self._uploads = uploads

    def read(self, source: str | Path | Mapping[str, Any]) -> Fixture:
        """Read a fixture.

        Args:
            source: `demo`, `empty` or the path of a file; or what such a file holds, which cannot name other files.

        Raises:
            SettingsError: if it cannot be read or breaks the contract; the message names the record and the field.
        """
        if isinstance(source, Mapping):
            return self._fixture(source, None)
        path = shipped(f"fixtures/{source}.yaml") if source in SHIPPED else Path(source)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f'fixture "{source}" cannot be read: {error}; give demo, empty or a file') from error
        try:
            return self._fixture(read_document(text), path)
        except SettingsError as error:
            raise SettingsError(f'fixture "{source}": {error}') from None

    def _fixture(self, document: Any, path: Path | None) -> Fixture:
        if (
            not isinstance(document, Mapping)
            or not document.get("accounts")
            or not isinstance(document["accounts"], list)
        ):
            raise SettingsError("expected the keys now and accounts, with at least one account")
        accounts = tuple(self._account(entry, number, path) for number, entry in enumerate(document["accounts"], 1))
        keys = [account.api_key for account in accounts]
        if len(set(keys)) < len(keys):
            raise SettingsError("two accounts have the same api_key")
        return Fixture(_moment(document.get("now"), "now"), accounts)

    def _account(self, entry: Any, number: int, path: Path | None) -> FixtureAccount:
        if not isinstance(entry, dict) or not isinstance(entry.get("api_key"), str):
            raise SettingsError(f"account {number}: expected the keys name, api_key (text) and records")
        check_key(entry["api_key"])
        given = entry.get("records") or {}
        if not isinstance(given, dict) or not all(isinstance(each, list | None) for each in given.values()):
            raise SettingsError(f"account {number}: records holds a list for each of {', '.join(self._resources)}")
        unknown = [name for name in given if name not in self._resources]
        if unknown:
            raise SettingsError(
                f'account {number}: no resource "{unknown[0]}"; resources are {", ".join(self._resources)}'
            )
        records = {
            name: [
                self._record(resource, record, position, path)
                for position, record in enumerate(given.get(name) or [], 1)
            ]
            for name, resource in self._resources.items()
        }
        for name, made in records.items():
            _refuse_twice(name, "id", [record.id for record in made])
            if path and "host" in self._resources[name].fields:  # a snapshot's mock may have accepted duplicates
                _refuse_twice(name, "host", [record.values["host"].lower() for record in made])
        return FixtureAccount(str(entry.get("name", f"Account {number}")), entry["api_key"], records)

    def _record(self, resource: Resource, given: Any, position: int, path: Path | None) -> Record:
        place = f"{resource.name}, record {position}"
        if not isinstance(given, dict):
            raise SettingsError(f"{place}: expected fields and their values")
        place += f" (id {given.get('id')})"
        required = ["id", "datetime", *(field.name for field in resource.fields.values() if field.required)]
        missing = [name for name in required if name not in given]
        if missing:
            raise SettingsError(f'{place}: the field "{missing[0]}" is missing')
        if type(given["id"]) is not int or not 0 < given["id"] <= HIGHEST_ID:
            raise SettingsError(f'{place}: the field "id" is {given["id"]!r}; expected a whole number from 1 to 10^15')
        values = self._new_records.values(resource, given["id"])
        for name, value in given.items():
            values[name] = self._value(resource, name, value, f'{place}: the field "{name}"', path)
        created = _moment(values.pop("datetime"), f'{place}: the field "datetime"')
        updated = values.pop("last_datetime", None)
        updated = None if updated is None else _moment(updated, f'{place}: the field "last_datetime"')
        return Record(values.pop("id"), values, created, updated)

    def _value(self, resource: Resource, name: str, value: Any, place: str, path: Path | None) -> Any:
        schema: Mapping[str, Any] = resource.shape.get(name, {})
        field = resource.fields.get(name)
        if (not schema and field is None) or schema.get("type") == "object":
            raise SettingsError(f"{place} is not one that a fixture can set")
        if name in ("datetime", "last_datetime"):
            return value
        kind = schema.get("type") or (JSON_TYPES.get(field.kind, field.kind) if field else "")
        if type(value) is not PYTHON_TYPES[kind]:
            raise SettingsError(f"{place} is {value!r}; expected {EXPECTED[kind]}")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            raise SettingsError(f"{place} is {value!r}; expected a match of {schema['pattern']}")
        if field is not None and field.values and value not in field.values:
            raise SettingsError(f"{place} is {value!r}; expected one of {', '.join(field.values)}")
        return self._file(path, value, place) if kind == "file" else value

    def _file(self, fixture: Path | None, value: str, place: str) -> Any:
        if value.startswith("data:"):
            return self._uploads.add(*self._embedded(value, place))
        if fixture is None:
            raise SettingsError(f"{place}: {value!r} is a path; here, give files as data:image/png;name=...;base64,...")
        path = fixture.parent / value
        try:
            content = _content(path, fixture.parent)
        except (OSError, ValueError) as error:
            raise SettingsError(f"{place}: {error}") from error
        return self._uploads.add(path.name, mimetypes.guess_type(path.name)[0] or "application/octet-stream", content)

    def _embedded(self, value: str, place: str) -> tuple[str, str, bytes]:
        """The name, media type and content of a file that is embedded in the fixture."""
        found = EMBEDDED.fullmatch(value)
        if not found:
            raise SettingsError(f"{place} is no data:image/png;name=...;base64,... URL")
        try:
            return unquote(found[2] or "file"), unquote(found[1]), b64decode(found[3], validate=True)
        except ValueError as error:
            raise SettingsError(f"{place} is a data: URL whose content is no base64") from error

    def generated(self, resource: Resource, count: int, above: int, start: datetime) -> Generated:
        """Invent `count` records, with ids above one in use, made one second apart after a start."""
        ids = range(above + 1, above + 1 + count)

        def make(identifier: int) -> Record:
            values = self._new_records.values(resource, identifier)
            fields = resource.fields.values()
            values |= {
                each.name: each.values[(identifier - ids[0]) % len(each.values)] for each in fields if each.values
            }
            values |= {
                each.name: _invented(resource, each, identifier)
                for each in fields
                if (each.required and not each.values) or (each.applies_when and each.applies_to(values))
            }
            return Record(identifier, values, start + timedelta(seconds=identifier))

        return Generated(ids, make)


def _content(path: Path, folder: Path) -> bytes:
    """The content of a file that a fixture names.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is not a regular file, in another folder or too long: the fixture may be somebody else's.
    """
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f'"{path}" is not within the folder of the fixture; copy it there')
    if path.exists() and not path.is_file():
        raise ValueError(f'"{path}" is not a regular file')
    with path.open("rb") as file:
        content = file.read(LONGEST_FILE + 1)
    if len(content) > LONGEST_FILE:
        raise ValueError(f'"{path}" is longer than {LONGEST_FILE >> 20} MiB')
    return content


def _invented(resource: Resource, field: Field, number: int) -> str:
    if field.name == "host":
        return f"host-{number}.example.com"
    if field.name == "email":
        return f"person-{number}@example.com"
    return f"{resource.name.replace('-', ' ').capitalize()[:-1]} {number}"


def _moment(value: Any, place: str) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else datetime.strptime(value, TIME_FORMAT)  # noqa: DTZ007 - no zone
    except (TypeError, ValueError):
        moment = None
    if moment is None or moment.tzinfo or not EARLIEST <= moment.year <= LATEST:
        raise SettingsError(f"{place} is {str(value)!r}; expected YYYY-MM-DD HH:MM:SS, {EARLIEST} to {LATEST}")
    return moment


def _refuse_twice(name: str, field: str, values: list[Any]) -> None:
    for value, count in Counter(values).most_common(1):
        if count > 1:
            raise SettingsError(f"{name}: {count} records have the {field} {value}")
