"""The paths and methods of the API: the contract's, and the other spellings that the open points allow."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from typing import NoReturn

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from link_management_contract import Resource
from mock_server.errors import Refusal
from mock_server.open_points.choices import Choices

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
    taken = set[tuple[str, str]]()
    for path, method, name in _spellings(resource, choices):
        if (path, method) not in taken and name != "405":
            yield path.replace("{id}", "<identifier>"), method, name
        taken.add((path, method))


def create_elsewhere(resources: Collection[Resource], choices: Choices, base_path: str) -> Blueprint:
    """The routes that lead to no operation but point to the list.

    Args:
        resources: the resources to add routes for.
        choices: the open points.
        base_path: the prefix of all paths.
    """
    elsewhere = Blueprint("elsewhere", __name__)
    for resource in resources:
        there = base_path + _listed(resource, choices)
        for path, method, name in routes(resource, choices):
            if name not in METHODS:
                view = partial(_no_list, there) if name == "404" else partial(_moved, there, int(name))
                elsewhere.add_url_rule(path, path.replace("/", " "), view, methods=[method])
    return elsewhere


def _other_spelling(path: str) -> str:
    """The path with its trailing slash added or removed."""
    return path.removesuffix("/") if path.endswith("/") else f"{path}/"


def _spellings(resource: Resource, choices: Choices) -> Iterator[tuple[str, str, str]]:
    """The routes, with repetitions: the first of a path and method counts."""
    moved, path = choices["list-redirect"], resource.paths["list"]
    if moved != "no":
        yield path, "GET", moved
    yield f"/api/{resource.link_collection}", "GET", _followed_link(resource, choices)
    paths = {**resource.paths, "list": _listed(resource, choices)}
    spelled = [(paths[name], method, name) for name, method in METHODS.items()]
    if choices["put-and-patch"] == "update":
        spelled += [(paths["update"], method, "update") for method in UPDATE]
    yield from spelled
    if choices["other-slash"] == "served" or moved != "no":
        yield from ((_other_spelling(path), method, name) for path, method, name in spelled)


def _listed(resource: Resource, choices: Choices) -> str:
    """The path of the list."""
    path = resource.paths["list"]
    return path if choices["list-redirect"] == "no" else path.removesuffix("/")


def _followed_link(resource: Resource, choices: Choices) -> str:
    """What a page link leads to if a client follows it unchanged."""
    only_lacks_slash = resource.paths["list"] == f"/api/{resource.link_collection}/"
    if only_lacks_slash and choices["list-redirect"] != "no":
        return "list"
    how = choices["followed-link" if only_lacks_slash else "followed-splash-link"]
    return {"served": "list", "redirected": "301"}.get(how, how)


def _moved(there: str, status: int) -> Response:
    query = request.query_string.decode("latin-1")
    return redirect(request.root_path + there + (query and f"?{query}"), status)


def _no_list(there: str) -> NoReturn:
    raise Refusal("404", f'No list is at "{request.path}"; ask {there} for the page.', mistake=False)
