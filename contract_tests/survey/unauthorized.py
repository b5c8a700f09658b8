"""The chapter in which unauthorized clients try everything: without a key, with a wrong one, with another account's."""

from __future__ import annotations

from contextlib import suppress

from contract_tests.evidence import AccessAttempt, Listing
from contract_tests.exchange import Exchange, Expect
from contract_tests.survey.creating import create
from contract_tests.survey.visitor import Visitor
from contract_tests.target.identities import IDENTITIES, NOBODY
from contract_tests.target.target import WriteRefusedError


def try_access(visitor: Visitor, identifier: int, seen: Listing) -> list[AccessAttempt]:
    """Try to reach one of the run's records as each unauthorized client, then read it as the account."""
    reads = [
        each for each in visitor.evidence.of(visitor.resource.name, "read") if each.request.identifier == identifier
    ]
    shown = [each.record for each in reads if each.record]
    record = shown[-1] if shown else seen.by_id.get(identifier) or {}
    made: list[tuple[str, Exchange, str]] = []
    for identity in (each for each in IDENTITIES if each == NOBODY or each in visitor.target.keys):
        for operation in _attempts(visitor, identity):
            marker = visitor.mark() if operation in ("create", "update") else ""
            with suppress(WriteRefusedError):
                exchange = attempt(visitor, identifier, identity, operation, marker)
                made.append((identity, exchange, marker))
                if operation == "create" and not exchange.is_refusal:
                    visitor.settle()  # ids may be those of another account's new record, which has to be seen as such
    visitor.settle()
    read = visitor.read(identifier, Expect.OPEN)
    listed = seen.by_id.get(identifier)
    access_attempts = [
        AccessAttempt(identity, exchange, marker, record, read, listed=listed) for identity, exchange, marker in made
    ]
    if read.failed or read.shows(visitor.resource):
        return access_attempts
    others = [each for each in access_attempts if each.exchange.request.operation != "delete"]
    deleters = [each.identity for each in access_attempts if each.exchange.request.operation == "delete"]
    return others + [each for identity in deleters for each in _delete_alone(visitor, identity)]


def _attempts(visitor: Visitor, identity: str) -> tuple[str, ...]:
    """What an identity tries: only reads and lists, if nothing may be written."""
    every = IDENTITIES[identity].tries.get(visitor.resource.name, ())
    return every if visitor.writes else tuple(each for each in every if each in ("list", "read"))


def _delete_alone(visitor: Visitor, identity: str) -> list[AccessAttempt]:
    """Try a delete on a separate record, since it is unknown whose delete removed the one that all tried."""
    creation = create(visitor, visitor.least(), "alone", Expect.OPEN, frozenset())
    before = creation.read.record if creation.read else None
    if creation.identifier is None or before is None:
        return []
    try:
        exchange = visitor.delete(creation.identifier, Expect.OPEN, identity)
    except WriteRefusedError:
        return []
    return [AccessAttempt(identity, exchange, "", before, visitor.read(creation.identifier, Expect.OPEN))]


def attempt(visitor: Visitor, identifier: int, identity: str, operation: str, marker: str) -> Exchange:
    """Try an operation with an identity's key; the marker is for what it creates or changes."""
    match operation:
        case "list":
            return visitor.list(Expect.OPEN, identity, results_per_page=str(visitor.largest))
        case "read":
            return visitor.read(identifier, Expect.OPEN, identity)
        case "create":
            return visitor.post(visitor.least() | {visitor.resource.label: marker}, Expect.OPEN, identity)
        case "update":
            return visitor.update(identifier, {visitor.resource.label: marker}, Expect.OPEN, identity)
        case _:
            return visitor.delete(identifier, Expect.OPEN, identity)
