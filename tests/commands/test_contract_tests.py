from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from conformance import DOCUMENT
from shell import COMMANDS, ENVIRONMENT, answering, beside_progress, command, everything
from situations import Forward, Reply, Sent, independent, judge_server
from wire import HARBOUR

from contract_tests.cli import main
from link_management_contract import Contract
from mock_server import MockServer

ROOT = Path(__file__).parents[2]

RULES = [rule for rule in Contract().rules.values() if rule.decided_by != "round"]  # without --overlap
ALONE = "overlapping requests (--overlap 0)"
EVERY = sum(len(rule.resources) for rule in RULES)  # results
ALONE_IN_PYTEST = ("-p", "no:schemathesis", "-p", "no:hypothesispytest")  # plugins that take seconds to load
PAGING = sum(rule.id.startswith("pagination.") and "domains" in rule.resources for rule in RULES)
FEW = ("--explore", "0", "--lag", "0", "--resources", "domains", "--rules", "pagination.*")
ACCOUNTS = sum(len(rule.resources) for rule in RULES if rule.id.startswith("accounts."))


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


def test_a_server_that_keeps_the_rules_conforms_each_time_and_is_left_as_it_was(
    server: MockServer, tmp_path: Path
) -> None:
    before = everything(server)
    for options in (["--report-dir", str(tmp_path)], ["--explore", "1"]):
        ended = command("run", "--base-url", server.base_url, *options)
        assert ended.returncode == 0
        assert re.fullmatch(r"contract-tests: what this run makes is noted in \S+\.jsonl, for [a-z -]+\n", ended.stderr)
        assert f"\nconforms; not judged: {ALONE}\n" in ended.stdout
    assert everything(server) == before
    suite = ET.parse(tmp_path / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (
        str(EVERY),
        "0",
        "0",
        "14",
    )


def test_what_was_chosen_where_the_contract_leaves_room_is_told() -> None:
    choices = {"create-status": "202", "delete-status": "204", "size-not-allowed": "nearest", "invalid-field": "422"}
    with MockServer(choices=choices) as choosing:
        printed = command(
            *("run", "--base-url", choosing.base_url, "--verbose", "--explore", "0", "--resources", "domains")
        ).stdout
    told = " ".join(printed.partition("chosen there\n")[2].partition("\n\n")[0].split())
    seen = dict(each.split("=") for each in told.split(", "))
    assert choices.items() <= seen.items()
    assert (seen["stranger-status"], seen["unknown-id"], seen["order"]) == ("401", "404", "newest-first")


@pytest.mark.slow
def test_a_path_prefix_and_quiet_print_the_word_alone_and_leave_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with MockServer(fixture="empty", base_path="/prefix") as prefixed:
        ended = command("run", "--base-url", f"{prefixed.base_url}/", "--quiet", "--explore", "1", "--overlap", "1")
    assert (ended.returncode, ended.stdout) == (0, "conforms\n")
    assert list(tmp_path.iterdir()) == []


def test_a_broken_rule_is_told_with_a_request_that_repeats_it(server: MockServer) -> None:
    elsewhere = ("--public-base-url", "https://links.example.com")
    ended = command("run", "--base-url", server.base_url, "--explore", "1", *elsewhere, COLUMNS="80")
    assert ended.returncode == 1
    assert "fail: pagination.links-begin-with-the-base-url" in ended.stdout
    assert f"\ndoes not conform; not judged: {ALONE}\n" in ended.stdout
    assert HARBOUR not in ended.stdout
    whole = re.compile(r"  repeat|  follows|fail:|fix this first:")  # lines to be searched or copied
    assert max(len(line) for line in ended.stdout.splitlines() if not whole.match(line)) <= 80
    line = 'curl -i -H "Authorization: Bearer $CONTRACT_API_KEY"'
    assert line in " ".join(ended.stdout.split())


def test_what_was_left_out_makes_no_claim(server: MockServer) -> None:
    ended = command(
        "run", "--base-url", server.base_url, "--rules", "pagination.*", "--resources", "domains", "--quiet"
    )
    assert (ended.returncode, ended.stdout) == (
        0,
        f"partial: no claim; not judged: {ALONE}, {EVERY - PAGING} checks (deselected, or in need of writes)\n",
    )


def test_without_a_second_key_its_rules_do_not_apply(server: MockServer) -> None:
    ended = command(
        *("run", "--base-url", server.base_url, "--verbose", "--explore", "0", "--rules", "accounts.*"),
        without="CONTRACT_SECOND_API_KEY",
    )
    assert ended.returncode == 0
    assert f"accounts    {ACCOUNTS - 21}     ·     ·             ·              21" in ended.stdout


def test_a_budget_that_is_spent_leaves_rules_undecided_and_nothing_behind(server: MockServer) -> None:
    before = everything(server)
    ended = command("run", "--base-url", server.base_url, "--max-requests", "30")
    assert ended.returncode == 6
    assert "the budget of requests was spent" in ended.stdout
    assert everything(server) == before


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, b"{}", "the key was refused (status 401 for /api/splash-pages/)"),
        (404, b"", "no list is found; is the base URL right, with its prefix"),
        (200, b"<h1>Welcome</h1>", "no media type in the place of JSON; is the base URL right?"),
        (503, b"{}", "no list could be had (status 503 for /api/splash-pages/)"),
    ],
)
def test_a_target_that_is_not_this_api_is_unusable(status: int, body: bytes, message: str) -> None:
    with answering(lambda _: (status, body)) as url:
        ended = command("run", "--base-url", url)
    assert (ended.returncode, ended.stdout) == (7, "")
    assert message in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["run", "--base-url", "http://127.0.0.1:1"], 7, "target unusable: unreachable: "),
        (
            ["run", "--base-url", "localhost:8000"],
            4,
            'invalid base URL "localhost:8000": expected something like https://',
        ),
        (["run", "--base-url", "https://links.example.com"], 4, "say --allow-writes if that is meant"),
        (
            ["run", "--base-url", "http://127.0.0.1:1", "--ca-bundle", "a.pem"],
            4,
            "--ca-bundle has no effect on http://",
        ),
        (["run", "--base-url", "http://127.0.0.1:1", "--report-dir", ""], 4, "name a folder"),
        (["run"], 4, "Missing option '--base-url'"),
        (
            ["run", "--base-url", "http://127.0.0.1:1", "--rate", "fast"],
            4,
            'invalid rate "fast": expected something like 60/m',
        ),
        (["run", "--base-url", "http://127.0.0.1:1", "--rules", "x.*"], 5, "no rule of the contract matches"),
        (["run", "--base-url", "http://127.0.0.1:1", "--resources", "links"], 4, 'no resource "links"; resources are'),
        (["rules", "forms.names-required"], 4, 'no rule "forms.names-required"; did you mean forms.name-required'),
        (
            ["run", "--base-url", "http://127.0.0.1:1", "--second-api-key", HARBOUR],
            4,
            "the second API key is the first",
        ),
        (["run", "--base-url", "https://links.example.com", "--allow-writes", "--poison"], 4, "on this machine"),
        (["run", "--base-url", "http://127.0.0.1:1", "--read-only", "--allow-writes"], 4, "contradict each other"),
        (["prove", "--jobs", "1", "--defect", "total-is-1-more"], 4, "did you mean total-is-one-more"),
        (["prove", "--seeds", "0"], 4, "Invalid value for '--seeds': 0 is not in the range x>=1"),
        (["run", "--base-url", "http://127.0.0.1:1", "--slowest", "nan"], 4, "nan is no number of seconds"),
        (["fix"], 4, "No such command 'fix'"),
    ],
)
def test_a_mistake_is_one_line_and_a_status_of_its_own(arguments: list[str], status: int, message: str) -> None:
    ended = command(*arguments)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_suite_that_breaks_says_so_and_nothing_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract_tests.commands.run.run", lambda *_: 1 / 0)
    ended = command("run", "--base-url", "http://127.0.0.1:1")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "ZeroDivisionError" in ended.stderr
    assert "contract-tests: the suite itself broke, and says nothing of the target" in ended.stderr


@pytest.mark.parametrize(("options", "status"), [([], 3), (["--public-base-url", "https://links.example.com"], 1)])
def test_a_report_that_cannot_be_written_hides_no_failure(
    server: MockServer, tmp_path: Path, options: list[str], status: int
) -> None:
    occupied = tmp_path / "file"
    occupied.touch()
    ended = command("run", "--base-url", server.base_url, *FEW, "--report-dir", str(occupied), *options)
    assert ended.returncode == status
    assert "contract-tests: no report could be written: " in ended.stderr
    assert "requests in" in ended.stdout


@pytest.mark.slow
def test_the_suite_needs_nothing_of_the_mock(server: MockServer, tmp_path: Path) -> None:
    for name in ("openapi.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("contract_tests", "link_management_contract", "fixtures"):
        shutil.copytree(ROOT / name, tmp_path / name)
    blocked = (
        "import sys; sys.modules['mock_server'] = None; sys.path[0] = '.'\n"
        "from contract_tests import cli\nfrom link_management_contract import shipped\n"
    )
    script = f"{blocked}assert not str(shipped('openapi.yaml')).startswith({str(ROOT)!r})\nsys.exit(cli.main())"
    arguments = [sys.executable, "-c", script, "run", "--base-url", server.base_url, "--quiet", "--explore", "0"]
    ended = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (ended.returncode, ended.stdout, beside_progress(ended.stderr)) == (
        0,
        "conforms; not judged: rarer input (--explore 0), overlapping requests (--overlap 0)\n",
        "",
    )


def test_no_key_is_a_mistake() -> None:
    ended = command("run", "--base-url", "http://127.0.0.1:1", without="CONTRACT_API_KEY")
    assert ended.returncode == 4
    assert "no API key; set CONTRACT_API_KEY or give --api-key" in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "status", "line"),
    [
        ([*ALONE_IN_PYTEST, "-n", "2", "--explore", "0"], 0, " skipped in "),
        (
            ["-k", "next-is-null", "--rules", "pagination.next-*", "--explore", "0"],
            0,
            f"3 passed, {EVERY - 3} deselected",
        ),
        ([*ALONE_IN_PYTEST, "-x", *FEW, "--public-base-url", "https://links.example.com"], 1, "1 failed"),
        ([*ALONE_IN_PYTEST, "--explore", "0", "--max-requests", "30"], 6, "errors in"),
    ],
    ids=["all, by xdist", "selected", "first failure", "undecided"],
)
def test_the_suite_runs_under_plain_pytest(
    server: MockServer, tmp_path: Path, options: list[str], status: int, line: str
) -> None:
    arguments: list[str | Path] = [COMMANDS / "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "contract_tests"]
    ended = subprocess.run(
        [*arguments, "--base-url", server.base_url, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert ended.returncode == status, ended.stdout[-2000:]
    last_line = ended.stdout.splitlines()[-1]
    assert line in last_line
    counts = [int(number) for number in re.findall(r"(\d+) (?:passed|skipped|deselected)", last_line)]
    assert status or sum(counts) == EVERY  # which rules apply depends on what one process visits


def test_a_server_that_creates_splash_pages_elsewhere_breaks_one_rule() -> None:
    elsewhere = {"/api/pages": "/api/projects", "/api/projects": "/api/nowhere"}

    def moved(sent: Sent, forward: Forward) -> Reply:
        return forward(replace(sent, url=elsewhere.get(sent.url, sent.url)))

    with independent(3) as forward:
        [judgement] = judge_server(forward, moved, resources=("splash-pages",), splash_create_path="/api/pages")
    assert [result.rule.id for result in judgement.outcome.failing] == ["operations.splash-pages-created-at-projects"]


@pytest.mark.parametrize(
    ("resources", "filled"),
    [((), "splash-pages"), (("notification-handlers", "domains"), "domains")],
    ids=["all", "two of them"],
)
def test_fill_creates_records_of_the_first_resource_of_the_contract(resources: tuple[str, ...], filled: str) -> None:
    with independent(0) as forward:
        [judgement] = judge_server(forward, resources=resources, rules=("pagination.page-is-filled",), fill=60)
    creates = [exchange for exchange in judgement.outcome.exchanges if exchange.made_id]
    counts = Counter(exchange.request.resource for exchange in creates)
    assert [name for name, count in counts.items() if count >= 60] == [filled]


@pytest.mark.slow
def test_a_signal_that_comes_at_the_very_end_changes_no_exit_status() -> None:
    ends = "atexit.register(lambda: os.kill(os.getpid(), signal.SIGTERM)); sys.exit(main())"
    program = f"import atexit, os, signal, sys; from contract_tests.__main__ import main; {ends}"
    ended = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.partition(" ")[0]) == (0, "contract-tests,")


def test_rules_lists_every_rule_and_open_point(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    listed = capsys.readouterr().out
    assert "  pagination.next-is-null-on-last-page  (stated)\n    On the last page" in listed
    assert "  open.create-status  (the mock: 201)\n" in listed
    assert listed.endswith(f"{len(DOCUMENT['x-rules'])} rules, {len(DOCUMENT['x-open-points'])} open points\n")
    assert max(map(len, listed.splitlines())) <= 90


def test_the_rules_of_an_area_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "pagination.*"]) == 0
    printed = capsys.readouterr().out
    assert "  pagination.total-counts-the-records  (" in printed
    assert "forms." not in printed
    assert printed.endswith(" rules, 0 open points\n")
    assert main(["rules", "page.*"]) == 4
    assert 'no rule matches "page.*"' in capsys.readouterr().err


def test_rules_explains_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "representations.color-is-hex"]) == 0
    explained = capsys.readouterr().out
    assert "A `color` is a number sign followed by six hex digits." in explained
    assert "Holds for  splash-pages\n" in explained


@pytest.mark.parametrize(
    ("number", "statement"),
    [
        ("D2", "`meta.total` is the number of records on all pages."),
        ("45", "`meta.total` is an integer: how many records there are."),
    ],
)
def test_rules_explains_a_statement_by_its_number(
    capsys: pytest.CaptureFixture[str], number: str, statement: str
) -> None:
    assert main(["rules", number]) == 0
    title, text, _, *names = capsys.readouterr().out.splitlines()
    assert (title, text) == (f"Statement {number}", statement)
    assert "  pagination.total-counts-the-records" in names


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("run", "--base-ulr", "http://127.0.0.1:1"), "Did you mean one of: '--base-url'"),
        (("run", "--base-url", "http://127.0.0.1:1", "--resorces", "domains"), "'--resources'"),
        (("compare", "a", "b", "--baselin2", "c"), "Did you mean '--baseline'"),
        (("rules", "--zzzzzz"), "No such option '--zzzzzz'"),
    ],
)
def test_an_unknown_option_gets_a_hint(arguments: tuple[str, ...], hint: str) -> None:
    ended = command(*arguments)
    assert (ended.returncode, hint in ended.stderr, ended.stderr.count("\n")) == (4, True, 1), ended.stderr
