"""Surface: the folder in which a run writes its reports, over those of an earlier run.
Attack: the disk is full: no file may grow beyond a few kilobytes.
Holds: the earlier reports are as they were, and the command says that it could not write.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from shell import COMMANDS, ENVIRONMENT, MOCK_SERVER, command

from mock_server import MockServer

pytestmark = pytest.mark.slow
FULL = ["sh", "-c", 'ulimit -f 2; exec "$@"', "sh"]  # blocks of 512 bytes
READS = ("--read-only", "--resources", "domains", "--rules", "pagination.total-counts-*")


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_full_disk_leaves_the_reports_of_an_earlier_run(server: MockServer, tmp_path: Path) -> None:
    options = ("run", "--base-url", server.base_url, *READS, "--report-dir", str(tmp_path))
    assert command(*options).returncode == 0
    before = files_in(tmp_path)
    run = [*FULL, str(COMMANDS / "contract-tests"), *options]
    ended = subprocess.run(run, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert "no report could be written: [Errno 27] File too large" in ended.stderr
    assert ended.returncode == 3
    assert files_in(tmp_path) == before


def test_a_full_disk_leaves_the_reports_of_an_earlier_trial(tmp_path: Path) -> None:
    before = dict.fromkeys(("results.json", "junit.xml", "summary.md"), b"of an earlier trial")
    for name, text in before.items():
        (tmp_path / name).write_bytes(text)
    client = ["sh", "-c", "echo $(seq 2000); exit 3"]
    trial = [*FULL, str(MOCK_SERVER), "try", "--report-dir", str(tmp_path), "--", *client]
    ended = subprocess.run(trial, capture_output=True, text=True, check=False)
    assert "File too large" in ended.stderr
    assert ended.returncode == 4
    assert {name: text for name, text in files_in(tmp_path).items() if name in before} == before


def test_a_full_disk_under_the_ledger_is_told_before_anything_is_made(server: MockServer, tmp_path: Path) -> None:
    options = ("--base-url", server.base_url, "--explore", "0", "--resources", "domains")
    run = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", str(COMMANDS / "contract-tests"), "run", *options]
    ledger = tmp_path / "ledger.jsonl"
    ended = subprocess.run(
        [*run, "--ledger", str(ledger)], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert f"the ledger {ledger} cannot be written: File too large; nothing is created without it" in ended.stderr
    assert "never answered" not in ended.stderr
    assert ended.returncode == 3
    assert not server.running.journal.find(method="POST", path="/api/domains", status="201")
