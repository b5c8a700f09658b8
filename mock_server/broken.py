"""Answers that break off: none at all, or the first half of one, and then the connection is closed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from werkzeug.wrappers import Response

from mock_server.notes import notes_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def dropped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Close the connection without an answer.

    The server may have sent the head by then: it tells nothing of what was done, and a page of another origin may not
    read it.
    """
    notes_of(environ).broken = "dropped"
    start_response("502 Bad Gateway", [("Content-Length", "1"), ("Connection", "close")])
    return _breaking(b"")


def dropped_after(inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Let a request be carried out, and close the connection without an answer."""
    Response.from_app(inner, environ, buffered=True)
    return dropped(environ, start_response)


def cut_off(inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Send the head and the first half of an answer, and close the connection."""
    answer = Response.from_app(inner, environ, buffered=True)
    notes_of(environ).broken = "cut off"
    body = answer.get_data()
    start_response(answer.status, answer.headers.to_wsgi_list())
    return _breaking(body[: len(body) // 2])


def slowly(
    seconds: float, inner: WSGIApplication, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Send the head of an answer, and its body some seconds later."""
    answer = Response.from_app(inner, environ, buffered=True)
    notes_of(environ).broken = "slow"
    start_response(answer.status, answer.headers.to_wsgi_list())
    return _late(seconds, answer.get_data())


def _breaking(begun: bytes) -> Iterator[bytes]:
    if begun:
        yield begun
    raise ConnectionAbortedError("this answer breaks off, as it was asked to")


def _late(seconds: float, body: bytes) -> Iterator[bytes]:
    time.sleep(seconds)
    yield body
