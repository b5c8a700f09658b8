"""Measures the suite against the mock: how long a run takes, and how many requests that is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from mock_server import MockServer

RUNS = 5
KEYS = {"CONTRACT_API_KEY": "demo-key-harbour", "CONTRACT_SECOND_API_KEY": "demo-key-alpine"}


def main() -> None:
    for records in (0, 10, 25, 40, 3000):
        with MockServer(fixture="empty", records=records) as server:
            survey = measured(server.base_url, "--explore", "0")
            whole = measured(server.base_url)
        print(f"{records:5} records of each resource   survey {survey}; with exploration {whole}")


def measured(base_url: str, *options: str) -> str:
    seconds, requests = zip(*(run(base_url, *options) for _ in range(RUNS)), strict=True)
    return f"{median(seconds):.2f} s, {requests[0]} requests"


def run(base_url: str, *options: str) -> tuple[float, int]:
    """Seconds from the command to its end, and the requests that it sent."""
    suite = Path(sys.executable).with_name("contract-tests")
    command: list[str | Path] = [suite, "run", "--base-url", base_url, *options]
    began = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | KEYS, check=True)
    taken = time.perf_counter() - began
    found = re.search(r"(\d+) requests in", ended.stdout)
    assert found
    return taken, int(found[1])


main()
