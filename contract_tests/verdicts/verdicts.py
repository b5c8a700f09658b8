"""From observations to verdicts, one for each rule and resource, and to one word for all."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import contract_tests.overlap.rules
import contract_tests.rules  # noqa: F401 - both register their rules
from contract_tests.errors import BROKEN, FAILED, INTERRUPTED, UNDECIDED, UNUSABLE
from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.exchange import Exchange
from contract_tests.evidence.masking import Masking
from contract_tests.evidence.observation import (
    DECISIONS,
    OTHERS_WROTE,
    NotApplicable,
    Observation,
    Satisfied,
    Undecided,
    Violation,
)
from contract_tests.target.ledger_file import Entry
from contract_tests.verdicts.open_points import observed_choices
from link_management_contract import Rule


class Verdict(StrEnum):
    """What a run concludes about a rule, from the strongest to the weakest."""

    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    WARN = "warn"
    PASS = "pass"  # noqa: S105 - a verdict
    NOT_APPLICABLE = "not applicable"


ONE_VISIT_ALONE = "it seemed broken in one visit, but not in another"
CLEAN_VISITS = 3  # without what seemed broken in another
VIOLATED = (Verdict.FAIL, Verdict.WARN)  # the verdicts on a rule that was found violated


@dataclass(frozen=True)
class Result:
    """The verdict on one rule for one resource.

    Attributes:
        witnesses: how often the rule was tested and satisfied.
        findings: contrary evidence of the first visit and of the second.
        reasons: why the rule could not be decided, or does not apply.
        waived: why it may fail, or stay undecided, for a time; empty if it may not.
        seconds: how long the answers took that it rests on.
        unjudged: what was not judged because the run lacked an option; empty otherwise.
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
        return f"{self.rule.id}[{self.resource}]"


@dataclass(frozen=True)
class ShortestSteps:
    """The fewest requests that were found to show a finding, as they were sent, and what they show."""

    finding: Violation
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        started_at: when, in seconds since 1970.
        word: *conforms*, *does not conform*, *undecided*, *partial: no claim* or *interrupted: no claim*; with records
            left behind, it says so.
        status: the exit status that goes with it.
        not_run: how many more results there might have been.
        tries: exchanges that no rule judges: tries before the one that counts, and witnesses.
        created: how many records the run made.
        left: what it made and could not remove.
        not_judged: what the word does not cover.
        harm: what a write hit elsewhere; then nothing more was written.
        notes: what every client runs into though no rule forbids it.
        stale: what is wrong with the waivers.
        exceeded: the limits of the command line that were exceeded, with the requests.
        public_base_url: what page links had to begin with, if not the base URL.
        script_statuses: by the id of a result, the exit status of its script when the run tried it.
        shortest: by the id of a rule, the first resource for which its finding was tried again, and what that took.
        shown_again: by the id of a result, how often its finding showed again, where it did not always.
    """

    base_url: str
    version: str
    started_at: float
    seconds: float
    word: str
    status: int
    results: tuple[Result, ...]
    exchanges: tuple[Exchange, ...]
    requests: int
    not_run: int
    tries: tuple[Exchange, ...] = ()
    created: int = 0
    left: tuple[Entry, ...] = ()
    harm: str = ""
    strict: bool = False
    insecure: bool = False
    not_judged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    exceeded: tuple[str, ...] = ()
    interrupted: bool = False
    public_base_url: str | None = None
    script_statuses: Mapping[str, int] = field(default_factory=dict)
    shortest: Mapping[str, tuple[str, ShortestSteps]] = field(default_factory=dict)
    shown_again: Mapping[str, str] = field(default_factory=dict)
    masking: Masking = field(default_factory=lambda: Masking.of({}, []))

    @property
    def headline(self) -> str:
        """What was hit that is not the run's, the word, and how many rules and resources warnings are about."""
        warned = sum(result.verdict is Verdict.WARN and not result.waived for result in self.results)
        word = f"{self.word}, with {warned} warning{'s' * (warned > 1)}" if warned else self.word
        return f"{self.harm}: {word}" if self.harm else word

    @property
    def verdict(self) -> str:
        """The headline, and what it does not cover."""
        return f"{self.headline}; not judged: {', '.join(self.not_judged)}" if self.not_judged else self.headline

    @property
    def server_errors(self) -> list[Exchange]:
        """The answers with a status of 5xx, those to earlier tries included."""
        return [exchange for exchange in (*self.exchanges, *self.tries) if exchange.is_server_error]

    @property
    def failing(self) -> list[Result]:
        return first_violated(self.results)

    @property
    def failed(self) -> list[Result]:
        return [result for result in self.results if result.verdict is Verdict.FAIL and not result.waived]

    @cached_property
    def choices_seen(self) -> dict[str, Counter[str]]:
        return observed_choices(self.exchanges)


def first_violated(results: Iterable[Result]) -> list[Result]:
    """The first result of each rule that was found violated."""
    first: dict[str, Result] = {}
    for result in results:
        if result.verdict in VIOLATED:
            first.setdefault(result.rule.id, result)
    return list(first.values())


def observe(rule: Rule, evidence: Evidence) -> list[Observation]:
    return list(DECISIONS[rule.id](evidence))


def is_violated(rule: Rule, evidence: Evidence) -> bool:
    """Whether a rule seems violated in this evidence, of one visit."""
    return any(isinstance(observation, Violation) for observation in observe(rule, evidence))


def unsettled(results: Iterable[Result]) -> list[Rule]:
    """The rules that another visit may decide, where nobody else writes or as a third; none once one has failed."""
    result_list = list(results)
    if any(result.verdict is Verdict.FAIL for result in result_list):
        return []
    undecided = (result for result in result_list if result.verdict is Verdict.INCONCLUSIVE)
    return [
        result.rule
        for result in undecided
        if result.rule.level != "advisory" and {OTHERS_WROTE.reason, ONE_VISIT_ALONE} & set(result.reasons)
    ]


def doubts(results: Iterable[Result], evidence: Evidence) -> dict[Rule, bool]:
    """The rules that several requests decide and that seem violated, each with whether only exploration shows it."""
    only_explored = {}
    for result in results:
        if result.rule.decided_by == "state" and result.findings:
            first = min(finding.exchange.number for finding in result.findings)
            only_explored[result.rule] = evidence.explored_from is not None and first > evidence.explored_from
    return only_explored


def judge(rule: Rule, *visits: Evidence) -> Result:
    """The verdict on a rule for the resource of one visit, or of several.

    A rule that several requests decide fails only if all visits show a violation. What one visit shows and three do not
    was somebody else's doing, or passed.
    """
    by_visit = [observe(rule, evidence) for evidence in visits]
    pooled = [observation for observations in by_visit for observation in observations]
    exchanges = {
        observation.exchange.number: observation.exchange
        for observation in pooled
        if isinstance(observation, Satisfied | Violation)
    }
    findings = _distinct(observation for observation in pooled if isinstance(observation, Violation))
    violated = [any(isinstance(observation, Violation) for observation in observations) for observations in by_visit]
    clean = [
        not is_violated_there and any(isinstance(observation, Satisfied) for observation in observations)
        for is_violated_there, observations in zip(violated, by_visit, strict=True)
    ]
    result = Result(
        rule,
        visits[0].resource.name,
        Verdict.PASS,
        witnesses=sum(isinstance(observation, Satisfied) for observation in pooled),
        findings=findings,
        seconds=sum(exchange.seconds for exchange in exchanges.values()),
    )
    if sum(violated) == 1 and sum(clean) >= CLEAN_VISITS and rule.decided_by == "state":
        return replace(result, findings=())
    if findings and (rule.decided_by != "state" or (all(violated) and len(violated) > 1)):
        return replace(result, verdict=Verdict.WARN if rule.level == "advisory" else Verdict.FAIL)
    if findings:
        reason = ONE_VISIT_ALONE if any(clean) else f"it seemed broken in one visit, {_other_visit_note(len(visits))}"
        return replace(result, verdict=Verdict.INCONCLUSIVE, reasons=(reason,))
    if result.witnesses:
        return result
    absent = [observation for observation in pooled if isinstance(observation, NotApplicable)]
    is_cut_short = bool(visits[0].notes) and visits[0].explored_from is None  # what is not there may only not have come
    if absent and (absent[0].unjudged or not is_cut_short):
        reasons = tuple(dict.fromkeys(observation.reason for observation in absent))
        return replace(result, verdict=Verdict.NOT_APPLICABLE, reasons=reasons, unjudged=absent[0].unjudged)
    undecided = [observation.reason for observation in pooled if isinstance(observation, Undecided)]
    reasons = tuple(dict.fromkeys([*undecided, *(note for evidence in visits for note in evidence.notes)]))
    return replace(
        result, verdict=Verdict.INCONCLUSIVE, reasons=reasons or ("nothing that this rule covers was observed",)
    )


def _other_visit_note(visits: int) -> str:
    return "and another could not tell" if visits > 1 else "and there was no other"


def _distinct(findings: Iterable[Violation]) -> tuple[Violation, ...]:
    """Findings without repetitions of the same finding about the same request."""
    distinct: dict[tuple[str, ...], Violation] = {}
    for finding in findings:
        request = finding.exchange.request
        distinct.setdefault(
            (request.method, request.target, request.identity, finding.expected, finding.received), finding
        )
    return tuple(distinct.values())


def overall(  # noqa: PLR0913 - each of these affects the one word
    results: Iterable[Result],
    *,
    partial: bool,
    strict: bool,
    stale: bool = False,
    exceeded: bool = False,
    left: bool = False,
    interrupted: bool = False,
    is_gone: bool = False,
) -> tuple[str, int]:
    word, status = _word(list(results), partial=partial, strict=strict)
    if is_gone and status != FAILED:
        word, status = "the server is gone: no claim", UNUSABLE
    elif interrupted:
        word, status = "interrupted: no claim", INTERRUPTED
    elif stale and status != FAILED:
        word, status = "a waiver is stale", FAILED
    if exceeded and not (is_gone or interrupted):
        word, status = f"{word}, {'and' if status == FAILED else 'but'} a limit is exceeded", FAILED
    if not left:
        return word, status
    return f"{word}, with records left behind", status if status in (FAILED, UNUSABLE) else BROKEN


def _word(results: list[Result], *, partial: bool, strict: bool) -> tuple[str, int]:
    verdicts = {result.verdict for result in results if not result.waived}
    if Verdict.FAIL in verdicts or (strict and Verdict.WARN in verdicts):
        return "does not conform", FAILED
    undecided = [result for result in results if result.verdict is Verdict.INCONCLUSIVE and not result.waived]
    if any(strict or result.rule.level != "advisory" for result in undecided):
        return "undecided", UNDECIDED
    if partial:
        return "partial: no claim", 0
    return ("conforms but for what is waived" if any(result.waived for result in results) else "conforms"), 0


def unjudged(results: Iterable[Result]) -> list[str]:
    """What a verdict does not cover, though its word may be *conforms*: each with the reason in brackets."""
    result_list = list(results)
    missing = [f"{result.unjudged} ({result.reasons[0]})" for result in result_list if result.unjudged]
    advisory = sum(result.verdict is Verdict.INCONCLUSIVE and result.rule.level == "advisory" for result in result_list)
    return list(dict.fromkeys(missing)) + ([f"{advisory} advisory checks (undecided)"] if advisory else [])


def possible(rules: Iterable[Rule]) -> int:
    return sum(len(rule.resources) for rule in rules)
