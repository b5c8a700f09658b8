"""Remarks: what in a request goes against the contract, or is a known mistake of clients."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from asking import ask, journal
from wire import HARBOUR, PNG

from mock_server import MockServer

KEY = {"Authorization": f"Bearer {HARBOUR}"}


def remarks(server: MockServer) -> list[tuple[str, str | None]]:
    return [(remark["what"], remark["rule"]) for entry in journal(server) for remark in entry["remarks"]]


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
