"""Snapshots: all that the accounts hold, as a fixture that can be read again."""

from __future__ import annotations

from base64 import b64encode
from operator import attrgetter
from typing import Any
from urllib.parse import quote

from mock_server.api.operations import Service
from mock_server.api.representations import TIME_FORMAT
from mock_server.clock import Ticking
from mock_server.contract import Resource
from mock_server.store.accounts import Account
from mock_server.store.collection import Record
from mock_server.store.uploads import Upload, Uploads


def fixture_of(service: Service) -> dict[str, Any]:
    """The accounts of a service, sandboxes aside, as a fixture holds them."""
    accounts = service.accounts
    named = {key: account for key in accounts.keys if (account := accounts.get(key))}
    clocks = [account.clock.now for account in named.values() if isinstance(account.clock, Ticking)]
    return {
        "now": max([accounts.now, *clocks]).strftime(TIME_FORMAT),
        "accounts": [_account(service, key, account) for key, account in named.items()],
    }


def size_of_fixture(service: Service) -> int:
    """How many bytes a fixture of the accounts would have, about; it is not made."""
    accounts = [account for key in service.accounts.keys if (account := service.accounts.get(key))]
    collections = [collection for account in accounts for collection in account.collections.values()]
    values = [value for each in collections for record in each.all for value in record.values.values()]
    texts = sum(len(value) for value in values if isinstance(value, str))
    return texts + sum(value.size * 4 // 3 for value in values if isinstance(value, Upload))


def _account(service: Service, key: str, account: Account) -> dict[str, Any]:
    records = {
        resource.name: [
            _record(resource, record, service.forms.uploads)
            for record in sorted(account.collections[resource.name].all, key=attrgetter("id"))
        ]
        for resource in service.contract.resources
    }
    return {"name": account.name, "api_key": key, "records": records}


def _record(resource: Resource, record: Record, uploads: Uploads) -> dict[str, Any]:
    values = {
        name: _embedded(value, uploads) if isinstance(value, Upload) else value
        for name, value in record.values.items()
        if name in resource.fields or name in resource.shape
    }
    updated = record.updated and record.updated.strftime(TIME_FORMAT)
    return {"id": record.id, **values, "datetime": record.created.strftime(TIME_FORMAT), "last_datetime": updated}


def _embedded(upload: Upload, uploads: Uploads) -> str:
    content = b64encode(uploads.content(upload) or b"").decode()
    media_type = quote(upload.media_type, safe="/") or "application/octet-stream"
    return f"data:{media_type};name={quote(upload.name, safe='')};base64,{content}"
