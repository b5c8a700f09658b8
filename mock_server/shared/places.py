"""Where the records of an account are in Redis, how they are arranged, and what dates its writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from link_management_contract import Resource
from mock_server.clock import Ticking
from mock_server.shared.store import Space


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How a collection is arranged.

    Attributes:
        order: the value of the open point `order`.
        label: the field that lists may be sorted by.
        following: from an id to the next.
        host: the field whose values may have to be unique, or None.
        is_unique: whether they have to.
    """

    order: str
    label: str
    following: Callable[[int], int]
    host: str | None
    is_unique: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where the records of an account are.

    Attributes:
        number: of this account.
        base: the number of the account whose records it shares until its first change; it never changes itself.
        name: what people call the account.
        shares_ids: whether it takes its ids from the same sequences as the accounts that the mock began with.
    """

    number: int
    base: int
    name: str
    shares_ids: bool = False


class SharedClock(Ticking):
    """A clock in Redis.

    Args:
        space: where it is.
        number: of the account's place.
        step: by how much it advances.
    """

    def __init__(self, space: Space, number: int, step: Callable[[], timedelta]) -> None:
        self._space, self._key, self._step = space, space.key("clock", str(number)), step

    def __call__(self) -> datetime:
        """Advance the clock, and return its time."""
        return moment(int(self._space.store.ask("INCRBY", self._key, str(int(self._step().total_seconds())))))

    @property
    def now(self) -> datetime:
        """Its time."""
        return moment(int(self._space.store.ask("GET", self._key) or 0))

    @now.setter
    def now(self, now: datetime) -> None:
        self._space.carry_out(commands=[["SET", self._key, seconds(now)]])


def seconds(time: datetime) -> str:
    """A time as seconds since 1970."""
    return str(int(time.replace(tzinfo=UTC).timestamp()))


def moment(after: int) -> datetime:
    """The time so many seconds after 1970 began."""
    return datetime.fromtimestamp(after, UTC).replace(tzinfo=None)


def arranged(
    resource: Resource, order: str, following: Callable[[int], int], *, is_unique: bool = False
) -> Arrangement:
    """How the records of a resource are arranged."""
    host = "host" if "host" in resource.fields else None
    return Arrangement(order, resource.label, following, host, is_unique)
