"""Where the times of records come from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
SECOND = timedelta(seconds=1)


class Ticking:
    """A clock that moves on with each look alone, so that the same requests get the same times.

    Args:
        now: what it shows before the first look; it may be set.
        step: by how much it moves on.
    """

    def __init__(self, now: datetime, step: Callable[[], timedelta] = lambda: SECOND) -> None:
        self.now = now
        self._step = step
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        """The next time."""
        with self._lock:
            self.now += self._step()
            return self.now


def system_clock() -> datetime:
    """The machine's clock, in UTC and whole seconds."""
    return datetime.now(UTC).replace(microsecond=0, tzinfo=None)
