"""What makes a run a gate: waivers, records that are judged anew, comparisons, profiles, what CI is told."""

from __future__ import annotations

import gzip
import json
import subprocess
import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from shell import COMMANDS, command
from wire import ALPINE, HARBOUR

from contract_tests.contract import Contract
from contract_tests.fingerprint import profile
from contract_tests.options import Options
from contract_tests.runner import Outcome, run
from contract_tests.target import Limits
from mock_server import MockServer
from mock_server.contract import shipped_contract
from mock_server.grease import greased

BROKEN = "pagination.total-counts-the-records"
QUICK = ("--explore", "0", "--lag", "0", "--resources", "domains", "--rules", "pagination.*")


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
    folders = []
    for name, each in {"right": server, "wrong": broken}.items():
        folder = tmp_path_factory.mktemp(name)
        command("run", "--base-url", each.base_url, "--explore", "0", "--lag", "0", "--report-dir", folder)
        folders.append(folder)
    return folders[0], folders[1]


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
    assert "is there already, with its reasons; give another file" in again.stderr
    assert "ticket 12" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (waiver(rule="pagination.totals"), "the contract has no such rule for this kind"),
        (waiver(kind="links"), "the contract has no such rule for this kind"),
        (waiver(), "nothing fails there any more; take it out"),
    ],
    ids=["unknown rule", "unknown kind", "mended"],
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


def test_a_runs_own_record_is_judged_as_the_run_was(reports: tuple[Path, Path]) -> None:
    right, wrong = (command("judge", folder / "record.har") for folder in reports)
    entries = len(json.loads((reports[0] / "record.har").read_text("utf-8"))["log"]["entries"])
    assert right.returncode == 0
    assert right.stdout.startswith(f"{entries} of {entries} exchanges are with http://127.0.0.1:")
    assert "\npartial: no claim; not judged: " in right.stdout
    assert wrong.returncode == 1
    assert "fail: pagination.page-is-filled" in wrong.stdout


def test_a_browsers_record_is_judged_by_what_can_be_recognised(tmp_path: Path) -> None:
    def entry(url: str, status: int, body: Any) -> dict[str, Any]:
        content = {"mimeType": "application/json", "text": json.dumps(body)}
        request = {"method": "GET", "url": url, "headers": []}
        return {"request": request, "response": {"status": status, "headers": [], "content": content}}

    there = "https://links.example.com/prefix"
    page = {"id": 1, "name": "Home", "color": "red", "last_datetime": None, "datetime": "2026-01-01 00:00:00"}
    entries = [
        entry("https://links.example.com/style.css", 200, {}),
        entry(f"{there}/api/splash-pages/1", 200, {"data": page}),
        entry(f"{there}/api/splash-pages/2", 404, {"errors": []}),
        entry("https://elsewhere.example.com/api/users", 200, {}),
        entry(f"{there}/api/domains/1", 200, {}),
        {"request": {"method": "GET", "url": f"{there}/api/domains/2"}},
    ]
    entries[4]["response"]["content"] = {"size": 80, "mimeType": "application/json"}
    path = tmp_path / "browser.har"
    path.write_text(json.dumps({"log": {"entries": entries}}), "utf-8")
    ended = command("judge", path)
    assert ended.returncode == 1
    assert ended.stdout.startswith(f"2 of 6 exchanges are with {there}\n")
    assert "fail: representations.color-is-hex" in ended.stdout
    assert "Home" not in ended.stdout
    assert "1 of the entries passed over: without the body of its answer; record it with bodies\n" in ended.stderr
    assert "no exchange that can be read (the first is entry 6: KeyError)\n" in ended.stderr
    assert "2 of the entries passed over: to no list, record or create of this API\n" in ended.stderr


THERE = "https://links.example.com/prefix"
WHOLE: dict[str, Any] = {
    "data": [],
    "meta": {"page": 1, "results_per_page": 25, "total": 0, "total_pages": 0},
    "links": dict.fromkeys(("first", "last", "self"), f"{THERE}/api/domains?page=1") | {"next": None, "prev": None},
}


def recorded(method: str, path: str, status: int, body: Any, *, there: str = THERE, **content: str) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    request = {"method": method, "url": there + path, "headers": [{"name": "Authorization", "value": "Bearer k"}]}
    headers = [{"name": "Content-Encoding", "value": content.pop("coding", "identity")}]
    return {
        "request": request,
        "response": {"status": status, "headers": headers, "content": {"text": text, **content}},
    }


def judged(path: Path, *entries: dict[str, Any], options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    path.write_text(json.dumps({"log": {"entries": entries}}), "utf-8")
    return command("judge", path, *options)


def without(name: str, key: str) -> dict[str, Any]:
    return {**WHOLE, name: {each: value for each, value in WHOLE[name].items() if each != key}}


SHOWING = {
    "a list without its total": (("GET", "/api/domains/", 200, without("meta", "total")), "envelopes.list-meta-holds"),
    "a list without meta": (("GET", "/api/domains/", 200, {"data": []}), "envelopes.list-meta-holds-integers"),
    "a list without self": (("GET", "/api/domains/?page=1", 200, without("links", "self")), "envelopes.list-links-are"),
    "a list by a page link": (
        ("GET", "/api/domains?page=1", 200, without("meta", "page")),
        "envelopes.list-meta-holds",
    ),
    "a list that is cut": (("GET", "/api/domains/", 200, '{"data": [{"id": 5}'), "envelopes.body-is-json"),
    "a record without data": (("GET", "/api/domains/5", 200, {"id": 5}), "envelopes.read-data-is-an-object"),
    "a record in an array": (("GET", "/api/domains/5", 200, {"data": [{"id": 5}]}), "envelopes.read-data-is-an-object"),
    "an id that is text": (("POST", "/api/domains", 201, {"data": {"id": "5"}}), "envelopes.create-answers-the-id"),
    "an id without data": (("POST", "/api/domains/5", 200, {"id": 5}), "envelopes.update-answers-the-id"),
    "a create without an answer": (("POST", "/api/domains", 204, ""), "envelopes.body-is-json"),
    "a list that is refused": (("GET", "/api/domains/?results_per_page=10", 405, {}), "operations.list-answers"),
}


@pytest.mark.parametrize(("entry", "rule"), SHOWING.values(), ids=SHOWING)
def test_an_answer_in_which_something_is_missing_is_evidence(
    tmp_path: Path, entry: tuple[str, str, int, Any], rule: str
) -> None:
    ended = judged(tmp_path / "a.har", recorded("GET", "/api/notification-handlers/", 200, WHOLE), recorded(*entry))
    assert ended.returncode == 1
    assert f"fail: {rule}" in ended.stdout


FREE = {
    "a page past the end": ("GET", "/api/domains/?page=9", 200, {"data": [], "meta": {}}),
    "a page size outside the seven": ("GET", "/api/domains/?results_per_page=7", 422, {}),
    "a record that is gone": ("GET", "/api/domains/5", 200, {"errors": ["gone"]}),
    "a login page": ("GET", "/api/domains/", 200, "<h1>Log in</h1>"),
    "a refusal with data": ("POST", "/api/domains", 200, {"status": "fail", "data": {"host": "taken"}}),
    "a page link of splash pages": ("GET", "/api/projects?page=2", 200, {"data": [{"id": 1}]}),
    "a page link that leads nowhere": ("GET", "/api/domains?page=1", 405, {}),
}


@pytest.mark.parametrize("entry", FREE.values(), ids=FREE)
def test_an_answer_that_may_be_a_choice_is_none(tmp_path: Path, entry: tuple[str, str, int, Any]) -> None:
    ended = judged(tmp_path / "a.har", recorded("GET", "/api/domains/", 200, WHOLE), recorded(*entry))
    assert (ended.returncode, "fail:" in ended.stdout) == (0, False)


def encoded(body: bytes) -> str:
    return b64encode(body).decode()


RED = json.dumps(without("meta", "total")).encode()


@pytest.mark.parametrize(
    ("body", "coding"),
    [(RED, "identity"), (gzip.compress(RED), "gzip"), (zlib.compress(RED), "deflate"), (RED, "gzip")],
    ids=["base64", "gzip", "deflate", "said to be gzip, and decoded already"],
)
def test_bodies_are_read_out_of_base64_and_compression(tmp_path: Path, body: bytes, coding: str) -> None:
    entry = recorded("GET", "/api/domains/", 200, encoded(body), encoding="base64", coding=coding)
    assert "fail: envelopes.list-meta-holds-integers" in judged(tmp_path / "a.har", entry).stdout


@pytest.mark.parametrize(
    ("body", "coding", "why"),
    [
        (encoded(b"\x8b\x00\xff"), "br", "with a body that is compressed in a way that is not read here (br)"),
        (encoded(b"\x1f\x8b\xff"), "gzip", "with a body that cannot be decompressed"),
        ("%%%", "identity", "with a body that is no base64"),
    ],
)
def test_bodies_that_cannot_be_read_are_counted_by_reason(tmp_path: Path, body: str, coding: str, why: str) -> None:
    bad = recorded("GET", "/api/domains/", 200, body, encoding="base64", coding=coding)
    ended = judged(tmp_path / "a.har", bad, bad, recorded("GET", "/api/domains/", 200, WHOLE))
    assert ended.returncode == 0
    assert f"contract-tests: 2 of the entries passed over: {why}\n" in ended.stderr


def test_of_two_services_in_one_record_one_is_chosen(tmp_path: Path) -> None:
    bad = recorded("GET", "/api/domains/", 200, without("meta", "total"), there="https://staging.example.com")
    good = [recorded("GET", "/api/domains/", 200, WHOLE)] * 2
    usual, chosen = (
        judged(tmp_path / "a.har", bad, *good, options=options)
        for options in ((), ("--base-url", "https://staging.example.com/"))
    )
    assert (usual.returncode, chosen.returncode) == (0, 1)
    assert "1 of the entries passed over: to https://staging.example.com, which --base-url chooses\n" in usual.stderr
    assert chosen.stdout.startswith("1 of 3 exchanges are with https://staging.example.com\n")
    none = judged(tmp_path / "a.har", bad, options=("--base-url", "https://elsewhere.example.com"))
    assert (none.returncode, "one of this API at https://elsewhere.example.com" in none.stderr) == (5, True)


def test_a_file_of_somebody_elses_is_named_and_not_told(tmp_path: Path) -> None:
    path = tmp_path / "secret.har"
    path.write_bytes(b"Canary \xff\xfe" * 9)
    ended = command("judge", path)
    assert (ended.returncode, ended.stderr.count("\n"), "Canary" in ended.stderr) == (4, 1, False)
    assert ended.stderr.endswith("secret.har is no HTTP archive (HAR): it is no UTF-8 text\n")


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ('{"log": {"entries": []}}', 5, "none of the 0 exchanges"),
        ("{}", 4, "is no HTTP archive (HAR)"),
        ("hello", 4, "is no HTTP archive (HAR)"),
        ("[" * 100_000, 4, "is no HTTP archive (HAR)"),
        (None, 4, "cannot be read: No such file or directory"),
    ],
)
def test_a_record_of_something_else_is_not_judged(tmp_path: Path, text: str | None, status: int, message: str) -> None:
    path = tmp_path / "some.har"
    if text is not None:
        path.write_text(text, "utf-8")
    ended = command("judge", path)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert message in ended.stderr


def test_runs_are_compared_rule_by_rule(reports: tuple[Path, Path], tmp_path: Path) -> None:
    right, wrong = reports
    written = ("--json", tmp_path / "c.json", "--html", tmp_path / "c.html")
    ended = command("compare", right, wrong / "results.json", *written)
    assert ended.returncode == 1
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert [f"{BROKEN}[domains]", "pass", "fail"] in lines
    assert not any(line and line[0].startswith("representations.") for line in lines)
    told = json.loads((tmp_path / "c.json").read_text("utf-8"))
    assert [run["word"] for run in told["runs"]] == ["conforms", "does not conform"]
    assert told["differences"] == sum(not each["same"] for each in told["rules"] + told["open_points"])
    assert f"{told['differences']} differences" in (tmp_path / "c.html").read_text("utf-8")


def test_a_run_compared_with_itself_differs_in_nothing(reports: tuple[Path, Path]) -> None:
    ended = command("compare", reports[0], reports[0])
    assert ended.returncode == 0
    assert ended.stdout.endswith("\nno difference\n")


@pytest.mark.parametrize("text", ["{}", "[]", '{"schema_version": 99}', "hello"])
def test_other_files_are_not_compared(reports: tuple[Path, Path], tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text, "utf-8")
    assert command("compare", reports[0], path).returncode == 4


def test_one_run_is_not_compared(reports: tuple[Path, Path]) -> None:
    assert "give two or more" in command("compare", reports[0]).stderr


def test_github_is_told_of_each_failure_and_given_a_summary(broken: MockServer, tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    here = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}
    ended = command("run", "--base-url", broken.base_url, *QUICK, "--quiet", **here)
    assert ended.returncode == 1
    assert f"::error title={BROKEN}[domains]::required: " in ended.stdout
    assert page.read_text("utf-8").startswith("## ❌ does not conform\n\nNot judged: ")
    assert "::notice::does not conform; not judged: " in ended.stdout


def look(server: MockServer, seed: int) -> Outcome:
    options = Options(server.base_url, HARBOUR, ALPINE, explore=240, seed=seed, limits=Limits(lag=0))
    return run(Contract(), options)


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_mock_with_a_runs_profile_behaves_as_what_was_run_against(seed: int) -> None:
    contract, chosen = Contract(), greased(shipped_contract().open_points, seed)
    if chosen["list-redirect"] != "no":  # to the path that page links name, which then must be served
        chosen["followed-link"] = "served"
    start: dict[str, Any] = {"fixture": "empty", "records": (28, 0)[seed % 2]}
    with MockServer(**start, grease=seed) as server:
        first = profile(look(server, seed).observed, contract)
    assert len(first) > 25
    assert {name: value for name, value in first.items() if chosen[name] != value} == {}
    with MockServer(**start, choices=first) as like_it:
        assert profile(look(like_it, seed).observed, contract) == first


def test_a_profile_is_used_by_the_mocks_command(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text("create-status: '202'\n", "utf-8")
    mock = COMMANDS / "mock-server"
    process = subprocess.Popen([mock, "--port", "0", "--profile", path], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    base_url = process.stdout.readline().split()[-1]
    ended = command("run", "--base-url", base_url, *QUICK)
    process.terminate()
    process.wait()
    process.stdout.close()
    assert "create-status=202" in ended.stdout
    path.write_text("- hello\n", "utf-8")
    refused = subprocess.run([mock, "--profile", path], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "is no mapping of open points to values" in refused.stderr
