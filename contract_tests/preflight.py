"""A few reads that tell whether there is such a service, and whether the key opens it."""

from __future__ import annotations

from collections.abc import Iterable

from contract_tests.contract import Kind
from contract_tests.errors import UnusableTargetError
from contract_tests.exchange import Exchange, Request
from contract_tests.target import Target

REASONS = {
    401: "the key was refused",
    403: "the key was refused",
    404: "nothing is found under this path; is the base URL right, its prefix too?",
}
TLS = ("certificate", "SSL", "TLS")


def preflight(target: Target, kinds: Iterable[Kind]) -> None:
    """List each kind once; one list that can be read is enough to go on.

    Raises:
        UnusableTargetError: if none can be read; the message says why.
    """
    lists = [target.send(Request("list", kind.name, "GET", kind.list_path)) for kind in kinds]
    if any(exchange.succeeded and _is_list(exchange) for exchange in lists):
        return
    answered = [exchange for exchange in lists if exchange.status is not None]
    raise UnusableTargetError(_reason((answered or lists)[0]))


def _is_list(exchange: Exchange) -> bool:
    """Whether a body is JSON, or was meant to be."""
    return exchange.json is not None or b'"data"' in exchange.body


def _reason(exchange: Exchange) -> str:
    if exchange.status is None and any(word in exchange.error for word in TLS):
        return f"TLS: {exchange.error[:200]}; give --ca-bundle if its authority is one of your own"
    if exchange.status is None:
        return f"unreachable: {exchange.error[:200]}"
    where = f"(status {exchange.status} for {exchange.request.path})"
    if exchange.status in REASONS:
        return f"{REASONS[exchange.status]} {where}"
    media_type = exchange.headers.get("Content-Type", "no media type")
    if not _is_list(exchange):
        return f"{media_type} in the place of JSON; is the base URL right? {where}"
    return f"no list could be had {where}"
