"""Other ways to spell a request: a slash more or less at the end of its path, PUT or PATCH for an update."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flask import Flask, redirect
from werkzeug.exceptions import HTTPException

from mock_server.choices import Choices

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Spellings:
    """Rewrites requests, as the open points say, into the contract's spelling.

    Args:
        app: the application with the contract's routes.
        choices: the open points.
    """

    def __init__(self, app: Flask, choices: Choices) -> None:
        self._inner: WSGIApplication = app.wsgi_app
        self._routes = app.url_map.bind("")
        self._choices = choices

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Pass a request on, or redirect a list to its path without the slash."""
        if environ["REQUEST_METHOD"] in ("PUT", "PATCH") and self._choices["put-and-patch"] == "update":
            environ["REQUEST_METHOD"] = "POST"
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        bare = path.rstrip("/")
        moved = self._choices["list-redirect"]
        if moved != "no" and path == f"{bare}/" and method == "GET" and self._knows(path, method):
            query = environ["QUERY_STRING"]
            return redirect(bare + (query and f"?{query}"), int(moved))(environ, start_response)
        if not self._knows(path, method) and (self._choices["other-slash"] == "served" or moved != "no"):
            other = bare if path.endswith("/") else f"{path}/"
            if self._knows(other, method):
                environ["PATH_INFO"] = other
        return self._inner(environ, start_response)

    def _knows(self, path: str, method: str) -> bool:
        try:
            self._routes.match(path, method)
        except HTTPException:  # not found, not for this method, or to be redirected
            return False
        return True
