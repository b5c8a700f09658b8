"""The chapter that lists pages of all sizes."""

import re

from contract_tests.evidence.evidence import Listing, PagingScan, RepeatedListing
from contract_tests.evidence.exchange import Expect, Page, Request, is_integer
from contract_tests.evidence.observation import steady_records
from contract_tests.survey.visitor import Visitor

ODD_SIZES = ("7", "5000")
ODD_PAGES = {"splash-pages": ("-1",)}
QUIET_TRIES = 3
PAGES = "pages"  # what is not waited for again once it did not come
LISTS_IN_A_ROW = 4
PAGES_PAST_END = 90  # pages past the end
MIN_CONTROL_REQUESTS, BETWEEN_LISTINGS = 120, 9  # requests


def page(visitor: Visitor, before: Listing, *, is_repeat: bool = False) -> Listing:
    """List pages of all sizes between two listings, again if others wrote meanwhile; return the last listing.

    Args:
        is_repeat: whether pages were listed before, so that a few are enough.
    """
    resource, scans = visitor.resource.name, visitor.evidence.paging_scans
    for attempt in range(QUIET_TRIES):
        is_after_pause = visitor.waits.is_rested or visitor.waits.lag.has_missed(resource, PAGES)
        pages = _pages(visitor, before.total or 0, sizes_too=attempt == 0 and not is_repeat)
        oldest = min(filter(is_integer, before.ids), default=None)
        read = None if oldest is None or is_repeat else visitor.read(int(oldest), Expect.OPEN)
        after = visitor.list_settled()
        if read and (read.record or read.request.identifier in after.ids):
            visitor.evidence.treat(read, Expect.SUCCESS)
        scan = PagingScan(before, tuple(pages), after)
        scans[:] = [*(scans[:-1] if attempt else scans), scan]
        if scan.is_stable and not scan.agrees and is_after_pause:
            visitor.waits.lag.note_missed(resource, PAGES)
        if scan.is_stable and (scan.agrees or is_after_pause):
            break
        if scan.is_stable:
            visitor.waits.lag.wait_out()  # a cache may have kept a page from before the last write
        before = after
    records_before_after = [steady_records(visitor.resource, listing.rows) for listing in (scan.before, scan.after)]
    if not scan.is_stable or records_before_after[0] != records_before_after[1]:
        _list_repeatedly(visitor)
    if not is_repeat:
        _look_beyond(visitor, after)
    return after


def _pages(visitor: Visitor, total: int, *, sizes_too: bool) -> list[Page]:
    """Pages of the default size, some of the smallest and, if asked for, one of each other size."""
    queries: list[dict[str, str]] = [{}, {"page": "1"}]
    deepest = -(-total // 10)
    numbers = sorted(number for number in {1, 2, 3, deepest} if 1 <= number <= deepest)
    queries += [{"results_per_page": "10", "page": str(number)} for number in numbers]
    if sizes_too:
        queries += [{"page": "2"}] if total > visitor.resource.default_page_size else []
        sizes = (size for size in visitor.resource.page_sizes if size not in (10, visitor.largest))
        queries += [{"results_per_page": str(size)} for size in sizes]
    return [exchange.page for exchange in visitor.lists(*queries) if exchange.page]


def _look_beyond(visitor: Visitor, listing: Listing) -> None:
    """List sizes and pages that do not exist, and follow a page link as it stands."""
    past_end = -(-max(0, listing.total or 0) // 10) + PAGES_PAST_END
    queries = [{"results_per_page": size} for size in ODD_SIZES]
    queries += [{"page": number} for number in ODD_PAGES.get(visitor.resource.name, ())]
    visitor.lists(*queries, {"results_per_page": "10", "page": str(past_end)}, expects=Expect.OPEN)
    pages = visitor.evidence.pages()
    links = (page.links.get("next") or page.links.get("first") for page in pages)
    link = next((link for link in links if isinstance(link, str)), "")
    base_url = visitor.evidence.public_base_url or visitor.target.base_url
    link_match = re.fullmatch(r"(/api/[\w-]+)\?&?page=(\d{1,9})", link.removeprefix(base_url), re.ASCII)
    if link_match and link_match[1] != visitor.resource.list_path:
        query = (("page", link_match[2]),)
        visitor.send(Request("follow", visitor.resource.name, "GET", link_match[1], query, expects=Expect.OPEN))


def _list_repeatedly(visitor: Visitor) -> None:
    """List the same page a few times in a row, and once more after a rest, to see whether lists change records."""
    pages = [visitor.page(results_per_page=str(visitor.largest)) for _ in range(LISTS_IN_A_ROW)]
    visitor.waits.lag.wait_out()
    pages.append(visitor.page(results_per_page=str(visitor.largest)))
    *quick, after_pause = [steady_records(visitor.resource, page.rows) for page in pages if page] or [{}]
    if len(quick) == LISTS_IN_A_ROW:
        repeated = RepeatedListing(tuple(quick), after_pause, visitor.evidence.exchanges[-1])
        visitor.evidence.repeated_listings.append(repeated)


def watch_others(visitor: Visitor) -> bool:
    """Whether no record changes, comes or goes while the run only reads: a control for what its writes seem to do.

    It lasts for twice as many requests as the longest stretch between two listings with writes, or until a record has
    changed.
    """
    evidence = visitor.evidence
    ends = [(period.before.exchange, period.after.exchange) for period in evidence.change_periods]
    longest = max((after.number - before.number for before, after in ends if before and after), default=0)
    before, requests_before = visitor.list_settled(), visitor.target.budget.request_count
    while visitor.target.budget.request_count < requests_before + max(MIN_CONTROL_REQUESTS, 2 * longest):
        for _ in range(BETWEEN_LISTINGS):
            visitor.page(results_per_page="10")
        after = visitor.list_settled()
        evidence.controls = [(before, after)]
        if steady_records(visitor.resource, before.rows) != steady_records(visitor.resource, after.rows):
            return False
    return True
