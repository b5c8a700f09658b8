"""One line in the log for each request."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mock_server.http.masking import masked_query
from mock_server.http.request_notes import notes_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger("mock_server")


class AccessLog:
    """Logs method, path, status, milliseconds and the parts of the form that had no influence.

    Args:
        inner: the application that answers.
    """

    def __init__(self, inner: WSGIApplication) -> None:
        self._inner = inner

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request, and log it."""
        began = perf_counter()
        line = f"{environ['REQUEST_METHOD']} {_target(environ)}"
        notes = notes_of(environ)

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            ignored = notes.ignored
            note = f"  ignored: {', '.join(ascii(name)[1:-1] for name in ignored)}" if ignored else ""
            log.info("%s %s %.1f ms%s", line, status[:3], (perf_counter() - began + notes.delay) * 1000, note)
            return start_response(status, headers, *rest)

        return self._inner(environ, start)


def _target(environ: WSGIEnvironment) -> str:
    """Path and query on one line, whatever is in them."""
    path = quote(environ["PATH_INFO"].encode("latin-1"), safe="/:@!$&'()*+,;=~-._")
    query = quote(masked_query(environ["QUERY_STRING"]), safe="/:@!$&'()*+,;=~-._%?[]")
    return f"{path}?{query}" if query else path
