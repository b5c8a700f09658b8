"""How runs end: interrupted, without an answer, with all that they made removed; and what is said meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from shell import COMMANDS, ENVIRONMENT, command, everything

from contract_tests.commands import run as run_command
from contract_tests.options import RunOptions
from contract_tests.target.ledger import Ledger
from contract_tests.target.ledger_file import LedgerFile
from mock_server import MockServer

QUICK = ("--explore", "0", "--lag", "0", "--resources", "domains")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_run_removes_what_it_made_writes_its_reports_and_claims_nothing(
    interruptible: None, server: MockServer, tmp_path: Path, number: signal.Signals
) -> None:
    before = everything(server)
    options = ("--base-url", server.base_url, "--rate", "30/s", "--explore", "0", "--report-dir", tmp_path)
    arguments: list[str | Path] = [COMMANDS / "contract-tests", "run", *options]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    while len(server.running.journal.find(method="POST", status="201")) < 8:  # more than before the visits
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, output) == (2, "")
    assert "contract-tests: interrupted; what this run made was removed" in errors
    assert everything(server) == before
    results = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert (results["status"], results["word"]) == (2, "interrupted: no claim")
    assert results["results"]
    assert results["not_judged"][-1].endswith(" checks (the run was interrupted)")
    for name in ("summary.md", "junit.xml", "report.html", "record.har", "profile.yaml"):
        assert "interrupted: no claim" in (tmp_path / name).read_text("utf-8")


@pytest.mark.slow
def test_a_run_that_is_interrupted_while_it_explores_removes_what_it_made(server: MockServer, tmp_path: Path) -> None:
    before, ledger = everything(server), tmp_path / "ledger.jsonl"
    options = ["--resources", "domains", "--explore", "3000", "--ledger", str(ledger)]
    arguments: list[str | Path] = [COMMANDS / "contract-tests", "run", "--base-url", server.base_url, *options]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    while not ledger.exists() or ledger.read_text("utf-8").count("created") < 15:  # of which the survey makes four
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2, errors
    assert everything(server) == before


def test_a_named_ledger_goes_when_nothing_can_be_left_and_one_that_is_over_is_no_obstacle(
    server: MockServer, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(LedgerFile(path, server.base_url)) as over:
        over.note_removed(over.plan("domains", "ct1x-1z.example.com"))
    for _ in range(2):
        ended = command("run", "--base-url", server.base_url, "--ledger", path, *QUICK, "--quiet")
        assert (ended.returncode, ended.stderr, path.exists()) == (0, "", False)


def test_every_report_says_what_was_not_judged(server: MockServer, tmp_path: Path) -> None:
    options = ("--base-url", server.base_url, "--explore", "0", "--report-dir", tmp_path)
    ended = command("run", *options, without="CONTRACT_SECOND_API_KEY")
    told = "separation of accounts (no second key), rarer input (--explore 0), overlapping requests (--overlap 0)"
    assert ended.stdout.splitlines()[-1] == f"conforms; not judged: {told}"
    for each in tmp_path.iterdir():
        assert told in each.read_text("utf-8").replace("\\", ""), each.name


def test_waiting_for_a_rate_limit_is_said_and_ends_with_the_deadline() -> None:
    class Limited(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(429)
            self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Limited) as limited:
        Thread(target=limited.serve_forever, daemon=True).start()
        ended = command("run", "--base-url", f"http://127.0.0.1:{limited.server_port}", "--deadline", "2s")
        limited.shutdown()
    assert ended.returncode == 7
    assert "contract-tests: the server reports too many requests: waiting for 1 s" in ended.stderr


def test_without_a_terminal_a_line_of_progress_comes_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_command, "BETWEEN_LINES", 0.01)
    with run_command.ProgressDisplay(RunOptions(base_url="")) as watch:
        watch("domains: creating", 70)
        lines, deadline = list[str](), time.monotonic() + 60
        while len(lines) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
            lines += capsys.readouterr().err.splitlines()
    assert len(lines) > 1
    assert lines[-1].startswith("contract-tests: domains: creating  ·  70 requests  ·  ")


@pytest.mark.slow
def test_a_reader_of_errors_that_goes_away_does_not_take_the_verdict_along() -> None:
    read, write = os.pipe()
    os.close(read)
    options = (*QUICK, "--rules", "lifecycle.*")
    with MockServer(fixture="empty", defects=("deletes-do-nothing",)) as server:  # standard error says what is left
        ended = subprocess.run(
            [COMMANDS / "contract-tests", "run", "--base-url", server.base_url, *options],
            stdout=subprocess.PIPE,
            stderr=write,
            text=True,
            env=ENVIRONMENT,
            check=False,
        )
    os.close(write)
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[-1].startswith("does not conform")
