"""Deployments for the tests of forwarding: one that answers with the very bytes it is told, and the independent one."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

from werkzeug.serving import WSGIRequestHandler, make_server

from mock_server import MockServer
from mock_server.journal.journal import Entry

Script = Callable[[socket.socket], None]


class Upstream:
    """Reads a request from each connection, and then does what a script says.

    Attributes:
        requests: the bytes of each request, head and body.
        ended: for each request, whether its body came whole.
    """

    def __init__(self, script: Script | bytes) -> None:
        self._script = script if callable(script) else lambda conn: conn.sendall(script)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.requests: list[bytes] = []
        self.ended: list[bool] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                conn, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn: socket.socket) -> None:
        with suppress(OSError), conn:
            data, whole = _request(conn)
            self.requests.append(data)
            self.ended.append(whole)
            if whole:
                self._script(conn)

    @property
    def head(self) -> dict[str, str]:
        """The headers of the latest request, in lower case."""
        lines = self.requests[-1].split(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    @property
    def line(self) -> str:
        """The request line of the latest request."""
        return self.requests[-1].split(b"\r\n")[0].decode("latin-1")

    @property
    def body(self) -> bytes:
        """The body of the latest request as it was framed."""
        return self.requests[-1].partition(b"\r\n\r\n")[2]


def _request(conn: socket.socket) -> tuple[bytes, bool]:
    """A request, and whether it came whole."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = conn.recv(65_536)
        if not part:
            return data, False
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lower = head.lower()
    chunked = b"transfer-encoding: chunked" in lower
    length = int(lower.partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
    while not (body.endswith(b"0\r\n\r\n") if chunked else len(body) >= length):
        part = conn.recv(1 << 20)
        if not part:
            return head + b"\r\n\r\n" + body, False
        body += part
    return head + b"\r\n\r\n" + body, True


def answer(body: bytes = b'{"data": []}', *headers: str, status: str = "200 OK") -> bytes:
    """The bytes of an answer, which ends its connection: an `Upstream` reads one request from each."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def wait_for(done: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until
        time.sleep(0.01)


def kept(server: MockServer, count: int = 1) -> list[Entry]:
    """The entries of a journal once there are so many, as one is kept only after its answer was sent."""
    wait_for(lambda: len(server.running.journal.find()) >= count)
    return server.running.journal.find()


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: object) -> None:
        pass


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve a WSGI application on a port of its own; its URL."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    server.daemon_threads = True  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
