"""A mock under its control plane, which takes `/_mock` and the console; all other requests go to the mock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

from flask import Flask, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Request

from mock_server.control.api import create_api
from mock_server.control.console import create_console
from mock_server.control.guard import Guard, protect
from mock_server.control.instance import Instance
from mock_server.control.shared_instance import SharedInstance
from mock_server.errors import Refusal, SettingsError
from mock_server.http.context import notes_of
from mock_server.settings import FORWARDS, Settings
from mock_server.shared.store import DamagedHeadError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PREFIX = "/_mock"
OF_A_MOCK = (  # paths of the control plane and the console
    "/reset",
    "/accounts/",
    "/clock",
    "/snapshots",
    "/files/",
    "/open-points",
    "/defects",
    "/console/reset",
    "/console/records",
    "/console/clock",
    "/console/snapshots",
)
LONGEST_BODY = 48 * 2**20  # bytes; more than a fixture with all kept files


class Control:
    """A mock under a control plane.

    Args:
        settings: how the mock starts.
        token: what clients of the control plane must show, or None.
        origins: the origins whose pages may control the mock, too.
    """

    def __init__(self, settings: Settings, token: str | None = None, origins: Sequence[str] = ()) -> None:
        self.running = SharedInstance(settings) if settings.store else Instance(settings)
        self._guard = Guard(token, settings.public_base_url, tuple(origins))
        self._plane = create_plane(self.running, self._guard)

    @property
    def app(self) -> Flask:
        """The application that answers; a reset replaces it."""
        return self.running.app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        return (self._plane if self.is_control(environ) else self.running)(environ, start_response)

    def is_control(self, environ: WSGIEnvironment) -> bool:
        """Whether a request is for the control plane, by its path as sent, which is what a filter in front sees."""
        path = environ.get("RAW_PATH") or environ["PATH_INFO"]
        return path in ("/", PREFIX) or path.startswith(f"{PREFIX}/")

    def body_limit(self, environ: WSGIEnvironment) -> int:
        """How long the body of a request may be, in bytes."""
        if not self.is_control(environ):
            return self.running.body_limit(environ)
        return 0 if self._guard.objection(Request(environ)) else LONGEST_BODY


def create_plane(running: Instance, guard: Guard) -> Flask:
    """The application that controls a mock.

    Args:
        running: the mock.
        guard: refuses requests that may not control it.
    """
    plane = Flask(__name__, static_url_path=f"{PREFIX}/static")
    plane.json.sort_keys = False  # type: ignore[attr-defined]
    plane.config["MAX_CONTENT_LENGTH"] = LONGEST_BODY
    protect(plane, guard)
    plane.before_request(_refuse_unread)
    plane.before_request(partial(_follow, running))
    if deployment := running.settings.deployment:
        plane.before_request(partial(_refuse_what_needs_records, deployment.url))
    plane.register_blueprint(create_api(running), url_prefix=PREFIX)
    plane.register_blueprint(create_console(running))
    plane.register_error_handler(HTTPException, _refused)
    plane.register_error_handler(Refusal, lambda error: _told(error.title, error.status))
    plane.register_error_handler(SettingsError, lambda error: _told(str(error), 400))
    return plane


def _follow(running: Instance) -> None:
    """Take over what other processes have changed; a reset needs nothing of that."""
    with suppress(DamagedHeadError) if request.path == f"{PREFIX}/reset" else nullcontext():
        running.follow()


def _refuse_what_needs_records(url: str) -> None:
    """Refuse what only a mock has: a deployment's records are its own."""
    path = request.path.removeprefix(PREFIX)
    if path.startswith(OF_A_MOCK) and not path.endswith("/meant"):
        abort(409, f"This does not apply: {FORWARDS.format(url)}.")


def _refuse_unread() -> None:
    """Refuse a request whose body was not read whole."""
    if unread := notes_of(request.environ).unread:
        abort(unread.status, unread.title)


def _refused(error: HTTPException) -> Response:
    return _told(error.description or error.name, error.code or 500)


def _told(title: str, status: int) -> Response:
    if request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html":
        return Response(f"{title}\n", status, content_type="text/plain; charset=utf-8")
    answer = jsonify({"errors": [{"title": title, "status": status}]})
    answer.status_code = status
    return answer
