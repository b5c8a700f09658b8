"""Further processes that serve the same mock on the same port; all they hold is in a store."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Any, Self

from mock_server.server import MockServer

SECONDS_TO_STOP = 3
SECONDS_BETWEEN, MOST_SECONDS_BETWEEN = 1.0, 60.0  # from the start of a process to that of the one that replaces it
SECONDS_TO_PROVE_ITSELF = 10.0  # for which a process has to run; if one ends sooner, the next start waits twice as long


@dataclass
class _Worker:
    """A further process, when it was started, and how many seconds after that another may take its place."""

    process: BaseProcess
    started: float
    delay: float


class Workers:
    """Further processes that serve a mock, as a context manager.

    Args:
        count: how many.
        listener: the socket that they share; None if there are none.
        prepare: called in each before it serves.
        given: the arguments of `MockServer`.
    """

    def __init__(
        self, count: int, listener: socket.socket | None, prepare: Callable[[], Any], given: dict[str, Any]
    ) -> None:
        self._listener = listener
        self._arguments = (listener, prepare, given)
        self._context = multiprocessing.get_context("spawn")
        self._running = [self._start(SECONDS_BETWEEN) for _ in range(count)]

    def __enter__(self) -> Self:
        """They are under way already."""
        return self

    def __exit__(self, *reason: object) -> None:
        """Let them finish the requests under way, and end them."""
        for worker in self._running:
            worker.process.terminate()
        for worker in self._running:
            worker.process.join(SECONDS_TO_STOP)
            worker.process.kill()
        if self._listener:
            self._listener.close()

    def replaced(self) -> list[int]:
        """Start a process for each that has ended; the ids of those.

        Processes that end as soon as they start are replaced with increasing delays, up to a minute.
        """
        ended = []
        for position, worker in enumerate(self._running):
            age = time.monotonic() - worker.started
            if worker.process.is_alive():
                worker.delay = SECONDS_BETWEEN if age > SECONDS_TO_PROVE_ITSELF else worker.delay
            elif age > worker.delay:
                ended.append(worker.process.pid or 0)
                self._running[position] = self._start(min(2 * worker.delay, MOST_SECONDS_BETWEEN))
        return ended

    def _start(self, delay: float) -> _Worker:
        process = self._context.Process(target=_work, args=self._arguments, daemon=True)
        process.start()
        return _Worker(process, time.monotonic(), delay)


def _work(listener: socket.socket, prepare: Callable[[], Any], given: dict[str, Any]) -> None:
    """Serve until the process is ended, or the one that started it has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the first process ends the others
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    prepare()
    parent = multiprocessing.parent_process()
    with MockServer(**given, listener=listener):
        if parent:
            parent.join()
