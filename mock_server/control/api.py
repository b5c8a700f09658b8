"""The control plane for programs; openapi.yaml beside this module describes it."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request

from link_management_contract import Resource
from mock_server.app import YAML
from mock_server.control.instance import Instance
from mock_server.control.switches import read_switches, switch_values
from mock_server.defects import DEFECTS
from mock_server.effects.conditions import CONDITIONS
from mock_server.effects.effect import Effect
from mock_server.errors import SettingsError
from mock_server.journal.exports import curl
from mock_server.journal.journal import FILTERS, Entry
from mock_server.settings.documents import read_document
from mock_server.store.collection import UnknownIdError
from mock_server.store.protocols import Account
from mock_server.store.records import TIME_FORMAT, Record, Upload

ACCOUNTS, RECORDS = 25, 25  # on a page
MAX_RECORDS = 1000  # on a page
MAX_FOLLOWERS = 16
MAX_NUMBER_DIGITS = 15  # digits
SECONDS_BETWEEN_SIGNS = 2.0  # of life on a stream; the next one reveals a client that has gone
IMAGES = (
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/x-icon",
    "image/vnd.microsoft.icon",
)


def create_api(running: Instance) -> Blueprint:
    """The control plane's routes, without its prefix.

    Args:
        running: the mock that is controlled.
    """
    api = Blueprint("api", __name__)
    _add_switches(api, running)
    _add_lists(api, running)
    _add_clock(api, running)
    _add_journal(api, running)
    _add_forced(api, running)
    _add_snapshots(api, running)
    _add_records(api, running)

    @api.get("/openapi.yaml")
    def description() -> Response:
        text = Path(__file__).with_name("openapi.yaml").read_text("utf-8")
        return Response(text.replace("http://127.0.0.1:8000/", request.host_url), content_type=YAML)

    @api.get("/files/<int:key>")
    def file(key: int) -> Response:
        upload = running.mock.forms.uploads.find(key)
        if upload is None:
            abort(404, f"There is no file {key}, or it was dropped for later ones.")
        media_type, content = upload
        answer = Response(content, content_type=media_type if media_type in IMAGES else "application/octet-stream")
        answer.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        answer.headers["Content-Disposition"] = "inline" if media_type in IMAGES else "attachment"
        return answer

    return api


def _add_switches(api: Blueprint, running: Instance) -> None:
    @api.post("/reset")
    def reset() -> Response:
        running.reset(**read_switches(_json() if request.get_data() else {}))
        return state()

    @api.post("/accounts/<path:key>/reset")
    def reset_account(key: str) -> Response:
        account = running.reset_account(key, _json() if request.get_data() else None)
        return jsonify(
            {"account": account.name, **{name: collection.total for name, collection in account.collections.items()}}
        )

    @api.post("/accounts/<path:key>/meant")
    def mean(key: str) -> Response:
        patterns = _json()
        if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
            abort(400, 'expected an array of rules, such as ["client.polling", "forms.*"]')
        if not running.settings.deployment and not running.mock.accounts.knows(key):
            abort(400, f'no account has the key "{key}"')
        running.expect_mistakes(key, patterns)
        return jsonify(patterns)

    @api.get("/state")
    def state() -> Response:
        return jsonify(switch_values(running.settings))

    @api.patch("/state")
    def change() -> Response:
        running.change_switches(**read_switches(_json(), at_the_start=False))
        return state()


def _add_lists(api: Blueprint, running: Instance) -> None:
    @api.get("/open-points")
    def open_points() -> Response:
        mock = running.mock
        return jsonify(
            [
                {
                    "name": point.name,
                    "statement": point.statement,
                    "values": dict(point.values),
                    "default": point.default,
                    "chosen": mock.choices[point.name],
                }
                for point in mock.contract.open_points.values()
            ]
        )

    @api.get("/defects")
    def defects() -> Response:
        return jsonify(
            [
                {
                    "name": defect.name,
                    "rule": defect.rule,
                    "what": defect.description,
                    "kinds": defect.resources,
                    "also": sorted(defect.implied_rules),
                }
                for defect in DEFECTS.values()
            ]
        )

    @api.get("/conditions")
    def conditions() -> Response:
        return jsonify({name: condition.amounts for name, condition in CONDITIONS.items()})


def _add_clock(api: Blueprint, running: Instance) -> None:
    @api.post("/clock")
    def clock() -> Response:
        body = _json()
        if not isinstance(body, dict) or set(body) - {"now", "api_key"}:
            abort(400, 'expected an object with "now" and perhaps "api_key", no others')
        text = body.get("now")
        try:
            now = datetime.strptime(str(text), TIME_FORMAT)  # noqa: DTZ007 - the contract's times have no zone
        except ValueError:
            abort(400, f'"now" is {text!r}; expected YYYY-MM-DD HH:MM:SS')
        key = body.get("api_key")
        if key is not None and not (isinstance(key, str) and key.isprintable()):
            abort(400, f'"api_key" is {key!r}; expected a key')
        running.mock.accounts.set_clocks(now, key)
        return jsonify({"now": text})


def _add_journal(api: Blueprint, running: Instance) -> None:
    followers = BoundedSemaphore(MAX_FOLLOWERS)

    @api.get("/journal")
    def find() -> Response:
        entries = running.journal.find(**_filters(running))
        return jsonify({"count": len(entries), "entries": [asdict(entry) for entry in entries]})

    @api.get("/journal/<int:number>")
    def entry(number: int) -> Response:
        return jsonify(asdict(_entry_or_404(running, number)))

    @api.get("/journal/<int:number>/curl")
    def command(number: int) -> Response:
        text = curl(_entry_or_404(running, number), request.host_url)
        return Response(f"{text}\n", content_type="text/plain; charset=utf-8")

    @api.get("/journal.har")
    def save() -> Response:
        answer = Response(running.archive(request.scheme), content_type="application/json")
        answer.headers["Content-Disposition"] = "attachment; filename=journal.har"
        return answer

    @api.get("/journal/count")
    def count() -> Response:
        return jsonify({"count": len(running.journal.find(**_filters(running)))})

    @api.delete("/journal")
    def clear() -> Response:
        running.clear_journal()
        return Response(status=204)

    @api.get("/journal/events")
    def follow() -> Response:
        filters = _filters(running)
        if not followers.acquire(blocking=False):
            abort(503, f"{MAX_FOLLOWERS} follow the journal already.")
        answer = Response(_events(running, filters), content_type="text/event-stream; charset=utf-8")
        answer.headers["Cache-Control"] = "no-store"
        answer.call_on_close(followers.release)
        return answer


def _entry_or_404(running: Instance, number: int) -> Entry:
    entry_found = running.journal.entry(number)
    if entry_found is None:
        abort(404, f"Request {number} is not in the journal any more.")
    return entry_found


def _events(running: Instance, filters: dict[str, str]) -> Iterator[str]:
    yield ": the journal\n\n"
    for entry in running.journal.follow(SECONDS_BETWEEN_SIGNS, **filters):
        yield f"id: {entry.number}\ndata: {json.dumps(asdict(entry))}\n\n" if entry else ": nothing new\n\n"


def _add_forced(api: Blueprint, running: Instance) -> None:
    @api.get("/forced")
    def forced_answers() -> Response:
        return jsonify([_effect(effect) for effect in running.effects.active])

    @api.post("/forced")
    def force() -> Response:
        return jsonify(_effect(running.force(_json())))

    @api.delete("/forced")
    @api.delete("/forced/<int:number>")
    def take_back(number: int | None = None) -> Response:
        running.effects.remove(number)
        return Response(status=204)


def _effect(effect: Effect) -> dict[str, Any]:
    return asdict(effect) | {"what": effect.description}


def _add_snapshots(api: Blueprint, running: Instance) -> None:
    @api.get("/snapshots")
    def names() -> Response:
        return jsonify(list(running.fixtures.snapshots))

    @api.put("/snapshots/<name>")
    def keep(name: str) -> Response:
        content = request.get_data()
        running.fixtures.keep(name, _fixture(content) if content else None)
        return names()

    @api.get("/snapshots/<name>")
    def snapshot(name: str) -> Response:
        return Response(running.fixtures.snapshots.get(_snapshot_or_404(running, name), ""), content_type=YAML)

    @api.post("/snapshots/<name>/restore")
    def restore(name: str) -> Response:
        with suppress(KeyError):  # another request may just have forgotten it
            running.restore(_snapshot_or_404(running, name))
        return jsonify(switch_values(running.settings))

    @api.delete("/snapshots/<name>")
    def forget(name: str) -> Response:
        running.fixtures.snapshots.pop(_snapshot_or_404(running, name), None)
        return Response(status=204)


def _snapshot_or_404(running: Instance, name: str) -> str:
    if name not in running.fixtures.snapshots:
        abort(404, f'There is no snapshot "{name}"; there are: {", ".join(running.fixtures.snapshots) or "none"}.')
    return name


def _fixture(content: bytes) -> Any:
    try:
        fixture = read_document(content.decode("utf-8"))
    except ValueError as error:
        raise SettingsError(f"the fixture cannot be read, {error}") from error
    if not isinstance(fixture, dict):
        raise SettingsError("the fixture is not a mapping with now and accounts")
    return fixture


def _json() -> Any:
    if not request.is_json:
        abort(415, "Send JSON, with the header Content-Type: application/json.")
    try:
        return json.loads(request.get_data())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        abort(400, f"The body is not valid JSON: {error}.")
    except (ValueError, RecursionError):
        abort(400, "The body is not valid JSON: a number is too long, or it is nested too deep.")


def _filters(running: Instance) -> dict[str, str]:
    """The filters of the query."""
    filters = request.args.to_dict()
    for name, value in filters.items():
        if name not in FILTERS:
            raise SettingsError(f'no filter "{name}"; filters are {", ".join(FILTERS)}')
        if name in ("after", "status") and not _is_number(value):
            raise SettingsError(f'the filter "{name}" is "{value}"; expected a number')
        if name == "remarks" and value not in ("0", "1"):
            raise SettingsError(f'the filter "remarks" is "{value}"; expected 1 for those with some, or 0')
    if "account" in filters:  # its name, or its key
        filters["account"] = running.account_named(filters["account"])
    last = request.headers.get("Last-Event-ID", "")
    return filters | ({"after": last} if _is_number(last) else {})


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS


def _add_records(api: Blueprint, running: Instance) -> None:
    """Add the routes that show a mock: what it is, its accounts, and their records, as it keeps them."""

    @api.get("/about")
    def describe_mock() -> Response:
        return jsonify(_mock_description(running))

    @api.get("/accounts")
    def accounts() -> Response:
        held_accounts = running.mock.accounts
        keyed = [_account_as_json(key, account) for key in held_accounts.keys if (account := held_accounts.get(key))]
        sandboxes, start = (
            list(held_accounts.sandboxes.items())[::-1],
            _positive_number("page", 1) * ACCOUNTS - ACCOUNTS,
        )
        sandboxes_shown = [_account_as_json(key, account) for key, account in sandboxes[start : start + ACCOUNTS]]
        return jsonify({"accounts": keyed, "sandboxes": sandboxes_shown, "total": len(sandboxes)})

    @api.get("/records/<resource>")
    def records(resource: str) -> Response:
        target, collection = _resource(running, resource), _account_of_query(running).collections[resource]
        size = min(_positive_number("size", RECORDS), MAX_RECORDS)
        start = (_positive_number("page", 1) - 1) * size
        search_text, sort = request.args.get("search", "").casefold(), request.args.get("sort", "")
        if sort and sort.removeprefix("-") not in target.record_schema:
            abort(
                400,
                f'"sort" is "{sort}"; expected one of {", ".join(target.record_schema)},'
                ' with "-" in front to turn it round',
            )
        if search_text or sort:
            all_records = [_record_as_json(running, target, record) for record in collection.all_records]
            matching_rows = [record for record in all_records if search_text in _searchable(record["read"])]
            if sort:
                matching_rows.sort(
                    key=lambda record: _sort_key(record["read"].get(sort.removeprefix("-"))), reverse=sort[0] == "-"
                )
            return jsonify({"total": len(matching_rows), "records": matching_rows[start : start + size]})
        rows, total = collection.page(lambda _: (start, start + size))
        return jsonify({"total": total, "records": [_record_as_json(running, target, record) for record in rows]})

    @api.get("/records/<resource>/<int:identifier>")
    def record(resource: str, identifier: int) -> Response:
        target, collection = _resource(running, resource), _account_of_query(running).collections[resource]
        try:
            return jsonify(_record_as_json(running, target, collection.get(identifier)))
        except UnknownIdError:
            abort(404, f"There is no record {identifier} among the {resource} of this account.")


def _mock_description(running: Instance) -> dict[str, Any]:
    """What a client of the control plane can rely on while the mock runs: where it answers, and what it can hold."""
    settings, mock = running.settings, running.mock
    deployment, fixture_recording = settings.deployment, running.fixture_recording
    conditions = {name: condition for name, condition in CONDITIONS.items() if condition.travels or not deployment}
    return {
        "base_url": mock.base_url(),
        "base_path": settings.base_path,
        "key": None if deployment else next(iter(mock.accounts.keys)),
        "deployment": deployment
        and {
            "url": deployment.url,
            "read_only": deployment.read_only,
            "rewrite_links": deployment.rewrite_links,
            "insecure": deployment.insecure,
            "recorded": fixture_recording and [list(count) for count in fixture_recording.counts],
        },
        "resources": [_resource_as_json(resource) for resource in mock.contract.resources.values()],
        "conditions": [
            {"name": name, "what": condition.description, "measures": condition.amounts}
            for name, condition in conditions.items()
        ],
    }


def _resource_as_json(resource: Resource) -> dict[str, Any]:
    fields = [asdict(field) | {"operations": sorted(field.operations)} for field in resource.fields.values()]
    return {
        "name": resource.name,
        "label": resource.label,
        "paths": dict(resource.paths),
        "shape": list(resource.record_schema),
        "fields": fields,
    }


def _account_as_json(key: str, account: Account) -> dict[str, Any]:
    return {
        "key": key,
        "name": account.name,
        "totals": {name: collection.total for name, collection in account.collections.items()},
    }


def _account_of_query(running: Instance) -> Account:
    """The account whose key the query names, which is a parameter because a key may have slashes."""
    key, accounts = request.args.get("account", ""), running.mock.accounts
    account = accounts.sandboxes.get(key) or (accounts.get(key) if key in accounts.keys else None)
    if account is None:
        abort(404, f'No account has the key "{key}" any more.')
    return account


def _resource(running: Instance, name: str) -> Resource:
    resource = running.mock.contract.resources.get(name)
    if resource is None:
        abort(404, f'There is no resource "{name}"; there are {", ".join(running.mock.contract.resources)}.')
    return resource


def _record_as_json(running: Instance, resource: Resource, record: Record) -> dict[str, Any]:
    """A record as the API reads it, and the values of its fields, some of which the API never shows."""
    values = {name: asdict(value) if isinstance(value, Upload) else value for name, value in record.values.items()}
    return {
        "id": record.id,
        "read": running.mock.representations.record(resource, record),
        "values": {name: values[name] for name in resource.fields if name in values},
        "created": record.created.strftime(TIME_FORMAT),
        "updated": record.updated and record.updated.strftime(TIME_FORMAT),
    }


def _searchable(record: dict[str, Any]) -> str:
    return " ".join(str(value) for value in record.values() if value is not None).casefold()


def _sort_key(value: Any) -> tuple[int, float, str]:
    """What a value is sorted by: nothing first, then numbers, then texts without regard to case."""
    if value is None:
        return 0, 0, ""
    return (1, value, "") if isinstance(value, int | float) else (2, 0, str(value).casefold())


def _positive_number(name: str, default: int) -> int:
    """A whole number of the query, from 1."""
    text = request.args.get(name) or str(default)
    if not (text.isascii() and text.isdecimal() and int(text[:15]) > 0):
        abort(400, f'"{name}" is "{text}"; expected a whole number from 1')
    return int(text[:15])
