"""Documented requests of a visit, each with the waiting that slow replicas need."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from threading import get_ident
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
from contract_tests.target.budget import BudgetSpentError, Limits
from contract_tests.target.ledger import Entry
from contract_tests.target.target import Target
from link_management_contract import Resource

PAUSES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.4, 0.5)  # seconds between tries, for a lag of 2.1 seconds
SETTLING = 1.2  # seconds until no usual replica or cache shows the state before a write, and clocks have moved on
REDUCED_WAIT = 0.5  # seconds to wait for a state, once one did not come in the whole time
MARGIN = 0.1  # seconds more than the longest lag that was seen
BETWEEN_LOOKS = 0.05  # seconds, while the lag is measured
MAX_PAGES, MAX_LISTING_BYTES = 5, 2 << 20  # pages of a listing, and its bytes, about
MOMENTS = 10  # 45 requests with the second key in three resources
MIN_RECORDS = 26  # more than the default page size, and three pages of the smallest
MAX_RETRIES = 10  # of a create that trouble has hit
GATEWAY_STATUSES = (502, 504)  # from a gateway that got no answer from the server
Result = TypeVar("Result")


class Lag:
    """How far reads lag behind writes, as far as a run has seen; shared by its visits.

    Args:
        factor: how long they may lag, compared with what is usual.

    Attributes:
        settling: seconds from a write until reads show it; zero as long as none was seen to lag.
        wrote: when each resource was last written to, by the monotonic clock.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self.settling = 0.0
        self.wrote: dict[str, float] = defaultdict(float)
        self._missed_writes: set[tuple[str, str]] = set()
        self._broken: set[str] = set()

    @property
    def max_wait(self) -> float:
        """Seconds until reads surely show a write, as far as is known of services like this."""
        return SETTLING * self._factor

    def wait_out(self) -> None:
        """Wait until no replica or cache is out of date."""
        time.sleep(self.max_wait)

    def record_lag(self, seconds: float, *, waited_out: bool) -> None:
        """Note by how much a read was behind; if it was although the lag was known, nothing is known of it.

        Args:
            seconds: from the last write to the last read that did not show it.
            waited_out: whether that read came after the time that was known.
        """
        self.settling = self.max_wait if waited_out else max(self.settling, min(self.max_wait, seconds + MARGIN))

    def has_missed(self, resource: str, write: str) -> bool:
        return (resource, write) in self._missed_writes

    def note_missed(self, resource: str, write: str, *, due: bool = False) -> None:
        """Note that the state after a write did not come; if it was due, this server is broken."""
        self._missed_writes.add((resource, write))
        if due:
            self._broken.add(resource)

    def pauses(self, resource: str, write: str, *, has_missed: bool) -> Iterator[float]:
        """The seconds between looks for the state after a write; fewer after such a state did not come once.

        The time that looks take counts, too, so a slow server is hardly waited for longer than a fast one.

        Args:
            has_missed: whether it did not come earlier in the same visit.
        """
        left = sum(PAUSES) * self._factor
        if has_missed:
            left = min(left, self.settling)
        elif resource in self._broken or self.has_missed(resource, write):
            left = min(left, max(REDUCED_WAIT, self.settling))
        last_look = time.monotonic()
        end = last_look + left
        for pause in PAUSES:
            if last_look >= end:
                return
            now = time.monotonic()
            last_look = max(now, min(now + pause * self._factor, end))
            yield last_look - now


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
        marker: the beginning of every text that marks a record of the run.
        lag: what is known of the lag of reads; visits share it.
        writes: whether records are created, changed and deleted; false once a created one could not be seen.
        freed_label: the name or host of a record of the run that was deleted; empty if there is none.
        min_records: how many records there have to be for paging to be judged; the run creates those that are missing.
        largest: the page size of listings.
        most_pages: how many pages a listing reads at most.
        create_path: where creates are sent.
        moments: how often lists and reads with both keys are sent at one moment.
    """

    def __init__(
        self, target: Target, resource: Resource, evidence: Evidence | None = None, lag: Lag | None = None
    ) -> None:
        self.target = target
        self.resource = resource
        self.evidence = evidence or Evidence(resource, target.base_url)
        self.marker = ""
        self.freed_label = ""
        self.min_records = MIN_RECORDS
        self.largest = max(resource.page_sizes)
        self.most_pages = MAX_PAGES
        self.create_path = resource.create_path
        self.moments = MOMENTS
        self.lag = lag or Lag(target.limits.lag / Limits.lag)
        self.writes = not target.limits.read_only
        self._numbers = count(1)  # of markers
        self._missed_writes: set[str] = set()
        self._witness_ids: dict[int, list[int]] = defaultdict(list)  # by the thread that made them

    def send(self, request: Request, entry: Entry | None = None) -> Exchange:
        """Send a request, keep the exchange, and note which of the run's records it showed.

        Args:
            entry: of a create, what the ledger plans.
        """
        try:
            exchange = self.target.send(request, self._send_witness)
            self._remove_witnesses()
        except BudgetSpentError as error:
            if entry and not error.was_sent:
                self.target.ledger.note_removed(entry)
            raise
        if request.method != "GET":
            self.lag.wrote[self.resource.name] = time.monotonic()
        self.evidence.exchanges.append(exchange)
        if request.identity in (OWN_KEY, OTHER) and request.operation in ("read", "list"):
            rows = exchange.page.rows if exchange.page else [exchange.record or {}]
            self.target.ledger.note_listing(self.resource.name, rows, request.identity)
            if request.identifier is not None and exchange.succeeded and exchange.json is None:
                text = exchange.body.decode("utf-8", "replace")  # which its text may have spoilt
                self.target.ledger.note_text(self.resource.name, request.identifier, text, request.identity)
        if entry:
            self.note_create(entry, exchange)
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

    def _send_witness(self, request: Request) -> Exchange | None:
        """Send a write like another, about a record that is made for that.

        Returns:
            The answer, or that to the step before it that failed; None if there can be no such record.
        """
        send, operation, made_ids = self.target.send_once, request.operation, self._witness_ids[get_ident()]
        form = self.required_form()
        entry = self.target.ledger.plan(self.resource.name, mark_of(form[self.resource.label]))
        exchange = send(self.create_of(Expect.SUCCESS, form=form))
        self.note_create(entry, exchange)
        if exchange.made_id is not None:
            made_ids.append(exchange.made_id)
        if operation == "create" or self.target.availability.is_trouble(exchange):
            return exchange
        if exchange.made_id is None:
            return None
        read = send(request_of(self.resource, "read", exchange.made_id))
        self.target.ledger.note_listing(self.resource.name, [read.record or {}])
        if not self.target.ledger.allows_write(self.resource.name, exchange.made_id):
            return read if self.target.availability.is_trouble(read) else None
        changes = {self.resource.label: form[self.resource.label]} if operation == "update" else None
        write = request_of(self.resource, operation, exchange.made_id, form=changes)
        if self.target.bystanders.may_hit_others(write):
            return None
        exchange = send(write)
        if operation == "delete" and exchange.succeeded:
            self.target.ledger.note_deleted(self.resource.name, made_ids.pop())
        return exchange

    def _remove_witnesses(self) -> None:
        """Delete what was made as a witness, as far as the server does it by now; clean-up sees to the rest."""
        resource, ledger, made_ids = self.resource.name, self.target.ledger, self._witness_ids[get_ident()]
        while made_ids:
            identifier = made_ids.pop()
            read = self.target.send_once(request_of(self.resource, "read", identifier, Expect.OPEN))
            ledger.note_listing(resource, [read.record or {}])
            if read.record and ledger.allows_write(resource, identifier):
                deleted = self.target.send(request_of(self.resource, "delete", identifier, Expect.OPEN))
                if deleted.succeeded:
                    ledger.note_deleted(resource, identifier)

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
        self.note_update(request)
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
        return self.send(self.create_of(expects, form=form, identity=identity, form_style=form_style), entry)

    def post_raw(self, marker: str, media_type: str, body: bytes) -> Exchange:
        """Send a create whose body is not a form, or only half of one, with a marker somewhere in it."""
        entry = self.target.ledger.plan(self.resource.name, marker)
        return self.send(self.create_of(Expect.OPEN, body=(media_type, body)), entry)

    def create_of(self, expects: Expect, **attributes: Any) -> Request:
        """A create; its record has to be planned in the ledger before it is sent."""
        return replace(request_of(self.resource, "create", expects=expects, **attributes), path=self.create_path)

    def list_of(self, query: Mapping[str, str], expects: Expect = Expect.SUCCESS, identity: str = OWN_KEY) -> Request:
        return request_of(self.resource, "list", expects=expects, identity=identity, query=tuple(query.items()))

    def note_update(self, request: Request) -> None:
        label = (request.form or {}).get(self.resource.label)
        if label and request.identifier is not None:  # the other account's record may have the same id
            for owner in dict.fromkeys((OWN_KEY, request.identity)):
                self.target.ledger.note_marker(self.resource.name, request.identifier, mark_of(label), owner)

    def note_create(self, entry: Entry, exchange: Exchange) -> None:
        request = exchange.request
        if exchange.made_id is not None and request.identity == OWN_KEY:
            self.note_own(entry, exchange.made_id)
        elif exchange.made_id is not None:
            self.target.ledger.note_id(entry, exchange.made_id)
        elif not exchange.was_sent:
            self.target.ledger.note_removed(entry)
        elif exchange.status is not None and exchange.status not in GATEWAY_STATUSES:
            unauthorized = exchange.succeeded and request.identity not in (OWN_KEY, OTHER)
            self.target.ledger.note_answer(entry, is_refused=exchange.is_refusal or unauthorized)

    def note_period(self, event: str, before: Listing, after: Listing, **ids: set[Any]) -> Listing:
        """Note the listings around some writes, with the ids `created`, `removed` or `changed`; return the last one."""
        period = ChangePeriod(event, before, after, **{name: frozenset(record_ids) for name, record_ids in ids.items()})
        self.evidence.change_periods.append(period)
        return after

    def note_own(self, entry: Entry, identifier: int) -> None:
        self.target.ledger.note_id(entry, identifier)
        self.evidence.created_ids.add(identifier)

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
        if complete and len(pages) == 1:
            self.target.ledger.note_all_ids(self.resource.name, map(whole_id, pages[0].rows))
        return Listing(tuple(pages), complete)

    def list_settled(self) -> Listing:
        """List the collection once reads that lag show the last write."""
        self.let_settle()
        return self.list_all()

    def wait_until(
        self,
        write: str,
        fetch: Callable[[], Result],
        is_done: Callable[[Result], bool],
        first: Result | None = None,
        *,
        due: bool = False,
    ) -> Result:
        """Call `fetch` until its result is good: for about two seconds, or less if such a state did not come before.

        All exchanges but those of the last call count as a slow replica's, and no rule judges them. Once one was seen,
        replicas and caches are given time after each write. Nothing is waited for where such writes never work.

        Args:
            write: the operation that leads to the state.
            fetch: sends the requests.
            is_done: whether their result shows the state.
            first: the result of a first look, an exchange, if there was one just now.
            due: whether every correct server comes to show it, whatever others do.
        """
        waited_out, never_works = self.let_settle(), (self.resource.name, write) in self.target.availability.hopeless
        start = len(self.evidence.exchanges)
        result, lags = fetch() if first is None else first, False
        for pause in self.lag.pauses(self.resource.name, write, has_missed=write in self._missed_writes):
            if is_done(result) or never_works:
                return self._measure_lag(fetch, is_done, result, waited_out=waited_out) if lags else result
            lags = True
            time.sleep(pause)
            if result is first and isinstance(first, Exchange):
                self.treat(first, Expect.IGNORED)
            self._overlook(start)
            start = len(self.evidence.exchanges)
            result = fetch()
        if not is_done(result):
            self._missed_writes.add(write)
            self.lag.note_missed(self.resource.name, write, due=due)
        return result

    def read_until(self, write: str, awaited_reads: Sequence[AwaitedRead]) -> Sequence[Exchange]:
        """Read records side by side, each until it shows the state after a write; as `wait_until` does."""
        self.let_settle()
        fetches = [partial(self.read, awaited.identifier) for awaited in awaited_reads]
        return [
            self.wait_until(write, fetch, awaited.is_done, read, due=awaited.due)
            for fetch, awaited, read in zip(fetches, awaited_reads, self.side_by_side(fetches), strict=True)
        ]

    def _measure_lag(
        self, fetch: Callable[[], Result], is_done: Callable[[Result], bool], result: Result, *, waited_out: bool
    ) -> Result:
        """Learn for how long reads are behind: another replica may be so for longer than the one that has answered."""
        wrote = self.lag.wrote[self.resource.name]
        lag_seconds = time.monotonic() - wrote
        while not waited_out and time.monotonic() < wrote + self.lag.max_wait:
            start = len(self.evidence.exchanges)
            latest = fetch()
            if is_done(latest):
                result = latest
            else:
                lag_seconds = time.monotonic() - wrote
                self._overlook(start)
            time.sleep(BETWEEN_LOOKS)
        self.lag.record_lag(lag_seconds, waited_out=waited_out)
        return result

    def let_settle(self) -> bool:
        """Give replicas and caches time since the last write, if reads were seen to lag; return whether they were."""
        settling = self.lag.settling
        time.sleep(max(0.0, self.lag.wrote[self.resource.name] + settling - time.monotonic()))
        return settling > 0

    @property
    def is_rested(self) -> bool:
        """Whether no replica or cache can be out of date, as nothing was written for long enough."""
        return time.monotonic() >= self.lag.wrote[self.resource.name] + self.lag.max_wait

    def let_a_second_pass(self, exchange: Exchange) -> None:
        """Wait until a server's clock shows another second than when it answered."""
        seconds_passed = time.time() - exchange.started_at - exchange.seconds
        time.sleep(max(0.0, SETTLING - max(0.0, seconds_passed)))

    def try_page(self, **query: str) -> None:
        """List a page that may not exist; if it does, the request counts as documented."""
        self.count_if_accepted(self.list(Expect.OPEN, **query))

    def count_if_accepted(self, exchange: Exchange) -> None:
        """Count the request that was sent last as documented, if it was accepted."""
        self.evidence.exchanges[-1] = exchange.documented_if_accepted(self.resource)

    def treat(self, exchange: Exchange, expects: Expect) -> None:
        """Judge an answer by another expectation than when the request was sent."""
        position = self.evidence.exchanges.index(exchange)
        self.evidence.exchanges[position] = replace(exchange, judged_as=expects)

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

    def _overlook(self, start: int) -> None:
        exchanges = self.evidence.exchanges
        exchanges[start:] = [replace(exchange, judged_as=Expect.IGNORED) for exchange in exchanges[start:]]

    def shows(self, exchange: Exchange, marker: str) -> bool:
        return exchange.record is not None and holds(exchange.body.decode("utf-8", "replace"), marker)

    def marker_of(self, number: int) -> str:
        """The beginning of the markers of this run and this resource, with a number that tells visits apart."""
        return f"ct{number}{len(self.resource.name) % 16:x}{self.target.ledger.token}"

    def new_marker(self) -> str:
        text = f"{self.marker}-{next(self._numbers)}z"  # ends with a letter, so that no further digit follows
        self.evidence.markers.add(text)
        return f"{text}.example.com" if self.resource.label == "host" else text

    def required_form(self, **extra_fields: str) -> dict[str, FormValue]:
        form: dict[str, FormValue] = {self.resource.label: self.new_marker()}
        if "type" in self.resource.required:
            form["type"] = "webhook"
        return form | extra_fields
