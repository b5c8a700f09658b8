"""A run: visits to each resource, a second visit where one is needed, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from threading import Lock
from time import time

from contract_tests.contract import Contract, Resource, Rule
from contract_tests.errors import NothingSelectedError, UnusableTargetError, UsageError
from contract_tests.masking import Masking
from contract_tests.open_points import remarks
from contract_tests.run import waivers
from contract_tests.run.options import Options
from contract_tests.run.outcome import Outcome
from contract_tests.run.verdicts import Result, Verdict, overall, unjudged
from contract_tests.run.visits import Explore, Guide, Visits
from contract_tests.target.identities import WRONG, identities
from contract_tests.target.ledger import Ledger
from contract_tests.target.preflight import preflight
from contract_tests.target.target import TIME_UP, BudgetSpentError, Target

MOST_TOLD = 5  # findings reported of one rule and resource
TOO_MANY = "the server says that there were too many requests"
Progress = Callable[[str, int], None]
Chosen = list[tuple[Rule, Resource]]


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


def run(  # noqa: PLR0913, PLR0917 - what a run tells, and how it ends
    contract: Contract,
    options: Options,
    ledger: Ledger | None = None,
    progress: Progress = lambda _chapter, _requests: None,
    interrupted: Callable[[], bool] = lambda: False,
    certain: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Judge an implementation.

    Args:
        contract: the rules.
        options: what to judge, and how.
        ledger: where creates are noted; if None, only in memory.
        progress: called with each chapter and the number of requests so far.
        interrupted: whether the run must end; what it made is then removed.
        certain: called with the outcome so far whenever more results are certain, one call at a time.

    Raises:
        NothingSelectedError: if there is nothing to judge.
        UnusableTargetError: if nothing can be judged there.
        KeyboardInterrupt: if the run had to end.
    """
    chosen, began = selected(contract, options), time()
    target = _target(options, ledger or Ledger(), progress, interrupted)
    _preflight(target, contract)
    explore = _exploration(contract, options)
    visits = [
        Visits(rules, resource)
        for resource in contract.resources.values()
        if (rules := [rule for rule, of in chosen if of is resource])
    ]
    known: dict[str, list[Result]] = {}
    lock = Lock()

    def look(resource: Resource, results: list[Result]) -> None:
        with lock:
            known[resource.name] = results
            _stop_at(options, target, known)
            if certain:
                so_far = [result for some in known.values() for result in some]
                certain(_outcome(contract, options, target, visits, so_far, began))

    guide = Guide(target, options, explore, lambda chapter: progress(chapter, target.sent), look)
    try:
        guide.go(visits)
    except (Exception, KeyboardInterrupt):
        if not interrupted():  # otherwise the interrupt may have hit code that expects no exceptions
            raise
    target.close()
    results = [result for each in visits for result in each.results]
    return _outcome(contract, options, target, visits, results, began)


def _stop_at(options: Options, target: Target, known: dict[str, list[Result]]) -> None:
    """Let the target send no more once enough results have failed."""
    failed = sum(each.verdict is Verdict.FAIL for some in known.values() for each in some)
    if options.max_failures and failed >= options.max_failures:
        target.enough = f"{failed} results had failed"


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


def _outcome(  # noqa: PLR0913, PLR0917 - what an outcome is made of
    contract: Contract, options: Options, target: Target, visits: list[Visits], results: list[Result], began: float
) -> Outcome:
    """The outcome of the results, with secrets masked and waived failures marked."""
    ledger, masking = target.ledger, _masking(options, target.ledger)
    is_whole, exchanges = all(each.is_whole for each in visits), sorted(target.exchanges, key=lambda each: each.number)
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
        interrupted=not is_whole,
    )
    return Outcome(
        base_url=options.base_url,
        version=contract.version,
        began=began,
        seconds=time() - began,
        word=word,
        status=status,
        not_judged=tuple(map(masking.text, _not_judged(marked, visits, options, not_run))),
        results=tuple(marked),
        exchanges=tuple(exchanges),
        requests=target.sent,
        not_run=not_run,
        created=sum(entry.identifier is not None for entry in ledger.entries),
        left=tuple(ledger.left),
        strict=options.strict,
        insecure=options.connection.insecure,
        notes=tuple(remarks(exchanges)),
        stale=tuple(stale),
        interrupted=not is_whole,
        masking=masking,
    )


def _not_judged(results: list[Result], visits: list[Visits], options: Options, not_run: int) -> list[str]:
    """What the verdict does not cover."""
    why = "the run was interrupted" if not all(each.is_whole for each in visits) else "deselected, or in need of writes"
    left_out = [f"{not_run} results ({why})"] if not_run else []
    rare = ["rarer input (--explore 0)"] if not options.explore else []
    notes = [note for each in visits for note in each.notes]
    return [*unjudged(results), *notes, *rare, *left_out]


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


def _exploration(contract: Contract, options: Options) -> Explore | None:
    if not options.explore:
        return None
    from contract_tests.explore import Exploration  # noqa: PLC0415 - Schemathesis is slow to load

    return Exploration(contract, -(-options.explore // len(contract.resources)), options.seed)
