"""Rules about pages: which records they show, and what `meta` states about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from contract_tests.evidence import BeforeAfter, Evidence, PagingScan, Record
from contract_tests.exchange import Exchange, Expect, Page
from contract_tests.rules.observation import (
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    others_wrote,
)
from link_management_contract import Resource


def page_defaults_to_1(evidence: Evidence, resource: Resource) -> Observations:
    """The list without a page, compared with that of page 1, while nothing else changed."""
    for scan in evidence.paging_scans[resource.name]:
        plain = _asked(scan, {})
        first = _asked(scan, {"page": "1"})
        if plain and first:
            if not scan.is_quiet:
                yield Undecided("others wrote meanwhile")
                continue
            for page in (plain, _asked(scan, {"results_per_page": str(resource.default_page_size)})):
                if page and page.meta.get("results_per_page") == first.meta.get("results_per_page"):
                    said = {each.meta["page"] for each in (page, first) if "page" in each.meta}
                    same = _ids(page.rows) == _ids(first.rows) and len(said) < 2  # noqa: PLR2004 - they differ
                    yield decide(page.exchange, "what page 1 shows", f"page {page.meta.get('page')}", kept=same)


def size_defaults_to_25(evidence: Evidence, resource: Resource) -> Observations:
    """Lists without a page size."""
    for page in evidence.pages(resource.name):
        if page.size is None and "results_per_page" in page.meta:
            size, rows = page.meta["results_per_page"], len(page.rows)
            received = f"results_per_page {size} and {rows} records (often a setting of the account)"
            kept = size == resource.default_page_size and rows <= resource.default_page_size
            yield decide(
                page.exchange,
                f"results_per_page {resource.default_page_size}",
                received,
                kept=kept,
                at="/meta/results_per_page",
            )


def allowed_sizes_are_kept(evidence: Evidence, resource: Resource) -> Observations:
    """Lists with an allowed page size."""
    for page in evidence.pages(resource.name):
        if page.size in resource.page_sizes and "results_per_page" in page.meta:
            size, rows = page.meta["results_per_page"], len(page.rows)
            received = f"results_per_page {size} and {rows} records"
            kept = size == page.size and rows <= page.size
            yield decide(
                page.exchange, f"results_per_page {page.size}", received, kept=kept, at="/meta/results_per_page"
            )


def other_sizes_are_not_used(evidence: Evidence, resource: Resource) -> Observations:
    """Lists with a page size outside the seven; one that is refused satisfies the rule too."""
    sizes = {str(size) for size in resource.page_sizes}
    filled = not any(isinstance(each, Violation) for each in page_is_filled(evidence, resource))
    for exchange in evidence.of(resource.name, "list", expects=Expect.OPEN):
        asked = exchange.request.asked
        if "page" in asked or asked.get("results_per_page", "10") in sizes:
            continue
        page = exchange.page
        if page is None:
            yield Satisfied(exchange)
            continue
        size, rows = page.meta.get("results_per_page"), len(page.rows)
        cut = filled and page.total is not None and rows < page.total
        kept = size in resource.page_sizes and rows <= (size or 0) and (not cut or rows == size)
        kept = kept or (size is None and not rows)
        yield decide(
            exchange,
            f"one of the sizes {resource.page_sizes}",
            f"results_per_page {size} and {rows} records",
            kept=kept,
        )


def page_is_filled(evidence: Evidence, resource: Resource) -> Observations:
    """Pages that exist."""
    for page in evidence.pages(resource.name):
        size = page.size if page.size in resource.page_sizes else resource.default_page_size
        if page.total is None or page.meta.get("results_per_page") != size:
            continue
        if page.is_there or page.total == 0:
            expected = max(0, min(size, page.total - (page.number - 1) * size))
            received = f"{len(page.rows)} records of a total of {page.total}"
            yield decide(page.exchange, f"{expected} records", received, kept=len(page.rows) == expected, at="/data")


def meta_page_is_the_page_asked_for(evidence: Evidence, resource: Resource) -> Observations:
    """Pages that exist."""
    for page in evidence.pages(resource.name):
        if page.is_there and "page" in page.meta:
            said = page.meta["page"]
            yield decide(
                page.exchange, f"page {page.number}", f"page {said}", kept=said == page.number, at="/meta/page"
            )


def total_pages_is_the_ceiling(evidence: Evidence, resource: Resource) -> Observations:
    """Lists of a collection that is not empty."""
    for page in evidence.pages(resource.name):
        if page.total and "total_pages" in page.meta and page.pages:
            said = page.meta["total_pages"]
            received = f"total_pages {said} for {page.total} records by {page.meta['results_per_page']}"
            yield decide(
                page.exchange, f"total_pages {page.pages}", received, kept=said == page.pages, at="/meta/total_pages"
            )


def total_counts_the_records(evidence: Evidence, resource: Resource) -> Observations:
    """Complete listings, and the totals that pages state."""
    for scan in evidence.paging_scans[resource.name]:
        for whole in (scan.before, scan.after):
            if whole.exchange is None or whole.total is None:
                continue
            if not whole.complete:
                yield Undecided("the collection is too large to be read as a whole")
                continue
            counted = len(whole.rows)
            received = f"total {whole.total} where {counted} records are listed"
            if len(whole.pages) > 1 and whole.total != counted and _is_disturbed(evidence, resource, scan):
                yield Undecided("others wrote while its pages were read")
            else:
                yield decide(
                    whole.exchange, f"total {counted}", received, kept=whole.total == counted, at="/meta/total"
                )
        if scan.is_quiet:
            for page in scan.pages:
                if page.total is not None and scan.before.total is not None:
                    kept = page.total == scan.before.total
                    yield decide(
                        page.exchange, f"total {scan.before.total}", f"total {page.total}", kept=kept, at="/meta/total"
                    )
    yield from _totals_of_single_pages(evidence, resource)


def _totals_of_single_pages(evidence: Evidence, resource: Resource) -> Observations:
    for phase in evidence.before_after[resource.name]:
        if phase.after.exchange and phase.after.complete and len(phase.after.pages) == 1:
            counted, total = len(phase.after.rows), phase.after.total
            received = f"total {total} where {counted} records are listed"
            yield decide(
                phase.after.exchange, f"total {counted}", received, kept=total in (None, counted), at="/meta/total"
            )


def _is_disturbed(evidence: Evidence, resource: Resource, scan: PagingScan) -> bool:
    """Whether others seem to have written around the time of a scan."""
    changing = any(len({page.total for page in look.pages}) > 1 for look in (scan.before, scan.after))
    return changing or not scan.is_quiet or any(phase.came for phase in evidence.before_after[resource.name])


def total_follows_creates(evidence: Evidence, resource: Resource) -> Observations:
    """The totals before and after creates of the run."""
    yield from _totals(evidence, resource, "create")


def total_follows_deletes(evidence: Evidence, resource: Resource) -> Observations:
    """The totals before and after deletes of the run."""
    yield from _totals(evidence, resource, "delete")


def pages_partition_the_collection(evidence: Evidence, resource: Resource) -> Observations:
    """Pages of several sizes, compared with the listing, while nothing else changed."""
    for scan in evidence.paging_scans[resource.name]:
        whole = scan.before
        if whole.exchange is None or not whole.rows:
            continue
        came_or_went = set(whole.ids) != set(scan.after.ids)
        if came_or_went or (len(whole.pages) > 1 and Counter(whole.ids) != Counter(scan.after.ids)):
            yield Undecided("others wrote meanwhile")
            continue
        twice = len(whole.ids) - len(set(whole.ids))
        yield decide(whole.exchange, "each record once", f"{twice} records twice", kept=twice == 0)
        yield from _covered(scan, resource)


def _covered(scan: PagingScan, resource: Resource) -> Observations:
    """Whether consecutive pages of one size show what the beginning of the listing shows."""
    whole = list(scan.before.ids)
    for size in resource.page_sizes:
        pages = {page.number: page for page in scan.pages if (page.size or resource.default_page_size) == size}
        run = 0
        while run + 1 in pages and len(pages[run + 1].rows) <= size:
            run += 1
        window = whole[: run * size]
        if not run or (len(whole) < run * size and not scan.before.complete):
            continue
        seen = [identifier for number in range(1, run + 1) for identifier in _ids(pages[number].rows)]
        missing, twice = len(set(map(str, window)) - set(seen)), len(seen) - len(set(seen))
        kept = not missing and not twice and len(seen) == len(window)
        received = f"{missing} records missing and {twice} shown twice on pages 1 to {run}"
        yield decide(pages[run].exchange, f"the first {len(window)} records, each once", received, kept=kept)
    for page in scan.pages:
        size = page.size or resource.default_page_size
        if page.number > 3 and scan.before.complete and page.rows:  # noqa: PLR2004 - a last page, on its own
            window = whole[(page.number - 1) * size : page.number * size]
            kept = set(map(str, window)) == set(_ids(page.rows))
            yield decide(page.exchange, f"the records of page {page.number}", "others", kept=kept)


def order_is_the_same_again(evidence: Evidence, resource: Resource) -> Observations:
    """The collection listed twice, while no record came, went or changed."""
    for scan in evidence.paging_scans[resource.name]:
        before, after = scan.before, scan.after
        if before.exchange is None or after.exchange is None or len(before.ids) < 2:  # noqa: PLR2004 - one has no order
            continue
        yield (again := _order(after.exchange, before.rows, after.rows))
        plain, first = _asked(scan, {}), _asked(scan, {"page": "1"})
        if plain and first and not isinstance(again, Undecided) and set(_ids(plain.rows)) == set(_ids(first.rows)):
            yield _order(first.exchange, plain.rows, first.rows)


def _order(exchange: Exchange, before: Sequence[Record], after: Sequence[Record]) -> Observation:
    """Whether records come in the same order again; what others change may move, and what comes moves others."""
    kept, known = _ids(before) == _ids(after), dict(zip(_ids(before), before, strict=True))
    if not kept and (
        sorted(_ids(before)) != sorted(_ids(after)) or known != dict(zip(_ids(after), after, strict=True))
    ):
        return Undecided("others wrote meanwhile")
    return decide(exchange, "the same order as before", "another", kept=kept)


def _totals(evidence: Evidence, resource: Resource, event: str) -> Observations:
    for phase in evidence.before_after[resource.name]:
        if phase.event != event or not (phase.made or phase.removed) or phase.after.exchange is None:
            continue
        if phase.before.total is None or phase.after.total is None:
            continue
        doubled = event == "create" and all(_is_doubled(evidence, resource, phase, each) for each in phase.came)
        if phase.went or (phase.came and not doubled):
            yield Undecided("others wrote meanwhile")
            continue
        expected = phase.before.total + len(phase.made) - len(phase.removed)
        kept, received = phase.after.total == expected, f"total {phase.after.total}, from {phase.before.total}"
        if not kept and others_wrote(evidence, resource):
            yield Undecided("others wrote meanwhile")
        else:
            yield decide(phase.after.exchange, f"total {expected}", received, kept=kept, at="/meta/total")


def _is_doubled(evidence: Evidence, resource: Resource, phase: BeforeAfter, identifier: object) -> bool:
    """Whether a record that no create of the run returned has its marker nevertheless, and no create failed."""
    creates = [exchange for exchange in evidence.exchanges if exchange.request.operation == "create"]
    stumbled = any(exchange.failed or exchange.attempts for exchange in creates)
    return not stumbled and evidence.is_marked(phase.after.by_id[identifier].get(resource.label))


def _asked(scan: PagingScan, query: dict[str, str]) -> Page | None:
    return next((page for page in scan.pages if page.exchange.request.asked == query), None)


def _ids(rows: Sequence[Record]) -> list[str]:
    return [str(row.get("id")) for row in rows]
