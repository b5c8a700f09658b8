"""The readers of what others write, each as a function for a fuzzer: bytes in, nothing out.

Declared errors are caught. Any other error escapes, and so does an assertion that fails: what was accepted, written
again and read again, must be the same.
"""
# ruff: noqa: INP001, S101 - a folder of scripts; assertions are what they are for

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import date
from functools import cache
from hashlib import sha1
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlencode

import yaml
from flask import Request

from contract_tests import har
from contract_tests.commands.judge import outcome_of
from contract_tests.errors import UsageError
from contract_tests.evidence.exchange import Exchange
from contract_tests.reports import results
from contract_tests.target.ledger import Ledger
from contract_tests.target.ledger_file import is_finished
from contract_tests.verdicts import waivers
from link_management_contract import shipped_contract
from mock_server.api.forms import Forms
from mock_server.errors import Refusal, SettingsError
from mock_server.http.context import context_of
from mock_server.http.form_parts import MAX_HEAD_BYTES, MAX_URLENCODED_BYTES, Part, multipart, urlencoded
from mock_server.settings.choices import Choices
from mock_server.settings.documents import read_document, write_document
from mock_server.settings.settings import Settings
from mock_server.store.accounts import MemoryAccounts
from mock_server.store.fixture_format import fixture_of
from mock_server.store.fixtures import Fixture, FixtureReader
from mock_server.store.records import MemoryUploads, NewRecords, Record, Upload

LENIENT = {"text": "sanitised", "url-form": "normalised", "host-letters": "lowered", "boolean-words": "understood"}
STRICT = {"text": "refused", "bad-value": "refused", "cleared-text": "refused", "other-types-fields": "refused"}
PLAIN = {chr(code) for code in range(0x20, 0x7F)} - set('"\\%')  # what may stand between quotes as it is
TODAY = date(2026, 3, 2)


def try_form(data: bytes) -> None:
    """A request with a form: its `Content-Type` is the first line, its body the rest."""
    media_type, _, body = data.partition(b"\n")
    for operation, chosen in (("create", LENIENT), ("update", STRICT)):
        forms = Forms(_choices(**chosen), shipped_contract().rules, MemoryUploads(), max_body=2**20)
        for resource in shipped_contract().resources.values():
            request = Request(_environ(media_type, body))
            with suppress(Refusal):
                form = forms.read(request, resource, operation)
                forms.applicable_values(resource, form.values, form.values)
    parts = {name: replace(part, times=1) for name, part in (context_of(request.environ).parts or {}).items()}
    _check_form_written_again(parts, f"fuzz-{sha1(data, usedforsecurity=False).hexdigest()}")


def _environ(media_type: bytes, body: bytes) -> dict[str, Any]:
    return {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/api/domains",
        "CONTENT_TYPE": media_type.rstrip(b"\r").decode("latin-1"),
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body),
    }


def _check_form_written_again(parts: Mapping[str, Part], boundary: str) -> None:
    heads = {name: _head(part) for name, part in parts.items()}
    if all(len(head) < MAX_HEAD_BYTES - 100 for head in heads.values()):  # with the delimiter
        delimiter, body = f"\r\n--{boundary}".encode(), b""
        for name, part in parts.items():
            content = part.content.encode() if isinstance(part.content, str) else part.content
            body += delimiter + b"\r\n" + heads[name] + b"\r\n\r\n" + content
        assert multipart(body + delimiter + b"--\r\n", boundary) == parts
    texts = {name: part.content for name, part in parts.items() if isinstance(part.content, str)}
    body = urlencode(texts).encode()
    if len(body) <= MAX_URLENCODED_BYTES:
        assert {name: part.content for name, part in urlencoded(body).items()} == texts


def _head(part: Part) -> bytes:
    """The headers of a part, with names that are quoted or, if need be, encoded."""
    named = [("name", part.name), *([("filename", part.file_name)] if part.file_name is not None else [])]
    told = [f'{key}="{text}"' if set(text) <= PLAIN else f"{key}*=UTF-8''{quote(text, safe='')}" for key, text in named]
    head = f"Content-Disposition: form-data; {'; '.join(told)}"
    return (head if part.file_name is None else f"{head}\r\nContent-Type: {part.media_type}").encode()


def try_fixture(data: bytes) -> None:
    """A fixture; what is accepted is saved as a snapshot, and restored."""
    contract, choices, uploads = shipped_contract(), _choices(), MemoryUploads()
    reader = FixtureReader(contract.resources.values(), NewRecords(choices, 0), uploads)
    with _file(data, "fixture.yaml") as path:
        try:
            fixture = reader.read(path)
            accounts = MemoryAccounts(Settings(fixture=path), contract, choices, reader)
        except SettingsError:
            return
    text = write_document(fixture_of(accounts, contract.resources.values(), uploads))
    restored = reader.read(read_document(text))
    assert _held(restored, uploads) == _held(fixture, uploads)


def _held(fixture: Fixture, uploads: MemoryUploads) -> tuple[Any, ...]:
    """What a fixture holds; files are compared by their content, and records have the order of their ids."""

    def held(record: Record) -> tuple[Any, ...]:
        values = {
            name: (value.name, value.media_type, uploads.content(value)) if isinstance(value, Upload) else value
            for name, value in record.values.items()
        }
        return record.id, values, record.created, record.updated

    accounts = [
        (each.name, each.api_key, {name: sorted(map(held, some), key=_first) for name, some in each.records.items()})
        for each in fixture.accounts
    ]
    return fixture.now, accounts


def _first(record: tuple[Any, ...]) -> Any:
    return record[0]


def try_recording(data: bytes) -> None:
    """A recording, as `contract-tests judge` reads it; what is accepted is judged, and written as an archive again."""
    contract = shipped_contract()
    with _file(data, "record.har") as path:
        try:
            recording = har.read(path, contract)
        except UsageError:
            return
        if not recording.exchanges:
            return
        outcome = outcome_of(contract, recording, strict=True, public_base_url=None)
        json.dumps(results.as_dict(outcome))
        har.write(outcome, path.with_name("again.har"))
        again = har.read(path.with_name("again.har"), contract)
    assert list(map(_recognised, again.exchanges)) == list(map(_recognised, recording.exchanges))


def _recognised(exchange: Exchange) -> tuple[Any, ...]:
    """What a recording tells of an exchange, apart from texts that are masked."""
    request = exchange.request
    return request.operation, request.resource, request.path, request.query, request.identity, exchange.status


def try_ledger(data: bytes) -> None:
    """The ledger of an earlier run; the steps that are added to it have to be read again."""
    with _file(data, "ledger.jsonl") as path:
        is_finished(path)
        try:
            ledger = Ledger.resume(path)
        except UsageError:
            return
        with ledger:
            known = [asdict(entry) for entry in ledger.entries]
            told = [(str(entry), entry.marker, entry.may_exist, entry.is_marked_in("")) for entry in ledger.entries]
            for entry in ledger.entries:
                ledger.note_seen(entry)
        with Ledger.resume(path) as again:
            files = [(each.file.base_url, each.file.account, each.unread) for each in (ledger, again)]
            assert files[0] == files[1]
            assert [asdict(entry) | {"seen": True} for entry in again.entries] == [
                entry | {"seen": True} for entry in known
            ]
            assert len(told) == len(again.entries)


def try_waivers(data: bytes) -> None:
    """Waivers; what is accepted is applied, and written again."""
    with _file(data, "waivers.yaml") as path:
        try:
            known = waivers.read_waivers(path)
        except UsageError:
            return
        waivers.apply_waivers(known, [], shipped_contract(), TODAY)
        fields = [
            {"rule": each.rule, "kind": each.resource, "reason": each.reason, "until": each.end_date} for each in known
        ]
        path.write_text(yaml.safe_dump(fields), encoding="utf-8")
        assert waivers.read_waivers(path) == known


@contextmanager
def _file(data: bytes, name: str) -> Iterator[Path]:
    """A file in a folder of its own."""
    with TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        yield path


@cache
def _choices(**chosen: str) -> Choices:
    return Choices(shipped_contract().open_points, chosen)


READERS: Mapping[str, Callable[[bytes], None]] = {
    "form": try_form,
    "fixture": try_fixture,
    "recording": try_recording,
    "ledger": try_ledger,
    "waivers": try_waivers,
}
