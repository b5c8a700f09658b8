"""From clients to a deployment and back: bodies pass as they come, within bounds, and the journal keeps what it can."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import urlsplit
from wsgiref.types import WSGIEnvironment

import aiohttp

from mock_server.forwarding.proxied_exchange import (
    CLIENT_GONE,
    CUT_SHORT,
    MAX_REQUEST_COPY,
    CopyBudget,
    ProxiedExchange,
    SlowClientError,
    chain_parts,
)
from mock_server.forwarding.recording import FixtureRecording
from mock_server.forwarding.upstream import Upstream, UpstreamError, kept_headers
from mock_server.http.context import holds_token, scheme_and_key
from mock_server.http.gateway import Gateway, Receive, Send, WsgiSite, call_wsgi
from mock_server.http.masking import masked_key
from mock_server.http.messages import Message, decompress_body, environ_of, has_body
from mock_server.journal.journal import Head
from mock_server.journal.recorder import HARMLESS, JournalWriter
from mock_server.settings.settings import URL, Deployment, Settings

LINK = re.compile(rb'("(?:first|last|prev|next|self)"\s*:\s*")(https?:(?:\\?/){2}(?:[^"\\]|\\/)*)', re.ASCII)
API = re.compile(rb"(?:\\?/)api(?:\\?/)")
LONGEST = 2**20  # bytes of an answer whose links are changed


def links_here(body: bytes, base_url: str, mock_url: str) -> bytes:
    """A page whose links begin with another base URL; all else stays as it is, byte by byte.

    Args:
        body: the JSON of a page.
        base_url: the base URL of the deployment, which its links need not begin with.
        mock_url: the base URL of this server.
    """
    base, forms = json.dumps(mock_url)[1:-1].encode(), (base_url.encode(), base_url.replace("/", "\\/").encode())

    def changed(match: re.Match[bytes]) -> bytes:
        link = match[2]
        position = next((len(form) for form in forms if API.match(link, len(form)) and link.startswith(form)), None)
        if position is None:
            api = API.search(link)
            position = api.start() if api else None
        return match[0] if position is None else match[1] + base + link[position:]

    return LINK.sub(changed, body)


def location_here(location: bytes, base_url: str, mock_url: str) -> bytes:
    """The target of a redirect, if it is within the deployment, as a URL of this server."""
    path = urlsplit(base_url).path.encode()
    for base in (base_url.encode(), path):
        remainder = location[len(base) :]
        is_path_below = remainder[:1] in (b"/", b"?", b"") if base else location[:1] == b"/" and location[:2] != b"//"
        if location.startswith(base) and is_path_below:
            return mock_url.encode() + remainder
    return location


COPY_BUDGET = 48 * 2**20  # bytes of copies of bodies that are on their way
FORWARDED_STATUS = 200  # the status of the placeholder for the deployment's answer
PLACEHOLDER_HEADERS = (b"content-length",)
SECONDS_TO_CLOSE, SECONDS_TO_LOOK = 1.0, 0.02
OWN_ANSWER, DENIED = b"mock-server", b"mock-server; error=http_request_denied"
WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
CUT_OFF = "cut off by the deployment"
SAFE = [(name.lower().encode(), text.encode()) for name, text in HARMLESS]
Headers = list[tuple[bytes, bytes]]


class ForwardingGateway:
    """An ASGI application that forwards requests to a deployment, unless the site answers them itself.

    Args:
        wsgi_site: context which requests are to be forwarded, and what is done to their answers.
        settings: how it forwards.
        deployment: where to.
        journal: keeps all requests.
        recording: learns from the deployment's answers, if they are to be recorded.
        token: the control token of this server, which browsers send along with every request to it.

    Raises:
        SettingsError: if a certificate cannot be used.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what it serves, and what it keeps
        self,
        wsgi_site: WsgiSite,
        settings: Settings,
        deployment: Deployment,
        journal: JournalWriter,
        recording: FixtureRecording | None,
        token: str | None,
    ) -> None:
        self._wsgi_site, self._gateway = wsgi_site, Gateway(wsgi_site)
        self._settings, self._deployment = settings, deployment
        self._upstream = Upstream(deployment, settings.base_path)
        self._journal, self._recording, self._token = journal, recording, token
        self._copy_budget = CopyBudget(COPY_BUDGET)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self._loop = self._loop or asyncio.get_running_loop()
        environ = environ_of(scope)
        if self._wsgi_site.is_control(environ):
            return await self._gateway(scope, receive, send)
        exchange = ProxiedExchange(environ, receive, send, self._copy_budget)
        self._under_way += 1
        try:
            self._journal.force(environ)
            start, body = call_wsgi(self._wsgi_site, environ)
            if not exchange.context.forwarded:
                return await self._answer_itself(exchange, start, list(body), receive, send)
            with suppress(SlowClientError):
                await self._forward(exchange, scope, start, list(body), send)
        finally:
            self._under_way -= 1
            exchange.end()
        return None

    def finish(self) -> None:
        """Close the connections to the deployment, once requests under way are answered, or a moment has passed."""
        if self._loop and self._loop.is_running():
            with suppress(TimeoutError, RuntimeError):
                asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(2 * SECONDS_TO_CLOSE)

    def stop(self) -> None:
        self._gateway.stop()

    async def _close(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS_TO_CLOSE):
                while self._under_way:  # noqa: ASYNC110 - once, when the server stops
                    await asyncio.sleep(SECONDS_TO_LOOK)
        await self._upstream.close()

    async def _answer_itself(
        self, exchange: ProxiedExchange, start: Message, body: list[bytes], receive: Receive, send: Send
    ) -> None:
        """Send an answer that does not come from the deployment, once the request has come whole."""
        environ, context = exchange.environ, exchange.context
        status = DENIED if start["status"] >= HTTPStatus.BAD_REQUEST else OWN_ANSWER
        start["headers"] = [*start["headers"], (b"proxy-status", status), *SAFE]
        exchange.head = Head(start["status"], _decode_headers(start["headers"]), is_own=True)
        if has_body(environ):
            async with self._gateway.body_read(environ, receive):
                if context.body_refusal:  # what is left of the body would keep the connection open
                    start["headers"].append((b"connection", b"close"))
                exchange.request_copy.add(environ["wsgi.input"].read(MAX_REQUEST_COPY))
                self._keep(exchange, b"".join(body))
        else:
            self._keep(exchange, b"".join(body))
        await self._gateway.deliver(start, body, context.delay, context.body_delay, send)

    async def _forward(
        self, exchange: ProxiedExchange, scope: Message, start: Message, body: list[bytes], send: Send
    ) -> None:
        """Forward a request, and send what comes back, or what a layer makes of it."""
        method, path, query = scope["method"], scope["raw_path"], scope["query_string"]
        try:
            content = await exchange.body()
            if isinstance(content, bytes):  # once it is on its way, it is read while the deployment is at work
                loop = asyncio.get_running_loop()
                loop.call_soon(loop.call_soon, self._journal.read_form, exchange.environ, content)
            # The deployment is not to learn the token of this server.
            headers = [header for header in scope["headers"] if not self._holds_token(*header)]
            is_coming = not exchange.is_received
            async with self._upstream.answering(method, path, query, headers, content, is_coming=is_coming) as answer:
                exchange.head = Head(answer.status, _decode_headers(answer.raw_headers))
                if start["status"] == FORWARDED_STATUS:
                    return await self._pass_back(exchange, answer, start)
                async for _ in exchange.coming(self._upstream.parts(answer)):
                    pass
            self._record_for_fixture(exchange)
            if exchange.context.broken != "dropped":
                start["headers"] = [*start["headers"], (b"proxy-status", OWN_ANSWER)]
            exchange.head = Head(start["status"], _decode_headers(start["headers"]), is_own=True)
            self._keep(exchange, b"".join(body))
        except (SlowClientError, UpstreamError) as error:
            if exchange.is_begun or (str(error) == CLIENT_GONE and not exchange.trouble):
                return await self._break(exchange, CUT_OFF if isinstance(error, UpstreamError) else str(error))
            if exchange.context.broken != "dropped":
                start, body = _failed(exchange.trouble or error, start)
            exchange.head = Head(start["status"], _decode_headers(start["headers"]), is_own=True)
            self._keep(exchange, body[0])
        await self._gateway.deliver(start, body, exchange.context.delay, exchange.context.body_delay, send)
        return None

    async def _pass_back(self, exchange: ProxiedExchange, answer: aiohttp.ClientResponse, start: Message) -> None:
        context = exchange.context
        parts = exchange.coming(self._upstream.parts(answer))
        headers = _merge_headers(kept_headers(answer), start["headers"])
        if self._deployment.rewrite_links:
            headers, parts = await self._rewritten(exchange.environ, headers, answer, parts)
        await self._gateway.wait(context.delay)
        await exchange.start_answer({"type": "http.response.start", "status": answer.status, "headers": headers})
        if context.body_delay:
            await exchange.hand(b"")
            await self._gateway.wait(context.body_delay)
        length = next((int(text) for name, text in headers if name.lower() == b"content-length"), None)
        if context.broken and (length == 0 or answer.method == "HEAD" or answer.status in WITHOUT_BODY):
            context.broken = ""  # there is nothing to cut off
        sent_bytes, last = 0, b""  # what completes the answer is sent once the journal has the request
        async for part in parts:
            if context.broken:
                bytes_to_send = len(part) // 2 if length is None else length // 2
                last = part[: max(0, bytes_to_send - sent_bytes)]
            else:
                last = part
            sent_bytes += len(last)
            if last and (context.broken or sent_bytes != length):
                await exchange.hand(last)
                last = b""
        self._record_for_fixture(exchange)
        self._keep(exchange, exchange.answered.content)
        if not context.broken:
            await exchange.hand(last, has_more=False)
        elif not exchange.pieces:
            await exchange.hand(b"")  # the head goes with the first part

    async def _rewritten(
        self, environ: WSGIEnvironment, headers: Headers, answer: aiohttp.ClientResponse, parts: AsyncIterator[bytes]
    ) -> tuple[Headers, AsyncIterator[bytes]]:
        """An answer whose links lead here, if it is short enough."""
        host = environ.get("HTTP_HOST", "")
        mock_url = self._settings.public_base_url or f"{environ['wsgi.url_scheme']}://{host}{self._settings.base_path}"
        if not URL.fullmatch(mock_url):
            return headers, parts
        base_url = self._deployment.url
        headers = [
            (name, location_here(text, base_url, mock_url) if name.lower() == b"location" else text)
            for name, text in headers
        ]
        if (
            answer.method != "GET"
            or answer.status != FORWARDED_STATUS
            or answer.headers.get("Content-Encoding", "identity") != "identity"
        ):
            return headers, parts
        received_parts: list[bytes] = []
        async for part in parts:
            received_parts.append(part)
            if sum(map(len, received_parts)) > LONGEST or received_parts[0].lstrip()[:1] != b"{":
                return headers, chain_parts(received_parts, parts)
        body = links_here(b"".join(received_parts), base_url, mock_url)
        length = (b"content-length", str(len(body)).encode())
        return [header for header in headers if header[0].lower() != length[0]] + [length], chain_parts([body])

    def _holds_token(self, name: bytes, text: bytes) -> bool:
        """Whether a header holds the control token; servers read its name in small letters."""
        return holds_token(text, self._token) or holds_token(name.lower(), self._token and self._token.lower())

    def _record_for_fixture(self, exchange: ProxiedExchange) -> None:
        if self._recording and exchange.answered.is_complete:
            account = self._journal.account_of(exchange.environ)
            body = decompress_body(exchange.answered.content, exchange.head.headers) or b""
            body = masked_key(scheme_and_key(exchange.environ)[1], body)
            self._recording.learn(account, exchange.environ, exchange.head.status or 0, body)

    async def _break(self, exchange: ProxiedExchange, reason: str) -> None:
        """Keep a request whose answer breaks off here, and let its client see that it does."""
        exchange.context.broken = exchange.context.broken or reason
        exchange.answered.is_complete = False
        self._keep(exchange, exchange.answered.content)
        if exchange.is_begun and not exchange.pieces:
            await exchange.hand(b"")  # the head goes with the first part

    def _keep(self, exchange: ProxiedExchange, answer: bytes) -> None:
        """Keep a request in the journal, once, with the answer that the client gets."""
        if exchange.is_kept:
            return
        exchange.is_kept = True
        head = exchange.head
        head.is_complete = head.is_own or exchange.answered.is_complete
        delay = 0.0 if exchange.is_begun else exchange.context.delay * 1000
        self._journal.keep(exchange.environ, head, exchange.request_copy.content, answer, exchange.milliseconds + delay)


def _decode_headers(headers: Headers | tuple[tuple[bytes, bytes], ...]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), text.decode("latin-1")) for name, text in headers]


def _merge_headers(headers: Headers, added: Headers) -> Headers:
    """The headers of an answer, with those that the layers here added in place of the deployment's own."""
    added = [(name.lower(), text) for name, text in added if name.lower() not in PLACEHOLDER_HEADERS]
    replaced = {name for name, _ in added} - {b"vary"}
    return [header for header in headers if header[0].lower() not in replaced] + added + SAFE


def _failed(trouble: str | Exception, start: Message) -> tuple[Message, list[bytes]]:
    """The answer of this server where the deployment gave none; its head keeps what layers added."""
    status = HTTPStatus.BAD_REQUEST if trouble == CUT_SHORT else HTTPStatus.REQUEST_TIMEOUT
    denied = UpstreamError(status, "http_request_denied", str(trouble))
    error = trouble if isinstance(trouble, UpstreamError) else denied
    body = json.dumps({"errors": [{"title": error.title, "status": error.status}]}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"proxy-status", b"mock-server; error=" + error.kind.encode()),
    ]
    return {
        "type": "http.response.start",
        "status": error.status,
        "headers": _merge_headers(headers, start["headers"]),
    }, [body]
