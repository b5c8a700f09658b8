"""The proof that the suite can fail, and fails only when it should: trials of servers known to be right or wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import monotonic
from typing import Any, Self

from contract_tests.proof import mocks
from contract_tests.proof.mocks import KEY, SECOND_KEY, Defect
from contract_tests.proof.scripts import shows
from contract_tests.run.options import REQUESTS_OF_A_ROUND, Options
from contract_tests.run.outcome import Outcome
from contract_tests.run.runner import run
from contract_tests.run.verdicts import VIOLATED, Result, Verdict
from contract_tests.target.limits import Limits
from link_management_contract import Contract

RECORDS = (28, 0, 25, 40, 30)  # of each resource, at the start
ENOUGH = 26  # with fewer, the survey creates what paging needs; servers with a defect start with this many
EXPLORE = 360  # the default of a run
ROUNDS = 5  # of requests that overlap


@dataclass(frozen=True)
class Trial:
    """A server to be judged: the mock with some switches.

    Attributes:
        name: the defect's or the condition's; empty for any other server.
        seed: determines its choices and its records.
        switches: what the mock is reset with.
        resources: the resources to judge.
        rule: the rule that must be found violated, or None.
        explore: as for a run.
        overlap: likewise.
        may_be_undecided: whether rules may stay inconclusive.
        is_repeated: whether to try whether a script repeats what was found.
    """

    name: str
    seed: int
    switches: Mapping[str, Any]
    resources: tuple[str, ...]
    rule: str | None = None
    explore: int = 0
    overlap: int = 0
    may_be_undecided: bool = False
    is_repeated: bool = False


@dataclass(frozen=True)
class Judged:
    """What a run found in a trial's server.

    Attributes:
        fell: the rules found violated.
        undecided: the results that stayed inconclusive, each with its reason.
        left: the records that the run made and could not remove.
        first: after how many requests the trial's own rule first seemed violated, or None.
        explored: whether that took more than the survey.
        scripted: whether the script of a finding shows it, and nothing on a server without the defect.
    """

    trial: Trial
    fell: frozenset[str]
    undecided: tuple[str, ...]
    left: tuple[str, ...]
    first: int | None = None
    explored: bool = False
    scripted: bool = False


@dataclass(frozen=True)
class Row:
    """A line of the kill matrix: a defect, and the results of all its trials."""

    defect: Defect
    judged: tuple[Judged, ...]

    @property
    def caught(self) -> int:
        """The number of its trials that found its own rule violated."""
        return sum(self.defect.rule in each.fell for each in self.judged)

    @property
    def scripted(self) -> bool:
        """Whether a script shows the defect."""
        return any(each.scripted for each in self.judged)

    @property
    def others(self) -> frozenset[str]:
        """The other rules found violated."""
        return frozenset().union(*(each.fell for each in self.judged)) - {self.defect.rule}

    @property
    def unrelated(self) -> str:
        """The other rules found violated that none of its consequences is, for people."""
        return ", ".join(sorted(self.others - self.defect.also))

    @property
    def requests(self) -> int | None:
        """The median number of requests after which its own rule first seemed violated."""
        counts = [each.first for each in self.judged if each.first is not None]
        return int(median(counts)) if counts else None

    @property
    def verdict(self) -> str:
        """`caught`; or what is wrong: it `survives`, is `misnamed`, or violates `unrelated` rules."""
        if any(not each.fell for each in self.judged):
            return "survives"
        if self.caught < len(self.judged):
            return "misnamed"
        return "caught" if self.others <= self.defect.also else "unrelated"


@dataclass(frozen=True)
class Proof:
    """The results of all trials: of defects, of correct servers, and of correct servers under a condition."""

    rows: tuple[Row, ...]
    right: tuple[Judged, ...]
    hostile: tuple[Judged, ...]
    seconds: float

    @classmethod
    def of(cls, defects: Mapping[str, Defect], judged: Iterable[Judged]) -> Self:
        """Sort the judged trials."""
        began = monotonic()
        every = sorted(judged, key=lambda each: each.trial.seed)
        rows = (Row(each, tuple(one for one in every if one.trial.name == name)) for name, each in defects.items())
        return cls(
            tuple(row for row in rows if row.judged),
            tuple(each for each in every if not each.trial.name),
            tuple(each for each in every if each.trial.may_be_undecided),
            monotonic() - began,
        )

    @property
    def failures(self) -> list[str]:
        """What contradicts the proof, one line each."""
        wrong = [row for row in self.rows if row.verdict != "caught"]
        lines = [f"{row.defect.name}: {row.verdict}{row.unrelated and f' ({row.unrelated})'}" for row in wrong]
        for each in (*self.right, *self.hostile):
            place = each.trial.name or f"grease {each.trial.seed}"
            lines += [f"{place}: {rule} fell, and the server is right" for rule in sorted(each.fell)]
            if not each.trial.may_be_undecided:
                lines += [f"{place}: undecided, {text}" for text in each.undecided]
                lines += [f"{place}: left behind, {text}" for text in each.left]
        return lines


def trials_of(defect: Defect, contract: Contract, seeds: Iterable[int]) -> list[Trial]:
    """A trial for each seed; they take turns with the resources that a defect affects."""
    resources = defect.resources or contract.rules[defect.rule].resources
    return [
        Trial(
            defect.name,
            seed,
            switches(seed) | {"records": max(ENOUGH, RECORDS[seed % len(RECORDS)]), "defects": [defect.name]},
            (resources[seed % len(resources)],),
            defect.rule,
            overlap=ROUNDS if contract.rules[defect.rule].decided_by == "round" else 0,
            is_repeated=number == 0 and contract.rules[defect.rule].decided_by != "round",
        )
        for number, seed in enumerate(seeds)
    ]


def greased(seed: int, resources: Sequence[str]) -> Trial:
    """A trial of a correct server with any choices; some choose again for each request, some are explored."""
    told = switches(seed) | {"grease_each_request": seed % 3 == 0}
    return Trial("", seed, told, tuple(resources), explore=EXPLORE if seed % 6 == 0 else 0, overlap=1)


def hostile(name: str, measure: float, seed: int, resources: Sequence[str]) -> Trial:
    """A trial of a correct server under a condition."""
    told = switches(seed) | {"conditions": {name: measure}}
    return Trial(name, seed, told, tuple(resources), overlap=1, may_be_undecided=True)


def switches(seed: int) -> dict[str, Any]:
    """The mock's switches for a seed; 0 is the mock with its defaults."""
    return {"fixture": "empty", "records": RECORDS[seed % len(RECORDS)], "grease": seed or None}


def judge(contract: Contract, base_url: str, trial: Trial) -> Judged:
    """Judge a trial's server; if the survey does not find the defect, explore too, as a run does by default."""
    outcome = _run(contract, base_url, trial, trial.explore)
    explored = trial.rule is not None and not _of(outcome, trial.rule)
    if explored:
        outcome = _run(contract, base_url, trial, EXPLORE)
    numbers = [finding.exchange.number for each in _of(outcome, trial.rule) for finding in each.findings]
    undecided = [each for each in outcome.results if each.verdict is Verdict.INCONCLUSIVE]
    return Judged(
        trial,
        frozenset(each.rule.id for each in outcome.results if each.verdict in VIOLATED),
        tuple(f"{each.id}: {'; '.join(each.reasons)}" for each in undecided),
        tuple(map(str, outcome.left)),
        min(numbers, default=None),
        explored,
        trial.is_repeated and any(shows(contract, outcome, each, trial.switches) for each in _of(outcome, trial.rule)),
    )


def _of(outcome: Outcome, rule: str | None) -> list[Result]:
    return [each for each in outcome.results if each.rule.id == rule and each.verdict in VIOLATED]


def _run(contract: Contract, base_url: str, trial: Trial, explore: int) -> Outcome:
    mocks.reset(base_url, **trial.switches)
    limits = Limits() if "conditions" in trial.switches else Limits(lag=0)
    limits = replace(limits, requests=limits.requests + REQUESTS_OF_A_ROUND * trial.overlap)
    options = Options(
        base_url,
        KEY,
        SECOND_KEY,
        trial.resources,
        explore=explore,
        overlap=trial.overlap,
        seed=trial.seed,
        limits=limits,
    )
    return run(contract, replace(options, jobs=1 + 2 * (trial.seed % 2)))  # one after the other, or side by side
