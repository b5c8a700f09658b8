"""The last chapter: everything that a run has made is removed, or reported."""

from __future__ import annotations

from contract_tests.evidence import Evidence, Listing, Record, Removal
from contract_tests.exchange import OTHER, OWN, Exchange, Expect, id_of, is_integer
from contract_tests.markers import shows
from contract_tests.survey.lifecycle import see_late
from contract_tests.survey.visitor import Visitor
from contract_tests.target.entries import Entry
from contract_tests.target.target import Target
from link_management_contract import Resource

ALL_PAGES = 1000  # enough for an account with a million records
KEY_REFUSED = (401, 403)
UNTOLD = (*KEY_REFUSED, 429)  # these answers show nothing about a record


def clean_up(target: Target, resource: Resource) -> None:
    """Delete what an earlier run has left of one resource, wherever it is in the collection."""
    visitor = Visitor(target, resource, Evidence(target.base_url), "")
    visitor.most_pages = ALL_PAGES
    with target.cleaning_up():
        remove_all(visitor)


def remove_all(visitor: Visitor) -> None:
    """Delete the run's remaining records, including those that no create returned, and list once more."""
    resource, ledger, evidence = visitor.resource, visitor.target.ledger, visitor.evidence
    if not any(entry.resource == resource.name for entry in ledger.entries):
        return
    left = [entry for entry in ledger.left if entry.resource == resource.name]
    for entry in left:
        entry.stale = True  # meanwhile, ids may have been given to other records
    if left:
        visitor.snapshot()
    deletes = _delete_own(visitor)
    seen = _without(visitor, deletes)
    see_late(visitor, seen)
    evidence.removals[resource.name] += [Removal(deletes[each], after=seen) for each in deletes]
    if _adopt(visitor, seen):
        seen = _without(visitor, _delete_own(visitor))
    _forget_missing(visitor, seen)
    tidy_up(visitor)


def _without(visitor: Visitor, deletes: dict[int, Exchange]) -> Listing:
    """List the collection, and note as gone what was deleted and is no longer shown."""
    seen = visitor.snapshot(lambda look: not deletes.keys() & set(look.ids), "delete")
    ledger, resource = visitor.target.ledger, visitor.resource
    for entry in [
        entry for entry in ledger.left if entry.resource == resource.name and entry.owner == OWN and entry.seen
    ]:
        label = str(seen.by_id.get(entry.identifier, {}).get(resource.label, ""))
        shown = visitor.evidence.is_marked(label) or entry.is_in(label)
        if entry.identifier in deletes and not shown and (seen.complete or _is_gone(visitor, entry)):
            ledger.forget(entry)
    return seen


def _delete_own(visitor: Visitor) -> dict[int, Exchange]:
    """Delete the run's remaining records; return the deletes that succeeded."""
    resource, ledger = visitor.resource.name, visitor.target.ledger
    again = {each.request.identifier for each in visitor.evidence.exchanges if each.request.operation == "delete"}
    deletes = {}
    for entry in [entry for entry in ledger.left if entry.resource == resource and entry.owner == OWN]:
        identifier = entry.identifier
        if identifier is None or identifier in deletes:
            continue
        if not ledger.allows_write(resource, identifier):
            visitor.read(identifier, Expect.OPEN)
        if ledger.allows_write(resource, identifier):
            deleted = visitor.delete(identifier, Expect.OPEN if identifier in again else Expect.SUCCESS)
            if deleted.succeeded:
                deletes[identifier] = deleted
    return deletes


def _forget_missing(visitor: Visitor, seen: Listing) -> None:
    """Note as gone what was seen but is now neither listed nor read, and creates that have left no trace."""
    ledger = visitor.target.ledger
    own = [entry for entry in ledger.left if entry.resource == visitor.resource.name and entry.owner == OWN]
    for entry in own:
        if entry.identifier is not None:
            if entry.seen and entry.identifier not in seen.ids and _is_missing(visitor, entry, seen):
                ledger.forget(entry)
        elif seen.complete and entry.answered:
            ledger.forget(entry)
        elif seen.complete:
            ledger.miss(entry)


def _is_missing(visitor: Visitor, entry: Entry, seen: Listing) -> bool:
    """Whether a record that is not listed is not read either; where not all are listed, the read has to say so."""
    return not _last_read(visitor, entry).shows(visitor.resource) if seen.complete else _is_gone(visitor, entry)


def tidy_up(visitor: Visitor) -> None:
    """Delete what was made in the other account, once it has been seen there."""
    ledger, resource = visitor.target.ledger, visitor.resource.name
    for entry in [entry for entry in ledger.left if entry.owner == OTHER and entry.resource == resource]:
        if entry.identifier is None:
            _look_for(visitor, entry)
        identifier = entry.identifier or 0
        if identifier and not ledger.allows_write(resource, identifier, OTHER):
            visitor.read(identifier, Expect.OPEN, OTHER)
        if ledger.allows_write(resource, identifier, OTHER):
            visitor.delete(identifier, Expect.OPEN, OTHER)
        if entry.seen and _is_gone(visitor, entry):
            ledger.remove(resource, identifier, OTHER)


def _look_for(visitor: Visitor, entry: Entry) -> None:
    """Find the id of an unanswered create of the other account, if its record is listed there."""
    rows, complete = _listed(visitor, OTHER)
    found = next((row for row in rows if entry.is_in(str(row.get(visitor.resource.label)))), None)
    if found and is_integer(found.get("id")):
        visitor.target.ledger.complete(entry, int(found["id"]))
    elif complete:
        visitor.target.ledger.miss(entry)


def _listed(visitor: Visitor, owner: str) -> tuple[tuple[Record, ...], bool]:
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
    if not read.failed and read.status not in UNTOLD:
        return True
    rows, complete = _listed(visitor, entry.owner)
    told = complete or (bool(rows) and read.status in KEY_REFUSED)
    return told and entry.identifier not in map(id_of, rows)


def _last_read(visitor: Visitor, entry: Entry) -> Exchange:
    """A read of a record, repeated for as long as reads may lag."""
    return visitor.until(
        "delete",
        lambda: visitor.read(entry.identifier or 0, Expect.OPEN, entry.owner),
        lambda seen: not seen.shows(visitor.resource),
    )


def _adopt(visitor: Visitor, seen: Listing) -> bool:
    """Adopt listed records with a marker of the run but an id that no create returned; return whether there are any."""
    ledger, resource = visitor.target.ledger, visitor.resource.name
    entries = [entry for entry in ledger.entries if entry.resource == resource and entry.owner == OWN]
    orphans = [entry for entry in entries if entry.marker and not entry.seen and not entry.removed]
    known = {entry.identifier for entry in entries if entry.seen}
    adopted = False
    for row in [row for row in seen.rows if is_integer(row.get("id")) and row["id"] not in known]:
        if ledger.is_others(resource, int(row["id"])):
            continue
        entry = next((each for each in orphans if shows(row, each.marker)), None)
        marker = next((marker for marker in visitor.evidence.markers if shows(row, marker)), None)
        if entry is None and marker:
            entry = ledger.plan(resource, marker)  # one create may have made two
            orphans.append(entry)
        if entry:
            ledger.complete(entry, int(row["id"]))
            ledger.vouch(entry)
            orphans.remove(entry)
            adopted = True
    return adopted
