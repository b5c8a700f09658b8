"""Who may control a mock: programs and pages of its own, never a page of another origin."""

from __future__ import annotations

import re
from hmac import compare_digest
from urllib.parse import urlsplit

from flask import Flask, Response, abort, request

LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")
OTHERS = "The control plane answers programs on this machine, and the mock's own pages, alone."
POLICY = "default-src 'none'; {}; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
OWN = "img-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; font-src 'self'"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, as seen from itself alone."""
    return LOOPBACK.fullmatch(host) is not None


def protect(plane: Flask, token: str | None) -> None:
    """Refuse whoever may not control the mock.

    Args:
        plane: the control plane.
        token: what every request must show, as a bearer token or as the password of basic authentication; without one,
            only requests to this machine by one of its own names are answered.
    """

    @plane.before_request
    def refuse_others() -> Response | None:
        host = urlsplit(f"//{request.host}")
        if not token and not is_loopback(host.hostname or ""):
            abort(403, OTHERS)
        if urlsplit(request.headers.get("Origin", f"http://{request.host}")).netloc != request.host:
            abort(403, OTHERS)
        if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none") and not _is_a_visit():
            abort(403, OTHERS)
        return _refuse_strangers(token) if token else None

    @plane.after_request
    def close_in(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", POLICY.format(OWN))
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "DENY"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response


def _is_a_visit() -> bool:
    """Whether somebody follows a link to a page, which changes nothing."""
    return request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"


def _refuse_strangers(token: str) -> Response | None:
    given = request.authorization
    shown = given and (given.token if given.type == "bearer" else given.password)
    if shown and compare_digest(shown.encode(), token.encode()):
        return None
    answer = Response("The control plane of this mock asks for its --control-token.\n", 401)
    answer.headers["WWW-Authenticate"] = 'Basic realm="mock-server", charset="UTF-8"'
    return answer
