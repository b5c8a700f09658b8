"""Rules about page links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from contract_tests.evidence import Evidence
from contract_tests.exchange import Expect, Page
from contract_tests.json_reading import integer
from contract_tests.rules.observation import (
    NotApplicable,
    Observation,
    Observations,
    Undecided,
    Violation,
    decide,
    shown,
)
from link_management_contract import Resource

NAMES = ("first", "last", "self", "next", "prev")
DEFAULT_PORTS = {"http": 80, "https": 443}


def links_have_the_stated_path(evidence: Evidence, resource: Resource) -> Observations:
    """All links: one segment after `/api/`, and nothing after that."""
    for page, name, link in _links(evidence, resource):
        path = _path(link)
        kept = re.fullmatch(r"(?:.*[^/])?/api/[^/]+", path) is not None
        yield decide(
            page.exchange,
            f"{name} with the path /api/{resource.link_collection}",
            f"the path {path}",
            kept=kept,
            at=f"/links/{name}",
        )


def links_name_the_collection(evidence: Evidence, resource: Resource) -> Observations:
    """All links: the segment after `/api/`."""
    for page, name, link in _links(evidence, resource):
        found = re.search(r".*/api/([^/]+)", _path(link))
        if found:
            kept = found[1] == resource.link_collection
            yield decide(
                page.exchange,
                f"{name} with the collection {resource.link_collection}",
                found[1],
                kept=kept,
                at=f"/links/{name}",
            )


def links_hold_page_alone(evidence: Evidence, resource: Resource) -> Observations:
    """All links: the query, empty parameters aside."""
    for page, name, link in _links(evidence, resource):
        parameters = [parameter for parameter in _query(link).split("&") if parameter]
        kept = len(parameters) == 1 and re.fullmatch(r"page=\d+", parameters[0], re.ASCII) is not None
        kept = kept and "#" not in link
        yield decide(
            page.exchange, f"{name} with page alone", f"the query {_query(link)[:80]}", kept=kept, at=f"/links/{name}"
        )


def links_begin_with_the_base_url(evidence: Evidence, resource: Resource) -> Observations:
    """All links: scheme, host, port and path prefix."""
    for page, name, link in _links(evidence, resource):
        front = link.rpartition("/api/")[0] if "/api/" in link else link
        base_url = evidence.public_base_url or evidence.base_url
        kept = _origin(front) == _origin(base_url)
        expected = f"{name} beginning with {base_url} (declare another with --public-base-url)"
        yield decide(page.exchange, expected, front[:120] or "no scheme and host", kept=kept, at=f"/links/{name}")


def first_names_page_1(evidence: Evidence, resource: Resource) -> Observations:
    """`first` on pages that exist."""
    for page in _existing(evidence, resource):
        yield from _names(page, "first", 1)


def last_names_the_last_page(evidence: Evidence, resource: Resource) -> Observations:
    """`last` on pages that exist."""
    for page in _existing(evidence, resource):
        yield from _names(page, "last", page.pages or 0)


def self_names_this_page(evidence: Evidence, resource: Resource) -> Observations:
    """`self` on pages that exist."""
    for page in _existing(evidence, resource):
        yield from _names(page, "self", page.number)


def next_names_the_next_page(evidence: Evidence, resource: Resource) -> Observations:
    """`next` before the last page."""
    for page in _existing(evidence, resource):
        if page.number < (page.pages or 0):
            yield from _names(page, "next", page.number + 1)


def next_is_null_on_last_page(evidence: Evidence, resource: Resource) -> Observations:
    """`next` on the last page."""
    for page in _existing(evidence, resource):
        if page.number == page.pages and "next" in page.links:
            link = page.links["next"]
            yield decide(page.exchange, "next null", shown(link, own=True), kept=link is None, at="/links/next")


def prev_names_the_previous_page(evidence: Evidence, resource: Resource) -> Observations:
    """`prev` after the first page."""
    for page in _existing(evidence, resource):
        if page.number > 1:
            yield from _names(page, "prev", page.number - 1)


def prev_is_null_on_first_page(evidence: Evidence, resource: Resource) -> Observations:
    """`prev` on the first page."""
    for page in _existing(evidence, resource):
        if page.number == 1 and "prev" in page.links:
            link = page.links["prev"]
            yield decide(page.exchange, "prev null", shown(link, own=True), kept=link is None, at="/links/prev")


def neighbours_past_the_end_exist(evidence: Evidence, resource: Resource) -> Observations:
    """`next` and `prev` on pages past the end, if these are answered with a page."""
    seen = False
    for exchange in evidence.of(resource.name, "list", expects=Expect.OPEN):
        page = exchange.page
        if page is None or not page.pages or page.number <= page.pages:
            continue
        for name in ("next", "prev"):
            link = page.links.get(name)
            found = re.search(r"(?:^|&)page=(\d+)", _query(link), re.ASCII) if isinstance(link, str) else None
            kept = found is None or 1 <= integer(found[1]) <= page.pages
            received = f"page {found[1] if found else ''}"
            yield decide(
                exchange,
                f"{name} naming one of the {page.pages} pages, or null",
                received,
                kept=kept,
                at=f"/links/{name}",
            )
            seen = True
    if not seen:
        yield NotApplicable("a page past the end is not answered with one")


def _names(page: Page, name: str, number: int) -> Iterator[Observation]:
    if name not in page.links:
        return
    link = page.links[name]
    if link is None and name in ("next", "prev"):
        yield Violation(page.exchange, f"{name} naming page {number}", "null", f"/links/{name}")
    elif isinstance(link, str):
        found = re.search(r"(?:^|&)page=(-?\d+)", _query(link), re.ASCII)
        if found is None:
            yield Undecided(f"{name} holds no page number")
        else:
            kept = integer(found[1]) == number
            yield decide(
                page.exchange, f"{name} naming page {number}", f"page {found[1]}", kept=kept, at=f"/links/{name}"
            )


def _existing(evidence: Evidence, resource: Resource) -> Iterator[Page]:
    """Pages that exist according to the total and the requested size."""
    return (page for page in evidence.pages(resource.name) if page.is_there)


def _links(evidence: Evidence, resource: Resource) -> Iterator[tuple[Page, str, str]]:
    for page in evidence.pages(resource.name):
        for name in NAMES:
            if isinstance(page.links.get(name), str):
                yield page, name, page.links[name]


def _path(link: str) -> str:
    return link.partition("#")[0].partition("?")[0]


def _query(link: str) -> str:
    return link.partition("#")[0].partition("?")[2]


def _origin(url: str) -> tuple[str, str, int | None, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", "", None, url
    try:
        port = parts.port or DEFAULT_PORTS.get(parts.scheme.lower())
    except ValueError:
        port = None
    return parts.scheme.lower(), (parts.hostname or "").lower(), port, parts.path.rstrip("/")
