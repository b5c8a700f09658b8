"""A run: visits to each resource, a second visit where one is needed, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib import import_module
from threading import Lock, Thread
from time import time

from contract_tests.errors import NothingSelectedError, UnusableTargetError, UsageError
from contract_tests.exchange import Exchange
from contract_tests.masking import Masking
from contract_tests.open_points import remarks
from contract_tests.run import waivers
from contract_tests.run.options import Options
from contract_tests.run.outcome import Outcome
from contract_tests.run.verdicts import Result, Verdict, overall, unjudged
from contract_tests.run.visits import Explore, Guide, Visits
from contract_tests.survey import Visitor
from contract_tests.target.identities import WRONG, identities
from contract_tests.target.ledger import Ledger
from contract_tests.target.preflight import preflight
from contract_tests.target.target import TIME_UP, BudgetSpentError, Target
from link_management_contract import Contract, Resource, Rule
from link_management_contract.texts import printable

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
    if any(each.startswith("concurrency") for each in options.rules) and not options.overlap:
        raise NothingSelectedError("rules of overlapping requests are judged with --overlap N; give that too")
    chosen = [
        (rule, contract.resources[name])
        for rule in judged(contract, options)
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
    explore = _exploration(contract, options)
    _preflight(target, contract, _masking(options, target.ledger))
    by_resource = {name: [rule for rule, resource in chosen if resource.name == name] for name in contract.resources}
    visits = [Visits(rules, contract.resources[name]) for name, rules in by_resource.items() if rules]
    outcome = partial(_outcome, contract, options, target, visits, began)
    so_far = _SoFar(options, target, lambda results: certain(outcome(results)) if certain else None)
    guide = Guide(target, options, explore, lambda chapter: progress(chapter, target.sent), so_far)
    try:
        guide.go(visits)
    except (Exception, KeyboardInterrupt):
        if not interrupted():  # otherwise the interrupt may have hit code that expects no exceptions
            raise
    target.close()
    return outcome([result for each in visits for result in each.results])


class _SoFar:
    """The results that are certain while a run goes on; once enough have failed, the target sends no more."""

    def __init__(self, options: Options, target: Target, tell: Callable[[list[Result]], None]) -> None:
        self._most = options.max_failures
        self._target = target
        self._tell = tell
        self._known: dict[str, list[Result]] = {}
        self._lock = Lock()

    def __call__(self, resource: Resource, results: list[Result]) -> None:
        with self._lock:
            self._known[resource.name] = results
            every = [result for some in self._known.values() for result in some]
            failed = sum(each.verdict is Verdict.FAIL for each in every)
            if self._most and failed >= self._most and not self._target.enough:
                self._target.enough = f"stopped, as {failed} results fail and --max-failures is {self._most}"
            self._tell(every)


def _target(options: Options, ledger: Ledger, progress: Progress, interrupted: Callable[[], bool]) -> Target:
    keys = identities(options.api_key, options.second_api_key)
    target = Target(options.base_url, keys, ledger, options.limits, options.connection)
    target.interrupted = interrupted
    target.waiting = lambda seconds: progress(f"{TOO_MANY}: waiting for {seconds:.3g} s", target.sent)
    return target


def _preflight(target: Target, contract: Contract, masking: Masking) -> None:
    try:
        preflight(target, contract.resources.values())
    except UnusableTargetError as error:
        raise UnusableTargetError(printable(masking.text(error.args[0]))) from error
    except BudgetSpentError as error:
        if str(error) == TIME_UP:
            raise UnusableTargetError(f"{error} before its lists could be read") from error
        raise UsageError(f"{error} before the lists could be read; allow more") from error


def _outcome(  # noqa: PLR0913, PLR0917 - what an outcome is made of
    contract: Contract, options: Options, target: Target, visits: list[Visits], began: float, results: list[Result]
) -> Outcome:
    """The outcome of the results, with secrets masked and waived failures marked."""
    ledger, masking = target.ledger, _masking(options, target.ledger)
    is_whole, exchanges = all(each.is_whole for each in visits), sorted(target.exchanges, key=lambda each: each.number)
    if options.limits.read_only:
        results = [each for each in results if each.verdict is not Verdict.INCONCLUSIVE or each.findings]
    told = [_told(result, masking) for result in results]
    marked, stale = waivers.apply(options.waivers, told, contract, datetime.now(UTC).date())
    not_run = possible(judged(contract, options)) - len(marked)
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
        notes=tuple(printable(masking.text(each)) for each in (*remarks(exchanges), *_unanswered(exchanges))),
        stale=tuple(stale),
        interrupted=not is_whole,
        masking=masking,
    )


def _not_judged(results: list[Result], visits: list[Visits], options: Options, not_run: int) -> list[str]:
    """What the verdict does not cover."""
    why = "the run was interrupted" if not all(each.is_whole for each in visits) else "deselected, or in need of writes"
    left_out = [f"{not_run or 'some'} results ({why})"] if not_run or not all(each.is_whole for each in visits) else []
    rare = ["rarer input (--explore 0)"] if not options.explore else []
    rare += ["overlapping requests (--overlap 0)"] if not options.overlap else []
    notes = [note for each in visits for note in each.notes]
    return [*unjudged(results), *notes, *rare, *left_out]


def _unanswered(exchanges: list[Exchange]) -> list[str]:
    """A note on requests that got no answer; a server that crashes looks like that, and so does a bad connection."""
    lost = [each for each in exchanges if each.status is None]
    told = (
        f"{len(lost)} requests got no answer, first {lost[0].request.method} {lost[0].request.target}" if lost else ""
    )
    return [f"{told}: {lost[0].error[:100]}"] if lost else []


def judged(contract: Contract, options: Options) -> list[Rule]:
    """The rules that a run can judge: those of overlapping requests only if it sends some."""
    return [rule for rule in contract.rules.values() if options.overlap or rule.decided_by != "round"]


def possible(rules: Iterable[Rule]) -> int:
    """How many results there may be: one for each rule and resource."""
    return sum(len(rule.resources) for rule in rules)


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
            expected=printable(masking.findings(each.exchange, each.expected)) if number < MOST_TOLD else "",
            received=printable(masking.findings(each.exchange, each.received)) if number < MOST_TOLD else "",
        )
        for number, each in enumerate(result.findings)
    ]
    return replace(
        result, findings=tuple(findings), reasons=tuple(printable(masking.text(each)) for each in result.reasons)
    )


def _exploration(contract: Contract, options: Options) -> Explore | None:
    if not options.explore:
        return None
    Thread(target=import_module, args=("contract_tests.explore",), daemon=True).start()  # Schemathesis is slow to load

    @cache
    def exploration() -> Explore:
        from contract_tests.explore import Exploration  # noqa: PLC0415

        return Exploration(contract, -(-options.explore // len(contract.resources)), options.seed)

    def explore(visitor: Visitor) -> None:
        exploration()(visitor)

    return explore
