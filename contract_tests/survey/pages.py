"""The chapter that looks at pages of all sizes, and what is looked at where nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from contract_tests.evidence import Snapshot, Sweep
from contract_tests.exchange import is_integer
from contract_tests.survey.strangers import intrude
from contract_tests.survey.visitor import Visitor

ODD_SIZES = ("7", "5000")
ODD_PAGES = {"splash-pages": ("-1",)}
QUIET_TRIES = 3
MOST_READ = 5  # records of the account that are read where nothing is written


def page(visitor: Visitor, before: Snapshot) -> Snapshot:
    """Look at pages of all sizes between two looks at the whole, again if others wrote meanwhile; the last look."""
    for attempt in range(QUIET_TRIES):
        pages = [visitor.page(), visitor.page(page="1")]
        deepest = -(-(before.total or 0) // 10)
        numbers = sorted(number for number in {1, 2, 3, deepest} if 1 <= number <= deepest)
        pages += [visitor.page(results_per_page="10", page=str(number)) for number in numbers]
        if attempt == 0:
            if (before.total or 0) > visitor.kind.default_page_size:
                pages.append(visitor.page(page="2"))
            pages += [
                visitor.page(results_per_page=str(size))
                for size in visitor.kind.page_sizes
                if size not in (10, visitor.largest)
            ]
        oldest = min(filter(is_integer, before.ids), default=None)
        read = None if oldest is None else visitor.read(int(oldest), "open")
        after = visitor.snapshot()
        if read and (read.record or read.request.identifier in after.ids):
            visitor.restate(read, "success")
        sweep = Sweep(before, tuple(page for page in pages if page), after)
        visitor.evidence.sweeps[visitor.kind.name] = [sweep]
        if sweep.is_quiet and sweep.agrees:
            break
        if sweep.is_quiet:
            visitor.rest()  # a cache may have kept a page of some time ago
        before = after
    for size in ODD_SIZES:
        visitor.list("open", results_per_page=size)
    for page in ODD_PAGES.get(visitor.kind.name, ()):
        visitor.list("open", page=page)
    return after


def look_around(visitor: Visitor, start: Snapshot, progress: Callable[[str], None]) -> None:
    """Look at pages and at some records, and try to read as a stranger."""
    seen = start
    if not visitor.evidence.sweeps[visitor.kind.name]:
        progress("paging")
        seen = page(visitor, start)
    known = [identifier for identifier in seen.ids if is_integer(identifier)]
    progress("reading")
    for identifier in known[:MOST_READ]:
        visitor.settle_last(visitor.read(identifier, "open"))
    progress("knocking as a stranger")
    if known:
        attempts = intrude(visitor, known[0], seen)
        visitor.evidence.intrusions[visitor.kind.name].extend(replace(each, after=seen) for each in attempts)
