"""A mock under its control plane, which takes `/_mock` and the console, and refuses who may not use them."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import SplitResult, urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

import flask_swagger_ui
from flask import Flask, Response, abort, jsonify, request, send_from_directory
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Request

from link_management_contract.texts import is_loopback, shown_url
from mock_server.control.api import create_api
from mock_server.control.instance import Instance
from mock_server.errors import Refusal, SettingsError
from mock_server.http.context import context_of, shows_token
from mock_server.http.lean_flask import ThreadSafeFlask
from mock_server.settings.settings import FORWARDS, ORIGIN, Settings
from mock_server.shared.store import DamagedHeadError

LOCAL_ONLY = "Only programs on this machine and the mock's own pages may use the control plane."
BY_PROXY = "This request came by a proxy ({}), so anybody may have sent it: start the mock with a control token."
UNAUTHORIZED = "The control plane of this mock asks for its control token."
PROXIES = re.compile(r"HTTP_(FORWARDED|X_FORWARDED_.*|X_REAL_IP|VIA)")
POLICY = "default-src 'none'; {}; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
CSP = "img-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; font-src 'self'"
SWAGGER = Path(flask_swagger_ui.__file__).with_name("dist")
MIN_TOKEN = 16  # characters
SECONDS_FOR_A_WRONG_TOKEN = 1.0

log = logging.getLogger("mock_server")


@dataclass(frozen=True)
class Guard:
    """Refuses requests that may not control a mock.

    Args:
        token: what every request must show, as a bearer token or as the password of basic authentication; without one,
            only requests to this machine under a loopback name are answered.
        public_base_url: the mock's public base URL; if it has one, a proxy is in front of it.
        origins: the origins whose pages may control the mock, beside its own.

    Raises:
        SettingsError: if the token could be guessed, or an origin is none.
    """

    token: str | None = None
    public_base_url: str | None = None
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a token that could be guessed, and what is no origin."""
        for origin in self.origins:
            if origin == "null" or not ORIGIN.fullmatch(origin):
                expected = "something like http://localhost:6006, without a path"
                raise SettingsError(f'invalid origin "{shown_url(origin)}": expected {expected}')
        if self.token and not re.fullmatch("[!-~]([ -~]*[!-~])?", self.token):
            raise SettingsError("the control token cannot go into a header; give visible ASCII characters")
        if self.token is not None and len(self.token) < MIN_TOKEN:
            raise SettingsError(
                f"the control token has {len(self.token)} characters; give {MIN_TOKEN} or more that nobody guesses"
            )

    def objection(self, incoming: Request) -> tuple[int, str] | None:
        """Why a request is refused, as a status and a sentence, or None."""
        reason = next(self._reasons(incoming), None)
        if reason:
            return 403, reason
        return None if self.token is None or shows_token(incoming.environ, self.token) else (401, UNAUTHORIZED)

    def _reasons(self, incoming: Request) -> Iterator[str]:
        environ, host = incoming.environ, _host(f"//{incoming.host}")
        if not self.token:
            if self.public_base_url:
                yield BY_PROXY.format(f"it has the public base URL {self.public_base_url}")
            for name in filter(PROXIES.fullmatch, environ):
                yield BY_PROXY.format(f"it has the header {name[5:].replace('_', '-').title()}")
            if environ.get("SERVER_PROTOCOL") == "HTTP/1.0":
                yield BY_PROXY.format("it speaks HTTP/1.0")
            if not is_loopback(host.hostname or ""):
                yield LOCAL_ONLY
        if incoming.headers.get("Origin") in self.origins:
            return
        own_origin = f"{incoming.scheme}://{incoming.host}"
        origin = _host(incoming.headers.get("Origin", own_origin))
        if origin.netloc != incoming.host or (not self.token and origin.scheme != incoming.scheme):
            yield LOCAL_ONLY
        if incoming.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none") and not _is_a_visit(incoming):
            yield LOCAL_ONLY
        if {"prefetch", "prerender"} & set(re.split(r"\W+", incoming.headers.get("Sec-Purpose", ""))):
            yield "The control plane is not fetched before somebody asks for it."


def protect(plane: Flask, guard: Guard) -> None:
    """Put a guard in front of a control plane, and isolate its answers from other pages."""

    @plane.before_request
    def refuse() -> Response | None:
        status, reason = guard.objection(request) or (0, "")
        if status in (0, 401) and _is_preflight(request) and request.headers["Origin"] in guard.origins:
            return Response(status=204)
        if not status:
            return None
        if status != 401:  # noqa: PLR2004 - Unauthorized
            abort(status, reason)
        if "Authorization" in request.headers:
            log.warning("control: a wrong token from %s", request.remote_addr)
            context_of(request.environ).delay = SECONDS_FOR_A_WRONG_TOKEN
        answer = Response(f"{reason}\n", status)
        answer.headers["WWW-Authenticate"] = 'Basic realm="mock-server", charset="UTF-8"'
        return answer

    @plane.after_request
    def close_in(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", POLICY.format(CSP))
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "DENY"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        if guard.origins:
            _let_in(response, guard.origins)
        return response


def _is_preflight(incoming: Request) -> bool:
    return incoming.method == "OPTIONS" and {"Origin", "Access-Control-Request-Method"} <= set(incoming.headers.keys())


def _let_in(response: Response, origins: tuple[str, ...]) -> None:
    """Let pages of these origins read an answer (Fetch standard)."""
    response.headers.add("Vary", "Origin")
    origin = request.headers.get("Origin")
    if origin in origins:
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Allow-Methods"] = "GET, POST, PUT, PATCH, DELETE"
        response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type, Last-Event-ID"
        if "Access-Control-Request-Private-Network" in request.headers:
            response.headers["Access-Control-Allow-Private-Network"] = "true"


def _host(url: str) -> SplitResult:
    """The parts of a URL, all empty if it is invalid."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _is_a_visit(incoming: Request) -> bool:
    """Whether a person follows a link to a page of the console, which changes nothing."""
    return (
        incoming.method == "GET"
        and incoming.headers.get("Sec-Fetch-Mode") == "navigate"
        and incoming.headers.get("Sec-Fetch-Dest") == "document"
        and (incoming.path == "/" or incoming.path.startswith("/_mock/console/"))
    )


PREFIX = "/_mock"
MOCK_PATHS = (  # paths of the control plane
    "/reset",
    "/accounts",
    "/records",
    "/clock",
    "/snapshots",
    "/files/",
    "/open-points",
    "/defects",
)
MAX_BODY_BYTES = 48 * 2**20  # bytes; more than a fixture with all kept files


class Control:
    """A mock under a control plane.

    Args:
        settings: how the mock starts.
        token: what clients of the control plane must show, or None.
        origins: the origins whose pages may control the mock, too.
    """

    def __init__(self, settings: Settings, token: str | None = None, origins: Sequence[str] = ()) -> None:
        self.running = Instance(settings)
        self._guard = Guard(token, settings.public_base_url, tuple(origins))
        self._plane = create_plane(self.running, self._guard)

    @property
    def app(self) -> Flask:
        return self.running.app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return (self._plane if self.is_control(environ) else self.running.backend)(environ, start_response)

    def is_control(self, environ: WSGIEnvironment) -> bool:
        """Whether a request is for the control plane, by its path as sent, which is what a filter in front sees."""
        path = environ.get("RAW_PATH") or environ["PATH_INFO"]
        return path in ("/", PREFIX) or path.startswith(f"{PREFIX}/")

    def body_limit(self, environ: WSGIEnvironment) -> int:
        if not self.is_control(environ):
            return self.running.body_limit(environ)
        return 0 if self._guard.objection(Request(environ)) else MAX_BODY_BYTES


def create_plane(running: Instance, guard: Guard) -> Flask:
    """The application that controls a mock.

    Args:
        running: the mock.
        guard: refuses requests that may not control it.
    """
    plane = ThreadSafeFlask(__name__, static_url_path=f"{PREFIX}/static")
    plane.json.sort_keys = False  # type: ignore[attr-defined]
    plane.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    protect(plane, guard)
    plane.before_request(_refuse_unread)
    plane.before_request(partial(_follow, running))
    if deployment := running.settings.deployment:
        plane.before_request(partial(_refuse_what_needs_records, deployment.url))
    plane.register_blueprint(create_api(running), url_prefix=PREFIX)
    plane.add_url_rule("/", "console", partial(plane.send_static_file, "index.html"))
    plane.add_url_rule(f"{PREFIX}/console/<path:page>", "page", lambda page: plane.send_static_file("index.html"))  # noqa: ARG005
    plane.add_url_rule(f"{PREFIX}/swagger/<path:path>", "swagger", partial(send_from_directory, SWAGGER))
    plane.register_error_handler(HTTPException, _http_error_response)
    plane.register_error_handler(Refusal, lambda error: _error_response(error.title, error.status))
    plane.register_error_handler(SettingsError, lambda error: _error_response(str(error), 400))
    return plane


def _follow(running: Instance) -> None:
    """Take over what other processes have changed; a reset needs nothing of that."""
    with suppress(DamagedHeadError) if request.path == f"{PREFIX}/reset" else nullcontext():
        running.follow()


def _refuse_what_needs_records(url: str) -> None:
    """Refuse what only a mock has: a deployment's records are its own."""
    path = request.path.removeprefix(PREFIX)
    if path.startswith(MOCK_PATHS) and not path.endswith("/meant"):
        abort(409, f"This does not apply: {FORWARDS.format(url)}.")


def _refuse_unread() -> None:
    """Refuse a request whose body was not read whole."""
    if unread := context_of(request.environ).body_refusal:
        abort(unread.status, unread.title)


def _http_error_response(error: HTTPException) -> Response:
    return _error_response(error.description or error.name, error.code or 500)


def _error_response(title: str, status: int) -> Response:
    if request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html":
        return Response(f"{title}\n", status, content_type="text/plain; charset=utf-8")
    answer = jsonify({"errors": [{"title": title, "status": status}]})
    answer.status_code = status
    return answer
