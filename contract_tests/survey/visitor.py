"""Documented requests of a visit, each with the waiting that slow replicas need."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from contract_tests.evidence.evidence import ChangePeriod, Evidence, Listing
from contract_tests.evidence.exchange import (
    OTHER,
    OWN_KEY,
    TRIES,
    Exchange,
    Expect,
    FormValue,
    Page,
    Request,
    request_of,
    whole_id,
)
from contract_tests.evidence.marks import holds, mark_of
from contract_tests.evidence.multipart import USUAL, FormStyle
from contract_tests.survey.own_records import OwnRecords
from contract_tests.survey.waits import Lag, Waits
from contract_tests.survey.witnesses import Witnesses
from contract_tests.target.budget import BudgetSpentError, Limits
from contract_tests.target.ledger_file import Entry
from contract_tests.target.target import Target
from link_management_contract import Resource

MAX_PAGES, MAX_LISTING_BYTES = 5, 2 << 20  # pages of a listing, and its bytes, about
MOMENTS = 10  # 45 requests with the second key in three resources
MIN_RECORDS = 26  # more than the default page size, and three pages of the smallest
MAX_RETRIES = 10  # of a create that trouble has hit
Result = TypeVar("Result")


@dataclass(frozen=True)
class AwaitedRead:
    """A record to read until its read shows the state after a write, and whether each right server comes to show it."""

    identifier: int
    is_done: Callable[[Exchange], bool]
    due: bool = False


class Visitor:
    """Visits one resource.

    Attributes:
        evidence: where what is seen is kept.
        records: the records that it makes.
        waits: waits until reads show what was written.
        writes: whether records are created, changed and deleted; false once a created one could not be seen.
        freed_label: the name or host of a record of the run that was deleted; empty if there is none.
        min_records: how many records there have to be for paging to be judged; the run creates those that are missing.
        largest: the page size of listings.
        most_pages: how many pages a listing reads at most.
        moments: how often lists and reads with both keys are sent at one moment.
    """

    def __init__(
        self, target: Target, resource: Resource, evidence: Evidence | None = None, lag: Lag | None = None
    ) -> None:
        self.target = target
        self.resource = resource
        self.evidence = evidence or Evidence(resource, target.base_url)
        self.records = OwnRecords(self.evidence, target.ledger)
        self.waits = Waits(self.evidence, lag or Lag(target.limits.lag / Limits.lag), target.availability)
        self.freed_label = ""
        self.min_records = MIN_RECORDS
        self.largest = max(resource.page_sizes)
        self.most_pages = MAX_PAGES
        self.moments = MOMENTS
        self.writes = not target.limits.read_only
        self._witnesses = Witnesses(target, self.records)

    def send(self, request: Request, entry: Entry | None = None) -> Exchange:
        """Send a request, keep the exchange, and note which of the run's records it showed.

        Args:
            entry: of a create, what the ledger plans.
        """
        try:
            exchange = self.target.send(request, self._witnesses.send)
            self._witnesses.remove()
        except BudgetSpentError as error:
            if entry and not error.was_sent:
                self.target.ledger.note_removed(entry)
            raise
        if request.method != "GET":
            self.waits.note_write()
        self.evidence.exchanges.append(exchange)
        if request.identity in (OWN_KEY, OTHER) and request.operation in ("read", "list"):
            self.records.note_shown(exchange)
        if entry:
            self.records.note_create(entry, exchange)
        return exchange

    def side_by_side(self, steps: Sequence[Callable[[], Result]]) -> Sequence[Result]:
        """The results of steps that only send requests which do not disturb each other, sent at once where possible."""
        exchanges, start = self.evidence.exchanges, len(self.evidence.exchanges)
        try:
            return self.target.side_by_side(steps)
        finally:
            exchanges[start:] = sorted(exchanges[start:], key=lambda exchange: exchange.number)

    def lists(self, *queries: Mapping[str, str], expects: Expect = Expect.SUCCESS) -> Sequence[Exchange]:
        """Lists with several queries, side by side."""
        return self.side_by_side([partial(self.send, self.list_of(query, expects)) for query in queries])

    def list(self, expects: Expect = Expect.SUCCESS, identity: str = OWN_KEY, **query: str) -> Exchange:
        return self.send(self.list_of(query, expects, identity))

    def page(self, **query: str) -> Page | None:
        return self.send(self.list_of(query)).page

    def read(self, identifier: int | str, expects: Expect = Expect.SUCCESS, identity: str = OWN_KEY) -> Exchange:
        return self.send(request_of(self.resource, "read", identifier, expects, identity=identity))

    def update(
        self,
        identifier: int,
        form: Mapping[str, FormValue] | None,
        expects: Expect = Expect.SUCCESS,
        identity: str = OWN_KEY,
        form_style: FormStyle = USUAL,
    ) -> Exchange:
        request = request_of(
            self.resource, "update", identifier, expects, form=form, identity=identity, form_style=form_style
        )
        self.records.note_update(request)
        return self.send(request)

    def delete(self, identifier: int, expects: Expect = Expect.SUCCESS, identity: str = OWN_KEY) -> Exchange:
        return self.send(request_of(self.resource, "delete", identifier, expects, identity=identity))

    def post(  # noqa: PLR0913 - all that a create may differ in
        self,
        form: Mapping[str, FormValue] | None,
        expects: Expect = Expect.SUCCESS,
        identity: str = OWN_KEY,
        marker: str = "",
        omitted: str = "",
        *,
        form_style: FormStyle = USUAL,
    ) -> Exchange:
        """Send a create, and note what it may have made.

        Args:
            marker: the text that marks the record, unless its name or host begins with it.
            omitted: the required field that is left out, if one is.
        """
        owner = identity if identity == OTHER else OWN_KEY
        marker = marker or mark_of((form or {}).get(self.resource.label))
        entry = self.target.ledger.plan(self.resource.name, marker, owner, omitted)
        return self.send(self.records.create_of(expects, form=form, identity=identity, form_style=form_style), entry)

    def post_raw(self, marker: str, media_type: str, body: bytes) -> Exchange:
        """Send a create whose body is not a form, or only half of one, with a marker somewhere in it."""
        entry = self.target.ledger.plan(self.resource.name, marker)
        return self.send(self.records.create_of(Expect.OPEN, body=(media_type, body)), entry)

    def list_of(self, query: Mapping[str, str], expects: Expect = Expect.SUCCESS, identity: str = OWN_KEY) -> Request:
        return request_of(self.resource, "list", expects=expects, identity=identity, query=tuple(query.items()))

    def note_period(self, event: str, before: Listing, after: Listing, **ids: set[Any]) -> Listing:
        """Note the listings around some writes, with the ids `created`, `removed` or `changed`; return the last one."""
        period = ChangePeriod(event, before, after, **{name: frozenset(record_ids) for name, record_ids in ids.items()})
        self.evidence.change_periods.append(period)
        return after

    def list_all(self) -> Listing:
        pages: list[Page] = []
        complete = False
        while len(pages) < self.most_pages and not complete:
            query = {"results_per_page": str(self.largest), "page": str(len(pages) + 1)}
            page = self.send(self.list_of(query)).page
            if page is None:
                break
            pages.append(page)
            complete = len(page.rows) < page.meta.get("results_per_page", self.largest)
            complete = complete or sum(len(listed_page.rows) for listed_page in pages) == page.total
            if self.most_pages == MAX_PAGES:  # fewer, if they are long
                self.most_pages = max(2, min(MAX_PAGES, MAX_LISTING_BYTES // len(page.exchange.body)))
        if pages:
            self.target.ledger.note_listed(self.resource.name)
        if complete and len(pages) == 1:
            self.target.ledger.note_all_ids(self.resource.name, map(whole_id, pages[0].rows))
        return Listing(tuple(pages), complete)

    def list_settled(self) -> Listing:
        """List the collection once reads that lag show the last write."""
        self.waits.let_settle()
        return self.list_all()

    def read_until(self, write: str, awaited_reads: Sequence[AwaitedRead]) -> Sequence[Exchange]:
        """Read records side by side, each until it shows the state after a write; as `Waits.for_state` does."""
        self.waits.let_settle()
        fetches = [partial(self.read, awaited.identifier) for awaited in awaited_reads]
        return [
            self.waits.for_state(write, fetch, awaited.is_done, read, due=awaited.due)
            for fetch, awaited, read in zip(fetches, awaited_reads, self.side_by_side(fetches), strict=True)
        ]

    def try_page(self, **query: str) -> None:
        """List a page that may not exist; if it does, the request counts as documented."""
        self.count_if_accepted(self.list(Expect.OPEN, **query))

    def count_if_accepted(self, exchange: Exchange) -> None:
        """Count the request that was sent last as documented, if it was accepted."""
        self.evidence.exchanges[-1] = exchange.documented_if_accepted(self.resource)

    def retry(self, send: Callable[[], Exchange]) -> Exchange:
        """Send a request that may fail temporarily: up to three times, and more often if trouble is why it failed."""
        exchange = send()
        for number in range(MAX_RETRIES):
            if not exchange.failed or (number >= TRIES - 1 and exchange.expects is not Expect.IGNORED):
                break
            exchange = send().after(exchange)
            self.evidence.exchanges[-1] = exchange
        return exchange

    def retry_each(self, sends: Sequence[Callable[[], Exchange]]) -> Sequence[Exchange]:
        """Send requests side by side, and those that fail again, as `retry` does."""
        exchanges = self.side_by_side(sends)
        return [
            self.retry(send) if exchange.failed else exchange for send, exchange in zip(sends, exchanges, strict=True)
        ]

    def shows(self, exchange: Exchange, marker: str) -> bool:
        return exchange.record is not None and holds(exchange.body.decode("utf-8", "replace"), marker)
