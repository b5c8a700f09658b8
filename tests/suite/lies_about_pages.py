"""Lies about pages and what stands around them."""

from __future__ import annotations

from dataclasses import replace

from elaborate_lies import never_fewer, own_size, shuffled
from liar import Lie
from lies import D, N, S, asks, double, link, links, meta, on

LIES: dict[str, list[tuple[str, Lie]]] = {
    "pagination.page-defaults-to-1": [
        (
            S,
            asks(
                "list",
                lambda ask: replace(ask, query=ask.query | {"page": "2"}),
                lambda ask: "page" not in ask.query and "results_per_page" not in ask.query,
            ),
        )
    ],
    "pagination.size-defaults-to-25": [
        (
            D,
            asks(
                "list",
                lambda ask: replace(ask, query=ask.query | {"results_per_page": "50"}),
                lambda ask: "results_per_page" not in ask.query,
            ),
        )
    ],
    "pagination.allowed-sizes-are-kept": [
        (
            S,
            asks(
                "list",
                lambda ask: replace(ask, query=ask.query | {"results_per_page": "100"}),
                lambda ask: ask.query.get("results_per_page") == "250",
            ),
        )
    ],
    "pagination.other-sizes-are-not-used": [(N, own_size)],
    "pagination.page-is-filled": [
        (S, on("list", lambda body: body.__setitem__("data", body["data"][:-1]))),
        (
            D,
            on(
                "list",
                lambda body: body.__setitem__("data", body["data"][:-1]),
                lambda ask: ask.query.get("page") == "3",
            ),
        ),
    ],
    "pagination.meta-page-is-the-page-asked-for": [
        (S, meta("page", lambda _: 1)),
        (D, meta("page", lambda m: m["page"] - 1)),
    ],
    "pagination.total-pages-is-the-ceiling": [
        (S, meta("total_pages", lambda m: m["total"] // m["results_per_page"])),
        (D, meta("total_pages", lambda m: m["total"] // m["results_per_page"] + 1)),
    ],
    "pagination.total-counts-the-records": [
        (S, meta("total", lambda m: m["total"] + 1)),
        (N, meta("total", lambda m: min(m["total"], m["results_per_page"]))),
    ],
    "pagination.total-follows-creates": [(S, double), (N, double), (D, meta("total", lambda m: min(m["total"], 28)))],
    "pagination.total-follows-deletes": [(S, never_fewer)],
    "pagination.pages-partition-the-collection": [
        (
            S,
            on(
                "list",
                lambda body: body["data"].__setitem__(0, body["data"][-1]) if body["meta"]["page"] == 2 else None,
            ),
        ),
        (
            D,
            asks(
                "list",
                lambda ask: replace(ask, query=ask.query | {"page": "1"}),
                lambda ask: ask.query.get("page") == "2",
            ),
        ),
    ],
    "pagination.order-is-the-same-again": [(S, shuffled)],
    "pagination.links-have-the-stated-path": [
        (S, links(lambda url: url.replace("?", "/?"))),
        (D, links(lambda url: url.replace("/api/", "/api/v1/"))),
    ],
    "pagination.links-name-the-collection": [
        (S, links(lambda url: url.replace("/projects", "/splash-pages"))),
        (N, links(lambda url: url.replace("/notification-handlers", "/handlers"))),
    ],
    "pagination.links-hold-page-alone": [
        (S, links(lambda url: f"{url}&results_per_page=10")),
        (D, links(lambda url: url.replace("page=", "p="))),
    ],
    "pagination.links-begin-with-the-base-url": [
        (S, links(lambda url: url.replace("http://localhost", "https://localhost"))),
        (D, links(lambda url: url.removeprefix("http://localhost"))),
    ],
    "pagination.first-names-page-1": [(S, link("first", lambda body: body["links"]["self"]))],
    "pagination.last-names-the-last-page": [
        (S, link("last", lambda body: body["links"]["first"])),
        (D, link("last", lambda body: body["links"]["last"] + "0")),
    ],
    "pagination.self-names-this-page": [(S, link("self", lambda body: body["links"]["first"]))],
    "pagination.next-names-the-next-page": [
        (S, link("next", lambda body: body["links"]["next"] and body["links"]["last"])),
        (D, link("next", lambda _: None)),
    ],
    "pagination.next-is-null-on-last-page": [
        (S, link("next", lambda body: body["links"]["next"] or body["links"]["last"]))
    ],
    "pagination.prev-names-the-previous-page": [
        (S, link("prev", lambda body: body["links"]["prev"] and body["links"]["first"])),
        (D, link("prev", lambda _: None)),
    ],
    "pagination.prev-is-null-on-first-page": [
        (S, link("prev", lambda body: body["links"]["prev"] or body["links"]["first"]))
    ],
}
