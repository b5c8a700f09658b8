"""Each rule, put to the test where it is kept, where it is broken and where nothing can be said."""

from __future__ import annotations

from functools import cache
from zlib import crc32

import pytest
from faulty import BASE_URL, CONTRACT, honest, looks, survey_alone, verdicts

from contract_tests.evidence import Evidence
from contract_tests.explore import Exploration
from contract_tests.proof.trials import RECORDS
from contract_tests.run.verdicts import VIOLATED, Result, Verdict, judge
from mock_server import Settings
from mock_server.faults.defects import DEFECTS

EVERY = [(rule, resource) for rule in CONTRACT.rules.values() for resource in rule.resources]
ALONE = [each for each in EVERY if each[0].decided_by != "round"]  # tests/suite/test_overlap.py has the others
NAMES = [name for name, defect in DEFECTS.items() if CONTRACT.rules[defect.rule].decided_by != "round"]
NEVER_ON_AN_HONEST_SERVER = {"operations.reads-redirected-within-host"}


@cache
def honest_verdicts(resource: str) -> dict[str, Result]:
    return verdicts(honest, resource)


@pytest.mark.parametrize(("rule", "resource"), ALONE, ids=[f"{rule.id}-{resource}" for rule, resource in ALONE])
def test_a_rule_passes_on_an_honest_server_with_a_witness(rule: object, resource: str) -> None:
    result = honest_verdicts(resource)[rule.id]  # type: ignore[attr-defined]
    if result.rule.id in NEVER_ON_AN_HONEST_SERVER:
        assert result.verdict is Verdict.NOT_APPLICABLE
    else:
        assert (result.verdict, result.findings) == (Verdict.PASS, ())
        assert result.witnesses > 0, f"openapi.yaml: the resources of {result.rule.id} name {resource}: does it apply?"


@pytest.mark.parametrize(
    ("store", "name"),
    [
        *(("memory", name) for name in NAMES),
        *(pytest.param("redis", name, marks=pytest.mark.slow) for name in NAMES[::7]),
    ],
    indirect=["store"],
)
def test_a_server_with_a_defect_fails_by_its_rules_name_and_for_no_unrelated_reason(
    store: str, no_pauses: None, name: str
) -> None:
    defect = DEFECTS[name]
    seed = crc32(name.encode()) % 1000  # another one for each, so that all together meet many choices
    resources = defect.resources or CONTRACT.rules[defect.rule].resources
    records = RECORDS[seed % len(RECORDS)]
    settings = Settings(fixture="empty", records=records, grease=seed or None, defects=(name,))
    results: dict[str, Result] = {}
    for explore in (survey_alone, Exploration(CONTRACT, 170, seed)):
        results = verdicts(honest, resources[seed % len(resources)], settings, explore)
        if results[defect.rule].verdict in VIOLATED:
            break
    own = results[defect.rule]
    assert own.verdict in VIOLATED, (
        f"{defect.rule} says {own.verdict} ({'; '.join(own.reasons)}): does {name} break it whatever is chosen (needs)?"
    )
    assert own.verdict is (Verdict.WARN if own.rule.level == "advisory" else Verdict.FAIL)
    assert all(finding.expected and finding.received for finding in own.findings)
    others = {rule for rule, result in results.items() if result.verdict in VIOLATED} - {defect.rule, *defect.also}
    assert others == set(), (
        f"{sorted(others)} fail, too: if a server that is right could break them, correct their functions; if no server"
        f" can break {defect.rule} without them, add them to CONSEQUENCES in mock_server/faults/defects/consequences.py"
    )


@pytest.mark.parametrize(("rule", "resource"), EVERY, ids=[f"{rule.id}-{resource}" for rule, resource in EVERY])
def test_a_rule_says_nothing_where_nothing_was_seen(rule: object, resource: str) -> None:
    result = judge(rule, CONTRACT.resources[resource], Evidence(BASE_URL))  # type: ignore[arg-type]
    assert result.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
    assert result.reasons


def test_a_defect_takes_along_rules_of_the_contract_alone() -> None:
    assert all(defect.also <= set(CONTRACT.rules) for defect in DEFECTS.values())


def test_a_rule_that_several_requests_decide_is_not_broken_by_one_visit_alone(no_pauses: None) -> None:
    rule, resource = CONTRACT.rules["lifecycle.deleted-record-is-not-read"], CONTRACT.resources["splash-pages"]
    broken, _, _ = looks(honest, resource.name, Settings(fixture="empty", records=28, defects=("deletes-do-nothing",)))
    kept, _, _ = looks(honest, resource.name)
    result = judge(rule, resource, broken, kept)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons == ("it seemed broken in one visit, but not in another",)
    assert result.findings
