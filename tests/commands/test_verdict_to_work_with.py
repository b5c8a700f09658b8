"""What a developer uses while fixing a server: scripts, early results, `--watch` and `--baseline`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import urllib3
from shell import COMMANDS, ENVIRONMENT, command
from wire import HARBOUR

from contract_tests.run import Options, Visits, run
from contract_tests.target.budget import Limits
from link_management_contract import shipped_contract
from mock_server import MockServer

KEY = {"Authorization": f"Bearer {HARBOUR}"}
ON_PATH = ENVIRONMENT | {"PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"}
BARE = ENVIRONMENT | {"PATH": "/usr/bin:/bin"}  # without contract-tests
QUICK = ("--explore", "0", "--lag", "0", "--resources", "domains")
FEW = (*QUICK, "--rules", "pagination.total-*,lifecycle.created-*")


def mock(server: MockServer, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """What the control plane answers."""
    answer = urllib3.request(method, f"{server.base_url}/_mock/{path}", json=body)
    return answer.json() if answer.data else None


def records(server: MockServer) -> Any:
    """All that a mock holds."""
    return [
        urllib3.request("GET", f"{server.base_url}/api/{resource}/?results_per_page=1000", headers=KEY).json()["data"]
        for resource in ("splash-pages", "domains", "notification-handlers")
    ]


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("total-is-one-more", "pagination.total-counts-*"),
        pytest.param("total-is-one-more", "", marks=pytest.mark.exhaustive),
        pytest.param("created-records-are-not-listed", "", marks=pytest.mark.exhaustive),
    ],
)
def test_a_script_shows_the_failure_and_leaves_nothing(tmp_path: Path, name: str, rules: str) -> None:
    with MockServer(defects=(name,)) as broken:
        command("run", "--base-url", broken.base_url, *QUICK, "--rules", rules, "--report-dir", tmp_path)
        scripts = sorted((tmp_path / "repro").iterdir())
        before = records(broken)
        assert scripts
        for script in scripts:
            assert HARBOUR not in script.read_text("utf-8")
            told = subprocess.run([script], capture_output=True, text=True, env=ON_PATH, check=False)
            assert (told.stderr, told.returncode) == ("", 1)
            assert told.stdout.endswith(": broken\n")
            assert re.search(r"^--- \d+\. [A-Z]+ /api/\S+ <-- this answer\nHTTP/1.1 \d+ ", told.stdout, re.MULTILINE), (
                told.stdout
            )
        assert records(broken) == before
        assert subprocess.run([scripts[0]], capture_output=True, env=BARE, check=False).returncode == 125
        refused = subprocess.run(
            [scripts[0]], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, check=False
        )
        assert refused.returncode == 125
        assert "CONTRACT_API_KEY is not set; set it to the API key of the account" in refused.stderr
    with MockServer() as right:
        for script in scripts:
            told = subprocess.run(
                [script], capture_output=True, text=True, env=ON_PATH | {"BASE_URL": right.base_url}, check=False
            )
            assert (told.returncode, told.stdout.splitlines()[-1]) == (0, "fixed: the answers keep the rule")


@pytest.mark.parametrize(
    ("defects", "rules"),
    [
        (("create-tells-no-id", "deletes-fail"), ""),
        (("create-tells-no-id", "deletes-are-unknown"), ""),
        (("other-account-deletes",), "accounts.*"),
    ],
    ids=str,
)
def test_a_script_writes_only_to_what_shows_its_mark(tmp_path: Path, defects: tuple[str, ...], rules: str) -> None:
    with MockServer(defects=defects) as broken:
        options = (*QUICK, "--rules", rules, "--ledger", tmp_path / "ledger")
        command("run", "--base-url", broken.base_url, *options, "--report-dir", tmp_path)
    scripts = list((tmp_path / "repro").iterdir())
    lines = [line for script in scripts for line in script.read_text("utf-8").split("trap tidy EXIT")[1].splitlines()]
    writes = [line for line in lines if re.search(r'step "\d+\. (DELETE|POST|PUT) /api/\S+/[\d$]', line)]
    assert writes
    assert [line for line in writes if not re.match(r"(\{ )?mine ", line)] == []


def test_a_run_stops_once_enough_has_failed(tmp_path: Path) -> None:
    with MockServer(fixture="empty", records=40, defects=("total-is-one-more",)) as broken:
        before = records(broken)
        run = ("run", "--base-url", broken.base_url, *QUICK)
        few, every = command(*run, "--max-failures", "1", "--report-dir", tmp_path), command(*run)
        assert records(broken) == before
    sent = [int(re.findall(r"(\d+) requests in", ended.stdout)[0]) for ended in (few, every)]
    assert (few.returncode, every.returncode) == (1, 1)
    assert sent[0] < sent[1]
    assert (
        "checks failed and --max-failures is 1" in json.loads((tmp_path / "results.json").read_text("utf-8"))["verdict"]
    )


def test_what_has_failed_so_far_is_judged_only_if_somebody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECONDS_BETWEEN", "TIMES_AS_LONG"):
        monkeypatch.setattr(f"contract_tests.run.{name}", 0)
    looks = list[int]()
    with MockServer() as server:
        options = Options(server.base_url, HARBOUR, None, ("domains",), ("pagination.*",), limits=Limits(lag=0))
        for certain in (None, lambda _: None):
            with patch.object(Visits, "judge", autospec=True, side_effect=Visits.judge) as judge:
                run(shipped_contract(), options, certain=certain)
            looks.append(judge.call_count)
    assert looks[0] == 1 < looks[1]


@pytest.mark.slow
def test_failures_are_written_on_the_way(tmp_path: Path) -> None:
    with MockServer(defects=("total-is-one-more",), conditions={"latency": 0.05}) as broken:
        run = [str(COMMANDS / "contract-tests"), "run", "--base-url", broken.base_url, "--lag", "0", "--report-dir"]
        process = subprocess.Popen(
            [*run, tmp_path], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        told = tmp_path / "results.json"
        while process.poll() is None and not told.exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    results = json.loads(told.read_text("utf-8"))
    assert results["word"].startswith("interrupted: no claim")
    assert "fail" in {each["verdict"] for each in results["results"]}


def test_records_that_are_left_behind_are_never_as_before(tmp_path: Path) -> None:
    with MockServer(fixture="empty", records=3, defects=("deletes-fail",)) as server:
        options = ("--base-url", server.base_url, *QUICK, "--rules", "operations.delete-answers")
        first = command("run", *options, "--report-dir", tmp_path)
        same = command("run", *options, "--baseline", tmp_path)
    assert (first.returncode, same.returncode) == (1, 3)
    assert "left behind" in same.stderr


def test_a_server_with_known_failures_gates_by_what_is_worse(tmp_path: Path) -> None:
    with MockServer(defects=("total-is-one-more",)) as broken:
        first = command("run", "--base-url", broken.base_url, *FEW, "--report-dir", tmp_path)
        same = command("run", "--base-url", broken.base_url, *FEW, "--baseline", tmp_path)
    with MockServer(defects=("total-is-one-more", "created-records-are-not-listed")) as worse:
        ended = command(
            "run", "--base-url", worse.base_url, *FEW, "--baseline", tmp_path, "--report-dir", tmp_path / "b"
        )
    with MockServer() as right:
        better = command("run", "--base-url", right.base_url, *FEW, "--baseline", tmp_path)
    assert (first.returncode, same.returncode, ended.returncode, better.returncode) == (1, 0, 1, 0)
    assert "nothing is worse or better" in same.stdout
    assert same.stdout.endswith("no worse than the baseline\n")
    assert "no worse than the baseline" not in ended.stdout
    assert re.search(
        r"\d+ worse\n(  .*\n)*  lifecycle.created-record-is-listed-once\[domains\]: pass, now fail", ended.stdout
    )
    assert re.search(
        r"\d+ better\n(  .*\n)*  pagination.total-counts-the-records\[domains\]: fail, now pass", better.stdout
    )
    compared = command("compare", "--baseline", tmp_path, tmp_path / "b")
    assert (compared.returncode, "worse" in compared.stdout) == (1, True)
    assert command("compare", "--baseline", tmp_path / "b", tmp_path).returncode == 0


def test_a_baseline_that_cannot_be_read_is_a_mistake(server: MockServer, tmp_path: Path) -> None:
    ended = command("run", "--base-url", server.base_url, "--baseline", tmp_path / "none.json")
    assert (ended.returncode, ended.stderr.count("\n")) == (4, 1)
    assert mock(server, "GET", "journal")["entries"] == []


@pytest.mark.slow
def test_a_watch_judges_again_on_enter_what_failed_first(server: MockServer) -> None:
    line: list[str | Path] = [COMMANDS / "contract-tests", "run", "--base-url", server.base_url, *FEW, "--watch"]
    mock(server, "POST", "reset", {"defects": ["total-is-one-more"]})
    process = subprocess.Popen(line, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    until(process, "watching:")
    process.stdin.write("\n")
    process.stdin.flush()
    again = until(process, "watching:")
    assert "first what failed last: pagination." in again
    assert "does not conform" in again
    mock(server, "POST", "reset", {"defects": []})
    process.stdin.write("\n")
    process.stdin.flush()
    mended = until(process, "watching:")
    assert re.search(r"\d+ better\n(  .*\n)*  pagination.total-counts-the-records\[domains\]: fail, now pass", mended)
    process.stdin.write("q\n")
    process.stdin.close()
    assert process.wait() == 0
    process.stdout.close()


def until(process: subprocess.Popen[str], text: str) -> str:
    """What a process prints until a line with a text."""
    assert process.stdout
    printed = ""
    for line in process.stdout:
        printed += line
        if text in line:
            break
    return printed


@pytest.mark.slow
def test_a_watch_waits_for_a_server_that_comes_back() -> None:
    with MockServer() as first:
        port = int(first.base_url.rpartition(":")[2])
        line: list[str | Path] = [COMMANDS / "contract-tests", "run", "--base-url", first.base_url, *FEW, "--watch"]
        process = subprocess.Popen(line, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        until(process, "watching:")
    assert process.stdin
    assert process.stdout
    until(process, "the server has stopped")
    with MockServer(port=port):
        assert "partial: no claim" in until(process, "watching:")
    process.stdin.close()
    assert process.wait() == 0
    process.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["3", "1", pytest.param("2", marks=pytest.mark.exhaustive)])
def test_the_verdict_is_the_same_however_many_resources_are_visited_at_once(tmp_path: Path, jobs: str) -> None:
    with MockServer(fixture="empty", records=40, defects=("total-is-one-more",)) as broken:
        options = ("--jobs", jobs, "--explore", "0", "--lag", "0", "--report-dir", tmp_path)
        command("run", "--base-url", broken.base_url, *options)
    results = json.loads((tmp_path / "results.json").read_text("utf-8"))["results"]
    failed = {(each["rule"], each["kind"]) for each in results if each["verdict"] == "fail"}
    kinds = ("splash-pages", "domains", "notification-handlers")
    assert {kind for rule, kind in failed if rule == "pagination.total-counts-the-records"} == set(kinds)
    assert all(rule.startswith("pagination.") for rule, _ in failed)
