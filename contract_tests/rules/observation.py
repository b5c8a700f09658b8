"""What a rule finds in the evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from contract_tests.evidence import Evidence, Record
from contract_tests.exchange import Exchange, id_of
from contract_tests.masking import shape
from link_management_contract import Resource

LONGEST, LONGEST_ID = 60, 20
TOGGLED = ("webhook", "slack")  # types of a handler that no service has a reason to switch on or off by itself


@dataclass(frozen=True)
class Satisfied:
    """A witness: the rule was tested there, and satisfied."""

    exchange: Exchange


@dataclass(frozen=True)
class Violation:
    """Contrary evidence.

    Attributes:
        exchange: the answer that shows it.
        expected: what the rule requires there, in words.
        received: what came, in words.
        at: the place of the value in the answer's JSON (RFC 6901), if it has one; it may be missing there.
        timeline: requests that overlapped, a line each, and what each order of them would have led to.
        together: those requests.
    """

    exchange: Exchange
    expected: str
    received: str
    at: str = ""
    timeline: tuple[str, ...] = ()
    together: tuple[Exchange, ...] = ()


@dataclass(frozen=True)
class Undecided:
    """The rule applies, but could not be decided there."""

    reason: str


@dataclass(frozen=True)
class NotApplicable:
    """The rule does not apply, because its condition does not hold.

    Attributes:
        unjudged: what was not judged because the run was not given something; empty otherwise.
    """

    reason: str
    unjudged: str = ""


Observation = Satisfied | Violation | Undecided | NotApplicable
Observations = Iterator[Observation]


def decide(exchange: Exchange, expected: str, received: str, *, kept: bool, at: str = "") -> Observation:
    """A witness or contrary evidence."""
    return Satisfied(exchange) if kept else Violation(exchange, expected, received, at)


def place(exchange: Exchange, record: Any, name: str) -> str:
    """Where the field of a record is in an answer that shows this very record."""
    rows = exchange.data if isinstance(exchange.data, list) else []
    number = next((number for number, row in enumerate(rows) if row is record), None)
    return f"/data/{name}" if number is None else f"/data/{number}/{name}"


def shown(value: Any, *, own: bool) -> str:
    """A value for a report; only its type and shape if the record is somebody else's."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    whole = repr(value)
    text = whole[:LONGEST] if own else shape(whole[:LONGEST])
    name = {str: "text", int: "a number", float: "a number", list: "an array", dict: "an object"}.get(type(value), "")
    return f"{name} {text}{'…' if len(whole) > LONGEST else ''}"


def id_text(record: Record) -> str:
    """The id of a record for a report, as it stands in the JSON."""
    return json.dumps(record.get("id"))[:LONGEST_ID]


def steady(resource: Resource) -> list[str]:
    """The fields that only a write changes; whether a domain is enabled may change by itself."""
    return [name for name in resource.shape if name != "is_enabled" or resource.types]


def steady_records(resource: Resource, rows: Iterable[Record]) -> dict[Any, Record]:
    """Records by id, with only the fields that only a write changes; others may show the time."""
    return {id_of(row): {name: row.get(name) for name in steady(resource)} for row in rows}


def others_wrote(evidence: Evidence, resource: Resource) -> bool:
    """Whether records changed, came or went while the run only read."""
    return any(
        steady_records(resource, before.rows) != steady_records(resource, after.rows)
        for before, after in evidence.controls[resource.name]
    )


def answer(exchange: Exchange) -> str:
    """An answer in a few words."""
    if exchange.status is None:
        return f"no answer: {exchange.error[:100]}"
    return f"status {exchange.status}"
