"""What a gate says in the situations of CI: `python tests/gate.py` runs each, and prints a table for docs/ci.md."""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shell import COMMANDS, ENVIRONMENT, everything

from mock_server import MockServer

WAIVER = "- {rule: 'pagination.*', kind: '*', reason: ticket 12, until: 2999-01-31}\n"
TO_SIGTERM, TO_SIGKILL = 7, 2  # seconds after SIGINT, and after SIGTERM, as GitHub's runners send them
LONGEST = 300  # seconds


@dataclass(frozen=True)
class Gate:
    """How a gate ended: its exit status (negative after a signal), how many records are left, and its last line."""

    status: int
    left: int
    verdict: str = ""


def gate(server: MockServer, *options: str | Path, ends_after: float = LONGEST, is_killed: bool = False) -> Gate:
    """Run `contract-tests` as a job does, which is cancelled or killed some seconds after the first line it prints."""
    before = totals(server)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job hands on that it ignores it
    command = [COMMANDS / "contract-tests", "run", "--base-url", server.base_url, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    assert process.stdout
    process.stdout.readline()
    signals = (signal.SIGKILL,) if is_killed else (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    for seconds, number in zip((ends_after, TO_SIGTERM, TO_SIGKILL), signals, strict=False):
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            break
        process.send_signal(number)
    output, _ = process.communicate()
    return Gate(process.returncode, totals(server) - before, output.rstrip().rpartition("\n")[2])


def totals(server: MockServer) -> int:
    """How many records both accounts hold."""
    while True:
        with suppress(ValueError):  # an answer that is no list, as the flaky server gives now and then
            pages: Iterable[Any] = everything(server).values()
            return sum(len(page["data"]) for page in pages)


def broken() -> MockServer:
    return MockServer(fixture="empty", records=40, defects=("total-is-one-more",))


def right(**conditions: float) -> MockServer:
    hyphenated = {name.replace("_", "-"): strength for name, strength in conditions.items()}
    return MockServer(fixture="empty", records=40, conditions=hyphenated)


def one_server(make: Callable[[], MockServer], *options: str) -> Callable[[Path], Gate]:
    def carry_out(_: Path) -> Gate:
        with make() as server:
            return gate(server, *options)

    return carry_out


def with_a_baseline(folder: Path) -> Gate:
    with broken() as server:
        gate(server, "--report-dir", folder)
        return gate(server, "--baseline", folder / "results.json")


def with_a_waiver(make: Callable[[], MockServer], folder: Path) -> Gate:
    (folder / "waivers.yaml").write_text(WAIVER, "utf-8")
    with make() as server:
        return gate(server, "--waivers", folder / "waivers.yaml")


def without_a_server(_: Path) -> Gate:
    with right() as server:
        base_url = server.base_url
    command: list[str | Path] = [COMMANDS / "contract-tests", "run", "--base-url", base_url]
    process = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    return Gate(process.returncode, 0, process.stderr.rstrip().rpartition("\n")[2])


def flaky(*options: str) -> Callable[[Path], Gate]:
    """A server that answers one read in thirty with 500, though nothing is wrong with it."""

    def carry_out(_: Path) -> Gate:
        with right() as server:
            server.running.force({"status": 500, "every": 30, "method": "GET", "times": 1000})
            return gate(server, *options)

    return carry_out


def cut_short(seconds: float, *, is_killed: bool = False, adopts: bool = False) -> Callable[[Path], Gate]:
    """A job that ends early, each answer after 0.2 s; or the one after it, which removes what that has left."""

    def carry_out(folder: Path) -> Gate:
        with right(latency=0.2) as server:
            first = gate(server, "--ledger", folder / "ledger.jsonl", ends_after=seconds, is_killed=is_killed)
            if not adopts:
                return first
            server.running.change_switches(conditions={})
            after = gate(server, "--adopt", folder)
            return replace(after, left=first.left + after.left)

    return carry_out


SITUATIONS: dict[str, Callable[[Path], Gate]] = {
    "nothing is wrong": one_server(right),
    "a change breaks a rule": one_server(broken),
    "the same, with the run before as `--baseline`": with_a_baseline,
    "the same, waived": partial(with_a_waiver, broken),
    "waived, and nothing is wrong": partial(with_a_waiver, right),
    "no server answers": without_a_server,
    "one read in 30 is answered with 500": flaky(),
    "the same, with `--max-5xx 0`": flaky("--max-5xx", "0"),
    "600 requests a minute": one_server(partial(right, rate_limit=600)),
    "each answer after 200 ms": one_server(partial(right, latency=0.2)),
    "cancelled after 2 s": cut_short(2),
    "cancelled after 10 s": cut_short(10),
    "cancelled after 30 s": cut_short(30),
    "killed after 10 s": cut_short(10, is_killed=True),
    "the job after that, with `--adopt`": cut_short(10, is_killed=True, adopts=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default=".", help="a regular expression: the situations to try")
    arguments = parser.parse_args()
    print("| situation | status | seconds | left behind | verdict |\n|---|---:|---:|---:|---|")
    for name, carry_out in SITUATIONS.items():
        if re.search(arguments.pattern, name):
            with TemporaryDirectory() as folder:
                started = time.monotonic()
                ended = carry_out(Path(folder))
                print(
                    f"| {name} | {ended.status} | {time.monotonic() - started:.0f} | {ended.left} | {ended.verdict} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
