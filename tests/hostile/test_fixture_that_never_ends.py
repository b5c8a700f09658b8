"""Surface: the name of a fixture's file, which may stand in a project that somebody else wrote.
Attack: it is a device without end, a pipe that nobody writes to, or a folder.
Holds: the mock says so, and neither waits nor reads.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from shell import failure


@pytest.mark.parametrize("source", ["/dev/zero", "fifo", "link", "."])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    Path("link").symlink_to("/dev/zero")
    assert f'fixture "{source}" is not a file of at most 64 MiB' in failure("--fixture", source)
