"""All defects, by name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from mock_server.defects import (
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
    times,
    totals,
    updates,
    values,
)
from mock_server.defects.defect import Defect
from mock_server.errors import SettingsError

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
    creates,
    updates,
    deletes,
    accounts,
    robustness,
)
DEFECTS = {defect.name: defect for area in AREAS for defect in area.DEFECTS}


def chosen(names: Iterable[str]) -> list[Defect]:
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
