"""The implementation under test: sends requests to it, and keeps what came back."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain, repeat
from typing import TypeVar

from contract_tests.evidence.exchange import Exchange, Request
from contract_tests.target.availability import Availability
from contract_tests.target.budget import Budget, BudgetSpentError, Limits
from contract_tests.target.bystanders import Bystanders
from contract_tests.target.connection import Connection, is_loopback
from contract_tests.target.ledger import Ledger
from contract_tests.target.ownership import Ownership, Refusals, WriteRefusedError
from contract_tests.target.retries import Retries, Witness
from contract_tests.target.traffic import Traffic
from contract_tests.target.wire import Wire

JOBS = 6  # requests under way at a time, unless the user says otherwise
MAX_SIMULTANEOUS = 60  # requests that overlap
DOUBT, DOUBT_OF_LOOPBACK = 30.0, 5.0  # seconds for which an operation may fail although others work
Result = TypeVar("Result")


class _ThreadState(threading.local):
    """Whether a thread carries out steps that another one has handed out."""

    is_helper = False


class Target:
    """Sends requests to one base URL, and keeps what came back; several threads may send, at one pace.

    Args:
        keys: what each identity sends instead of the key, as `identities` returns it; one without any sends none.

    Attributes:
        exchanges: what rules may judge.
        all_exchanges: every exchange, also earlier tries and witnesses.
        availability: what answers show of the server's state.
        budget: what is left of requests and time.
        retries: sends again what fails.
        refusals: tells the server's own refusals from a limit's.
        bystanders: looks for what writes hit elsewhere.
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
        usual_doubt = DOUBT_OF_LOOPBACK if is_loopback(base_url) else DOUBT
        self.availability = Availability(
            self.limits.patience, usual_doubt if self.limits.doubt is None else self.limits.doubt
        )
        self.budget = Budget(self.limits, ledger, self.availability)
        self._wire = Wire(self.base_url, self.keys, connection or Connection(), ledger.token, self.budget)
        self.exchanges, self.all_exchanges = list[Exchange](), self._wire.exchanges
        self.retries = Retries(self._attempt, self.availability, self.budget)
        self.refusals = Refusals(self.retries, self.availability, self.budget)
        self.bystanders = Bystanders(ledger, self.send, self.availability.is_own_refusal)
        self._ownership = Ownership(ledger, self.keys, self.send, self.refusals, self.availability)
        self._free_threads, self._freed = MAX_SIMULTANEOUS, threading.Condition()
        self._threads: ThreadPoolExecutor | None = None  # kept, and with them their connections
        self._helpers = ThreadPoolExecutor(self.limits.jobs, "helper") if self.limits.jobs > 1 else None
        self._thread, self._traffic = _ThreadState(), Traffic(self.limits.jobs)

    def close(self) -> None:
        for threads in filter(None, (self._threads, self._helpers)):
            threads.shutdown()
        self._wire.close()

    def leave_connections(self) -> None:
        """Send the next request of this thread over a connection of its own."""
        self._wire.leave_connections()

    def send(self, request: Request, witness: Witness | None = None) -> Exchange:
        """Send a request; up to three times if it fails, and again once trouble has passed that is not its own.

        Creates are only sent again after an answer that refuses them for now.

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
        self._ownership.check(request)
        with self.bystanders.turn(request):
            self._check_bystanders(request)
            reads = self.bystanders.before(request)
            exchange = self._send(request, witness)
            self.bystanders.after(exchange, reads)
        if self.bystanders.harm:
            self.budget.stop("a write hit other records")
        return exchange

    def _send(self, request: Request, witness: Witness | None) -> Exchange:
        if not self.budget.is_cleaning and self.retries.timeouts.gives_up(request):
            error = f"not sent: no other {request.operation} of {request.resource} was answered"
            return Exchange(request, 0, None, error=error, timed_out=True, was_sent=False)
        self._wire.begin_step()
        try:
            exchange = self.retries.send(request, witness)
        except BudgetSpentError as error:
            error.was_sent = self._wire.has_sent
            raise
        self._learn_from(exchange)
        self.exchanges.append(exchange)
        self._ownership.note(exchange)
        return exchange

    def _learn_from(self, exchange: Exchange) -> None:
        """Send one request at a time after a failure that others under way may have caused, and not after one alone."""
        failures_alone = exchange.fails_alone
        if any(failures_alone):
            self._traffic.one_at_a_time = False
        elif failures_alone:
            self._traffic.one_at_a_time = True

    def send_once(self, request: Request) -> Exchange:
        """Send a request as a witness: once, and nobody judges the answer.

        Raises:
            WriteRefusedError: if it would write to a record that is not the run's own.
        """
        if request.operation in ("update", "delete"):
            self._ownership.check(request)
        return self.retries.send_once(request)

    def _check_bystanders(self, request: Request) -> None:
        if not self.bystanders.allows(request.resource, request.identifier, request.identity):
            raise WriteRefusedError(f"{self.bystanders.harm}; others have {request.identifier} elsewhere, too")

    def _attempt(
        self,
        request: Request,
        attempts: tuple[int | None, ...] = (),
        pause: float = 0.0,
        *,
        is_exclusive: bool = False,
        is_burst: bool = False,
    ) -> Exchange:
        """Send a request once.

        Args:
            attempts: the statuses of earlier tries.
            pause: seconds in the middle of its body.
            is_exclusive: whether to wait until no other request is under way.
            is_burst: whether it overlaps others, for which the run has found room already.
        """
        if not (self.budget.is_cleaning or is_burst):
            self.budget.check()
        with self._traffic.under_way(is_exclusive=is_exclusive, is_burst=is_burst) as overlapped:
            seconds = self.retries.timeouts.seconds_to_wait(request, last=self.budget.is_cleaning)
            exchange = self._wire.send(request, seconds, attempts, pause, is_burst=is_burst)
        return replace(exchange, overlapped=tuple(overlapped))

    def side_by_side(self, steps: Sequence[Callable[[], Result]]) -> list[Result]:
        """The results of steps that do not disturb each other, at once as far as that many requests may be under way.

        Raises:
            BaseException: the first that a step raised, once all have ended.
        """
        if self._helpers is None or self.budget.is_rate_limited or self._thread.is_helper or len(steps) == 1:
            return [step() for step in steps]
        cleanup_start = self.budget.cleanup.started_at

        def carry_out(step: Callable[[], Result]) -> Result:
            self._thread.is_helper, self.budget.cleanup.started_at = True, cleanup_start
            return step()

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
                self._ownership.check(request)
                self._check_bystanders(request)
                if not self.bystanders.is_cleared(request):
                    raise WriteRefusedError(f"{request.resource} {request.identifier} is in use elsewhere, too")
        self.budget.check(len(requests))
        self.budget.keep_pace(len(requests))
        moment = threading.Barrier(len(requests))

        def send_once(request: Request, seconds: float, pause: float) -> Exchange:
            self._wire.begin_step()
            with suppress(threading.BrokenBarrierError):
                moment.wait(self.limits.timeout)
            time.sleep(seconds)
            return self._attempt(request, pause=pause, is_burst=True)

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
