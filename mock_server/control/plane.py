"""A mock under its control plane: requests of the contract go to the one, all others to the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

from mock_server.control.api import create_api
from mock_server.control.console import create_console
from mock_server.control.guard import protect
from mock_server.errors import SettingsError
from mock_server.running import Running
from mock_server.settings import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PREFIX = "/_mock"
LONGEST_BODY = 128 * 2**20  # bytes; a fixture with all files that are kept is shorter


class Control:
    """A mock under a control plane.

    Args:
        settings: how the mock starts.
        token: what who controls it must show, or None.
    """

    def __init__(self, settings: Settings, token: str | None = None) -> None:
        self.running = Running(settings)
        self._plane = create_plane(self.running, token)

    @property
    def app(self) -> Flask:
        """The application that answers, as it is since the last reset."""
        return self.running.app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        path = environ["PATH_INFO"]
        if path in ("/", PREFIX) or path.startswith(f"{PREFIX}/"):
            return self._plane(environ, start_response)
        return self.running(environ, start_response)


def create_plane(running: Running, token: str | None) -> Flask:
    """The application that controls a mock.

    Args:
        running: the mock.
        token: what every request must show, or None.
    """
    plane = Flask(__name__, static_url_path=f"{PREFIX}/static")
    plane.json.sort_keys = False  # type: ignore[attr-defined]
    plane.config["MAX_CONTENT_LENGTH"] = LONGEST_BODY
    protect(plane, token)
    plane.register_blueprint(create_api(running), url_prefix=PREFIX)
    plane.register_blueprint(create_console(running))
    plane.register_error_handler(HTTPException, _refused)
    plane.register_error_handler(SettingsError, lambda error: _told(str(error), 400))
    return plane


def _refused(error: HTTPException) -> Response:
    return _told(error.description or error.name, error.code or 500)


def _told(title: str, status: int) -> Response:
    if request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html":
        return Response(f"{title}\n", status, content_type="text/plain; charset=utf-8")
    answer = jsonify({"errors": [{"title": title, "status": status}]})
    answer.status_code = status
    return answer
