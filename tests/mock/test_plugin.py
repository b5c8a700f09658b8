from __future__ import annotations

from wire import Client, over_network

from mock_server import MockServer


def test_the_fixture_serves_a_mock_to_the_tests_of_a_client(mock_server: MockServer) -> None:
    client = Client(over_network(mock_server.base_url), "sandbox-plugin")
    client.create("/api/projects", {"name": "Only here"})
    assert client.get("/api/splash-pages/").json["data"][0]["name"] == "Only here"


def test_the_fixture_is_the_same_server_and_another_sandbox_is_untouched(mock_server: MockServer) -> None:
    client = Client(over_network(mock_server.base_url), "sandbox-another")
    assert client.get("/api/splash-pages/").json["data"][0]["name"] != "Only here"
