"""Evidence from requests that were sent once more, one after the other: what a visit would have noted around them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import contract_tests.overlap.rules
import contract_tests.rules  # noqa: F401 - both register their rules
from contract_tests.evidence.evidence import (
    AccessAttempt,
    Change,
    ChangePeriod,
    Creation,
    Evidence,
    KeyReads,
    Listing,
    Omission,
    PagingScan,
    Record,
    Removal,
)
from contract_tests.evidence.exchange import OTHER, OWN_KEY, WRITES, Exchange, Expect, Page, id_of
from contract_tests.evidence.marks import shows
from contract_tests.evidence.multipart import USUAL
from contract_tests.evidence.observation import DECISIONS, Observation
from contract_tests.repro.steps import knows_page
from contract_tests.target.identities import OTHER_CASES
from link_management_contract import Resource, Rule

RUN_MARKER = re.compile(r"ct[0-9a-f]+(?:x[0-9a-f]*)?-(\d+z)", re.IGNORECASE)  # what marks a record of a run
NOTHING = Listing((), complete=False)


def rejudge(
    rule: Rule, resource: Resource, base_url: str, exchanges: Sequence[Exchange], public_base_url: str | None = None
) -> list[Observation]:
    """What a rule finds in a few exchanges, on an account in which nobody else writes meanwhile.

    A refusal of a page counts if an answer before it shows that there is such a page.
    """
    judged_exchanges = [
        exchange if knows_page(exchange, exchanges[:number]) else replace(exchange, judged_as=Expect.OPEN)
        for number, exchange in enumerate(exchanges)
    ]
    evidence = Evidence(resource, base_url, judged_exchanges, public_base_url=public_base_url)
    _Replay(evidence).note()
    return list(DECISIONS[rule.id](evidence))


class _Replay:
    """Notes in evidence what its exchanges show."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence, self._resource = evidence, evidence.resource
        self._exchanges = [exchange for exchange in evidence.exchanges if exchange.request.identity == OWN_KEY]
        self._listings = [listing for listing in _listings(self._exchanges) if _is_full(listing, self._resource)]

    def note(self) -> None:
        evidence = self._evidence
        evidence.markers |= {marker for exchange in evidence.exchanges for marker in marks_of(exchange)}
        evidence.created_ids |= {
            exchange.made_id
            for exchange in self._exchanges
            if exchange.made_id and exchange.request.operation == "create"
        }
        evidence.has_second_key = any(exchange.request.identity == OTHER for exchange in evidence.exchanges)
        for exchange in evidence.exchanges:
            if exchange.request.identity != OWN_KEY:
                self._note_attempt(exchange)
            elif exchange.request.operation in WRITES:
                self._add_write(exchange)
        evidence.change_periods += self._periods()
        evidence.paging_scans += self._scans()

    def _add_write(self, exchange: Exchange) -> None:
        evidence, request, texts = self._evidence, exchange.request, _texts(exchange)
        before, after = self._listings_around(exchange)
        if request.operation == "delete":
            updates = [step for step in self._requests_after(exchange) if step.request.operation == "update"]
            later = (
                {
                    "late_update": updates[0],
                    "late_read": self._read(updates[0]),
                    "late_list": self._listings_around(updates[0])[1],
                }
                if updates
                else {}
            )
            evidence.removals.append(Removal(exchange, self._read(exchange), after, **later))  # type: ignore[arg-type]
        elif request.operation == "update":
            record = self._record(exchange)
            change = Change(exchange, texts, record or {}, self._read(exchange))
            if record is not None:  # as otherwise nobody knows what it has changed
                (evidence.changes if request.form_style == USUAL else evidence.shaped).append(change)
        elif missing := [name for name in self._resource.required if request.form and name not in request.form]:
            marker = next(iter(marks_of(exchange)), "")
            known_ids = {*before.ids, *evidence.created_ids}
            new = [row for row in after.rows if id_of(row) not in known_ids] if after else []
            appeared = [row for row in new if before.complete or shows(row, marker)]
            evidence.omissions.append(Omission(missing[0], exchange, marker, tuple(appeared)))
        else:
            created_id = exchange.made_id if request.operation == "create" else None
            read = self._read(exchange) if created_id is not None else None
            creation = Creation(exchange, texts, frozenset(before.ids), created_id, read)
            (evidence.creations if request.form_style == USUAL else evidence.shaped).append(creation)

    def _note_attempt(self, exchange: Exchange) -> None:
        identifier, (before, after) = exchange.request.identifier, self._listings_around(exchange)
        attempt = AccessAttempt(
            exchange.request.identity,
            exchange,
            next(iter(marks_of(exchange)), ""),
            self._record(exchange),
            self._read(exchange),
            after,
            before.by_id.get(identifier),
        )
        self._evidence.access_attempts.append(attempt)
        if exchange.request.identity == OTHER_CASES and exchange.request.operation == "read":
            self._evidence.key_reads = KeyReads(*[exchange] * 5)  # of which only that with other cases is judged again

    def _periods(self) -> Iterator[ChangePeriod]:
        """The listings around each stretch of writes, once for each operation in it."""
        for before, after in zip([NOTHING, *self._listings], self._listings, strict=False):
            start, end = _last(before), after.pages[0].exchange.number
            writes = [write for write in self._exchanges if start < write.number < end and write.is_accepted]
            ids = {
                operation: frozenset(
                    write.made_id if operation == "create" else write.request.identifier
                    for write in writes
                    if write.request.operation == operation
                )
                for operation in WRITES
            }
            created, changed, removed = (ids[operation] for operation in ("create", "update", "delete"))
            for operation in [operation for operation in WRITES if ids[operation]]:
                yield ChangePeriod(operation, before, after, created - removed, removed - created, changed)

    def _scans(self) -> Iterator[PagingScan]:
        """Pages between two listings, while the account writes nothing."""
        for number, before in enumerate(self._listings):
            writes = [exchange.number for exchange in self._exchanges if exchange.request.operation in WRITES]
            write = min((write_number for write_number in writes if write_number > _last(before)), default=None)
            after = [listing for listing in self._listings[number + 1 :] if write is None or _last(listing) < write]
            if after:
                pages = [
                    exchange.page
                    for exchange in self._exchanges
                    if exchange.expects is Expect.SUCCESS and exchange.page
                ]
                scanned_pages = [
                    page for page in pages if _last(before) < page.exchange.number < after[-1].pages[0].exchange.number
                ]
                yield PagingScan(before, tuple(scanned_pages), after[-1])
                return

    def _listings_around(self, exchange: Exchange) -> tuple[Listing, Listing | None]:
        """The listings before and after a request; a listing without pages, and None, if there are none."""
        before = [listing for listing in self._listings if _last(listing) < exchange.number]
        after = [listing for listing in self._listings if listing.pages[0].exchange.number > exchange.number]
        return before[-1] if before else NOTHING, after[0] if after else None

    def _requests_after(self, exchange: Exchange) -> list[Exchange]:
        """The account's later requests about the same record."""
        identifier = exchange.made_id if exchange.request.operation == "create" else exchange.request.identifier
        following = [step for step in self._exchanges if step.number > exchange.number]
        return [step for step in following if step.request.identifier == identifier and identifier is not None]

    def _read(self, exchange: Exchange) -> Exchange | None:
        """The first read of its record afterwards, before another write to it."""
        later_requests = self._requests_after(exchange)
        return later_requests[0] if later_requests and later_requests[0].request.operation == "read" else None

    def _record(self, exchange: Exchange) -> Record | None:
        """Its record as last shown before."""
        identifier, shown_record = exchange.request.identifier, None
        for earlier in self._exchanges:
            if earlier.number < exchange.number and identifier is not None:
                read = earlier.record if earlier.request.operation == "read" else None
                rows: Sequence[Record] = earlier.page.rows if earlier.page else [read] if read else []
                shown_record = next((row for row in rows if row.get("id") == identifier), shown_record)
        return shown_record


def with_markers(text: str, mark_of: Callable[[str], str]) -> str:
    """A text with other marks in the place of a run's, in capitals where those are."""

    def other(match: re.Match[str]) -> str:
        marker = mark_of(match[0].casefold())
        return marker.upper() if str(match[0]).isupper() else marker

    return RUN_MARKER.sub(other, text)


def marks_of(exchange: Exchange) -> list[str]:
    """The marks in the form of a request, or in its body."""
    request = exchange.request
    body = request.body[1].decode("utf-8", "replace") if request.body else ""
    return list(
        dict.fromkeys(
            match[0].casefold() for match in RUN_MARKER.finditer("\n".join([*_texts(exchange).values(), body]))
        )
    )


def _texts(exchange: Exchange) -> Mapping[str, str]:
    return {name: value for name, value in (exchange.request.form or {}).items() if isinstance(value, str)}


def _listings(exchanges: Sequence[Exchange]) -> Iterator[Listing]:
    """Pages from the first one on, with nothing in between."""
    pages: list[Page] = []
    for exchange in [*exchanges, None]:
        page = exchange.page if exchange and exchange.expects is not Expect.IGNORED else None
        follows = page and pages and (page.number, page.size) == (pages[-1].number + 1, pages[-1].size)
        if not follows and pages:
            rows = sum(len(listed_page.rows) for listed_page in pages)
            yield Listing(tuple(pages), rows == pages[0].total or len(pages[-1].rows) < (pages[-1].size or 0))
            pages = []
        if page and (follows or page.number == 1):
            pages.append(page)


def _is_full(listing: Listing, resource: Resource) -> bool:
    """Whether a listing shows all that a visit's would."""
    return listing.complete or listing.pages[0].size == max(resource.page_sizes)


def _last(listing: Listing) -> int:
    return listing.pages[-1].exchange.number if listing.pages else 0
