"""How refusals, wrong paths and methods, and the server's own failures look on the wire."""

from __future__ import annotations

import logging
from html import escape
from http import HTTPStatus

from flask import Flask, Response, redirect, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.wrappers import Response as AnyResponse

from mock_server.choices import Choices
from mock_server.errors import Refusal
from mock_server.representations import Representations

LOGIN_PAGE = "<!doctype html><title>Log in</title><form><input name=email><input name=password></form>"
PAGE = "<!doctype html><title>{status}</title><h1>{title}</h1>"

log = logging.getLogger("mock_server")


class ErrorPages:
    """Turns what went wrong into answers, all in the one form that the open points choose.

    Args:
        choices: the open points.
        representations: writes JSON.
    """

    def __init__(self, choices: Choices, representations: Representations) -> None:
        self._choices = choices
        self._representations = representations

    def register(self, app: Flask) -> None:
        """Answer every error of an application."""
        app.register_error_handler(Refusal, self.response)
        app.register_error_handler(HTTPException, self._http)
        app.register_error_handler(Exception, self._failure)

    def response(self, refusal: Refusal) -> AnyResponse:
        """The answer to a request that is not carried out."""
        answer = self._body(refusal)
        if refusal.status == HTTPStatus.UNAUTHORIZED:
            answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    def _body(self, refusal: Refusal) -> AnyResponse:
        body = refusal.body or self._choices["error-body"]
        if body == "login" and refusal.status == HTTPStatus.FOUND:
            return redirect("/login")
        pages = {
            "login": LOGIN_PAGE,
            "html": PAGE.format(status=refusal.status, title=escape(refusal.title)),
            "empty": "",
        }
        if body in pages:
            return Response(pages[body], refusal.status, content_type="text/html; charset=utf-8")
        documents = {"null": {"data": None}, "errors": {"errors": [refusal.as_dict()]}, "problem": refusal.as_dict()}
        answer = self._representations.json(documents[body], refusal.status)
        if body == "problem":
            answer.content_type = "application/problem+json"
        return answer

    def _http(self, error: HTTPException) -> AnyResponse:
        title = error.description or error.name
        if isinstance(error, NotFound):
            title = f'There is nothing at "{request.path}"; the API is under /api/.'
        elif isinstance(error, MethodNotAllowed):
            title = f"{request.method} is not for this path; try {', '.join(sorted(error.valid_methods or ()))}."
        answer = self.response(Refusal(str(error.code), title))
        if isinstance(error, MethodNotAllowed):
            answer.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
        return answer

    def _failure(self, error: Exception) -> AnyResponse:
        log.error("%s %s failed", request.method, request.path, exc_info=error)
        return self.response(Refusal("500", "The server failed to answer this request; its log says why."))
