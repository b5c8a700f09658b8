"""The implementation under test: the only place that opens a socket."""

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import chain, repeat
from secrets import token_hex
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

import urllib3

from contract_tests.evidence.exchange import OWN_KEY, TRIES, Exchange, Expect, Request, request_of
from contract_tests.evidence.multipart import encode
from contract_tests.target.availability import (
    FIRST_WAIT,
    LIMITED,
    UNKNOWN_ID,
    Availability,
    is_page,
    signatures_of,
    stated_wait,
    waits,
)
from contract_tests.target.bystanders import Bystanders
from contract_tests.target.connection import Connection, SendState, is_loopback, read_whole
from contract_tests.target.identities import place_of
from contract_tests.target.ledger import Ledger
from contract_tests.target.traffic import Traffic
from link_management_contract import Resource

JOBS = 6  # requests under way at a time, unless the user says otherwise
PAUSE = 0.2
MAX_REDIRECTS = 5
NO_CONNECTION = (urllib3.exceptions.ConnectTimeoutError, urllib3.exceptions.ProxyError)
MIN_TIME = 0.5  # seconds for an answer, however little is left of the time for the run
SLICE = 0.5  # seconds of a wait, between looks whether the run must end
BUDGET_SPENT, TIME_UP = "the budget of requests was spent", "the time for the run was up"
MAX_ANSWER_BYTES = 96 << 20  # bytes of answers in a run
CLEANUP_RESERVE, CLEANUP_PER_RECORD = 10, 3  # requests kept for clean-up, and for each record to remove
REDIRECTS = {301, 302, 303, 307, 308}
MAX_SIMULTANEOUS = 60  # requests that overlap
TRIES_OF_A_HANG = 3
UNLUCKY_TRIES = 12  # of a request that was lost while others like it are answered
FAILURES_IN_A_ROW = 3 * TRIES  # failures in a row, after which another try of a request like those comes sooner
SHORT_PAUSE = 0.01  # seconds
RETRY_TIMEOUT_FACTOR = 0.25  # of the timeout is enough for another try of what has not answered within the whole
TRACE = "traceparent"  # W3C Trace Context
CLEANUP_TIMEOUT = 1.0  # seconds for a clean-up by an operation that never answers
MAX_CLEANUP = 900.0  # seconds for clean-up, however often the server says to wait
MAX_AFTER_GONE = 20  # requests to a server that is gone, in the hope that it is back for clean-up
NOT_DONE = (403, 429)  # statuses after which even a create may be sent again
CACHE_BUSTER = "_"  # a parameter that the contract does not know
RATE_LIMITED = "the server reports too many requests"
REPORTED_WAIT = 1.0  # seconds
REFUSAL_PAUSE = 1.0  # seconds after which a read that is refused again did not come too soon
DOUBT, DOUBT_OF_LOOPBACK = 30.0, 5.0  # seconds for which an operation may fail although others work
Result = TypeVar("Result")
Witness = Callable[[Request], Exchange | None]  # sends a request of the same kind, if it can


class BudgetSpentError(Exception):
    """The run may send no more requests; the message says why.

    Attributes:
        was_sent: whether the request had reached the server by then, perhaps, and what became of it is unknown.
    """

    was_sent = False


class WriteRefusedError(Exception):
    """A write to a record that the run did not create, or has not yet seen with its own marker."""


@dataclass(frozen=True)
class Limits:
    """How hard a target may be pushed.

    Attributes:
        requests: how many may be sent; some are kept for clean-up.
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


class Target:
    """Sends requests to one base URL, and keeps what came back; several threads may send, at one pace.

    Args:
        keys: what each identity sends instead of the key, as `identities` returns it; one without any sends none.

    Attributes:
        exchanges: what rules may judge.
        all_exchanges: every exchange, also earlier tries and witnesses.
        interrupted: returns whether the run must end; called before each request, clean-up aside.
        stop_reason: why no more requests are to be sent, clean-up aside; empty as long as they are.
        on_request: called with the number of each request.
        waiting: called with the seconds for which the run waits, and why, before each wait of a second or more.
    """

    def __init__(
        self,
        base_url: str,
        keys: Mapping[str, str],
        ledger: Ledger,
        limits: Limits | None = None,
        connection: Connection | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.keys = dict(keys)
        self.ledger = ledger
        self.limits = limits or Limits()
        self.request_count, self.stop_reason = 0, ""
        self.exchanges, self.all_exchanges = list[Exchange](), list[Exchange]()
        self.interrupted: Callable[[], bool] = lambda: False
        self.waiting: Callable[[float, str], None] = lambda _seconds, _reason: None
        self.on_request: Callable[[int], None] = lambda _request_count: None
        self._without_own_record: set[tuple[str, int, str]] = set()  # resource, id, and an identity that has none there
        self._refusals: set[str] = set()  # wordings of answers with 403 that are no limit's
        self._timeouts = Timeouts(self.limits.timeout)
        usual_doubt = DOUBT_OF_LOOPBACK if is_loopback(base_url) else DOUBT
        self.availability = Availability(
            self.limits.patience, usual_doubt if self.limits.doubt is None else self.limits.doubt
        )
        self.bystanders = Bystanders(ledger, self.send, self.availability.is_own_refusal)
        self._last, self._answer_bytes, self._requests_to_gone, self._cleanup_seconds = -math.inf, 0, 0, 0.0
        self._is_redirected = False  # whether a request has met a redirect
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._free_threads, self._freed = MAX_SIMULTANEOUS, threading.Condition()
        self._threads: ThreadPoolExecutor | None = None  # kept, and with them their connections
        self._helpers = ThreadPoolExecutor(self.limits.jobs, "helper") if self.limits.jobs > 1 else None
        self._thread, self._traffic = SendState(), Traffic(self.limits.jobs)
        self._cleaning: set[int] = set()
        self._connection = connection or Connection()
        configured = {name.casefold() for name in self._connection.headers}
        user_agent = f"contract-tests (run {ledger.token})"  # which the records of the run carry, too
        usual = {"User-Agent": user_agent, "Accept-Encoding": "gzip, deflate"}
        not_configured = {name: text for name, text in usual.items() if name.casefold() not in configured}
        self._headers = not_configured | dict(self._connection.headers)
        self._trace = "" if TRACE.casefold() in configured else token_hex(8)  # the first half of each trace's id
        self._pools: list[urllib3.PoolManager] = []
        self._pool()

    def _pool(self) -> urllib3.PoolManager:
        self._thread.pool = self._connection.pool(self.base_url, self.limits.timeout)
        self._pools.append(self._thread.pool)
        return self._thread.pool

    @property
    def _counting(self) -> bool:
        """Whether this thread's requests count, and are not those of clean-up."""
        return threading.get_ident() not in self._cleaning

    @contextmanager
    def cleaning_up(self) -> Iterator[None]:
        """Allow requests from the budget that is kept for clean-up, whatever the time."""
        thread = threading.get_ident()
        self._cleaning.add(thread)
        self._thread.cleaning_since = started = time.monotonic()
        if not self.availability.gone_reason:
            self.availability.restart_patience()
        try:
            yield
        finally:
            self._cleaning.discard(thread)
            self._cleanup_seconds += time.monotonic() - started

    def close(self) -> None:
        for threads in filter(None, (self._threads, self._helpers)):
            threads.shutdown()
        for pool in self._pools:
            pool.clear()

    def send(self, request: Request, witness: Witness | None = None) -> Exchange:
        """Send a request; up to three times if it fails, and again once trouble has passed that is not its own.

        Creates are only sent again after an answer that refuses them for now. Of requests that time out, two tries are
        enough.

        Args:
            witness: sends a write of the same kind about another record, and returns the answer that matters.

        Raises:
            BudgetSpentError: if no more may be sent, or the server is gone.
            WriteRefusedError: if it would write to a record that is not the run's own.
            KeyboardInterrupt: if the run must end.
        """
        if self.limits.read_only and request.method != "GET":
            raise WriteRefusedError("this run is to write nothing")
        if request.operation not in ("update", "delete") or request.identifier is None:
            return self._send(request, witness)
        self._check_owner(request)
        with self.bystanders.turn(request):
            self._check_bystanders(request)
            reads = self.bystanders.before(request)
            exchange = self._send(request, witness)
            self.bystanders.after(exchange, reads)
        if self.bystanders.harm:
            self.stop_reason = self.stop_reason or "a write hit other records"
        return exchange

    def _send(self, request: Request, witness: Witness | None) -> Exchange:
        if self._counting and self._timeouts.gives_up(request):
            error = f"not sent: no other {request.operation} of {request.resource} was answered"
            return Exchange(request, 0, None, error=error, timed_out=True, was_sent=False)
        self._thread.has_sent = False
        started = time.monotonic()
        exchange = self._try(request)
        if self.availability.is_trouble(exchange):
            try:
                exchange = self._outlast(exchange, witness, time.monotonic() if exchange.timed_out else started)
            except BudgetSpentError as error:
                error.was_sent = self._thread.has_sent
                raise
        self._learn_from(exchange)
        self.exchanges.append(exchange)
        if request.operation == "read" and request.identity != OWN_KEY and self._shows_no_other_record(exchange):
            self._without_own_record.add((request.resource, request.identifier or 0, request.identity))
        return exchange

    @property
    def is_rate_limited(self) -> bool:
        """Whether requests keep a distance: as the user has asked for, or as the server has turned out to need."""
        return bool(self.limits.interval or self.availability.interval)

    def may_send(self, requests: int) -> bool:
        """Whether the budget and the time allow so many further requests."""
        with suppress(BudgetSpentError):
            self._go_on(requests)
            return True
        return False

    def count_elsewhere(self, requests: int) -> None:
        """Count requests that were sent by somebody else on behalf of the run."""
        with self._lock:
            self.request_count += requests

    def leave_connections(self) -> None:
        """Send the next request of this thread over a connection of its own."""
        if self._thread.pool:
            self._thread.pool.clear()

    def learn_refusals(self, resource: Resource) -> None:
        """See how the server refuses an id that nobody has: a 403 like that is no limit.

        It comes again after a pause, while lists work without one.
        """
        refusals: list[Exchange] = []
        for _ in range(TRIES):
            if not self.may_send(2):
                return
            if refusals:
                self._sleep_past_a_limit()
            refusals.append(self.send_once(request_of(resource, "read", UNKNOWN_ID, Expect.OPEN)))
            is_refused = refusals[-1].status == HTTPStatus.FORBIDDEN
            if not is_refused or not self.send_once(request_of(resource, "list")).succeeded:
                return
        for signatures in zip(*map(signatures_of, refusals), strict=False):
            if len(set(signatures)) == 1:  # the wording if it is always the same, or else the keys
                self.availability.own_refusals.add(signatures[0])
                return

    def _sleep_past_a_limit(self) -> None:
        """Let time pass, more than before the requests that follow, so that the next one does not come too soon."""
        time.sleep(max(REFUSAL_PAUSE, 2 * self.limits.interval, 2 * self.availability.interval))

    def send_once(self, request: Request) -> Exchange:
        """Send a request as a witness: once, and nobody judges the answer.

        Raises:
            WriteRefusedError: if it would write to a record that is not the run's own.
        """
        if request.operation in ("update", "delete"):
            self._check_owner(request)
        exchange = self._attempt(request)
        self.availability.note(exchange)
        return exchange

    def _try(self, request: Request) -> Exchange:
        """Send a request, and a few times more if it fails; a create, and what never works, only once."""
        attempts: list[int | None] = []
        overlapped: list[bool] = []
        exchange = self._attempt(request)
        with suppress(BudgetSpentError):  # then the last answer is all there is
            while True:
                self._timeouts.note(exchange)
                self.availability.note(exchange)
                is_sent_once = request.operation == "create" or self.availability.is_hopeless(request)
                max_tries = 1 if is_sent_once else self._timeouts.tries(exchange)
                is_asked_to_wait = stated_wait(exchange) is not None
                if not exchange.failed or is_asked_to_wait or len(attempts) >= max_tries - 1:
                    break
                self.availability.note_limit(exchange)
                attempts.append(exchange.status)
                overlapped += exchange.overlapped
                time.sleep(SHORT_PAUSE if self._is_trial(request) else self._timeouts.pause(exchange))
                exchange = self._attempt(request, tuple(attempts), is_alone=any(overlapped))
        is_usual = exchange.failed and self.availability.is_hopeless(request)
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
        state, request = self.availability, exchange.request
        if state.gone_reason:
            raise BudgetSpentError(state.gone_reason)
        if state.is_known_to_fail(exchange) if self._counting else state.is_hopeless(request):
            return exchange
        if self._counting and self._is_trial(request):
            return exchange
        interval = state.interval
        for number, pause in enumerate(waits()):
            witnessed, asked_wait = self._look(exchange, witness, has_waited=number > 0)
            if witnessed and not state.is_trouble(witnessed):
                return self._own(exchange, was_away=number > 0)
            seconds = time.monotonic() - started
            doubt = state.doubt_of(exchange) if self._counting else state.doubt
            if asked_wait is None and not state.may_be_starting(exchange, seconds):
                return exchange
            if seconds >= doubt and self._others_work(request):
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
        return is_optional and not self.availability.worked(request)

    def _look(
        self, exchange: Exchange, witness: Witness | None, *, has_waited: bool
    ) -> tuple[Exchange | None, float | None]:
        """The answer to a witness, if one is to be asked, and how long the server asks to wait.

        Clean-up asks none: it goes on for as long as others work or may work again.
        """
        was_sent_before = has_waited and exchange.request.operation == "create" and exchange.status not in NOT_DONE
        asked_wait = None if was_sent_before else stated_wait(exchange)  # that create was not sent again
        if asked_wait is not None or exchange.status == LIMITED or not self._counting:
            return None, asked_wait
        witnessed = self._ask_witness(exchange.request, witness)
        return witnessed, stated_wait(witnessed) if witnessed else None

    def _own(self, exchange: Exchange, *, was_away: bool) -> Exchange:
        """The answer to a request that failed while another of its kind works, once more if it was unlucky."""
        state, interval = self.availability, self.availability.interval
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
        self._timeouts.note(repeated)
        self.availability.note(repeated)
        if self.availability.is_trouble(repeated):
            return replace(repeated, attempts=exchange.attempts, overlapped=exchange.overlapped)
        return replace(
            repeated, attempts=(exchange.status,) if was_done and request.method != "GET" else (), overlapped=()
        )

    def _ask_witness(self, request: Request, witness: Witness | None) -> Exchange | None:
        """The answer to another request of the same kind, if one has worked before."""
        earlier = self.availability.worked(request)
        if earlier is None or earlier.method != "GET":
            return witness(request) if earlier and witness else None
        return self._read_afresh(earlier)

    def _others_work(self, request: Request) -> bool:
        """Whether a read of another kind works, or one of an id that nobody has, which no record can spoil."""
        reads = [self.availability.other_read(request), self.availability.unknown_read()]
        return any(read and not self.availability.is_trouble(self._read_afresh(read)) for read in reads)

    def _read_afresh(self, read: Request) -> Exchange:
        """A read that no cache answers; without what keeps it from that where the server refuses it."""
        afresh = self.send_once(replace(read, query=(*read.query, (CACHE_BUSTER, token_hex(4)))))
        return self.send_once(read) if afresh.is_refusal and not self.availability.is_trouble(afresh) else afresh

    def _wait(self, exchange: Exchange, seconds: float, *, is_stated: bool) -> None:
        """Wait for trouble to pass, unless the time or the patience is over.

        Args:
            is_stated: whether the server itself asks for it, and so it uses up no patience.

        Raises:
            BudgetSpentError: if it is.
            KeyboardInterrupt: if the run must end.
        """
        state, is_limit = self.availability, exchange.status == LIMITED
        if self._counting and seconds > self.seconds_left:
            raise BudgetSpentError(TIME_UP)
        if not self._counting and self._cleanup_seconds + time.monotonic() - self._thread.cleaning_since > MAX_CLEANUP:
            raise BudgetSpentError(f"clean-up took more than {MAX_CLEANUP / 60:.0f} minutes")
        if is_stated:
            state.note_wait(seconds)
        elif state.is_patience_over and not self._others_work(exchange.request):
            state.note_gone(exchange)
            self.stop_reason = self.stop_reason or state.gone_reason
            raise BudgetSpentError(state.gone_reason)
        if seconds >= REPORTED_WAIT:
            self.waiting(seconds, RATE_LIMITED if is_limit else f"the server is in trouble ({exchange.status_text})")
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._counting and self.interrupted():
                raise KeyboardInterrupt
            time.sleep(min(left, SLICE))

    def _learn_from(self, exchange: Exchange) -> None:
        """Send one request at a time after a failure that others under way may have caused, and not after one alone."""
        failures_alone = exchange.fails_alone
        if any(failures_alone):
            self._traffic.one_at_a_time = False
        elif failures_alone:
            self._traffic.one_at_a_time = True

    def side_by_side(self, steps: Sequence[Callable[[], Result]]) -> list[Result]:
        """The results of steps that do not disturb each other, at once as far as that many requests may be under way.

        Raises:
            BaseException: the first that a step raised, once all have ended.
        """
        if self._helpers is None or self.is_rate_limited or self._thread.is_helper or len(steps) == 1:
            return [step() for step in steps]
        cleaning_since, is_cleaning = self._thread.cleaning_since, not self._counting

        def carry_out(step: Callable[[], Result]) -> Result:
            self._thread.is_helper, self._thread.cleaning_since = True, cleaning_since
            if not is_cleaning:
                return step()
            self._cleaning.add(threading.get_ident())
            try:
                return step()
            finally:
                self._cleaning.discard(threading.get_ident())

        futures = [self._helpers.submit(carry_out, step) for step in steps]
        wait(futures)
        return [future.result() for future in futures]

    def send_together(
        self, requests: Sequence[Request], delays: Sequence[float], slow: Sequence[float] = ()
    ) -> list[Exchange]:
        """Send requests at one moment, each once and over a connection of its own: all of them, or none.

        Args:
            delays: by how many seconds each comes after that moment.
            slow: for how many seconds the first ones pause in the middle of their bodies, as uploads do.
        """
        for request in requests:
            if request.operation in ("update", "delete"):
                self._check_owner(request)
                self._check_bystanders(request)
                if not self.bystanders.is_cleared(request):
                    raise WriteRefusedError(f"{request.resource} {request.identifier} is in use elsewhere, too")
        self._go_on(len(requests))
        self._keep_pace(len(requests))
        moment = threading.Barrier(len(requests))

        def send_once(request: Request, seconds: float, pause: float) -> Exchange:
            self._thread.is_burst, self._thread.has_sent = True, False
            with suppress(threading.BrokenBarrierError):
                moment.wait(self.limits.timeout)
            time.sleep(seconds)
            return self._attempt(request, pause=pause)

        with self._reserved_threads(len(requests)) as threads:
            exchanges = list(threads.map(send_once, requests, delays, chain(slow, repeat(0.0))))
        self.exchanges += exchanges
        return exchanges

    @contextmanager
    def _reserved_threads(self, count: int) -> Iterator[ThreadPoolExecutor]:
        """Threads for requests that wait for each other, so many of them free: no two moments share those of both."""
        with self._freed:
            self._threads = self._threads or ThreadPoolExecutor(MAX_SIMULTANEOUS, "overlap")
            self._freed.wait_for(lambda: self._free_threads >= count)
            self._free_threads -= count
        try:
            yield self._threads
        finally:
            with self._freed:
                self._free_threads += count
                self._freed.notify_all()

    def _check_bystanders(self, request: Request) -> None:
        if not self.bystanders.allows(request.resource, request.identifier, request.identity):
            raise WriteRefusedError(f"{self.bystanders.harm}; others have {request.identifier} elsewhere, too")

    def _check_owner(self, request: Request) -> None:
        """Refuse to write to what is not the run's own record, or may not be for the identity that writes.

        Accounts may share ids: before somebody else's key writes to one of the account's records, a read with
        it must be refused under this id, or show that very record.
        """
        resource, identifier, identity = request.resource, request.identifier or 0, request.identity
        if self.ledger.allows_write(resource, identifier, identity):
            return
        if identity == OWN_KEY or not self.ledger.allows_write(resource, identifier):
            raise WriteRefusedError(f"{resource} {identifier} is not known to be this run's own")
        record_key = (resource, identifier, identity)
        if identity in self.keys and record_key not in self._without_own_record:
            read = Request("read", resource, "GET", request.path, (), None, identity, identifier, Expect.OPEN)
            exchange = self.send(read)
            if record_key in self._without_own_record:
                return
            if exchange.status != HTTPStatus.FORBIDDEN or not self._is_refused_again(exchange):
                raise WriteRefusedError(f"{resource} {identifier} may be a record of somebody else's, to {identity}")
            self._without_own_record.add(record_key)

    def _shows_no_other_record(self, read: Exchange) -> bool:
        """Whether a read was refused, or shows the run's own record; a 403 may be that of a limit."""
        request, text = read.request, read.body.decode("utf-8", "replace")
        is_unclear = read.status == HTTPStatus.FORBIDDEN and not self.availability.is_own_refusal(read)
        is_unanswered = read.status in (None, LIMITED) or read.failed
        is_refused = not (is_unclear or is_unanswered or re.search(r'"id\W*:\W*\d', text))
        return is_refused or self.ledger.is_shown(request.resource, request.identifier or 0, text)

    def _is_refused_again(self, read: Exchange) -> bool:
        """Whether a read got a 403 that is no limit's: it comes after a pause, too, while others work without one."""
        wording = signatures_of(read)[0]
        if wording in self._refusals and not self.availability.limit_count:
            return True
        self._sleep_past_a_limit()
        repeated = self.send_once(read.request)
        if repeated.status != HTTPStatus.FORBIDDEN or not self._others_work(read.request):
            return False
        self._refusals.add(wording)
        return True

    def _attempt(
        self, request: Request, attempts: tuple[int | None, ...] = (), pause: float = 0.0, *, is_alone: bool = False
    ) -> Exchange:
        """Send a request once, and follow where a read is redirected to.

        Args:
            attempts: the statuses of earlier tries.
            pause: seconds in the middle of its body.
            is_alone: whether to wait until no other request is under way.
        """
        if self._counting and not self._thread.is_burst:
            self._go_on()
        with self._traffic.under_way(is_alone=is_alone, is_burst=self._thread.is_burst) as overlapped:
            exchange = self._answer(request, attempts, pause)
        return replace(exchange, overlapped=tuple(overlapped))

    def _answer(self, request: Request, attempts: tuple[int | None, ...], pause: float) -> Exchange:
        self._thread.answer_time = self._timeouts.seconds_to_wait(request, last=not self._counting)
        body, headers = self._encode(request)
        url = location_url = f"{self.base_url}{request.target}{self._key_in_query(request)}"
        redirects: list[tuple[int, str]] = []
        status, error, timed_out = None, "", False
        answer: urllib3.BaseHTTPResponse | None = None
        content, trace, was_sent = b"", "", True
        try:
            while answer is None or (answer.status in REDIRECTS and len(redirects) < MAX_REDIRECTS):
                if answer is not None:
                    location = answer.headers.get("Location", "")
                    redirects.append((answer.status, location))
                    self._is_redirected = True
                    location_url, body = _joined(location_url, location), None
                    if request.method != "GET" or not location or not _is_safe(url, location_url):
                        break
                pool = self._next_request(request)
                trace = self._trace and f"{self._trace}{self._thread.number:016x}"
                traced = {TRACE: f"00-{trace}-{self._thread.number:016x}-01"} if trace else {}
                answer = pool.request(
                    request.method,
                    location_url,
                    body=_halves(body, pause) if body and (pause or request.form_style.chunked) else body,
                    headers=headers | traced | ({"Content-Length": str(len(body))} if pause and body else {}),
                    redirect=False,
                    preload_content=False,
                    timeout=self._thread.timeout,
                )
                content = read_whole(answer)
                self._count_bytes(len(content))
            status = answer.status
        except urllib3.exceptions.HTTPError as failure:
            timed_out = isinstance(failure, urllib3.exceptions.TimeoutError)
            timed_out = timed_out and not isinstance(failure, urllib3.exceptions.NewConnectionError)
            error = f"no whole answer came within {self._thread.timeout:.2g} s" if timed_out else _words_of(failure)
            answer, content, was_sent = None, b"", bool(redirects) or not isinstance(failure, NO_CONNECTION)
        self._thread.has_sent |= was_sent
        seconds = time.monotonic() - self._thread.started_at
        timed_out |= status is None and seconds > self.limits.timeout / 3  # also if the server itself has ended it then
        exchange = Exchange(
            request,
            self._thread.number,
            status,
            answer.headers if answer else {},
            content,
            error,
            attempts,
            tuple(redirects),
            started_at=time.time() - seconds,
            seconds=seconds,
            timed_out=timed_out,
            trace=trace,
            was_sent=self._thread.has_sent,
        )
        self.all_exchanges.append(exchange)
        return exchange

    def _encode(self, request: Request) -> tuple[bytes | None, dict[str, str]]:
        headers = dict(self._headers)
        header_name = place_of(request.identity)
        if header_name and request.identity in self.keys:
            headers[header_name] = self.keys[request.identity]
        body = None
        if request.body is not None:
            headers["Content-Type"], body = request.body
        elif request.form is not None:
            body, headers["Content-Type"] = encode(request.form, request.form_style)
        if request.form_style.chunked:  # what a server leaves unread must not pass for another request
            headers |= {"Transfer-Encoding": "chunked", "Connection": "close"}
        return body, headers

    def _key_in_query(self, request: Request) -> str:
        if place_of(request.identity) or request.identity not in self.keys:
            return ""
        return f"{'&' if request.query else '?'}{self.keys[request.identity]}"

    def _next_request(self, request: Request) -> urllib3.PoolManager:
        """Count a request that is about to be sent, when its time has come; return the connections for it."""
        if not self._thread.is_burst:
            self._keep_pace(1)
        with self._lock:
            if self._counted_requests >= self.limits.requests:
                raise BudgetSpentError(BUDGET_SPENT)
            self._requests_to_gone += bool(self.availability.gone_reason)
            if self._requests_to_gone > MAX_AFTER_GONE:
                raise BudgetSpentError(self.availability.gone_reason)
            self.request_count += 1
            self._thread.number = self.request_count
        self.on_request(self._thread.number)
        self._thread.started_at = time.monotonic()
        longest_wait = max(self.seconds_left, MIN_TIME) if self._counting else math.inf
        self._thread.timeout = min(self.limits.timeout, self._thread.answer_time, longest_wait)
        pool = self._thread.pool or self._pool()
        if request.method != "GET":
            pool.clear()  # if a server closes a kept connection, the fate of a write is unknown
        return pool

    def _count_bytes(self, count: int) -> None:
        with self._lock:
            self._answer_bytes += count
            if self._answer_bytes > MAX_ANSWER_BYTES:
                self.stop_reason = self.stop_reason or f"the answers came to more than {MAX_ANSWER_BYTES >> 20} MiB"

    def _go_on(self, requests: int = 1) -> None:
        """Refuse to send more if the run must end; some requests are kept for removing what was made so far."""
        if self.interrupted():
            raise KeyboardInterrupt
        if self.stop_reason:
            raise BudgetSpentError(self.stop_reason)
        total = self._counted_requests + requests - 1
        if total + self._requests_to_remove(len(self.ledger.entries)) >= self.limits.requests:
            unfinished = len(self.ledger.left)  # of all that was made
            if total + (unfinished and self._requests_to_remove(unfinished)) >= self.limits.requests:
                raise BudgetSpentError(BUDGET_SPENT)
        if self.seconds_left <= 0:
            raise BudgetSpentError(TIME_UP)

    def _requests_to_remove(self, records: int) -> int:
        """The requests that are kept for clean-up, each of which may be redirected."""
        return (CLEANUP_RESERVE + CLEANUP_PER_RECORD * records) * (1 + self._is_redirected)

    @property
    def _counted_requests(self) -> int:
        """The requests that count towards the budget: all but those for which the server had no time."""
        return self.request_count - self.availability.limit_count

    @property
    def seconds_left(self) -> float:
        """The seconds until the run must end."""
        return (self.limits.seconds or math.inf) - (time.monotonic() - self._started)

    def _keep_pace(self, requests: int) -> None:
        with self._lock:
            now, interval = time.monotonic(), max(self.limits.interval, self.availability.interval)
            due = max(now, self._last + interval)
            self._last = due + interval * (requests - 1)
        if due > now:
            time.sleep(due - now)


def _words_of(failure: urllib3.exceptions.HTTPError) -> str:
    """Why no whole answer came, in words."""
    text = str(failure)
    if isinstance(failure, urllib3.exceptions.ProxyError) and isinstance(failure.original_error, NO_CONNECTION):
        return f"{_words_of(failure.original_error)}, to the proxy"
    if isinstance(failure, NO_CONNECTION):
        reason = failure.__cause__.strerror if isinstance(failure.__cause__, OSError) else None
        return f"no connection ({reason or text.partition(': ')[2] or text})"
    if "RemoteDisconnected" in text or "ConnectionResetError" in text:
        return "the connection was closed before an answer came"
    if "BadStatusLine" in text or "UnknownProtocol" in text:  # which quote what came, a key perhaps
        return "what came does not begin as an answer in HTTP"
    return "the connection was closed before the answer was whole" if "IncompleteRead" in text else text


def _halves(body: bytes, pause: float) -> Iterator[bytes]:
    """A body in two parts, the second of them later."""
    yield body[: len(body) // 2]
    time.sleep(pause)
    yield body[len(body) // 2 :]


def _joined(url: str, location: str) -> str:
    """Where a redirect leads from a URL; an empty string if that is nowhere."""
    try:
        return urljoin(url, location)
    except ValueError:  # a location that is not a URL leads nowhere
        return ""


def _is_safe(url: str, location_url: str) -> bool:
    """Whether a redirect may receive the key: it leads to the same host, and does not drop TLS."""
    before, after = urlsplit(url), urlsplit(location_url)
    return before.netloc == after.netloc and after.scheme in (before.scheme, "https")
