"""How the tests run the commands, and the small servers that they run `contract-tests` against."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO, TextIOWrapper
from pathlib import Path
from threading import Thread
from unittest.mock import patch

import pytest
from wire import ALPINE, HARBOUR, Client, over_network

from contract_tests import cli as suite
from contract_tests.commands import run
from contract_tests.survey import waits
from contract_tests.target import retries
from mock_server import MockServer
from mock_server import cli as mock

ROOT = Path(__file__).parents[1]
COMMANDS = Path(sys.executable).parent
MOCK_SERVER = COMMANDS / "mock-server"
TOOLS = ROOT / "node_modules" / ".bin"
NODE = pytest.mark.skipif(not shutil.which("npm") and not os.environ.get("CI"), reason="Node is not installed")
NEEDS_PROC = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="needs Linux's /proc, which tells a process's children"
)
ENVIRONMENT = os.environ | {"CONTRACT_API_KEY": HARBOUR, "CONTRACT_SECOND_API_KEY": ALPINE, "COLUMNS": "200"}


def command(*arguments: str | Path, without: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run `contract-tests` in this process and without its pauses.

    Args:
        arguments: the command line.
        without: a variable to take out of its environment.
        more: further variables.
    """
    environment = {name: value for name, value in (ENVIRONMENT | more).items() if name != without}
    with (
        patch.dict(os.environ, environment, clear=True),
        patch.multiple(waits, PAUSES=(0.0,), SETTLING=0.0),
        patch.object(retries, "PAUSE", 0.0),
        patch.object(run, "BETWEEN_LINES", 3600),  # seconds: a busy machine may need longer than is usual for a line
    ):
        return in_process(suite.main, *arguments)


def children(pid: int) -> dict[int, str]:
    """The processes that a process has started and that have not ended, with their command lines."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            for child in (thread / "children").read_text().split():
                with suppress(FileNotFoundError, ProcessLookupError):
                    found[int(child)] = Path(f"/proc/{child}/cmdline").read_text()
    return found


def has_ended(pid: int) -> bool:
    """Whether a process has ended, even if its parent has not been told yet."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    return True


def spawned(pid: int) -> set[int]:
    """Those of its children that Python's `multiprocessing` started."""
    return {child for child, command_line in children(pid).items() if "spawn_main" in command_line}


def printed(*options: str | Path) -> str:
    """What `mock-server` prints with options with which it serves nothing."""
    ended = in_process(mock.main, *options)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def failure(*options: str | Path) -> str:
    """What `mock-server` prints when it cannot start."""
    ended = in_process(mock.main, *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    return ended.stderr


def in_process(main: Callable[[list[str]], int | None], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Call a command's `main`, and put back what it changes in this process."""
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    status: int | str | None
    with (
        redirect_stdout(TextIOWrapper(BytesIO(), "utf-8", write_through=True)) as printed,
        redirect_stderr(TextIOWrapper(BytesIO(), "utf-8", write_through=True)) as errors,
        patch.object(sys, "unraisablehook", sys.unraisablehook),
    ):
        try:
            status = main(list(map(str, arguments)))
        except SystemExit as ended:
            status = ended.code
    for number, handler in signals.items():
        signal.signal(number, handler)
    texts = (stream.buffer.getvalue().decode() for stream in (printed, errors))
    return subprocess.CompletedProcess(arguments, int(status or 0), *texts)


def beside_progress(errors: str) -> str:
    """What a run printed to standard error besides its ledger, and how far it is, as on a busy machine."""
    usual = (" requests  ·  ", "contract-tests: what this run makes is noted in ")
    return "".join(line for line in errors.splitlines(keepends=True) if not any(text in line for text in usual))


def ended(*command: str | Path, cwd: Path = ROOT, **more: str) -> str:
    """What a command prints that succeeds."""
    done = subprocess.run(command, cwd=cwd, env=os.environ | more, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed(target: str) -> None:
    """Let `make` install what a test needs; one worker at a time, since two `npm ci` in a folder undo each other."""
    with (ROOT / "Makefile").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", target], cwd=ROOT, check=True, capture_output=True)


@contextmanager
def running(*options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The command `mock-server` with these options, and what it printed when it began to listen."""
    process = subprocess.Popen(
        [MOCK_SERVER, "--port", "0", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stderr
    try:
        lines: list[str] = []
        while not lines or not lines[-1].startswith("Stop"):
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
        yield process, lines
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def everything(server: MockServer) -> dict[str, object]:
    """What both accounts hold."""
    resources = ("splash-pages", "domains", "notification-handlers")
    send = over_network(server.base_url)
    return {
        f"{key} {resource}": Client(send, key).get(f"/api/{resource}/?results_per_page=1000").json
        for key in (HARBOUR, ALPINE)
        for resource in resources
    }


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], tuple[int, bytes]]) -> Iterator[str]:
    """A server that answers each GET with a status and a body; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(self)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
