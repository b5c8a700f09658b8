"""What keeps records: accounts with their collections, in memory or in Redis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from mock_server.settings.choices import Clock
from mock_server.store.records import Record, Values

if TYPE_CHECKING:
    from mock_server.store.accounts import MemoryAccount


class Collection(Protocol):
    """The records of one resource in one account."""

    @property
    def total(self) -> int:
        """How many records there are."""

    @property
    def all_records(self) -> list[Record]:
        """All records, in order."""

    def page(self, view: Callable[[int], tuple[int, int]]) -> tuple[list[Record], int]:
        """The records between two positions and how many there are in all, at the same moment.

        Args:
            view: takes the total, and returns the first position and the one after the last; it may be called again.
        """

    def get(self, identifier: int) -> Record:
        """The record with this id.

        Raises:
            UnknownIdError: if there is none.
        """

    def add(self, values: Callable[[int], Values], now: Callable[[], datetime]) -> Record:
        """Add a record.

        Args:
            values: takes the new id, and returns the record's values; it may be called again.
            now: the clock.

        Raises:
            ValueTakenError: if another record has the unique value; the id may then be lost.
        """

    def update(self, identifier: int, change: Callable[[Record], Record]) -> Record:
        """Replace a record with what `change` makes of it, with no other write in between; it may be called again.

        Raises:
            UnknownIdError: if there is no such record.
            ValueTakenError: if another record has the unique value; the record then stays as it was.
        """

    def delete(self, identifier: int) -> None:
        """Remove a record.

        Raises:
            UnknownIdError: if there is none with this id.
        """


class Account(Protocol):
    """An account."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def collections(self) -> Mapping[str, Collection]:
        """Its records by resource."""

    @property
    def clock(self) -> Clock:
        """What dates its writes."""

    @property
    def memories(self) -> WeakKeyDictionary[Any, dict[str, Any]]:
        """What each defect and condition remembers about it, in this process."""


class Accounts(Protocol):
    """All accounts of one mock."""

    @property
    def keys(self) -> dict[str, str]:
        """The name of each account by its key, sandboxes aside."""

    @property
    def sandboxes(self) -> Mapping[str, Account]:
        """All sandboxes by key, the most recently used last."""

    @property
    def now(self) -> datetime:
        """The time at which clocks start."""

    def knows(self, key: str) -> bool:
        """Whether a key opens an account, without making one."""

    def get(self, key: str) -> Account | None:
        """The account that a key opens, or None.

        A `sandbox-` key opens a separate account, made when the key is first used. If there are too many, the least
        recently used one is discarded.
        """

    def start_again(self, key: str, template: MemoryAccount | None = None) -> Account:
        """Let one account start again as it began, or as a copy of one in memory; the others stay as they are.

        Raises:
            SettingsError: if the key opens no account.
        """

    def set_clocks(self, now: datetime, key: str | None = None) -> None:
        """Set clocks to another time.

        Args:
            now: the time.
            key: the key of the account whose clock is set; if None, all clocks are, and those of later sandboxes.

        Raises:
            SettingsError: if the accounts use the machine's clock, or the key opens no account.
        """

    def make_room(self, key: str, resource: str, size: int = 0) -> None:
        """Make room for the account with a key to keep `size` more bytes among the records of a resource.

        If all accounts together would take too much, other sandboxes are discarded, the least recently used first.

        Raises:
            Refusal: if the account is full, or all together are and there is no other sandbox.
        """
