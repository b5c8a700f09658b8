"""The evidence of a visit, indexed the way rules need it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect, Page, id_of
from contract_tests.evidence.marks import begins
from link_management_contract import Resource

Record = dict[str, Any]


@dataclass(frozen=True)
class Listing:
    """A whole collection, or as much of it as is read at once, from pages read one after the other."""

    pages: tuple[Page, ...]
    complete: bool

    @cached_property
    def rows(self) -> tuple[Record, ...]:
        return tuple(row for page in self.pages for row in page.rows)

    @cached_property
    def ids(self) -> tuple[Any, ...]:
        return tuple(id_of(row) for row in self.rows if id_of(row) is not None)

    @cached_property
    def by_id(self) -> dict[Any, Record]:
        return {id_of(row): row for row in self.rows if id_of(row) is not None}

    @property
    def total(self) -> int | None:
        return self.pages[0].total if self.pages else None

    @property
    def exchange(self) -> Exchange | None:
        """The exchange of the last page."""
        return self.pages[-1].exchange if self.pages else None


@dataclass(frozen=True)
class Creation:
    """A create of the run, and the read of its record before anything else was done to it."""

    exchange: Exchange
    form: Mapping[str, str]
    before: frozenset[Any]
    identifier: int | None = None
    read: Exchange | None = None


@dataclass(frozen=True)
class Change:
    """An update of one of the run's own records, and the reads before and after it."""

    exchange: Exchange
    form: Mapping[str, str]
    before: Record
    read: Exchange | None = None

    @property
    def record(self) -> Record | None:
        return self.read.record if self.read else None


@dataclass(frozen=True)
class RepeatedListing:
    """Lists of the same records in quick succession, then one after a rest; each shows the effect of the one before.

    Attributes:
        listings: what each quick list showed, records by id.
        after_pause: what the list after the rest showed.
    """

    listings: tuple[Mapping[Any, Record], ...]
    after_pause: Mapping[Any, Record]
    exchange: Exchange

    @property
    def is_their_doing(self) -> bool:
        """Whether each list changed something and waiting changed no more than that, so nobody else is the cause."""
        pairs = list(pairwise(self.listings))
        changes = [_changes(one, other) for one, other in pairs]
        return bool(pairs) and all(changes) and _changes(self.listings[-1], self.after_pause) <= max(changes)


def _changes(one: Mapping[Any, Record], other: Mapping[Any, Record]) -> int:
    return sum(other.get(identifier) != record for identifier, record in one.items())


@dataclass(frozen=True)
class Removal:
    """A delete of one of the run's own records, and what was seen of it afterwards, also after one more update."""

    exchange: Exchange
    read: Exchange | None = None
    after: Listing | None = None
    late_update: Exchange | None = None
    late_read: Exchange | None = None
    late_list: Listing | None = None

    def is_seen(self, resource: Resource) -> bool:
        """Whether the delete succeeded, and neither the read nor the listing straight after it shows the record."""
        is_listed = self.after is not None and self.exchange.request.identifier in self.after.ids
        is_shown = self.read is not None and self.read.shows(resource)
        return self.exchange.succeeded and not is_listed and not is_shown


@dataclass(frozen=True)
class BystanderCheck:
    """What a write has done to another record: one with its id in another resource or account, or the run's next one.

    Attributes:
        write: the write; the read before it, if it is about what that read shows.
        collection: the resource, and whose records of it.
        is_own: whether the run made it.
        is_hit: whether the write changed or removed it; of a read, whether it shows the record that was written to.
    """

    write: Exchange
    after: Exchange
    collection: tuple[str, str]
    is_own: bool
    is_hit: bool

    @property
    def is_in_same_list(self) -> bool:
        """Whether the other record is of the same resource and account."""
        return self.collection == (self.write.request.resource, OWN_KEY)

    @property
    def sentence(self) -> str:
        """What the write hit."""
        request, (resource, owner) = self.write.request, self.collection
        act = "removed" if request.operation == "delete" else "wrote to"
        record = "another record of the run" if self.is_own else "a record of others"
        account = " of the second account" if owner == OTHER else ""
        write = f"the {request.operation} of {request.resource} {request.identifier}"
        return f"{write} {act} {resource} {self.after.request.identifier}{account}, {record}"


@dataclass(frozen=True)
class Simultaneous:
    """Lists and reads that were sent at one moment, with one key or both, and the account's own list around them."""

    exchanges: tuple[Exchange, ...]
    before: Page | None
    after: Page | None


@dataclass(frozen=True)
class KeyReads:
    """Reads of one record with the account's key and with that key in other cases.

    Attributes:
        first: with the key, over a new connection; then `other_second`, in other cases, over the same one.
        other_first: in other cases, over a new connection; then `second`, with the key, over the same one.
        alone: with the key, over a new connection, after all these.
    """

    first: Exchange
    other_second: Exchange
    other_first: Exchange
    second: Exchange
    alone: Exchange


@dataclass(frozen=True)
class UnreadableText:
    """A create whose name is not UTF-8, and then a read of its record and a list."""

    created: Exchange
    read: Exchange
    listing: Exchange


@dataclass(frozen=True)
class ChangePeriod:
    """The collection before and after some writes of the run, with the ids that it made and removed in between."""

    event: str
    before: Listing
    after: Listing
    created: frozenset[Any] = frozenset()
    removed: frozenset[Any] = frozenset()
    changed: frozenset[Any] = frozenset()

    @property
    def appeared(self) -> set[Any]:
        return _all_but_the_end(self.after, self.before) - set(self.before.ids) - self.created

    @property
    def disappeared(self) -> set[Any]:
        return _all_but_the_end(self.before, self.after) - set(self.after.ids) - self.removed


def _all_but_the_end(one: Listing, other: Listing) -> set[Any]:
    """The ids of a listing; where only beginnings are listed, without those that writes may have moved over the end."""
    ids = list(one.ids)
    while ids and ids[-1] not in other.by_id and not (one.complete and other.complete):
        ids.pop()
    return set(ids)


@dataclass(frozen=True)
class PagingScan:
    """Pages of one collection, between two listings of its beginning at the largest size."""

    before: Listing
    pages: tuple[Page, ...]
    after: Listing

    @property
    def is_stable(self) -> bool:
        return self.before.ids == self.after.ids and self.before.total == self.after.total

    @property
    def agrees(self) -> bool:
        """Whether each page states the same total as the listing before."""
        return all(page.total == self.before.total for page in self.pages)


@dataclass(frozen=True)
class Omission:
    """A create without a required field, and the records that appeared with it.

    Attributes:
        marker: the text that it carried in another field.
        appeared: the records listed straight after the create but not before, except the run's other records.
        is_stable: whether no record appeared between listings without such a create.
    """

    field: str
    exchange: Exchange
    marker: str
    appeared: tuple[Record, ...] = ()
    is_stable: bool = True


@dataclass(frozen=True)
class FieldIsolation:
    """What came of a refused form once its optional fields were sent one at a time, then all of them again.

    Attributes:
        single_field: the answers to the form with each optional field.
        required_only: the answer to the last of these forms, one without any: the account may still write then.
    """

    single_field: tuple[Exchange, ...]
    all_fields: Exchange
    required_only: Exchange


@dataclass(frozen=True)
class AccessAttempt:
    """A request by a client other than the account, and what the account sees afterwards.

    Attributes:
        before: the record as last read before the attempt.
        listed_record: the record as listed just before the attempt.
    """

    identity: str
    exchange: Exchange
    marker: str
    before: Record | None = None
    read: Exchange | None = None
    after: Listing | None = None
    listed_record: Record | None = None


@dataclass(frozen=True)
class Round:
    """Requests about the run's own records that were sent at one moment, and what was seen once all were answered.

    Attributes:
        kind: which requests overlap: `updates`, `update and delete`, `deletes`, `creates`, `burst of creates`,
            `reads`, `burst` or `accounts`.
        exchanges: the requests, in the order of their answers.
        before: the record that they are about, as it was; empty if they are about none.
        reads: reads afterwards: of that record, or of the created ones.
        listed_ids: the ids of a whole listing afterwards, or None if it was none.
        total: the total that it stated.
        is_reliable: whether the total was right before.
        extra_count: how many of the account's records another account lists.
    """

    kind: str
    exchanges: tuple[Exchange, ...]
    before: Mapping[str, Any] = field(default_factory=dict)
    reads: tuple[Exchange, ...] = ()
    listed_ids: tuple[Any, ...] | None = None
    total: int | None = None
    is_reliable: bool = True
    extra_count: int = 0


@dataclass
class Evidence:
    """Everything that one visit saw of its resource.

    Attributes:
        markers: the texts that mark the run's records.
        created_ids: the ids that the run created.
        shaped: updates, and creates, whose forms are written as other clients write them.
        controls: listings before and after a stretch in which the run only read.
        bystander_checks: what the run's writes hit elsewhere, or left alone; all visits share them.
        simultaneous: lists and reads at one moment, unless the run keeps to a rate.
        key_reads: reads with the key in other cases, unless it has none.
        stray_reads: reads with one key of records that creates with the other key have made.
        unreadable_text: what a name that is not UTF-8 has led to, if the run was to try that.
        notes: why something could not be tried.
        other_runs: what distinguishes the marks of other runs that were at work there.
        public_base_url: what page links must begin with, if not the base URL.
        explored_from: after how many of the run's requests its exploration began, if there was one.
    """

    resource: Resource
    base_url: str
    exchanges: list[Exchange] = field(default_factory=list)
    markers: set[str] = field(default_factory=set)
    created_ids: set[int] = field(default_factory=set)
    creations: list[Creation] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)
    change_periods: list[ChangePeriod] = field(default_factory=list)
    paging_scans: list[PagingScan] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    isolations: list[FieldIsolation] = field(default_factory=list)
    access_attempts: list[AccessAttempt] = field(default_factory=list)
    repeated_listings: list[RepeatedListing] = field(default_factory=list)
    controls: list[tuple[Listing, Listing]] = field(default_factory=list)
    shaped: list[Change | Creation] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    bystander_checks: list[BystanderCheck] = field(default_factory=list)
    simultaneous: Simultaneous | None = None
    key_reads: KeyReads | None = None
    stray_reads: list[Exchange] = field(default_factory=list)
    unreadable_text: UnreadableText | None = None
    has_overlapped: bool = False
    notes: list[str] = field(default_factory=list)
    other_runs: set[str] = field(default_factory=set)
    has_second_key: bool = False
    public_base_url: str | None = None
    explored_from: int | None = None

    def treat(self, exchange: Exchange, expects: Expect) -> None:
        """Judge an answer by another expectation than when the request was sent."""
        self.exchanges[self.exchanges.index(exchange)] = replace(exchange, judged_as=expects)

    @property
    def label(self) -> str:
        """The field that people know a record by."""
        return self.resource.label

    def of(self, *operations: str, expects: Expect = Expect.SUCCESS) -> Iterator[Exchange]:
        """The account's own exchanges for some operations."""
        for exchange in self.exchanges:
            request = exchange.request
            is_match = (request.resource, request.identity, exchange.expects) == (self.resource.name, OWN_KEY, expects)
            if is_match and request.operation in operations:
                yield exchange

    def answers(self, *operations: str) -> Iterator[Exchange]:
        """The answers that rules about a single one judge: to documented requests, with any account's key, at any time.

        Of answers that no rule about several considers, only those count that carry out what was asked.
        """
        for exchange in self.exchanges:
            request, data = exchange.request, exchange.data
            if request.resource != self.resource.name or request.operation not in operations:
                continue
            if request.identity == OWN_KEY and exchange.expects is Expect.SUCCESS:
                yield exchange
            elif request.identity == OTHER or exchange.expects is Expect.IGNORED:
                shows = request.operation != "read" or (isinstance(data, dict) and "id" in data)
                if exchange.is_accepted and shows and request.operation in ("list", "read", "create"):
                    yield exchange

    def pages(self) -> Iterator[Page]:
        """The pages that the account's documented lists returned, as far as they can be read."""
        return (page for page in (exchange.page for exchange in self.of("list")) if page)

    def every_page(self) -> Iterator[Page]:
        """The same of all answers that rules about a single one judge."""
        return (page for page in (exchange.page for exchange in self.answers("list")) if page)

    def records(self) -> Iterator[tuple[Exchange, Record]]:
        """Every record that an account was shown, in a read or a list, with the exchange that showed it."""
        for exchange in self.answers("read"):
            if exchange.succeeded and isinstance(exchange.data, dict):
                yield exchange, exchange.data
        for exchange in (*self.answers("list"), *self.of("list", expects=Expect.OPEN)):
            yield from ((exchange, row) for row in (exchange.page.rows if exchange.page else ()))

    def is_run_record(self, record: Record, exchange: Exchange | None = None) -> bool:
        """Whether a record is the run's, in an answer to the account; another account may have one with the same id."""
        return id_of(record) in self.created_ids and (exchange is None or exchange.request.identity == OWN_KEY)

    def is_missing(self, identifier: Any) -> bool:
        """Whether the complete listing after a record's create lacks the record."""
        return any(
            identifier in period.created and period.after.complete and identifier not in period.after.ids
            for period in self.change_periods
        )

    def is_marked(self, label: Any) -> bool:
        return any(begins(label, marker) for marker in self.markers)


def has_arrived(form: Mapping[str, str], before: Record, now: Record | None) -> bool:
    """Whether a read shows that an update has taken effect: each value is the given one, or at least a new one."""
    if now is None:
        return False
    for name, text in form.items():
        if name == "is_enabled" and now.get(name) is not (text == "1"):
            return False
        if name in before and name != "is_enabled" and now.get(name) != text and now.get(name) == before[name]:
            return False
    settings, email = now.get("settings"), form.get("email")
    return email is None or not isinstance(settings, dict) or settings.get("email", email) == email


def first_sight_of(evidence: Evidence, creation: Creation) -> tuple[Record, Exchange] | None:
    """A new record as shown by its read or, if it was not read, by the first list that holds it."""
    if creation.identifier is None or creation.identifier in creation.before:
        return None
    if creation.read:
        return (creation.read.record, creation.read) if creation.read.record else None
    for page in evidence.pages():
        if page.exchange.number > creation.exchange.number:
            for row in page.rows:
                if row.get("id") == creation.identifier:
                    return row, page.exchange
    return None
