"""The part of an exchange that a finding is about, short and without secrets: for people, in every report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from contract_tests.exchange import Exchange, FormValue, Request, id_of
from contract_tests.json_reading import MOST_PARTS, has_too_many_parts, refuse_constant
from contract_tests.masking import Masking, shape
from contract_tests.rules.observation import Violation
from link_management_contract.texts import printable

LONGEST_VALUE, LONGEST_BODY, LONGEST_TEXT, LONGEST_FORM = 120, 300, 60, 200  # characters
MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml|head|body|h1)", re.IGNORECASE)


def excerpt(finding: Violation, exchanges: Iterable[Exchange], masking: Masking) -> dict[str, Any]:
    """What was sent, what came back, and the write that may have caused it.

    Args:
        finding: contrary evidence.
        exchanges: those of the run.
        masking: masks what must not be reported.

    Returns:
        `sent`, `answered` and, where they apply, `at`, `value`, `similar`, `body` and `cause`; all texts.
    """
    exchange = masking.exchange(finding.exchange)
    told = {"sent": sent(exchange.request), "answered": answered(exchange)}
    trouble = (
        masking.text(not_json(finding.exchange.body)) if exchange.succeeded and finding.exchange.json is None else ""
    )
    if finding.at and exchange.json is not None:
        told |= {"at": printable(masking.text(finding.at))} | _value(exchange.json, finding.at)
    elif exchange.body:
        told["body"] = body(exchange)
    if trouble and (finding.at.startswith("/data") or "JSON" in finding.expected):
        told["answered"] += f"; {trouble}"
    cause = _cause(finding, exchanges)
    if cause is not None:
        told["cause"] = f"{sent(cause.request)}, answered with {answered(masking.exchange(cause))}"
    return told


def sent(request: Request) -> str:
    """A request in a line: method, path, query, form."""
    fields = ", ".join(f"{name}={_shown(value)}" for name, value in (request.form or {}).items())
    if request.body is not None:
        fields = f"{request.body[0]}: {_short(request.body[1].decode('utf-8', 'replace'), LONGEST_TEXT)}"
    return f"{request.method} {request.target}{f' with {_short(fields, LONGEST_FORM)}' if fields else ''}"


def _shown(value: FormValue) -> str:
    return _short(value, LONGEST_TEXT) if isinstance(value, str) else f"the file {value[0]}"


def answered(exchange: Exchange) -> str:
    """An answer in a few words."""
    if exchange.status is None:
        cut = re.search(r"IncompleteRead\((\d+) bytes read, (\d+) more expected\)", exchange.error)
        if cut:
            return f"no whole answer: the body ended after {cut[1]} bytes, {cut[2]} fewer than its Content-Length says"
        return f"no answer: {_short(exchange.error, LONGEST_VALUE)}"
    types = [printable(text) for name, text in exchange.headers.items() if name.casefold() == "content-type"]
    return f"status {exchange.status}, {types[0] if types else 'no media type'}"


def not_json(body: bytes) -> str:
    """Why a body is not JSON, and where; empty if it is."""
    if not body.strip() or has_too_many_parts(body):
        return f"more than {MOST_PARTS:,} objects and lists" if body.strip() else "the body is empty"
    try:
        text = body.decode("utf-8-sig")
        json.loads(text, parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        return f"byte {error.start} (0x{body[error.start]:02x}) is not UTF-8"
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())
        rest = text[error.pos :] if not re.search(r"[{\[]", text[: error.pos]) else shape(text[error.pos :])
        return f"not JSON from byte {at} on: {error.msg}, before {_short(rest, 30)!r}"
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "JSON that is nested too deeply"
    return ""


def body(exchange: Exchange) -> str:
    """The beginning of a body: of a page, only its text, which holds the server's own message."""
    text = exchange.body.decode("utf-8", "replace")
    if MARKUP.match(exchange.body):
        text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>", " ", text)
    return _short(" ".join(text.split()), LONGEST_BODY)


def _value(document: Any, at: str) -> dict[str, str]:
    """The value at a JSON pointer; or that it is missing, with a key that looks like it."""
    *path, key = at.split("/")[1:]
    for step in path:
        document = _child(document, step)
    value = _child(document, key)
    if value is not _MISSING:
        return {"value": _short(json.dumps(value, ensure_ascii=False), LONGEST_VALUE)}
    keys = [str(name) for name in document] if isinstance(document, dict) else []
    similar = next((name for name in keys if _plain(name) == _plain(key)), "")
    similar = similar or "".join(get_close_matches(key, keys, n=1, cutoff=0.75))
    return {"value": "missing"} | ({"similar": similar} if similar else {})


_MISSING = object()


def _child(document: Any, step: str) -> Any:
    if isinstance(document, dict):
        return document.get(step, _MISSING)
    if isinstance(document, list) and step.isdecimal() and int(step) < len(document):
        return document[int(step)]
    return _MISSING


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _cause(finding: Violation, exchanges: Iterable[Exchange]) -> Exchange | None:
    """The run's latest write to the record that an answer shows wrongly, or that could not be changed or deleted."""
    exchange = finding.exchange
    resource, identifier = exchange.request.resource, exchange.request.identifier
    row = re.match(r"/data/(\d+)", finding.at)
    if row and isinstance(exchange.data, list) and int(row[1]) < len(exchange.data):
        identifier = id_of(exchange.data[int(row[1])])
    if identifier is None or (exchange.request.operation in ("update", "delete") and exchange.succeeded):
        return None
    writes = (
        each
        for each in exchanges
        if each.number < exchange.number
        and each.request.resource == resource
        and each.succeeded
        and (
            (each.request.operation == "create" and each.made_id == identifier)
            or (each.request.operation in ("update", "delete") and each.request.identifier == identifier)
        )
    )
    return max(writes, key=lambda each: each.number, default=None)


def _short(text: str, longest: int) -> str:
    """The beginning of a text, in which no character steers a terminal."""
    short = text if len(text) <= longest else f"{text[:longest]}…"
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in short)
