from __future__ import annotations

import time
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import pytest
from liar import LyingTarget, Reply, honest

from contract_tests import target
from contract_tests.exchange import Request
from contract_tests.target import Limits
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
