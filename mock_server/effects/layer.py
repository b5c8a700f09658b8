"""The layer in front of the honest server in which all effects come about."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from io import BytesIO
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map
from werkzeug.wrappers import Response

from mock_server.api.operations import MockState
from mock_server.defects import DEFECTS
from mock_server.defects.building_blocks import Call, Serve, Transformation
from mock_server.effects.breaking import dropped, dropped_after
from mock_server.effects.conditions import CONDITIONS
from mock_server.effects.effect import MAX_EFFECTS, Effect, Preferred, preferences_of
from mock_server.errors import REFUSAL, Refusal
from mock_server.http.context import context_of, key_of
from mock_server.settings.settings import FORWARDS

NO_EFFECT = Effect()
MAX_TARGET_LENGTH = 4000  # characters
RATE_LIMIT_HEADERS = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}


class EffectLayer:
    """Gives requests what is in effect for them: conditions around, answers instead, defects in front of operations.

    Args:
        inner: the honest application.
        routes: the paths of its operations.
        mock: what its operations work with.
        transformations: the first is nearest to the application.
        conditions: the measure of each condition for all requests.
        build_replica: makes a second server like this one, for the conditions that need it.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what either kind needs
        self,
        inner: WSGIApplication,
        routes: Map,
        mock: MockState,
        transformations: Sequence[Transformation] = (),
        conditions: Mapping[str, float] | None = None,
        build_replica: Callable[[], WSGIApplication] | None = None,
    ) -> None:
        self._inner = inner
        self._routes = routes.bind("")
        self._mock = mock
        self._resources = mock.contract.resources
        self._url = mock.settings.deployment.url if mock.settings.deployment else ""
        self._build_replica = build_replica or (lambda: inner)
        self._usual = [Effect(condition=f"{name}={amount}") for name, amount in (conditions or {}).items()]
        self._cached_layers: dict[tuple[int, str], Any] = {}
        changes = [change for effect in self._usual if (change := self._changes_of(effect))]
        self._is_needed = bool(transformations or changes)
        self._serve: Serve = self._honest
        for transformation in (*changes, *transformations):
            self._serve = _remembering(transformation, self._serve)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        context = context_of(environ)
        if not self._usual and not context.effects:
            is_unchanged = not self._is_needed and not environ.get("HTTP_PREFER")
            return (self._inner if is_unchanged else self._preferring)(environ, start_response)
        if context.pending_conditions is None:  # else, a condition asks a second server
            pending = [*self._usual, *(effect for effect in context.effects if effect.condition)]
            context.pending_conditions = sorted(pending, key=_table_position, reverse=True)
        return self._onward(environ, start_response)

    def _onward(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request under the conditions that still surround it, the outermost first."""
        context = context_of(environ)
        while context.pending_conditions:
            effect = context.pending_conditions.pop(0)
            if layer := self._layer_of(effect):
                return layer(environ, start_response)
        return self._preferring(environ, start_response)

    def _layer_of(self, effect: Effect) -> WSGIApplication | None:
        """The layer of a condition, which is the same for all requests that it surrounds."""
        name, amount = effect.measured
        make = CONDITIONS[name].apply
        return self._cached(effect, lambda: make(self._onward, amount, self._build_replica)) if make else None

    def _changes_of(self, effect: Effect) -> Transformation | None:
        """The transformation of a condition, which is the same for all requests that it changes."""
        name, amount = effect.measured
        make = CONDITIONS[name].changes
        return self._cached(effect, lambda: make(amount)) if make else None

    def _cached(self, effect: Effect, make: Callable[[], Any]) -> Any:
        key = (effect.number, effect.condition)
        if key not in self._cached_layers:
            while len(self._cached_layers) > MAX_EFFECTS:
                self._cached_layers.pop(next(iter(self._cached_layers)))
            self._cached_layers[key] = make()
        return self._cached_layers[key]

    def _preferring(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request as it prefers, or as is forced on it; refuse one with invalid preferences."""
        effects = context_of(environ).effects
        if not effects and not environ.get("HTTP_PREFER"):
            return (self._call_operation if self._is_needed else self._inner)(environ, start_response)
        forced_effect = next((effect for effect in effects if not effect.condition), None)
        try:
            preferred = forced_effect.preferred if forced_effect else preferences_of(environ.get("HTTP_PREFER", ""))
        except ValueError as error:
            environ[REFUSAL] = Refusal("400", str(error), mistake=False)
            return self._inner(environ, start_response)
        return self._preferred(preferred, forced_effect or NO_EFFECT, environ, start_response)

    def _preferred(
        self, preferred: Preferred, forced_effect: Effect, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer a request as it prefers, or as is forced on it; only answers to known accounts are held back."""
        if preferred.code:
            environ[REFUSAL] = Refusal(
                str(preferred.code), "You asked for this answer with a Prefer header.", mistake=False
            )
        if refusal := forced_effect.refusal(self._mock.choices["invalid-field"]):
            environ[REFUSAL] = refusal
        if self._url and preferred.defects:
            title = f"Prefer: defects do not apply: {FORWARDS.format(self._url)}."
            environ[REFUSAL] = Refusal("400", title, mistake=False)
        if preferred.delay and (key_of(environ) if self._url else self._mock.accounts.knows(key_of(environ))):
            context_of(environ).delay += preferred.delay
        if preferred.lost == "before":
            return dropped(environ, start_response)

        def inner(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            answer = forced_effect.response()
            return (
                answer(environ, start_response)
                if answer
                else self._call_operation(environ, start_response, preferred.defects)
            )

        def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            applied = [("Preference-Applied", ", ".join(preferred.applied))] if preferred.applied else []
            limits = RATE_LIMIT_HEADERS.items() if preferred.code == HTTPStatus.TOO_MANY_REQUESTS else ()
            replaced = {name.lower() for name in forced_effect.headers}
            combined = [(name, value) for name, value in [*headers, *applied, *limits] if name.lower() not in replaced]
            return start_response(status, [*combined, *forced_effect.headers.items()], *exc_info)

        return dropped_after(inner, environ, start_response) if preferred.lost else inner(environ, start)

    def _call_operation(
        self, environ: WSGIEnvironment, start_response: StartResponse, defects: Sequence[str] = ()
    ) -> Iterable[bytes]:
        """Answer a request with transformations, if it calls an operation."""
        call = None if REFUSAL in environ or _may_hold_long_number(environ) else self._call(environ)
        if call is None:
            return self._inner(environ, start_response)
        serve = self._serve
        for effect in context_of(environ).effects:
            if effect.condition and (transformation := self._changes_of(effect)):
                serve = _remembering(transformation, serve, transformation)
        for name in defects:
            serve = _remembering(DEFECTS[name], serve)
        return serve(call)(environ, start_response)

    def _call(self, environ: WSGIEnvironment) -> Call | None:
        """The call of an operation that a request makes, or None."""
        try:
            endpoint, values = self._routes.match(environ["PATH_INFO"], environ["REQUEST_METHOD"])
        except HTTPException:
            return None
        name, colon, operation = endpoint.removeprefix("api.").partition(":")
        method = environ["REQUEST_METHOD"]
        if name not in self._resources or not colon or method == "HEAD" or not method.isupper():
            return None
        body = environ["wsgi.input"].read(self._mock.settings.max_body + 1)
        return Call(self._mock, environ, self._resources[name], operation, values.get("identifier", ""), body)

    def _honest(self, call: Call) -> Response:
        environ = call.environ | {"wsgi.input": BytesIO(call.body)}
        return Response.from_app(self._inner, environ, buffered=True)


def _may_hold_long_number(environ: WSGIEnvironment) -> bool:
    """Whether a request may hold a number too long for Python to parse; such a request is not changed."""
    return len(environ["PATH_INFO"]) + len(environ["QUERY_STRING"]) > MAX_TARGET_LENGTH


def _remembering(transformation: Transformation, inner: Serve, owner: Any = None) -> Serve:
    """Give a transformation what it remembers of each account, for as long as its owner lives."""
    unknown_client_memory: dict[str, Any] = {}

    def serve(call: Call) -> Response:
        memory = call.account.memories.setdefault(owner or serve, {}) if call.account else unknown_client_memory
        return transformation(replace(call, memory=memory), inner)

    return serve


def _table_position(effect: Effect) -> int:
    """Where a condition stands among others: the later in the table, the farther out."""
    return list(CONDITIONS).index(effect.measured[0])
