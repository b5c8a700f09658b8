"""Hostile clients of a mock, each as a function: what they send, so many times."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

MEBIBYTE = 2**20
FORM = "multipart/form-data; boundary=XX"
CLIENTS = 4


@dataclass(frozen=True)
class Mock:
    """A mock in a process of its own."""

    host: str
    port: int
    pid: int

    def ask(self, method: str, path: str, body: bytes = b"", key: str = "", timeout: float = 60, **more: str) -> int:
        """The status of an answer, which is read; 0 if the connection was closed."""
        headers = ({"Authorization": f"Bearer {key}"} if key else {}) | {
            name.replace("_", "-"): text for name, text in more.items()
        }
        connection = HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            answer.read()
        except (HTTPException, ConnectionError):
            return 0
        else:
            return answer.status
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        """A connection on which nothing was sent."""
        return socket.create_connection((self.host, self.port), timeout=10)

    def state_seconds(self) -> float:
        """How long the control plane takes to answer."""
        began = time.monotonic()
        assert self.ask("GET", "/_mock/state") == 200
        return time.monotonic() - began

    def memory(self) -> tuple[float, float]:
        """What the process takes now, and took at most, in MB."""
        lines = (line.partition(":") for line in Path(f"/proc/{self.pid}/status").read_text("utf-8").splitlines())
        found = {name: text for name, _, text in lines}
        return tuple(int(found[name].split()[0]) / 1000 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]


@contextmanager
def started(*options: str) -> Iterator[Mock]:
    """A mock with these options."""
    command: list[str | Path] = [
        Path(sys.executable).with_name("mock-server"),
        "--port",
        "0",
        "--log-level",
        "error",
        *options,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        host, _, port = server.stdout.readline().split()[-1].removeprefix("http://").partition("/")[0].rpartition(":")
        try:
            yield Mock(host, int(port), server.pid)
        finally:
            server.terminate()


def head(method: str, path: str, key: str = "", **headers: str) -> bytes:
    """The head of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"] + ([f"Authorization: Bearer {key}"] if key else [])
    lines += [f"{name.replace('_', '-')}: {text}" for name, text in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def form(content: bytes, attributes: str = 'name="custom_css"') -> bytes:
    """A form with a name and another part."""
    name = b'--XX\r\nContent-Disposition: form-data; name="name"\r\n\r\nHostile\r\n'
    other = f"--XX\r\nContent-Disposition: form-data; {attributes}\r\n\r\n".encode()
    return name + other + content + b"\r\n--XX--\r\n"


def each(count: int, send: Callable[[int], object]) -> None:
    """Send so many requests, a few at a time."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(send, range(count)))


@contextmanager
def held(mock: Mock, count: int, data: bytes) -> Iterator[None]:
    """So many connections that sent something, and stay."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(mock.connect()).sendall(data)
        yield


def delays(mock: Mock, key: str, count: int = 200) -> AbstractContextManager[None]:
    """Requests that prefer a long delay."""
    return held(mock, count, head("GET", "/api/domains/?results_per_page=1000", key, Prefer="delay=60"))


def stalls(mock: Mock, key: str, count: int = 200) -> AbstractContextManager[None]:
    """Bodies that stall."""
    return held(mock, count, head("POST", "/api/projects", key, Content_Type=FORM, Content_Length="5000") + b"--XX")


def idle(mock: Mock, count: int = 200) -> AbstractContextManager[None]:
    """Connections on which nothing comes."""
    return held(mock, count, b"")


def part_headers(mock: Mock, count: int = 8) -> None:
    """Long bodies of part headers, without a key, to a wrong path and with the key of a sandbox."""
    several = b'--XX\r\nContent-Disposition: form-data; name="a"\r\n' + b"".join(b"h%d: b\r\n" % n for n in range(1000))
    bodies = [
        b"--XX\r\n" + b"a:b\r\n" * (16 * MEBIBYTE // 5 - 10) + b"\r\n",
        (several + b"\r\nx\r\n") * 900 + b"--XX--\r\n",
    ]
    ways = [("", "/api/projects"), ("", "/elsewhere"), ("sandbox-a", "/elsewhere"), ("sandbox-a", "/api/projects")]

    def send(number: int) -> None:
        (key, path), body = ways[number % 4], bodies[number // 4 % 2]
        mock.ask("POST", path, body, key, Content_Type=FORM)

    each(count, send)


def long_keys(mock: Mock, count: int = 2000) -> None:
    """Sandboxes with long keys, and the console's list of them."""

    def send(number: int) -> None:
        mock.ask("GET", "/api/domains/1", key=f"sandbox-{number}-".ljust(60_000 if number % 2 else 200, "x"))

    each(count, send)
    assert mock.ask("GET", "/_mock/accounts") == HTTPStatus.OK


def header_names(mock: Mock, count: int = 2000) -> None:
    """Requests with a long header each, every time by another name."""
    each(count, lambda n: mock.ask("GET", "/api/domains/1", b"", "", 60, **{f"X-{n}-".ljust(50_000, "x"): "1"}))


def many_sandboxes(mock: Mock, count: int = 1000) -> None:
    """Sandboxes that read, and then write once."""
    each(count, lambda n: mock.ask("GET", "/api/domains/1", key=f"sandbox-{n}"))
    each(count, lambda n: mock.ask("DELETE", "/api/domains/1", key=f"sandbox-{n}"))


def large_texts(mock: Mock, count: int = 40) -> None:
    """Texts of 15 MB and of 1 MB, each character of which takes four bytes in memory, in many sandboxes."""
    bodies = [form(b"x" * length + "🎈".encode()) for length in (15_000_000, 1_000_000, 1_000_000, 1_000_000)]
    each(count, lambda n: mock.ask("POST", "/api/projects", bodies[n % 4], f"sandbox-{n}", Content_Type=FORM))


def escaped_texts(mock: Mock, count: int = 40) -> None:
    """Names of control characters, which take six bytes each in a list, and the lists."""
    body = form(b"x").replace(b"Hostile", b"\x01" * 1_000_000)
    each(count, lambda _: mock.ask("POST", "/api/projects", body, "sandbox-a", Content_Type=FORM))
    each(4, lambda _: mock.ask("GET", "/api/splash-pages/?results_per_page=1000", key="sandbox-a"))


def urlencoded(mock: Mock, count: int = 8) -> None:
    """Urlencoded forms in which every character is escaped."""
    body = b"host=" + b"%41" * 5_000_000
    form_type = "application/x-www-form-urlencoded"
    each(count, lambda _: mock.ask("POST", "/api/domains", body, "sandbox-a", Content_Type=form_type))


def slow_readers(mock: Mock, count: int = 30) -> AbstractContextManager[None]:
    """Clients that ask for lists of some 20 MB, and read nothing of them."""
    body = form(b"x").replace(b"Hostile", b"x" * 1_000_000)
    each(20, lambda _: mock.ask("POST", "/api/projects", body, "sandbox-a", Content_Type=FORM))
    return held(mock, count, head("GET", "/api/splash-pages/?results_per_page=1000", "sandbox-a"))


def delayed_bodies(mock: Mock, count: int = 30) -> AbstractContextManager[None]:
    """Bodies of 15 MB whose answers wait."""
    body = form(b"x" * 15_000_000, 'name="logo"; filename="a.png"')
    start = head(
        "POST", "/api/projects", "sandbox-a", Content_Type=FORM, Content_Length=str(len(body)), Prefer="delay=60"
    )
    return held(mock, count, start + body)


def small_files(mock: Mock, count: int = 3000) -> None:
    """Small files with long names, in many records."""
    parts = [
        f'--XX\r\nContent-Disposition: form-data; name="{name}"; filename="{"🎈" * 200}"\r\n'
        f"Content-Type: image/{'y' * 900}\r\n\r\nx"
        for name in ("logo", "favicon", "opengraph")
    ]
    parts += ['--XX\r\nContent-Disposition: form-data; name="name"\r\n\r\nHostile']
    body = "\r\n".join([*parts, "--XX--", ""]).encode()
    each(count, lambda _: mock.ask("POST", "/api/projects", body, "sandbox-a", Content_Type=FORM))


def quoted_headers(mock: Mock, count: int = 4) -> None:
    """Parts whose headers are hard to parse."""
    part = b'--XX\r\nContent-Disposition: form-data; name="a"%s\r\n\r\nx\r\n'
    for attributes in (b';a="' * 3900, b';a="' * 900, b";a=b" * 900):
        body = (part % attributes) * 900 + b"--XX--\r\n"
        each(count, lambda _, body=body: mock.ask("POST", "/api/projects", body, "sandbox-a", Content_Type=FORM))  # type: ignore[misc]


def hard_texts(mock: Mock, count: int = 4) -> None:
    """Texts that are hard to rewrite, and defects that make many requests of one."""
    ways = [
        ("/api/notification-handlers", form(b"." * 500_000, 'name="email"'), "defect=email-loses-dots"),
        ("/api/projects", form(b"x").replace(b"Hostile", b"<" * 500_000), ""),
        ("/api/domains", form(b"a b " * 200_000, 'name="host"'), ""),
        ("/api/domains/?page=2", b"", ", ".join(["defect=pages-overlap"] * 20)),
    ]
    for path, body, prefer in ways:
        method = "POST" if body else "GET"
        each(count, lambda _, w=(method, path, body, "sandbox-a", 20): mock.ask(*w, Content_Type=FORM, Prefer=prefer))  # type: ignore[misc] # noqa: B023


def large_files(mock: Mock, count: int = 40) -> None:
    """Files of 15 MB in many sandboxes."""
    body = form(b"x" * 15_000_000, 'name="logo"; filename="a.png"')
    each(count, lambda n: mock.ask("POST", "/api/projects", body, f"sandbox-{n}", Content_Type=FORM))


def many_records(mock: Mock, count: int = 20_000) -> None:
    """Small records in one sandbox, without end."""
    each(count, lambda _: mock.ask("POST", "/api/projects", form(b""), "sandbox-many", Content_Type=FORM))


def long_answers(mock: Mock, count: int = 500) -> AbstractContextManager[None]:
    """Requests for long lists that prefer a delay; their answers are ready, and wait."""
    return held(mock, count, head("GET", "/api/splash-pages/?results_per_page=1000", "sandbox-a", Prefer="delay=60"))


def media_types(mock: Mock, count: int = 300) -> None:
    """Forms of many files with long names and media types, for the journal."""
    parts = (
        f'--XX\r\nContent-Disposition: form-data; name="f{number}"; filename="a"\r\n'
        f"Content-Type: image/{'y' * 900}\r\n\r\n"
        for number in range(100)
    )
    body = "\r\n".join([*parts, "--XX--", ""]).encode()
    each(count, lambda _: mock.ask("POST", "/api/projects", body, "sandbox-a", Content_Type=FORM))


def endless_chunks(mock: Mock, count: int = 8) -> None:
    """Bodies in chunks that never end."""

    def send(_: int) -> None:
        start = head("POST", "/api/projects", "sandbox-a", Content_Type=FORM, Transfer_Encoding="chunked")
        with mock.connect() as connection, suppress(OSError):
            connection.sendall(start)
            for _chunk in range(400):
                connection.sendall(b"%x\r\n%s\r\n" % (MEBIBYTE, b"x" * MEBIBYTE))

    each(count, send)
