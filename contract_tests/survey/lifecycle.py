"""Chapters that change and remove the run's own records."""

from __future__ import annotations

import re
from dataclasses import replace

from contract_tests.evidence import Phase, Record, Removal, Snapshot
from contract_tests.exchange import OTHER, OWN, Exchange, FormValue, is_integer
from contract_tests.ledger import Entry
from contract_tests.survey.samples import SCRIPTS, of_type, optional, value
from contract_tests.survey.visitor import Visitor
from contract_tests.target import WriteRefusedError


def update(visitor: Visitor, identifier: int) -> Record:
    """Update a record one field at a time, then all at once; what it then shows."""
    creations = visitor.evidence.creations[visitor.kind.name]
    reads = (creation.read for creation in creations if creation.identifier == identifier and creation.read)
    record = (next(reads, None) or visitor.read(identifier)).record or {}
    try:
        for form, expects in _changes(visitor, record):
            record = visitor.change(identifier, form, record, expects)
    except WriteRefusedError:
        visitor.evidence.notes[visitor.kind.name].append(
            f"the record {identifier} that a create answered does not show its marker, so it was not written to"
        )
    return record


def _changes(visitor: Visitor, record: Record) -> list[tuple[dict[str, FormValue], str]]:
    """Forms with what they expect; a name with letters of several scripts may be refused.

    A handler is updated without `is_enabled` both while it is enabled and while it is not; it ends as it did not begin.
    """
    kind = visitor.kind
    renamed: dict[str, FormValue] = {"name": f"{visitor.mark()} {SCRIPTS}"}
    label: dict[str, FormValue] = {kind.label: visitor.mark()}
    if kind.types:
        other, begun = ("0", "1") if record.get("is_enabled") is True else ("1", "0")
        return [
            ({"is_enabled": other}, "success"),
            (of_type("slack"), "success"),
            ({"is_enabled": begun}, "success"),
            (renamed, "open"),
            (of_type("email") | {kind.label: visitor.mark()}, "success"),
            ({"email": value("email", "text", "other-")}, "success"),
            (of_type("slack", "other-") | label | {"is_enabled": other}, "success"),
        ]
    fields = [name for name in kind.shape if name in kind.optional] or [next(iter(kind.optional))]
    apart = [name for name in kind.optional if name.startswith("custom_not_found")]
    single = [{name: value(name, kind.optional[name], "other-")} for name in [*fields, *apart]]
    every = [(form, "success") for form in [*single, optional(kind, "third-", files=True) | label]]
    return [*every, (renamed, "open")] if kind.label == "name" else every


def remove_one(visitor: Visitor, identifier: int, before: Snapshot) -> Snapshot:
    """Delete a record, see that it is gone, and try to bring it back by an update; the last look at the whole."""
    kind = visitor.kind
    try:
        removal = remove(visitor, identifier, before)
    except WriteRefusedError:
        return visitor.snapshot()
    if removal.is_seen(kind):
        visitor.update(identifier, {kind.label: visitor.mark()}, "open")
        visitor.settle()
        late_read = visitor.read(identifier, "open")
        visitor.evidence.removals[kind.name][-1] = replace(removal, late_read=late_read)
        if not late_read.shows(kind):
            visitor.target.ledger.remove(kind.name, identifier)
    return removal.after or before


def remove(visitor: Visitor, identifier: int, before: Snapshot) -> Removal:
    """Delete a record, and see that it is gone.

    Raises:
        WriteRefusedError: if the record is not known to be the run's own.
    """
    kind, removal = visitor.kind, delete(visitor, identifier)
    after = visitor.snapshot(
        lambda seen: identifier not in seen.ids and (seen.total or 0) < (before.total or 0), "list after delete"
    )
    removal = replace(removal, after=after)
    visitor.evidence.removals[kind.name].append(removal)
    removed = frozenset({identifier} if removal.exchange.succeeded else ())
    visitor.evidence.phases[kind.name].append(Phase("delete", before, after, removed=removed))
    return removal


def delete(visitor: Visitor, identifier: int, expects: str = "success") -> Removal:
    """Delete a record, and read it until it is gone.

    Raises:
        WriteRefusedError: if the record is not known to be the run's own.
    """
    deleted = visitor.delete(identifier, expects)
    read = visitor.until("delete", lambda: visitor.read(identifier, "open"), lambda seen: not seen.shows(visitor.kind))
    return Removal(deleted, read)


def see_late(visitor: Visitor, seen: Snapshot) -> None:
    """Keep what is listed some time after the last delete."""
    removals = visitor.evidence.removals.get(visitor.kind.name, [])
    if removals and removals[-1].late_list is None:
        removals[-1] = replace(removals[-1], late_list=seen)


def remove_all(visitor: Visitor) -> None:
    """Delete what is left of the run's records of this kind, those too of which no create told, and look once more."""
    kind, ledger, evidence = visitor.kind, visitor.target.ledger, visitor.evidence
    if not any(entry.kind == kind.name for entry in ledger.entries):
        return
    deletes = _delete_own(visitor)
    seen = visitor.snapshot(lambda look: not deletes.keys() & set(look.ids), "list after clean-up")
    see_late(visitor, seen)
    own = [entry for entry in ledger.left if entry.kind == kind.name and entry.seen]
    for entry in [entry for entry in own if entry.identifier in deletes]:
        identifier = entry.identifier or 0
        evidence.removals[kind.name].append(Removal(deletes[identifier], after=seen))
        label = str(seen.by_id.get(identifier, {}).get(kind.label, "")).casefold()
        if not evidence.is_marked(label) and not label.startswith(entry.marker.casefold()):
            ledger.remove(kind.name, identifier)
    if _adopt(visitor, seen):
        for identifier in _delete_own(visitor):
            ledger.remove(kind.name, identifier)
    _forget_missing(visitor, seen)
    tidy_up(visitor)


def _delete_own(visitor: Visitor) -> dict[int, Exchange]:
    """Delete the run's records that are left; the deletes that succeeded."""
    kind, ledger = visitor.kind.name, visitor.target.ledger
    again = {each.request.identifier for each in visitor.evidence.exchanges if each.request.operation == "delete"}
    deletes = {}
    for entry in [entry for entry in ledger.left if entry.kind == kind and entry.owner == OWN]:
        identifier = entry.identifier or 0
        if not entry.seen:
            visitor.read(identifier, "open")
        if entry.seen:
            deleted = visitor.delete(identifier, "open" if identifier in again else "success")
            if deleted.succeeded:
                deletes[identifier] = deleted
    return deletes


def _forget_missing(visitor: Visitor, seen: Snapshot) -> None:
    """Note as gone what is neither listed nor read, whoever removed it."""
    for entry in visitor.target.ledger.left:
        listed = entry.owner != OWN or entry.identifier in seen.ids
        if seen.complete and entry.kind == visitor.kind.name and not listed and _is_gone(visitor, entry):
            visitor.target.ledger.remove(entry.kind, entry.identifier or 0)


def tidy_up(visitor: Visitor) -> None:
    """Delete what was made in the other account, once it was seen there."""
    ledger, kind = visitor.target.ledger, visitor.kind.name
    for entry in [entry for entry in ledger.left if entry.owner == OTHER and entry.kind == kind]:
        identifier = entry.identifier or 0
        if not entry.seen:
            visitor.read(identifier, "open", OTHER)
        if entry.seen and (visitor.delete(identifier, "open", OTHER).succeeded or _is_gone(visitor, entry)):
            ledger.remove(kind, identifier, OTHER)


def _is_gone(visitor: Visitor, entry: Entry) -> bool:
    read = visitor.read(entry.identifier or 0, "open", entry.owner)
    return not read.shows(visitor.kind) and not read.failed


def _adopt(visitor: Visitor, seen: Snapshot) -> bool:
    """Find listed records with a marker of the run whose create told no id; whether there are any."""
    ledger, kind = visitor.target.ledger, visitor.kind.name
    entries = [entry for entry in ledger.entries if entry.kind == kind and entry.owner == OWN]
    orphans = [entry for entry in entries if entry.marker and not entry.seen]
    known = {entry.identifier for entry in entries if entry.seen}
    adopted = False
    for row in seen.rows:
        label = str(row.get(visitor.kind.label)).casefold()
        entry = next((each for each in orphans if re.match(rf"{re.escape(each.marker.casefold())}(?!\w)", label)), None)
        if entry and is_integer(row.get("id")) and row["id"] not in known:
            ledger.complete(entry, int(row["id"]))
            ledger.see(kind, int(row["id"]), entry.marker)
            orphans.remove(entry)
            adopted = True
    return adopted
