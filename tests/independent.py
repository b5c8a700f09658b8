"""An implementation that shares nothing with the mock and chooses differently wherever it may.

Ids are given for each account on its own, and the highest is given again once it is free. Lists show what was changed
last first. A colour comes from the name. Refusals are pages, an unknown id is answered with a success without data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from zlib import crc32

from werkzeug.formparser import parse_form_data
from werkzeug.wrappers import Request, Response

SIZES = (10, 25, 50, 100, 250, 500, 1000)
TYPES = {
    "email": "email",
    "webhook": "url",
    "slack": "hook",
    "discord": "hook",
    "telegram": "bot",
    "microsoft_teams": "u",
}
REQUIRED = {"splash-pages": ("name",), "domains": ("host",), "notification-handlers": ("name", "type")}
Record = dict[str, Any]


class IndependentServer:
    """A WSGI application with two accounts, each with so many records of each resource."""

    def __init__(self, records: int) -> None:
        self._ticks = 0
        self._accounts: dict[str, dict[str, dict[int, Record]]] = {}
        for key in ("demo-key-harbour", "demo-key-alpine"):
            self._accounts[key] = {resource: {} for resource in REQUIRED}
            for resource, required in REQUIRED.items():
                for number in range(records):
                    form = {"name": f"Old {number}", "host": f"old-{number}.example.com", "type": "slack"}
                    self._create(self._accounts[key][resource], resource, {name: form[name] for name in required})

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return self._answer(Request(environ))(environ, start_response)

    def _answer(self, request: Request) -> Response:  # noqa: PLR0911 - one for each operation, and for who is refused
        account = self._accounts.get(request.headers.get("Authorization", "").removeprefix("Bearer "))
        if account is None or not request.headers.get("Authorization", "").startswith("Bearer "):
            return Response("<h1>Please log in</h1>", 200, content_type="text/html")
        group, *rest = request.path.removeprefix("/api/").split("/")
        resource = {"projects": "splash-pages"}.get(group, group)
        identifier = rest[0] if rest else ""
        if resource not in account:
            return Response("<h1>404</h1>", 404, content_type="text/html")
        if request.method == "GET" and not identifier:
            return self._list(account[resource], resource, request)
        if request.method == "POST" and not identifier:
            return self._write(account[resource], resource, request, None)
        record = account[resource].get(int(identifier)) if identifier.isdecimal() else None
        if record is None:
            return Response('{"message": "gone"}', 200, content_type="text/plain")
        if request.method == "DELETE":
            del account[resource][record["id"]]
            return Response(status=204)
        if request.method == "POST":
            return self._write(account[resource], resource, request, record)
        return _json({"data": _shown(record)})

    def _list(self, records: dict[int, Record], resource: str, request: Request) -> Response:
        size = request.args.get("results_per_page", "25")
        page = request.args.get("page", "1")
        if size not in map(str, SIZES) or not page.isdecimal() or int(page) < 1:
            return Response("<h1>No</h1>", 422, content_type="text/html")
        ordered = sorted(records.values(), key=lambda record: (-record["_changed"], record["id"]))
        number, per = int(page), int(size)
        pages = max(1, -(-len(ordered) // per))
        base = f"{request.host_url}api/{ {'splash-pages': 'projects'}.get(resource, resource) }?&page="
        return _json(
            {
                "links": {
                    "self": f"{base}{number}",
                    "first": f"{base}1",
                    "prev": f"{base}{number - 1}" if 1 < number <= pages else None,
                    "next": f"{base}{number + 1}" if number < pages else None,
                    "last": f"{base}{pages}",
                },
                "meta": {"total_pages": pages, "total": len(ordered), "results_per_page": per, "page": number, "x": {}},
                "data": [_shown(record) for record in ordered[(number - 1) * per : number * per]],
            }
        )

    def _write(self, records: dict[int, Record], resource: str, request: Request, record: Record | None) -> Response:
        try:
            _, form, files = parse_form_data(request.environ, silent=False)
            for file in files.values():
                file.close()
        except ValueError:
            return Response("<h1>Malformed</h1>", 400, content_type="text/html")
        given = form.to_dict()
        missing = record is None and any(not given.get(name) for name in REQUIRED[resource])
        unknown = resource == "notification-handlers" and given.get("type", "slack") not in TYPES
        if missing or unknown or (record is None and "is_enabled" in given):
            return Response("<h1>Not like that</h1>", 200, content_type="text/html")
        if record is None:
            record = self._create(records, resource, given)
        else:
            self._update(record, resource, given)
            record["last_datetime"] = "2026-05-05 05:05:05"
        return _json({"data": {"type": resource, "id": record["id"]}}, 202)

    def _create(self, records: dict[int, Record], resource: str, given: dict[str, str]) -> Record:
        record: Record = {"id": max(records, default=0) + 1, "datetime": "2026-04-04 04:04:04", "last_datetime": None}
        if resource == "domains":
            record |= {"scheme": "HTTP://", "custom_index_url": "", "is_enabled": True}
        if resource == "notification-handlers":
            record |= {"settings": {}, "is_enabled": False}
        records[record["id"]] = record
        self._update(record, resource, given)
        return record

    def _update(self, record: Record, resource: str, given: dict[str, str]) -> None:
        self._ticks += 1
        record["_changed"] = self._ticks
        if "name" in given and resource != "domains":
            record["name"] = given["name"]
            record["color"] = f"#{crc32(given['name'].encode()) & 0xFFFFFF:06X}"
        if resource == "domains":
            record |= {name: given[name] for name in ("host", "custom_index_url") if name in given}
            record["is_enabled"] = record["is_enabled"] and "host" not in given
        if resource == "notification-handlers":
            if given.get("type", record.get("type")) != record.get("type"):
                record["type"] = given["type"]
                record["settings"] = {"email": ""} if given["type"] == "email" else {}
            own = TYPES[record["type"]]
            if record["type"] in given:
                record["settings"][own] = given[record["type"]]
            if record["type"] == "telegram" and "telegram_chat_id" in given:
                record["settings"]["room"] = given["telegram_chat_id"]
            if given.get("is_enabled") in ("0", "1"):
                record["is_enabled"] = given["is_enabled"] == "1"


def _shown(record: Record) -> Record:
    return {name: value for name, value in record.items() if not name.startswith("_")}


def _json(body: Any, status: int = 200) -> Response:
    return Response(json.dumps(body, indent=1), status, content_type="text/plain")
