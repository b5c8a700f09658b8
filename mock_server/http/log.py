"""Writes log lines from a thread, a few times a second, so that a slow reader of the log delays no request."""

from __future__ import annotations

import logging
import threading
from collections import deque

MOST_WAITING = 10_000  # lines; older ones are lost if nobody reads
SECONDS_BETWEEN, SECONDS_TO_FINISH = 0.05, 1.0


class BatchHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes lines to standard error, several at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[logging.LogRecord] = deque(maxlen=MOST_WAITING)
        self._came, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line until it is written."""
        self._waiting.append(record)
        if not self._came.is_set():
            self._came.set()

    def finish(self) -> None:
        """Write what is left, if somebody reads it, and no more; `close` is called by others, such as Granian."""
        self._over.set()
        self._came.set()
        self._thread.join(SECONDS_TO_FINISH)

    def _write(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN):
            self._came.wait()
            self._came.clear()
            self._write_waiting()
        self._write_waiting()

    def _write_waiting(self) -> None:
        records = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self.stream.write("".join([f"{self.format(each)}{self.terminator}" for each in records]))
            self.stream.flush()
        except Exception:  # noqa: BLE001 - whatever a line or a stream does, the thread goes on
            self.handleError(records[-1])
