"""Lets pages of other origins call the mock (Fetch standard): preflights, and headers on every answer, refusals too."""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.datastructures import Headers
from werkzeug.wrappers import Response

from mock_server.errors import REFUSAL, Refusal
from mock_server.http.context import context_of

ANY_ORIGIN = "*"
METHODS = "GET, POST, DELETE, PUT, PATCH, HEAD"
EXPOSED = (
    "Allow, Location, Preference-Applied, Proxy-Status, Retry-After, X-Mock-Grease, X-RateLimit-Limit,"
    " X-RateLimit-Remaining, X-RateLimit-Reset"
)
CREDENTIALS = "Access-Control-Allow-Credentials"  # of origins that are named alone (Fetch standard, 3.2.5)
SECONDS = 600  # that a browser may remember a preflight


class Cors:
    """Answers preflights, and adds to each answer which origins may read it.

    Args:
        inner: the application.
        origins: the allowed origins, such as `http://localhost:5173`; `*` allows all of them.
    """

    def __init__(self, inner: WSGIApplication, origins: Sequence[str]) -> None:
        self._inner = inner
        self._origins = frozenset(origins)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        origin = environ.get("HTTP_ORIGIN", "")
        allowed = ANY_ORIGIN if ANY_ORIGIN in self._origins else origin if origin in self._origins else ""
        if not origin or not allowed:
            return self._inner(environ, start_response if ANY_ORIGIN in self._origins else _varying(start_response))
        is_preflight = environ["REQUEST_METHOD"] == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
        if is_preflight and REFUSAL not in environ:
            return _preflight(environ, allowed)(environ, start_response)

        def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            if context_of(environ).broken == "dropped":
                return start_response(status, headers, *exc_info)
            response_headers = Headers(headers)
            response_headers["Access-Control-Allow-Origin"] = allowed
            response_headers["Access-Control-Expose-Headers"] = EXPOSED
            if allowed != ANY_ORIGIN:
                response_headers[CREDENTIALS] = "true"
            response_headers.add("Vary", "Origin")
            return start_response(status, response_headers.to_wsgi_list(), *exc_info)

        return self._inner(environ, start)


def _varying(start_response: StartResponse) -> Any:
    """Tell caches that pages of some origins get another answer."""
    return lambda status, headers, *exc_info: start_response(status, [*headers, ("Vary", "Origin")], *exc_info)


class KnownHosts:
    """Refuses requests to names that others can own, so that no page can reach the mock by DNS rebinding.

    It answers requests to addresses, names without a dot, names that end in `.localhost` and the host of the public
    base URL.

    Args:
        inner: the application.
        public_base_url: the mock's public base URL, or None.
        origins: the origins whose pages may send anything at all, beside the mock's own; all of them, if None.
    """

    def __init__(self, inner: WSGIApplication, public_base_url: str | None, origins: Sequence[str] | None) -> None:
        self._inner, self._origins = inner, origins
        self._public = urlsplit(public_base_url or "").hostname

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not self._knows(environ.get("HTTP_HOST", "")):
            title = (
                f'This mock does not go by the name "{environ["HTTP_HOST"]}"; send the request to its address, or start'
                " it with --public-base-url or --cors on."
            )
            environ[REFUSAL] = Refusal("421", title)
        elif self._origins is not None and (page := self._foreign_page(environ)):
            title = f"Pages of {page} may send nothing here; allow them with --cors-origin, and let them fetch."
            environ[REFUSAL] = Refusal("403", title)
        return self._inner(environ, start_response)

    def _foreign_page(self, environ: WSGIEnvironment) -> str:
        """Whose page sends a request that may not; empty if none does, as far as it says (Fetch Metadata, 2.4)."""
        origin, host = environ.get("HTTP_ORIGIN", ""), environ.get("HTTP_HOST", "")
        is_foreign = environ.get("HTTP_SEC_FETCH_SITE") in ("cross-site", "same-site")  # of another scheme, too
        if not origin:
            return "other sites" if is_foreign else ""
        is_allowed = origin in (self._origins or ()) or (origin.partition("://")[2] == host and not is_foreign)
        return "" if is_allowed else f'"{origin}"'

    def _knows(self, host_header: str) -> bool:
        try:
            host = urlsplit(f"//{host_header}").hostname or ""
        except ValueError:
            return False
        return "." not in host or host == self._public or host.endswith(".localhost") or _is_address(host)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _preflight(environ: WSGIEnvironment, allowed: str) -> Response:
    """Allow whatever a preflight asks for; the request itself shows whether the mock accepts it."""
    answer = Response(status=204)
    answer.headers["Access-Control-Allow-Origin"] = allowed
    answer.headers["Access-Control-Allow-Methods"] = METHODS
    if allowed != ANY_ORIGIN:
        answer.headers[CREDENTIALS] = "true"
    answer.headers["Access-Control-Max-Age"] = str(SECONDS)
    answer.headers["Vary"] = "Origin, Access-Control-Request-Headers"
    if requested_headers := environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS"):
        answer.headers["Access-Control-Allow-Headers"] = requested_headers
    if "HTTP_ACCESS_CONTROL_REQUEST_PRIVATE_NETWORK" in environ:  # an internet page calls a local mock
        answer.headers["Access-Control-Allow-Private-Network"] = "true"
    return answer
