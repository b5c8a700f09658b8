"""Rules about forms: which fields are accepted, and what becomes of their values."""

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from contract_tests.evidence.evidence import Change, Evidence, Omission, Record, first_sight_of
from contract_tests.evidence.exchange import FORM_REJECTED, Exchange, Expect
from contract_tests.evidence.marks import begins, shows
from contract_tests.evidence.multipart import (
    FORM_STYLES,
    NOTHING_CHOSEN,
    STREAMED,
    UNUSUAL,
    USUAL,
    FormStyle,
    media_type_of,
)
from contract_tests.evidence.observation import (
    NEEDS_CREATES,
    NEEDS_UPDATES,
    OTHERS_WROTE,
    TOGGLED,
    Chapter,
    Matcher,
    NotApplicable,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    expect_field,
    field_pointer,
    format_value,
    from_first_difference,
    rule,
    same_beginning,
    title_of,
)
from contract_tests.evidence.urls import form_text, holds_text, is_same_value, same_url
from contract_tests.rules.operations import accepted, fails_each_time, judge_failure
from link_management_contract import Resource

SHOWN_TYPES = {"boolean": bool, "integer": int}
MAX_SHORT = 200  # characters; what becomes of longer texts is open
OMITTING = frozenset({Chapter.OMITTING})
Stored = tuple[Mapping[str, str], Record, Exchange]  # a form that was accepted, the record shown afterwards, and where


@rule("forms.name-required", "name", needs=OMITTING)
@rule("forms.host-required", "host", needs=OMITTING)
@rule("forms.type-required", "type", needs=OMITTING)
def required(evidence: Evidence, field: str) -> Observations:
    return (_omitted(omission) for omission in evidence.omissions if omission.field == field)


def _omitted(omission: Omission) -> Observation:
    exchange = omission.exchange
    expected = f"a refusal, and no record, without {omission.field}"
    if exchange.made_id is not None:
        return Violation(exchange, expected, f"status {exchange.status} and the id {exchange.made_id}")
    if any(shows(record, omission.marker) for record in omission.appeared) or (
        omission.appeared and omission.is_stable
    ):
        return Violation(exchange, expected, f"status {exchange.status}, and a record that was listed then")
    if exchange.failed and not fails_each_time(exchange):
        return Undecided("the create failed, once")
    return OTHERS_WROTE if omission.appeared else Satisfied(exchange)


@rule("forms.required-fields-alone-suffice", needs=NEEDS_CREATES)
def required_fields_alone_suffice(evidence: Evidence) -> Observations:
    for exchange in evidence.of("create"):
        if _fields(exchange) == set(evidence.resource.required):
            yield accepted(exchange)


@rule("forms.optional-fields-are-accepted-on-create", needs=NEEDS_CREATES)
def optional_fields_are_accepted_on_create(evidence: Evidence) -> Observations:
    for exchange in evidence.of("create"):
        if _fields(exchange) - set(evidence.resource.required):
            yield accepted(exchange)
    yield from _combination_refused(evidence, "create")


@rule("forms.optional-fields-are-accepted-on-update", needs=NEEDS_UPDATES)
def optional_fields_are_accepted_on_update(evidence: Evidence) -> Observations:
    for exchange in evidence.of("update"):
        if _fields(exchange) - set(evidence.resource.required):
            observation = accepted(exchange)
            if isinstance(observation, Violation) and any(_accepted_in_full(evidence, exchange)):
                observation = Undecided("the same fields were accepted beside those that a create requires")
            yield observation
    yield from _combination_refused(evidence, "update")


def _combination_refused(evidence: Evidence, operation: str) -> Observations:
    """Refusals that may be about the account, and are not: its fields are accepted one at a time, before and after."""
    for split in evidence.isolations:
        if split.all_fields.request.operation == operation and split.all_fields.status != HTTPStatus.TOO_MANY_REQUESTS:
            served = all(isinstance(accepted(step), Satisfied) for step in (*split.single_field, split.required_only))
            if served and split.all_fields.is_refusal:
                words = "a success, as with each of these fields alone", split.all_fields.status_text
                yield Violation(split.all_fields, *words, is_repeatable=False)  # it takes them all to show it


@rule("forms.required-fields-are-optional-on-update", needs=NEEDS_UPDATES)
def required_fields_are_optional_on_update(evidence: Evidence) -> Observations:
    updates = [(exchange, set(evidence.resource.required) - _fields(exchange)) for exchange in evidence.of("update")]
    for exchange, missing in updates:
        if missing:
            observation, in_full = accepted(exchange), _accepted_in_full(evidence, exchange)
            if isinstance(observation, Violation) and in_full and not any(in_full):
                observation = Undecided("the same fields were refused beside those that a create requires too")
            are_others = any(other.succeeded and missing <= other_missing for other, other_missing in updates)
            if in_full or not (isinstance(observation, Violation) and are_others):  # else other fields are to blame
                yield observation


def _accepted_in_full(evidence: Evidence, exchange: Exchange) -> list[bool]:
    """Whether each update with the fields of this one and all that a create requires was accepted."""
    fields = {*_fields(exchange), *evidence.resource.required}
    updates = [update for update in evidence.of("update") if fields <= _fields(update)]
    return [isinstance(accepted(update), Satisfied) for update in updates]


def _fields(exchange: Exchange) -> set[str]:
    return set(exchange.request.form or {})


@rule("forms.files-are-accepted", needs=NEEDS_UPDATES)
def files_are_accepted(evidence: Evidence) -> Observations:
    """Forms with files, but for those whose files are accepted where no other optional field is sent."""
    writes = [(exchange, _file_fields(exchange)) for exchange in evidence.of("create", "update")]
    required = set(evidence.resource.required)
    accepted_files = {
        (exchange.request.operation, name)
        for exchange, files in writes
        if exchange.succeeded and _fields(exchange) <= files | required
        for name in files
    }
    for exchange, files in writes:
        has_other_fields = bool(_fields(exchange) - files - required)
        takes_files = all((exchange.request.operation, name) in accepted_files for name in files)
        if files and not (exchange.is_refusal and has_other_fields and takes_files):
            yield accepted(exchange)


def _file_fields(exchange: Exchange) -> set[str]:
    return {name for name, value in (exchange.request.form or {}).items() if isinstance(value, tuple)}


@rule("forms.ordinary-input-does-not-fail", needs=NEEDS_UPDATES)
def ordinary_input_does_not_fail(evidence: Evidence) -> Observations:
    """Writes with ordinary names, texts and files, of operations that do not fail anyway; refusing them is a choice."""
    works = {exchange.request.operation for exchange in evidence.of("create", "update") if not exchange.failed}
    for exchange in evidence.of("create", "update", expects=Expect.ORDINARY):
        yield judge_failure(exchange, works)


@rule("forms.empty-text-is-stored", needs=NEEDS_UPDATES)
def empty_text_is_stored(evidence: Evidence) -> Observations:
    """Updates that give an optional text that reads show as the empty string, if they are accepted."""
    is_tried = False
    for change in evidence.changes:
        for name in [name for name, text in change.form.items() if not text and name != evidence.label]:
            before = change.before.get(name)
            if change.read and change.record and change.exchange.is_accepted and before and name in change.record:
                is_tried, now = True, change.record[name]
                received = f"{name}: {format_value(now)}, as before"
                yield decide(change.read, now != before, f'{name}: ""', received, f"/data/{name}")
    if not is_tried:
        yield NotApplicable("no update with an empty text was accepted")


@rule("forms.update-takes-what-create-takes", needs=NEEDS_UPDATES)
def update_takes_what_create_takes(evidence: Evidence) -> Observations:
    """Creates and updates with the same fields, each of one ordinary length, that one takes and the other rejects."""
    creates, updates = (
        {_lengths(each): each for each in evidence.of(operation, expects=Expect.ORDINARY)}
        for operation in ("create", "update")
    )
    is_compared = False
    for lengths, create in creates.items():
        update = updates.get(lengths)
        if update is None or create.failed or update.failed:
            continue
        refusal, success = (update, create) if create.is_accepted else (create, update)
        received = f"{refusal.status_text} to the {refusal.request.operation}, {success.status_text} to the other"
        is_contrary = success.is_accepted and refusal.status in FORM_REJECTED
        is_compared = True
        later_exchange = max(create, update, key=lambda exchange: exchange.number)
        yield decide(
            later_exchange, not is_contrary, "the same fields and lengths taken, or refused, by both", received
        )
    if not is_compared:
        yield NotApplicable("no create had the same fields, of the same lengths, as an update")


def _lengths(exchange: Exchange) -> frozenset[tuple[str, int]]:
    """The fields of a form that both operations take, with the letters of texts, or the bytes of files."""
    form = {name: value for name, value in (exchange.request.form or {}).items() if name != "type"}
    return frozenset((name, len(value if isinstance(value, str) else value[1])) for name, value in form.items())


@rule("forms.types-are-accepted", needs=NEEDS_CREATES)
def types_are_accepted(evidence: Evidence) -> Observations:
    for exchange in evidence.of("create"):
        observation = accepted(exchange)
        if isinstance(observation, Violation):
            handler_type = (exchange.request.form or {}).get("type")
            observation = Violation(exchange, f"a handler of type {handler_type}", observation.received)
        yield observation


@rule("forms.client-shapes-are-understood", (USUAL, *FORM_STYLES, NOTHING_CHOSEN), needs=NEEDS_UPDATES)
@rule("forms.empty-file-inputs-are-accepted", (NOTHING_CHOSEN,), needs=NEEDS_UPDATES)
@rule("forms.any-boundary-is-understood", UNUSUAL, needs=NEEDS_UPDATES)
@rule("forms.chunked-forms-are-understood", (STREAMED,), needs=NEEDS_UPDATES)
def shapes_are_understood(evidence: Evidence, styles: tuple[FormStyle, ...]) -> Observations:
    """Writes with forms as other clients write them, where this suite's form with the same fields is accepted."""
    accepted_sets = [_fields(change.exchange) for change in evidence.changes if _is_renamed(change, evidence.resource)]
    creates = any(creation.identifier is not None for creation in evidence.creations)
    usual_creates = [exchange for exchange in evidence.of("create") if exchange.request.form_style == USUAL]
    created_sets = [_fields(exchange) for exchange in usual_creates if exchange.succeeded]
    refused_sets = [_fields(exchange) for exchange in usual_creates if _fields(exchange) not in created_sets]
    for shaped in evidence.shaped:
        request = shaped.exchange.request
        if request.form_style not in styles:
            continue
        if request.operation == "create":
            is_taken = creates and _fields(shaped.exchange) not in refused_sets
        else:
            is_taken = _fields(shaped.exchange) in accepted_sets
        if not is_taken:
            yield Undecided("the same fields were not taken from this suite either")
            continue
        observation, client_note = accepted(shaped.exchange), f"{request.form_style.client} sends forms like this"
        if request.form_style.chunked:
            observation = _in_chunks(shaped.exchange, observation)
        if isinstance(observation, Violation):
            if request.form_style != NOTHING_CHOSEN or len(styles) == 1:  # which is a choice, for all other purposes
                media_type = f"Content-Type: {media_type_of(request.form_style)}"
                header = "Transfer-Encoding: chunked" if request.form_style.chunked else media_type
                received = f"{observation.received} to {header}"
                yield Violation(shaped.exchange, f"a success; {client_note}", received)
        elif isinstance(observation, Undecided) or not shaped.exchange.succeeded:
            yield observation
        elif shaped.read and shaped.read.record and isinstance(shaped.read.record.get(evidence.label), str):
            marker = shaped.form[evidence.label]
            matcher = Matcher(format_value(marker), lambda label, marker=marker: begins(label, marker))  # type: ignore[misc]
            yield expect_field(shaped.read, shaped.read.record, evidence.label, matcher, reason=client_note)


def _in_chunks(exchange: Exchange, observation: Observation) -> Observation:
    """What an answer to a form in chunks shows: a server may say that it takes none."""
    takes_none = exchange.status in (HTTPStatus.LENGTH_REQUIRED, HTTPStatus.NOT_IMPLEMENTED)
    return Satisfied(exchange) if takes_none else observation


def _is_renamed(change: Change, resource: Resource) -> bool:
    """Whether an update gave a record another name or host, and a read shows it."""
    label = change.form.get(resource.label, "")
    is_renamed = not begins(change.before.get(resource.label), label)
    return change.exchange.succeeded and is_renamed and begins((change.record or {}).get(resource.label), label)


@rule("forms.name-comes-back", "name", needs=NEEDS_UPDATES)
@rule("forms.host-comes-back", "host", needs=NEEDS_UPDATES)
@rule("forms.custom-index-url-comes-back", "custom_index_url", needs=NEEDS_UPDATES)
@rule("forms.type-comes-back", "type", needs=NEEDS_UPDATES)
def comes_back(evidence: Evidence, field: str) -> Observations:
    """What was written and is shown; what becomes of a value outside the documented ones is open."""
    documented = evidence.resource.fields[field].values if field in evidence.resource.fields else ()
    shown_type = SHOWN_TYPES.get(evidence.resource.record_schema.get(field, {}).get("type", ""), str)
    for form, record, exchange in _stored(evidence):
        is_within_limit = len(form.get(field, "")) <= MAX_SHORT
        is_judged = is_within_limit and (not documented or form.get(field) in documented)
        if form.get(field) and type(record.get(field)) is shown_type and is_judged:
            expected, received = from_first_difference(form[field], form_text(record[field]))
            holds, at = is_same_value(field, record[field], form[field]), field_pointer(exchange, record, field)
            title = title_of(exchange, record, field)
            yield decide(exchange, holds, f"{title}: {expected}", f"{title}: {received}", at)


@rule("forms.email-comes-back", needs=NEEDS_UPDATES)
def email_comes_back(evidence: Evidence) -> Observations:
    for form, record, exchange in _stored(evidence):
        settings = record.get("settings")
        address = settings.get("email") if isinstance(settings, dict) and record.get("type") == "email" else None
        if form.get("email") and isinstance(address, str):
            holds, at = (
                is_same_value("email", address, form["email"]),
                field_pointer(exchange, record, "settings/email"),
            )
            expected, received = from_first_difference(form["email"], address)
            yield decide(exchange, holds, f"settings.email: {expected}", f"settings.email: {received}", at)


@rule("forms.type-fields-show-in-settings", needs=NEEDS_UPDATES)
def type_fields_show_in_settings(evidence: Evidence) -> Observations:
    for form, record, exchange in _stored(evidence):
        type_name, settings = str(record.get("type")), record.get("settings")
        type_fields = [name for name in form if name == type_name or name.startswith(f"{type_name}_")]
        values = [form[name] for name in type_fields if name != "email"]
        if values and isinstance(settings, dict) and form.get("type", type_name) == type_name:
            lost = next((value for value in values if not holds_text(settings, value)), "")
            expected, received = from_first_difference(lost, _closest_value(settings, lost))
            has_text = any(isinstance(value, str) for value in settings.values())
            received_settings = f"settings with {received}" if has_text else "settings without any text"
            yield decide(exchange, not lost, f"settings that hold {expected}", received_settings)


def _closest_value(settings: Record, text: str) -> str:
    """The value that begins most like a text."""
    values = [value for value in settings.values() if isinstance(value, str)]
    return max(values, key=lambda value: same_beginning(value, text), default="")


@rule("forms.custom-not-found-url-stays-apart", needs=NEEDS_UPDATES)
def custom_not_found_url_stays_apart(evidence: Evidence) -> Observations:
    """Updates with `custom_not_found_url`, unless others change the index URL, too; and creates with both URLs."""
    index_url, urls = "custom_index_url", {"custom_index_url", "custom_not_found_url"}
    changes = [change for change in evidence.changes if change.exchange.succeeded and not urls & set(change.form)]
    records = ((change.before, change.record) for change in changes if change.record)
    if any(record.get(index_url) != before.get(index_url) for before, record in records):
        yield NotApplicable("an update changes custom_index_url, whatever it names")
        return
    for change in evidence.changes:
        is_not_found_only = "custom_not_found_url" in change.form and "custom_index_url" not in change.form
        if is_not_found_only and change.read and change.record and change.exchange.succeeded:
            now, before = change.record.get("custom_index_url"), change.before.get("custom_index_url")
            expected = f"custom_index_url: {format_value(before)}, as before"
            yield decide(
                change.read, now == before, expected, f"custom_index_url: {format_value(now)}", "/data/custom_index_url"
            )
    for creation in evidence.creations:
        if "custom_not_found_url" in creation.form and creation.read and creation.read.record:
            now = creation.read.record.get("custom_index_url")
            is_separate = not (isinstance(now, str) and same_url(now, creation.form["custom_not_found_url"]))
            yield decide(creation.read, is_separate, "custom_index_url of its own", "that of custom_not_found_url")


def _stored(evidence: Evidence) -> Iterator[Stored]:
    """Forms that were accepted, with the record shown afterwards; an update that changed nothing is no evidence."""
    for creation in evidence.creations:
        first = first_sight_of(evidence, creation)
        if first and creation.exchange.succeeded:
            yield creation.form, *first
    for change in evidence.changes:
        if change.exchange.succeeded and change.read and change.record:
            record = change.record
            yield (
                {name: text for name, text in change.form.items() if not _ignored(change, name, record)},
                record,
                change.read,
            )


def _ignored(change: Change, name: str, record: Record) -> bool:
    unchanged = name in record and record[name] == change.before.get(name)
    return unchanged and not is_same_value(name, record[name], change.form[name])


@rule("forms.one-enables", "1", True, needs=NEEDS_UPDATES)  # noqa: FBT003 - the state
@rule("forms.zero-disables", "0", False, needs=NEEDS_UPDATES)  # noqa: FBT003
def toggle_sets_state(evidence: Evidence, sent_value: str, expected: bool) -> Observations:  # noqa: FBT001
    changes = [change for change in evidence.changes if change.form.get("is_enabled") == sent_value]
    for change in changes:
        if not change.exchange.succeeded:
            yield from () if _are_fields_to_blame(evidence, change, changes) else (accepted(change.exchange),)
        elif change.read and change.record:
            before, now = change.before.get("is_enabled"), change.record.get("is_enabled")
            if not isinstance(now, bool):
                yield Undecided("the read after the update shows no boolean")
            elif before is not expected or now is not expected:
                yield expect_field(change.read, change.record, "is_enabled", expected)


def _are_fields_to_blame(evidence: Evidence, change: Change, alike_changes: Sequence[Change]) -> bool:
    """Whether an update is refused for its other fields: some alike are accepted, and none with these other fields."""
    accepted_changes = [other for other in evidence.changes if other.exchange.is_accepted]
    names = change.form.keys() - {"is_enabled"}
    are_accepted = any(other.form.keys() - {"is_enabled"} == names for other in accepted_changes)
    return any(other.exchange.is_accepted for other in alike_changes) and not are_accepted


@rule("forms.is-enabled-is-optional-on-update", needs=NEEDS_UPDATES)
def is_enabled_is_optional_on_update(evidence: Evidence) -> Observations:
    """Updates without `is_enabled`; one that gives another type or address may have to wait for a confirmation."""
    changes = [change for change in evidence.changes if "is_enabled" not in change.form]
    for change in changes:
        keeps_state = change.form.get("type", TOGGLED[0]) in TOGGLED and "email" not in change.form
        if not change.exchange.succeeded:
            is_judged = change.exchange.expects is Expect.SUCCESS and not _are_fields_to_blame(
                evidence, change, changes
            )
            yield from (accepted(change.exchange),) if is_judged else ()
        elif keeps_state and change.read and change.record:
            before, now = change.before.get("is_enabled"), change.record.get("is_enabled")
            expected, received = f"is_enabled: {format_value(before)}, as before", f"is_enabled: {format_value(now)}"
            yield decide(change.read, before == now, expected, received, "/data/is_enabled")


@rule("forms.is-enabled-is-not-accepted-on-create", needs=NEEDS_CREATES)
def is_enabled_is_not_accepted_on_create(evidence: Evidence) -> Observations:
    """Creates with `is_enabled`, compared with one without."""
    starts: dict[str, tuple[Any, str, Exchange]] = {}
    for creation in evidence.creations:
        if creation.form.get("type") != "webhook":
            continue
        sent_value = creation.form.get("is_enabled", "")
        first = first_sight_of(evidence, creation)
        if first and isinstance(first[0].get("is_enabled"), bool):
            starts.setdefault(
                sent_value, (first[0]["is_enabled"], field_pointer(first[1], first[0], "is_enabled"), first[1])
            )
        elif sent_value and creation.identifier is None and not creation.exchange.failed:
            yield Satisfied(creation.exchange)
    if "" not in starts:
        yield Undecided("no handler without is_enabled could be created to compare with")
        return
    expected = starts[""][0]
    for sent_value, (state, at, exchange) in starts.items():
        if sent_value:
            received = f"is_enabled: {format_value(state)}, where {sent_value} was sent"
            yield decide(
                exchange, state == expected, f"is_enabled: {format_value(expected)}, as without it", received, at
            )
