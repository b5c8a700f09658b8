"""Surface: what a client under test prints, and how long it takes.
Attack: it prints without end.
Holds: its first run has a limit, and the reports keep no more than the beginning and the end of what it printed.
"""

from __future__ import annotations

import json
from pathlib import Path

from shell import in_process

from mock_server import cli
from mock_server.trial.runs import MAX_OUTPUT


def test_a_client_that_prints_without_end_is_ended(tmp_path: Path) -> None:
    ended = in_process(cli.main, "try", "--limit", "1", "--report-dir", tmp_path, "--", "yes")
    assert ended.returncode == 7
    assert "your client fails by itself, with default choices: did not end within 1 s" in ended.stdout
    assert json.loads((tmp_path / "results.json").read_text("utf-8"))["output"] == "y\n" * (MAX_OUTPUT // 2)
