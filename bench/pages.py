"""Measures the mock server; every figure is a ratio of two things measured in this run, but the time to start."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from threading import Thread
from urllib.parse import urlsplit

from werkzeug.serving import WSGIRequestHandler, make_server

from mock_server import MockServer, create_app

HEADERS = {"Authorization": "Bearer demo-key-harbour"}
SMALL, LARGE = 100, 1_000_000
ROUNDS, REQUESTS = 15, 100
STARTS = 5


class _KeptAlive(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_: object) -> None:
        pass


def main() -> None:
    print(f"first answer after start      {median(start_time() for _ in range(STARTS)):.2f} s")
    for name, ratio in page_ratios().items():
        print(f"{name:30}{ratio:.2f} times the same page of {SMALL} records")
    print(f"requests a second             {served_ratio():.1f} times those of werkzeug's server")


def start_time() -> float:
    """Seconds from the start of the command to its first answer."""
    began = time.perf_counter()
    command: list[str | Path] = [Path(sys.executable).with_name("mock-server"), "--port", "0", "--log-level", "error"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        get(connect(process.stdout.readline().split()[-1]), "/api/domains/")
        taken = time.perf_counter() - began
        process.terminate()
    return taken


def page_ratios() -> dict[str, float]:
    """How long pages of a large collection take, against the first page of a small one."""
    with (
        MockServer(fixture="empty", records=SMALL) as small,
        MockServer(fixture="empty", records=LARGE) as large,
    ):
        near, far = connect(small.base_url), connect(large.base_url)
        pages = {f"page {page:6} of {LARGE:,}": page for page in (1, LARGE // 50, LARGE // 25)}
        return {
            label: compared(partial(get, far, f"/api/domains/?page={page}"), partial(get, near, "/api/domains/"))
            for label, page in pages.items()
        }


def served_ratio() -> float:
    """How many requests Granian answers in the time in which werkzeug's server answers one."""
    plain = make_server("127.0.0.1", 0, create_app(), threaded=True, request_handler=_KeptAlive)
    Thread(target=plain.serve_forever, daemon=True).start()
    with MockServer() as server:
        ours, theirs = connect(server.base_url), connect(f"http://127.0.0.1:{plain.port}")
        return compared(partial(get, theirs, "/api/domains/1"), partial(get, ours, "/api/domains/1"))


def compared(one: Callable[[], None], other: Callable[[], None]) -> float:
    """The time of one over that of the other, the median of rounds in which both take turns."""
    return median(seconds(one) / seconds(other) for _ in range(ROUNDS))


def seconds(action: Callable[[], None]) -> float:
    began = time.perf_counter()
    for _ in range(REQUESTS):
        action()
    return time.perf_counter() - began


def connect(base_url: str) -> HTTPConnection:
    return HTTPConnection(urlsplit(base_url).netloc)


def get(connection: HTTPConnection, path: str) -> None:
    connection.request("GET", path, headers=HEADERS)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, path


main()
