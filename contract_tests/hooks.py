"""The contract's rules as a check for Schemathesis itself: `SCHEMATHESIS_HOOKS=contract_tests.hooks st run ...`."""

import os
from dataclasses import replace
from typing import Any

import schemathesis
from schemathesis.core.failures import CustomFailure, FailureGroup

from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.exchange import OWN_KEY, Exchange, Expect
from contract_tests.evidence.observation import Violation
from contract_tests.har import judged_as_documented, request_at
from contract_tests.target.identities import NOBODY
from contract_tests.verdicts.verdicts import observe
from link_management_contract import shipped_contract

CONTRACT = shipped_contract()
RULES = [rule for rule in CONTRACT.rules.values() if rule.decided_by == "exchange" and rule.level != "advisory"]


@schemathesis.check
def contract_rules(
    _ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    """Judge one answer by the rules that need no more than one.

    Raises:
        FailureGroup: one failure for each rule that the answer violates, titled with the rule's id.
    """
    recognised = request_at(CONTRACT, case.method, str(response.request.url))
    if recognised is None:
        return
    base_url, resource, request = recognised
    identity = OWN_KEY if "Authorization" in response.request.headers else NOBODY
    request = replace(request, identity=identity, expects=Expect.OPEN)
    headers = {name: values[-1] for name, values in response.headers.items()}
    exchange = judged_as_documented(Exchange(request, 1, response.status_code, headers, response.content), resource)
    evidence = Evidence(resource, base_url, [exchange], public_base_url=os.environ.get("CONTRACT_PUBLIC_BASE_URL"))
    failures = []
    for rule in RULES:
        if resource.name in rule.resources:
            broken = [observation for observation in observe(rule, evidence) if isinstance(observation, Violation)]
            failures += [
                CustomFailure(
                    operation=case.operation.label,
                    title=rule.id,
                    message=f"required: {rule.statement}\nexpected: {first.expected}\nreceived: {first.received}",
                    exception=AssertionError(rule.id),
                )
                for first in broken[:1]
            ]
    if failures:
        raise FailureGroup(failures)
