"""Surface: all that a judged server sends to a run, from certificates and heads to ids in its answers.
Attack: each of the servers in TARGETS and LARGE means harm; `hostile_targets.py` has what they are made of.
Holds: the run ends with a verdict or status 7, in bounds; it shows no key, and writes to nobody else's record.
"""

from __future__ import annotations

import gzip
import json
import re
import socket
import ssl
import subprocess
import sys
import unicodedata
from base64 import b64encode
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trustme
from hostile_targets import (
    CHUNK,
    Asked,
    HostileTarget,
    Way,
    blanks,
    body,
    endless,
    everywhere,
    identifier,
    lies,
    link,
    nested,
    number,
    redirect,
    resets,
    rows_of,
    says,
    slow,
)
from shell import ENVIRONMENT, command
from upstream import answer
from wire import HARBOUR

MOST_REQUESTS, MOST_MEMORY, HANG = 400, 300 << 10, 500  # requests, KiB, seconds
VERDICT, UNUSABLE = (0, 1, 6), (7,)
EITHER, LEFT = (*VERDICT, 7), (*VERDICT, 3)  # 3 if the target keeps what the run made, and no rule is broken
# Runs commands without their pauses, each in a folder of its own; notes how each ended, and the peak of memory in KiB.
START = """
import json, os, resource, sys
from contextlib import redirect_stderr, redirect_stdout
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from contract_tests.cli import main
from contract_tests.survey import waits
from contract_tests.target import retries
waits.PAUSES, waits.SETTLING, retries.PAUSE = (0.0,), 0.0, 0.0
for folder, arguments in json.load(sys.stdin):
    os.chdir(folder)
    os.environ.update(HOME=folder, XDG_STATE_HOME=folder)
    with open("output", "w", encoding="utf-8", errors="backslashreplace") as output:
        with redirect_stdout(output), redirect_stderr(output):
            status = main(arguments)
    with open("/proc/self/status") as proc, open("ended", "w") as ended:
        ended.write(f"{status} " + proc.read().split("VmHWM:")[1].split()[0])
"""
SCRIPT = '<script>alert("hostile")</script>'
RAW = f"{SCRIPT}\x1b[31m\x1b]0;owned\x07\x08\x7f\x9b1m\u202ehidden\u2066 `x` $(touch owned) '\"\\ ::error::x"
KEYS = {HARBOUR, b64encode(HARBOUR.encode()).decode().rstrip("=")}
TOLD = f"{HARBOUR} {b64encode(HARBOUR.encode()).decode()} {b64encode(f'{HARBOUR}:'.encode()).decode()}"
MOVING, MOVING_NAME = ("127.0.0.1", "127.0.0.2"), "moving.example.com"
BRIEF = ("--timeout", "1")  # for what hangs
# To judge no more than what is attacked.
ANSWERS, PAGES = ("--rules", "operations.*"), ("--rules", "pagination.*")
LIST = b'{"data": [], "meta": {}, "links": {}}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BLANKS = endless(HEAD + b"\r\n", b" " * CHUNK)
DRIPS = endless(HEAD + b"\r\n", b" ", 0.05)
HONEST = says(lambda asked: asked.honest)
NOW = datetime.now(UTC)
LONG_AGO, AGO, SOON, LATER = (NOW + timedelta(days) for days in (-30, -1, 1, 30))


@dataclass(frozen=True)
class Hostile:
    """A hostile target, and how a run against it ends."""

    way: Way
    status: tuple[int, ...] = VERDICT
    options: tuple[str, ...] = ()
    url: str = "http://127.0.0.1"
    tls: Callable[[Path], ssl.SSLContext] | None = None
    addresses: tuple[str, ...] = ("127.0.0.1",)


def of(status: tuple[int, ...], ways: dict[str, Way], *options: str) -> dict[str, Hostile]:
    return {name: Hostile(way, status, options) for name, way in ways.items()}


def secured(host: str = "localhost", how: str = "", **dates: Any) -> Callable[[Path], ssl.SSLContext]:
    """TLS with a certificate that an authority has issued; the run trusts what is in `ca.pem`."""

    def context(folder: Path) -> ssl.SSLContext:
        authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        (trustme.CA() if how else authority).cert_pem.write_to_path(folder / "ca.pem")
        authority.issue_cert(host, **dates).configure_cert(tls)
        if how == "self-signed":
            authority.private_key_pem.write_to_path(folder / "own.pem")
            authority.cert_pem.write_to_path(folder / "own.pem", append=True)
            tls.load_cert_chain(folder / "own.pem")
        return tls

    return context


def claims(host: str, whole: Any) -> None:
    """Show the run's host in a record that was there before."""
    for row in rows_of(whole):
        if row.get("id") == 5 and "host" in row:
            row["host"] = host


def returns(identifier: int, claimed: str = "") -> Way:
    """Creates answer the id of a record that was there before, or none; some operations show the run's host in it."""

    def change(whole: Any, asked: Asked, host: str) -> None:
        if asked.operation == "create":
            whole.pop("data") if not identifier else whole.get("data", {}).update(id=identifier)
        elif asked.operation in claimed.split():
            claims(host, whole)

    return lies(change)


def telling(text: str) -> dict[str, Way]:
    """A text in every place where an answer can hold one."""
    raw = text.encode()
    line = text.encode("latin-1", "ignore").decode("latin-1")  # what a header can hold of it
    named = f"{re.sub('[^!-~]|:', '-', line)}: {line}"
    return {
        "lists that are none": says(answer(raw + b' {"data": []}', "Content-Type: text/html"), "list"),
        "a reason": says(lambda asked: answer(asked.body, status=f"{asked.status} {line}")),
        "a status line": says(b"HTTP/1.1 " + raw + b"\r\n\r\n"),
        "a type": body(str, "list read create", f"Content-Type: {line}"),
        "the type of a page": says(answer(b"<p>", f"Content-Type: {line}")),
        "headers": body(str, "list read create", "Content-Type: application/json", named, f"WWW-Authenticate: {line}"),
    }


LIES = {
    "an old id, and the truth": returns(5),
    "an old id, and reads claim it": returns(5, "read"),
    "an old id, and lists claim it": returns(5, "list"),
    "an old id, and everything claims it": returns(5, "list read"),
    "an id of the other account": returns(28),
    "no lie but in lists, about an old record": lies(lambda whole, _, host: claims(host, whole), "list"),
    "no id, and everything claims an old record": returns(0, "list read"),
    "failures of creates that are kept": says(answer(b"", status="500 No"), "create"),
    **{f"{value!r} for an id": identifier(value, "create") for value in ("5", "../5", -5, 10**30, 5.5, True, [5])},
    **{f"lists and reads in which each id is {value!r}": identifier(value, "list read") for value in ("5", -5, 5.0)},
}
BOMBS = {
    "endless chunks": says(endless(CHUNKED, b"10000\r\n" + b" " * CHUNK + b"\r\n")),
    "a chunk size without end": says(endless(CHUNKED, b"1" * CHUNK)),
    "a gzip bomb": says(answer(blanks(2000, 31), "Content-Encoding: gzip")),
    "a deflate bomb": says(answer(blanks(2000, -15), "Content-Encoding: deflate")),
    "brotli that is none": says(answer(b"\xce\xb2\xcf\x81" * 999, "Content-Encoding: br")),
    "gzip without saying": says(answer(blanks(1, 31), "Content-Type: application/json")),
}
ROWS = {
    "200,000 rows": body(lambda told: told.replace('"data": [', '"data": [' + '{"id":1},' * 200_000), "list"),
    "60 MB of blanks in each answer": body(lambda told: told + " " * 60_000_000),
    "a host of 1 MB": body(lambda told: told.replace('com"', f'com{"a" * 10**6}"'), "read"),
    "endless bodies of creates": says(BLANKS, "create"),
    "reads that drip": says(DRIPS, "read"),
}
TOTALS = {"NaN": "NaN", "-0": "-0", "beyond floats": "1e999", "1e308": "1e308", "10^400": "1" + "0" * 400}
COUNTS = {
    **{f"total is {name}": number("total", word) for name, word in TOTALS.items()},
    "10^18 pages": number("total_pages", str(10**18)),
}
SHAPES = {
    "900 levels of a host": nested(900, "host"),
    **{f"{depth} levels of data": nested(depth, "data") for depth in (300, 900, 10**5)},
    "keys stand twice": body(lambda told: re.sub('("id|"meta)"', r'\1": 5, \1"', told)),
    "a byte order mark": body(lambda told: f"\ufeff{told}"),
    "bytes that are no text": body(lambda told: told.encode().replace(b"old-1", b"old-\xff\xfe\xc0")),
    "half a letter": body(lambda told: told.replace('"host": "', '"host": "\\ud800')),
    "resets before": resets(3, before=True),
    "resets after": resets(3, before=False),
    "cookies": body(str, "list read", "Set-Cookie: a=1; Domain=.com", f"Set-Cookie: __Host-b={HARBOUR}; Path=/"),
}
WIRE = {
    "closed at once": lambda *_: None,
    "silence": lambda conn, _: [conn.recv(CHUNK) for _ in "ab"] and None,
    "100 Continue without end": says(endless(b"", b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" * 100)),
    "101 Switching Protocols": says(b"HTTP/1.1 101 Go\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n" + LIST),
    "HTTP/0.9": says(LIST),
    "HTTP/2": says(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
    "garbage for a status": says(b"HTTP/1.1 2OO OK\r\n\r\n"),
    "headers without end": says(endless(HEAD, b"A: b\r\n" * 1000)),
    "a length too long": says(lambda asked: asked.honest[:-9]),
    "a length too short": says(lambda asked: asked.honest.replace(b"Content-Length: ", b"Content-Length: 1\r\nA: ")),
    "a head that drips": says(endless(b"", b"H", 0.05)),
    "a body that drips": says(DRIPS),
}
FAILURES = {
    f"{what} in errors": says(answer(text, "Content-Type: text/html", status="500 No"), "create update delete read")
    for what, text in (("scripts", RAW.encode()), ("keys", TOLD.encode()))
}
EVERYWHERE = {
    "half a letter in each name": everywhere("\ud800"),
    "keys in every text": everywhere(TOLD),
    "scripts in every text": everywhere(RAW),
}
ODD = {
    "an answer before the request": lambda conn, _: conn.sendall(answer(LIST)),
    **{f"scripts in {place}": way for place, way in telling(RAW).items()},
    **{f"keys in {place}": way for place, way in telling(TOLD).items()},
}
TOO_MANY = answer(b"", f"Retry-After: {10**9}", status="429 No")
LIMITED = {f"429, and {word!r}": says(TOO_MANY.replace(b"1000", word)) for word in (b"1000", b"-1", b"<b>soon")}
PLACES = {
    "the same place": "/api/domains/",
    "another host": "http://192.0.2.1/api/domains/",
    "a file": "file:///etc/passwd",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "nowhere": "http://[::1/",
    "controls": "/api/\x1b]0;owned\x07\x00/domains",
    "a key": f"http://{HARBOUR}@192.0.2.1/{HARBOUR}?key={HARBOUR}",
}
ELSEWHERE = {
    "writes are redirected": redirect("/api/domains/5", "create update delete"),
    **{f"reads lead to {word}": redirect(PLACES[word], "read") for word in ("metadata", "nowhere")},
}
LINKS = {
    "page links without end": body(lambda told: re.sub(r"page=\d+", f"page={'9' * 999}", told), "list"),
    **{f"page links lead to {word}": link(where) for word, where in PLACES.items()},
}
SECURE: dict[str, Any] = {"url": "https://localhost", "options": ("--ca-bundle", "ca.pem")}
CERTIFICATES = {
    "expired": secured(not_before=LONG_AGO, not_after=AGO),
    "not yet valid": secured(not_before=SOON, not_after=LATER),
    "of another host": secured("links.example.com"),
    "of another authority": secured(how="of another"),
    "of its own making": secured(how="self-signed"),
}
TARGETS = {
    "a correct server": Hostile(HONEST, (0,)),
    "a correct server with TLS": Hostile(HONEST, (0,), tls=secured(), **SECURE),
    **{f"a certificate {word}": Hostile(HONEST, UNUSABLE, tls=tls, **SECURE) for word, tls in CERTIFICATES.items()},
    "no TLS where it is due": Hostile(lambda conn, _: conn.sendall(answer(LIST)), UNUSABLE, url="https://localhost"),
    "TLS where none is due": Hostile(HONEST, UNUSABLE, tls=secured()),
    "a host that moves": Hostile(HONEST, VERDICT, ("--allow-writes",), f"http://{MOVING_NAME}", addresses=MOVING),
    **of(LEFT, LIES),
    **of(VERDICT, SHAPES | ELSEWHERE),
    **of(VERDICT, COUNTS | LINKS | EVERYWHERE, *PAGES),
    **of(VERDICT, FAILURES, *ANSWERS),
    **of(UNUSABLE, WIRE, *BRIEF),
    **of(UNUSABLE, {f"a redirect to {word}": redirect(where, "list") for word, where in PLACES.items()}),
    **of(EITHER, ODD),
    **of(UNUSABLE, LIMITED, "--deadline", "5s"),
    **of(VERDICT, {"429 for creates": says(TOO_MANY, "create"), "a pause": says(slow)}, "--deadline", "5s"),
}
LARGE = {  # what could take all memory; all are judged in a process of its own
    **of(UNUSABLE, {"endless bodies": says(BLANKS)}, "--resources", "domains,splash-pages", "--jobs", "2"),
    **of(UNUSABLE, BOMBS, *BRIEF),
    **of(EITHER, ROWS, "--max-requests", "30", *BRIEF),
}


def command_line(server: HostileTarget, hostile: Hostile) -> list[str]:
    options = ["--resources", "domains", "--explore", "0", "--lag", "0", "--timeout", "15", "--jobs", "1", "--verbose"]
    options += ["--max-requests", str(MOST_REQUESTS), "--report-dir", "reports", "--ledger", "ledger.jsonl"]
    return ["run", *options, "--base-url", f"{hostile.url}:{server.port}", *hostile.options]


def steering(text: str) -> set[str]:
    """The characters that steer a terminal, or turn the order of letters round."""
    return {each for each in text if unicodedata.category(each) in ("Cc", "Cf") and each != "\n"}


def troubles(
    ended: subprocess.CompletedProcess[str], server: HostileTarget, hostile: Hostile, folder: Path
) -> dict[str, object]:
    """Everything that must not be, by a word for it."""
    told = ended.stdout + ended.stderr
    written = [path for path in folder.rglob("*") if path.suffix not in (".pem", "")]
    plain = {path.name: (gzip.decompress if path.suffix == ".gz" else bytes)(path.read_bytes()) for path in written}
    files = {name: content.decode() for name, content in plain.items()}
    found = {
        "status": ended.returncode if ended.returncode not in hostile.status else "",
        "traceback": told[-3000:] if "Traceback" in told else "",
        "others' records": server.foreign,
        "cookies": server.cookies,
        "requests": server.requests if server.requests > MOST_REQUESTS else "",
        "keys": {name for name, text in [("output", told), *files.items()] for key in KEYS if key in text},
        "scripts": SCRIPT if SCRIPT in files.get("report.html", "") else "",
        "steering": steering(told),
    }
    return {name: what for name, what in found.items() if what}


QUICK = {  # some of each kind
    *("a correct server", "no TLS where it is due", "TLS where none is due", "429 for creates"),
    *(f"a certificate {each}" for each in CERTIFICATES),
    *("an old id, and the truth", "no id, and everything claims an old record", "[5] for an id"),
    *("total is NaN", "900 levels of data", "bytes that are no text", "resets after"),
    *("reads lead to metadata", "page links lead to a key", "an answer before the request"),
    *(f"a redirect to {each}" for each in PLACES),
    *("closed at once", "101 Switching Protocols", "HTTP/0.9", "HTTP/2", "garbage for a status"),
    *("headers without end", "a length too long", "a length too short"),
    *("scripts in lists that are none", "scripts in a reason", "scripts in a status line"),
    *("keys in lists that are none", "keys in headers", "keys in a status line"),
}
FURTHER = {  # of a kind of which CI judges another
    *("an old id, and reads claim it", "'5' for an id", "5.5 for an id"),
    *("lists and reads in which each id is -5", "lists and reads in which each id is 5.0"),
    *("total is -0", "total is 1e308", "300 levels of data", "a byte order mark", "half a letter"),
    *("page links lead to the same place", "page links lead to a file", "page links lead to metadata"),
    *("keys in a type", "429, and b'-1'"),
}
MARKS = dict.fromkeys(QUICK, ()) | dict.fromkeys(FURTHER, (pytest.mark.exhaustive,))
assert set(TARGETS) >= set(MARKS)


@pytest.mark.parametrize(
    "hostile",
    [pytest.param(each, id=name, marks=MARKS.get(name, (pytest.mark.slow,))) for name, each in TARGETS.items()],
)
def test_a_run_ends_with_a_verdict_in_bounds_and_harms_nobody(
    monkeypatch: pytest.MonkeyPatch, no_pauses: None, hostile: Hostile, tmp_path: Path
) -> None:
    tls = hostile.tls(tmp_path) if hostile.tls else None
    reached = set()
    connect, find, turns = socket.socket.connect, socket.getaddrinfo, count()

    def connect_and_note(self: socket.socket, address: tuple[Any, ...]) -> None:
        reached.add(address[:2])
        connect(self, address)

    def find_moving(name: str, *more: Any, **named: Any) -> Any:
        return find(MOVING[next(turns) // 15 % 2] if name == MOVING_NAME else name, *more, **named)

    if hostile.addresses == MOVING:
        monkeypatch.setattr(socket, "getaddrinfo", find_moving)
    monkeypatch.setattr(socket.socket, "connect", connect_and_note)
    monkeypatch.chdir(tmp_path)
    with HostileTarget(hostile.way, tls, hostile.addresses) as server:
        ended = command(*command_line(server, hostile), HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path))
    assert troubles(ended, server, hostile, tmp_path) == {}
    assert reached <= {(address, server.port) for address in (*server.addresses, "::1")}


@pytest.fixture(scope="module")
def large_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[HostileTarget, Path]]:
    """The servers with large answers, one process that has judged all of them, and the folder of each run."""
    with ExitStack() as stack:
        servers = {name: stack.enter_context(HostileTarget(hostile.way)) for name, hostile in LARGE.items()}
        runs = {name: (server, tmp_path_factory.mktemp("large")) for name, server in servers.items()}
        lines = [(str(folder), command_line(server, LARGE[name])) for name, (server, folder) in runs.items()]
        subprocess.run(
            [sys.executable, "-c", START],
            input=json.dumps(lines),
            check=True,
            env=ENVIRONMENT,
            timeout=HANG,
            encoding="utf-8",
        )
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_run_against_large_answers_takes_little_memory(
    large_runs: dict[str, tuple[HostileTarget, Path]], name: str
) -> None:
    server, folder = large_runs[name]
    status, peak = map(int, (folder / "ended").read_text("utf-8").split())
    ended = subprocess.CompletedProcess(name, status, (folder / "output").read_text("utf-8"), "")
    assert troubles(ended, server, LARGE[name], folder) == {}
    assert peak <= MOST_MEMORY  # of this run and those before it
