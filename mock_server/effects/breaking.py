"""Effects that break an answer, or send it late."""

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.wrappers import Response

from mock_server.http.context import context_of

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
        context_of(environ).body_delay = seconds
    return answer(environ, start_response)
