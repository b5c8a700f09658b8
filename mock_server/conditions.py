"""What befalls a correct server from outside: slow networks, gateways, replicas, limits, plans, other users."""

from __future__ import annotations

import gzip
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import count
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Response

from mock_server.calls import Call, Serve, Transformation
from mock_server.errors import SettingsError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

BEHIND = "/behind-the-proxy"
PIECES = 7
MOST = 1000


@dataclass(frozen=True)
class Condition:
    """Something that may befall a server.

    Attributes:
        what: what happens, with the measure as `N`.
        measures: the usual one, and perhaps another that is worth a try.
        around: from an application, the measure and a way to make another server like it, to the application under
            this condition; or None.
        within: from the measure to what happens to calls of operations, or None.
    """

    what: str
    measures: tuple[float, ...] = (0,)
    around: Callable[[WSGIApplication, float, Callable[[], WSGIApplication]], WSGIApplication] | None = None
    within: Callable[[float], Transformation] | None = None


def _latency(inner: WSGIApplication, seconds: float, _: Any) -> WSGIApplication:
    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        time.sleep(seconds)
        return inner(environ, start_response)

    return app


def _answering(change: Callable[[WSGIEnvironment, Response], Response]) -> Callable[..., WSGIApplication]:
    """Change answers on their way out."""

    def around(inner: WSGIApplication, _measure: float, _another: Any) -> WSGIApplication:
        def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            answer = Response.from_app(inner, environ, buffered=True)
            return change(environ, answer)(environ, start_response)

        return app

    return around


def _closed(_: WSGIEnvironment, answer: Response) -> Response:
    answer.headers["Connection"] = "close"
    return answer


def _chunked(_: WSGIEnvironment, answer: Response) -> Response:
    body = answer.get_data()
    step = max(1, len(body) // PIECES)
    pieces = [body[start : start + step] for start in range(0, len(body), step)]
    if pieces:
        answer.response = iter(pieces)
        answer.headers.remove("Content-Length")
    return answer


def _compressed(environ: WSGIEnvironment, answer: Response) -> Response:
    if "gzip" in environ.get("HTTP_ACCEPT_ENCODING", "") and answer.get_data():
        answer.set_data(gzip.compress(answer.get_data()))
        answer.headers["Content-Encoding"] = "gzip"
        answer.headers["Vary"] = "Accept-Encoding"
    return answer


def _now_and_then(answer: Callable[[], Response], *, too_late: bool = False) -> Callable[..., WSGIApplication]:
    """Answer one request in so many in another way; if `too_late`, every other time once the server did its work."""

    def around(inner: WSGIApplication, every: float, _: Any) -> WSGIApplication:
        numbers = count(1)

        def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            turn, left = divmod(next(numbers), max(1, int(every)))
            if left:
                return inner(environ, start_response)
            if too_late and turn % 2:
                Response.from_app(inner, environ, buffered=True)
            return answer()(environ, start_response)

        return app

    return around


def _bad_gateway() -> Response:
    return Response("<h1>502 Bad Gateway</h1>", 502, content_type="text/html")


def _limited(**headers: str) -> Callable[[], Response]:
    return lambda: Response(status=429, headers={name.replace("_", "-"): text for name, text in headers.items()})


def _redirected(inner: WSGIApplication, status: float, _: Any) -> WSGIApplication:
    """A proxy that sends reads to another path of the host, with their query."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith(BEHIND):
            return inner(environ | {"PATH_INFO": path.removeprefix(BEHIND)}, start_response)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return inner(environ, start_response)
        query = environ.get("QUERY_STRING")
        location = f"{BEHIND}{path}{f'?{query}' if query else ''}"
        return Response(status=int(status), headers={"Location": location})(environ, start_response)

    return app


class _Replica:
    """Reads come from another server, which takes over each write some time after it was made."""

    def __init__(self, inner: WSGIApplication, seconds: float, another: Callable[[], WSGIApplication]) -> None:
        self._inner, self._seconds, self._replica = inner, seconds, another()
        self._pending: deque[tuple[float, WSGIEnvironment, bytes]] = deque()
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        with self._lock:
            while self._pending and self._pending[0][0] <= time.monotonic():
                _, written, body = self._pending.popleft()
                Response.from_app(self._replica, written | {"wsgi.input": BytesIO(body)}, buffered=True)
            if environ["REQUEST_METHOD"] in ("GET", "HEAD"):
                return self._replica(environ, start_response)
            body = environ["wsgi.input"].read()
            self._pending.append((time.monotonic() + self._seconds, dict(environ), body))
            return self._inner(environ | {"wsgi.input": BytesIO(body)}, start_response)


def _refusing(status: int, when: Callable[[Call], bool]) -> Transformation:
    def transformation(call: Call, serve: Serve) -> Response:
        if call.account and when(call):
            return Response(b'{"errors": [{"title": "Your plan does not cover this."}]}', status)
        return serve(call)

    return transformation


def _writes(call: Call) -> bool:
    return call.operation in ("create", "update", "delete")


def _quota(most: float) -> Transformation:
    return _refusing(403, lambda call: call.operation == "create" and len(call.records) >= most)


def _plan_without_types(_: float) -> Transformation:
    return _refusing(403, lambda call: call.operation == "create" and call.form.get("type") in ("discord", "telegram"))


def _others(every: float) -> Transformation:
    """Another user of the first account adds a record, twice, and then removes one of theirs, all the while."""
    numbers, made = count(1), dict[str, deque[int]]()

    def transformation(call: Call, serve: Serve) -> Response:
        turn, left = divmod(next(numbers), max(1, int(every)))
        account = call.service.accounts.get(next(iter(call.service.accounts.keys)))
        if not left and account:
            collection, theirs = account.collections[call.kind], made.setdefault(call.kind, deque())
            if turn % 3 == 0 and theirs:
                collection.delete(theirs.popleft())
            else:
                form = {"name": f"Colleague's {turn}", "host": f"colleague-{turn}.example.com", "type": "slack"}
                given = {name: form[name] for name, field in call.resource.fields.items() if field.required}
                resource, representations = call.resource, call.service.representations
                record = collection.add(lambda number: representations.initial(resource, number) | given, account.clock)
                theirs.append(record.id)
        return serve(call)

    return transformation


CONDITIONS = {
    "latency": Condition("each answer takes N seconds longer", (0.05,), _latency),
    "lag": Condition("reads show a write N seconds after it was made", (0.3, 0.9), _Replica),
    "gateway-errors": Condition(
        "one request in N is answered with 502, every other time once the server did its work",
        (40,),
        _now_and_then(_bad_gateway, too_late=True),
    ),
    "retry-after": Condition(
        "one request in N is one too many, and told in how many seconds it may be sent again",
        (40,),
        _now_and_then(_limited(Retry_After="1")),
    ),
    "rate-limit-reset": Condition(
        "likewise, told by X-RateLimit-Reset alone", (40,), _now_and_then(_limited(X_RateLimit_Reset="1"))
    ),
    "too-many": Condition("likewise, and not told when", (40,), _now_and_then(_limited())),
    "connection-close": Condition("each connection is closed behind its answer", around=_answering(_closed)),
    "compressed": Condition("each answer is compressed, if the client takes that", around=_answering(_compressed)),
    "redirecting-proxy": Condition("a proxy redirects each read, with status N", (307,), _redirected),
    "quota": Condition("an account may have N records of a kind", (6,), within=_quota),
    "plan-without-writes": Condition("the account's plan has no writes", within=lambda _: _refusing(402, _writes)),
    "plan-without-types": Condition("the plan has no handlers for Discord and Telegram", within=_plan_without_types),
    "other-writer": Condition(
        "with one call in N, another user adds a record to the first account, or removes one", (11,), within=_others
    ),
    "chunked": Condition("each answer comes in pieces", around=_answering(_chunked)),
}


def check(measures: Mapping[str, float]) -> None:
    """Refuse conditions that there are not, or of no measure.

    Raises:
        SettingsError: naming one.
    """
    for name, measure in measures.items():
        if name not in CONDITIONS:
            raise SettingsError(f'no condition "{name}"; conditions are {", ".join(CONDITIONS)}')
        if not isinstance(measure, int | float) or not 0 <= measure <= MOST:
            raise SettingsError(f'the condition "{name}" is {measure!r}; expected a number from 0 to {MOST}')


def within(measures: Mapping[str, float]) -> list[Transformation]:
    """What happens to calls of operations under some conditions, each with its measure."""
    return [make(measure) for name, measure in measures.items() if (make := CONDITIONS[name].within)]


def around(
    app: WSGIApplication, measures: Mapping[str, float], another: Callable[[], WSGIApplication]
) -> WSGIApplication:
    """An application under some conditions, each with its measure."""
    for name, condition in CONDITIONS.items():
        if name in measures and condition.around:
            app = condition.around(app, measures[name], another)
    return app
