"""Surface: the host of a base URL, and of a request to the control plane, of which this machine's own are trusted.
Attack: a host that looks like an address of this machine, and may be a name on the network.
Holds: a run sends such a host nothing unless writes are allowed, and the control plane answers none.
"""

from __future__ import annotations

import pytest
from shell import command
from wire import Client, over_network

from mock_server import MockServer

HOSTS = ("127.999.0.1", "127.0.0.1.example.com", "localhost.example.com", "127.1", "0127.0.0.1")


@pytest.mark.parametrize("host", HOSTS)
def test_an_address_that_looks_like_this_machine_is_none(server: MockServer, host: str) -> None:
    ended = command("run", "--base-url", f"http://{host}:8000")
    assert ended.returncode == 4
    assert f"{host} is not this machine" in ended.stderr or f"{host}:8000 is not this machine" in ended.stderr
    client = Client(over_network(server.origin))
    assert client.request("POST", "/_mock/reset", headers={"Host": f"{host}:8000"}).status == 403
