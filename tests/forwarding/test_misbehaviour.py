"""Deployments and clients that misbehave: each gets a defined answer, and the journal tells what happened."""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count
from typing import Any

import pytest
import requests
from upstream import Upstream, answer, kept, wait_for
from wire import PNG

from mock_server import MockServer
from mock_server.errors import SettingsError
from mock_server.forwarding import proxied_exchange
from mock_server.forwarding.upstream import MAX_UPLOADS
from mock_server.http import messages
from mock_server.settings.settings import Deployment, Settings

KEY = {"Authorization": "Bearer the-key-of-a-deployment"}
UPLOAD = b"POST /api/projects HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
LITTLE_PATIENCE, PATIENCE = 0.4, 60.0  # seconds; little where a deployment does hang


def in_front(url: str, patience: float = PATIENCE) -> MockServer:
    return MockServer(deployment=Deployment(url=url, timeout=patience))


def reset(conn: socket.socket) -> None:
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    conn.close()


def after(sent: bytes, then: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
    def script(conn: socket.socket) -> None:
        conn.sendall(sent)
        time.sleep(0.05)
        then(conn)

    return script


def again(sent: bytes, pause: float = 0.0) -> Callable[[socket.socket], None]:
    def script(conn: socket.socket) -> None:
        for _ in count():
            conn.sendall(sent)
            time.sleep(pause)

    return script


def hang(conn: socket.socket) -> None:
    conn.settimeout(10)
    with suppress(OSError):
        conn.recv(1)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
WITHOUT_AN_ANSWER: dict[str, tuple[Any, int, str]] = {
    "closes": (lambda conn: conn.close(), 502, "connection_terminated"),
    "resets": (reset, 502, "connection_terminated"),
    "says nothing": (hang, 504, "http_response_timeout"),
    "stops in the head": (after(HEAD, hang), 504, "http_response_timeout"),
    "sends its head drop by drop": (after(HEAD, again(b"X-A: b\r\n", 0.1)), 504, "http_response_timeout"),
    "sends interim answers for ever": (again(b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.05), 504, "http_response_timeout"),
    "sends headers for ever": (after(HEAD, again(b"X-A: b\r\n" * 1000)), 502, "http_protocol_error"),
    "sends one header for ever": (after(HEAD + b"X-A: ", again(b"b" * 9999)), 502, "http_protocol_error"),
    "speaks something else": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", 502, "http_protocol_error"),
    "speaks HTTP/2": (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\x00" * 18, 502, "http_protocol_error"),
    "has a status of four digits": (b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", 502, "http_protocol_error"),
    "has two lengths": (HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 502, "http_protocol_error"),
    "has a length and chunks": (
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        502,
        "http_protocol_error",
    ),
    "has chunks without an end": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nok\r\n0\r\n\r\n",
        502,
        "http_protocol_error",
    ),
    "has a control character in a header": (HEAD + b"X-A: a\x01b\r\n\r\n", 502, "http_protocol_error"),
    "has a header without a name": (HEAD + b": a\r\n\r\n", 502, "http_protocol_error"),
    "switches to another protocol": (
        b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nx",
        502,
        "http_protocol_error",
    ),
    "has a status below 100": (b"HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok", 502, "http_protocol_error"),
    "has a negative length": (HEAD + b"Content-Length: -3\r\n\r\nabc", 502, "http_protocol_error"),
    "has a length that is no number": (HEAD + b"Content-Length: x\r\n\r\nabc", 502, "http_protocol_error"),
    "has a chunk of a wrong size": (
        after(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}}}\r\n", hang),
        502,
        "http_protocol_error",
    ),
    "closes in the head": (after(HEAD, lambda conn: conn.close()), 502, ""),
}


@pytest.mark.parametrize(("script", "status", "kind"), WITHOUT_AN_ANSWER.values(), ids=WITHOUT_AN_ANSWER)
def test_a_deployment_that_gives_no_answer(script: Any, status: int, kind: str) -> None:
    patience = LITTLE_PATIENCE if status == 504 else PATIENCE
    with Upstream(script) as up, in_front(up.url, patience) as server:
        got = requests.get(f"{server.base_url}/api/domains/1", headers=KEY | {"Origin": "http://localhost"}, timeout=60)
        assert got.status_code == status
        assert got.headers["proxy-status"].startswith(f"mock-server; error={kind}")
        (error,) = got.json()["errors"]
        assert error["status"] == status
        assert up.url in error["title"]
        assert got.headers["access-control-allow-origin"] == "*"
        (entry,) = kept(server)
        assert (entry.status, entry.own) == (status, True)
        assert 'entries":[]' in server.running.archive().replace(" ", "").replace("\n", "")


def test_a_deployment_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for url, kind in (
        (f"http://127.0.0.1:{port}", "connection_refused"),
        ("http://no-such-host.invalid", "dns_error"),
        (f"https://127.0.0.1:{port}", "connection_refused"),
    ):
        with in_front(url) as server:
            got = requests.post(f"{server.base_url}/api/domains", data={"host": "a"}, headers=KEY, timeout=60)
            assert got.status_code == 502
            assert got.headers["proxy-status"] == f"mock-server; error={kind}"


def test_a_deployment_that_speaks_no_tls() -> None:
    with Upstream(answer()) as up, in_front(up.url.replace("http:", "https:"), LITTLE_PATIENCE) as server:
        got = requests.get(f"{server.base_url}/api/domains/1", timeout=60)
        assert got.status_code in (502, 504)
        assert "Traceback" not in got.text


ENDING_EARLY: dict[str, Any] = {
    "is shorter than it says": after(HEAD + b"Content-Length: 50\r\n\r\n{", lambda conn: conn.close()),
    "resets in the body": after(HEAD + b"Content-Length: 50\r\n\r\n{", reset),
    "stops in the body": after(HEAD + b"Content-Length: 50\r\n\r\n{", hang),
    "closes between chunks": after(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", lambda conn: conn.close()),
}


@pytest.mark.parametrize("name", ENDING_EARLY)
def test_a_deployment_whose_answer_breaks_off_is_seen_to(name: str) -> None:
    patience = LITTLE_PATIENCE if name.startswith("stops") else PATIENCE
    with Upstream(ENDING_EARLY[name]) as up, in_front(up.url, patience) as server:
        with pytest.raises(requests.RequestException):
            print(requests.get(f"{server.base_url}/api/domains/1", headers=KEY, timeout=60).content)
        (entry,) = kept(server)
        assert entry.broken == "cut off by the deployment"
        assert requests.get(f"{server.base_url}/openapi.yaml", timeout=60).ok


def test_what_follows_an_answer_is_not_taken_for_another() -> None:
    second = answer(b'{"data": "smuggled"}')
    with Upstream(answer(b'{"data": 1}') + second) as up, in_front(up.url) as server:
        for _ in range(4):
            got = requests.get(f"{server.base_url}/api/domains/1", headers=KEY, timeout=60)
            assert "smuggled" not in got.text


def test_an_answer_without_an_end_is_passed_on_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxied_exchange, "MAX_ANSWER_BYTES", 5 << 20)
    endless = after(HEAD + b"\r\n", again(b"x" * 65_536))
    with Upstream(endless) as up, in_front(up.url) as server:
        came = list[int]()
        got = requests.get(f"{server.base_url}/api/domains/1", stream=True, timeout=60)
        with pytest.raises(requests.RequestException):
            came.extend(map(len, got.iter_content(65_536)))
        got.close()
        assert 4 << 20 < sum(came) <= 6 << 20
        (entry,) = kept(server)
        assert entry.broken == "longer than 5 MiB"


def test_a_bomb_is_handed_on_and_not_unpacked() -> None:
    bomb = gzip.compress(b"0" * (200 << 20), 9)
    with Upstream(answer(bomb, "Content-Encoding: gzip")) as up, in_front(up.url) as server:
        got = requests.get(f"{server.base_url}/api/domains/1", headers=KEY, stream=True, timeout=20)
        assert len(got.raw.read(decode_content=False)) == len(bomb)
        assert len(server.running.archive()) < 10 << 20


def test_an_upload_that_a_deployment_refuses_at_once_is_answered() -> None:
    def refuse(conn: socket.socket) -> None:
        conn.sendall(answer(b"{}", "Connection: close", status="413 Too Long"))

    class Early(Upstream):
        def _serve(self, conn: socket.socket) -> None:
            with suppress(OSError), conn:
                conn.recv(1000)
                refuse(conn)
                time.sleep(1)

    with Early(b"") as up, in_front(up.url) as server:
        got = requests.post(f"{server.base_url}/api/projects", data=b"x" * 4_000_000, headers=KEY, timeout=60)
        assert got.status_code == 413


def test_a_deployment_that_takes_nothing_of_an_upload_is_given_up() -> None:
    class Unreading(Upstream):
        def _serve(self, conn: socket.socket) -> None:
            with conn:
                self.requests.append(conn.recv(1000))
                wait_for(lambda: bool(server.running.journal.find()))
                with suppress(OSError):
                    wait_for(lambda: not hasattr(socket, "TCP_USER_TIMEOUT") or not conn.send(b"x"))
            closed.set()

    closed = threading.Event()
    with Unreading(b"") as up, in_front(up.url, LITTLE_PATIENCE) as server:
        with suppress(requests.RequestException):  # as the rest of it is not read
            requests.post(f"{server.base_url}/api/projects", data=b"x" * (32 << 20), headers=KEY, timeout=60)
        (entry,) = kept(server)
        assert (entry.status, entry.own) == (504, True)
        assert closed.wait(60)  # the proxy's socket is gone, and whatever comes is refused


class TestClients:
    def connection(self, server: MockServer) -> socket.socket:
        return socket.create_connection(("127.0.0.1", int(server.origin.rpartition(":")[2])), timeout=60)

    @pytest.mark.parametrize(("sent", "size"), [(2, 9000), (2, 900_000), (70_000, 900_000)])
    def test_a_client_that_goes_away_in_an_upload_sends_none(self, sent: int, size: int) -> None:
        with Upstream(answer()) as up, in_front(up.url) as server:
            with self.connection(server) as conn:
                conn.sendall(
                    b"POST /api/projects HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size + b"x" * sent
                )
                time.sleep(0.2)
            (entry,) = kept(server)
            assert (entry.status, entry.own) == (400, True)
            wait_for(lambda: len(up.ended) == (sent > 64 * 1024))
            assert True not in up.ended

    @pytest.mark.parametrize(("sent", "size"), [(2, 9000), (2, 900_000), (70_000, 900_000)])
    def test_a_client_that_sends_too_slowly_is_told(
        self, sent: int, size: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(messages, "SECONDS_FOR_A_BODY", 0.3)
        with Upstream(answer()) as up, in_front(up.url) as server, self.connection(server) as conn:
            conn.sendall(UPLOAD % size + b"x" * sent)
            assert conn.recv(65_536).startswith(b"HTTP/1.1 408")
            wait_for(lambda: len(up.ended) == (sent > 64 * 1024))
            assert True not in up.ended

    @pytest.mark.parametrize(("sent", "size"), [(2, 200), (70_000, 70_200)])
    def test_a_client_that_drips_an_upload_is_given_up(
        self, sent: int, size: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(messages, "SECONDS_FOR_A_BODY", 0.3)
        monkeypatch.setattr(messages, "MIN_BYTES_PER_SECOND", 10**6)
        with Upstream(answer()) as up, in_front(up.url) as server, self.connection(server) as conn:
            conn.sendall(UPLOAD % size + b"x" * sent)
            with suppress(OSError):
                while not server.running.journal.find():
                    conn.sendall(b"x")
                    time.sleep(0.05)
            (entry,) = kept(server)
            assert (entry.status, entry.own) == (408, True)
            wait_for(lambda: len(up.ended) == (sent > 64 * 1024))
            assert True not in up.ended

    def test_uploads_that_stall_leave_connections_for_short_requests(self) -> None:
        class Patient(Upstream):
            def _serve(self, conn: socket.socket) -> None:
                with suppress(OSError), conn:
                    self.requests.append(conn.recv(65_536))
                    if self.requests[-1].startswith(b"GET"):
                        conn.sendall(answer())
                    while conn.recv(65_536):
                        pass

        with Patient(b"") as up, in_front(up.url) as server, ExitStack() as held:
            for _ in range(210):
                conn = held.enter_context(self.connection(server))
                conn.sendall(
                    b"POST /api/projects HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n" + b"x" * 70_000
                )
            wait_for(lambda: len(up.requests) == MAX_UPLOADS)
            assert requests.get(f"{server.base_url}/api/domains/1", timeout=60).ok
            assert len(up.requests) == MAX_UPLOADS + 1

    def test_a_client_that_reads_too_slowly_loses_the_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(messages, "SECONDS_FOR_A_BODY", 0.3)
        monkeypatch.setattr(messages, "MIN_BYTES_PER_SECOND", 10**9)
        with (
            Upstream(after(HEAD + b"\r\n", again(b"x" * 65_536))) as up,
            in_front(up.url) as server,
            self.connection(server) as conn,
        ):
            conn.sendall(b"GET /api/domains/1 HTTP/1.1\r\nHost: a\r\n\r\n")
            (entry,) = kept(server)
            assert entry.broken == "the client did not read the answer"

    def test_a_client_that_reads_at_a_drip_loses_the_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(messages, "SECONDS_FOR_A_BODY", 0.5)
        monkeypatch.setattr(messages, "MIN_BYTES_PER_SECOND", 10**9)
        monkeypatch.setattr(proxied_exchange, "MAX_ANSWER_BYTES", 100 << 20)
        with (
            Upstream(after(HEAD + b"\r\n", again(b"x" * 65_536))) as up,
            in_front(up.url) as server,
            self.connection(server) as conn,
        ):
            conn.sendall(b"GET /api/domains/1 HTTP/1.1\r\nHost: a\r\n\r\n")
            with suppress(OSError):
                while not server.running.journal.find() and conn.recv(65_536):
                    time.sleep(0.002)
            (entry,) = kept(server)
            assert entry.broken == "the client did not read the answer"

    def test_others_are_served_while_some_hang(self) -> None:
        def script(conn: socket.socket) -> None:
            hang(conn) if b"/slow" in up.requests[-1] else conn.sendall(answer())

        with Upstream(script) as up, in_front(up.url) as server, ExitStack() as held:
            for _ in range(50):
                conn = held.enter_context(self.connection(server))
                conn.sendall(b"GET /api/slow HTTP/1.1\r\nHost: a\r\n\r\n")
            wait_for(lambda: len(up.requests) == 50)
            assert requests.get(f"{server.base_url}/api/domains/1", timeout=60).ok

    @pytest.mark.parametrize("prefer", ["", "Prefer: lost=after\r\n"])
    def test_an_endless_answer_is_read_no_further_than_its_client_stays(self, prefer: str) -> None:
        left: list[bool] = []

        def endless(conn: socket.socket) -> None:
            try:
                again(b"x" * 65_536)(conn)
            except OSError:
                left.append(True)

        with Upstream(after(HEAD + b"\r\n", endless)) as up, in_front(up.url) as server:
            with self.connection(server) as conn:
                conn.sendall(f"GET /api/domains/1 HTTP/1.1\r\nHost: a\r\n{prefer}\r\n".encode())
                time.sleep(0.3)
            wait_for(lambda: bool(left))
            kept(server)


def test_an_upload_is_whole_though_the_answer_begins_before_its_end() -> None:
    came: list[bytes] = []

    class Eager(Upstream):
        def _serve(self, conn: socket.socket) -> None:
            with suppress(OSError), conn:
                data = conn.recv(65_536)
                conn.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
                for _ in range(40):
                    conn.sendall(b"1\r\nx\r\n")
                    time.sleep(0.005)
                while not data.endswith(b"0\r\n\r\n"):
                    data += conn.recv(65_536)
                came.append(data)
                conn.sendall(b"0\r\n\r\n")

    pieces = [b"[%02d]" % number + b"x" * 4000 for number in range(40)]

    def slowly() -> Any:
        for piece in pieces:
            time.sleep(0.01)
            yield piece

    with Eager(b"") as up, in_front(up.url) as server:
        assert requests.post(f"{server.base_url}/api/projects", data=slowly(), headers=KEY, timeout=60).ok
    whole = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", came[0])  # without the marks of its chunks
    assert [piece for piece in pieces if piece not in whole] == []


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "POST"])
def test_a_request_is_sent_once_whatever_becomes_of_it(method: str) -> None:
    with Upstream(lambda conn: conn.close()) as up, in_front(up.url) as server:
        assert requests.request(method, f"{server.base_url}/api/domains/1", headers=KEY, timeout=60).status_code == 502
        assert len(up.requests) == 1


def test_parts_arrive_as_they_come_and_none_is_lost() -> None:
    came = threading.Event()

    def script(conn: socket.socket) -> None:
        conn.sendall(HEAD + b"Content-Length: 100\r\n\r\nfirst")
        came.wait(9)
        conn.close()

    with Upstream(script) as up, in_front(up.url) as server:
        got = requests.get(f"{server.base_url}/api/domains/1", stream=True, timeout=60)
        assert got.raw.read1(5) == b"first"
        came.set()
        got.close()


def test_an_answer_that_nobody_reads_to_its_end_is_in_the_journal_once() -> None:
    with Upstream(answer(b"x" * 3_000_000)) as up, in_front(up.url) as server:
        got = requests.get(f"{server.base_url}/api/domains/1", stream=True, timeout=60)
        got.raw.read(10)
        got.close()
        kept(server)
        time.sleep(0.1)
        assert len(server.running.journal.find()) == 1


def test_a_long_id_does_no_harm_to_a_recording() -> None:
    with Upstream(answer(b"{}", status="404 Not Found")) as up:
        deployment = Deployment(url=up.url, timeout=PATIENCE, is_recorded=True)
        with MockServer(deployment=deployment) as server:
            got = requests.get(f"{server.base_url}/api/domains/{'0' * 19}{'1' * 5001}", headers=KEY, timeout=60)
            assert (got.status_code, got.content) == (404, b"{}")


def test_a_server_does_not_stand_in_front_of_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    server = MockServer(port=port, deployment=Deployment(url=f"http://localhost:{port}"))
    with pytest.raises(SettingsError, match="is this server itself"):
        server.__enter__()


def test_remarks_about_long_uploads_are_made_as_long_as_there_is_room() -> None:
    with Upstream(answer()) as up, in_front(up.url) as server:
        files = {"logo": ("logo.png", PNG + b"\0" * (8 << 20), "image/png")}
        assert requests.post(f"{server.base_url}/api/projects", data={"nam": "x"}, files=files, headers=KEY).ok
        (entry,) = kept(server)
        assert entry.files["logo"].size == len(PNG) + (8 << 20)
        assert [remark.rule for remark in entry.remarks] == ["client.unknown-field"]
        assert json.loads(server.running.archive())["log"]["entries"][0]["request"]["postData"]["params"]


def test_no_answer_and_no_message_shows_the_password_of_a_proxy_or_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Deployment(url="http://links.example.com")
    for proxy, named in (
        ("http://user:s3cret@127.0.0.1:1", "by the proxy http://127.0.0.1:1 cannot be reached"),
        ("http://user:s3cret@127.0.0.1:99999", "by the proxy http://127.0.0.1:99999"),
        ("http://user:s3/c#ret@127.0.0.1:1", "by the proxy http://127.0.0.1:1"),
    ):
        monkeypatch.setenv("http_proxy", proxy)
        with MockServer(deployment=there) as server:
            got = requests.get(f"{server.base_url}/api/domains/", timeout=60, proxies={"http": ""})
            (entry,) = kept(server)
        assert got.status_code == 502
        assert named in got.text
        assert "s3" not in got.text + entry.answer
    monkeypatch.setenv("http_proxy", "socks5://user:s3cret@127.0.0.1:1")
    with pytest.raises(SettingsError, match=r"the proxy socks5://127\.0\.0\.1:1 of the environment"):
        MockServer(deployment=there)
    for url in ("http://user:s3cret@links.example.com", "http://user:s3/c?r#et@links.example.com", "u:s3@links"):
        with pytest.raises(SettingsError) as refused:
            Deployment(url=url)
        with pytest.raises(SettingsError) as also:
            Settings(public_base_url=url)
        assert "s3" not in f"{refused.value}{also.value}"
