"""Where the times of records come from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
SECOND = timedelta(seconds=1)


class Ticking:
    """A clock that advances only when it is read, so that the same requests get the same times.

    Args:
        now: the time before it is first read; it may be set.
        step: by how much it advances.

    Attributes:
        now: its time.
        step: as given.
    """

    def __init__(self, now: datetime, step: Callable[[], timedelta] = lambda: SECOND) -> None:
        self.now = now
        self.step = step
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        """Advance the clock, and return its time."""
        with self._lock:
            self.now += self.step()
            return self.now


def system_clock() -> datetime:
    """The machine's clock, in UTC and whole seconds."""
    return datetime.now(UTC).replace(microsecond=0, tzinfo=None)
