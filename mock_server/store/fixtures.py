"""Fixtures: the accounts and records that a mock server starts with, checked against the contract."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from link_management_contract import Field, Resource, shipped
from mock_server.documents import read_document
from mock_server.errors import SettingsError
from mock_server.store.fixture_reading import Fixture, Reading
from mock_server.store.new_record import NewRecords
from mock_server.store.records import Generated, Record
from mock_server.store.uploads import Uploads

SHIPPED = ("demo", "empty")
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


def _invented(resource: Resource, field: Field, number: int) -> str:
    if field.name == "host":
        return f"host-{number}.example.com"
    if field.name == "email":
        return f"person-{number}@example.com"
    return f"{resource.name.replace('-', ' ').capitalize()[:-1]} {number}"
