"""Tries a client: once with default choices, then with the others that it meets, with trouble, with defects."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from mock_server.app import contract_of
from mock_server.choices import Choices
from mock_server.defects import DEFECTS
from mock_server.errors import SettingsError
from mock_server.settings import Settings
from mock_server.trial.runs import Result, Runs
from mock_server.trial.traffic import Request, differing
from mock_server.trial.trouble import KINDS
from mock_server.trial.variations import Choice, Variation, covering, narrowed

DEFAULT = Variation()
SURVIVED, FAILED, NOT_TRIED = "survived", "failed", "not tried"
TRIALS, SURE, MOST_REPEATS = 10, 0.01, 8  # runs that show how often a command fails by itself, and what is sure enough
HALF = 0.5
UNHEARD = (
    "the client passed, but sent no request to $MOCK_URL, which says where the server is; give the name of the variable"
    " that it reads, such as --env BASE_URL={url}"
)
OPEN, TROUBLE, DEFECTS_TOO = "open", "trouble", "defects"


class OwnFailureError(Exception):
    """The client fails with default choices: why, and what it printed."""


class SpentError(Exception):
    """All runs that are allowed have been made."""


@dataclass
class Verdict:
    """What is known of a client.

    Attributes:
        first: the run with default choices.
        usual: the default choices.
        met: the choices that its requests can reveal, each with a request that does.
        results: what became of each of these.
        dependencies: the smallest sets of choices that it fails with, each with the run that shows it.
        trouble: the run with each kind of trouble.
        defects: the run with each defect.
        runs: how many runs there were.
        failures: in how many of them the client failed, by choice.
        chance: how often the command fails by itself, from 0 to 1.
        stopped: why not everything was tried, or an empty string.
    """

    first: Result = field(default_factory=Result)
    usual: Mapping[str, str] = field(default_factory=dict)
    met: dict[Choice, str] = field(default_factory=dict)
    results: dict[Choice, str] = field(default_factory=dict)
    dependencies: list[tuple[tuple[Choice, ...], Result]] = field(default_factory=list)
    trouble: dict[str, Result] = field(default_factory=dict)
    defects: dict[str, Result] = field(default_factory=dict)
    runs: int = 0
    failures: Counter[Choice] = field(default_factory=Counter)
    chance: float = 0.0
    seconds: float = 0.0
    stopped: str = ""


class Campaign:
    """Tries one client.

    Args:
        runs: serves it.
        settings: those of the server.
        say: prints a line of what is found.
        progress: prints a line about a run.
        jobs: how many runs there are at a time.
        most: how many there may be in all.
        is_repeated: whether a run can be made once more, to see whether the client fails by itself.
    """

    def __init__(  # noqa: PLR0913 - most by keyword
        self,
        runs: Runs,
        settings: Settings,
        say: Callable[[str], None],
        progress: Callable[[str], None],
        *,
        jobs: int = 1,
        most: int = 1000,
        is_repeated: bool = True,
    ) -> None:
        self.verdict = Verdict(usual=Choices(contract_of(settings).open_points, settings.choices))
        self._runs, self._settings, self._say, self._progress = runs, settings, say, progress
        self._jobs, self._most = jobs, most
        self._repeats, self._is_trusted, self._planned = 1, not is_repeated, 1
        self._known: dict[Variation, Result] = {}
        self._began, self._lock = time.monotonic(), threading.Lock()

    def carry_out(self, vary: Collection[str], only: Collection[str] = (), *, together: int = 1) -> None:
        """Try everything.

        Args:
            vary: any of open, trouble and defects.
            only: names of open points, kinds of trouble and defects; all, if empty.
            together: how many choices are tried together: each alone with 1, in pairs with 2.

        Raises:
            OwnFailureError: if the client fails by itself.
            SettingsError: if it cannot be started, or sends no request.
        """
        try:
            self._try_first()
            if OPEN in vary:
                self._vary_choices(only, together)
            if TROUBLE in vary:
                self._vary_trouble(only)
            if DEFECTS_TOO in vary:
                self._vary_defects(only)
        except SpentError:
            self.verdict.stopped = f"after {self._most} runs"
        finally:
            self.verdict.seconds = time.monotonic() - self._began

    def _try_first(self) -> None:
        """Run with default choices."""
        first = self._run(DEFAULT)
        if first.why and not self._is_trusted and not (again := self._run(DEFAULT)).why:
            self._measure(1, 2)
            first = again
        if first.why:
            raise OwnFailureError(first.why, first.output)
        if not first.count:
            raise SettingsError(UNHEARD)
        self._runs.first = self.verdict.first = self._known[DEFAULT] = first

    def _measure(self, failed: int, tried: int) -> None:
        """Find out how often the client fails by itself, and repeat each run that fails so often that it says enough.

        Raises:
            OwnFailureError: if it is too often.
        """
        self._say("your client fails now and then by itself: measuring how often ...")
        self._is_trusted = True
        last = Result()
        while tried < TRIALS:
            last = self._run(DEFAULT)
            failed, tried = failed + bool(last.why), tried + 1
        self.verdict.chance = max(failed, 1) / tried
        if self.verdict.chance > HALF:
            raise OwnFailureError(f"failed in {failed} of {tried} runs", last.output)
        self._repeats = min(MOST_REPEATS, math.ceil(math.log(SURE) / math.log(self.verdict.chance)))

    def _vary_choices(self, only: Collection[str], together: int) -> None:
        """Try the choices that the client's requests can reveal, several at a time."""
        verdict, usual = self.verdict, self.verdict.usual
        points = contract_of(self._settings).open_points
        self._say(f"default choices  passed  {verdict.first.seconds:.1f} s  {verdict.first.count} requests")
        others = [
            (name, value)
            for name, point in points.items()
            if not only or name in only
            for value in point.values
            if value != usual[name]
        ]
        changes = [{"choices": {**self._settings.choices, name: value}} for name, value in others]
        verdict.met = {choice: place for choice, place in zip(others, self._places(changes), strict=True) if place}
        verdict.results = dict.fromkeys(verdict.met, NOT_TRIED)
        values: dict[str, list[str]] = {}
        for name, value in verdict.met:
            values.setdefault(name, [usual[name]]).append(value)
        rows = covering(values, usual, together=together)
        self._say(
            f"{len(rows)} runs cover the {len(verdict.met)} other values of the {len(values)} open points it meets"
        )
        if self._jobs > 1:
            self._outcomes([Variation(frozenset(row)) for row in rows])
        else:
            self._planned += len(rows)
        for row in rows:
            self._judge(row)

    def _judge(self, row: Sequence[Choice]) -> None:
        """Find what the client fails with among choices; what is known already is left out."""
        results = self.verdict.results
        left = [choice for choice in row if results[choice] != FAILED]
        if left and self._fails(left):
            self._say(f"  run {self.verdict.runs} failed: narrowing down from {len(left)} choices ...")
            for smallest in narrowed(left, self._fails):
                self._note(smallest)
                if len(smallest) == 1:
                    self._try_others(smallest[0][0])
        results.update({choice: SURVIVED for choice in left if results[choice] == NOT_TRIED})

    def _try_others(self, point: str) -> None:
        """Try the other values of a point, each by itself, once the client fails with one of them."""
        results = self.verdict.results
        for choice in [each for each, known in results.items() if each[0] == point and known == NOT_TRIED]:
            if self._fails([choice]):
                self._note([choice])
            else:
                results[choice] = SURVIVED

    def _note(self, smallest: list[Choice]) -> None:
        """Note what the client fails with."""
        self.verdict.results[smallest[-1]] = FAILED
        self.verdict.dependencies.append((tuple(smallest), self._known[Variation(frozenset(smallest))]))

    def _vary_trouble(self, only: Collection[str]) -> None:
        """Try each kind of trouble that the client can meet, one at a time."""
        calls = [self._runs.operations.called_by(*_line(request)) for request in self.verdict.first.requests]
        called = {operation.name for operation in calls if operation}
        names = [name for name, kind in KINDS.items() if (not only or name in only) and called & {*kind.operations}]
        tried = zip(names, self._outcomes([Variation(trouble=name) for name in names]), strict=True)
        self.verdict.trouble.update((name, result) for name, result in tried if result.hit or result.why)

    def _vary_defects(self, only: Collection[str]) -> None:
        """Try each defect that the client can meet."""
        names = [name for name in DEFECTS if not only or name in only]
        places = self._places([{"defects": (name,)} for name in names])
        met = [name for name, place in zip(names, places, strict=True) if place]
        tried = zip(met, self._outcomes([Variation(defect=name) for name in met]), strict=True)
        self.verdict.defects.update(tried)

    def _places(self, changes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """For each other server, the first request of the client that it answers differently, or an empty string."""
        for request in differing(self.verdict.first.requests, self._settings, changes):
            line = _line(request) if request else None
            yield str(self._runs.operations.called_by(*line) or " ".join(line)) if line else ""

    def _fails(self, choices: Sequence[Choice]) -> bool:
        return bool(self._outcome(Variation(frozenset(choices))).why)

    def _outcomes(self, variations: Sequence[Variation]) -> Iterator[Result]:
        """The outcomes of several variations, some at a time."""
        self._planned += len(variations)
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                yield from pool.map(self._outcome, variations)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _outcome(self, variation: Variation) -> Result:
        """How the client fares, which is known if it passes once; if it fails, it may have failed by itself."""
        known = self._known.get(variation)
        if known:
            return known
        result = self._run(variation)
        for _ in range(self._repeats - 1):
            result = self._run(variation) if result.why else result
        if result.why and not self._is_trusted:
            self._is_trusted = True
            again = self._run(variation)
            if not again.why:
                self._measure(0, 0)
                result = again
        self._known[variation] = result
        return result

    def _run(self, variation: Variation) -> Result:
        """Let the client do its work once.

        Raises:
            SpentError: if it may not.
        """
        verdict = self.verdict
        with self._lock:
            if verdict.runs >= self._most:
                raise SpentError
            verdict.runs += 1
            number, self._planned = verdict.runs, max(self._planned, verdict.runs)
        result = self._runs(variation)
        verdict.failures.update(variation.choices if result.why else ())
        left = (time.monotonic() - self._began) / number * (self._planned - number)
        what = f"{len(variation.choices)} choices" if len(variation.choices) > 2 else str(variation)  # noqa: PLR2004
        self._progress(
            f"run {number} of {self._planned}: {what}: {result.why or 'passed'}, {result.seconds:.1f} s,"
            f" {result.count} requests; about {left:.0f} s left"
        )
        return result


def _line(request: Request) -> tuple[str, str]:
    return request.environ["REQUEST_METHOD"], request.environ["PATH_INFO"]
