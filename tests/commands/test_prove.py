from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("contract-tests")


def prove(*options: str, timeout: int = 240) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [COMMAND, "prove", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def test_one_defect_is_proved_by_itself_and_its_matrix_written(tmp_path: Path) -> None:
    markdown, matrix = tmp_path / "matrix.md", tmp_path / "matrix.json"
    options = ("--defect", "total-is-one-more", "--seeds", "2", "--jobs", "1")
    ended = prove(*options, "--markdown", str(markdown), "--json", str(matrix))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "2 servers judged in" in ended.stdout
    assert "\nproved\n" in ended.stdout
    assert [each["verdict"] for each in json.loads(matrix.read_text("utf-8"))["defects"]] == ["caught"]
    assert "| `total-is-one-more` | pagination.total-counts-the-records | 2 of 2 |" in markdown.read_text("utf-8")


def test_a_matrix_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    ended = prove("--defect", "byte-order-mark", "--seeds", "1", "--jobs", "1", "--json", str(tmp_path / "no" / "x"))
    assert ended.returncode == 3
    assert "contract-tests: the matrix could not be written: [Errno 2]" in ended.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--defect", "total-is-1-more"], 'no defect "total-is-1-more"; did you mean total-is-one-more'),
        (["--seeds", "0"], 'argument --seeds: "0" is no number; give 1 or more'),
    ],
)
def test_a_wrong_option_is_told_in_a_line(options: list[str], message: str) -> None:
    ended = prove(*options, "--jobs", "1")
    assert (ended.returncode, ended.stdout) == (4, "")
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_ctrl_c_ends_it_and_leaves_no_process(interruptible: None) -> None:
    process = subprocess.Popen([COMMAND, "prove", "--jobs", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        time.sleep(4)
        mine = children(process.pid)
        assert mine
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 2
    finally:
        process.terminate()
        process.communicate()
    for _ in range(50):  # what keeps track of semaphores ends a moment later
        time.sleep(0.1)
        left = [each for each in mine if Path(f"/proc/{each}").exists()]
        if not left:
            break
    assert left == []


def children(pid: int) -> list[int]:
    if not Path("/proc").exists():
        pytest.skip("this system has no /proc to see processes in")
    folders = [each for each in Path("/proc").iterdir() if each.name.isdecimal() and int(each.name) != os.getpid()]
    parents = {int(each.name): int((each / "stat").read_text().rpartition(")")[2].split()[1]) for each in folders}
    return [each for each, parent in parents.items() if parent == pid]
