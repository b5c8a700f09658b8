from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shell import NEEDS_PROC, children, command, spawned

COMMAND = Path(sys.executable).with_name("contract-tests")


def test_one_defect_is_proved_by_itself_and_its_matrix_written(tmp_path: Path) -> None:
    markdown, matrix = tmp_path / "matrix.md", tmp_path / "matrix.json"
    options = ("--defect", "total-is-one-more", "--seeds", "2", "--jobs", "1")
    ended = command("prove", *options, "--markdown", markdown, "--json", matrix)
    assert ended.returncode == 0, ended.stderr
    assert "2 servers judged in" in ended.stdout
    assert "\nproved\n" in ended.stdout
    assert [each["verdict"] for each in json.loads(matrix.read_text("utf-8"))["defects"]] == ["caught"]
    assert "| `total-is-one-more` | pagination.total-counts-the-records | 2 of 2 |" in markdown.read_text("utf-8")


def test_a_matrix_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    ended = command(
        "prove", "--defect", "byte-order-mark", "--seeds", "1", "--jobs", "1", "--json", tmp_path / "no" / "x"
    )
    assert ended.returncode == 3
    assert "contract-tests: the matrix could not be written: [Errno 2]" in ended.stderr


@NEEDS_PROC
@pytest.mark.slow
@pytest.mark.parametrize(
    ("under_way", "number"),
    [(1, signal.SIGINT), (3, signal.SIGINT), (3, signal.SIGTERM)],
    ids=["Ctrl-C while its mock starts", "Ctrl-C while a worker judges", "SIGTERM while a worker judges"],
)
def test_a_signal_ends_it_and_leaves_no_process(interruptible: None, under_way: int, number: int) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([COMMAND, "prove", "--jobs", "1"], stdout=pipe, stderr=pipe) as process:
        try:
            mine: dict[int, str] = {}
            while len(mine) < under_way:  # a mock, what keeps track of semaphores, and a worker
                assert process.poll() is None
                mine = children(process.pid)
            process.send_signal(number)
            _, told = process.communicate(timeout=120)  # until none of them can write there any more
        finally:
            process.kill()
    lines = [line for line in told.splitlines() if b" servers judged " not in line]
    assert (process.returncode, lines) == (2, [b"contract-tests: interrupted"])
    until = time.monotonic() + 20
    while left := [each for each in mine if Path(f"/proc/{each}").exists()]:
        assert time.monotonic() < until, left
        time.sleep(0.1)


@NEEDS_PROC
@pytest.mark.slow
def test_a_worker_that_dies_ends_it() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([COMMAND, "prove", "--jobs", "2"], stdout=pipe, stderr=pipe) as process:
        try:
            while len(children(process.pid)) < 5:
                assert process.poll() is None
            os.kill(min(spawned(process.pid)), signal.SIGKILL)
            _, told = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 3
    assert told.startswith(b"contract-tests: a worker died with status -9; ")
