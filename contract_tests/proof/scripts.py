"""Whether the script of a finding shows the failure on the server that has the defect, and none on one without it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from urllib3 import HTTPHeaderDict

from contract_tests.evidence import Evidence
from contract_tests.exchange import OWN, Exchange
from contract_tests.proof import mocks
from contract_tests.proof.mocks import KEY, SECOND_KEY
from contract_tests.reports.repro import Script, script
from contract_tests.rules.observation import Violation
from contract_tests.run.outcome import Outcome
from contract_tests.run.verdicts import Result, observe
from link_management_contract import Contract, Resource, Rule

MARK = "ctscript-1z"
SECONDS = 60
STEP = re.compile(rb"^--- (\d+)\. [A-Z]+ (\S+).*\n", re.MULTILINE)


def shows(contract: Contract, outcome: Outcome, result: Result, switches: Mapping[str, Any]) -> bool:
    """Whether a script shows what was found, on a mock with these switches, but not on one without its defects.

    For a rule that one exchange decides, the rule itself judges what the script shows; for others, and where it takes
    several tries, its answers must differ between the two.
    """
    resource = contract.resources[result.resource]
    for finding in result.findings[:2]:
        made = script(outcome.base_url, result.rule, resource, finding, outcome.exchanges)
        wrong = _run(outcome.base_url, made, switches)
        right = _run(outcome.base_url, made, {**switches, "defects": []})
        if result.rule.decided_by == "state" or finding.exchange.attempts:
            if wrong != right:
                return True
        elif _breaks(result.rule, resource, made, wrong) and not _breaks(result.rule, resource, made, right):
            return True
    return False


def _run(base_url: str, made: Script, switches: Mapping[str, Any]) -> bytes:
    """What a script prints, without the times at which servers answer."""
    mocks.reset(base_url, **switches)
    keys = {"CONTRACT_API_KEY": KEY, "CONTRACT_SECOND_API_KEY": SECOND_KEY, "BASE_URL": base_url, "MARK": MARK}
    ended = subprocess.run(
        ["/bin/sh"], input=made.text.encode(), capture_output=True, env=os.environ | keys, check=False, timeout=SECONDS
    )
    return re.sub(rb"(?im)^date:.*\r?\n", b"", ended.stdout)


def _breaks(rule: Rule, resource: Resource, made: Script, printed: bytes) -> bool:
    """Whether what a script printed breaks a rule that one exchange decides."""
    evidence = Evidence(made.base_url, _exchanges(made, printed), markers={MARK})
    evidence.own[resource.name] |= {each.made_id for each in evidence.exchanges if each.made_id is not None}
    return any(isinstance(each, Violation) for each in observe(rule, resource, evidence))


def _exchanges(made: Script, printed: bytes) -> list[Exchange]:
    """The exchanges that a script has shown."""
    _, *parts = STEP.split(printed)
    exchanges = []
    for number, path, answer in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        shown = made.exchanges[int(number) - 1]
        request = shown.request
        last = path.decode().partition("?")[0].rpartition("/")[2]
        identifier = int(last) if last.isdecimal() else request.identifier
        asked = replace(request, path=path.decode().partition("?")[0], identifier=identifier)
        head, _, body = answer.partition(b"\r\n\r\n")
        while head.startswith(b"HTTP/1.1 1"):
            head, _, body = body.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = HTTPHeaderDict((name, text.strip()) for name, _, text in (line.partition(":") for line in lines))
        found = re.match(r"HTTP/\S+ (\d+)", status)
        answered = int(found[1]) if found else None
        redirects = ((answered, headers["Location"]),) if answered and "Location" in headers else ()
        body = body.removesuffix(b"\n")
        treated_as = shown.treated_as
        exchanges.append(
            Exchange(asked, int(number), answered, headers, body, redirects=redirects, treated_as=treated_as)
        )
    return [each for each in exchanges if each.request.identity == OWN]
