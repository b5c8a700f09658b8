"""What the console's forms send, to the API as any client would, and to the switches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Any

from flask import request
from werkzeug.test import Client

from link_management_contract import Field, Resource
from mock_server.control.instance import Instance
from mock_server.errors import SettingsError
from mock_server.http.broken_answers import NO_LENGTH
from mock_server.journal.recorder import BY_HAND

LEAST_ERROR = 400  # among statuses


@dataclass(frozen=True)
class Problem:
    """Why a form was refused, and the field at fault, if one is."""

    what: str
    field: str = ""


def save(
    running: Instance, key: str, resource: Resource, identifier: int | None, present: Mapping[str, Any]
) -> Problem | None:
    """Create or update a record with the form that was sent, without the fields that have not changed.

    Args:
        running: the mock.
        key: the key of the account.
        resource: the resource of the record.
        identifier: the id of the record to update, or None to create one.
        present: the present values of the record.

    Returns:
        Why it was refused, or None.
    """
    operation = "create" if identifier is None else "update"
    sent: dict[str, Any] = {
        name: text
        for name, field in resource.fields.items()
        if operation in field.operations and (text := _text(field, present)) is not None
    }
    for name, file in request.files.items():
        if file.filename and name in resource.fields:
            sent[name] = (BytesIO(file.read()), file.filename, file.mimetype)
    path = resource.paths[operation].replace("{id}", str(identifier))
    return _ask(running, key, "POST", path, sent)


def delete(running: Instance, key: str, resource: Resource, identifier: int) -> Problem | None:
    """Delete a record, and return why that was refused, or None."""
    return _ask(running, key, "DELETE", resource.paths["delete"].replace("{id}", str(identifier)), None)


def _text(field: Field, present: Mapping[str, Any]) -> str | None:
    """The text to send for a field, or None to leave it out."""
    text = request.form.get(field.name)
    if field.kind == "file" or text is None:
        return None
    now = present.get(field.name, "")
    if text == {True: "1", False: "0"}.get(now, str(now)):
        return None
    return text


def _ask(running: Instance, key: str, method: str, path: str, form: dict[str, Any] | None) -> Problem | None:
    headers = {"Authorization": f"Bearer {key}", "User-Agent": "mock-server console"}
    prefix = running.settings.base_path
    answer = Client(running).open(
        prefix + path,
        method=method,
        headers=headers,
        data=form,
        content_type=None if form is None else "multipart/form-data",
        base_url=request.host_url,
        environ_overrides={BY_HAND: True},
    )
    if answer.headers.get("Content-Length") == NO_LENGTH:
        return Problem("The connection was closed without an answer, as a switch has it.")
    return _problem(answer.status_code, answer.text)


def _problem(status: int, text: str) -> Problem | None:
    """The error that an answer reports, or None; a service may report errors with a success status, too."""
    field = ""
    try:
        error = json.loads(text)["errors"][0]
        title, field = error["title"], str(error.get("field", ""))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        title = "" if status < LEAST_ERROR else text[:200] or "no body"
    return Problem(f"The API answered {status}: {title}", field) if title else None


def switches(running: Instance, form: Mapping[str, str]) -> dict[str, Any]:
    """Settings from the form of the switches.

    Raises:
        SettingsError: if a number is invalid.
    """
    points = running.service.contract.open_points.values()
    choices = {point.name: value for point in points if (value := form.get(f"open.{point.name}"))}
    conditions = {
        name.removeprefix("condition."): _number(name, text)
        for name, text in form.items()
        if name.startswith("condition.") and text.strip()
    }
    defects = tuple(name.removeprefix("defect.") for name in form if name.startswith("defect."))
    grease = form.get("grease", "").strip()
    return {
        "choices": choices,
        "conditions": conditions,
        "defects": defects,
        "grease": _whole("grease", grease) if grease else None,
    }


def forced(form: Mapping[str, str]) -> dict[str, Any]:
    """An answer to force, from its form.

    Raises:
        SettingsError: if a number is invalid, or the body is no JSON.
    """
    text = {name: value.strip() for name, value in form.items() if value.strip()}
    given: dict[str, Any] = {name: text.get(name, "*") for name in ("method", "path", "account")}
    wanted = [f"{name}={text[name]}" for name in ("delay", "lost") if name in text]
    given |= {"prefer": ", ".join(wanted)} if wanted else {}
    given |= {"status": _whole("status", text["status"])} if "status" in text else {}
    given |= {name: text[name] for name in ("field", "condition") if name in text}
    given |= {"seconds": _number("seconds", text["seconds"])} if "seconds" in text else {}
    given |= {"every": _whole("every", text["every"])} if "every" in text else {}
    given |= {"headers": {"Retry-After": text["wait"]}} if "wait" in text else {}
    if "body" in text:
        given["body"] = _parsed(text["body"])
    elif "field" not in text and given.get("status", 0) >= LEAST_ERROR:
        given["body"] = {"errors": [{"title": "A test asked for this answer.", "status": given["status"]}]}
    if "times" in text:
        given["times"] = None if text["times"] == "*" else _whole("times", text["times"])
    return given


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"the body is not JSON: {error}") from error


def moment(text: str) -> datetime:
    """Read a time as the contract writes it, or as browsers do.

    Raises:
        SettingsError: if it is neither.
    """
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=None, microsecond=0)
    except ValueError as error:
        raise SettingsError(f'"{text}" is no time; give one such as 2026-03-02 09:00:00') from error


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise SettingsError(f'{name} is "{text}"; expected a whole number') from error


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise SettingsError(f'{name} is "{text}"; expected a number') from error
