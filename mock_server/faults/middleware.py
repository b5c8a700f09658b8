"""The layer in front of the honest server that carries out preferences, and changes calls or answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map
from werkzeug.wrappers import Response

from mock_server.api.authentication import key_of
from mock_server.api.operations import Service
from mock_server.defects import DEFECTS
from mock_server.defects.call import Call, Serve, Transformation
from mock_server.errors import REFUSAL, Refusal
from mock_server.faults.forced import FORCED, Forced
from mock_server.faults.preferences import Preferred, preferences_of
from mock_server.http.broken_answers import dropped, dropped_after
from mock_server.http.request_notes import notes_of
from mock_server.settings import FORWARDS

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

NOT_FORCED = Forced()
LONGEST_TARGET = 4000  # characters
TOO_MANY = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}


class Faults:
    """Carries out what each request prefers, and passes the calls of operations through transformations.

    Args:
        inner: the honest application.
        routes: the paths of its operations.
        service: what its operations work with.
        transformations: the first is nearest to the application.
    """

    def __init__(
        self, inner: WSGIApplication, routes: Map, service: Service, transformations: Sequence[Transformation] = ()
    ) -> None:
        self._inner = inner
        self._routes = routes.bind("")
        self._service = service
        self._resources = service.contract.resources
        self._url = service.settings.deployment.url if service.settings.deployment else ""
        self._is_needed = bool(transformations)
        self._serve: Serve = self._honest
        for transformation in transformations:
            self._serve = _remembering(transformation, self._serve)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; refuse one with invalid preferences without carrying it out."""
        forced: Forced | None = environ.get(FORCED)
        if not forced and not environ.get("HTTP_PREFER"):
            return (self._called if self._is_needed else self._inner)(environ, start_response)
        try:
            preferred = forced.preferred if forced else preferences_of(environ["HTTP_PREFER"])
        except ValueError as error:
            environ[REFUSAL] = Refusal("400", str(error), mistake=False)
            return self._inner(environ, start_response)
        return self._preferred(preferred, forced or NOT_FORCED, environ, start_response)

    def _preferred(
        self, preferred: Preferred, forced: Forced, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer a request as it prefers, or as is forced on it; only answers to known accounts are held back."""
        if preferred.code:
            environ[REFUSAL] = Refusal(str(preferred.code), "The request itself preferred this answer.", mistake=False)
        if refusal := forced.refusal(self._service.choices["invalid-field"]):
            environ[REFUSAL] = refusal
        if self._url and preferred.defects:
            title = f"Prefer: defects do not apply: {FORWARDS.format(self._url)}."
            environ[REFUSAL] = Refusal("400", title, mistake=False)
        if preferred.delay and (key_of(environ) if self._url else self._service.accounts.knows(key_of(environ))):
            notes_of(environ).delay += preferred.delay
        if preferred.lost == "before":
            return dropped(environ, start_response)

        def inner(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            own = forced.response()
            return own(environ, start_response) if own else self._called(environ, start_response, preferred.defects)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            told = [("Preference-Applied", ", ".join(preferred.applied))] if preferred.applied else []
            limits = TOO_MANY.items() if preferred.code == HTTPStatus.TOO_MANY_REQUESTS else ()
            replaced = {name.lower() for name in forced.headers}
            kept = [(name, value) for name, value in [*headers, *told, *limits] if name.lower() not in replaced]
            return start_response(status, [*kept, *forced.headers.items()], *more)

        return dropped_after(inner, environ, start_response) if preferred.lost else inner(environ, start)

    def _called(
        self, environ: WSGIEnvironment, start_response: StartResponse, defects: Sequence[str] = ()
    ) -> Iterable[bytes]:
        """Answer a request with transformations, if it calls an operation."""
        call = None if REFUSAL in environ or _is_long(environ) else self._call(environ)
        if call is None:
            return self._inner(environ, start_response)
        serve = self._serve
        for name in defects:
            serve = _remembering(DEFECTS[name], serve)
        return serve(call)(environ, start_response)

    def _call(self, environ: WSGIEnvironment) -> Call | None:
        """The call of an operation that a request makes, or None."""
        try:
            endpoint, values = self._routes.match(environ["PATH_INFO"], environ["REQUEST_METHOD"])
        except HTTPException:
            return None
        name, _, operation = endpoint.removeprefix("api.").partition(":")
        method = environ["REQUEST_METHOD"]
        if name not in self._resources or method == "HEAD" or not method.isupper():
            return None
        body = environ["wsgi.input"].read(self._service.settings.max_body + 1)
        return Call(self._service, environ, self._resources[name], operation, values.get("identifier", ""), body)

    def _honest(self, call: Call) -> Response:
        environ = call.environ | {"wsgi.input": BytesIO(call.body)}
        return Response.from_app(self._inner, environ, buffered=True)


def _is_long(environ: WSGIEnvironment) -> bool:
    """Whether a request may hold a number too long for Python to parse; such a request is not changed."""
    return len(environ["PATH_INFO"]) + len(environ["QUERY_STRING"]) > LONGEST_TARGET


def _remembering(transformation: Transformation, inner: Serve) -> Serve:
    strangers: dict[str, Any] = {}

    def serve(call: Call) -> Response:
        memory = call.account.memories.setdefault(serve, {}) if call.account else strangers
        return transformation(replace(call, memory=memory), inner)

    return serve
