"""How a fixture file is written: its schema, and a fixture made of what accounts hold."""

from base64 import b64encode
from collections.abc import Collection
from operator import attrgetter
from typing import Any
from urllib.parse import quote

from link_management_contract import Field, Resource
from mock_server.settings.choices import SettableClock
from mock_server.store.fixtures import MAX_ID, START, TIMES
from mock_server.store.protocols import Account, Accounts
from mock_server.store.records import TIME_FORMAT, Record, Upload, Uploads

TIME = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$",
    "examples": [START.strftime(TIME_FORMAT)],
}
KINDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "file": {"type": "string", "description": "The path of a file beside this one, or a data: URL."},
}
BEGINNING = """\
# yaml-language-server: $schema={schema}
# What a mock starts with: mock-server --fixture {name}
# Ids and times may be left out. Ids then follow the highest; of two records, the later one in the list is the newer.
now: '{now}'  # where the clocks of accounts start
accounts:
  - name: My company
    api_key: my-key
    records:
      splash-pages:
        - name: Spring sale
        - {{name: Summer reading list, title: 'One moment, please'}}
      domains:
        - host: go.example.com
        - {{host: links.example.com, is_enabled: false}}
      notification-handlers:
        - {{name: Support desk, type: email, email: support@example.com}}
"""


def beginning(name: str, schema: str) -> str:
    """A fixture to begin with.

    Args:
        name: the name of its file.
        schema: the name of the schema's file.
    """
    return BEGINNING.format(name=name, schema=schema, now=START.strftime(TIME_FORMAT))


def fixture_schema(resources: Collection[Resource]) -> dict[str, Any]:
    """The JSON Schema (2020-12) of fixtures."""
    records = {resource.name: {"type": ["array", "null"], "items": _schema_of(resource)} for resource in resources}
    account = {
        "type": "object",
        "required": ["api_key"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "api_key": {"type": "string", "pattern": "^(?!sandbox-)[!-~]{1,200}$"},
            "records": {"type": ["object", "null"], "additionalProperties": False, "properties": records},
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Fixture of the mock server",
        "type": "object",
        "required": ["accounts"],
        "additionalProperties": False,
        "properties": {
            "now": TIME | {"description": "Where the clocks of accounts start (UTC)."},
            "accounts": {"type": "array", "minItems": 1, "items": account},
        },
    }


def _schema_of(resource: Resource) -> dict[str, Any]:
    properties = {name: schema for name, schema in resource.record_schema.items() if schema.get("type") != "object"}
    times = {name: TIME if name == TIMES[0] else TIME | {"type": ["string", "null"]} for name in TIMES}
    return {
        "type": "object",
        "required": [field.name for field in resource.fields.values() if field.required],
        "additionalProperties": False,
        "properties": {
            **{name: _read_schema(schema) for name, schema in properties.items()},
            **{field.name: _form_schema(field) for field in resource.fields.values() if field.name not in properties},
            "id": {"type": "integer", "minimum": 1, "maximum": MAX_ID},
            **times,
        },
    }


def _read_schema(schema: Any) -> dict[str, Any]:
    return {name: schema[name] for name in ("type", "pattern", "enum", "description") if name in schema}


def _form_schema(field: Field) -> dict[str, Any]:
    return KINDS[field.kind] | ({"enum": list(field.values)} if field.values else {})


def fixture_of(accounts: Accounts, resources: Collection[Resource], uploads: Uploads) -> dict[str, Any]:
    """Accounts, sandboxes aside, as a fixture holds them."""
    by_key = _accounts(accounts)
    clocks = [account.clock.now for account in by_key.values() if isinstance(account.clock, SettableClock)]
    return {
        "now": max([accounts.now, *clocks]).strftime(TIME_FORMAT),
        "accounts": [_account(resources, uploads, key, account) for key, account in by_key.items()],
    }


def size_of_fixture(accounts: Accounts) -> int:
    """About how many bytes a fixture of the accounts would have, without making it."""
    collections = [records for account in _accounts(accounts).values() for records in account.collections.values()]
    values = [value for records in collections for record in records.all_records for value in record.values.values()]
    texts = sum(len(value) for value in values if isinstance(value, str))
    return texts + sum(value.size * 4 // 3 for value in values if isinstance(value, Upload))


def _accounts(accounts: Accounts) -> dict[str, Account]:
    return {key: account for key in accounts.keys if (account := accounts.get(key))}


def _account(resources: Collection[Resource], uploads: Uploads, key: str, account: Account) -> dict[str, Any]:
    records = {
        resource.name: [
            _record(resource, record, uploads)
            for record in sorted(account.collections[resource.name].all_records, key=attrgetter("id"))
        ]
        for resource in resources
    }
    return {"name": account.name, "api_key": key, "records": records}


def _record(resource: Resource, record: Record, uploads: Uploads) -> dict[str, Any]:
    values = {
        name: _embedded(value, uploads) if isinstance(value, Upload) else value
        for name, value in record.values.items()
        if name in resource.fields or name in resource.record_schema
    }
    updated = record.updated and record.updated.strftime(TIME_FORMAT)
    return {"id": record.id, **values, "datetime": record.created.strftime(TIME_FORMAT), "last_datetime": updated}


def _embedded(upload: Upload, uploads: Uploads) -> str:
    content = b64encode(uploads.content(upload) or b"").decode()
    media_type = quote(upload.media_type, safe="/") or "application/octet-stream"
    return f"data:{media_type};name={quote(upload.name, safe='')};base64,{content}"
