"""Surface: the folder for temporary files, where the tools of a coding agent keep the reports of their runs.
Attack: another user of the machine looks there while the tools run, and after they were ended by SIGTERM.
Holds: nobody else can open the reports, and none are left.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from mcp_client import called

from mock_server import MockServer

pytestmark = pytest.mark.slow


def test_reports_are_for_their_user_alone_and_go_with_the_tools(server: MockServer, tmp_path: Path) -> None:
    arguments = {"base_url": server.base_url, "explore": 0, "resources": ["domains"], "rules": ["envelopes.list-*"]}
    with called("contract-tests", "judge", arguments, TMPDIR=str(tmp_path)) as tools:
        assert tools.stdout
        answers = [json.loads(tools.stdout.readline()) for _ in range(2)]
        assert "partial" in str(answers[-1]["result"])
        [folder] = tmp_path.iterdir()
        assert list(folder.rglob("results.json"))
        assert folder.stat().st_mode & 0o077 == 0
        tools.send_signal(signal.SIGTERM)
        assert tools.wait(60) == 0
    assert list(tmp_path.iterdir()) == []
