"""Rules about pages: which records they show, what `meta` states about them, and where their links lead."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

from contract_tests.evidence.evidence import ChangePeriod, Evidence, Listing, PagingScan, Record
from contract_tests.evidence.exchange import OTHER, Exchange, Expect, Page, integer
from contract_tests.evidence.observation import (
    NEEDS_CONTROL,
    NEEDS_CREATES,
    NEEDS_DELETES,
    NEEDS_PAGES,
    NEEDS_UPDATES,
    OTHERS_WROTE,
    Chapter,
    Matcher,
    NotApplicable,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    expect,
    others_wrote,
    rule,
)
from link_management_contract import Resource

NEEDS_LISTINGS = NEEDS_PAGES | NEEDS_CREATES
NEEDS_EMPTY_LISTS = NEEDS_PAGES | NEEDS_UPDATES | {Chapter.ACCESS}  # those of another account
LINKS = ("first", "last", "self", "next", "prev")
DEFAULT_PORTS = {"http": 80, "https": 443}


@rule("pagination.page-defaults-to-1", needs=NEEDS_LISTINGS)
def page_defaults_to_1(evidence: Evidence) -> Observations:
    """The list without a page, compared with that of page 1, while nothing else changed."""
    for scan in evidence.paging_scans:
        default, first = _with_query(scan, {}), _with_query(scan, {"page": "1"})
        if default and first:
            if not scan.is_stable:
                yield OTHERS_WROTE
                continue
            for page in (default, _with_query(scan, {"results_per_page": str(evidence.resource.default_page_size)})):
                if page and page.meta.get("results_per_page") == first.meta.get("results_per_page"):
                    numbers = {shown_page.meta["page"] for shown_page in (page, first) if "page" in shown_page.meta}
                    agrees = _ids(page.rows) == _ids(first.rows) and len(numbers) < 2  # noqa: PLR2004 - they differ
                    yield decide(page.exchange, agrees, "what page 1 shows", f"page {page.meta.get('page')}")


@rule("pagination.size-defaults-to-25", needs=NEEDS_LISTINGS)
def size_defaults_to_25(evidence: Evidence) -> Observations:
    for page in evidence.every_page():
        if page.size is None:
            yield from _has_size(page, evidence.resource.default_page_size, " (often a setting of the account)")


@rule("pagination.allowed-sizes-are-kept", needs=NEEDS_LISTINGS)
def allowed_sizes_are_kept(evidence: Evidence) -> Observations:
    for page in evidence.every_page():
        if page.size in evidence.resource.page_sizes:
            yield from _has_size(page, page.size or 0)


def _has_size(page: Page, size: int, note: str = "") -> Observations:
    if "results_per_page" in page.meta:
        stated, rows = page.meta["results_per_page"], len(page.rows)
        received, at = f"meta.results_per_page: {stated}, with {rows} records{note}", "/meta/results_per_page"
        yield decide(page.exchange, stated == size and rows <= size, f"meta.results_per_page: {size}", received, at)


@rule("pagination.other-sizes-are-not-used", needs=NEEDS_LISTINGS)
def other_sizes_are_not_used(evidence: Evidence) -> Observations:
    """Lists with a page size outside the seven; one that is refused satisfies the rule too."""
    sizes = {str(size) for size in evidence.resource.page_sizes}
    filled = not any(isinstance(observation, Violation) for observation in page_is_filled(evidence))
    for exchange in evidence.of("list", expects=Expect.OPEN):
        query = exchange.request.params
        if "page" in query or query.get("results_per_page", "10") in sizes:
            continue
        page = exchange.page
        if page is None:
            yield Satisfied(exchange)
            continue
        size, rows = page.meta.get("results_per_page"), len(page.rows)
        cut = filled and page.total is not None and rows < page.total
        holds = size in evidence.resource.page_sizes and rows <= (size or 0) and (not cut or rows == size)
        holds = holds or (size is None and not rows)
        received = f"meta.results_per_page: {size}, with {rows} records"
        yield decide(exchange, holds, f"one of the sizes {evidence.resource.page_sizes}", received)


@rule("pagination.page-is-filled", needs=NEEDS_LISTINGS)
def page_is_filled(evidence: Evidence) -> Observations:
    for page in evidence.every_page():
        size = page.size if page.size in evidence.resource.page_sizes else evidence.resource.default_page_size
        is_overlapped = page.exchange.expects is Expect.IGNORED  # its records and its total may be of two moments
        if is_overlapped or page.total is None or page.meta.get("results_per_page") != size:
            continue
        if page.exists or page.total == 0:
            expected, rows = max(0, min(size, page.total - (page.number - 1) * size)), len(page.rows)
            received = f"{rows} records of a total of {page.total}"
            yield decide(page.exchange, rows == expected, f"{expected} records", received, "/data")
    yield from _past_the_end(evidence)


def _past_the_end(evidence: Evidence) -> Observations:
    """Pages past the end that show, under the number that was asked for, what the first of several pages shows."""
    first: dict[int, list[str]] = {}
    lists = (*evidence.of("list"), *evidence.of("list", expects=Expect.OPEN))
    for exchange in sorted(lists, key=lambda candidate: candidate.number):
        page = exchange.page
        if page is None or not page.rows or page.size not in evidence.resource.page_sizes:
            continue
        if page.number == 1:
            first |= {size: _ids(page.rows)[:size] for size in evidence.resource.page_sizes if size <= page.size}
        elif (page.page_count or 0) > 1 and page.meta.get("page") == page.number > (page.page_count or 0):
            received = f"the records of page 1, under the number {page.number}"
            yield decide(exchange, _ids(page.rows) != first.get(page.size), "no records past the last page", received)


@rule("pagination.meta-page-is-the-page-asked-for", needs=NEEDS_LISTINGS)
def meta_page_is_the_page_asked_for(evidence: Evidence) -> Observations:
    for page in _existing(evidence):
        if "page" in page.meta:
            yield expect(page.exchange, "/meta/page", page.number)


@rule("pagination.total-pages-is-the-ceiling", needs=NEEDS_LISTINGS)
def total_pages_is_the_ceiling(evidence: Evidence) -> Observations:
    for page in evidence.every_page():
        if page.total and "total_pages" in page.meta and page.page_count:
            note = f", for {page.total} records by {page.meta['results_per_page']}"
            yield expect(page.exchange, "/meta/total_pages", page.page_count, note)


@rule("pagination.total-counts-the-records", needs=NEEDS_LISTINGS)
def total_counts_the_records(evidence: Evidence) -> Observations:
    """Complete listings, and the totals that pages state."""
    for scan in evidence.paging_scans:
        for listing in (scan.before, scan.after):
            is_wrong = listing.total not in (None, len(listing.rows))
            if len(listing.pages) > 1 and is_wrong and _is_disturbed(evidence, scan):
                yield Undecided("others wrote while its pages were read")
            else:
                yield from _total_counts(listing, evidence)
        if scan.is_stable and scan.before.total is not None:
            stated = (page.exchange for page in scan.pages if page.total is not None)
            yield from (expect(exchange, "/meta/total", scan.before.total) for exchange in stated)
    for period in evidence.change_periods:
        if period.after.complete and len(period.after.pages) == 1:
            yield from _total_counts(period.after, evidence)


def _total_counts(listing: Listing, evidence: Evidence) -> Observations:
    if listing.exchange is not None and listing.total is not None and not listing.complete:
        yield Undecided("the collection is too large to be read as a whole")
    elif listing.exchange is not None and listing.total is not None:
        pages = [page for page in evidence.every_page() if page.exchange.request.identity == OTHER]
        surplus = listing.total - len(listing.rows)
        note = f", as if it counted the {surplus} of another account, too" * any(
            len(page.rows) == surplus for page in pages
        )
        yield expect(listing.exchange, "/meta/total", len(listing.rows), note, reason="as many as are listed")


def _is_disturbed(evidence: Evidence, scan: PagingScan) -> bool:
    """Whether others seem to have written around the time of a scan."""
    changing = any(len({page.total for page in listing.pages}) > 1 for listing in (scan.before, scan.after))
    return changing or not scan.is_stable or any(period.appeared for period in evidence.change_periods)


@rule("pagination.total-follows-creates", "create", needs=NEEDS_LISTINGS | NEEDS_CONTROL)
@rule("pagination.total-follows-deletes", "delete", needs=NEEDS_PAGES | NEEDS_DELETES | NEEDS_CONTROL)
def total_follows(evidence: Evidence, event: str) -> Observations:
    """The totals before and after creates, or deletes, of the run."""
    for period in evidence.change_periods:
        if period.event != event or not (period.created or period.removed) or period.after.exchange is None:
            continue
        if period.before.total is None or period.after.total is None:
            continue
        doubled = event == "create" and all(_is_doubled(evidence, period, identifier) for identifier in period.appeared)
        expected = period.before.total + len(period.created) - len(period.removed)
        is_wrong = period.after.total != expected
        if period.disappeared or (period.appeared and not doubled) or (is_wrong and others_wrote(evidence)):
            yield OTHERS_WROTE
        else:
            yield expect(
                period.after.exchange, "/meta/total", expected, reason=f"which was {period.before.total} before"
            )


def _is_doubled(evidence: Evidence, period: ChangePeriod, identifier: object) -> bool:
    """Whether a record that no create of the run returned has its marker nevertheless, and no create failed."""
    creates = [exchange for exchange in evidence.exchanges if exchange.request.operation == "create"]
    retried = any(exchange.failed or exchange.attempts for exchange in creates)
    return not retried and evidence.is_marked(period.after.by_id[identifier].get(evidence.label))


@rule("pagination.pages-partition-the-collection", needs=NEEDS_LISTINGS)
def pages_partition_the_collection(evidence: Evidence) -> Observations:
    """Pages of several sizes, compared with the listing, while nothing else changed."""
    for scan in evidence.paging_scans:
        listing = scan.before
        if listing.exchange is None or not listing.rows:
            continue
        came_or_went = set(listing.ids) != set(scan.after.ids)
        if came_or_went or (len(listing.pages) > 1 and Counter(listing.ids) != Counter(scan.after.ids)):
            yield OTHERS_WROTE
            continue
        duplicates = len(listing.ids) - len(set(listing.ids))
        yield decide(listing.exchange, duplicates == 0, "each record once", f"{duplicates} records twice")
        yield from _pages_cover(scan, evidence.resource)


def _pages_cover(scan: PagingScan, resource: Resource) -> Observations:
    """Whether consecutive pages of one size show what the beginning of the listing shows."""
    ids = list(map(str, scan.before.ids))
    for size in resource.page_sizes:
        pages = {page.number: page for page in scan.pages if (page.size or resource.default_page_size) == size}
        last = 0
        while last + 1 in pages and len(pages[last + 1].rows) <= size:
            last += 1
        window = ids[: last * size]
        if not last or (len(ids) < last * size and not scan.before.complete):
            continue
        shown_ids = [identifier for number in range(1, last + 1) for identifier in _ids(pages[number].rows)]
        distinct_ids = set(shown_ids)
        missing_ids = [identifier for identifier in dict.fromkeys(window) if identifier not in distinct_ids]
        duplicates = len(shown_ids) - len(distinct_ids)
        holds = not missing_ids and not duplicates and len(shown_ids) == len(window)
        received = f"{len(missing_ids)} records missing and {duplicates} shown twice on pages 1 to {last}"
        received += f"; record {missing_ids[0]} is missing" if missing_ids else ""
        yield decide(pages[last].exchange, holds, f"the first {len(window)} records, each once", received)
    for page in scan.pages:
        size = page.size or resource.default_page_size
        if page.number > 3 and scan.before.complete and page.rows:  # noqa: PLR2004 - a last page, on its own
            window = ids[(page.number - 1) * size : page.number * size]
            shown_ids = _ids(page.rows)
            holds = set(window) == set(shown_ids)
            received = "" if holds else _first_difference(shown_ids, window, ids, size)
            yield decide(page.exchange, holds, f"the records of page {page.number}", received)


def _first_difference(shown_ids: list[str], window: list[str], all_ids: list[str], size: int) -> str:
    """Which record a page shows that belongs on another, or that it leaves out.

    Args:
        window: the ids that the listing has where the page is.
    """
    extra_id = next((identifier for identifier in shown_ids if identifier not in window), None)
    if extra_id is None:
        missing_id = next(identifier for identifier in window if identifier not in shown_ids)
        return f"them without record {missing_id}"
    if extra_id not in all_ids:
        return f"record {extra_id}, which was not listed"
    return f"record {extra_id}, which belongs on page {all_ids.index(extra_id) // size + 1}"


@rule("pagination.order-is-the-same-again", needs=NEEDS_LISTINGS)
def order_is_the_same_again(evidence: Evidence) -> Observations:
    """The collection listed twice, while no record came, went or changed."""
    for scan in evidence.paging_scans:
        before, after = scan.before, scan.after
        if before.exchange is None or after.exchange is None or len(before.ids) < 2:  # noqa: PLR2004 - one has no order
            continue
        yield (observation := _same_order(after.exchange, before.rows, after.rows))
        usual, first = _with_query(scan, {}), _with_query(scan, {"page": "1"})
        if (
            usual
            and first
            and not isinstance(observation, Undecided)
            and set(_ids(usual.rows)) == set(_ids(first.rows))
        ):
            yield _same_order(first.exchange, usual.rows, first.rows)


def _same_order(exchange: Exchange, before: Sequence[Record], after: Sequence[Record]) -> Observation:
    """Whether records come in the same order again; what others change may move, and what comes moves others."""
    ids, ids_after = _ids(before), _ids(after)
    changed = dict(zip(ids, before, strict=True)) != dict(zip(ids_after, after, strict=True))
    if ids != ids_after and (sorted(ids) != sorted(ids_after) or changed):
        return OTHERS_WROTE
    return decide(exchange, ids == ids_after, "the same order as before", "another")


def _with_query(scan: PagingScan, query: dict[str, str]) -> Page | None:
    return next((page for page in scan.pages if page.exchange.request.params == query), None)


def _ids(rows: Sequence[Record]) -> list[str]:
    return [str(row.get("id")) for row in rows]


def _existing(evidence: Evidence) -> Iterator[Page]:
    """Pages that exist according to the total and the requested size."""
    return (page for page in evidence.every_page() if page.exists)


@rule("pagination.links-have-the-stated-path", needs=NEEDS_LISTINGS)
def links_have_the_stated_path(evidence: Evidence) -> Observations:
    """All links: one segment after `/api/`, and nothing after that."""
    for page, name, link in _links(evidence):
        path, expected = _path(link), f"{name} with the path /api/{evidence.resource.link_collection}"
        holds = re.fullmatch(r"(?:.*[^/])?/api/[^/]+", path) is not None
        yield decide(page.exchange, holds, expected, f"the path {path}", f"/links/{name}")


@rule("pagination.links-name-the-collection", needs=NEEDS_LISTINGS)
def links_name_the_collection(evidence: Evidence) -> Observations:
    """All links: the segment after `/api/`."""
    for page, name, link in _links(evidence):
        match = re.search(r".*/api/([^/]+)", _path(link))
        if match:
            holds, expected = (
                match[1] == evidence.resource.link_collection,
                f"{name} with the collection {evidence.resource.link_collection}",
            )
            yield decide(page.exchange, holds, expected, match[1], f"/links/{name}")


@rule("pagination.links-hold-page-alone", needs=NEEDS_LISTINGS)
def links_hold_page_alone(evidence: Evidence) -> Observations:
    """All links: the query, empty parameters aside."""
    for page, name, link in _links(evidence):
        parameters = [parameter for parameter in _query(link).split("&") if parameter]
        is_alone = len(parameters) == 1 and re.fullmatch(r"page=\d+", parameters[0], re.ASCII) is not None
        received = f"the query {_query(link)[:80]}"
        yield decide(page.exchange, is_alone and "#" not in link, f"{name} with page alone", received, f"/links/{name}")


@rule("pagination.links-begin-with-the-base-url", needs=NEEDS_LISTINGS)
def links_begin_with_the_base_url(evidence: Evidence) -> Observations:
    """All links: scheme, host, port and path prefix."""
    base_url = evidence.public_base_url or evidence.base_url
    for page, name, link in _links(evidence):
        beginning = link.rpartition("/api/")[0] if "/api/" in link else link
        expected = f"{name} beginning with {base_url} (declare another with --public-base-url)"
        received = beginning[:120] or "no scheme and host"
        yield decide(page.exchange, _origin(beginning) == _origin(base_url), expected, received, f"/links/{name}")


@rule("pagination.first-names-page-1", "first", lambda _: 1, needs=NEEDS_LISTINGS)
@rule("pagination.last-names-the-last-page", "last", lambda page: page.page_count, needs=NEEDS_LISTINGS)
@rule("pagination.self-names-this-page", "self", lambda page: page.number, needs=NEEDS_LISTINGS)
@rule(
    "pagination.next-names-the-next-page",
    "next",
    lambda page: page.number + 1 if page.number < page.page_count else None,
    needs=NEEDS_LISTINGS,
)
@rule(
    "pagination.prev-names-the-previous-page",
    "prev",
    lambda page: page.number - 1 if page.number > 1 else None,
    needs=NEEDS_LISTINGS,
)
def link_leads_to_its_page(evidence: Evidence, name: str, number_of: Callable[[Page], int | None]) -> Observations:
    for page in _existing(evidence):
        number = number_of(page)
        if number is None or name not in page.links:
            continue
        link = page.links[name]
        match = _page_in(link)
        if match:
            holds = integer(match[1]) == number
            yield decide(page.exchange, holds, f"{name} naming page {number}", f"page {match[1]}", f"/links/{name}")
        elif isinstance(link, str):
            yield Undecided(f"{name} holds no page number")
        elif link is None and name in ("next", "prev"):
            yield Violation(page.exchange, f"{name} naming page {number}", "null", f"/links/{name}")


@rule("pagination.next-is-null-on-last-page", "next", lambda page: page.number == page.page_count, needs=NEEDS_LISTINGS)
@rule("pagination.prev-is-null-on-first-page", "prev", lambda page: page.number == 1, needs=NEEDS_LISTINGS)
def link_is_null(evidence: Evidence, name: str, at_the_end: Callable[[Page], bool]) -> Observations:
    for page in _existing(evidence):
        if at_the_end(page) and name in page.links:
            yield expect(page.exchange, f"/links/{name}", None)


@rule("pagination.empty-list-is-page-1", needs=NEEDS_EMPTY_LISTS)
def empty_list_is_page_1(evidence: Evidence) -> Observations:
    """The first page of a list without records: its number, and links to pages that are not there."""
    pages = list(_empty(evidence))
    for page in pages:
        if "page" in page.meta:
            yield expect(page.exchange, "/meta/page", 1)
        yield from (expect(page.exchange, f"/links/{name}", None) for name in ("next", "prev") if name in page.links)
        yield from _names_one_of(page, "self", {1})
    if not pages:
        yield NotApplicable("no list was empty")


@rule("pagination.empty-list-has-one-page-at-most", needs=NEEDS_EMPTY_LISTS)
def empty_list_has_one_page_at_most(evidence: Evidence) -> Observations:
    """The number of pages of a list without records, and where its first and last links lead."""
    pages = list(_empty(evidence))
    for page in pages:
        count = Matcher("0 or 1", lambda value: value in (0, 1))
        if "total_pages" in page.meta:
            yield expect(page.exchange, "/meta/total_pages", count)
        yield from (observation for name in ("first", "last") for observation in _names_one_of(page, name, {0, 1}))
    if not pages:
        yield NotApplicable("no list was empty")


def _empty(evidence: Evidence) -> Iterator[Page]:
    return (page for page in evidence.every_page() if page.total == 0 and not page.rows and page.number == 1)


def _names_one_of(page: Page, name: str, numbers: set[int]) -> Observations:
    match = _page_in(page.links.get(name))
    if match:
        expected = f"{name} naming page {' or '.join(map(str, sorted(numbers)))}"
        yield decide(page.exchange, integer(match[1]) in numbers, expected, f"page {match[1]}", f"/links/{name}")


@rule("pagination.neighbours-past-the-end-exist", needs=NEEDS_LISTINGS)
def neighbours_past_the_end_exist(evidence: Evidence) -> Observations:
    """`next` and `prev` on pages past the end, if these are answered with a page."""
    any_page = False
    for exchange in evidence.of("list", expects=Expect.OPEN):
        page = exchange.page
        if page is None or not page.page_count or page.number <= page.page_count:
            continue
        for name in ("next", "prev"):
            link = page.links.get(name)
            match = re.search(r"(?:^|&)page=(\d+)", _query(link), re.ASCII) if isinstance(link, str) else None
            holds = match is None or 1 <= integer(match[1]) <= page.page_count
            expected = f"{name} naming one of the {page.page_count} pages, or null"
            yield decide(exchange, holds, expected, f"page {match[1] if match else ''}", f"/links/{name}")
            any_page = True
    if not any_page:
        yield NotApplicable("a page past the end is not answered with one")


def _links(evidence: Evidence) -> Iterator[tuple[Page, str, str]]:
    for page in evidence.every_page():
        for name in LINKS:
            if isinstance(page.links.get(name), str):
                yield page, name, page.links[name]


def _page_in(link: object) -> re.Match[str] | None:
    """The number of the page that a link names, as the first group."""
    return re.search(r"(?:^|&)page=(-?\d+)", _query(link), re.ASCII) if isinstance(link, str) else None


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
