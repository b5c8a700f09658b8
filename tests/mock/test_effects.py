"""Effects: which of several wins, which requests get one, and when it ends."""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

import pytest
from asking import control, told
from wire import ALPINE, HARBOUR, Client, over_network

from mock_server import MockServer

SHARED = pytest.mark.usefixtures("store")  # for what a store in Redis does in code of its own

LIST = "/api/domains/?results_per_page=10"
BY_PRECEDENCE = {  # the status that each makes a list answer
    "a condition for some": 307,
    "a condition for all": 502,
    "a preference": 418,
    "a forced answer": 410,
    "a defect": 500,
}


def put_in_effect(server: MockServer, way: str) -> dict[str, str]:
    """Let lists fail in one way; the headers that the request needs for that."""
    if way == "a condition for some":
        control(server, "POST", "/forced", json={"condition": "redirecting-proxy=307", "account": HARBOUR})
    elif way == "a condition for all":
        control(server, "PATCH", "/state", json={"conditions": {"gateway-errors": 1}})
    elif way == "a forced answer":
        control(server, "POST", "/forced", json={"status": 410})
    elif way == "a defect":
        control(server, "PATCH", "/state", json={"defects": ["lists-fail"]})
    return {"Prefer": "code=418"} if way == "a preference" else {}


@pytest.mark.parametrize(("first", "second"), list(combinations(BY_PRECEDENCE, 2)))
def test_of_two_effects_the_outer_one_shows(server: MockServer, client: Client, first: str, second: str) -> None:
    headers = put_in_effect(server, second) | put_in_effect(server, first)
    assert client.request("GET", LIST, headers=headers).status == BY_PRECEDENCE[first]


@SHARED
def test_a_condition_is_for_one_account_and_others_see_nothing_of_it(server: MockServer, client: Client) -> None:
    other = Client(over_network(server.base_url), "sandbox-limited")
    control(server, "POST", "/forced", json={"condition": "rate-limit=2", "account": "sandbox-limited"})
    control(server, "POST", "/forced", json={"condition": "quota=1", "account": "sandbox-limited", "method": "POST"})
    assert other.post("/api/domains", {"host": "a.example.com"}).status == 403
    assert [other.get("/api/domains/1").status for _ in range(2)] == [200, 429]
    assert [client.get("/api/domains/1").status for _ in range(4)] == [200] * 4
    assert client.post("/api/domains", {"host": "a.example.com"}).status == 201
    control(server, "POST", "/accounts/sandbox-limited/reset")
    assert control(server, "GET", "/forced").json() == []


@SHARED
def test_a_condition_of_some_requests_is_in_the_journal(server: MockServer, client: Client) -> None:
    control(server, "POST", "/forced", json={"condition": "plan-without-writes", "times": 1, "method": "DELETE"})
    assert [client.delete("/api/domains/1").status for _ in range(2)] == [402, 200]
    assert [entry.forced for entry in server.running.journal.find(method="DELETE")] == ["plan-without-writes", ""]


@SHARED
@pytest.mark.parametrize("effect", [{"status": 503, "times": None}, {"condition": "gateway-errors=1"}])
def test_one_request_in_n_gets_it(server: MockServer, client: Client, effect: dict[str, Any]) -> None:
    control(server, "POST", "/forced", json=effect | {"every": 3})
    assert [client.get("/api/domains/1").status >= 500 for _ in range(6)] == [False, False, True] * 2


@SHARED
@pytest.mark.parametrize("effect", [{"status": 503}, {"condition": "gateway-errors=1"}])
def test_it_ends_after_so_many_seconds(server: MockServer, client: Client, effect: dict[str, Any]) -> None:
    control(server, "POST", "/forced", json=effect | {"seconds": 3600})
    assert [client.get("/api/domains/1").status >= 500 for _ in range(3)] == [True] * 3
    control(server, "DELETE", "/forced")
    control(server, "POST", "/forced", json=effect | {"seconds": 0.001})
    time.sleep(0.01)
    assert client.get("/api/domains/1").status == 200
    assert control(server, "GET", "/forced").json() == []


def test_an_answer_stands_at_a_path_that_is_yet_to_come(server: MockServer, client: Client) -> None:
    body = {"data": [{"id": 1, "name": "Team"}]}
    control(server, "POST", "/forced", json={"path": "/api/teams/*", "method": "GET", "body": body, "times": None})
    assert client.get("/api/teams/7").json == body
    assert client.get("/api/domains/1").json["data"]["id"] == 1
    assert client.post("/api/teams/7", {"name": "Team"}).status == 404


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"condition": "fog"}, 'invalid condition "fog": expected NAME or NAME=N'),
        ({"condition": "latency=much"}, 'invalid condition "latency=much": expected NAME or NAME=N'),
        ({"condition": "latency=-1"}, 'the condition "latency" is -1.0; expected a number from 0'),
        ({"condition": "latency", "status": 503}, '"condition" surrounds whatever is answered'),
        ({"status": 503, "every": 0}, '"every" is 0; expected a whole number from 1'),
        ({"status": 503, "seconds": 0}, '"seconds" is 0; expected a number above 0'),
        ({"status": 503, "path": "/api/teams"}, '"path" is "/api/teams", which no request to this API has'),
    ],
)
def test_an_effect_that_is_invalid_is_refused(server: MockServer, given: Any, problem: str) -> None:
    answer = control(server, "POST", "/forced", json=given)
    assert (answer.status_code, told(answer)[: len(problem)]) == (400, problem)
    assert control(server, "GET", "/forced").json() == []


@SHARED
def test_reads_of_one_account_lag_behind_its_writes(server: MockServer, client: Client, store: str) -> None:
    lagging = Client(over_network(server.base_url), "sandbox-lagging")
    answer = control(server, "POST", "/forced", json={"condition": "lag=600", "account": "sandbox-lagging"})
    if store == "redis":
        assert told(answer) == 'the condition "lag" needs a second mock with records of its own; leave --store out'
        return
    seen = [
        each.get(f"/api/domains/{each.create('/api/domains', {'host': 'new.example.com'})}").status
        for each in (client, lagging)
    ]
    assert seen == [200, 404]


def test_a_lag_keeps_the_ids_that_accounts_share(server: MockServer, client: Client) -> None:
    other = Client(over_network(server.base_url), ALPINE)
    control(server, "PATCH", "/state", json={"conditions": {"lag": 0}})
    made = [each.create("/api/domains", {"host": f"{n}.example.com"}) for n, each in enumerate((client, other) * 2)]
    assert len(set(made)) == 4
    assert [each.get(f"/api/domains/{made[number]}").status for number, each in enumerate((client, other))] == [200] * 2
