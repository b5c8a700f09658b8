"""Answers on their way out: read whole, broken off on purpose, or as they were before they were compressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING
from zlib import MAX_WBITS, decompressobj
from zlib import error as ZlibError  # noqa: N812 - a class

from werkzeug.wrappers import Response

from mock_server.http.context import context_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def whole(body: Iterable[bytes]) -> list[bytes]:
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


NO_LENGTH = "1, 2"  # two lengths that differ


def dropped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send what no client takes for an answer, and close the connection.

    When a kept-alive connection closes without a byte, browsers resend the request, even a POST. Two lengths that
    differ are an error that the client has to handle (RFC 9112, 6.3).
    """
    context_of(environ).broken = "dropped"
    start_response("502 Bad Gateway", [("Content-Length", NO_LENGTH), ("Connection", "close")])
    return [b"x"]


def dropped_after(inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Carry out a request, and close the connection without an answer."""
    Response.from_app(inner, environ, buffered=True)
    return dropped(environ, start_response)


def cut_off(inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send the head and the first half of an answer, and close the connection; drop an answer without a body."""
    answer = Response.from_app(inner, environ, buffered=True)
    body = answer.get_data()
    if context_of(environ).broken or not body:
        return dropped(environ, start_response)
    context_of(environ).broken = "cut off"
    answer.headers.update({"Content-Length": str(len(body)), "Connection": "close"})
    start_response(answer.status, answer.headers.to_wsgi_list())
    return [body[: len(body) // 2]]


def slowly(
    seconds: float, inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Send the head of an answer, and its body some seconds later; an answer that breaks off is not held back."""
    answer = Response.from_app(inner, environ, buffered=True)
    if not context_of(environ).broken:
        context_of(environ).late = seconds
    return answer(environ, start_response)


LONGEST_PLAIN = 4 * 2**20  # bytes of a body that was compressed
CODINGS = ("gzip", "x-gzip", "deflate")
FORMS = (MAX_WBITS | 32, -MAX_WBITS)  # gzip and zlib, or deflate without a head


def plain(body: bytes, headers: Iterable[tuple[str, str]]) -> bytes | None:
    """The body of an answer as it was before it was compressed; None if it cannot be read, or is very long."""
    codings = [text.strip().lower() for name, text in headers if name.lower() == "content-encoding"]
    if not body or not codings or codings == ["identity"]:
        return body
    for form in FORMS if codings[0] in CODINGS else ():
        stream = decompressobj(form)
        with suppress(ZlibError):  # an answer that is forced may lie about itself
            whole = stream.decompress(body, LONGEST_PLAIN)
            if stream.eof:
                return whole
    return None
