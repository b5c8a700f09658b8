"""The command `contract-tests judge`."""

from time import time

from contract_tests.errors import NothingSelectedError
from contract_tests.evidence.evidence import Evidence
from contract_tests.har import Recording, read
from contract_tests.options import JudgeOptions
from contract_tests.output import complain, say
from contract_tests.reports import results, terminal
from contract_tests.verdicts.verdicts import VIOLATED, Outcome, Verdict, judge, overall, possible
from link_management_contract import Contract


def judge_command(contract: Contract, options: JudgeOptions) -> int:
    """Judge recorded exchanges by the rules that one exchange decides.

    Returns:
        0 if none of these rules is violated, else 1.

    Raises:
        UsageError: if the file is not an HTTP archive.
        NothingSelectedError: if it holds no exchange with such a service.
    """
    recording = read(options.file, contract, options.base_url)
    for reason, count in recording.skip_counts.items():
        complain(f"{count} of the entries passed over: {reason}")
    if not recording.exchanges:
        at = f" at {options.base_url}" if options.base_url else ""
        raise NothingSelectedError(f"none of the {recording.count} exchanges in {options.file} belongs to this API{at}")
    outcome = outcome_of(contract, recording, strict=options.strict, public_base_url=options.public_base_url)
    say(f"{len(recording.exchanges)} of {recording.count} exchanges are with {recording.base_url}\n")
    terminal.show(results.as_dict(outcome), terminal.TerminalConsole(), verbose=options.verbose)
    return outcome.status


def outcome_of(contract: Contract, recording: Recording, *, strict: bool, public_base_url: str | None) -> Outcome:
    """The outcome of recorded exchanges; a rule that they do not decide counts as not run."""
    evidence_by_resource = {
        name: Evidence(resource, recording.base_url, list(recording.exchanges), public_base_url=public_base_url)
        for name, resource in contract.resources.items()
    }
    results = [
        judge(rule, evidence_by_resource[name])
        for rule in contract.rules.values()
        if rule.decided_by == "exchange"
        for name in rule.resources
    ]
    decided = [result for result in results if result.verdict in (Verdict.PASS, *VIOLATED)]
    word, status = overall(decided, partial=True, strict=strict)
    left_out = possible(contract.rules.values()) - len(decided)
    return Outcome(
        base_url=recording.base_url,
        version=contract.version,
        started_at=time(),
        seconds=0.0,
        word=word,
        status=status,
        results=tuple(decided),
        exchanges=recording.exchanges,
        requests=len(recording.exchanges),
        not_run=left_out,
        not_judged=(f"{left_out} checks (they need several requests, or others than are recorded)",),
        strict=strict,
    )
