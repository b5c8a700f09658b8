"""Exchanges that somebody else recorded: an HTTP archive (HAR) from a browser, a proxy or a run."""

from __future__ import annotations

import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from contract_tests.contract import Contract, Kind
from contract_tests.errors import UsageError
from contract_tests.exchange import OWN, Exchange, Request

ON_A_RECORD = {"GET": "read", "POST": "update", "DELETE": "delete"}


@dataclass(frozen=True)
class Recording:
    """What a file holds.

    Attributes:
        base_url: where most of the recognised requests were sent.
        exchanges: those recognised as requests to that service, in order.
        every: how many there are in the file.
        passed_over: why others were left out, and how many for each reason.
    """

    base_url: str
    exchanges: tuple[Exchange, ...]
    every: int
    passed_over: Mapping[str, int] = field(default_factory=dict)


def read(path: Path, contract: Contract) -> Recording:
    """Read a HAR file.

    Raises:
        UsageError: if it cannot be read, or is none.
    """
    found: list[tuple[str, Exchange]] = []
    passed_over: Counter[str] = Counter()
    entries = _entries(path)
    for number, entry in enumerate(entries, 1):
        try:
            recognised = _recognised(contract, entry, number)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            passed_over[f"no exchange that can be read (the first is entry {number}: {error!r})"] += 1
            continue
        if recognised and _is_cut_short(entry):
            passed_over["without the body of its answer; record it with bodies"] += 1
        elif recognised:
            found.append(recognised)
    base_url = Counter(base for base, _ in found).most_common(1)[0][0] if found else ""
    exchanges = tuple(each for base, each in found if base == base_url)
    if len(exchanges) < len(found):
        passed_over[f"to another base URL than {base_url}"] += len(found) - len(exchanges)
    return Recording(base_url, exchanges, len(entries), passed_over)


def _entries(path: Path) -> list[Any]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8-sig"))["log"]["entries"]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{path} is no HTTP archive (HAR): {error!r}") from error
    if not isinstance(entries, list):
        raise UsageError(f"{path} is no HTTP archive (HAR): its entries are no list")
    return entries


def _is_cut_short(entry: dict[str, Any]) -> bool:
    """Whether there was a body that was not recorded: browsers leave some out, and proxies all if asked to."""
    content = entry["response"].get("content") or {}
    return "text" not in content and content.get("size", 0) > 0


def request_of(contract: Contract, method: str, url: str) -> tuple[str, Kind, Request] | None:
    """The base URL, kind and request that a method and URL come to, or None if they are none of the contract's."""
    parts = urlsplit(url)
    prefix, slash, path = parts.path.rpartition("/api/")
    base_url = f"{parts.scheme}://{parts.netloc}{prefix}"
    for kind in contract.kinds.values() if slash else ():
        operation, identifier = _operation(kind, method, f"/api/{path}")
        if operation:
            query = tuple(parse_qsl(parts.query, keep_blank_values=True))
            return base_url, kind, Request(operation, kind.name, method, f"/api/{path}", query, None, OWN, identifier)
    return None


def _operation(kind: Kind, method: str, path: str) -> tuple[str, int | None]:
    """The operation on a kind and the id in its path; an empty operation if there is none."""
    last = path.removeprefix(kind.record_path)
    if path.startswith(kind.record_path) and last.removeprefix("-").isdecimal():
        return ON_A_RECORD.get(method, ""), int(last)
    if method == "GET" and path == kind.list_path:
        return "list", None
    if method == "POST" and path == kind.create_path:
        return "create", None
    return "", None


def _recognised(contract: Contract, entry: dict[str, Any], number: int) -> tuple[str, Exchange] | None:
    """An entry's base URL and exchange, if it is one of this API's; what was accepted counts as documented."""
    request, response = entry["request"], entry["response"]
    recognised = request_of(contract, request["method"].upper(), request["url"])
    if recognised is None:
        return None
    base_url, kind, asked = recognised
    told = dict(_told(entry))
    identity, expects = (str(told.get(name, usual)) for name, usual in (("identity", OWN), ("expects", "open")))
    asked = replace(asked, identity=identity, expects=expects)
    headers = {header["name"]: header["value"] for header in response["headers"]}
    exchange = Exchange(asked, number, response["status"] or None, headers, _body(response.get("content") or {}))
    return base_url, exchange if told else exchange.settled(kind)


def _told(entry: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a run's own record tells of a request."""
    try:
        told = json.loads(entry.get("comment") or "null")
    except ValueError:
        return
    if isinstance(told, dict):
        yield from told.items()


def _body(content: dict[str, Any]) -> bytes:
    text = content.get("text") or ""
    if content.get("encoding") != "base64":
        return str(text).encode()
    try:
        return b64decode(text)
    except Base64Error as error:
        raise ValueError("a body that is no base64") from error
