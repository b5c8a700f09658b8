"""The example of CONTRIBUTING.md, carried out on a copy of the checkout."""

from __future__ import annotations

import faulthandler
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shell import ROOT

FOLDERS = ("contract_tests", "docs", "fixtures", "link_management_contract", "mock_server", "tests")
FILES = ("openapi.yaml", "pyproject.toml")
LISTING = "shows-one-more or listed-twice or ends-as-it-begins or lack-id"  # defects; all of them take minutes


def blocks(language: str) -> list[str]:
    """The blocks of the example in this language."""
    example = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("### An example")[2]
    return re.findall(rf"```{language}\n(.*?)```", example, re.DOTALL)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    without = shutil.ignore_patterns("__pycache__", "node_modules", "*.pyc")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=without)
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def carried_out(checkout: Path, command: str, **more: str) -> tuple[int, str]:
    """The exit status of a command in the copy, and what it prints."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "PYTEST_ADDOPTS": "-p no:cacheprovider"} | more
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def patch(checkout: Path, diff: str) -> None:
    subprocess.run(["git", "apply", "-"], input=diff, cwd=checkout, text=True, check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "defects_tried", [LISTING, pytest.param("", marks=pytest.mark.exhaustive)], ids=["some", "all"]
)
def test_the_example_of_a_rule_goes_as_contributing_says(checkout: Path, defects_tried: str) -> None:
    if not defects_tried:
        faulthandler.cancel_dump_traceback_later()  # on a busy machine, all of them take longer than a test may
    (first, implies), (findings, defects, proof) = blocks("diff"), blocks("text")
    patch(checkout, first)
    status, printed = carried_out(checkout, ".venv/bin/pytest -q tests/rules", FINDINGS="write")
    assert status == 0, printed
    golden = "tests/golden/findings.txt"
    accepted = set((checkout / golden).read_text("utf-8").splitlines())
    assert accepted - set((ROOT / golden).read_text("utf-8").splitlines()) == set(findings.splitlines())

    command, *lines = defects.splitlines()
    judge = f"{command.removeprefix('$ ').replace('-n 2 ', '')} -k '{defects_tried}'"
    status, printed = carried_out(checkout, judge)
    assert status == 1
    assert [line for line in lines if line not in printed] == []
    assert sorted(re.findall(r"^FAILED (\S+)", printed, re.MULTILINE)) == sorted(
        line.removeprefix("FAILED ") for line in lines if line.startswith("FAILED")
    )
    patch(checkout, implies)
    status, printed = carried_out(checkout, f"{judge} && .venv/bin/pytest -q tests/test_checklists.py")
    assert status == 0, printed

    command, *lines = proof.splitlines()
    status, printed = carried_out(checkout, f"{command.removeprefix('$ ')} --seeds 2 --jobs 1")
    assert status == 0, printed
    assert [line for line in lines if line not in ("...", *printed.splitlines())] == []
