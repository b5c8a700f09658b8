"""Chapters that change and remove the run's own records."""

from __future__ import annotations

from dataclasses import replace

from contract_tests.evidence import Record, Removal, Snapshot
from contract_tests.exchange import OWN, Exchange, FormValue
from contract_tests.survey.samples import of_type, optional, value
from contract_tests.survey.visitor import Visitor
from contract_tests.target import WriteRefusedError


def update(visitor: Visitor, identifier: int) -> Record:
    """Update a record one field at a time, then all at once; what it then shows."""
    creations = visitor.evidence.creations[visitor.kind.name]
    reads = (creation.read for creation in creations if creation.identifier == identifier and creation.read)
    record = next(reads, None) or visitor.read(identifier)
    return _update(visitor, identifier, record.record or {})


def _update(visitor: Visitor, identifier: int, record: Record) -> Record:
    try:
        for form in _changes(visitor, record):
            record = visitor.change(identifier, form, record)
        record = _rename(visitor, identifier, record)
    except WriteRefusedError:
        visitor.evidence.notes.setdefault(visitor.kind.name, []).append(
            f"the record {identifier} that a create answered does not show its marker, so it was not written to"
        )
    return record


def _changes(visitor: Visitor, record: Record) -> list[dict[str, FormValue]]:
    kind = visitor.kind
    if kind.types:
        toggles = ("0", "1") if record.get("is_enabled") is True else ("1", "0")
        return [
            {"is_enabled": toggles[0]},
            of_type("slack"),
            {"name": visitor.mark()},
            {"is_enabled": toggles[1]},
            of_type("email"),
            {"email": str(value("email", "text", "other-"))},
        ]
    fields = [name for name in kind.shape if name in kind.optional] or [next(iter(kind.optional))]
    apart = [name for name in kind.optional if name.startswith("custom_not_found")]
    return [
        *({name: value(name, kind.optional[name], "other-")} for name in [*fields, *apart]),
        optional(kind, files=True),
    ]


def _rename(visitor: Visitor, identifier: int, record: Record) -> Record:
    """Give a record another name, one with letters of several scripts, or another host; a name may be refused."""
    if visitor.kind.label == "name":
        renamed = visitor.change(identifier, {"name": f"{visitor.mark()} Größe 東京"}, record, "open")
        if renamed != record or visitor.kind.types:
            return renamed
    return visitor.change(identifier, {visitor.kind.label: visitor.mark()}, record)


def remove_one(visitor: Visitor, identifier: int, before: Snapshot) -> Snapshot:
    """Delete a record, see that it is gone, and try to bring it back by an update; the last look at the whole."""
    removals = visitor.evidence.removals.setdefault(visitor.kind.name, [])
    try:
        removal = remove(visitor, identifier, before)
    except WriteRefusedError:
        return visitor.snapshot()
    after = removal.after or before
    if removal.is_seen:
        visitor.update(identifier, {visitor.kind.label: visitor.mark()}, "open")
        late_read = visitor.read(identifier, "open")
        removals[-1] = replace(removal, late_read=late_read)
        if late_read.record is None:
            visitor.target.ledger.remove(visitor.kind.name, identifier)
    return after


def remove(visitor: Visitor, identifier: int, before: Snapshot) -> Removal:
    """Delete a record, and see that it is gone.

    Raises:
        WriteRefusedError: if the record is not known to be the run's own.
    """
    deleted = visitor.delete(identifier)
    read = visitor.until("delete", lambda: visitor.read(identifier, "open"), lambda seen: seen.record is None)
    after = visitor.snapshot(
        lambda seen: identifier not in seen.ids and (seen.total or 0) < (before.total or 0), "list after delete"
    )
    removal = Removal(deleted, read, after)
    visitor.evidence.removals.setdefault(visitor.kind.name, []).append(removal)
    return removal


def see_late(visitor: Visitor, seen: Snapshot) -> None:
    """Keep what is listed some time after the last delete."""
    removals = visitor.evidence.removals.get(visitor.kind.name, [])
    if removals and removals[-1].late_list is None:
        removals[-1] = replace(removals[-1], late_list=seen)


def remove_all(visitor: Visitor) -> None:
    """Delete what is left of the run's records of this kind, those too of which no create told."""
    kind, ledger = visitor.kind.name, visitor.target.ledger
    if any(entry.kind == kind for entry in ledger.entries):
        seen = visitor.snapshot()
        see_late(visitor, seen)
        _adopt(visitor, seen)
        _forget_missing(visitor, seen)
    for entry in [entry for entry in ledger.left if entry.kind == kind and entry.owner == OWN]:
        identifier = entry.identifier or 0
        if not entry.seen:
            visitor.read(identifier, "open")
        if entry.seen:
            deleted = visitor.delete(identifier)
            if deleted.succeeded or _is_gone(visitor, identifier):
                ledger.remove(kind, identifier)


def _forget_missing(visitor: Visitor, seen: Snapshot) -> None:
    """Note as gone what somebody else removed."""
    for entry in visitor.target.ledger.left:
        listed = entry.owner != OWN or entry.identifier in seen.ids
        gone = seen.complete and entry.kind == visitor.kind.name and not listed
        if gone and _is_gone(visitor, entry.identifier or 0):
            visitor.target.ledger.remove(entry.kind, entry.identifier or 0)


def _is_gone(visitor: Visitor, identifier: int) -> bool:
    read: Exchange = visitor.read(identifier, "open")
    return read.record is None and not read.failed


def _adopt(visitor: Visitor, seen: Snapshot) -> None:
    """Find listed records with a marker of the run whose create told no id; a name may go on behind its marker."""
    ledger, kind = visitor.target.ledger, visitor.kind.name
    entries = [entry for entry in ledger.entries if entry.kind == kind and entry.owner == OWN]
    orphans = [entry for entry in entries if entry.identifier is None]
    known = {entry.identifier for entry in entries}
    for row in seen.rows:
        marker = str(row.get(visitor.kind.label, "")).casefold().partition(" ")[0]
        entry = next((each for each in orphans if each.marker.casefold() == marker), None)
        if entry and isinstance(row.get("id"), int) and row["id"] not in known:
            ledger.complete(entry, row["id"])
            orphans.remove(entry)
