"""The bytes of request bodies, read within a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mock_server.errors import Refusal
from mock_server.http.request_notes import notes_of

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


def read_body(environ: WSGIEnvironment, limit: int) -> bytes:
    """The body of a request.

    Args:
        environ: the request's WSGI environment.
        limit: how long it may be, in bytes.

    Raises:
        Refusal: if it is longer, or did not arrive whole.
    """
    if unread := notes_of(environ).unread:
        raise unread
    body: bytes = environ["wsgi.input"].read(limit + 1)
    if len(body) > limit:
        raise Refusal("413", f"The body is too long; send {limit:,} bytes at most.")
    return body
