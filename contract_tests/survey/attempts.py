"""What must have no effect: attempts by unauthorized clients, creates that lack a field, odd forms."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain

from contract_tests.evidence.evidence import AccessAttempt, KeyReads, Listing, Omission, Record
from contract_tests.evidence.exchange import OTHER, OWN_KEY, TRIES, Exchange, Expect, FormValue, is_integer, whole_id
from contract_tests.evidence.marks import begins, shows
from contract_tests.evidence.multipart import BOUNDARY
from contract_tests.survey.creating import Create, create
from contract_tests.survey.form_values import OVERLONG_NAME, signed
from contract_tests.survey.pages import page
from contract_tests.survey.simultaneous import read_at_once
from contract_tests.survey.visitor import MAX_RETRIES, Visitor
from contract_tests.target.identities import IDENTITIES, NOBODY, OTHER_CASES
from contract_tests.target.ownership import WriteRefusedError

READS = ("list", "read")
MAX_RECORDS_READ = 5  # records of the account that are read where nothing is written


def omit(visitor: Visitor, before: Listing) -> None:
    """Try a create without each required field, once, and see what happens.

    The form carries a marker in another field that reads show, if there is one; by that its record is recognised,
    and removed at the end. One that cannot be recognised is never made twice: a second visit only looks for it.
    """
    for field in visitor.resource.required:
        before = _look_again(visitor, field) or _omit(visitor, field, before)


def _omit(visitor: Visitor, field: str, before: Listing) -> Listing:
    marker = visitor.records.new_marker()
    exchange = _send(visitor, field, marker, before)
    after = visitor.list_settled()
    if exchange.made_id and not after.pages and _claim_unlisted(visitor, exchange.made_id, marker, before):
        visitor.delete(exchange.made_id, Expect.OPEN)  # since no list may work for as long as it is there
        after = visitor.list_settled()
    new = [after.by_id[identifier] for identifier in set(after.ids) - set(before.ids)]
    appeared = [row for row in new if not _is_marked(visitor, row, marker) and (before.complete or shows(row, marker))]
    is_attributed = not appeared or _claim(visitor, appeared, marker, exchange)
    visitor.evidence.omissions.append(Omission(field, exchange, marker, tuple(appeared), is_attributed))
    return after


def _look_again(visitor: Visitor, field: str) -> Listing | None:
    """Look for the record of an earlier visit's create, if it could not be recognised and so was not removed."""
    resource = visitor.resource.name
    left = [entry for entry in visitor.target.ledger.left if entry.resource == resource and entry.without == field]
    candidate_id = next((entry.identifier for entry in left if entry.identifier and not entry.seen), None)
    requests = ((exchange, exchange.request) for exchange in visitor.target.exchanges)
    creates = (
        exchange for exchange, request in requests if (request.operation, request.resource) == ("create", resource)
    )
    refused_creates = (exchange for exchange in creates if exchange.expects is Expect.REFUSAL)
    exchange = next((exchange for exchange in refused_creates if field not in (exchange.request.form or {})), None)
    if candidate_id is None or exchange is None:
        return None
    listing = visitor.list_settled()
    appeared = (listing.by_id[candidate_id],) if candidate_id in listing.by_id else ()
    visitor.evidence.omissions.append(Omission(field, exchange, "", appeared))
    return listing


def _send(visitor: Visitor, field: str, marker: str, before: Listing) -> Exchange:
    """Send the create, and again after a failure, but only if lists show that no record has come of it."""
    form, attempts = _form_without(visitor, field, marker), list[int | None]()
    for number in range(MAX_RETRIES):
        exchange = visitor.post(form, Expect.REFUSAL, marker=marker, omitted=field)
        is_answered = exchange.status is not None or exchange.timed_out  # if not, it may have been lost with a worker
        is_own_failure = number >= TRIES - 1 and is_answered and exchange.expects is not Expect.IGNORED
        if not exchange.failed or is_own_failure:
            break
        entries = visitor.target.ledger.entries
        known_ids = {entry.identifier for entry in entries if entry.resource == visitor.resource.name}
        listing = visitor.list_settled()
        if not listing.pages or set(listing.ids) - set(before.ids) - known_ids:
            break
        attempts.append(exchange.status)
    return replace(exchange, attempts=tuple(attempts))


def _form_without(visitor: Visitor, field: str, marker: str) -> dict[str, FormValue]:
    """A form without a field, and with a marker in another: the name, an address, or any text."""
    resource = visitor.resource
    form = {name: value for name, value in visitor.records.required_form().items() if name != field}
    return form | ({resource.label: marker} if resource.label in form else signed(resource, marker))


def _is_marked(visitor: Visitor, row: Record, marker: str) -> bool:
    """Whether a record is another one, which the run made on purpose."""
    return any(shows(row, other) for other in visitor.evidence.markers if not begins(marker, other))


def _claim(visitor: Visitor, appeared: list[Record], marker: str, exchange: Exchange) -> bool:
    """Note what the create made: what shows its marker, or has no name; return whether that explains what appeared."""
    ledger = visitor.target.ledger
    entry = ledger.latest(visitor.resource.name, marker)
    marked_rows = [row for row in appeared if shows(row, marker)]
    nameless = [row for row in appeared if _is_nameless(visitor, row)]
    for row in marked_rows or nameless[:1]:
        identifier = whole_id(row)
        if identifier is not None:
            ledger.note_id(entry, identifier)
            if marked_rows or identifier == exchange.made_id:
                ledger.note_seen(entry)
    return bool(marked_rows or nameless)


def _is_nameless(visitor: Visitor, record: Record) -> bool:
    return not str(record.get(visitor.resource.label) or "").strip()


def _claim_unlisted(visitor: Visitor, identifier: int, marker: str, before: Listing) -> bool:
    """Note what a create made while no list works: a record without a name, or with the marker, under a new id."""
    if not before.complete or identifier in before.ids:
        return False
    record, ledger = visitor.read(identifier, Expect.OPEN).record, visitor.target.ledger
    if record is not None and _is_nameless(visitor, record):
        ledger.note_seen(ledger.latest(visitor.resource.name, marker))
    return ledger.allows_write(visitor.resource.name, identifier)


def try_odd_forms(visitor: Visitor) -> None:
    """Send a create with rough text, one that is cut off and, for handlers, one of an unknown type."""
    label = visitor.resource.label
    odd_form = visitor.records.required_form() | {label: f"{visitor.records.new_marker()} <b>\"'\\ {OVERLONG_NAME} "}
    exchange = visitor.retry(lambda: visitor.post(odd_form, Expect.OPEN))
    if exchange.is_refusal and label == "name" and not visitor.resource.types:  # for its length, or for what is odd
        long_form = visitor.records.required_form() | {label: f"{visitor.records.new_marker()} {OVERLONG_NAME}"}
        visitor.retry(lambda: visitor.post(long_form, Expect.OPEN))
    marker = visitor.records.new_marker()
    cut_off = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{label}"\r\n\r\n{marker}'.encode()
    visitor.retry(lambda: visitor.post_raw(marker, f"multipart/form-data; boundary={BOUNDARY}", cut_off))
    if visitor.resource.types:
        visitor.post(visitor.records.required_form(type="contract-tests"), Expect.OPEN)


def look_after(visitor: Visitor, attempts: list[AccessAttempt]) -> Listing:
    """List, as the account, to see the effects of attempts that must have none."""
    created_ids = visitor.evidence.created_ids
    after = visitor.waits.for_state("create", visitor.list_all, lambda listing: created_ids <= set(listing.ids))
    attempts = [replace(attempt, after=after) for attempt in attempts]
    visitor.evidence.access_attempts.extend(attempts)
    return after


def try_access(visitor: Visitor, identifier: int, listing: Listing) -> list[AccessAttempt]:
    """Try to reach one of the run's records as each unauthorized client, then read it as the account."""
    reads = [read for read in visitor.evidence.of("read") if read.request.identifier == identifier]
    records_read = [read.record for read in reads if read.record]
    before = records_read[-1] if records_read else listing.by_id.get(identifier) or {}
    accesses: list[tuple[str, Exchange, str]] = []
    if OTHER in visitor.target.keys:
        visitor.list(Expect.SUCCESS, OWN_KEY, **_whole_page(visitor))
        accesses += try_as(
            visitor, identifier, OTHER, "list"
        )  # with nothing in between, for caches that mix up accounts
    to_try = [
        (identity, operation)
        for identity in IDENTITIES
        for operation in IDENTITIES[identity].tries.get(visitor.resource.name, ())
        if (identity == NOBODY or identity in visitor.target.keys) and (visitor.writes or operation in READS)
    ]
    accesses += try_each(visitor, identifier, to_try)
    visitor.waits.let_settle()
    read_at_once(visitor, identifier)
    if visitor.resource.types and OTHER_CASES in visitor.target.keys:
        visitor.evidence.key_reads = _read_in_other_cases(visitor, identifier)
    read = visitor.read(identifier, Expect.OPEN)
    listed_row = listing.by_id.get(identifier)
    attempts = [
        AccessAttempt(identity, exchange, marker, before, read, listed_record=listed_row)
        for identity, exchange, marker in accesses
    ]
    if read.failed or read.shows(visitor.resource):
        return attempts
    to_repeat = [attempt for attempt in attempts if _may_have_removed(attempt.exchange)]
    other_attempts = [attempt for attempt in attempts if attempt not in to_repeat]
    return other_attempts + [repeated for attempt in to_repeat for repeated in _write_alone(visitor, attempt)]


def _read_in_other_cases(visitor: Visitor, identifier: int) -> KeyReads:
    """Read with the key and with it in other cases over one connection, in both orders."""
    reads = []
    for identities in ((OWN_KEY, OTHER_CASES), (OTHER_CASES, OWN_KEY), (OWN_KEY,)):
        visitor.target.leave_connections()
        reads += [visitor.read(identifier, Expect.OPEN, identity) for identity in identities]
    return KeyReads(*reads)


def _may_have_removed(exchange: Exchange) -> bool:
    """Whether a write may have taken a record out of the account; an update may have moved it to another."""
    return exchange.request.operation == "delete" or (exchange.request.operation == "update" and exchange.succeeded)


def _write_alone(visitor: Visitor, attempt: AccessAttempt) -> list[AccessAttempt]:
    """Try a write on a separate record, since it is unknown whose took away the one that all tried."""
    operation, identity = attempt.exchange.request.operation, attempt.identity
    [creation] = create(visitor, Create(visitor.records.required_form(), Expect.OPEN))
    before = creation.read.record if creation.read else None
    if creation.identifier is None or before is None:
        return []
    try:
        [(_, exchange, marker)] = try_as(visitor, creation.identifier, identity, operation)
    except ValueError:  # it was not allowed
        return []
    return [AccessAttempt(identity, exchange, marker, before, visitor.read(creation.identifier, Expect.OPEN))]


def try_each(visitor: Visitor, identifier: int, to_try: Sequence[tuple[str, str]]) -> list[tuple[str, Exchange, str]]:
    """Try operations, each with the key of an identity, as `try_as` does; each operation with all keys side by side.

    With the other account's key, all come in their order: its create may be given the id that is then read.
    """
    accesses = list[tuple[str, Exchange, str]]()
    for identity, operation in to_try:
        accesses += try_as(visitor, identifier, identity, operation) if identity == OTHER else []
        if identity == OTHER and operation == "create" and accesses and not accesses[-1][1].is_refusal:
            visitor.waits.let_settle()  # ids may be those of another account's new record, which has to be seen as such
    for operations in (READS, ("create", "update"), ("delete",)):
        attempts = [
            partial(try_as, visitor, identifier, identity, operation)
            for identity, operation in to_try
            if identity != OTHER and operation in operations
        ]
        accesses += chain.from_iterable(visitor.side_by_side(attempts))
    return accesses


def try_as(visitor: Visitor, identifier: int, identity: str, operation: str) -> list[tuple[str, Exchange, str]]:
    """Try an operation with an identity's key.

    Returns:
        The identity, the exchange and the marker of what was created or changed; nothing if the write was not allowed.
    """
    marker = visitor.records.new_marker() if operation in ("create", "update") else ""
    label_form: dict[str, FormValue] = {visitor.resource.label: marker}
    with suppress(WriteRefusedError):
        match operation:
            case "list":
                exchange = visitor.list(Expect.OPEN, identity, **_whole_page(visitor))
            case "read":
                exchange = visitor.read(identifier, Expect.OPEN, identity)
            case "create":
                exchange = visitor.post(visitor.records.required_form() | label_form, Expect.OPEN, identity)
            case "update":
                exchange = visitor.update(identifier, label_form, Expect.OPEN, identity)
            case _:
                exchange = visitor.delete(identifier, Expect.OPEN, identity)
        return [(identity, exchange, marker)]
    return []


def _whole_page(visitor: Visitor) -> dict[str, str]:
    return {"results_per_page": str(visitor.largest), "page": "1"}


def look_around(visitor: Visitor, start: Listing, progress: Callable[[str], None]) -> None:
    """List pages, read some records, and try to read as unauthorized clients."""
    listing = start
    if not visitor.evidence.paging_scans:
        progress("paging")
        listing = page(visitor, start)
    known_ids = [identifier for identifier in listing.ids if is_integer(identifier)]
    progress("reading")
    for identifier in known_ids[:MAX_RECORDS_READ]:
        visitor.count_if_accepted(visitor.read(identifier, Expect.OPEN))
    progress("trying other keys")
    if known_ids:
        attempts = [replace(attempt, after=listing) for attempt in try_access(visitor, known_ids[0], listing)]
        visitor.evidence.access_attempts.extend(attempts)
