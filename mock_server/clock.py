"""Where the times of records come from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

Clock = Callable[[], datetime]


def ticking(start: datetime) -> Clock:
    """A clock of which every look is one second after the one before, so that the same requests get the same times."""
    seconds = count(1)
    return lambda: start + timedelta(seconds=next(seconds))


def system_clock() -> datetime:
    """The machine's clock, in UTC and whole seconds."""
    return datetime.now(UTC).replace(microsecond=0, tzinfo=None)
