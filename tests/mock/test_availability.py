"""Hostile clients of a mock in a process of its own: it goes on to answer, and its memory stays bounded."""

from __future__ import annotations

import asyncio
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

import hostile
import pytest
from hostile import Mock
from upstream import wait_for
from wire import HARBOUR, Client, over_network

from mock_server import MockServer
from mock_server.http.gateway import Gateway
from mock_server.server import _most_connections

MOST_MEMORY = 300  # MB
SOON = 40.0  # seconds, of the minute or so for which a hostile client is held


@pytest.fixture
def mock(request: pytest.FixtureRequest) -> Iterator[Mock]:
    """A mock of one test alone."""
    with hostile.started(*getattr(request, "param", ())) as running:
        yield running


@pytest.fixture(scope="module")
def held_mock() -> Iterator[Mock]:
    """A mock that is held in one way after the other, each of which takes little memory."""
    with hostile.started() as running:
        yield running


@pytest.fixture(scope="module")
def filled_mock() -> Iterator[Mock]:
    """A mock that is attacked in one way after the other."""
    with hostile.started() as running:
        yield running


WAYS_TO_HOLD: dict[str, Callable[[Mock], AbstractContextManager[None]]] = {
    "delays": lambda mock: hostile.delays(mock, ""),
    "delays in a sandbox": lambda mock: hostile.delays(mock, "sandbox-a"),
    "stalls": lambda mock: hostile.stalls(mock, ""),
    "stalls in a sandbox": lambda mock: hostile.stalls(mock, "sandbox-a"),
    "stalls with a key": lambda mock: hostile.stalls(mock, HARBOUR),
    "idle": hostile.idle,
    "long answers": hostile.long_answers,
}
WAYS_TO_HOLD_WITH_LONG_BODIES: dict[str, Callable[[Mock], AbstractContextManager[None]]] = {
    "slow readers": lambda mock: hostile.slow_readers(mock, 15),
    "delayed bodies": lambda mock: hostile.delayed_bodies(mock, 20),
}
ATTACKS: dict[str, Callable[[Mock], None]] = {
    "part headers": hostile.part_headers,
    "urlencoded forms": hostile.urlencoded,
    "small files": lambda mock: hostile.small_files(mock, 300),
    "headers that are hard to parse": hostile.quoted_headers,
    "long keys": lambda mock: hostile.long_keys(mock, 400),
    "long names of headers": lambda mock: hostile.header_names(mock, 1500),
    "media types": lambda mock: hostile.media_types(mock, 100),
    "endless chunks": lambda mock: hostile.endless_chunks(mock, 4),
}


def assert_others_are_answered(mock: Mock, hold: Callable[[Mock], AbstractContextManager[None]]) -> None:
    with hold(mock):
        assert mock.ask("GET", "/_mock/state", timeout=SOON) == 200
        assert mock.ask("GET", "/api/domains/1", key=HARBOUR, timeout=SOON) == 200
        assert mock.ask("POST", "/api/projects", hostile.form(b"x"), HARBOUR, SOON, Content_Type=hostile.FORM) == 201
        assert mock.ask("GET", "/", timeout=SOON) == 200
    assert mock.memory()[1] < MOST_MEMORY


def assert_its_memory_is_bounded(mock: Mock, attack: Callable[[Mock], None]) -> None:
    attack(mock)
    assert mock.ask("GET", "/_mock/state", timeout=SOON) == 200
    assert mock.memory()[1] < MOST_MEMORY


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS_TO_HOLD)
def test_nobody_who_waits_or_stalls_stops_others(held_mock: Mock, way: str) -> None:
    assert_others_are_answered(held_mock, WAYS_TO_HOLD[way])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS_TO_HOLD_WITH_LONG_BODIES)
def test_nobody_who_holds_long_bodies_stops_others(mock: Mock, way: str) -> None:
    assert_others_are_answered(mock, WAYS_TO_HOLD_WITH_LONG_BODIES[way])


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_nobody_fills_the_memory(filled_mock: Mock, attack: str) -> None:
    assert_its_memory_is_bounded(filled_mock, ATTACKS[attack])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "mock"),
    [
        (hostile.escaped_texts, ()),
        (hostile.hard_texts, ("--open", "text=sanitised")),
        (lambda mock: hostile.large_texts(mock, 12), ()),
        (lambda mock: hostile.large_files(mock, 12), ()),
        (lambda mock: hostile.large_texts(mock, 8), ("--condition", "lag=0.9")),
        pytest.param(
            lambda mock: hostile.endless_chunks(mock, 4), ("--condition", "lag=0.9"), marks=pytest.mark.exhaustive
        ),
        pytest.param(
            lambda mock: hostile.many_sandboxes(mock, 600), ("--records", "3000"), marks=pytest.mark.exhaustive
        ),
    ],
    ids=[
        "control characters",
        "texts that are hard to rewrite",
        "large texts",
        "large files",
        "large texts under a lag",
        "endless chunks under a lag",
        "many sandboxes of many records",
    ],
    indirect=["mock"],
)
def test_nobody_fills_the_memory_with_what_is_kept(mock: Mock, attack: Callable[[Mock], None]) -> None:
    assert_its_memory_is_bounded(mock, attack)


def test_idle_connections_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.server.MAX_CONNECTIONS", 8)
    monkeypatch.setattr("mock_server.server.IDLE.header_read_timeout", 300)
    with MockServer() as server, ExitStack() as stack:
        host, _, port = server.origin.removeprefix("http://").rpartition(":")
        idle = [stack.enter_context(socket.create_connection((host, int(port)), timeout=60)) for _ in range(20)]
        idle[0].sendall(b"GET /api/domains/1 HTTP/1.1\r\nHost: a\r\n")
        assert Client(over_network(server.base_url)).get("/api/domains/1").status == 200
        assert [connection.recv(100) for connection in idle[:8]] == [b""] * 8


def test_a_connection_too_many_waits_until_another_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.server.MAX_CONNECTIONS", 2)
    asks = hostile.head("GET", "/api/domains/1", HARBOUR)
    with MockServer() as server, ExitStack() as stack:
        first, second, third = (stack.enter_context(connected(server)) for _ in range(3))
        for connection in (first, second, third):
            connection.sendall(asks)
        assert first.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert second.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert select.select([third], [], [], 0.5)[0] == []
        first.close()
        assert third.recv(65536).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(("open_files", "connections"), [(300, 200), (100_000, 1000), (50, 1)])
def test_some_files_are_left_to_others(monkeypatch: pytest.MonkeyPatch, open_files: int, connections: int) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (open_files, open_files))
    assert _most_connections() == connections


def test_a_form_that_nobody_reads_must_come_whole_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.http.messages.SECONDS_FOR_A_BODY", 0.3)
    with MockServer(choices={"json-body": "no-fields"}) as server, connected(server) as connection:
        client = Client(over_network(server.base_url))
        before = client.get("/api/domains/1").json
        connection.sendall(
            hostile.head("POST", "/api/domains/1", HARBOUR, Content_Type="application/json", Content_Length="50")
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")
        assert client.get("/api/domains/1").json == before


def test_a_body_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.http.messages.SECONDS_FOR_A_BODY", 0.3)
    with MockServer() as server, connected(server) as connection:
        connection.sendall(hostile.head("POST", "/api/projects", HARBOUR, **FORM, Content_Length="5000"))
        connection.settimeout(0.05)
        told, began = b"", time.monotonic()
        while not told and time.monotonic() < began + 10:
            connection.sendall(b"x")
            try:
                told = connection.recv(100)
            except TimeoutError:
                continue
        assert told.startswith(b"HTTP/1.1 408 ")


def test_a_body_that_stalls_is_given_up_however_much_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.http.messages.SECONDS_FOR_A_BODY", 0.3)
    monkeypatch.setattr(
        "mock_server.http.messages.MIN_BYTES_PER_SECOND", 100
    )  # the next may be as late as 3,000 s by the rate
    with MockServer() as server, connected(server) as connection:
        head = hostile.head("POST", "/api/projects", HARBOUR, **FORM, Content_Length="500000")
        connection.sendall(head + b"x" * 300_000)
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.mark.parametrize(
    ("junk", "told"),
    [
        (b"x" * 70_000 + b"\r\n", "it has over 65,536 bytes before the boundary that was announced"),
        (b"x--XX" * 20_000, "it has over 65,536 bytes before the boundary that was announced"),
        (b"\r\n--XXx" * 200_000, "it cannot be read (Unexpected byte after first boundary); send each part whole"),
    ],
)
def test_junk_before_the_first_part_of_a_form_is_not_searched(server: MockServer, junk: bytes, told: str) -> None:
    form, client = hostile.form(b"x"), Client(over_network(server.base_url))
    answer = client.request("POST", "/api/projects", body=junk + form, headers={"Content-Type": hostile.FORM})
    assert answer.status == 400
    assert answer.json["errors"][0]["title"].startswith(f"The form cannot be read: {told}")


def test_the_contract_is_rendered_once_whatever_the_host(server: MockServer) -> None:
    client = Client(over_network(server.base_url), None)
    renderings = {
        "yaml": "link_management_contract.load_yaml",
        "json": "mock_server.app.json.dumps",
        "client.yaml": "mock_server.app.client_contract",
    }
    for name, rendering in renderings.items():
        assert client.get(f"/openapi.{name}").status == 200
        with patch(rendering) as rendered:
            for host in ("a.localhost", "b.localhost"):
                answer = client.request("GET", f"/openapi.{name}", headers={"Host": host})
                assert f"http://{host}".encode() in answer.body
        assert not rendered.called


def test_a_long_preference_is_refused_before_it_is_read(server: MockServer) -> None:
    with patch("mock_server.effects.effect.parse_list_header") as read:
        for header in ("code=400," * 6000, "x" * 60_000):
            client = Client(over_network(server.base_url))
            assert client.request("GET", "/api/domains/1", headers={"Prefer": header}).status == 400
    assert not read.called


def test_too_many_long_bodies_at_a_time_are_refused_and_short_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.http.gateway.MAX_LARGE_BYTES", 300_000)
    monkeypatch.setattr("mock_server.http.messages.SECONDS_FOR_A_BODY", 3)
    long = hostile.form(b"x" * 200_000)
    with MockServer() as server, connected(server) as connection:
        client = Client(over_network(server.base_url))
        connection.sendall(
            hostile.head("POST", "/api/projects", HARBOUR, **FORM, Content_Length=str(len(long))) + long[:-15]
        )
        time.sleep(0.2)  # until it was read

        def drip() -> None:
            for start in range(-15, -5):
                time.sleep(0.4)
                connection.sendall(long[start : start + 1])

        dripping = threading.Thread(target=drip)
        dripping.start()
        refused = client.request("POST", "/api/projects", body=long, headers={"Content-Type": hostile.FORM})
        assert (refused.status, "send this one again later" in refused.json["errors"][0]["title"]) == (503, True)
        assert client.post("/api/projects", {"name": "short"}).status == 201
        dripping.join()
        connection.sendall(long[-5:])
        assert connection.recv(65536).startswith(b"HTTP/1.1 201 ")
        assert client.request("POST", "/api/projects", body=long, headers={"Content-Type": hostile.FORM}).status == 201


def test_long_bodies_at_a_time_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.http.gateway.MAX_LARGE_BYTES", 300_000)
    long = hostile.form(b"x" * 200_000)
    with MockServer() as server, ThreadPoolExecutor(8) as pool:

        def create(_: int) -> int:
            client = Client(over_network(server.base_url))
            return client.request("POST", "/api/projects", body=long, headers={"Content-Type": hostile.FORM}).status

        assert list(pool.map(create, range(40))) == [201] * 40


def test_answers_wait_in_bounded_number(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("mock_server.http.gateway.MAX_DELAYED", 2)
    asks = hostile.head("GET", "/api/domains/1", HARBOUR, Prefer="delay=30")
    with MockServer() as server, connected(server) as first, connected(server) as second:
        first.sendall(asks)
        second.sendall(asks)
        wait_for(lambda: len(server.running.journal.find()) == 2)
        assert answer(server, asks).startswith(b"HTTP/1.1 200 ")
        assert "An answer is sent without its delay: 2 are waiting already." in caplog.text


def test_long_answers_wait_in_bounded_size(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("mock_server.http.gateway.LONG_ANSWER", 10_000)
    monkeypatch.setattr("mock_server.http.gateway.MAX_HELD_BYTES", 15_000)
    waits, asks = (
        hostile.head("GET", "/api/domains/?results_per_page=100", HARBOUR, **prefer)
        for prefer in ({"Prefer": "delay=30"}, {})
    )
    with MockServer() as server, connected(server) as first:
        assert answer(server, asks).startswith(b"HTTP/1.1 200 ")
        first.sendall(waits)
        wait_for(lambda: len(server.running.journal.find()) == 2)
        assert answer(server, asks).startswith(b"HTTP/1.1 503 ")
        monkeypatch.setattr("mock_server.http.gateway.MAX_HELD_BYTES", 5_000)
        assert answer(server, hostile.head("GET", "/api/domains/1", HARBOUR, Prefer="delay=30")).startswith(
            b"HTTP/1.1 200 "
        )
        assert "An answer is sent without its delay: 1 are waiting already." in caplog.text


@pytest.mark.parametrize("seconds_for_a_piece", [1000, 0.05], ids=["not read", "read slowly"])
def test_a_long_answer_that_is_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch, seconds_for_a_piece: float) -> None:
    monkeypatch.setattr("mock_server.http.messages.SECONDS_FOR_A_BODY", 0.3)
    monkeypatch.setattr("mock_server.http.messages.MIN_BYTES_PER_SECOND", 10**9)
    messages = list[MutableMapping[str, Any]]()

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)
        await asyncio.sleep(seconds_for_a_piece)

    asyncio.run(Gateway._send_long([b"x" * 2**20], send))  # noqa: SLF001 - whose client may be as slow as it likes
    assert messages[-1].get("more_body")


FORM: dict[str, Any] = {"Content_Type": hostile.FORM}


def connected(server: MockServer) -> socket.socket:
    host, _, port = server.origin.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def answer(server: MockServer, request: bytes) -> bytes:
    with connected(server) as connection:
        connection.sendall(request)
        return connection.recv(65536)
