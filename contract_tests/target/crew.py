"""Threads that send requests at one moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat
from threading import Barrier, BrokenBarrierError, Lock
from typing import TypeVar

MOST_AT_ONCE = 60
Task = TypeVar("Task")
Result = TypeVar("Result")


class Crew:
    """Carries out tasks at one moment; the threads are kept, and with them their connections."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._lock = Lock()  # one moment at a time, so that no two wait for each other's threads

    def at_once(
        self, task: Callable[[Task], Result], given: Sequence[Task], late: Sequence[float], patience: float
    ) -> list[Result]:
        """Do a task for each of some values at one moment; the results in their order.

        Args:
            task: what to do.
            given: the values, `MOST_AT_ONCE` at most.
            late: by how many seconds each comes after that moment; by none, if empty.
            patience: seconds that the threads wait for each other.
        """
        moment = Barrier(len(given))

        def begin(one: Task, seconds: float) -> Result:
            with suppress(BrokenBarrierError):
                moment.wait(patience)
            time.sleep(seconds)
            return task(one)

        with self._lock:
            self._threads = self._threads or ThreadPoolExecutor(MOST_AT_ONCE, "overlap")
            return list(self._threads.map(begin, given, late or repeat(0.0)))

    def close(self) -> None:
        """End all threads."""
        if self._threads:
            self._threads.shutdown()
