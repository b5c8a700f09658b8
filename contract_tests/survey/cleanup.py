"""The last chapter: everything that a run has made is removed, or reported."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from contract_tests.evidence.evidence import Listing, Record, Removal
from contract_tests.evidence.exchange import OTHER, OWN_KEY, TRIES, Exchange, Expect, id_of, whole_id
from contract_tests.evidence.marks import begins, shows
from contract_tests.survey.lifecycle import see_late
from contract_tests.survey.visitor import Visitor
from contract_tests.target.ledger_file import Entry
from contract_tests.target.ownership import WriteRefusedError
from contract_tests.target.target import Target
from link_management_contract import Resource

ALL_PAGES = 1000  # enough for an account with a million records
BETWEEN_TRIES = 1.0  # seconds
KEY_REFUSED = (401, 403)
UNCLEAR = (*KEY_REFUSED, 429)  # these answers show nothing about a record


def clean_up(target: Target, resource: Resource) -> None:
    """Delete what an earlier run has left of one resource, wherever it is in the collection."""
    visitor = Visitor(target, resource)
    visitor.most_pages = ALL_PAGES
    with target.budget.cleaning_up():
        remove_all(visitor)


def remove_all(visitor: Visitor) -> None:
    """Delete the run's remaining records, including those that no create returned, and list once more."""
    resource, ledger = visitor.resource.name, visitor.target.ledger
    if not any(entry.resource == resource for entry in ledger.entries):
        return
    left = ledger.removable(resource) + ledger.removable(resource, OTHER)
    for entry in left:
        entry.stale = True  # meanwhile, ids may have been given to other records
    if left:
        visitor.list_settled()
    deletes = _delete_own(visitor)
    listing = _list_without(visitor, deletes)
    see_late(visitor, listing)
    visitor.evidence.removals += [Removal(delete, after=listing) for delete in deletes.values()]
    if _adopt(visitor, listing):
        listing = _list_without(visitor, _delete_own(visitor))
    if not listing.pages:
        ledger.doubt_refusals(resource)
    _forget_missing(visitor, listing)
    _look_elsewhere(visitor)
    _clean_other_account(visitor)


def _left(visitor: Visitor, owner: str = OWN_KEY) -> list[Entry]:
    return visitor.target.ledger.removable(visitor.resource.name, owner)


def _list_without(visitor: Visitor, deletes: dict[int, Exchange]) -> Listing:
    """List the collection, and note as gone what was deleted and is no longer shown."""
    listing = visitor.waits.for_state("delete", visitor.list_all, lambda listing: not deletes.keys() & set(listing.ids))
    for entry in [entry for entry in _left(visitor) if entry.seen]:
        label = str(listing.by_id.get(entry.identifier, {}).get(visitor.resource.label, ""))
        is_shown = visitor.evidence.is_marked(label) or entry.is_marked_in(label)
        if entry.identifier in deletes and not is_shown and (listing.complete or _is_gone(visitor, entry)):
            visitor.target.ledger.note_removed(entry)
    return listing


def _delete_own(visitor: Visitor) -> dict[int, Exchange]:
    """Delete the run's remaining records; return the deletes that succeeded."""
    resource, ledger, exchanges = visitor.resource.name, visitor.target.ledger, visitor.evidence.exchanges
    deleted_before = {exchange.request.identifier for exchange in exchanges if exchange.request.operation == "delete"}
    # what was made last is the likeliest to be known to nobody else
    entries = (entry.identifier for entry in reversed(_left(visitor)))
    ids = [identifier for identifier in dict.fromkeys(entries) if identifier is not None]

    def delete_own(identifier: int) -> Exchange | None:
        with suppress(WriteRefusedError):
            return visitor.delete(identifier, Expect.OPEN if identifier in deleted_before else Expect.SUCCESS)
        return None

    unseen_ids = [identifier for identifier in ids if not ledger.allows_write(resource, identifier)]
    visitor.side_by_side([partial(visitor.read, identifier, Expect.OPEN) for identifier in unseen_ids])
    own_ids = [identifier for identifier in ids if ledger.allows_write(resource, identifier)]
    first = [delete_own(identifier) for identifier in own_ids[:1]]  # which may show that others are hit, too
    deleted = [*first, *visitor.side_by_side([partial(delete_own, identifier) for identifier in own_ids[1:]])]
    return {
        identifier: exchange
        for identifier, exchange in zip(own_ids, deleted, strict=True)
        if exchange and exchange.succeeded
    }


def _forget_missing(visitor: Visitor, listing: Listing) -> None:
    """Note as gone what was seen but is now neither listed nor read, and creates that have left no trace."""
    ledger = visitor.target.ledger
    for entry in _left(visitor):
        if entry.identifier is not None:
            if entry.seen and entry.identifier not in listing.ids and _is_missing(visitor, entry, listing):
                ledger.note_removed(entry)
        elif listing.complete and entry.answered:
            ledger.note_removed(entry)
        elif listing.complete:
            ledger.note_missing(entry)


def _is_missing(visitor: Visitor, entry: Entry, listing: Listing) -> bool:
    """Whether a record that is not listed is not read either; where not all are listed, the read has to say so."""
    return not _last_read(visitor, entry).shows(visitor.resource) if listing.complete else _is_gone(visitor, entry)


def _look_elsewhere(visitor: Visitor) -> None:
    """Read in the other account what the account never showed; what is there is that account's to clean up."""
    tries = TRIES
    for entry in _left(visitor) if OTHER in visitor.target.keys else []:
        if entry.identifier is None or entry.seen or not entry.marker:
            continue
        read = _clearly(partial(visitor.read, entry.identifier, Expect.OPEN, OTHER), tries)
        tries = 0 if read.status in UNCLEAR else tries  # what stays a refusal is how such reads are answered here
        if read.record and begins(read.record.get(visitor.resource.label), entry.marker):
            visitor.evidence.stray_reads.append(read)
            visitor.target.ledger.note_owner(entry, OTHER)


def _clean_other_account(visitor: Visitor) -> None:
    """Delete what was made in the other account, once it has been seen there."""
    ledger, resource = visitor.target.ledger, visitor.resource.name
    for entry in _left(visitor, OTHER):
        if entry.identifier is None:
            _look_for(visitor, entry)
        identifier = entry.identifier or 0
        if identifier and not ledger.allows_write(resource, identifier, OTHER):
            read = _clearly(partial(visitor.read, identifier, Expect.OPEN, OTHER))
            is_nameless = read.record is not None and visitor.resource.label not in read.record
            if (is_nameless or _holds(read, entry)) and not ledger.allows_write(resource, identifier, OTHER):
                _first_page(visitor, OTHER)  # it may show the record as the read should
        is_free = visitor.target.bystanders.allows(resource, identifier, OTHER)
        if ledger.allows_write(resource, identifier, OTHER) and is_free:
            _clearly(partial(visitor.delete, identifier, Expect.OPEN, OTHER))
        if entry.seen and _is_gone(visitor, entry):
            ledger.note_deleted(resource, identifier, OTHER)


def _clearly(send: Callable[[], Exchange], tries: int = TRIES) -> Exchange:
    """The answer to a request by the other account, sent a few times if it may have come too soon."""
    exchange = send()
    for _ in range(tries):
        if exchange.status not in UNCLEAR:
            break
        time.sleep(BETWEEN_TRIES)
        exchange = send()
    return exchange


def _look_for(visitor: Visitor, entry: Entry) -> None:
    """Find the id of an unanswered create of the other account, if its record is listed there."""
    rows, complete = _first_page(visitor, OTHER)
    found_row = next((row for row in rows if entry.is_marked_in(str(row.get(visitor.resource.label)))), None)
    identifier = whole_id(found_row)
    if identifier is not None:
        visitor.target.ledger.note_id(entry, identifier)
    elif complete:
        visitor.target.ledger.note_missing(entry)


def _first_page(visitor: Visitor, owner: str) -> tuple[tuple[Record, ...], bool]:
    """The first page of an account's records, and whether there are no more."""
    page = visitor.list(Expect.OPEN, owner, results_per_page=str(visitor.largest)).page
    return (page.rows, page.total == len(page.rows)) if page else ((), False)


def _is_gone(visitor: Visitor, entry: Entry) -> bool:
    """Whether a deleted record is no longer shown.

    Where the read does not show that, the list does: by holding all other records or, if the key is refused only for
    this record, by returning any records.
    """
    read = _last_read(visitor, entry)
    if read.shows(visitor.resource):
        return False
    if not read.failed and read.status not in UNCLEAR and not _holds(read, entry):
        return True
    rows, complete = _first_page(visitor, entry.owner)
    is_clear = complete or (bool(rows) and read.status in KEY_REFUSED)
    return is_clear and entry.identifier not in map(id_of, rows)


def _holds(read: Exchange, entry: Entry) -> bool:
    """Whether a read answers a create's marker, in whatever form."""
    return read.succeeded and entry.is_marked_in(read.body.decode("utf-8", "replace"))


def _last_read(visitor: Visitor, entry: Entry) -> Exchange:
    """A read of a record, repeated for as long as reads may lag."""
    return visitor.waits.for_state(
        "delete",
        lambda: visitor.read(entry.identifier or 0, Expect.OPEN, entry.owner),
        lambda exchange: not exchange.shows(visitor.resource),
    )


def _adopt(visitor: Visitor, listing: Listing) -> bool:
    """Note records that are listed with a marker of the run and that no create returned; return whether any were."""
    ledger, resource = visitor.target.ledger, visitor.resource.name
    entries = [entry for entry in ledger.entries if entry.resource == resource]
    orphans = [entry for entry in entries if entry.marker and not entry.seen and not entry.removed]
    known_entries = [entry for entry in entries if entry.seen and entry.owner == OWN_KEY]
    adopted = False
    for row in listing.rows:
        identifier = whole_id(row)
        same_id = [entry for entry in known_entries if entry.identifier == identifier]
        is_known = any(shows(row, marker) for entry in same_id for marker in entry.markers)
        if identifier is None or is_known or ledger.is_foreign(resource, identifier):
            continue
        entry = next((orphan for orphan in orphans if shows(row, orphan.marker)), None)
        if same_id and not entry:  # else the id of a record that is gone was given to another of the run
            continue
        marker = next((marker for marker in visitor.evidence.markers if shows(row, marker)), None)
        if entry is None and marker:
            entry = ledger.plan(resource, marker)  # one create may have made two
            orphans.append(entry)
        if entry:
            ledger.note_id(entry, identifier)
            if entry.owner == OTHER:
                ledger.note_owner(entry, OWN_KEY)
                visitor.evidence.stray_reads.append(visitor.read(identifier, Expect.OPEN))
            else:
                ledger.note_seen(entry)
            orphans.remove(entry)
            adopted = True
    return adopted
