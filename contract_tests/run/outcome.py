"""The outcome of a run."""

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
    """The outcome of a run.

    Attributes:
        base_url: the target.
        version: the contract's.
        began: when, in seconds since 1970.
        word: *conforms*, *does not conform*, *undecided*, *partial: no claim* or *interrupted: no claim*; with records
            left behind, it says so.
        status: the exit status that goes with it.
        not_judged: what the word does not cover.
        notes: what every client runs into though no rule forbids it.
        not_run: how many more results there might have been.
        created: how many records the run made.
        left: what it made and could not remove.
        strict: whether advisory rules can fail the run.
        insecure: whether any certificate was trusted.
        stale: what is wrong with the waivers.
        interrupted: whether it was stopped before its end.
        masking: masks what must not be reported of the exchanges.
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
        """The word, and what it does not cover."""
        return f"{self.word}; not judged: {', '.join(self.not_judged)}" if self.not_judged else self.word

    @cached_property
    def observed(self) -> dict[str, Counter[str]]:
        """The values seen for each open point, each with a count."""
        return observed(self.exchanges)
