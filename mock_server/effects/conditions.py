"""Trouble around a correct server: slow networks, gateways, replicas, limits, plans, other users."""

import gzip
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import count, repeat
from math import ceil
from typing import Any
from urllib.parse import quote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.wrappers import Request, Response

from mock_server.defects.building_blocks import Call, Serve, Transformation
from mock_server.effects.breaking import cut_off, dropped, dropped_after, slowly
from mock_server.errors import REFUSAL, Refusal, SettingsError
from mock_server.http.context import KEY as CONTEXT
from mock_server.http.context import context_of
from mock_server.store.collection import UnknownIdError, ValueTakenError

MINUTE = 60.0  # seconds
MAX_OTHERS_RECORDS = 100  # records


def rate_limit(max_requests: float) -> Transformation:
    """Limit how many requests each account may send in a minute, which begins with its first one."""
    lock = threading.Lock()

    def transformation(call: Call, serve: Serve) -> Response:
        if not call.account:
            return serve(call)
        now = time.monotonic()
        with lock:
            if now - call.memory.get("began", -MINUTE) >= MINUTE:
                call.memory.update(began=now, count=0)
            call.memory["count"] += 1
            left, ends = int(max_requests) - call.memory["count"], ceil(call.memory["began"] + MINUTE - now)
        if left >= 0:
            answer = serve(call)
        else:
            title = f"This is more than {int(max_requests)} requests in a minute; wait for {ends} seconds."
            answer = serve(call.as_refused(429, title))
            answer.headers["X-RateLimit-Reset"] = str(ends)
        answer.headers["X-RateLimit-Limit"] = str(int(max_requests))
        answer.headers["X-RateLimit-Remaining"] = str(max(0, left))
        return answer

    return transformation


def refusing(status: int, applies: Callable[[Call], bool]) -> Transformation:
    """Refuse some calls of clients that have an account."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.account and applies(call):
            return serve(call.as_refused(status, "Your plan does not cover this."))
        return serve(call)

    return transformation


def writes(call: Call) -> bool:
    return call.operation in ("create", "update", "delete")


def quota(max_records: float) -> Transformation:
    """Refuse creates once the account has `max_records` records of the resource."""
    return refusing(403, lambda call: call.operation == "create" and len(call.records) >= max_records)


def plan_without_types(_: float) -> Transformation:
    return refusing(403, lambda call: call.operation == "create" and call.form.get("type") in ("discord", "telegram"))


def on_old_records(operation: str) -> Callable[[float], Transformation]:
    """Let another user of the calling account update or delete, now and then, a record that was there at first."""

    def make(interval: float) -> Transformation:
        numbers = count(1)

        def transformation(call: Call, serve: Serve) -> Response:
            turn, left = divmod(next(numbers), max(1, int(interval)))
            if call.account is None:
                return serve(call)
            old = call.memory.setdefault(call.resource.name, [record.id for record in call.records])
            if not left and old:
                identifier = old[turn % len(old)] if operation == "update" else old.pop()
                serve(call.at(operation, identifier).sending({call.resource.label: f"colleague-{turn}.example.com"}))
            return serve(call)

        return transformation

    return make


def other_writer(interval: float) -> Transformation:
    """Let another user of the calling account add two records and remove one of theirs, over and over."""
    numbers = count(1)

    def transformation(call: Call, serve: Serve) -> Response:
        turn, left = divmod(next(numbers), max(1, int(interval)))
        account = call.account
        if not left and account:
            collection = account.collections[call.resource.name]
            ids: deque[int] = call.memory.setdefault(call.resource.name, deque())
            with suppress(UnknownIdError, ValueTakenError):  # the client may have deleted it, or made one like it
                if ids and (turn % 3 == 0 or len(ids) >= MAX_OTHERS_RECORDS):
                    collection.delete(ids.popleft())
                    return serve(call)
                form = {"name": f"Colleague's {turn}", "host": f"colleague-{turn}.example.com", "type": "slack"}
                values = {name: form[name] for name, field in call.resource.fields.items() if field.required}
                resource, new_records = call.resource, call.mock.new_records
                record = collection.add(lambda number: new_records.values(resource, number) | values, account.clock)
                ids.append(record.id)
        return serve(call)

    return transformation


PROXY_PATH = "/behind-the-proxy"
PIECES = 7
MAX_PENDING_BYTES = 8 * 2**20  # bytes of writes that a replica has yet to make


def waiting(times: Callable[[float], Iterator[float]]) -> Callable[..., WSGIApplication]:
    """Hold each answer back, for times derived from the measure."""

    def apply(inner: WSGIApplication, amount: float, _build_replica: Any) -> WSGIApplication:
        seconds = times(amount)

        def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            context_of(environ).delay += next(seconds)
            return inner(environ, start_response)

        return app

    return apply


def answering(change: Callable[[WSGIEnvironment, Response], Response]) -> Callable[..., WSGIApplication]:
    """Change answers on their way out."""

    def apply(inner: WSGIApplication, _amount: float, _build_replica: Any) -> WSGIApplication:
        def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            answer = Response.from_app(inner, environ, buffered=True)
            broken = context_of(environ).broken  # an answer that breaks off is sent unchanged
            return (answer if broken else change(environ, answer))(environ, start_response)

        return app

    return apply


def closed(_: WSGIEnvironment, answer: Response) -> Response:
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
    if Request(environ).accept_encodings["gzip"] and answer.get_data():
        answer.set_data(gzip.compress(answer.get_data()))
        answer.headers["Content-Encoding"] = "gzip"
        answer.headers.add("Vary", "Accept-Encoding")
    return answer


def now_and_then(answer: Callable[..., Iterable[bytes]]) -> Callable[..., WSGIApplication]:
    """Answer one request in N in another way, with the measure as N.

    Args:
        answer: takes the number of such requests so far, the application and the request, and returns the answer.
    """

    def apply(inner: WSGIApplication, interval: float, _: Any) -> WSGIApplication:
        numbers = count(1)

        def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            turn, left = divmod(next(numbers), max(1, int(interval)))
            return inner(environ, start_response) if left else answer(turn, inner, environ, start_response)

        return app

    return apply


def failed(
    turn: int, inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """The page of a gateway that got no answer, although the server does its work every other time."""
    if turn % 2:
        Response.from_app(inner, environ, buffered=True)
    return Response("<h1>502 Bad Gateway</h1>", 502, content_type="text/html")(environ, start_response)


def limited(**headers: str) -> Callable[..., WSGIApplication]:
    """Report a rate limit now and then, with these headers."""
    added = [(name.replace("_", "-"), text) for name, text in headers.items()]

    def answer_rate_limited(
        _turn: int, inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        environ[REFUSAL] = Refusal("429", "This is one request too many.", mistake=False)
        return inner(environ, lambda status, fields, *exc_info: start_response(status, [*fields, *added], *exc_info))

    return now_and_then(answer_rate_limited)


def redirected(inner: WSGIApplication, status: float, _: Any) -> WSGIApplication:
    """Redirect reads to another path of the host, with their query, as a proxy may do."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith(PROXY_PATH):
            return inner(environ | {"PATH_INFO": path.removeprefix(PROXY_PATH)}, start_response)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return inner(environ, start_response)
        query = environ.get("QUERY_STRING")
        location = f"{PROXY_PATH}{quote(path.encode('latin-1'))}{f'?{query}' if query else ''}"
        return Response(status=int(status), headers={"Location": location})(environ, start_response)

    return app


class Replica:
    """Takes reads from another server, which repeats each write some time after it was made."""

    def __init__(self, inner: WSGIApplication, seconds: float, build_replica: Callable[[], WSGIApplication]) -> None:
        self._inner, self._seconds, self._replica = inner, seconds, build_replica()
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
            while self._pending and sum(len(write[2]) for write in self._pending) + len(body) > MAX_PENDING_BYTES:
                self._catch_up()
            request = {name: value for name, value in environ.items() if name != CONTEXT}
            self._pending.append((time.monotonic() + self._seconds, request, body))
            return self._inner(environ | {"wsgi.input": BytesIO(body)}, start_response)

    def _catch_up(self) -> None:
        """Repeat the oldest pending write on the replica."""
        _, write_environ, body = self._pending.popleft()
        Response.from_app(self._replica, write_environ | {"wsgi.input": BytesIO(body)}, buffered=True)


def by_chance(max_seconds: float) -> Iterator[float]:
    """Random times up to a measure, the same in each run."""
    return map(random.Random(0).uniform, repeat(0), repeat(max_seconds))  # noqa: S311 - nobody is to be surprised


def late_body(inner: WSGIApplication, seconds: float, _: Any) -> WSGIApplication:
    """Send the body of each answer some seconds after its head."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return slowly(seconds, inner, environ, start_response)

    return app


MAX_AMOUNT = 1000


@dataclass(frozen=True)
class Condition:
    """A kind of trouble around a correct server.

    Attributes:
        description: what happens, with the measure as `N`.
        amounts: the usual measure, and perhaps another worth trying.
        apply: takes an application, the measure and a factory of servers like it, and returns the application under
            this condition; or None.
        allowed: the valid measures; if empty, any from 0 to 1,000.
        changes: takes the measure, and returns the transformation of calls; or None.
        travels: whether it can stand in front of a real deployment, too.
    """

    description: str
    amounts: tuple[float, ...] = (0,)
    apply: Callable[[WSGIApplication, float, Callable[[], WSGIApplication]], WSGIApplication] | None = None
    changes: Callable[[float], Transformation] | None = None
    allowed: tuple[float, ...] = ()
    travels: bool = False


CONDITIONS = {
    "latency": Condition("each answer takes N seconds longer", (0.05,), waiting(repeat), travels=True),
    "lag": Condition("reads show a write N seconds after it was made", (0.3, 0.9), Replica),
    "gateway-errors": Condition(
        "one request in N is answered with 502, every other time once the server did its work",
        (40,),
        now_and_then(failed),
        travels=True,
    ),
    "retry-after": Condition(
        "one request in N is answered with 429 and a Retry-After header",
        (40,),
        limited(Retry_After="1"),
        travels=True,
    ),
    "rate-limit-reset": Condition(
        "the same, with X-RateLimit-Reset alone", (40,), limited(X_RateLimit_Reset="1"), travels=True
    ),
    "too-many": Condition("the same, without a Retry-After header", (40,), limited(), travels=True),
    "rate-limit": Condition("an account may send N requests in a minute", (600,), changes=rate_limit),
    "latency-up-to": Condition(
        "each answer takes up to N seconds longer, by chance", (0.05,), waiting(by_chance), travels=True
    ),
    "slow-body": Condition("the body of each answer comes N seconds behind its head", (0.02,), late_body, travels=True),
    "dropped-before": Condition(
        "one request in N is not carried out, and its connection closed",
        (40,),
        now_and_then(lambda _turn, _inner, *request: dropped(*request)),
        travels=True,
    ),
    "dropped-after": Condition(
        "one request in N is carried out, and its connection closed without an answer",
        (40,),
        now_and_then(lambda _turn, *request: dropped_after(*request)),
        travels=True,
    ),
    "cut-off": Condition(
        "one answer in N breaks off in the middle of its body",
        (40,),
        now_and_then(lambda _turn, *request: cut_off(*request)),
        travels=True,
    ),
    "connection-close": Condition("each connection is closed behind its answer", apply=answering(closed), travels=True),
    "compressed": Condition("each answer is compressed, if the client takes that", apply=answering(compressed)),
    "redirecting-proxy": Condition(
        "a proxy redirects each read, with status N", (307,), redirected, allowed=(301, 302, 303, 307, 308)
    ),
    "quota": Condition("an account may have N records of each resource", (6,), changes=quota),
    "plan-without-writes": Condition("the account's plan has no writes", changes=lambda _: refusing(402, writes)),
    "plan-without-types": Condition("the plan has no handlers for Discord and Telegram", changes=plan_without_types),
    "other-writer": Condition(
        "with one call in N, another user adds a record to the account, or removes one",
        (11, 25, 60),
        changes=other_writer,
    ),
    "other-editor": Condition(
        "with one call in N, another user changes one of the account's older records",
        (25, 10, 60),
        changes=on_old_records("update"),
    ),
    "other-remover": Condition(
        "with one call in N, another user deletes one of the account's older records",
        (25, 10, 60),
        changes=on_old_records("delete"),
    ),
    "chunked": Condition("each answer comes in pieces", apply=answering(chunked)),
}


def parsed(text: str) -> tuple[str, float]:
    """The name and the measure of a condition, such as `lag=0.3`; the usual measure if none is given.

    Raises:
        SettingsError: if the measure is not a number.
    """
    name, equals, amount = text.partition("=")
    try:
        return name, float(amount) if equals or name not in CONDITIONS else CONDITIONS[name].amounts[0]
    except ValueError:
        raise SettingsError(f'invalid condition "{text}": expected NAME or NAME=N, such as lag=0.3') from None


def check(amounts: Mapping[str, float], *, forwarded: bool = False, shared: bool = False) -> None:
    """Refuse unknown conditions and invalid measures.

    Args:
        amounts: the measure of each condition.
        forwarded: whether requests are forwarded to a deployment.
        shared: whether several processes share the records.

    Raises:
        SettingsError: if there is one; the message names it.
    """
    for name, amount in amounts.items():
        if name not in CONDITIONS:
            raise SettingsError(f'no condition "{name}"; conditions are {", ".join(CONDITIONS)}')
        if forwarded and not CONDITIONS[name].travels:
            names = ", ".join(key for key, condition in CONDITIONS.items() if condition.travels)
            raise SettingsError(f'the condition "{name}" does not apply in front of a deployment; these do: {names}')
        allowed = CONDITIONS[name].allowed
        if allowed and amount not in allowed:
            raise SettingsError(f'the condition "{name}" is {amount!r}; expected one of {", ".join(map(str, allowed))}')
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount <= MAX_AMOUNT:
            raise SettingsError(f'the condition "{name}" is {amount!r}; expected a number from 0 to {MAX_AMOUNT}')
        if shared and CONDITIONS[name].apply is Replica:
            raise SettingsError(
                f'the condition "{name}" needs a second mock with records of its own; leave --store out'
            )
