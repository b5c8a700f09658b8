"""The table of situations of a gate in docs/ci.md holds: the exit status, and what is left behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gate import SITUATIONS
from shell import ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| (.+?) \| (\S+ \| \d+ \| .+?) \|$", PAGE, re.MULTILINE))
LONG = {name for name in SITUATIONS if re.search(r"200 ms|a minute|30 s", name)}


def test_the_page_has_each_situation() -> None:
    assert list(ROWS) == list(SITUATIONS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "situation", [pytest.param(name, marks=pytest.mark.exhaustive) if name in LONG else name for name in SITUATIONS]
)
def test_a_gate_ends_as_the_page_says(tmp_path: Path, situation: str) -> None:
    status, _, left = ROWS[situation].split(" | ")
    ended = SITUATIONS[situation](tmp_path)
    assert str(ended.status) == status
    assert (ended.left == 0) is (left == "0")
