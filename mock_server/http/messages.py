"""Requests as they come in, and answers as they go out."""

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from functools import lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes
from wsgiref.types import WSGIEnvironment
from zlib import MAX_WBITS, decompressobj
from zlib import error as ZlibError  # noqa: N812 - a class

from mock_server.errors import REFUSAL, Refusal
from mock_server.http.context import context_of

Message = MutableMapping[str, Any]  # of ASGI

SECONDS_FOR_A_BODY, MIN_BYTES_PER_SECOND = 15.0, 10_000  # bytes a second that are expected after that
MAX_DRAINED_BYTES = 64 * 2**20  # bytes of a body that are received, even if nobody reads them
SMALL = 64 * 2**10  # bytes up to which a body is not counted
READS = ("GET", "HEAD", "OPTIONS")
NAME_CHARACTER = r"[!#$%&'*+.^_`|~0-9A-Za-z-]"  # of a header's name (RFC 9110, 5.6.2)
REFUSED_BODY_EXCERPT = 2000  # bytes, for the journal


class Body:
    """The body of a request as it arrives.

    Attributes:
        limit: how many bytes it may have.
        seconds_waited: for how many seconds reading was paused.
        size: how many bytes it counts for, if it is large.
        is_wanted: whether more is to be read.
        refusal: why it is not used, or None.
    """

    def __init__(self, limit: int, announced: str) -> None:
        self.limit = limit
        self.seconds_waited = 0.0
        self.size = 0
        self.is_wanted = True
        self.refusal: Refusal | None = None
        self._parts: list[bytes] = []
        self._stored_bytes = self._received = 0
        self._announced = int(announced) if announced.isdecimal() else None
        self._started = asyncio.get_running_loop().time()
        if not limit:
            self.refuse("413", "This body was not read.")

    @property
    def content(self) -> bytes:
        """The part of the body that is kept."""
        self._parts = [b"".join(self._parts)]
        return self._parts[0]

    @property
    def deadline(self) -> float:
        """The time by which more has to arrive, by the loop's clock."""
        by_rate = self._started + SECONDS_FOR_A_BODY + self._received / MIN_BYTES_PER_SECOND + self.seconds_waited
        return min(by_rate, asyncio.get_running_loop().time() + SECONDS_FOR_A_BODY)

    def take(self, message: Message) -> None:
        """Take a part of the body that arrived."""
        if message["type"] == "http.disconnect":
            self.is_wanted = False
            return self.refuse("400", f"The body was cut off after {self._received:,} bytes; send it whole.")
        part = message.get("body", b"")
        self._received += len(part)
        self.is_wanted = (
            message.get("more_body", False)
            and self._received <= MAX_DRAINED_BYTES
            and self._received != self._announced
        )
        if not self.refusal and self._received > self.limit:
            self.refuse("413", f"The body is too long; send {self.limit:,} bytes at most.")
        free_bytes = REFUSED_BODY_EXCERPT - self._stored_bytes if self.refusal else len(part)
        self._parts += [part[:free_bytes]] if free_bytes > 0 else []
        self._stored_bytes += max(0, min(free_bytes, len(part)))
        self.size = self._stored_bytes if self._stored_bytes > SMALL else 0
        return None

    def refuse(self, status: str, title: str) -> None:
        """Refuse the body; the first reason counts."""
        self.refusal = self.refusal or Refusal(status, title)
        self._parts = [self.content[:REFUSED_BODY_EXCERPT]]
        self._stored_bytes, self.size = len(self._parts[0]), 0


@lru_cache(128)  # not more, because a client may send long names
def _key(raw_name: bytes) -> str:
    """The key of a header in a WSGI environment; none for a header that would be taken for the one with hyphens."""
    name = raw_name.decode("latin-1").upper().replace("-", "_")
    return "" if b"_" in raw_name else name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"


@lru_cache(64)  # a client sends nearly the same headers with each request; all are 64 KiB at most
def _headers(raw_headers: tuple[tuple[bytes, bytes], ...]) -> Mapping[str, str]:
    """Headers by their keys in a WSGI environment; repeated ones are joined."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in raw_headers:
        name, value = _key(raw_name), raw_value.decode("latin-1")
        if name in headers:
            value = f"{headers[name]}{'; ' if name == 'HTTP_COOKIE' else ', '}{value}"
        headers[name] = value
    headers.pop("", None)
    return headers


def has_body(environ: WSGIEnvironment) -> bool:
    return "HTTP_TRANSFER_ENCODING" in environ or environ.get("CONTENT_LENGTH", "0") != "0"


def environ_of(scope: Message) -> WSGIEnvironment:
    """The WSGI environment of a request, still without its body.

    Args:
        scope: the scope of the ASGI connection.
    """
    path: bytes = scope["raw_path"]
    host, port = scope["server"]
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "RAW_PATH": path.decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": "HTTP/1.0" if scope["http_version"] in ("1", "1.0") else "HTTP/1.1",
        "REMOTE_ADDR": scope["client"][0],
        "REMOTE_PORT": scope["client"][1],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    context = context_of(environ)
    context.headers = _headers(tuple(scope["headers"]))
    environ.update(context.headers)
    if environ["SERVER_PROTOCOL"] == "HTTP/1.1" and "," in (environ.get("HTTP_HOST") or ","):
        environ[REFUSAL] = Refusal("400", "This request has no Host header, or several; send one.")
    return environ


def refuse_unread(environ: WSGIEnvironment) -> None:
    """Refuse a request whose body is too long, or did not arrive whole.

    Raises:
        Refusal: if it is.
    """
    if unread := context_of(environ).body_refusal:
        raise unread


def read_body(environ: WSGIEnvironment, limit: int) -> bytes:
    """The body of a request.

    Args:
        environ: the request's WSGI environment.
        limit: how long it may be, in bytes.

    Raises:
        Refusal: if it is longer, or did not arrive whole.
    """
    refuse_unread(environ)
    body: bytes = environ["wsgi.input"].read(limit + 1)
    if len(body) > limit:
        raise Refusal("413", f"The body is too long; send {limit:,} bytes at most.")
    return body


def read_parts(body: Iterable[bytes]) -> list[bytes]:
    """Read all parts of a body, and close it."""
    try:
        return list(body)
    finally:
        close(body)


def close(body: Iterable[bytes]) -> None:
    """Close a body that is not read any further, if it has a `close` method (PEP 3333)."""
    method: Callable[[], None] | None = getattr(body, "close", None)
    if method:
        method()


MAX_DECOMPRESSED = 4 * 2**20  # bytes of a body that was compressed
CODINGS = ("gzip", "x-gzip", "deflate")
FORMS = (MAX_WBITS | 32, -MAX_WBITS)  # gzip and zlib, or deflate without a head


def decompress_body(body: bytes, headers: Iterable[tuple[str, str]]) -> bytes | None:
    """The body of an answer as it was before it was compressed; None if it cannot be read, or is very long."""
    texts = [text.lower() for name, text in headers if name.lower() == "content-encoding"]
    if not body or not texts:
        return body
    codings = [coding.strip() for text in texts for coding in text.split(",") if coding.strip() not in ("", "identity")]
    if not codings:
        return body
    for form in FORMS if len(codings) == 1 and codings[0] in CODINGS else ():
        stream = decompressobj(form)
        with suppress(ZlibError):  # an answer that is forced may lie about itself
            decompressed = stream.decompress(body, MAX_DECOMPRESSED)
            if stream.eof and not stream.unused_data:
                return decompressed
    return None
