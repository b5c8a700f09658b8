"""Surface: the tools of a coding agent, which start a run of the suite, or a client under test again and again.
Attack: the agent kills their process by SIGKILL while they are at it.
Holds: the client is ended and not started again; the run ends, and removes the records that it made.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp_client import called
from shell import NEEDS_PROC, children, everything, has_ended
from upstream import wait_for

from mock_server import MockServer

pytestmark = [pytest.mark.slow, NEEDS_PROC]
CLIENT = """
curl --silent --output answer --header "Authorization: Bearer $API_KEY" "$MOCK_URL/api/domains/"
[ -e first ] && { echo $$ >>hanging; exec sleep 600; }
touch first
"""


def test_a_trial_ends_with_the_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with called("mock-server", "try", {"command": ["sh", "-c", CLIENT], "only": ["order"]}) as tools:
        wait_for(lambda: Path("hanging").exists() and Path("hanging").read_text().endswith("\n"))
        trials = children(tools.pid)
        tools.kill()
        wait_for(lambda: all(map(has_ended, trials)))
    assert len(trials) == 1
    assert all(has_ended(int(pid)) for pid in Path("hanging").read_text().split())


def test_a_run_ends_with_the_tools_and_leaves_nothing() -> None:
    with MockServer(conditions={"latency": 0.02}) as server:
        before = everything(server)
        with called("contract-tests", "judge", {"base_url": server.base_url, "explore": 0}) as tools:
            wait_for(lambda: len(server.running.journal.find(method="POST", status="201")) > 3)
            assert everything(server) != before
            runs = children(tools.pid)
            tools.kill()
            wait_for(lambda: all(map(has_ended, runs)))
        assert len(runs) == 1
        assert everything(server) == before
