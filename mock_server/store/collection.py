"""Records in memory: one ordered collection for each resource, each with its own lock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from json import dumps
from sys import getsizeof
from typing import Any

from sortedcontainers import SortedKeyList

Values = Mapping[str, Any]
BARE, PLACE = 1100, 220  # bytes that a record takes besides its values, and that its place in a collection takes
LONGEST_JSON = 2000  # bytes


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

    def keep(self, mark: object, text: str) -> None:
        """Keep its JSON, unless it is long, for whoever has the same mark to use again."""
        if getsizeof(text) <= LONGEST_JSON:
            object.__setattr__(self, "json", (mark, text))


class UnknownIdError(LookupError):
    """No record of the collection has this id."""


class ValueTakenError(ValueError):
    """Another record has this value in a field whose values are unique."""


class IdSequence:
    """Ids that only grow, so that none is used twice.

    Args:
        last: the highest id in use.
        following: from an id to the next.
    """

    def __init__(self, last: int, following: Callable[[int], int]) -> None:
        self._last = last
        self._following = following
        self._lock = threading.Lock()

    def next(self) -> int:
        """A new id."""
        with self._lock:
            self._last = self._following(self._last)
            return self._last

    def copy(self) -> IdSequence:
        """A separate sequence that continues from here."""
        with self._lock:
            return IdSequence(self._last, self._following)

    def follow(self, following: Callable[[int], int]) -> None:
        """Continue in another way."""
        with self._lock:
            self._following = following


class Tally:
    """About how much memory some collections take beyond what they began with, in bytes."""

    def __init__(self) -> None:
        self.bytes = 0


class Contents:
    """Records with their order; collections share it until one of them writes.

    Args:
        records: the records by id.
        order: what lists are sorted by; it must differ between any two records.
        unique: a text field whose value no two records may share, ignoring case, or None.
    """

    def __init__(self, records: dict[int, Record], order: Callable[[Record], Any], unique: str | None = None) -> None:
        self.records, self.order, self.unique = records, order, unique
        self.index = SortedKeyList(
            records, key=lambda identifier: order(records[identifier])
        )  # no reference cycle, so it is freed at once
        self.taken = Counter(map(self.claim, records.values())) if unique else Counter()
        self._arranged: Contents | None = None

    def copy(self) -> Contents:
        """The same records for one collection only."""
        return Contents(dict(self.records), self.order, self.unique)

    def arranged(self, order: Callable[[Record], Any], unique: str | None) -> Contents:
        """The same records in another order, built once for all collections that share them."""
        known = self._arranged
        if known is None or (known.order, known.unique) != (order, unique):
            known = self._arranged = Contents(self.records, order, unique)
        return known

    def claim(self, record: Record) -> str:
        """The unique value of a record, in lower case."""
        return str(record.values[self.unique]).lower() if self.unique else ""


class Collection:
    """The records of one resource in one account.

    Args:
        ids: where new ids come from.
        contents: the records that it begins with.
        tally: counts the memory that it takes, too.
        is_shared: whether other collections hold the same contents.

    Attributes:
        written: about how much memory it takes beyond what it began with, in bytes.
    """

    def __init__(self, ids: IdSequence, contents: Contents, tally: Tally, *, is_shared: bool = False) -> None:
        self.ids = ids
        self.written = 0
        self._contents, self._is_shared, self._tally = contents, is_shared, tally
        self._lock = threading.Lock()

    def copy(self, tally: Tally) -> Collection:
        """A separate collection of the same records, which are shared until one of the two writes."""
        with self._lock:
            self._is_shared = True
            return Collection(self.ids.copy(), self._contents, tally, is_shared=True)

    @property
    def price(self) -> int:
        """How much memory the next write takes besides its values, in bytes: that of a copy of shared contents."""
        return PLACE * len(self._contents.records) if self._is_shared else 0

    def arrange(self, order: Callable[[Record], Any], unique: str | None) -> None:
        """Use another order and another unique field."""
        with self._lock:
            self._contents = self._contents.arranged(order, unique)

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
            contents = self._own()
            self._claim_value(record)
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
            contents = self._own()
            if contents.claim(new) != contents.claim(old):
                self._claim_value(new)
                self._release_value(old)
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
            contents = self._own()
            contents.index.remove(identifier)
            self._count(-size_of(record.values))
            del contents.records[identifier]
            self._release_value(record)

    def forget(self) -> None:
        """Stop counting its memory, because nobody uses it again."""
        with self._lock:
            self._count(-self.written)

    @property
    def all(self) -> list[Record]:
        """All records, in order."""
        return self.page(lambda total: (0, total))[0]

    @property
    def total(self) -> int:
        """How many records there are."""
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

    def _own(self) -> Contents:
        """The contents, copied first if they are shared."""
        if self._is_shared:
            self._count(self.price)
            self._contents, self._is_shared = self._contents.copy(), False
        return self._contents

    def _count(self, size: int) -> None:
        self.written += size
        self._tally.bytes += size

    def _release_value(self, record: Record) -> None:
        taken, value = self._contents.taken, self._contents.claim(record)
        taken[value] -= 1  # a snapshot may hold a value twice
        if taken[value] <= 0:
            del taken[value]

    def _claim_value(self, record: Record) -> None:
        contents = self._contents
        if contents.unique:
            if contents.claim(record) in contents.taken:
                raise ValueTakenError(contents.claim(record))
            contents.taken[contents.claim(record)] += 1


def size_of(values: Values) -> int:
    """About how much memory a record with these values takes, in bytes."""
    return BARE + sum(map(_size, values.values()))


def _size(value: Any) -> int:
    """What a value takes: for a text, its escaped form in answers, if that is longer; for a file, its details too."""
    if isinstance(value, str):
        return max(getsizeof(value), len(dumps(value)))
    return getsizeof(value) + sum(getsizeof(getattr(value, name)) for name in getattr(value, "__slots__", ()))
