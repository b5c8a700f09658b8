"""The target: how it waits, gives up and follows redirects."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from email.utils import formatdate
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count, repeat
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Barrier, Lock, Thread
from typing import Any

import pytest
from answered import Answered
from clock import SimulatedClock
from faulty import reply
from urllib3 import HTTPResponse

from contract_tests.evidence.exchange import OTHER, Expect, Request
from contract_tests.options import RunOptions
from contract_tests.target import target
from contract_tests.target.budget import CLEANUP_PER_RECORD, CLEANUP_RESERVE, REFUSAL_PAUSE, BudgetSpentError, Limits
from contract_tests.target.connection import Connection
from contract_tests.target.identities import identities
from contract_tests.target.ledger import Ledger
from contract_tests.target.ownership import WriteRefusedError
from contract_tests.target.retries import TRIES_OF_A_HANG
from contract_tests.target.target import Target
from contract_tests.target.wire import _is_safe


class ScriptedTarget(Target):
    """A target whose connection gives some answers, the last one again and again."""

    def __init__(self, *replies: tuple[Any, ...], limits: Limits | None = None) -> None:
        super().__init__("http://127.0.0.1:1", {}, Ledger(), limits, Answered(self._answer))
        self._replies = list(replies)

    def _answer(self, *_: object, **_options: object) -> HTTPResponse:
        return reply(*(self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]))


PAGE: tuple[Any, ...] = (200, {}, b'{"data": [], "meta": {}, "links": {}}')
LIST = Request("list", "domains", "GET", "/api/domains/")
YEAR = 365 * 86_400  # seconds


@pytest.fixture
def slept() -> Iterator[list[float]]:
    with SimulatedClock(is_frozen=True).running() as clock:
        yield clock.slept


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "7", "X-RateLimit-Reset": "50"}, 7),
        ({"X-RateLimit-Reset": "12"}, 12),
        ({"X-RateLimit-Reset": str(int(time.time()) + YEAR)}, 300),
        ({"Retry-After": formatdate(time.time() + YEAR, usegmt=True)}, 300),
        ({"Retry-After": "-5"}, 0.5),
        ({"Retry-After": "nan"}, 1),
        ({"Retry-After": "soon"}, 1),
        ({}, 0.25),
    ],
    ids=["seconds", "both", "reset in seconds", "reset as a time", "a date", "past", "nan", "words", "nothing"],
)
def test_a_rate_limit_is_waited_for_as_long_as_it_says(
    slept: list[float], headers: dict[str, str], expected: float
) -> None:
    limited = ScriptedTarget((429, headers), PAGE)
    assert limited.send(LIST).succeeded
    assert sum(slept) == pytest.approx(expected, abs=0.1)


def test_requests_that_were_refused_count_for_no_budget(slept: list[float]) -> None:
    limited = ScriptedTarget(*[(429, {}), PAGE] * 3, limits=Limits(requests=3))
    assert [limited.send(LIST).status for _ in range(3)] == [200] * 3
    assert limited.budget.request_count == 6
    with pytest.raises(BudgetSpentError, match="the budget of requests was spent"):
        limited.send(LIST)


def test_patience_ends(slept: list[float]) -> None:
    """What the server asks for uses up patience only where it does not keep its word."""
    limited = ScriptedTarget((429, {"Retry-After": "80"}), limits=Limits(patience=170))
    with pytest.raises(BudgetSpentError, match=r"no answer since \d\d:\d\d:\d\d, after request 0: status 429"):
        limited.send(LIST)
    assert sum(slept) == pytest.approx(80 + 80 + 80 + 80, abs=1)


def test_requests_keep_their_distance(slept: list[float]) -> None:
    paced = target.Target("http://127.0.0.1:1", {}, Ledger(), Limits(interval=60.0))
    for _ in range(2):
        paced.send(LIST)
    assert sum(slept) > 59


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
    assert _is_safe("https://links.example.com/api/domains/", there) is sent


def test_a_redirect_that_is_no_url_leads_nowhere(slept: list[float]) -> None:
    lost = ScriptedTarget((307, {"Location": "http://[oops/"}))
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
    monkeypatch.setattr("contract_tests.target.retries.TRIES", 1)

    def slowly() -> Iterator[bytes]:
        while True:
            time.sleep(0.1)
            yield b" "

    with dripping(slowly()) as target:
        exchange = target.send(LIST)
    assert (exchange.status, exchange.error) == (None, "no whole answer came within 1 s")


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract_tests.target.retries.TRIES", 1)
    monkeypatch.setattr("contract_tests.target.connection.MAX_BODY_BYTES", 3 << 20)
    with dripping(repeat(b" " * 65_536)) as target:
        exchange = target.send(LIST)
    assert (exchange.status, exchange.error) == (None, "the answer is longer than 3 MiB")


@contextmanager
def raw(answer: Callable[[socket.socket], None], limits: Limits) -> Iterator[tuple[Target, list[bytes]]]:
    """A target that is sent what a function writes to the socket, and the requests that came."""
    came: list[bytes] = []

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            came.append(self.request.recv(65_536))
            with suppress(OSError):
                answer(self.request)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        target = Target(f"http://127.0.0.1:{server.server_address[1]}", {}, Ledger(), limits)
        yield target, came
        target.close()
        server.shutdown()


def test_what_came_instead_of_an_answer_is_not_repeated() -> None:
    with raw(lambda connection: connection.sendall(b"the-key-of-somebody\r\n\r\n"), Limits(timeout=1.0)) as (target, _):
        exchange = target.send_once(Request("list", "domains", "GET", "/api/domains/"))
    assert exchange.error == "what came does not begin as an answer in HTTP"


def drips_a_head(connection: socket.socket) -> None:
    for letter in b"HTTP/1.1 200 OK\r\nX: " + b"a" * 1000:
        connection.sendall(bytes([letter]))
        time.sleep(0.05)


def goes_on_without_end(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        time.sleep(0.01)  # which is short beside the limits


def is_silent(connection: socket.socket) -> None:
    connection.recv(1)


ENDLESS = {"a head that drips": drips_a_head, "endless 100 Continue": goes_on_without_end, "silence": is_silent}


@pytest.mark.slow
@pytest.mark.parametrize("answer", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("limits", [Limits(timeout=1), Limits(timeout=60, seconds=1.0)], ids=["timeout", "deadline"])
def test_an_answer_that_does_not_end_is_given_up(answer: Callable[[socket.socket], None], limits: Limits) -> None:
    with raw(answer, limits) as (target, came):
        exchange = target.send(LIST)
    assert (exchange.status, exchange.timed_out) == (None, True)
    assert exchange.error.startswith("no whole answer came within ")
    assert len(came) == (TRIES_OF_A_HANG if limits.seconds is None else 1)


def test_early_hints_are_no_answer() -> None:
    def hints(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    with raw(hints, Limits(timeout=5)) as (target, _):
        assert target.send(LIST).json == {}


@pytest.mark.slow
def test_a_kept_connection_is_given_its_whole_time_for_each_answer() -> None:
    def slowly(connection: socket.socket) -> None:
        for _ in range(3):
            time.sleep(1.2)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            connection.recv(65_536)

    with raw(slowly, Limits(timeout=3)) as (target, came):
        assert [target.send(LIST).status for _ in range(3)] == [200, 200, 200]
    assert len(came) == 1


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_write_is_never_sent_on_a_connection_that_a_server_may_be_closing(method: str) -> None:
    def once(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        connection.recv(65_536)  # and closes it without an answer

    with raw(once, Limits(timeout=5)) as (target, came):
        entry = target.ledger.plan("domains", "ct7")
        target.ledger.note_id(entry, 7)
        target.ledger.note_seen(entry)
        target.send(LIST)
        written = target.send(Request("delete", "domains", method, "/api/domains/7", identifier=7))
    assert (written.status, written.attempts, len(came)) == (200, (), 2)


def test_waiting_for_a_rate_limit_is_told(slept: list[float]) -> None:
    limited = ScriptedTarget((429, {"Retry-After": "86400"}), PAGE)
    told: list[tuple[float, str]] = []
    limited.retries.waiting = lambda seconds, reason: told.append((seconds, reason))
    assert limited.send(LIST).succeeded
    assert told == [(300, "the server reports too many requests")]
    assert sum(slept) == pytest.approx(300, abs=0.1)


def test_a_rate_limit_beyond_the_deadline_is_not_waited_for(slept: list[float]) -> None:
    limited = ScriptedTarget((429, {"Retry-After": "86400"}), limits=Limits(seconds=20))
    with pytest.raises(BudgetSpentError, match="the time for the run was up"):
        limited.send(LIST)
    assert slept == []


@pytest.mark.parametrize(
    ("key", "is_sent"), [("demo-Key", True), ("12-34", False), ("7F3a-0b", False), ("0123456789ABCDEFx", True)]
)
def test_a_key_that_may_be_read_without_regard_to_case_is_not_sent_in_other_cases(key: str, is_sent: bool) -> None:  # noqa: FBT001
    assert ("the key in other cases" in identities(key, None)) is is_sent


@pytest.fixture
def heads() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that keeps the headers of its requests: its base URL, and these."""
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append({name.casefold(): text for name, text in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def test_each_request_has_a_trace_of_its_own_and_names_the_run(heads: tuple[str, list[dict[str, str]]]) -> None:
    base_url, seen = heads
    asked = Target(base_url, {}, Ledger(token="x1a2b"))
    exchanges = [asked.send(LIST), asked.send(LIST)]
    asked.close()
    assert [head["user-agent"] for head in seen] == ["contract-tests (run x1a2b)"] * 2
    traces = [re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01", head["traceparent"]) for head in seen]
    assert [trace and trace[1] for trace in traces] == [exchange.trace for exchange in exchanges]
    assert [int(exchange.trace[16:], 16) for exchange in exchanges] == [1, 2]
    assert exchanges[0].trace[:16] == exchanges[1].trace[:16] != "0" * 16


def test_headers_that_are_given_win(heads: tuple[str, list[dict[str, str]]]) -> None:
    base_url, seen = heads
    given = {"user-agent": "mine", "Traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-00"}
    asked = Target(base_url, {}, Ledger(), connection=Connection(headers=given))
    assert asked.send(LIST).trace == ""
    asked.close()
    assert (seen[0]["user-agent"], seen[0]["traceparent"]) == ("mine", given["Traceparent"])


FORBIDDEN: tuple[Any, ...] = (403, {}, b"<h1>Forbidden</h1>")
OTHERS_RECORD: tuple[Any, ...] = (200, {}, b'{"data": {"id": 1, "host": "theirs.example.org"}}')
UPDATED: tuple[Any, ...] = (200, {}, b"{}")


@pytest.mark.parametrize(
    ("replies", "is_sent"),
    [
        pytest.param([FORBIDDEN, OTHERS_RECORD], False, id="the first read came too soon"),
        pytest.param([FORBIDDEN, FORBIDDEN, FORBIDDEN], False, id="others come too soon, too"),
        pytest.param([FORBIDDEN, FORBIDDEN, PAGE, UPDATED], True, id="the key is refused"),
    ],
)
def test_a_limit_does_not_pass_for_a_key_that_has_no_record_there(
    slept: list[float],
    replies: list[Any],
    is_sent: bool,  # noqa: FBT001
) -> None:
    target = ScriptedTarget(PAGE, *replies)
    target.keys |= {OTHER: "Bearer other"}
    entry = target.ledger.plan("domains", "ct-1z")
    target.ledger.note_id(entry, 1)
    target.ledger.note_seen(entry)
    target.send(LIST)
    update = Request("update", "domains", "POST", "/api/domains/1", (), None, OTHER, 1, Expect.OPEN)
    with nullcontext() if is_sent else pytest.raises(WriteRefusedError, match="may be a record of somebody else's"):
        target.send(update)
    assert [each.request for each in target.all_exchanges].count(update) == is_sent
    assert sum(slept) == pytest.approx(REFUSAL_PAUSE, abs=0.01)


def test_redirects_that_are_followed_do_not_count_against_the_budget(slept: list[float]) -> None:
    target = ScriptedTarget((307, {"Location": "/lists"}, b""), PAGE, limits=Limits(requests=30))
    target.ledger.plan("domains", "ct-1z")
    reserve = CLEANUP_RESERVE + CLEANUP_PER_RECORD
    assert target.budget.may_send(30 - reserve)
    target.send(LIST)
    assert target.budget.request_count == 2
    assert target.budget.may_send(30 - reserve - 1)
    assert not target.budget.may_send(30 - reserve)


class SlowTarget(Target):
    """A target whose answers take a moment, and that notes how many requests are under way."""

    def __init__(self, jobs: int) -> None:
        super().__init__("http://127.0.0.1:1", {}, Ledger(), Limits(jobs=jobs), Answered(self._answer))
        self.under_way, self.peak, self.cleaning = 0, 0, list[bool]()
        self._lock = Lock()

    def _answer(self, *_: object, **_options: object) -> HTTPResponse:
        with self._lock:
            self.under_way += 1
            self.peak = max(self.peak, self.under_way)
            self.cleaning.append(self.budget.is_cleaning)
        time.sleep(0.02)
        with self._lock:
            self.under_way -= 1
        return reply(*PAGE)


class CrowdedTarget(SlowTarget):
    """A target that fails the first two requests, which overlap."""

    def __init__(self) -> None:
        super().__init__(jobs=6)
        self._barrier, self._numbers = Barrier(2), count()

    def _answer(self, *arguments: object, **options: object) -> HTTPResponse:
        if next(self._numbers) < 2:
            self._barrier.wait(60)
            return reply(500)
        return super()._answer(*arguments, **options)


def test_after_failures_that_only_others_under_way_explain_requests_come_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("contract_tests.target.retries.PAUSE", 0.0)
    target = CrowdedTarget()
    send = partial(target.send, LIST)
    failed = target.side_by_side([send] * 2)
    assert [(exchange.attempts, exchange.overlapped) for exchange in failed] == [((500,), (True, False))] * 2
    assert all(exchange.succeeded for exchange in target.side_by_side([send] * 8))
    target.close()
    assert target.peak == 1


def test_help_says_how_many_requests_are_under_way() -> None:
    assert f"[default: {target.JOBS}]" in next(
        str(each.help) for each in RunOptions.parameters() if each.name == "jobs"
    )


@pytest.mark.parametrize("jobs", [1, 2, 6])
def test_no_more_requests_are_under_way_than_jobs_allow(jobs: int) -> None:
    target = SlowTarget(jobs)
    pages = [replace(LIST, query=(("page", str(number)),)) for number in range(20)]
    steps = [partial(target.send, request) for request in pages]
    with ThreadPoolExecutor(3) as visits:  # whose own requests count, too
        answers = list(visits.map(target.side_by_side, [steps, steps, steps]))
    target.close()
    assert [[exchange.request for exchange in exchanges] for exchanges in answers] == [pages] * 3
    assert target.peak == 1 if jobs == 1 else 1 < target.peak <= jobs


def test_steps_side_by_side_end_before_the_error_of_one_is_raised() -> None:
    target, ended = SlowTarget(6), list[int]()

    def step(number: int) -> None:
        if not number:
            raise WriteRefusedError
        target.send(LIST)
        ended.append(number)

    with pytest.raises(WriteRefusedError):
        target.side_by_side([partial(step, number) for number in range(4)])
    target.close()
    assert sorted(ended) == [1, 2, 3]


def test_steps_of_clean_up_count_as_such_and_may_have_steps_of_their_own() -> None:
    target = SlowTarget(2)
    send = partial(target.send, LIST)
    with target.budget.cleaning_up():
        target.side_by_side([partial(target.side_by_side, [send] * 3)] * 3)
    target.side_by_side([send] * 3)
    target.close()
    assert target.cleaning == [True] * 9 + [False] * 3


def test_at_a_limited_rate_steps_come_one_after_the_other() -> None:
    target, order = SlowTarget(6), list[int]()
    target.availability.interval = 0.001

    def step(number: int) -> None:
        target.send(LIST)
        order.append(number)

    target.side_by_side([partial(step, number) for number in range(8)])
    target.close()
    assert (order, target.peak) == ([*range(8)], 1)


def test_no_wait_for_the_pace_outlasts_the_time_for_a_run(simulated_clock: SimulatedClock) -> None:
    target = ScriptedTarget(PAGE, limits=Limits(interval=60, seconds=5))
    assert target.send(LIST).succeeded
    with pytest.raises(BudgetSpentError, match="the time for the run was up"):
        target.send(LIST)
    assert sum(simulated_clock.slept) == 0


def test_clean_up_takes_the_time_that_its_pace_needs(simulated_clock: SimulatedClock) -> None:
    target = ScriptedTarget(PAGE, limits=Limits(interval=600, seconds=5))
    with target.budget.cleaning_up():
        assert all(target.send(LIST).succeeded for _ in range(4))
    assert sum(simulated_clock.slept) == pytest.approx(1800, abs=1)
