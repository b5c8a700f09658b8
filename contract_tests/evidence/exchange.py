"""Requests and their answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from contract_tests.evidence.multipart import USUAL, FormStyle
from link_management_contract import Resource
from link_management_contract.texts import printable

FileContent = tuple[str, bytes, str]
FormValue = str | FileContent

TRIES = 3  # how often a failing request is sent before its failure counts
METHODS = {"list": "GET", "read": "GET", "create": "POST", "update": "POST", "delete": "DELETE"}
OPERATIONS = tuple(METHODS)
WRITES = tuple(operation for operation, method in METHODS.items() if method != "GET")
REJECTED = {400, 404, 405, 415, 422, 501}  # statuses that say that the request itself is wrong
FORM_REJECTED = REJECTED | {413}  # statuses that say that a form is wrong, or too long
GATEWAYS = (502, 503, 504)  # what answers them may be in front of the server
OWN_KEY = "the account's key"
OTHER = "another account's key"


class Expect(StrEnum):
    """The answer that a request should get.

    Attributes:
        SUCCESS: a success: the contract documents the request, and no reason against it is known.
        REFUSAL: any but a success.
        OPEN: any.
        ORDINARY: any but a failure of the server: what is sent is ordinary, and may be refused, cut or trimmed.
        OVERLOOKED: any, and no rule considers it; only ever set afterwards.
    """

    SUCCESS = "success"
    REFUSAL = "refusal"
    OPEN = "open"
    ORDINARY = "no failure"
    IGNORED = "overlooked"


@dataclass(frozen=True)
class Request:
    """A request to one of the contract's paths.

    Attributes:
        operation: `list`, `read`, `create`, `update` or `delete`; `follow` for a page link.
        path: relative to the base URL, beginning with `/api/`.
        query: names and values, in order.
        form: the fields of a form, files as name, content and media type; None if there is no form.
        identifier: the id in the path, if there is one.
        expects: the answer it should get, as far as was known when it was sent.
        body: a content type and a body that is sent as it is, instead of a form.
    """

    operation: str
    resource: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    form: Mapping[str, FormValue] | None = None
    identity: str = OWN_KEY
    identifier: int | None = None
    expects: Expect = Expect.SUCCESS
    body: tuple[str, bytes] | None = None
    form_style: FormStyle = USUAL

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def params(self) -> dict[str, str]:
        return dict(self.query)


def request_of(
    resource: Resource, operation: str, identifier: int | str = "", expects: Expect = Expect.SUCCESS, **options: Any
) -> Request:
    """A documented request; a text as an id stands for one that no record has."""
    paths = {"list": resource.list_path, "create": resource.create_path}
    path = paths.get(operation, f"{resource.record_path}{identifier}")
    record_id = identifier if isinstance(identifier, int) else None
    return Request(operation, resource.name, METHODS[operation], path, identifier=record_id, expects=expects, **options)


@dataclass(frozen=True)
class Exchange:
    """A request with its last answer.

    Attributes:
        number: its position in the run, counted from 1; 0 if it was not to be sent.
        was_sent: whether it may have reached the server, at this try or an earlier one.
        status: the HTTP status, or None if no answer came.
        error: why no answer came.
        attempts: the statuses of earlier tries that failed, None for those without an answer.
        redirects: the status and `Location` of each redirect on the way.
        started_at: when it was sent, in seconds since 1970.
        seconds: how long the answer took.
        timed_out: whether no answer came in time.
        overlapped: for each try, the last one included, whether other requests of the run were under way meanwhile.
        judged_as: the answer it should get by what became known later, or None if that changes nothing.
        is_usual: whether it failed as each other request of its kind does, and so was sent only once.
        trace: the id under which the server's own traces may hold it (W3C Trace Context); empty if it carried none.
    """

    request: Request
    number: int
    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: str = ""
    attempts: tuple[int | None, ...] = ()
    redirects: tuple[tuple[int, str], ...] = ()
    started_at: float = 0.0
    seconds: float = 0.0
    timed_out: bool = False
    overlapped: tuple[bool, ...] = ()
    judged_as: Expect | None = None
    is_usual: bool = False
    trace: str = ""
    was_sent: bool = True

    @property
    def expects(self) -> Expect:
        return self.judged_as or self.request.expects

    @property
    def succeeded(self) -> bool:
        return self.status is not None and HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def is_server_error(self) -> bool:
        return self.status is not None and self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

    @property
    def failed(self) -> bool:
        """Whether no answer came, or one that reports a failure of the server or a gateway."""
        return self.status is None or self.is_server_error

    @property
    def status_text(self) -> str:
        """The status, or why there is none, in few words."""
        return f"no answer: {self.error[:100]}" if self.status is None else f"status {self.status}"

    def after(self, earlier: Exchange) -> Exchange:
        """The same with an earlier exchange among its tries."""
        attempts = (*earlier.attempts, earlier.status)
        return replace(self, attempts=attempts, overlapped=earlier.overlapped + self.overlapped)

    @property
    def fails_alone(self) -> list[bool]:
        """For each try that the server answered with a failure of its own, whether no other request was under way."""
        tries = zip((*self.attempts, self.status), self.overlapped, strict=False)
        return [not was_shared for status, was_shared in tries if status is not None and is_server_failure(status)]

    @cached_property
    def json(self) -> Any:
        """The body as JSON, or None if it is not JSON; a byte order mark is ignored."""
        return read_json(self.body)

    @property
    def data(self) -> Any:
        return self.json.get("data") if isinstance(self.json, dict) else None

    @property
    def is_refusal_in_disguise(self) -> bool:
        """Whether an answer with a success status holds errors instead of data."""
        body = self.json
        return isinstance(body, dict) and "data" not in body and bool(body.get("error") or body.get("errors"))

    @property
    def is_accepted(self) -> bool:
        """Whether an answer reports that the request was carried out, by its status and its body."""
        return self.succeeded and not self.is_refusal_in_disguise

    @property
    def is_refusal(self) -> bool:
        """Whether an answer reports that the request was not carried out, by its status or in disguise."""
        client_error = (
            self.status is not None and HTTPStatus.BAD_REQUEST <= self.status < HTTPStatus.INTERNAL_SERVER_ERROR
        )
        return client_error or self.is_refusal_in_disguise

    @property
    def record(self) -> dict[str, Any] | None:
        data = self.data
        return data if self.succeeded and isinstance(data, dict) and _names_record(data.get("id")) else None

    def shows(self, resource: Resource) -> bool:
        """Whether a read shows a record, whatever its status: more than an id, and fields that are not all empty."""
        record = self.data if isinstance(self.data, dict) and _names_record(self.data.get("id")) else {}
        is_identified = record.get("id") == self.request.identifier or record.get(resource.label)
        return bool(is_identified) and any(record.get(name) for name in resource.record_schema if name != "id")

    @cached_property
    def page(self) -> Page | None:
        """The page that a list returned, or None if it cannot be read."""
        return _page_of(self)

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """The records that a list or a read shows."""
        return tuple(self.page.rows) if self.page else (self.record,) if self.record else ()

    def documented_if_accepted(self, resource: Resource) -> Exchange:
        """This exchange, treated as documented if the request might have been refused and was accepted."""
        size = self.request.params.get("results_per_page", str(resource.default_page_size))
        page = (self.page or _page_of(self, rows_too=False)) if size in map(str, resource.page_sizes) else None
        accepted = {
            "list": page is not None and page.number > 0 and page.exists,
            "read": self.record is not None,
        }.get(self.request.operation, self.made_id is not None)
        return replace(self, judged_as=Expect.SUCCESS) if accepted else self

    @property
    def made_id(self) -> int | None:
        """The id that a create or update returned, or None."""
        identifier: Any = self.data.get("id") if self.succeeded and isinstance(self.data, dict) else None
        return int(identifier) if is_integer(identifier) else None


def is_server_failure(status: int) -> bool:
    """Whether a status says that the server itself failed, not a gateway before it, and not for being too busy."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in GATEWAYS


def id_of(record: Any) -> Any:
    """The id of a record, or None if it has none that can be compared."""
    identifier = record.get("id") if isinstance(record, dict) else None
    if (
        isinstance(identifier, str)
        and len(identifier) <= MAX_NUMBER_DIGITS
        and identifier.isdecimal()
        and identifier.isascii()
    ):
        return int(identifier)  # still a number, which tells records apart
    return identifier if isinstance(identifier, (int, float, str)) else None


def whole_id(record: Any) -> int | None:
    """The id of a record as the whole number that a path can name, even if JSON shows it as text; or None."""
    identifier = id_of(record)
    return int(identifier) if is_integer(identifier) else None


def is_integer(value: Any) -> bool:
    """Whether a JSON value is a whole number; `12.0` is one, `true` is not."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _names_record(identifier: Any) -> bool:
    return is_integer(identifier) or (isinstance(identifier, str) and identifier.isdecimal())


def _page_of(exchange: Exchange, *, rows_too: bool = True) -> Page | None:
    body = exchange.json
    if exchange.request.operation != "list" or not exchange.succeeded or not isinstance(body, dict):
        return None
    rows, meta, links = (body.get(name) for name in ("data", "meta", "links"))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        if rows_too:
            return None
        rows = []
    params = exchange.request.params
    return Page(
        exchange=exchange,
        number=integer(params.get("page", "1")) if params.get("page", "1").isdecimal() else 0,
        size=integer(params["results_per_page"]) if params.get("results_per_page", "").isdecimal() else None,
        rows=tuple(rows),
        meta={name: int(value) for name, value in meta.items() if is_integer(value)} if isinstance(meta, dict) else {},
        links=links if isinstance(links, dict) else {},
    )


@dataclass(frozen=True)
class Page:
    """A list's answer, as far as it can be read.

    Attributes:
        number: the page that was asked for.
        size: the page size that was asked for, or None.
        rows: the listed records.
        meta: the integers that are present in `meta`.
    """

    exchange: Exchange
    number: int
    size: int | None
    rows: tuple[dict[str, Any], ...]
    meta: Mapping[str, int]
    links: Mapping[str, Any]

    @property
    def total(self) -> int | None:
        """The number of records in the collection, as the answer states it."""
        return self.meta.get("total")

    @property
    def page_count(self) -> int | None:
        """The number of pages for that total, at the page size that the answer states."""
        size = self.meta.get("results_per_page")
        if self.size not in (None, size) and self.exchange.expects is Expect.SUCCESS:
            return None
        return -(-self.total // size) if self.total is not None and size and size > 0 else None

    @property
    def exists(self) -> bool:
        """Whether the collection has records and this is one of its pages."""
        return bool(self.page_count) and self.number <= (self.page_count or 0)


MAX_NUMBER_DIGITS = 100  # digits; Python refuses to print numbers with several thousand of them
INTERNING_THRESHOLD = 20_000  # bytes
PART = re.compile(rb'[\[{]\s*["\[{\]}]')  # the beginning of an object or a list; in a text it hardly ever stands
MAX_PARTS = 100_000  # objects and lists in one answer; a page of 1000 records holds some 3000
DEEPEST = 40  # levels


def read_json(body: bytes) -> Any:
    """The value of a body, or None if it is no JSON that a reader has to be ready for; a byte order mark is ignored."""
    if has_too_many_parts(body):
        return None
    hook = _interned if len(body) > INTERNING_THRESHOLD else None
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=refuse_constant, parse_int=integer, object_pairs_hook=hook)
    except (ValueError, RecursionError):
        return None
    return None if _is_deep(value) else value


def has_too_many_parts(body: bytes) -> bool:
    """Whether JSON would take more memory than any list of this API has a use for."""
    return len(body) > MAX_PARTS and sum(1 for _ in PART.finditer(body)) > MAX_PARTS


def refuse_constant(constant: str) -> None:
    """Refuse what Python reads as JSON though it is none, such as NaN.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{constant} is not JSON")


def integer(digits: str) -> int:
    """A whole number; only the first digits count if there are more than anybody needs."""
    return int(digits[:MAX_NUMBER_DIGITS])


def _interned(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of equal ones the same, because a run reads the same records again and again."""
    try:
        return _cached_object(tuple(pairs), tuple(type(value) for _, value in pairs))  # 1, 1.0 and true are equal
    except TypeError:  # it holds lists or objects
        return dict(pairs)


@lru_cache(20_000)
def _cached_object(pairs: tuple[tuple[str, Any], ...], _: tuple[type, ...]) -> dict[str, Any]:
    return dict(pairs)


def _is_deep(value: Any) -> bool:
    """Whether JSON is nested more deeply than any record is, so that no reader has to be ready for it."""
    level = [value]
    for _ in range(DEEPEST):
        parts = [part for part in level if isinstance(part, dict | list)]
        level = [child for part in parts for child in (part.values() if isinstance(part, dict) else part)]
        if not level:
            return False
    return True


def without_id(exchange: Exchange) -> str:
    """The method and path of a request, without the id."""
    return f"{exchange.request.method} {printable(re.sub(r'[^/]*[0-9][^/]*$', 'ID', exchange.request.path))}"


def request_counts(exchanges: Iterable[Exchange]) -> dict[str, int]:
    """How many requests there are of each method and path, without ids; the most frequent first."""
    return dict(Counter(map(without_id, exchanges)).most_common())


def counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{request} ({count})" for request, count in counts.items())
