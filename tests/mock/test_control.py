from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import yaml
from openapi_spec_validator import validate
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Response
from wire import HARBOUR

from mock_server import MockServer, Settings
from mock_server.control.plane import Control, Guard, create_plane
from mock_server.defects import DEFECTS
from mock_server.effects.conditions import CONDITIONS
from mock_server.http.context import context_of

SHARED = pytest.mark.usefixtures("store")  # for what a store in Redis does in code of its own

JSON = {"Content-Type": "application/json"}
TOKEN = "a token of a test"


@pytest.fixture
def server() -> Iterator[MockServer]:
    with MockServer(choices={"create-status": "202"}) as running:
        yield running


def ask(
    server: MockServer, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    connection = HTTPConnection(urlsplit(server.base_url).netloc)
    sent = None if body is None else json.dumps(body)
    connection.request(method, path, sent, {**({} if body is None else JSON), **(headers or {})})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text.startswith((b"{", b"[")) else None


def total(server: MockServer) -> int:
    _, body = ask(server, "GET", "/api/domains/", headers={"Authorization": f"Bearer {HARBOUR}"})
    return int(body["meta"]["total"])


@SHARED
def test_a_reset_brings_back_what_there_was_at_the_start(server: MockServer) -> None:
    before = total(server)
    ask(server, "DELETE", "/api/domains/1", headers={"Authorization": f"Bearer {HARBOUR}"})
    assert total(server) == before - 1
    assert ask(server, "PUT", "/_mock/snapshots/kept")[0] == 200
    status, state = ask(server, "POST", "/_mock/reset")
    assert (status, state["open"], state["defects"]) == (200, {"create-status": "202"}, [])
    assert total(server) == before
    assert ask(server, "GET", "/_mock/snapshots")[1] == ["kept"]
    assert [entry.path for entry in server.running.journal.find(method="DELETE")] == ["/api/domains/1"]


@SHARED
def test_a_reset_takes_switches_and_the_next_forgets_them(server: MockServer) -> None:
    switches = {"fixture": "empty", "records": 3, "defects": ["total-is-one-more"], "open": {}, "grease": None}
    status, state = ask(server, "POST", "/_mock/reset", switches)
    assert (status, {name: state[name] for name in switches}) == (200, switches)
    assert total(server) == 4
    assert ask(server, "GET", "/_mock/state")[1] == state
    ask(server, "POST", "/_mock/reset", {})
    assert total(server) == 54


def test_it_tells_what_defects_and_conditions_there_are(server: MockServer) -> None:
    assert [each["name"] for each in ask(server, "GET", "/_mock/defects")[1]] == list(DEFECTS)
    assert list(ask(server, "GET", "/_mock/conditions")[1]) == list(CONDITIONS)


@pytest.mark.parametrize(
    ("switches", "problem"),
    [
        ([], "expected an object with any of open, grease"),
        ({"defect": []}, 'no switch "defect"; switches are open, grease'),
        ({"defects": "total-is-one-more"}, "the switch \"defects\" is 'total-is-one-more'; expected an array"),
        ({"defects": ["total-is-1-more"]}, 'no defect "total-is-1-more"; did you mean total-is-one-more'),
        ({"open": {"create-status": "418"}}, 'open point "create-status" has no value "418"'),
        ({"conditions": {"rain": 1}}, 'no condition "rain"; conditions are latency'),
        ({"conditions": {"lag": "soon"}}, "the condition \"lag\" is 'soon'; expected a number from 0"),
        ({"fixture": "/etc/passwd"}, 'no fixture "/etc/passwd"; a reset takes demo or empty'),
        ({"records": -1}, "records is -1; give 0 or more"),
    ],
    ids=lambda value: json.dumps(value)[:40] if not isinstance(value, str) else "",
)
def test_a_wrong_switch_is_told_and_changes_nothing(server: MockServer, switches: Any, problem: str) -> None:
    before = ask(server, "GET", "/_mock/state")
    status, body = ask(server, "POST", "/_mock/reset", switches)
    assert status == 400
    assert body["errors"][0]["title"].startswith(problem)
    assert ask(server, "GET", "/_mock/state") == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://www.example.com"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Host": "["},
        {"Host": "rebound.example.com"},
        {"Host": "127.0.0.1.example.com:8000"},
    ],
    ids=lambda headers: " ".join(*headers.items()),
)
def test_no_page_of_another_origin_and_no_other_name_reaches_it(server: MockServer, headers: dict[str, str]) -> None:
    for method, path in (("POST", "/_mock/reset"), ("GET", "/_mock/state")):
        assert ask(server, method, path, headers=headers)[0] == 403


def test_a_form_does_not_reach_it(server: MockServer) -> None:
    status, body = ask(server, "POST", "/_mock/reset", {}, {"Content-Type": "text/plain"})
    assert (status, body["errors"][0]["title"]) == (415, "Send JSON, with the header Content-Type: application/json.")


CONTROL_PATHS = ("/", "/_mock/state", "/_mock/openapi.yaml", "/_mock/console/journal", "/_mock/static/console.js")


def test_beyond_this_machine_there_is_none() -> None:
    with MockServer("0.0.0.0") as server:
        assert {path: ask(server, "GET", path)[0] for path in CONTROL_PATHS} == dict.fromkeys(CONTROL_PATHS, 404)


def test_a_form_of_another_origin_reaches_no_page_of_the_console(server: MockServer) -> None:
    before = total(server)
    for headers in ({"Origin": "http://localhost:5173"}, {"Sec-Fetch-Site": "same-site"}, {"Host": "evil.example.com"}):
        form = {"Content-Type": "application/x-www-form-urlencoded"} | headers
        for path in ("/_mock/reset", "/_mock/console/records/domains/1?account=demo-key-harbour"):
            assert ask(server, "POST", path, headers=form)[0] == 403
        assert ask(server, "GET", "/", headers={"Sec-Fetch-Mode": "cors"} | headers)[0] == 403
    assert total(server) == before


def test_whoever_follows_a_link_to_the_console_may_read_it(server: MockServer) -> None:
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    answer = requests.get(f"{server.base_url}/", headers=visit, timeout=60)
    assert answer.status_code == 200
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/_mock/state", "/_mock/journal", "/_mock/journal/events", "/_mock/openapi.yaml"])
def test_a_visit_from_elsewhere_sees_pages_of_the_console_alone(server: MockServer, path: str) -> None:
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert ask(server, "GET", path, headers=visit)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Purpose": "prefetch;prerender"},
        {"Sec-Fetch-Site": "none", "Sec-Purpose": "prefetch"},
    ],
    ids=["iframe", "prerendered", "prefetched"],
)
def test_no_iframe_and_no_prefetch_holds_a_follower_of_the_journal(server: MockServer, headers: dict[str, str]) -> None:
    for path in ("/_mock/console/journal", "/_mock/journal/events"):
        assert ask(server, "GET", path, headers=headers)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.7"},
        {"X-Forwarded-Host": "mock.example.com"},
        {"X-Forwarded-!": "1"},
        {"Forwarded": "for=203.0.113.7"},
        {"X-Real-IP": "203.0.113.7"},
        {"Via": "1.1 proxy"},
    ],
    ids=lambda headers: next(iter(headers)),
)
def test_who_comes_by_a_proxy_needs_a_token(server: MockServer, headers: dict[str, str]) -> None:
    for method, path in (("POST", "/_mock/reset"), ("GET", "/_mock/state"), ("GET", "/")):
        status, body = ask(server, method, path, headers=headers)
        assert (status, body["errors"][0]["title"].startswith("This request came by a proxy")) == (403, True)
    with MockServer(control_token=TOKEN) as protected:
        assert ask(protected, "GET", "/_mock/state", headers=headers | {"Authorization": f"Bearer {TOKEN}"})[0] == 200
        digest = {"Authorization": f'Digest username="u", password="{TOKEN}"'}
        assert ask(protected, "GET", "/_mock/state", headers=headers | digest)[0] == 401


def test_a_request_in_the_http_of_nginx_s_default_needs_a_token(server: MockServer) -> None:
    with socket.create_connection(("127.0.0.1", int(server.origin.rpartition(":")[2])), timeout=60) as connection:
        connection.sendall(b"GET /_mock/state HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        assert b" 403 " in connection.recv(65536).partition(b"\r\n")[0]


def test_where_a_proxy_is_announced_control_needs_a_token() -> None:
    url = "https://mock.example.com"
    with MockServer(public_base_url=url) as server, MockServer(public_base_url=url, control_token=TOKEN) as protected:
        local = f"{server.origin}/_mock/state", f"{protected.origin}/_mock/state"
        assert requests.get(local[0], timeout=60).status_code == 403
        assert requests.get(local[1], timeout=60, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/_mock%2freset", "/%5fmock/reset", "/_mock%2Fstate", "/%2F_mock/state", "//_mock/state"]
)
def test_a_path_of_control_is_known_in_its_own_spelling_alone(server: MockServer, path: str) -> None:
    assert ask(server, "DELETE", "/api/domains/1", headers={"Authorization": f"Bearer {HARBOUR}"})[0] == 200
    before = total(server)
    for method in ("GET", "POST"):
        assert ask(server, method, path)[0] == 404
    assert total(server) == before


def test_a_wrong_token_is_logged_and_answered_late(caplog: pytest.LogCaptureFixture) -> None:
    environ = EnvironBuilder("/_mock/state", headers=[("Authorization", "Bearer guessed")]).get_environ()
    environ["REMOTE_ADDR"] = "192.0.2.7"
    notes = context_of(environ)
    with caplog.at_level("WARNING"):
        answer = Response.from_app(Control(Settings(), TOKEN), environ)
    assert (answer.status_code, notes.delay) == (401, 1.0)
    assert "control: a wrong token from 192.0.2.7" in caplog.text
    assert "guessed" not in caplog.text


def test_a_wrong_token_is_answered_late_however_many_answers_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.http.gateway.MAX_DELAYED", 0)
    monkeypatch.setattr("mock_server.control.plane.SECONDS_FOR_A_WRONG_TOKEN", 0.2)
    with MockServer(control_token=TOKEN) as server:
        began = time.monotonic()
        assert ask(server, "GET", "/_mock/state", headers={"Authorization": "Bearer guessed"})[0] == 401
        assert time.monotonic() - began >= 0.2


def test_a_body_that_is_too_long_resets_nothing(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.control.plane.MAX_BODY_BYTES", 100)
    status, body = ask(server, "POST", "/_mock/reset", {"open": {}, "comment": "x" * 100})
    assert (status, body["errors"][0]["title"]) == (413, "The body is too long; send 100 bytes at most.")


def test_beyond_this_machine_a_token_opens_it() -> None:
    with MockServer("0.0.0.0", control_token=TOKEN) as server:
        origin = f"http://127.0.0.1:{server.origin.rpartition(':')[2]}"
        assert {requests.get(f"{origin}{path}", timeout=60).status_code for path in CONTROL_PATHS} == {401}
        url = f"{origin}/_mock/state"
        given: list[Any] = [
            {},
            {"headers": {"Authorization": "Bearer other"}},
            {"auth": ("", "other")},
            {"headers": {"Authorization": f"Bearer {TOKEN}"}},
            {"auth": ("anybody", TOKEN)},
            {"headers": {"Authorization": f"Bearer {TOKEN}", "Host": "mock.example.com"}},
            {"headers": {"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example.com"}},
        ]
        statuses = [requests.get(url, timeout=60, **each).status_code for each in given]
        assert statuses == [401, 401, 401, 200, 200, 200, 403]
        assert requests.get(url, timeout=60).headers["WWW-Authenticate"].startswith("Basic ")


@pytest.mark.parametrize(
    "head",
    [b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", b"Content-Length: 50\r\n\r\n{}"],
    ids=["chunked", "announced"],
)
def test_a_body_that_is_cut_off_resets_nothing(server: MockServer, head: bytes) -> None:
    assert ask(server, "DELETE", "/api/domains/1", headers={"Authorization": f"Bearer {HARBOUR}"})[0] == 200
    before = total(server)
    with socket.create_connection(("127.0.0.1", int(server.origin.rpartition(":")[2])), timeout=60) as connection:
        start = b"POST /_mock/reset HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        connection.sendall(start + head)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
    assert total(server) == before


def test_its_description_names_each_of_its_paths(server: MockServer) -> None:
    described = yaml.safe_load(requests.get(f"{server.base_url}/_mock/openapi.yaml", timeout=60).text)
    validate(described)
    paths = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule.removeprefix("/_mock")), method.lower())
        for rule in create_plane(server.running, Guard()).url_map.iter_rules()
        for method in rule.methods or set()
        if rule.endpoint.startswith("api.") and method not in ("HEAD", "OPTIONS")
    }
    told = {(path, method) for path, item in described["paths"].items() for method in item if method != "parameters"}
    assert paths == told


def test_its_description_names_the_port_that_it_answers_on(server: MockServer) -> None:
    described = yaml.safe_load(requests.get(f"{server.base_url}/_mock/openapi.yaml", timeout=60).text)
    assert described["servers"] == [{"url": f"{server.base_url}/_mock"}]


@SHARED
def test_it_tells_what_a_grease_chose(server: MockServer) -> None:
    def chosen() -> dict[str, str]:
        points = requests.get(f"{server.base_url}/_mock/open-points", timeout=60).json()
        assert all(point["chosen"] in point["values"] for point in points)
        return {point["name"]: point["chosen"] for point in points if point["chosen"] != point["default"]}

    assert set(chosen()) == set(server.running.settings.choices)
    server.running.change_switches(grease=7, choices={"ids": "large"})
    assert chosen()["ids"] == "large"
    assert len(chosen()) > 5


def shown(server: MockServer, path: str) -> Any:
    answer = requests.get(f"{server.base_url}/_mock{path}", timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


@SHARED
def test_it_shows_what_accounts_hold_whatever_is_switched(server: MockServer) -> None:
    server.running.change_switches(conditions={"latency": 60}, choices={"order": "oldest-first"})
    server.running.mock.accounts.get("sandbox-a")
    accounts = shown(server, "/accounts")
    assert [each["key"] for each in accounts["accounts"]] == [HARBOUR, "demo-key-alpine"]
    assert accounts["sandboxes"] == [{**accounts["accounts"][0], "key": "sandbox-a", "name": "sandbox-a"}]
    found = shown(server, f"/records/domains?account={HARBOUR}&size=10&page=2")
    assert (found["total"], len(found["records"])) == (54, 10)
    ids = [each["id"] for each in found["records"]]
    assert ids == sorted(ids)
    one = shown(server, f"/records/domains/{ids[0]}?account={HARBOUR}")
    assert one == found["records"][0]
    assert one["values"]["host"] == one["read"]["host"]
    assert server.running.journal.find() == []


@SHARED
def test_records_are_found_and_sorted(server: MockServer) -> None:
    host = shown(server, f"/records/domains/1?account={HARBOUR}")["values"]["host"]
    assert shown(server, f"/records/domains?account={HARBOUR}&search={host.upper()}")["records"][0]["id"] == 1
    for order in ("last_datetime", "-last_datetime"):
        found = shown(server, f"/records/domains?account={HARBOUR}&sort={order}&size=99")["records"]
        dates = [each["updated"] or "" for each in found]
        assert dates == sorted(dates, reverse=order.startswith("-"))
        assert len(set(dates)) > 2
    assert shown(server, f"/records/domains?account={HARBOUR}&search=none")["total"] == 0


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/records/domains?account=no", 404, 'No account has the key "no" any more.'),
        (f"/records/links?account={HARBOUR}", 404, 'There is no resource "links"; there are splash-pages, domains'),
        (f"/records/domains/999?account={HARBOUR}", 404, "There is no record 999 among the domains of this account."),
        (f"/records/domains?account={HARBOUR}&page=0", 400, '"page" is "0"; expected a whole number from 1'),
        (f"/records/domains?account={HARBOUR}&size=ten", 400, '"size" is "ten"; expected a whole number from 1'),
        (f"/records/domains?account={HARBOUR}&sort=-hots", 400, '"sort" is "-hots"; expected one of id, '),
        ("/journal/7", 404, "Request 7 is not in the journal any more."),
        ("/journal/7/curl", 404, "Request 7 is not in the journal any more."),
    ],
)
def test_what_it_cannot_show_it_says(server: MockServer, path: str, status: int, told: str) -> None:
    answer = requests.get(f"{server.base_url}/_mock{path}", timeout=60)
    assert answer.status_code == status
    assert answer.json()["errors"][0]["title"].startswith(told)
