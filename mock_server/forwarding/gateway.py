"""From clients to a deployment and back: bodies pass as they come, within bounds, and the journal keeps what it can."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING

import aiohttp

from mock_server.forwarding.copies import Room
from mock_server.forwarding.links import LONGEST, links_here, location_here
from mock_server.forwarding.passage import GONE, LONGEST_SENT, MOST_PASSED, Passage, SlowClientError
from mock_server.forwarding.sightings import Sightings
from mock_server.forwarding.upstream import Upstream, UpstreamError, kept_headers
from mock_server.http.gateway import Gateway, Receive, Send, Site, called
from mock_server.http.incoming import Message, environ_of, has_body
from mock_server.journal.recorder import HARMLESS, Head, Keeper, plain
from mock_server.settings import URL, Deployment, Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

ROOM = 48 * 2**20  # bytes of copies of bodies that are on their way
PASSED_ON = 200  # the status of the placeholder for the deployment's answer
OF_THE_PLACEHOLDER = (b"content-length", b"content-type")
SECONDS_TO_CLOSE = 1.0
DENIED = b"mock-server; error=http_request_denied"
CUT_OFF = "cut off by the deployment"
SAFE = [(name.lower().encode(), text.encode()) for name, text in HARMLESS]
Headers = list[tuple[bytes, bytes]]


class ForwardingGateway(Gateway):
    """A gateway that forwards requests to a deployment, unless the site answers them itself.

    Args:
        site: notes which requests are to be forwarded, and what is done to their answers.
        settings: how it forwards.
        deployment: where to.
        keeper: keeps all requests.
        sightings: learns from the deployment's answers, if they are to be recorded.

    Raises:
        SettingsError: if a certificate cannot be used.
    """

    def __init__(
        self, site: Site, settings: Settings, deployment: Deployment, keeper: Keeper, sightings: Sightings | None
    ) -> None:
        super().__init__(site)
        self._settings, self._deployment = settings, deployment
        self._upstream = Upstream(deployment, settings.base_path)
        self._keeper, self._sightings = keeper, sightings
        self._room = Room(ROOM)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        self._loop = self._loop or asyncio.get_running_loop()
        environ = environ_of(scope)
        if self._site.is_control(environ):
            return await super().__call__(scope, receive, send)
        passage = Passage(environ, receive, send, self._room)
        try:
            self._keeper.force(environ)
            start, body = called(self._site, environ)
            if not passage.notes.forwarded:
                return await self._answer_itself(passage, start, list(body), receive, send)
            with suppress(SlowClientError):
                await self._forward(passage, scope, start, list(body), send)
        finally:
            passage.end()
        return None

    def stop(self) -> None:
        """Close the connections to the deployment, too."""
        super().stop()
        if self._loop and self._loop.is_running():
            with suppress(TimeoutError, RuntimeError):
                asyncio.run_coroutine_threadsafe(self._upstream.close(), self._loop).result(SECONDS_TO_CLOSE)

    async def _answer_itself(
        self, passage: Passage, start: Message, body: list[bytes], receive: Receive, send: Send
    ) -> None:
        """Send an answer that does not come from the deployment, once the request has come whole."""
        environ, notes = passage.environ, passage.notes
        start["headers"] = [*start["headers"], (b"proxy-status", DENIED), *SAFE]
        passage.head = Head(start["status"], _told(start["headers"]), is_own=True)
        if has_body(environ):
            async with self._body_read(environ, receive):
                passage.sent.add(environ["wsgi.input"].read(LONGEST_SENT))
                self._keep(passage, b"".join(body))
        else:
            self._keep(passage, b"".join(body))
        await self._deliver(start, body, notes.delay, notes.late, send)

    async def _forward(self, passage: Passage, scope: Message, start: Message, body: list[bytes], send: Send) -> None:
        """Forward a request, and send what comes back, or what a layer makes of it."""
        method, path, query = scope["method"], scope["raw_path"], scope["query_string"]
        try:
            sent = await passage.body()
            if isinstance(sent, bytes):  # once it is on its way, it is read while the deployment is at work
                loop = asyncio.get_running_loop()
                loop.call_soon(loop.call_soon, self._keeper.read_form, passage.environ, sent)
            async with self._upstream.answering(method, path, query, scope["headers"], sent) as answer:
                passage.head = Head(answer.status, _told(answer.raw_headers))
                if start["status"] == PASSED_ON:
                    return await self._pass_back(passage, answer, start)
                async for _ in passage.coming(answer.content.iter_any()):
                    pass
            self._teach(passage)
            passage.head = Head(start["status"], _told(start["headers"]), is_own=True)
            self._keep(passage, b"".join(body))
        except (SlowClientError, UpstreamError) as error:
            told = error if isinstance(error, UpstreamError) else UpstreamError(408, "http_request_denied", str(error))
            if passage.trouble == GONE or passage.is_begun:
                return await self._break(passage, passage.trouble or (CUT_OFF if told is error else str(error)))
            if passage.trouble:
                told = UpstreamError(408, "http_request_denied", passage.trouble)
            start, body = _failed(told, start)
            passage.head = Head(start["status"], _told(start["headers"]), is_own=True)
            self._keep(passage, body[0])
        await self._deliver(start, body, passage.notes.delay, passage.notes.late, send)
        return None

    async def _pass_back(self, passage: Passage, answer: aiohttp.ClientResponse, start: Message) -> None:
        """Send the deployment's answer as it comes."""
        notes = passage.notes
        parts = passage.coming(answer.content.iter_any())
        headers = _merged(kept_headers(answer), start["headers"])
        if self._deployment.rewrite_links:
            headers, parts = await self._rewritten(passage.environ, headers, answer, parts)
        await self._wait(notes.delay)
        await passage.begin({"type": "http.response.start", "status": answer.status, "headers": headers})
        if notes.late:
            await passage.hand(b"")
            await self._wait(notes.late)
        half = (answer.content_length or 0) // 2 if notes.broken else None
        held = b""  # the last part is sent once the journal has the request
        async for part in parts:
            if passage.answered.came > MOST_PASSED:
                return await self._break(passage, f"longer than {MOST_PASSED >> 20} MiB")
            if half is None and held:
                await passage.hand(held)
            elif half is not None and (sendable := part[: max(0, half - passage.answered.came + len(part))]):
                await passage.hand(sendable)
            held = part
        self._teach(passage)
        self._keep(passage, passage.answered.content)
        if half is None:
            await passage.hand(held, more=False)
        elif not passage.pieces:
            await passage.hand(b"")  # the head goes with the first part
        return None

    async def _rewritten(
        self, environ: WSGIEnvironment, headers: Headers, answer: aiohttp.ClientResponse, parts: AsyncIterator[bytes]
    ) -> tuple[Headers, AsyncIterator[bytes]]:
        """An answer whose links lead here, if it is short enough."""
        host = environ.get("HTTP_HOST", "")
        here = self._settings.public_base_url or f"{environ['wsgi.url_scheme']}://{host}{self._settings.base_path}"
        if not URL.fullmatch(here):
            return headers, parts
        there = self._deployment.url
        headers = [
            (name, location_here(text, there, here) if name.lower() == b"location" else text) for name, text in headers
        ]
        if answer.method != "GET" or answer.headers.get("Content-Encoding", "identity") != "identity":
            return headers, parts
        gathered: list[bytes] = []
        async for part in parts:
            gathered.append(part)
            if sum(map(len, gathered)) > LONGEST or gathered[0].lstrip()[:1] != b"{":
                return headers, _chained(gathered, parts)
        body = links_here(b"".join(gathered), here)
        length = (b"content-length", str(len(body)).encode())
        return [each for each in headers if each[0].lower() != length[0]] + [length], _chained([body])

    def _teach(self, passage: Passage) -> None:
        if self._sightings and passage.answered.is_whole:
            account = self._keeper.account_of(passage.environ)
            body = plain(passage.answered.content, passage.head.headers)
            self._sightings.learn(account, passage.environ, passage.head.status or 0, body)

    async def _break(self, passage: Passage, why: str) -> None:
        """Keep a request whose answer breaks off here, and let its client see that it does."""
        passage.notes.broken = passage.notes.broken or why
        passage.answered.is_whole = False
        self._keep(passage, passage.answered.content)
        if passage.is_begun and not passage.pieces:
            await passage.hand(b"")  # the head goes with the first part

    def _keep(self, passage: Passage, answer: bytes) -> None:
        """Keep a request in the journal, with the answer that the client gets."""
        head = passage.head
        head.is_whole = head.is_own or passage.answered.is_whole
        delay = 0.0 if passage.is_begun else passage.notes.delay * 1000
        self._keeper.keep(passage.environ, head, passage.sent.content, answer, passage.milliseconds + delay)


async def _chained(parts: list[bytes], rest: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
    if rest:
        async for part in rest:
            yield part


def _told(headers: Headers | tuple[tuple[bytes, bytes], ...]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), text.decode("latin-1")) for name, text in headers]


def _merged(headers: Headers, added: Headers) -> Headers:
    """The headers of an answer, with those that the layers here added in place of the deployment's own."""
    added = [(name.lower(), text) for name, text in added if name.lower() not in OF_THE_PLACEHOLDER]
    replaced = {name for name, _ in added} - {b"vary"}
    return [each for each in headers if each[0].lower() not in replaced] + added + SAFE


def _failed(error: UpstreamError, start: Message) -> tuple[Message, list[bytes]]:
    """The answer of this server where the deployment gave none; its head keeps what layers added."""
    body = json.dumps({"errors": [{"title": error.title, "status": error.status}]}).encode()
    own = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"proxy-status", b"mock-server; error=" + error.kind.encode()),
    ]
    return {"type": "http.response.start", "status": error.status, "headers": _merged(own, start["headers"])}, [body]
