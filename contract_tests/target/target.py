"""The implementation under test: the only place that opens a socket."""

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import chain, repeat
from secrets import token_hex
from urllib.parse import urljoin, urlsplit

import urllib3

from contract_tests.exchange import OWN_KEY, TRIES, Exchange, Expect, Request
from contract_tests.multipart import encode
from contract_tests.target.connection import Connection, SendState, read_whole
from contract_tests.target.identities import place_of
from contract_tests.target.ledger import Ledger
from contract_tests.target.traffic import Traffic

PAUSE = 0.2
MAX_REDIRECTS = 5
MIN_WAIT, MAX_WAIT = 0.5, 90.0  # seconds for a rate limit to pass
BUDGET_SPENT, TIME_UP = "the budget of requests was spent", "the time for the run was up"
MAX_ANSWER_BYTES = 96 << 20  # bytes of answers in a run
CLEANUP_RESERVE, CLEANUP_PER_RECORD = 10, 3  # requests kept for clean-up, and for each record to remove
REDIRECTS = {301, 302, 303, 307, 308}
MAX_SIMULTANEOUS = 60  # requests that overlap
EPOCH = 1e9  # seconds; a larger number in a header is a time
TRIES_OF_A_HANG = 2
FAILURES_IN_A_ROW = 3 * TRIES  # failures in a row, after which another try of a request like those comes sooner
SHORT_PAUSE_FACTOR = 0.05  # of the usual pause
RETRY_TIMEOUT_FACTOR = 0.25  # of the timeout is enough for another try of what has not answered within the whole
TRACE = "traceparent"  # W3C Trace Context
CLEANUP_TIMEOUT = 1.0  # seconds for a clean-up by an operation that never answers


class BudgetSpentError(Exception):
    """The run may send no more requests; the message says why."""


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
        patience: seconds to wait, in all, for rate limits to pass.
        lag: seconds by which reads may lag behind writes.
    """

    requests: int = 2000
    seconds: float | None = None
    interval: float = 0.0
    timeout: float = 30.0
    patience: float = 300.0
    lag: float = 2.1
    read_only: bool = False


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
        return (
            PAUSE
            if self._failures[_timeout_keys(exchange.request)[0]] < FAILURES_IN_A_ROW
            else PAUSE * SHORT_PAUSE_FACTOR
        )


def _timeout_keys(request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What may hang with a request that hangs: requests like it, and all of its operation."""
    operation = (request.resource, request.operation)
    return (*operation, request.identity, request.expects), operation


class Target:
    """Sends requests to one base URL, and keeps what came back; several threads may send, at one pace.

    Args:
        keys: what each identity sends instead of the key, as `identities` returns it; one without any sends none.

    Attributes:
        interrupted: returns whether the run must end; called before each request, clean-up aside.
        stop_reason: why no more requests are to be sent, clean-up aside; empty as long as they are.
        on_request: called with the number of each request.
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
        self.request_count = 0
        self.exchanges: list[Exchange] = []
        self.interrupted: Callable[[], bool] = lambda: False
        self.stop_reason = ""
        self.waiting: Callable[[float], None] = lambda _seconds: None
        self.on_request: Callable[[int], None] = lambda _request_count: None
        self._without_own_record: set[tuple[str, int, str]] = set()  # resource, id, and an identity that has none there
        self._timeouts = Timeouts(self.limits.timeout)
        self._seconds_waited, self._next, self._answer_bytes = 0.0, 0.0, 0
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._overlapping = threading.Lock()  # one moment at a time, so that no two wait for each other's threads
        self._threads: ThreadPoolExecutor | None = None  # kept, and with them their connections
        self._thread = SendState()
        self._traffic = Traffic()
        self._cleaning: set[int] = set()
        self._connection = connection or Connection()
        configured = {name.casefold() for name in self._connection.headers}
        user_agent = f"contract-tests (run {ledger.token})"  # which the records of the run carry, too
        usual = {"User-Agent": user_agent, "Accept-Encoding": "gzip, deflate"}
        self._headers = {name: text for name, text in usual.items() if name.casefold() not in configured}
        self._headers |= self._connection.headers
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
        try:
            yield
        finally:
            self._cleaning.discard(thread)

    def close(self) -> None:
        if self._threads:
            self._threads.shutdown()
        for pool in self._pools:
            pool.clear()

    def send(self, request: Request) -> Exchange:
        """Send a request; again after a rate limit and, except for creates, up to three times if it fails.

        Of those that time out, two tries are enough.

        Raises:
            BudgetSpentError: if no more may be sent.
            WriteRefusedError: if it would write to a record that is not the run's own.
            KeyboardInterrupt: if the run must end.
        """
        if self.limits.read_only and request.method != "GET":
            raise WriteRefusedError("this run is to write nothing")
        if request.operation in ("update", "delete") and request.identifier is not None:
            self._check_owner(request)
        if self._counting and self._timeouts.gives_up(request):
            error = f"not sent: no other {request.operation} of {request.resource} was answered"
            return Exchange(request, 0, None, error=error, timed_out=True)
        attempts: list[int | None] = []
        overlapped: list[bool] = []
        exchange = self._attempt(request)
        with suppress(BudgetSpentError):  # then the last answer is all there is
            while True:
                self._timeouts.note(exchange)
                if exchange.status == HTTPStatus.TOO_MANY_REQUESTS and self._wait_for_limit(exchange):
                    exchange = self._attempt(request, tuple(attempts))
                    continue
                max_tries = 1 if request.operation == "create" else self._timeouts.tries(exchange)
                if not exchange.failed or len(attempts) >= max_tries - 1:
                    break
                attempts.append(exchange.status)
                overlapped += exchange.overlapped
                time.sleep(self._timeouts.pause(exchange))
                exchange = self._attempt(request, tuple(attempts), is_alone=any(overlapped))
        exchange = replace(exchange, overlapped=(*overlapped, *exchange.overlapped))
        self._learn_from(exchange)
        self.exchanges.append(exchange)
        if request.operation == "read" and request.identity != OWN_KEY:
            self._note_without_own_record(exchange)
        return exchange

    def _learn_from(self, exchange: Exchange) -> None:
        """Send one request at a time after a failure that others under way may have caused, and not after one alone."""
        failures_alone = exchange.fails_alone
        if any(failures_alone):
            self._traffic.one_at_a_time = False
        elif failures_alone:
            self._traffic.one_at_a_time = True

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
        self._go_on(len(requests))
        self._keep_pace(len(requests))
        moment = threading.Barrier(len(requests))

        def send_once(request: Request, seconds: float, pause: float) -> Exchange:
            self._thread.is_burst = True
            with suppress(threading.BrokenBarrierError):
                moment.wait(self.limits.timeout)
            time.sleep(seconds)
            return self._attempt(request, pause=pause)

        with self._overlapping:
            self._threads = self._threads or ThreadPoolExecutor(MAX_SIMULTANEOUS, "overlap")
            exchanges = list(self._threads.map(send_once, requests, delays, chain(slow, repeat(0.0))))
        self.exchanges += exchanges
        return exchanges

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
            self._note_without_own_record(self.send(read))
            if record_key not in self._without_own_record:
                raise WriteRefusedError(f"{resource} {identifier} may be a record of somebody else's, to {identity}")

    def _note_without_own_record(self, read: Exchange) -> None:
        """Note an identity without its own record under an id: its read was refused, or showed the run's record."""
        request, text = read.request, read.body.decode("utf-8", "replace")
        is_rejected = read.status is not None and not read.failed and not re.search(r'"id\W*:\W*\d', text)
        if is_rejected or self.ledger.is_shown(request.resource, request.identifier or 0, text):
            self._without_own_record.add((request.resource, request.identifier or 0, request.identity))

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
        self._thread.patience = self._timeouts.seconds_to_wait(request, last=not self._counting)
        body, headers = self._encode(request)
        url = location_url = f"{self.base_url}{request.target}{self._key_in_query(request)}"
        redirects: list[tuple[int, str]] = []
        status, error, timed_out = None, "", False
        answer: urllib3.BaseHTTPResponse | None = None
        content, trace = b"", ""
        try:
            while answer is None or (answer.status in REDIRECTS and len(redirects) < MAX_REDIRECTS):
                if answer is not None:
                    location = answer.headers.get("Location", "")
                    redirects.append((answer.status, location))
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
            error = f"no whole answer came within {self._thread.timeout:.2g} s" if timed_out else str(failure)
            answer, content = None, b""
        seconds = time.monotonic() - self._thread.started_at
        return Exchange(
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
        )

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
            if self.request_count >= self.limits.requests:
                raise BudgetSpentError(BUDGET_SPENT)
            self.request_count += 1
            self._thread.number = self.request_count
        self.on_request(self._thread.number)
        self._thread.started_at = time.monotonic()
        left = max(self._seconds_left(), MIN_WAIT) if self._counting else math.inf
        self._thread.timeout = min(self.limits.timeout, self._thread.patience, left)
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
        total, records = self.request_count + requests - 1, len(self.ledger.entries)
        if (
            total + CLEANUP_RESERVE + CLEANUP_PER_RECORD * records >= self.limits.requests
        ):  # else there is enough for all that was made
            unfinished = len(self.ledger.left)
            if total + (unfinished and CLEANUP_RESERVE + CLEANUP_PER_RECORD * unfinished) >= self.limits.requests:
                raise BudgetSpentError(BUDGET_SPENT)
        if self._seconds_left() <= 0:
            raise BudgetSpentError(TIME_UP)

    def _seconds_left(self) -> float:
        return (self.limits.seconds or math.inf) - (time.monotonic() - self._started)

    def _keep_pace(self, requests: int) -> None:
        with self._lock:
            pause = self._next - time.monotonic()
            self._next = max(self._next, time.monotonic()) + self.limits.interval * requests
        if pause > 0:
            time.sleep(pause)

    def _wait_for_limit(self, exchange: Exchange) -> bool:
        """Wait as long as a rate limit says, if there is patience left."""
        header = exchange.headers.get("Retry-After") or exchange.headers.get("X-RateLimit-Reset") or "1"
        seconds = max(min(_seconds_of(header), MAX_WAIT), MIN_WAIT)
        if self._seconds_waited + seconds > self.limits.patience or (self._counting and seconds > self._seconds_left()):
            return False
        self._seconds_waited += seconds
        self.waiting(seconds)
        time.sleep(seconds)
        return True


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


def _seconds_of(header: str) -> float:
    """The seconds to wait, from a header that holds seconds, or a time as a date or Unix time."""
    if re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", header.strip(), re.ASCII):
        seconds = float(header)
        return seconds - time.time() if seconds > EPOCH else seconds
    with suppress(ValueError, OverflowError):
        return parsedate_to_datetime(header).timestamp() - time.time()
    return 1.0
