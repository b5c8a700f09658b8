"""Surface: conditions in which another user writes to an account, forced for one sandbox.
Attack: the sandbox asks again and again, so that the other user adds, changes and removes records at each call.
Holds: the sandbox's own records change, and those of the fixture's accounts do not.
"""

from __future__ import annotations

import pytest
from shell import everything
from wire import Client, over_network

from mock_server import MockServer


@pytest.mark.parametrize("name", ["other-remover", "other-editor", "other-writer"])
def test_the_other_user_of_a_sandbox_writes_to_no_account_but_the_sandbox(server: MockServer, name: str) -> None:
    sandbox = Client(over_network(server.base_url), "sandbox-a")
    before = everything(server)
    server.running.force({"condition": f"{name}=1", "account": "sandbox-a", "times": None})
    paths = ("/api/splash-pages/", "/api/domains/", "/api/notification-handlers/")
    lists = {sandbox.get(path).body for _ in range(4) for path in paths}
    assert len(lists) > len(paths)
    assert everything(server) == before
