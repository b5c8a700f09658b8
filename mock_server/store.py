"""Records in memory: one collection a kind, ordered, each behind a lock of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sortedcontainers import SortedKeyList

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its id, its values by field, when it was made and, unless it never was, last updated (UTC)."""

    id: int
    values: Values
    created: datetime
    updated: datetime | None = None


class UnknownIdError(LookupError):
    """No record of the collection has this id."""


class ValueTakenError(ValueError):
    """Another record has this value in a field whose values are unique."""


class IdSequence:
    """Ids that only grow, so that none is given twice.

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
        """A sequence of its own that goes on from here."""
        with self._lock:
            return IdSequence(self._last, self._following)

    def follow(self, following: Callable[[int], int]) -> None:
        """Go on in another way."""
        with self._lock:
            self._following = following


class Collection:
    """The records of one kind in one account.

    Args:
        ids: where new ids come from.
        order: what lists are sorted by; it must differ between any two records.
        unique: a field of text that no two records may share, capital letters aside, or None.

    Attributes:
        written: how much more text its records hold than those that it began with, in bytes.
    """

    def __init__(
        self,
        ids: IdSequence,
        order: Callable[[Record], Any],
        unique: str | None = None,
        records: Iterable[Record] = (),
    ) -> None:
        self.ids = ids
        self.written = 0
        self._lock = threading.Lock()
        self._records = {record.id: record for record in records}
        self.arrange(order, unique)

    def copy(self) -> Collection:
        """The same records in a collection of its own."""
        with self._lock:
            return Collection(self.ids.copy(), self._order, self._unique, self._records.values())

    def arrange(self, order: Callable[[Record], Any], unique: str | None) -> None:
        """Go by another order, and by another unique field."""
        with self._lock:
            known = self._records
            self._order, self._unique = order, unique
            self._index = SortedKeyList(
                known, key=lambda identifier: order(known[identifier])
            )  # no cycle: freed at once
            self._taken = set(map(self._claim, known.values())) if unique else set()

    def add(self, values: Callable[[int], Values], now: Callable[[], datetime]) -> Record:
        """Add a record.

        Args:
            values: from the new id to the record's values.
            now: the clock.

        Raises:
            ValueTakenError: if a unique value is another record's; the id is then lost.
        """
        with self._lock:
            identifier = self.ids.next()
            record = Record(identifier, values(identifier), now())
            self._claim_value(record)
            self.written += text_in(record.values)
            self._records[identifier] = record
            self._index.add(identifier)
            return record

    def get(self, identifier: int) -> Record:
        """The record with this id.

        Raises:
            UnknownIdError: if there is none.
        """
        try:
            return self._records[identifier]
        except KeyError:
            raise UnknownIdError(identifier) from None

    def update(self, identifier: int, change: Callable[[Record], Record]) -> Record:
        """Put what `change` makes of a record in its place, with no other write between.

        Raises:
            UnknownIdError: if there is no such record.
            ValueTakenError: if a unique value is another record's; the record then stays as it was.
        """
        with self._lock:
            old = self.get(identifier)
            new = replace(change(old), id=identifier, created=old.created)
            if self._claim(new) != self._claim(old):
                self._claim_value(new)
                self._taken.discard(self._claim(old))
            self.written += text_in(new.values) - text_in(old.values)
            self._index.remove(identifier)
            self._records[identifier] = new  # never absent, for who reads meanwhile
            self._index.add(identifier)
            return new

    def delete(self, identifier: int) -> None:
        """Remove a record.

        Raises:
            UnknownIdError: if there is none with this id.
        """
        with self._lock:
            record = self.get(identifier)
            self._index.remove(identifier)
            self.written -= text_in(record.values)
            del self._records[identifier]
            self._taken.discard(self._claim(record))

    @property
    def all(self) -> list[Record]:
        """All records, in order."""
        return self.page(lambda total: (0, total))[0]

    @property
    def total(self) -> int:
        """How many records there are."""
        with self._lock:
            return len(self._index)

    def page(self, view: Callable[[int], tuple[int, int]]) -> tuple[list[Record], int]:
        """The records between two positions, and how many there are in all, at one moment.

        Args:
            view: from the total to the first position and the one behind the last.
        """
        with self._lock:
            total = len(self._index)
            start, stop = view(total)
            return [self._records[identifier] for identifier in self._index[start:stop]], total

    def _claim(self, record: Record) -> str:
        return str(record.values[self._unique]).lower() if self._unique else ""

    def _claim_value(self, record: Record) -> None:
        if self._unique:
            if self._claim(record) in self._taken:
                raise ValueTakenError(self._claim(record))
            self._taken.add(self._claim(record))


def text_in(values: Values) -> int:
    """How much text there is in values, in bytes."""
    return sum(len(value.encode()) for value in values.values() if isinstance(value, str))
