"""The control plane for programs; openapi.yaml beside this module describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request

from mock_server.app import YAML
from mock_server.control.instance import Instance, read_switches, told
from mock_server.control.records import add_records
from mock_server.defects import DEFECTS
from mock_server.documents import read_document
from mock_server.effects.conditions import CONDITIONS
from mock_server.effects.effect import Effect
from mock_server.errors import SettingsError
from mock_server.journal.exports import curl
from mock_server.journal.journal import FILTERS, Entry
from mock_server.store.records import TIME_FORMAT

MOST_FOLLOWERS = 16
LONGEST_NUMBER = 15  # digits
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
    add_records(api, running)

    @api.get("/openapi.yaml")
    def description() -> Response:
        text = Path(__file__).with_name("openapi.yaml").read_text("utf-8")
        return Response(text.replace("http://127.0.0.1:8000/", request.host_url), content_type=YAML)

    @api.get("/files/<int:key>")
    def file(key: int) -> Response:
        found = running.service.forms.uploads.find(key)
        if found is None:
            abort(404, f"There is no file {key}, or it was dropped for later ones.")
        media_type, content = found
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
        return jsonify({"account": account.name, **{name: each.total for name, each in account.collections.items()}})

    @api.post("/accounts/<path:key>/meant")
    def mean(key: str) -> Response:
        patterns = _json()
        if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
            abort(400, 'expected an array of rules, such as ["client.polling", "forms.*"]')
        if not running.settings.deployment and not running.service.accounts.knows(key):
            abort(400, f'no account has the key "{key}"')
        running.mean(key, patterns)
        return jsonify(patterns)

    @api.get("/state")
    def state() -> Response:
        return jsonify(told(running.settings))

    @api.patch("/state")
    def change() -> Response:
        running.change(**read_switches(_json(), at_the_start=False))
        return state()


def _add_lists(api: Blueprint, running: Instance) -> None:
    @api.get("/open-points")
    def open_points() -> Response:
        service = running.service
        return jsonify(
            [
                {
                    "name": each.name,
                    "statement": each.statement,
                    "values": dict(each.values),
                    "default": each.default,
                    "chosen": service.choices[each.name],
                }
                for each in service.contract.open_points.values()
            ]
        )

    @api.get("/defects")
    def defects() -> Response:
        return jsonify(
            [
                {
                    "name": each.name,
                    "rule": each.rule,
                    "what": each.what,
                    "kinds": each.resources,
                    "also": sorted(each.also),
                }
                for each in DEFECTS.values()
            ]
        )

    @api.get("/conditions")
    def conditions() -> Response:
        return jsonify({name: each.measures for name, each in CONDITIONS.items()})


def _add_clock(api: Blueprint, running: Instance) -> None:
    @api.post("/clock")
    def clock() -> Response:
        given = _json()
        if not isinstance(given, dict) or set(given) - {"now", "api_key"}:
            abort(400, 'expected an object with "now" and perhaps "api_key", no others')
        text = given.get("now")
        try:
            now = datetime.strptime(str(text), TIME_FORMAT)  # noqa: DTZ007 - the contract's times have no zone
        except ValueError:
            abort(400, f'"now" is {text!r}; expected YYYY-MM-DD HH:MM:SS')
        key = given.get("api_key")
        if key is not None and not (isinstance(key, str) and key.isprintable()):
            abort(400, f'"api_key" is {key!r}; expected a key')
        running.service.accounts.set_clocks(now, key)
        return jsonify({"now": text})


def _add_journal(api: Blueprint, running: Instance) -> None:
    followers = BoundedSemaphore(MOST_FOLLOWERS)

    @api.get("/journal")
    def find() -> Response:
        found = running.journal.find(**_filters(running))
        return jsonify({"count": len(found), "entries": [asdict(entry) for entry in found]})

    @api.get("/journal/<int:number>")
    def entry(number: int) -> Response:
        return jsonify(asdict(_kept(running, number)))

    @api.get("/journal/<int:number>/curl")
    def command(number: int) -> Response:
        text = curl(_kept(running, number), request.host_url)
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
            abort(503, f"{MOST_FOLLOWERS} follow the journal already.")
        answer = Response(_events(running, filters), content_type="text/event-stream; charset=utf-8")
        answer.headers["Cache-Control"] = "no-store"
        answer.call_on_close(followers.release)
        return answer


def _kept(running: Instance, number: int) -> Entry:
    found = running.journal.entry(number)
    if found is None:
        abort(404, f"Request {number} is not in the journal any more.")
    return found


def _events(running: Instance, filters: dict[str, str]) -> Iterator[str]:
    yield ": the journal\n\n"
    for entry in running.journal.follow(SECONDS_BETWEEN_SIGNS, **filters):
        yield f"id: {entry.number}\ndata: {json.dumps(asdict(entry))}\n\n" if entry else ": nothing new\n\n"


def _add_forced(api: Blueprint, running: Instance) -> None:
    @api.get("/forced")
    def forced_answers() -> Response:
        return jsonify([_effect(each) for each in running.effects.every])

    @api.post("/forced")
    def force() -> Response:
        return jsonify(_effect(running.force(_json())))

    @api.delete("/forced")
    @api.delete("/forced/<int:number>")
    def take_back(number: int | None = None) -> Response:
        running.effects.remove(number)
        return Response(status=204)


def _effect(effect: Effect) -> dict[str, Any]:
    return asdict(effect) | {"what": effect.what}


def _add_snapshots(api: Blueprint, running: Instance) -> None:
    @api.get("/snapshots")
    def names() -> Response:
        return jsonify(list(running.snapshots))

    @api.put("/snapshots/<name>")
    def keep(name: str) -> Response:
        content = request.get_data()
        running.keep(name, _fixture(content) if content else None)
        return names()

    @api.get("/snapshots/<name>")
    def snapshot(name: str) -> Response:
        return Response(running.snapshots.get(_known(running, name), ""), content_type=YAML)

    @api.post("/snapshots/<name>/restore")
    def restore(name: str) -> Response:
        with suppress(KeyError):  # another request may just have forgotten it
            running.restore(_known(running, name))
        return jsonify(told(running.settings))

    @api.delete("/snapshots/<name>")
    def forget(name: str) -> Response:
        running.snapshots.pop(_known(running, name), None)
        return Response(status=204)


def _known(running: Instance, name: str) -> str:
    if name not in running.snapshots:
        abort(404, f'There is no snapshot "{name}"; there are: {", ".join(running.snapshots) or "none"}.')
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
    """The filters of the query.

    Raises:
        SettingsError: if a filter is unknown, or is not a number where one is expected.
    """
    given = request.args.to_dict()
    for name, value in given.items():
        if name not in FILTERS:
            raise SettingsError(f'no filter "{name}"; filters are {", ".join(FILTERS)}')
        if name in ("after", "status") and not _is_number(value):
            raise SettingsError(f'the filter "{name}" is "{value}"; expected a number')
        if name == "remarks" and value not in ("0", "1"):
            raise SettingsError(f'the filter "remarks" is "{value}"; expected 1 for those with some, or 0')
    if "account" in given:  # its name, or its key
        given["account"] = running.account_named(given["account"])
    last = request.headers.get("Last-Event-ID", "")
    return given | ({"after": last} if _is_number(last) else {})


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
