"""Advisory rules: odd input is not answered with a server failure."""

from __future__ import annotations

from collections.abc import Callable

from contract_tests.evidence import Evidence
from contract_tests.exchange import TRIES, Exchange, Expect
from contract_tests.multipart import USUAL
from contract_tests.rules.observation import Observations, Undecided, decide
from contract_tests.rules.operations import own_requests
from link_management_contract import Resource


def odd_pages_do_not_fail(evidence: Evidence, resource: Resource) -> Observations:
    """Lists with an odd page or page size."""
    return _no_failure(evidence, resource, lambda exchange: exchange.request.operation == "list")


def odd_ids_do_not_fail(evidence: Evidence, resource: Resource) -> Observations:
    """Reads of ids that name no record, and updates of records that are gone."""
    return _no_failure(evidence, resource, lambda exchange: _is_odd_id(evidence, resource, exchange))


def odd_text_does_not_fail(evidence: Evidence, resource: Resource) -> Observations:
    """Creates and updates with odd text."""

    def odd(exchange: Exchange) -> bool:
        writes = exchange.request.operation in ("create", "update") and bool(exchange.request.form)
        return writes and exchange.request.shape == USUAL and not _is_odd_id(evidence, resource, exchange)

    return _no_failure(evidence, resource, odd)


def odd_forms_do_not_fail(evidence: Evidence, resource: Resource) -> Observations:
    """Creates and updates without a form, or with a malformed one."""

    def odd(exchange: Exchange) -> bool:
        writes = exchange.request.operation in ("create", "update") and not exchange.request.form
        return writes and not _is_odd_id(evidence, resource, exchange)

    return _no_failure(evidence, resource, odd)


def _no_failure(evidence: Evidence, resource: Resource, odd: Callable[[Exchange], bool]) -> Observations:
    """Failures on odd input, of operations that do not fail anyway."""
    works = {each.request.operation for each in own_requests(evidence, resource) if not each.failed}
    for exchange in evidence.of(resource.name, "list", "read", "create", "update", "delete", expects=Expect.OPEN):
        if odd(exchange) and exchange.status is not None:
            if exchange.failed and exchange.request.operation not in works:
                yield Undecided(f"each {exchange.request.operation} fails")
            elif exchange.failed and len(exchange.attempts) < TRIES - 1:
                yield Undecided(f"the answer was status {exchange.status}, once")
            else:
                received = f"status {exchange.status} on each of {TRIES} tries"
                yield decide(exchange, "any answer but a failure", received, kept=not exchange.failed)


def _is_odd_id(evidence: Evidence, resource: Resource, exchange: Exchange) -> bool:
    if exchange.request.operation != "update":
        return exchange.request.operation in ("read", "delete")
    deletes = (removal.exchange for removal in evidence.removals[resource.name])
    before = [each for each in deletes if each.number < exchange.number]
    return any(each.request.identifier == exchange.request.identifier for each in before)
