"""From ASGI to WSGI: reads each request to its end, within bounds, and sends its answer when it is due.

One thread answers the API and never waits: a client that stalls or asks for a delay holds a connection, but no thread.
The control plane, which may take its time, has threads of its own; so has an API whose records are in a store.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from io import BytesIO
from time import perf_counter
from typing import Any, Protocol
from wsgiref.types import StartResponse, WSGIEnvironment

from mock_server.http import messages
from mock_server.http.context import context_of
from mock_server.http.messages import Body, Message, close, environ_of, has_body, read_parts

Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_LARGE_BYTES = 32 * 2**20  # bytes of all bodies that are read at a time, without small ones
SECONDS_TO_LOOK_FOR_ROOM = 0.02
MAX_DELAYED, MAX_HELD_BYTES = 1000, 32 * 2**20  # answers that wait until they are due, and bytes of all that wait
SECONDS_FOR_ALL = 1.0  # a delay this short is always kept, such as the one after a wrong token
LONG_ANSWER, PIECE = (
    256 * 2**10,
    64 * 2**10,
)  # bytes of an answer that may wait for its reader, and bytes sent at a time
MAX_BURST = 0.05  # seconds of answering requests without a break
CONTROL_THREADS = 24  # more than the number of clients that may follow the journal
API_THREADS = 4  # that wait for a store

OUT_OF_MEMORY_ANSWER: tuple[Message, list[bytes]] = (
    {"type": "http.response.start", "status": 503, "headers": [(b"content-type", b"application/json")]},
    [b'{"errors": [{"title": "Too many long answers wait to be read; ask again later.", "status": 503}]}'],
)

log = logging.getLogger("mock_server")


class WsgiSite(Protocol):
    """What a gateway serves."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]: ...

    def is_control(self, environ: WSGIEnvironment) -> bool: ...

    def body_limit(self, environ: WSGIEnvironment) -> int:
        """How long the body of a request may be, in bytes; 0 if it is not read at all."""


class AsgiApplication(Protocol):
    """What a server calls: an ASGI application that can be ended."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None: ...

    def finish(self) -> None:
        """Let requests under way end, before the server stops."""

    def stop(self) -> None:
        """End its threads, once the server has stopped."""


class Gateway:
    """An ASGI application that serves a site.

    Args:
        wsgi_site: what is served.
        waits: whether its API waits for a store, and so needs threads.
    """

    def __init__(self, wsgi_site: WsgiSite, *, waits: bool = False) -> None:
        self._wsgi_site = wsgi_site
        self._api = ThreadPoolExecutor(API_THREADS, "api") if waits else None
        self._control = ThreadPoolExecutor(CONTROL_THREADS, "control")
        self._bodies: dict[Body, None] = {}
        self._busy, self._is_resting = 0.0, False
        self._delayed = self._held_bytes = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        start, body, delay, body_delay = await self._received(scope, receive)
        if not isinstance(body, list):
            return await self._stream(start, body, receive, send)
        return await self.deliver(start, body, delay, body_delay, send)

    async def deliver(self, start: Message, body: list[bytes], delay: float, body_delay: float, send: Send) -> None:
        """Send an answer when it is due, unless so many wait already that they would fill the memory."""
        size = sum(map(len, body))
        if size > LONG_ANSWER and self._held_bytes + size > MAX_HELD_BYTES:
            start, body, size = *OUT_OF_MEMORY_ANSWER, 0
        self._held_bytes += size
        try:
            if delay:
                await self.wait(delay)
            await send(start)
            if body_delay:
                await send({"type": "http.response.body", "body": b"", "more_body": True})
                await self.wait(body_delay)
            if size > LONG_ANSWER:
                await self._send_long(body, send)
            else:
                for piece in body[:-1]:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": body[-1] if body else b""})
        finally:
            self._held_bytes -= size

    async def _received(self, scope: Message, receive: Receive) -> tuple[Message, Iterable[bytes], float, float]:
        """Read a request and answer it, and then release its body; with the delays of the answer and its body."""
        environ = environ_of(scope)
        context = context_of(environ)
        if has_body(environ):
            async with self.body_read(environ, receive):
                start, body = await self._answer(environ)
        else:
            start, body = await self._answer(environ)
        return start, body, context.delay, context.body_delay

    @asynccontextmanager
    async def body_read(self, environ: WSGIEnvironment, receive: Receive) -> AsyncIterator[None]:
        """Have a body in the environment of its request, and room for it meanwhile."""
        read = Body(self._wsgi_site.body_limit(environ), environ.get("CONTENT_LENGTH", ""))
        self._bodies[read] = None
        try:
            await self._read(read, environ, receive)
            yield
        finally:
            del self._bodies[read]

    def finish(self) -> None:
        """Do nothing: requests under way end by themselves here."""

    def stop(self) -> None:
        for pool in (self._control, self._api):
            if pool:
                pool.shutdown(wait=False, cancel_futures=True)

    async def _read(self, body: Body, environ: WSGIEnvironment, receive: Receive) -> None:
        """Read a body into the environment of its request."""
        try:
            while body.is_wanted and (body.limit or "HTTP_EXPECT" not in environ):
                async with asyncio.timeout_at(body.deadline):
                    message = await receive()
                body.take(message)
                if body.size:
                    await self._wait_for_room(body)
        except TimeoutError:
            body.refuse("408", f"The body did not come; send it within {messages.SECONDS_FOR_A_BODY:g} seconds.")
        content = body.content
        context_of(environ).body_refusal = body.refusal
        if not body.refusal:
            environ["CONTENT_LENGTH"] = str(len(content))
            environ["wsgi.input_terminated"] = True
        environ["wsgi.input"] = BytesIO(content)

    async def _wait_for_room(self, body: Body) -> None:
        """Pause reading a long body until there is room for it; the body that began first may always go on."""
        while sum(other.size for other in self._bodies) > MAX_LARGE_BYTES and next(iter(self._bodies)) is not body:
            await asyncio.sleep(SECONDS_TO_LOOK_FOR_ROOM)
            body.seconds_waited += SECONDS_TO_LOOK_FOR_ROOM
            if body.seconds_waited > messages.SECONDS_FOR_A_BODY:
                return body.refuse("503", "Too many long bodies come at a time; send this one again later.")
        return None

    async def _answer(self, environ: WSGIEnvironment) -> tuple[Message, Iterable[bytes]]:
        """Answer a request; requests to the API take turns with whatever else has arrived."""
        if self._wsgi_site.is_control(environ):
            answer: tuple[Message, Iterable[bytes]] = await self._in_thread(call_wsgi, self._wsgi_site, environ)
            return answer
        if self._api:
            return await asyncio.get_running_loop().run_in_executor(self._api, call_wsgi, self._wsgi_site, environ)
        while self._busy > MAX_BURST:
            if not self._is_resting:
                self._is_resting = True
                asyncio.get_running_loop().call_soon(self._end_burst)
            await asyncio.sleep(0)
        started = perf_counter()
        try:
            return call_wsgi(self._wsgi_site, environ)
        finally:
            self._busy += perf_counter() - started

    def _end_burst(self) -> None:
        self._busy, self._is_resting = 0.0, False

    async def wait(self, seconds: float) -> None:
        """Wait, unless so many answers wait already that they would fill the memory."""
        if seconds > SECONDS_FOR_ALL and (self._delayed >= MAX_DELAYED or self._held_bytes > MAX_HELD_BYTES):
            log.warning("An answer is sent without its delay: %s are waiting already.", self._delayed)
        elif seconds:
            self._delayed += 1
            try:
                await asyncio.sleep(seconds)
            finally:
                self._delayed -= 1

    @staticmethod
    async def _send_long(body: list[bytes], send: Send) -> None:
        """Send a long answer in pieces, because it may fill the memory; a client that reads too slowly loses it."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + messages.SECONDS_FOR_A_BODY
        with suppress(TimeoutError):
            for part in body:
                for start in range(0, len(part), PIECE):
                    async with asyncio.timeout_at(min(deadline, clock() + messages.SECONDS_FOR_A_BODY)):
                        piece = part[start : start + PIECE]
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                    deadline += len(piece) / messages.MIN_BYTES_PER_SECOND
            await send({"type": "http.response.body", "body": b""})

    async def _stream(self, start: Message, body: Iterable[bytes], receive: Receive, send: Send) -> None:
        """Send an answer of unknown length, until it ends or the client has gone."""
        client_gone_task, pieces = asyncio.create_task(client_gone(receive)), iter(body)
        try:
            await send(start)
            while not client_gone_task.done() and (piece := await self._in_thread(next, pieces, b"")):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            client_gone_task.cancel()
            await self._in_thread(close, body)

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._control, function, *arguments)


def call_wsgi(wsgi_site: WsgiSite, environ: WSGIEnvironment) -> tuple[Message, Iterable[bytes]]:
    """What a site answers: the message that starts the answer, and its body."""
    start: Message = {}

    def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
        encoded_headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        start.update(type="http.response.start", status=int(status[:3]), headers=encoded_headers)

    body = wsgi_site(environ, start_response)
    if isinstance(body, list) or not any(name.lower() == b"content-length" for name, _ in start["headers"]):
        return start, body
    return start, read_parts(body)


async def client_gone(receive: Receive) -> None:
    """Wait until the client of a request has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
