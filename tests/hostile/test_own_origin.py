"""Surface: the header `Origin`, by which the control plane and the console know their own pages.
Attack: a page of the same host and port, served by https; of a name or address that only looks like this machine's.
Holds: pages of the mock's very origin are answered, and no others.
"""

from __future__ import annotations

import pytest
from wire import Client, over_network

from mock_server import MockServer

CASES = [("http://{}", 200), ("https://{}", 403), ("http://127.999.0.1:{}", 403), ("http://{}.example.com", 403)]


@pytest.mark.parametrize(("pattern", "expected"), CASES)
def test_only_pages_of_its_very_origin_control_a_mock(server: MockServer, pattern: str, expected: int) -> None:
    address = server.origin.partition("://")[2]
    origin = pattern.format(address.rpartition(":")[2] if "999" in pattern else address)
    client = Client(over_network(server.origin))
    assert client.request("GET", "/_mock/state", headers={"Origin": origin}).status == expected
    assert client.request("POST", "/_mock/reset", headers={"Origin": origin}).status == expected
