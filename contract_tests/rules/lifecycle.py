"""Rules about what creates, updates and deletes do, and what they leave alone."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from contract_tests.evidence.evidence import (
    BystanderCheck,
    Change,
    ChangePeriod,
    Creation,
    Evidence,
    Record,
    first_sight_of,
)
from contract_tests.evidence.exchange import FORM_REJECTED, OWN_KEY, REJECTED, Exchange, Expect
from contract_tests.evidence.marks import begins, mark_of, normalize
from contract_tests.evidence.observation import (
    NEEDS_CREATES,
    NEEDS_DELETES,
    NEEDS_PAGES,
    NEEDS_UPDATES,
    OTHERS_WROTE,
    Chapter,
    NotApplicable,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    expect,
    expect_field,
    format_both,
    format_value,
    id_text,
    rule,
    steady,
)
from contract_tests.evidence.urls import holds_text, is_same_value
from link_management_contract import Resource

MIN_OWN_TEXT = 10  # characters of an address that no server has of its own


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
            yield Violation(read, f"the record {creation.identifier}", read.status_text)
        else:
            yield Undecided(f"the read: {read.status_text}")
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


@rule("lifecycle.ids-are-not-used-again", needs=NEEDS_CREATES | NEEDS_DELETES)
def ids_are_not_used_again(evidence: Evidence) -> Observations:
    """Creates after the newest record was deleted, whose id a server that counts from the highest gives again."""
    made_ids, deleted_ids = set[int](), set[int]()
    is_tried = False
    for exchange in evidence.exchanges:
        request = exchange.request
        is_own = (request.resource, request.identity) == (evidence.resource.name, OWN_KEY)
        if not is_own or not exchange.is_accepted:
            continue
        if request.operation == "delete" and request.identifier in made_ids:
            deleted_ids.add(int(request.identifier))
        elif request.operation == "create" and exchange.made_id is not None:
            if deleted_ids and max(made_ids) in deleted_ids:
                is_tried, received = True, f"{exchange.made_id}, of a record that was deleted"
                yield decide(exchange, exchange.made_id not in deleted_ids, "an id that no record had", received)
            made_ids.add(exchange.made_id)
    if not is_tried:
        yield NotApplicable("no record was created after the newest one was deleted")


@rule("lifecycle.created-record-shows-no-other", needs=NEEDS_CREATES)
def created_record_shows_no_other(evidence: Evidence) -> Observations:
    """Settings of new handlers that hold what only earlier handlers were given."""
    earlier: dict[str, str] = {}
    for creation in evidence.creations:
        texts = {name: text for name, text in creation.form.items() if name in evidence.resource.types_of}
        values = {name: text for name, text in texts.items() if len(text) >= MIN_OWN_TEXT}
        record, exchange = first_sight_of(evidence, creation) or ({}, creation.exchange)
        settings, own_texts = record.get("settings"), {*values.values()}
        if isinstance(settings, dict):
            shown_texts = {*map(str, settings.values())} - own_texts
            others = [name for name, text in earlier.items() if text in shown_texts]
            received = f"settings with the {others[0]} of an earlier handler" if others else ""
            yield decide(exchange, not others, "settings with nothing but what it was given", received)
        earlier |= values


@rule("lifecycle.refused-create-makes-nothing", needs=NEEDS_PAGES | NEEDS_CREATES)
def refused_create_makes_nothing(evidence: Evidence) -> Observations:
    """Creates that were refused, though not for want of a required field, and the lists after them."""
    forms = [exchange.request.form or {} for exchange in evidence.exchanges]
    uses = Counter(normalize(mark_of(form[evidence.label])) for form in forms if evidence.label in form)
    marked_creates = ((each, mark_of((each.request.form or {})[evidence.label])) for each in _creates(evidence))
    refused_creates = [
        (create, marker)
        for create, marker in marked_creates
        if _is_refused_at_once(create) and uses[normalize(marker)] == 1
    ]
    for create, marker in refused_creates:
        pages = [page for page in evidence.every_page() if page.exchange.number > create.number]
        rows = [row for page in pages for row in page.rows if begins(row.get(evidence.label), marker)]
        if pages:
            received = f"record {id_text(rows[0])}, after {create.status_text}" if rows else ""
            yield decide(create, not rows, "no record", received)
    if not refused_creates:
        yield NotApplicable("no create was refused")


def _creates(evidence: Evidence) -> Iterator[Exchange]:
    """The account's creates with all that is required."""
    for expects in Expect:
        for create in evidence.of("create", expects=expects):
            if set(evidence.resource.required) <= set(create.request.form or {}):
                yield create


def _is_refused_at_once(exchange: Exchange) -> bool:
    is_invalid = exchange.status in FORM_REJECTED or exchange.is_refusal_in_disguise
    return is_invalid and not exchange.attempts


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
        is_refused = change.exchange.is_refusal_in_disguise and change.exchange.expects is not Expect.SUCCESS
        if not change.exchange.succeeded or is_refused or read is None:
            continue
        if record is None:
            yield Undecided(f"the read after the update: {read.status_text}")
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


@rule("lifecycle.update-takes-present-values", needs=NEEDS_PAGES | NEEDS_UPDATES)
def update_takes_present_values(evidence: Evidence) -> Observations:
    """Updates with the very values that the record has; a refusal counts if other values are taken right afterwards."""
    repeats_values = False
    for change, following in zip_longest(evidence.changes, evidence.changes[1:]):
        exchange = change.exchange
        if not change.form or any(change.before.get(name) != text for name, text in change.form.items()):
            continue
        repeats_values = True
        has_same_fields = following is not None and following.form.keys() == change.form.keys()
        if exchange.is_refusal and has_same_fields and following and following.exchange.succeeded:
            yield Violation(exchange, "a success, as for another value", exchange.status_text)
        else:
            yield Satisfied(exchange) if exchange.succeeded else Undecided(exchange.status_text)
    if evidence.changes and not repeats_values:
        yield NotApplicable("no record shows its name or host as it was written")


@rule("lifecycle.refused-update-changes-nothing", needs=NEEDS_PAGES | NEEDS_UPDATES)
def refused_update_changes_nothing(evidence: Evidence) -> Observations:
    """Updates that were refused, and what a read shows afterwards of what they named."""
    refused_updates = [change for change in evidence.changes if change.exchange.is_refusal]
    for change in refused_updates:
        if change.read and change.record:
            for name, text in change.form.items():
                before, now = change.before.get(name), change.record.get(name)
                if name in change.record and not is_same_value(name, before, text):
                    is_kept = now == before or not is_same_value(name, now, text)
                    received = f"{name}: {format_value(now)}, after {change.exchange.status_text}"
                    yield decide(change.read, is_kept, f"{name}: {format_value(before)}", received, f"/data/{name}")
    if not refused_updates:
        yield NotApplicable("no update was refused")


@rule("lifecycle.update-leaves-what-only-the-server-sets", needs=NEEDS_PAGES | NEEDS_UPDATES)
def update_leaves_what_only_the_server_sets(evidence: Evidence) -> Observations:
    """The colour of splash pages and the scheme of domains; they may follow from the name or the host."""
    for change in evidence.changes:
        if change.read and change.record and change.exchange.succeeded and evidence.label not in change.form:
            for name in ("color", "scheme"):
                if isinstance(change.record.get(name), str) and isinstance(change.before.get(name), str):
                    yield expect_field(change.read, change.record, name, change.before[name], reason="as before")


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
    """The readable fields that an update with this form leaves alone, but for those that only the server sets."""
    fields = set(form)
    left = set(resource.record_schema) - fields - {"id", "datetime", "last_datetime", "is_enabled", "color", "scheme"}
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
            received = f"{removal.read.status_text} and a record"
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


@rule("lifecycle.update-of-a-deleted-record-is-refused", needs=NEEDS_UPDATES | NEEDS_DELETES)
def update_of_a_deleted_record_is_refused(evidence: Evidence) -> Observations:
    """Updates of deleted records whose reads are refused; where a read succeeds without a record, both are a choice."""
    for removal in evidence.removals:
        update, read = removal.late_update, removal.late_read
        if update is None or read is None or update.failed:
            continue
        if not read.is_refusal:
            yield NotApplicable(f"a read of a deleted record is answered with {read.status_text}")
            continue
        received = f"{update.status_text}, and {read.status_text} to the read after it"
        yield decide(update, not update.is_accepted, "a refusal, as of a read", received)


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


@rule("lifecycle.create-leaves-other-records", "create", needs=NEEDS_PAGES | NEEDS_CREATES)
@rule("lifecycle.update-leaves-other-records", "update", needs=NEEDS_PAGES | NEEDS_UPDATES)
@rule("lifecycle.delete-leaves-other-records", "delete", needs=NEEDS_UPDATES | NEEDS_DELETES)
def leaves_other_records(evidence: Evidence, event: str) -> Observations:
    """All records listed before and after creates, updates or deletes.

    What happens to others' records is the run's doing only if they then show what the run has written; whatever else
    happens to them, somebody else may have done. The run's own records are its witnesses.
    """
    checks = [check for check in evidence.bystander_checks if check.is_in_same_list]
    yield from _judge_bystanders([check for check in checks if _is_of_operation(check, evidence.resource, event)])
    created = evidence.created_ids
    for period in evidence.change_periods:
        exchange = period.after.exchange
        if period.event != event or exchange is None:
            continue
        if period.created or period.removed or period.changed or event == "create":
            yield from _none_lost(period, exchange, created)
            for identifier, before in period.before.by_id.items():
                now = period.after.by_id.get(identifier)
                if now is not None and identifier not in period.changed | period.removed:
                    belongs = identifier in created
                    observation = _compare(exchange, evidence.resource, before, now, verbatim=belongs)
                    is_clear = belongs or isinstance(observation, Satisfied)
                    yield observation if is_clear or _shows_new_marker(evidence, before, now) else OTHERS_WROTE
        if event == "update":
            doubles = _doubles(evidence, period)
            yield decide(exchange, not doubles, "no further record", f"{doubles} more")


def _shows_new_marker(evidence: Evidence, before: Record, now: Record) -> bool:
    """Whether a record shows a name or host of the run that it did not show before."""
    labels = [record.get(evidence.label) for record in (before, now)]
    return not evidence.is_marked(labels[0]) and evidence.is_marked(labels[1])


def _none_lost(period: ChangePeriod, exchange: Exchange, created: set[int]) -> Observations:
    if period.disappeared and period.after.complete:
        if lost := sorted(period.disappeared & created):
            yield Violation(exchange, f"the record {lost[0]}, as before", "it is gone")
        else:
            yield OTHERS_WROTE


def _doubles(evidence: Evidence, period: ChangePeriod) -> int:
    """How many records with markers of the run came, though each create whose record is known made one alone."""
    creates = [exchange for exchange in evidence.exchanges if exchange.request.operation == "create"]
    unknown = {str((create.request.form or {}).get(evidence.label)) for create in creates if create.made_id is None}
    labels = [period.after.by_id[identifier].get(evidence.label) for identifier in period.appeared]
    return sum(evidence.is_marked(label) and str(label) not in unknown for label in labels)


def _is_edited(resource: Resource, before: Record, now: Record) -> bool:
    """Whether more than the time of its last update has changed in a record; a server may set that time by mistake."""
    return any(before.get(name) != now.get(name) for name in steady(resource) if name != "last_datetime")


def _compare(exchange: Exchange, resource: Resource, before: Record, now: Record, *, verbatim: bool) -> Observation:
    name = next((name for name in steady(resource) if before.get(name) != now.get(name)), None)
    if name is None:
        return Satisfied(exchange)
    title = f"{name} of record {before.get('id')}"
    expected, received = format_both(before.get(name), now.get(name), name, verbatim=verbatim)
    return Violation(exchange, f"{title}: {expected}, as before", f"{title}: {received}")


@rule("lifecycle.update-leaves-same-ids", "update", needs=NEEDS_PAGES | NEEDS_UPDATES)
@rule("lifecycle.delete-leaves-same-ids", "delete", needs=NEEDS_PAGES | NEEDS_DELETES)
def write_leaves_same_ids(evidence: Evidence, operation: str) -> Observations:
    """Records that have the id of a write in another resource or account; a finding is never tried again."""
    checks = [check for check in evidence.bystander_checks if not check.is_in_same_list]
    own_checks = [check for check in checks if _is_of_operation(check, evidence.resource, operation)]
    yield from _judge_bystanders(own_checks)
    if not own_checks:
        yield NotApplicable("no id that the run wrote to is in use elsewhere")


def _is_of_operation(check: BystanderCheck, resource: Resource, operation: str) -> bool:
    return (check.write.request.resource, check.write.request.operation) == (resource.name, operation)


def _judge_bystanders(checks: Iterable[BystanderCheck]) -> Observations:
    for check in checks:
        if check.is_hit:
            record = f"{check.collection[0]} {check.after.request.identifier}"
            yield Violation(check.after, f"{record} as before", check.sentence, is_repeatable=False)
        else:
            yield Satisfied(check.after)
