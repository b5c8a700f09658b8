"""The command `contract-tests judge`."""

from __future__ import annotations

import argparse
from time import time

from contract_tests.errors import NothingSelectedError
from contract_tests.evidence import Evidence
from contract_tests.reports import results, terminal
from contract_tests.reports.screen import Screen, complain, say
from contract_tests.run.outcome import Outcome
from contract_tests.run.recorded import Recording, read
from contract_tests.run.runner import possible
from contract_tests.run.verdicts import VIOLATED, Result, Verdict, judge, overall
from link_management_contract import Contract


def judge_command(contract: Contract, given: argparse.Namespace) -> int:
    """Judge recorded exchanges by the rules that one exchange decides.

    Args:
        contract: the rules.
        given: the options from the command line.

    Returns:
        0 if none of these rules is violated, else 1.

    Raises:
        UsageError: if the file is not an HTTP archive.
        NothingSelectedError: if it holds no exchange with such a service.
    """
    recording = read(given.file, contract, given.base_url and given.base_url.rstrip("/"))
    for reason, count in recording.passed_over.items():
        complain(f"{count} of the entries passed over: {reason}")
    if not recording.exchanges:
        place = f" at {given.base_url}" if given.base_url else ""
        raise NothingSelectedError(f"none of the {recording.every} exchanges in {given.file} is one of this API{place}")
    outcome = outcome_of(contract, recording, strict=given.strict, public_base_url=given.public_base_url)
    say(f"{len(recording.exchanges)} of {recording.every} exchanges are with {recording.base_url}\n")
    terminal.show(results.as_dict(outcome), Screen(), verbose=given.verbose)
    return outcome.status


def outcome_of(contract: Contract, recording: Recording, *, strict: bool, public_base_url: str | None) -> Outcome:
    """The outcome of recorded exchanges; a rule that they do not decide counts as not run."""
    evidence = Evidence(recording.base_url, list(recording.exchanges), public_base_url=public_base_url)
    judged: list[Result] = []
    for rule in contract.rules.values():
        if rule.decided_by == "exchange":
            judged += [judge(rule, contract.resources[name], evidence) for name in rule.resources]
    decided = [each for each in judged if each.verdict in (Verdict.PASS, *VIOLATED)]
    word, status = overall(decided, partial=True, strict=strict)
    left_out = possible(contract.rules.values()) - len(decided)
    return Outcome(
        base_url=recording.base_url,
        version=contract.version,
        began=time(),
        seconds=0.0,
        word=word,
        status=status,
        results=tuple(decided),
        exchanges=recording.exchanges,
        requests=len(recording.exchanges),
        not_run=left_out,
        not_judged=(f"{left_out} results (they need several requests, or others than are recorded)",),
        strict=strict,
    )
