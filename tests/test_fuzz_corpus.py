"""What fuzzing found, and what it starts from, read once more; `fuzz/run.py` looks for further inputs."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"
READERS = runpy.run_path(str(FUZZ / "readers.py"))["READERS"]
INPUTS = sorted(path for path in (FUZZ / "corpus").rglob("*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_input_is_read_or_refused_as_declared(path: Path) -> None:
    READERS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", READERS)
def test_each_reader_has_inputs_and_words(name: str) -> None:
    assert any(path.parent.name == name for path in INPUTS)
    assert (FUZZ / "words" / f"{name}.txt").is_file()
