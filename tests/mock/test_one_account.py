"""Control of one account: it starts again, and no other does."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from asking import control, told
from wire import ALPINE, HARBOUR, Client, over_network

from mock_server import MockServer
from mock_server.journal.journal import frequent_remarks

SHARED = pytest.mark.usefixtures("store")  # for what a store in Redis does in code of its own

FIXTURE: dict[str, Any] = {
    "now": "2030-05-01 12:00:00",
    "accounts": [
        {"name": "First", "api_key": "first", "records": {"domains": [domain]}}
        for domain in [{"id": 7, "host": "first.example.com", "datetime": "2030-01-01 00:00:00"}]
    ],
}


def hosts(server: MockServer, key: str) -> list[str]:
    return [each["host"] for each in Client(over_network(server.base_url), key).get("/api/domains/").json["data"]]


@SHARED
@pytest.mark.parametrize("key", [HARBOUR, ALPINE, "sandbox-one"])
def test_one_account_starts_again_and_no_other(server: MockServer, key: str) -> None:
    keys = (HARBOUR, ALPINE, "sandbox-one", "sandbox-two")
    before = {each: hosts(server, each) for each in keys}
    for each in keys:
        Client(over_network(server.base_url), each).create("/api/domains", {"host": "later.example.com"})
        server.running.force({"status": 503, "account": each, "times": 2})
    answer = control(server, "POST", f"/accounts/{key}/reset")
    assert (
        answer.json()["domains"]
        == requests.get(
            f"{server.base_url}/api/domains/", headers={"Authorization": f"Bearer {key}"}, timeout=60
        ).json()["meta"]["total"]
    )
    assert hosts(server, key) == before[key]
    assert {each.account for each in server.running.effects.active} == {
        server.running.account_named(each) for each in keys if each != key
    }
    server.running.effects.remove()
    for each in set(keys) - {key}:
        assert "later.example.com" in hosts(server, each)


@SHARED
def test_its_ids_and_times_begin_again(server: MockServer) -> None:
    client = Client(over_network(server.base_url), "sandbox-one")
    made = []
    for _ in range(2):
        control(server, "POST", "/accounts/sandbox-one/reset")
        identifier = client.create("/api/domains", {"host": "again.example.com"})
        made.append((identifier, client.get(f"/api/domains/{identifier}").json["data"]["datetime"]))
    assert made[0] == made[1]


@SHARED
@pytest.mark.parametrize("key", [HARBOUR, "sandbox-new"])
def test_it_starts_with_a_fixture_or_a_snapshot(server: MockServer, key: str) -> None:
    others = hosts(server, ALPINE)
    control(server, "PUT", "/snapshots/before")
    control(server, "POST", f"/accounts/{key}/reset", json={"fixture": "empty"})
    assert hosts(server, key) == []
    control(server, "POST", f"/accounts/{key}/reset", json={"fixture": FIXTURE})
    assert hosts(server, key) == ["first.example.com"]
    made = Client(over_network(server.base_url), key).create("/api/domains", {"host": "second.example.com"})
    assert made == 8
    control(server, "POST", f"/accounts/{key}/reset", json={"snapshot": "before"})
    assert len(hosts(server, key)) == 25
    assert hosts(server, ALPINE) == others


@SHARED
@pytest.mark.parametrize("key", [HARBOUR, "sandbox-one"])
def test_it_starts_with_records_or_with_its_own_place_in_a_fixture(server: MockServer, key: str) -> None:
    others = hosts(server, ALPINE)
    control(server, "POST", f"/accounts/{key}/reset", json={"records": {"domains": [{"host": "given.example.com"}]}})
    assert hosts(server, key) == ["given.example.com"]
    fixture = {"accounts": [{"name": "Other", "api_key": "other"}, {**FIXTURE["accounts"][0], "api_key": key}]}
    control(server, "POST", f"/accounts/{key}/reset", json={"fixture": fixture})
    assert hosts(server, key) == ["first.example.com"]
    assert hosts(server, ALPINE) == others


@pytest.mark.parametrize(
    ("key", "given", "problem"),
    [
        ("nobody", {}, 'no account has the key "nobody"'),
        (HARBOUR, {"fixture": "big"}, "no fixture 'big'; give demo, empty"),
        (HARBOUR, {"snapshot": "none"}, 'there is no snapshot "none"; there are: none'),
        (HARBOUR, {"recrods": {}}, 'expected an object with "records", "fixture" or "snapshot"'),
        (HARBOUR, {"records": {}, "fixture": "empty"}, 'expected an object with "records", "fixture" or "snapshot"'),
        (HARBOUR, {"records": 5}, "records holds a list for each of splash-pages, domains"),
        (HARBOUR, {"records": {"links": []}}, 'no resource "links"; resources are splash-pages'),
        ("sandbox-one", {"records": {"domains": [{}]}}, 'this account, domains, record 1: the field "host" is missing'),
        (HARBOUR, {"fixture": {"accounts": []}}, "expected the keys now and accounts"),
    ],
)
def test_what_cannot_be_meant_changes_nothing(server: MockServer, key: str, given: Any, problem: str) -> None:
    Client(over_network(server.base_url), HARBOUR).create("/api/domains", {"host": "kept.example.com"})
    answer = control(server, "POST", f"/accounts/{key}/reset", json=given)
    assert (answer.status_code, problem in told(answer)) == (400, True), told(answer)
    assert "kept.example.com" in hosts(server, HARBOUR)


@SHARED
def test_mistakes_of_an_account_are_meant_until_it_starts_again(server: MockServer) -> None:
    client = Client(over_network(server.base_url), "sandbox-one")
    for _ in range(2):
        control(server, "POST", "/accounts/sandbox-one/meant", json=["client.unknown-parameter"])
        client.get("/api/domains/?limit=1")
    assert frequent_remarks(server.running.journal) == []
    control(server, "POST", "/accounts/sandbox-one/reset")
    client.get("/api/domains/?limit=1")
    assert [count.times for _, _, count in frequent_remarks(server.running.journal)] == [1]
    answer = control(server, "POST", "/accounts/sandbox-one/meant", json={"rule": 1})
    assert (answer.status_code, told(answer)[:26]) == (400, "expected an array of rules")
