"""All defects, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from link_management_contract import Rule, shipped_contract
from mock_server.errors import SettingsError
from mock_server.faults.defects import (
    accounts,
    creates,
    deletes,
    envelopes,
    fields,
    handlers,
    links,
    operations,
    overlaps,
    pages,
    records,
    robustness,
    shapes,
    times,
    totals,
    updates,
    values,
)
from mock_server.faults.defects.defect import Defect, Table

AREAS = (
    operations,
    pages,
    totals,
    links,
    envelopes,
    records,
    times,
    handlers,
    fields,
    values,
    shapes,
    creates,
    updates,
    deletes,
    accounts,
    robustness,
    overlaps,
)


def by_name(tables: Iterable[Table], rules: Mapping[str, Rule]) -> dict[str, Defect]:
    """The defects of some tables, by name.

    Args:
        tables: the defects of rules.
        rules: the rules of the contract by id.

    Raises:
        ValueError: if a name is used twice, or a rule is unknown.
    """
    defects: dict[str, Defect] = {}
    for rule, row in ((rule, row) for table in tables for rule, rows in table.items() for row in rows):
        defect = row(rule)
        if defect.name in defects:
            raise ValueError(f'two defects are called "{defect.name}"; name one of them otherwise')
        if rule not in rules:
            raise ValueError(
                f'the defect "{defect.name}" breaks "{rule}", which is no rule of openapi.yaml; add it to x-rules'
            )
        defects[defect.name] = replace(defect, resources=defect.resources or rules[rule].resources)
    return defects


MOST_AT_A_TIME = 50
DEFECTS = by_name((area.DEFECTS for area in AREAS), shipped_contract().rules)


def defects_named(names: Iterable[str]) -> list[Defect]:
    """The defects of these names.

    Raises:
        SettingsError: if a name is unknown or given twice, or there are too many.
    """
    names = list(names)
    if len(set(names)) < len(names) or len(names) > MOST_AT_A_TIME:
        raise SettingsError(f"there are {len(names)} defects; give each once, and {MOST_AT_A_TIME} at most")
    unknown = [name for name in names if name not in DEFECTS]
    if unknown:
        near = get_close_matches(unknown[0], DEFECTS, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`mock-server --list-defects` names them all"
        raise SettingsError(f'no defect "{unknown[0]}"; {hint}')
    return [DEFECTS[name] for name in names]


def needs(defects: Iterable[Defect], choices: Mapping[str, str]) -> dict[str, str]:
    """The values of open points without which some defects do not show.

    Raises:
        SettingsError: if another value was chosen.
    """
    needed = {point: (value, defect.name) for defect in defects for point, value in defect.needs.items()}
    for point, (value, name) in needed.items():
        given = choices.get(point, choices.get(f"open.{point}", value))
        if given != value:
            raise SettingsError(f'the defect "{name}" does not show with {point}={given}; leave that out')
    return {point: value for point, (value, _) in needed.items()}
