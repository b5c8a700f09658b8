"""What befalls a correct server on the network: latency, gateways, proxies, replicas, answers that break off."""

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

from werkzeug.wrappers import Response

from mock_server.errors import REFUSAL, Refusal
from mock_server.http.broken_answers import slowly
from mock_server.http.request_notes import KEY as NOTES
from mock_server.http.request_notes import notes_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

BEHIND = "/behind-the-proxy"
PIECES = 7
MOST_PENDING = 8 * 2**20  # bytes of writes that a replica has still to make


def waiting(times: Callable[[float], Iterator[float]]) -> Callable[..., WSGIApplication]:
    """Hold each answer back, for times that come of the measure."""

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
            broken = notes_of(environ).broken  # one that breaks off does so whatever else is to be done to it
            return (answer if broken else change(environ, answer))(environ, start_response)

        return app

    return around


def closed(_: WSGIEnvironment, answer: Response) -> Response:
    """Say that the connection is closed behind the answer."""
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
    """Compress an answer, if the client takes that."""
    if "gzip" in environ.get("HTTP_ACCEPT_ENCODING", "") and answer.get_data():
        answer.set_data(gzip.compress(answer.get_data()))
        answer.headers["Content-Encoding"] = "gzip"
        answer.headers["Vary"] = "Accept-Encoding"
    return answer


def now_and_then(how: Callable[..., Iterable[bytes]]) -> Callable[..., WSGIApplication]:
    """Answer one request in so many in another way.

    Args:
        how: from the number of such requests so far, the application, and the request to the answer.
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
    """The page of a gateway that got no answer; every other time, the server did its work."""
    if turn % 2:
        Response.from_app(inner, environ, buffered=True)
    return Response("<h1>502 Bad Gateway</h1>", 502, content_type="text/html")(environ, start_response)


def limited(**headers: str) -> Callable[..., WSGIApplication]:
    """Tell of a rate limit now and then, with these headers."""
    told = [(name.replace("_", "-"), text) for name, text in headers.items()]

    def refused(
        _turn: int, inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        environ[REFUSAL] = Refusal("429", "This is one request too many.", mistake=False)
        return inner(environ, lambda status, sent, *more: start_response(status, [*sent, *told], *more))

    return now_and_then(refused)


def redirected(inner: WSGIApplication, status: float, _: Any) -> WSGIApplication:
    """A proxy that sends reads to another path of the host, with their query."""

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
    """Reads come from another server, which takes over each write some time after it was made."""

    def __init__(self, inner: WSGIApplication, seconds: float, another: Callable[[], WSGIApplication]) -> None:
        self._inner, self._seconds, self._replica = inner, seconds, another()
        self._pending: deque[tuple[float, WSGIEnvironment, bytes]] = deque()
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request: a read as it was a while ago, a write at once."""
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
        """Make the oldest write."""
        _, written, body = self._pending.popleft()
        Response.from_app(self._replica, written | {"wsgi.input": BytesIO(body)}, buffered=True)


def by_chance(most: float) -> Iterator[float]:
    """Anything up to a measure; the same times in each run."""
    return map(random.Random(0).uniform, repeat(0), repeat(most))  # noqa: S311 - nobody is to be surprised


def late_body(inner: WSGIApplication, seconds: float, _: Any) -> WSGIApplication:
    """Send the body of each answer some seconds behind its head."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return slowly(seconds, inner, environ, start_response)

    return app
