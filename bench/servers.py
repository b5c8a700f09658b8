"""The servers that are compared, each started as its users start it, and what each is asked."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from load import Call
from urllib3.filepost import encode_multipart_formdata

HERE = Path(__file__).parent
PEERS = HERE / "peers" / "node_modules"
BIN = Path(sys.executable).parent
CONTRACT = HERE.parent / "openapi.yaml"
KEY = "Bearer demo-key-harbour"
PORT, RECORDS = 9399, 1000
SECONDS_TO_START = 60
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4096  # 1 MB

Calls = Mapping[str, list[Call]]


@dataclass(frozen=True)
class Server:
    """A server under measurement.

    Attributes:
        name: what the table calls it.
        note: what has to be known to compare it.
        command: its command line, given the folder that it may write to.
        calls: the requests of each measurement; what it cannot do is left out.
        prepare: writes the files that it reads into a folder.
        quick: options of its documentation that make it quicker.
    """

    name: str
    note: str
    command: Callable[[Path], list[str | Path]]
    calls: Calls
    prepare: Callable[[Path], None] = field(default=lambda _: None)
    quick: Sequence[str] = ()

    def quickest(self) -> Server:
        """The same server with the options that make it quicker."""
        return replace(
            self,
            name=f"{self.name}, quick",
            note=f"`{' '.join(self.quick)}`",
            command=lambda folder: [*self.command(folder), *self.quick],
        )

    @contextmanager
    def running(self, folder: Path) -> Iterator[tuple[int, float]]:
        """Start it; its process id, and the seconds until its first answer."""
        self.prepare(folder)
        with (folder / "log").open("w") as log:
            began = time.perf_counter()
            process = subprocess.Popen(self.command(folder), stdout=log, stderr=log, cwd=folder, start_new_session=True)
            try:
                self._wait(process, folder)
                yield process.pid, time.perf_counter() - began
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                process.wait()
                _wait_until_free()

    def _wait(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        method, path, headers, _ = self.calls["reads"][0]
        for _ in range(SECONDS_TO_START * 100):
            connection = HTTPConnection("127.0.0.1", PORT, timeout=SECONDS_TO_START)
            try:
                connection.request(method, path, headers=dict(headers))
                assert connection.getresponse().status == 200, (self.name, path)
            except (ConnectionError, HTTPException):
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.01)
            else:
                return
            finally:
                connection.close()
        raise TimeoutError(self.name)


def _wait_until_free() -> None:
    """Wait until nobody listens any more: a server may have started others, such as Java."""
    for _ in range(SECONDS_TO_START * 10):
        with suppress(OSError), socket.create_server(("127.0.0.1", PORT)):
            return
        time.sleep(0.1)
    raise TimeoutError(f"something still listens on port {PORT}")


def memory(group: int) -> float:
    """The resident memory of a process and those that it started, in MB."""
    pages = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(process.name)) == group:
                pages += int((process / "statm").read_text().split()[1])
        except (OSError, ValueError):  # it has ended
            continue
    return pages * resource.getpagesize() / 1e6


def _calls(listed: str, read: str, created: str, form: dict[str, str] | None) -> Calls:
    """The requests to a server: `{}` stands for an id or a page, and `[]` for a page size."""
    key = {"Authorization": KEY}
    reads: list[Call] = [("GET", read.format(number), key, b"") for number in range(1, RECORDS, 10)]
    pages = RECORDS // 25
    lists: list[Call] = [("GET", listed.replace("[]", "25").format(n), key, b"") for n in range(1, pages + 1)]
    long: list[Call] = [("GET", listed.replace("[]", "1000").format(1), key, b"")]
    calls = {"reads": reads, "lists of 25": lists, "lists of 1,000": long}
    if form is None:
        body, media_type = json.dumps({"name": "Spring sale", "title": "Sale"}).encode(), "application/json"
    else:
        body, media_type = encode_multipart_formdata(dict(form))
    calls["creates"] = [("POST", created, key | {"Content-Type": media_type}, body)]
    if form is not None:
        body, media_type = encode_multipart_formdata({**form, "logo": ("logo.png", PNG, "image/png")})
        calls["1 MB uploads"] = [("POST", created, key | {"Content-Type": media_type}, body)]
    writes = calls["creates"] * 10
    calls["a mix"] = [
        call for four in zip(reads[:40:4], lists[:10], reads[1:41:4], writes, strict=True) for call in four
    ]
    return calls


FORM = {"name": "Spring sale", "title": "Sale", "description": "All must go"}
OURS = _calls("/api/domains/?page={}&results_per_page=[]", "/api/domains/{}", "/api/projects", FORM)


def mock_with(records: int) -> Server:
    """The mock with so many records of each resource, and default settings otherwise."""
    pages = {"page 1": 1, "last page": -(-records // 25)}
    calls: Calls = {
        name: [("GET", f"/api/domains/?page={page}", {"Authorization": KEY}, b"")] for name, page in pages.items()
    }
    return Server(
        "this mock",
        "default settings",
        lambda _: [BIN / "mock-server", "--port", str(PORT), "--fixture", "empty", "--records", str(records)],
        {**OURS, **calls},
        quick=("--log-level", "error", "--journal", "0"),
    )


PLAIN = Server(
    "plain Flask",
    "a limit: no rules, journal, log or CORS",
    lambda _: [
        *(BIN / "granian", "--interface", "wsgi", "--port", str(PORT), "--log-level", "error"),
        *("--blocking-threads", "1", "--working-dir", HERE, "plain:app"),
    ],
    OURS,
)
BARE = Server(
    "bare Granian",
    "a limit: one fixed answer to every request",
    lambda _: [
        *(BIN / "granian", "--interface", "asgi", "--port", str(PORT), "--log-level", "error"),
        *("--working-dir", HERE, "plain:bare"),
    ],
    {name: calls for name, calls in OURS.items() if name in ("reads", "creates")},
)


def _json_server(folder: Path) -> None:
    records = [
        {"id": number, "scheme": "https://", "host": f"host-{number}.example.com", "custom_index_url": ""}
        | {"custom_not_found_url": "", "is_enabled": False, "last_datetime": None, "datetime": "2026-03-02 09:00:00"}
        for number in range(1, RECORDS + 1)
    ]
    (folder / "db.json").write_text(json.dumps({"domains": records, "projects": []}))


def _wiremock(folder: Path) -> None:
    (folder / "mappings").mkdir()
    record = {"id": 1, "scheme": "https://", "host": "go.example.com", "is_enabled": False, "last_datetime": None}
    bodies = {
        ("GET", "/api/domains/[0-9]+"): {"data": record},
        ("GET", "/api/domains/\\?.*"): {"data": [record] * 25, "meta": {"total": 1000}},
        ("POST", "/api/projects"): {"data": {"id": 1}},
    }
    for number, ((method, pattern), body) in enumerate(bodies.items()):
        stub = {"request": {"method": method, "urlPattern": pattern}, "response": {"status": 200, "jsonBody": body}}
        (folder / "mappings" / f"{number}.json").write_text(json.dumps(stub))


CONTRACT_CALLS = {name: calls for name, calls in OURS.items() if name != "lists of 1,000"}
PEER_SERVERS = (
    Server(
        "Prism 5",
        "stateless: the contract's examples",
        lambda _: [PEERS / ".bin" / "prism", "mock", "-p", str(PORT), CONTRACT],
        CONTRACT_CALLS,
        quick=("-v", "error"),
    ),
    Server(
        "json-server 0.17",
        "forms as JSON; no uploads",
        lambda folder: [PEERS / ".bin" / "json-server", "--port", str(PORT), folder / "db.json"],
        _calls("/domains?_page={}&_limit=[]", "/domains/{}", "/projects", None),
        _json_server,
        quick=("--quiet", "--no-gzip"),
    ),
    Server(
        "Mockoon 9",
        "stateless: empty answers to all routes of the contract",
        lambda _: [PEERS / ".bin" / "mockoon-cli", "start", "--data", CONTRACT, "--port", str(PORT)],
        CONTRACT_CALLS,
        quick=("--disable-log-to-file", "--disable-admin-api"),
    ),
    Server(
        "WireMock 3",
        "stateless: three fixed answers",
        lambda folder: [PEERS / ".bin" / "wiremock", "--port", str(PORT), "--root-dir", folder],
        CONTRACT_CALLS,
        _wiremock,
        quick=("--no-request-journal", "--disable-request-logging", "--async-response-enabled", "true"),
    ),
)
