"""How a target is reached: TLS, a client certificate, a proxy, further headers."""

import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from contract_tests.errors import UsageError
from link_management_contract import texts

CHUNK = 65_536  # bytes
MAX_BODY_BYTES = 16 << 20  # bytes
MAX_HEADER_LINE = 65_536  # bytes of a header
INTERIM = (100, 102, 103)


@dataclass(frozen=True)
class Connection:
    """How a target is reached.

    Attributes:
        ca_bundle: PEM file of the authorities to trust, or None for those of the system.
        client_certificate: PEM file of a certificate to show, with its key unless that is in a file of its own.
        client_key: PEM file of that certificate's key, or None.
        headers: further headers of every request; their values appear in no output.
    """

    ca_bundle: Path | None = None
    insecure: bool = False
    client_certificate: Path | None = None
    client_key: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    _addresses: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def pool(self, base_url: str, timeout: float) -> urllib3.PoolManager:
        """Connections to a base URL, through the proxy that the environment names for it.

        Raises:
            UsageError: if a certificate or the proxy cannot be used.
        """
        context = self._context() if base_url.startswith("https:") else None
        proxy = proxy_of(base_url)
        if proxy is None:
            return _timed(urllib3.PoolManager(retries=False, timeout=timeout, ssl_context=context), self._addresses)
        try:
            user = urlsplit(proxy).netloc.rpartition("@")[0]
            headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
            return _timed(
                urllib3.ProxyManager(proxy, retries=False, timeout=timeout, ssl_context=context, proxy_headers=headers),
                self._addresses,
            )
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise UsageError(
                "the proxy that the environment names cannot be used; expected one such as"
                " http://proxy.example.com:3128, or its host in NO_PROXY"
            ) from error  # which may repeat its password

    def _context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca_bundle)
        except OSError as error:
            raise UsageError(f"{self.ca_bundle} cannot be used as a CA bundle: {error}") from error
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # the command warns once, and loudly
        if self.client_certificate:
            try:
                context.load_cert_chain(self.client_certificate, self.client_key)
            except OSError as error:
                raise UsageError(
                    f"{self.client_certificate} cannot be used as a client's certificate: {error}"
                ) from error
        return context


class _TimedReader(io.RawIOBase):
    """Reads an answer from a socket; the socket's timeout applies to all of it, not to each part."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._bytes = sock.makefile("rb", buffering=0)
        self._timeout = sock.gettimeout()
        self._deadline = time.monotonic() + (self._timeout or 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._timeout is None:
            return self._bytes.readinto(buffer)
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        try:
            return self._bytes.readinto(buffer)
        finally:
            self._sock.settimeout(self._timeout)

    def close(self) -> None:
        self._bytes.close()
        super().close()


class _TimedResponse(HTTPResponse):
    """An answer whose head and body must come within one timeout; interim answers (RFC 9110, 15.2) are passed over."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_TimedReader(sock))

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status not in INTERIM:
                return version, status, reason
            while self.fp.readline(MAX_HEADER_LINE).strip():
                pass


def _timed(pool: urllib3.PoolManager, addresses: dict[str, str]) -> urllib3.PoolManager:
    """The same connections, with a timeout that applies to a whole answer.

    Args:
        addresses: the address that each host had at first, and keeps.
    """

    class Http(HTTPConnection):
        response_class = _TimedResponse

        def _new_conn(self) -> socket.socket:
            name = self._dns_host
            self._dns_host = addresses.get(name, name)
            try:
                sock = super()._new_conn()
            finally:
                self._dns_host = name
            try:
                addresses.setdefault(name, sock.getpeername()[0])
            except OSError:  # it was reset since
                sock.close()
                raise
            return sock

    class Https(Http, HTTPSConnection):
        response_class = _TimedResponse

    class HttpPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Http

    class HttpsPool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Https

    pool.pool_classes_by_scheme = {"http": HttpPool, "https": HttpsPool}
    return pool


def read_whole(response: urllib3.BaseHTTPResponse) -> bytes:
    """The body of a response, unless it is longer than any list could be.

    Raises:
        urllib3.exceptions.HTTPError: if it is cut off, too long or too slow.
    """
    body = bytearray()
    while part := response.read1(CHUNK):
        body += part
        if len(body) > MAX_BODY_BYTES:
            response.close()
            raise urllib3.exceptions.HTTPError(f"the answer is longer than {MAX_BODY_BYTES >> 20} MiB")
    return bytes(body)


def is_loopback(base_url: str) -> bool:
    return texts.is_loopback(urlsplit(base_url).hostname or "")


def proxy_of(base_url: str) -> str | None:
    """The proxy that the environment names for a base URL; none for this machine, or where `NO_PROXY` says so."""
    parts, proxies = urlsplit(base_url), getproxies()
    if is_loopback(base_url) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")
