"""Sends single requests: the only place that opens a socket."""

import threading
import time
from collections.abc import Iterator, Mapping
from secrets import token_hex
from urllib.parse import urljoin, urlsplit

import urllib3

from contract_tests.evidence.exchange import Exchange, Request
from contract_tests.evidence.multipart import encode
from contract_tests.target.budget import Budget
from contract_tests.target.connection import Connection, read_whole
from contract_tests.target.identities import place_of

MAX_REDIRECTS = 5
NO_CONNECTION = (urllib3.exceptions.ConnectTimeoutError, urllib3.exceptions.ProxyError)
REDIRECTS = {301, 302, 303, 307, 308}
TRACE = "traceparent"  # W3C Trace Context


class _ThreadState(threading.local):
    pool: urllib3.PoolManager | None = None
    has_sent = False


class Wire:
    """Sends single requests to one base URL; several threads may, each over connections of its own.

    Args:
        keys: what each identity sends instead of the key.
        run_token: the mark of the run, which its records carry, too.

    Attributes:
        exchanges: all that was sent, and what came back.
    """

    def __init__(
        self, base_url: str, keys: Mapping[str, str], connection: Connection, run_token: str, budget: Budget
    ) -> None:
        self.exchanges: list[Exchange] = []
        self._base_url, self._keys, self._connection, self._budget = base_url, keys, connection, budget
        configured = {name.casefold() for name in connection.headers}
        usual = {"User-Agent": f"contract-tests (run {run_token})", "Accept-Encoding": "gzip, deflate"}
        not_configured = {name: text for name, text in usual.items() if name.casefold() not in configured}
        self._headers = not_configured | dict(connection.headers)
        self._trace = "" if TRACE.casefold() in configured else token_hex(8)  # the first half of each trace's id
        self._pools: list[urllib3.PoolManager] = []
        self._thread = _ThreadState()
        self._open_pool()

    def _open_pool(self) -> urllib3.PoolManager:
        self._thread.pool = self._connection.pool(self._base_url, self._budget.limits.timeout)
        self._pools.append(self._thread.pool)
        return self._thread.pool

    @property
    def has_sent(self) -> bool:
        """Whether this thread has reached the server since the latest step began, so that the server may have acted."""
        return self._thread.has_sent

    def begin_step(self) -> None:
        """Begin what `has_sent` is about."""
        self._thread.has_sent = False

    def leave_connections(self) -> None:
        """Send the next request of this thread over a connection of its own."""
        if self._thread.pool:
            self._thread.pool.clear()

    def close(self) -> None:
        for pool in self._pools:
            pool.clear()

    def send(
        self,
        request: Request,
        seconds_to_wait: float,
        attempts: tuple[int | None, ...] = (),
        pause: float = 0.0,
        *,
        is_burst: bool = False,
    ) -> Exchange:
        """Send a request once, and follow where a read is redirected to.

        Args:
            seconds_to_wait: for an answer, at most.
            attempts: the statuses of earlier tries.
            pause: seconds in the middle of its body.
            is_burst: whether the run has found room for it already.

        Raises:
            BudgetSpentError: if it may not be sent.
        """
        body, headers = self._encode(request)
        url = location_url = f"{self._base_url}{request.target}{self._key_in_query(request)}"
        redirects: list[tuple[int, str]] = []
        status, error, timed_out = None, "", False
        answer: urllib3.BaseHTTPResponse | None = None
        content, trace, was_sent = b"", "", True
        number, started_at, timeout = 0, 0.0, 0.0
        try:
            while answer is None or (answer.status in REDIRECTS and len(redirects) < MAX_REDIRECTS):
                if answer is not None:
                    redirects.append((answer.status, answer.headers.get("Location", "")))
                    location_url, body = _joined(location_url, redirects[-1][1]), None
                    if request.method != "GET" or not _is_safe(url, location_url):
                        break
                number = self._budget.count_request(is_burst=is_burst, is_redirect=bool(redirects))
                started_at = time.monotonic()
                timeout = min(seconds_to_wait, self._budget.seconds_for_an_answer)
                trace, trace_headers = self._trace_of(number)
                answer = self._pool_for(request).request(
                    request.method,
                    location_url,
                    body=_halves(body, pause) if body and (pause or request.form_style.chunked) else body,
                    headers=headers | trace_headers | ({"Content-Length": str(len(body))} if pause and body else {}),
                    redirect=False,
                    preload_content=False,
                    timeout=timeout,
                )
                content = read_whole(answer)
                self._budget.count_bytes(len(content))
            status = answer.status
        except urllib3.exceptions.HTTPError as failure:
            timed_out = _is_timeout(failure)
            error = f"no whole answer came within {timeout:.2g} s" if timed_out else _words_of(failure)
            answer, content, was_sent = None, b"", bool(redirects) or not isinstance(failure, NO_CONNECTION)
        self._thread.has_sent |= was_sent
        seconds = time.monotonic() - started_at
        # also if the server itself has ended it then
        timed_out |= status is None and seconds > self._budget.limits.timeout / 3
        exchange = Exchange(
            request,
            number,
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
        self.exchanges.append(exchange)
        return exchange

    def _trace_of(self, number: int) -> tuple[str, dict[str, str]]:
        """The id of a request's trace, and the header that carries it."""
        trace = self._trace and f"{self._trace}{number:016x}"
        return trace, {TRACE: f"00-{trace}-{number:016x}-01"} if trace else {}

    def _pool_for(self, request: Request) -> urllib3.PoolManager:
        pool = self._thread.pool or self._open_pool()
        if request.method != "GET":
            pool.clear()  # if a server closes a kept connection, the fate of a write is unknown
        return pool

    def _encode(self, request: Request) -> tuple[bytes | None, dict[str, str]]:
        headers = dict(self._headers)
        header_name = place_of(request.identity)
        if header_name and request.identity in self._keys:
            headers[header_name] = self._keys[request.identity]
        body = None
        if request.body is not None:
            headers["Content-Type"], body = request.body
        elif request.form is not None:
            body, headers["Content-Type"] = encode(request.form, request.form_style)
        if request.form_style.chunked:  # what a server leaves unread must not pass for another request
            headers |= {"Transfer-Encoding": "chunked", "Connection": "close"}
        return body, headers

    def _key_in_query(self, request: Request) -> str:
        if place_of(request.identity) or request.identity not in self._keys:
            return ""
        return f"{'&' if request.query else '?'}{self._keys[request.identity]}"


def _is_timeout(failure: urllib3.exceptions.HTTPError) -> bool:
    is_connected = not isinstance(failure, urllib3.exceptions.NewConnectionError)
    return is_connected and isinstance(failure, urllib3.exceptions.TimeoutError)


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
        return location and urljoin(url, location)
    except ValueError:  # a location that is not a URL leads nowhere
        return ""


def _is_safe(url: str, location_url: str) -> bool:
    """Whether a redirect may receive the key: it leads to the same host, and does not drop TLS."""
    before, after = urlsplit(url), urlsplit(location_url)
    return before.netloc == after.netloc and after.scheme in (before.scheme, "https")
