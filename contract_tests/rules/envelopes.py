"""Rules about the envelopes of records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contract_tests.evidence import Evidence
from contract_tests.exchange import Exchange, is_integer
from contract_tests.rules.observation import Observations, decide, shown
from link_management_contract import Resource

BOM = b"\xef\xbb\xbf"


def body_is_json(evidence: Evidence, resource: Resource) -> Observations:
    """Successes of lists, reads, creates and updates."""
    for exchange in _with_body(evidence, resource, "list", "read", "create", "update"):
        start = exchange.body[:30].decode("utf-8", "replace") if exchange.request.operation == "create" else ""
        received = f"a body that is no JSON {start!r}" if exchange.body else "no body"
        kept = exchange.json is not None or exchange.body.strip() == b"null"
        yield decide(exchange, "a JSON body", received, kept=kept)


def list_data_is_an_array(evidence: Evidence, resource: Resource) -> Observations:
    """The `data` of lists."""
    for exchange, body in _json(evidence, resource, "list"):
        data = body.get("data") if isinstance(body, dict) else None
        kept = isinstance(data, list) and all(isinstance(row, dict) for row in data)
        received = "an array of other things" if isinstance(data, list) else shown(data, own=False)
        yield decide(exchange, "data, an array of objects", received, kept=kept, at="/data")


def list_meta_holds_integers(evidence: Evidence, resource: Resource) -> Observations:
    """The four numbers in the `meta` of lists."""
    for exchange, body in _json(evidence, resource, "list"):
        meta = body.get("meta") if isinstance(body, dict) else None
        for name in ("page", "results_per_page", "total", "total_pages"):
            there = isinstance(meta, dict) and name in meta
            value = meta[name] if isinstance(meta, dict) and there else None
            received = shown(value, own=True) if there else "nothing"
            yield decide(exchange, f"meta.{name}, an integer", received, kept=is_integer(value), at=f"/meta/{name}")


def list_links_are_strings(evidence: Evidence, resource: Resource) -> Observations:
    """The links `first`, `last` and `self` of lists."""
    for exchange, name, there, link in _links(evidence, resource, "first", "last", "self"):
        received = shown(link, own=True) if there else "nothing"
        yield decide(exchange, f"links.{name}, a string", received, kept=isinstance(link, str), at=f"/links/{name}")


def list_neighbours_are_strings_or_null(evidence: Evidence, resource: Resource) -> Observations:
    """The links `next` and `prev` of lists."""
    for exchange, name, there, link in _links(evidence, resource, "next", "prev"):
        received = shown(link, own=True) if there else "nothing"
        kept = there and (link is None or isinstance(link, str))
        yield decide(exchange, f"links.{name}, a string or null", received, kept=kept, at=f"/links/{name}")


def read_data_is_an_object(evidence: Evidence, resource: Resource) -> Observations:
    """Reads of records that exist."""
    for exchange, body in _json(evidence, resource, "read"):
        if evidence.is_missing(resource.name, exchange.request.identifier):
            continue
        data = body.get("data") if isinstance(body, dict) else None
        yield decide(exchange, "data, an object", shown(data, own=False), kept=isinstance(data, dict), at="/data")


def create_answers_the_id(evidence: Evidence, resource: Resource) -> Observations:
    """Creates that succeeded."""
    yield from _ids(evidence, resource, "create")


def update_answers_the_id(evidence: Evidence, resource: Resource) -> Observations:
    """Updates that succeeded."""
    yield from _ids(evidence, resource, "update")


def update_id_is_the_path_id(evidence: Evidence, resource: Resource) -> Observations:
    """Updates that returned an id."""
    for exchange in evidence.of(resource.name, "update"):
        if exchange.made_id is not None:
            kept = exchange.made_id == exchange.request.identifier
            yield decide(
                exchange, f"id {exchange.request.identifier}", f"id {exchange.made_id}", kept=kept, at="/data/id"
            )


def no_byte_order_mark(evidence: Evidence, resource: Resource) -> Observations:
    """Successes with a body."""
    for exchange in _with_body(evidence, resource, "list", "read", "create", "update"):
        yield decide(
            exchange, "JSON from the first byte on", "a byte order mark", kept=not exchange.body.startswith(BOM)
        )


def _with_body(evidence: Evidence, resource: Resource, *operations: str) -> Iterator[Exchange]:
    return (exchange for exchange in evidence.of(resource.name, *operations) if exchange.succeeded)


def _json(evidence: Evidence, resource: Resource, *operations: str) -> Iterator[tuple[Exchange, Any]]:
    for exchange in _with_body(evidence, resource, *operations):
        if exchange.json is not None and not exchange.is_refusal_in_disguise:
            yield exchange, exchange.json


def _links(evidence: Evidence, resource: Resource, *names: str) -> Iterator[tuple[Exchange, str, bool, Any]]:
    for exchange, body in _json(evidence, resource, "list"):
        links = body.get("links") if isinstance(body, dict) else None
        for name in names:
            there = isinstance(links, dict) and name in links
            yield exchange, name, there, links[name] if isinstance(links, dict) and there else None


def _ids(evidence: Evidence, resource: Resource, operation: str) -> Observations:
    for exchange, body in _json(evidence, resource, operation):
        data = body.get("data") if isinstance(body, dict) else None
        value = data.get("id") if isinstance(data, dict) else None
        received = f"data.id {shown(value, own=True)}" if isinstance(data, dict) else f"data {shown(data, own=True)}"
        yield decide(exchange, "data.id, an integer", received, kept=is_integer(value), at="/data/id")
