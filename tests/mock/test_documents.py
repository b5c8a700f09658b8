"""YAML from others: nothing in it stands for more than it says, and files it names are its own."""

from __future__ import annotations

import os
import tracemalloc
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mock_server import Settings, SettingsError, create_app
from mock_server.settings.documents import read_document, write_document

LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
)
MERGES = "a: {b: 1}\nc: {<<: {d: 2}}"
SIXTIES = "now: " + ":".join(["1"] * 260_000)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (LAUGHS, "line 1: an alias or anchor, a0"),
        ("a: 1\nb: *a", "line 2: an alias or anchor, a"),
        (MERGES, "line 2: a merge key, <<"),
        (f"a: !!int '{SIXTIES[5:]}'", "line 1: a tag, tag:yaml.org,2002:int"),
        ("a: !!python/object/apply:os.system ['true']", "line 1: a tag"),
        ("[" * 100_000, "line 1: it is nested more than 20 deep"),
        ("\n".join("  " * depth + "a:" for depth in range(30)), "nested more than 20 deep"),
        ("{", "it is not YAML"),
        ("a: 2026-02-30", "it is not YAML: day is out of range"),
    ],
    ids=["laughs", "alias", "merge key", "number with a tag", "object", "brackets", "levels", "no YAML", "no date"],
)
def test_what_stands_for_more_than_it_says_is_refused_before_anything_is_built(text: str, problem: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(SettingsError, match=problem):
            read_document(text)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-17", -17),
        ("+3", 3),
        ("12.5", 12.5),
        ("999999999999999999", 10**18 - 1),
        ("1" * 19, "1" * 19),
        ("1" * 100_000, "1" * 100_000),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("017", "017"),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        (SIXTIES[5:], SIXTIES[5:]),
        ("1:30.5", "1:30.5"),
        (".inf", ".inf"),
        ("1e5", "1e5"),
        ("2026-03-02 09:00:00", datetime(2026, 3, 2, 9)),  # noqa: DTZ001 - the contract's times have no zone
        ("true", True),
        ("'<<'", "<<"),
        ("null", None),
    ],
    ids=lambda value: str(value)[:24],
)
def test_numbers_are_decimal_or_texts(text: str, value: Any) -> None:
    assert read_document(f"a: {text}") == {"a": value}


def test_what_is_written_is_read_again() -> None:
    twice = ["1:30", "0x1F", "<<", "1_000", "=", "&a", "!b", "ü 🎈", "a\nb", "", 5, True, None, 12.5]
    document = {"a": twice, "b": twice}
    assert read_document(write_document(document)) == document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "fixtures"
    inner.mkdir()
    (tmp_path / "secret.txt").write_text("a secret")
    (inner / "link.png").symlink_to(tmp_path / "secret.txt")
    (inner / "zero.png").symlink_to("/dev/zero")
    os.mkfifo(inner / "fifo.png")
    (inner / "folder.png").mkdir()
    with (inner / "long.png").open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    (inner / "good.png").write_bytes(b"png")
    return inner


def served(folder: Path, name: str) -> None:
    record = f'{{id: 1, name: a, datetime: "2026-01-01 00:00:00", logo: "{name}"}}'
    path = folder / "fixture.yaml"
    path.write_text(
        f'{{now: "2026-03-02 09:00:00", accounts: [{{name: A, api_key: key, records: {{splash-pages: [{record}]}}}}]}}'
    )
    create_app(Settings(fixture=path))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../secret.txt", "is not within the folder of the fixture"),
        ("link.png", "is not within the folder of the fixture"),
        ("zero.png", "is not within the folder of the fixture"),
        ("/dev/zero", "is not within the folder of the fixture"),
        ("fifo.png", "is not a regular file"),
        ("folder.png", "is not a regular file"),
        ("long.png", "is longer than 16 MiB"),
    ],
)
def test_a_fixture_names_regular_files_of_its_folder_alone(folder: Path, name: str, problem: str) -> None:
    served(folder, "good.png")
    with pytest.raises(SettingsError, match=f'field "logo": .*{problem}'):
        served(folder, name)
