"""How many requests a run may send, how fast, and until when."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from contract_tests.target.availability import Availability
from contract_tests.target.ledger import Ledger

MIN_TIME = 0.5  # seconds for an answer, however little is left of the time for the run
SLICE = 0.5  # seconds of a wait, between looks whether the run must end
BUDGET_SPENT, TIME_UP = "the budget of requests was spent", "the time for the run was up"
MAX_ANSWER_BYTES = 96 << 20  # bytes of answers in a run
CLEANUP_RESERVE, CLEANUP_PER_RECORD = 10, 3  # requests kept for clean-up, and for each record to remove
MAX_CLEANUP = 900.0  # seconds for clean-up, however often the server says to wait
MAX_AFTER_GONE = 20  # requests to a server that is gone, in the hope that it is back for clean-up
REFUSAL_PAUSE = 1.0  # seconds after which a read that is refused again did not come too soon


class BudgetSpentError(Exception):
    """The run may send no more requests; the message says why.

    Attributes:
        was_sent: whether the request had reached the server by then, perhaps, and what became of it is unknown.
    """

    was_sent = False


@dataclass(frozen=True)
class Limits:
    """How hard a target may be pushed.

    Attributes:
        requests: how many may be sent, besides the redirects that they follow; some are kept for clean-up.
        seconds: how long the run may take, clean-up aside; None for as long as it takes.
        interval: minimum seconds between two requests.
        timeout: seconds to wait for an answer, to its last byte.
        patience: seconds without any success, after which the server counts as gone.
        doubt: seconds for which one operation may fail although others work, before that counts; None for the usual.
        lag: seconds by which reads may lag behind writes.
        jobs: how many requests may be under way at a time.
    """

    requests: int = 2000
    seconds: float | None = None
    interval: float = 0.0
    timeout: float = 30.0
    patience: float = 120.0
    doubt: float | None = None
    lag: float = 2.1
    read_only: bool = False
    jobs: int = 1


class CleanUp(threading.local):
    """When a thread began to clean up, by the monotonic clock; None if it is not, and its requests count."""

    started_at: float | None = None


class Budget:
    """What is left of a run's requests, bytes and time; several threads send from it, at one pace.

    Attributes:
        request_count: how many requests were sent.
        stop_reason: why no more are to be sent, clean-up aside; empty as long as they are.
        interrupted: returns whether the run must end; called before each request, clean-up aside.
        on_request: called with the number of each request.
        cleanup: when the current thread began to clean up.
    """

    def __init__(self, limits: Limits, ledger: Ledger, availability: Availability) -> None:
        self.limits = limits
        self.request_count, self.stop_reason = 0, ""
        self.interrupted: Callable[[], bool] = lambda: False
        self.on_request: Callable[[int], None] = lambda _request_count: None
        self._ledger, self._availability = ledger, availability
        self._last, self._answer_bytes, self._requests_to_gone, self._cleanup_seconds = -math.inf, 0, 0, 0.0
        self._redirects_followed = 0
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self.cleanup = CleanUp()

    @property
    def is_cleaning(self) -> bool:
        """Whether this thread is cleaning up."""
        return self.cleanup.started_at is not None

    @contextmanager
    def cleaning_up(self) -> Iterator[None]:
        """Allow requests from the budget that is kept for clean-up, whatever the time."""
        started_before = self.cleanup.started_at
        self.cleanup.started_at = started = time.monotonic()
        if not self._availability.gone_reason:
            self._availability.restart_patience()
        try:
            yield
        finally:
            self.cleanup.started_at = started_before
            self._cleanup_seconds += time.monotonic() - started

    @property
    def is_rate_limited(self) -> bool:
        """Whether requests keep a distance: as the user has asked for, or as the server has turned out to need."""
        return self._interval > 0

    @property
    def _interval(self) -> float:
        """Seconds between two requests."""
        return max(self.limits.interval, self._availability.interval)

    @property
    def seconds_left(self) -> float:
        """The seconds until the run must end."""
        return (self.limits.seconds or math.inf) - (time.monotonic() - self._started)

    @property
    def seconds_for_an_answer(self) -> float:
        """The seconds for which an answer may be waited for."""
        return min(self.limits.timeout, math.inf if self.is_cleaning else max(self.seconds_left, MIN_TIME))

    def may_send(self, requests: int) -> bool:
        """Whether the budget and the time allow so many further requests."""
        with suppress(BudgetSpentError):
            self.check(requests)
            return True
        return False

    def check(self, requests: int = 1) -> None:
        """Refuse to send more if the run must end; some requests are kept for removing what was made so far.

        Raises:
            BudgetSpentError: if so many may not be sent.
            KeyboardInterrupt: if the run must end.
        """
        if self.interrupted():
            raise KeyboardInterrupt
        if self.stop_reason:
            raise BudgetSpentError(self.stop_reason)
        total = self._counted_requests + requests - 1
        if total + self._requests_to_remove(len(self._ledger.entries)) >= self.limits.requests:
            unfinished = len(self._ledger.left)  # of all that was made
            if total + (unfinished and self._requests_to_remove(unfinished)) >= self.limits.requests:
                raise BudgetSpentError(BUDGET_SPENT)
        if self.seconds_left <= 0:
            raise BudgetSpentError(TIME_UP)

    def _requests_to_remove(self, records: int) -> int:
        """The requests that are kept for clean-up."""
        return CLEANUP_RESERVE + CLEANUP_PER_RECORD * records

    @property
    def _counted_requests(self) -> int:
        """The requests that count towards the budget: all but redirects, and those for which the server had no time."""
        return self.request_count - self._redirects_followed - self._availability.limit_count

    def count_request(self, *, is_burst: bool, is_redirect: bool) -> int:
        """Count a request that is about to be sent, once it is its turn; its number.

        Args:
            is_burst: whether it has had to wait already.
            is_redirect: whether the one before was answered by a redirect to it.

        Raises:
            BudgetSpentError: if it may not be sent.
        """
        if not is_burst:
            self.keep_pace(1)
        with self._lock:
            if self._counted_requests >= self.limits.requests:
                raise BudgetSpentError(BUDGET_SPENT)
            self._requests_to_gone += bool(self._availability.gone_reason)
            if self._requests_to_gone > MAX_AFTER_GONE:
                raise BudgetSpentError(self._availability.gone_reason)
            self.request_count += 1
            self._redirects_followed += is_redirect
            number = self.request_count
        self.on_request(number)
        return number

    def count_elsewhere(self, requests: int) -> None:
        """Count requests that were sent by somebody else on behalf of the run."""
        with self._lock:
            self.request_count += requests

    def count_bytes(self, count: int) -> None:
        """Count the bytes of an answer; after too many, the run stops."""
        with self._lock:
            self._answer_bytes += count
        if self._answer_bytes > MAX_ANSWER_BYTES:
            self.stop(f"the answers came to more than {MAX_ANSWER_BYTES >> 20} MiB")

    def stop(self, reason: str) -> None:
        """Send no more requests, clean-up aside; the first reason is told."""
        self.stop_reason = self.stop_reason or reason

    def keep_pace(self, requests: int) -> None:
        """Wait until so many requests may be sent at once.

        Raises:
            BudgetSpentError: if there is no time for that.
            KeyboardInterrupt: if the run must end.
        """
        with self._lock:
            now, interval = time.monotonic(), self._interval
            due = max(now, self._last + interval)
            self._last = due + interval * (requests - 1)
        if due > now:
            self._wait_for_pace(due - now)

    def pass_a_limit(self) -> None:
        """Let time pass, more than before the requests that follow, so that the next one does not come too soon."""
        self._wait_for_pace(max(REFUSAL_PAUSE, 2 * self._interval))

    def _wait_for_pace(self, seconds: float) -> None:
        """Wait, if there is time for it; clean-up takes the time that it needs."""
        if not self.is_cleaning:
            self.check_wait(seconds)
        self.wait(seconds)

    def check_wait(self, seconds: float) -> None:
        """Refuse a wait for which there is no time.

        Raises:
            BudgetSpentError: if there is none.
        """
        if self.cleanup.started_at is None:
            if seconds > self.seconds_left:
                raise BudgetSpentError(TIME_UP)
        elif self._cleanup_seconds + time.monotonic() - self.cleanup.started_at > MAX_CLEANUP:
            raise BudgetSpentError(f"clean-up took more than {MAX_CLEANUP / 60:.0f} minutes")

    def wait(self, seconds: float) -> None:
        """Wait, unless the run must end.

        Raises:
            KeyboardInterrupt: if it must.
        """
        end = time.monotonic() + seconds
        while (remaining := end - time.monotonic()) > 0:
            if not self.is_cleaning and self.interrupted():
                raise KeyboardInterrupt
            time.sleep(min(remaining, SLICE))
