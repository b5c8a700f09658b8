"""Runs a client against one server after another: a command, or a person who is asked."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import click

from mock_server.app import contract_of
from mock_server.errors import SettingsError
from mock_server.journal.journal import Entry
from mock_server.server import MockServer
from mock_server.settings.settings import Settings
from mock_server.trial import client_output
from mock_server.trial.traffic import Operations, Request, Tap
from mock_server.trial.trouble import KINDS, Disturbance
from mock_server.trial.variations import Variation

URLS, KEY = ("MOCK_URL", "MOCK", "API_BASE_URL"), "API_KEY"
TESTS, MAX_PATTERN = "{tests}", 100_000  # characters; Linux allows an argument of 128 KiB
ENDLESS, OWN_LIMIT = "did not end", "after the runner's own limit of"
MAX_ENTRIES, MAX_OUTPUT = 10_000, 2000  # requests, and characters of the output that a report shows
MAX_KEPT = 200_000  # bytes of the output that are read for failing tests, half of them at its beginning
PIECE = 65_536  # bytes that are read at a time
SECONDS_TO_END, SECONDS_BETWEEN_LOOKS = 3.0, 0.02
MIN_SECONDS, TIMES_AS_LONG = 60.0, 5.0  # that a run may take, beside the first one


@dataclass(frozen=True)
class Result:
    """How a run ended.

    Attributes:
        number: which run it was, counted from 1.
        failure: why the client failed; empty if it passed.
        output: the end of what the command printed, without colours.
        tests: the names of the tests that failed.
        first_error: the first error that it printed, or its last line.
        count: how many requests it sent to the API.
        requests: those that were kept, to be answered once more.
        entries: the same in the journal.
        findings: what it did wrong in trouble, each with a request.
        hit: the operations that trouble hit.
        unread: the lists of which it read page 1 alone.
    """

    number: int = 0
    failure: str = ""
    seconds: float = 0.0
    output: str = ""
    tests: tuple[str, ...] = ()
    first_error: str = ""
    count: int = 0
    requests: Sequence[Request] = ()
    entries: Sequence[Entry] = ()
    findings: Sequence[tuple[str, str]] = ()
    hit: Sequence[str] = ()
    unread: Sequence[str] = ()


class Runs:
    """Serves a client one variation after another.

    Args:
        settings: the arguments of `MockServer`.
        client: lets the client do its work, given a server, what is different about it, a limit in seconds, and the
            tests to run, or none for all; why it failed, if it did, and what it printed.
        limit: the seconds that the first run may take.
        junit: the JUnit file that the client's runner writes, if it does.

    Attributes:
        first: the run with default choices, once it is known.
        operations: what requests call.
        lacks_junit: whether a run that failed wrote no JUnit file.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        client: "Command | Person",
        limit: float,
        junit: Path | None = None,
    ) -> None:
        self._settings, self._client, self._limit, self._junit = settings, client, limit, junit
        self.first, self.lacks_junit = Result(), False
        self.operations = Operations(contract_of(Settings(contract=settings.get("contract"))), settings["base_path"])

    @property
    def can_select(self) -> bool:
        """Whether the client runs only some of its tests if it is told to."""
        return self._client.can_select

    def __call__(self, variation: Variation, seconds_left: float, tests: Sequence[str] = ()) -> Result:
        """Let the client do its work once, or only some of its tests.

        Raises:
            TimeoutError: if it takes longer than there is time left, though it might take longer.
        """
        kind, first = KINDS.get(variation.trouble), self.first
        trouble = Disturbance(kind, self.operations, first.count)
        tap = Tap(self.operations, lambda environ: trouble.before(server.running, environ))
        changed: dict[str, Any] = {"defects": (variation.defect,) if variation.defect else (), "journal": MAX_ENTRIES}
        changed["choices"] = {**self._settings["choices"], **dict(variation.choices)}
        changed["conditions"] = {**self._settings["conditions"], **(kind.conditions if kind else {})}
        with MockServer(**{**self._settings, **changed}, around=tap.attach) as server:
            started, start_time = time.monotonic(), time.time()
            limit = MIN_SECONDS + TIMES_AS_LONG * first.seconds + first.count if first.count else self._limit
            failure, output = self._client(server, variation, min(limit, seconds_left), tests)
            seconds = time.monotonic() - started
        if failure.startswith(ENDLESS) and seconds_left < limit:
            raise TimeoutError
        if failure and (own_limit := client_output.own_limit(output)):
            failure = f"{failure}, {OWN_LIMIT} {own_limit}"
        failed_tests, first_error = tuple[str, ...](), ""
        if failure:
            cases = client_output.failing_cases(self._junit, start_time) if self._junit else {}
            self.lacks_junit |= cases is None
            failed_tests = tuple(cases or client_output.failing_tests(output))
            first_error = next(iter((cases or {}).values()), "") or client_output.first_error(output)
        entries = server.running.journal.find()
        return Result(
            failure="" if kind and kind.is_final and not failure.startswith(ENDLESS) else failure,
            seconds=seconds,
            output=output[-MAX_OUTPUT:],
            tests=failed_tests,
            first_error=first_error,
            count=tap.count,
            requests=tap.requests,
            entries=entries,
            findings=trouble.findings(entries, first.entries),
            hit=[name for name, count in trouble.hit.items() if count],
            unread=[remark.what for remark in server.running.remarks.unread],
        )


class Command:
    """A client that a command starts; it passes if it ends with status 0.

    Args:
        words: the command; `{tests}` in it becomes a regular expression that the titles of the tests to run match.
        variables: further environment variables: texts with `{url}` and `{key}` in them.
    """

    def __init__(self, words: Sequence[str], variables: Mapping[str, str]) -> None:
        self._words, self._variables = list(words), variables
        self.can_select = any(TESTS in word for word in words)
        self._live: dict[int, subprocess.Popen[bytes]] = {}

    def __call__(self, server: MockServer, _: Variation, limit: float, tests: Sequence[str]) -> tuple[str, str]:
        """Run the command.

        Raises:
            SettingsError: if it cannot be started.
        """
        pattern = client_output.pattern_of(tests)
        if len(pattern) > MAX_PATTERN:
            pattern = client_output.pattern_of(())
        try:
            process = subprocess.Popen(  # noqa: S603 - what the user asks for
                [word.replace(TESTS, pattern) for word in self._words],
                env={name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
                | self._environment(server),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for this program, which then ends the command
            )
        except OSError as error:
            raise SettingsError(f'"{self._words[0]}" cannot be run: {error.strerror}; give a command') from error
        self._live[process.pid] = process
        head, end = bytearray(), bytearray()
        reading = Thread(target=_keep, args=(process.stdout, head, end), daemon=True)
        reading.start()
        try:
            status = process.wait(limit)
            failure = f"exit status {status}" if status else ""
        except subprocess.TimeoutExpired:
            failure = f"{ENDLESS} within {limit:.0f} s"
        finally:
            self._end(process)
        reading.join(SECONDS_TO_END)  # what left its process group may still hold the pipe
        return failure, client_output.without_colours(bytes(head + end).decode("utf-8", "replace"))

    def stop(self) -> None:
        for process in list(self._live.values()):
            self._end(process)

    def _environment(self, server: MockServer) -> dict[str, str]:
        url, key = server.base_url, next(iter(server.api_keys))
        variables = {name: text.replace("{url}", url).replace("{key}", key) for name, text in self._variables.items()}
        return dict.fromkeys(URLS, url) | {KEY: key, "NO_COLOR": "1"} | variables

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End a command with all that it has started."""
        if not hasattr(os, "killpg"):  # Windows
            process.kill()
        else:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
                ends = time.monotonic() + SECONDS_TO_END
                while time.monotonic() < ends:
                    process.poll()
                    os.killpg(process.pid, 0)  # an error once nobody is left
                    time.sleep(SECONDS_BETWEEN_LOOKS)
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._live.pop(process.pid, None)


def _keep(stream: Any, head: bytearray, end: bytearray) -> None:
    """Read a stream, and keep its beginning and its end alone, however much it is."""
    with stream:
        while piece := stream.read1(PIECE):
            free_bytes = MAX_KEPT // 2 - len(head)
            head += piece[:free_bytes]
            end += piece[free_bytes:]
            del end[: -MAX_KEPT // 2]


class Person:
    """A client that no command can start: a person says whether it passed."""

    can_select = False

    def __call__(self, server: MockServer, variation: Variation, *_: object) -> tuple[str, str]:
        """Ask until the answer is clear.

        Raises:
            Abort: if nobody answers.
        """
        click.echo(f"\n{variation} at {server.base_url}, key {next(iter(server.api_keys))}")
        answers = click.Choice(("passed", "failed", "p", "f"), case_sensitive=False)
        answer = click.prompt("Try your client, then say passed or failed [p/f]", type=answers, show_choices=False)
        return ("" if answer[0] == "p" else "failed"), ""

    def stop(self) -> None:
        """Nothing is left that runs."""
