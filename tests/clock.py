"""A clock for tests: waits take no time, and all that looks at the time sees it pass."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from unittest.mock import patch


class SimulatedClock:
    """The real time, or the time at its start, and what was slept through.

    Args:
        is_frozen: no time passes but what is slept through.

    Attributes:
        slept: the seconds of each wait.
    """

    def __init__(self, *, is_frozen: bool = False) -> None:
        self.slept: list[float] = []
        self._is_frozen = is_frozen
        self._offset = 0.0
        self._lock = Lock()

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
            self._offset += seconds

    @contextmanager
    def running(self) -> Iterator["SimulatedClock"]:
        """Let this process go by this clock."""
        real_time, real_monotonic = time.time, time.monotonic
        if self._is_frozen:
            start, monotonic_start = time.time(), time.monotonic()
            real_time, real_monotonic = lambda: start, lambda: monotonic_start
        with (
            patch("time.sleep", self.sleep),
            patch("time.time", lambda: real_time() + self._offset),
            patch("time.monotonic", lambda: real_monotonic() + self._offset),
        ):
            yield self
