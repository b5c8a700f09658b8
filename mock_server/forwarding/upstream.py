"""The deployment that requests are forwarded to, as an HTTP client sees it."""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, nullcontext, suppress
from errno import EMFILE
from urllib.parse import quote_from_bytes, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from link_management_contract.texts import shown_url
from mock_server.errors import SettingsError, without_secrets_of
from mock_server.settings.settings import Deployment

MAX_HEADER_LINE = 64 * 2**10  # bytes of a header
MAX_CONNECTIONS, MAX_UPLOADS = 200, 150  # of all requests, and of those whose bodies are still to come
MIN_FINAL_STATUS = 200  # lower ones are not final
SECONDS_KEPT = 1.5  # that a connection is kept without use: less than servers keep it, which might close it just then
# What belongs to one connection (RFC 9110, 7.6.1).
CONNECTION_HEADERS = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# What would act on the console, which has the same origin, or on whatever else this machine serves.
ORIGIN_HEADERS = frozenset({"alt-svc", "clear-site-data", "strict-transport-security", "x-content-type-options"})
NOT_SENT = CONNECTION_HEADERS | {"host", "expect"}
AIOHTTP_DEFAULT_HEADERS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")  # headers that it would add
TROUBLE = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
READABLE = ("gzip", "deflate", "identity", "x-gzip")  # encodings that the journal can read, too
PRINTABLE = bytes(range(0x21, 0x7F))
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
Headers = Iterable[tuple[bytes, bytes]]


class UpstreamError(Exception):
    """The deployment did not answer.

    Args:
        status: 502 or 504; 408 if that is for want of a request.
        kind: the type of the error (RFC 9209).
        title: what happened, and what to do.
    """

    def __init__(self, status: int, kind: str, title: str) -> None:
        super().__init__(title)
        self.status, self.kind, self.title = status, kind, title


class Upstream:
    """Sends requests to a deployment, and never follows where it redirects them.

    Args:
        deployment: where it is, and how it is reached.
        base_path: the prefix of all paths here, which it does not know.

    Raises:
        SettingsError: if a certificate cannot be used.
    """

    def __init__(self, deployment: Deployment, base_path: str) -> None:
        self._deployment, self._base_path = deployment, base_path
        self._context = _context(deployment)
        self._session: aiohttp.ClientSession | None = None
        self._uploads = asyncio.Semaphore(MAX_UPLOADS)
        self._proxy = _proxy_of(deployment.url)
        self._base = URL(deployment.url)
        self._seconds = 2 * deployment.timeout  # for a connection and a head, each of which has less

    @asynccontextmanager
    async def answering(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        path: bytes,
        query: bytes,
        headers: Headers,
        body: AsyncIterator[bytes] | bytes | None,
        *,
        is_coming: bool,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request, and hand out the answer once its head has come.

        Args:
            method: as it was sent, as are path, query, headers and body.
            path: see above.
            query: see above.
            headers: see above.
            body: whole or in parts; None if there is none.
            is_coming: whether some of the body is still to come, so that the request may take long.

        Raises:
            UpstreamError: if none comes.
        """
        target = self._base.raw_path.rstrip("/") + _ascii(path).removeprefix(self._base_path)
        query_text = f"?{_ascii(query)}" if query else ""
        url = URL(f"{self._base.origin()}{target}{query_text}", encoded=True)
        forwarded_headers = CIMultiDict(_forwarded_headers(headers, readable=self._deployment.rewrite_links))
        async with self._uploads if is_coming else nullcontext():
            try:
                async with asyncio.timeout(self._seconds) as limit:
                    data = self._pushing(limit, body) if isinstance(body, AsyncIterator) else body
                    answer = await self._open_session().request(
                        method, url, headers=forwarded_headers, data=data, allow_redirects=False, proxy=self._proxy
                    )
                _check(answer)
            except TROUBLE as error:
                raise self._failure(error) from error
            async with answer:
                yield answer

    async def parts(self, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """The body of an answer as it comes.

        Raises:
            UpstreamError: if it breaks off.
        """
        try:
            async for part in answer.content.iter_any():
                yield part
        except TROUBLE as error:
            raise self._failure(error) from error

    async def _pushing(self, limit: asyncio.Timeout, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """A body, during whose parts the deployment need not answer; it has as long again to take each."""
        clock, seconds = asyncio.get_running_loop().time, self._seconds

        def reschedule(deadline: float | None) -> None:
            with suppress(RuntimeError):  # the answer has come already
                limit.reschedule(deadline)

        reschedule(None)
        async for part in body:
            reschedule(clock() + seconds)
            yield part
            reschedule(None)
        reschedule(clock() + seconds)

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            timeout = self._deployment.timeout
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    ssl=self._context or True,
                    limit=MAX_CONNECTIONS,
                    keepalive_timeout=SECONDS_KEPT,
                    socket_factory=self._socket,
                ),
                timeout=aiohttp.ClientTimeout(total=None, connect=timeout, sock_read=timeout),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=AIOHTTP_DEFAULT_HEADERS,
                auto_decompress=False,
                max_line_size=MAX_HEADER_LINE,
                max_field_size=MAX_HEADER_LINE,
            )
            self._session._retry_connection = False  # noqa: SLF001 - aiohttp would send a DELETE twice
        return self._session

    def _socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """A socket that is closed if the deployment takes nothing: aiohttp would wait, even after giving up."""
        family, kind, protocol, _, _ = address
        sock = socket.socket(family, kind, protocol)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * self._seconds))
        return sock

    def _failure(self, error: Exception) -> UpstreamError:
        by = f" by the proxy {shown_url(self._proxy)}" if self._proxy else ""
        name, seconds = self._deployment.url + by, f"{self._deployment.timeout:g} seconds"
        match error:
            case aiohttp.ClientConnectorDNSError():
                failure = (502, "dns_error", f"The name of {name} is not known; check the URL to forward to.")
            case aiohttp.ClientConnectorCertificateError():
                title = f"The certificate of {name} is not trusted: {error.certificate_error}; give --ca-bundle."
                failure = (502, "tls_certificate_error", title)
            case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
                failure = (
                    502,
                    "tls_protocol_error",
                    f"TLS with {name} failed: {error}; check its certificate and yours.",
                )
            case aiohttp.ConnectionTimeoutError():
                failure = (504, "connection_timeout", f"{name} took no connection for {seconds}.")
            case TimeoutError():
                failure = (504, "http_response_timeout", f"{name} sent nothing for {seconds}.")
            case aiohttp.ClientConnectorError():
                hint = "" if error.errno == EMFILE else "; is it running?"
                failure = (502, "connection_refused", f"{name} cannot be reached: {error.strerror}{hint}")
            case aiohttp.ClientResponseError() | aiohttp.ClientPayloadError() | ValueError():
                failure = (502, "http_protocol_error", f"What {name} sent is not an HTTP answer: {_line(error)}.")
            case _:
                failure = (502, "connection_terminated", f"{name} closed the connection without an answer.")
        status, kind, title = failure
        return UpstreamError(status, kind, without_secrets_of(self._proxy or "", title))


def _check(answer: aiohttp.ClientResponse) -> None:
    """Refuse a head that cannot be handed on."""
    if answer.status < MIN_FINAL_STATUS:
        raise ValueError(f"status {answer.status}")
    for name, text in answer.raw_headers:
        if CONTROL.search(text):
            raise ValueError(f"a control character in the header {name.decode('latin-1')}")


def kept_headers(answer: aiohttp.ClientResponse) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, without those of its connection or origin, and those that let pages read it."""
    dropped = {name.strip().lower() for text in answer.headers.getall("Connection", ()) for name in text.split(",")}
    if "Transfer-Encoding" in answer.headers:
        dropped.add("content-length")  # which does not count then (RFC 9112, 6.3)
    return [
        (name, text)
        for name, text in answer.raw_headers
        if (lower := name.decode("latin-1").lower()) not in CONNECTION_HEADERS | ORIGIN_HEADERS
        and lower not in dropped
        and not lower.startswith("access-control-")  # which pages may call is decided here
    ]


def _proxy_of(base_url: str) -> str | None:
    """The proxy that the environment names for a base URL, if any."""
    parts, proxies = urlsplit(base_url), getproxies()
    if not proxies or proxy_bypass(parts.netloc):
        return None
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and not proxy.startswith(("http://", "https://")):
        raise SettingsError(
            f"the proxy {shown_url(proxy)} of the environment is not one of HTTP; set another, or NO_PROXY"
        )
    return proxy


def _forwarded_headers(headers: Headers, *, readable: bool) -> Iterable[tuple[str, str]]:
    """The headers of a request as they are forwarded.

    Args:
        headers: as they came.
        readable: whether the answer must come as it is, because it may have to be changed.
    """
    decoded = [(name.decode("latin-1").lower(), text.decode("utf-8", "replace")) for name, text in headers]
    dropped = {field.strip().lower() for name, text in decoded if name == "connection" for field in text.split(",")}
    for name, text in decoded:
        if name == "accept-encoding":
            yield name, "identity" if readable else _readable(text)
        elif name not in NOT_SENT and name not in dropped and "_" not in name:  # some servers take _ for -
            yield name, text


def _readable(accepted: str) -> str:
    """The encodings that a client accepts, without those that the journal cannot read."""
    codings = [coding for coding in accepted.split(",") if coding.partition(";")[0].strip().lower() in READABLE]
    return ",".join(codings).strip() or "identity"


def _ascii(text: bytes) -> str:
    """A part of a URL as it was sent, with bytes that no URL has as percent signs and digits."""
    return text.decode() if text.isascii() else quote_from_bytes(text, safe=PRINTABLE)


def _line(error: Exception) -> str:
    message = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    return " ".join(message.split())[:200]


def _context(deployment: Deployment) -> ssl.SSLContext | None:
    if not deployment.url.startswith("https:"):
        return None
    try:
        context = ssl.create_default_context(cafile=deployment.ca_bundle)
    except OSError as error:
        raise SettingsError(f"{deployment.ca_bundle} cannot be used as a CA bundle: {error}") from error
    if deployment.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if deployment.client_certificate:
        try:
            context.load_cert_chain(deployment.client_certificate, deployment.client_key)
        except OSError as error:
            name = deployment.client_certificate
            raise SettingsError(f"{name} cannot be used as a client's certificate: {error}") from error
    return context
