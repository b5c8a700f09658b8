"""Measures what readers of findings get: how many requests show one, whether its script works, and what shrinking costs.

Each defect of the mock is judged once with default choices and once with random ones. It prints a Markdown table, and
the scripts that do not say *broken* with the defect and *fixed* without it; after some 20 minutes on two cores. `--every
N` takes each Nth defect.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import median, quantiles

from contract_tests import proof
from contract_tests.proof import Defect
from contract_tests.reports.repro import script_of
from contract_tests.steps import steps_to
from link_management_contract import shipped_contract

CHOICES = {"default choices": 0, "random choices": 7}  # with the seed of each
JOBS = 2


@dataclass(frozen=True)
class Measured:
    """What a run found of a defect.

    Attributes:
        before, after: how many requests lead to its finding as the run sent them, and in its script.
        requests, more: how many the run sent without shrinking, and how many that took.
        seconds: how long it took.
        works: whether the script says *broken* with the defect and *fixed* without it.
    """

    defect: str
    before: int
    after: int
    requests: int
    more: int
    seconds: float
    works: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take each Nth defect")
    every = parser.parse_args().every
    with proof.serving() as [base_url]:
        defects = list(proof.defects(base_url).values())[::every]
    rules = shipped_contract().rules
    alone = [each for each in defects if rules[each.rule].decided_by != "round"]
    print(
        "| | findings | before: median | 90th | shrunk: median | 90th | scripts that work | requests for it | seconds |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    failing = list[str]()
    for name, seed in CHOICES.items():
        with ProcessPoolExecutor(JOBS) as pool:
            found = [each for each in pool.map(measured, alone, [seed] * len(alone)) if each]
        print(f"| {name} | {' | '.join(_cells(found))} |", flush=True)
        failing += [f"{each.defect} ({name})" for each in found if not each.works]
    print(f"\nScripts that do not work: {', '.join(failing) or 'none'}.")


def measured(defect: Defect, seed: int) -> Measured | None:
    """Judge a server with a defect, and run the script of its finding; nothing if the defect is not found."""
    contract, began = shipped_contract(), dict[bool, tuple[float, int]]()

    def note(chapter: str, sent: int) -> None:
        began.setdefault(chapter == "shrinking", (time.monotonic(), sent))

    [trial] = proof.trials_of(defect, contract, [seed])
    with proof.serving() as [base_url]:
        for explore in (0, proof.EXPLORE):
            began.clear()
            outcome = proof.run_trial(contract, base_url, trial, explore, note)
            ended = time.monotonic()
            results = [each for each in outcome.failing if each.rule.id == defect.rule]
            if results:
                break
        else:
            return None
        result = results[0]
        resource = contract.resources[result.resource]
        since, sent = began.get(True, (ended, outcome.requests))
        return Measured(
            defect.name,
            len(steps_to(result.rule, resource, result.findings[0], outcome.exchanges)),
            len(script_of(contract, outcome, result).exchanges),
            sent,
            outcome.requests - sent,
            ended - since,
            proof.shows(contract, outcome, result, trial.switches),
        )


def _cells(found: Sequence[Measured]) -> Iterator[str]:
    yield str(len(found))
    for counts in ([each.before for each in found], [each.after for each in found]):
        yield f"{median(counts):g}"
        yield f"{quantiles(counts, n=10)[-1]:g}"
    yield f"{sum(each.works for each in found)} of {len(found)}"
    yield f"{sum(each.more for each in found) / sum(each.requests for each in found):.0%} more"
    yield f"{median(each.seconds for each in found):.1f}"


if __name__ == "__main__":
    main()
