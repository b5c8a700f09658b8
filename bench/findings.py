"""Measures what readers of findings get: how many requests show one, whether its script works, what shrinking costs.

Each defect of the mock is judged with default choices and with random ones; then the slips and some mutants of the
servers of `tests/mutants` that can be started here, of which the first finding counts. It prints a Markdown table, and
the scripts that mislead or show nothing, and the defects for which a report names another cause, or several; after an
hour on two cores. `--every N` takes each Nth.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, median, quantiles
from typing import TypeVar

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from mutants import judge
from mutants.judge import Changed

from contract_tests import proof
from contract_tests.errors import UnusableTargetError
from contract_tests.proof import Defect
from contract_tests.reports.causes import groups
from contract_tests.reports.results import as_dict
from contract_tests.repro.script import script_of
from contract_tests.repro.steps import steps_to
from contract_tests.repro.trial import BROKEN, FIXED
from contract_tests.run import Options, Progress, run
from contract_tests.target.budget import Limits
from contract_tests.verdicts.verdicts import Outcome, Result
from link_management_contract import shipped_contract

CHOICES = {"default choices": 0, "random choices": 7}  # with the seed of each
MUTANTS = 60
CONTRACT = shipped_contract()
Tried = TypeVar("Tried")
HEADS = (
    *("findings", "before: median", "90th", "shrunk: median", "90th", "scripts that show it", "that mislead"),
    *("one cause", "the right one first", "requests", "seconds"),
)


@dataclass(frozen=True)
class Measured:
    """What a run found on a server.

    Attributes:
        name: of the defect, slip or mutant.
        before, after: how many requests lead to its finding as the run sent them, and in its script.
        requests, more: how many the run sent without shrinking, and how many that took.
        seconds: how long it took.
        statuses: with which the script of its report exits there, and on the right server; empty if it has none.
        causes: how many causes the report names.
        is_right: whether the first is the rule that the server breaks; None where nobody knows that rule.
    """

    name: str
    before: int
    after: int
    requests: int
    more: int
    seconds: float
    statuses: tuple[int, ...]
    causes: int
    is_right: bool | None

    @property
    def shows(self) -> bool:
        return self.statuses[:1] == (BROKEN,)

    @property
    def misleads(self) -> bool:
        """Whether the script says *fixed* on the broken server, or *broken* on the right one."""
        return bool(self.statuses) and (self.statuses[0] == FIXED or self.statuses[1] == BROKEN)


class Watched:
    """A run whose shrinking is measured."""

    def __init__(self, judged: Callable[[Progress], Outcome]) -> None:
        began = dict[bool, tuple[float, int]]()

        def note(chapter: str, sent: int) -> None:
            began.setdefault(chapter == "shrinking", (time.monotonic(), sent))

        self.outcome = judged(note)
        self._ended = time.monotonic()
        self._since, self._sent = began.get(True, (self._ended, self.outcome.requests))

    def measured(self, name: str, result: Result, statuses: tuple[int, ...], rule: str | None = None) -> Measured:
        outcome, finding = self.outcome, result.findings[0]
        before = steps_to(result.rule, CONTRACT.resources[result.resource], finding, outcome.exchanges)
        after, more = script_of(CONTRACT, outcome, result).exchanges, outcome.requests - self._sent
        causes = [group.rule for group in groups(as_dict(outcome)["results"]) if group.results[0]["verdict"] == "fail"]
        is_right = causes[0] == rule if rule and causes else None
        seconds = self._ended - self._since
        return Measured(name, len(before), len(after), self._sent, more, seconds, statuses, len(causes), is_right)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each Nth defect, slip and mutant")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="servers that are judged at once")
    arguments = parser.parse_args()
    every, jobs = arguments.every, arguments.jobs
    with proof.serving() as [base_url]:
        defects = [each for each in proof.defects(base_url).values() if CONTRACT.rules[each.rule].decided_by != "round"]
    print(f"| | {' | '.join(HEADS)} |\n|---|{'---:|' * len(HEADS)}")
    measured = list[Measured]()
    for name, seed in CHOICES.items():
        measured += _row(name, partial(of_defect, seed=seed), defects[::every], jobs)
    for server in judge.SERVERS.values():
        if server.is_here:
            changed = [each for each in (*judge.slips(server), *judge.mutants(server, MUTANTS)) if each.visible]
            measured += _row(f"slips and mutants, {server.name}", of_server, changed[::every], jobs)
    print(f"\nScripts that mislead: {_names(each for each in measured if each.misleads)}.")
    print(f"Scripts that show nothing: {_names(each for each in measured if each.statuses and not each.shows)}.")
    with_rule = [each for each in measured if each.is_right is not None]
    print(f"Defects with several causes: {_names(each for each in with_rule if each.causes > 1)}.")
    print(f"Defects with another cause first: {_names(each for each in with_rule if not each.is_right)}.")


def _names(measured: Iterable[Measured]) -> str:
    return ", ".join(each.name for each in measured) or "none"


def _row(name: str, measure: Callable[[Tried], Measured | None], every: Sequence[Tried], jobs: int) -> list[Measured]:
    """Print a row of the table; what it is made of."""
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        found = [each for each in pool.map(measure, every) if each]
    if found:
        print(f"| {name} | {' | '.join(_cells(found))} |", flush=True)
    return [replace(each, name=f"{each.name} ({name})") for each in found]


def of_defect(defect: Defect, seed: int) -> Measured | None:
    """Judge a mock with a defect, and run the script of its finding; nothing if the defect is not found."""
    [trial] = proof.trials_of(defect, CONTRACT, [seed])
    with proof.serving() as [base_url]:
        whole = trial if trial.rule in proof.ACROSS_RESOURCES | proof.ONLY_IN_A_RUN else replace(trial, rule=None)
        watched = Watched(partial(proof.run_suite, CONTRACT, base_url, whole, try_scripts=True))
        for result in watched.outcome.failing:
            if result.rule.id == defect.rule:
                statuses = tuple[int, ...]()
                if result.findings[0].is_repeatable:
                    reported = script_of(CONTRACT, watched.outcome, result)
                    statuses = proof.script_statuses(reported, base_url, trial.switches)
                return watched.measured(defect.name, result, statuses, defect.rule)
    return None


def of_server(changed: Changed) -> Measured | None:
    """Judge a server with a slip or a mutation, and run the script of its first finding; nothing if there is none."""
    server = judge.SERVERS[changed.server]
    with judge.serving(server, changed.source) as base_url:
        if base_url is None:
            return None
        limits = Limits(requests=6000, seconds=judge.SECONDS_OF_A_RUN, timeout=5.0)
        keys = (proof.KEY, proof.SECOND_KEY)
        options = Options(base_url, *keys, limits=limits, explore=proof.EXPLORE, shrink=None, try_scripts=True)
        try:
            watched = Watched(lambda progress: run(CONTRACT, options, progress=progress))
        except UnusableTargetError:
            return None
        first = next((each for each in watched.outcome.failing if _has_script(each)), None)
        if first is None:
            return None
        reported = script_of(CONTRACT, watched.outcome, first)
        on_changed = proof.exit_status(reported, base_url)
    with judge.serving(server, server.source) as base_url:
        on_right = proof.exit_status(reported, str(base_url))
    return watched.measured(changed.name, first, (on_changed, on_right))


def _has_script(result: Result) -> bool:
    return result.rule.decided_by != "round" and result.findings[0].is_repeatable


def _cells(found: Sequence[Measured]) -> Iterator[str]:
    yield str(len(found))
    for counts in ([each.before for each in found], [each.after for each in found]):
        yield f"{median(counts):g}"
        yield f"{quantiles(counts, n=10, method='inclusive')[-1] if len(counts) > 1 else counts[0]:g}"
    yield f"{sum(each.shows for each in found)} of {sum(bool(each.statuses) for each in found)}"
    yield str(sum(each.misleads for each in found))
    yield f"{sum(each.causes <= 1 for each in found)} of {len(found)}"
    yield f"{sum(bool(each.is_right) for each in found)} of {len(found)}" if found[0].is_right is not None else ""
    yield f"{sum(each.more for each in found) / sum(each.requests for each in found):.0%} more"
    yield f"{mean(each.seconds for each in found):.1f} more"


if __name__ == "__main__":
    main()
