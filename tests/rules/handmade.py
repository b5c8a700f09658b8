"""Hand-made exchanges: answers of a small account as a correct server gives them, and what a rule says of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from golden_findings import FINDINGS

from contract_tests.evidence.evidence import Evidence, Listing
from contract_tests.evidence.exchange import OWN_KEY, Exchange, Expect, FormValue, Request
from contract_tests.evidence.multipart import USUAL, FormStyle
from contract_tests.evidence.observation import NotApplicable, Satisfied, Violation
from contract_tests.verdicts.verdicts import observe
from link_management_contract import Resource, shipped_contract

CONTRACT = shipped_contract()
S, D, N = (CONTRACT.resources[name] for name in ("splash-pages", "domains", "notification-handlers"))
BASE_URL = "https://links.example.com/prefix"
TIME = "2026-03-02 09:00:00"
NUMBERS = count(1)
SHAPES = {name: resource.record_schema for name, resource in CONTRACT.resources.items()}
UNSET = {"string": "", "integer": 0, "boolean": False}  # what a field holds that a record below does not name
NEVER_UNSET = {"id", "settings", "datetime", "last_datetime"}


def record(resource: Resource, identifier: int, **values: Any) -> dict[str, Any]:
    """A record that was never updated."""
    known: dict[str, dict[str, Any]] = {
        S.name: {"name": f"Page {identifier}", "color": "#5A6fd8"},
        D.name: {
            "scheme": "https://",
            "host": f"d{identifier}.example.com",
            "is_enabled": False,
        },
        N.name: {
            "type": "slack",
            "name": f"Handler {identifier}",
            "settings": {"url": "https://a"},
            "is_enabled": True,
        },
    }
    shape = SHAPES[resource.name].items()
    later = {name: UNSET[schema["type"]] for name, schema in shape if name not in NEVER_UNSET}
    return {"id": identifier, **later, **known[resource.name], "last_datetime": None, "datetime": TIME, **values}


def answer(  # noqa: PLR0913 - whatever an exchange may have
    operation: str,
    body: Any = None,
    resource: Resource = D,
    *,
    status: int | None = 200,
    query: Mapping[str, str] | None = None,
    form: Mapping[str, FormValue] | None = None,
    raw: bytes | None = None,
    identifier: int | None = None,
    expects: Expect = Expect.SUCCESS,
    identity: str = OWN_KEY,
    path: str = "",
    redirects: tuple[tuple[int, str], ...] = (),
    attempts: tuple[int | None, ...] = (),
    shape: FormStyle = USUAL,
) -> Exchange:
    """An exchange; each has a higher number than the one before."""
    method = {"list": "GET", "read": "GET", "delete": "DELETE"}.get(operation, "POST")
    path = path or {"list": resource.list_path, "create": resource.create_path}.get(
        operation, f"{resource.record_path}{identifier}"
    )
    pairs = tuple((query or {}).items())
    request = Request(
        operation, resource.name, method, path, pairs, form, identity, identifier, expects, form_style=shape
    )
    content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    return Exchange(request, next(NUMBERS), status, {}, content, attempts=attempts, redirects=redirects)


def page(  # noqa: PLR0913 - likewise
    rows: Iterable[Mapping[str, Any]] = (),
    resource: Resource = D,
    *,
    total: int | None = None,
    query: Mapping[str, str] | None = None,
    expects: Expect = Expect.SUCCESS,
    change: Mapping[str, Any] | None = None,
) -> Exchange:
    """A list as a correct server answers it; `change` puts other values at places such as `/meta/total`.

    Args:
        rows: the records of the page.
        resource: of which resource.
        total: how many there are in all; as many as on the page, if None.
        query: what was asked.
        expects: as for a request.
        change: values by place; `...` leaves the key out.
    """
    rows = list(rows)
    total, asked = len(rows) if total is None else total, dict(query or {})
    number, size = int(asked.get("page", 1)), int(asked.get("results_per_page", 25))
    pages = -(-total // size)
    start = f"{BASE_URL}/api/{resource.link_collection}?page="
    body: dict[str, Any] = {
        "data": rows,
        "meta": {"page": number, "results_per_page": size, "total": total, "total_pages": pages},
        "links": {
            "first": f"{start}1",
            "last": f"{start}{max(1, pages)}",
            "next": f"{start}{number + 1}" if number < pages else None,
            "prev": f"{start}{number - 1}" if 1 < number <= pages else None,
            "self": f"{start}{number}",
        },
    }
    return answer("list", changed(body, change or {}), resource, query=query, expects=expects)


def changed(body: Any, change: Mapping[str, Any]) -> Any:
    """A copy of a body with other values at some places."""
    body = copy.deepcopy(body)
    for place, value in change.items():
        *above, last = place.strip("/").split("/")
        node = body
        for step in above:
            node = node[int(step) if isinstance(node, list) else step]
        if value is ...:
            del node[last]
        else:
            node[int(last) if isinstance(node, list) else last] = value
    return body


def read(shown: Mapping[str, Any], resource: Resource = D, **more: Any) -> Exchange:
    """A read that shows a record, at its own id unless another is given."""
    return answer("read", {"data": shown}, resource, **{"identifier": shown.get("id"), **more})


def made(identifier: int, form: Mapping[str, FormValue], resource: Resource = D, **more: Any) -> Exchange:
    """A create that answers an id."""
    return answer("create", {"data": {"id": identifier}}, resource, form=form, **{"status": 201, **more})


def written(identifier: int, form: Mapping[str, FormValue], resource: Resource = D, **more: Any) -> Exchange:
    """An update that answers the id of its path."""
    return answer("update", {"data": {"id": identifier}}, resource, form=form, identifier=identifier, **more)


def deleted(identifier: int, resource: Resource = D, **more: Any) -> Exchange:
    """A delete that is carried out."""
    return answer("delete", None, resource, identifier=identifier, **{"status": 204, **more})


def listing(*pages: Exchange, complete: bool = True) -> Listing:
    """A collection that was read by these pages."""
    return Listing(tuple(each.page for each in pages if each.page), complete)


def rows(resource: Resource, *identifiers: int) -> list[dict[str, Any]]:
    return [record(resource, identifier) for identifier in identifiers]


def visit(*exchanges: Exchange, **more: Any) -> Evidence:
    """The evidence of a visit with these exchanges; what is given by resource stands beside nothing of others."""
    evidence = Evidence(D, BASE_URL, list(exchanges))
    for name, value in more.items():
        [only] = value.values() if isinstance(value, dict) else [value]
        setattr(evidence, name, only)
    return evidence


def said(rule: str, evidence: Evidence, resource: Resource = D) -> str:
    """What a rule says, a letter for each observation: Satisfied, Violation, Undecided or NotApplicable.

    Its texts must be among those that somebody has read, in `tests/golden/findings.txt` (`tests/golden_findings.py`).
    """
    observations = observe(CONTRACT.rules[rule], replace(evidence, resource=resource))
    for each in observations:
        if isinstance(each, (Satisfied, Violation)):
            assert isinstance(each.exchange, Exchange), each
        if isinstance(each, Violation):
            more = [f"at {each.at}"] if each.at else []
            more += [f"{len(each.exchanges)} requests, {len(each.timeline)} lines"] if each.exchanges else []
            FINDINGS.check("; ".join([f"{rule}: expected {each.expected}", f"received {each.received}", *more]))
        elif isinstance(each, Satisfied):
            FINDINGS.check(f"{rule}: Satisfied")
        elif isinstance(each, NotApplicable) and each.unjudged:
            FINDINGS.check(f"{rule}: NotApplicable, {each.reason}; not judged: {each.unjudged}")
        else:
            FINDINGS.check(f"{rule}: {type(each).__name__}, {each.reason}")
    return "".join(type(each).__name__[0] for each in observations)
