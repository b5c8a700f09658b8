"""All defects, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

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
    pages,
    records,
    robustness,
    shapes,
    times,
    totals,
    updates,
    values,
)
from mock_server.faults.defects.defect import Defect

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
)
DEFECTS = {defect.name: defect for area in AREAS for defect in area.DEFECTS}


def defects_named(names: Iterable[str]) -> list[Defect]:
    """The defects of these names.

    Raises:
        SettingsError: if there is none of a name.
    """
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
