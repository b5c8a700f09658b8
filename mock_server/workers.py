"""Further processes that serve the same mock on the same port; all they hold is in a store."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any, Self

from mock_server.server import MockServer

SECONDS_TO_STOP = 3
SECONDS_BETWEEN = 1.0  # from the start of a process to that of the one that replaces it


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
        self._running: list[tuple[BaseProcess, float]] = [self._started() for _ in range(count)]

    def __enter__(self) -> Self:
        """They are under way already."""
        return self

    def __exit__(self, *reason: object) -> None:
        """Let them finish the requests under way, and end them."""
        for process, _ in self._running:
            process.terminate()
        for process, _ in self._running:
            process.join(SECONDS_TO_STOP)
            process.kill()
        if self._listener:
            self._listener.close()

    def replaced(self) -> list[int]:
        """Start a process for each that has ended; the ids of those."""
        ended = [
            each for each in self._running if not each[0].is_alive() and time.monotonic() - each[1] > SECONDS_BETWEEN
        ]
        for each in ended:
            self._running[self._running.index(each)] = self._started()
        return [process.pid or 0 for process, _ in ended]

    def _started(self) -> tuple[BaseProcess, float]:
        process = self._context.Process(target=_work, args=self._arguments, daemon=True)
        process.start()
        return process, time.monotonic()


def _work(listener: socket.socket, prepare: Callable[[], Any], given: dict[str, Any]) -> None:
    """Serve until the process is ended, or the one that started it has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the first process ends the others
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    prepare()
    parent = multiprocessing.parent_process()
    with MockServer(**given, listener=listener):
        if parent:
            parent.join()
