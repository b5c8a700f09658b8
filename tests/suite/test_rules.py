"""Each rule, put to the test where it is kept, where it is broken and where nothing can be said."""

from __future__ import annotations

from functools import cache

import lies_about_effects
import lies_about_pages
import lies_about_records
import pytest
from liar import BASE_URL, CONTRACT, Lie, honest, looks, verdicts

from contract_tests.evidence import Evidence
from contract_tests.survey import visitor
from contract_tests.verdicts import Result, Verdict, judge

LIES = lies_about_pages.LIES | lies_about_records.LIES | lies_about_effects.LIES
CASES = [(rule, kind, lie) for rule, lies in LIES.items() for kind, lie in lies]
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


@pytest.mark.parametrize(
    ("rule", "kind", "lie"), CASES, ids=[f"{rule}-{kind}-{number}" for number, (rule, kind, _) in enumerate(CASES)]
)
def test_a_server_that_breaks_a_rule_fails_by_the_rules_name(
    monkeypatch: pytest.MonkeyPatch, rule: str, kind: str, lie: Lie
) -> None:
    monkeypatch.setattr(visitor, "PAUSES", (0.0,))
    monkeypatch.setattr(visitor, "SETTLING", 0.0)
    monkeypatch.setattr("contract_tests.target.PAUSE", 0.0)
    result = verdicts(lie, kind)[rule]
    expected = Verdict.WARN if CONTRACT.rules[rule].level == "advisory" else Verdict.FAIL
    assert result.verdict is expected, result.reasons
    assert all(finding.expected and finding.received for finding in result.findings)


@pytest.mark.parametrize(("rule", "kind"), EVERY, ids=[f"{rule.id}-{kind}" for rule, kind in EVERY])
def test_a_rule_says_nothing_where_nothing_was_seen(rule: object, kind: str) -> None:
    result = judge(rule, CONTRACT.kinds[kind], Evidence(BASE_URL))  # type: ignore[arg-type]
    assert result.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
    assert result.reasons


def test_every_rule_has_a_server_that_breaks_it() -> None:
    assert set(LIES) == set(CONTRACT.rules)
    assert [rule for rule, lies in LIES.items() if not lies] == []


def test_a_rule_that_several_requests_decide_is_not_broken_by_one_visit_alone() -> None:
    rule, kind = CONTRACT.rules["lifecycle.deleted-record-is-not-read"], CONTRACT.kinds["splash-pages"]
    lie = LIES[rule.id][0][1]
    broken, _, _ = looks(lie, kind.name)
    kept, _, _ = looks(honest, kind.name)
    result = judge(rule, kind, broken, kept)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons == ("it seemed broken in one visit, but not in another",)
    assert result.findings
