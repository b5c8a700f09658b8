"""What an implementation chose where the contract leaves it open, as far as a run saw it.

Each function takes a run's exchanges and yields the value of one open point wherever it shows; a point without one
cannot be seen from outside, or not without writing more than a run does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from contract_tests.contract import Contract
from contract_tests.exchange import OWN, Exchange, id_of, is_integer
from contract_tests.survey.strangers import NOBODY

Exchanges = Sequence[Exchange]
Look = Callable[[Exchanges], Iterator[str]]
MEDIA_TYPES = {"application/json": "json", "application/vnd.api+json": "vendor", "text/html": "html"}
ZONES = {0: "utc", 9: "ahead", -5: "behind"}
ALLOWED = ("10", "25", "50", "100", "250", "500", "1000")
NEAREST = {"7": 10, "60": 50, "5000": 1000}
BEYOND_32_BITS = 2**32
ENOUGH_ROWS = 3
ENVELOPE, META = ("data", "meta", "links"), ("page", "results_per_page", "total", "total_pages")
OK, ACCEPTED, NO_CONTENT = 200, 202, 204


def observed(exchanges: Iterable[Exchange]) -> dict[str, Counter[str]]:
    """The values that were seen of each open point, by its name, each with how often; those without any are left out.

    A value that the contract does not know is a status or the like, told as it was seen.
    """
    every = list(exchanges)
    seen = {name: Counter(look(every)) for name, look in LOOKS.items()}
    return {name: values for name, values in seen.items() if values}


def profile(seen: dict[str, Counter[str]], contract: Contract) -> dict[str, str]:
    """The choices to give a mock so that it behaves likewise: of each point the value that was seen most."""
    chosen = {}
    for name, values in seen.items():
        known = Counter({each: values[each] for each in contract.open_points[f"open.{name}"].values if values[each]})
        if known:
            chosen[name] = known.most_common(1)[0][0]
    return chosen


def _of(exchanges: Exchanges, operation: str, *kinds: str) -> Iterator[Exchange]:
    """The account's own successes of an operation, with JSON."""
    for each in exchanges:
        request = each.request
        asked = request.operation == operation and (not kinds or request.kind in kinds)
        readable = operation == "delete" or isinstance(each.json, dict)
        if asked and request.identity == OWN and each.succeeded and readable:
            yield each


def _status(operation: str) -> Look:
    def look(exchanges: Exchanges) -> Iterator[str]:
        return (str(each.status) for each in _of(exchanges, operation) if each.made_id is not None)

    return look


def _delete_status(exchanges: Exchanges) -> Iterator[str]:
    for each in _of(exchanges, "delete"):
        if each.status == NO_CONTENT:
            yield "204"
        elif not each.body.strip():
            yield f"{each.status}-empty"
        else:
            yield f"{each.status}-{'text' if each.json is None else 'json'}"


def _write_answer(exchanges: Exchanges) -> Iterator[str]:
    for operation in ("create", "update"):
        for each in _of(exchanges, operation):
            if isinstance(each.data, dict) and each.made_id is not None:
                yield "record" if len(each.data) > len({"id", "type", "name"}) else "id"


def _media_type(exchanges: Exchanges) -> Iterator[str]:
    for each in _of(exchanges, "list"):
        name, _, parameters = each.headers.get("Content-Type", "").partition(";")
        yield "charset" if parameters and name == "application/json" else MEDIA_TYPES.get(name, name)


def _json_escapes(exchanges: Exchanges) -> Iterator[str]:
    for each in _of(exchanges, "list"):
        yield "escaped" if b":\\/\\/" in each.body else "plain"


def _rows(exchanges: Exchanges, *kinds: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """The records that reads show."""
    return ((each, each.record) for each in _of(exchanges, "read", *kinds) if each.record)


def _key_order(exchanges: Exchanges) -> Iterator[str]:
    for _, row in _rows(exchanges):
        yield "sorted" if list(row) == sorted(row) else "documented"


def _made_rows(exchanges: Exchanges, *kinds: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """Each create with the first read of its record, where nothing was written to it between."""
    waiting: dict[tuple[str, Any], Exchange] = {}
    for each in exchanges:
        request = each.request
        if request.operation == "create" and each.made_id is not None and request.identity == OWN:
            waiting[request.kind, each.made_id] = each
        elif request.operation in ("update", "delete"):
            waiting.pop((request.kind, request.identifier), None)
        elif request.operation == "read" and each.record and (not kinds or request.kind in kinds):
            made = waiting.pop((request.kind, request.identifier), None)
            if made:
                yield made, each.record


def _splash_page_fields(exchanges: Exchanges) -> Iterator[str]:
    for made, row in _made_rows(exchanges, "splash-pages"):
        written = {"title", "description"} & set(made.request.form or {})
        if written:
            yield "shown" if written <= set(row) else "hidden"


def _further_keys(exchanges: Exchanges) -> Iterator[str]:
    for each in _of(exchanges, "list"):
        if isinstance(each.json.get("meta"), dict):
            yield "some" if len(each.json["meta"]) > len(META) or len(each.json) > len(ENVELOPE) else "none"


def _color(exchanges: Exchanges) -> Iterator[str]:
    colors = [row.get("color") for _, row in _made_rows(exchanges, "splash-pages")]
    if len(colors) > 1:
        yield "fixed" if len(set(map(str, colors))) == 1 else "varied"


def _hex_letters(exchanges: Exchanges) -> Iterator[str]:
    for _, row in _rows(exchanges, "splash-pages"):
        letters = re.sub(r"[^A-Fa-f]", "", str(row.get("color")))
        if letters:
            yield "capital" if letters.isupper() else "small"


def _time_zone(exchanges: Exchanges) -> Iterator[str]:
    for made, row in _made_rows(exchanges):
        try:
            said = datetime.fromisoformat(str(row.get("datetime"))).replace(tzinfo=UTC)
        except ValueError:
            continue
        hours = (said - datetime.fromtimestamp(made.began, UTC)).total_seconds() / 3600
        if abs(hours - round(hours)) < 0.05 and round(hours) in ZONES:  # noqa: PLR2004 - three minutes
            yield ZONES[round(hours)]


def _after_updates(exchanges: Exchanges, *kinds: str) -> Iterator[tuple[dict[str, Any], Exchange, dict[str, Any]]]:
    """What a record showed before an update that succeeded, the update, and what it showed next."""
    shown: dict[tuple[str, Any], dict[str, Any]] = {}
    update: dict[tuple[str, Any], Exchange] = {}
    for each in exchanges:
        place = (each.request.kind, each.request.identifier)
        if each.request.operation == "update" and each.succeeded and each.request.form:
            update[place] = each
        elif each.request.operation == "read" and each.record and (not kinds or each.request.kind in kinds):
            if place in update and place in shown:
                yield shown[place], update.pop(place), each.record
            shown[place] = each.record


def _last_datetime(exchanges: Exchanges) -> Iterator[str]:
    toggled: set[bool] = set()
    other: set[bool] = set()
    for _, update, row in _after_updates(exchanges):
        values = toggled if set(update.request.form or ()) == {"is_enabled"} else other
        values.add(row.get("last_datetime") is not None)
    first = [row for before, update, row in _after_updates(exchanges) if before.get("last_datetime") is None]
    if other == {False}:
        yield "null"
    elif other == {True} and toggled:
        quiet = any(row.get("last_datetime") is None for row in first)
        yield "unless-toggled" if quiet else "set"


def _domain_scheme(exchanges: Exchanges) -> Iterator[str]:
    for _, row in _made_rows(exchanges, "domains"):
        yield str(row.get("scheme")).removesuffix("://")


def _starts(kind: str) -> Look:
    def look(exchanges: Exchanges) -> Iterator[str]:
        for made, row in _made_rows(exchanges, kind):
            if "is_enabled" not in (made.request.form or {}):
                yield "enabled" if row.get("is_enabled") is True else "disabled"

    return look


def _after_host_change(exchanges: Exchanges) -> Iterator[str]:
    for before, update, row in _after_updates(exchanges, "domains"):
        moved = before.get("host") != row.get("host") and "host" in (update.request.form or {})
        if moved and before.get("is_enabled") is True:
            yield "unchanged" if row.get("is_enabled") is True else "disabled"


def _settings_keys(exchanges: Exchanges) -> Iterator[str]:
    kind = "notification-handlers"
    written = [*_made_rows(exchanges, kind), *((update, row) for _, update, row in _after_updates(exchanges, kind))]
    for exchange, row in written:
        form, settings = exchange.request.form or {}, row.get("settings")
        if row.get("type") == "slack" and form.get("slack") and isinstance(settings, dict):
            yield "fields" if "slack" in settings else "generic"


def _settings_unset(exchanges: Exchanges) -> Iterator[str]:
    for made, row in _made_rows(exchanges, "notification-handlers"):
        settings = row.get("settings")
        if row.get("type") == "webhook" and "webhook" not in (made.request.form or {}) and isinstance(settings, dict):
            value = next(iter(settings.values()), "absent")
            yield {"absent": "absent", "": "empty", None: "null"}.get(value, str(value))


def _ids(exchanges: Exchanges) -> Iterator[str]:
    made = [each for each in exchanges if each.request.operation == "create" and each.made_id is not None]
    for kind in {each.request.kind for each in made}:
        ids = [each.made_id or 0 for each in made if each.request.kind == kind]
        if ids and min(ids) > BEYOND_32_BITS:
            yield "large"
        elif len(ids) > ENOUGH_ROWS:
            yield "consecutive" if all(later - earlier == 1 for earlier, later in pairwise(ids)) else "gaps"


def _order(exchanges: Exchanges) -> Iterator[str]:
    for each in _of(exchanges, "list"):
        rows = each.page.rows if each.page else ()
        ids = [int(row["id"]) for row in rows if is_integer(row.get("id"))]
        if len(ids) > ENOUGH_ROWS:
            names = {True: "oldest-first", False: "by-name"}
            yield "newest-first" if ids == sorted(ids, reverse=True) else names[ids == sorted(ids)]


def _size_not_allowed(exchanges: Exchanges) -> Iterator[str]:
    for each in exchanges:
        size = each.request.asked.get("results_per_page", "")
        if each.request.operation == "list" and each.request.identity == OWN and size in NEAREST:
            if not each.succeeded:
                yield str(each.status)
            elif each.page and "results_per_page" in each.page.meta:
                yield "nearest" if each.page.meta["results_per_page"] == NEAREST[size] else "default"


def _odd_page(exchanges: Exchanges) -> Iterator[str]:
    for each in exchanges:
        if each.request.operation == "list" and each.request.asked.get("page") in ("-1", "0", "x"):
            yield "first" if each.succeeded else str(each.status)


def _page_past_the_end(exchanges: Exchanges) -> Iterator[str]:
    totals: dict[str, int] = {}
    for each in exchanges:
        page, asked = each.page, each.request.asked
        if page and page.total is not None:
            totals[each.request.kind] = page.total
        size, number = asked.get("results_per_page", "25"), asked.get("page", "1")
        total = totals.get(each.request.kind, 0) if each.request.operation == "list" else 0
        if total and size in ALLOWED and number.isdecimal() and (int(number) - 1) * int(size) >= total and each.status:
            yield str(each.status) if page is None else "last" if page.rows else "empty"


def _empty(exchanges: Exchanges) -> Iterator[dict[str, Any]]:
    """The answers of lists of no records."""
    return (each.json for each in _of(exchanges, "list") if each.page and each.page.total == 0)


def _empty_pages(exchanges: Exchanges) -> Iterator[str]:
    return (str(body["meta"].get("total_pages")) for body in _empty(exchanges))


def _empty_last(exchanges: Exchanges) -> Iterator[str]:
    for body in _empty(exchanges):
        last = body.get("links", {}).get("last") if isinstance(body.get("links"), dict) else None
        yield str(last).rpartition("=")[2]


def _link_query(exchanges: Exchanges) -> Iterator[str]:
    for each in _of(exchanges, "list"):
        if each.page and isinstance(each.page.links.get("first"), str):
            yield "ampersand" if "?&" in each.page.links["first"] else "plain"


def _list_redirect(exchanges: Exchanges) -> Iterator[str]:
    for each in _of(exchanges, "list"):
        yield str(each.redirects[0][0]) if each.redirects else "no"


def _stranger_status(exchanges: Exchanges) -> Iterator[str]:
    for each in exchanges:
        if each.request.identity == NOBODY and each.request.operation in ("list", "read") and each.status:
            status = each.redirects[0][0] if each.redirects else each.status
            yield f"{status}-login" if status in (200, 302) else str(status)


def _unknown_id(exchanges: Exchanges) -> Iterator[str]:
    deleted = set()
    for each in exchanges:
        place = (each.request.kind, each.request.identifier)
        if each.request.operation == "delete" and each.succeeded and each.request.identity == OWN:
            deleted.add(place)
        elif each.request.operation == "read" and place in deleted and each.record is None and each.status:
            yield "200-null" if each.status == OK else str(each.status)


def _invalid_field(exchanges: Exchanges) -> Iterator[str]:
    for each in _refused(exchanges):
        yield "200-errors" if each.status == OK else str(each.status)


def _refused(exchanges: Exchanges) -> Iterator[Exchange]:
    """Creates that must not succeed, and did not."""
    for each in exchanges:
        request = each.request
        if request.expects == "refusal" and request.identity == OWN and each.made_id is None and not each.failed:
            yield each


def _error_body(exchanges: Exchanges) -> Iterator[str]:
    for each in _refused(exchanges):
        if not each.body.strip():
            yield "empty"
        elif each.succeeded:
            continue
        elif isinstance(each.json, dict):
            yield "errors" if "errors" in each.json else "problem"
        elif b"<" in each.body:
            yield "html"


def _rate_limit_headers(exchanges: Exchanges) -> Iterator[str]:
    for each in _of(exchanges, "list"):
        yield "present" if "X-RateLimit-Limit" in each.headers else "absent"


def _is_enabled_on_create(exchanges: Exchanges) -> Iterator[str]:
    for each in exchanges:
        form = each.request.form or {}
        if each.request.operation == "create" and form.get("is_enabled") in ("0", "1") and len(form) == ENOUGH_ROWS:
            yield "ignored" if each.succeeded else "refused"


def _text(exchanges: Exchanges) -> Iterator[str]:
    rough: dict[tuple[str, Any], str] = {}
    for each in exchanges:
        name = (each.request.form or {}).get("name")
        if each.request.operation == "create" and isinstance(name, str) and "<b>" in name:
            if not each.succeeded and not each.failed:
                yield "refused"
            elif each.made_id is not None:
                rough[each.request.kind, each.made_id] = name
        for row in each.page.rows if each.page else ():
            given, shown = rough.get((each.request.kind, id_of(row))), row.get("name")
            if given:
                known = {given: "verbatim", given.strip(): "trimmed"}
                yield known.get(str(shown), "sanitised")


def _body(media_type: str) -> Callable[[Exchanges], Iterator[Exchange]]:
    def look(exchanges: Exchanges) -> Iterator[Exchange]:
        return (each for each in exchanges if each.request.body and each.request.body[0] == media_type)

    return look


def _other_encoding(exchanges: Exchanges) -> Iterator[str]:
    for each in _body("application/x-www-form-urlencoded")(exchanges):
        yield "accepted" if each.made_id is not None else str(each.status)


def _json_body(exchanges: Exchanges) -> Iterator[str]:
    for each in _body("application/json")(exchanges):
        yield "415" if each.status == 415 else "no-fields"  # noqa: PLR2004 - Unsupported Media Type


LOOKS: dict[str, Look] = {
    "create-status": _status("create"),
    "update-status": _status("update"),
    "delete-status": _delete_status,
    "write-answer": _write_answer,
    "further-keys": _further_keys,
    "splash-page-fields": _splash_page_fields,
    "key-order": _key_order,
    "json-escapes": _json_escapes,
    "media-type": _media_type,
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
    "order": _order,
    "size-not-allowed": _size_not_allowed,
    "odd-page": _odd_page,
    "page-past-the-end": _page_past_the_end,
    "empty-collection-pages": _empty_pages,
    "empty-collection-last": _empty_last,
    "link-query": _link_query,
    "list-redirect": _list_redirect,
    "stranger-status": _stranger_status,
    "unknown-id": _unknown_id,
    "invalid-field": _invalid_field,
    "error-body": _error_body,
    "rate-limit-headers": _rate_limit_headers,
    "is-enabled-on-create": _is_enabled_on_create,
    "text": _text,
    "other-form-encoding": _other_encoding,
    "json-body": _json_body,
}
