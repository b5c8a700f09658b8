"""The rules of the contract as tests: `pytest --pyargs contract_tests --base-url URL`."""

from collections.abc import Callable

import pytest

from contract_tests.plugin import option_value, results_of
from contract_tests.reports.causes import Result
from contract_tests.reports.ci import explain
from contract_tests.verdicts.verdicts import Verdict
from link_management_contract import shipped_contract


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    overlaps = option_value(metafunc.config, "--overlap") not in (None, "0")
    rules = [rule for rule in shipped_contract().rules.values() if overlaps or rule.decided_by != "round"]
    pairs = [(rule.id, resource) for rule in rules for resource in rule.resources]
    metafunc.parametrize("pair", pairs, ids=[f"{rule}-{resource}" for rule, resource in pairs])


@pytest.fixture
def result(request: pytest.FixtureRequest, pair: tuple[str, str]) -> Result:
    """The verdict; without one, the test is skipped here or ends as an error."""
    results = {(entry["rule"], entry["kind"]): entry for entry in results_of(request.config)["results"]}
    if pair not in results:
        pytest.skip("not run: it was deselected, or needs writes")
    entry_found: Result = results[pair]
    if entry_found["verdict"] == Verdict.NOT_APPLICABLE or entry_found["waived"]:
        pytest.skip(explain(entry_found))
    if entry_found["verdict"] == Verdict.INCONCLUSIVE:
        pytest.fail(f"inconclusive: {explain(entry_found)}", pytrace=False)
    return entry_found


def test_rule(result: Result, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> None:
    warns = result["verdict"] == Verdict.WARN
    gates = result["verdict"] == Verdict.FAIL or (warns and option_value(request.config, "--strict"))
    if warns:
        record_property("warning", explain(result))
    if gates:
        pytest.fail(explain(result), pytrace=False)
