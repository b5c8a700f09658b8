"""Tries a client: once with default choices, then with the others that it meets, with trouble, with defects."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
OPEN, TROUBLE, BROKEN = "open", "trouble", "defects"
UNTRIED = {"result": NOT_TRIED, "findings": [], "output": ""}
Entry = dict[str, Any]


class OwnFailureError(Exception):
    """The client fails with default choices: why, and what it printed."""


class SpentError(Exception):
    """All runs that are allowed have been made."""


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

    Attributes:
        entries: what becomes of each variation that the client can meet, as JSON: its `kind`, its `name`, its `result`,
            and the `findings` if it failed, each of which is `what` the client did with a `request`; a choice also has
            its `value`, the `usual` one, and, if it fails only with others, those `together` with it.
        seconds: how long it took.
        count: how many runs there were.
        stopped: why not everything was tried, or an empty string.
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
        self.entries: dict[Variation, Entry] = {}
        self.count, self.chance, self.seconds, self.stopped = 0, 0.0, 0.0, ""
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
            if BROKEN in vary:
                self._vary_defects(only)
            if not self.entries:
                self.stopped = "as the client's requests show nothing of what is varied"
        except SpentError:
            self.stopped = f"after {self._most} runs"
        finally:
            self.seconds = time.monotonic() - self._began

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
        self._runs.first = self._known[DEFAULT] = first
        self._say(f"default choices  passed  {first.seconds:.1f} s  {first.count} requests")

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
        self.chance = max(failed, 1) / tried
        if self.chance > HALF:
            raise OwnFailureError(f"failed in {failed} of {tried} runs", last.output)
        self._repeats = min(MOST_REPEATS, math.ceil(math.log(SURE) / math.log(self.chance)))

    def _vary_choices(self, only: Collection[str], together: int) -> None:
        """Try the choices that the client's requests can reveal, several at a time."""
        points = contract_of(self._settings).open_points
        usual = Choices(points, self._settings.choices)
        others = [(name, value) for name in points if not only or name in only for value in points[name].values]
        others = [(name, value) for name, value in others if value != usual[name]]
        changes = [{"choices": {**self._settings.choices, name: value}} for name, value in others]
        values: dict[str, list[str]] = {}
        for (name, value), place in zip(others, self._places(changes), strict=True):
            if place:
                values.setdefault(name, [usual[name]]).append(value)
                about = {"kind": OPEN, "name": name, "value": value, "usual": usual[name], "request": place}
                self.entries[_of(name, value)] = about | UNTRIED
        rows = covering(values, usual, together=together)
        if rows:
            met = f"{len(self.entries)} other values of the {len(values)} open points it meets"
            self._say(f"{len(rows)} runs cover the {met}")
        if self._jobs > 1:
            list(self._outcomes([Variation(frozenset(row)) for row in rows]))
        else:
            self._planned += len(rows)
        for row in rows:
            self._judge(row)

    def _judge(self, row: Sequence[Choice]) -> None:
        """Find what the client fails with among choices; what is known already is left out."""
        left = [choice for choice in row if self.entries[_of(*choice)]["result"] != FAILED]
        if left and self._fails(left):
            self._say(f"  run {self.count} failed: narrowing down from {len(left)} choices ...")
            for smallest in narrowed(left, self._fails):
                self._note(smallest)
        for choice in left:
            self._survived(choice)

    def _note(self, smallest: Sequence[Choice]) -> None:
        """Note what the client fails with, and try the other values of the same point, each by itself."""
        *others, (name, value) = smallest
        entry, result = self.entries[_of(name, value)], self._known[Variation(frozenset(smallest))]
        entry.update(result=FAILED, together=dict(others), findings=[_finding(result.why, entry["request"])])
        entry.update(output=result.output)
        known = [each for each in self.entries.values() if each["name"] == name and each["result"] == NOT_TRIED]
        for other in [] if others else [(name, each["value"]) for each in known]:
            if self._fails([other]):
                self._note([other])
            else:
                self._survived(other)

    def _survived(self, choice: Choice) -> None:
        if self.entries[_of(*choice)]["result"] == NOT_TRIED:
            self.entries[_of(*choice)]["result"] = SURVIVED

    def _vary_trouble(self, only: Collection[str]) -> None:
        """Try each kind of trouble that the client can meet."""
        calls = [self._runs.operations.called_by(*_line(request)) for request in self._runs.first.requests]
        called = {operation.name for operation in calls if operation}
        names = [name for name, kind in KINDS.items() if (not only or name in only) and called & {*kind.operations}]
        self._try_each({Variation(trouble=name): {"name": name, "what": KINDS[name].what} for name in names}, TROUBLE)

    def _vary_defects(self, only: Collection[str]) -> None:
        """Try each defect that the client can meet."""
        names = [name for name in DEFECTS if not only or name in only]
        places = self._places([{"defects": (name,)} for name in names])
        met = [name for name, place in zip(names, places, strict=True) if place]
        self._try_each({Variation(defect=name): {"name": name, "what": DEFECTS[name].rule} for name in met}, BROKEN)

    def _try_each(self, about: Mapping[Variation, Entry], kind: str) -> None:
        """Try variations one at a time; those that turn out to hit no request are left out."""
        self.entries.update((variation, {"kind": kind, **entry} | UNTRIED) for variation, entry in about.items())
        for variation, result in zip(about, self._outcomes([*about]), strict=True):
            findings = [_finding(*each) for each in result.findings]
            findings += [_finding(result.why, ", ".join(result.hit))] if result.why else []
            told = {"result": FAILED if findings else SURVIVED, "findings": findings, "output": result.output}
            self.entries[variation].update(told)
            if variation.trouble and not result.hit and not findings:
                del self.entries[variation]

    def _places(self, changes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """For each other server, the first request of the client that it answers differently, or an empty string."""
        for request in differing(self._runs.first.requests, self._settings, changes):
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
        with self._lock:
            if self.count >= self._most:
                raise SpentError
            self.count += 1
            number, self._planned = self.count, max(self._planned, self.count)
        result = self._runs(variation)
        left = (time.monotonic() - self._began) / number * (self._planned - number)
        what = f"{len(variation.choices)} choices" if len(variation.choices) > 2 else str(variation)  # noqa: PLR2004
        self._progress(
            f"run {number} of {self._planned}: {what}: {result.why or 'passed'}, {result.seconds:.1f} s,"
            f" {result.count} requests; about {left:.0f} s left"
        )
        return result


def _of(name: str, value: str) -> Variation:
    return Variation(frozenset({(name, value)}))


def _finding(what: str, request: str) -> dict[str, str]:
    return {"what": what, "request": request}


def _line(request: Request) -> tuple[str, str]:
    return request.environ["REQUEST_METHOD"], request.environ["PATH_INFO"]
