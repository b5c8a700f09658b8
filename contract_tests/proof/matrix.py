"""The kill matrix: in a terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from contract_tests.proof.trials import Judged, Proof, Row

COLUMNS = ("area", "defects", "caught by their rule", "requests until the first finding")


def show(proof: Proof, console: Console, *, each: bool) -> None:
    """Print a proof; each defect on a line of its own, if asked for."""
    console.print(_defects(proof) if each else _areas(proof))
    for text in _texts(proof):
        console.print(text)
    for line in proof.failures:
        console.print(Text(line, style="bold red"))
    word = ("proved", "bold green") if not proof.failures else ("not proved", "bold red")
    console.print(Text(f"\n{word[0]}", style=word[1]))
    trials = sum(len(row.judged) for row in proof.rows) + len(proof.right) + len(proof.hostile)
    console.print(f"{trials} servers judged in {proof.seconds:.0f} s")


def markdown(proof: Proof) -> str:
    """The summary by area, then every defect."""
    lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS)), *map(_line, _summary(proof)), ""]
    lines += [f"- {text}" for text in _texts(proof)]
    lines += ["", _line(("defect", "breaks", "caught", "others that fell", "requests")), _line(["---"] * 5)]
    lines += [
        _line((f"`{row.defect.name}`", row.defect.rule, _share(row), ", ".join(sorted(row.others)), row.requests or ""))
        for row in proof.rows
    ]
    return "\n".join(lines)


def as_dict(proof: Proof) -> dict[str, Any]:
    """The whole proof, for programs: `areas`, `defects`, `right` and `hostile`, each a list, and `failures`."""
    return {
        "areas": [dict(zip(COLUMNS, cells, strict=True)) for cells in _summary(proof)],
        "defects": [
            {
                "name": row.defect.name,
                "rule": row.defect.rule,
                "what": row.defect.what,
                "verdict": row.verdict,
                "others": sorted(row.others),
                "requests": row.requests,
                "scripted": row.scripted,
                "trials": [_trial(each) for each in row.judged],
            }
            for row in proof.rows
        ],
        "right": [_trial(each) for each in proof.right],
        "hostile": [{"condition": each.trial.name} | _trial(each) for each in proof.hostile],
        "failures": proof.failures,
    }


def _trial(judged: Judged) -> dict[str, Any]:
    trial = judged.trial
    return {
        "switches": dict(trial.switches),
        "kinds": list(trial.resources),
        "fell": sorted(judged.fell),
        "undecided": list(judged.undecided),
        "left": list(judged.left),
        "first": judged.first,
        "explored": judged.explored,
    }


def _areas(proof: Proof) -> Table:
    table = Table(*COLUMNS, box=None, pad_edge=False, header_style="bold")
    for cells in _summary(proof):
        table.add_row(*map(str, cells))
    return table


def _defects(proof: Proof) -> Table:
    table = Table("defect", "breaks", "caught", "others that fell", "requests", box=None, pad_edge=False)
    for row in proof.rows:
        table.add_row(row.defect.name, row.defect.rule, _share(row), ", ".join(sorted(row.others)), str(row.requests))
    return table


def _summary(proof: Proof) -> Iterable[tuple[Any, ...]]:
    """A line for each area, and one for all."""
    rows = sorted(proof.rows, key=_area)
    for area, group in [(area, list(group)) for area, group in groupby(rows, key=_area)] + [("all", rows)]:
        counts = [row.requests for row in group if row.requests is not None]
        caught = sum(row.verdict == "caught" for row in group)
        middle = f"{median(counts):.0f}, at most {max(counts)}" if counts else ""
        yield area, len(group), caught, middle


def _texts(proof: Proof) -> Iterable[str]:
    scripted = sum(row.scripted for row in proof.rows)
    yield f"{scripted} of {len(proof.rows)} defects are shown by a script, which shows nothing without the defect"
    for judged, which in ((proof.right, "whatever they chose"), (proof.hostile, "under hostile conditions")):
        if judged:
            yield _right(judged, f"servers that are right, {which}")


def _right(judged: tuple[Judged, ...], what: str) -> str:
    failed = sum(bool(each.fell) for each in judged)
    undecided = sum(bool(each.undecided) for each in judged)
    left = sum(bool(each.left) for each in judged)
    return f"{len(judged)} {what}: {failed} failed, {undecided} with undecided rules, {left} with records left behind"


def _share(row: Row) -> str:
    return f"{row.caught} of {len(row.judged)}"


def _area(row: Row) -> str:
    return row.defect.rule.partition(".")[0]


def _line(cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
