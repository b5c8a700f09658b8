"""The choices of an implementation at the open points, as far as a run saw them.

Each detector takes a run's exchanges and yields the value of one open point wherever it shows. A point without one has
`unseen` in the contract, which says why.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from contract_tests.evidence.exchange import OWN_KEY, Exchange, Expect, id_of, is_integer
from contract_tests.survey.form_values import OVERLONG_NAME
from contract_tests.target.identities import NOBODY
from link_management_contract import Contract

OK, NO_CONTENT, UNSUPPORTED = 200, 204, 415
FIELDS_WITH_STATE = 3  # of a handler's create that sends `is_enabled` besides what is required
MEDIA_TYPES = {
    "application/json": "json",
    "application/vnd.api+json": "vendor",
    "text/html": "html",
    "text/plain": "text",
}
ALLOWED = ("10", "25", "50", "100", "250", "500", "1000")
NEAREST_PAGE_SIZE = {"7": 10, "60": 50, "5000": 1000}
ENOUGH_ROWS = 3
LARGE_FILE = 200_000  # bytes
PROBLEM = {"type", "title", "status", "detail", "instance"}  # RFC 9457
DIGITS_OF_A_PAGE = 6  # one further is odd, not just past the end
ENVELOPE, META = ("data", "meta", "links"), ("page", "results_per_page", "total", "total_pages")
ZONES = {0: "utc", 9: "ahead", -5: "behind"}
BEYOND_32_BITS = 2**32
Exchanges = Sequence[Exchange]
Record = dict[str, Any]
Detector = TypeVar("Detector", bound=Callable[..., Iterator[str]])
DETECTORS: dict[str, Callable[[Exchanges], Iterator[str]]] = {}  # filled by the decorator below


def detector(point: str, *arguments: str) -> Callable[[Detector], Detector]:
    def register(detect: Detector) -> Detector:
        DETECTORS[point] = partial(_detect, detect, arguments)
        return detect

    return register


def _detect(detect: Callable[..., Iterator[str]], arguments: Sequence[str], exchanges: Exchanges) -> Iterator[str]:
    return detect(exchanges, *arguments)


def observed_choices(exchanges: Iterable[Exchange]) -> dict[str, Counter[str]]:
    """The values seen for each open point, by its name, each with a count; points without any are left out.

    A value that the contract does not know is a status or the like, reported as it was seen.
    """
    exchange_list = [exchange for exchange in exchanges if exchange.status is not None]
    choices = {name: Counter(detect(exchange_list)) for name, detect in DETECTORS.items()}
    return {name: values for name, values in choices.items() if values}


def profile(choices_seen: dict[str, Counter[str]], contract: Contract) -> dict[str, str]:
    """The choices with which a mock behaves the same: for each point, the value seen most often."""
    usual_choices = {}
    for name, values in choices_seen.items():
        documented = Counter({value: values[value] for value in contract.open_points[name].values if values[value]})
        if documented:
            usual_choices[name] = documented.most_common(1)[0][0]
    return usual_choices


def remarks(exchanges: Iterable[Exchange], contract: Contract) -> list[str]:
    """What the verdicts do not show.

    That is page links that lead to no page, page sizes that were not really tried, and choices that no open point has.
    """
    exchange_list = list(exchanges)
    answers: dict[str, list[str]] = {}
    for resource, answer in dict.fromkeys(_followed_links(exchange_list)):
        if answer != "served":
            answers.setdefault(answer, []).append(resource)
    links = [
        f"a page link that is followed as it stands is answered with {'a redirect' if reply == 'redirected' else reply}"
        f" ({', '.join(resources)}); no rule forbids that, and clients ask the documented path for the page it names"
        for reply, resources in answers.items()
    ]
    return [*links, *_unfilled(exchange_list), *_refused_files(exchange_list), *_unlisted(exchange_list, contract)]


def _refused_files(exchanges: Exchanges) -> Iterator[str]:
    """Creates with large files that were refused."""
    for exchange in exchanges:
        files = [field for field in (exchange.request.form or {}).values() if isinstance(field, tuple)]
        size = max((len(content) for _, content, _ in files), default=0)
        if size >= LARGE_FILE and not exchange.succeeded:
            yield f"an image of {size:,} bytes is refused ({exchange.status_text})"


def _unlisted(exchanges: Exchanges, contract: Contract) -> Iterator[str]:
    """The choices seen that the contract does not list; statuses aside, of which it lists the usual ones."""
    unlisted = [
        f"{name}={value}"
        for name, values in observed_choices(exchanges).items()
        for value in values
        if value not in contract.open_points[name].values and not re.fullmatch(r"[1-5]\d\d", value)
    ]
    if unlisted:
        yield f"choices that the contract does not list: {', '.join(sorted(unlisted))}"


def _unfilled(exchanges: Exchanges) -> Iterator[str]:
    """The page sizes above that of a page with all records: a server that caps them shows the same."""
    pages = [answer.page for answer in _successes(exchanges, "list") if answer.page and answer.page.total is not None]
    untried: dict[str, list[str]] = {}
    for resource in dict.fromkeys(page.exchange.request.resource for page in pages):
        matching = [page for page in pages if page.exchange.request.resource == resource]
        max_total = max(page.total or 0 for page in matching)
        sizes = sorted({page.size for page in matching if page.size == page.meta.get("results_per_page") and page.size})
        untried_sizes = [str(size) for size in sizes if size >= max_total][1:]
        if untried_sizes:
            untried.setdefault(", ".join(untried_sizes), []).append(f"{resource}: {max_total}")
    for larger, totals in untried.items():
        yield f"page sizes of {larger} were asked for, but not really tried, with so few records ({', '.join(totals)})"


def _successes(exchanges: Exchanges, operation: str, *resources: str) -> Iterator[Exchange]:
    """The account's own successes of an operation, with JSON."""
    for exchange in exchanges:
        request = exchange.request
        is_requested = request.operation == operation and (not resources or request.resource in resources)
        readable = operation == "delete" or isinstance(exchange.json, dict)
        if is_requested and request.identity == OWN_KEY and exchange.succeeded and readable:
            yield exchange


def _reads(exchanges: Exchanges, *resources: str) -> Iterator[Record]:
    return (read.record for read in _successes(exchanges, "read", *resources) if read.record)


def _first_reads(exchanges: Exchanges, *resources: str) -> Iterator[tuple[Exchange, Record]]:
    """Each create with the first read of its record, where nothing was written to it in between."""
    waiting: dict[tuple[str, Any], Exchange] = {}
    for exchange in exchanges:
        request = exchange.request
        if request.operation == "create" and exchange.made_id is not None and request.identity == OWN_KEY:
            waiting[request.resource, exchange.made_id] = exchange
        elif request.operation in ("update", "delete"):
            waiting.pop((request.resource, request.identifier), None)
        elif request.operation == "read" and exchange.record and (not resources or request.resource in resources):
            create = waiting.pop((request.resource, request.identifier), None)
            if create:
                yield create, exchange.record


def _reads_after_updates(exchanges: Exchanges, *resources: str) -> Iterator[tuple[Record, Exchange, Record]]:
    """What a record showed before an update that succeeded, the update, and what it showed next."""
    latest_record: dict[tuple[str, Any], Record] = {}
    update: dict[tuple[str, Any], Exchange] = {}
    for exchange in exchanges:
        request = exchange.request
        record_key = (request.resource, request.identifier)
        if request.operation == "update" and exchange.is_accepted and request.form:
            update[record_key] = exchange
        elif request.operation == "read" and exchange.record and (not resources or request.resource in resources):
            if record_key in update and record_key in latest_record:
                yield latest_record[record_key], update.pop(record_key), exchange.record
            latest_record[record_key] = exchange.record


def _refused_creates(exchanges: Exchanges) -> Iterator[Exchange]:
    for create in exchanges:
        is_invalid = create.expects is Expect.REFUSAL and create.request.identity == OWN_KEY and create.made_id is None
        if is_invalid and not create.failed:
            yield create


def _creates(exchanges: Exchanges) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    return ((create, dict(create.request.form or {})) for create in exchanges if create.request.operation == "create")


@detector("create-status", "create")
@detector("update-status", "update")
def _write_status(exchanges: Exchanges, operation: str) -> Iterator[str]:
    return (str(exchange.status) for exchange in _successes(exchanges, operation) if exchange.made_id is not None)


@detector("delete-status")
def _delete_status(exchanges: Exchanges) -> Iterator[str]:
    for delete in _successes(exchanges, "delete"):
        if delete.status == NO_CONTENT:
            yield "204"
        elif not delete.body.strip():
            yield f"{delete.status}-empty"
        else:
            yield f"{delete.status}-{'text' if delete.json is None else 'json'}"


@detector("write-answer")
def _write_answer(exchanges: Exchanges) -> Iterator[str]:
    for operation in ("create", "update"):
        for write in _successes(exchanges, operation):
            if isinstance(write.data, dict) and write.made_id is not None:
                yield "record" if len(write.data) > len({"id", "type", "name"}) else "id"


@detector("stranger-status")
def _stranger_status(exchanges: Exchanges) -> Iterator[str]:
    for exchange in exchanges:
        request = exchange.request
        if request.identity == NOBODY and request.operation in ("list", "read") and exchange.status:
            status = exchange.redirects[0][0] if exchange.redirects else exchange.status
            yield f"{status}-login" if status in (200, 302) else str(status)


@detector("unknown-id")
def _unknown_id(exchanges: Exchanges) -> Iterator[str]:
    deleted = set()
    for exchange in exchanges:
        request = exchange.request
        record_key = (request.resource, request.identifier)
        if request.operation == "delete" and exchange.succeeded and request.identity == OWN_KEY:
            deleted.add(record_key)
        elif request.operation == "read" and record_key in deleted and exchange.record is None and exchange.status:
            yield "200-null" if exchange.status == OK else str(exchange.status)


@detector("invalid-field")
def _invalid_field(exchanges: Exchanges) -> Iterator[str]:
    return ("200-errors" if exchange.status == OK else str(exchange.status) for exchange in _refused_creates(exchanges))


@detector("error-body")
def _error_body(exchanges: Exchanges) -> Iterator[str]:
    for refusal in _refused_creates(exchanges):
        if not refusal.body.strip():
            yield "empty"
        elif refusal.succeeded:
            continue
        elif isinstance(refusal.json, dict):
            is_problem = len(PROBLEM & refusal.json.keys()) > 1
            yield "errors" if "errors" in refusal.json else "problem" if is_problem else "other JSON"
        elif b"<" in refusal.body:
            yield "html"


@detector("is-enabled-on-create")
def _is_enabled_on_create(exchanges: Exchanges) -> Iterator[str]:
    for create, form in _creates(exchanges):
        if form.get("is_enabled") in ("0", "1") and len(form) == FIELDS_WITH_STATE:
            yield "ignored" if create.succeeded else "refused"


@detector("email-missing")
def _email_missing(exchanges: Exchanges) -> Iterator[str]:
    """Creates of handlers of type `email` that give everything required, but no address."""
    for create, form in _creates(exchanges):
        if form.get("type") == "email" and set(form) == {"name", "type"}:
            if create.made_id is not None:
                yield "accepted"
            elif create.is_refusal:
                yield "refused"


@detector("other-types-fields")
def _other_types_fields(exchanges: Exchanges) -> Iterator[str]:
    for create, form in _creates(exchanges):
        if form.get("type") == "slack" and "email" in form and create.status:
            yield "ignored" if create.made_id is not None else "refused"


@detector("cleared-text")
def _cleared_text(exchanges: Exchanges) -> Iterator[str]:
    empty = {"custom_index_url": ""}
    for before, update, row in _reads_after_updates(exchanges, "domains"):
        if update.request.form == empty and before.get("custom_index_url") and row.get("custom_index_url") == "":
            yield "emptied"
    yield from ("refused" for exchange in exchanges if exchange.request.form == empty and exchange.is_refusal)


@detector("other-form-encoding", "application/x-www-form-urlencoded")
@detector("json-body", "application/json")
def _other_body(exchanges: Exchanges, media_type: str) -> Iterator[str]:
    for exchange in exchanges:
        if exchange.request.body and exchange.request.body[0] == media_type:
            if exchange.made_id is not None:
                yield "accepted"
            elif media_type == "application/json" and not exchange.failed and exchange.status != UNSUPPORTED:
                yield "no-fields"
            else:
                yield str(exchange.status)


@detector("media-type")
def _media_type(exchanges: Exchanges) -> Iterator[str]:
    for exchange in _successes(exchanges, "list"):
        name, _, parameters = exchange.headers.get("Content-Type", "").partition(";")
        yield "charset" if parameters and name == "application/json" else MEDIA_TYPES.get(name, name)


@detector("json-escapes")
def _json_escapes(exchanges: Exchanges) -> Iterator[str]:
    return ("escaped" if b":\\/\\/" in exchange.body else "plain" for exchange in _successes(exchanges, "list"))


@detector("further-keys")
def _further_keys(exchanges: Exchanges) -> Iterator[str]:
    for exchange in _successes(exchanges, "list"):
        if isinstance(exchange.json.get("meta"), dict):
            yield "some" if len(exchange.json["meta"]) > len(META) or len(exchange.json) > len(ENVELOPE) else "none"


@detector("order")
def _order(exchanges: Exchanges) -> Iterator[str]:
    orders: dict[str, list[str]] = {}
    for exchange in _successes(exchanges, "list"):
        rows = exchange.page.rows if exchange.page else ()
        ids = [int(row["id"]) for row in rows if is_integer(row.get("id"))]
        if len(ids) > ENOUGH_ROWS:
            names = {True: "oldest-first", False: "by-name"}
            order = "newest-first" if ids == sorted(ids, reverse=True) else names[ids == sorted(ids)]
            orders.setdefault(exchange.request.resource, []).append(order)
    for resource_orders in orders.values():  # a few records may be in the order of their names and of their ids
        yield from ["by-name"] * len(resource_orders) if "by-name" in resource_orders else resource_orders


@detector("size-not-allowed")
def _size_not_allowed(exchanges: Exchanges) -> Iterator[str]:
    for exchange in exchanges:
        size = exchange.request.params.get("results_per_page", "")
        if exchange.request.operation == "list" and exchange.request.identity == OWN_KEY and size in NEAREST_PAGE_SIZE:
            if not exchange.succeeded:
                yield str(exchange.status)
            elif exchange.page and "results_per_page" in exchange.page.meta:
                yield "nearest" if exchange.page.meta["results_per_page"] == NEAREST_PAGE_SIZE[size] else "default"


@detector("odd-page")
def _odd_page(exchanges: Exchanges) -> Iterator[str]:
    for exchange in exchanges:
        if exchange.request.operation == "list" and exchange.request.params.get("page") in ("-1", "0", "x"):
            yield "first" if exchange.succeeded else str(exchange.status)


@detector("page-past-the-end")
def _page_past_the_end(exchanges: Exchanges) -> Iterator[str]:
    totals: dict[str, int] = {}
    for exchange in exchanges:
        page, query = exchange.page, exchange.request.params
        if page and page.total is not None:
            totals[exchange.request.resource] = page.total
        size, number = query.get("results_per_page", "25"), query.get("page", "1")
        total = totals.get(exchange.request.resource, 0) if exchange.request.operation == "list" else 0
        if (
            total
            and size in ALLOWED
            and number.isdecimal()
            and len(number) <= DIGITS_OF_A_PAGE
            and (int(number) - 1) * int(size) >= total
            and exchange.status
        ):
            yield str(exchange.status) if page is None else "last" if page.rows else "empty"


@detector("empty-collection-pages")
def _total_pages_when_empty(exchanges: Exchanges) -> Iterator[str]:
    return (str(body["meta"].get("total_pages")) for body in _empty_lists(exchanges))


@detector("empty-collection-last")
def _empty_last(exchanges: Exchanges) -> Iterator[str]:
    for body in _empty_lists(exchanges):
        last = body.get("links", {}).get("last") if isinstance(body.get("links"), dict) else None
        number = str(last).rpartition("=")[2]
        yield number if number.isdecimal() else "other"


def _empty_lists(exchanges: Exchanges) -> Iterator[dict[str, Any]]:
    lists = (exchange for exchange in exchanges if exchange.request.operation == "list" and exchange.succeeded)
    return (exchange.json for exchange in lists if exchange.page and exchange.page.total == 0)


@detector("link-query")
def _link_query(exchanges: Exchanges) -> Iterator[str]:
    for exchange in _successes(exchanges, "list"):
        if exchange.page and isinstance(exchange.page.links.get("first"), str):
            yield "ampersand" if "?&" in exchange.page.links["first"] else "plain"


@detector("followed-link", "domains", "notification-handlers")
@detector("followed-splash-link", "splash-pages")
def _followed_link(exchanges: Exchanges, *resources: str) -> Iterator[str]:
    return (answer for resource, answer in _followed_links(exchanges) if resource in resources)


def _followed_links(exchanges: Exchanges) -> Iterator[tuple[str, str]]:
    """The resource and the answer of each page link that was followed as it stands."""
    for exchange in exchanges:
        if exchange.request.operation == "follow" and exchange.status is not None:
            served = exchange.succeeded and isinstance(exchange.data, list)
            answer = "redirected" if exchange.redirects else "served" if served else str(exchange.status)
            yield exchange.request.resource, answer


@detector("list-redirect")
def _list_redirect(exchanges: Exchanges) -> Iterator[str]:
    return (str(exchange.redirects[0][0]) if exchange.redirects else "no" for exchange in _successes(exchanges, "list"))


@detector("rate-limit-headers")
def _rate_limit_headers(exchanges: Exchanges) -> Iterator[str]:
    lists = _successes(exchanges, "list")
    return ("present" if "X-RateLimit-Limit" in exchange.headers else "absent" for exchange in lists)


@detector("key-order")
def _key_order(exchanges: Exchanges) -> Iterator[str]:
    return ("sorted" if list(row) == sorted(row) else "documented" for row in _reads(exchanges))


@detector("splash-page-fields")
def _splash_page_fields(exchanges: Exchanges) -> Iterator[str]:
    for create, row in _first_reads(exchanges, "splash-pages"):
        text_fields = {"title", "description"} & set(create.request.form or {})
        if text_fields:
            yield "shown" if text_fields <= set(row) else "hidden"


@detector("color")
def _color(exchanges: Exchanges) -> Iterator[str]:
    colors = [row.get("color") for _, row in _first_reads(exchanges, "splash-pages")]
    if len(colors) > 1:
        yield "fixed" if len(set(map(str, colors))) == 1 else "varied"


@detector("hex-letters")
def _hex_letters(exchanges: Exchanges) -> Iterator[str]:
    for row in _reads(exchanges, "splash-pages"):
        letters = re.sub(r"[^A-Fa-f]", "", str(row.get("color")))
        if letters:
            yield "capital" if letters.isupper() else "small"


@detector("time-zone")
def _time_zone(exchanges: Exchanges) -> Iterator[str]:
    for create, row in _first_reads(exchanges):
        try:
            shown_time = datetime.fromisoformat(str(row.get("datetime"))).replace(tzinfo=UTC)
        except ValueError:
            continue
        hours = (shown_time - datetime.fromtimestamp(create.started_at, UTC)).total_seconds() / 3600
        if abs(hours - round(hours)) < 0.05 and round(hours) in ZONES:  # noqa: PLR2004 - three minutes
            yield ZONES[round(hours)]


@detector("last-datetime-after-update")
def _last_datetime(exchanges: Exchanges) -> Iterator[str]:
    others_date: set[bool] = set()
    effects: set[tuple[bool, bool, bool]] = set()  # of updates of what had no date: whether one toggles, changes, dates
    for before, update, row in _reads_after_updates(exchanges):
        is_toggle, is_dated = set(update.request.form or ()) == {"is_enabled"}, row.get("last_datetime") is not None
        others_date |= set() if is_toggle else {is_dated}
        if before.get("last_datetime") is None:
            effects.add((is_toggle, before | {"last_datetime": ""} != row | {"last_datetime": ""}, is_dated))
    if others_date == {False}:
        yield "null"
    elif (True, True, False) in effects:
        yield "unless-toggled"
    elif (True, True, True) in effects and all(is_dated for _, _, is_dated in effects):
        yield "set"


@detector("domain-scheme")
def _domain_scheme(exchanges: Exchanges) -> Iterator[str]:
    for _, row in _first_reads(exchanges, "domains"):
        scheme = str(row.get("scheme"))
        yield scheme.removesuffix("://") if scheme in ("http://", "https://") else "other"


@detector("domain-starts", "domains")
@detector("handler-starts", "notification-handlers")
def _starts(exchanges: Exchanges, resource: str) -> Iterator[str]:
    for create, row in _first_reads(exchanges, resource):
        if "is_enabled" not in (create.request.form or {}):
            yield "enabled" if row.get("is_enabled") is True else "disabled"


@detector("domain-after-host-change")
def _after_host_change(exchanges: Exchanges) -> Iterator[str]:
    for before, update, row in _reads_after_updates(exchanges, "domains"):
        moved = before.get("host") != row.get("host") and "host" in (update.request.form or {})
        if moved and before.get("is_enabled") is True:
            yield "unchanged" if row.get("is_enabled") is True else "disabled"


@detector("settings-keys")
def _settings_keys(exchanges: Exchanges) -> Iterator[str]:
    updated = ((update, row) for _, update, row in _reads_after_updates(exchanges, "notification-handlers"))
    for exchange, row in (*_first_reads(exchanges, "notification-handlers"), *updated):
        form, settings = exchange.request.form or {}, row.get("settings")
        if row.get("type") == "slack" and form.get("slack") and isinstance(settings, dict):
            yield "fields" if "slack" in settings else "generic"


@detector("settings-unset")
def _settings_unset(exchanges: Exchanges) -> Iterator[str]:
    for create, row in _first_reads(exchanges, "notification-handlers"):
        settings = row.get("settings")
        if row.get("type") == "webhook" and "webhook" not in (create.request.form or {}) and isinstance(settings, dict):
            value = next(iter(settings.values()), "absent")
            yield {"absent": "absent", "": "empty", None: "null"}.get(value, "other")


@detector("ids")
def _ids(exchanges: Exchanges) -> Iterator[str]:
    creates = [create for create in exchanges if create.request.operation == "create" and create.made_id is not None]
    for resource in {create.request.resource for create in creates}:
        # Answers to creates under way at a time may come in any order.
        ids = sorted(create.made_id or 0 for create in creates if create.request.resource == resource)
        if ids and ids[0] > BEYOND_32_BITS:
            yield "large"
        elif len(ids) > ENOUGH_ROWS:
            yield "consecutive" if all(following - earlier == 1 for earlier, following in pairwise(ids)) else "gaps"


@detector("text")
def _text(exchanges: Exchanges) -> Iterator[str]:
    sent_names: dict[tuple[str, Any], str] = {}
    for exchange in exchanges:
        name = (exchange.request.form or {}).get("name")
        if exchange.request.operation == "create" and isinstance(name, str) and OVERLONG_NAME in name:
            if exchange.made_id is not None and "<b>" in name:
                sent_names[exchange.request.resource, exchange.made_id] = name
            elif not exchange.succeeded and not exchange.failed and "<b>" not in name:
                yield "refused"
        for row in exchange.page.rows if exchange.page else ():
            sent_name, shown_name = sent_names.get((exchange.request.resource, id_of(row))), row.get("name")
            if sent_name:
                known_changes = {sent_name: "verbatim", sent_name.strip(): "trimmed"}
                yield known_changes.get(str(shown_name), "sanitised")
