"""Records whose fields are missing, of another type, in another form or not what they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from typing import Any

from werkzeug.wrappers import Response

from mock_server.calls import Call, Serve, content, done
from mock_server.defects.defect import D, Defect, N, S
from mock_server.defects.means import Body, drops, meta, record, rows_of, says, sets, turns

FIELDS = {
    S: ("id", "name", "color", "last_datetime", "datetime"),
    D: ("id", "scheme", "host", "custom_index_url", "is_enabled", "last_datetime", "datetime"),
    N: ("id", "type", "name", "settings", "is_enabled", "last_datetime", "datetime"),
}
SHOWN = {"list": "lists", "read": "reads"}


def _never_updated(row: Body) -> bool:
    return row["last_datetime"] is None


def _was_updated(row: Body) -> bool:
    return row["last_datetime"] is not None


def _is_email(row: Body) -> bool:
    return bool(row["type"] == "email")


def _unset(row: Body) -> bool:
    return not row["custom_index_url"]


def _text(name: str) -> Callable[[Body], None]:
    return turns(name, str)


def _first_shown(call: Call, serve: Serve) -> Response:
    """Lists show records as they were first listed."""
    answer = serve(call)
    if call.operation != "list" or not done(call, answer):
        return answer
    body = content(answer)
    body["data"] = [call.memory.setdefault(f"{call.kind}/{row['id']}", row) for row in body["data"]]
    return says(call, answer, body)


def _any_type(call: Call, serve: Serve) -> Response:
    """A type is taken and shown, whatever it is."""
    sent = call.form.get("type", "webhook") if call.operation == "create" and call.account else "webhook"
    known = call.resource.fields["type"].values
    answer = serve(call if sent in known else call.sending(call.form | {"type": "webhook"}))
    if not done(call, answer):
        return answer
    body = content(answer)
    if sent not in known:
        call.memory[str(body["data"]["id"])] = sent
    if call.operation in SHOWN:
        for row in rows_of(body):
            row["type"] = call.memory.get(str(row["id"]), row["type"])
    return says(call, answer, body)


def _shows_what_was_written(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if call.operation not in SHOWN or call.account is None or not done(call, answer):
        return answer
    body = content(answer)
    written = {each.id: each.values for each in call.records}
    for row in rows_of(body):
        row["custom_not_found_url"] = written[row["id"]].get("custom_not_found_url", "")
    return says(call, answer, body)


def _renamed_types(row: Body) -> None:
    row["type"] = {"microsoft_teams": "teams"}.get(row["type"], row["type"])


def _defect(  # noqa: PLR0913 - a line of the table below
    name: str,
    field: str,
    what: str,
    change: Callable[[Body], Any],
    kinds: tuple[str, ...] = (),
    operations: str = "read list",
    row: Callable[[Body], bool] = lambda _: True,
) -> Defect:
    return Defect(name, f"representations.{field}", what, record(change, operations, row), kinds)


DATETIME, UPDATED = "datetime-has-the-stated-form", "last-datetime-has-the-stated-form"
NULL, UNSET = "last-datetime-is-null-before-any-update", "custom-index-url-is-empty-when-unset"
NOT_FOUND, ENABLED, SETTINGS = "custom-not-found-url-is-absent", "is-enabled-is-a-boolean", "settings-is-an-object"
EMAIL, LISTED, COLOR = "email-settings-hold-email-alone", "listed-as-read", "color-is-hex"

DEFECTS = (
    *(
        Defect(
            f"{kind}-lack-{field.replace('_', '-')}-in-{SHOWN[operation]}",
            "representations.fields-are-present",
            f"The {SHOWN[operation]} of {kind} lack `{field}`.",
            record(drops(field), operation),
            (kind,),
        )
        for kind, fields in FIELDS.items()
        for operation, names in (("list", fields), ("read", fields[::2]))
        for field in names
    ),
    _defect("listed-id-is-text", "id-is-an-integer", "Lists show ids as text.", _text("id"), operations="list"),
    _defect("read-id-is-text", "id-is-an-integer", "Reads show ids as text.", _text("id"), operations="read"),
    Defect(
        "total-has-a-fraction",
        "representations.integers-have-no-fraction",
        "`meta.total` is written with a fraction.",
        meta("total", lambda m: float(m["total"])),
    ),
    _defect(
        "read-id-has-a-fraction",
        "integers-have-no-fraction",
        "Reads write ids with a fraction.",
        turns("id", float),
        operations="read",
    ),
    _defect(
        "datetime-has-a-t",
        DATETIME,
        "`datetime` has a T between date and time.",
        turns("datetime", lambda t: t.replace(" ", "T")),
    ),
    _defect(
        "datetime-has-a-zone",
        DATETIME,
        "Reads show a zone behind `datetime`.",
        turns("datetime", lambda t: f"{t}Z"),
        operations="read",
    ),
    _defect(
        "datetime-lacks-seconds", DATETIME, "`datetime` ends with the minutes.", turns("datetime", lambda t: t[:-3])
    ),
    _defect(
        "datetime-has-microseconds",
        DATETIME,
        "Lists show `datetime` with microseconds.",
        turns("datetime", lambda t: f"{t}.000000"),
        operations="list",
    ),
    _defect(
        "datetime-is-a-number",
        DATETIME,
        "`datetime` is the number of seconds since 1970.",
        sets("datetime", 1772442001),
    ),
    _defect(
        "datetime-is-no-day",
        DATETIME,
        "Lists show a `datetime` that is no day of the calendar.",
        turns("datetime", lambda t: f"{t[:4]}-02-30{t[10:]}"),
        operations="list",
    ),
    _defect(
        "datetime-is-zero",
        DATETIME,
        "Domains show a `datetime` of zeros.",
        sets("datetime", "0000-00-00 00:00:00"),
        (D,),
    ),
    _defect(
        "datetime-is-spelled-out",
        DATETIME,
        "`datetime` is in words.",
        turns("datetime", lambda t: f"{t[8:10]} March {t[:4]}"),
        (N,),
    ),
    _defect(
        "last-datetime-is-empty",
        UPDATED,
        "`last_datetime` is an empty text before any update.",
        sets("last_datetime", ""),
        row=_never_updated,
    ),
    _defect(
        "last-datetime-is-0",
        UPDATED,
        "`last_datetime` is 0 before any update.",
        sets("last_datetime", 0),
        row=_never_updated,
    ),
    _defect(
        "last-datetime-is-zero",
        UPDATED,
        "`last_datetime` is a date of zeros before any update.",
        sets("last_datetime", "0000-00-00 00:00:00"),
        row=_never_updated,
    ),
    _defect(
        "last-datetime-is-false",
        UPDATED,
        "`last_datetime` is false before any update.",
        sets("last_datetime", False),
        row=_never_updated,
    ),
    Defect(
        "last-datetime-has-a-t",
        f"representations.{UPDATED}",
        "After an update, `last_datetime` has a T between date and time.",
        record(turns("last_datetime", lambda t: t.replace(" ", "T")), row=_was_updated),
        needs={"last-datetime-after-update": "set"},
    ),
    Defect(
        "last-datetime-is-a-number",
        f"representations.{UPDATED}",
        "After an update, lists show `last_datetime` as a number.",
        record(sets("last_datetime", 1772442001), "list", _was_updated),
        needs={"last-datetime-after-update": "set"},
    ),
    _defect(
        "last-datetime-is-set-by-the-create",
        NULL,
        "`last_datetime` is the time of the create before any update.",
        lambda row: row.update(last_datetime=row["datetime"]),
        row=_never_updated,
    ),
    _defect(
        "last-datetime-is-set-in-lists",
        NULL,
        "Lists show the time of the create as `last_datetime`.",
        lambda row: row.update(last_datetime=row["datetime"]),
        operations="list",
        row=_never_updated,
    ),
    _defect(
        "name-is-an-array",
        "name-is-a-string",
        "Lists show names as arrays.",
        turns("name", lambda name: [name]),
        (S, N),
        "list",
    ),
    _defect(
        "name-is-translated",
        "name-is-a-string",
        "Names are objects by language.",
        turns("name", lambda name: {"en": name}),
        (S, N),
    ),
    _defect(
        "name-is-null",
        "name-is-a-string",
        "Reads of splash pages show null as the name.",
        sets("name", None),
        (S,),
        "read",
    ),
    _defect("color-is-short", COLOR, "Colours have three digits.", sets("color", "#5ad")),
    _defect(
        "color-lacks-its-sign",
        COLOR,
        "Lists show colours without the number sign.",
        turns("color", lambda color: color[1:]),
        operations="list",
    ),
    _defect(
        "color-has-opacity",
        COLOR,
        "Reads show colours with eight digits.",
        turns("color", lambda color: f"{color}ff"),
        operations="read",
    ),
    _defect("color-is-a-function", COLOR, "Colours are written as functions.", sets("color", "rgb(90, 103, 216)")),
    _defect(
        "color-is-null",
        COLOR,
        "Splash pages that were never updated have no colour.",
        sets("color", None),
        row=_never_updated,
    ),
    _defect(
        "scheme-lacks-its-separator",
        "scheme-has-its-separator",
        "Schemes lack their separator.",
        turns("scheme", lambda scheme: scheme[:-3]),
    ),
    _defect(
        "scheme-has-a-colon-alone",
        "scheme-has-its-separator",
        "Schemes end with their colon.",
        turns("scheme", lambda scheme: scheme[:-2]),
    ),
    _defect(
        "scheme-holds-the-host",
        "scheme-has-its-separator",
        "Reads show the host behind the scheme.",
        lambda row: row.update(scheme=row["scheme"] + row["host"]),
        operations="read",
    ),
    _defect(
        "scheme-is-null",
        "scheme-has-its-separator",
        "Lists show null as the scheme.",
        sets("scheme", None),
        operations="list",
    ),
    _defect(
        "host-is-an-array",
        "host-is-a-string",
        "Lists show hosts as arrays of labels.",
        turns("host", lambda host: host.split(".")),
        operations="list",
    ),
    _defect("host-is-an-object", "host-is-a-string", "Hosts are objects.", turns("host", lambda host: {"ascii": host})),
    _defect(
        "unset-index-url-is-null",
        "custom-index-url-is-a-string",
        "A `custom_index_url` that is not set is null.",
        sets("custom_index_url", None),
        row=_unset,
    ),
    _defect(
        "unset-index-url-is-false",
        "custom-index-url-is-a-string",
        "Lists show a `custom_index_url` that is not set as false.",
        sets("custom_index_url", False),
        operations="list",
        row=_unset,
    ),
    _defect(
        "index-url-is-an-object",
        "custom-index-url-is-a-string",
        "A `custom_index_url` that is set is an object.",
        turns("custom_index_url", lambda url: {"href": url}),
        row=lambda row: bool(row["custom_index_url"]),
    ),
    _defect(
        "unset-index-url-is-a-default",
        UNSET,
        "A `custom_index_url` that is not set is some default.",
        sets("custom_index_url", "https://www.example.com/"),
        row=_unset,
    ),
    _defect(
        "unset-index-url-is-a-slash",
        UNSET,
        "A `custom_index_url` that is not set is a slash.",
        sets("custom_index_url", "/"),
        row=_unset,
    ),
    _defect(
        "unset-index-url-is-the-word-null",
        UNSET,
        "A `custom_index_url` that is not set is the text null.",
        sets("custom_index_url", "null"),
        row=_unset,
    ),
    _defect(
        "not-found-url-is-empty",
        NOT_FOUND,
        "Domains show an empty `custom_not_found_url`.",
        sets("custom_not_found_url", ""),
    ),
    _defect(
        "not-found-url-is-listed",
        NOT_FOUND,
        "Lists show `custom_not_found_url`, as null.",
        sets("custom_not_found_url", None),
        operations="list",
    ),
    _defect(
        "not-found-url-is-read",
        NOT_FOUND,
        "Reads show `custom_not_found_url`.",
        sets("custom_not_found_url", "https://www.example.com/404"),
        operations="read",
    ),
    Defect(
        "not-found-url-is-what-was-written",
        f"representations.{NOT_FOUND}",
        "Domains show the `custom_not_found_url` that was written.",
        _shows_what_was_written,
    ),
    _defect("is-enabled-is-a-number", ENABLED, "`is_enabled` is 0 or 1.", turns("is_enabled", int)),
    _defect(
        "is-enabled-is-text",
        ENABLED,
        "Lists show `is_enabled` as text.",
        turns("is_enabled", lambda on: str(int(on))),
        operations="list",
    ),
    _defect(
        "is-enabled-is-pending",
        ENABLED,
        "Handlers that are disabled show 2, for pending.",
        sets("is_enabled", 2),
        (N,),
        row=lambda row: row["is_enabled"] is False,
    ),
    Defect(
        "is-enabled-is-null",
        f"representations.{ENABLED}",
        "Domains that are disabled show null.",
        record(sets("is_enabled", None), row=lambda row: row["is_enabled"] is False),
        (D,),
        needs={"domain-starts": "disabled"},
    ),
    Defect(
        "is-enabled-is-a-number-after-updates",
        f"representations.{ENABLED}",
        "`is_enabled` is a number after an update.",
        record(turns("is_enabled", int), row=_was_updated),
        needs={"last-datetime-after-update": "set"},
    ),
    Defect(
        "any-type-is-stored",
        "representations.type-is-one-of-six",
        "A handler of any type is stored and shown.",
        _any_type,
    ),
    _defect(
        "type-is-shortened", "type-is-one-of-six", "The type `microsoft_teams` is shown as `teams`.", _renamed_types
    ),
    _defect(
        "type-is-a-title", "type-is-one-of-six", "Types are shown with a capital letter.", turns("type", str.title)
    ),
    _defect(
        "type-is-a-number", "type-is-one-of-six", "Lists show types as numbers.", sets("type", 3), operations="list"
    ),
    Defect(
        "empty-settings-are-an-array",
        f"representations.{SETTINGS}",
        "Settings without a key are an empty array, as PHP writes them.",
        record(sets("settings", []), row=lambda row: not row["settings"]),
        needs={"settings-unset": "absent"},
    ),
    _defect(
        "settings-are-an-array",
        SETTINGS,
        "Settings are an array of their values.",
        turns("settings", lambda settings: sorted(map(str, settings.values()))),
    ),
    _defect(
        "settings-are-text",
        SETTINGS,
        "Lists show settings as JSON in a text.",
        turns("settings", lambda settings: json.dumps(settings, sort_keys=True)),
        operations="list",
    ),
    _defect(
        "settings-are-null",
        SETTINGS,
        "Reads show null as settings of types other than `email`.",
        sets("settings", None),
        operations="read",
        row=lambda row: not _is_email(row),
    ),
    _defect(
        "email-settings-say-more",
        EMAIL,
        "The settings of type `email` say whether it was verified.",
        lambda row: row["settings"].update(verified=True),
        row=_is_email,
    ),
    _defect(
        "email-settings-hold-null",
        EMAIL,
        "The settings of type `email` hold null.",
        lambda row: row["settings"].update(email=None),
        row=_is_email,
    ),
    _defect(
        "email-settings-hold-address",
        EMAIL,
        "The settings of type `email` call the key `address`.",
        turns("settings", lambda settings: {"address": settings["email"]}),
        row=_is_email,
    ),
    _defect(
        "email-settings-are-empty-in-lists",
        EMAIL,
        "Lists show no settings of type `email`.",
        sets("settings", {}),
        operations="list",
        row=_is_email,
    ),
    _defect(
        "email-settings-hold-an-array",
        EMAIL,
        "The settings of type `email` hold an array of addresses.",
        turns("settings", lambda settings: {"email": [settings["email"]]}),
        row=_is_email,
    ),
    _defect(
        "listed-name-is-cut",
        LISTED,
        "Lists cut names at three characters.",
        turns("name", lambda name: f"{name[:3]}…"),
        (S, N),
        "list",
    ),
    _defect(
        "listed-name-is-escaped",
        LISTED,
        "Lists show names behind an entity.",
        turns("name", lambda name: escape(f"<{name}>")),
        (S, N),
        "list",
    ),
    _defect(
        "listed-settings-are-empty",
        LISTED,
        "Lists show no settings of types other than `email`.",
        sets("settings", {}),
        (N,),
        "list",
        lambda row: not _is_email(row),
    ),
    _defect(
        "listed-is-enabled-is-the-opposite",
        LISTED,
        "Lists show the opposite of `is_enabled`.",
        turns("is_enabled", lambda on: not on),
        (N,),
        "list",
    ),
    _defect(
        "listed-index-url-is-empty",
        LISTED,
        "Lists show no `custom_index_url`.",
        sets("custom_index_url", ""),
        (D,),
        "list",
    ),
    _defect(
        "listed-datetime-is-in-another-zone",
        LISTED,
        "Lists show `datetime` in another zone.",
        turns("datetime", lambda t: f"{t[:11]}{(int(t[11:13]) + 2) % 24:02}{t[13:]}"),
        operations="list",
    ),
    Defect(
        "lists-are-never-renewed",
        f"representations.{LISTED}",
        "Lists show records as they were first listed.",
        _first_shown,
    ),
)
