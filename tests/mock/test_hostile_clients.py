"""Hostile clients, each with its defined outcome; others are answered meanwhile and afterwards."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from http.client import parse_headers
from io import BufferedReader
from itertools import islice
from pathlib import Path
from select import select
from urllib.parse import urlsplit

import hostile
import pytest
from hostile_clients import HOSTILE, Hostile, Then, domain
from wire import Client, over_network

from mock_server import MockServer

WAITING = [name for name, each in HOSTILE.items() if each.then is Then.WAITS]
PROBE = domain(b"Connection: close")

# One entry has a body of 65 MiB, of which 64 MiB are received and 16 MiB kept, in a few copies while it is parsed; the
# allocator keeps some of that room. What each entry leaves for good, such as the journal, is a few kilobytes.
MOST_GROWTH = 150  # MB


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with pytest.MonkeyPatch.context() as patch, MockServer() as running:
        patch.setattr("mock_server.http.messages.SECONDS_FOR_A_BODY", 300.0)  # however busy this machine is
        yield running


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=60)


def send(connection: socket.socket, each: Hostile) -> None:
    """Send all, unless the server has had enough."""
    with suppress(ConnectionError):
        connection.sendall(each.sent)
        if each.half_closes:
            connection.shutdown(socket.SHUT_WR)


def answers(reader: BufferedReader) -> Iterator[tuple[int, bytes]]:
    """The statuses and bodies of the answers on a connection, until it is closed."""
    with suppress(ConnectionError):
        while line := reader.readline():
            headers = parse_headers(reader)
            yield int(line.split()[1]), reader.read(int(headers["Content-Length"] or 0))


def outcome(connection: socket.socket, each: Hostile) -> tuple[tuple[int, ...], Then | None, str]:
    """The answers to a hostile client, what became of its connection, and the last body."""
    send(connection, each)
    arriving = answers(connection.makefile("rb"))
    seen = list(islice(arriving, len(each.answers)))
    statuses, said = tuple(status for status, _ in seen), seen[-1][1].decode() if seen else ""
    then: Then | None = None
    if each.then is Then.GOES_ON:
        with suppress(ConnectionError):
            connection.sendall(PROBE)
        rest = list(arriving)
        if [status for status, _ in rest] == [200] and b'"id": 1,' in rest[0][1]:
            then = Then.GOES_ON
    elif each.then is Then.CLOSES:
        then = None if list(arriving) else Then.CLOSES
    elif not select([connection], [], [], 0)[0]:
        then = Then.WAITS
    return statuses, then, said


def assert_others_are_answered(base_url: str) -> None:
    answer = Client(over_network(base_url)).get("/api/domains/1")
    assert (answer.status, answer.json["data"]["id"]) == (200, 1)


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_hostile_client_meets_its_defined_outcome_and_others_are_answered(
    server: MockServer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    each = HOSTILE[name]
    with connect(server.base_url) as connection:
        statuses, then, said = outcome(connection, each)
        assert_others_are_answered(server.base_url)
        assert (statuses, then) == (each.answers, each.then)
        assert each.says in said
        if each.then is Then.WAITS:
            assert not select([connection], [], [], 0)[0]
    assert_others_are_answered(server.base_url)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize("name", WAITING)
def test_a_client_that_lets_the_server_wait_is_given_up(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("mock_server.server.IDLE.header_read_timeout", 300)
    monkeypatch.setattr("mock_server.http.messages.SECONDS_FOR_A_BODY", 0.3)
    each = HOSTILE[name]
    with MockServer() as hasty, connect(hasty.base_url) as connection:
        send(connection, each)
        seen = [status for status, _ in answers(connection.makefile("rb"))]
        assert seen == [*each.answers, *([each.at_last] if each.at_last else [])]
        assert_others_are_answered(hasty.base_url)


def test_no_answer_is_a_failure_of_the_server_unless_the_client_prefers_it() -> None:
    failures = {name for name, each in HOSTILE.items() if max((*each.answers, each.at_last or 0)) >= 500}
    assert failures == {"a preferred 503"}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_all_hostile_clients_leave_little_in_the_memory() -> None:
    with hostile.started() as mock, ExitStack() as stack:
        url = f"http://{mock.host}:{mock.port}"
        assert_others_are_answered(url)
        before, _ = mock.memory()
        for each in HOSTILE.values():
            connection = stack.enter_context(connect(url))
            outcome(connection, each)
            if each.then is not Then.WAITS:
                connection.close()
        assert_others_are_answered(url)
        now, _ = mock.memory()
        assert now - before < MOST_GROWTH
