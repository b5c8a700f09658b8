"""From observations to verdicts, one for each rule and resource, and to one word for all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from contract_tests.errors import BROKEN, FAILED, INTERRUPTED, UNDECIDED
from contract_tests.evidence import Evidence
from contract_tests.rules import judge_of
from contract_tests.rules.observation import NotApplicable, Observation, Satisfied, Undecided, Violation
from link_management_contract import Resource, Rule


class Verdict(StrEnum):
    """What a run concludes about a rule, from the strongest to the weakest."""

    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    WARN = "warn"
    PASS = "pass"  # noqa: S105 - a verdict
    NOT_APPLICABLE = "not applicable"


VIOLATED = (Verdict.FAIL, Verdict.WARN)  # the verdicts on a rule that was found violated


@dataclass(frozen=True)
class Result:
    """The verdict on one rule for one resource.

    Attributes:
        witnesses: how often the rule was tested and satisfied.
        findings: contrary evidence of the first visit and of the second.
        reasons: why the rule could not be decided, or does not apply.
        waived: why a failure is allowed for a time; empty if it is not.
        seconds: how long the answers took that it rests on.
        unjudged: what was not judged because the run was not given something; empty otherwise.
    """

    rule: Rule
    resource: str
    verdict: Verdict
    witnesses: int = 0
    findings: tuple[Violation, ...] = ()
    reasons: tuple[str, ...] = ()
    waived: str = ""
    unjudged: str = ""
    seconds: float = 0.0

    @property
    def is_certain_failure(self) -> bool:
        """Whether no further evidence can change that it fails."""
        return self.rule.decided_by == "exchange" and self.verdict is Verdict.FAIL

    @property
    def id(self) -> str:
        """A name to select the result by."""
        return f"{self.rule.id}[{self.resource}]"


def observe(rule: Rule, resource: Resource, evidence: Evidence) -> list[Observation]:
    """All that a rule finds in one visit's evidence."""
    return list(judge_of(rule)(evidence, resource))


def doubts(results: Iterable[Result], evidence: Evidence) -> dict[Rule, bool]:
    """The rules that several requests decide and that seem violated, each with whether only exploration shows it.

    Args:
        results: the verdicts on a first visit.
        evidence: what it saw.
    """
    found = {}
    for each in results:
        if each.rule.decided_by == "state" and each.findings:
            first = min(finding.exchange.number for finding in each.findings)
            found[each.rule] = evidence.explored_from is not None and first > evidence.explored_from
    return found


def judge(rule: Rule, resource: Resource, first: Evidence, second: Evidence | None = None) -> Result:
    """The verdict on a rule for one resource.

    Args:
        rule: the rule.
        resource: the resource.
        first: what the first visit saw.
        second: what a second visit saw, if there was one. A rule that several requests decide fails only if both
            visits show a violation.
    """
    looks = [observe(rule, resource, evidence) for evidence in (first, second) if evidence is not None]
    seen = {each.exchange.number: each.exchange for look in looks for each in look if hasattr(each, "exchange")}
    return replace(_judge(rule, resource, looks, (first, second)), seconds=sum(each.seconds for each in seen.values()))


def _judge(
    rule: Rule, resource: Resource, looks: list[list[Observation]], visits: tuple[Evidence, Evidence | None]
) -> Result:
    every = [observation for look in looks for observation in look]
    findings = _once(each for each in every if isinstance(each, Violation))
    witnesses = sum(isinstance(each, Satisfied) for each in every)
    again = all(any(isinstance(each, Violation) for each in look) for look in looks) and len(looks) > 1
    if findings and (rule.decided_by != "state" or again):
        verdict = Verdict.WARN if rule.level == "advisory" else Verdict.FAIL
        return Result(rule, resource.name, verdict, witnesses, findings)
    if findings:
        reason = "it seemed broken in one visit, " + (
            "but not in another" if len(looks) > 1 else "and there was no other"
        )
        return Result(rule, resource.name, Verdict.INCONCLUSIVE, witnesses, findings, (reason,))
    if witnesses:
        return Result(rule, resource.name, Verdict.PASS, witnesses)
    absent = [each for each in every if isinstance(each, NotApplicable)]
    if absent:
        reasons = tuple(dict.fromkeys(each.reason for each in absent))
        return Result(rule, resource.name, Verdict.NOT_APPLICABLE, reasons=reasons, unjudged=absent[0].unjudged)
    notes = [note for evidence in visits if evidence for note in evidence.notes.get(resource.name, [])]
    unclear = [each.reason for each in every if isinstance(each, Undecided)]
    reasons = tuple(dict.fromkeys([*unclear, *notes])) or ("nothing that it speaks of was seen",)
    return Result(rule, resource.name, Verdict.INCONCLUSIVE, reasons=reasons)


def _once(findings: Iterable[Violation]) -> tuple[Violation, ...]:
    """Findings without repetitions of the same finding about the same request."""
    told: dict[tuple[str, ...], Violation] = {}
    for each in findings:
        request = each.exchange.request
        told.setdefault((request.method, request.target, request.identity, each.expected, each.received), each)
    return tuple(told.values())


def overall(  # noqa: PLR0913 - each of these affects the one word
    results: Iterable[Result],
    *,
    partial: bool,
    strict: bool,
    stale: bool = False,
    left: bool = False,
    interrupted: bool = False,
) -> tuple[str, int]:
    """One word for all results, and the exit status that goes with it.

    Args:
        results: the verdicts.
        partial: whether some rules or resources were left out.
        strict: whether advisory rules can fail the run.
        stale: whether a waiver is no longer of use.
        left: whether something that the run made is left behind.
        interrupted: whether the run was interrupted.
    """
    word, status = _overall(list(results), partial=partial, strict=strict)
    if interrupted:
        word, status = "interrupted: no claim", INTERRUPTED
    elif stale and status != FAILED:
        word, status = "a waiver is stale", FAILED
    if not left:
        return word, status
    return f"{word}, with records left behind", status if status == FAILED else BROKEN


def _overall(results: list[Result], *, partial: bool, strict: bool) -> tuple[str, int]:
    verdicts = {result.verdict for result in results if not result.waived}
    if Verdict.FAIL in verdicts or (strict and Verdict.WARN in verdicts):
        return "does not conform", FAILED
    if any(each.verdict is Verdict.INCONCLUSIVE and (strict or each.rule.level != "advisory") for each in results):
        return "undecided", UNDECIDED
    if partial:
        return "partial: no claim", 0
    return ("conforms but for what is waived" if any(each.waived for each in results) else "conforms"), 0


def unjudged(results: Iterable[Result]) -> list[str]:
    """What a verdict does not cover, though its word may be *conforms*: each with the reason in brackets."""
    every = list(results)
    missing = [f"{each.unjudged} ({each.reasons[0]})" for each in every if each.unjudged]
    advisory = sum(each.verdict is Verdict.INCONCLUSIVE and each.rule.level == "advisory" for each in every)
    return list(dict.fromkeys(missing)) + ([f"{advisory} advisory results (undecided)"] if advisory else [])
