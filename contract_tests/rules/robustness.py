"""Advisory rules: odd input is not answered with a failure of the server."""

from __future__ import annotations

from collections.abc import Callable

from contract_tests.contract import Kind
from contract_tests.evidence import Evidence
from contract_tests.exchange import Exchange
from contract_tests.rules.observation import Observations, Unclear, decide
from contract_tests.target import TRIES


def odd_pages_do_not_fail(evidence: Evidence, kind: Kind) -> Observations:
    """Lists with an odd page or page size."""
    return _no_failure(evidence, kind, lambda exchange: exchange.request.operation == "list")


def odd_ids_do_not_fail(evidence: Evidence, kind: Kind) -> Observations:
    """Reads, updates and deletes of ids that name no record."""
    return _no_failure(evidence, kind, lambda exchange: exchange.request.operation in ("read", "update", "delete"))


def odd_text_does_not_fail(evidence: Evidence, kind: Kind) -> Observations:
    """Creates with odd text."""
    return _no_failure(evidence, kind, lambda each: each.request.operation == "create" and each.request.body is None)


def odd_forms_do_not_fail(evidence: Evidence, kind: Kind) -> Observations:
    """Creates without a form, or with a malformed one."""
    return _no_failure(
        evidence, kind, lambda each: each.request.operation == "create" and each.request.body is not None
    )


def _no_failure(evidence: Evidence, kind: Kind, odd: Callable[[Exchange], bool]) -> Observations:
    for exchange in evidence.of(kind.name, "list", "read", "create", "update", "delete", expects="open"):
        if odd(exchange) and exchange.status is not None:
            if exchange.failed and len(exchange.attempts) < TRIES - 1:
                yield Unclear(f"the answer was status {exchange.status}, once", exchange)
            else:
                received = f"status {exchange.status} on each of {TRIES} tries"
                yield decide(exchange, "any answer but a failure", received, kept=not exchange.failed)
