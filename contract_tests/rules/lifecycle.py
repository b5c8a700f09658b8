"""Rules about what creates, updates and deletes do, and what they leave alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contract_tests.evidence import BeforeAfter, Creation, Evidence, Record
from contract_tests.exchange import Exchange
from contract_tests.rules.observation import (
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    answer,
    decide,
    id_text,
    others_wrote,
    shown,
    steady,
)
from contract_tests.rules.operations import TOLD_WRONG
from contract_tests.rules.same import is_same
from link_management_contract import Resource


def created_record_is_read(evidence: Evidence, resource: Resource) -> Observations:
    """Reads straight after a create, and whether later reads of the run's records show the records asked for."""
    for creation in evidence.creations[resource.name]:
        read = creation.read
        if (
            read is None
            or not creation.exchange.succeeded
            or read.record is not None
            or _holds_label(creation, resource)
        ):
            continue
        missing = evidence.is_missing(resource.name, creation.identifier)
        if read.succeeded or read.status in TOLD_WRONG | {410} or (missing and not read.failed):
            yield Violation(read, f"the record {creation.identifier}", answer(read))
        else:
            yield Undecided(f"the read was {answer(read)}")
    for read in evidence.of(resource.name, "read"):
        if read.record is not None and read.request.identifier in evidence.own[resource.name]:
            identifier = read.request.identifier
            received = f"the id {id_text(read.record)}"
            yield decide(
                read, f"the record {identifier}", received, kept=read.record.get("id") == identifier, at="/data/id"
            )


def _holds_label(creation: Creation, resource: Resource) -> bool:
    """Whether a read shows the name or host that was written, in whatever form."""
    label = creation.form.get(resource.label, "").partition(" ")[0].casefold()
    return bool(creation.read and label and label.encode() in creation.read.body.lower())


def created_record_is_listed_once(evidence: Evidence, resource: Resource) -> Observations:
    """The run's records in the listing after their creation."""
    for phase in evidence.before_after[resource.name]:
        if phase.event == "create" and phase.after.exchange is not None:
            for identifier in sorted(phase.made):
                count = phase.after.ids.count(identifier)
                if not count and not phase.after.complete:
                    yield Undecided("the collection is too large to be read as a whole")
                else:
                    received = f"it {count} times"
                    yield decide(phase.after.exchange, f"the record {identifier} once", received, kept=count == 1)


def created_id_is_new(evidence: Evidence, resource: Resource) -> Observations:
    """The ids that creates returned, compared with those that existed before."""
    for creation in evidence.creations[resource.name]:
        if creation.identifier is not None and creation.exchange.made_id is not None:
            kept = creation.identifier not in creation.before
            received = f"{creation.identifier}, which was there before"
            yield decide(creation.exchange, "a new id", received, kept=kept)


def create_leaves_other_records(evidence: Evidence, resource: Resource) -> Observations:
    """All records listed before and after creates."""
    yield from _left_alone(evidence, resource, "create")


def update_changes_what_it_names(evidence: Evidence, resource: Resource) -> Observations:
    """Updates of fields that reads show, `is_enabled` aside."""
    for change in evidence.changes[resource.name]:
        record = change.read.record if change.read else None
        if not change.exchange.succeeded or change.read is None:
            continue
        if record is None:
            yield Undecided(f"the read after the update was {answer(change.read)}")
            continue
        for name, text in change.form.items():
            if name not in resource.shape or name not in record or name == "is_enabled" or not text:
                continue
            if not is_same(name, change.before.get(name), text):
                kept = record[name] != change.before.get(name)
                received = f"{name} {shown(record[name], own=True)}, as before"
                yield decide(change.read, f"{name} {text!r}", received, kept=kept, at=f"/data/{name}")
        settings = record.get("settings")
        address = settings.get("email") if isinstance(settings, dict) else None
        if "email" in change.form and change.before.get("type") == "email" and isinstance(address, str):
            kept = settings != change.before.get("settings")
            yield decide(
                change.read, f"email {change.form['email']!r}", "the one before", kept=kept, at="/data/settings/email"
            )


def update_leaves_other_fields(evidence: Evidence, resource: Resource) -> Observations:
    """The fields that an update leaves out, except those that its other fields may change."""
    for change in evidence.changes[resource.name]:
        record = change.read.record if change.read else None
        if record is None or change.read is None or not change.exchange.succeeded:
            continue
        for name in _untouched(resource, change.form):
            if name in record and name in change.before:
                kept = record[name] == change.before[name]
                expected = f"{name} {shown(change.before[name], own=True)}, as before"
                yield decide(change.read, expected, shown(record[name], own=True), kept=kept, at=f"/data/{name}")


def _untouched(resource: Resource, form: Any) -> list[str]:
    """The readable fields that an update with this form leaves alone; any update may change the colour."""
    left = set(resource.shape) - set(form) - {"id", "datetime", "last_datetime", "is_enabled", "color"}
    if "host" in form:
        left -= {"scheme"}
    if set(form) - {"name", "is_enabled"} and resource.types:
        left -= {"settings"}
    return sorted(left)


def update_keeps_datetime(evidence: Evidence, resource: Resource) -> Observations:
    """`datetime` before and after updates."""
    for change in evidence.changes[resource.name]:
        record = change.read.record if change.read else None
        if change.read and record and "datetime" in record and "datetime" in change.before:
            kept = record["datetime"] == change.before["datetime"]
            expected = f"datetime {change.before['datetime']}, as before"
            yield decide(change.read, expected, shown(record["datetime"], own=True), kept=kept, at="/data/datetime")


def update_leaves_other_records(evidence: Evidence, resource: Resource) -> Observations:
    """All records listed before and after updates."""
    yield from _left_alone(evidence, resource, "update")
    creates = [exchange for exchange in evidence.exchanges if exchange.request.operation == "create"]
    unknown = {str((each.request.form or {}).get(resource.label)) for each in creates if each.made_id is None}
    for phase in evidence.before_after[resource.name]:
        if phase.event == "update" and phase.after.exchange:
            labels = [phase.after.by_id[identifier].get(resource.label) for identifier in phase.came]
            doubles = [label for label in labels if evidence.is_marked(label) and str(label) not in unknown]
            yield decide(phase.after.exchange, "no further record", f"{len(doubles)} more", kept=not doubles)


def deleted_record_is_not_read(evidence: Evidence, resource: Resource) -> Observations:
    """Reads after a delete."""
    for removal in evidence.removals[resource.name]:
        if removal.read is not None and removal.exchange.succeeded:
            received = f"{answer(removal.read)} and a record"
            yield decide(removal.read, "no record", received, kept=not removal.read.shows(resource))


def deleted_record_is_not_listed(evidence: Evidence, resource: Resource) -> Observations:
    """Listings after a delete."""
    for removal in evidence.removals[resource.name]:
        if removal.after and removal.after.exchange and removal.exchange.succeeded:
            identifier = removal.exchange.request.identifier
            listed = evidence.is_marked(removal.after.by_id.get(identifier, {}).get(resource.label))
            yield decide(removal.after.exchange, f"no record {identifier}", "it is listed", kept=not listed)


def deleted_record_stays_deleted(evidence: Evidence, resource: Resource) -> Observations:
    """Reads and lists after an update of a deleted record."""
    for removal in evidence.removals[resource.name]:
        identifier = removal.exchange.request.identifier
        if removal.late_read is not None:
            kept = not removal.late_read.shows(resource)
            yield decide(removal.late_read, "no record", "a record, after an update", kept=kept)
        if removal.late_read is not None and removal.late_list and removal.late_list.exchange:
            listed = identifier in removal.late_list.ids
            yield decide(removal.late_list.exchange, f"no record {identifier}", "it is listed again", kept=not listed)


def delete_leaves_other_records(evidence: Evidence, resource: Resource) -> Observations:
    """All records listed before and after a delete."""
    yield from _left_alone(evidence, resource, "delete")


def reads_change_nothing(evidence: Evidence, resource: Resource) -> Observations:
    """All records listed before and after nothing but reads and lists."""
    for watch in evidence.watches[resource.name]:
        if watch.is_their_doing:
            received = "others each time that the run looks, and no more so when it rests"
            yield Violation(watch.exchange, "the same records while nobody writes", received)
    for scan in evidence.paging_scans[resource.name]:
        if scan.after.exchange is None or not scan.before.rows:
            continue
        if not scan.is_quiet:
            yield Undecided("others wrote meanwhile")
            continue
        for identifier, before in scan.before.by_id.items():
            now = scan.after.by_id[identifier]
            own = evidence.is_own(resource.name, now)
            if not own and _is_edited(resource, before, now):
                yield Undecided("others wrote meanwhile")
            else:
                yield _same(scan.after.exchange, resource, before, now, own=own)


def _left_alone(evidence: Evidence, resource: Resource, event: str) -> Observations:
    for phase in evidence.before_after[resource.name]:
        if phase.event != event or phase.after.exchange is None or not (phase.made or phase.removed or phase.changed):
            continue
        own = evidence.own[resource.name]
        if phase.went and phase.after.complete:
            lost = sorted(phase.went & own)
            if lost:
                yield Violation(phase.after.exchange, f"the record {lost[0]}, as before", "it is gone")
            elif not _is_quiet(evidence, resource):
                yield Undecided("others wrote meanwhile")
            else:
                yield Violation(phase.after.exchange, "every other record", f"{len(phase.went)} are gone")
        yield from _unchanged(evidence, phase, resource, phase.after.exchange)


def _is_quiet(evidence: Evidence, resource: Resource) -> bool:
    """Whether nobody else seems to have written during the visit, nor while the run only read at its end."""
    paging_scans, before_after = (
        evidence.paging_scans[resource.name],
        evidence.before_after[resource.name],
    )
    if any(phase.came for phase in before_after) or not all(scan.is_quiet for scan in paging_scans):
        return False
    if others_wrote(evidence, resource):
        return False
    pairs = ((before, scan.after.by_id[each]) for scan in paging_scans for each, before in scan.before.by_id.items())
    return not any(
        _is_edited(resource, before, now) for before, now in pairs if not evidence.is_own(resource.name, now)
    )


def _is_edited(resource: Resource, before: Record, now: Record) -> bool:
    """Whether more than the time of its last update has changed in a record; a server may set that time by mistake."""
    return any(before.get(name) != now.get(name) for name in steady(resource) if name != "last_datetime")


def _unchanged(evidence: Evidence, phase: BeforeAfter, resource: Resource, exchange: Exchange) -> Iterator[Observation]:
    quiet = _is_quiet(evidence, resource)
    for identifier, before in phase.before.by_id.items():
        now = phase.after.by_id.get(identifier)
        if now is not None and identifier not in phase.changed | phase.removed:
            own = identifier in evidence.own[resource.name]
            same = _same(exchange, resource, before, now, own=own)
            yield same if own or quiet or isinstance(same, Satisfied) else Undecided("others wrote meanwhile")


def _same(exchange: Exchange, resource: Resource, before: Record, now: Record, *, own: bool) -> Observation:
    differing = [name for name in steady(resource) if before.get(name) != now.get(name)]
    if not differing:
        return Satisfied(exchange)
    name = differing[0]
    expected = f"{name} {shown(before.get(name), own=own)} in the record {before.get('id')}, as before"
    return Violation(exchange, expected, shown(now.get(name), own=own))
