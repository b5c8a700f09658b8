"""Tries findings again with fewer requests, on records of its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Event
from typing import Any

from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect, FormValue, Request
from contract_tests.evidence.observation import Violation
from contract_tests.repro.replayed import marks_of, rejudge, with_markers
from contract_tests.repro.steps import selections, steps_to
from contract_tests.survey.cleanup import remove_all
from contract_tests.survey.visitor import Visitor
from contract_tests.target.budget import BudgetSpentError
from contract_tests.target.ledger_file import Entry
from contract_tests.target.ownership import WriteRefusedError
from contract_tests.verdicts.verdicts import ShortestSteps
from link_management_contract import Resource, Rule

FIRST = 1000  # number of the first mark; those of the survey are smaller
MIN_REQUESTS = 12  # requests that are worth trying for a finding
MAX_TRIES = 10  # of what does not show again at once


class Shrinking:
    """Tries the findings about one resource again.

    Args:
        visitor: sends the requests, and knows the mark of the run.
        public_base_url: as for a run.

    Attributes:
        shown_again: by the id of a rule, how often or when its finding showed again, where it does not always.
    """

    def __init__(self, visitor: Visitor, public_base_url: str | None = None) -> None:
        self.shown_again: dict[str, str] = {}
        self._visitor, self._public_base_url = visitor, public_base_url
        self._count = FIRST
        self._deleted: dict[int, Entry] = {}
        self._is_stopped = False  # as a record could not be deleted

    def shrink(
        self,
        findings: Sequence[tuple[Rule, Violation]],
        exchanges: Sequence[Exchange],
        max_requests: int,
        *,
        looks_only: bool = False,
    ) -> dict[str, ShortestSteps]:
        """The fewest requests for findings, by the ids of their rules; those that do not show again are left out.

        Args:
            findings: each with the rule that it breaks.
            exchanges: those of the run.
            max_requests: how many requests may be sent, clean-up and one more try of each aside.
            looks_only: whether nothing may be written.
        """
        shortest_by_rule, target = dict[str, ShortestSteps](), self._visitor.target
        end = target.budget.request_count + max_requests
        try:
            for number, (rule, finding) in enumerate(findings):
                request_share = max(MIN_REQUESTS, (end - target.budget.request_count) // (len(findings) - number))
                steps = steps_to(rule, self._visitor.resource, finding, exchanges)
                if looks_only:
                    steps = [step for step in steps if step.request.method == "GET"]
                    if finding.exchange not in steps:
                        continue
                with suppress(_SpentError):
                    for shortest in self._smaller(
                        rule, finding, steps, min(end, target.budget.request_count + request_share)
                    ):
                        shortest_by_rule[rule.id] = shortest
                last = shortest_by_rule.get(rule.id)
                if self._is_stopped:
                    continue
                if last and self._is_shown_again(rule, finding, last.exchanges):
                    if self._rests_on_own_look(last, end):
                        self.shown_again[rule.id] = "only after the account itself has read it"
                    continue
                shortest_by_rule.pop(rule.id, None)  # what somebody else did at that time may have looked like it
                self._count_shown(rule, finding, steps, end)
        except BudgetSpentError:
            pass
        finally:
            if not looks_only:
                with target.budget.cleaning_up(), suppress(BudgetSpentError):
                    self._forget_deleted()
                    remove_all(self._visitor)
        return shortest_by_rule

    def _is_shown_again(self, rule: Rule, finding: Violation, steps: Sequence[Exchange]) -> bool:
        """Whether steps show a finding, and once more, as two servers may take turns."""
        return all(self._try(rule, finding, steps, steps) for _ in range(2))

    def _rests_on_own_look(self, shortest: ShortestSteps, end: int) -> bool:
        """Whether another client's read or list is answered otherwise unless the account itself has looked before."""
        exchanges, subject = shortest.exchanges, shortest.finding.exchange
        earlier = [step for step in exchanges if step.number < subject.number]
        own_reads = [step for step in earlier if step.request.method == "GET" and step.request.identity == OWN_KEY]
        is_own_or_write = subject.request.identity == OWN_KEY or subject.request.method != "GET"
        if is_own_or_write or not own_reads or self._visitor.target.budget.request_count + 2 * len(exchanges) > end:
            return False
        steps_without_reads = [step for step in earlier if step not in own_reads]
        answers = [self._answers([*steps_without_reads, subject], exchanges) for _ in range(2)]
        return all(answer and answer[-1].status != subject.status for answer in answers)

    def _count_shown(self, rule: Rule, finding: Violation, steps: Sequence[Exchange], end: int) -> None:
        """Send all requests that led to a finding again, and note how often they show it."""
        target = self._visitor.target

        def counts(attempt: Callable[[], object]) -> tuple[int, int]:
            shown_count = try_count = 0
            while try_count < MAX_TRIES and not self._is_stopped and target.budget.request_count + len(steps) <= end:
                try_count += 1
                shown_count += bool(attempt())
            return shown_count, try_count

        shown_count, try_count = counts(lambda: self._try(rule, finding, steps, steps))
        if try_count > 1 and shown_count < try_count:
            self.shown_again[rule.id] = f"in {shown_count or 'none'} of {try_count} tries with the same requests"
        if try_count == MAX_TRIES and not shown_count and any(finding.exchange.overlapped):
            shown_count, try_count = counts(lambda: self._try_beside_others(rule, finding, steps))
            if shown_count:
                self.shown_again[rule.id] = f"only when requests overlap, in {shown_count} of {try_count} tries"

    def _try_beside_others(self, rule: Rule, finding: Violation, steps: Sequence[Exchange]) -> object:
        """Send steps while others send lists, as many as there are steps."""
        target, has_ended = self._visitor.target, Event()

        def attempt() -> ShortestSteps | None:
            try:
                return self._try(rule, finding, steps, steps)
            finally:
                has_ended.set()

        def send_lists() -> None:
            for _ in steps:
                if not has_ended.is_set():
                    target.send_once(self._visitor.list_of({}, Expect.OPEN))

        shown, *_ = target.side_by_side([attempt, send_lists, send_lists])
        return shown

    def _forget_deleted(self) -> None:
        """Note which of the records that were deleted are gone, so that nobody deletes them again."""
        listing = self._visitor.list_settled() if self._deleted else None
        for identifier, entry in self._deleted.items():
            if listing and listing.complete and identifier not in listing.ids:
                self._visitor.target.ledger.note_removed(entry)

    def _smaller(self, rule: Rule, finding: Violation, steps: list[Exchange], end: int) -> Iterator[ShortestSteps]:
        """Ever fewer requests that show a finding."""
        tried_steps, shortest = list[Sequence[Exchange]](), ShortestSteps(finding, ())

        def shows(attempt: Sequence[Exchange]) -> bool:
            nonlocal shortest
            if attempt in tried_steps or not attempt or self._is_stopped:
                return False
            if self._visitor.target.budget.request_count + len(attempt) > end:
                raise _SpentError
            tried_steps.append(attempt)
            shorter = self._try(rule, finding, attempt, steps)
            shortest = shorter or shortest
            return shorter is not None

        left: Sequence[Exchange] = next((attempt for attempt in selections(finding, steps) if shows(attempt)), ())
        yield from [shortest] if left else []
        for fewer in _fewer(left, shows):
            left = fewer
            yield shortest
        for number, step in enumerate(left):
            for form in _simpler(step.request, self._visitor.resource):
                simpler = replace(step, request=replace(step.request, form=form))
                attempt = [*left[:number], simpler, *left[number + 1 :]]
                if shows(attempt):
                    left = attempt
                    yield shortest
                    break

    def _try(
        self, rule: Rule, finding: Violation, attempt: Sequence[Exchange], steps: Sequence[Exchange]
    ) -> ShortestSteps | None:
        """Send some of the steps to a finding, and see whether they show it."""
        resource, base_url = self._visitor.resource, self._visitor.target.base_url
        exchanges = self._answers(attempt, steps)
        for observation in rejudge(rule, resource, base_url, exchanges, self._public_base_url) if exchanges else ():
            if isinstance(observation, Violation) and _is_same_finding(observation, finding):
                return ShortestSteps(observation, tuple(exchanges))
        return None

    def _answers(self, attempt: Sequence[Exchange], steps: Sequence[Exchange]) -> list[Exchange]:
        """What some of the steps to a finding are answered now; nothing if they cannot be sent again."""
        before = len(self._visitor.target.ledger.entries)
        try:
            return list(self._resend(attempt, {step.made_id for step in steps if step.request.operation == "create"}))
        except (WriteRefusedError, LookupError):
            return []
        finally:
            self._delete(before)

    def _delete(self, before: int) -> None:
        """Delete what a try has made, so that the next one finds the account as it was; if that fails, try no more."""
        visitor = self._visitor
        for entry in visitor.target.ledger.entries[before:]:
            identifier = entry.identifier
            if entry.resource == visitor.resource.name and entry.owner == OWN_KEY and identifier is not None:
                if not visitor.target.ledger.allows_write(entry.resource, identifier):
                    visitor.read(identifier, Expect.OPEN)
                is_gone = False
                with suppress(WriteRefusedError):
                    is_gone = visitor.delete(identifier, Expect.OPEN).succeeded
                if is_gone or not visitor.read(identifier, Expect.OPEN).shows(visitor.resource):
                    self._deleted[identifier] = entry
                else:
                    self._is_stopped = True

    def _resend(self, attempt: Sequence[Exchange], created_ids: set[Any]) -> Iterator[Exchange]:
        """Send requests once more, about records of their own."""
        visitor, ids, new_markers = self._visitor, dict[Any, int](), dict[str, str]()
        for step in attempt:
            request = self._renewed(step, new_markers)
            identifier = request.identifier
            if identifier in created_ids:
                path = request.path.replace(f"/{identifier}", f"/{ids[identifier]}")
                request = replace(request, path=path, identifier=ids[identifier])
            if request.operation == "create":
                exchange = visitor.send(request, self._plan_create(step, request))
                if exchange.made_id is not None:
                    ids[step.made_id] = exchange.made_id
            else:
                exchange = self._resend_to_record(request)
            yield replace(exchange, judged_as=step.judged_as)

    def _plan_create(self, step: Exchange, request: Request) -> Any:
        marker = next(iter(marks_of(replace(step, request=request))), "")
        missing = [name for name in self._visitor.resource.required if request.form and name not in request.form]
        if not marker:
            raise LookupError
        owner = OTHER if request.identity == OTHER else OWN_KEY
        self._visitor.evidence.markers.add(marker)
        return self._visitor.target.ledger.plan(request.resource, marker, owner, next(iter(missing), ""))

    def _resend_to_record(self, request: Request) -> Exchange:
        visitor, identifier = self._visitor, request.identifier
        if request.method == "GET":
            visitor.waits.let_settle()
        elif identifier is not None and not visitor.target.ledger.allows_write(request.resource, identifier):
            visitor.read(identifier)  # the run writes to what it has seen with its mark
        if request.operation == "update":
            visitor.records.note_update(request)
        return visitor.send(request)

    def _renewed(self, step: Exchange, new_markers: dict[str, str]) -> Request:
        """A request with marks of its own instead of those it had."""
        request = step.request
        for marker in marks_of(step):
            if marker not in new_markers:
                self._count += 1
                new_markers[marker] = f"{self._visitor.records.marker}-{self._count}z"

        def renewed(text: str) -> str:
            return with_markers(text, lambda marker: new_markers.get(marker, marker))

        form = request.form and {
            name: renewed(value) if isinstance(value, str) else value for name, value in request.form.items()
        }
        body = request.body and (request.body[0], renewed(request.body[1].decode("latin-1")).encode("latin-1"))
        return replace(request, form=form, body=body)


class _SpentError(Exception):
    """A finding has had its share of the requests."""


def _fewer(left: Sequence[Exchange], shows: Callable[[Sequence[Exchange]], bool]) -> Iterator[Sequence[Exchange]]:
    """Ever fewer requests, without half of them, a quarter, and so on (delta debugging, Zeller 1999)."""
    size = len(left) // 2
    while size:
        for end in range(len(left), 0, -size):
            fewer = [*left[: max(0, end - size)], *left[end:]]
            if shows(fewer):
                left = fewer
                yield left
        size //= 2


def _simpler(request: Request, resource: Resource) -> Iterator[Mapping[str, FormValue]]:
    """Forms with fewer fields: those that are required, and each of the others left out."""
    form = request.form or {}
    optional = [name for name in form if name not in resource.required]
    needed = {name: value for name, value in form.items() if name in resource.required}
    if optional and needed:
        yield needed
    if len(optional) > 1 or (optional and not needed and len(form) > 1):
        for name in optional:
            yield {other: value for other, value in form.items() if other != name}


def _is_same_finding(one: Violation, other: Violation) -> bool:
    """Whether two findings are about the same: the same operation, by the same client, and the same place in JSON."""
    request, other_request = one.exchange.request, other.exchange.request
    is_same_operation = (request.operation, request.identity) == (other_request.operation, other_request.identity)
    return is_same_operation and _without_indexes(one.at) == _without_indexes(other.at)


def _without_indexes(pointer: str) -> str:
    return "/".join("0" if part.isdecimal() else part for part in pointer.split("/"))
