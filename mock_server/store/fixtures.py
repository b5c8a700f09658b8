"""Fixtures: the accounts and records that a mock server starts with, checked against the contract."""

import mimetypes
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import unquote

from link_management_contract import Field, Resource, shipped
from mock_server.errors import SettingsError
from mock_server.settings.documents import lines_of, read_document
from mock_server.settings.settings import check_key
from mock_server.store.records import TIME_FORMAT, Generated, NewRecords, Record, Uploads

MAX_ID = 10**15
MAX_FILE_BYTES = 16 * 2**20  # bytes
EARLIEST, LATEST = 1970, 8999
START = datetime(2026, 3, 2, 9)  # noqa: DTZ001 - the contract's times have no zone
BETWEEN_RECORDS = timedelta(hours=1)  # that have no times of their own
TIMES = ("datetime", "last_datetime")
ACCOUNT_KEYS = ("name", "api_key", "records")
MAX_MISTAKES = 50  # that are told
NodePath = tuple[str | int, ...]  # keys and positions on the way to a value
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


class Reading:
    """One fixture while it is read: every mistake is noted, and the reading goes on.

    Args:
        resources: all resources.
        new_records: the values of fields that a fixture leaves out.
        uploads: stores the content of files.
        path: the file, or None.
        text: its text.
    """

    def __init__(
        self,
        resources: Collection[Resource],
        new_records: NewRecords,
        uploads: Uploads,
        path: Path | None = None,
        text: str = "",
    ) -> None:
        self._resources = {resource.name: resource for resource in resources}
        self._new_records, self._uploads = new_records, uploads
        self._path, self._text = path, text
        self._mistakes: list[tuple[NodePath, str]] = []
        self._ids: dict[str, int] = {}

    def fixture(self, document: Any) -> Fixture:
        """Read what a file holds.

        Raises:
            SettingsError: if there are mistakes; the message names each.
        """
        entries = document.get("accounts") if isinstance(document, Mapping) else None
        if not isinstance(entries, list) or not entries:
            raise SettingsError("expected the keys now and accounts, with at least one account")
        self._refuse_unknown(document, ("now", "accounts"), (), "the fixture")
        now = self._moment(document.get("now", START), ("now",), "now") or START
        self._ids = {name: _highest_id(entries, name) for name in self._resources}
        accounts = [self._account(entry, ("accounts", number), now) for number, entry in enumerate(entries)]
        keys = [account.api_key for account in accounts if account]
        if len(set(keys)) < len(keys):
            self._note(("accounts",), "two accounts have the same api_key")
        if self._mistakes:
            raise SettingsError(self._report())
        return Fixture(now, tuple(account for account in accounts if account))

    def _note(self, path: NodePath, mistake: str) -> None:
        self._mistakes.append((path, mistake))

    def _report(self) -> str:
        """All mistakes; more than one stand on lines of their own."""
        lines = lines_of(self._text, [path for path, _ in self._mistakes]) if self._text else {}
        mistakes = sorted(self._mistakes, key=lambda mistake: lines.get(mistake[0], 0))[:MAX_MISTAKES]
        texts = [f"line {lines[path]}: {mistake}" if path in lines else mistake for path, mistake in mistakes]
        if len(texts) == 1:
            return texts[0]
        omitted = len(self._mistakes) - len(texts)
        return "\n  ".join([f"{len(self._mistakes)} mistakes", *texts, *([f"and {omitted} more"] if omitted else [])])

    def _account(self, entry: Any, path: NodePath, now: datetime) -> FixtureAccount | None:
        title = f"account {int(path[-1]) + 1}"
        if not isinstance(entry, dict):
            self._note(path, f"{title}: expected the keys {', '.join(ACCOUNT_KEYS)}")
            return None
        self._refuse_unknown(entry, ACCOUNT_KEYS, path, title)
        key = entry.get("api_key")
        if isinstance(key, str):
            try:
                check_key(key)
            except SettingsError as error:
                self._note((*path, "api_key"), f"{title}: {error}")
        else:
            self._note(path, f"{title}: expected api_key, a text; put a number in quotes")
        lists = entry.get("records") or {}
        if not isinstance(lists, dict) or not all(isinstance(records, list | None) for records in lists.values()):
            self._note((*path, "records"), f"{title}: records holds a list for each of {', '.join(self._resources)}")
            return None
        for name in lists:
            if name not in self._resources:
                names = ", ".join(self._resources)
                self._note((*path, "records", name), f'{title}: no resource "{name}"; resources are {names}')
        name = str(entry.get("name", f"Account {int(path[-1]) + 1}"))
        records = {
            resource.name: self._records(
                resource, lists.get(resource.name) or [], (*path, "records", resource.name), name, now
            )
            for resource in self._resources.values()
        }
        return FixtureAccount(name, str(key), records)

    def _refuse_unknown(self, mapping: Mapping[Any, Any], keys: Sequence[str], path: NodePath, title: str) -> None:
        for name in mapping:
            if name not in keys:
                self._note((*path, str(name)), f'{title}: no key "{name}"; keys are {", ".join(keys)}')

    def _records(
        self, resource: Resource, entries: list[Any], path: NodePath, account: str, now: datetime
    ) -> list[Record]:
        parsed = []
        for position, record in enumerate(entries):
            created = max(now - BETWEEN_RECORDS * (len(entries) - position), datetime(EARLIEST, 1, 1))  # noqa: DTZ001 - no zone
            parsed.append(self._record(resource, record, (*path, position), account, created))
        records = [record for record in parsed if record]
        self._refuse_twice(path, account, resource.name, "id", [record.id for record in records])
        if self._path and "host" in resource.fields:  # a snapshot's mock may have accepted duplicates
            hosts = [str(record.values["host"]).lower() for record in records]
            self._refuse_twice(path, account, resource.name, "host", hosts)
        return records

    def _record(self, resource: Resource, entry: Any, path: NodePath, account: str, created: datetime) -> Record | None:
        title = f"{account}, {resource.name}, record {int(path[-1]) + 1}"
        if not isinstance(entry, dict):
            self._note(path, f"{title}: expected fields and their values")
            return None
        title += f" (id {entry['id']})" if "id" in entry else ""
        mistakes = len(self._mistakes)
        for name in [field.name for field in resource.fields.values() if field.required and field.name not in entry]:
            self._note(path, f'{title}: the field "{name}" is missing')
        identifier = entry.get("id")
        if "id" not in entry:
            identifier = self._ids[resource.name] = self._ids[resource.name] + 1
        if not is_id(identifier):
            expected = "a whole number from 1 to 10^15"
            self._note((*path, "id"), f'{title}: the field "id" is {identifier!r}; expected {expected}')
            return None
        values = self._new_records.values(resource, identifier)
        for name, value in entry.items():
            at = f'{title}: the field "{name}"'
            try:
                checked_value = checked(resource, name, value, at)
                field = resource.fields.get(name)
                values[name] = self._file(checked_value, at) if field and field.kind == "file" else checked_value
            except SettingsError as error:
                self._note((*path, name), str(error))
        for name in TIMES:
            if entry.get(name) is not None:
                values[name] = self._moment(entry[name], (*path, name), f'{title}: the field "{name}"')
        if len(self._mistakes) > mistakes:
            return None
        times = values.pop("datetime", None) or created, values.pop("last_datetime", None)
        values.pop("id", None)
        return Record(identifier, values, *times)

    def _moment(self, value: Any, path: NodePath, title: str) -> datetime | None:
        moment = moment_of(value)
        if moment is None:
            expected = f"YYYY-MM-DD HH:MM:SS, {EARLIEST} to {LATEST}"
            self._note(path, f"{title} is {str(value)!r}; expected {expected}")
        return moment

    def _refuse_twice(self, path: NodePath, account: str, resource: str, field: str, values: list[Any]) -> None:
        for value, count in Counter(values).items():
            if count > 1:
                self._note(path, f"{account}, {resource}: {count} records have the {field} {value}")

    def _file(self, value: str, at: str) -> Any:
        if value.startswith("data:"):
            return self._uploads.add(*self._embedded(value, at))
        fixture = self._path
        if fixture is None:
            raise SettingsError(f"{at}: {value!r} is a path; here, give files as data:image/png;name=...;base64,...")
        path = fixture.parent / value
        try:
            content = _content(path, fixture.parent)
        except (OSError, ValueError) as error:
            raise SettingsError(f"{at}: {error}") from error
        return self._uploads.add(path.name, mimetypes.guess_type(path.name)[0] or "application/octet-stream", content)

    def _embedded(self, value: str, at: str) -> tuple[str, str, bytes]:
        """The name, media type and content of a file that is embedded in the fixture."""
        match = EMBEDDED.fullmatch(value)
        if not match:
            raise SettingsError(f"{at} is not a data:image/png;name=...;base64,... URL")
        try:
            return unquote(match[2] or "file"), unquote(match[1]), b64decode(match[3], validate=True)
        except ValueError as error:
            raise SettingsError(f"{at} is a data: URL whose content is not base64") from error


def is_id(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 < value <= MAX_ID


def moment_of(value: Any) -> datetime | None:
    """A time as a fixture gives it, or None if it is none."""
    try:
        moment = value if isinstance(value, datetime) else datetime.strptime(value, TIME_FORMAT)  # noqa: DTZ007 - no zone
    except (TypeError, ValueError):
        return None
    return None if moment.tzinfo or not EARLIEST <= moment.year <= LATEST else moment.replace(microsecond=0)


def checked(resource: Resource, name: str, value: Any, at: str) -> Any:
    """The value of a field, if a fixture can hold it; times and ids are checked elsewhere.

    Raises:
        SettingsError: if it cannot; the message begins with the place.
    """
    schema: Mapping[str, Any] = resource.record_schema.get(name, {})
    field = resource.fields.get(name)
    if (not schema and field is None) or schema.get("type") == "object":
        raise SettingsError(f"{at} is not one that a fixture can set")
    if name in (*TIMES, "id"):
        return value
    kind = schema.get("type") or (JSON_TYPES.get(field.kind, field.kind) if field else "")
    if type(value) is not PYTHON_TYPES[kind]:
        raise SettingsError(f"{at} is {value!r}; expected {EXPECTED[kind]}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        raise SettingsError(f"{at} is {value!r}; expected a match of {schema['pattern']}")
    if field is not None and field.values and value not in field.values:
        raise SettingsError(f"{at} is {value!r}; expected one of {', '.join(field.values)}")
    return value


def _content(path: Path, folder: Path) -> bytes:
    """The content of a file that a fixture names."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f'"{path}" is not within the folder of the fixture; copy it there')
    if path.exists() and not path.is_file():
        raise ValueError(f'"{path}" is not a regular file')
    with path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f'"{path}" is longer than {MAX_FILE_BYTES >> 20} MiB')
    return content


def _highest_id(accounts: list[Any], resource: str) -> int:
    """The highest id that any account gives a record of a resource."""
    lists = [
        records
        for account in accounts
        if isinstance(account, dict) and isinstance(lists := account.get("records"), dict)
        if isinstance(records := lists.get(resource), list)
    ]
    ids = [record.get("id") for records in lists for record in records if isinstance(record, dict)]
    return max((identifier for identifier in ids if type(identifier) is int and identifier <= MAX_ID), default=0)


SHIPPED = ("demo", "empty")
MAX_FIXTURE_BYTES = 64 * 2**20
read_shipped = lru_cache(len(SHIPPED))(read_document)  # each reset reads one; parsing takes half of a reset's time


class FixtureReader:
    """Reads fixtures.

    Args:
        resources: all resources.
        new_records: the values of fields that a fixture leaves out.
        uploads: stores the content of files.
    """

    def __init__(self, resources: Collection[Resource], new_records: NewRecords, uploads: Uploads) -> None:
        self._resources, self._new_records, self._uploads = resources, new_records, uploads

    def read(self, source: str | Path | Mapping[str, Any]) -> Fixture:
        """Read a fixture.

        Args:
            source: `demo`, `empty` or the path of a file; or what such a file holds, which cannot name other files.

        Raises:
            SettingsError: if it cannot be read or breaks the contract; the message names each mistake with the account,
                the record, the field and, in a file, the line.
        """
        if isinstance(source, Mapping):
            return self._reading(None).fixture(source)
        path = shipped(f"fixtures/{source}.yaml") if source in SHIPPED else Path(source)
        try:
            if path.exists() and (not path.is_file() or path.stat().st_size > MAX_FIXTURE_BYTES):
                raise SettingsError(
                    f'fixture "{source}" is not a file of at most {MAX_FIXTURE_BYTES >> 20} MiB; give one'
                )
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f'fixture "{source}" cannot be read: {error}; give demo, empty or a file') from error
        try:
            read = read_shipped if source in SHIPPED else read_document
            return self._reading(path, text).fixture(read(text))
        except SettingsError as error:
            raise SettingsError(f'fixture "{source}": {error}') from None

    def _reading(self, path: Path | None, text: str = "") -> Reading:
        return Reading(self._resources, self._new_records, self._uploads, path, text)

    def generated(self, resource: Resource, count: int, last_id: int, start: datetime) -> Generated:
        """Invent `count` records, with ids above one in use, made one second apart after a start."""
        ids = range(last_id + 1, last_id + 1 + count)

        def make(identifier: int) -> Record:
            values = self._new_records.values(resource, identifier)
            fields = resource.fields.values()
            values |= {
                field.name: field.values[(identifier - ids[0]) % len(field.values)] for field in fields if field.values
            }
            values |= {
                field.name: _invented(resource, field, identifier)
                for field in fields
                if (field.required and not field.values) or (field.applies_when and field.applies_to(values))
            }
            return Record(identifier, values, start + timedelta(seconds=identifier))

        return Generated(ids, make)


def _invented(resource: Resource, field: Field, number: int) -> str:
    if field.name == "host":
        return f"host-{number}.example.com"
    if field.name == "email":
        return f"person-{number}@example.com"
    return f"{resource.name.replace('-', ' ').capitalize()[:-1]} {number}"
