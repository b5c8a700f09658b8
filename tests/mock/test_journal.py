from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from wire import HARBOUR, PNG, Client, over_network

from mock_server import MockServer
from mock_server.journal import Entry, Journal, Remark

KEY = {"Authorization": f"Bearer {HARBOUR}"}


@pytest.fixture(scope="module")
def running() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server


@pytest.fixture
def server(running: MockServer) -> MockServer:
    running.running.reset()
    running.running.journal.clear()
    return running


def ask(server: MockServer, method: str, path: str, **more: Any) -> requests.Response:
    more["headers"] = KEY | more.get("headers", {})
    return requests.request(method, server.base_url + path, timeout=10, **more)


def journal(server: MockServer, **filters: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = requests.get(f"{server.base_url}/_mock/journal", filters, timeout=10).json()[
        "entries"
    ]
    return entries


def remarks(server: MockServer) -> list[tuple[str, str | None]]:
    return [(remark["what"], remark["rule"]) for entry in journal(server) for remark in entry["remarks"]]


def test_it_tells_what_was_sent_and_answered_and_masks_the_key(server: MockServer) -> None:
    files = {"logo": ("logo.png", PNG, "image/png")}
    made = ask(server, "POST", "/api/projects?a=%C3%A9", data={"name": "Über"}, files=files).json()["data"]["id"]
    (entry,) = journal(server)
    assert (entry["method"], entry["path"], entry["query"]) == ("POST", "/api/projects", "a=%C3%A9")
    assert (entry["account"], entry["status"], entry["broken"]) == ("Harbour Books", 201, "")
    assert entry["fields"] == {"name": "Über"}
    assert entry["files"] == {"logo": {"name": "logo.png", "media_type": "image/png", "size": len(PNG)}}
    assert entry["headers"]["Authorization"] == "Bearer [key]"
    assert json.loads(entry["answer"]) == {"data": {"id": made}}
    assert HARBOUR not in json.dumps(entry)


def test_it_is_searched_counted_and_cleared(server: MockServer) -> None:
    ask(server, "GET", "/api/domains/")
    ask(server, "GET", "/api/domains/1", headers={"Authorization": "Bearer sandbox-9"})
    ask(server, "DELETE", "/api/domains/999999")
    first = journal(server)[0]["number"]
    for filters, count in (
        ({"account": "sandbox-9"}, 1),
        ({"method": "get"}, 2),
        ({"path": "/api/domains/*"}, 3),
        ({"status": "404"}, 1),
        ({"after": str(first)}, 2),
        ({"remarks": "1"}, 0),
        ({"method": "GET", "status": "200"}, 2),
    ):
        assert len(journal(server, **filters)) == count, filters
        answer = requests.get(f"{server.base_url}/_mock/journal/count", filters, timeout=10)
        assert answer.json() == {"count": count}
    assert requests.delete(f"{server.base_url}/_mock/journal", timeout=10).status_code == 204
    assert journal(server) == []


def test_a_filter_that_is_none_is_told(server: MockServer) -> None:
    answer = requests.get(f"{server.base_url}/_mock/journal?url=x", timeout=10)
    assert (answer.status_code, answer.json()["errors"][0]["title"]) == (
        400,
        'no filter "url"; filters are account, method, path, status, remarks, after',
    )
    assert requests.get(f"{server.base_url}/_mock/journal?after=x", timeout=10).status_code == 400


def test_it_is_followed(server: MockServer) -> None:
    ask(server, "GET", "/api/domains/1")
    with requests.get(f"{server.base_url}/_mock/journal/events?method=DELETE", stream=True, timeout=10) as answer:
        lines = answer.iter_lines(decode_unicode=True)
        assert next(lines) == ": the journal"
        ask(server, "GET", "/api/domains/2")
        ask(server, "DELETE", "/api/domains/3")
        data = next(json.loads(line[5:]) for line in lines if line.startswith("data:"))
    assert (data["method"], data["path"]) == ("DELETE", "/api/domains/3")


def test_it_is_bounded_in_number_and_in_bytes() -> None:
    kept = Journal(most_entries=3, most_bytes=6500)
    for _ in range(5):
        kept.add(Entry("", "", "GET", "/", "", {}))
    assert [entry.number for entry in kept.find()] == [3, 4, 5]
    kept.add(Entry("", "", "GET", "/" * 4000, "", {}))
    assert [entry.number for entry in kept.find()] == [5, 6]


def test_a_remark_is_counted_after_its_request_is_gone() -> None:
    kept = Journal(most_entries=1)
    for _ in range(3):
        kept.add(Entry("", "", "GET", "/", "", {}, remarks=[Remark("wrong", "a.rule")]))
    assert kept.remarked == {("wrong", "a.rule"): 3}


@pytest.mark.parametrize(
    ("method", "path", "more", "rule", "told"),
    [
        (
            "GET",
            "/api/domains/?results_per_page=30",
            {},
            "pagination.other-sizes-are-not-used",
            '"30" is none of 10, 25',
        ),
        ("GET", "/api/domains/?page=0", {}, "robustness.odd-pages-do-not-fail", '"0" is no number from 1 on'),
        ("GET", "/api/domains/?limit=5", {}, None, 'parameter "limit" is not documented'),
        ("GET", "/api/projects?page=2", {}, "pagination.links-name-the-collection", "ask /api/splash-pages/ for it"),
        ("GET", "/api/domain", {}, None, 'There is nothing at "/api/domain"'),
        ("POST", "/api/domains/", {"data": {"host": "a.example.com"}}, "operations.writes-not-redirected", "slash"),
        ("PUT", "/api/domains/1", {"data": {"host": "a.example.com"}}, "operations.update-answers", "sent by POST"),
        ("PATCH", "/api/domains/1", {"data": {}}, "operations.update-answers", "sent by POST"),
        ("POST", "/api/domains", {"json": {"host": "a.example.com"}}, "operations.create-answers", "The body is JSON"),
        ("POST", "/api/domains", {"files": {"x": "1"}}, "forms.host-required", 'The field "host" is required'),
        ("POST", "/api/domains/1", {"data": {"_method": "DELETE"}}, "operations.delete-answers", "sent by DELETE"),
        ("POST", "/api/domains/1", {"data": {"hots": "x"}}, None, 'The field "hots" is none that is written'),
        (
            "POST",
            "/api/notification-handlers/1",
            {"data": {"is_enabled": "true"}},
            "forms.one-enables",
            "knows 1 and 0",
        ),
        ("GET", "/api/domains/", {"headers": {"Authorization": "Bearer no"}}, "accounts.bearer-key-is-accepted", "key"),
        ("POST", "/api/domains/1/", {"data": {"host": "a.example.com"}}, "operations.writes-not-redirected", "slash"),
        ("DELETE", "/api/domains/1/", {}, "operations.writes-not-redirected", "slash"),
        ("POST", "/api/splash-pages/", {"data": {"name": "A"}}, None, "POST /api/projects to create a splash page"),
        ("GET", "//api/domains/", {}, None, "two slashes in a row"),
        (
            "POST",
            "/api/domains/1",
            {"json": {"host": "a.example.com"}},
            "operations.update-answers",
            "The body is JSON",
        ),
        ("POST", "/api/domains/1?_method=DELETE", {}, None, "Parameters of a write have no influence: _method"),
        (
            "POST",
            "/api/domains/1",
            {"headers": {"X-HTTP-Method-Override": "DELETE"}},
            "operations.delete-answers",
            "sent by DELETE",
        ),
        ("POST", "/api/projects", {"data": {"name": "A"}, "files": {"logos": PNG}}, None, 'The field "logos" is none'),
        ("POST", "/api/projects", {"data": {"name": "A", "logo": ""}}, None, 'The field "logo" is empty'),
        (
            "POST",
            "/api/projects",
            {"data": b"x", "headers": {"Content-Type": "multipart/form-data"}},
            None,
            "has no boundary",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("/") else None,
)
def test_a_mistake_is_remarked(  # noqa: PLR0913, PLR0917
    server: MockServer, method: str, path: str, more: dict[str, Any], rule: str | None, told: str
) -> None:
    ask(server, method, path, **more)
    found = remarks(server)
    assert [named for what, named in found if told in what] == [rule], found


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("GET", "/api/domains/", {}),
        ("GET", "/api/domains/?results_per_page=10&page=2", {}),
        ("GET", "/api/domains/999999", {}),
        ("DELETE", "/api/domains/999999", {}),
        ("POST", "/api/domains", {"data": {"host": "right.example.com"}}),
        ("POST", "/api/notification-handlers/1", {"data": {"is_enabled": "0"}}),
        ("GET", "/api/domains/", {"headers": {"Prefer": "code=500"}}),
        ("GET", "/api/domains/", {"headers": {"Prefer": "cod=429"}}),
        ("GET", "/openapi.yaml", {}),
        ("GET", "/favicon.ico", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_right_is_not_remarked(server: MockServer, method: str, path: str, more: dict[str, Any]) -> None:
    ask(server, method, path, **more)
    assert remarks(server) == []


def test_a_link_that_is_followed_without_the_page_size_is_remarked(server: MockServer) -> None:
    first = ask(server, "GET", "/api/domains/?results_per_page=10").json()
    ask(server, "GET", first["links"]["next"].removeprefix(server.base_url))
    assert [rule for _, rule in remarks(server)] == ["pagination.links-hold-page-alone"]


@pytest.mark.parametrize(
    ("before", "path"),
    [
        ("/api/domains/?results_per_page=10&page=2", "/api/domains?page=1"),
        ("/api/domains?results_per_page=10", "/api/domains?page=2"),
    ],
)
def test_each_link_that_is_followed_without_the_page_size_is_remarked(
    server: MockServer, before: str, path: str
) -> None:
    ask(server, "GET", before)
    ask(server, "GET", path)
    assert [rule for _, rule in remarks(server)] == ["pagination.links-hold-page-alone"]


@pytest.mark.parametrize(
    ("before", "path"),
    [
        ("/api/domains/?results_per_page=25", "/api/domains?page=2"),
        ("/api/domains/?results_per_page=10", "/api/domains/?page=2"),
        ("/api/domains/?results_per_page=10", "/api/splash-pages?page=2"),
    ],
    ids=["the default size", "another view", "another kind"],
)
def test_who_asks_for_a_page_of_the_default_size_is_not_remarked(server: MockServer, before: str, path: str) -> None:
    ask(server, "GET", before)
    ask(server, "GET", path)
    assert remarks(server) == []


def test_a_reset_forgets_what_the_next_remark_would_rest_on(server: MockServer) -> None:
    ask(server, "GET", "/api/domains/?results_per_page=10")
    server.running.reset()
    ask(server, "GET", "/api/domains?page=2")
    assert remarks(server) == []
    assert server.running.remarks.unread == []


def test_an_account_is_found_by_its_key_too(server: MockServer) -> None:
    ask(server, "GET", "/api/domains/1")
    assert len(journal(server, account=HARBOUR)) == len(journal(server, account="Harbour Books")) == 1


@pytest.mark.parametrize("filters", [{"remarks": "yes"}, {"status": "4xx"}, {"after": "9" * 5000}])
def test_a_filter_of_no_sense_is_told(server: MockServer, filters: dict[str, str]) -> None:
    assert requests.get(f"{server.base_url}/_mock/journal", filters, timeout=10).status_code == 400


@pytest.mark.parametrize(
    "condition",
    ["chunked", "compressed", "connection-close", "slow-body", "cut-off", "dropped-after", "lag", "other-writer"],
)
def test_a_lost_answer_is_lost_and_told_of_under_each_condition(condition: str) -> None:
    with MockServer(conditions={condition: 0.01 if condition in ("slow-body", "lag") else 1}) as server:
        with pytest.raises(requests.exceptions.RequestException):
            ask(server, "GET", "/api/domains/1", headers={"Prefer": "lost=after"})
        assert [entry.broken for entry in server.running.journal.find()] == ["dropped"]


def test_what_is_compressed_or_comes_in_pieces_can_be_read(server: MockServer) -> None:
    for condition in ("compressed", "chunked"):
        server.running.change(conditions={condition: 0})
        answer = ask(server, "GET", "/api/domains/1")
        assert answer.json()["data"]["id"] == 1
        assert json.loads(journal(server)[-1]["answer"])["data"]["id"] == 1
    assert answer.headers["Transfer-Encoding"] == "chunked"


def test_no_answer_of_the_api_can_run_a_script_beside_the_console(server: MockServer) -> None:
    server.running.change(choices={"media-type": "html"})
    for path in ("/api/%3Cscript%3E", "/api/domains/1", "/login"):
        headers = ask(server, "GET", path).headers
        assert (headers["Content-Security-Policy"], headers["X-Content-Type-Options"]) == ("sandbox", "nosniff")


def test_a_prefix_that_is_lost_is_remarked() -> None:
    with MockServer(base_path="/prefix") as server:
        requests.get(f"{server.origin}/api/domains/", headers=KEY, timeout=10)
        ((what, rule),) = [key for key in server.running.journal.remarked if key[1]]
    assert rule == "pagination.links-begin-with-the-base-url"
    assert "is without the prefix /prefix" in what


def test_who_reads_page_1_alone_is_told_of_at_the_end() -> None:
    with MockServer() as server:
        ask(server, "GET", "/api/domains/?results_per_page=10")
        assert [each.what for each in server.running.remarks.unread] == [
            "Of the 6 pages of domains, page 1 alone was read by Harbour Books."
        ]
        ask(server, "GET", "/api/domains/?results_per_page=10&page=2")
        assert server.running.remarks.unread == []


def test_a_journal_holds_no_long_texts(server: MockServer) -> None:
    Client(over_network(server.base_url)).post(
        "/api/projects", {"name": "x" * 100_000, **{f"f{n}": "1" for n in range(300)}}
    )
    (entry,) = journal(server)
    assert (len(entry["fields"]["name"]), len(entry["fields"])) == (2000, 100)


def test_so_many_follow_and_who_leaves_makes_room(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.control.api.SECONDS_BETWEEN_SIGNS", 0.05)

    def followed() -> requests.Response:
        return requests.get(f"{server.base_url}/_mock/journal/events", stream=True, timeout=10)

    answers = [followed() for _ in range(17)]
    assert [answer.status_code for answer in answers] == [200] * 16 + [503]
    for answer in answers:
        answer.close()
    for _ in range(100):  # until the server has noticed
        with followed() as again:
            if again.status_code == 200:
                return
        time.sleep(0.1)
    pytest.fail("nobody may follow any more")


def test_no_journal_keeps_and_remarks_nothing_and_answers_break_off_all_the_same() -> None:
    with MockServer(journal=0, conditions={"chunked": 0}) as server:
        assert ask(server, "GET", "/api/domains/?results_per_page=30").status_code == 200
        with pytest.raises(requests.exceptions.RequestException):
            ask(server, "GET", "/api/domains/1", headers={"Prefer": "lost=after"})
        assert server.running.journal.find() == []
        assert server.running.journal.remarked == {}
