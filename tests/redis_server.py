"""A Redis server for tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

SECONDS_TO_START = 20


class RedisServer:
    """A Redis server on a free port, as a context manager.

    Args:
        folder: for its files.
        options: of its configuration.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        if program is None:
            told = "no Redis server here: the tests of shared mocks were skipped"
            pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        files = ["--dir", str(folder), "--save", "", "--bind", "127.0.0.1", "--port", str(self.port)]
        self._command = [str(program), *files, *options]
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it."""
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it has read what it kept."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + SECONDS_TO_START
        while not self._answers():
            assert time.monotonic() < until
            time.sleep(0.05)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(100).startswith(b"+PONG")
        except OSError:
            return False
