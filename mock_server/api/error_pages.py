"""How refusals, wrong paths and methods, and the server's own failures look on the wire."""

from __future__ import annotations

import logging
from html import escape
from http import HTTPStatus

from flask import Flask, Response, redirect, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.wrappers import Response as AnyResponse

from mock_server.api.representations import Representations
from mock_server.choices import Choices
from mock_server.errors import Refusal
from mock_server.http.context import context_of

HTML = "text/html; charset=utf-8"
LOGIN_PAGE = "<!doctype html><title>Log in</title><form><input name=email><input name=password></form>"
PAGE = "<!doctype html><title>{status}</title><h1>{title}</h1>"

log = logging.getLogger("mock_server")


class ErrorPages:
    """Turns errors into answers, all in the form that the open points choose.

    Args:
        choices: the open points.
        representations: writes JSON.
        base_path: the prefix of all paths.
    """

    def __init__(self, choices: Choices, representations: Representations, base_path: str) -> None:
        self._choices = choices
        self._representations = representations
        self._base_path = base_path

    def register(self, app: Flask) -> None:
        """Handle every error of an application."""
        app.register_error_handler(Refusal, self.response)
        app.register_error_handler(HTTPException, self._http)
        app.register_error_handler(Exception, self._failure)

    def response(self, refusal: Refusal) -> AnyResponse:
        """The answer to a request that is not carried out."""
        answer = self._body(refusal)
        # Traceback frames hold the request, whose context holds the refusal; breaking the cycle frees all of it
        refusal.__traceback__ = refusal.__cause__ = refusal.__context__ = None
        if refusal.mistake:
            context_of(request.environ).refusal = refusal
        if refusal.status == HTTPStatus.UNAUTHORIZED:
            answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    def login_page(self) -> Response:
        """The page that unauthorized clients may be redirected to."""
        return Response(LOGIN_PAGE, content_type=HTML)

    def _body(self, refusal: Refusal) -> AnyResponse:
        match refusal.body or self._choices["error-body"]:
            case "login" if refusal.status == HTTPStatus.FOUND:
                answer: AnyResponse = redirect(f"{self._base_path}/login")
            case "login":
                answer = self.login_page()
            case "html":
                page = PAGE.format(status=refusal.status, title=escape(refusal.title))
                answer = Response(page, refusal.status, content_type=HTML)
            case "empty":
                answer = Response(status=refusal.status)
            case "null":
                answer = self._representations.json({"data": None}, refusal.status)
            case "problem":
                answer = self._representations.json(refusal.as_dict(), refusal.status)
                answer.content_type = "application/problem+json"
            case _:
                answer = self._representations.json({"errors": [refusal.as_dict()]}, refusal.status)
        return answer

    def _http(self, error: HTTPException) -> AnyResponse:
        title = error.description or error.name
        allowed = ""
        if isinstance(error, NotFound):
            title = f'There is nothing at "{request.path}"; the API is under {self._base_path}/api/.'
        elif isinstance(error, MethodNotAllowed):
            allowed = ", ".join(sorted(set(error.valid_methods or ()) - {request.environ["REQUEST_METHOD"]}))
            title = f"{request.environ['REQUEST_METHOD']} is not for this path; try {allowed}."
            if request.path.rstrip("/").endswith("/api/splash-pages"):
                title = f"{title[:-1]}, or POST {self._base_path}/api/projects to create a splash page."
        answer = self.response(Refusal(str(error.code), title))
        if allowed:
            answer.headers["Allow"] = allowed
        return answer

    def _failure(self, error: Exception) -> AnyResponse:
        log.error("%s %s failed", request.method, request.path, exc_info=error)
        return self.response(
            Refusal("500", "The server failed to answer this request; its log says why.", mistake=False)
        )
