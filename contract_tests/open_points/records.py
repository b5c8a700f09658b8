"""Detectors of choices that show in records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from contract_tests.exchange import id_of
from contract_tests.open_points.detector import Exchanges, Look, first_reads, reads, reads_after_updates

ZONES = {0: "utc", 9: "ahead", -5: "behind"}
BEYOND_32_BITS = 2**32
ENOUGH_ROWS = 3


def _key_order(exchanges: Exchanges) -> Iterator[str]:
    for _, row in reads(exchanges):
        yield "sorted" if list(row) == sorted(row) else "documented"


def _splash_page_fields(exchanges: Exchanges) -> Iterator[str]:
    for made, row in first_reads(exchanges, "splash-pages"):
        written = {"title", "description"} & set(made.request.form or {})
        if written:
            yield "shown" if written <= set(row) else "hidden"


def _color(exchanges: Exchanges) -> Iterator[str]:
    colors = [row.get("color") for _, row in first_reads(exchanges, "splash-pages")]
    if len(colors) > 1:
        yield "fixed" if len(set(map(str, colors))) == 1 else "varied"


def _hex_letters(exchanges: Exchanges) -> Iterator[str]:
    for _, row in reads(exchanges, "splash-pages"):
        letters = re.sub(r"[^A-Fa-f]", "", str(row.get("color")))
        if letters:
            yield "capital" if letters.isupper() else "small"


def _time_zone(exchanges: Exchanges) -> Iterator[str]:
    for made, row in first_reads(exchanges):
        try:
            said = datetime.fromisoformat(str(row.get("datetime"))).replace(tzinfo=UTC)
        except ValueError:
            continue
        hours = (said - datetime.fromtimestamp(made.began, UTC)).total_seconds() / 3600
        if abs(hours - round(hours)) < 0.05 and round(hours) in ZONES:  # noqa: PLR2004 - three minutes
            yield ZONES[round(hours)]


def _last_datetime(exchanges: Exchanges) -> Iterator[str]:
    toggled: set[bool] = set()
    other: set[bool] = set()
    for _, update, row in reads_after_updates(exchanges):
        values = toggled if set(update.request.form or ()) == {"is_enabled"} else other
        values.add(row.get("last_datetime") is not None)
    first = [row for before, update, row in reads_after_updates(exchanges) if before.get("last_datetime") is None]
    if other == {False}:
        yield "null"
    elif other == {True} and toggled:
        quiet = any(row.get("last_datetime") is None for row in first)
        yield "unless-toggled" if quiet else "set"


def _domain_scheme(exchanges: Exchanges) -> Iterator[str]:
    for _, row in first_reads(exchanges, "domains"):
        scheme = str(row.get("scheme"))
        yield scheme.removesuffix("://") if scheme in ("http://", "https://") else "other"


def _starts(resource: str) -> Look:
    def look(exchanges: Exchanges) -> Iterator[str]:
        for made, row in first_reads(exchanges, resource):
            if "is_enabled" not in (made.request.form or {}):
                yield "enabled" if row.get("is_enabled") is True else "disabled"

    return look


def _after_host_change(exchanges: Exchanges) -> Iterator[str]:
    for before, update, row in reads_after_updates(exchanges, "domains"):
        moved = before.get("host") != row.get("host") and "host" in (update.request.form or {})
        if moved and before.get("is_enabled") is True:
            yield "unchanged" if row.get("is_enabled") is True else "disabled"


def _settings_keys(exchanges: Exchanges) -> Iterator[str]:
    resource = "notification-handlers"
    written = [
        *first_reads(exchanges, resource),
        *((update, row) for _, update, row in reads_after_updates(exchanges, resource)),
    ]
    for exchange, row in written:
        form, settings = exchange.request.form or {}, row.get("settings")
        if row.get("type") == "slack" and form.get("slack") and isinstance(settings, dict):
            yield "fields" if "slack" in settings else "generic"


def _settings_unset(exchanges: Exchanges) -> Iterator[str]:
    for made, row in first_reads(exchanges, "notification-handlers"):
        settings = row.get("settings")
        if row.get("type") == "webhook" and "webhook" not in (made.request.form or {}) and isinstance(settings, dict):
            value = next(iter(settings.values()), "absent")
            yield {"absent": "absent", "": "empty", None: "null"}.get(value, "other")


def _ids(exchanges: Exchanges) -> Iterator[str]:
    made = [each for each in exchanges if each.request.operation == "create" and each.made_id is not None]
    for resource in {each.request.resource for each in made}:
        ids = [each.made_id or 0 for each in made if each.request.resource == resource]
        if ids and min(ids) > BEYOND_32_BITS:
            yield "large"
        elif len(ids) > ENOUGH_ROWS:
            yield "consecutive" if all(later - earlier == 1 for earlier, later in pairwise(ids)) else "gaps"


def _text(exchanges: Exchanges) -> Iterator[str]:
    rough: dict[tuple[str, Any], str] = {}
    for each in exchanges:
        name = (each.request.form or {}).get("name")
        if each.request.operation == "create" and isinstance(name, str) and "<b>" in name:
            if not each.succeeded and not each.failed:
                yield "refused"
            elif each.made_id is not None:
                rough[each.request.resource, each.made_id] = name
        for row in each.page.rows if each.page else ():
            given, shown = rough.get((each.request.resource, id_of(row))), row.get("name")
            if given:
                known = {given: "verbatim", given.strip(): "trimmed"}
                yield known.get(str(shown), "sanitised")


DETECTORS: dict[str, Look] = {
    "splash-page-fields": _splash_page_fields,
    "key-order": _key_order,
    "color": _color,
    "hex-letters": _hex_letters,
    "time-zone": _time_zone,
    "last-datetime-after-update": _last_datetime,
    "domain-scheme": _domain_scheme,
    "domain-starts": _starts("domains"),
    "domain-after-host-change": _after_host_change,
    "handler-starts": _starts("notification-handlers"),
    "settings-keys": _settings_keys,
    "settings-unset": _settings_unset,
    "ids": _ids,
    "text": _text,
}
