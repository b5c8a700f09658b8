"""The steps of a visit: documented requests, each with the waiting that slow replicas need."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from contract_tests.evidence import Evidence, Listing
from contract_tests.exchange import OTHER, OWN, TRIES, Exchange, Expect, FormValue, Page, Request
from contract_tests.markers import holds, mark_of
from contract_tests.multipart import USUAL, Shape
from contract_tests.survey.requests import delete_of, list_of, read_of, update_of
from contract_tests.survey.waiting import Lag, sleep_until
from contract_tests.target.entries import Entry
from contract_tests.target.limits import Limits
from contract_tests.target.target import BudgetSpentError, Target
from link_management_contract import Resource

BETWEEN_LOOKS = 0.05  # seconds, while the lag is measured
MOST_PAGES, LONGEST_LISTING = 5, 2 << 20  # pages of a listing, and its bytes, about
GIVEN_UP = (502, 504)  # from a gateway that got no answer from the server
Seen = TypeVar("Seen")


class Visitor:
    """Visits one resource.

    Args:
        target: where requests go.
        resource: the resource.
        evidence: where to keep what is seen.
        marker: the beginning of every text that marks a record of the run.
        create_path: another path for creates than the documented one, or None.

    Attributes:
        writes: whether records are created, changed and deleted; false once a created one could not be seen.
        largest: the page size of listings.
        most_pages: how many pages a listing reads at most.
        create_path: where creates are sent.
    """

    def __init__(  # noqa: PLR0913 - callers give the options by name
        self,
        target: Target,
        resource: Resource,
        evidence: Evidence,
        marker: str,
        create_path: str | None = None,
        *,
        lag: Lag | None = None,
    ) -> None:
        self.target, self.resource, self.evidence, self.marker = target, resource, evidence, marker
        self.largest = max(resource.page_sizes)
        self.most_pages = MOST_PAGES
        self.create_path = create_path or resource.create_path
        self.lag = lag or Lag(target.limits.lag / Limits.lag)
        self.writes = not target.limits.read_only
        self._count = 0
        self._missed: set[str] = set()

    def list(self, expects: Expect = Expect.SUCCESS, identity: str = OWN, **query: str) -> Exchange:
        """List one page."""
        return self.send(list_of(self.resource, query, expects, identity))

    def page(self, **query: str) -> Page | None:
        """List one page, and read it if that is possible."""
        return self.list(Expect.SUCCESS, OWN, **query).page

    def read(self, identifier: int | str, expects: Expect = Expect.SUCCESS, identity: str = OWN) -> Exchange:
        """Read one record."""
        return self.send(read_of(self.resource, identifier, expects, identity))

    def update(
        self,
        identifier: int,
        form: Mapping[str, FormValue] | None,
        expects: Expect = Expect.SUCCESS,
        identity: str = OWN,
        shape: Shape = USUAL,
    ) -> Exchange:
        """Update one of the run's own records."""
        request = update_of(self.resource, identifier, form, expects, identity, shape)
        self.note_update(request)
        return self.send(request)

    def note_update(self, request: Request) -> None:
        """Note a new name or host in the ledger, before it is sent."""
        label = (request.form or {}).get(self.resource.label)
        if label and request.identifier is not None:
            self.target.ledger.mark(self.resource.name, request.identifier, mark_of(label))

    def delete(self, identifier: int, expects: Expect = Expect.SUCCESS, identity: str = OWN) -> Exchange:
        """Delete one of the run's own records."""
        return self.send(delete_of(self.resource, identifier, expects, identity))

    def post(
        self,
        form: Mapping[str, FormValue] | None,
        expects: Expect = Expect.SUCCESS,
        identity: str = OWN,
        marker: str = "",
        without: str = "",
    ) -> Exchange:
        """Send a create, and note what it may have made.

        Args:
            form: the fields; None for a request without a body.
            expects: as for a request.
            identity: whose key is sent.
            marker: the text that marks the record, unless its name or host begins with it.
            without: the required field that is left out, if one is.
        """
        owner = identity if identity == OTHER else OWN
        marker = marker or mark_of((form or {}).get(self.resource.label))
        entry = self.target.ledger.plan(self.resource.name, marker, owner, without)
        request = Request("create", self.resource.name, "POST", self.create_path, (), form, identity, None, expects)
        return self._make(entry, request)

    def post_raw(self, marker: str, media_type: str, body: bytes) -> Exchange:
        """Send a create whose body is not a form, or only half of one, with a marker somewhere in it."""
        entry = self.target.ledger.plan(self.resource.name, marker)
        raw = (media_type, body)
        return self._make(
            entry, Request("create", self.resource.name, "POST", self.create_path, expects=Expect.OPEN, body=raw)
        )

    def _make(self, entry: Entry, request: Request) -> Exchange:
        try:
            exchange = self.send(request)
        except BudgetSpentError:  # it was not sent
            self.target.ledger.forget(entry)
            raise
        self.note_create(entry, exchange)
        return exchange

    def note_create(self, entry: Entry, exchange: Exchange) -> None:
        """Note what became of a create."""
        request = exchange.request
        if exchange.made_id is not None and request.identity == OWN:
            self.own(entry, exchange.made_id)
        elif exchange.made_id is not None:
            self.target.ledger.complete(entry, exchange.made_id)
        elif not exchange.number:
            self.target.ledger.forget(entry)
        elif exchange.status is not None and exchange.status not in GIVEN_UP:
            strangers = exchange.succeeded and request.identity not in (OWN, OTHER)
            self.target.ledger.answer(entry, refused=exchange.is_refusal or strangers)

    def own(self, entry: Entry, identifier: int) -> None:
        """Note a record as one that the run made."""
        self.target.ledger.complete(entry, identifier)
        self.evidence.own[self.resource.name].add(identifier)

    def snapshot(self, good: Callable[[Listing], bool] = lambda _: True, write: str = "") -> Listing:
        """List the collection, waiting until it is as expected after a write."""
        return self.until(write, self.look, good)

    def look(self) -> Listing:
        """List the collection as it is now."""
        pages: list[Page] = []
        complete = False
        while len(pages) < self.most_pages and not complete:
            page = self.page(results_per_page=str(self.largest), page=str(len(pages) + 1))
            if page is None:
                break
            pages.append(page)
            complete = len(page.rows) < page.meta.get("results_per_page", self.largest)
            complete = complete or sum(len(each.rows) for each in pages) == page.total
            if self.most_pages == MOST_PAGES:  # fewer, if they are long
                self.most_pages = max(2, min(MOST_PAGES, LONGEST_LISTING // len(page.exchange.body)))
        return Listing(tuple(pages), complete)

    def until(self, write: str, look: Callable[[], Seen], good: Callable[[Seen], bool], *, due: bool = False) -> Seen:
        """Call `look` until its result is good: for about two seconds, or less if such a state did not come before.

        All exchanges but those of the last call count as a slow replica's, and no rule judges them. Once one was seen,
        replicas and caches are given time after each write.

        Args:
            write: the operation that leads to the state.
            look: sends the requests.
            good: whether their result shows the state.
            due: whether every correct server comes to show it, whatever others do.
        """
        settled = self.settle()
        begin = len(self.evidence.exchanges)
        seen, lags = look(), False
        for pause in self.lag.pauses(self.resource.name, write, missed=write in self._missed):
            if good(seen):
                return self._measure(look, good, seen, settled=settled) if lags else seen
            lags = True
            time.sleep(pause)
            self._overlook(begin)
            begin = len(self.evidence.exchanges)
            seen = look()
        if not good(seen):
            self._missed.add(write)
            self.lag.miss(self.resource.name, write, due=due)
        return seen

    def _measure(self, look: Callable[[], Seen], good: Callable[[Seen], bool], seen: Seen, *, settled: bool) -> Seen:
        """Learn for how long reads are behind: another replica may be so for longer than the one that has answered."""
        wrote = self.lag.wrote[self.resource.name]
        behind = time.monotonic() - wrote
        while not settled and time.monotonic() < wrote + self.lag.whole:
            begin = len(self.evidence.exchanges)
            latest = look()
            if good(latest):
                seen = latest
            else:
                behind = time.monotonic() - wrote
                self._overlook(begin)
            time.sleep(BETWEEN_LOOKS)
        self.lag.learn(behind, settled=settled)
        return seen

    def try_page(self, **query: str) -> None:
        """List a page that may not exist; if it does, the request counts as documented."""
        self.settle_last(self.list(Expect.OPEN, **query))

    def settle_last(self, exchange: Exchange) -> None:
        """Count the request that was sent last as documented, if it was accepted."""
        self.evidence.exchanges[-1] = exchange.settled(self.resource)

    def treat(self, exchange: Exchange, expects: Expect) -> None:
        """Judge an answer by another expectation than when the request was sent."""
        place = self.evidence.exchanges.index(exchange)
        self.evidence.exchanges[place] = replace(exchange, treated_as=expects)

    def insist(self, look: Callable[[], Exchange]) -> Exchange:
        """Send a request that may fail temporarily, up to three times."""
        exchange = look()
        for _ in range(TRIES - 1):
            if not exchange.failed:
                break
            exchange = replace(look(), attempts=(*exchange.attempts, exchange.status))
            self.evidence.exchanges[-1] = exchange
        return exchange

    def _overlook(self, begin: int) -> None:
        exchanges = self.evidence.exchanges
        exchanges[begin:] = [replace(each, treated_as=Expect.OVERLOOKED) for each in exchanges[begin:]]

    def shows(self, exchange: Exchange, marker: str) -> bool:
        """Whether a read shows the record with this marker."""
        text = exchange.body.decode("utf-8", "replace")
        return exchange.record is not None and holds(text, marker)

    def settle(self) -> bool:
        """Give replicas and caches time since the last write, if reads were seen to lag; return whether they were."""
        settling = self.lag.settling
        sleep_until(self.lag.wrote[self.resource.name] + settling)
        return settling > 0

    @property
    def is_rested(self) -> bool:
        """Whether no replica or cache can be out of date, as nothing was written for long enough."""
        return time.monotonic() >= self.lag.wrote[self.resource.name] + self.lag.whole

    def mark(self) -> str:
        """The marker of a new record, a name or a host."""
        self._count += 1
        text = f"{self.marker}-{self._count}z"  # ends with a letter, so that no further digit follows
        self.evidence.markers.add(text)
        return f"{text}.example.com" if self.resource.label == "host" else text

    def least(self, **more: str) -> dict[str, FormValue]:
        """A form with only the required fields, and more if given."""
        form: dict[str, FormValue] = {self.resource.label: self.mark()}
        if "type" in self.resource.required:
            form["type"] = "webhook"
        return form | more

    def send(self, request: Request) -> Exchange:
        """Send a request, keep the exchange, and note which of the run's records it showed."""
        exchange = self.target.send(request)
        if request.method != "GET":
            self.lag.wrote[self.resource.name] = time.monotonic()
        self.evidence.exchanges.append(exchange)
        if request.identity in (OWN, OTHER) and request.operation in ("read", "list"):
            rows = exchange.page.rows if exchange.page else [exchange.record or {}]
            self.target.ledger.look(self.resource.name, rows, request.identity)
        return exchange
