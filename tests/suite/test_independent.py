"""An implementation that shares nothing with the mock conforms."""

from __future__ import annotations

import pytest
from faulty import CONTRACT, FaultyTarget, honest
from independent import IndependentServer
from werkzeug.test import Client as WsgiClient

from contract_tests.survey.visit import visit
from contract_tests.survey.visitor import Visitor
from contract_tests.verdicts.verdicts import Verdict, judge
from mock_server import Settings


@pytest.mark.parametrize(  # none, just a page, several pages; and others
    "records", [0, 10, 120, *(pytest.param(number, marks=pytest.mark.exhaustive) for number in (3, 25, 33, 40))]
)
def test_an_implementation_that_shares_nothing_with_the_mock_conforms(
    monkeypatch: pytest.MonkeyPatch, records: int
) -> None:
    monkeypatch.setattr("contract_tests.survey.waits.SETTLING", 0.0)
    target = FaultyTarget(honest, Settings(fixture="empty"))
    target.wsgi = WsgiClient(IndependentServer(records))
    for resource in CONTRACT.resources.values():
        rules = [
            rule for rule in CONTRACT.rules.values() if resource.name in rule.resources and rule.decided_by != "round"
        ]
        evidence = visit(Visitor(target, resource))
        results = [judge(rule, evidence) for rule in rules]
        kept = (Verdict.PASS, Verdict.NOT_APPLICABLE)
        broken = [(each.id, each.findings, each.reasons) for each in results if each.verdict not in kept]
        assert broken == [], f"tests/independent.py breaks {[each[0] for each in broken]}: let it keep them"
    assert target.ledger.left == []
