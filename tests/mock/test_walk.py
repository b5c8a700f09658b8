from __future__ import annotations

import pytest
from conformance import check
from walk import RESOURCES, Resource, walk
from wire import HARBOUR, Client, over_network

from mock_server import MockServer


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.name)
def test_a_walk_over_a_socket_meets_only_answers_of_the_contract(resource: Resource) -> None:
    with MockServer(fixture="empty", base_path="/prefix/deep") as server:
        steps = list(walk(Client(over_network(server.base_url)), resource))
    for step in steps:
        assert step.answer.status < 500, step
        if step.operation:
            check(resource, step.operation, step.answer)
    assert {step.operation for step in steps} == {"list", "create", "read", "update", "delete", None}


def test_a_restart_begins_with_the_fixture_again() -> None:
    lists = []
    for _ in range(2):
        with MockServer() as server:
            client = Client(over_network(server.base_url))
            before = client.get("/api/splash-pages/").json
            client.create("/api/projects", {"name": "Gone with the process"})
            lists.append((before["data"], client.get("/api/splash-pages/").json["data"]))
    assert lists[0] == lists[1]
    assert lists[0][0] != lists[0][1]


def test_page_links_begin_with_the_base_url_that_was_asked() -> None:
    with MockServer(base_path="/prefix") as server:
        links = Client(over_network(server.base_url)).get("/api/domains/").json["links"]
    assert links["self"] == f"{server.base_url}/api/domains?page=1"


def test_page_links_begin_with_the_public_base_url_that_was_set() -> None:
    with MockServer(public_base_url="https://links.example.com/v") as server:
        links = Client(over_network(server.base_url)).get("/api/splash-pages/").json["links"]
    assert links["first"] == "https://links.example.com/v/api/projects?page=1"


def test_ipv6_addresses_are_served() -> None:
    with MockServer("::1") as server:
        assert server.base_url.startswith("http://[::1]:")
        assert Client(over_network(server.base_url), HARBOUR).get("/api/domains/").status == 200


def test_the_contract_is_served_with_the_servers_own_url() -> None:
    with MockServer(base_path="/prefix") as server:
        answer = Client(over_network(server.base_url)).get("/openapi.yaml")
    assert f"default: {server.base_url}".encode() in answer.body
