"""Records whose fields are missing, have another type or differ from what other answers show."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from mock_server.faults.call import Call
from mock_server.faults.defects.defect import RESOURCES, SHOWN, D, Defect, N, S, Table, defect, hyphenated
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
    turns,
)


def _unset(row: Body) -> bool:
    return not row["custom_index_url"]


def _text(name: str) -> Callable[[Body], None]:
    return turns(name, str)


def _first_shown(call: Call, body: Body) -> None:
    body["data"] = [call.memory.setdefault(f"{call.resource.name}/{row['id']}", row) for row in body["data"]]


def _shows_what_was_written(call: Call, body: Body) -> None:
    written = {each.id: each.values for each in call.records}
    for row in rows_of(body):
        row["custom_not_found_url"] = written[row["id"]].get("custom_not_found_url", "")


def _lacks(resource: str, operation: str, field: str) -> Callable[[str], Defect]:
    name = f"{resource}-lack-{hyphenated(field)}-in-{SHOWN[operation]}"
    return defect(
        name, f"The {SHOWN[operation]} of {resource} lack `{field}`.", record(drops(field), operation), resource
    )


# fmt: off
DEFECTS: Table = {
    "representations.fields-are-present": [
        *(_lacks(name, "list", field) for name, resource in RESOURCES.items() for field in resource.shape),
        *(_lacks(S, "read", field) for field in ("id", "color", "datetime")),
        *(_lacks(D, "read", field) for field in ("id", "host", "is_enabled", "datetime")),
        *(_lacks(N, "read", field) for field in ("id", "name", "is_enabled", "datetime")),
    ],
    "representations.id-is-an-integer": [
        defect("listed-id-is-text", "Lists show ids as text.", record(_text("id"), "list")),
        defect("read-id-is-text", "Reads show ids as text.", record(_text("id"), "read")),
    ],
    "representations.integers-have-no-fraction": [
        defect("total-has-a-fraction", "`meta.total` is written with a fraction.",
               meta("total", lambda m: float(m["total"]))),
        defect("read-id-has-a-fraction", "Reads write ids with a fraction.", record(turns("id", float), "read")),
    ],
    "representations.name-is-a-string": [
        defect("name-is-an-array", "Lists show names as arrays.",
               record(turns("name", lambda name: [name]), "list"), S, N),
        defect("name-is-translated", "Names are objects by language.",
               record(turns("name", lambda name: {"en": name})), S, N),
        defect("name-is-null", "Reads of splash pages show null as the name.", record(sets("name", None), "read"), S),
    ],
    "representations.color-is-hex": [
        defect("color-is-short", "Colours have three digits.", record(sets("color", "#5ad"))),
        defect("color-lacks-its-sign", "Lists show colours without the number sign.",
               record(turns("color", lambda color: color[1:]), "list")),
        defect("color-has-opacity", "Reads show colours with eight digits.",
               record(turns("color", lambda color: f"{color}ff"), "read")),
        defect("color-is-a-function", "Colours are written as functions.", record(sets("color", "rgb(90, 103, 216)"))),
        defect("color-is-null", "Splash pages that were never updated have no colour.",
               record(sets("color", None), row=never_updated)),
    ],
    "representations.scheme-has-its-separator": [
        defect("scheme-lacks-its-separator", "Schemes lack their separator.",
               record(turns("scheme", lambda scheme: scheme[:-3]))),
        defect("scheme-has-a-colon-alone", "Schemes end with their colon.",
               record(turns("scheme", lambda scheme: scheme[:-2]))),
        defect("scheme-holds-the-host", "Reads show the host behind the scheme.",
               record(lambda row: row.update(scheme=row["scheme"] + row["host"]), "read")),
        defect("scheme-is-null", "Lists show null as the scheme.", record(sets("scheme", None), "list")),
    ],
    "representations.host-is-a-string": [
        defect("host-is-an-array", "Lists show hosts as arrays of labels.",
               record(turns("host", lambda host: host.split(".")), "list")),
        defect("host-is-an-object", "Hosts are objects.", record(turns("host", lambda host: {"ascii": host}))),
    ],
    "representations.custom-index-url-is-a-string": [
        defect("unset-index-url-is-null", "A `custom_index_url` that is not set is null.",
               record(sets("custom_index_url", None), row=_unset)),
        defect("unset-index-url-is-false", "Lists show a `custom_index_url` that is not set as false.",
               record(turns("custom_index_url", bool), "list", _unset)),
        defect("index-url-is-an-object", "A `custom_index_url` that is set is an object.",
               record(turns("custom_index_url", lambda url: {"href": url}),
                      row=lambda row: bool(row["custom_index_url"]))),
    ],
    "representations.custom-index-url-is-empty-when-unset": [
        defect("unset-index-url-is-a-default", "A `custom_index_url` that is not set is some default.",
               record(sets("custom_index_url", "https://www.example.com/"), row=_unset)),
        defect("unset-index-url-is-a-slash", "A `custom_index_url` that is not set is a slash.",
               record(sets("custom_index_url", "/"), row=_unset)),
        defect("unset-index-url-is-the-word-null", "A `custom_index_url` that is not set is the text null.",
               record(sets("custom_index_url", "null"), row=_unset)),
    ],
    "representations.custom-not-found-url-is-absent": [
        defect("not-found-url-is-empty", "Domains show an empty `custom_not_found_url`.",
               record(sets("custom_not_found_url", ""))),
        defect("not-found-url-is-listed", "Lists show `custom_not_found_url`, as null.",
               record(sets("custom_not_found_url", None), "list")),
        defect("not-found-url-is-read", "Reads show `custom_not_found_url`.",
               record(sets("custom_not_found_url", "https://www.example.com/404"), "read")),
        defect("not-found-url-is-what-was-written", "Domains show the `custom_not_found_url` that was written.",
               knowing("read list", _shows_what_was_written, known)),
    ],
    "representations.listed-as-read": [
        defect("listed-name-is-cut", "Lists cut names at three characters.",
               record(turns("name", lambda name: f"{name[:3]}…"), "list"), S, N),
        defect("listed-name-is-escaped", "Lists show names behind an entity.",
               record(turns("name", lambda name: escape(f"<{name}>")), "list"), S, N),
        defect("listed-settings-are-empty", "Lists show no settings of types other than `email`.",
               record(sets("settings", {}), "list", lambda row: not is_email(row)), N),
        defect("listed-is-enabled-is-the-opposite", "Lists show the opposite of `is_enabled`.",
               record(turns("is_enabled", lambda on: not on), "list"), N),
        defect("listed-index-url-is-empty", "Lists show no `custom_index_url`.",
               record(sets("custom_index_url", ""), "list"), D),
        defect("listed-datetime-is-in-another-zone", "Lists show `datetime` in another zone.",
               record(turns("datetime", lambda t: f"{t[:11]}{(int(t[11:13]) + 2) % 24:02}{t[13:]}"), "list")),
        defect("lists-are-never-renewed", "Lists show records as they were first listed.",
               knowing("list", _first_shown)),
    ],
    "representations.email-settings-hold-email-alone": [
        defect("unset-email-is-no-key", "The settings of type `email` are empty where no address was given.",
               record(sets("settings", {}), row=lambda row: is_email(row) and not row["settings"].get("email")),
               N, needs={"email-missing": "accepted"}),
        defect("unset-email-is-null", "The settings of type `email` hold null where no address was given.",
               record(sets("settings", {"email": None}),
                      row=lambda row: is_email(row) and not row["settings"].get("email")),
               N, needs={"email-missing": "accepted"}),
    ],
}
# fmt: on
