"""What changes a mock while it runs: switches, forced answers, clocks; and how answers break off."""

from __future__ import annotations

import json
import select
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest
import requests
from asking import control, told
from conformance import DOCUMENT
from wire import HARBOUR, Client, over_network

from mock_server import MockServer, Settings, SettingsError
from mock_server.effects.effect import MAX_EFFECTS

SHARED = pytest.mark.usefixtures("store")  # for what a store in Redis does in code of its own

SANDBOX = "sandbox-running"


@SHARED
def test_a_switch_keeps_all_records_and_goes_on_with_ids_and_clocks(server: MockServer, client: Client) -> None:
    sandbox = Client(over_network(server.base_url), SANDBOX)
    made = client.create("/api/domains", {"host": "first.example.com"})
    other = sandbox.create("/api/domains", {"host": "theirs.example.com"})
    state = control(
        server, "PATCH", "/state", json={"open": {"order": "oldest-first"}, "defects": ["total-is-one-more"]}
    )
    assert (state.json()["open"], state.json()["defects"]) == ({"order": "oldest-first"}, ["total-is-one-more"])
    listed = client.get("/api/domains/?results_per_page=100").json
    assert (listed["data"][0]["id"], listed["data"][-1]["id"], listed["meta"]["total"]) == (1, made, 56)
    assert sandbox.get(f"/api/domains/{other}").json["data"]["host"] == "theirs.example.com"
    assert client.create("/api/domains", {"host": "second.example.com"}) == made + 1
    assert client.get(f"/api/domains/{made + 1}").json["data"]["datetime"] == "2026-03-02 09:00:02"
    control(server, "PATCH", "/state", json={"open": {}, "defects": []})
    assert client.get("/api/domains/?results_per_page=10").json["data"][0]["id"] == made + 1


def test_a_switch_that_cannot_be_meant_changes_nothing(server: MockServer) -> None:
    for given, problem in (
        ({"records": 3}, 'no switch "records"'),
        ({"open": {"order": "random"}}, 'open point "order" has no value "random"'),
    ):
        answer = control(server, "PATCH", "/state", json=given)
        assert answer.status_code == 400
        assert told(answer).startswith(problem)
    assert control(server, "GET", "/state").json()["open"] == {}


@SHARED
def test_an_answer_is_forced_as_often_as_was_asked(server: MockServer, client: Client) -> None:
    forced = {"prefer": "code=503", "method": "GET", "path": "/api/domains/*", "account": "Harbour Books", "times": 2}
    assert control(server, "POST", "/forced", json=forced).json().items() >= (forced | {"number": 1}).items()
    other = Client(over_network(server.base_url), SANDBOX)
    assert [client.get("/api/splash-pages/").status, other.get("/api/domains/1").status] == [200, 200]
    assert [client.get("/api/domains/1").status for _ in range(3)] == [503, 503, 200]
    assert control(server, "GET", "/forced").json() == []
    assert [entry.forced for entry in server.running.journal.find(status="503")] == ["code=503"] * 2


def test_no_more_is_forced_than_a_mock_has_room_for(server: MockServer) -> None:
    for _ in range(MAX_EFFECTS):
        control(server, "POST", "/forced", json={"prefer": "code=500"})
    answer = control(server, "POST", "/forced", json={"prefer": "code=500"})
    assert (answer.status_code, told(answer)) == (400, "100 answers and conditions are forced already; remove some")


@SHARED
def test_what_is_forced_for_ever_is_taken_back(server: MockServer, client: Client) -> None:
    for prefer in ("code=500", "code=501", "code=502"):
        control(server, "POST", "/forced", json={"prefer": prefer, "times": None})
    assert client.get("/api/domains/1").status == 500
    assert client.get("/api/domains/1").status == 500
    control(server, "DELETE", "/forced/1")
    assert client.get("/api/domains/1").status == 501
    control(server, "DELETE", "/forced")
    assert client.get("/api/domains/1").status == 200


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "expected an object with one or more of prefer, condition, status, headers, body, field"),
        ({"prefer": "code=429", "when": "now"}, "expected an object with one or more of prefer"),
        ({"prefer": "code=99"}, 'Prefer: code is "99"; give a status from 400 to 599.'),
        ({"prefer": "respond-async"}, "nothing is forced"),
        ({"prefer": "code=429", "status": 503}, '"prefer" asks for code=429, and the answer is given, too'),
        ({"headers": {"Retry-After": "3"}}, "nothing is forced"),
        ({"status": 99}, '"status" is 99; expected a number from 200 to 599'),
        ({"status": 204, "body": {}}, '"body" is given for an answer that has none'),
        ({"status": 503, "headers": {"A B": "x"}}, "the header \"A B\" is 'x'; expected a name"),
        ({"status": 503, "headers": {"A": "x\r\ny"}}, "the header \"A\" is 'x\\r\\ny'; expected a name"),
        ({"status": 503, "headers": {"Content-Length": "1"}}, 'the header "Content-Length" is the server\'s own'),
        ({"status": 503, "headers": ["A"]}, '"headers" is not an object'),
        ({"status": 200, "field": "host"}, '"status" is 200, and a field is refused'),
        ({"body": "\ud800"}, '"body" cannot be written as JSON'),
        ({"body": "x" * 2**20}, '"body" is longer than'),
        ({"body": json.loads("[" * 200 + "]" * 200)}, '"body" is longer than'),
        ({"body": json.loads("[[]," * 200 + "0" + "]" * 200)}, '"body" is longer than'),
        ({"status": 503, "method": "FETCH"}, '"method" is "FETCH"; expected one of *, GET'),
        ({"status": 503, "path": "/api/domain"}, '"path" is "/api/domain", which no request to this API has'),
        ({"status": 503, "path": "/api/domains/?page=2"}, '"path" is "/api/domains/?page=2", which no request'),
        ({"status": 503, "path": "/api/domains/x*"}, '"path" is "/api/domains/x*", which no request'),
        ({"status": 503, "path": "api/domains"}, '"path" is "api/domains", which no request'),
        ({"prefer": "code=429", "times": 0}, '"times" is 0; expected 1 or more'),
    ],
)
def test_what_cannot_be_forced_is_told(server: MockServer, given: Any, problem: str) -> None:
    answer = control(server, "POST", "/forced", json=given)
    assert answer.status_code == 400
    assert told(answer).startswith(problem)


@pytest.mark.parametrize(
    "path",
    ["*", "/api/*", "/api/domains", "/api/domains/", "/api/domains*", "/api/domains/1*", "/api/projects", "*/12"],
)
def test_a_path_that_can_match_is_taken(server: MockServer, path: str) -> None:
    assert control(server, "POST", "/forced", json={"status": 503, "path": path}).status_code == 200


@SHARED
def test_an_answer_of_one_s_own_has_status_headers_and_body(server: MockServer, client: Client) -> None:
    body = {"errors": [{"title": "Come back later."}]}
    forced = {"status": 503, "headers": {"Retry-After": "3", "X-Own": "1"}, "body": body, "method": "POST"}
    control(server, "POST", "/forced", json=forced)
    before = client.get("/api/domains/").json["meta"]["total"]
    answer = client.post("/api/domains", {"host": "forced.example.com"})
    assert (answer.status, answer.json) == (503, body)
    assert (answer.headers["Retry-After"], answer.headers["X-Own"]) == ("3", "1")
    assert client.get("/api/domains/").json["meta"]["total"] == before
    assert client.post("/api/domains", {"host": "forced.example.com"}).status == 201
    (entry,) = server.running.journal.find(status="503")
    assert entry.forced == "status=503, Retry-After: 3, X-Own: 1, with a body"


@SHARED
def test_an_answer_of_one_s_own_may_be_text(server: MockServer, client: Client) -> None:
    page = {"body": "<h1>Maintenance</h1>", "headers": {"Content-Type": "text/html; charset=utf-8"}, "status": 200}
    control(server, "POST", "/forced", json=page)
    answer = client.get("/api/domains/")
    assert (answer.status, answer.body) == (200, b"<h1>Maintenance</h1>")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


def test_a_body_that_is_not_json_is_not_forced(server: MockServer) -> None:
    answer = control(server, "POST", "/forced", data='{"body": NaN}', headers={"Content-Type": "application/json"})
    assert (answer.status_code, told(answer)[:31]) == (400, '"body" cannot be written as JSON'[:31])


def test_a_forced_answer_may_lie_about_its_encoding(server: MockServer, client: Client) -> None:
    control(server, "POST", "/forced", json={"body": "{}", "headers": {"Content-Encoding": "gzip"}, "method": "POST"})
    with pytest.raises(requests.exceptions.RequestException):
        client.post("/api/domains", {"host": "a.example.com"})
    assert client.get("/api/domains/").status == 200


@SHARED
def test_a_field_is_refused_by_name(server: MockServer, client: Client) -> None:
    control(server, "POST", "/forced", json={"field": "host"})
    control(server, "POST", "/forced", json={"field": "name", "status": 422, "headers": {"X-Own": "1"}})
    for status, field in ((400, "host"), (422, "name")):
        answer = client.post("/api/domains", {"host": "forced.example.com"})
        (error,) = answer.json["errors"]
        assert (answer.status, error["field"], error["status"]) == (status, field, status)
    assert answer.headers["X-Own"] == "1"
    assert server.running.journal.remark_counts == {}


@SHARED
def test_clocks_are_set_for_one_account_or_for_all(server: MockServer, client: Client) -> None:
    def made(by: Client, host: str) -> str:
        moment: str = by.get(f"/api/domains/{by.create('/api/domains', {'host': host})}").json["data"]["datetime"]
        return moment

    control(server, "POST", "/clock", json={"now": "2030-01-01 12:00:00", "api_key": SANDBOX})
    assert made(Client(over_network(server.base_url), SANDBOX), "a.example.com") == "2030-01-01 12:00:01"
    assert made(client, "b.example.com") == "2026-03-02 09:00:01"
    control(server, "POST", "/clock", json={"now": "2031-01-01 12:00:00"})
    assert made(client, "c.example.com") == "2031-01-01 12:00:01"
    assert made(Client(over_network(server.base_url), "sandbox-new"), "d.example.com") == "2031-01-01 12:00:01"
    assert told(control(server, "POST", "/clock", json={"now": "noon"})).startswith("\"now\" is 'noon'; expected YYYY")
    answer = control(server, "POST", "/clock", json={"now": "2030-01-01 12:00:00", "api_key": "nobody"})
    assert (answer.status_code, told(answer)) == (400, 'no account has the key "nobody"')


@pytest.mark.parametrize(("when", "count"), [("before", 0), ("after", 1)])
def test_an_answer_is_lost_to_python_each_time(client: Client, when: str, count: int) -> None:
    for number in range(30):
        assert client.get("/api/domains/1").status == 200  # the connection is kept
        form = {"host": f"lost-{number}.example.com"}
        with pytest.raises(requests.exceptions.RequestException):
            client.request("POST", "/api/domains", form, headers={"Prefer": f"lost={when}"})
    assert client.get("/api/domains/").json["meta"]["total"] == 54 + 30 * count


LOSING = """
const [base] = process.argv.slice(1), headers = { Authorization: "Bearer demo-key-harbour" };
let lost = 0;
for (let number = 0; number < 30; number++) {
  await (await fetch(`${base}/api/domains/1`, { headers })).text();
  const body = new URLSearchParams({ host: `lost-${number}.example.com` });
  await fetch(`${base}/api/domains`, { method: "POST", headers: { ...headers, Prefer: "lost=after" }, body })
    .catch((error) => { lost += error instanceof TypeError; });
}
console.log(lost);
"""


@pytest.mark.skipif(not shutil.which("node"), reason="no Node here")
def test_an_answer_is_lost_to_node_each_time(server: MockServer, client: Client) -> None:
    command = ["node", "--input-type=module", "--eval", LOSING, server.base_url]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "30\n"
    assert client.get("/api/domains/").json["meta"]["total"] == 54 + 30


@pytest.mark.parametrize(("condition", "made"), [("dropped-before", 0), ("dropped-after", 1), ("cut-off", 1)])
def test_an_answer_breaks_off_now_and_then(condition: str, made: int) -> None:
    with MockServer(conditions={condition: 2}) as server:
        client = Client(over_network(server.base_url))
        assert client.get("/api/domains/1").status == 200
        with pytest.raises(requests.exceptions.RequestException):
            client.post("/api/domains", {"host": "broken.example.com"})
        assert client.get("/api/domains/").json["meta"]["total"] == 54 + made
        assert [entry.broken for entry in server.running.journal.find(method="POST")] == [
            condition.partition("-b")[0].partition("-a")[0].replace("-", " ")
        ]


def test_a_rate_limit_holds_for_each_account_and_says_when_it_ends() -> None:
    with MockServer(conditions={"rate-limit": 2}) as server:
        answers = [Client(over_network(server.base_url)).get("/api/domains/1") for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 429]
        assert [answer.headers["X-RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
        assert 55 <= int(answers[2].headers["X-RateLimit-Reset"]) <= 60
        assert "X-RateLimit-Reset" not in answers[1].headers
        assert "Retry-After" not in answers[2].headers
        assert Client(over_network(server.base_url), SANDBOX).get("/api/domains/1").status == 200


def test_a_slow_body_comes_after_its_head() -> None:
    with MockServer(conditions={"slow-body": 0.3}) as server, closing(HTTPConnection(server.origin[7:])) as connection:
        connection.request("GET", "/api/domains/1", headers={"Authorization": f"Bearer {HARBOUR}"})
        answer = connection.getresponse()
        assert (answer.status, int(answer.headers["Content-Length"]) > 0) == (200, True)
        assert connection.sock
        assert select.select([connection.sock], [], [], 0)[0] == []
        assert json.loads(answer.read())["data"]["id"] == 1


@SHARED
def test_a_file_is_never_served_with_a_type_that_a_browser_would_run(server: MockServer, client: Client) -> None:
    made = [
        client.create("/api/projects", {"name": "Files", "logo": (name, b"<script>alert(1)</script>", media_type)})
        for name, media_type in (("a.png", "image/png"), ("a.svg", "image/svg+xml"), ("a.html", "text/html"))
    ]
    account = server.running.mock.accounts.get(HARBOUR)
    assert account
    for number, media_type, disposition in zip(
        made, ["image/png", *["application/octet-stream"] * 2], ["inline", *["attachment"] * 2], strict=True
    ):
        key = account.collections["splash-pages"].get(number).values["logo"].key
        answer = control(server, "GET", f"/files/{key}")
        assert (answer.headers["Content-Type"], answer.headers["Content-Disposition"]) == (media_type, disposition)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert told(control(server, "GET", "/files/999999")).startswith("There is no file 999999")


def test_the_contract_is_served_as_json_too_with_the_mocks_own_url() -> None:
    with MockServer(base_path="/prefix") as server:
        document = requests.get(f"{server.base_url}/openapi.json", timeout=60).json()
        assert document["servers"] == [{"url": server.base_url}]
        assert len(document["x-rules"]) == len(DOCUMENT["x-rules"])


@SHARED
def test_a_switch_loses_no_write_that_is_under_way(server: MockServer, client: Client) -> None:
    def write(number: int) -> int:
        return client.create("/api/domains", {"host": f"busy-{number}.example.com"})

    with ThreadPoolExecutor(4) as pool:
        made = [pool.submit(write, number) for number in range(60)]
        for order in ("oldest-first", "newest-first") * 10:
            server.running.change_switches(choices={"order": order})
        ids = [each.result() for each in made]
    assert len(set(ids)) == 60
    assert client.get("/api/domains/").json["meta"]["total"] == 54 + 60


def test_under_a_lag_writes_are_carried_out_over_a_network(client: Client, server: MockServer) -> None:
    server.running.change_switches(conditions={"lag": 0.0})
    made = client.create("/api/domains", {"host": "late.example.com"})
    assert client.get(f"/api/domains/{made}").json["data"]["host"] == "late.example.com"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/forced", {"prefer": "code=429", "account": []}),
        ("POST", "/forced", {"prefer": "code=429", "method": 1}),
        ("POST", "/forced", {"prefer": "code=429", "path": "\ud800"}),
        ("POST", "/forced", {"prefer": "delay=\u0660"}),
        ("POST", "/clock", {"now": "2026-01-01 00:00:00", "api_key": []}),
        ("POST", "/clock", {"now": "2026-01-01 00:00:00", "api_key": "sandbox-\ud800"}),
        ("POST", "/clock", {"now": "2026-01-01 00:00:00", "key": "sandbox-1"}),
        ("POST", "/clock", {"now": "9999-12-31 23:59:59"}),
        ("POST", "/reset", {"defects": [1]}),
        ("POST", "/reset", {"open": {"create-status": []}}),
        ("POST", "/reset", {"grease": True}),
        ("POST", "/reset", {"records": 10**7}),
        ("POST", "/reset", {"conditions": {"redirecting-proxy": 99}}),
        ("POST", "/reset", {"conditions": {"lag": True}}),
        ("PUT", "/snapshots/..", None),
    ],
    ids=str,
)
def test_what_is_of_no_sense_is_refused_and_changes_nothing(
    server: MockServer, client: Client, method: str, path: str, body: Any
) -> None:
    before = control(server, "GET", "/state").json()
    url = f"{server.base_url}/_mock{path}"
    prepared = requests.Request(method, url, json=body).prepare()
    prepared.url = url  # dots and all
    with requests.Session() as session:
        assert session.send(prepared, timeout=60).status_code in (400, 404)
    assert control(server, "GET", "/state").json() == before
    assert client.get("/api/domains/1").status == 200


def test_a_control_token_that_no_header_can_hold_is_refused() -> None:
    with pytest.raises(SettingsError, match="the control token cannot go into a header"):
        MockServer("0.0.0.0", control_token="\u00e9" * 16)


def test_an_empty_control_token_is_refused() -> None:
    with pytest.raises(SettingsError, match="the control token has 0 characters; give 16 or more that nobody guesses"):
        MockServer("0.0.0.0", control_token="")


def test_a_base_path_that_would_hide_the_api_is_refused() -> None:
    with pytest.raises(SettingsError, match='invalid path prefix "/_mock"'):
        Settings(base_path="/_mock")


@SHARED
def test_an_answer_is_forced_where_no_journal_is_kept_too() -> None:
    with MockServer(journal=0) as server:
        control(server, "POST", "/forced", json={"prefer": "code=503", "times": 1})
        client = Client(over_network(server.base_url))
        assert [client.get("/api/domains/1").status for _ in range(2)] == [503, 200]
