"""The command `contract-tests`."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import groupby

from contract_tests.contract import Contract, OpenPoint, Rule

WIDTH = 80
USAGE_ERROR = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """List the rules and open points, or explain one.

    Args:
        arguments: the command line; that of the process, if None.

    Returns:
        The exit status: 0, or 4 for a mistake in the command line.
    """
    parser = argparse.ArgumentParser(prog="contract-tests", description="Judge implementations of the contract.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    rules = commands.add_parser("rules", help="list the rules and open points, or explain one")
    rules.add_argument("rule", nargs="?", metavar="RULE", help="the id of a rule or an open point")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as ended:
        return USAGE_ERROR if ended.code else 0
    contract = Contract()
    if options.rule is None:
        print(_overview(contract))
        return 0
    entry = contract.rules.get(options.rule) or contract.open_points.get(options.rule)
    if entry is None:
        near = get_close_matches(options.rule, [*contract.rules, *contract.open_points], n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else "`contract-tests rules` lists them all"
        parser.exit(USAGE_ERROR, f'contract-tests: no rule "{options.rule}"; {hint}\n')
    print(_explained(entry))
    return 0


def _overview(contract: Contract) -> str:
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


def _explained(entry: Rule | OpenPoint) -> str:
    lines = [entry.id, textwrap.fill(entry.statement, WIDTH), ""]
    numbers = ", ".join(map(str, entry.numbers))
    lines.append(f"Source     section {entry.section!r} of the specification, statements {numbers}")
    if isinstance(entry, Rule):
        lines.append(f"Level      {entry.level}")
        lines.append(f"Judged by  {'one answer' if entry.kind == 'exchange' else 'several requests'}")
        lines.append(f"Holds for  {', '.join(entry.resources)}")
    else:
        lines.append("Values")
        lines += [f"  {value}  {meaning}" for value, meaning in entry.values.items()]
    return "\n".join(lines)
