"""The chapter that lists pages of all sizes, and what is read where nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from contract_tests.evidence import Listing, PagingScan, Watch
from contract_tests.exchange import Expect, Page, Request, is_integer
from contract_tests.rules.observation import steady_records
from contract_tests.survey.unauthorized import try_access
from contract_tests.survey.visitor import Visitor

ODD_SIZES = ("7", "5000")
ODD_PAGES = {"splash-pages": ("-1",)}
QUIET_TRIES = 3
PAGES = "pages"  # what is not waited for again once it did not come
DETECTORS = 4  # lists in a row
BEYOND = 90  # pages past the end
LEAST_CONTROL, BETWEEN_LISTINGS = 120, 9  # requests
MOST_READ = 5  # records of the account that are read where nothing is written


def page(visitor: Visitor, before: Listing, *, again: bool = False) -> Listing:
    """List pages of all sizes between two listings, again if others wrote meanwhile; return the last listing.

    Args:
        visitor: sends the requests.
        before: the latest listing.
        again: whether pages were listed before, so that a few are enough.
    """
    resource, paging_scans = visitor.resource.name, visitor.evidence.paging_scans
    for attempt in range(QUIET_TRIES):
        rested = visitor.is_rested or visitor.lag.has_missed(resource, PAGES)
        pages = _pages(visitor, before.total or 0, sizes_too=attempt == 0 and not again)
        oldest = min(filter(is_integer, before.ids), default=None)
        read = None if oldest is None or again else visitor.read(int(oldest), Expect.OPEN)
        after = visitor.snapshot()
        if read and (read.record or read.request.identifier in after.ids):
            visitor.treat(read, Expect.SUCCESS)
        scan = PagingScan(before, tuple(pages), after)
        paging_scans[resource] = [*(paging_scans[resource][:-1] if attempt else paging_scans[resource]), scan]
        if scan.is_quiet and not scan.agrees and rested:
            visitor.lag.miss(resource, PAGES)
        if scan.is_quiet and (scan.agrees or rested):
            break
        if scan.is_quiet:
            visitor.lag.rest()  # a cache may have kept a page from before the last write
        before = after
    shown = [steady_records(visitor.resource, listing.rows) for listing in (scan.before, scan.after)]
    if not scan.is_quiet or shown[0] != shown[1]:
        _watch(visitor)
    if not again:
        _look_beyond(visitor, after)
    return after


def _pages(visitor: Visitor, total: int, *, sizes_too: bool) -> list[Page]:
    """Pages of the default size, some of the smallest and, if asked for, one of each other size."""
    pages = [visitor.page(), visitor.page(page="1")]
    deepest = -(-total // 10)
    numbers = sorted(number for number in {1, 2, 3, deepest} if 1 <= number <= deepest)
    pages += [visitor.page(results_per_page="10", page=str(number)) for number in numbers]
    if sizes_too:
        if total > visitor.resource.default_page_size:
            pages.append(visitor.page(page="2"))
        pages += [
            visitor.page(results_per_page=str(size))
            for size in visitor.resource.page_sizes
            if size not in (10, visitor.largest)
        ]
    return [page for page in pages if page]


def _look_beyond(visitor: Visitor, whole: Listing) -> None:
    """List sizes and pages that do not exist, and follow a page link as it stands."""
    for size in ODD_SIZES:
        visitor.list(Expect.OPEN, results_per_page=size)
    for number in ODD_PAGES.get(visitor.resource.name, ()):
        visitor.list(Expect.OPEN, page=number)
    visitor.list(Expect.OPEN, results_per_page="10", page=str(-(-max(0, whole.total or 0) // 10) + BEYOND))
    links = (
        page.links.get("next") or page.links.get("first") for page in visitor.evidence.pages(visitor.resource.name)
    )
    link = next((link for link in links if isinstance(link, str)), "")
    base_url = visitor.evidence.public_base_url or visitor.target.base_url
    followed = re.fullmatch(r"(/api/[\w-]+)\?&?page=(\d{1,9})", link.removeprefix(base_url), re.ASCII)
    if followed and followed[1] != visitor.resource.list_path:
        query = (("page", followed[2]),)
        visitor.send(Request("follow", visitor.resource.name, "GET", followed[1], query, expects=Expect.OPEN))


def _watch(visitor: Visitor) -> None:
    """List the same page a few times in a row, and once more after a rest, to see whether lists change records."""
    looks = [visitor.page(results_per_page=str(visitor.largest)) for _ in range(DETECTORS)]
    visitor.lag.rest()
    looks.append(visitor.page(results_per_page=str(visitor.largest)))
    *quick, rested = [steady_records(visitor.resource, look.rows) for look in looks if look] or [{}]
    if len(quick) == DETECTORS:
        watch = Watch(tuple(quick), rested, visitor.evidence.exchanges[-1])
        visitor.evidence.watches[visitor.resource.name].append(watch)


def is_quiet_alone(visitor: Visitor) -> bool:
    """Whether no record changes, comes or goes while the run only reads: a control for what its writes seem to do.

    It lasts for twice as many requests as the longest stretch between two listings with writes, or until a record has
    changed.
    """
    evidence, resource = visitor.evidence, visitor.resource.name
    phases = [each for each in evidence.before_after[resource] if each.before.exchange and each.after.exchange]
    longest = max((_number(each.after) - _number(each.before) for each in phases), default=0)
    before, sent = visitor.snapshot(), visitor.target.sent
    while visitor.target.sent < sent + max(LEAST_CONTROL, 2 * longest):
        for _ in range(BETWEEN_LISTINGS):
            visitor.page(results_per_page="10")
        after = visitor.snapshot()
        evidence.controls[resource] = [(before, after)]
        if steady_records(visitor.resource, before.rows) != steady_records(visitor.resource, after.rows):
            return False
    return True


def _number(listing: Listing) -> int:
    return listing.exchange.number if listing.exchange else 0


def look_around(visitor: Visitor, start: Listing, progress: Callable[[str], None]) -> None:
    """List pages, read some records, and try to read as unauthorized clients."""
    seen = start
    if not visitor.evidence.paging_scans[visitor.resource.name]:
        progress("paging")
        seen = page(visitor, start)
    known = [identifier for identifier in seen.ids if is_integer(identifier)]
    progress("reading")
    for identifier in known[:MOST_READ]:
        visitor.settle_last(visitor.read(identifier, Expect.OPEN))
    progress("trying other keys")
    if known:
        attempts = try_access(visitor, known[0], seen)
        visitor.evidence.access_attempts[visitor.resource.name].extend(replace(each, after=seen) for each in attempts)
