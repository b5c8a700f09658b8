"""Tries a client: once with default choices, then with the others that it meets, with trouble, with defects."""

import math
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from statistics import median
from typing import Any

from mock_server.app import contract_of
from mock_server.defects import DEFECTS
from mock_server.errors import SettingsError
from mock_server.output import say
from mock_server.settings.choices import Choices
from mock_server.settings.settings import Settings
from mock_server.trial.runs import ENDLESS, Result, Runs
from mock_server.trial.traffic import Operation, Request, differing
from mock_server.trial.trouble import KINDS
from mock_server.trial.variations import Choice, Variation, narrowed, rows_of

DEFAULT = Variation()
SURVIVED, GAVE_UP, FAILED, NOT_TRIED = "survived", "gave up", "failed", "not tried"
DEFAULT_RUNS, MAX_FAILURE_RATE = (
    10,
    0.5,
)  # runs that show how often a client fails by itself, and a share that is too often
BY_CHANCE, MAX_REPEATS = 0.0001, 13  # how seldom a failure may be chance, and runs until that is so
UNHEARD = (
    "the client passed, but sent no request to $MOCK_URL, which says where the server is; give the name of the variable"
    " that it reads, such as --env BASE_URL={url}"
)
OPEN, TROUBLE, BROKEN = "open", "trouble", "defects"
UNTRIED: dict[str, Any] = {"result": NOT_TRIED, "findings": [], "tests": [], "first_error": "", "output": ""}
Entry = dict[str, Any]


class OwnFailureError(Exception):
    """The client fails with default choices: why, and what it printed."""


class FlakyError(Exception):
    """A client that failed passes, though nothing is different."""


class SpentError(Exception):
    """All runs that are allowed have been made, or the time is over; the message says which."""


class ClientTest:
    """Tries one client.

    Args:
        runs: serves it.
        settings: those of the server.
        jobs: how many runs there are at a time.
        max_runs: how many there may be in all.
        max_seconds: how long all may take; no run begins that would end later if it takes as long as the longest.
        is_repeated: whether a run can be made once more, to see whether the client fails by itself.

    Attributes:
        entries: what becomes of each variation that the client can meet, as JSON: its `kind`, its `name`, its `result`,
            the `findings`, each of which is `what` the client did with a `request`, the `tests` that failed, and the
            `first_error`. Trouble also says if the client does `harm`; a choice has its `value`, the `usual` one, and,
            if the client fails only with others, those `together` with it.
        seconds: how long it took.
        count: how many runs there were.
        stop_reason: why not everything was tried, or an empty string.
        suspicion: that it fails with one of some choices, if there was no time to find out which, or an empty string.
        flaky: what shows that the client fails by itself now and then, or an empty string.
        own_failure: why it fails by itself, or an empty string.
        output: what it printed then.
    """

    def __init__(  # noqa: PLR0913 - what bounds a trial
        self,
        runs: Runs,
        settings: Settings,
        *,
        jobs: int = 1,
        max_runs: int = 1000,
        max_seconds: float = math.inf,
        is_repeated: bool = True,
    ) -> None:
        self.entries: dict[Variation, Entry] = {}
        self.count, self.seconds = 0, 0.0
        self.stop_reason = self.suspicion = self.flaky = self.own_failure = self.output = ""
        self._runs, self._settings, self._jobs = runs, settings, jobs
        self._max_runs, self._max_seconds = max_runs, max_seconds
        self._repeats, self._is_repeated, self._total_runs = 1, is_repeated, 1
        self._run_seconds: list[float] = []  # how long each run took
        self._results: dict[tuple[Variation, tuple[str, ...]], Result] = {}  # by the tests that ran, too; () for all
        self._started, self._lock = time.monotonic(), threading.Lock()

    def carry_out(self, vary: Collection[str], names: Collection[str] = ()) -> None:
        """Try everything.

        Args:
            vary: any of open, trouble and defects.
            names: names of open points, kinds of trouble and defects; all, if empty.

        Raises:
            SettingsError: if the client cannot be started, or sends no request.
        """
        try:
            self._try_first()
            while not self._is_tried(vary, names):
                self._measure_failure_rate(0, 0)
            if not self.entries:
                self.stop_reason = "as the client's requests show nothing of what is varied"
        except SpentError as error:
            self.stop_reason = str(error)
        except OwnFailureError as error:
            self.own_failure, self.output = error.args
            self.stop_reason = f"because your client fails by itself, with default choices: {self.own_failure}"
        finally:
            self._note_unfinished()
            self.seconds = time.monotonic() - self._started

    def _is_tried(self, vary: Collection[str], names: Collection[str]) -> bool:
        """Try everything, unless a client turns out to fail by itself, now and then."""
        try:
            rows = self._rows(names) if OPEN in vary else []
            troubles = self._troubles(names) if TROUBLE in vary else {}
            defects = self._defects(names) if BROKEN in vary else {}
            self.entries.update((variation, entry | UNTRIED) for variation, entry in (troubles | defects).items())
            self._total_runs = self.count + len(rows) + len(troubles) + len(defects)
            if self._jobs > 1:
                list(self._outcomes([_of(*row) for row in rows]))
            first_troubles = [variation for variation in troubles if KINDS[variation.trouble].may_show_harm]
            later_rows = [row for first in rows[:1] for row in self._judge(first)]
            self._try_each(first_troubles)
            for row in chain(rows[1:], later_rows):
                later_rows += self._judge(row)
            self._try_each([*(variation for variation in troubles if variation not in first_troubles), *defects])
        except FlakyError:
            return False
        return True

    def _try_first(self) -> None:
        """Run with default choices."""
        first = self._run(DEFAULT)
        if first.failure and self._is_repeated and not (second_run := self._run(DEFAULT, "again: ")).failure:
            self._measure_failure_rate(1, 2)
            first = second_run
        if first.failure:
            raise OwnFailureError(first.failure, first.output)
        if not first.count:
            raise SettingsError(UNHEARD)
        self._runs.first = self._results[DEFAULT, ()] = first
        say(f"default choices  passed  {first.seconds:.1f} s  {_count(first.count, 'request')}")

    def _measure_failure_rate(self, failed: int, run_count: int) -> None:
        """Find out how often the client fails by itself, and start again, repeating what fails."""
        say("your client fails now and then by itself: measuring how often ...")
        last = Result()
        while run_count < DEFAULT_RUNS:
            last = self._run(DEFAULT, "once more: ")
            failed, run_count = failed + bool(last.failure), run_count + 1
        if failed / run_count > MAX_FAILURE_RATE:
            raise OwnFailureError(f"failed in {failed} of {run_count} runs", last.output)
        self.flaky = f"A run that failed passed once more; with default choices, {failed} of {run_count} runs fail."
        self._repeats = min(MAX_REPEATS, math.ceil(math.log(BY_CHANCE) / math.log(max(failed, 1) / run_count)))
        self._results, self.entries = {(DEFAULT, ()): self._runs.first}, {}

    def _rows(self, names: Collection[str]) -> list[list[Choice]]:
        """The choices that the client's requests can reveal, several at a time, those of its first requests first."""
        points = contract_of(self._settings).open_points
        usual = Choices(points, self._settings.choices)
        choices = [(name, value) for name, point in points.items() for value in point.values if value != usual[name]]
        choices = [choice for choice in choices if not names or {choice[0], "=".join(choice)} & {*names}]
        changes = [{"choices": {**self._settings.choices, name: value}} for name, value in choices]
        values: dict[str, list[str]] = {}
        differences = zip(self._first_differences(changes), choices, strict=True)
        for number, (name, value) in sorted((number, choice) for number, choice in differences if number is not None):
            values.setdefault(name, []).append(value)
            request = self._name_of(self._runs.first.requests[number])
            label = {"kind": OPEN, "name": name, "value": value, "usual": usual[name], "request": request}
            self.entries[_of((name, value))] = label | UNTRIED
        rows = rows_of(values)
        purpose = f"for the {len(self.entries)} other values of the {len(values)} open points it meets"
        say(f"{_count(len(rows), 'run')} {purpose}" if rows else "no other choice is met")
        return rows

    def _judge(self, row: Sequence[Choice]) -> list[list[Choice]]:
        """Find what the client fails with among choices; the other values of its point are to be tried later, alone."""
        failing_points = {entry["name"] for entry in self.entries.values() if _failed(entry) and not entry["together"]}
        choices_left = [choice for choice in row if not _failed(self.entries[_of(choice)])]
        choices_left = [choice for choice in choices_left if len(row) == 1 or choice[0] not in failing_points]
        failed = list[str]()
        if choices_left and self._fails(choices_left):
            if len(choices_left) > 1:
                self._total_runs += math.ceil(math.log2(len(choices_left))) + 1
                number = self._results[_of(*choices_left), ()].number
                say(f"  run {number} failed: narrowing down from {len(choices_left)} choices ...")
            tests = self._independent_tests(_of(*choices_left)) if len(choices_left) > 1 else ()
            for smallest in narrowed(choices_left, self._fails, lambda choices: self._fails(choices, tests)):
                result = self._failed_result(_of(*smallest))
                if not self._failed_alike(smallest, result.tests):
                    self._confirm(_of(*smallest))
                self._note_failure(smallest, result)
                failed += [smallest[0][0]] if len(smallest) == 1 else []
        for choice in choices_left:
            if self.entries[_of(choice)]["result"] == NOT_TRIED:
                self.entries[_of(choice)]["result"] = SURVIVED
        next_ones = [
            pending for pending in self.entries.values() if pending["name"] in failed and pending["result"] == NOT_TRIED
        ]
        self._total_runs += len(next_ones)
        return [[(pending["name"], pending["value"])] for pending in next_ones]

    def _independent_tests(self, variation: Variation) -> tuple[str, ...]:
        """The tests that fail with a variation, if they pass by default without the others; else none."""
        tests = self._results[variation, ()].tests if self._runs.can_select else ()
        return () if self._outcome(DEFAULT, tests).failure else tests

    def _failed_result(self, variation: Variation) -> Result:
        """How the client failed, whichever of its tests ran."""
        return next(result for (key, _), result in self._results.items() if key == variation and result.failure)

    def _failed_alike(self, choices: Sequence[Choice], tests: Sequence[str]) -> bool:
        """Whether the tests that fail with some choices also failed with them and others."""
        larger_results = (result for (variation, _), result in self._results.items() if variation.choices > {*choices})
        return any({*tests} & {*result.tests} for result in larger_results)

    def _note_failure(self, choices: Sequence[Choice], result: Result) -> None:
        """Note that a client fails with some choices, of which the last one counts."""
        *companions, (name, value) = choices
        entry = self.entries[_of((name, value))]
        entry["request"] = self._first_of_tests(result.tests, choices) or entry["request"]
        findings = [_finding(result.failure, entry["request"])]
        entry.update(_failure_details(result), result=FAILED, together=dict(companions), findings=findings)

    def _note_unfinished(self) -> None:
        """Note what runs have shown of choices before a trial was stopped."""
        for (variation, _), result in self._results.items():
            for choice in filter(self._is_untried, () if result.failure else variation.choices):
                self.entries[_of(choice)]["result"] = SURVIVED
        failing_results = [(variation, result) for (variation, _), result in self._results.items() if result.failure]
        for variation, result in sorted(failing_results, key=lambda pair: len(pair[0].choices)):
            untried_choices = sorted(filter(self._is_untried, variation.choices))
            if len(untried_choices) == 1:
                self._note_failure(untried_choices, result)
            elif untried_choices and not any(_failed(self.entries[_of(choice)]) for choice in variation.choices):
                names = ", ".join(map("=".join, untried_choices))
                self.suspicion = f"Your client fails with one of {names}, perhaps together with another."
                return

    def _is_untried(self, choice: Choice) -> bool:
        return bool(self.entries[_of(choice)]["result"] == NOT_TRIED)

    def _troubles(self, names: Collection[str]) -> dict[Variation, Entry]:
        operations = {operations.name for operations in map(self._operation, self._runs.first.requests) if operations}
        return {
            Variation(trouble=name): {"kind": TROUBLE, "name": name, "what": kind.description, "harm": False}
            for name, kind in KINDS.items()
            if (not names or name in names) and operations & {*kind.operations}
        }

    def _defects(self, names_chosen: Collection[str]) -> dict[Variation, Entry]:
        names = [name for name in DEFECTS if not names_chosen or name in names_chosen]
        numbers = zip(names, self._first_differences([{"defects": (name,)} for name in names]), strict=True)
        names_met = [name for name, number in numbers if number is not None]
        return {
            Variation(defect=name): {"kind": BROKEN, "name": name, "what": DEFECTS[name].description}
            for name in names_met
        }

    def _try_each(self, variations: Sequence[Variation]) -> None:
        """Try variations one at a time; those that turn out to hit no request are left out."""
        for variation, result in zip(variations, self._outcomes(variations), strict=True):
            findings = [_finding(*finding) for finding in result.findings]
            may_give_up = variation.trouble and KINDS[variation.trouble].may_give_up
            is_careful = may_give_up and not findings and ENDLESS not in result.failure
            if result.failure and not is_careful and not findings:  # harm needs no second run: the journal shows it
                self._confirm(variation)
            findings = findings or ([_finding(result.failure, ", ".join(result.hit))] if result.failure else [])
            outcome = (GAVE_UP if is_careful else FAILED) if findings else SURVIVED
            self.entries[variation].update(_failure_details(result), result=outcome, findings=findings)
            if variation.trouble:
                self.entries[variation]["harm"] = bool(result.findings)
            if variation.trouble and not result.hit and not findings:
                del self.entries[variation]

    @property
    def _time_is_over(self) -> str:
        return f"after {self._max_seconds / 60:g} minutes"

    def _first_differences(self, changes: Iterable[Mapping[str, Any]]) -> Iterator[int | None]:
        """For each other server, the number of the client's first request that it answers differently, or None."""
        return differing(self._runs.first.requests, self._settings, changes)

    def _first_of_tests(self, tests: Sequence[str], choices: Sequence[Choice]) -> str:
        """The first request of some tests that is answered differently with choices, or an empty string.

        Tests are known by the names of their sandboxes.
        """
        requests = [request for request in self._runs.first.requests if request.belongs_to(tests)]
        changed = {"choices": {**self._settings.choices, **dict(choices)}}
        number = next(differing(requests, self._settings, [changed]))
        return "" if number is None else self._name_of(requests[number])

    def _name_of(self, request: Request) -> str:
        return str(self._operation(request) or " ".join(request.line))

    def _operation(self, request: Request) -> Operation | None:
        return self._runs.operations.operation_of(*request.line)

    def _fails(self, choices: Sequence[Choice], tests: tuple[str, ...] = ()) -> bool:
        return bool(self._outcome(_of(*choices), tests).failure)

    def _outcomes(self, variations: Sequence[Variation]) -> Iterator[Result]:
        if self._jobs == 1:  # each only once the one before has been judged, and perhaps confirmed
            yield from map(self._outcome, variations)
            return
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                yield from pool.map(self._outcome, variations)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _outcome(self, variation: Variation, tests: tuple[str, ...] = ()) -> Result:
        """How the client, or some of its tests, fare: it survives if it passes once, because it may fail by itself."""
        if (variation, tests) not in self._results:
            result = self._run(variation, "", tests)
            for _ in range(self._repeats - 1):
                result = self._run(variation, "again: ", tests) if result.failure else result
            self._results[variation, tests] = result
        return self._results[variation, tests]

    def _confirm(self, variation: Variation) -> None:
        """See that a failure that is about to be reported comes again."""
        if self._is_repeated and self._repeats == 1:
            self._total_runs += 1
            if not self._run(variation, "again: ").failure:
                raise FlakyError

    def _run(self, variation: Variation, prefix: str = "", tests: Sequence[str] = ()) -> Result:
        """Let the client do its work once, or some of its tests."""
        with self._lock:
            if self.count >= self._max_runs:
                raise SpentError(f"after {self._max_runs} runs")
            has_own_limit = not self.count  # the first run
            seconds_left = math.inf if has_own_limit else self._started + self._max_seconds - time.monotonic()
            if seconds_left < median(self._run_seconds or [0.0]):
                raise SpentError(self._time_is_over)
            self.count += 1
            number, self._total_runs = self.count, max(self._total_runs, self.count)
        try:
            result = replace(self._runs(variation, seconds_left, tests), number=number)
        except TimeoutError:
            raise SpentError(self._time_is_over) from None
        self._run_seconds.append(result.seconds)
        runs_left, seconds = self._total_runs - number, time.monotonic() - self._started
        seconds_left = min(seconds / number * runs_left, max(0.0, self._max_seconds - seconds))
        remaining = f"; about {seconds_left:.0f} s left" if runs_left else ""
        label = _count(len(variation.choices), "choice") if len(variation.choices) > 2 else str(variation)  # noqa: PLR2004
        outcome = f"{result.failure or 'passed'}, {result.seconds:.1f} s, {_count(result.count, 'request')}"
        total = f" of {self._total_runs}" if runs_left else ""
        say(f"run {number}{total}: {prefix}{label}: {outcome}{remaining}", sys.stderr)
        return result


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _of(*choices: Choice) -> Variation:
    return Variation(frozenset(choices))


def _failure_details(result: Result) -> Entry:
    """The failing tests, the first error and the output of a run that failed; nothing of one that passed."""
    if not (result.failure or result.findings):
        return {}
    return {"tests": list(result.tests), "first_error": result.first_error, "output": result.output}


def _failed(entry: Entry) -> bool:
    """Whether a client fails with a choice."""
    return bool(entry["kind"] == OPEN and entry["result"] == FAILED)


def _finding(problem: str, request: str) -> dict[str, str]:
    return {"what": problem, "request": request}
