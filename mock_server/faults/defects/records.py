"""Records whose fields are missing, of another type or not what they are elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from mock_server.faults.call import Call
from mock_server.faults.defects.defect import RESOURCES, SHOWN, D, Defect, N, S
from mock_server.faults.defects.means import (
    Body,
    drops,
    is_email,
    knowing,
    known,
    meta,
    never_updated,
    record,
    rows_of,
    sets,
    shows,
    turns,
)


def _unset(row: Body) -> bool:
    return not row["custom_index_url"]


def _text(name: str) -> Callable[[Body], None]:
    return turns(name, str)


def _first_shown(call: Call, body: Body) -> None:
    body["data"] = [call.memory.setdefault(f"{call.kind}/{row['id']}", row) for row in body["data"]]


def _shows_what_was_written(call: Call, body: Body) -> None:
    written = {each.id: each.values for each in call.records}
    for row in rows_of(body):
        row["custom_not_found_url"] = written[row["id"]].get("custom_not_found_url", "")


NOT_FOUND, UNSET = "custom-not-found-url-is-absent", "custom-index-url-is-empty-when-unset"
LISTED, COLOR = "listed-as-read", "color-is-hex"

DEFECTS = (
    *(
        Defect(
            f"{kind}-lack-{field.replace('_', '-')}-in-{SHOWN[operation]}",
            "representations.fields-are-present",
            f"The {SHOWN[operation]} of {kind} lack `{field}`.",
            record(drops(field), operation),
            (kind,),
        )
        for kind, resource in RESOURCES.items()
        for operation, names in (("list", resource.shape), ("read", [*resource.shape][::2]))
        for field in names
    ),
    shows("listed-id-is-text", "id-is-an-integer", "Lists show ids as text.", _text("id"), operations="list"),
    shows("read-id-is-text", "id-is-an-integer", "Reads show ids as text.", _text("id"), operations="read"),
    Defect(
        "total-has-a-fraction",
        "representations.integers-have-no-fraction",
        "`meta.total` is written with a fraction.",
        meta("total", lambda m: float(m["total"])),
    ),
    shows(
        "read-id-has-a-fraction",
        "integers-have-no-fraction",
        "Reads write ids with a fraction.",
        turns("id", float),
        operations="read",
    ),
    shows(
        "name-is-an-array",
        "name-is-a-string",
        "Lists show names as arrays.",
        turns("name", lambda name: [name]),
        (S, N),
        "list",
    ),
    shows(
        "name-is-translated",
        "name-is-a-string",
        "Names are objects by language.",
        turns("name", lambda name: {"en": name}),
        (S, N),
    ),
    shows(
        "name-is-null",
        "name-is-a-string",
        "Reads of splash pages show null as the name.",
        sets("name", None),
        (S,),
        "read",
    ),
    shows("color-is-short", COLOR, "Colours have three digits.", sets("color", "#5ad")),
    shows(
        "color-lacks-its-sign",
        COLOR,
        "Lists show colours without the number sign.",
        turns("color", lambda color: color[1:]),
        operations="list",
    ),
    shows(
        "color-has-opacity",
        COLOR,
        "Reads show colours with eight digits.",
        turns("color", lambda color: f"{color}ff"),
        operations="read",
    ),
    shows("color-is-a-function", COLOR, "Colours are written as functions.", sets("color", "rgb(90, 103, 216)")),
    shows(
        "color-is-null",
        COLOR,
        "Splash pages that were never updated have no colour.",
        sets("color", None),
        row=never_updated,
    ),
    shows(
        "scheme-lacks-its-separator",
        "scheme-has-its-separator",
        "Schemes lack their separator.",
        turns("scheme", lambda scheme: scheme[:-3]),
    ),
    shows(
        "scheme-has-a-colon-alone",
        "scheme-has-its-separator",
        "Schemes end with their colon.",
        turns("scheme", lambda scheme: scheme[:-2]),
    ),
    shows(
        "scheme-holds-the-host",
        "scheme-has-its-separator",
        "Reads show the host behind the scheme.",
        lambda row: row.update(scheme=row["scheme"] + row["host"]),
        operations="read",
    ),
    shows(
        "scheme-is-null",
        "scheme-has-its-separator",
        "Lists show null as the scheme.",
        sets("scheme", None),
        operations="list",
    ),
    shows(
        "host-is-an-array",
        "host-is-a-string",
        "Lists show hosts as arrays of labels.",
        turns("host", lambda host: host.split(".")),
        operations="list",
    ),
    shows("host-is-an-object", "host-is-a-string", "Hosts are objects.", turns("host", lambda host: {"ascii": host})),
    shows(
        "unset-index-url-is-null",
        "custom-index-url-is-a-string",
        "A `custom_index_url` that is not set is null.",
        sets("custom_index_url", None),
        row=_unset,
    ),
    shows(
        "unset-index-url-is-false",
        "custom-index-url-is-a-string",
        "Lists show a `custom_index_url` that is not set as false.",
        turns("custom_index_url", bool),
        operations="list",
        row=_unset,
    ),
    shows(
        "index-url-is-an-object",
        "custom-index-url-is-a-string",
        "A `custom_index_url` that is set is an object.",
        turns("custom_index_url", lambda url: {"href": url}),
        row=lambda row: bool(row["custom_index_url"]),
    ),
    shows(
        "unset-index-url-is-a-default",
        UNSET,
        "A `custom_index_url` that is not set is some default.",
        sets("custom_index_url", "https://www.example.com/"),
        row=_unset,
    ),
    shows(
        "unset-index-url-is-a-slash",
        UNSET,
        "A `custom_index_url` that is not set is a slash.",
        sets("custom_index_url", "/"),
        row=_unset,
    ),
    shows(
        "unset-index-url-is-the-word-null",
        UNSET,
        "A `custom_index_url` that is not set is the text null.",
        sets("custom_index_url", "null"),
        row=_unset,
    ),
    shows(
        "not-found-url-is-empty",
        NOT_FOUND,
        "Domains show an empty `custom_not_found_url`.",
        sets("custom_not_found_url", ""),
    ),
    shows(
        "not-found-url-is-listed",
        NOT_FOUND,
        "Lists show `custom_not_found_url`, as null.",
        sets("custom_not_found_url", None),
        operations="list",
    ),
    shows(
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
        knowing("read list", _shows_what_was_written, known),
    ),
    shows(
        "listed-name-is-cut",
        LISTED,
        "Lists cut names at three characters.",
        turns("name", lambda name: f"{name[:3]}…"),
        (S, N),
        "list",
    ),
    shows(
        "listed-name-is-escaped",
        LISTED,
        "Lists show names behind an entity.",
        turns("name", lambda name: escape(f"<{name}>")),
        (S, N),
        "list",
    ),
    shows(
        "listed-settings-are-empty",
        LISTED,
        "Lists show no settings of types other than `email`.",
        sets("settings", {}),
        (N,),
        "list",
        lambda row: not is_email(row),
    ),
    shows(
        "listed-is-enabled-is-the-opposite",
        LISTED,
        "Lists show the opposite of `is_enabled`.",
        turns("is_enabled", lambda on: not on),
        (N,),
        "list",
    ),
    shows(
        "listed-index-url-is-empty",
        LISTED,
        "Lists show no `custom_index_url`.",
        sets("custom_index_url", ""),
        (D,),
        "list",
    ),
    shows(
        "listed-datetime-is-in-another-zone",
        LISTED,
        "Lists show `datetime` in another zone.",
        turns("datetime", lambda t: f"{t[:11]}{(int(t[11:13]) + 2) % 24:02}{t[13:]}"),
        operations="list",
    ),
    Defect(
        "unset-email-is-no-key",
        "representations.email-settings-hold-email-alone",
        "The settings of type `email` are empty where no address was given.",
        record(sets("settings", {}), row=lambda row: is_email(row) and not row["settings"].get("email")),
        (N,),
        needs={"email-missing": "accepted"},
    ),
    Defect(
        "unset-email-is-null",
        "representations.email-settings-hold-email-alone",
        "The settings of type `email` hold null where no address was given.",
        record(sets("settings", {"email": None}), row=lambda row: is_email(row) and not row["settings"].get("email")),
        (N,),
        needs={"email-missing": "accepted"},
    ),
    Defect(
        "lists-are-never-renewed",
        f"representations.{LISTED}",
        "Lists show records as they were first listed.",
        knowing("list", _first_shown),
    ),
)
