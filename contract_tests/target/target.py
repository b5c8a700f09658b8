"""The implementation under test: the only place that opens a socket."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import urllib3

from contract_tests.exchange import OWN, Exchange, Expect, Request
from contract_tests.multipart import encode
from contract_tests.target.connection import Answer, Connection, Sent, read_whole
from contract_tests.target.crew import Crew
from contract_tests.target.hangs import Hangs
from contract_tests.target.headers import is_safe, joined, seconds_of
from contract_tests.target.ledger import Ledger
from contract_tests.target.limits import Limits

PAUSE = 0.2
MOST_REDIRECTS = 5
LEAST_WAIT, MOST_WAIT = 0.5, 90.0  # seconds for a rate limit to pass
SPENT, TIME_UP = "the budget of requests was spent", "the time for the run was up"
MOST_KEPT = 96 << 20  # bytes of answers in a run
KEPT, KEPT_A_RECORD = 10, 3  # requests kept for clean-up, and for each record to remove
REDIRECTS = {301, 302, 303, 307, 308}


class BudgetSpentError(Exception):
    """The run may send no more requests; the message says why."""


class WriteRefusedError(Exception):
    """A write to a record that the run did not create, or has not yet seen with its own marker."""


class Target:
    """Sends requests to one base URL, and keeps what came back; several threads may send, at one pace.

    Args:
        base_url: where the implementation answers.
        keys: the `Authorization` header of each identity; an identity without one sends none.
        ledger: what the run created.
        limits: how hard the target may be pushed.
        connection: how it is reached.

    Attributes:
        interrupted: returns whether the run must end; called before each request, clean-up aside.
        enough: why no more requests are to be sent, clean-up aside; empty as long as they are.
        waiting: called with the seconds for which the run waits because the server reports too many requests.
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
        self.sent = 0
        self.exchanges: list[Exchange] = []
        self.interrupted: Callable[[], bool] = lambda: False
        self.enough = ""
        self.waiting: Callable[[float], None] = lambda _seconds: None
        self._strange: set[tuple[str, int, str]] = set()
        self._hangs = Hangs(self.limits.timeout)
        self._waited, self._next, self._kept = 0.0, 0.0, 0
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._sent = Sent()
        self._cleaning: set[int] = set()
        self._connection = connection or Connection()
        self._headers = {"User-Agent": "contract-tests", "Accept-Encoding": "gzip, deflate"}
        self._headers |= self._connection.headers
        self._pools: list[urllib3.PoolManager] = []
        self._crew = Crew()
        self._pool()

    def _pool(self) -> urllib3.PoolManager:
        """New connections, for this thread."""
        self._sent.pool = self._connection.pool(self.base_url, self.limits.timeout)
        self._pools.append(self._sent.pool)
        return self._sent.pool

    @property
    def _counting(self) -> bool:
        """Whether this thread's requests count, and are not those of clean-up."""
        return threading.get_ident() not in self._cleaning

    @contextmanager
    def cleaning_up(self) -> Iterator[None]:
        """Allow requests from the budget that is kept for clean-up, whatever the time."""
        thread = threading.get_ident()
        self._cleaning.add(thread)
        try:
            yield
        finally:
            self._cleaning.discard(thread)

    def close(self) -> None:
        """Close all connections."""
        self._crew.close()
        for pool in self._pools:
            pool.clear()

    def send(self, request: Request) -> Exchange:
        """Send a request; again after a rate limit and, except for creates, up to three times if it fails.

        Raises:
            BudgetSpentError: if no more may be sent.
            WriteRefusedError: if it would write to a record that is not the run's own.
            KeyboardInterrupt: if the run must end.
        """
        if self.limits.read_only and request.method != "GET":
            raise WriteRefusedError("this run is to write nothing")
        writes = request.operation in ("update", "delete") and request.identifier is not None
        if writes:
            self._check_owner(request)
        if self._counting and self._hangs.is_given_up(request):
            told = f"not sent: no other {request.operation} of {request.resource} was answered"
            return Exchange(request, 0, None, error=told, timed_out=True)
        exchange = self._insist(request)
        self.exchanges.append(exchange)
        if request.operation == "read" and request.identity != OWN:
            self._note_strange(exchange)
        return exchange

    def together(self, requests: Sequence[Request], late: Sequence[float] = ()) -> list[Exchange]:
        """Send requests at one moment, each once and over a connection of its own: all of them, or none.

        Args:
            requests: the requests; what they raise is as for `send`.
            late: by how many seconds each comes after that moment.
        """
        for request in requests:
            if request.operation in ("update", "delete"):
                self._check_owner(request)
        self._go_on(len(requests))
        self._keep_pace(len(requests))

        def once(request: Request) -> Exchange:
            self._sent.at_once = True
            return self._once(request, ())

        exchanges = self._crew.at_once(once, requests, late, self.limits.timeout)
        self.exchanges += exchanges
        return exchanges

    def _insist(self, request: Request) -> Exchange:
        """The last answer of a few tries; of those that time out, two are enough."""
        attempts: list[int | None] = []
        exchange = self._once(request, ())
        with suppress(BudgetSpentError):  # then the last answer is all there is
            while True:
                self._hangs.note(exchange)
                if exchange.status == HTTPStatus.TOO_MANY_REQUESTS and self._wait_for_limit(exchange):
                    exchange = self._once(request, tuple(attempts))
                    continue
                tries = self._hangs.tries(exchange)
                if not exchange.failed or request.operation == "create" or len(attempts) >= tries - 1:
                    break
                attempts.append(exchange.status)
                time.sleep(self._hangs.pause(exchange, PAUSE))
                exchange = self._once(request, tuple(attempts))
        return exchange

    def _check_owner(self, request: Request) -> None:
        """Refuse to write to what is not the run's own record, or may not be for the identity that writes.

        Accounts may share ids: before somebody else's key writes to one of the account's records, a read with
        it must be refused under this id, or show that very record.
        """
        resource, identifier, identity = request.resource, request.identifier or 0, request.identity
        if self.ledger.allows_write(resource, identifier, identity):
            return
        if identity == OWN or not self.ledger.allows_write(resource, identifier):
            raise WriteRefusedError(f"{resource} {identifier} is not known to be this run's own")
        if identity in self.keys and (resource, identifier, identity) not in self._strange:
            path = request.path
            self._note_strange(
                self.send(Request("read", resource, "GET", path, (), None, identity, identifier, Expect.OPEN))
            )
            if (resource, identifier, identity) not in self._strange:
                raise WriteRefusedError(f"{resource} {identifier} may be a record of somebody else's, to {identity}")

    def _note_strange(self, exchange: Exchange) -> None:
        """Note an identity without its own record under an id: its read was refused, or showed the run's record."""
        request, text = exchange.request, exchange.body.decode("utf-8", "replace")
        refused = exchange.status is not None and not exchange.failed and not re.search(r'"id\W*:\W*\d', text)
        if refused or self.ledger.is_shown(request.resource, request.identifier or 0, text):
            self._strange.add((request.resource, request.identifier or 0, request.identity))

    def _once(self, request: Request, attempts: tuple[int | None, ...]) -> Exchange:
        if self._counting and not self._sent.at_once:
            self._go_on()
        self._sent.patience = self._hangs.patience(request, last=not self._counting)
        headers = dict(self._headers)
        if request.identity in self.keys:
            headers["Authorization"] = self.keys[request.identity]
        body = None
        if request.body is not None:
            headers["Content-Type"], body = request.body
        elif request.form is not None:
            body, headers["Content-Type"] = encode(request.form, request.shape)
        url = f"{self.base_url}{request.target}"
        redirects: list[tuple[int, str]] = []
        try:
            answer = self._call(request.method, url, body, headers)
            there = url
            while answer.status in REDIRECTS and len(redirects) < MOST_REDIRECTS:
                location = answer.headers.get("Location", "")
                redirects.append((answer.status, location))
                there = joined(there, location)
                if request.method != "GET" or not location or not is_safe(url, there):
                    break
                answer = self._call("GET", there, None, headers)
        except urllib3.exceptions.HTTPError as error:
            late = isinstance(error, urllib3.exceptions.TimeoutError)
            late = late and not isinstance(error, urllib3.exceptions.NewConnectionError)
            told = f"no whole answer came within {self._sent.timeout:.2g} s" if late else str(error)
            exchange = Exchange(request, self._sent.number, None, error=told, timed_out=late)
        else:
            exchange = Exchange(request, self._sent.number, answer.status, answer.headers, answer.data)
        seconds = time.monotonic() - self._sent.began
        return replace(
            exchange, attempts=attempts, redirects=tuple(redirects), began=time.time() - seconds, seconds=seconds
        )

    def _go_on(self, requests: int = 1) -> None:
        """Refuse to send more if the run must end; some requests are kept for removing what was made so far."""
        if self.interrupted():
            raise KeyboardInterrupt
        if self.enough:
            raise BudgetSpentError(self.enough)
        unfinished = len(self.ledger.left)
        if self.sent + requests - 1 + (unfinished and KEPT + KEPT_A_RECORD * unfinished) >= self.limits.requests:
            raise BudgetSpentError(SPENT)
        if self._left() <= 0:
            raise BudgetSpentError(TIME_UP)

    def _left(self) -> float:
        """How long the run may still take, in seconds."""
        return (self.limits.seconds or math.inf) - (time.monotonic() - self._began)

    def _call(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        if not self._sent.at_once:
            self._keep_pace(1)
        with self._lock:
            if self.sent >= self.limits.requests:
                raise BudgetSpentError(SPENT)
            self.sent += 1
            self._sent.number = self.sent
        self._sent.began = time.monotonic()
        left = max(self._left(), LEAST_WAIT) if self._counting else math.inf
        self._sent.timeout = min(self.limits.timeout, self._sent.patience, left)
        return self._fetch(method, url, body, headers)

    def _keep_pace(self, requests: int) -> None:
        """Wait until so many requests may be sent."""
        with self._lock:
            pause = self._next - time.monotonic()
            self._next = max(self._next, time.monotonic()) + self.limits.interval * requests
        if pause > 0:
            time.sleep(pause)

    def _fetch(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        pool = self._sent.pool or self._pool()
        if method != "GET":
            pool.clear()  # if a server closes a kept connection, the fate of a write is unknown
        how: dict[str, Any] = {"redirect": False, "preload_content": False, "timeout": self._sent.timeout}
        response = pool.request(method, url, body=body, headers=dict(headers), **how)
        answer = Answer(response.status, response.headers, read_whole(response))
        with self._lock:
            self._kept += len(answer.data)
            if self._kept > MOST_KEPT:
                self.enough = self.enough or f"the answers came to more than {MOST_KEPT >> 20} MiB"
        return answer

    def _wait_for_limit(self, exchange: Exchange) -> bool:
        """Wait as long as a rate limit says, if there is patience left."""
        said = exchange.headers.get("Retry-After") or exchange.headers.get("X-RateLimit-Reset") or "1"
        seconds = max(min(seconds_of(said), MOST_WAIT), LEAST_WAIT)
        if self._waited + seconds > self.limits.patience or (self._counting and seconds > self._left()):
            return False
        self._waited += seconds
        self.waiting(seconds)
        time.sleep(seconds)
        return True
