"""The contract's paths and their other spellings: one implementation of the five operations, for each resource."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

from flask import Blueprint, Response, g, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from link_management_contract import Contract, Resource
from mock_server.api.forms import Forms
from mock_server.api.representations import ErrorPages, Paging, Representations
from mock_server.errors import Refusal
from mock_server.http.context import SCHEME, context_of, scheme_and_key
from mock_server.http.messages import refuse_unread
from mock_server.settings.choices import Choices
from mock_server.settings.settings import Settings
from mock_server.store.collection import UnknownIdError, ValueTakenError
from mock_server.store.protocols import Account, Accounts, Collection
from mock_server.store.records import NewRecords, Record, size_of

METHODS = {"list": "GET", "create": "POST", "read": "GET", "update": "POST", "delete": "DELETE"}
UPDATE = ("PUT", "PATCH")  # methods that some servers accept for an update


def routes(resource: Resource, choices: Choices) -> Iterator[tuple[str, str, str]]:
    """Each path and method that the mock serves, and how.

    Args:
        resource: the resource that the paths belong to.
        choices: the open points.

    Yields:
        A path, as Flask spells it; a method; and the name of an operation, the status of a redirect to the list, or
        `404`.
    """
    routed = set[tuple[str, str]]()
    for path, method, name in _spellings(resource, choices):
        if (path, method) not in routed and name != "405":
            yield path.replace("{id}", "<identifier>"), method, name
        routed.add((path, method))


def create_elsewhere(resources: Iterable[Resource], choices: Choices, base_path: str) -> Blueprint:
    """The routes that lead to no operation but point to the list.

    Args:
        resources: the resources to add routes for.
        choices: the open points.
        base_path: the prefix of all paths.
    """
    blueprint = Blueprint("elsewhere", __name__)
    for resource in resources:
        list_path = base_path + _list_path(resource, choices)
        for path, method, name in routes(resource, choices):
            if name not in METHODS:
                view = partial(_no_list, list_path) if name == "404" else partial(_moved, list_path, int(name))
                blueprint.add_url_rule(path, path.replace("/", " "), view, methods=[method])
    return blueprint


def _other_spelling(path: str) -> str:
    return path.removesuffix("/") if path.endswith("/") else f"{path}/"


def _spellings(resource: Resource, choices: Choices) -> Iterator[tuple[str, str, str]]:
    """The routes, with repetitions: the first of a path and method counts."""
    moved, path = choices["list-redirect"], resource.paths["list"]
    if moved != "no":
        yield path, "GET", moved
    yield f"/api/{resource.link_collection}", "GET", _followed_link(resource, choices)
    paths = {**resource.paths, "list": _list_path(resource, choices)}
    spelled = [(paths[name], method, name) for name, method in METHODS.items()]
    if choices["put-and-patch"] == "update":
        spelled += [(paths["update"], method, "update") for method in UPDATE]
    yield from spelled
    if choices["other-slash"] == "served" or moved != "no":
        yield from ((_other_spelling(path), method, name) for path, method, name in spelled)


def _list_path(resource: Resource, choices: Choices) -> str:
    path = resource.paths["list"]
    return path if choices["list-redirect"] == "no" else path.removesuffix("/")


def _followed_link(resource: Resource, choices: Choices) -> str:
    """What a page link leads to if a client follows it unchanged."""
    only_lacks_slash = resource.paths["list"] == f"/api/{resource.link_collection}/"
    if only_lacks_slash and choices["list-redirect"] != "no":
        return "list"
    choice = choices["followed-link" if only_lacks_slash else "followed-splash-link"]
    return {"served": "list", "redirected": "301"}.get(choice, choice)


def _moved(list_path: str, status: int) -> AnyResponse:
    query = request.query_string.decode("latin-1")
    return redirect(request.root_path + list_path + (query and f"?{query}"), status)


def _no_list(list_path: str) -> NoReturn:
    raise Refusal("404", f'No list is at "{request.path}"; ask {list_path} for the page.', mistake=False)


ID = re.compile(r"[0-9]{1,30}", re.ASCII)
REQUESTS_A_MINUTE = 60


@dataclass(frozen=True, slots=True)
class MockState:
    """What the operations work with."""

    settings: Settings
    contract: Contract
    choices: Choices
    accounts: Accounts
    forms: Forms
    paging: Paging
    new_records: NewRecords
    representations: Representations
    errors: ErrorPages

    def base_url(self) -> str:
        if self.settings.public_base_url:
            return self.settings.public_base_url
        current = request._get_current_object()  # type: ignore[attr-defined] # noqa: SLF001 - once, as it takes a while
        host = current.host or f"{current.environ['SERVER_NAME']}:{current.environ['SERVER_PORT']}"
        return f"{current.scheme}://{host}{self.settings.base_path}"

    def account(self) -> Account:
        """The account whose key the request carries.

        Raises:
            Refusal: if it carries no key, or an unknown one.
        """
        scheme, key = scheme_and_key(request.environ)
        exact = self.choices["scheme-letters"] == "exact"
        if (scheme if exact else scheme.capitalize()) == SCHEME and key:
            account = self.accounts.get(key)
            if account:
                return account
            problem = "This API key is not known"
        else:
            problem = "This request carries no API key" if not scheme else "This Authorization header is not understood"
        raise Refusal(
            self.choices["stranger-status"],
            f"{problem}; send the header `Authorization: Bearer <API_KEY>`.",
            "accounts.bearer-key-is-accepted",
        )


def create_blueprint(mock: MockState) -> Blueprint:
    """The routes of the contract.

    Args:
        mock: what the operations work with.

    Returns:
        A blueprint for the base path.
    """
    api = Blueprint("api", __name__)
    for resource in mock.contract.resources.values():
        views = {name: partial(operation, mock, resource) for name, operation in OPERATIONS.items()}
        for path, method, name in routes(resource, mock.choices):
            if name in views:
                api.add_url_rule(path, f"{resource.name}:{name}", views[name], methods=[method])

    @api.errorhandler(UnknownIdError)
    def unknown_id(error: UnknownIdError) -> AnyResponse:
        refusal = Refusal(mock.choices["unknown-id"], f'This account has no such record: "{error}".', mistake=False)
        return mock.errors.response(refusal)

    @api.errorhandler(ValueTakenError)
    def value_taken(error: ValueTakenError) -> AnyResponse:
        title = f'The host "{error}" is registered already.'
        refusal = Refusal(mock.choices["host-taken"], title, field="host", mistake=False)
        return mock.errors.response(refusal)

    @api.before_request
    def authenticate() -> None:
        g.account = mock.account()

    if mock.choices["rate-limit-headers"] == "present":
        api.after_request(_add_rate_limit_headers)
    return api


def _add_rate_limit_headers(response: Response) -> Response:
    response.headers["X-RateLimit-Limit"] = str(REQUESTS_A_MINUTE)
    response.headers["X-RateLimit-Remaining"] = str(REQUESTS_A_MINUTE - 1)
    return response


def _list(mock: MockState, resource: Resource) -> Response:
    number, size = mock.paging.parse_query(request.query_string)
    records, total = _collection(resource).page(partial(_positions, mock.paging, number, size))
    page = mock.paging.locate(number, size, total)
    url = f"{mock.base_url()}/api/{resource.link_collection}"
    return mock.representations.list_response(resource, records, mock.paging.meta_and_links(page, url, len(records)))


def _positions(paging: Paging, number: int, size: int, total: int) -> tuple[int, int]:
    page = paging.locate(number, size, total)
    return (page.number - 1) * size, page.number * size


def _read(mock: MockState, resource: Resource, identifier: str) -> Response:
    return mock.representations.read_response(resource, _collection(resource).get(_number(identifier)))


def _create(mock: MockState, resource: Resource) -> Response:
    form = _form(mock, resource, "create")
    values = _applicable(mock, resource, form, form)
    collection = _collection(resource)
    _make_room(mock, resource, size_of(values))
    record = collection.add(lambda number: mock.new_records.values(resource, number) | values, g.account.clock)
    return mock.representations.write_response(resource, record, int(mock.choices["create-status"]))


def _update(mock: MockState, resource: Resource, identifier: str) -> Response:
    number, collection = _number(identifier), _collection(resource)
    collection.get(number)
    form = _form(mock, resource, "update")
    _make_room(mock, resource, size_of(form))
    change = partial(_changed, mock, resource, form)
    record = collection.update(number, change)
    return mock.representations.write_response(resource, record, int(mock.choices["update-status"]))


def _changed(mock: MockState, resource: Resource, form: Mapping[str, Any], record: Record) -> Record:
    values = _applicable(mock, resource, form, {**record.values, **form})
    moved = "host" in values and values["host"] != record.values["host"]
    if moved and mock.choices["domain-after-host-change"] == "disabled":
        values["is_enabled"] = False
    dated = {"set": True, "null": False, "unless-toggled": set(values) != {"is_enabled"}}
    updated = g.account.clock() if dated[mock.choices["last-datetime-after-update"]] else record.updated
    return replace(record, values={**record.values, **values}, updated=updated)


def _delete(mock: MockState, resource: Resource, identifier: str) -> Response:
    refuse_unread(request.environ)
    number, collection = _number(identifier), _collection(resource)
    collection.get(number)
    _make_room(mock, resource)
    collection.delete(number)
    status, _, body = mock.choices["delete-status"].partition("-")
    match body:
        case "json":
            return mock.representations.json({"data": None}, int(status))
        case "text":
            return Response("deleted", int(status), content_type="text/plain; charset=utf-8")
        case _:
            return Response(status=int(status), content_type="application/json" if body else None)


def _make_room(mock: MockState, resource: Resource, size: int = 0) -> None:
    mock.accounts.make_room(scheme_and_key(request.environ)[1], resource.name, size)


def _collection(resource: Resource) -> Collection:
    collection: Collection = g.account.collections[resource.name]
    return collection


def _number(identifier: str) -> int:
    if not ID.fullmatch(identifier):
        raise UnknownIdError(identifier)
    return int(identifier)


def _form(mock: MockState, resource: Resource, operation: str) -> Mapping[str, Any]:
    form = mock.forms.read(request, resource, operation)
    context_of(request.environ).ignored = form.ignored
    return form.values


def _applicable(
    mock: MockState, resource: Resource, form: Mapping[str, Any], record: Mapping[str, Any]
) -> dict[str, Any]:
    values = mock.forms.applicable_values(resource, form, record)
    context_of(request.environ).ignored += tuple(name for name in form if name not in values)
    return values


OPERATIONS: dict[str, Callable[..., Response]] = {
    "list": _list,
    "create": _create,
    "read": _read,
    "update": _update,
    "delete": _delete,
}
