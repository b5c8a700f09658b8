from __future__ import annotations

import time

import pytest
import urllib3
from werkzeug.test import Client as WsgiClient
from wire import ALPINE, HARBOUR, Client, in_process, over_network

from mock_server import MockServer, Settings, SettingsError, create_app

KEY = {"Authorization": f"Bearer {HARBOUR}"}


def under(**conditions: float) -> Client:
    return Client(in_process(create_app(Settings(conditions=named(conditions)))), HARBOUR)


def named(conditions: dict[str, float]) -> dict[str, float]:
    return {name.replace("_", "-"): measure for name, measure in conditions.items()}


def test_a_write_shows_when_the_lag_has_passed() -> None:
    client = under(lag=0.2)
    made = client.create("/api/domains", {"host": "late.example.com"})
    assert client.get(f"/api/domains/{made}").status == 404
    time.sleep(0.25)
    assert client.get(f"/api/domains/{made}").json["data"]["host"] == "late.example.com"


def test_an_account_that_starts_again_does_so_for_late_reads_too() -> None:
    with MockServer(conditions={"lag": 60}) as server:
        client = Client(over_network(server.base_url), "sandbox-late")
        client.create("/api/domains", {"host": "never.example.com"})
        server.running.reset_account("sandbox-late", {"fixture": "empty"})
        assert client.get("/api/domains/").json["meta"]["total"] == 0
        assert Client(over_network(server.base_url), HARBOUR).get("/api/domains/").json["meta"]["total"] == 54


def test_a_gateway_error_comes_once_before_and_once_after_the_work() -> None:
    client = under(gateway_errors=2)
    answers = [client.post("/api/domains", {"host": f"gw{number}.example.com"}).status for number in range(4)]
    assert answers == [201, 502, 201, 502]
    hosts = [row["host"] for row in client.get("/api/domains/").json["data"]]
    assert [host for host in hosts if host.startswith("gw")] == [
        "gw2.example.com",
        "gw1.example.com",
        "gw0.example.com",
    ]


@pytest.mark.parametrize(
    ("condition", "header"),
    [("retry-after", "Retry-After"), ("rate-limit-reset", "X-RateLimit-Reset"), ("too-many", None)],
)
def test_one_request_in_some_is_one_too_many(condition: str, header: str | None) -> None:
    client = under(**{condition: 3})
    answers = [client.get("/api/domains/1") for _ in range(6)]
    assert [answer.status for answer in answers] == [200, 200, 429] * 2
    told = {
        name: answers[2].headers[name] for name in ("Retry-After", "X-RateLimit-Reset") if name in answers[2].headers
    }
    assert told == ({header: "1"} if header else {})


def test_a_quota_refuses_the_create_behind_it() -> None:
    client = Client(in_process(create_app(Settings(fixture="empty", conditions={"quota": 2}))), HARBOUR)
    answers = [client.post("/api/projects", {"name": f"Page {number}"}).status for number in range(3)]
    assert answers == [201, 201, 403]


def test_plans_refuse_what_they_do_not_cover() -> None:
    assert under(plan_without_writes=0).post("/api/domains/1", {"custom_index_url": ""}).status == 402
    client = under(plan_without_types=0)
    forms = [{"name": "One", "type": name} for name in ("discord", "telegram", "webhook")]
    assert [client.post("/api/notification-handlers", form).status for form in forms] == [403, 403, 201]


def test_another_user_adds_and_removes_records_all_the_while() -> None:
    client = Client(in_process(create_app(Settings(fixture="empty", conditions={"other-writer": 1}))), HARBOUR)
    totals = [client.get("/api/domains/").json["meta"]["total"] for _ in range(6)]
    assert totals == [1, 2, 1, 2, 3, 2]


def test_another_user_changes_or_deletes_older_records() -> None:
    shown = {}
    for name in ("other-editor", "other-remover"):
        client = Client(in_process(create_app(Settings(fixture="empty", records=3, conditions={name: 2}))), HARBOUR)
        made = client.create("/api/domains", {"host": "mine.example.com"})
        pages = [client.get("/api/domains/").json for _ in range(5)]
        shown[name] = [page["meta"]["total"] for page in pages]
        assert {row["host"] for row in pages[-1]["data"] if row["id"] == made} == {"mine.example.com"}
        assert any(row["host"].startswith("colleague-") for row in pages[-1]["data"]) == (name == "other-editor")
    assert shown == {"other-editor": [4] * 5, "other-remover": [3, 3, 2, 2, 1]}


def test_another_user_is_one_of_the_account_that_calls() -> None:
    application = in_process(create_app(Settings(fixture="demo", conditions={"other-remover": 1, "other-writer": 1})))
    first, second = (Client(application, key) for key in (HARBOUR, ALPINE))
    totals = [second.get("/api/domains/").json["meta"]["total"] for _ in range(3)]
    assert len(set(totals)) > 1
    control = Client(in_process(create_app(Settings(fixture="demo"))), HARBOUR)
    page = "/api/domains/?results_per_page=100"
    others = {row["id"] for row in control.get(page).json["data"]} - {row["id"] for row in first.get(page).json["data"]}
    assert len(others) <= 1  # by its own first call


def test_a_proxy_redirects_reads_and_keeps_their_query() -> None:
    client = under(redirecting_proxy=308)
    answer = client.get("/api/domains/?page=2")
    assert (answer.status, answer.headers["Location"]) == (308, "/behind-the-proxy/api/domains/?page=2")
    assert client.get(answer.headers["Location"]).json["meta"]["page"] == 2
    assert client.post("/api/domains", {"host": "direct.example.com"}).status == 201


def test_answers_come_compressed_in_pieces_on_connections_that_close() -> None:
    with MockServer(conditions={"compressed": 0, "chunked": 0, "connection-close": 0}) as server:
        headers = KEY | {"Accept-Encoding": "gzip"}
        answer = urllib3.request("GET", f"{server.base_url}/api/domains/", headers=headers)
        told = [answer.headers[name] for name in ("Content-Encoding", "Transfer-Encoding")]
        assert told == ["gzip", "chunked"]
        assert answer.json()["meta"]["total"] == 54


def test_latency_delays_each_answer() -> None:
    with MockServer(conditions={"latency": 0.2}) as server:
        client = Client(over_network(server.base_url), HARBOUR)
        began = time.monotonic()
        client.get("/api/domains/1")
        assert time.monotonic() - began >= 0.2


def test_a_condition_that_there_is_not_is_told() -> None:
    with pytest.raises(SettingsError, match='no condition "rain"; conditions are latency, lag'):
        create_app(Settings(conditions={"rain": 1}))


@pytest.mark.parametrize("choices", [{}, {"error-body": "problem"}, {"error-body": "html"}], ids=str)
@pytest.mark.parametrize("condition", ["rate-limit", "retry-after", "too-many", "plan-without-writes"])
def test_a_refusal_by_a_limit_has_the_envelope_of_every_other_error(condition: str, choices: dict[str, str]) -> None:
    app = create_app(Settings(conditions={condition: 1}, choices=choices))
    client = Client(in_process(app), HARBOUR)
    answers = [client.post("/api/domains", {"host": f"a{number}.example.com"}) for number in range(2)]
    status = 402 if condition == "plan-without-writes" else 429
    refused = next(answer for answer in answers if answer.status == status)
    usual = Client(in_process(create_app(Settings(choices=choices))), HARBOUR).get("/api/nothing")
    assert refused.headers["Content-Type"] == usual.headers["Content-Type"]
    if "json" in usual.headers["Content-Type"]:
        told = refused.json["errors"][0] if "errors" in usual.json else refused.json
        assert told["status"] == status
        assert told["title"].endswith(".")


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [("gzip, br", True), ("gzip;q=0, br", False), ("", False)],
    ids=["yes", "no", "nothing"],
)
def test_an_answer_is_compressed_if_the_client_takes_that(accepted: str, is_compressed: bool) -> None:  # noqa: FBT001
    app = create_app(Settings(conditions={"compressed": 0}))
    headers = {"Authorization": f"Bearer {HARBOUR}", "Accept-Encoding": accepted, "Origin": "http://localhost:5173"}
    answer = WsgiClient(app).get("/api/domains/1", headers=headers)
    assert (answer.headers.get("Content-Encoding") == "gzip") is is_compressed
    assert ("Accept-Encoding" in answer.headers.getlist("Vary")) is is_compressed
    assert "Origin" in answer.headers.getlist("Vary")
