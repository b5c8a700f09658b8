"""The table of situations of a gate in docs/ci.md holds: the exit status, and what is left_text behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gate import SITUATIONS
from shell import ROOT

PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| (.+?) \| (\S+ \| \d+ \| .+?) \|$", PAGE, re.MULTILINE))
IN_CI = (
    "no server answers",
    "the same, with `--max-5xx 0`",
    "cancelled after 2 s",
    "the job after that, with `--adopt`",
)


def test_the_page_has_each_situation() -> None:
    assert list(ROWS) == list(SITUATIONS)


CASES = [pytest.param(name, marks=[pytest.mark.exhaustive] * (name not in IN_CI)) for name in SITUATIONS]


@pytest.mark.slow
@pytest.mark.parametrize("situation", CASES)
def test_a_gate_ends_as_the_page_says(tmp_path: Path, situation: str) -> None:
    status, _, left_text = ROWS[situation].split(" | ")
    result = SITUATIONS[situation](tmp_path)
    assert str(result.status) == status
    assert (result.left == 0) is (left_text == "0")
