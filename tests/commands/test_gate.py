"""What makes a run a gate: waivers, records that are judged anew, comparisons, profiles, what CI is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml
from outcomes import outcome, result
from shell import answering, command, failure, running
from wire import ALPINE, HARBOUR

from contract_tests.commands.compare import Regression
from contract_tests.commands.run import _gated
from contract_tests.run import Options, run
from contract_tests.target.budget import Limits
from contract_tests.target.ledger_file import Entry
from contract_tests.verdicts.open_points import profile
from contract_tests.verdicts.verdicts import Outcome, Result, Verdict, overall
from link_management_contract import Contract, shipped_contract
from mock_server import MockServer
from mock_server.settings.choices import greased

BROKEN, ADVISORY = "pagination.total-counts-the-records", "robustness.odd-ids-do-not-fail"
WIDER = ("--explore", "0", "--lag", "0", "--resources", "domains")
QUICK = (*WIDER, "--rules", "pagination.*")


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.fixture(scope="module")
def broken() -> Iterator[MockServer]:
    with MockServer(fixture="empty", records=40, defects=("total-is-one-more",)) as running:
        yield running


@pytest.fixture(scope="module")
def reports(server: MockServer, broken: MockServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The reports of two runs that judged all rules on domains."""
    folders = []
    for name, each in {"right": server, "wrong": broken}.items():
        folder = tmp_path_factory.mktemp(name)
        command("run", "--base-url", each.base_url, *WIDER, "--report-dir", folder)
        folders.append(folder)
    return folders[0], folders[1]


@pytest.fixture(scope="module")
def judged(server: MockServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports of a run that judged few rules."""
    folder = tmp_path_factory.mktemp("few")
    command("run", "--base-url", server.base_url, *QUICK, "--report-dir", folder)
    return folder


def waivers(path: Path, *entries: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(list(entries)), "utf-8")
    return path


def waiver(**more: Any) -> dict[str, Any]:
    return {"rule": BROKEN, "kind": "domains", "reason": "ticket 12", "until": "2999-01-31"} | more


def test_waivers_are_begun_by_a_run_and_must_be_given_reasons(broken: MockServer, tmp_path: Path) -> None:
    path = tmp_path / "waivers.yaml"
    ended = command("run", "--base-url", broken.base_url, *QUICK, "--write-waivers", path)
    assert ended.returncode == 1
    entries = yaml.safe_load(path.read_text("utf-8"))
    assert (BROKEN, "domains", "") in [(each["rule"], each["kind"], each["reason"]) for each in entries]
    refused = command("run", "--base-url", broken.base_url, *QUICK, "--waivers", path)
    assert refused.returncode == 4
    assert "waiver 1: the reason is missing; say why this may be, and who mends it" in refused.stderr
    path.write_text(path.read_text("utf-8").replace("''", "ticket 12"), "utf-8")
    waived = command("run", "--base-url", broken.base_url, *QUICK, "--waivers", path)
    assert waived.returncode == 0
    assert "\npartial: no claim; not judged: " in waived.stdout
    assert "waived    ticket 12 (until " in waived.stdout
    again = command("run", "--base-url", broken.base_url, *QUICK, "--write-waivers", path)
    assert again.returncode == 4
    assert "already exists, with its reasons; give another file" in again.stderr
    assert "ticket 12" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (waiver(rule="pagination.totals"), "the contract has no such rule for this resource"),
        (waiver(kind="links"), "the contract has no such rule for this resource"),
        (waiver(), "nothing fails there any more; take it out"),
    ],
    ids=["unknown rule", "unknown resource", "mended"],
)
def test_a_waiver_that_is_of_no_use_any_more_fails_the_run(
    server: MockServer, tmp_path: Path, entry: dict[str, Any], told: str
) -> None:
    entry["until"] = yaml.safe_load(entry["until"])
    path = waivers(tmp_path / "waivers.yaml", entry)
    ended = command("run", "--base-url", server.base_url, *QUICK, "--waivers", path)
    assert ended.returncode == 1
    assert told in ended.stdout
    assert "\na waiver is stale; not judged: " in ended.stdout


def test_a_waiver_is_not_stale_where_only_a_part_of_what_it_matches_was_judged(
    server: MockServer, tmp_path: Path
) -> None:
    entry = waiver(rule="pagination.*", kind="*", until=yaml.safe_load("2999-01-31"))
    path = waivers(tmp_path / "waivers.yaml", entry)
    chosen = ("--rules", "pagination.page-defaults-to-1", "--waivers", path)
    ended = command("run", "--base-url", server.base_url, *QUICK, *chosen)
    assert ended.returncode == 0
    assert "stale" not in ended.stdout


def test_a_waiver_whose_time_is_over_allows_nothing(broken: MockServer, tmp_path: Path) -> None:
    path = waivers(tmp_path / "waivers.yaml", waiver(until=yaml.safe_load("2026-01-31")))
    ended = command("run", "--base-url", broken.base_url, *QUICK, "--waivers", path)
    assert ended.returncode == 1
    assert "until 2026-01-31: its time is over" in ended.stdout
    assert "\ndoes not conform; not judged: " in ended.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("{", "cannot be read"),
        ("rule: x", "holds no list of waivers; each has rule, kind, reason, until"),
        ("- rule: x", "waiver 1 must have rule, kind, reason, until, and nothing else"),
        (
            "[{rule: x, kind: y, reason: z, until: 2099-01-01}, {rule: x, kind: y, reason: w, until: 2099-01-01}]",
            "waived 2",
        ),
        ("#" * (2**20 + 1), "has 1,048,577 characters; 1,048,576 are read at most, so use patterns"),
        ("- {rule: x, kind: y, reason: z, until: soon}", "until is 'soon'; give a date such as 2027-01-31"),
    ],
)
def test_a_file_that_holds_no_waivers_is_a_mistake(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "waivers.yaml"
    if text is not None:
        path.write_text(text, "utf-8")
    ended = command("run", "--base-url", "http://127.0.0.1:1", "--waivers", path)
    assert ended.returncode == 4
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_runs_own_record_is_judged_as_the_run_was(
    server: MockServer, reports: tuple[Path, Path], tmp_path: Path
) -> None:
    command("run", "--base-url", server.base_url, "--explore", "0", "--report-dir", tmp_path)
    right, wrong = (command("judge", folder / "record.har") for folder in (tmp_path, reports[1]))
    entries = json.loads((tmp_path / "record.har").read_text("utf-8"))["log"]["entries"]
    judged = sum("judged" not in json.loads(entry["comment"]) for entry in entries)
    assert judged < len(entries)  # the rest is witnesses, which no rule judges
    assert right.returncode == 0
    assert right.stdout.startswith(f"{judged} of {judged} exchanges are with http://127.0.0.1:")
    assert "\npartial: no claim; not judged: " in right.stdout
    assert wrong.returncode == 1
    assert "fail: pagination.page-is-filled" in wrong.stdout


@pytest.mark.slow
def test_runs_are_compared_rule_by_rule(reports: tuple[Path, Path], tmp_path: Path) -> None:
    right, wrong = reports
    ended = command("compare", right, wrong / "results.json", "--json", tmp_path / "c.json")
    assert ended.returncode == 1
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert [f"{BROKEN}[domains]", "pass", "fail"] in lines
    assert not any(line and line[0].startswith("representations.") for line in lines)
    told = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert [run["word"] for run in told["runs"]] == ["partial: no claim", "does not conform"]
    assert told["differences"] == sum(not each["same"] for each in told["rules"] + told["open_points"])
    assert f"{told['differences']} differences" in ended.stdout


def test_a_run_compared_with_itself_differs_in_nothing(judged: Path) -> None:
    ended = command("compare", judged, judged)
    assert ended.returncode == 0
    assert ended.stdout.endswith("\nno difference\n")


@pytest.mark.parametrize("text", ["{}", "[]", '{"schema_version": 99}', "hello", "[" * 100_000])
def test_other_files_are_not_compared(judged: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text, "utf-8")
    assert command("compare", judged, path).returncode == 4


@pytest.mark.parametrize(
    "spoilt",
    [
        {"results": "x"},
        {"results": [1]},
        {"results": [{"rule": "a.b", "kind": "domains", "verdict": "odd"}]},
        {"results": [{"rule": ["a"], "kind": "domains", "verdict": "pass"}]},
        {"open_points": []},
        {"open_points": {"order": 5}},
        {"base_url": 5},
        {"word": None},
    ],
    ids=str,
)
def test_results_of_another_shape_are_not_compared(judged: Path, tmp_path: Path, spoilt: dict[str, Any]) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(json.loads((judged / "results.json").read_text("utf-8")) | spoilt), "utf-8")
    for options in ((), ("--baseline",)):
        ended = command("compare", *options, judged, path)
        assert (ended.returncode, ended.stderr.count("\n")) == (4, 1), ended.stderr
        assert "is not a results.json of schema version 1" in ended.stderr


def test_one_run_is_not_compared(judged: Path) -> None:
    assert "give two, or one and --baseline" in command("compare", judged).stderr


def test_github_is_told_of_each_failure_and_given_a_summary(broken: MockServer, tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    here = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}
    ended = command("run", "--base-url", broken.base_url, *QUICK, "--quiet", **here)
    assert ended.returncode == 1
    assert f"::error title={BROKEN}[domains]::required: " in ended.stdout
    assert page.read_text("utf-8").startswith("## ❌ does not conform\n\nNot judged: ")
    assert "::notice::does not conform; not judged: " in ended.stdout


def test_github_is_told_of_what_is_known_as_a_warning(
    broken: MockServer, judged: Path, reports: tuple[Path, Path], tmp_path: Path
) -> None:
    page = tmp_path / "summary.md"
    here = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}
    known = command("run", "--base-url", broken.base_url, *QUICK, "--baseline", reports[1], **here)
    assert (known.returncode, known.stdout.count("::error")) == (0, 0)
    assert f"::warning title={BROKEN}[domains]::" in known.stdout
    assert "\n\nSince the baseline:\n\n- " in page.read_text("utf-8")
    worse = command("run", "--base-url", broken.base_url, *QUICK, "--baseline", judged, **here)
    assert worse.returncode == 1
    assert f"::error title={BROKEN}[domains]::" in worse.stdout


@pytest.mark.slow
def test_scripts_that_were_tried_leave_no_ledger(broken: MockServer, tmp_path: Path) -> None:
    reports, ledger = tmp_path / "reports", tmp_path / "ledger.jsonl"
    ended = command("run", "--base-url", broken.base_url, *QUICK, "--report-dir", reports, "--ledger", ledger)
    assert (ended.returncode, "never answered" in ended.stderr, ledger.exists()) == (1, False, False)
    assert list((reports / "repro").iterdir())


PASS, FAIL = result(BROKEN, Verdict.PASS), result(BROKEN, Verdict.FAIL)
WARN, UNDECIDED = result(ADVISORY, Verdict.WARN), result(BROKEN, Verdict.INCONCLUSIVE)
SINCE_THE_BASELINE: dict[str, tuple[Verdict, Result, dict[str, bool], int]] = {
    "a failure": (Verdict.PASS, FAIL, {}, 1),
    "a failure that is waived": (Verdict.PASS, replace(FAIL, waived="ticket 12"), {}, 1),
    "a failure of what was undecided": (Verdict.INCONCLUSIVE, FAIL, {}, 1),
    "what is undecided now": (Verdict.PASS, UNDECIDED, {}, 1),
    "an advisory rule that is undecided now": (Verdict.WARN, result(ADVISORY, Verdict.INCONCLUSIVE), {}, 1),
    "a warning": (Verdict.PASS, WARN, {}, 0),
    "a warning, with --strict": (Verdict.PASS, WARN, {"strict": True}, 0),
    "the same failure": (Verdict.FAIL, FAIL, {}, 0),
    "the same failure, and a stale waiver": (Verdict.FAIL, FAIL, {"stale": True}, 1),
    "a stale waiver": (Verdict.PASS, PASS, {"stale": True}, 1),
    "the same failure, and records left behind": (Verdict.FAIL, FAIL, {"left": True}, 3),
}


def regression(before: Verdict, now: Result) -> Regression:
    entry = {"rule": now.rule.id, "kind": "domains", "waived": now.waived}
    old, new = ({"results": [entry | {"verdict": verdict}]} for verdict in (before, now.verdict))
    return Regression.of(old, new)


@pytest.mark.parametrize(("before", "now", "flags", "status"), SINCE_THE_BASELINE.values(), ids=SINCE_THE_BASELINE)
def test_a_run_with_a_baseline_fails_for_what_is_worse_and_for_stale_waivers(
    before: Verdict, now: Result, flags: dict[str, bool], status: int
) -> None:
    flags = {"partial": False, "strict": False, "stale": False, "left": False} | flags
    word, usual_status = overall([now], **flags)
    left, stale = (Entry("domains", ["ct1-1"]),) * flags["left"], ("mended",) * flags["stale"]
    ended = replace(outcome(), results=(now,), word=word, status=usual_status, left=left, stale=stale)
    assert _gated(ended, regression(before, now)) == status


def test_a_new_warning_is_neither_worse_nor_better() -> None:
    assert regression(Verdict.PASS, WARN).lines == ["nothing is worse or better"]


TEXT = "x\n::stop-commands::a\n::error::b ##[add-mask]c \x1b[31m"


def is_inert(printed: str) -> bool:
    """Whether a runner takes no line for a command but this program's own."""
    stopped, lines = "", []
    for line in printed.splitlines():
        if stopped and line == f"::{stopped}::":
            stopped = ""
        elif not stopped and line.startswith("::stop-commands::"):
            stopped = line.removeprefix("::stop-commands::")
            assert len(stopped) == 32
        elif not stopped:
            lines.append(line)
    others = ("::error title=", "::warning title=", "::notice::does not conform")
    return not stopped and all(not line.strip() or line.startswith(others) for line in lines)


def test_no_text_of_a_target_is_a_command_to_a_runner(tmp_path: Path) -> None:
    def answer(_: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        return 200, json.dumps({"data": [{"id": TEXT, "scheme": TEXT}], "meta": {"total": TEXT}, "links": {}}).encode()

    here = {"GITHUB_ACTIONS": "true", "COLUMNS": "40"}
    with answering(answer) as url:
        ran = command("run", "--base-url", url, "--read-only", "--report-dir", tmp_path, "--verbose", **here)
    results = tmp_path / "results.json"
    shown = json.loads(results.read_text("utf-8"))
    shown["results"][0]["rule"] = shown["base_url"] = TEXT
    results.write_text(json.dumps(shown), "utf-8")
    ended = [
        ran,
        command("judge", tmp_path / "record.har", **here),
        command("compare", "--all", results, results, **here),
    ]
    assert [(each.returncode, each.stderr) for each in ended] == [(1, ""), (1, ""), (0, "")]
    for each in ended:
        assert is_inert(each.stdout), each.stdout
        assert "##[" not in each.stdout
        assert "\x1b" not in each.stdout


def look(server: MockServer, seed: int, explore: int) -> Outcome:
    options = Options(server.base_url, HARBOUR, ALPINE, explore=explore, seed=seed, limits=Limits(lag=0))
    return run(Contract(), options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "explore"),
    [
        (1, 100),  # among records
        (4, 100),  # in an account that has none
        *(pytest.param(seed, 410, marks=pytest.mark.exhaustive) for seed in range(1, 7)),
    ],
)
def test_a_mock_with_a_runs_profile_behaves_as_what_was_run_against(seed: int, explore: int) -> None:
    contract, chosen = Contract(), greased(shipped_contract().open_points, seed)
    if chosen["list-redirect"] != "no":  # to the path that page links name, which then must be served
        chosen["followed-link"] = "served"
    start: dict[str, Any] = {"fixture": "empty", "records": (28, 0)[seed % 2]}
    with MockServer(**start, grease=seed) as server:
        first = profile(look(server, seed, explore).choices_seen, contract)
    assert len(first) > 25
    assert {name: value for name, value in first.items() if chosen[name] != value} == {}
    with MockServer(**start, choices=first) as like_it:
        assert profile(look(like_it, seed, explore).choices_seen, contract) == first


@pytest.mark.slow
def test_a_profile_is_used_by_the_mocks_command(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text("create-status: '202'\n", "utf-8")
    with running("--profile", str(path)) as (_, lines):
        ended = command("run", "--base-url", lines[0].split()[-1], "--verbose", *QUICK)
    assert "create-status=202" in ended.stdout
    path.write_text("- hello\n", "utf-8")
    refused = failure("--profile", path)
    assert refused.count("\n") == 1
    assert "is not a mapping of open points to values" in refused


def test_a_gate_counts_what_fails_now_and_then_and_what_is_slow(judged: Path) -> None:
    def ended(server: MockServer, *gate: str) -> tuple[int, str]:
        result = command("run", "--base-url", server.base_url, *QUICK, *gate)
        return result.returncode, " ".join(result.stdout.split())

    with MockServer(fixture="empty", records=40, conditions={"gateway-errors": 20}) as flaky:
        status, text = ended(flaky)
        assert (status, text.count("documented requests got a 5xx while others worked: GET /api/domains/ (")) == (0, 1)
        for gate in (("--max-5xx", "0"), ("--strict",), ("--max-5xx", "0", "--baseline", judged / "results.json")):
            status, text = ended(flaky, *map(str, gate))
            assert (status, "documented requests got a 5xx, and 0 may: " in text) == (1, True)
        assert ended(flaky, "--max-5xx", "900")[0] == 0
        status, text = ended(flaky, "--slowest", "0.0001")
        assert (status, "answers took longer than 0.0001 s, up to " in text) == (1, True)
        assert ended(flaky, "--slowest", "20")[0] == 0


def test_the_verdict_is_the_last_line_behind_what_has_changed(broken: MockServer, judged: Path) -> None:
    ended = command("run", "--base-url", broken.base_url, *QUICK, "--baseline", judged / "results.json")
    changed, verdict = ended.stdout.rstrip().split("\n\n")[-2:]
    assert f"  {BROKEN}[domains]: pass, now fail" in changed.splitlines()
    assert (ended.returncode, verdict.partition(";")[0]) == (1, "does not conform")


@pytest.mark.parametrize(("pattern", "status"), [("robustness.odd-ids-*", 1), ("robustness.odd-pages-*", 0)])
def test_an_advisory_rule_fails_a_run_that_names_it(pattern: str, status: int) -> None:
    with MockServer(fixture="empty", records=4, defects=("unknown-id-fails",)) as server:
        options = (*WIDER, "--rules", "robustness.odd-*")
        result = command("run", "--base-url", server.base_url, *options, "--fail-on", pattern)
        unknown = command("run", "--base-url", server.base_url, *options, "--fail-on", "nothing.*")
    assert result.returncode == status
    assert ("fail: robustness.odd-ids-do-not-fail" in result.stdout) is bool(status)
    assert (unknown.returncode, 'no rule of the contract matches "nothing.*"' in unknown.stderr) == (4, True)
