"""What stands between the network and the honest server, and changes calls or answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map
from werkzeug.wrappers import Response

from mock_server.api.operations import Service
from mock_server.errors import REFUSAL
from mock_server.faults.call import Call, Serve, Transformation
from mock_server.faults.defects import DEFECTS
from mock_server.faults.preferences import DEFECT_NAMES

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


LONGEST_TARGET = 4000  # characters


class Calls:
    """Passes the calls of the contract's operations through transformations.

    Args:
        inner: the honest application.
        routes: the paths of its operations.
        service: what its operations work with.
        transformations: the first stands nearest to the application.
    """

    def __init__(
        self, inner: WSGIApplication, routes: Map, service: Service, transformations: Sequence[Transformation]
    ) -> None:
        self._app = inner
        self._routes = routes.bind("")
        self._service = service
        self._resources = {resource.name: resource for resource in service.contract.resources}
        self._is_needed = bool(transformations)
        self._serve: Serve = self._honest
        for transformation in transformations:
            self._serve = _remembering(transformation, self._serve)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        preferred = [DEFECTS[name] for name in environ.get(DEFECT_NAMES, ())]
        if REFUSAL in environ or not (self._is_needed or preferred) or _is_long(environ):
            return self._app(environ, start_response)
        try:
            endpoint, values = self._routes.match(environ["PATH_INFO"], environ["REQUEST_METHOD"])
        except HTTPException:
            return self._app(environ, start_response)
        kind, _, operation = endpoint.removeprefix("api.").partition(":")
        if kind not in self._resources or environ["REQUEST_METHOD"] == "HEAD":
            return self._app(environ, start_response)
        body = environ["wsgi.input"].read(self._service.settings.max_body + 1)
        call = Call(self._service, environ, self._resources[kind], operation, values.get("identifier", ""), body)
        serve = self._serve
        for defect in preferred:
            serve = _remembering(defect, serve)
        return serve(call)(environ, start_response)

    def _honest(self, call: Call) -> Response:
        environ = call.environ | {"wsgi.input": BytesIO(call.body)}
        return Response.from_app(self._app, environ, buffered=True)


def _is_long(environ: WSGIEnvironment) -> bool:
    """Whether a request may hold a number that Python refuses to read; nothing is done to such."""
    return len(environ["PATH_INFO"]) + len(environ["QUERY_STRING"]) > LONGEST_TARGET


def _remembering(transformation: Transformation, inner: Serve) -> Serve:
    strangers: dict[str, Any] = {}

    def serve(call: Call) -> Response:
        memory = call.account.memories.setdefault(serve, {}) if call.account else strangers
        return transformation(replace(call, memory=memory), inner)

    return serve
