"""Requests to one resource, as the contract documents them."""

from __future__ import annotations

from collections.abc import Mapping

from contract_tests.exchange import OWN, Expect, FormValue, Request
from contract_tests.multipart import USUAL, Shape
from link_management_contract import Resource


def list_of(
    resource: Resource, query: Mapping[str, str], expects: Expect = Expect.SUCCESS, identity: str = OWN
) -> Request:
    """A list of one page."""
    path, pairs = resource.list_path, tuple(query.items())
    return Request("list", resource.name, "GET", path, pairs, identity=identity, expects=expects)


def read_of(
    resource: Resource, identifier: int | str, expects: Expect = Expect.SUCCESS, identity: str = OWN
) -> Request:
    """A read of one record; a text stands for an id that no record has."""
    known = identifier if isinstance(identifier, int) else None
    path = f"{resource.record_path}{identifier}"
    return Request("read", resource.name, "GET", path, identity=identity, identifier=known, expects=expects)


def update_of(  # noqa: PLR0913, PLR0917 - whatever an update may have
    resource: Resource,
    identifier: int,
    form: Mapping[str, FormValue] | None,
    expects: Expect = Expect.SUCCESS,
    identity: str = OWN,
    shape: Shape = USUAL,
) -> Request:
    """An update of one record."""
    place = (resource.name, "POST", f"{resource.record_path}{identifier}", ())
    return Request("update", *place, form, identity, identifier, expects, shape=shape)


def delete_of(resource: Resource, identifier: int, expects: Expect = Expect.SUCCESS, identity: str = OWN) -> Request:
    """A delete of one record."""
    path = f"{resource.record_path}{identifier}"
    return Request("delete", resource.name, "DELETE", path, (), None, identity, identifier, expects)
