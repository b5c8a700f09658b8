"""Records, the files in them, and the values that new ones have."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from json import dumps
from sys import getsizeof
from typing import Any, Protocol
from zlib import crc32

from link_management_contract import Resource
from mock_server.errors import SettingsError
from mock_server.settings.choices import Choices

LIMIT = 32 * 2**20  # bytes of all files
BARE_FILE = 1000  # bytes that even an empty file takes, about


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a form: its name as sent, its media type, its size in bytes and where its content is kept."""

    name: str
    media_type: str
    size: int
    key: int


class Uploads(Protocol):
    """The content of the latest files; older content is dropped when the total exceeds a limit."""

    def add(self, name: str, media_type: str, content: bytes) -> Upload:
        """Keep a file, and drop the oldest ones if there is no room."""

    def content(self, upload: Upload) -> bytes | None:
        """The content of a file, or None if it was dropped."""

    def find(self, key: int) -> tuple[str, bytes] | None:
        """The media type and content of a file by its key, or None if it was dropped."""


class MemoryUploads:
    """The same in memory.

    Args:
        limit: how much is kept, in bytes.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._files: OrderedDict[int, tuple[str, bytes]] = OrderedDict()
        self._bytes = 0
        self._count = 0
        self._lock = threading.Lock()

    def add(self, name: str, media_type: str, content: bytes) -> Upload:
        with self._lock:
            self._count += 1
            self._files[self._count] = media_type, content
            self._bytes += len(content) + BARE_FILE
            while self._bytes > self._limit:
                self._bytes -= len(self._files.popitem(last=False)[1][1]) + BARE_FILE
            return Upload(name, media_type, len(content), self._count)

    def content(self, upload: Upload) -> bytes | None:
        with self._lock:
            return self._files.get(upload.key, ("", None))[1]

    def find(self, key: int) -> tuple[str, bytes] | None:
        with self._lock:
            return self._files.get(key)


Values = Mapping[str, Any]
BARE = 1100  # bytes that a record takes besides its values
MAX_JSON_BYTES = 2000  # bytes
NUMBER = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its id, its values by field, when it was made and last updated, if ever (UTC).

    Attributes:
        json: its JSON, and the mark of who wrote it; None if it is long, or if nobody has looked at it yet.
    """

    id: int
    values: Values
    created: datetime
    updated: datetime | None = None
    json: tuple[object, str] | None = field(default=None, init=False, compare=False, repr=False)

    def keep(self, cache_key: object, text: str) -> None:
        """Keep the record's JSON, unless it is long, to be used again as long as the mark is the same."""
        if getsizeof(text) <= MAX_JSON_BYTES:
            object.__setattr__(self, "json", (cache_key, text))


@dataclass(frozen=True, slots=True)
class Generated:
    """Records that can be made at any time, always the same: their ids, and what makes the record with an id."""

    ids: range
    make: Callable[[int], Record]


NO_RECORDS = Generated(range(0), lambda _: NotImplemented)


class Records(dict[int, Record]):
    """Records by id; those that are generated are made, and kept, when they are first looked up.

    What dictionaries do with all items leaves out what is not made yet; `ids` has all of them.

    Attributes:
        generated: those that can be made.
    """

    def __init__(self, records: Iterable[Record], generated: Generated, deleted: Iterable[int] = ()) -> None:
        super().__init__((record.id, record) for record in records)
        self.generated, self._deleted = generated, set(deleted)

    def __missing__(self, identifier: int) -> Record:
        """Make a generated record."""
        if identifier not in self.generated.ids or identifier in self._deleted:
            raise KeyError(identifier)
        record = self[identifier] = self.generated.make(identifier)
        return record

    def __delitem__(self, identifier: int) -> None:
        if identifier in self.generated.ids:
            self._deleted.add(identifier)
        super().__delitem__(identifier)

    @property
    def ids(self) -> Iterator[int]:
        generated = self.generated.ids
        return chain(
            (identifier for identifier in self if identifier not in generated),
            (identifier for identifier in generated if identifier not in self._deleted),
        )

    def copy(self) -> Records:
        """The same records, to be changed separately."""
        return Records(self.values(), self.generated, self._deleted)

    def generated_with(self, text: str) -> Record | None:
        """The generated record whose id is the number in a text, because the texts of generated records hold it."""
        match = NUMBER.search(text)
        number = int(match[0]) if match else 0
        return self[number] if number in self.generated.ids and number not in self._deleted else None


def size_of(values: Values) -> int:
    """About how much memory a record with these values takes, in bytes."""
    return BARE + sum(map(_size, values.values()))


def _size(value: Any) -> int:
    """What a value takes: for a text, its escaped form in answers, if that is longer; for a file, its details too."""
    if isinstance(value, str):
        if value.isascii() and value.isprintable() and not {'"', "\\"} & set(value):
            return getsizeof(value)
        return max(getsizeof(value), len(dumps(value)))
    return getsizeof(value) + sum([getsizeof(getattr(value, name)) for name in getattr(value, "__slots__", ())])


EARLIEST, LATEST = 1970, 8998  # years that clocks can be set to
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


class NewRecords:
    """The values of a new record's fields that no form sets.

    Args:
        choices: the open points.
        seed: what colours are derived from.
    """

    def __init__(self, choices: Choices, seed: int) -> None:
        self._choices = choices
        self._seed = seed

    def values(self, resource: Resource, identifier: int) -> dict[str, Any]:
        is_varied = self._choices["color"] == "varied"
        starts = {
            "color": f"#{crc32(f'{self._seed}/{identifier}'.encode()) & 0xFFFFFF:06x}" if is_varied else "#5a67d8",
            "scheme": f"{self._choices['domain-scheme']}://",
            "is_enabled": self._starts_enabled(resource),
        }
        return {name: value for name, value in starts.items() if name in resource.record_schema}

    def _starts_enabled(self, resource: Resource) -> bool:
        point = "handler-starts" if "is_enabled" in resource.fields else "domain-starts"
        return self._choices[point] == "enabled"


def check_clock(now: datetime) -> None:
    """Refuse a time that clocks cannot be set to.

    Raises:
        SettingsError: if it is too early or too late.
    """
    if not EARLIEST <= now.year <= LATEST:
        raise SettingsError(f"invalid year {now.year}: clocks go from {EARLIEST} to {LATEST}")
