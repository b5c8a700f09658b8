"""Each rule, put to the test where it is kept, where it is broken and where nothing can be said."""

from __future__ import annotations

from functools import cache

import pytest
from faulty import BASE_URL, CONTRACT, honest, looks, survey_alone, verdicts

from contract_tests.evidence import Evidence
from contract_tests.explore import Exploration
from contract_tests.proof.trials import RECORDS
from contract_tests.run.verdicts import VIOLATED, Result, Verdict, judge
from mock_server import Settings
from mock_server.faults.defects import DEFECTS

EVERY = [(rule, kind) for rule in CONTRACT.rules.values() for kind in rule.resources]
NEVER_ON_AN_HONEST_SERVER = {"operations.reads-redirected-within-host"}


@cache
def honest_verdicts(kind: str) -> dict[str, Result]:
    return verdicts(honest, kind)


@pytest.mark.parametrize(("rule", "kind"), EVERY, ids=[f"{rule.id}-{kind}" for rule, kind in EVERY])
def test_a_rule_passes_on_an_honest_server_with_a_witness(rule: object, kind: str) -> None:
    result = honest_verdicts(kind)[rule.id]  # type: ignore[attr-defined]
    if result.rule.id in NEVER_ON_AN_HONEST_SERVER:
        assert result.verdict is Verdict.NOT_APPLICABLE
    else:
        assert (result.verdict, result.findings) == (Verdict.PASS, ())
        assert result.witnesses > 0


@pytest.mark.parametrize("name", DEFECTS)
def test_a_server_with_a_defect_fails_by_its_rules_name_and_for_no_unrelated_reason(no_pauses: None, name: str) -> None:
    defect = DEFECTS[name]
    seed = list(DEFECTS).index(name)  # another one for each, so that all together meet many choices
    kinds = defect.kinds or CONTRACT.rules[defect.rule].resources
    records = RECORDS[seed % len(RECORDS)]
    settings = Settings(fixture="empty", records=records, grease=seed or None, defects=(name,))
    results: dict[str, Result] = {}
    for explore in (survey_alone, Exploration(CONTRACT, 170, seed)):
        results = verdicts(honest, kinds[seed % len(kinds)], settings, explore)
        if results[defect.rule].verdict in VIOLATED:
            break
    own = results[defect.rule]
    assert own.verdict is (Verdict.WARN if own.rule.level == "advisory" else Verdict.FAIL), own.reasons
    assert all(finding.expected and finding.received for finding in own.findings)
    assert {rule for rule, result in results.items() if result.verdict in VIOLATED} <= {defect.rule, *defect.also}


@pytest.mark.parametrize(("rule", "kind"), EVERY, ids=[f"{rule.id}-{kind}" for rule, kind in EVERY])
def test_a_rule_says_nothing_where_nothing_was_seen(rule: object, kind: str) -> None:
    result = judge(rule, CONTRACT.kinds[kind], Evidence(BASE_URL))  # type: ignore[arg-type]
    assert result.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
    assert result.reasons


def test_every_rule_has_a_defect_that_breaks_it_and_there_are_200_at_least() -> None:
    assert {defect.rule for defect in DEFECTS.values()} == set(CONTRACT.rules)
    assert len(DEFECTS) >= 200
    assert all(defect.also <= set(CONTRACT.rules) for defect in DEFECTS.values())


def test_a_rule_that_several_requests_decide_is_not_broken_by_one_visit_alone(no_pauses: None) -> None:
    rule, kind = CONTRACT.rules["lifecycle.deleted-record-is-not-read"], CONTRACT.kinds["splash-pages"]
    broken, _, _ = looks(honest, kind.name, Settings(fixture="empty", records=28, defects=("deletes-do-nothing",)))
    kept, _, _ = looks(honest, kind.name)
    result = judge(rule, kind, broken, kept)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons == ("it seemed broken in one visit, but not in another",)
    assert result.findings
