"""Rules about the records that reads and lists show."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

from contract_tests.evidence.evidence import Evidence, Record
from contract_tests.evidence.exchange import Exchange, Expect, id_of, is_integer
from contract_tests.evidence.observation import (
    NEEDS_CREATES,
    NEEDS_PAGES,
    NEEDS_UPDATES,
    OBJECT,
    OTHERS_WROTE,
    STRING,
    Matcher,
    NotApplicable,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    decide,
    expect,
    expect_field,
    field_pointer,
    format_value,
    id_text,
    rule,
    steady,
)
from link_management_contract import Resource

A_SECOND = timedelta(seconds=1)
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}", re.ASCII)
COLOR = re.compile(r"#[0-9A-Fa-f]{6}", re.ASCII)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://", re.ASCII)
NO_FRACTION = Matcher("an integer without a fraction", lambda value: isinstance(value, int))


def _is_written(value: Any, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_time(value: Any) -> bool:
    if not _is_written(value, TIME):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


@rule("representations.id-is-an-integer", "id", Matcher("an integer", is_integer), needs=NEEDS_PAGES | NEEDS_UPDATES)
@rule(
    "representations.datetime-has-the-stated-form",
    "datetime",
    Matcher("YYYY-MM-DD HH:MM:SS", _is_time),
    needs=NEEDS_PAGES | NEEDS_UPDATES,
)
@rule(
    "representations.last-datetime-has-the-stated-form",
    "last_datetime",
    Matcher("null or YYYY-MM-DD HH:MM:SS", lambda value: value is None or _is_time(value)),
    needs=NEEDS_PAGES | NEEDS_UPDATES,
)
@rule("representations.name-is-a-string", "name", STRING, needs=NEEDS_PAGES | NEEDS_UPDATES)
@rule(
    "representations.color-is-hex",
    "color",
    Matcher("#rrggbb", lambda value: _is_written(value, COLOR)),
    needs=NEEDS_PAGES | NEEDS_UPDATES,
)
@rule(
    "representations.scheme-has-its-separator",
    "scheme",
    Matcher("a scheme with ://", lambda value: _is_written(value, SCHEME)),
    needs=NEEDS_PAGES | NEEDS_UPDATES,
)
@rule("representations.host-is-a-string", "host", STRING, needs=NEEDS_PAGES | NEEDS_UPDATES)
@rule("representations.custom-index-url-is-a-string", "custom_index_url", STRING, needs=NEEDS_PAGES | NEEDS_UPDATES)
@rule(
    "representations.is-enabled-is-a-boolean",
    "is_enabled",
    Matcher("true or false", lambda value: isinstance(value, bool)),
    needs=NEEDS_PAGES | NEEDS_UPDATES,
)
@rule("representations.settings-is-an-object", "settings", OBJECT, needs=NEEDS_PAGES | NEEDS_UPDATES)
def field_matches(evidence: Evidence, name: str, matcher: Matcher) -> Observations:
    for exchange, record in evidence.records():
        if name in record:
            yield expect_field(exchange, record, name, matcher, verbatim=evidence.is_run_record(record, exchange))


@rule("representations.type-is-one-of-six", needs=NEEDS_PAGES | NEEDS_UPDATES)
def type_is_one_of_six(evidence: Evidence) -> Observations:
    matcher = Matcher(
        f"one of {', '.join(evidence.resource.types)}",
        lambda value: isinstance(value, str) and value in evidence.resource.types,
    )
    for exchange, record in evidence.records():
        if "type" in record:
            yield expect_field(exchange, record, "type", matcher)


@rule("representations.fields-are-present", needs=NEEDS_PAGES | NEEDS_UPDATES)
def fields_are_present(evidence: Evidence) -> Observations:
    required = evidence.resource.required_in_reads
    for exchange, record in evidence.records():
        missing = sorted(set(required) - record.keys())
        at = field_pointer(exchange, record, missing[0]) if missing else ""
        received = f"no {', '.join(missing)} in record {id_text(record)}"
        yield decide(exchange, not missing, f"the fields {', '.join(required)}", received, at)


@rule("representations.custom-not-found-url-is-absent", needs=NEEDS_PAGES | NEEDS_UPDATES)
def custom_not_found_url_is_absent(evidence: Evidence) -> Observations:
    for exchange, record in evidence.records():
        absent = "custom_not_found_url" not in record
        at = "" if absent else field_pointer(exchange, record, "custom_not_found_url")
        yield decide(exchange, absent, "no custom_not_found_url", "one", at)


@rule("representations.integers-have-no-fraction", needs=NEEDS_PAGES | NEEDS_UPDATES)
def integers_have_no_fraction(evidence: Evidence) -> Observations:
    writes = (*evidence.answers("create"), *evidence.of("update"))
    created = ((exchange, exchange.data) for exchange in writes if exchange.made_id is not None)
    for exchange, record in chain(evidence.records(), created):
        if isinstance(record.get("id"), float) or is_integer(record.get("id")):
            yield expect_field(exchange, record, "id", NO_FRACTION)
    for page in evidence.every_page():
        for name in page.meta:
            yield expect(page.exchange, f"/meta/{name}", NO_FRACTION)


@rule("representations.last-datetime-is-null-before-any-update", needs=NEEDS_PAGES | NEEDS_CREATES)
def last_datetime_is_null_before_any_update(evidence: Evidence) -> Observations:
    """The run's records, as long as the run has not updated them."""
    for exchange, record in _never_updated(evidence):
        if "last_datetime" in record:
            yield expect_field(exchange, record, "last_datetime", None)


@rule("representations.last-datetime-is-not-before-datetime", needs=NEEDS_PAGES | NEEDS_UPDATES)
def last_datetime_is_not_before_datetime(evidence: Evidence) -> Observations:
    """The run's records; two times of one moment may differ by a second."""
    if not any(_is_time(record.get("last_datetime")) for _, record in evidence.records()):
        yield NotApplicable("no record shows a last_datetime")
    for exchange, record in evidence.records():
        created_time, updated_time = str(record.get("datetime")), str(record.get("last_datetime"))
        if evidence.is_run_record(record, exchange) and _is_time(created_time) and _is_time(updated_time):
            time_difference = datetime.fromisoformat(created_time) - datetime.fromisoformat(updated_time)
            at = "" if time_difference <= A_SECOND else field_pointer(exchange, record, "last_datetime")
            received = f"last_datetime {updated_time}, which is before datetime {created_time}"
            yield decide(exchange, not at, "a last_datetime that is not before datetime", received, at)


@rule("representations.custom-index-url-is-empty-when-unset", needs=NEEDS_PAGES | NEEDS_CREATES)
def custom_index_url_is_empty_when_unset(evidence: Evidence) -> Observations:
    """New records that were created without a `custom_index_url`."""
    creations = evidence.creations
    creates = (exchange for exchange in evidence.exchanges if exchange.request.operation == "create")
    set_ids = {exchange.made_id for exchange in creates if "custom_index_url" in (exchange.request.form or {})}
    set_ids |= {creation.identifier for creation in creations if "custom_index_url" in creation.form}
    unset = {creation.identifier for creation in creations} - set_ids - {None}  # some services reuse ids
    for exchange, record in _never_updated(evidence):
        if id_of(record) in unset and isinstance(record.get("custom_index_url"), str):
            yield expect_field(exchange, record, "custom_index_url", "")


@rule("representations.email-settings-hold-email-alone", needs=NEEDS_PAGES | NEEDS_UPDATES)
def email_settings_hold_email_alone(evidence: Evidence) -> Observations:
    for exchange, record in evidence.records():
        settings = record.get("settings")
        if record.get("type") == "email" and isinstance(settings, dict):
            address = settings.get("email")
            holds = list(settings) == ["email"] and isinstance(address, str)
            note = (
                f", email: {format_value(address, verbatim=False)}"
                if "email" in settings and not isinstance(address, str)
                else ""
            )
            received, at = (
                f"the keys {list(settings)}{note}",
                "" if holds else field_pointer(exchange, record, "settings"),
            )
            yield decide(exchange, holds, "settings with the one key email, a string", received, at)


@rule("representations.listed-as-read", needs=NEEDS_PAGES | NEEDS_UPDATES)
def listed_as_read(evidence: Evidence) -> Observations:
    """Reads, compared with listed records, where the run wrote nothing in between.

    What others' records show may have been changed by others, unless it is shown once more as it was at first.
    """
    last: dict[Any, tuple[str, Record]] = {}
    differing: dict[Any, tuple[str, str, Any, Observation]] = {}  # of others: operation, field, first value, finding
    compared = False
    for exchange in evidence.exchanges:
        request = exchange.request
        if request.resource == evidence.resource.name and request.operation in ("update", "delete", "create"):
            last.pop(request.identifier, None)
            differing.pop(request.identifier, None)
        for record in _records_in(exchange, evidence.resource) if request.operation in ("list", "read") else ():
            if id_of(record) is None:
                continue
            identifier = record["id"]
            if differing.get(identifier, ("",))[0] == request.operation:
                _, name, first_value, finding = differing.pop(identifier)
                yield finding if record.get(name) == first_value else OTHERS_WROTE
            operation, earlier = last.get(identifier, ("", {}))
            if operation not in ("", request.operation):
                compared = True
                shared_names = (name for name in steady(evidence.resource) if name in earlier and name in record)
                name = next((name for name in shared_names if earlier[name] != record[name]), "id")
                belongs = evidence.is_run_record(record)
                labels = f"{earlier.get(evidence.label)} {record.get(evidence.label)}"
                is_foreign = any(token in labels for token in evidence.other_runs)  # an id is given again
                observation = expect_field(
                    exchange, record, name, earlier[name], reason="as shown before", verbatim=belongs
                )
                if belongs or is_foreign or isinstance(observation, Satisfied):
                    yield OTHERS_WROTE if is_foreign else observation
                else:
                    differing[identifier] = operation, name, earlier[name], observation
            last[identifier] = (request.operation, record)
    yield from (OTHERS_WROTE for _ in differing)
    if not compared:
        yield Undecided("no record was both read and listed")


def _records_in(exchange: Exchange, resource: Resource) -> list[Any]:
    if exchange.request.resource != resource.name or exchange.expects is not Expect.SUCCESS or not exchange.succeeded:
        return []
    return exchange.data if isinstance(exchange.data, list) else [exchange.data]


def _never_updated(evidence: Evidence) -> Iterator[tuple[Exchange, Record]]:
    """The run's records, as shown before its first update or delete of them, with any key; refused ones are none."""
    touched: set[Any] = set()
    created_ids = evidence.created_ids
    for exchange in evidence.exchanges:
        request = exchange.request
        if request.resource == evidence.resource.name and request.operation in ("update", "delete"):
            touched |= set() if exchange.is_refusal and not exchange.attempts else {request.identifier}
        for record in _records_in(exchange, evidence.resource) if request.operation in ("read", "list") else ():
            identifier = id_of(record)
            if is_integer(identifier) and identifier in created_ids and identifier not in touched:
                yield exchange, record
