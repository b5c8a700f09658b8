"""The command `contract-tests compare`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.table import Table

from contract_tests.errors import BROKEN, FAILED, UsageError
from contract_tests.options import CompareOptions
from contract_tests.output import complain, say
from contract_tests.reports import results
from contract_tests.reports.terminal import TerminalConsole
from contract_tests.verdicts.verdicts import Verdict
from link_management_contract import Contract
from link_management_contract.texts import printable_values, write_whole

RUNS_COMPARED = 2
GATING = (Verdict.FAIL, Verdict.INCONCLUSIVE)
STRONGEST_FIRST = list(Verdict)


def compare_command(_: Contract, options: CompareOptions) -> int:
    """Compare the results of two runs side by side, or of one with a baseline.

    Returns:
        0 if verdicts and open points are the same in both, 1 if not, 3 if a requested file could not be written. With
        a baseline, 1 only if a verdict is worse.

    Raises:
        UsageError: if a file cannot be used.
    """
    paths = [options.baseline, *options.results] if options.baseline else options.results
    if len(paths) != RUNS_COMPARED:
        raise UsageError(f"two runs are compared, and {len(paths)} given; give two, or one and --baseline")
    runs = [read(path) for path in paths]
    compared = comparison([str(path) for path in paths], runs)
    _show(compared, TerminalConsole(), include_equal=options.all)
    regression = Regression.of(*runs)
    if options.baseline:
        say("\n".join(["", *regression.lines]))
    try:
        if options.json:
            write_whole(options.json, json.dumps(compared, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        complain(f"the comparison could not be written: {error}")
        return BROKEN
    return FAILED if (regression.worsened if options.baseline else compared["differences"]) else 0


def read(path: Path) -> dict[str, Any]:
    """The results in a file, or in a folder of reports.

    Raises:
        UsageError: if they cannot be read.
    """
    return results.read(path / results.FILE if path.is_dir() else path)


@dataclass(frozen=True)
class Regression:
    """What has changed since an earlier run: by the name of each result, a line with both verdicts.

    Attributes:
        worsened: what fails, or can no longer be decided, and was better.
        improved: what was worse.
        new: what was not judged then.
        removed: what is not judged any more.
    """

    worsened: Mapping[str, str]
    improved: Mapping[str, str]
    new: Mapping[str, str]
    removed: Mapping[str, str]

    @classmethod
    def of(cls, before: Mapping[str, Any], now: Mapping[str, Any]) -> Self:
        """Compare two runs' results, as `results.json` holds them; what is waived fails no less."""
        old, new = (
            {results.name_of(result): Verdict(result["verdict"]) for result in run["results"]} for run in (before, now)
        )
        pairs = {name: (old[name], verdict) for name, verdict in new.items() if name in old}
        lines = {name: f"{name}: {one}, now {other}" for name, (one, other) in pairs.items()}
        rank = STRONGEST_FIRST.index
        return cls(
            {name: lines[name] for name, (one, other) in pairs.items() if other in GATING and rank(other) < rank(one)},
            {name: lines[name] for name, (one, other) in pairs.items() if one in GATING and rank(other) > rank(one)},
            {name: f"{name}: {verdict}" for name, verdict in new.items() if name not in old},
            {name: f"{name}: was {verdict}" for name, verdict in old.items() if name not in new},
        )

    @property
    def lines(self) -> list[str]:
        lines = []
        for title, changes in (
            ("worse", self.worsened),
            ("better", self.improved),
            ("new", self.new),
            ("gone", self.removed),
        ):
            lines += [f"{len(changes)} {title}", *(f"  {line}" for line in changes.values())] if changes else []
        return lines or ["nothing is worse or better"]


def comparison(names: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The runs side by side, for programs.

    Returns:
        `runs`, each with its name, target and word; `rules` and `open_points`, each a list of entries with a name,
        one value for each run and whether these are the same; `differences`, how many entries differ.
    """
    verdicts = [{results.name_of(result): result["verdict"] for result in run["results"]} for run in runs]
    choices = [{name: ", ".join(values) for name, values in run["open_points"].items()} for run in runs]
    rules, points = _side_by_side(verdicts, "not run"), _side_by_side(choices, "not seen")
    described = ("base_url", "word", "verdict", "contract_version", "began")
    return {
        "runs": [
            {"name": name} | {key: run.get(key, run["word"]) for key in described}
            for name, run in zip(names, runs, strict=True)
        ],
        "rules": rules,
        "open_points": points,
        "differences": sum(not entry["same"] for entry in (*rules, *points)),
    }


def _side_by_side(columns: Sequence[Mapping[str, str]], absent: str) -> list[dict[str, Any]]:
    names = sorted({name for column in columns for name in column})
    rows = [(name, [column.get(name, absent) for column in columns]) for name in names]
    return [{"name": name, "values": values, "same": len(set(values)) == 1} for name, values in rows]


def _show(compared: Mapping[str, Any], console: Console, *, include_equal: bool) -> None:
    compared = printable_values(compared)
    for number, run in enumerate(compared["runs"], 1):
        title = f"{number}  {run['name']}  {run['base_url']}  {run['verdict']}, contract {run['contract_version']}"
        console.print(title)
    for title, key in (("rule", "rules"), ("open point", "open_points")):
        rows = [row for row in compared[key] if include_equal or not row["same"]]
        table = Table(title, "1", "2", box=None, pad_edge=False)
        for row in rows:
            table.add_row(row["name"], *row["values"], style="" if row["same"] else "bold")
        if rows:
            console.print("")
            console.print(table)
    console.print(f"\n{compared['differences']} differences" if compared["differences"] else "\nno difference")
