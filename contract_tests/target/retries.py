"""What becomes of a request that fails: it is sent again until its failure is known to be its own, or has passed."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from secrets import token_hex
from typing import Protocol

from contract_tests.evidence.exchange import TRIES, Exchange, Expect, Request
from contract_tests.target.availability import FIRST_WAIT, LIMITED, Availability, is_page, stated_wait, waits
from contract_tests.target.budget import Budget, BudgetSpentError

PAUSE = 0.2
TRIES_OF_A_HANG = 3
UNLUCKY_TRIES = 12  # of a request that was lost while others like it are answered
FAILURES_IN_A_ROW = 3 * TRIES  # failures in a row, after which another try of a request like those comes sooner
SHORT_PAUSE = 0.01  # seconds
RETRY_TIMEOUT_FACTOR = 0.25  # of the timeout is enough for another try of what has not answered within the whole
CLEANUP_TIMEOUT = 1.0  # seconds for a clean-up by an operation that never answers
NOT_DONE = (403, 429)  # statuses after which even a create may be sent again
CACHE_BUSTER = "_"  # a parameter that the contract does not know
RATE_LIMITED = "the server reports too many requests"
REPORTED_WAIT = 1.0  # seconds
Witness = Callable[[Request], Exchange | None]  # sends a request of the same kind, if it can


class Attempt(Protocol):
    """Sends a request once."""

    def __call__(
        self, request: Request, attempts: tuple[int | None, ...] = (), *, is_exclusive: bool = False
    ) -> Exchange: ...


class Timeouts:
    """How long to wait for what was not answered in time before, or always fails, and when to give it up."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._failures: Counter[tuple[str, ...]] = Counter()

    def note(self, exchange: Exchange) -> None:
        """Note whether a request was answered in time, and whether that was a failure."""
        kind, operation = _timeout_keys(exchange.request)
        self._failures[kind] = self._failures[kind] + 1 if exchange.failed else 0
        for key in (kind, operation):
            self._counts[key] = self._counts[key] + 1 if exchange.timed_out else 0

    def gives_up(self, request: Request) -> bool:
        """Whether requests like this one were given their time, and are left to clean-up."""
        return self._counts[_timeout_keys(request)[0]] >= TRIES_OF_A_HANG

    def seconds_to_wait(self, request: Request, *, last: bool) -> float:
        """Seconds to wait for an answer: the whole timeout, unless other requests like this one were not answered."""
        kind_timeouts, operation = (self._counts[key] for key in _timeout_keys(request))
        timeouts = kind_timeouts if request.expects is Expect.SUCCESS else operation
        if timeouts >= TRIES_OF_A_HANG or (operation and last):
            return CLEANUP_TIMEOUT
        return max(CLEANUP_TIMEOUT, RETRY_TIMEOUT_FACTOR * self._timeout) if timeouts else self._timeout

    def tries(self, exchange: Exchange) -> int:
        """How often a request is sent, of which this is the latest answer."""
        if not exchange.timed_out:
            return TRIES
        kind_timeouts, operation = (self._counts[key] for key in _timeout_keys(exchange.request))
        return 1 if operation > kind_timeouts else TRIES_OF_A_HANG

    def pause(self, exchange: Exchange) -> float:
        """Seconds between this failure and another try: the usual ones, unless requests like this always fail."""
        return PAUSE if self._failures[_timeout_keys(exchange.request)[0]] < FAILURES_IN_A_ROW else SHORT_PAUSE


def _timeout_keys(request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What may hang with a request that hangs: requests like it, and all of its operation."""
    operation = (request.resource, request.operation)
    return (*operation, request.identity, request.expects), operation


class Retries:
    """Sends requests again while their failures may pass.

    Args:
        attempt: sends a request once.

    Attributes:
        timeouts: how long to wait for answers.
        waiting: called with the seconds for which the run waits, and why, before each wait of a second or more.
    """

    def __init__(self, attempt: Attempt, availability: Availability, budget: Budget) -> None:
        self.timeouts = Timeouts(budget.limits.timeout)
        self.waiting: Callable[[float, str], None] = lambda _seconds, _reason: None
        self._attempt, self._availability, self._budget = attempt, availability, budget

    def send(self, request: Request, witness: Witness | None) -> Exchange:
        """The answer to a request; up to three tries if it fails, and more once trouble has passed that is not its own.

        Raises:
            BudgetSpentError: if no more may be sent, or the server is gone.
            KeyboardInterrupt: if the run must end.
        """
        started = time.monotonic()
        exchange = self._try(request)
        if not self._availability.is_trouble(exchange):
            return exchange
        return self._outlast(exchange, witness, time.monotonic() if exchange.timed_out else started)

    def send_once(self, request: Request) -> Exchange:
        """The answer to a single try."""
        exchange = self._attempt(request)
        self._availability.note(exchange)
        return exchange

    def _try(self, request: Request) -> Exchange:
        """Send a request, and a few times more if it fails; a create, and what never works, only once."""
        attempts: list[int | None] = []
        overlapped: list[bool] = []
        exchange = self._attempt(request)
        with suppress(BudgetSpentError):  # then the last answer is all there is
            while True:
                self.timeouts.note(exchange)
                self._availability.note(exchange)
                is_sent_once = request.operation == "create" or self._availability.is_hopeless(request)
                max_tries = 1 if is_sent_once else self.timeouts.tries(exchange)
                is_asked_to_wait = stated_wait(exchange) is not None
                if not exchange.failed or is_asked_to_wait or len(attempts) >= max_tries - 1:
                    break
                self._availability.note_limit(exchange)
                attempts.append(exchange.status)
                overlapped += exchange.overlapped
                time.sleep(SHORT_PAUSE if self._is_trial(request) else self.timeouts.pause(exchange))
                exchange = self._attempt(request, tuple(attempts), is_exclusive=any(overlapped))
        is_usual = exchange.failed and self._availability.is_hopeless(request)
        return replace(exchange, overlapped=(*overlapped, *exchange.overlapped), is_usual=is_usual)

    def _outlast(self, exchange: Exchange, witness: Witness | None, started: float) -> Exchange:
        """The answer to a request that failed, once its failure is known to be its own, or has passed.

        Args:
            started: when it failed first, by the monotonic clock.

        Returns:
            What the request is answered now; the failure itself if it is the request's own. A create that trouble has
            hit may have been carried out, so it is not sent again, and nobody judges it.

        Raises:
            BudgetSpentError: if the server is gone.
        """
        state, request = self._availability, exchange.request
        if state.gone_reason:
            raise BudgetSpentError(state.gone_reason)
        if state.is_hopeless(request) if self._budget.is_cleaning else state.is_known_to_fail(exchange):
            return exchange
        if not self._budget.is_cleaning and self._is_trial(request):
            return exchange
        interval = state.interval
        for number, pause in enumerate(waits()):
            witnessed, asked_wait = self._ask_before_waiting(exchange, witness, has_waited=number > 0)
            if witnessed and not state.is_trouble(witnessed):
                return self._confirmed(exchange, was_away=number > 0)
            seconds = time.monotonic() - started
            doubt = state.doubt if self._budget.is_cleaning else state.doubt_of(exchange)
            if asked_wait is None and not state.may_be_starting(exchange, seconds):
                return exchange
            if seconds >= doubt and self.others_work(request):
                exchange = self._resumed(exchange)  # as trouble may have passed just now
                if state.is_trouble(exchange):
                    state.give_up(request)
                    state.withdraw_away(time.time() - (time.monotonic() - started))
                return replace(exchange, judged_as=None) if state.is_trouble(exchange) else exchange
            state.note_trouble(exchange, seconds, interval)
            left_of_doubt = doubt - seconds  # not much longer than that where it never works
            usual_wait = min(pause, max(FIRST_WAIT, left_of_doubt)) if left_of_doubt > 0 else pause
            is_stated = asked_wait is not None and not number
            self._wait(witnessed or exchange, asked_wait or usual_wait, is_stated=is_stated)
            state.note_away(time.monotonic() - started)
            failed_status, exchange = exchange.status, self._resumed(exchange)
            if not state.is_trouble(exchange) and exchange.status != failed_status:
                return exchange
        raise AssertionError

    def _is_trial(self, request: Request) -> bool:
        """Whether a write of a kind that has not worked yet may fail: a later request of the kind finds out."""
        is_optional = request.operation in ("update", "delete") and request.expects is Expect.OPEN
        return is_optional and not self._availability.worked(request)

    def _ask_before_waiting(
        self, exchange: Exchange, witness: Witness | None, *, has_waited: bool
    ) -> tuple[Exchange | None, float | None]:
        """The answer to a witness, if one is to be asked, and how long the server asks to wait.

        Clean-up asks none: it goes on for as long as others work or may work again.
        """
        was_sent_before = has_waited and exchange.request.operation == "create" and exchange.status not in NOT_DONE
        asked_wait = None if was_sent_before else stated_wait(exchange)  # that create was not sent again
        if asked_wait is not None or exchange.status == LIMITED or self._budget.is_cleaning:
            return None, asked_wait
        witnessed = self._ask_witness(exchange.request, witness)
        return witnessed, stated_wait(witnessed) if witnessed else None

    def _confirmed(self, exchange: Exchange, *, was_away: bool) -> Exchange:
        """The answer to a request that failed while another of its kind works, once more if it was unlucky."""
        state, interval = self._availability, self._availability.interval
        is_refused = exchange.status == HTTPStatus.FORBIDDEN
        if is_refused or (state.is_limiting and not was_away):
            state.note_limit(exchange)
        is_lost = exchange.status is None and not exchange.timed_out
        for _ in range(UNLUCKY_TRIES if is_lost else 1 if was_away or is_refused else 0):
            if state.is_trouble(exchange):
                time.sleep(PAUSE)
                exchange = self._resumed(exchange)
        if state.is_trouble(exchange):
            state.interval = interval
            state.note_witness(exchange.request)
        return exchange

    def _resumed(self, exchange: Exchange) -> Exchange:
        """The answer to the same request once more; the same, judged by nobody, if it may have been carried out."""
        request, was_done = exchange.request, exchange.status not in NOT_DONE
        if request.operation == "create" and was_done:
            if is_page(exchange):  # nothing that the server has said
                exchange = replace(exchange, status=None, error="a page instead of an answer", headers={}, body=b"")
            return replace(exchange, judged_as=Expect.IGNORED)
        repeated = self._attempt(request)
        self.timeouts.note(repeated)
        self._availability.note(repeated)
        if self._availability.is_trouble(repeated):
            return replace(repeated, attempts=exchange.attempts, overlapped=exchange.overlapped)
        return replace(
            repeated, attempts=(exchange.status,) if was_done and request.method != "GET" else (), overlapped=()
        )

    def _ask_witness(self, request: Request, witness: Witness | None) -> Exchange | None:
        """The answer to another request of the same kind, if one has worked before."""
        earlier = self._availability.worked(request)
        if earlier is None or earlier.method != "GET":
            return witness(request) if earlier and witness else None
        return self._read_afresh(earlier)

    def others_work(self, request: Request) -> bool:
        """Whether a read of another kind works, or one of an id that nobody has, which no record can spoil."""
        reads = [self._availability.other_read(request), self._availability.unknown_read()]
        return any(read and not self._availability.is_trouble(self._read_afresh(read)) for read in reads)

    def _read_afresh(self, read: Request) -> Exchange:
        """A read that no cache answers; without what keeps it from that where the server refuses it."""
        afresh = self.send_once(replace(read, query=(*read.query, (CACHE_BUSTER, token_hex(4)))))
        return self.send_once(read) if afresh.is_refusal and not self._availability.is_trouble(afresh) else afresh

    def _wait(self, exchange: Exchange, seconds: float, *, is_stated: bool) -> None:
        """Wait for trouble to pass, unless the time or the patience is over.

        Args:
            is_stated: whether the server itself asks for it, and so it uses up no patience.

        Raises:
            BudgetSpentError: if it is.
            KeyboardInterrupt: if the run must end.
        """
        state, is_limit = self._availability, exchange.status == LIMITED
        self._budget.check_wait(seconds)
        if is_stated:
            state.note_wait(seconds)
        elif state.is_patience_over and not self.others_work(exchange.request):
            state.note_gone(exchange)
            self._budget.stop(state.gone_reason)
            raise BudgetSpentError(state.gone_reason)
        if seconds >= REPORTED_WAIT:
            self.waiting(seconds, RATE_LIMITED if is_limit else f"the server is in trouble ({exchange.status_text})")
        self._budget.wait(seconds)
