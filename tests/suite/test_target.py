from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import repeat
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from liar import LyingTarget, Reply, honest

from contract_tests import target
from contract_tests.exchange import Request
from contract_tests.ledger import Ledger
from contract_tests.target import Limits, Target
from mock_server import Settings

LIST = Request("list", "domains", "GET", "/api/domains/")


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds: list[float] = []
    clock = SimpleNamespace(time=time.time, monotonic=time.monotonic, sleep=seconds.append)
    monkeypatch.setattr(target, "time", clock)
    return seconds


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "7", "X-RateLimit-Reset": "50"}, 7),
        ({"X-RateLimit-Reset": "12"}, 12),
        ({"X-RateLimit-Reset": str(int(time.time()) + 3600)}, 90),
        ({"Retry-After": formatdate(time.time() + 3600, usegmt=True)}, 90),
        ({"Retry-After": "-5"}, 0.5),
        ({"Retry-After": "nan"}, 1),
        ({"Retry-After": "soon"}, 1),
        ({}, 1),
    ],
    ids=["seconds", "both", "reset in seconds", "reset as a time", "a date", "past", "nan", "words", "nothing"],
)
def test_a_rate_limit_is_waited_for_as_long_as_it_says(
    slept: list[float], headers: dict[str, str], expected: float
) -> None:
    replies: list[Any] = [Reply(429, headers, b"")]
    limited = LyingTarget(lambda ask, serve: replies.pop() if replies else serve(ask), Settings())
    assert limited.send(LIST).succeeded
    assert slept == [expected]


def test_patience_ends(slept: list[float]) -> None:
    limited = LyingTarget(lambda *_: Reply(429, {"Retry-After": "80"}, b""), Settings(), Limits(patience=170))
    assert limited.send(LIST).status == 429
    assert slept == [80, 80]


def test_requests_keep_their_distance(slept: list[float]) -> None:
    paced = target.Target("http://127.0.0.1:1", {}, LyingTarget(honest, Settings()).ledger, Limits(interval=60.0))
    for _ in range(2):
        paced.send(LIST)
    assert max(slept) > 59


@pytest.mark.parametrize(
    ("there", "sent"),
    [
        ("https://links.example.com/api/domains", True),
        ("http://links.example.com/api/domains", False),
        ("https://elsewhere.example.com/api/domains", False),
        ("", False),
    ],
)
def test_a_key_follows_a_redirect_on_the_same_host_and_never_out_of_tls(there: str, sent: bool) -> None:  # noqa: FBT001
    assert target._is_safe("https://links.example.com/api/domains/", there) is sent  # noqa: SLF001


def test_a_redirect_that_is_no_url_leads_nowhere(slept: list[float]) -> None:
    lost = LyingTarget(lambda *_: Reply(307, {"Location": "http://[oops/"}, b""), Settings())
    assert lost.send(LIST).status == 307


@contextmanager
def dripping(body: Iterable[bytes]) -> Iterator[Target]:
    """A target whose server sends a body without end, part by part; it waits for a second."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                for part in body:
                    self.wfile.write(part)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        target = Target(f"http://127.0.0.1:{server.server_port}", {}, Ledger(), Limits(timeout=1))
        yield target
        target.close()
        server.shutdown()


def test_an_answer_that_comes_byte_by_byte_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract_tests.target.TRIES", 1)

    def slowly() -> Iterator[bytes]:
        while True:
            time.sleep(0.1)
            yield b" "

    with dripping(slowly()) as target:
        exchange = target.send(LIST)
    assert (exchange.status, exchange.error) == (None, "no whole answer came within 1 s")


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract_tests.target.TRIES", 1)
    monkeypatch.setattr("contract_tests.connection.LONGEST_BODY", 3 << 20)
    with dripping(repeat(b" " * 65_536)) as target:
        exchange = target.send(LIST)
    assert (exchange.status, exchange.error) == (None, "the answer is longer than 3 MiB")
