"""What the command `mock-server` prints."""

import json
import logging
import os
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from link_management_contract import shipped_contract
from link_management_contract.texts import discard, is_loopback, printable, shown_url, write_whole
from mock_server.api.client_contract import client_contract
from mock_server.defects import DEFECTS
from mock_server.effects.conditions import CONDITIONS
from mock_server.errors import SettingsError
from mock_server.forwarding.recording import FixtureRecording
from mock_server.journal.journal import frequent_remarks
from mock_server.server import MockServer
from mock_server.settings.choices import HEADER, Choices
from mock_server.settings.documents import write_document
from mock_server.settings.settings import SANDBOX_PREFIX, Deployment
from mock_server.store.fixture_format import beginning, fixture_schema

NO_CONSOLE = (
    "Console      none, as others can reach this mock; --control-token-file FILE opens it to anyone with the token"
)
MAX_REMARKS = 20  # remarks
MAX_REQUEST_LENGTH = 100  # characters


def banner(server: MockServer) -> str:
    """What is printed once the mock listens."""
    if server.settings.deployment:
        return printable("\n".join(_banner_in_front(server, server.settings.deployment)))
    keys = server.api_keys
    first = next(iter(keys))
    lines = [
        f"Mock server  {server.base_url}",
        *(f"API key      {key}  ({name})" for key, name in keys.items()),
        f"             {SANDBOX_PREFIX}ANYTHING  (a private copy of {keys[first]})",
        f"Try          curl -H 'Authorization: Bearer {first}' '{server.base_url}/api/domains/?results_per_page=10'",
        *(
            []
            if server.settings.grease is None
            else [f"Grease       seed {server.settings.grease}, in each answer's {HEADER}"]
        ),
        *(
            f"Defect       {name}: {DEFECTS[name].description} ({DEFECTS[name].rule})"
            for name in server.settings.defects
        ),
        *(f"Condition    {name}={amount:g}" for name, amount in server.settings.conditions.items()),
        *([f"Store        {shown_url(server.settings.store)}"] if server.settings.store else []),
        f"Console      {server.origin}/" if server.is_controlled else NO_CONSOLE,
        f"Contract     {server.base_url}/openapi.yaml",
        "Stop         Ctrl-C",
    ]
    return printable("\n".join(lines))


def ready(server: MockServer) -> str:
    """The same for a program that starts a mock: one line of JSON."""
    return json.dumps(
        {
            "base_url": server.base_url,
            "console": f"{server.origin}/" if server.is_controlled else None,
            "api_keys": {} if server.settings.deployment else server.api_keys,
            "pid": os.getpid(),
        }
    )


def _banner_in_front(server: MockServer, deployment: Deployment) -> Iterator[str]:
    yield f"Mock server  {server.base_url}, in front of {deployment.url}"
    if deployment.read_only:
        yield "Read-only    writes are refused"
    if deployment.insecure:
        yield "WARNING      --insecure: certificates are not checked; an impostor would receive the keys"
    if not is_loopback(urlsplit(server.origin).hostname or ""):
        yield "WARNING      others can reach this server, and by it the deployment"
    yield f"Try          curl -H 'Authorization: Bearer KEY' '{server.base_url}/api/domains/?results_per_page=10'"
    yield from (f"Condition    {name}={amount:g}" for name, amount in server.settings.conditions.items())
    yield f"Console      {server.origin}/" if server.is_controlled else NO_CONSOLE
    yield "Stop         Ctrl-C"


def check_writable(file: Path) -> None:
    """Refuse a file that could not be written at the end.

    Raises:
        SettingsError: if it is a folder, or in none.
    """
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise SettingsError(f"{file} cannot be written; give a file in a folder that exists")


def say(text: str, stream: TextIO | None = None) -> bool:
    """Print if possible: a closed pipe or a full disk is no reason to stop.

    Returns:
        Whether it was printed, or nobody reads it any more.

    Args:
        text: what is printed; what a terminal could take for a command is escaped.
        stream: where; the standard output, if None.
    """
    stream = stream or sys.stdout
    try:
        print(printable(text), file=stream, flush=True)
    except OSError as error:
        discard(stream)
        return isinstance(error, BrokenPipeError)
    return True


def wrote(file: Path, text: str, hint: str) -> tuple[str, bool]:
    """Write a file at the end; what is said of it, and whether it could be written."""
    try:
        with open(file, "w", encoding="utf-8", opener=_private) as stream:
            stream.write(text)
    except OSError as error:
        return printable(f"{file} cannot be written: {error.strerror}"), False
    return printable(f"Wrote {file}. {hint}"), True


def saved(file: Path, before: str, fixture: Mapping[str, Any], *, is_changed: bool) -> tuple[str, bool]:
    """Write what the accounts hold to the file that they began with; what is said, and whether it could be written.

    Args:
        file: the file of the fixture; one beside it is written if somebody has changed it meanwhile.
        before: what they began with.
        fixture: what they hold.
        is_changed: whether somebody has changed the file meanwhile.
    """
    text = write_document(fixture)
    if text == before:
        return printable(f"{file} stays as it is: nothing has changed."), True
    other = file.with_name(f"{file.stem}.saved{file.suffix}") if is_changed else file
    try:
        write_whole(other.resolve(), _comments_above(file) + text)  # a link stays one
    except OSError as error:
        return printable(f"{other} cannot be written: {error.strerror}. It is as it was."), False
    reason = f", because {file} was changed meanwhile" if is_changed else ""
    return printable(f"Saved the records in {other}{reason}."), True


def _comments_above(file: Path) -> str:
    """The comments with which a file begins, such as the one that names its schema."""
    with file.open(encoding="utf-8") as lines:
        return "".join(takewhile(lambda line: line.startswith("#"), lines))


def _private(path: str, flags: int) -> int:
    """Open a file that other users of the machine cannot read: it may hold what a deployment keeps of people."""
    descriptor = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):  # it may have been there already
        Path(path).chmod(0o600)
    return descriptor


def recorded(file: Path, recording: FixtureRecording, *, verbatim: bool) -> tuple[str, bool]:
    """Write what a deployment has shown as a fixture; what is said of it, and whether it could be written."""
    counts = [
        f"  {account}, {resource}: {count} of {total} records" for account, resource, count, total in recording.counts
    ]
    if not counts:
        return printable(f"{file} was not written: no list or read of a record was answered."), True
    fixture = write_document(recording.fixture(verbatim=verbatim))
    message, is_written = wrote(file, fixture, f"Serve it: mock-server --fixture {file}")
    return "\n".join([message, *(counts if is_written else [])]), is_written


def remarks(server: MockServer) -> str:
    """The remarks about all requests, the most frequent first."""
    running = server.running
    rows = frequent_remarks(running.journal)
    lines = [
        line
        for text, rule, count in rows[:MAX_REMARKS]
        for line in (
            f"{count.times:6}  {rule}: {' '.join(text.split())}",
            f"        {count.request[:MAX_REQUEST_LENGTH]}{f'  ({count.account})' if count.account else ''}",
        )
    ]
    lines += [f"        and {len(rows) - MAX_REMARKS} other remarks"] if len(rows) > MAX_REMARKS else []
    lines += [f"        {remark.what} This may be intended." for remark in running.remarks.unread[:MAX_REMARKS]]
    summary = "\n".join(["Stopped. Remarks:", *lines]) if lines else ""
    return printable(summary)


def open_points(chosen_values: Mapping[str, str], grease: int | None) -> str:
    """The open points with their values, and which of them a mock chooses.

    Args:
        chosen_values: values other than the defaults.
        grease: the seed of all that are not chosen, or None.

    Raises:
        SettingsError: if a point or value is unknown.
    """
    points = shipped_contract().open_points
    choices = Choices(points, chosen_values, grease)
    lines = []
    for point in points.values():
        lines.append(f"{point.name}: {point.statement}")
        for value, meaning in point.values.items():
            notes = ["default"] if value == point.default else []
            notes += ["chosen"] if value == choices[point.name] != point.default else []
            lines.append(f"  {value}{_in_brackets(notes)}: {meaning}")
    return "\n".join(lines)


def _in_brackets(notes: list[str]) -> str:
    return f" ({', '.join(notes)})" if notes else ""


def defects() -> str:
    return "\n".join(f"{defect.name}: {defect.description} ({defect.rule})" for defect in DEFECTS.values())


def conditions() -> str:
    return "\n".join(
        f"{name}={condition.amounts[0]:g}: {condition.description}" for name, condition in CONDITIONS.items()
    )


def contract(form: str, base_url: str) -> str:
    """The contract, whole or as generators of clients read it."""
    shipped = shipped_contract()
    text = shipped.text if form == "whole" else write_document(client_contract(shipped))
    return text.replace(shipped.base_url, base_url).rstrip("\n")


def wrote_fixture(file: Path) -> str:
    """Write a fixture to begin with, and its schema beside it; say so.

    Raises:
        SettingsError: if a file is there already, or cannot be written.
    """
    if not file.name:
        raise SettingsError(f'"{file}" is not the name of a file; give one such as mine.yaml')
    schema = file.with_suffix(".schema.json")
    schema_text = json.dumps(fixture_schema(shipped_contract().resources.values()), indent=2) + "\n"
    try:
        for path in (file, schema):
            if path.exists():
                raise SettingsError(f"{path} already exists; give the name of a new file")
        for path, text in ((file, beginning(file.name, schema.name)), (schema, schema_text)):
            write_whole(path, text)
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}") from error
    return printable(f"Wrote {file}, and {schema} for editors. Serve it: mock-server --fixture {file} --watch")


MAX_WAITING_LINES = 10_000  # lines; older ones are lost if nobody reads
SECONDS_BETWEEN, SECONDS_TO_FINISH = 0.05, 1.0


class Clocked(logging.Formatter):
    """Lines that begin with the time of day, which is written once a second."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - as logging calls it
        return _time_of_day(int(record.created))


@lru_cache(1)
def _time_of_day(second: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(second))


class BatchHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes lines to standard error, several at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[logging.LogRecord] = deque(maxlen=MAX_WAITING_LINES)
        self._record_event, self._end_event = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line until it is written."""
        self._waiting.append(record)
        if not self._record_event.is_set():
            self._record_event.set()

    def finish(self) -> None:
        """Write what is left, if somebody reads it, and no more; `close` is called by others, such as Granian."""
        self._end_event.set()
        self._record_event.set()
        self._thread.join(SECONDS_TO_FINISH)

    def _write(self) -> None:
        while not self._end_event.wait(SECONDS_BETWEEN):
            self._record_event.wait()
            self._record_event.clear()
            self._write_waiting()
        self._write_waiting()

    def _write_waiting(self) -> None:
        records = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self.stream.write("".join([f"{self.format(log_record)}{self.terminator}" for log_record in records]))
            self.stream.flush()
        except Exception:  # noqa: BLE001 - whatever a line or a stream does, the thread goes on
            self.handleError(records[-1])
