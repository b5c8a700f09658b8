"""Findings are tried again with fewer requests: within a budget, on records of the run's own, which are removed."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Iterable
from dataclasses import replace
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest
from shell import COMMANDS, command, in_process
from situations import judge_server, mock
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from contract_tests import cli
from contract_tests.reports.results import as_dict, rows_of
from contract_tests.repro.replayed import with_markers
from contract_tests.repro.script import Script, printf, quoted, script_of
from contract_tests.repro.shrinking import Shrinking
from contract_tests.repro.trial import BROKEN
from contract_tests.run import Options, run
from contract_tests.target.budget import Limits
from contract_tests.verdicts.verdicts import Outcome, ShortestSteps
from link_management_contract import Rule, shipped_contract
from mock_server import MockServer, Settings, create_app

CONTRACT = shipped_contract()
KEY, SECOND = "demo-key-harbour", "demo-key-alpine"


TOTALS = ("--resources", "domains", "--rules", "pagination.total-counts-the-records")
UPDATES = "lifecycle.update-leaves-other-fields"


def outcome(server: MockServer, rule: str, *, shrink: int | None = None) -> Outcome:
    """What a run finds that judges one rule, of splash pages."""
    limits = Limits(lag=0)
    return run(
        CONTRACT, Options(server.base_url, KEY, SECOND, ("splash-pages",), (rule,), limits=limits, shrink=shrink)
    )


def status_of(script: Script, **environment: str) -> int:
    """How a script ends."""
    environment |= {"PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["sh"], input=script.text, text=True, env=environment, check=False).returncode


def operations(found: Outcome, rule: str) -> list[str]:
    result = next(each for each in found.failing if each.rule.id == rule)
    return [each.request.operation for each in script_of(CONTRACT, found, result).exchanges]


@pytest.mark.parametrize(
    ("defect", "rule", "least"),
    [
        ("total-is-one-more", "pagination.total-counts-the-records", ["list", "list"]),
        ("update-resets-the-name", UPDATES, ["create", "list", "update", "read"]),
        ("nobody-deletes", "accounts.strangers-delete-nothing", ["create", "read", "delete", "read", "list"]),
    ],
)
def test_a_finding_takes_the_fewest_requests(defect: str, rule: str, least: list[str]) -> None:
    with MockServer(defects=(defect,)) as server:
        before = server.running.fixtures.current()
        found = outcome(server, rule, shrink=300)
        assert operations(found, rule) == least
        assert found.left == ()
        assert server.running.fixtures.current()["accounts"] == before["accounts"]


def test_each_of_several_findings_takes_the_fewest_requests() -> None:
    with MockServer(defects=("created-records-are-not-listed",)) as server:
        found = outcome(server, "*", shrink=300)
    assert len(found.failing) == len(found.shortest) > 1
    assert operations(found, "lifecycle.created-record-is-listed-once") == ["create", "list"]
    assert found.left == ()


def test_it_stays_within_its_budget_and_can_be_turned_off() -> None:
    with MockServer(defects=("update-resets-the-name",)) as server:
        none, some, usual = (outcome(server, UPDATES, shrink=most) for most in (0, 12, None))
    assert none.shortest == {}
    assert none.requests < some.requests <= none.requests + 12 + 12  # clean-up lists, and deletes what is left
    assert usual.requests <= none.requests * 1.25 + 12


def test_nothing_more_is_created_where_something_could_not_be_removed() -> None:
    with MockServer(defects=("deletes-fail", "update-resets-the-name")) as server:
        found = outcome(server, UPDATES)
    assert [result.rule.id for result in found.failing] == [UPDATES]
    assert found.left
    assert found.shortest == {}


def test_what_does_not_show_again_keeps_the_requests_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockServer(defects=("update-resets-the-name",)) as server:
        monkeypatch.setattr("contract_tests.repro.shrinking.rejudge", lambda *_: [])
        found = outcome(server, UPDATES)
        assert found.shortest == {}
        assert len(operations(found, UPDATES)) > 4


def test_a_finding_says_what_its_fewest_writes_need_and_share() -> None:
    rule = "lifecycle.created-record-is-listed-once"
    with MockServer(defects=("created-records-are-not-listed",)) as server:
        found = outcome(server, rule, shrink=300)
    resource, shortest = found.shortest[rule]
    twice = replace(shortest, exchanges=shortest.exchanges[:1] * 2)
    once, again = (
        dict(rows_of(as_dict(replace(found, shortest={rule: (resource, steps)}))["results"][0]["findings"][0]))
        for steps in (shortest, twice)
    )
    assert once["shown by"] == "POST /api/projects with name"
    assert again["shown by"] == "POST /api/projects with name; POST /api/projects with the same name"


@pytest.mark.parametrize(("interval", "shrink", "is_shrunk"), [(0.0, None, True), (1.0, None, False), (1.0, 20, True)])
def test_a_slow_rate_leaves_no_requests_for_shorter_scripts_unless_asked_for(
    interval: float, shrink: int | None, *, is_shrunk: bool
) -> None:
    with mock(3, "total-is-one-more") as forward:
        limits, rules = Limits(interval=interval), ("pagination.total-counts-the-records",)
        [judgement] = judge_server(forward, resources=("domains",), rules=rules, limits=limits, shrink=shrink)
    assert bool(judgement.outcome.shortest) == is_shrunk


def test_where_something_could_not_be_removed_only_reads_are_sent_for_shorter_scripts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shrink, counts = Shrinking.shrink, list[int]()

    def note_count(self: Shrinking, *arguments: Any, **options: Any) -> Any:
        counts.append(self._visitor.target.budget.request_count)
        return shrink(self, *arguments, **options)

    monkeypatch.setattr(Shrinking, "shrink", note_count)
    with mock(3, "deletes-do-nothing") as forward:
        rules = ("pagination.*", "lifecycle.delete*")
        [judgement] = judge_server(forward, resources=("domains",), rules=rules, shrink=None)
    [first] = counts
    assert judgement.outcome.left
    assert {exchange.request.method for exchange in judgement.outcome.exchanges if exchange.number > first} == {"GET"}


def test_a_finding_that_shows_in_every_other_try_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, count = Shrinking._try, itertools.count()  # noqa: SLF001 - as two workers that take turns

    def in_turns(self: Shrinking, *step: Any) -> ShortestSteps | None:
        shown = tried(self, *step)
        return shown if next(count) % 2 else None

    with MockServer(defects=("total-is-one-more",)) as server:
        monkeypatch.setattr(Shrinking, "_try", in_turns)
        found = outcome(server, "pagination.total-counts-the-records", shrink=300)
    [result] = as_dict(found)["results"]
    assert ("again", "in 5 of 10 tries with the same requests") in rows_of(result["findings"][0])


class Changed:
    """A mock, and what stands in front of it."""

    def __init__(self) -> None:
        self._app = create_app(Settings(records=20))

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return self.answer(Request(environ))(environ, start_response)

    def answer(self, request: Request) -> Response:
        environ = request.environ | {"wsgi.input": BytesIO(request.get_data())}
        return Response.from_app(self._app, environ, buffered=True)


class SharedCache(Changed):
    """A cache of reads that asks nobody whose they are."""

    def __init__(self) -> None:
        super().__init__()
        self._cached: dict[str, Response] = {}

    def answer(self, request: Request) -> Response:
        response, key = super().answer(request), request.headers.get("Authorization")
        if request.method != "GET":
            self._cached.pop(request.path, None)
        elif key == f"Bearer {KEY}" and response.status_code == HTTPStatus.OK:
            self._cached[request.path] = response
        return self._cached.get(request.path, response) if key == f"Bearer {SECOND}" else response


class Racy(Changed):
    """A mock that counts one record too many in a list while another request is under way."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._under_way = 0

    def answer(self, request: Request) -> Response:
        with self._lock:
            self._under_way += 1
        time.sleep(0.01)
        with self._lock:
            is_alone = self._under_way == 1
            self._under_way -= 1
        response = super().answer(request)
        if not is_alone and "total" in (page := response.get_json(force=True, silent=True) or {}).get("meta", {}):
            page["meta"]["total"] += 1
            response.data = json.dumps(page)
        return response


class BrokenLists(Changed):
    """Fails on each list of domains."""

    def answer(self, request: Request) -> Response:
        is_list = request.method == "GET" and request.path == "/api/domains/"
        return Response("oops", 500) if is_list else super().answer(request)


class NoLastPage(Changed):
    """Has no last page but the first."""

    def answer(self, request: Request) -> Response:
        response = super().answer(request)
        links = (response.get_json(silent=True) or {}).get("links", {})
        return Response("gone", 404) if links.get("prev") and not links.get("next") else response


@pytest.mark.slow
@pytest.mark.parametrize("changed", [BrokenLists, NoLastPage])
def test_a_script_shows_a_list_that_always_fails_and_says_fixed_where_pages_are_fewer(changed: type[Changed]) -> None:
    server = make_server("127.0.0.1", 0, changed(), threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    base_url, rule = f"http://127.0.0.1:{server.port}", "operations.list-answers"
    found = run(CONTRACT, Options(base_url, KEY, SECOND, ("domains",), (rule,), limits=Limits(lag=0, jobs=6)))
    [result] = found.failing
    attempt = script_of(CONTRACT, found, result, BROKEN)
    keys = {"CONTRACT_API_KEY": KEY, "CONTRACT_SECOND_API_KEY": SECOND}
    assert status_of(attempt, **keys, BASE_URL=base_url) == BROKEN
    server.shutdown()
    with MockServer(fixture="empty", records=3) as right:
        assert status_of(attempt, **keys, BASE_URL=right.base_url) != BROKEN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "rule", "text"),
    [
        (SharedCache, "accounts.other-account-reads-nothing", "only after the account itself has read it"),
        (Racy, "pagination.total-counts-the-records", "only when requests overlap, in "),
    ],
)
def test_a_finding_says_what_it_needs_beside_its_requests(changed: type[Changed], rule: str, text: str) -> None:
    server = make_server("127.0.0.1", 0, changed(), threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    base_url, limits = f"http://127.0.0.1:{server.port}", Limits(lag=0, jobs=6)
    found = run(CONTRACT, Options(base_url, KEY, SECOND, rules=(rule,), limits=limits, shrink=1000))
    server.shutdown()
    findings = [finding for result in as_dict(found)["results"] for finding in result["findings"]]
    assert findings[0]["shown_again"].startswith(text)


def test_a_finding_that_does_not_show_once_more_is_not_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = Shrinking._try  # noqa: SLF001 - somebody else's doing, which shows in some tries only
    seen = set[str]()

    def now_and_then(self: Shrinking, rule: Rule, *more: Any) -> ShortestSteps | None:
        shown = tried(self, rule, *more)
        is_first = rule.id not in seen
        seen.update([rule.id] if shown else [])
        return shown if is_first else None

    monkeypatch.setattr(Shrinking, "_try", now_and_then)
    with MockServer(defects=("update-resets-the-name",)) as server:
        assert outcome(server, UPDATES, shrink=300).shortest == {}


@pytest.mark.slow
def test_a_script_about_two_accounts_needs_both_keys() -> None:
    with MockServer(defects=("other-account-deletes",)) as server:
        found = outcome(server, "accounts.other-account-deletes-nothing")
        script = script_of(CONTRACT, found, found.failing[0])
        assert status_of(script, CONTRACT_API_KEY=KEY) == 125
        assert status_of(script, CONTRACT_API_KEY=KEY, CONTRACT_SECOND_API_KEY=SECOND) == 1


@pytest.mark.slow
def test_nothing_is_fixed_where_the_key_is_refused() -> None:
    with MockServer(defects=("pages-lose-their-last-record",)) as server:
        found = outcome(server, "pagination.page-is-filled")
        script = script_of(CONTRACT, found, found.failing[0], BROKEN)
        server.running.change_switches(defects=())
        assert status_of(script, CONTRACT_API_KEY=KEY, CONTRACT_SECOND_API_KEY=SECOND) == 0
        assert status_of(script, CONTRACT_API_KEY="a key that nobody has", CONTRACT_SECOND_API_KEY=SECOND) == 125


def test_a_mark_in_capitals_becomes_the_scripts_own_too() -> None:
    assert quoted("CT12X3F-7Z.EXAMPLE.COM or ct12x3f-7z") == "$upper-7Z.EXAMPLE.COM or $mark-7z"
    assert printf(b"CT12X3F-7Z", "file") == "printf -- '%s' \"$upper-7Z\" > file"
    assert with_markers("CT12X3F-7Z, ct12x3f-7z", lambda mark: f"ct5-{mark[-2:]}") == "CT5-7Z, ct5-7z"


def test_who_only_reads_sends_nothing_for_it() -> None:
    with MockServer(defects=("total-is-one-more",)) as server:
        ran = command("run", "--base-url", server.base_url, "--read-only", "--shrink", "100", *TOTALS)
    assert ran.returncode == 1
    assert {entry.method for entry in server.running.journal.find()} == {"GET"}


@pytest.mark.parametrize("plan", ["", "[]", '{"rule": "no.such", "resource": "domains", "steps": []}'])
def test_answers_that_cannot_be_judged_give_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: str
) -> None:
    answers = tmp_path / "answers"
    answers.write_text("--- 1. GET /api/domains/\nHTTP/1.1 200 OK\r\n\r\n{}")
    (tmp_path / "plan").write_text(plan)
    with (tmp_path / "plan").open() as opened:
        monkeypatch.setattr("sys.stdin", opened)
        ended = in_process(cli.main, "verdict", answers, "--base-url", "http://127.0.0.1:1", "--mark", "ct1x2")
    assert ended.returncode == 125
    assert "no verdict: what the script printed cannot be read" in ended.stderr


def test_the_place_of_a_new_record_is_no_redirect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = {"operation": "create", "identity": "the account's key", "expects": "success", "form": {"host": "ct1-1z"}}
    plan = {"rule": "operations.writes-not-redirected", "resource": "domains", "it": 1, "tried": True, "steps": [step]}
    statuses = []
    for status in ("201 Created", "302 Found"):
        head = f"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 {status}\r\nLocation: /api/domains/7\r\n\r\n"
        (tmp_path / "answers").write_bytes(
            f'\n--- {tmp_path.name} 1. POST /api/domains\n{head}{{"data": {{"id": 7}}}}'.encode()
        )
        (tmp_path / "plan").write_text(json.dumps(plan))
        with (tmp_path / "plan").open() as opened:
            monkeypatch.setattr("sys.stdin", opened)
            options = ("--base-url", "http://127.0.0.1:1", "--mark", "ct1x2")
            statuses.append(in_process(cli.main, "verdict", tmp_path / "answers", *options).returncode)
    assert statuses == [0, 1]


def test_the_verdict_goes_by_the_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = {"operation": "list", "identity": "the account's key", "expects": "success"}
    plan = {"rule": "envelopes.list-data-is-an-array", "resource": "domains", "it": 1, "tried": True, "steps": [step]}
    told = {}
    for name, body in {"right": '{"data": []}', "wrong": '{"data": {}}', "none": ""}.items():
        answers = tmp_path / name
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        answers.write_bytes(f"\n--- {tmp_path.name} 1. GET /api/domains/ <-- this answer\n{head}{body}".encode())
        (tmp_path / "plan").write_text(json.dumps(plan))
        with (tmp_path / "plan").open() as opened:
            monkeypatch.setattr("sys.stdin", opened)
            told[name] = in_process(cli.main, "verdict", answers, "--base-url", "http://127.0.0.1:1", "--mark", "ct1x2")
    assert {name: ended.returncode for name, ended in told.items()} == {"right": 0, "wrong": 1, "none": 125}
    assert told["wrong"].stdout == "expected data: an array of objects, received data: {}: broken\n"
