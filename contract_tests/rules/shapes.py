"""The rule about forms as other clients write them."""

from __future__ import annotations

from contract_tests.evidence import Change, Evidence
from contract_tests.markers import begins
from contract_tests.multipart import NOTHING_CHOSEN
from contract_tests.rules.observation import Observations, Satisfied, Undecided, Violation, decide, shown
from contract_tests.rules.operations import accepted
from link_management_contract import Resource


def client_shapes_are_understood(evidence: Evidence, resource: Resource) -> Observations:
    """Updates with forms as other clients write them, where this suite's form with the same fields is accepted."""
    plain = [change for change in evidence.changes[resource.name] if _is_renamed(change, resource)]
    taken = [set(change.exchange.request.form or {}) for change in plain]
    for change in evidence.shaped[resource.name]:
        if set(change.exchange.request.form or {}) not in taken:
            yield Undecided("the same fields were not taken from this suite either")
            continue
        shape, observation = change.exchange.request.shape, accepted(change.exchange)
        record = change.read.record if change.read else None
        if isinstance(observation, Violation) and shape != NOTHING_CHOSEN:  # a file without content may be refused
            yield Violation(change.exchange, f"a success; {shape.like} sends forms like this", observation.received)
        elif isinstance(observation, Undecided):
            yield observation
        elif (
            isinstance(observation, Satisfied)
            and record
            and change.read
            and isinstance(record.get(resource.label), str)
        ):
            kept = begins(record[resource.label], change.form[resource.label])
            expected = f"{resource.label} {change.form[resource.label]!r}; {shape.like} sends forms like this"
            yield decide(change.read, expected, shown(record[resource.label], own=True), kept=kept)


def _is_renamed(change: Change, resource: Resource) -> bool:
    """Whether an update gave a record another name or host, and a read shows it."""
    record = change.read.record if change.read else None
    label = change.form.get(resource.label, "")
    return change.exchange.succeeded and bool(label) and begins((record or {}).get(resource.label), label)
