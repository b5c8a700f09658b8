"""A shared mock: requests a second by 1, 2 and 4 processes on one Redis, beside one process in memory.

Needs redis-server. Load, processes and Redis share the machine's cores, so the figures are for comparison alone.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

from load import USED, Call, rate

KEY = {"Authorization": "Bearer demo-key-harbour"}
FORM = {**KEY, "Content-Type": "application/x-www-form-urlencoded"}
CALLS: dict[str, list[Call]] = {
    "read": [("GET", "/api/domains/1", KEY, b"")],
    "list of 25": [("GET", "/api/domains/?results_per_page=25&page=2", KEY, b"")],
    "update": [("POST", "/api/domains/1", FORM, b"custom_index_url=https%3A%2F%2Fa.example.com")],
    "create": [("POST", "/api/projects", FORM, b"name=Page")],
}
SECONDS_TO_START = 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="for each measurement (default: %(default)g)")
    parser.add_argument("--records", type=int, nargs="*", default=[100], help="generated (default: 100)")
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 4], help="on Redis (default: 1 2 4)")
    given = parser.parse_args()
    print(f"requests a second, by {USED}")
    print(f"{'records':>9} {'store':8} {'processes':>9} {''.join(f'{name:>12}' for name in CALLS)}")
    for records in given.records:
        for store, processes in (("memory", 1), *(("redis", each) for each in given.processes)):
            with running(store, processes, records) as port:
                rates = "".join(f"{rate(port, calls, given.seconds):12.0f}" for calls in CALLS.values())
            print(f"{records:9} {store:8} {processes:9} {rates}", flush=True)


@contextmanager
def running(store: str, processes: int, records: int) -> Iterator[int]:
    """A mock, and a Redis of its own if it needs one; its port."""
    with ExitStack() as stack:
        port, command = free_port(), [sys.executable, "-m", "mock_server", "--log-level", "error"]
        command += ["--port", str(port), "--records", str(records)]
        if store == "redis":
            redis, folder = free_port(), stack.enter_context(TemporaryDirectory())
            of_redis = ["redis-server", "--port", str(redis), "--save", "", "--dir", folder]
            stack.enter_context(ended(subprocess.Popen(of_redis, stdout=subprocess.DEVNULL)))
            wait(redis)
            command += ["--store", f"redis://127.0.0.1:{redis}/0", "--workers", str(processes)]
        stack.enter_context(ended(subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=Path(__file__).parents[1])))
        wait(port)
        connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS_TO_START)
        connection.request("GET", "/api/domains/1", headers=KEY)
        assert connection.getresponse().status == 200
        time.sleep(2)  # for the other processes
        yield port


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def wait(port: int) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise TimeoutError(port)


if __name__ == "__main__":
    main()
