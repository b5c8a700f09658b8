"""Detectors of choices that show in lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contract_tests.exchange import OWN, is_integer
from contract_tests.open_points.detector import Exchanges, Look, successes

MEDIA_TYPES = {
    "application/json": "json",
    "application/vnd.api+json": "vendor",
    "text/html": "html",
    "text/plain": "text",
}
ALLOWED = ("10", "25", "50", "100", "250", "500", "1000")
NEAREST = {"7": 10, "60": 50, "5000": 1000}
ENOUGH_ROWS = 3
ENVELOPE, META = ("data", "meta", "links"), ("page", "results_per_page", "total", "total_pages")


def _media_type(exchanges: Exchanges) -> Iterator[str]:
    for each in successes(exchanges, "list"):
        name, _, parameters = each.headers.get("Content-Type", "").partition(";")
        yield "charset" if parameters and name == "application/json" else MEDIA_TYPES.get(name, name)


def _json_escapes(exchanges: Exchanges) -> Iterator[str]:
    for each in successes(exchanges, "list"):
        yield "escaped" if b":\\/\\/" in each.body else "plain"


def _further_keys(exchanges: Exchanges) -> Iterator[str]:
    for each in successes(exchanges, "list"):
        if isinstance(each.json.get("meta"), dict):
            yield "some" if len(each.json["meta"]) > len(META) or len(each.json) > len(ENVELOPE) else "none"


def _order(exchanges: Exchanges) -> Iterator[str]:
    for each in successes(exchanges, "list"):
        rows = each.page.rows if each.page else ()
        ids = [int(row["id"]) for row in rows if is_integer(row.get("id"))]
        if len(ids) > ENOUGH_ROWS:
            names = {True: "oldest-first", False: "by-name"}
            yield "newest-first" if ids == sorted(ids, reverse=True) else names[ids == sorted(ids)]


def _size_not_allowed(exchanges: Exchanges) -> Iterator[str]:
    for each in exchanges:
        size = each.request.asked.get("results_per_page", "")
        if each.request.operation == "list" and each.request.identity == OWN and size in NEAREST:
            if not each.succeeded:
                yield str(each.status)
            elif each.page and "results_per_page" in each.page.meta:
                yield "nearest" if each.page.meta["results_per_page"] == NEAREST[size] else "default"


def _odd_page(exchanges: Exchanges) -> Iterator[str]:
    for each in exchanges:
        if each.request.operation == "list" and each.request.asked.get("page") in ("-1", "0", "x"):
            yield "first" if each.succeeded else str(each.status)


def _page_past_the_end(exchanges: Exchanges) -> Iterator[str]:
    totals: dict[str, int] = {}
    for each in exchanges:
        page, asked = each.page, each.request.asked
        if page and page.total is not None:
            totals[each.request.resource] = page.total
        size, number = asked.get("results_per_page", "25"), asked.get("page", "1")
        total = totals.get(each.request.resource, 0) if each.request.operation == "list" else 0
        if total and size in ALLOWED and number.isdecimal() and (int(number) - 1) * int(size) >= total and each.status:
            yield str(each.status) if page is None else "last" if page.rows else "empty"


def _empty(exchanges: Exchanges) -> Iterator[dict[str, Any]]:
    """The answers to lists that hold no records."""
    return (each.json for each in successes(exchanges, "list") if each.page and each.page.total == 0)


def _empty_pages(exchanges: Exchanges) -> Iterator[str]:
    return (str(body["meta"].get("total_pages")) for body in _empty(exchanges))


def _empty_last(exchanges: Exchanges) -> Iterator[str]:
    for body in _empty(exchanges):
        last = body.get("links", {}).get("last") if isinstance(body.get("links"), dict) else None
        number = str(last).rpartition("=")[2]
        yield number if number.isdecimal() else "other"


def _link_query(exchanges: Exchanges) -> Iterator[str]:
    for each in successes(exchanges, "list"):
        if each.page and isinstance(each.page.links.get("first"), str):
            yield "ampersand" if "?&" in each.page.links["first"] else "plain"


def followed(exchanges: Exchanges) -> Iterator[tuple[str, str]]:
    """The resource and the answer of each page link that was followed as it stands."""
    for each in exchanges:
        if each.request.operation == "follow" and each.status is not None:
            served = each.succeeded and isinstance(each.data, list)
            how = "redirected" if each.redirects else "served" if served else str(each.status)
            yield each.request.resource, how


def _followed(*resources: str) -> Look:
    return lambda exchanges: (how for resource, how in followed(exchanges) if resource in resources)


def _list_redirect(exchanges: Exchanges) -> Iterator[str]:
    for each in successes(exchanges, "list"):
        yield str(each.redirects[0][0]) if each.redirects else "no"


def _rate_limit_headers(exchanges: Exchanges) -> Iterator[str]:
    for each in successes(exchanges, "list"):
        yield "present" if "X-RateLimit-Limit" in each.headers else "absent"


DETECTORS: dict[str, Look] = {
    "further-keys": _further_keys,
    "json-escapes": _json_escapes,
    "media-type": _media_type,
    "order": _order,
    "size-not-allowed": _size_not_allowed,
    "odd-page": _odd_page,
    "page-past-the-end": _page_past_the_end,
    "empty-collection-pages": _empty_pages,
    "empty-collection-last": _empty_last,
    "link-query": _link_query,
    "list-redirect": _list_redirect,
    "followed-link": _followed("domains", "notification-handlers"),
    "followed-splash-link": _followed("splash-pages"),
    "rate-limit-headers": _rate_limit_headers,
}
