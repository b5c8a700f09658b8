"""A run: visits to each resource, a second visit where one is needed, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from time import time

from contract_tests.contract import Contract, Resource, Rule
from contract_tests.errors import NothingSelectedError, UnusableTargetError, UsageError
from contract_tests.evidence import Evidence
from contract_tests.masking import Masking
from contract_tests.open_points import remarks
from contract_tests.run import waivers
from contract_tests.run.options import Options
from contract_tests.run.outcome import Outcome
from contract_tests.run.verdicts import Result, Verdict, judge, needs_second_look, overall, unjudged
from contract_tests.survey import Visitor, visit
from contract_tests.target.identities import WRONG, identities
from contract_tests.target.ledger import Ledger
from contract_tests.target.preflight import preflight
from contract_tests.target.target import TIME_UP, BudgetSpentError, Target

MOST_TOLD = 5  # findings reported of one rule and resource
TOO_MANY = "the server says that there were too many requests"
Progress = Callable[[str, int], None]
Chosen = list[tuple[Rule, Resource]]
Explore = Callable[[Visitor], None]


def selected(contract: Contract, options: Options) -> Chosen:
    """The rules to judge, each with each of its resources.

    Raises:
        NothingSelectedError: if there are none.
    """
    unused = [each for each in options.rules if not any(fnmatchcase(rule, each) for rule in contract.rules)]
    if unused:
        raise NothingSelectedError(f'no rule of the contract matches "{unused[0]}"; areas are chosen as pagination.*')
    chosen = [
        (rule, contract.resources[name])
        for rule in contract.rules.values()
        if not options.rules or any(fnmatchcase(rule.id, pattern) for pattern in options.rules)
        for name in rule.resources
        if not options.resources or name in options.resources
    ]
    if not chosen:
        raise NothingSelectedError("no rule of the contract matches what was selected")
    return chosen


def run(
    contract: Contract,
    options: Options,
    ledger: Ledger | None = None,
    progress: Progress = lambda _chapter, _requests: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Judge an implementation.

    Args:
        contract: the rules.
        options: what to judge, and how.
        ledger: where creates are noted; if None, only in memory.
        progress: called with each chapter and the number of requests so far.
        interrupted: whether the run must end; what it made is then removed.

    Raises:
        NothingSelectedError: if there is nothing to judge.
        UnusableTargetError: if nothing can be judged there.
        KeyboardInterrupt: if the run had to end.
    """
    chosen, began = selected(contract, options), time()
    target = _target(options, ledger or Ledger(), progress, interrupted)
    _preflight(target, contract)
    visit_kind = partial(visit, target, explore=_exploration(contract, options))
    judged = _Judged()
    try:
        for resource in contract.resources.values():
            rules = [rule for rule, of in chosen if of is resource]
            if rules:
                judged.begin(rules, resource)
                _look(visit_kind, judged, options, lambda chapter: progress(chapter, target.sent))
    except (Exception, KeyboardInterrupt):
        if not interrupted():  # otherwise the interrupt may have hit code that expects no exceptions
            raise
        judged.is_whole = False
    target.close()
    return _outcome(contract, options, target, judged, began)


def _target(options: Options, ledger: Ledger, progress: Progress, interrupted: Callable[[], bool]) -> Target:
    keys = identities(options.api_key, options.second_api_key)
    target = Target(options.base_url, keys, ledger, options.limits, options.connection)
    target.interrupted = interrupted
    target.waiting = lambda seconds: progress(f"{TOO_MANY}: waiting for {seconds:.3g} s", target.sent)
    return target


def _preflight(target: Target, contract: Contract) -> None:
    try:
        preflight(target, contract.resources.values())
    except BudgetSpentError as error:
        if str(error) == TIME_UP:
            raise UnusableTargetError(f"{error} before its lists could be read") from error
        raise UsageError(f"{error} before the lists could be read; allow more") from error


class _Judged:
    """The evidence of the visits to each resource, and the verdicts on it.

    Attributes:
        is_whole: whether each resource was visited to the end.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self._kinds: list[tuple[list[Rule], Resource, list[Evidence]]] = []

    def begin(self, rules: list[Rule], resource: Resource) -> None:
        """Begin another resource."""
        self._kinds.append((rules, resource, []))

    @property
    def latest(self) -> tuple[list[Rule], Resource, list[Evidence]]:
        """The latest rules and resource, and the evidence of its visits."""
        return self._kinds[-1]

    @property
    def results(self) -> list[Result]:
        """The verdicts."""
        return [judge(rule, resource, *looks) for rules, resource, looks in self._kinds if looks for rule in rules]

    @property
    def notes(self) -> list[str]:
        """Why something could not be tried, by resource."""
        told = [
            (resource.name, note)
            for _, resource, looks in self._kinds
            for each in looks
            for note in each.notes[resource.name]
        ]
        return [f"the rest of {resource} ({note})" for resource, note in dict.fromkeys(told)]


def _outcome(contract: Contract, options: Options, target: Target, judged: _Judged, began: float) -> Outcome:
    """The outcome of the results, with secrets masked and waived failures marked."""
    ledger, masking, results = target.ledger, _masking(options, target.ledger), judged.results
    if options.limits.read_only:
        results = [each for each in results if each.verdict is not Verdict.INCONCLUSIVE or each.findings]
    told = [_told(result, masking) for result in results]
    marked, stale = waivers.apply(options.waivers, told, contract, datetime.now(UTC).date())
    not_run = possible(contract) - len(marked)
    word, status = overall(
        marked,
        partial=not_run > 0,
        strict=options.strict,
        stale=bool(stale),
        left=bool(ledger.left),
        interrupted=not judged.is_whole,
    )
    return Outcome(
        base_url=options.base_url,
        version=contract.version,
        began=began,
        seconds=time() - began,
        word=word,
        status=status,
        not_judged=tuple(map(masking.text, _not_judged(marked, judged, options, not_run))),
        results=tuple(marked),
        exchanges=tuple(target.exchanges),
        requests=target.sent,
        not_run=not_run,
        created=sum(entry.identifier is not None for entry in ledger.entries),
        left=tuple(ledger.left),
        strict=options.strict,
        insecure=options.connection.insecure,
        notes=tuple(remarks(target.exchanges)),
        stale=tuple(stale),
        interrupted=not judged.is_whole,
        masking=masking,
    )


def _not_judged(results: list[Result], judged: _Judged, options: Options, not_run: int) -> list[str]:
    """What the verdict does not cover."""
    why = "the run was interrupted" if not judged.is_whole else "deselected, or in need of writes"
    left_out = [f"{not_run} results ({why})"] if not_run else []
    rare = ["rarer input (--explore 0)"] if not options.explore else []
    return [*unjudged(results), *judged.notes, *rare, *left_out]


def possible(contract: Contract) -> int:
    """How many results there may be: one for each rule and resource."""
    return sum(len(rule.resources) for rule in contract.rules.values())


def _masking(options: Options, ledger: Ledger) -> Masking:
    seen = [entry for entry in ledger.entries if entry.seen]
    own = [(entry.resource, entry.owner, entry.identifier) for entry in seen if entry.identifier is not None]
    markers = {marker for entry in ledger.entries for marker in entry.markers if marker}
    return Masking.of(_secrets(options), own, markers)


def _secrets(options: Options) -> dict[str, str]:
    """What must not be reported, each with its replacement."""
    words = [word for value in options.connection.headers.values() for word in (value, *value.split())]
    sent = identities(options.api_key, options.second_api_key)
    nearly = [value.partition(" ")[2] for identity, value in sent.items() if identity != WRONG]
    secrets = dict.fromkeys(words, "[hidden]") | dict.fromkeys(nearly, "[nearly the key]") | {options.api_key: "[key]"}
    return secrets | ({options.second_api_key: "[second key]"} if options.second_api_key else {})


def _told(result: Result, masking: Masking) -> Result:
    """A result whose texts hold no secret; findings beyond the first few are only counted."""
    findings = [
        replace(
            each,
            expected=masking.findings(each.exchange, each.expected) if number < MOST_TOLD else "",
            received=masking.findings(each.exchange, each.received) if number < MOST_TOLD else "",
        )
        for number, each in enumerate(result.findings)
    ]
    return replace(result, findings=tuple(findings), reasons=tuple(map(masking.text, result.reasons)))


def _exploration(contract: Contract, options: Options) -> Explore:
    if not options.explore:
        return lambda _visitor: None
    from contract_tests.explore import Exploration  # noqa: PLC0415 - Schemathesis is slow to load

    return Exploration(contract, -(-options.explore // len(contract.resources)), options.seed)


def _look(
    visit_kind: Callable[..., Evidence], judged: _Judged, options: Options, progress: Callable[[str], None]
) -> None:
    """Visit a resource and, if a rule that several requests decide seems violated, visit it again."""
    rules, resource, looks = judged.latest
    create_path = options.splash_create_path if resource.name == "splash-pages" else None

    def go() -> None:
        looks.append(Evidence(options.base_url, public_base_url=options.public_base_url))
        visit_kind(
            resource,
            looks[-1],
            create_path=create_path,
            progress=lambda chapter: progress(f"{resource.name}: {chapter}"),
        )

    go()
    if needs_second_look(rules, resource, looks[0]):
        go()
