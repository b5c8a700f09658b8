"""Rules about forms: which fields are accepted, and what becomes of their values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from contract_tests.evidence import Change, Creation, Evidence, Omission, Record
from contract_tests.exchange import Exchange, Expect
from contract_tests.markers import shows
from contract_tests.rules.observation import (
    TOGGLED,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    place,
    shown,
)
from contract_tests.rules.operations import accepted
from contract_tests.rules.same import is_same, same_url
from link_management_contract import Resource


def name_required(evidence: Evidence, resource: Resource) -> Observations:
    """Creates without a name."""
    return _required(evidence, resource, "name")


def host_required(evidence: Evidence, resource: Resource) -> Observations:
    """Creates without a host."""
    return _required(evidence, resource, "host")


def type_required(evidence: Evidence, resource: Resource) -> Observations:
    """Creates without a type."""
    return _required(evidence, resource, "type")


def required_fields_alone_suffice(evidence: Evidence, resource: Resource) -> Observations:
    """Creates with the required fields and no others."""
    for exchange in evidence.of(resource.name, "create"):
        if set(exchange.request.form or {}) == set(resource.required):
            yield accepted(exchange)


def optional_fields_are_accepted_on_create(evidence: Evidence, resource: Resource) -> Observations:
    """Creates with optional fields, files aside."""
    for exchange in evidence.of(resource.name, "create"):
        if set(exchange.request.form or {}) - set(resource.required):
            yield accepted(exchange)


def optional_fields_are_accepted_on_update(evidence: Evidence, resource: Resource) -> Observations:
    """Updates with optional fields, files aside."""
    for exchange in evidence.of(resource.name, "update"):
        if set(exchange.request.form or {}) - set(resource.required):
            observation = accepted(exchange)
            if isinstance(observation, Violation) and any(map(_was_accepted, _fuller(evidence, resource, exchange))):
                observation = Undecided("the same fields were accepted beside those that a create requires")
            yield observation


def required_fields_are_optional_on_update(evidence: Evidence, resource: Resource) -> Observations:
    """Updates without a field that a create requires."""
    for exchange in evidence.of(resource.name, "update"):
        if set(resource.required) - set(exchange.request.form or {}):
            observation, fuller = accepted(exchange), _fuller(evidence, resource, exchange)
            if isinstance(observation, Violation) and fuller and not any(map(_was_accepted, fuller)):
                observation = Undecided("the same fields were refused beside those that a create requires too")
            yield observation


def _fuller(evidence: Evidence, resource: Resource, exchange: Exchange) -> list[Exchange]:
    """Updates with the fields of this one and all that a create requires."""
    fields = {*(exchange.request.form or {}), *resource.required}
    return [each for each in evidence.of(resource.name, "update") if fields <= set(each.request.form or {})]


def _was_accepted(exchange: Exchange) -> bool:
    return isinstance(accepted(exchange), Satisfied)


def files_are_accepted(evidence: Evidence, resource: Resource) -> Observations:
    """Creates and updates with images."""
    for exchange in evidence.of(resource.name, "create", "update"):
        if any(isinstance(value, tuple) for value in (exchange.request.form or {}).values()):
            yield accepted(exchange)


def types_are_accepted(evidence: Evidence, resource: Resource) -> Observations:
    """Creates of each type."""
    for exchange in evidence.of(resource.name, "create"):
        observation = accepted(exchange)
        if isinstance(observation, Violation):
            handler_type = (exchange.request.form or {}).get("type")
            yield Violation(exchange, f"a handler of type {handler_type}", observation.received)
        else:
            yield observation


def name_comes_back(evidence: Evidence, resource: Resource) -> Observations:
    """Names that were accepted."""
    return _comes_back(evidence, resource, "name", lambda record: record.get("name"))


def host_comes_back(evidence: Evidence, resource: Resource) -> Observations:
    """Hosts that were accepted."""
    return _comes_back(evidence, resource, "host", lambda record: record.get("host"))


def custom_index_url_comes_back(evidence: Evidence, resource: Resource) -> Observations:
    """Values of `custom_index_url` that were accepted."""
    name = "custom_index_url"
    return _comes_back(evidence, resource, name, lambda record: record.get(name))


def custom_not_found_url_stays_apart(evidence: Evidence, resource: Resource) -> Observations:
    """Updates with `custom_not_found_url`, and creates with both URLs."""
    for change in evidence.changes[resource.name]:
        alone = "custom_not_found_url" in change.form and "custom_index_url" not in change.form
        if alone and change.read and change.read.record and change.exchange.succeeded:
            now, before = change.read.record.get("custom_index_url"), change.before.get("custom_index_url")
            expected = f"custom_index_url {shown(before, own=True)}, as before"
            yield decide(change.read, expected, shown(now, own=True), kept=now == before, at="/data/custom_index_url")
    for creation in evidence.creations[resource.name]:
        if "custom_not_found_url" in creation.form and creation.read and creation.read.record:
            now = creation.read.record.get("custom_index_url")
            kept = not (isinstance(now, str) and same_url(now, creation.form["custom_not_found_url"]))
            yield decide(creation.read, "custom_index_url of its own", "that of custom_not_found_url", kept=kept)


def type_comes_back(evidence: Evidence, resource: Resource) -> Observations:
    """Types that were accepted."""
    return _comes_back(evidence, resource, "type", lambda record: record.get("type"))


def email_comes_back(evidence: Evidence, resource: Resource) -> Observations:
    """Addresses that were given to handlers of type `email`."""

    def address(record: Record) -> Any:
        settings = record.get("settings")
        return settings.get("email") if isinstance(settings, dict) and record.get("type") == "email" else None

    return _comes_back(evidence, resource, "email", address)


def type_fields_show_in_settings(evidence: Evidence, resource: Resource) -> Observations:
    """Values given for the fields of a type other than `email`."""
    for form, record, exchange in _stored(evidence, resource):
        given = [value for name, value in form.items() if _goes_with(name, form.get("type", "")) and name != "email"]
        settings = record.get("settings")
        if given and isinstance(settings, dict) and record.get("type") == form.get("type"):
            held = json.dumps(settings, ensure_ascii=False)
            kept = all(json.dumps(value, ensure_ascii=False)[1:-1] in held for value in given)
            yield decide(exchange, "settings that hold what was given", f"{len(settings)} other values", kept=kept)


def _goes_with(name: str, handler_type: str) -> bool:
    """Whether a field goes with a type of handler."""
    return name == handler_type or name.startswith(f"{handler_type}_")


def one_enables(evidence: Evidence, resource: Resource) -> Observations:
    """Updates with `is_enabled` of `1`."""
    return _toggled(evidence, resource, "1", wanted=True)


def zero_disables(evidence: Evidence, resource: Resource) -> Observations:
    """Updates with `is_enabled` of `0`."""
    return _toggled(evidence, resource, "0", wanted=False)


def is_enabled_is_optional_on_update(evidence: Evidence, resource: Resource) -> Observations:
    """Updates without `is_enabled`; one that gives another type or address may have to wait for a confirmation."""
    for change in evidence.changes[resource.name]:
        if "is_enabled" in change.form:
            continue
        if not change.exchange.succeeded:
            yield from map(accepted, [change.exchange] if change.exchange.expects is Expect.SUCCESS else [])
        elif _keeps_state(change.form) and change.read and change.read.record:
            before, now = change.before.get("is_enabled"), change.read.record.get("is_enabled")
            yield decide(
                change.read,
                f"is_enabled {before}, as before",
                f"is_enabled {now}",
                kept=before == now,
                at="/data/is_enabled",
            )


def _keeps_state(form: Mapping[str, str]) -> bool:
    return form.get("type", TOGGLED[0]) in TOGGLED and "email" not in form


def is_enabled_is_not_accepted_on_create(evidence: Evidence, resource: Resource) -> Observations:
    """Creates with `is_enabled`, compared with one without."""
    starts: dict[str, tuple[Any, Exchange]] = {}
    for creation in evidence.creations[resource.name]:
        if creation.form.get("type") != "webhook":
            continue
        sent = creation.form.get("is_enabled", "")
        found = _first_shown(evidence, resource, creation)
        if found and isinstance(found[0].get("is_enabled"), bool):
            starts.setdefault(sent, (found[0]["is_enabled"], found[1]))
        elif sent and creation.identifier is None and not creation.exchange.failed:
            yield Satisfied(creation.exchange)
    if "" not in starts:
        yield Undecided("no handler without is_enabled could be created to compare with")
        return
    expected = starts[""][0]
    for sent, (state, exchange) in starts.items():
        if sent:
            received = f"{state} where {sent} was sent"
            yield decide(exchange, f"is_enabled {expected}, as without it", received, kept=state == expected)


def _required(evidence: Evidence, resource: Resource, field: str) -> Observations:
    for omission in evidence.omissions[resource.name]:
        if omission.field == field:
            yield _omitted(omission)


def _omitted(omission: Omission) -> Observation:
    exchange = omission.exchange
    expected = f"a refusal, and no record, without {omission.field}"
    if exchange.made_id is not None:
        return Violation(exchange, expected, f"status {exchange.status} and the id {exchange.made_id}")
    if any(shows(record, omission.marker) for record in omission.came) or (omission.came and omission.is_quiet):
        return Violation(exchange, expected, f"status {exchange.status}, and a record that was listed then")
    if exchange.failed:
        return Undecided("the create failed")
    return Undecided("others wrote meanwhile") if omission.came else Satisfied(exchange)


def _comes_back(evidence: Evidence, resource: Resource, field: str, value: Callable[[Record], Any]) -> Observations:
    for form, record, exchange in _stored(evidence, resource):
        if form.get(field) and isinstance(now := value(record), str):
            kept = is_same(field, now, form[field])
            yield decide(
                exchange,
                f"{field} {form[field]!r}",
                shown(now, own=True),
                kept=kept,
                at=place(exchange, record, {"email": "settings/email"}.get(field, field)),
            )


def _stored(evidence: Evidence, resource: Resource) -> Iterator[tuple[dict[str, str], Record, Exchange]]:
    """Forms that were accepted, with the record shown afterwards; an update that changed nothing is no evidence."""
    for creation in evidence.creations[resource.name]:
        found = _first_shown(evidence, resource, creation)
        if found and creation.exchange.succeeded:
            yield dict(creation.form), *found
    for change in evidence.changes[resource.name]:
        if change.exchange.succeeded and change.read and change.read.record:
            record = change.read.record
            changed = {name: text for name, text in change.form.items() if not _ignored(change, name, record)}
            yield changed, record, change.read


def _ignored(change: Change, name: str, record: Record) -> bool:
    return (
        name in record
        and record[name] == change.before.get(name)
        and not is_same(name, record[name], change.form[name])
    )


def _first_shown(evidence: Evidence, resource: Resource, creation: Creation) -> tuple[Record, Exchange] | None:
    """A new record as shown by its read or, if it was not read, by the first list that holds it."""
    if creation.identifier is None or creation.identifier in creation.before:
        return None
    if creation.read:
        return (creation.read.record, creation.read) if creation.read.record else None
    for page in evidence.pages(resource.name):
        if page.exchange.number > creation.exchange.number:
            for row in page.rows:
                if row.get("id") == creation.identifier:
                    return row, page.exchange
    return None


def _toggled(evidence: Evidence, resource: Resource, sent: str, *, wanted: bool) -> Observations:
    for change in evidence.changes[resource.name]:
        if change.form.get("is_enabled") != sent:
            continue
        if not change.exchange.succeeded:
            yield accepted(change.exchange)
        elif change.read and change.read.record:
            before, now = change.before.get("is_enabled"), change.read.record.get("is_enabled")
            if not isinstance(now, bool):
                yield Undecided("the read after the update shows no boolean")
            elif before is not wanted or now is not wanted:
                yield decide(
                    change.read, f"is_enabled {wanted}", f"is_enabled {now}", kept=now is wanted, at="/data/is_enabled"
                )
