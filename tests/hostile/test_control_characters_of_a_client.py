"""Surface: what a client under test prints, which the reports of a trial quote.
Attack: it prints characters that no XML may hold, and some that steer a terminal.
Holds: `junit.xml` can be read, and neither what is for people nor what is for CI holds such a character.
"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree.ElementTree import parse

from shell import in_process

from mock_server import cli

STEERING = "print('\\0\\x1b[31m \\ufffe\\x08]]> it is broken'); raise SystemExit(3)"


def test_the_reports_hold_no_control_character(tmp_path: Path) -> None:
    ended = in_process(cli.main, "try", "--report-dir", tmp_path, "--", sys.executable, "-c", STEERING)
    assert "it is broken" in str(parse(tmp_path / "junit.xml").findtext(".//error"))
    texts = [ended.stdout, *((tmp_path / name).read_text("utf-8") for name in ("junit.xml", "summary.md"))]
    assert {letter for text in texts for letter in text if not letter.isprintable()} == {"\n"}
