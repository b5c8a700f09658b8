"""Rules about what creates, updates and deletes do, and what they leave alone."""

from collections.abc import Iterable

from contract_tests.comparing import holds_text, is_same_value
from contract_tests.evidence import Change, ChangePeriod, Creation, Evidence, Record
from contract_tests.exchange import REJECTED, Exchange
from contract_tests.observation import (
    NEEDS_CONTROL,
    NEEDS_CREATES,
    NEEDS_DELETES,
    NEEDS_PAGES,
    NEEDS_UPDATES,
    OTHERS_WROTE,
    Chapter,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    expect,
    expect_field,
    format_value,
    others_wrote,
    rule,
    status_text,
    steady,
)
from link_management_contract import Resource


@rule("lifecycle.created-record-is-read", needs=NEEDS_PAGES | NEEDS_CREATES)
def created_record_is_read(evidence: Evidence) -> Observations:
    """Reads straight after a create, and whether later reads of the run's records show the records asked for."""
    for creation in evidence.creations:
        read = creation.read
        if (
            read is None
            or not creation.exchange.succeeded
            or read.record
            or _holds_label(creation, read, evidence.resource)
        ):
            continue
        missing = evidence.is_missing(creation.identifier)
        if read.succeeded or read.status in REJECTED | {410} or (missing and not read.failed):
            yield Violation(read, f"the record {creation.identifier}", status_text(read))
        else:
            yield Undecided(f"the read: {status_text(read)}")
    for read in evidence.of("read"):
        if read.record is not None and read.request.identifier in evidence.created_ids:
            yield expect(read, "/data/id", read.request.identifier)


def _holds_label(creation: Creation, read: Exchange, resource: Resource) -> bool:
    """Whether a read shows the name or host that was written, in whatever form."""
    label = creation.form.get(resource.label, "").partition(" ")[0].casefold()
    return bool(label and label.encode() in read.body.lower())


@rule("lifecycle.created-record-is-listed-once", needs=NEEDS_PAGES | NEEDS_CREATES)
def created_record_is_listed_once(evidence: Evidence) -> Observations:
    """The run's records in the listing after their creation."""
    for period in evidence.change_periods:
        for identifier in sorted(period.created) if period.event == "create" and period.after.exchange else ():
            count = period.after.ids.count(identifier)
            if not count and not period.after.complete:
                yield Undecided("the collection is too large to be read as a whole")
            elif period.after.exchange:
                yield decide(period.after.exchange, count == 1, f"the record {identifier} once", f"it {count} times")


@rule("lifecycle.created-id-is-new", needs=NEEDS_PAGES | NEEDS_CREATES)
def created_id_is_new(evidence: Evidence) -> Observations:
    """The ids that creates returned, compared with those that existed before."""
    for creation in evidence.creations:
        if creation.identifier is not None and creation.exchange.made_id is not None:
            is_unused, received = (
                creation.identifier not in creation.before,
                f"{creation.identifier}, which was there before",
            )
            yield decide(creation.exchange, is_unused, "a new id", received)


@rule("lifecycle.update-changes-what-it-names", needs=NEEDS_PAGES | NEEDS_UPDATES)
def update_changes_what_it_names(evidence: Evidence) -> Observations:
    """Updates of fields that reads show, `is_enabled` aside."""
    for change in evidence.changes:
        read, record, before = change.read, change.record, change.before
        if not change.exchange.succeeded or read is None:
            continue
        if record is None:
            yield Undecided(f"the read after the update: {status_text(read)}")
            continue
        for name, text in change.form.items():
            if name not in evidence.resource.record_schema or name not in record or name == "is_enabled" or not text:
                continue
            if not is_same_value(name, before.get(name), text):
                expected, received = f"{name}: {format_value(text)}", f"{name}: {format_value(record[name])}, as before"
                yield decide(read, record[name] != before.get(name), expected, received, f"/data/{name}")
        settings = record.get("settings")
        address = settings.get("email") if isinstance(settings, dict) else None
        if "email" in change.form and before.get("type") == "email" and isinstance(address, str):
            expected, at = f"settings.email: {format_value(change.form['email'])}", "/data/settings/email"
            yield decide(read, settings != before.get("settings"), expected, "the one before", at)


@rule("lifecycle.update-leaves-other-fields", needs=NEEDS_PAGES | NEEDS_UPDATES)
def update_leaves_other_fields(evidence: Evidence) -> Observations:
    """The fields that an update leaves out, except those that its other fields may change."""
    for change in evidence.changes:
        if change.read and change.record and change.exchange.succeeded:
            for name in _untouched(evidence.resource, change.form):
                if name in change.record and name in change.before:
                    yield expect_field(change.read, change.record, name, change.before[name], reason="as before")
            yield from _settings_remain(evidence, change, change.read, change.record)


def _settings_remain(evidence: Evidence, change: Change, read: Exchange, record: Record) -> Observations:
    """Whether settings still hold what the run had given to another field of the same type."""
    before, now, resource = change.before.get("settings"), record.get("settings"), evidence.resource
    if not isinstance(before, dict) or not isinstance(now, dict) or "type" in change.form:
        return
    earlier = (creation.form for creation in evidence.creations if creation.identifier == read.request.identifier)
    values_given = {name: text for form in earlier for name, text in form.items()}
    for name, text in values_given.items():
        if name not in change.form and resource.types_of.get(name) == record.get("type") and holds_text(before, text):
            yield decide(
                read, holds_text(now, text), f"settings that hold the {name}, as before", "settings without it"
            )


def _untouched(resource: Resource, form: Iterable[str]) -> list[str]:
    """The readable fields that an update with this form leaves alone; any update may change the colour."""
    fields = set(form)
    left = set(resource.record_schema) - fields - {"id", "datetime", "last_datetime", "is_enabled", "color"}
    if "host" in fields:
        left -= {"scheme"}
    if fields - {"name", "is_enabled"} and resource.types:
        left -= {"settings"}
    return sorted(left)


@rule("lifecycle.update-keeps-datetime", needs=NEEDS_UPDATES | {Chapter.ANOTHER_SECOND})
def update_keeps_datetime(evidence: Evidence) -> Observations:
    for change in evidence.changes:
        if change.read and change.record and "datetime" in change.record and "datetime" in change.before:
            yield expect_field(change.read, change.record, "datetime", change.before["datetime"], reason="as before")


@rule("lifecycle.deleted-record-is-not-read", needs=NEEDS_UPDATES | NEEDS_DELETES)
def deleted_record_is_not_read(evidence: Evidence) -> Observations:
    for removal in evidence.removals:
        if removal.read is not None and removal.exchange.succeeded:
            received = f"{status_text(removal.read)} and a record"
            yield decide(removal.read, not removal.read.shows(evidence.resource), "no record", received)


@rule("lifecycle.deleted-record-is-not-listed", needs=NEEDS_UPDATES | NEEDS_DELETES)
def deleted_record_is_not_listed(evidence: Evidence) -> Observations:
    for removal in evidence.removals:
        if removal.after and removal.after.exchange and removal.exchange.succeeded:
            identifier = removal.exchange.request.identifier
            is_listed = evidence.is_marked(removal.after.by_id.get(identifier, {}).get(evidence.label))
            yield decide(removal.after.exchange, not is_listed, f"no record {identifier}", "it is listed")


@rule("lifecycle.deleted-record-stays-deleted", needs=NEEDS_UPDATES | NEEDS_DELETES)
def deleted_record_stays_deleted(evidence: Evidence) -> Observations:
    """Reads and lists after an update of a deleted record."""
    for removal in evidence.removals:
        identifier = removal.exchange.request.identifier
        if removal.late_read is not None:
            is_deleted = not removal.late_read.shows(evidence.resource)
            yield decide(removal.late_read, is_deleted, "no record", "a record, after an update")
            if removal.late_list and removal.late_list.exchange:
                is_deleted = identifier not in removal.late_list.ids
                yield decide(removal.late_list.exchange, is_deleted, f"no record {identifier}", "it is listed again")


@rule("lifecycle.reads-change-nothing", needs=NEEDS_PAGES | NEEDS_UPDATES)
def reads_change_nothing(evidence: Evidence) -> Observations:
    """All records listed before and after nothing but reads and lists."""
    for repeated in evidence.repeated_listings:
        if repeated.is_their_doing:
            received = "others each time that the run looks, and no more so when it rests"
            yield Violation(repeated.exchange, "the same records while nobody writes", received)
    for scan in evidence.paging_scans:
        if scan.after.exchange is None or not scan.before.rows:
            continue
        if not scan.is_stable:
            yield OTHERS_WROTE
            continue
        for identifier, before in scan.before.by_id.items():
            now = scan.after.by_id[identifier]
            belongs = evidence.is_run_record(now)
            is_edited = not belongs and _is_edited(evidence.resource, before, now)
            yield (
                OTHERS_WROTE
                if is_edited
                else _compare(scan.after.exchange, evidence.resource, before, now, verbatim=belongs)
            )


@rule("lifecycle.create-leaves-other-records", "create", needs=NEEDS_PAGES | NEEDS_CREATES | NEEDS_CONTROL)
@rule("lifecycle.update-leaves-other-records", "update", needs=NEEDS_PAGES | NEEDS_UPDATES | NEEDS_CONTROL)
@rule("lifecycle.delete-leaves-other-records", "delete", needs=NEEDS_UPDATES | NEEDS_DELETES | NEEDS_CONTROL)
def leaves_other_records(evidence: Evidence, event: str) -> Observations:
    """All records listed before and after creates, updates or deletes."""
    undisturbed, created = _undisturbed(evidence), evidence.created_ids
    for period in evidence.change_periods:
        exchange = period.after.exchange
        if period.event != event or exchange is None:
            continue
        if period.created or period.removed or period.changed or event == "create":
            yield from _none_lost(period, exchange, created, undisturbed=undisturbed and _could_lose(evidence))
            for identifier, before in period.before.by_id.items():
                now = period.after.by_id.get(identifier)
                if now is not None and identifier not in period.changed | period.removed:
                    observation = _compare(exchange, evidence.resource, before, now, verbatim=identifier in created)
                    yield (
                        observation
                        if identifier in created or undisturbed or isinstance(observation, Satisfied)
                        else OTHERS_WROTE
                    )
        if event == "update":
            doubles = _doubles(evidence, period)
            yield decide(exchange, not doubles, "no further record", f"{doubles} more")


def _could_lose(evidence: Evidence) -> bool:
    """Whether others' records were there while the run only read, so that somebody who removes them would be seen."""
    return all(any(not evidence.is_run_record(row) for row in before.rows) for before, _ in evidence.controls)


def _none_lost(period: ChangePeriod, exchange: Exchange, created: set[int], *, undisturbed: bool) -> Observations:
    if period.disappeared and period.after.complete:
        if lost := sorted(period.disappeared & created):
            yield Violation(exchange, f"the record {lost[0]}, as before", "it is gone")
        elif undisturbed:
            yield Violation(exchange, "every other record", f"{len(period.disappeared)} are gone")
        else:
            yield OTHERS_WROTE


def _doubles(evidence: Evidence, period: ChangePeriod) -> int:
    """How many records with markers of the run came, though each create whose record is known made one alone."""
    creates = [exchange for exchange in evidence.exchanges if exchange.request.operation == "create"]
    unknown = {str((create.request.form or {}).get(evidence.label)) for create in creates if create.made_id is None}
    labels = [period.after.by_id[identifier].get(evidence.label) for identifier in period.appeared]
    return sum(evidence.is_marked(label) and str(label) not in unknown for label in labels)


def _undisturbed(evidence: Evidence) -> bool:
    """Whether nobody else seems to have written during the visit, nor while the run only read at its end."""
    scans, periods = evidence.paging_scans, evidence.change_periods
    if any(period.appeared for period in periods) or not all(scan.is_stable for scan in scans):
        return False
    if others_wrote(evidence):
        return False
    pairs = (
        (before, scan.after.by_id[identifier]) for scan in scans for identifier, before in scan.before.by_id.items()
    )
    return not any(
        _is_edited(evidence.resource, before, now) for before, now in pairs if not evidence.is_run_record(now)
    )


def _is_edited(resource: Resource, before: Record, now: Record) -> bool:
    """Whether more than the time of its last update has changed in a record; a server may set that time by mistake."""
    return any(before.get(name) != now.get(name) for name in steady(resource) if name != "last_datetime")


def _compare(exchange: Exchange, resource: Resource, before: Record, now: Record, *, verbatim: bool) -> Observation:
    name = next((name for name in steady(resource) if before.get(name) != now.get(name)), None)
    if name is None:
        return Satisfied(exchange)
    title = f"{name} of record {before.get('id')}"
    expected = f"{title}: {format_value(before.get(name), verbatim=verbatim)}, as before"
    return Violation(exchange, expected, f"{title}: {format_value(now.get(name), verbatim=verbatim)}")
