"""What a run came to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from contract_tests.exchange import Exchange
from contract_tests.masking import Masking
from contract_tests.open_points import observed
from contract_tests.run.verdicts import Result
from contract_tests.target.entries import Entry


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes:
        base_url: the target.
        version: the contract's.
        began: when, in seconds since 1970.
        word: *conforms*, *does not conform*, *undecided*, *partial: no claim* or *interrupted: no claim*; with records
            left behind, it says so.
        status: the exit status that goes with it.
        not_judged: what the word says nothing of.
        notes: what every client meets there, and no rule forbids.
        not_run: how many results there might have been beside these.
        created: how many records the run made.
        left: what it made and could not remove.
        strict: whether advisory rules gate.
        insecure: whether any certificate was trusted.
        stale: what is wrong with the waivers.
        interrupted: whether it was stopped before its end.
        masking: what must not be told of the exchanges.
    """

    base_url: str
    version: str
    began: float
    seconds: float
    word: str
    status: int
    results: tuple[Result, ...]
    exchanges: tuple[Exchange, ...]
    requests: int
    not_run: int
    created: int = 0
    left: tuple[Entry, ...] = ()
    strict: bool = False
    insecure: bool = False
    not_judged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    interrupted: bool = False
    masking: Masking = field(default_factory=lambda: Masking.of({}, []))

    @property
    def verdict(self) -> str:
        """The word, and what it says nothing of."""
        return f"{self.word}; not judged: {', '.join(self.not_judged)}" if self.not_judged else self.word

    @cached_property
    def observed(self) -> dict[str, Counter[str]]:
        """The values that were seen of each open point, each with how often."""
        return observed(self.exchanges)
