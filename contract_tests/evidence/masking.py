"""Masks what must not be reported."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any
from urllib.parse import quote

from contract_tests.evidence.exchange import Exchange, id_of
from link_management_contract.texts import escape_pattern

TIME = re.compile(r'"?\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?"?')  # of ISO 8601, also as JSON
SHORTEST = 4  # characters of a secret that is replaced anywhere; a shorter one occurs in too many words
MAX_UNREAD_LENGTH = 2**18  # characters of an answer that is no JSON
ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}|\\[^\\]")
MAX_ESCAPED_LENGTH = 200  # characters of a secret that is found however its characters are escaped
ENVELOPE_MEMBERS = ("meta", "links", "errors", "error", "message")  # the parts of an answer that are not about a record
TELLING = {  # fields of others' records that show a choice of the service and nothing about the account
    "type": re.compile(r"[a-z_]{1,20}"),
    "scheme": re.compile(r"https?://"),
    "color": re.compile(r"#?[0-9A-Fa-f]{3,8}"),
    "datetime": re.compile(r"[0-9T:. +Z-]{1,35}"),
    "last_datetime": re.compile(r"[0-9T:. +Z-]{1,35}"),
}
HIDDEN_NAMES = re.compile(r"key|token|secret|passw|credential|authorization|cookie|session")


def text_shape(text: str) -> str:
    """A text with each letter replaced by `a` and each digit by `0`; a time keeps its letters, which tell its form."""
    return TIME.sub(lambda match: re.sub(r"\d", "0", match[0]), text) if TIME.fullmatch(text) else _hide(text)


def is_telling(name: str, value: Any) -> bool:
    """Whether a field of somebody else's record shows nothing about them: its id, a time, color, type or scheme."""
    return name == "id" or (name in TELLING and isinstance(value, str) and bool(TELLING[name].fullmatch(value)))


def _hide(text: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", text))


@dataclass(frozen=True)
class Masking:
    """Masks what a run sent and received.

    Attributes:
        secrets: texts that are never reported, each with its replacement; the longest first.
        escaped_secrets: patterns of the same, with any of their characters escaped as in URLs and JSON.
        created_ids: the ids of the records that the run created, by resource and key; accounts may share ids.
        markers: the texts that mark those records, case-folded; a record that shows none may have got its id later.
    """

    secrets: Mapping[str, str]
    created_ids: Mapping[tuple[str, str], frozenset[int]]
    markers: frozenset[str] = frozenset()
    escaped_secrets: Mapping[re.Pattern[str], str] = field(default_factory=dict)
    _foreign: dict[int, list[str]] = field(default_factory=dict, repr=False, compare=False)
    _masked: dict[int, tuple[Exchange, Exchange]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, secrets: Mapping[str, str], created: Iterable[tuple[str, str, int]], markers: Iterable[str] = ()
    ) -> Masking:
        """Mask some secrets, such as API keys, in every form in which they are sent.

        Args:
            created: for each of the run's records, the resource, the identity that created it, and the id.
        """
        forms = {}
        for secret, placeholder in secrets.items():
            for form in _forms(secret):
                if len(form) >= SHORTEST:
                    forms[form] = placeholder
        longest_first = dict(sorted(forms.items(), key=lambda form: len(form[0]), reverse=True))
        ids: dict[tuple[str, str], set[int]] = {}
        for resource, owner, identifier in created:
            ids.setdefault((resource, owner), set()).add(identifier)
        frozen_ids = {collection: frozenset(record_ids) for collection, record_ids in ids.items()}
        patterns = {
            re.compile(escape_pattern(secret)): placeholder
            for secret, placeholder in secrets.items()
            if SHORTEST <= len(secret) <= MAX_ESCAPED_LENGTH
        }
        return cls(longest_first, frozen_ids, frozenset(map(str.casefold, markers)), patterns)

    def text(self, text: str) -> str:
        for secret, placeholder in self.secrets.items():
            text = text.replace(secret, placeholder)
        if ESCAPED.search(text):
            for pattern, placeholder in self.escaped_secrets.items():
                text = pattern.sub(placeholder, text)
        return text

    def exchange(self, exchange: Exchange) -> Exchange:
        """An exchange without secrets in its answer, and with only the ids, types and shapes of other records."""
        masked = self._masked.get(id(exchange))
        if masked is None or masked[0] is not exchange:
            masked = self._masked[id(exchange)] = exchange, self._mask(exchange)
        return masked[1]

    def _mask(self, exchange: Exchange) -> Exchange:
        headers = {self.text(name): self._header(name.casefold(), value) for name, value in exchange.headers.items()}
        redirects = tuple((status, self._redirect_location(location)) for status, location in exchange.redirects)
        return replace(
            exchange,
            headers=headers,
            body=self._body(exchange),
            error=self.text(exchange.error),
            redirects=redirects,
        )

    def _header(self, name: str, value: str) -> str:
        if HIDDEN_NAMES.search(name):
            return "[hidden]"
        return self._redirect_location(value) if name == "location" else self.text(value)

    def _redirect_location(self, location: str) -> str:
        """Where a redirect leads: scheme, host and path, where a path outside the API keeps only its shape."""
        scheme, separator, host_and_path = location.partition("?")[0].partition("://")
        host, slash, path = host_and_path.partition("/") if separator else ("", "", scheme)
        is_api = re.fullmatch(r"/?(.*/)?(api/[a-z-]+/?\d*|login)?", path)
        return self.text(f"{scheme if separator else ''}{separator}{host}{slash}{path if is_api else text_shape(path)}")

    def findings(self, exchange: Exchange, text: str) -> str:
        """A text of a finding, without the contents of records in its exchange that show no marker of the run."""
        if exchange.number not in self._foreign:
            self._foreign[exchange.number] = sorted(_foreign(exchange.data, self.markers), key=len, reverse=True)
        for foreign in self._foreign[exchange.number]:
            text = text.replace(foreign, text_shape(foreign))
        return self._without_a_cut_one(self.text(text))

    def _without_a_cut_one(self, text: str) -> str:
        """A text that does not end with the beginning of a secret, as one does that was cut off within it."""
        stripped = text.rstrip("…\"'")
        if not stripped.endswith(self._beginnings):
            return text
        for secret, placeholder in self.secrets.items():
            for length in range(len(secret) - 1, SHORTEST - 1, -1):
                if stripped.endswith(secret[:length]):
                    return f"{stripped[:-length]}{placeholder}{text[len(stripped) :]}"
        return text

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        return tuple(secret[:length] for secret in self.secrets for length in range(SHORTEST, len(secret)))

    def _body(self, exchange: Exchange) -> bytes:
        try:
            text = exchange.body.decode("utf-8")
        except UnicodeDecodeError:
            return f"[{len(exchange.body)} bytes that are no text]".encode()
        body = exchange.json
        if body is None and text.strip() not in ("", "null"):
            excerpt, length = text[:MAX_UNREAD_LENGTH], len(text)
            remark = f"… ({MAX_UNREAD_LENGTH:,} of {length:,} characters)" if length > MAX_UNREAD_LENGTH else ""
            return f"{self.text(_unread(excerpt) if exchange.succeeded else excerpt)}{remark}".encode()
        hide = _answer if exchange.succeeded else _refusal
        masked = hide(body, self._run_record_test(exchange)) if body is not None else body
        return (self.text(json.dumps(masked, ensure_ascii=False)) if text else "").encode("utf-8", "backslashreplace")

    def _run_record_test(self, exchange: Exchange) -> Callable[[dict[str, Any]], bool]:
        ids = self.created_ids.get((exchange.request.resource, exchange.request.identity), frozenset())

        def belongs(row: dict[str, Any]) -> bool:
            return set(row) <= {"id"} or (id_of(row) in ids and _has_marker(row, self.markers))

        return belongs


def _forms(secret: str) -> Iterator[str]:
    """The ways in which a secret may be written: as it is, escaped, quoted, encoded."""
    yield from (secret, quote(secret), quote(secret, safe=""), escape(secret))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret)[1:-1].replace("/", "\\/"))
    yield from (secret.upper(), secret.lower(), secret.encode().hex(), secret.encode().hex().upper())
    yield from ("".join(f"&#{form.format(ord(letter))};" for letter in secret) for form in ("{}", "x{:x}", "x{:X}"))
    yield from (b64encode(f"{secret}{end}".encode()).decode().rstrip("=") for end in (":", ""))


def _has_marker(row: dict[str, Any], markers: Iterable[str]) -> bool:
    text = json.dumps(row, ensure_ascii=False).casefold()
    return any(marker in text for marker in markers)


def _foreign(data: Any, markers: frozenset[str]) -> Iterator[str]:
    """The texts in records that show no marker, except those that reveal nothing about anybody."""
    for row in data if isinstance(data, list) else [data]:
        if isinstance(row, dict) and not _has_marker(row, markers):
            for name, value in row.items():
                if _field(name, value) != value:
                    yield from (text for text in _texts(value) if len(text) >= SHORTEST)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(child)


def _answer(body: Any, belongs: Callable[[dict[str, Any]], bool]) -> Any:
    if not isinstance(body, dict):
        return _masked(body)
    if "data" not in body and id_of(body) is not None:  # a record without its envelope
        return _data(body, belongs)
    return {name: value if name in ENVELOPE_MEMBERS else _data(value, belongs) for name, value in body.items()}


def _refusal(body: Any, belongs: Callable[[dict[str, Any]], bool]) -> Any:
    """What a server says of a request that it did not carry out; of records in it, as of others."""
    if isinstance(body, list):
        return [_refusal(item, belongs) for item in body]
    if not isinstance(body, dict):
        return body
    if id_of(body) is not None:
        return _data(body, belongs)
    return {name: _data(value, belongs) if name == "data" else _refusal(value, belongs) for name, value in body.items()}


def _data(value: Any, belongs: Callable[[dict[str, Any]], bool]) -> Any:
    """A record, or several; those that the run did not create are masked."""
    if isinstance(value, list):
        return [_data(record, belongs) for record in value]
    if not isinstance(value, dict):
        return _masked(value)
    if belongs(value):
        return value
    return {name: _field(name, field_value) for name, field_value in value.items()}


def _field(name: str, value: Any) -> Any:
    return value if is_telling(name, value) else _masked(value)


def _masked(value: Any) -> Any:
    """A JSON value of the same type and shape."""
    if isinstance(value, str):
        return text_shape(value)
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if isinstance(value, dict):
        return {name: _masked(member) for name, member in value.items()}
    if isinstance(value, bool) or value is None:
        return value
    return type(value)(0)


def _unread(text: str) -> str:
    """A success that is not JSON: the text before what may be meant as JSON, then the shape of the rest."""
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=0)
    before = text[:start] if '"data"' in text else ""
    return before[:200] + text_shape(text[len(before) :])
