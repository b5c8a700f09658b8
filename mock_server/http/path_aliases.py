"""Other ways to spell a request: a slash more or less at the end of its path, PUT or PATCH for an update."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from flask import redirect
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.routing import Map
from werkzeug.wrappers import Response as AnyResponse

from mock_server.contract import Resource
from mock_server.errors import REFUSAL, Refusal
from mock_server.open_points.choices import Choices

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class PathAliases:
    """Rewrites requests, as the open points say, into the contract's spelling.

    Args:
        inner: the application.
        routes: the contract's.
        choices: the open points.
        followed: the kinds of record by the paths that their page links name.
    """

    def __init__(self, inner: WSGIApplication, routes: Map, choices: Choices, followed: Mapping[str, Resource]) -> None:
        self._inner = inner
        self._routes = routes.bind("")
        self._choices = choices
        self._followed = followed

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Pass a request on, or redirect a list to its path without the slash."""
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        if method in ("PUT", "PATCH") and self._choices["put-and-patch"] == "update" and self._takes(path, "DELETE"):
            method = environ["REQUEST_METHOD"] = "POST"
        moved = self._choices["list-redirect"]
        if moved != "no" and method in ("GET", "HEAD") and path.endswith("/") and self._takes(path, method):
            query = environ["QUERY_STRING"]
            there = environ.get("SCRIPT_NAME", "") + path.removesuffix("/")
            return redirect(there + (query and f"?{query}"), int(moved))(environ, start_response)
        followed = self._followed.get(path) if method in ("GET", "HEAD") else None
        if followed:
            moved_to = self._follow(environ, followed)
            return (moved_to or self._inner)(environ, start_response)
        if not self._takes(path, method) and (self._choices["other-slash"] == "served" or moved != "no"):
            other = other_spelling(path)
            if self._takes(other, method) or (self.methods(other) and not self.methods(path)):
                environ["PATH_INFO"] = other
        return self._inner(environ, start_response)

    def _follow(self, environ: WSGIEnvironment, resource: Resource) -> AnyResponse | None:
        """Let a page link be followed as it stands, or not; an answer, where that is a redirect."""
        path, listed = environ["PATH_INFO"], resource.paths["list"]
        only_lacks_slash = f"{path}/".endswith(listed)
        how = self._choices["followed-link" if only_lacks_slash else "followed-splash-link"]
        there = path.removesuffix(f"/api/{resource.link_collection}") + listed
        if how == "served" or (only_lacks_slash and self._choices["list-redirect"] != "no"):
            environ["PATH_INFO"] = there
        elif how == "redirected":
            query = environ["QUERY_STRING"]
            return redirect(environ.get("SCRIPT_NAME", "") + there + (query and f"?{query}"), 301)
        elif how == "404":
            environ[REFUSAL] = Refusal("404", f'No list is at "{path}"; ask {there} for the page.', mistake=False)
        return None

    def methods(self, path: str) -> set[str]:
        """The methods that a path takes in just this spelling."""
        try:
            self._routes.match(path, "-")
        except MethodNotAllowed as error:
            return set(error.valid_methods or ())
        except HTTPException:
            pass
        return {rule for rule in ("GET", "POST", "DELETE") if self._takes(path, rule)}

    def _takes(self, path: str, method: str) -> bool:
        try:
            self._routes.match(path, method)
        except HTTPException:  # not found, not for this method, or to be redirected
            return False
        return True


def other_spelling(path: str) -> str:
    """The path with one slash more or less at its end."""
    return path.removesuffix("/") if path.endswith("/") else f"{path}/"
