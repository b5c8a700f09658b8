"""Trouble on the network of a correct server: latency, gateways, proxies, replicas, answers that break off."""

from __future__ import annotations

import gzip
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import count, repeat
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from werkzeug.wrappers import Request, Response

from mock_server.errors import REFUSAL, Refusal
from mock_server.http.broken_answers import slowly
from mock_server.http.request_notes import KEY as NOTES
from mock_server.http.request_notes import notes_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

BEHIND = "/behind-the-proxy"
PIECES = 7
MOST_PENDING = 8 * 2**20  # bytes of writes that a replica has yet to make


def waiting(times: Callable[[float], Iterator[float]]) -> Callable[..., WSGIApplication]:
    """Hold each answer back, for times derived from the measure."""

    def around(inner: WSGIApplication, measure: float, _another: Any) -> WSGIApplication:
        seconds = times(measure)

        def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            notes_of(environ).delay += next(seconds)
            return inner(environ, start_response)

        return app

    return around


def answering(change: Callable[[WSGIEnvironment, Response], Response]) -> Callable[..., WSGIApplication]:
    """Change answers on their way out."""

    def around(inner: WSGIApplication, _measure: float, _another: Any) -> WSGIApplication:
        def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            answer = Response.from_app(inner, environ, buffered=True)
            broken = notes_of(environ).broken  # an answer that breaks off is sent unchanged
            return (answer if broken else change(environ, answer))(environ, start_response)

        return app

    return around


def closed(_: WSGIEnvironment, answer: Response) -> Response:
    """Announce that the connection is closed after the answer."""
    answer.headers["Connection"] = "close"
    return answer


def chunked(_: WSGIEnvironment, answer: Response) -> Response:
    """Send an answer in pieces, without its length."""
    body = answer.get_data()
    step = max(1, len(body) // PIECES)
    pieces = [body[start : start + step] for start in range(0, len(body), step)]
    if pieces:
        answer.response = iter(pieces)
        answer.headers.remove("Content-Length")
    return answer


def compressed(environ: WSGIEnvironment, answer: Response) -> Response:
    """Compress an answer, if the client accepts that."""
    if Request(environ).accept_encodings["gzip"] and answer.get_data():
        answer.set_data(gzip.compress(answer.get_data()))
        answer.headers["Content-Encoding"] = "gzip"
        answer.headers.add("Vary", "Accept-Encoding")
    return answer


def now_and_then(how: Callable[..., Iterable[bytes]]) -> Callable[..., WSGIApplication]:
    """Answer one request in N in another way, with the measure as N.

    Args:
        how: takes the number of such requests so far, the application and the request, and returns the answer.
    """

    def around(inner: WSGIApplication, every: float, _: Any) -> WSGIApplication:
        numbers = count(1)

        def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            turn, left = divmod(next(numbers), max(1, int(every)))
            return inner(environ, start_response) if left else how(turn, inner, environ, start_response)

        return app

    return around


def failed(
    turn: int, inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """The page of a gateway that got no answer, although the server does its work every other time."""
    if turn % 2:
        Response.from_app(inner, environ, buffered=True)
    return Response("<h1>502 Bad Gateway</h1>", 502, content_type="text/html")(environ, start_response)


def limited(**headers: str) -> Callable[..., WSGIApplication]:
    """Report a rate limit now and then, with these headers."""
    told = [(name.replace("_", "-"), text) for name, text in headers.items()]

    def refused(
        _turn: int, inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        environ[REFUSAL] = Refusal("429", "This is one request too many.", mistake=False)
        return inner(environ, lambda status, sent, *more: start_response(status, [*sent, *told], *more))

    return now_and_then(refused)


def redirected(inner: WSGIApplication, status: float, _: Any) -> WSGIApplication:
    """Redirect reads to another path of the host, with their query, as a proxy may do."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith(BEHIND):
            return inner(environ | {"PATH_INFO": path.removeprefix(BEHIND)}, start_response)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return inner(environ, start_response)
        query = environ.get("QUERY_STRING")
        location = f"{BEHIND}{quote(path.encode('latin-1'))}{f'?{query}' if query else ''}"
        return Response(status=int(status), headers={"Location": location})(environ, start_response)

    return app


class Replica:
    """Takes reads from another server, which repeats each write some time after it was made."""

    def __init__(self, inner: WSGIApplication, seconds: float, another: Callable[[], WSGIApplication]) -> None:
        self._inner, self._seconds, self._replica = inner, seconds, another()
        self._pending: deque[tuple[float, WSGIEnvironment, bytes]] = deque()
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request: a read with the state of a while ago, a write at once."""
        with self._lock:
            while self._pending and self._pending[0][0] <= time.monotonic():
                self._catch_up()
            if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
                return self._replica(environ, start_response)
            body = environ["wsgi.input"].read()
            while self._pending and sum(len(each[2]) for each in self._pending) + len(body) > MOST_PENDING:
                self._catch_up()
            request = {name: value for name, value in environ.items() if name != NOTES}
            self._pending.append((time.monotonic() + self._seconds, request, body))
            return self._inner(environ | {"wsgi.input": BytesIO(body)}, start_response)

    def _catch_up(self) -> None:
        """Repeat the oldest pending write on the replica."""
        _, written, body = self._pending.popleft()
        Response.from_app(self._replica, written | {"wsgi.input": BytesIO(body)}, buffered=True)


def by_chance(most: float) -> Iterator[float]:
    """Random times up to a measure, the same in each run."""
    return map(random.Random(0).uniform, repeat(0), repeat(most))  # noqa: S311 - nobody is to be surprised


def late_body(inner: WSGIApplication, seconds: float, _: Any) -> WSGIApplication:
    """Send the body of each answer some seconds after its head."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return slowly(seconds, inner, environ, start_response)

    return app
