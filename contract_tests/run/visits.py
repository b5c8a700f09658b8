"""The visits of a run: one to each resource, side by side, and a second one where rules are in doubt."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread

from contract_tests.evidence import Evidence
from contract_tests.run.options import Options
from contract_tests.run.verdicts import Result, doubts, judge
from contract_tests.survey import Visitor, visit
from contract_tests.survey.chapters import EVERY, Chapters, needed
from contract_tests.survey.waiting import Lag
from contract_tests.target.limits import Limits
from contract_tests.target.target import Target
from link_management_contract import Resource, Rule

Explore = Callable[[Visitor], None]
Certain = Callable[[Resource, list[Result]], None]
# What these rules forbid others may do as well, so they need to be seen while the run writes nothing.
CONTROLLED = ("lifecycle.*-leaves-other-records", "pagination.total-follows-*")
SECONDS_TO_NOTICE = 0.1
SECONDS_BETWEEN = 3.0  # between looks at what has failed so far


@dataclass
class Visits:
    """The visits to one resource, and the rules to judge there.

    Attributes:
        looks: the evidence of each visit.
        is_whole: whether the resource was visited to the end.
    """

    rules: list[Rule]
    resource: Resource
    looks: list[Evidence] = field(default_factory=list)
    is_whole: bool = False
    _judged: list[Result] | None = None

    @property
    def results(self) -> list[Result]:
        """The verdicts on what was seen so far."""
        if not self.looks:
            return []
        if self._judged is None:
            self._judged = [judge(rule, self.resource, *self.looks) for rule in self.rules]
        return self._judged

    def judge_anew(self) -> None:
        """Note that there is more to judge."""
        self._judged = None

    @property
    def notes(self) -> list[str]:
        """Why something could not be tried."""
        told = dict.fromkeys(note for each in self.looks for note in each.notes[self.resource.name])
        return [f"the rest of {self.resource.name} ({note})" for note in told]


class Guide:
    """Goes through the visits of a run.

    Args:
        target: where requests go.
        options: what to visit, and how.
        explore: what to do in a visit after the survey, or None.
        progress: called with each chapter.
        certain: called with a resource's results that nothing will change, as soon as they are known.
    """

    def __init__(
        self,
        target: Target,
        options: Options,
        explore: Explore | None,
        progress: Callable[[str], None],
        certain: Certain,
    ) -> None:
        self._target = target
        self._options = options
        self._explore = explore
        self._progress = progress
        self._certain = certain
        self._looked = time.monotonic()
        self._lag = Lag(options.limits.lag / Limits.lag)

    def go(self, every: Sequence[Visits]) -> None:
        """Visit each resource, several at a time if the options say so.

        Raises:
            Exception: whatever went wrong in a visit.
            KeyboardInterrupt: if the run must end.
        """
        if self._options.jobs == 1 or len(every) == 1:
            for visits in every:
                self.visit(visits)
        else:
            side_by_side([partial(self.visit, visits) for visits in every], self._options.jobs, self._target)

    def visit(self, visits: Visits) -> None:
        """Visit a resource and, if a rule that several requests decide seems violated, visit it again for that."""
        chapters = needed(visits.rules) if self._options.rules else EVERY
        overlapping = any(rule.decided_by == "round" for rule in visits.rules)
        self._go(visits, chapters, self._explore, self._options.overlap if overlapping else 0)
        doubted = doubts(visits.results, visits.looks[0])
        self._certain(visits.resource, [each for each in visits.results if each.rule not in doubted])
        if doubted:
            control = any(fnmatchcase(rule.id, pattern) for rule in doubted for pattern in CONTROLLED)
            if any(doubted.values()):  # in what only exploration shows, all before it may have a part
                self._go(visits, chapters, self._explore, control=control)
            else:
                self._go(visits, needed(doubted), None, control=control)
            self._certain(visits.resource, visits.results)
        visits.is_whole = True

    def _go(
        self, visits: Visits, chapters: Chapters, explore: Explore | None, rounds: int = 0, *, control: bool = False
    ) -> None:
        options, resource = self._options, visits.resource
        evidence = Evidence(options.base_url, public_base_url=options.public_base_url)
        visits.looks.append(evidence)
        try:
            visit(
                self._target,
                resource,
                evidence,
                create_path=options.splash_create_path if resource.name == "splash-pages" else None,
                chapters=chapters,
                explore=explore,
                rounds=rounds,
                control=control,
                progress=lambda chapter: self._begin(visits, chapter),
                lag=self._lag,
            )
        finally:
            visits.judge_anew()

    def _begin(self, visits: Visits, chapter: str) -> None:
        """Tell of a chapter that begins, and now and then of what has failed so far."""
        self._progress(f"{visits.resource.name}: {chapter}")
        if time.monotonic() > self._looked + SECONDS_BETWEEN:
            self._looked = time.monotonic()
            visits.judge_anew()
            self._certain(visits.resource, [each for each in visits.results if each.is_certain_failure])


def side_by_side(steps: Sequence[Callable[[], None]], jobs: int, target: Target) -> None:
    """Carry out steps in threads; after an interrupt or an error, each is told to end, and tidies up first.

    Raises:
        Exception: the first that a step raised.
        KeyboardInterrupt: if the run must end.
    """
    waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
    for step in steps:
        waiting.put(step)
    errors: list[BaseException] = []
    ended, asked = Event(), target.interrupted
    target.interrupted = lambda: ended.is_set() or asked()

    def work() -> None:
        try:
            while not ended.is_set():
                waiting.get_nowait()()
        except Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            errors.append(error)
            ended.set()

    threads = [Thread(target=work, daemon=True, name=f"visit {number}") for number in range(min(jobs, len(steps)))]
    for thread in threads:
        thread.start()
    try:
        _join(threads)
    except KeyboardInterrupt as error:
        errors.insert(0, error)
        ended.set()
        _join(threads)  # a second interrupt ends the tidying, too
    target.interrupted = asked
    if errors:
        raise errors[0]


def _join(threads: Sequence[Thread]) -> None:
    """Wait for threads; an interrupt is noticed meanwhile."""
    while any(each.is_alive() for each in threads):
        threads[-1].join(SECONDS_TO_NOTICE)
        threads[0].join(SECONDS_TO_NOTICE)
