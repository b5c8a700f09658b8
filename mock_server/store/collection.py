"""Records in memory: one ordered collection for each resource, each with its own lock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from zlib import crc32

from sortedcontainers import SortedKeyList

from link_management_contract import Resource
from mock_server.settings.choices import Choices
from mock_server.store.records import Generated, Record, Records, Values, size_of

BYTES_PER_RECORD = 220  # bytes that a record's place in a collection takes
Order = Callable[[int, Mapping[int, Record]], Any]


class UnknownIdError(LookupError):
    """No record of the collection has this id."""


class ValueTakenError(ValueError):
    """Another record has this value in a field whose values are unique."""


class IdSequence:
    """Ids that only grow, so that none is used twice.

    Args:
        last: the highest id in use.
        following: from an id to the next.

    Attributes:
        last: the latest id.
    """

    def __init__(self, last: int, following: Callable[[int], int]) -> None:
        self.last = last
        self._following = following
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            self.last = self._following(self.last)
            return self.last

    def copy(self) -> IdSequence:
        """A separate sequence that continues from here."""
        with self._lock:
            return IdSequence(self.last, self._following)

    def follow(self, following: Callable[[int], int]) -> None:
        """Continue in another way."""
        with self._lock:
            self._following = following


class ByteCount:
    """About how much memory some collections take beyond what they began with, in bytes."""

    def __init__(self) -> None:
        self.bytes = 0


class Contents:
    """Records with their order; collections share it until one of them writes.

    Args:
        records: the records by id.
        order: from an id to what lists are sorted by; it must differ between any two records.
        unique: a text field whose value no two records may share, ignoring case, or None.
    """

    def __init__(self, records: Records, order: Order, unique: str | None = None) -> None:
        self.records, self.order, self.unique = records, order, unique
        self.index = SortedKeyList(
            records.ids, key=lambda identifier: order(identifier, records)
        )  # no reference cycle, so it is freed at once
        self._claim_counts = Counter(map(self.claim, records.values())) if unique else Counter()
        self._reordered: Contents | None = None

    def copy(self) -> Contents:
        """The same records for one collection only."""
        return Contents(self.records.copy(), self.order, self.unique)

    def reordered(self, order: Order, unique: str | None) -> Contents:
        """The same records in another order, built once for all collections that share them."""
        table = self._reordered
        if table is None or (table.order, table.unique) != (order, unique):
            table = self._reordered = Contents(self.records, order, unique)
        return table

    def claim(self, record: Record) -> str:
        """The unique value of a record, in lower case."""
        return str(record.values[self.unique]).lower() if self.unique else ""

    def take(self, value: str) -> None:
        """Take a unique value for one record.

        Raises:
            ValueTakenError: if a record has it.
        """
        if self.unique:
            namesake = self.records.generated_with(value)
            if self._claim_counts[value] or (namesake and self.claim(namesake) == value):
                raise ValueTakenError(value)
            self._claim_counts[value] += 1

    def release(self, value: str) -> None:
        """Let another record take a unique value."""
        self._claim_counts[value] -= 1  # a snapshot may hold a value twice
        if self._claim_counts[value] <= 0:
            del self._claim_counts[value]


class MemoryCollection:
    """The records of one resource in one account.

    Args:
        ids: where new ids come from.
        contents: the records that it begins with.
        total_bytes: counts the memory that it takes, too.
        is_shared: whether other collections hold the same contents.
        is_charged: whether a copy of these counts as memory that it takes, as for accounts that anybody may make.

    Attributes:
        written_bytes: about how much memory it takes beyond what it began with, in bytes.
    """

    def __init__(
        self,
        ids: IdSequence,
        contents: Contents,
        total_bytes: ByteCount,
        *,
        is_shared: bool = False,
        is_charged: bool = False,
    ) -> None:
        self.ids = ids
        self.written_bytes = 0
        self._contents, self._is_shared, self._total_bytes = contents, is_shared, total_bytes
        self._is_charged = is_charged
        self._lock = threading.Lock()

    def copy(self, total_bytes: ByteCount, *, is_charged: bool) -> MemoryCollection:
        """A separate collection of the same records, which are shared until one of the two writes."""
        with self._lock:
            self._is_shared = True
            return MemoryCollection(self.ids.copy(), self._contents, total_bytes, is_shared=True, is_charged=is_charged)

    @property
    def copy_cost(self) -> int:
        """How much memory the next write takes besides its values, in bytes: that of a copy of shared contents."""
        return BYTES_PER_RECORD * len(self._contents.index) if self._is_shared and self._is_charged else 0

    def arrange(self, order: Order, unique: str | None) -> None:
        """Use another order and another unique field."""
        with self._lock:
            self._contents = self._contents.reordered(order, unique)

    def add(self, values: Callable[[int], Values], now: Callable[[], datetime]) -> Record:
        """Add a record.

        Args:
            values: takes the new id, and returns the record's values.
            now: the clock.

        Raises:
            ValueTakenError: if another record has the unique value; the id is then lost.
        """
        with self._lock:
            identifier = self.ids.next()
            record = Record(identifier, values(identifier), now())
            contents = self._writable_contents()
            contents.take(contents.claim(record))
            self._count(size_of(record.values))
            contents.records[identifier] = record
            contents.index.add(identifier)
            return record

    def get(self, identifier: int) -> Record:
        """The record with this id.

        Raises:
            UnknownIdError: if there is none.
        """
        try:
            return self._contents.records[identifier]
        except KeyError:
            raise UnknownIdError(identifier) from None

    def update(self, identifier: int, change: Callable[[Record], Record]) -> Record:
        """Replace a record with what `change` makes of it, with no other write in between.

        Raises:
            UnknownIdError: if there is no such record.
            ValueTakenError: if another record has the unique value; the record then stays as it was.
        """
        with self._lock:
            old = self.get(identifier)
            new = replace(change(old), id=identifier, created=old.created)
            contents = self._writable_contents()
            if contents.claim(new) != contents.claim(old):
                contents.take(contents.claim(new))
                contents.release(contents.claim(old))
            self._count(size_of(new.values) - size_of(old.values))
            contents.index.remove(identifier)
            contents.records[identifier] = new  # never absent for concurrent readers
            contents.index.add(identifier)
            return new

    def delete(self, identifier: int) -> None:
        """Remove a record.

        Raises:
            UnknownIdError: if there is none with this id.
        """
        with self._lock:
            record = self.get(identifier)
            contents = self._writable_contents()
            contents.index.remove(identifier)
            self._count(-size_of(record.values))
            del contents.records[identifier]
            contents.release(contents.claim(record))

    @property
    def size(self) -> int:
        """About how much memory its records take, in bytes."""
        return sum(BYTES_PER_RECORD + size_of(record.values) for record in self.records_in_memory)

    def charge(self) -> None:
        """Count the records that it begins with as memory that it takes, too, because nobody else has them."""
        size = self.size
        with self._lock:
            self._count(size)

    def forget(self) -> None:
        """Stop counting its memory, because nobody uses it again."""
        with self._lock:
            self._count(-self.written_bytes)

    @property
    def records_in_memory(self) -> list[Record]:
        """The records that are in memory, in no order; others are generated, and not looked at yet."""
        with self._lock:
            return list(self._contents.records.values())

    @property
    def generated(self) -> Generated:
        """The records that are made when somebody looks at them, or were."""
        return self._contents.records.generated

    @property
    def all_records(self) -> list[Record]:
        return self.page(lambda total: (0, total))[0]

    @property
    def total(self) -> int:
        with self._lock:
            return len(self._contents.index)

    def page(self, view: Callable[[int], tuple[int, int]]) -> tuple[list[Record], int]:
        """The records between two positions and how many there are in all, at the same moment.

        Args:
            view: takes the total, and returns the first position and the one after the last.
        """
        with self._lock:
            contents = self._contents
            total = len(contents.index)
            start, stop = view(total)
            return [contents.records[identifier] for identifier in contents.index[start:stop]], total

    def _writable_contents(self) -> Contents:
        """The contents, copied first if they are shared."""
        if self._is_shared:
            self._count(self.copy_cost)
            self._contents, self._is_shared = self._contents.copy(), False
        return self._contents

    def _count(self, size: int) -> None:
        self.written_bytes += size
        self._total_bytes.bytes += size


BEYOND_32_BITS = 5_000_000_000


def following(choices: Choices) -> Callable[[int], int]:
    """The function from an id to the next one."""
    match choices["ids"]:
        case "large":
            return lambda last: max(last, BEYOND_32_BITS) + 1
        case "gaps":
            return lambda last: last + 1 + crc32(str(last).encode()) % 9
        case _:
            return lambda last: last + 1


def order_of(choices: Choices, resource: Resource) -> Order:
    """What the lists of a resource are sorted by."""
    match choices["order"]:
        case "by-name":
            return lambda number, records: (str(records[number].values[resource.label]).casefold(), number)
        case "oldest-first":
            return lambda number, _: number
        case _:
            return lambda number, _: -number


def unique_field(choices: Choices, resource: Resource) -> str | None:
    """The field whose value no two records of a resource may share, or None."""
    return "host" if "host" in resource.fields and choices["host-taken"] != "accepted" else None
