"""Rules about pages, links and envelopes, on hand-made lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from handmade import BASE_URL, D, S, answer, listing, page, rows, said, visit

from contract_tests.evidence.evidence import ChangePeriod, Evidence, PagingScan
from contract_tests.evidence.exchange import Exchange, Expect, Request

TEN = {"results_per_page": "10"}
ONE, TWO, TEN_TWO = {"page": "1"}, {"page": "2"}, TEN | {"page": "2"}
API = f"{BASE_URL}/api/domains?page="
FIRST = page(rows(D, *range(1, 11)), total=23, query=TEN)
MIDDLE = page(rows(D, *range(11, 21)), total=23, query=TEN_TWO)
LAST = page(rows(D, 21, 22, 23), total=23, query=TEN | {"page": "3"})
EMPTY = page()
OPEN = Expect.OPEN


def other(like: Exchange, **change: Any) -> Exchange:
    """A page like another, with other values at some places, spelled `meta__total`."""
    shown = like.page
    assert shown
    return page(
        shown.rows,
        total=shown.total,
        query=like.request.params,
        change={name.replace("__", "/"): value for name, value in change.items()},
    )


def links(like: Exchange, url: str) -> Exchange:
    return other(like, **dict.fromkeys(("links__first", "links__last", "links__self"), url))


CASES: list[tuple[str, Exchange, str]] = [
    ("pagination.size-defaults-to-25", page(rows(D, *range(1, 26)), total=60), "S"),
    ("pagination.size-defaults-to-25", page(rows(D, *range(1, 27)), total=60), "V"),
    ("pagination.size-defaults-to-25", page(rows(D, 1), change={"meta/results_per_page": 24}), "V"),
    ("pagination.size-defaults-to-25", FIRST, ""),
    ("pagination.allowed-sizes-are-kept", FIRST, "S"),
    ("pagination.allowed-sizes-are-kept", other(FIRST, meta__results_per_page=25), "V"),
    ("pagination.allowed-sizes-are-kept", page(rows(D, *range(1, 12)), total=11, query=TEN), "V"),
    ("pagination.allowed-sizes-are-kept", page(rows(D, 1)), ""),
    ("pagination.page-is-filled", FIRST, "S"),
    ("pagination.page-is-filled", LAST, "S"),
    ("pagination.page-is-filled", EMPTY, "S"),
    ("pagination.page-is-filled", page(rows(D, *range(1, 10)), total=23, query=TEN), "V"),
    ("pagination.page-is-filled", page(rows(D, *range(1, 12)), total=23, query=TEN), "V"),
    ("pagination.page-is-filled", page(rows(D, 1), total=0), "V"),
    ("pagination.page-is-filled", page([], total=23, query=TEN | {"page": "4"}), ""),
    ("pagination.page-is-filled", other(FIRST, meta__results_per_page=25), ""),
    ("pagination.meta-page-is-the-page-asked-for", MIDDLE, "S"),
    ("pagination.meta-page-is-the-page-asked-for", other(MIDDLE, meta__page=1), "V"),
    ("pagination.meta-page-is-the-page-asked-for", EMPTY, ""),
    ("pagination.meta-page-is-the-page-asked-for", other(MIDDLE, meta__page="2"), ""),
    ("pagination.total-pages-is-the-ceiling", FIRST, "S"),
    ("pagination.total-pages-is-the-ceiling", other(FIRST, meta__total_pages=2), "V"),
    ("pagination.total-pages-is-the-ceiling", page(rows(D, *range(1, 11)), total=20, query=TEN), "S"),
    ("pagination.total-pages-is-the-ceiling", EMPTY, ""),
    ("pagination.links-have-the-stated-path", FIRST, "SSSS"),
    ("pagination.links-have-the-stated-path", links(LAST, f"{BASE_URL}/api/domains/?page=1"), "VVVS"),
    ("pagination.links-have-the-stated-path", links(LAST, f"{BASE_URL}/domains?page=1"), "VVVS"),
    ("pagination.links-have-the-stated-path", links(LAST, f"{BASE_URL}//api/domains?page=1"), "VVVS"),
    ("pagination.links-have-the-stated-path", links(LAST, "/api/domains?page=/api/x#/y"), "SSSS"),
    ("pagination.links-name-the-collection", FIRST, "SSSS"),
    ("pagination.links-name-the-collection", links(LAST, f"{BASE_URL}/api/hosts?page=1"), "VVVS"),
    ("pagination.links-name-the-collection", links(LAST, f"{BASE_URL}/domains?page=1"), "S"),
    ("pagination.links-hold-page-alone", FIRST, "SSSS"),
    ("pagination.links-hold-page-alone", links(LAST, f"{BASE_URL}/api/domains?&page=1"), "SSSS"),
    ("pagination.links-hold-page-alone", links(LAST, f"{API}1&results_per_page=10"), "VVVS"),
    ("pagination.links-hold-page-alone", links(LAST, f"{BASE_URL}/api/domains?p=1"), "VVVS"),
    ("pagination.links-hold-page-alone", links(LAST, f"{API}x"), "VVVS"),
    ("pagination.links-hold-page-alone", links(LAST, f"{API}٣"), "VVVS"),
    ("pagination.links-hold-page-alone", links(LAST, f"{API}1?page=1"), "VVVS"),
    ("pagination.links-hold-page-alone", links(LAST, f"{API}1#top"), "VVVS"),
    ("pagination.links-begin-with-the-base-url", FIRST, "SSSS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "HTTPS://LINKS.example.com:443/prefix/api/x"), "SSSS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "http://links.example.com/prefix/api/domains"), "VVVS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "https://links.example.com/prefix//api/x"), "SSSS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "https://links.example.com/prefix/api/api/x"), "VVVS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "https://links.example.com/prefix"), "SSSS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "/api/domains"), "VVVS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "https:///prefix/api/domains"), "VVVS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "https://[/api/domains"), "VVVS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "https://links.example.com/api/domains"), "VVVS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "https://links.example.com:8443/prefix/api/x"), "VVVS"),
    ("pagination.links-begin-with-the-base-url", links(LAST, "https://links.example.com:x/prefix/api/x"), "VVVS"),
    ("pagination.first-names-page-1", MIDDLE, "S"),
    ("pagination.first-names-page-1", other(MIDDLE, links__first=f"{API}2"), "V"),
    ("pagination.first-names-page-1", other(MIDDLE, links__first=f"{BASE_URL}/api/domains"), "U"),
    ("pagination.first-names-page-1", other(MIDDLE, links__first=...), ""),
    ("pagination.first-names-page-1", other(MIDDLE, links__first=None), ""),
    ("pagination.first-names-page-1", EMPTY, ""),
    ("pagination.last-names-the-last-page", MIDDLE, "S"),
    ("pagination.last-names-the-last-page", other(MIDDLE, links__last=f"{API}23"), "V"),
    ("pagination.last-names-the-last-page", other(MIDDLE, links__last=f"{API}-3"), "V"),
    ("pagination.self-names-this-page", MIDDLE, "S"),
    ("pagination.self-names-this-page", other(MIDDLE, links__self=f"{API}1"), "V"),
    ("pagination.self-names-this-page", other(MIDDLE, links__self=f"{BASE_URL}/api/domains?q=1&page=2"), "S"),
    ("pagination.next-names-the-next-page", MIDDLE, "S"),
    ("pagination.next-names-the-next-page", other(MIDDLE, links__next=f"{API}2"), "V"),
    ("pagination.next-names-the-next-page", other(MIDDLE, links__next=None), "V"),
    ("pagination.next-names-the-next-page", LAST, ""),
    ("pagination.next-is-null-on-last-page", LAST, "S"),
    ("pagination.next-is-null-on-last-page", other(LAST, links__next=f"{API}4"), "V"),
    ("pagination.next-is-null-on-last-page", other(LAST, links__next=""), "V"),
    ("pagination.next-is-null-on-last-page", other(LAST, links__next=...), ""),
    ("pagination.next-is-null-on-last-page", MIDDLE, ""),
    ("pagination.prev-names-the-previous-page", LAST, "S"),
    ("pagination.prev-names-the-previous-page", other(LAST, links__prev=f"{API}1"), "V"),
    ("pagination.prev-names-the-previous-page", other(MIDDLE, links__prev=None), "V"),
    ("pagination.prev-names-the-previous-page", FIRST, ""),
    ("pagination.prev-is-null-on-first-page", FIRST, "S"),
    ("pagination.prev-is-null-on-first-page", other(FIRST, links__prev=f"{API}0"), "V"),
    ("pagination.prev-is-null-on-first-page", other(FIRST, links__prev=...), ""),
    ("pagination.prev-is-null-on-first-page", MIDDLE, ""),
    ("envelopes.list-data-is-an-array", FIRST, "S"),
    ("envelopes.list-data-is-an-array", EMPTY, "S"),
    ("envelopes.list-data-is-an-array", answer("list", {"data": {"1": {}}}), "V"),
    ("envelopes.list-data-is-an-array", answer("list", {"data": [[1]]}), "V"),
    ("envelopes.list-data-is-an-array", answer("list", {"items": []}), "V"),
    ("envelopes.list-data-is-an-array", answer("list", []), "V"),
    ("envelopes.list-data-is-an-array", answer("list", {"errors": [{"title": "No."}]}), ""),
    ("envelopes.list-data-is-an-array", answer("list", {"data": 1}, status=500), ""),
    ("envelopes.list-meta-holds-integers", FIRST, "SSSS"),
    ("envelopes.list-meta-holds-integers", other(FIRST, meta__page="1"), "VSSS"),
    ("envelopes.list-meta-holds-integers", other(FIRST, meta__total=23.0), "SSSS"),
    ("envelopes.list-meta-holds-integers", other(FIRST, meta__total=23.5, meta__page=True), "VSVS"),
    ("envelopes.list-meta-holds-integers", other(FIRST, meta__total_pages=...), "SSSV"),
    ("envelopes.list-meta-holds-integers", answer("list", {"data": [], "meta": []}), "VVVV"),
    ("envelopes.list-meta-holds-integers", answer("list", []), "VVVV"),
    ("envelopes.list-links-are-strings", FIRST, "SSS"),
    ("envelopes.list-links-are-strings", other(FIRST, links__first=None, links__self=...), "VSV"),
    ("envelopes.list-links-are-strings", answer("list", {"links": []}), "VVV"),
    ("envelopes.list-neighbours-are-strings-or-null", FIRST, "SS"),
    ("envelopes.list-neighbours-are-strings-or-null", other(FIRST, links__next=2, links__prev=...), "VV"),
    ("envelopes.list-neighbours-are-strings-or-null", other(FIRST, links__prev=False), "SV"),
]


@pytest.mark.parametrize(
    ("rule", "exchange", "expected"), CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)]
)
def test_a_page_is_judged(rule: str, exchange: Exchange, expected: str) -> None:
    assert said(rule, visit(exchange)) == expected


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, _, _ in CASES))
def test_a_page_that_the_contract_does_not_document_is_not_judged(rule: str) -> None:
    assert said(rule, visit(page(rows(D, 1), query={"results_per_page": "7"}, expects=OPEN))) == ""


def test_a_declared_base_url_counts_in_the_place_of_the_one_asked() -> None:
    evidence = visit(FIRST, public_base_url="https://www.example.com")
    assert said("pagination.links-begin-with-the-base-url", evidence) == "VVVV"


def size(text: str, count: int, total: int = 40, **change: Any) -> Exchange:
    """A list with a page size that is not allowed, answered with one of so many records."""
    query = {"results_per_page": text}
    told = {name.replace("__", "/"): value for name, value in change.items()}
    body = page(rows(D, *range(1, count + 1)), total=total, change=told).json
    return answer("list", body, query=query, expects=OPEN)


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (size("60", 25), "S"),
        (size("60", 10, meta__results_per_page=10), "S"),
        (size("60", 40, meta__results_per_page=60), "V"),
        (size("60", 24), "V"),
        (size("60", 26), "V"),
        (size("60", 24, total=24), "S"),
        (size("7", 0, meta__results_per_page=...), "S"),
        (size("7", 1, meta__results_per_page=...), "V"),
        (answer("list", {"errors": []}, status=422, query={"results_per_page": "7"}, expects=OPEN), "S"),
        (size("25", 25), ""),
        (answer("list", {}, query={"results_per_page": "7", "page": "2"}, expects=OPEN), ""),
    ],
)
def test_a_size_that_is_not_allowed_is_not_used(exchange: Exchange, expected: str) -> None:
    assert said("pagination.other-sizes-are-not-used", visit(exchange)) == expected


def test_pages_that_are_not_filled_say_nothing_of_their_size() -> None:
    unfilled = page(rows(D, *range(1, 10)), total=23, query=TEN)
    assert said("pagination.other-sizes-are-not-used", visit(unfilled, size("60", 24))) == "S"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"links/next": None, "links/prev": f"{API}3"}, "SS"),
        ({"links/next": f"{API}6", "links/prev": f"{API}4"}, "VV"),
        ({"links/next": f"{API}0", "links/prev": "x"}, "VS"),
        ({"meta/total": 0}, "N"),
    ],
)
def test_neighbours_past_the_end_name_pages_that_there_are(change: dict[str, Any], expected: str) -> None:
    past = page([], total=23, query=TEN | {"page": "5"}, expects=OPEN, change=change)
    assert said("pagination.neighbours-past-the-end-exist", visit(past)) == expected


def test_a_page_that_is_there_is_not_past_the_end() -> None:
    there = page(rows(D, 21, 22, 23), total=23, query=TEN | {"page": "3"}, expects=OPEN)
    assert said("pagination.neighbours-past-the-end-exist", visit(there)) == "N"


@pytest.mark.parametrize(
    ("change", "one", "at_most_one"),
    [
        ({}, "SSSS", "SSS"),
        ({"/meta/page": 0}, "VSSS", "SSS"),
        ({"/links/next": f"{API}2"}, "SVSS", "SSS"),
        ({"/links/prev": f"{API}0"}, "SSVS", "SSS"),
        ({"/links/self": f"{API}2"}, "SSSV", "SSS"),
        ({"/meta/total_pages": 2}, "SSSS", "VSS"),
        ({"/links/first": f"{API}2"}, "SSSS", "SVS"),
        ({"/links/last": f"{API}0"}, "SSSS", "SSS"),
    ],
)
def test_an_empty_list_has_one_page_at_most(change: dict[str, Any], one: str, at_most_one: str) -> None:
    assert said("pagination.empty-list-is-page-1", visit(page([], change=change))) == one
    assert said("pagination.empty-list-has-one-page-at-most", visit(page([], change=change))) == at_most_one


def test_a_list_with_records_is_not_empty() -> None:
    assert said("pagination.empty-list-is-page-1", visit(page(rows(D, 1)))) == "N"
    assert said("pagination.empty-list-has-one-page-at-most", visit(page(rows(D, 1)))) == "N"


# ---- the collection as a whole

EVERY = list(range(1, 31))


def whole(*identifiers: int, total: int | None = None) -> Exchange:
    return page(rows(D, *identifiers), total=total, query={"results_per_page": "1000", "page": "1"})


def scan(
    before: Exchange | None = None, after: Exchange | None = None, pages: list[Exchange] | None = None
) -> PagingScan:
    """The whole, pages of it, and the whole again."""
    if pages is None:
        pages = [
            page(rows(D, *EVERY[:25]), total=30),
            page(rows(D, *EVERY[:25]), total=30, query=ONE),
            page(rows(D, *EVERY[25:]), total=30, query=TWO),
        ]
    shown = tuple(each.page for each in pages if each.page)
    return PagingScan(listing(before or whole(*EVERY)), shown, listing(after or whole(*EVERY)))


def scanned(*scans: PagingScan, **more: Any) -> Evidence:
    return visit(paging_scans={D.name: list(scans)}, **more)


SMALL = page(rows(D, *EVERY[:10]), total=30, query=TEN)
OVERLAPPING = page(rows(D, 10, *EVERY[11:20]), total=30, query=TEN_TWO)
SECOND = page(rows(D, 1), change={"meta/page": 2})
GROWN = whole(*EVERY, 31)
SHIFTED = listing(
    page(rows(D, 1, 2), total=3), page(rows(D, 2, 3), total=4, query=TWO)
)  # somebody's create came between
RENAMED = page([{**each, "host": f"new-{each['host']}"} for each in rows(D, 2, 1)])
SCANS: list[tuple[str, PagingScan, str]] = [
    ("pagination.page-defaults-to-1", scan(), "S"),
    ("pagination.page-defaults-to-1", scan(pages=[page(rows(D, 9), total=30), page(rows(D, 1), query=ONE)]), "V"),
    ("pagination.page-defaults-to-1", scan(pages=[SECOND, page(rows(D, 1), query=ONE)]), "V"),
    ("pagination.page-defaults-to-1", scan(pages=[page(rows(D, 1))]), ""),
    ("pagination.page-defaults-to-1", scan(after=GROWN), "U"),
    ("pagination.total-counts-the-records", scan(), "SSSSS"),
    ("pagination.total-counts-the-records", scan(whole(*EVERY, total=31), pages=[]), "VS"),
    ("pagination.total-counts-the-records", scan(pages=[page(rows(D, 1), total=29)]), "SSV"),
    ("pagination.total-counts-the-records", scan(after=GROWN, pages=[page(rows(D, 1), total=29)]), "SS"),
    ("pagination.pages-partition-the-collection", scan(), "SS"),
    ("pagination.pages-partition-the-collection", scan(whole(*EVERY, 30), whole(*EVERY, 30)), "VV"),
    ("pagination.pages-partition-the-collection", scan(after=GROWN), "U"),
    ("pagination.pages-partition-the-collection", PagingScan(SHIFTED, (), listing(whole(1, 2, 3))), "U"),
    ("pagination.pages-partition-the-collection", PagingScan(SHIFTED, (), SHIFTED), "V"),
    ("pagination.pages-partition-the-collection", scan(whole(), whole(), []), ""),
    ("pagination.pages-partition-the-collection", scan(pages=[SMALL]), "SS"),
    ("pagination.pages-partition-the-collection", scan(pages=[page(rows(D, *EVERY[1:11]), total=30, query=TEN)]), "SV"),
    ("pagination.pages-partition-the-collection", scan(pages=[SMALL, OVERLAPPING]), "SV"),
    ("pagination.pages-partition-the-collection", scan(pages=[page(rows(D, *EVERY[:11]), total=30, query=TEN)]), "S"),
    ("pagination.pages-partition-the-collection", scan(pages=[OVERLAPPING]), "S"),
    ("pagination.order-is-the-same-again", scan(), "SS"),
    ("pagination.order-is-the-same-again", scan(after=whole(2, 1, *EVERY[2:])), "VS"),
    ("pagination.order-is-the-same-again", scan(pages=[page(rows(D, 1, 2)), page(rows(D, 2, 1), query=ONE)]), "SV"),
    ("pagination.order-is-the-same-again", scan(after=GROWN), "U"),
    ("pagination.order-is-the-same-again", scan(whole(1, 2, 2, 3), whole(1, 2, 3)), "U"),
    ("pagination.order-is-the-same-again", scan(whole(1, 2), RENAMED), "U"),
    ("pagination.order-is-the-same-again", scan(whole(1), whole(1), []), ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "seen", "expected"), SCANS, ids=[f"{number}-{case[0]}" for number, case in enumerate(SCANS)]
)
def test_pages_are_judged_beside_the_whole(rule: str, seen: PagingScan, expected: str) -> None:
    assert said(rule, scanned(seen)) == expected


def test_a_whole_that_was_read_in_several_pages_while_others_wrote_is_not_counted() -> None:
    parts = [page(rows(D, 1), total=3, query=ONE), page(rows(D, 2), total=4, query=TWO)]
    seen = PagingScan(listing(*parts), (), listing(*parts))
    assert said("pagination.total-counts-the-records", scanned(seen)) == "UU"
    steady = [page(rows(D, 1), total=3, query=ONE), page(rows(D, 2), total=3, query=TWO)]
    assert (
        said("pagination.total-counts-the-records", scanned(PagingScan(listing(*steady), (), listing(*steady)))) == "VV"
    )


def test_a_collection_that_is_too_large_is_not_counted() -> None:
    part = listing(whole(*EVERY, total=5000), complete=False)
    assert said("pagination.total-counts-the-records", scanned(PagingScan(part, (), part))) == "UU"


def test_a_last_page_on_its_own_shows_the_end_of_the_whole() -> None:
    query = TEN | {"page": "4"}
    all_of_them = whole(*range(1, 36))
    good = scan(all_of_them, all_of_them, [page(rows(D, *range(31, 36)), total=35, query=query)])
    wrong = scan(all_of_them, all_of_them, [page(rows(D, 1, *range(32, 36)), total=35, query=query)])
    assert said("pagination.pages-partition-the-collection", scanned(good)) == "SS"
    assert said("pagination.pages-partition-the-collection", scanned(wrong)) == "SV"


def before_after(event: str, before: Exchange, after: Exchange, **ids: set[int]) -> Evidence:
    phase = ChangePeriod(
        event, listing(before), listing(after), **{name: frozenset(each) for name, each in ids.items()}
    )
    return visit(change_periods={D.name: [phase]})


TOTALS = [
    ("creates", before_after("create", whole(1), whole(1, 2), created={2}), "S"),
    ("creates", before_after("create", whole(1), whole(1, 2, total=1), created={2}), "V"),
    ("creates", before_after("create", whole(1, 5), whole(1, 2), created={2}), "U"),
    ("creates", before_after("create", whole(1), whole(1, 2, 3), created={2}), "U"),
    ("creates", before_after("delete", whole(1), whole(1, 2), created={2}), ""),
    ("creates", before_after("create", whole(1), whole(1)), ""),
    ("creates", before_after("create", page(rows(D, 1), change={"meta/total": ...}), whole(1, 2), created={2}), ""),
    ("creates", before_after("create", whole(1), page(rows(D, 1, 2), change={"meta/total": ...}), created={2}), ""),
    ("deletes", before_after("delete", whole(1, 2), whole(1), removed={2}), "S"),
    ("deletes", before_after("delete", whole(1, 2), whole(1, total=2), removed={2}), "V"),
    ("deletes", before_after("delete", whole(1, 2), whole(1, 3), removed={2}), "U"),
]


@pytest.mark.parametrize(("event", "evidence", "expected"), TOTALS, ids=[str(number) for number in range(len(TOTALS))])
def test_totals_follow_what_the_run_does(event: str, evidence: Evidence, expected: str) -> None:
    assert said(f"pagination.total-follows-{event}", evidence) == expected


def test_what_is_not_judged_at_one_place_is_judged_at_the_next() -> None:
    none, good = before_after("update", whole(1), whole(1)), before_after("create", whole(1), whole(1, 2), created={2})
    none.change_periods += good.change_periods
    assert said("pagination.total-follows-creates", none) == "S"
    assert said("pagination.total-counts-the-records", none) == "SS"
    for rule, expected in (
        ("page-defaults-to-1", "US"),
        ("pages-partition-the-collection", "USS"),
        ("order-is-the-same-again", "USS"),
    ):
        assert said(f"pagination.{rule}", scanned(scan(after=GROWN), scan())) == expected
    empty = scan(whole(), whole(), [])
    assert said("pagination.pages-partition-the-collection", scanned(empty, scan())) == "SS"
    assert said("pagination.order-is-the-same-again", scanned(empty, scan())) == "SS"
    sizes = answer("list", status=422, query={"results_per_page": "7"}, expects=OPEN), size("60", 24)
    assert said("pagination.other-sizes-are-not-used", visit(size("25", 25), *sizes)) == "SV"
    assert said("pagination.page-is-filled", visit(other(FIRST, meta__results_per_page=25), LAST)) == "S"
    unlinked = other(MIDDLE, links__first=...)
    assert said("pagination.first-names-page-1", visit(unlinked, MIDDLE)) == "S"


def test_a_second_record_with_the_marker_of_the_run_is_the_servers_doing() -> None:
    evidence = before_after("create", whole(1), whole(1, 2, 3), created={2})
    evidence.markers = {"d3"}
    assert said("pagination.total-follows-creates", evidence) == "V"
    evidence.exchanges = [answer("create", status=502)]
    assert said("pagination.total-follows-creates", evidence) == "U"


@pytest.mark.parametrize(("total", "expected"), [(2, "S"), (3, "V")])
def test_a_whole_on_one_page_is_counted(total: int, expected: str) -> None:
    evidence = before_after("update", whole(1, 2), whole(1, 2, total=total))
    assert said("pagination.total-counts-the-records", evidence) == expected


def test_another_resources_pages_are_not_looked_at() -> None:
    assert said("pagination.page-is-filled", visit(page(rows(S, 1), S, total=9))) == ""


@pytest.mark.parametrize("data", [{"7": {"id": 7}}, [[7]], None], ids=str)
def test_a_list_of_anything_but_records_is_no_page(data: object) -> None:
    request = Request("list", "domains", "GET", "/api/domains/")
    assert Exchange(request, 1, 200, body=json.dumps({"data": data, "meta": {}}).encode()).page is None


@pytest.mark.parametrize(
    ("ids", "change", "expected"),
    [
        (range(10), {}, "V"),  # as page 1
        ((), {}, ""),
        (range(20, 26), {}, "S"),  # the last page, under another number
        (range(10), {"/meta/page": 1}, ""),
    ],
)
def test_a_page_far_past_the_end_does_not_show_the_first(ids: Any, change: dict[str, Any], expected: str) -> None:
    first = page(rows(D, *range(10)), total=26, query={"results_per_page": "10"})
    far = {"results_per_page": "10", "page": "4294967297"}
    beyond = page(rows(D, *ids), total=26, query=far, expects=Expect.OPEN, change=change)
    assert said("pagination.page-is-filled", visit(first, beyond)) == f"S{expected}"
