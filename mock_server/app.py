"""Wires the parts of the mock into a Flask application."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import cast
from wsgiref.types import WSGIApplication

import yaml
from flask import Flask, Response, current_app, request
from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import Map, RequestRedirect

from link_management_contract import Contract, shipped_contract
from mock_server.api.client_contract import client_contract
from mock_server.api.extension import Extension
from mock_server.api.forms import Forms
from mock_server.api.operations import MockState, create_blueprint, create_elsewhere
from mock_server.api.representations import ErrorPages, Paging, Representations
from mock_server.defects import defects_named, needs
from mock_server.effects import conditions
from mock_server.effects.layer import EffectLayer
from mock_server.errors import REFUSAL, SettingsError
from mock_server.forwarding.marker import ForwardMarker
from mock_server.http.cors import ANY_ORIGIN, Cors, KnownHosts
from mock_server.http.lean_flask import AnyHostFlask, LeanFlask
from mock_server.journal.recorder import Recorder, Recording
from mock_server.settings.choices import Choices, Grease, JsonVariation
from mock_server.settings.documents import write_document
from mock_server.settings.settings import Deployment, Settings
from mock_server.shared.accounts import SharedAccounts
from mock_server.shared.collection import store_accounts
from mock_server.shared.journal import SharedUploads
from mock_server.shared.store import Namespace
from mock_server.store.accounts import MemoryAccounts
from mock_server.store.fixtures import FixtureReader
from mock_server.store.protocols import Accounts
from mock_server.store.records import MemoryUploads, NewRecords

YAML = "application/yaml"
RENDERINGS: dict[str, tuple[Callable[[Contract], str], str]] = {
    "openapi.yaml": (lambda contract: contract.text, YAML),
    "openapi.json": (
        lambda contract: json.dumps(contract.document | {"servers": [{"url": contract.base_url}]}),
        "application/json",
    ),
    "openapi.client.yaml": (lambda contract: write_document(client_contract(contract)), YAML),
}

Layer = Callable[[WSGIApplication], WSGIApplication]


def create_app(
    settings: Settings | None = None,
    before: MockState | None = None,
    recording: Recording | None = None,
    namespace: Namespace | None = None,
) -> Flask:
    """A mock server as a WSGI application.

    Args:
        settings: the defaults, if None.
        before: the service of an earlier application, if its records are to be taken over instead of a fixture's.
        recording: where requests are kept; if None, they are neither kept nor logged.
        namespace: where the accounts are that several processes share, or None.

    Returns:
        The application; `app.extensions["mock_server"]` is its `MockState`.

    Raises:
        SettingsError: if a fixture, an open point or an extension is invalid.
    """
    settings = settings or Settings()
    extension = Extension.read(settings.extend) if settings.extend else None
    return _create_app(settings, extension, before, recording, namespace)


def _create_app(
    settings: Settings,
    extension: Extension | None,
    before: MockState | None,
    recording: Recording | None = None,
    namespace: Namespace | None = None,
) -> Flask:
    if settings.store and not namespace:
        raise SettingsError("create_app keeps all in memory; serve what is in a store with MockServer")
    conditions.check(settings.conditions, forwarded=settings.deployment is not None, shared=bool(settings.store))
    mock = _build_mock(settings, before, namespace)
    app = (AnyHostFlask if settings.extend else LeanFlask)(__name__)
    app.extensions["mock_server"] = mock
    _add_contract(app, mock)
    mock.errors.register(app)
    app.before_request(_raise_refusal)
    if settings.deployment:
        return _in_front(app, mock, settings.deployment)
    _add_api(app, mock)
    if extension:
        extension.extend(app)
    build_replica = partial(_build_replica, replace(settings, conditions={}), extension, mock)
    surrounded: WSGIApplication = app.wsgi_app
    for layer in reversed(list(_layers(app.url_map, mock, recording, build_replica))):
        surrounded = layer(surrounded)
    app.wsgi_app = surrounded  # type: ignore[assignment, method-assign]
    return app


def _add_api(app: Flask, mock: MockState) -> None:
    base_path = mock.settings.base_path
    redirects = create_elsewhere(mock.contract.resources.values(), mock.choices, base_path)
    for routes in (create_blueprint(mock), redirects):
        app.register_blueprint(routes, url_prefix=base_path or None)
    app.add_url_rule(f"{base_path}/login", "login", mock.errors.login_page)


def _build_replica(settings: Settings, extension: Extension | None, mock: MockState) -> Flask:
    return _create_app(settings, extension, replace(mock, accounts=cast("MemoryAccounts", mock.accounts).copy()))


def _add_contract(app: Flask, mock: MockState) -> None:
    for name, (rendering, media_type) in RENDERINGS.items():
        text = cache(partial(rendering, mock.contract))  # made when it is first asked for
        path, endpoint = f"{mock.settings.base_path}/{name}", name.replace(".", "_")
        app.add_url_rule(path, endpoint, partial(_contract, mock, text, media_type))


def _in_front(app: Flask, mock: MockState, deployment: Deployment) -> Flask:
    """An application that notes which requests are to be forwarded, and answers with the contract itself."""
    settings, own_paths = mock.settings, [rule.rule for rule in app.url_map.iter_rules()]
    forward_marker: WSGIApplication = ForwardMarker(app.wsgi_app, deployment, settings.base_path, own_paths)
    forward_marker = EffectLayer(forward_marker, app.url_map, mock, conditions=settings.conditions)
    app.wsgi_app = _cors(settings)(forward_marker)  # type: ignore[assignment, method-assign]
    return app


def _build_mock(settings: Settings, before: MockState | None, namespace: Namespace | None) -> MockState:
    contract = contract_of(settings)
    chosen_values = {**settings.choices, **needs(defects_named(settings.defects), settings.choices)}
    choices = Choices(contract.open_points, chosen_values, settings.grease)
    new_records = NewRecords(choices, settings.seed)
    representations = Representations(choices, None if settings.grease is None else JsonVariation(settings.grease))
    uploads = before.forms.uploads if before else SharedUploads(namespace) if namespace else MemoryUploads()
    reader = FixtureReader(contract.resources.values(), new_records, uploads)
    return MockState(
        settings=settings,
        contract=contract,
        choices=choices,
        accounts=_accounts(settings, contract, choices, reader, before.accounts if before else None, namespace),
        forms=Forms(choices, contract.rules, uploads, settings.max_body),
        paging=Paging(contract, choices),
        new_records=new_records,
        representations=representations,
        errors=ErrorPages(choices, representations, settings.base_path),
    )


def _accounts(  # noqa: PLR0913, PLR0917 - what either kind needs
    settings: Settings,
    contract: Contract,
    choices: Choices,
    reader: FixtureReader,
    before: Accounts | None,
    namespace: Namespace | None,
) -> Accounts:
    """The accounts, in memory or in a space; what a new space begins with is read into memory first."""
    if not namespace:
        return MemoryAccounts(settings, contract, choices, reader, cast("MemoryAccounts | None", before))
    if namespace.is_empty:
        store_accounts(
            MemoryAccounts(settings, contract, choices, reader), settings, contract.resources.values(), namespace
        )
    return SharedAccounts(settings, contract, choices, reader, namespace)


def _layers(
    routes: Map, mock: MockState, recording: Recording | None, build_replica: Callable[[], WSGIApplication]
) -> Iterator[Layer]:
    """The layers around Flask that the settings ask for, the outermost first."""
    settings = mock.settings
    if recording:
        yield partial(Recorder, mock=mock, recording=recording)
    yield _cors(settings)
    if settings.grease is not None:
        yield partial(Grease, seed=settings.grease)
    yield partial(
        EffectLayer,
        routes=routes,
        mock=mock,
        transformations=defects_named(settings.defects),
        conditions=settings.conditions,
        build_replica=build_replica,
    )


def _cors(settings: Settings) -> Layer:
    if ANY_ORIGIN in settings.cors_origins:
        return partial(Cors, origins=settings.cors_origins)
    origins = settings.cors_origins if settings.deployment else None

    def layer(inner: WSGIApplication) -> WSGIApplication:
        allowing_app = Cors(inner, settings.cors_origins) if settings.cors_origins else inner
        return KnownHosts(allowing_app, settings.public_base_url, origins)

    return layer


def contract_of(settings: Settings) -> Contract:
    """The contract that a mock serves.

    Raises:
        SettingsError: if the settings name a contract that cannot be read.
    """
    path = settings.contract
    if path is None:
        return shipped_contract()
    try:
        return Contract(path)
    except (OSError, ValueError, KeyError, yaml.YAMLError) as error:
        raise SettingsError(f'contract "{path}" cannot be read: {error!r}; give an openapi.yaml of this API') from error


def _contract(mock: MockState, text: Callable[[], str], media_type: str) -> Response:
    return Response(text().replace(mock.contract.base_url, mock.base_url()), content_type=media_type)


def _raise_refusal() -> None:
    """Refuse a request before an operation carries it out."""
    incoming = request._get_current_object()  # type: ignore[attr-defined] # noqa: SLF001 - once, because this is asked a lot
    if refusal := incoming.environ.get(REFUSAL):
        raise refusal
    if isinstance(incoming.routing_exception, RequestRedirect):
        methods = [rule.methods or set() for rule in current_app.url_map.iter_rules() if rule.rule == incoming.path]
        raise MethodNotAllowed(sorted(set().union(*methods))) if methods else NotFound
    if incoming.environ["REQUEST_METHOD"] != incoming.method and not incoming.routing_exception:  # methods have a case
        raise MethodNotAllowed(incoming.url_rule.methods if incoming.url_rule else ())
