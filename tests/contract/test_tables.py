from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click
import pytest
import yaml
from conformance import DOCUMENT

from contract_tests import errors
from contract_tests.options import COMMANDS
from contract_tests.repro import trial
from link_management_contract import Contract, shipped
from link_management_contract.texts import statements
from mock_server import cli
from mock_server.defects import DEFECTS
from mock_server.options import OPTIONS
from mock_server.trial import report

RULES, OPEN, EXCLUDED = DOCUMENT["x-rules"], DOCUMENT["x-open-points"], DOCUMENT["x-excluded"]
NUMBERS = {int(number) if number.isdecimal() else number for number in statements()}
AREAS = {
    "operations",
    "pagination",
    "envelopes",
    "representations",
    "forms",
    "lifecycle",
    "accounts",
    "robustness",
    "concurrency",
}
# A new name is added by hand, in its alphabetical place.
NAMES = Path(__file__).parents[1] / "golden" / "names.txt"
EXIT_STATUSES = {
    "contract-tests, a rule is broken": errors.FAILED,
    "contract-tests, interrupted": errors.INTERRUPTED,
    "contract-tests, the suite broke": errors.BROKEN,
    "contract-tests, a mistake in the command": errors.UsageError.status,
    "contract-tests, nothing was selected": errors.NothingSelectedError.status,
    "contract-tests, undecided": errors.UNDECIDED,
    "contract-tests, the target is unusable": errors.UNUSABLE,
    "a script, broken": trial.BROKEN,
    "a script, fixed": trial.FIXED,
    "a script, neither": trial.UNCLEAR,
    "mock-server, remarks": cli.REMARKS_FOUND,
    "mock-server, a file is missing": cli.UNWRITTEN,
    "mock-server, a mistake in the command": cli.USAGE_ERROR,
    "mock-server try, the client relies on something": report.RELIES,
    "mock-server try, interrupted": report.INTERRUPTED,
    "mock-server try, the trial broke": cli.BROKEN_TRY,
    "mock-server try, a mistake in the command": cli.USAGE_ERROR_OF_TRY,
    "mock-server try, not everything was tried": report.UNDECIDED,
    "mock-server try, the client fails by itself": report.BY_ITSELF,
}


def test_every_statement_stands_in_a_table_and_an_excluded_one_in_no_other() -> None:
    judged = {number for entry in RULES + OPEN for number in entry["numbers"]}
    excluded = {number for entry in EXCLUDED for number in entry["numbers"]}
    assert NUMBERS - judged - excluded == set(), "add them to numbers of a rule or open point, or to x-excluded"
    assert judged & excluded == set()


def test_each_statement_is_written_down_once_with_a_level_that_fits_the_tables() -> None:
    written = shipped("docs/specification.md").read_text("utf-8")
    stated = sorted(number for number in NUMBERS if isinstance(number, int))
    assert stated == list(range(1, len(stated) + 1)), "docs/specification.md: number statements without a gap"
    assert NUMBERS - set(stated) == {f"D{number}" for number in range(1, len(NUMBERS) - len(stated) + 1)}
    levels = dict(re.findall(r"\*\*(D?\d+)\*\* \((\w+)\)", written))
    assert set(levels.values()) == {"stated", "open", "descriptive", "implied"}
    for rule in RULES:
        if rule["level"] != "advisory":
            assert {levels[str(number)] for number in rule["numbers"]} != {"open"}, rule["id"]


def test_each_entry_points_to_statements_that_are_written_down() -> None:
    entries = RULES + OPEN + EXCLUDED
    missing = {str(number) for entry in entries for number in entry["numbers"]} - set(statements())
    assert missing == set(), f"docs/specification.md has no statement {missing}"


def test_ids_are_unique_and_well_formed() -> None:
    ids = [entry["id"] for entry in RULES + OPEN]
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    assert [name for name in ids if not re.fullmatch(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*", name)] == []
    assert {entry["id"].partition(".")[0] for entry in RULES} == AREAS
    assert {entry["id"].partition(".")[0] for entry in OPEN} == {"open"}


def flags(command: str, parameters: Iterable[click.Parameter]) -> set[str]:
    options = (parameter for parameter in parameters if isinstance(parameter, click.Option))
    return {f"option of {command}: {flag}" for option in options for flag in option.opts}


def test_names_and_exit_statuses_never_change() -> None:
    present = {f"rule: {entry['id']}" for entry in RULES} | {f"open point: {entry['id']}" for entry in OPEN}
    present |= {f"defect: {name}" for name in DEFECTS} | flags("mock-server", OPTIONS)
    for options in COMMANDS:
        present |= flags(f"contract-tests {options.command}", options.parameters())
    for name, (_, parameters) in cli.COMMANDS.items():
        present |= flags(f"mock-server {name}", parameters)
    present |= {f"exit status of {situation}: {status}" for situation, status in EXIT_STATUSES.items()}
    permanent = set(NAMES.read_text("utf-8").splitlines())
    assert [f"names never change: {name} is gone" for name in sorted(permanent - present)] == []


def test_each_rule_says_all_that_the_suite_needs() -> None:
    resources = {tag["name"] for tag in DOCUMENT["tags"]}
    for rule in RULES:
        assert rule.keys() - {"resources", "implies"} == {
            "id",
            "level",
            "decided_by",
            "section",
            "numbers",
            "statement",
        }, rule
        assert rule["level"] in {"stated", "implied", "advisory"}, rule
        assert rule["decided_by"] in {"exchange", "state", "round"}, rule
        assert rule["numbers"], rule
        assert set(rule.get("resources", ["domains"])) < resources, rule
        assert re.fullmatch(r"[A-Z][^.]*(\.[^. ][^.]*)*\.", rule["statement"]), rule


def test_each_open_point_says_what_may_be_chosen() -> None:
    for point in OPEN:
        assert point.keys() - {"each_request", "unseen"} == {
            "id",
            "section",
            "numbers",
            "statement",
            "values",
            "default",
        }, point
        values = point["values"]
        assert point["numbers"], point
        assert point["default"] in values, f"openapi.yaml: {point['id']}: default is none of its values"
        assert len(values) > 1, f"openapi.yaml: {point['id']} needs two values at least"
        assert {type(value) for value in values} == {str}, point
        assert all(values.values()), f"openapi.yaml: {point['id']}: say what each value means"


def test_a_rule_that_lacks_a_key_is_named_with_the_key(tmp_path: Path) -> None:
    document = copy.deepcopy(DOCUMENT)
    del document["x-rules"][0]["section"]
    path = tmp_path / "openapi.yaml"
    path.write_text(yaml.safe_dump(document), "utf-8")
    with pytest.raises(ValueError, match=rf"x-rules: {re.escape(RULES[0]['id'])} lacks section"):
        Contract(path)
