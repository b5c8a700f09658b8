"""Runs Schemathesis with its default settings on servers that `contract-tests prove` judges, and counts what it says.

A sample of the defects, each on one server; a defect is told apart where the report holds a failure, a check on an
operation, that it does not hold for the same server without the defect. It prints JSON, after some fifteen minutes on
two cores.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import Queue

from contract_tests import proof
from contract_tests.proof import KEY, switches

JOBS, RIGHT, EVERY = 2, 12, 4
PROGRAM = Path(sys.executable).with_name("st")
DOCUMENT = Path(__file__).parents[1] / "openapi.yaml"


def main() -> None:
    with proof.serving(JOBS) as base_urls:
        free: Queue[str] = Queue()
        for base_url in base_urls:
            free.put(base_url)
        defects = list(proof.defects(base_urls[0]).values())[::EVERY]
        right = [switches(seed) for seed in range(RIGHT)]
        wrong = [right[number % RIGHT] | {"defects": [each.name]} for number, each in enumerate(defects)]
        with ThreadPoolExecutor(JOBS) as pool:
            found = list(pool.map(partial(failures, free), [*right, *wrong]))
    of_right, of_wrong = found[:RIGHT], found[RIGHT:]
    apart = [bool(each - of_right[number % RIGHT]) for number, each in enumerate(of_wrong)]
    figures = {
        "right": RIGHT,
        "right_failed": sum(map(bool, of_right)),
        "defects": len(defects),
        "defects_failed": sum(map(bool, of_wrong)),
        "apart": sum(apart),
    }
    print(json.dumps(figures))


def failures(free: Queue[str], told: dict[str, object]) -> frozenset[str]:
    """The operations with the failures that a run reports of them."""
    base_url = free.get()
    try:
        proof.reset(base_url, **told)
        command: list[str | Path] = [
            PROGRAM,
            "run",
            DOCUMENT,
            "--url",
            base_url,
            "-H",
            f"Authorization: Bearer {KEY}",
            "--seed",
            "1",
        ]
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    finally:
        free.put(base_url)
    operation, seen = "", set()
    for line in ended.stdout.splitlines():
        heading = re.fullmatch(r"_+ (.+?) _+", line)
        operation = heading[1] if heading else operation
        if failure := re.match(r"- (?!violates)(\S.*)", line):
            seen.add(f"{operation}: {failure[1]}")
    print(f"{told.get('defects', ['right'])[0]}: {len(seen)}", file=sys.stderr)  # type: ignore[index]
    return frozenset(seen)


if __name__ == "__main__":
    main()
