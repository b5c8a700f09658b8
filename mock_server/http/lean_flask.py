"""What makes Flask lean: half of what it does for each request serves other applications than an API.

The ratios below are those of a read in one process, without the socket (`bench/layers.py`).
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Flask, Request, Response
from werkzeug.routing import MapAdapter, Rule

MAX_CACHED_ROUTES, MAX_CACHED_PATH = 1000, 200  # paths, and characters of one


class _Routes(MapAdapter):
    """The routes for one request; where a path leads is found out once, because clients ask for the same again.

    Attributes:
        cached_matches: the rules and arguments of methods and paths, of all requests to an application.
    """

    cached_matches: dict[tuple[str, str], tuple[Rule, Mapping[str, Any]]]

    def match(self, *args: Any, **kwargs: Any) -> Any:
        """Where a request leads, if Flask asks for just that."""
        if args or kwargs != {"return_rule": True}:
            return super().match(*args, **kwargs)
        route_key = self.default_method, self.path_info
        route_match = self.cached_matches.get(route_key)
        if route_match is None:
            route_match = super().match(return_rule=True)
            if len(self.path_info) <= MAX_CACHED_PATH:
                if len(self.cached_matches) >= MAX_CACHED_ROUTES:
                    self.cached_matches.clear()
                self.cached_matches[route_key] = route_match
        rule, arguments = route_match
        return rule, {**arguments}


class ThreadSafeFlask(Flask):
    """A Flask application that one thread can build while another builds its own.

    Werkzeug parses Python for each rule, which fails now and then in two threads of Python 3.11:
    https://github.com/python/cpython/issues/106905.
    """

    _adding = threading.Lock()

    def add_url_rule(self, *args: Any, **kwargs: Any) -> None:
        """Add a rule, alone among all applications."""
        with self._adding:
            super().add_url_rule(*args, **kwargs)


class AnyHostFlask(ThreadSafeFlask):
    """A Flask application that ignores the Host header.

    Flask works out the host that a request names, compares it with SERVER_NAME, and matches the path with all rules.
    Here the host is ignored (`KnownHosts` refuses unknown ones), and matches are kept. Rules that depend on a host or
    a subdomain would not work. A plain Flask application instead of this and `LeanFlask` takes 1.7 times as long.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, static_folder=None)
        self._cached_matches: dict[tuple[str, str], tuple[Rule, Mapping[str, Any]]] = {}

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        if request is None:
            return None
        environ = request.environ
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        scheme, method = environ["wsgi.url_scheme"], environ["REQUEST_METHOD"]
        routes = _Routes(self.url_map, "", environ["SCRIPT_NAME"] or "/", "", scheme, path, method)
        routes.cached_matches = self._cached_matches
        return routes


class LeanFlask(AnyHostFlask):
    """The same without sessions, coroutines, and functions after a request that nobody has registered.

    Flask asks of each function whether it is a coroutine, and of each answer whether a session is to be saved in a
    cookie of it. A view that is a coroutine would not be awaited here, and what a view puts into a session is lost.
    Functions after a request and at its end are called as usual.
    """

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function: none is a coroutine here."""
        return func

    def process_response(self, response: Response) -> Response:
        """The answer; few mocks add anything to it."""
        return super().process_response(response) if self.after_request_funcs else response


class PreparedResponse(Response):
    """An answer with its whole body, which becomes a `Response` like others only if somebody looks at it or changes it.

    Flask makes headers that can be changed, and a list of them for the server. A plain `Response` instead takes 1.35
    times as long, and 2.1 times with a plain Flask application. Functions after a request may change such an answer.

    Args:
        body: its body.
        status: its status.
        media_type: its Content-Type.
    """

    def __init__(self, body: bytes, status: int, media_type: str) -> None:
        self.__dict__["_ready"] = body, status, media_type

    def __getattr__(self, name: str) -> Any:
        if "_ready" not in self.__dict__:
            raise AttributeError(name)
        self._materialize()
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_ready" in self.__dict__:
            self._materialize()
        super().__setattr__(name, value)

    def _materialize(self) -> None:
        body, status, media_type = self.__dict__.pop("_ready")
        super().__init__(body, status, content_type=media_type)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if "_ready" not in self.__dict__ or environ["REQUEST_METHOD"] == "HEAD":
            return super().__call__(environ, start_response)
        body, status, media_type = self.__dict__["_ready"]
        start_response(_status_line(status), [("Content-Type", media_type), ("Content-Length", str(len(body)))])
        return [body]


@cache  # of a hundred statuses at most
def _status_line(status: int) -> str:
    return Response(status=status).status
