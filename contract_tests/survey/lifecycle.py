"""Chapters that change and delete the run's own records."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from contract_tests.evidence.evidence import Change, Listing, Record, Removal, has_arrived
from contract_tests.evidence.exchange import Exchange, Expect, FormValue
from contract_tests.evidence.multipart import FORM_STYLES, NOTHING_CHOSEN, STREAMED, UNUSUAL, USUAL, FormStyle
from contract_tests.survey.form_values import SCRIPTS, image, long_form, optional, type_form, value
from contract_tests.survey.visitor import AwaitedRead, Visitor
from contract_tests.survey.waits import let_a_second_pass
from contract_tests.target.identities import ALL_RESOURCES
from contract_tests.target.ownership import WriteRefusedError
from link_management_contract import Resource


@dataclass(frozen=True)
class Update:
    """An update to send: of which record, the form, what the record shows before, and the answer it should get."""

    identifier: int
    form: Mapping[str, FormValue]
    before: Record
    expects: Expect = Expect.SUCCESS
    form_style: FormStyle = USUAL


def change(visitor: Visitor, *updates: Update) -> list[Record]:
    """Update records and only then read them, so that what reads lag is waited for once; return what each shows then.

    Raises:
        WriteRefusedError: if one is not known to be the run's own.
    """
    exchanges = [
        visitor.update(step.identifier, step.form, step.expects, form_style=step.form_style) for step in updates
    ]
    changed = [
        (update, exchange, {name: value for name, value in update.form.items() if isinstance(value, str)})
        for update, exchange in zip(updates, exchanges, strict=True)
    ]
    awaited_reads = [
        AwaitedRead(
            update.identifier,
            partial(_is_changed, exchange, texts, update.before),
            due=update.expects is Expect.SUCCESS and exchange.succeeded,
        )
        for update, exchange, texts in changed
    ]
    records = list[Record]()
    for (update, exchange, texts), read in zip(changed, visitor.read_until("update", awaited_reads), strict=True):
        changes = visitor.evidence.changes if update.form_style == USUAL else visitor.evidence.shaped
        changes.append(Change(exchange, texts, update.before, read))
        records.append(read.record or update.before)
    return records


def _is_changed(update: Exchange, texts: Mapping[str, str], before: Record, read: Exchange) -> bool:
    return update.is_refusal or has_arrived(texts, before, read.record)


def record_made(visitor: Visitor, identifier: int) -> Record:
    creations = visitor.evidence.creations
    reads = (creation.read for creation in creations if creation.identifier == identifier and creation.read)
    return (next(reads, None) or visitor.read(identifier)).record or {}


def changes_of(visitor: Visitor, record: Record) -> list[tuple[dict[str, FormValue], Expect]]:
    """Forms with what they expect; a name with letters of several scripts may be refused.

    A handler is updated without `is_enabled` both while it is enabled and while it is not; it ends in the other state.
    """
    resource = visitor.resource
    renamed: dict[str, FormValue] = {"name": f"{visitor.records.new_marker()} {SCRIPTS}"}
    label: dict[str, FormValue] = {resource.label: visitor.records.new_marker()}
    if resource.types:
        other, initial = ("0", "1") if record.get("is_enabled") is True else ("1", "0")
        return [
            ({"is_enabled": other}, Expect.SUCCESS),
            (type_form(resource, "slack"), Expect.SUCCESS),
            ({"is_enabled": initial}, Expect.SUCCESS),
            (renamed, Expect.ORDINARY),
            (type_form(resource, "email") | {resource.label: visitor.records.new_marker()}, Expect.SUCCESS),
            ({"email": value("email", "text", "other-")}, Expect.SUCCESS),
            (long_form(resource, str(visitor.records.new_marker())), Expect.ORDINARY),
            (type_form(resource, "slack", "other-") | label | {"is_enabled": other}, Expect.SUCCESS),
        ]
    fields = [name for name in resource.record_schema if name in resource.optional] or [next(iter(resource.optional))]
    separate_fields = [name for name in resource.optional if name.startswith("custom_not_found")]
    single = [{name: value(name, resource.optional[name], "other-")} for name in [*fields, *separate_fields]]
    all_forms = [(form, Expect.SUCCESS) for form in [*single, optional(resource, "third-") | label]]
    ordinary = [
        *([renamed] if resource.label == "name" else []),
        long_form(resource, str(visitor.records.new_marker())),
    ]
    return [*all_forms, *((form, Expect.ORDINARY) for form in ordinary)]


def reshape(visitor: Visitor, records: Mapping[int, Record], styles: Sequence[FormStyle]) -> dict[int, Record]:
    """Rename records, in turns, by forms as this suite and as other clients write them; return what each shows then."""
    resource, now = visitor.resource, dict(records)
    file = next((name for name, type_ in resource.optional.items() if type_ == "file"), None)
    for start in range(0, len(styles), len(now)):
        updates = [
            Update(
                identifier,
                {resource.label: visitor.records.new_marker()} | ({file: image(file)} if file else {}),
                now[identifier],
                Expect.SUCCESS if style == USUAL else Expect.OPEN,
                style,
            )
            for identifier, style in zip(now, styles[start:], strict=False)
        ]
        with suppress(WriteRefusedError):
            records_shown = change(visitor, *updates)
            now |= {update.identifier: record for update, record in zip(updates, records_shown, strict=True)}
    return now


def shapes_of(resource: Resource, operation: str = "update") -> tuple[FormStyle, ...]:
    """The shapes that a survey tries on updates, or exploration on creates: each resource gets some."""
    offset = ALL_RESOURCES.index(resource.name) + (operation == "create")
    files = (NOTHING_CHOSEN,) if "file" in resource.optional.values() else ()
    unusual = UNUSUAL[:1] + (STREAMED,) * len(files) if operation == "update" else ()
    return FORM_STYLES[offset % len(ALL_RESOURCES) :: len(ALL_RESOURCES)] + unusual + files


def repeat_present(visitor: Visitor, identifier: int, record: Record) -> Record:
    """Update a record with the name or host that it has and, if that is refused, with another one."""
    label = visitor.resource.label
    with suppress(WriteRefusedError):
        if str(record.get(label)).removesuffix(".example.com") in visitor.evidence.markers:  # as it was written
            [record] = change(visitor, Update(identifier, {label: record[label]}, record, Expect.ORDINARY))
            if visitor.evidence.changes[-1].exchange.is_refusal:
                update = Update(identifier, {label: visitor.records.new_marker()}, record, Expect.ORDINARY)
                [record] = change(visitor, update)
    return record


def update_later(visitor: Visitor, identifier: int) -> None:
    """Update one of the run's records in another second than it was made, so that a time that changes can be seen."""
    creates = (exchange for exchange in visitor.evidence.exchanges if exchange.made_id == identifier)
    let_a_second_pass(next(creates, visitor.evidence.exchanges[-1]))
    before = visitor.read(identifier, Expect.OPEN).record
    if before is not None:
        with suppress(WriteRefusedError):
            change(visitor, Update(identifier, {visitor.resource.label: visitor.records.new_marker()}, before))


def remove_and_revive(visitor: Visitor, identifier: int, before: Listing) -> None:
    """Delete a record, see that it is gone, and try to bring it back by an update."""
    resource = visitor.resource
    try:
        removal = remove(visitor, identifier, before)
    except WriteRefusedError:
        return
    if removal.is_seen(resource):
        late_update = visitor.update(identifier, {resource.label: visitor.records.new_marker()}, Expect.OPEN)
        visitor.waits.let_settle()
        late_read = visitor.read(identifier, Expect.OPEN)
        visitor.evidence.removals[-1] = replace(removal, late_update=late_update, late_read=late_read)
        if not late_read.shows(resource):
            visitor.target.ledger.note_deleted(resource.name, identifier)
            visitor.freed_label = str(before.by_id.get(identifier, {}).get(resource.label, ""))


def remove(visitor: Visitor, identifier: int, before: Listing) -> Removal:
    """Delete a record, and see that it is gone.

    Raises:
        WriteRefusedError: if the record is not known to be the run's own.
    """
    removal = delete(visitor, identifier)
    after = visitor.waits.for_state(
        "delete",
        visitor.list_all,
        lambda listing: identifier not in listing.ids and (listing.total or 0) < (before.total or 0),
    )
    removal = replace(removal, after=after)
    visitor.evidence.removals.append(removal)
    visitor.note_period("delete", before, after, removed={identifier} if removal.exchange.succeeded else set())
    return removal


def delete(visitor: Visitor, identifier: int, expects: Expect = Expect.SUCCESS) -> Removal:
    """Delete a record, and read it until it is gone.

    Raises:
        WriteRefusedError: if the record is not known to be the run's own.
    """
    deleted = visitor.delete(identifier, expects)
    read = visitor.waits.for_state(
        "delete",
        partial(visitor.read, identifier, Expect.OPEN),
        lambda exchange: not exchange.shows(visitor.resource),
        due=expects is Expect.SUCCESS and deleted.succeeded,
    )
    return Removal(deleted, read)


def see_late(visitor: Visitor, listing: Listing) -> None:
    removals = visitor.evidence.removals
    if removals and removals[-1].late_list is None:
        removals[-1] = replace(removals[-1], late_list=listing)
