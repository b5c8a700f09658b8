"""Detectors of choices that show in the answers to writes, and in refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from contract_tests.exchange import OWN, Exchange
from contract_tests.open_points.detector import Exchanges, Look, reads_after_updates, refused, successes
from contract_tests.target.identities import NOBODY

OK, NO_CONTENT, UNSUPPORTED = 200, 204, 415
FIELDS_WITH_STATE = 3  # of a handler's create that sends `is_enabled` besides what is required


def _status(operation: str) -> Look:
    def look(exchanges: Exchanges) -> Iterator[str]:
        return (str(each.status) for each in successes(exchanges, operation) if each.made_id is not None)

    return look


def _delete_status(exchanges: Exchanges) -> Iterator[str]:
    for each in successes(exchanges, "delete"):
        if each.status == NO_CONTENT:
            yield "204"
        elif not each.body.strip():
            yield f"{each.status}-empty"
        else:
            yield f"{each.status}-{'text' if each.json is None else 'json'}"


def _write_answer(exchanges: Exchanges) -> Iterator[str]:
    for operation in ("create", "update"):
        for each in successes(exchanges, operation):
            if isinstance(each.data, dict) and each.made_id is not None:
                yield "record" if len(each.data) > len({"id", "type", "name"}) else "id"


def _stranger_status(exchanges: Exchanges) -> Iterator[str]:
    for each in exchanges:
        if each.request.identity == NOBODY and each.request.operation in ("list", "read") and each.status:
            status = each.redirects[0][0] if each.redirects else each.status
            yield f"{status}-login" if status in (200, 302) else str(status)


def _unknown_id(exchanges: Exchanges) -> Iterator[str]:
    deleted = set()
    for each in exchanges:
        place = (each.request.resource, each.request.identifier)
        if each.request.operation == "delete" and each.succeeded and each.request.identity == OWN:
            deleted.add(place)
        elif each.request.operation == "read" and place in deleted and each.record is None and each.status:
            yield "200-null" if each.status == OK else str(each.status)


def _invalid_field(exchanges: Exchanges) -> Iterator[str]:
    for each in refused(exchanges):
        yield "200-errors" if each.status == OK else str(each.status)


def _error_body(exchanges: Exchanges) -> Iterator[str]:
    for each in refused(exchanges):
        if not each.body.strip():
            yield "empty"
        elif each.succeeded:
            continue
        elif isinstance(each.json, dict):
            yield "errors" if "errors" in each.json else "problem"
        elif b"<" in each.body:
            yield "html"


def _is_enabled_on_create(exchanges: Exchanges) -> Iterator[str]:
    for each in exchanges:
        form = each.request.form or {}
        if (
            each.request.operation == "create"
            and form.get("is_enabled") in ("0", "1")
            and len(form) == FIELDS_WITH_STATE
        ):
            yield "ignored" if each.succeeded else "refused"


def _email_missing(exchanges: Exchanges) -> Iterator[str]:
    """Creates of handlers of type `email` that give everything required, but no address."""
    for each in exchanges:
        form = each.request.form or {}
        if each.request.operation == "create" and form.get("type") == "email" and set(form) == {"name", "type"}:
            if each.made_id is not None:
                yield "accepted"
            elif each.is_refusal:
                yield "refused"


def _other_types_fields(exchanges: Exchanges) -> Iterator[str]:
    for each in exchanges:
        form = each.request.form or {}
        if each.request.operation == "create" and form.get("type") == "slack" and "email" in form and each.status:
            yield "ignored" if each.made_id is not None else "refused"


def _cleared_text(exchanges: Exchanges) -> Iterator[str]:
    for before, update, row in reads_after_updates(exchanges, "domains"):
        if update.request.form == {"custom_index_url": ""} and before.get("custom_index_url"):
            yield "emptied" if row.get("custom_index_url") == "" else "kept"
    for each in exchanges:
        if each.request.form == {"custom_index_url": ""} and each.is_refusal:
            yield "refused"


def _body(media_type: str) -> Callable[[Exchanges], Iterator[Exchange]]:
    def look(exchanges: Exchanges) -> Iterator[Exchange]:
        return (each for each in exchanges if each.request.body and each.request.body[0] == media_type)

    return look


def _other_encoding(exchanges: Exchanges) -> Iterator[str]:
    for each in _body("application/x-www-form-urlencoded")(exchanges):
        yield "accepted" if each.made_id is not None else str(each.status)


def _json_body(exchanges: Exchanges) -> Iterator[str]:
    for each in _body("application/json")(exchanges):
        yield "415" if each.status == UNSUPPORTED else "no-fields"


DETECTORS: dict[str, Look] = {
    "create-status": _status("create"),
    "update-status": _status("update"),
    "delete-status": _delete_status,
    "write-answer": _write_answer,
    "stranger-status": _stranger_status,
    "unknown-id": _unknown_id,
    "invalid-field": _invalid_field,
    "error-body": _error_body,
    "is-enabled-on-create": _is_enabled_on_create,
    "email-missing": _email_missing,
    "other-types-fields": _other_types_fields,
    "cleared-text": _cleared_text,
    "other-form-encoding": _other_encoding,
    "json-body": _json_body,
}
