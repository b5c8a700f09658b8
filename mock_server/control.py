"""The control plane: resets a running mock, with other switches if asked, for who tests against it on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import Flask, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException

from mock_server.app import create_app
from mock_server.conditions import CONDITIONS
from mock_server.defects import DEFECTS
from mock_server.errors import SettingsError
from mock_server.settings import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PREFIX = "/_mock/"
LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")
SWITCHES = {
    "open": ("choices", dict),
    "grease": ("grease", int | None),
    "grease_each_request": ("grease_each_request", bool),
    "defects": ("defects", list),
    "conditions": ("conditions", dict),
    "fixture": ("fixture", str),
    "records": ("records", int),
}


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, as seen from itself alone."""
    return LOOPBACK.fullmatch(host) is not None


class Control:
    """A mock under a control plane.

    `POST /_mock/reset` begins anew, with the switches of its JSON object in place of those that the server was started
    with; `GET /_mock/state` tells the switches, `GET /_mock/defects` and `GET /_mock/conditions` what there is. No page
    of another origin is answered, and nobody who reached this machine under another name.

    Args:
        settings: how the mock starts.
    """

    def __init__(self, settings: Settings) -> None:
        self._start = self._settings = settings
        self.app = create_app(settings)
        self._plane = Flask(__name__, static_folder=None)
        self._plane.json.sort_keys = False  # type: ignore[attr-defined]
        self._plane.before_request(_refuse_others)
        self._plane.register_error_handler(HTTPException, _told)
        self._plane.add_url_rule(f"{PREFIX}reset", view_func=self._reset, methods=["POST"])
        self._plane.add_url_rule(f"{PREFIX}state", view_func=self._state)
        self._plane.add_url_rule(f"{PREFIX}defects", view_func=_defects)
        self._plane.add_url_rule(f"{PREFIX}conditions", view_func=_conditions)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        app = self._plane if environ["PATH_INFO"].startswith(PREFIX) else self.app
        return app(environ, start_response)

    def _reset(self) -> Response:
        given = request.get_json() if request.content_length else {}
        try:
            settings = replace(self._start, **_switches(given))
            self.app = create_app(settings)
        except SettingsError as error:
            abort(400, str(error))
        self._settings = settings
        return self._state()

    def _state(self) -> Response:
        state = {name: getattr(self._settings, field) for name, (field, _) in SWITCHES.items()}
        return jsonify(state | {"open": dict(state["open"]), "fixture": str(state["fixture"])})


def _switches(given: Any) -> dict[str, Any]:
    """Settings from the switches of a reset.

    Raises:
        SettingsError: if one is not known, or is not of its type.
    """
    if not isinstance(given, Mapping):
        raise SettingsError(f"expected an object with any of {', '.join(SWITCHES)}")
    for name, value in given.items():
        if name not in SWITCHES:
            raise SettingsError(f'no switch "{name}"; switches are {", ".join(SWITCHES)}')
        if not isinstance(value, SWITCHES[name][1]):
            raise SettingsError(f'the switch "{name}" is {value!r}; expected {_named(SWITCHES[name][1])}')
    if given.get("fixture", "demo") not in ("demo", "empty"):
        raise SettingsError(f'no fixture "{given["fixture"]}"; a reset takes demo or empty')
    return {SWITCHES[name][0]: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def _named(kind: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false", int: "a whole number"}
    return names.get(kind, "a whole number or null")


def _defects() -> Response:
    return jsonify(
        [
            {
                "name": each.name,
                "rule": each.rule,
                "what": each.what,
                "kinds": each.kinds,
                "also": sorted(each.also),
            }
            for each in DEFECTS.values()
        ]
    )


def _conditions() -> Response:
    return jsonify({name: each.measures for name, each in CONDITIONS.items()})


def _refuse_others() -> None:
    """Refuse pages of other origins, and names that only lead here."""
    host = urlsplit(f"//{request.host}")
    origin = request.headers.get("Origin", f"http://{request.host}")
    if not is_loopback(host.hostname or "") or origin != f"http://{request.host}":
        abort(403, "The control plane answers programs on this machine alone.")
    if request.method == "POST" and request.content_length and not request.is_json:
        abort(415, "Send switches as application/json.")


def _told(error: HTTPException) -> tuple[Response, int]:
    return jsonify({"errors": [{"title": error.description, "status": error.code}]}), error.code or 500
