"""The rules and open points, listed or explained."""

from __future__ import annotations

import textwrap
from difflib import get_close_matches
from itertools import groupby

from contract_tests.statements import statements
from link_management_contract import Contract, OpenPoint, Rule

WIDTH = 80
JUDGED_BY = {"exchange": "one answer", "state": "several requests", "round": "requests that overlap"}
INDENT, FURTHER = " " * 10, " " * 15


def overview(contract: Contract) -> str:
    """All rules and open points, by area."""
    lines = []
    entries: list[Rule | OpenPoint] = [*contract.rules.values(), *contract.open_points.values()]
    for area, group in groupby(entries, key=lambda entry: entry.id.partition(".")[0]):
        lines.append(f"{area}\n")
        for entry in group:
            label = entry.level if isinstance(entry, Rule) else f"here {entry.default}"
            lines.append(f"  {entry.id}  ({label})")
            lines.append(textwrap.fill(entry.statement, WIDTH, initial_indent="    ", subsequent_indent="    "))
        lines.append("")
    lines.append(f"{len(contract.rules)} rules, {len(contract.open_points)} open points")
    return "\n".join(lines)


def explain(contract: Contract, name: str) -> str:
    """One rule or open point.

    Raises:
        LookupError: if no rule or open point has that id; the message names the nearest ones.
    """
    entry = contract.rules.get(name) or contract.open_points.get(name.removeprefix("open."))
    if entry is None:
        near = get_close_matches(
            name, [*contract.rules, *(point.id for point in contract.open_points.values())], n=3, cutoff=0.4
        )
        hint = f"did you mean {' or '.join(near)}?" if near else "`contract-tests rules` lists them all"
        raise LookupError(f'no rule "{name}"; {hint}')
    lines = [entry.id, textwrap.fill(entry.statement, WIDTH), ""]
    lines.append(f"Source     section {entry.section!r} of the specification, docs/specification.md")
    known = statements()
    lines += [_statement(number, known[number]) for number in map(str, entry.numbers)]
    if isinstance(entry, Rule):
        lines.append(f"Level      {entry.level}")
        lines.append(f"Judged by  {JUDGED_BY[entry.decided_by]}")
        lines.append(f"Holds for  {', '.join(entry.resources)}")
    else:
        lines.append("Values")
        lines += [f"  {value}  {meaning}" for value, meaning in entry.values.items()]
    return "\n".join(lines)


def _statement(number: str, text: str) -> str:
    return textwrap.fill(f"{number:>4} {text}", WIDTH, initial_indent=INDENT, subsequent_indent=FURTHER)
