"""Measures `contract-tests run` as its users wait for it: on right, broken, slow, lagging and hanging servers.

The servers are those of `broken.py`, written on another stack than the mock. It prints a Markdown table with medians of
a few runs, the targets, and how long Schemathesis' `st run` takes on the same servers; after some forty minutes, which
are mostly waits. `--defects N` runs N of the mock's defects instead, with default settings, and prints the longest.
`--beside CHECKOUT` runs the suite of another checkout in turn with this one, and prints the ratio.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

from contract_tests import proof

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
DOCUMENT = HERE.parent / "openapi.yaml"
KEYS = {"CONTRACT_API_KEY": "demo-key-harbour", "CONTRACT_SECOND_API_KEY": "demo-key-alpine"}
START = "import sys; from contract_tests import cli; sys.exit(cli.main(sys.argv[1:]))"
RUNS, LONGEST = 3, 300  # runs of each; seconds
SERVERS = {  # what it is, the target in seconds
    "right": ("a right server", 3),
    "near": ("the same, each answer after 50 ms", 16),
    "far": ("the same, each answer after 200 ms", 56),
    "broken": ("29 results fail, for 5 reasons", 6),
    "slow": ("the same, each answer after 0.1 s", 30),
    "lagging": ("a right server whose reads lag by 0.3 s", 25),
    "hanging": ("one that answers no update", 60),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--defects", type=int, default=0, metavar="N", help="run N of the mock's defects instead")
    parser.add_argument("--only", default=".", metavar="PATTERN", help="only the servers whose names match")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="run this checkout's suite in turn with ours")
    given = parser.parse_args()
    if given.defects:
        return defects(given.defects)
    if given.beside and not (given.beside / "contract_tests").is_dir():
        parser.error(f"--beside {given.beside}: no checkout of this project; give a folder that holds contract_tests")
    if given.beside:
        return beside(given.beside.resolve(), given.only)
    print("| server | seconds | target | requests | survey alone | `st run` |\n|---|---:|---:|---:|---:|---:|")
    for name, (what, target) in SERVERS.items():
        if re.search(given.only, name):
            whole, requests = measured(name)
            alone, fewer = measured(name, "--explore", "0")
            st = seconds_of_st(name)
            print(f"| {what} | {whole:.1f} | {target} | {requests} | {alone:.1f} s, {fewer} | {st} |", flush=True)
    return None


def beside(checkout: Path, only: str) -> None:
    """Run this suite and that of another checkout in turn, and print the medians and their ratio."""
    print("| server | seconds | there | ratio |\n|---|---:|---:|---:|")
    for name, (what, _) in SERVERS.items():
        if re.search(only, name):
            ours, theirs = list[float](), list[float]()
            for _ in range(runs_of(name)):
                for taken, tree in ((theirs, checkout), (ours, HERE.parent)):
                    taken.append(once(name, tree=tree)[0])
            here, there = median(ours), median(theirs)
            print(f"| {what} | {here:.1f} | {there:.1f} | {here / there:.2f} |", flush=True)


def measured(name: str, *options: str) -> tuple[float, int]:
    """The median of the seconds from the command to its end, and that of the requests, each on a new server."""
    with_each = [once(name, *options) for _ in range(runs_of(name))]
    return median(seconds for seconds, _ in with_each), int(median(requests for _, requests in with_each))


def runs_of(name: str) -> int:
    """How often a server is judged."""
    return 1 if name == "hanging" else RUNS


def once(name: str, *options: str, tree: Path = HERE.parent) -> tuple[float, int]:
    """The seconds and requests of a run on a new server."""
    with serving(name) as base_url:
        return run(base_url, *options, tree=tree)


@contextmanager
def serving(name: str) -> Iterator[str]:
    """Start a server; its base URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, HERE / "broken.py", name, str(port)])
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def run(base_url: str, *options: str, tree: Path = HERE.parent) -> tuple[float, int]:
    """Seconds from the command to its end, and the requests that it sent."""
    command = [sys.executable, "-c", START, "run", "--base-url", base_url, *options]
    began = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tree, env=os.environ | KEYS, check=False)
    taken = time.perf_counter() - began
    found = re.search(r"(\d+) requests in", ended.stdout)
    assert found, ended.stdout + ended.stderr
    return taken, int(found[1])


def seconds_of_st(name: str) -> str:
    """How long Schemathesis takes with its default settings, if it ends in time."""
    key = f"Authorization: Bearer {KEYS['CONTRACT_API_KEY']}"
    with serving(name) as base_url, tempfile.TemporaryDirectory() as folder:
        command: list[str | Path] = [BIN / "st", "run", DOCUMENT, "--url", base_url, "-H", key, "--seed", "1"]
        began = time.perf_counter()
        try:
            subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return f"over {LONGEST} s"
        return f"{time.perf_counter() - began:.0f} s"


def defects(count: int) -> None:
    """Run servers with one defect each, and print the runs that took longest."""
    with proof.serving() as [base_url]:
        every = list(proof.defects(base_url))
        taken = []
        for name in every[:: max(1, len(every) // count)]:
            proof.reset(base_url, fixture="empty", records=28, defects=[name])
            taken.append((run(base_url)[0], name))
    print(f"{len(taken)} servers with a defect: median {median(seconds for seconds, _ in taken):.1f} s")
    for seconds, name in sorted(taken, reverse=True)[:10]:
        print(f"{seconds:.1f} s  {name}")


if __name__ == "__main__":
    main()
