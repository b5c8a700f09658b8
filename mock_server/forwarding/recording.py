"""What a deployment has shown to whom, as a fixture: keys and texts by other names."""

import json
import random
import re
import string
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from secrets import randbits
from typing import Any
from wsgiref.types import WSGIEnvironment

from link_management_contract import Contract, Resource
from mock_server.api.representations import GENERIC_KEYS
from mock_server.errors import SettingsError
from mock_server.store.fixtures import MAX_ID, TIMES, checked, is_id, moment_of
from mock_server.store.records import TIME_FORMAT

MAX_ACCOUNTS, UNNAMED = 1000, "another account"


class Callers:
    """Names each key by the order in which it came; the keys themselves are not kept."""

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def name_of(self, key: str) -> str:
        """The name of the account with a key; empty without a key."""
        if not key:
            return ""
        digest = blake2b(key.encode(), digest_size=16).digest()
        if digest not in self._names and len(self._names) < MAX_ACCOUNTS:
            self._names[digest] = f"account {len(self._names) + 1}"
        return self._names.get(digest, UNNAMED)


AS_THEY_ARE = frozenset({"color", "datetime", "last_datetime", "scheme", "type"})  # fields that say nothing of anybody
HOST = re.compile(r"(?<=://)[^/?#:@\s]+|(?<=@)[^/?#:@\s]+\.[^/?#:@\s]+")  # in URLs and addresses
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
ALPHABETS = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
OTHER_LETTERS = "áéíóúäöüñçåøłßğ"
RESERVED = ".example.com"
MAX_TRIES = 100


class Disguise:
    """Replaces each text by one of the same shape: letters by letters, digits by digits, all else kept.

    The same text is always replaced by the same one, different texts by different ones, and nobody can tell from a
    recording what it was.
    """

    def __init__(self) -> None:
        self._random = random.Random(randbits(64))  # noqa: S311 - which letters come is no secret
        self._replaced: dict[tuple[str, str], str] = {}
        self._used_texts: set[tuple[str, str]] = set()

    def of(self, field: str, text: str) -> str:
        """The text that stands for another one.

        Args:
            field: the field that holds it.
            text: what it holds.
        """
        if field in AS_THEY_ARE or not text:
            return text
        if (field, text) not in self._replaced:
            tries = (self._disguise_text(field, text) for _ in range(MAX_TRIES))
            alias = next((option for option in tries if (field, option.casefold()) not in self._used_texts), None)
            alias = alias or f"{len(self._used_texts)}-{self._disguise_text(field, text)}"
            self._used_texts.add((field, alias.casefold()))
            self._replaced[field, text] = alias
        return self._replaced[field, text]

    def _disguise_text(self, field: str, text: str) -> str:
        if field == "host":
            return _reserved("".join(map(self._similar_letter, text)))
        begins = SCHEME.match(text)
        scheme = begins[0] if begins else ""
        disguised = scheme + "".join(map(self._similar_letter, text[len(scheme) :]))
        return HOST.sub(lambda match: _reserved(match[0]), disguised)

    def _similar_letter(self, letter: str) -> str:
        for alphabet in ALPHABETS:
            if letter in alphabet:
                return self._random.choice(alphabet)
        if letter.isnumeric():
            return self._random.choice(string.digits)
        return self._random.choice(OTHER_LETTERS) if letter.isalpha() else letter


def _reserved(host: str) -> str:
    """A host under a name that is reserved for examples, and nobody's."""
    first, dot, _ = host.partition(".")
    return f"{first}{RESERVED}" if dot else host


MAX_RECORDS, MAX_BYTES = 50_000, 32 * 2**20  # kept of all accounts together; bytes of JSON
MAX_ID_DIGITS = len(str(MAX_ID))


class FixtureRecording:
    """The records that a deployment has shown to each account.

    Args:
        contract: what lists and reads are recognised by.
        base_path: the prefix of all paths here.
    """

    def __init__(self, contract: Contract, base_path: str) -> None:
        self._contract, self._base_path = contract, base_path
        self._accounts: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
        self._totals: dict[tuple[str, str], int] = {}
        self._count = self._bytes = 0

    def learn(self, account: str, environ: WSGIEnvironment, status: int, body: bytes) -> None:
        """Note what an answer shows.

        Args:
            account: the name of the account whose key the request carried.
            environ: the request.
            status: the status of the answer.
            body: its body.
        """
        path = environ["PATH_INFO"].removeprefix(self._base_path)
        target = self._resource(path)
        if not target or account in ("", UNNAMED) or not 200 <= status < 300:  # noqa: PLR2004 - what HTTP calls success
            return
        resource, identifier = target
        records = self._accounts.setdefault(account, {}).setdefault(resource.name, {})
        if environ["REQUEST_METHOD"] == "DELETE" and identifier:
            self._keep(records, identifier, None)
        if environ["REQUEST_METHOD"] != "GET":
            return
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            return
        data = answer.get("data") if isinstance(answer, dict) else None
        rows = data if isinstance(data, list) and not identifier else [data] if identifier else []
        for row in rows:
            self._note(resource, records, row)
        meta = answer.get("meta") if isinstance(answer, dict) else None
        if not identifier and isinstance(meta, dict) and type(meta.get("total")) is int:
            self._totals[account, resource.name] = meta["total"]

    def fixture(self, *, verbatim: bool = False) -> dict[str, Any]:
        """What was shown, as a fixture.

        Args:
            verbatim: whether texts stay as they are; else others of the same shape stand for them.
        """
        disguise = (lambda _, text: text) if verbatim else Disguise().of
        accounts = [
            {
                "name": name.capitalize(),
                "api_key": f"recorded-key-{number}",
                "records": {
                    resource.name: [
                        {
                            field: disguise(field, value) if isinstance(value, str) else value
                            for field, value in row.items()
                        }
                        for row in _without_host_duplicates(resources.get(resource.name, {}))
                    ]
                    for resource in self._contract.resources.values()
                },
            }
            for number, (name, resources) in enumerate(self._accounts.items(), 1)
        ]
        return {"now": self._now, "accounts": accounts}

    @property
    def counts(self) -> Iterator[tuple[str, str, int, int]]:
        """Account, resource, how many records were shown, and how many there were when they were listed last."""
        for name, resources in list(self._accounts.items()):
            for resource, records in list(resources.items()):
                yield name, resource, len(records), self._totals.get((name, resource), len(records))

    @property
    def _now(self) -> str:
        """The latest time that a record shows."""
        rows = (
            row for resources in self._accounts.values() for records in resources.values() for row in records.values()
        )
        times = [row[name] for row in rows for name in TIMES if row.get(name)]
        return max(times, default=datetime.now().strftime(TIME_FORMAT))  # noqa: DTZ005 - the contract's times have no zone

    def _resource(self, path: str) -> tuple[Resource, int] | None:
        """The resource in a path, and the id, or 0 for its list."""
        for resource in self._contract.resources.values():
            prefix = resource.paths["read"].partition("{")[0]
            if path.rstrip("/") == resource.paths["list"].rstrip("/"):
                return resource, 0
            last = path.removeprefix(prefix)
            is_number = path.startswith(prefix) and len(last) <= MAX_ID_DIGITS and last.isascii() and last.isdecimal()
            if is_number and is_id(int(last)):
                return resource, int(last)
        return None

    def _note(self, resource: Resource, records: dict[int, dict[str, Any]], row: Any) -> None:
        """Note a record, as far as a fixture can hold it."""
        identifier = row.get("id") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not is_id(identifier):
            return
        values = {name: value for name, value in _values(resource, row) if _is_text(value)}
        if not all(field.name in values for field in resource.fields.values() if field.required):
            return
        self._keep(records, identifier, values)

    def _keep(self, records: dict[int, dict[str, Any]], identifier: int, values: dict[str, Any] | None) -> None:
        """Keep a record as it is shown now, if there is room for it; None if there is none any more."""
        before = records.get(identifier)
        count = self._count + bool(values) - bool(before)
        size = self._bytes + _size(values) - _size(before)
        if values is None:
            records.pop(identifier, None)
        elif (count > self._count and count > MAX_RECORDS) or (size > self._bytes and size > MAX_BYTES):
            return
        else:
            records[identifier] = values
        self._count, self._bytes = count, size


def _size(values: dict[str, Any] | None) -> int:
    return len(json.dumps(values)) if values else 0


def _values(resource: Resource, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values of a row that a fixture can hold."""
    for name, schema in resource.record_schema.items():
        value = row.get(name)
        if schema.get("type") == "object" and isinstance(value, dict):
            yield from _settings(resource, row, value)
        elif name in TIMES and moment_of(value):
            yield name, value
        elif name not in TIMES:
            with suppress(SettingsError):
                yield name, checked(resource, name, value, "")


def _without_host_duplicates(records: Mapping[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """Records, of those with the same host the first, because a fixture holds no two."""
    distinct: dict[str, dict[str, Any]] = {}
    for identifier, row in list(records.items()):
        distinct.setdefault(str(row.get("host", identifier)).casefold(), row)
    return list(distinct.values())


def _settings(resource: Resource, row: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The form fields that an object shows, under their own names or under names that services use."""
    names = [field.name for field in resource.fields.values() if field.applies_when and field.applies_to(row)]
    texts = {name: value for name, value in settings.items() if isinstance(value, str) and value}
    for name in names:
        usual = GENERIC_KEYS.get(name, "url")
        value = texts.get(name) or texts.get(usual) or (next(iter(texts.values()), None) if len(names) == 1 else None)
        if value is not None:
            yield name, value


def _is_text(value: Any) -> bool:
    """Whether a value can be written; JSON may hold halves of letters."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True
