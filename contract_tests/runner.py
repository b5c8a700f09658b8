"""A run: visits to each kind, a second look where one is needed, and the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from time import monotonic

from contract_tests.contract import Contract, Kind, Rule
from contract_tests.errors import NothingSelectedError, UnusableTargetError
from contract_tests.evidence import Evidence
from contract_tests.exchange import Exchange
from contract_tests.ledger import Entry, Ledger
from contract_tests.survey import Visitor, visit
from contract_tests.target import Limits, Target, identities
from contract_tests.verdicts import Result, judge, needs_second_look, overall

Progress = Callable[[str, int], None]
Chosen = list[tuple[Rule, Kind]]
Looks = tuple[Evidence, Evidence | None]
Explore = Callable[[Visitor], None]


@dataclass(frozen=True)
class Options:
    """What a run is asked to do.

    Attributes:
        base_url: where the implementation answers, without a slash at the end.
        api_key: the key of the account that is used.
        second_api_key: the key of another account, or None.
        resources: the kinds to judge.
        rules: patterns of the ids of rules to judge, such as `pagination.*`.
        public_base_url: what page links are to begin with, if not with the base URL.
        splash_create_path: where splash pages are created, if not at the documented path.
        strict: whether advisory rules gate.
        limits: how hard the target may be pressed.
        ledger: the file in which creates are written down, or None.
        explore: how many requests to generate, about, beside the survey's.
        seed: what they are generated from.
    """

    base_url: str
    api_key: str
    second_api_key: str | None = None
    resources: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    public_base_url: str | None = None
    splash_create_path: str | None = None
    strict: bool = False
    limits: Limits = field(default_factory=Limits)
    ledger: Path | None = None
    explore: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes:
        word: *conforms*, *does not conform*, *undecided* or *partial: no claim*.
        status: the exit status that goes with it.
        left: what the run made and could not remove.
    """

    word: str
    status: int
    results: tuple[Result, ...]
    exchanges: tuple[Exchange, ...]
    left: tuple[Entry, ...]
    requests: int
    created: int
    seconds: float


def selected(contract: Contract, options: Options) -> Chosen:
    """The rules to judge, each for each kind.

    Raises:
        NothingSelectedError: if there are none.
    """
    chosen = [
        (rule, contract.kinds[name])
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
    progress: Progress = lambda _chapter, _requests: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Judge an implementation.

    Args:
        contract: the rules.
        options: what to judge, and how.
        progress: told of each chapter and of the requests so far.
        interrupted: whether the run is to end; what it made is then removed.

    Raises:
        NothingSelectedError: if there is nothing to judge.
        UnusableTargetError: if nothing can be judged there.
        KeyboardInterrupt: if the run was to end.
    """
    chosen = selected(contract, options)
    began = monotonic()
    keys = identities(options.api_key, options.second_api_key)
    results: list[Result] = []
    seen: list[Evidence] = []
    with Ledger(options.ledger) as ledger:
        target = Target(options.base_url, keys, ledger, options.limits, interrupted)
        visit_kind = partial(visit, target, explore=_exploration(contract, options))
        for kind in contract.kinds.values():
            of_kind = [(rule, of) for rule, of in chosen if of is kind]
            if of_kind:
                first, second = _look(
                    visit_kind, kind, of_kind, options, lambda chapter: progress(chapter, target.sent)
                )
                seen.append(first)
                results += [judge(rule, kind, first, second) for rule, _ in of_kind]
        target.close()
    _refuse_unusable(seen)
    every = sum(len(rule.resources) for rule in contract.rules.values())
    word, status = overall(results, partial=len(chosen) < every, strict=options.strict)
    created, seconds = sum(entry.identifier is not None for entry in ledger.entries), monotonic() - began
    exchanges, left = tuple(target.exchanges), tuple(ledger.left)
    return Outcome(word, status, tuple(results), exchanges, left, target.sent, created, seconds)


def _exploration(contract: Contract, options: Options) -> Explore:
    if not options.explore:
        return lambda _visitor: None
    from contract_tests.explore import Exploration  # noqa: PLC0415 - who does not explore does not wait for Schemathesis

    return Exploration(contract, -(-options.explore // len(contract.kinds)), options.seed)


def _look(
    visit_kind: Callable[..., Evidence], kind: Kind, chosen: Chosen, options: Options, progress: Callable[[str], None]
) -> Looks:
    """What one visit saw and, if a rule that several requests decide seems broken, what another did."""
    create_path = options.splash_create_path if kind.name == "splash-pages" else None

    def go() -> Evidence:
        evidence = visit_kind(
            kind, create_path=create_path, progress=lambda chapter: progress(f"{kind.name}: {chapter}")
        )
        return replace(evidence, public_base_url=options.public_base_url)

    first = go()
    return first, go() if needs_second_look([rule for rule, _ in chosen], kind, first) else None


def _refuse_unusable(seen: list[Evidence]) -> None:
    """Refuse a target of which no list could be had."""
    lists = [exchange for evidence in seen for exchange in evidence.exchanges if exchange.request.operation == "list"]
    if any(exchange.succeeded for exchange in lists):
        if any(exchange.json is not None or b'"data"' in exchange.body for exchange in lists if exchange.succeeded):
            return
        kind = next(each for each in lists if each.succeeded).headers.get("Content-Type", "no media type")
        raise UnusableTargetError(f"every list is answered with {kind} that is no JSON; is the base URL right?")
    last = lists[0]
    if last.status is None:
        raise UnusableTargetError(f"unreachable: {last.error[:200]}")
    reasons = {
        401: "the key was refused",
        403: "the key was refused",
        404: "there is nothing under this path; is the base URL right, its prefix too?",
    }
    reason = reasons.get(last.status, "no list could be had")
    raise UnusableTargetError(f"{reason} (status {last.status} for {last.request.path})")
