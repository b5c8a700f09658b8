from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator
from outcomes import CANARY, CONTRACT, GOLDEN, KEY, TENANT, outcome, without_line_numbers

from contract_tests import har
from contract_tests.evidence.exchange import Exchange, FormValue, Request
from contract_tests.evidence.multipart import NOTHING_CHOSEN, encode, file_as_sent
from contract_tests.evidence.observation import Violation
from contract_tests.reports import html, results
from contract_tests.reports.ci import annotations_of, comment, write_junit
from contract_tests.repro.script import parallel_lines
from contract_tests.verdicts.verdicts import Verdict

LATER = {"removed", "exceeded", "server_errors_at", "server_error_traces"}  # fields that an older file does not have
FILES = (
    "results.json",
    "junit.xml",
    "report.html",
    "summary.md",
    "record.har",
    "profile.yaml",
    "ctrf.json",
    "comment.md",
    "results.sarif",
)
JUNIT: Mapping[str, tuple[set[str], set[str], set[str]]] = {  # attributes that must be, may be, and children
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"skipped", "time", "timestamp", "hostname", "id", "package"},
        {"testcase", "properties", "system-out"},
    ),
    "system-out": (set(), set(), set()),
    "testcase": ({"name"}, {"time", "classname", "group"}, {"failure", "error", "skipped"}),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports")
    html.write_folder(CONTRACT, outcome(), results.as_dict(outcome()), path)
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_report_is_as_it_was_looked_at(reports: Path, name: str) -> None:
    """`python tests/outcomes.py` writes them anew; look at them before they are committed."""
    told, golden = (without_line_numbers((folder / name).read_text("utf-8")) for folder in (reports, GOLDEN))
    assert told == golden


@pytest.mark.parametrize("name", FILES)
def test_no_report_tells_a_secret_or_what_others_have_written(reports: Path, name: str) -> None:
    text = "".join(each.read_text("utf-8") for each in [reports / name, *(reports / "repro").iterdir()])
    assert [secret for secret in (KEY, TENANT, CANARY, "session=secret") if secret in text] == []


@pytest.mark.parametrize("name", [name for name in FILES if name != "record.har"])
def test_no_report_holds_a_character_that_steers_what_shows_it(reports: Path, name: str) -> None:
    text = (reports / name).read_text("utf-8")
    assert [letter for letter in text if not letter.isprintable() and letter not in "\n\t"] == []


@pytest.mark.parametrize("name", ["report.html", "summary.md", "comment.md"])
def test_a_report_begins_with_what_a_write_has_hit(tmp_path: Path, name: str) -> None:
    harm = "the delete of domains 7 removed domains 8, another record of the run"
    harmful = replace(outcome(), harm=harm)
    html.write_folder(CONTRACT, harmful, results.as_dict(harmful), tmp_path)
    assert f"{harm}: does not conform" in (tmp_path / name).read_text("utf-8")[:600]


def test_an_empty_file_input_is_shown_and_kept_as_it_was_sent() -> None:
    form: dict[str, FormValue] = {"name": "a", "logo": ("logo.png", b"PNG", "image/png")}
    request = Request("create", "splash-pages", "POST", "/api/projects", (), form, form_style=NOTHING_CHOSEN)
    summary = results.request_summary(request)
    assert 'name=a, logo=an empty file input (filename="")' in summary
    assert file_as_sent(("logo.png", b"PNG", "image/png"), NOTHING_CHOSEN) == ("", b"", "application/octet-stream")
    assert b'filename=""' in encode(form, NOTHING_CHOSEN)[0]


def test_results_are_as_their_schema_says(reports: Path) -> None:
    schema = json.loads(results.SCHEMA.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    told = json.loads((reports / "results.json").read_text("utf-8"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(told)] == []
    assert set(told) == set(schema["properties"]) == {*schema["required"], *LATER}


def test_junit_is_what_ci_servers_read(reports: Path) -> None:
    root = ET.parse(reports / "junit.xml").getroot()
    for element in root.iter():
        must, may, children = JUNIT[element.tag]
        assert must <= set(element.attrib) <= must | may, element.tag
        assert {child.tag for child in element} <= children, element.tag
    suite = root[0]
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "10", "failures": "3", "errors": "3", "skipped": "3"}


def test_times_of_junit_add_up_to_those_of_the_run(tmp_path: Path) -> None:
    told = results.as_dict(outcome())
    for number, result in enumerate(told["results"]):
        result["seconds"] = float(number)
    write_junit(told, tmp_path / "junit.xml")
    cases = ET.parse(tmp_path / "junit.xml").getroot().iter("testcase")
    assert sum(float(case.get("time", 0)) for case in cases) == pytest.approx(told["seconds"], abs=0.01)


def test_a_warning_shows_where_ci_servers_show_only_what_did_not_pass(reports: Path) -> None:
    cases = ET.parse(reports / "junit.xml").getroot().iter("testcase")
    (message,) = [
        skipped.get("message", "")
        for case in cases
        for skipped in case.findall("skipped")
        if "warn" in str(skipped.get("message"))
    ]
    assert message.startswith("warning: Very long, quoted or marked-up text")


def test_a_common_test_report_counts_each_result_once(reports: Path) -> None:
    told = json.loads((reports / "ctrf.json").read_text("utf-8"))
    assert told["reportFormat"] == "CTRF"
    summary, tests = told["results"]["summary"], told["results"]["tests"]
    statuses = [test["status"] for test in tests]
    assert summary["tests"] == len(tests) == 8
    assert {name: summary[name] for name in ("passed", "failed", "skipped", "pending", "other")} == {
        name: statuses.count(name) for name in ("passed", "failed", "skipped", "pending", "other")
    }
    assert summary["stop"] - summary["start"] == 1500


def test_a_long_archive_is_compressed_and_judged_all_the_same(tmp_path: Path) -> None:
    with patch.object(har, "LONGEST", 1000):
        path = har.write(outcome(), tmp_path / "record.har")
    assert [each.name for each in tmp_path.iterdir()] == ["record.har.gz"] == [path.name]
    recording = har.read(path, CONTRACT)
    assert len(recording.exchanges) == 4
    assert recording.skip_counts == {}
    assert har.write(outcome(), tmp_path / "record.har") == tmp_path / "record.har"
    assert [each.name for each in tmp_path.iterdir()] == ["record.har"]


def test_the_har_is_read_back_and_judged(reports: Path) -> None:
    har: Any = json.loads((reports / "record.har").read_text("utf-8"))["log"]
    assert har["version"] == "1.2"
    assert [(each["request"]["method"], each["response"]["status"]) for each in har["entries"]] == [
        ("GET", 200),
        ("POST", 502),
        ("GET", 200),
        ("DELETE", 0),
        ("GET", 503),  # an earlier try
    ]


def test_a_verdict_counts_warnings_and_failing_answers() -> None:
    [warning] = [each for each in outcome().results if each.verdict is Verdict.WARN]
    two = replace(outcome(), word="conforms", results=(warning, warning))
    assert (two.verdict, len(two.server_errors)) == ("conforms, with 2 warnings", 2)
    none = replace(
        two, results=(replace(warning, waived="ticket 12"),), not_judged=("a check",), exchanges=(), tries=()
    )
    assert (none.verdict, results.as_dict(none)["slowest"]) == ("conforms; not judged: a check", 0)


def test_annotations_name_the_rule_and_stay_on_their_line() -> None:
    lines = list(annotations_of(results.as_dict(outcome())))
    assert [line.partition("::required")[0] for line in lines[:5]] == [
        "::error title=operations.create-answers[splash-pages]",
        "::error title=operations.delete-answers[splash-pages]",
        "::error title=representations.color-is-hex[splash-pages]",
        "::warning title=envelopes.body-is-json[splash-pages]",
        "::warning title=robustness.odd-text-does-not-fail[splash-pages]",
    ]
    assert len(lines) == 8
    assert not any("\n" in line for line in lines)


def test_a_script_sends_nothing_at_one_moment_to_a_record_that_it_does_not_create() -> None:
    domains = CONTRACT.resources["domains"]
    delete = Exchange(Request("delete", "domains", "DELETE", "/api/domains/7", identifier=7), 1, 200)
    finding = Violation(delete, "one success", "two", exchanges=(delete, delete))
    (told,) = parallel_lines(finding, {}, domains)
    assert told == "# These requests write to a record that this script does not create, so it sends none of them."
    sent = "\n".join(parallel_lines(finding, {7: "id_1"}, domains))
    assert sent.count("$base/api/domains/$id_1") == 3
    assert sent.index('mine "$id_1" || ') < sent.index("curl --")
    assert "/7" not in sent


def test_a_comment_says_first_what_has_changed_and_is_no_longer_than_servers_take() -> None:
    told = results.as_dict(outcome())
    short = comment(told, ["1 worse", "  pagination.total: pass, now fail @you"])
    assert short.splitlines()[0] == "<!-- contract-tests -->"
    changed = ["Since the baseline:", "", "- 1 worse", "- pagination.total: pass, now fail &#64;you"]
    assert short.splitlines()[3:7] == changed
    told["results"] = [
        each | {"findings": [each["findings"][0] | {"received": "x" * 40_000}]}
        for each in told["results"]
        if each["findings"]
    ] * 20
    long = comment(told)
    assert len(long) <= 65_000
    assert long.count("```") % 2 == 0
    assert long.endswith("The rest is in `summary.md`.\n")
