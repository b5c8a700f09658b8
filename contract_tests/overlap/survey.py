"""The chapter of requests that overlap: pairs and small groups about the run's own records, sent at one moment."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from zlib import crc32

from contract_tests.evidence.evidence import Listing, Record, Round
from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect, FormValue, Request, request_of, whole_id
from contract_tests.evidence.marks import mark_of, shows
from contract_tests.overlap.rules import changed_in, has_changed, orders, steps_of
from contract_tests.survey.form_values import type_form
from contract_tests.survey.visitor import Visitor
from contract_tests.target.budget import BudgetSpentError
from contract_tests.target.ledger_file import Entry
from contract_tests.target.ownership import WriteRefusedError
from contract_tests.target.target import MAX_SIMULTANEOUS

BURSTS = (20, MAX_SIMULTANEOUS, MAX_SIMULTANEOUS)  # the last over connections that are open already
CREATES, READS = 3, 4  # at one moment
WRITES = ("create", "update")
MAX_READ_SPAN = 2.0  # seconds over which reads are spread while a write is carried out
SIMULTANEOUS_FIELDS: dict[str, tuple[tuple[str, ...], ...]] = {  # fields that are updated at one moment
    "domains": (("host", "custom_index_url"),),
    "notification-handlers": (("name", "is_enabled"), ("telegram", "telegram_chat_id")),  # the last two in one object
}
MANY_CREATES = (20, 40)  # at one moment
SLOWLY = 0.3  # seconds


def overlap(visitor: Visitor, rounds: int) -> None:
    visitor.evidence.has_overlapped = True
    if not visitor.writes or (created := _create_writable(visitor)) is None:
        return
    subject, _ = created
    with suppress(WriteRefusedError):
        pairs = list(_pairs(visitor))
        for _ in range(rounds):
            for record_id, fields in pairs:
                _updates(visitor, record_id, fields)
                _updates(visitor, record_id, fields, SLOWLY)
                _reads(visitor, record_id, fields)
            _creates(visitor, CREATES)
            if visitor.evidence.has_second_key:
                _accounts(visitor)
            _removals(visitor, ("update", "delete"))
            _removals(visitor, ("delete", "delete"))
        for size in MANY_CREATES:
            _creates(visitor, size)
    for size in BURSTS:
        reads = [request_of(visitor.resource, "read", subject, Expect.OPEN)] * size
        _keep(visitor, Round("burst", _send_all(visitor, reads)))


def _pairs(visitor: Visitor) -> Iterator[tuple[int, list[str]]]:
    """Records with fields that may be updated at one moment, as each can be updated alone."""
    for fields in SIMULTANEOUS_FIELDS.get(visitor.resource.name, ()):
        type_fields = type_form(visitor.resource, fields[0]) if fields[0] in visitor.resource.types else {}
        created = _create_writable(visitor, **type_fields)
        usable = _usable(visitor, created[0], fields) if created else []
        if created and len(usable) > 1:
            yield created[0], usable


def _create_writable(visitor: Visitor, **extra_fields: FormValue) -> tuple[int, Record] | None:
    """A new record that may be written to, with its id; or None."""
    form = visitor.records.required_form() | extra_fields
    identifier = visitor.post(form, Expect.OPEN).made_id
    if identifier is None:
        return None
    marker = mark_of(form[visitor.resource.label])
    read = visitor.waits.for_state(
        "create", lambda: visitor.read(identifier), lambda exchange: visitor.shows(exchange, marker)
    )
    is_confirmed = visitor.target.ledger.allows_write(visitor.resource.name, identifier)
    return (identifier, read.record or {}) if is_confirmed else None


def _usable(visitor: Visitor, subject: int, fields: Sequence[str]) -> list[str]:
    """The fields that reads show changed after an update of each alone."""
    usable = []
    for name in fields:
        before = visitor.read(subject, Expect.OPEN).record or {}
        form = _form(visitor, (name,), before)
        exchange = visitor.update(subject, form, Expect.OPEN)
        differs = partial(_differs, name, form[name], before)
        after = visitor.waits.for_state("update", partial(visitor.read, subject, Expect.OPEN), differs)
        usable += [name] if exchange.succeeded and differs(after) else []
    return usable


def _differs(name: str, value: FormValue, before: Record, read: Exchange) -> bool:
    return read.record is not None and has_changed(name, value, before, read.record)


def _updates(visitor: Visitor, subject: int, fields: Sequence[str], slow: float = 0.0) -> None:
    """Updates of a field each; the others are sent while the body of the first is under way, if that is slow."""
    before = visitor.read(subject, Expect.OPEN).record or {}
    updates = [_update(visitor, subject, (name,), before) for name in fields]
    _changed(visitor, "updates", subject, before, updates, slow)


def _reads(visitor: Visitor, subject: int, fields: Sequence[str]) -> None:
    """Reads while one update changes several fields, and lists of the collection."""
    before = visitor.read(subject, Expect.OPEN).record or {}
    reads = [*[request_of(visitor.resource, "read", subject, Expect.OPEN)] * READS, _list(visitor)]
    _changed(visitor, "reads", subject, before, [_update(visitor, subject, fields, before), *reads])


def _changed(  # noqa: PLR0913, PLR0917 - all of a round
    visitor: Visitor,
    kind: str,
    subject: int,
    before: dict[str, object],
    requests: Sequence[Request],
    slow: float = 0.0,
) -> None:
    """Send updates at one moment, and keep what a read shows once an order explains it, or in the end."""
    if not before:
        return
    overlapping = Round(kind, _send_all(visitor, requests, slow), dict(before))
    possible = {state for _, state in orders(steps_of(overlapping))}
    read = visitor.waits.for_state(
        "update",
        lambda: visitor.read(subject, Expect.OPEN),
        lambda exchange: changed_in(overlapping, exchange.record) in possible,
    )
    _keep(visitor, replace(overlapping, reads=(read,)))


def _creates(visitor: Visitor, count: int) -> None:
    """Creates at one moment; with lists beside them, and reads of all that they made, if they are few."""
    before, with_reads = visitor.list_all(), count == CREATES
    forms = [visitor.records.required_form() for _ in range(count)]
    ledger, name = visitor.target.ledger, visitor.resource.name
    entries = [ledger.plan(name, mark_of(form[visitor.resource.label])) for form in forms]
    creates = [visitor.records.create_of(Expect.OPEN, form=form) for form in forms]
    try:
        exchanges = _send_all(visitor, [*creates, *[_list(visitor)] * (READS if with_reads else 0)])
    except BudgetSpentError:  # none was sent
        for entry in entries:
            ledger.note_removed(entry)
        raise
    by_form = {id(exchange.request.form): exchange for exchange in exchanges if exchange.request.operation == "create"}
    for entry, form in zip(entries, forms, strict=True):
        visitor.records.note_create(entry, by_form[id(form)])
    created_ids: list[int] = sorted({exchange.made_id for exchange in exchanges if exchange.made_id is not None})
    reads = tuple(
        visitor.waits.for_state(
            "create",
            lambda identifier=identifier: visitor.read(identifier, Expect.OPEN),  # type: ignore[misc]
            lambda exchange: exchange.record is not None,
        )
        for identifier in (created_ids if with_reads else [])
    )
    after = visitor.waits.for_state(
        "create", visitor.list_all, lambda listing: set(created_ids) <= set(listing.ids) and _is_consistent(listing)
    )
    created_ids += [identifier for entry in entries if (identifier := _find_created(visitor, entry, after))]
    kind = "creates" if with_reads else "burst of creates"
    _keep(visitor, _with_listing(Round(kind, exchanges, reads=reads, is_reliable=_is_consistent(before)), after))
    for created_id in created_ids:
        with suppress(WriteRefusedError):
            visitor.delete(created_id, Expect.OPEN)


def _accounts(visitor: Visitor) -> None:
    """A create whose body is under way while the other account lists its records, and a list of each afterwards."""
    ledger, name = visitor.target.ledger, visitor.resource.name
    form = visitor.records.required_form()
    marker = mark_of(form[visitor.resource.label])
    entry, foreign = ledger.plan(name, marker), ledger.plan(name, marker, OTHER)  # in whichever account it comes to be
    list_other = _list(visitor, OTHER)
    try:
        exchanges = _send_all(
            visitor, [visitor.records.create_of(Expect.OPEN, form=form), *[list_other] * READS], SLOWLY
        )
    except BudgetSpentError:  # none was sent
        ledger.note_removed(entry)
        ledger.note_removed(foreign)
        raise
    create = next(exchange for exchange in exchanges if exchange.request.operation == "create")
    visitor.records.note_create(entry, create)
    other_page = visitor.send(list_other)
    foreign_ids = [whole_id(row) for row in (other_page.page.rows if other_page.page else ()) if shows(row, marker)]
    reads = []
    if create.made_id is not None:
        read_created = partial(visitor.read, create.made_id, Expect.OPEN)
        reads.append(visitor.waits.for_state("create", read_created, lambda exchange: exchange.record is not None))
    _keep(visitor, Round("accounts", (*exchanges, other_page), reads=tuple(reads), extra_count=len(foreign_ids)))
    if foreign_ids and foreign_ids[0] is not None and not any(read.record for read in reads):
        ledger.note_removed(entry)
        ledger.note_id(foreign, foreign_ids[0])  # to be removed there, once it is read there
        return
    ledger.note_removed(foreign)
    if create.made_id is not None:
        with suppress(WriteRefusedError):
            visitor.delete(create.made_id, Expect.OPEN)


def _find_created(visitor: Visitor, entry: Entry, after: Listing) -> int | None:
    """The id of a record that was created, and is not what a create answered; one that is nowhere is forgotten."""
    if entry.seen:
        return None
    for row in after.rows:
        identifier = whole_id(row)
        if identifier is not None and shows(row, entry.marker):
            visitor.records.note_own(entry, identifier)
            visitor.target.ledger.note_listing(visitor.resource.name, [row])
            return identifier
    if after.complete:
        visitor.target.ledger.note_removed(entry)
    return None


def _removals(visitor: Visitor, operations: Sequence[str]) -> None:
    """An update and a delete of one record, or two deletes."""
    before = visitor.list_all()
    created = _create_writable(visitor)
    if created is None:
        return
    subject, record = created
    make = {
        "update": lambda: _update(visitor, subject, (visitor.resource.label,), record),
        "delete": lambda: request_of(visitor.resource, "delete", subject, Expect.OPEN),
    }
    exchanges = _send_all(visitor, [make[operation]() for operation in operations])
    read = visitor.waits.for_state(
        "delete", lambda: visitor.read(subject, Expect.OPEN), lambda exchange: exchange.record is None
    )
    after = visitor.waits.for_state(
        "delete", visitor.list_all, lambda listing: subject not in listing.ids and _is_consistent(listing)
    )
    kind = "deletes" if set(operations) == {"delete"} else "update and delete"
    _keep(visitor, _with_listing(Round(kind, exchanges, record, (read,), is_reliable=_is_consistent(before)), after))
    if read.record is None and subject not in after.ids:
        visitor.target.ledger.note_deleted(visitor.resource.name, subject)


def _with_listing(round_: Round, after: Listing) -> Round:
    is_one_answer = after.complete and len(after.pages) == 1
    return replace(round_, listed_ids=after.ids if is_one_answer else None, total=after.total)


def _is_consistent(listing: Listing) -> bool:
    """Whether a listing is whole, and its total is that of its records."""
    return listing.complete and listing.total == len(listing.rows)


def _form(visitor: Visitor, names: Sequence[str], before: dict[str, object]) -> dict[str, FormValue]:
    """Other values than a record has."""
    marker = visitor.records.new_marker()
    values = {
        visitor.resource.label: marker,
        "custom_index_url": f"https://www.example.com/{mark_of(marker)}",
        "is_enabled": "0" if before.get("is_enabled") is True else "1",
        "telegram": f"123456789:AAcontract-tests-{mark_of(marker)}",
        "telegram_chat_id": f"-100{crc32(marker.encode())}",
    }
    return {name: values[name] for name in names}


def _update(visitor: Visitor, subject: int, names: Sequence[str], before: dict[str, object]) -> Request:
    return request_of(visitor.resource, "update", subject, Expect.OPEN, form=_form(visitor, names, before))


def _list(visitor: Visitor, identity: str = OWN_KEY) -> Request:
    return visitor.list_of({"results_per_page": str(visitor.largest)}, Expect.OPEN, identity)


def _send_all(visitor: Visitor, requests: Sequence[Request], slow: float = 0.0) -> tuple[Exchange, ...]:
    """The exchanges of requests that are sent at one moment, in the order of their answers.

    Args:
        slow: for how many seconds the body of the first pauses; the others are spread over that time.
    """
    visitor.waits.let_settle()
    for request in requests:
        if request.operation == "update":
            visitor.records.note_update(request)
    latest = reversed(visitor.evidence.exchanges)
    wrote = next(
        (exchange.seconds for exchange in latest if exchange.request.operation in WRITES and exchange.succeeded), 0.0
    )
    reads = [number for number, request in enumerate(requests) if request.method == "GET"]
    interval = min(wrote, MAX_READ_SPAN) / len(reads) if 0 < len(reads) < len(requests) else 0.0
    delays = [interval * reads.index(number) if number in reads else 0.0 for number in range(len(requests))]
    if slow:
        delays = [slow * number / len(requests) for number in range(len(requests))]
    exchanges = visitor.target.send_together(requests, delays, (slow,))
    visitor.waits.note_write()
    overlooked = [replace(exchange, judged_as=Expect.IGNORED) for exchange in exchanges]
    visitor.evidence.exchanges += overlooked
    return tuple(sorted(overlooked, key=lambda exchange: exchange.started_at + exchange.seconds))


def _keep(visitor: Visitor, round_: Round) -> None:
    visitor.evidence.rounds.append(round_)
