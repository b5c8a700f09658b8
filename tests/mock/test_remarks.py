"""Remarks: what in a request goes against the contract, or is a known mistake of clients."""

from __future__ import annotations

import re
from typing import Any

import pytest
import requests
from asking import ask, journal
from wire import HARBOUR, PNG

from mock_server import MockServer
from mock_server.errors import SettingsError
from mock_server.journal.journal import frequent_remarks

KEY = {"Authorization": f"Bearer {HARBOUR}"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def remarks(server: MockServer) -> list[tuple[str, str]]:
    return [(remark["what"], remark["rule"]) for entry in journal(server) for remark in entry["remarks"]]


@pytest.mark.parametrize(
    ("method", "path", "more", "rule", "told"),
    [
        (
            "GET",
            "/api/domains/?results_per_page=30",
            {},
            "pagination.other-sizes-are-not-used",
            '"30" is not one of 10, 25',
        ),
        ("GET", "/api/domains/?page=0", {}, "robustness.odd-pages-do-not-fail", '"0" is not a number from 1 up'),
        ("GET", "/api/domains/?limit=5", {}, "client.unknown-parameter", 'parameter "limit" is not documented'),
        ("GET", "/api/projects?page=2", {}, "pagination.links-name-the-collection", "ask /api/splash-pages/ for it"),
        ("GET", "/api/domain", {}, "client.refused", 'There is nothing at "/api/domain"'),
        ("POST", "/api/domains/", {"data": {"host": "a.example.com"}}, "operations.writes-not-redirected", "slash"),
        ("PUT", "/api/domains/1", {"data": {"host": "a.example.com"}}, "operations.update-answers", "sent by POST"),
        ("PATCH", "/api/domains/1", {"data": {}}, "operations.update-answers", "sent by POST"),
        ("POST", "/api/domains", {"json": {"host": "a.example.com"}}, "operations.create-answers", "The body is JSON"),
        ("POST", "/api/domains", {"files": {"x": "1"}}, "forms.host-required", 'The field "host" is required'),
        ("POST", "/api/domains/1", {"data": {"_method": "DELETE"}}, "operations.delete-answers", "send a DELETE"),
        (
            "POST",
            "/api/domains/1",
            {"data": {"hots": "x"}},
            "client.unknown-field",
            'The field "hots" is not a field of',
        ),
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
        (
            "POST",
            "/api/splash-pages/",
            {"data": {"name": "A"}},
            "client.refused",
            "POST /api/projects to create a splash page",
        ),
        ("GET", "//api/domains/", {}, "client.two-slashes", "two slashes in a row"),
        (
            "POST",
            "/api/domains/1",
            {"json": {"host": "a.example.com"}},
            "operations.update-answers",
            "The body is JSON",
        ),
        (
            "POST",
            "/api/domains/1?_method=DELETE",
            {},
            "client.write-parameters",
            "A write ignores parameters: _method",
        ),
        (
            "POST",
            "/api/domains/1",
            {"headers": {"X-HTTP-Method-Override": "DELETE"}},
            "operations.delete-answers",
            "send a DELETE",
        ),
        (
            "POST",
            "/api/projects",
            {"data": {"name": "A"}, "files": {"logos": PNG}},
            "client.unknown-field",
            'The field "logos" is not a field',
        ),
        (
            "POST",
            "/api/projects",
            {"data": {"name": "A", "logo": ""}},
            "client.ignored-field",
            'The field "logo" is empty',
        ),
        (
            "POST",
            "/api/projects",
            {"data": b"x", "headers": {"Content-Type": "multipart/form-data"}},
            "client.refused",
            "has no boundary",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("/") else None,
)
def test_a_mistake_is_remarked(  # noqa: PLR0913, PLR0917
    server: MockServer, method: str, path: str, more: dict[str, Any], rule: str, told: str
) -> None:
    ask(server, method, path, **more)
    found = remarks(server)
    assert [named for what, named in found if told in what] == [rule], found
    assert not any(re.search(r"[a-z] (The|A|An) ", re.sub('"[^"]*"', "", what)) for what, _ in found), found


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
        ("/api/domains/?results_per_page=10", "/api/domains/?page=2"),
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
        ("/api/domains/?results_per_page=10", "/api/domains/?page=1"),
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


def test_a_prefix_that_is_lost_is_remarked() -> None:
    with MockServer(base_path="/prefix") as server:
        requests.get(f"{server.origin}/api/domains/", headers=KEY, timeout=60)
        what, rule = next(key for key in server.running.journal.remark_counts if not key[1].startswith("client."))
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


def test_what_many_accounts_do_alike_is_told_in_one_line() -> None:
    with MockServer() as server:
        for number in range(5):
            headers = {"Authorization": f"Bearer sandbox-{number}"}
            ask(server, "GET", "/api/domains/?results_per_page=10", headers=headers)
        assert [each.what for each in server.running.remarks.unread] == [
            "Of the 6 pages of domains, page 1 alone was read by 5 accounts, such as sandbox-0."
        ]
        ask(server, "GET", "/api/domains/?results_per_page=25", headers={"Authorization": "Bearer sandbox-5"})
        assert [each.what for each in server.running.remarks.unread] == [
            "Of the pages of domains, page 1 alone was read by 6 accounts, such as sandbox-0."
        ]


HANDLER = "/api/notification-handlers"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.mark.parametrize(
    ("method", "path", "more", "rule", "cure"),
    [
        ("POST", "/api/projects", {"data": {"name": "undefined"}}, "client.slip", "leave it out"),
        ("POST", "/api/projects", {"data": {"name": "A", "title": "[object Object]"}}, "client.slip", "send its text"),
        ("POST", "/api/domains/1", {"data": {"custom_index_url": "null"}}, "client.slip", "leave it out"),
        ("GET", "/api/domains/undefined", {}, "client.slip", "leave it out"),
        ("GET", "/api/domains/?page=NaN", {}, "client.slip", "leave it out"),
        ("POST", "/api/domains", {"data": {"host": "https://go.example.com"}}, "client.url-as-host", "the name alone"),
        ("POST", "/api/domains", {"data": {"host": "go.example.com:8080"}}, "client.url-as-host", "the name alone"),
        (
            "POST",
            HANDLER,
            {"data": "name=A&type=email&email=me+links@example.com", "headers": FORM},
            "client.raw-plus",
            "%2B",
        ),
        (
            "POST",
            "/api/projects",
            {"data": {"name": "A"}, "files": {"logo": ("a.png", b"")}},
            "client.empty-file",
            "wait",
        ),
        (
            "POST",
            "/api/projects",
            {"data": {"name": "A"}, "files": {"logo": ("a.png", b"%PDF")}},
            "client.no-image",
            "check",
        ),
        ("POST", HANDLER, {"data": {"name": "A", "type": "slack"}}, "client.type-without-its-field", "send both"),
        (
            "POST",
            "/api/projects",
            {"files": [("name", (None, "A")), ("name", (None, "B"))]},
            "client.field-twice",
            "use set",
        ),
        (
            "POST",
            "/api/domains",
            {"data": "host=a.example.com&host=b.example.com", "headers": FORM},
            "client.field-twice",
            "set",
        ),
    ],
)
def test_a_slip_of_a_script_is_remarked_with_its_cure(  # noqa: PLR0913, PLR0917
    server: MockServer, method: str, path: str, more: dict[str, Any], rule: str, cure: str
) -> None:
    answer = ask(server, method, path, **more)
    assert rule != "client.url-as-host" or answer.status_code == 201
    found = remarks(server)
    assert [cure in what for what, named in found if named == rule] == [True], found
    assert not any(re.search(r"[a-z] (The|A|An) ", re.sub('"[^"]*"', "", what)) for what, _ in found), found


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("POST", "/api/projects", {"data": {"name": "Undefined behaviour"}, "files": {"logo": ("a.png", PNG)}}),
        ("POST", "/api/projects", {"data": {"name": "A"}, "files": {"favicon": ("a.svg", SVG), "logo": ("", b"")}}),
        ("POST", HANDLER, {"data": "name=A&type=email&email=me%2Blinks@example.com", "headers": FORM}),
        ("POST", HANDLER, {"data": {"name": "A", "type": "slack", "slack": "https://hooks.example.com/"}}),
        ("POST", f"{HANDLER}/1", {"data": {"name": "Another name"}}),
        ("POST", f"{HANDLER}/1", {"data": {"name": "Another name", "type": "email"}}),
        ("POST", "/api/projects", {"data": "name=Ask+ann%40example.com", "headers": FORM}),
        ("POST", f"{HANDLER}/1", {"data": {"email": "a@example.com, b@example.com"}}),
        ("POST", "/api/domains", {"data": {"host": "xn--bcher-kva.example.com"}}),
    ],
)
def test_a_form_that_is_right_is_not_remarked(server: MockServer, method: str, path: str, more: dict[str, Any]) -> None:
    assert ask(server, method, path, **more).status_code < 300
    assert remarks(server) == []


def test_who_calls_on_after_a_429_is_remarked_and_who_waits_is_not(
    server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("mock_server.journal.remarks.monotonic", lambda: now[0])
    for wait in (0.5, 3.5):
        server.running.force({"status": 429, "headers": {"Retry-After": "3"}})
        ask(server, "GET", "/api/domains/1")
        now[0] += wait
        ask(server, "GET", "/api/domains/1")
        now[0] += 10
    ((what, rule),) = remarks(server)
    assert rule == "client.calls-on-after-429"
    assert what.startswith("Sent 0.5 s after a 429 that asked to wait 3 s; wait that long")


def test_who_polls_is_remarked_once_and_who_looks_after_each_write_is_not(server: MockServer) -> None:
    for number in range(40):
        ask(server, "POST", "/api/domains", data={"host": f"host-{number}.example.org"})
        ask(server, "GET", "/api/domains/1")
    assert remarks(server) == []
    for _ in range(70):
        ask(server, "GET", "/api/domains/1")
    assert [rule for _, rule in remarks(server)] == ["client.polling"]


def test_a_mistake_that_is_meant_does_not_count_and_is_still_shown(server: MockServer) -> None:
    server.running.remarks.expect("Harbour Books", ["forms.*"])
    ask(server, "POST", "/api/domains", data={"custom_index_url": "https://example.com/"})
    ask(server, "GET", "/api/domains/?limit=5")
    assert [rule for _, rule in remarks(server)] == ["forms.host-required", "client.unknown-parameter"]
    assert [rule for _, rule, _ in frequent_remarks(server.running.journal)] == ["client.unknown-parameter"]
    with pytest.raises(SettingsError, match=r'no remark is about "form.\*"; remarks are about rules such as'):
        server.running.remarks.expect("Harbour Books", ["form.*"])


def test_a_rule_that_is_ignored_does_not_count() -> None:
    with MockServer(ignore_remarks=("client.unknown-*",)) as server:
        ask(server, "GET", "/api/domains/?limit=5")
        assert frequent_remarks(server.running.journal) == []
    with pytest.raises(SettingsError, match='no remark is about "unknown"'):
        MockServer(ignore_remarks=("unknown",))


def test_a_second_view_of_the_default_size_is_no_mistake(server: MockServer) -> None:
    for query in ("page=1", "results_per_page=1000", "page=2"):
        ask(server, "GET", f"/api/domains/?{query}")
    assert remarks(server) == []
