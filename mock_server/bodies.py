"""The bytes of request bodies: read within a bound, and read to the end, so that clients get their answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mock_server.errors import Refusal

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

MEBIBYTE = 2**20
CHUNK = MEBIBYTE
MOST_DRAINED = 64 * MEBIBYTE


def read_body(environ: WSGIEnvironment, limit: int) -> bytes:
    """The body of a request.

    Args:
        environ: the request's WSGI environment.
        limit: how long it may be, in bytes.

    Raises:
        Refusal: if it is longer, or shorter than it was announced.
    """
    length = _announced(environ)
    too_long = Refusal("413", f"The body is too long; send {limit:,} bytes at most.")
    if length is not None and length > limit:
        raise too_long
    body: bytes = environ["wsgi.input"].read(limit + 1 if length is None else length)
    if len(body) > limit:
        raise too_long
    if length is not None and len(body) < length:
        raise Refusal("400", f"The body was cut off after {len(body):,} of {length:,} bytes; send it whole.")
    return body


def drain(environ: WSGIEnvironment) -> None:
    """Read what a client still sends: many read no answer before they have sent all."""
    if _announced(environ) != 0:
        read = 0
        while read < MOST_DRAINED and (chunk := environ["wsgi.input"].read(CHUNK)):
            read += len(chunk)


def _announced(environ: WSGIEnvironment) -> int | None:
    """The length that the request announces; None if it comes in chunks."""
    if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        return None
    text = environ.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isdecimal() else 0
