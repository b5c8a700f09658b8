"""Snapshots: all that the accounts hold, as a fixture that can be read again."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection
from operator import attrgetter
from typing import Any
from urllib.parse import quote

from link_management_contract import Resource
from mock_server.clock import Ticking
from mock_server.store.protocols import Account, Accounts
from mock_server.store.records import TIME_FORMAT, Record
from mock_server.store.uploads import Upload, Uploads


def fixture_of(accounts: Accounts, resources: Collection[Resource], uploads: Uploads) -> dict[str, Any]:
    """Accounts, sandboxes aside, as a fixture holds them."""
    named = _named(accounts)
    clocks = [account.clock.now for account in named.values() if isinstance(account.clock, Ticking)]
    return {
        "now": max([accounts.now, *clocks]).strftime(TIME_FORMAT),
        "accounts": [_account(resources, uploads, key, account) for key, account in named.items()],
    }


def size_of_fixture(accounts: Accounts) -> int:
    """About how many bytes a fixture of the accounts would have, without making it."""
    collections = [collection for each in _named(accounts).values() for collection in each.collections.values()]
    values = [value for each in collections for record in each.all for value in record.values.values()]
    texts = sum(len(value) for value in values if isinstance(value, str))
    return texts + sum(value.size * 4 // 3 for value in values if isinstance(value, Upload))


def _named(accounts: Accounts) -> dict[str, Account]:
    return {key: account for key in accounts.keys if (account := accounts.get(key))}


def _account(resources: Collection[Resource], uploads: Uploads, key: str, account: Account) -> dict[str, Any]:
    records = {
        resource.name: [
            _record(resource, record, uploads)
            for record in sorted(account.collections[resource.name].all, key=attrgetter("id"))
        ]
        for resource in resources
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
