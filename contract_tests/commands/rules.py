"""The command `contract-tests rules`: rules, open points and statements, listed or explained."""

import re
import textwrap
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import groupby

from contract_tests.errors import UsageError
from contract_tests.options import RulesOptions
from link_management_contract import Contract, OpenPoint, Rule
from link_management_contract.texts import rulings, statements

WIDTH = 80
EVIDENCE_NEEDED = {"exchange": "one answer", "state": "several requests", "round": "requests that overlap"}


def rules_command(contract: Contract, options: RulesOptions) -> int:
    """Print all rules and open points, or one.

    Raises:
        UsageError: if there is no such rule or open point.
    """
    print(text_about(contract, options.rule or "*"))
    return 0


def text_about(contract: Contract, name: str) -> str:
    """What there is to say of a rule, an open point, a statement by its number, `ruling 14`, an area or a pattern.

    Raises:
        UsageError: if there is none.
    """
    if any(letter in "*?[" for letter in name) or name in areas(contract):
        return _overview(contract, f"{name}.*" if name in areas(contract) else name)
    number = name.removeprefix("statement ")
    if number in statements():
        return _statement(contract, number)
    ruling = rulings().get(name.casefold().removeprefix("ruling "))
    return textwrap.fill(ruling, WIDTH) if ruling else _explanation(contract, name)


def areas(contract: Contract) -> list[str]:
    return list(dict.fromkeys([*(rule.partition(".")[0] for rule in contract.rules), "open"]))


def _statement(contract: Contract, number: str) -> str:
    entries: list[Rule | OpenPoint] = [*contract.rules.values(), *contract.open_points.values()]
    resting = [entry.id for entry in entries if number in map(str, entry.numbers)]
    lines = [f"Statement {number}", textwrap.fill(statements()[number], WIDTH), ""]
    return "\n".join([*lines, *(f"  {name}" for name in resting or ["no rule and no open point rests on it alone"])])


def _overview(contract: Contract, pattern: str) -> str:
    lines = []
    rules = [rule for rule in contract.rules.values() if fnmatchcase(rule.id, pattern)]
    points = [point for point in contract.open_points.values() if fnmatchcase(point.id, pattern)]
    if not rules and not points:
        raise UsageError(f'no rule matches "{pattern}"; areas are {", ".join(areas(contract))}')
    entries: list[Rule | OpenPoint] = [*rules, *points]
    for area, group in groupby(entries, key=lambda entry: entry.id.partition(".")[0]):
        lines.append(f"{area}\n")
        for entry in group:
            label = entry.level if isinstance(entry, Rule) else f"the mock: {entry.default}"
            lines.append(f"  {entry.id}  ({label})")
            lines.append(textwrap.fill(entry.statement, WIDTH, initial_indent="    ", subsequent_indent="    "))
        lines.append("")
    return "\n".join([*lines, f"{len(rules)} rules, {len(points)} open points"])


def _explanation(contract: Contract, name: str) -> str:
    entry = contract.rules.get(name) or contract.open_points.get(name.removeprefix("open."))
    if entry is None:
        points = [point.id for point in contract.open_points.values()]
        similar = get_close_matches(name, [*contract.rules, *points], n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(similar)}?" if similar else f"areas are {', '.join(areas(contract))}"
        raise UsageError(f'no rule "{name}"; {hint}')
    lines = [entry.id, textwrap.fill(entry.statement, WIDTH), ""]
    lines.append(f"Source     section {entry.section!r} of the specification, docs/specification.md")
    statement_texts, ruling_texts = statements(), rulings()
    texts = {number: statement_texts[number] for number in map(str, entry.numbers)}
    for number in re.findall(r"ruling (\d+)", f"{texts}"):
        texts[f"ruling {number}"] = ruling_texts[number]
    for number, text in texts.items():
        numbered_text = f"{number:>4} {text}"
        lines.append(textwrap.fill(numbered_text, WIDTH, initial_indent=" " * 10, subsequent_indent=" " * 15))
    if isinstance(entry, Rule):
        lines.append(f"Level      {entry.level}")
        lines.append(f"Judged by  {EVIDENCE_NEEDED[entry.decided_by]}")
        lines.append(f"Holds for  {', '.join(entry.resources)}")
    else:
        lines += ["Values", *(f"  {value}  {meaning}" for value, meaning in entry.values.items())]
    return "\n".join(lines)
