"""What a run saw, in the form in which detectors recognise choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from contract_tests.exchange import OWN, Exchange, Expect

Exchanges = Sequence[Exchange]
Look = Callable[[Exchanges], Iterator[str]]


def successes(exchanges: Exchanges, operation: str, *resources: str) -> Iterator[Exchange]:
    """The account's own successes of an operation, with JSON."""
    for each in exchanges:
        request = each.request
        asked = request.operation == operation and (not resources or request.resource in resources)
        readable = operation == "delete" or isinstance(each.json, dict)
        if asked and request.identity == OWN and each.succeeded and readable:
            yield each


def reads(exchanges: Exchanges, *resources: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """The records that reads show."""
    return ((each, each.record) for each in successes(exchanges, "read", *resources) if each.record)


def first_reads(exchanges: Exchanges, *resources: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """Each create with the first read of its record, where nothing was written to it in between."""
    waiting: dict[tuple[str, Any], Exchange] = {}
    for each in exchanges:
        request = each.request
        if request.operation == "create" and each.made_id is not None and request.identity == OWN:
            waiting[request.resource, each.made_id] = each
        elif request.operation in ("update", "delete"):
            waiting.pop((request.resource, request.identifier), None)
        elif request.operation == "read" and each.record and (not resources or request.resource in resources):
            made = waiting.pop((request.resource, request.identifier), None)
            if made:
                yield made, each.record


def reads_after_updates(
    exchanges: Exchanges, *resources: str
) -> Iterator[tuple[dict[str, Any], Exchange, dict[str, Any]]]:
    """What a record showed before an update that succeeded, the update, and what it showed next."""
    shown: dict[tuple[str, Any], dict[str, Any]] = {}
    update: dict[tuple[str, Any], Exchange] = {}
    for each in exchanges:
        place = (each.request.resource, each.request.identifier)
        if each.request.operation == "update" and each.succeeded and each.request.form:
            update[place] = each
        elif each.request.operation == "read" and each.record and (not resources or each.request.resource in resources):
            if place in update and place in shown:
                yield shown[place], update.pop(place), each.record
            shown[place] = each.record


def refused(exchanges: Exchanges) -> Iterator[Exchange]:
    """Creates that must not succeed, and did not."""
    for each in exchanges:
        request = each.request
        if each.expects is Expect.REFUSAL and request.identity == OWN and each.made_id is None and not each.failed:
            yield each
