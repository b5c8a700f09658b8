"""Mock servers as processes beside the suite, and requests to their control plane."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from contract_tests.errors import UsageError

KEY, SECOND_KEY = "demo-key-harbour", "demo-key-alpine"
SECONDS_TO_STOP = 5


@dataclass(frozen=True)
class Defect:
    """A named way of breaking one rule, as the mock describes it.

    Attributes:
        name: what is wrong, in a few words.
        rule: the rule that it breaks.
        what: what is wrong, in a sentence.
        resources: the resources that it affects; if empty, all that the rule applies to.
        also: further rules that a server with it cannot satisfy either.
    """

    name: str
    rule: str
    what: str
    resources: tuple[str, ...]
    also: frozenset[str]


@contextmanager
def serving(count: int = 1) -> Iterator[list[str]]:
    """Start mock servers on free ports, wait until they listen, and stop them in the end; their base URLs.

    Threads start them: an interrupt comes to the main thread, where a process that is being started would be lost.

    Raises:
        UsageError: if there is no such program, or it does not start.
    """
    servers = [_Mock() for _ in range(count)]
    try:
        with ThreadPoolExecutor(count) as pool:
            base_urls = list(pool.map(_Mock.start, servers))
        yield base_urls
    finally:
        for server in servers:
            server.stop()


class _Mock:
    def __init__(self) -> None:
        beside = Path(sys.executable).with_name("mock-server")
        program = str(beside) if beside.exists() else shutil.which("mock-server")
        if program is None:
            raise UsageError("the program mock-server is not installed; it comes with this one")
        self._command = [program, "--port", "0", "--log-level", "error", "--journal", "0"]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        self._process = subprocess.Popen(  # noqa: S603 - our own
            self._command, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        line = self._process.stdout.readline() if self._process.stdout else ""
        base_url = line.rpartition(" ")[2].strip()
        if not base_url.startswith("http://"):
            raise UsageError("mock-server does not start; `mock-server --port 0` says why")
        return base_url

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                self._process.kill()
            if self._process.stdout:
                self._process.stdout.close()


def reset(base_url: str, **switches: Any) -> None:
    """Reset a mock to its initial state, with only these switches.

    Raises:
        UsageError: if the mock accepts no such name or value; the message is the mock's.
    """
    answer = urllib3.request("POST", f"{base_url}/_mock/reset", json=switches)
    if answer.status != 200:  # noqa: PLR2004 - what the control plane answers
        raise UsageError(json.loads(answer.data)["errors"][0]["title"])


def defects(base_url: str) -> dict[str, Defect]:
    """All defects that a mock has, by name."""
    answer = urllib3.request("GET", f"{base_url}/_mock/defects")
    return {
        each["name"]: Defect(each["name"], each["rule"], each["what"], tuple(each["kinds"]), frozenset(each["also"]))
        for each in answer.json()
    }


def conditions(base_url: str) -> dict[str, list[float]]:
    """All conditions that a mock can be put under, each with the measures that are worth trying."""
    measures: dict[str, list[float]] = urllib3.request("GET", f"{base_url}/_mock/conditions").json()
    return measures
