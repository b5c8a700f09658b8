"""Lies about envelopes and records."""

from __future__ import annotations

import json
from dataclasses import replace

from elaborate_lies import any_type, stale_list
from liar import Lie
from lies import D, N, S, link, meta, on, record, sets, then

LIES: dict[str, list[tuple[str, Lie]]] = {
    "envelopes.body-is-json": [
        (
            S,
            then(
                lambda ask, reply: (
                    replace(reply, data=b"Warning: x\n" + reply.data) if ask.operation == "list" else reply
                )
            ),
        ),
        (D, then(lambda ask, reply: replace(reply, status=204, data=b"") if ask.operation == "update" else reply)),
    ],
    "envelopes.list-data-is-an-array": [
        (S, on("list", lambda body: body | {"data": {str(row["id"]): row for row in body["data"]}}))
    ],
    "envelopes.list-meta-holds-integers": [
        (S, meta("page", lambda m: str(m["page"]))),
        (D, on("list", lambda body: body["meta"].pop("total_pages") and None)),
    ],
    "envelopes.list-links-are-strings": [
        (S, link("self", lambda _: None)),
        (D, on("list", lambda body: body["links"].pop("first") and None)),
    ],
    "envelopes.list-neighbours-are-strings-or-null": [
        (S, link("next", lambda _: False)),
        (D, on("list", lambda body: body["links"].pop("prev", None) and None)),
    ],
    "envelopes.read-data-is-an-object": [
        (S, on("read", lambda body: {"data": [body["data"]]})),
        (D, on("read", lambda body: body["data"])),
    ],
    "envelopes.create-answers-the-id": [
        (S, on("create", lambda body: {"data": {"id": str(body["data"]["id"])}})),
        (D, on("create", lambda body: body["data"])),
    ],
    "envelopes.update-answers-the-id": [
        (S, on("update", lambda _: {"data": {}})),
        (D, on("update", lambda _: {"data": []})),
    ],
    "envelopes.update-id-is-the-path-id": [(N, on("update", lambda body: {"data": {"id": body["data"]["id"] + 1}}))],
    "envelopes.no-byte-order-mark": [
        (S, then(lambda _, reply: replace(reply, data=b"\xef\xbb\xbf" + reply.data) if reply.data else reply))
    ],
    "representations.fields-are-present": [
        (S, record(lambda row: row.pop("color"))),
        (D, record(lambda row: row.pop("scheme"), "list")),
        (N, record(lambda row: row.pop("last_datetime"), "read")),
    ],
    "representations.id-is-an-integer": [(S, record(lambda row: row.__setitem__("id", str(row["id"])), "list"))],
    "representations.integers-have-no-fraction": [(D, meta("total", lambda m: float(m["total"])))],
    "representations.datetime-has-the-stated-form": [
        (S, record(lambda row: row.__setitem__("datetime", row["datetime"].replace(" ", "T")))),
        (D, record(sets("datetime", "2026-02-30 00:00:00"), "list")),
    ],
    "representations.last-datetime-has-the-stated-form": [
        (S, record(sets("last_datetime", ""), when=lambda row: row["last_datetime"] is None)),
        (N, record(sets("last_datetime", 0), when=lambda row: row["last_datetime"] is None)),
    ],
    "representations.last-datetime-is-null-before-any-update": [
        (
            D,
            record(
                lambda row: row.__setitem__("last_datetime", row["datetime"]),
                when=lambda row: row["last_datetime"] is None,
            ),
        )
    ],
    "representations.name-is-a-string": [
        (S, record(lambda row: row.__setitem__("name", [row["name"]]), "list")),
        (N, record(lambda row: row.__setitem__("name", {"en": row["name"]}))),
    ],
    "representations.color-is-hex": [
        (S, record(sets("color", "#fff"))),
        (S, record(lambda row: row.__setitem__("color", row["color"][1:]), "list")),
    ],
    "representations.scheme-has-its-separator": [(D, record(sets("scheme", "https")))],
    "representations.host-is-a-string": [(D, record(lambda row: row.__setitem__("host", [row["host"]]), "list"))],
    "representations.custom-index-url-is-a-string": [
        (D, record(sets("custom_index_url", None), when=lambda row: not row["custom_index_url"]))
    ],
    "representations.custom-index-url-is-empty-when-unset": [
        (D, record(sets("custom_index_url", "https://example.com"), when=lambda row: not row["custom_index_url"]))
    ],
    "representations.custom-not-found-url-is-absent": [
        (D, record(sets("custom_not_found_url", ""))),
        (D, record(sets("custom_not_found_url", None), "list")),
    ],
    "representations.is-enabled-is-a-boolean": [
        (D, record(lambda row: row.__setitem__("is_enabled", int(row["is_enabled"])))),
        (N, record(lambda row: row.__setitem__("is_enabled", str(row["is_enabled"])), "list")),
    ],
    "representations.type-is-one-of-six": [
        (N, any_type),
        (N, record(sets("type", "teams"), when=lambda row: row["type"] == "microsoft_teams")),
    ],
    "representations.settings-is-an-object": [
        (N, record(sets("settings", []), when=lambda row: not row["settings"])),
        (N, record(lambda row: row.__setitem__("settings", list(row["settings"].values())))),
        (N, record(lambda row: row.__setitem__("settings", json.dumps(row["settings"])), "list")),
    ],
    "representations.email-settings-hold-email-alone": [
        (N, record(lambda row: row["settings"].update(verified=True), when=lambda row: row["type"] == "email")),
        (N, record(lambda row: row["settings"].__setitem__("email", None), when=lambda row: row["type"] == "email")),
    ],
    "representations.listed-as-read": [
        (S, record(sets("name", "listed"), "list")),
        (D, stale_list),
        (N, record(sets("settings", {}), "list", when=lambda row: row["type"] != "email")),
    ],
}
