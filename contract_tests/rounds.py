"""Rounds of requests that were sent at one moment, and what each order of them could have led to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import permutations, product
from typing import Any

from contract_tests.exchange import Exchange, id_of

State = frozenset[str] | None  # the fields of a record that are no longer as they were, or None without a record
NO_RECORD: State = None


class Fate(Enum):
    """What became of a write, as far as its answer tells."""

    DONE = auto()
    REFUSED = auto()
    UNKNOWN = auto()


def fate_of(exchange: Exchange) -> Fate:
    """What became of a write: after a failure, without an answer or by an odd one it may have been carried out."""
    if exchange.failed:
        return Fate.UNKNOWN
    if not exchange.succeeded or exchange.is_refusal_in_disguise:
        return Fate.REFUSED
    told = exchange.request.operation == "delete" or id_of(exchange.data) is not None
    return Fate.DONE if told else Fate.UNKNOWN


@dataclass(frozen=True)
class Step:
    """A request of a round.

    Attributes:
        name: what it is called where orders are told.
        changes: the fields that an update changes; empty for a read, None for a delete.
        fate: what became of it.
        shows: what a read shows; of no matter for a write.
    """

    name: str
    changes: frozenset[str] | None = frozenset()
    fate: Fate = Fate.DONE
    shows: State = frozenset()

    @property
    def is_read(self) -> bool:
        """Whether it writes nothing."""
        return self.changes is not None and not self.changes


def orders(steps: Sequence[Step]) -> Iterator[tuple[tuple[str, ...], State]]:
    """Each order of a round's requests that its reads allow, with the state of the record after it.

    A write that was refused changes nothing; one whose fate is unknown may have been carried out or not. An update of a
    record that is gone changes nothing, whatever it is answered.
    """
    certain = [step for step in steps if step.is_read or step.fate is Fate.DONE]
    unknown = [step for step in steps if not step.is_read and step.fate is Fate.UNKNOWN]
    for taken in product((True, False), repeat=len(unknown)):
        carried_out = certain + [step for step, is_taken in zip(unknown, taken, strict=True) if is_taken]
        for order in permutations(carried_out):
            state: State = frozenset()
            for step in order:
                if step.is_read and step.shows != state:
                    break
                if step.changes is None:
                    state = NO_RECORD
                elif state is not None:
                    state |= step.changes
            else:
                yield tuple(step.name for step in order), state


def told(state: State) -> str:
    """A state, for people."""
    if state is None:
        return "no record"
    return f"{' and '.join(sorted(state))} changed" if state else "nothing changed"


@dataclass(frozen=True)
class Round:
    """Requests about the run's own records that were sent at one moment, and what was seen once all were answered.

    Attributes:
        kind: which requests overlap: `updates`, `update and delete`, `deletes`, `creates`, `reads` or `burst`.
        exchanges: the requests, in the order of their answers.
        before: the record that they are about, as it was; empty if they are about none.
        reads: reads afterwards: of that record, or of the created ones.
        listed: the ids of a whole listing afterwards, or None if it was none.
        total: the total that it stated.
        is_sound: whether the total was right before.
    """

    kind: str
    exchanges: tuple[Exchange, ...]
    before: Mapping[str, Any] = field(default_factory=dict)
    reads: tuple[Exchange, ...] = ()
    listed: tuple[Any, ...] | None = None
    total: int | None = None
    is_sound: bool = True

    def changed(self, record: Mapping[str, Any] | None) -> State:
        """The fields in which a record that is shown differs from before, among those that updates name."""
        if not record:
            return NO_RECORD
        return frozenset(name for name in self.named if record.get(name) != self.before.get(name))

    @property
    def named(self) -> frozenset[str]:
        """The fields that the round's updates name."""
        return frozenset(name for each in self.exchanges for name in each.request.form or {})

    def steps(self) -> list[Step]:
        """The round's requests as steps of an order; reads that showed no record say nothing."""
        steps = []
        for number, each in enumerate(self.exchanges, 1):
            request = each.request
            if request.operation == "update":
                name = f"{number}: update of {', '.join(request.form or {})}"
                steps.append(Step(name, frozenset(request.form or {}), fate_of(each)))
            elif request.operation == "delete":
                steps.append(Step(f"{number}: delete", None, fate_of(each)))
            elif each.record is not None:
                steps.append(Step(f"{number}: read", shows=self.changed(each.record)))
        return steps

    def timeline(self) -> tuple[str, ...]:
        """The requests with their times, what was seen afterwards, and what each order would have given."""
        began = min((each.began for each in self.exchanges), default=0.0)
        lines = [
            f"{(each.began - began) * 1000:7.1f} to {(each.began + each.seconds - began) * 1000:.1f} ms  "
            f"{each.request.method} {each.request.target}{_fields(each)}  "
            f"{f'status {each.status}' if each.status else 'no answer'}{self._shown(each)}"
            for each in self.exchanges
        ]
        if self.before:
            lines += [
                f"afterwards  GET {each.request.target}  {told(self.changed(each.record))}" for each in self.reads[:1]
            ]
            possible: dict[str, list[str]] = {}
            for order, state in orders(self.steps()):
                possible.setdefault(told(state), []).append("; ".join(order) or "none of them")
            lines += [f"would give {what}: {names[0]}" for what, names in possible.items()]
        return tuple(lines)

    def _shown(self, exchange: Exchange) -> str:
        is_read = exchange.request.operation == "read" and self.before and exchange.record
        return f", {told(self.changed(exchange.record))}" if is_read else ""


def _fields(exchange: Exchange) -> str:
    return f" ({', '.join(exchange.request.form)})" if exchange.request.form else ""
