"""Rules about the records that reads and lists show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any

from contract_tests.evidence import Evidence, Record
from contract_tests.exchange import Exchange, Expect, id_of, is_integer
from contract_tests.rules.observation import (
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    id_text,
    place,
    shown,
    steady,
)
from link_management_contract import Resource

TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}", re.ASCII)
COLOR = re.compile(r"#[0-9A-Fa-f]{6}", re.ASCII)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://", re.ASCII)


def fields_are_present(evidence: Evidence, resource: Resource) -> Observations:
    """The keys of all records."""
    shape = set(resource.shape)
    for exchange, record in evidence.records(resource.name):
        if record.keys() >= shape:
            yield Satisfied(exchange)
        else:
            missing = sorted(shape - record.keys())
            received = f"no {', '.join(missing)} in the record {id_text(record)}"
            yield Violation(
                exchange, f"the fields {', '.join(resource.shape)}", received, place(exchange, record, missing[0])
            )


def id_is_an_integer(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    return _each(evidence, resource, "id", "an integer", is_integer)


def integers_have_no_fraction(evidence: Evidence, resource: Resource) -> Observations:
    """How integers are written in all records and lists."""
    made = ((each, each.data) for each in evidence.of(resource.name, "create", "update") if each.made_id is not None)
    for exchange, record in chain(evidence.records(resource.name), made):
        if isinstance(record.get("id"), float):
            yield Violation(
                exchange, "an integer without a fraction", shown(record["id"], own=True), place(exchange, record, "id")
            )
        elif is_integer(record.get("id")):
            yield Satisfied(exchange)
    for page in evidence.pages(resource.name):
        meta = page.exchange.json.get("meta")
        for name in page.meta:
            kept = isinstance(meta[name], int)
            yield decide(
                page.exchange,
                f"meta.{name} without a fraction",
                shown(meta[name], own=True),
                kept=kept,
                at=f"/meta/{name}",
            )


def datetime_has_the_stated_form(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    return _each(evidence, resource, "datetime", "YYYY-MM-DD HH:MM:SS", _is_time)


def last_datetime_has_the_stated_form(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    expected = "null or YYYY-MM-DD HH:MM:SS"
    return _each(evidence, resource, "last_datetime", expected, lambda value: value is None or _is_time(value))


def last_datetime_is_null_before_any_update(evidence: Evidence, resource: Resource) -> Observations:
    """The run's records, as long as the run has not updated them."""
    for exchange, record in _never_updated(evidence, resource):
        if "last_datetime" in record:
            value = record["last_datetime"]
            yield decide(
                exchange,
                "null on a new record",
                shown(value, own=True),
                kept=value is None,
                at=place(exchange, record, "last_datetime"),
            )


def name_is_a_string(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    return _each(evidence, resource, "name", "a string", _is_text)


def color_is_hex(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    return _each(evidence, resource, "color", "#rrggbb", lambda value: _is_text(value) and bool(COLOR.fullmatch(value)))


def scheme_has_its_separator(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    expected = "a scheme with ://"
    return _each(
        evidence, resource, "scheme", expected, lambda value: _is_text(value) and bool(SCHEME.fullmatch(value))
    )


def host_is_a_string(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    return _each(evidence, resource, "host", "a string", _is_text)


def custom_index_url_is_a_string(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    return _each(evidence, resource, "custom_index_url", "a string", _is_text)


def custom_index_url_is_empty_when_unset(evidence: Evidence, resource: Resource) -> Observations:
    """New records that were created without a `custom_index_url`."""
    creations = evidence.creations[resource.name]
    creates = (each for each in evidence.exchanges if each.request.operation == "create")
    given = {each.made_id for each in creates if "custom_index_url" in (each.request.form or {})}
    given |= {creation.identifier for creation in creations if "custom_index_url" in creation.form}
    unset = {creation.identifier for creation in creations} - given - {None}  # some services reuse ids
    for exchange, record in _never_updated(evidence, resource):
        if id_of(record) in unset and isinstance(record.get("custom_index_url"), str):
            value = record["custom_index_url"]
            yield decide(
                exchange,
                "the empty string",
                shown(value, own=True),
                kept=value == "",
                at=place(exchange, record, "custom_index_url"),
            )


def custom_not_found_url_is_absent(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    for exchange, record in evidence.records(resource.name):
        kept = "custom_not_found_url" not in record
        yield decide(
            exchange, "no custom_not_found_url", "one", kept=kept, at=place(exchange, record, "custom_not_found_url")
        )


def is_enabled_is_a_boolean(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    return _each(evidence, resource, "is_enabled", "true or false", lambda value: isinstance(value, bool))


def type_is_one_of_six(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    for exchange, record in evidence.records(resource.name):
        if "type" in record:
            value = record["type"]
            kept = isinstance(value, str) and value in resource.types
            yield decide(
                exchange,
                f"one of {', '.join(resource.types)}",
                shown(value, own=True),
                kept=kept,
                at=place(exchange, record, "type"),
            )


def settings_is_an_object(evidence: Evidence, resource: Resource) -> Observations:
    """All records."""
    return _each(evidence, resource, "settings", "an object", lambda value: isinstance(value, dict))


def email_settings_hold_email_alone(evidence: Evidence, resource: Resource) -> Observations:
    """Handlers of type `email`."""
    for exchange, record in evidence.records(resource.name):
        settings = record.get("settings")
        if record.get("type") == "email" and isinstance(settings, dict):
            kept = list(settings) == ["email"] and isinstance(settings["email"], str)
            value = settings.get("email")
            odd = "email" in settings and not isinstance(value, str)
            received = f"the keys {list(settings)}" + (f", {shown(value, own=False)}" if odd else "")
            yield decide(
                exchange,
                "settings with the one key email, a string",
                received,
                kept=kept,
                at=place(exchange, record, "settings"),
            )


def listed_as_read(evidence: Evidence, resource: Resource) -> Observations:
    """Reads, compared with listed records, where the run wrote nothing in between."""
    last: dict[Any, tuple[str, Record]] = {}
    compared = False
    for exchange in evidence.exchanges:
        request = exchange.request
        if request.resource != resource.name:
            continue
        if request.operation in ("update", "delete", "create"):
            last.pop(request.identifier, None)
            continue
        if exchange.expects is not Expect.SUCCESS or not exchange.succeeded:
            continue
        body = exchange.data
        for record in body if isinstance(body, list) else [body]:
            if id_of(record) is None:
                continue
            earlier = last.get(record["id"])
            if earlier and earlier[0] != request.operation:
                compared = True
                yield _compared(exchange, resource, earlier[1], record, own=evidence.is_own(resource.name, record))
            last[record["id"]] = (request.operation, record)
    if not compared:
        yield Undecided("no record was both read and listed")


def _compared(
    exchange: Exchange, resource: Resource, one: Record, other: Record, *, own: bool
) -> Violation | Satisfied:
    both = [name for name in steady(resource) if name in one and name in other]
    differing = [name for name in both if one[name] != other[name]]
    if not differing:
        return Satisfied(exchange)
    name = differing[0]
    return Violation(
        exchange,
        f"{name} {shown(one.get(name), own=own)}, as it was shown before",
        f"{name} {shown(other.get(name), own=own)}",
        place(exchange, other, name),
    )


def _each(
    evidence: Evidence, resource: Resource, name: str, expected: str, good: Callable[[Any], bool]
) -> Observations:
    for exchange, record in evidence.records(resource.name):
        if name in record and good(record[name]):
            yield Satisfied(exchange)
        elif name in record:
            own = evidence.is_own(resource.name, record)
            received = f"{shown(record[name], own=own)} in the record {id_text(record)}"
            yield Violation(exchange, f"{name}: {expected}", received, place(exchange, record, name))


def _never_updated(evidence: Evidence, resource: Resource) -> Iterator[tuple[Exchange, Record]]:
    """The run's records, as shown before its first update or delete of them, with any key."""
    touched: set[Any] = set()
    own = evidence.own[resource.name]
    for exchange in evidence.exchanges:
        request = exchange.request
        if request.resource != resource.name:
            continue
        if request.operation in ("update", "delete"):
            touched.add(request.identifier)
        elif request.operation in ("read", "list") and exchange.expects is Expect.SUCCESS and exchange.succeeded:
            body = exchange.data
            for record in body if isinstance(body, list) else [body]:
                identifier = id_of(record)
                if is_integer(identifier) and identifier in own and identifier not in touched:
                    yield exchange, record


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_time(value: Any) -> bool:
    if not isinstance(value, str) or not TIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True
