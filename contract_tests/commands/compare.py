"""The command `contract-tests compare`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.table import Table

from contract_tests.errors import BROKEN, FAILED, UsageError
from contract_tests.masking import printable_values
from contract_tests.reports import results
from contract_tests.reports.screen import Screen, complain, say
from contract_tests.run.outcome import Outcome
from contract_tests.run.verdicts import Verdict
from link_management_contract import Contract

ABSENT = "not run"
FEWEST = 2
GATING = (Verdict.FAIL, Verdict.INCONCLUSIVE)
STRONGEST_FIRST = list(Verdict)


def compare_command(contract: Contract, given: argparse.Namespace) -> int:
    """Compare the results of several runs side by side, or of one with a baseline.

    Args:
        contract: the rules.
        given: the files or folders of the runs' reports.

    Returns:
        0 if verdicts and open points are the same in all, 1 if not, 3 if a requested file could not be written. With a
        baseline, 1 only if a verdict is worse.

    Raises:
        UsageError: if a file cannot be used.
    """
    paths = [given.baseline, *given.results] if given.baseline else given.results
    if len(paths) < FEWEST:
        raise UsageError("one run alone cannot be compared; give two or more")
    runs = [read(path) for path in paths]
    compared = comparison([str(path) for path in paths], runs)
    show(compared, Screen(), every=given.all)
    regression = Regression.of(runs[0], runs[-1])
    if given.baseline:
        say("\n".join(["", *regression.lines]))
    try:
        _write(compared, given)
    except OSError as error:
        complain(f"the comparison could not be written: {error}")
        return BROKEN
    return FAILED if (regression.worse if given.baseline else compared["differences"]) else 0


def read(path: Path) -> dict[str, Any]:
    """The results in a file, or in a folder of reports.

    Raises:
        UsageError: if they cannot be read.
    """
    return results.read(path / results.FILE if path.is_dir() else path)


@dataclass(frozen=True)
class Regression:
    """What has changed since an earlier run: names of results, each with both verdicts.

    Attributes:
        worse: what fails, or can no longer be decided, and was better.
        better: what was worse.
        new: what was not judged then.
        gone: what is not judged any more.
    """

    worse: tuple[str, ...]
    better: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]

    @classmethod
    def of(cls, before: Mapping[str, Any], now: Mapping[str, Any]) -> Self:
        """Compare two runs' results, as `results.json` holds them; what is waived fails no less."""
        then, today = (
            {results.name_of(each): Verdict(each["verdict"]) for each in run["results"]} for run in (before, now)
        )
        both = {name: (then[name], verdict) for name, verdict in today.items() if name in then}
        told = {name: f"{name}: {one}, now {other}" for name, (one, other) in both.items()}
        rank = STRONGEST_FIRST.index
        return cls(
            tuple(told[name] for name, (one, other) in both.items() if other in GATING and rank(other) < rank(one)),
            tuple(told[name] for name, (one, other) in both.items() if one in GATING and rank(other) > rank(one)),
            tuple(f"{name}: {verdict}" for name, verdict in today.items() if name not in then),
            tuple(f"{name}: was {verdict}" for name, verdict in then.items() if name not in today),
        )

    @property
    def lines(self) -> list[str]:
        """The changes, for people."""
        lines = []
        for title, names in (("worse", self.worse), ("better", self.better), ("new", self.new), ("gone", self.gone)):
            lines += [f"{len(names)} {title}", *(f"  {name}" for name in names)] if names else []
        return lines or ["nothing is worse or better"]


def changes(before: Outcome, now: Outcome) -> list[str]:
    """What has changed between two runs, for people."""
    return Regression.of(results.as_dict(before), results.as_dict(now)).lines


def comparison(names: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The runs side by side, for programs.

    Returns:
        `runs`, each with its name, target and word; `rules` and `open_points`, each a list of entries with a name,
        one value for each run and whether these are the same; `differences`, how many entries differ.
    """
    verdicts = [{f"{each['rule']}[{each['kind']}]": each["verdict"] for each in run["results"]} for run in runs]
    chosen = [{name: ", ".join(values) for name, values in run["open_points"].items()} for run in runs]
    rules, points = _side_by_side(verdicts, ABSENT), _side_by_side(chosen, "not seen")
    return {
        "runs": [
            {
                "name": name,
                "base_url": run["base_url"],
                "word": run["word"],
                "verdict": run.get("verdict", run["word"]),
                "contract_version": run["contract_version"],
                "began": run["began"],
            }
            for name, run in zip(names, runs, strict=True)
        ],
        "rules": rules,
        "open_points": points,
        "differences": sum(not each["same"] for each in (*rules, *points)),
    }


def _side_by_side(columns: Sequence[Mapping[str, str]], absent: str) -> list[dict[str, Any]]:
    names = sorted({name for column in columns for name in column})
    rows = [(name, [column.get(name, absent) for column in columns]) for name in names]
    return [{"name": name, "values": values, "same": len(set(values)) == 1} for name, values in rows]


def show(compared: Mapping[str, Any], console: Console, *, every: bool) -> None:
    """Print what differs, or everything."""
    compared = printable_values(compared)
    for number, run in enumerate(compared["runs"], 1):
        console.print(
            f"{number}  {run['name']}  {run['base_url']}  {run['verdict']}, contract {run['contract_version']}"
        )
    for title, key in (("rule", "rules"), ("open point", "open_points")):
        rows = [each for each in compared[key] if every or not each["same"]]
        table = Table(title, *map(str, range(1, len(compared["runs"]) + 1)), box=None, pad_edge=False)
        for each in rows:
            table.add_row(each["name"], *each["values"], style="" if each["same"] else "bold")
        if rows:
            console.print("")
            console.print(table)
    console.print(f"\n{compared['differences']} differences" if compared["differences"] else "\nno difference")


def _write(compared: Mapping[str, Any], given: argparse.Namespace) -> None:
    if given.json:
        Path(given.json).write_text(json.dumps(compared, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if given.html:
        from contract_tests.reports.html import render  # noqa: PLC0415 - only a page needs Jinja, which is slow to load

        Path(given.html).write_text(render("comparison.html.jinja", **compared), encoding="utf-8")
