"""What the control plane shows of a mock: what it is, its accounts, and their records, as it keeps them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request

from link_management_contract import Resource
from mock_server.control.instance import Instance
from mock_server.effects.conditions import CONDITIONS
from mock_server.store.collection import UnknownIdError
from mock_server.store.protocols import Account
from mock_server.store.records import TIME_FORMAT, Record, Upload

ACCOUNTS, RECORDS = 25, 25  # on a page
MOST_RECORDS = 1000  # on a page


def add_records(api: Blueprint, running: Instance) -> None:
    """Add the routes that show a mock, without the control plane's prefix."""

    @api.get("/about")
    def about() -> Response:
        return jsonify(_about(running))

    @api.get("/accounts")
    def accounts() -> Response:
        known = running.service.accounts
        own = [_account_as_json(key, account) for key in known.keys if (account := known.get(key))]
        sandboxes, start = list(known.sandboxes.items())[::-1], _positive_number("page", 1) * ACCOUNTS - ACCOUNTS
        shown = [_account_as_json(key, account) for key, account in sandboxes[start : start + ACCOUNTS]]
        return jsonify({"accounts": own, "sandboxes": shown, "total": len(sandboxes)})

    @api.get("/records/<resource>")
    def records(resource: str) -> Response:
        chosen, collection = _resource(running, resource), _account_of_query(running).collections[resource]
        size = min(_positive_number("size", RECORDS), MOST_RECORDS)
        start = (_positive_number("page", 1) - 1) * size
        wanted, sort = request.args.get("search", "").casefold(), request.args.get("sort", "")
        if wanted or sort:
            every = [_record_as_json(running, chosen, record) for record in collection.all]
            found = [each for each in every if wanted in str(list(each["read"].values())).casefold()]
            if sort:
                found.sort(key=lambda each: _sort_key(each["read"].get(sort.removeprefix("-"))), reverse=sort[0] == "-")
            return jsonify({"total": len(found), "records": found[start : start + size]})
        shown, total = collection.page(lambda _: (start, start + size))
        return jsonify({"total": total, "records": [_record_as_json(running, chosen, record) for record in shown]})

    @api.get("/records/<resource>/<int:identifier>")
    def record(resource: str, identifier: int) -> Response:
        chosen, collection = _resource(running, resource), _account_of_query(running).collections[resource]
        try:
            return jsonify(_record_as_json(running, chosen, collection.get(identifier)))
        except UnknownIdError:
            abort(404, f"There is no record {identifier} among the {resource} of this account.")


def _about(running: Instance) -> dict[str, Any]:
    """What a client of the control plane can rely on while the mock runs: where it answers, and what it can hold."""
    settings, service = running.settings, running.service
    deployment, sightings = settings.deployment, running.sightings
    conditions = {name: each for name, each in CONDITIONS.items() if each.travels or not deployment}
    return {
        "base_url": service.base_url(),
        "base_path": settings.base_path,
        "key": None if deployment else next(iter(service.accounts.keys)),
        "deployment": deployment
        and {
            "url": deployment.url,
            "read_only": deployment.read_only,
            "rewrite_links": deployment.rewrite_links,
            "insecure": deployment.insecure,
            "recorded": sightings and [list(each) for each in sightings.counts],
        },
        "resources": [_resource_as_json(each) for each in service.contract.resources.values()],
        "conditions": [
            {"name": name, "what": each.what, "measures": each.measures} for name, each in conditions.items()
        ],
    }


def _resource_as_json(resource: Resource) -> dict[str, Any]:
    fields = [asdict(field) | {"operations": sorted(field.operations)} for field in resource.fields.values()]
    return {
        "name": resource.name,
        "label": resource.label,
        "paths": dict(resource.paths),
        "shape": list(resource.shape),
        "fields": fields,
    }


def _account_as_json(key: str, account: Account) -> dict[str, Any]:
    return {
        "key": key,
        "name": account.name,
        "totals": {name: each.total for name, each in account.collections.items()},
    }


def _account_of_query(running: Instance) -> Account:
    """The account whose key the query names, which is a parameter because a key may have slashes."""
    key, accounts = request.args.get("account", ""), running.service.accounts
    account = accounts.sandboxes.get(key) or (accounts.get(key) if key in accounts.keys else None)
    if account is None:
        abort(404, f'No account has the key "{key}" any more.')
    return account


def _resource(running: Instance, name: str) -> Resource:
    found = running.service.contract.resources.get(name)
    if found is None:
        abort(404, f'There is no resource "{name}"; there are {", ".join(running.service.contract.resources)}.')
    return found


def _record_as_json(running: Instance, resource: Resource, record: Record) -> dict[str, Any]:
    """A record as the API reads it, and the values of its fields, some of which the API never shows."""
    values = {name: asdict(value) if isinstance(value, Upload) else value for name, value in record.values.items()}
    return {
        "id": record.id,
        "read": running.service.representations.record(resource, record),
        "values": {name: values[name] for name in resource.fields if name in values},
        "created": record.created.strftime(TIME_FORMAT),
        "updated": record.updated and record.updated.strftime(TIME_FORMAT),
    }


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
