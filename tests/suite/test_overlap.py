"""Requests that overlap: servers that are wrong only then, and servers that are right in ways of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import requests
from faulty import CONTRACT
from racy import RacyServer
from shell import COMMANDS, ENVIRONMENT, command, everything
from upstream import serving
from wire import ALPINE, HARBOUR

from contract_tests.run import Options, further_requests, run
from contract_tests.target.budget import Limits
from contract_tests.verdicts.verdicts import VIOLATED, Result, Verdict
from mock_server import MockServer
from mock_server.defects import DEFECTS
from mock_server.defects.custom import MOMENT

RULES = [rule for rule in CONTRACT.rules.values() if rule.decided_by == "round"]
NAMES = [name for name, defect in DEFECTS.items() if defect.rule.startswith("concurrency.")]
ROUNDS = 4


def judged(base_url: str, *resources: str, rounds: int = ROUNDS, **limits: Any) -> dict[str, Result]:
    """The results of the rules of overlapping requests."""
    budget = Limits(requests=2000 + further_requests(0, rounds), **limits)
    rules = ("concurrency.*",)
    options = Options(base_url, HARBOUR, ALPINE, resources, rules, overlap=rounds, limits=budget)
    outcome = run(CONTRACT, options)
    assert outcome.left == ()
    return {each.id: each for each in outcome.results}


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer creates at one moment than are usual, since they and what removes their records take most of a run."""
    monkeypatch.setattr("contract_tests.overlap.survey.MANY_CREATES", (6,))


def broken(results: dict[str, Result]) -> set[str]:
    return {each.rule.id for each in results.values() if each.verdict in VIOLATED}


def judged_until_found(rule: str, base_url: str, resource: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Result]:
    """The results of more and more rounds until they break a rule: on a busy machine, few requests overlap."""
    for rounds, moment in ((2, MOMENT), (8, 4 * MOMENT), (32, 16 * MOMENT)):
        monkeypatch.setattr("mock_server.defects.custom.MOMENT", moment)
        results = judged(base_url, resource, rounds=rounds)
        if rule in broken(results):
            break
    return results


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_defect_that_shows_only_then_is_caught_by_its_rule(
    few_at_once: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    defect = DEFECTS[name]
    resource = defect.resources[0] if defect.resources else "domains"
    with MockServer(defects=(name,), fixture="empty", records=3) as server:
        results = judged_until_found(defect.rule, server.base_url, resource, monkeypatch)
    assert defect.rule in broken(results) <= {defect.rule, *defect.implied_rules}
    finding = results[f"{defect.rule}[{resource}]"].findings[0]
    assert " rounds" in finding.received
    assert len(finding.timeline) >= 2
    assert results[f"{defect.rule}[{resource}]"].verdict is Verdict.WARN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("records", "rounds"), [(0, 1), *(pytest.param(each, ROUNDS, marks=pytest.mark.exhaustive) for each in (0, 3))]
)
def test_the_mock_keeps_every_rule_with_witnesses(records: int, rounds: int) -> None:
    with MockServer(fixture="empty", records=records) as server:
        results = judged(server.base_url, rounds=rounds)
        assert len(results) == sum(len(rule.resources) for rule in RULES)
        assert {each.verdict for each in results.values()} == {Verdict.PASS}, results
        assert all(each.witnesses for each in results.values())


LOST_WITHOUT_A_LOCK = {
    "concurrency.updates-leave-other-fields",
    "concurrency.deleted-record-stays-deleted",
    "concurrency.creates-answer-different-ids",
}
CONDITIONS = [{"lag": 0.3}, {"latency": 0.02}, {"dropped-after": 15}, {"too-many": 15}, {"gateway-errors": 15}]


@pytest.mark.slow
@pytest.mark.parametrize("conditions", CONDITIONS, ids=lambda each: next(iter(each)))
def test_trouble_around_a_server_that_is_right_is_not_held_against_it(
    few_at_once: None, conditions: dict[str, float]
) -> None:
    with MockServer(fixture="empty", records=3, conditions=conditions) as server:
        assert broken(judged(server.base_url, "domains", rounds=1)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["waits", "409", "503"])
def test_it_is_right_once_it_locks_whatever_it_answers_the_loser(few_at_once: None, how: str) -> None:
    with serving(RacyServer(3, loser=how)) as there:
        assert broken(judged(there, "domains", rounds=2)) == set()


@pytest.mark.slow
def test_a_server_that_writes_without_a_lock_is_found_wrong_with_a_time_line_and_scripts_of_what_was_sent_at_one_moment(
    few_at_once: None, tmp_path: Path
) -> None:
    with serving(RacyServer(3)) as there:
        ran = command(
            *("run", "--base-url", there, "--overlap", "12", "--explore", "0", "--resources", "domains"),
            *("--rules", "concurrency.*", "--report-dir", tmp_path),
        )
        assert ran.returncode == 0, ran.stderr
        assert "would give custom_index_url and host changed" in ran.stdout
        assert "afterwards  GET /api/domains/" in (tmp_path / "report.html").read_text()
        scripts = list((tmp_path / "repro").glob("*.sh"))
        assert {script.name for script in scripts} >= {f"{rule}.sh" for rule in LOST_WITHOUT_A_LOCK}
        for script in scripts:
            shown = subprocess.run(["sh", script], capture_output=True, text=True, env=ENVIRONMENT, check=False)
            assert shown.returncode == 125
            assert "--- at one moment" in shown.stdout
            assert "--- afterwards" in shown.stdout
        listed = requests.get(f"{there}/api/domains/", headers={"Authorization": "Bearer demo-key-harbour"}, timeout=60)
        assert listed.json()["meta"]["total"] == 3


@pytest.mark.slow
def test_a_pace_is_kept(few_at_once: None) -> None:
    with MockServer(fixture="empty", records=0) as server:
        began = time.monotonic()
        judged(server.base_url, "splash-pages", rounds=1, interval=0.01)
        sent = len(server.running.journal.find())
        assert time.monotonic() - began >= 0.01 * (sent - 20)


def test_without_it_nothing_is_claimed() -> None:
    with MockServer() as server:
        ran = command("run", "--base-url", server.base_url, "--resources", "domains", "--explore", "0")
        assert "overlapping requests (--overlap 0)" in ran.stdout
        assert "concurrency" not in ran.stdout
        ran = command("run", "--base-url", server.base_url, "--rules", "concurrency.*")
        assert ran.returncode != 0
        assert "--overlap N" in ran.stderr


@pytest.mark.slow
def test_nothing_is_left_behind_also_when_the_run_is_killed_there(tmp_path: Path) -> None:
    with MockServer(conditions={"latency": 0.01}) as server:
        before, ledger = everything(server), tmp_path / "ledger.jsonl"
        line = [str(COMMANDS / "contract-tests"), "run", "--base-url", server.base_url, "--resources", "domains"]
        process = subprocess.Popen(
            [*line, "--overlap", "50", "--explore", "0", "--rules", "concurrency.*", "--ledger", str(ledger)],
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while len(server.running.journal.find(method="DELETE")) < 8:
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.2)
        assert everything(server) != before
        ended = command("cleanup", ledger)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert everything(server) == before


def test_rules_of_overlapping_requests_are_advisory() -> None:
    assert {rule.level for rule in RULES} == {"advisory"}
