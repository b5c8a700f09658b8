"""What answers hold: records, pages with their links, and errors."""

import json
import logging
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from html import escape
from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIEnvironment

from flask import Flask, Response, redirect, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.wrappers import Request
from werkzeug.wrappers import Response as AnyResponse

from link_management_contract import Contract, Field, Resource
from link_management_contract.texts import printable
from mock_server.errors import Refusal
from mock_server.http.context import context_of, scheme_and_key
from mock_server.http.lean_flask import PreparedResponse
from mock_server.http.masking import masked_key, masked_pairs, masked_text
from mock_server.settings.choices import Choices
from mock_server.store.records import Record, Upload

HOURS_FROM_UTC = {"utc": 0, "ahead": 9, "behind": -5}
MEDIA_TYPES = {
    "json": "application/json",
    "charset": "application/json; charset=utf-8",
    "vendor": "application/vnd.api+json",
    "html": "text/html; charset=utf-8",
    "text": "text/plain; charset=utf-8",
}
_dumped = json.JSONEncoder(ensure_ascii=False).encode
NEVER_SET: Mapping[str, Any] = {"boolean": False, "integer": 0}  # what a field shows; a text is empty
GENERIC_KEYS = {"telegram": "token", "telegram_chat_id": "chat"}


class Representations:
    """Represents records, as the open points choose; the JSON of a record is written once and kept with it.

    Args:
        choices: the open points.
        vary_json: makes the last changes to JSON, if any.
    """

    def __init__(self, choices: Choices, vary_json: Callable[[Any], Any] | None = None) -> None:
        self._choices = choices
        self._vary_json = vary_json
        self._cache_key = object()  # of the JSON that is written with these choices

    def record(self, resource: Resource, record: Record) -> dict[str, Any]:
        fields: dict[str, Any] = {
            name: record.values.get(name, NEVER_SET.get(str(schema.get("type")), ""))
            for name, schema in resource.record_schema.items()
        }
        utc_offset = timedelta(hours=HOURS_FROM_UTC[self._choices["time-zone"]])
        fields["id"] = record.id
        fields["datetime"] = (record.created + utc_offset).isoformat(" ", "seconds")
        fields["last_datetime"] = record.updated and (record.updated + utc_offset).isoformat(" ", "seconds")
        if "settings" in fields:
            fields["settings"] = self._settings(resource, record)
        if "color" in fields and self._choices["hex-letters"] == "capital":
            fields["color"] = fields["color"].upper()
        if self._choices["splash-page-fields"] == "shown" and resource.name == "splash-pages":
            values = {name: record.values[name] for name in resource.fields if name in record.values}
            fields |= {name: value.name if isinstance(value, Upload) else value for name, value in values.items()}
        return fields if self._choices["further-keys"] == "none" else self._extend(fields, kind=resource.name)

    def read(self, resource: Resource, record: Record) -> dict[str, Any]:
        return self._extend({"data": self.record(resource, record)}, version="1.0")

    def read_response(self, resource: Resource, record: Record, status: int = 200) -> Response:
        return self._enveloped(status, [self._text(resource, record)])

    def write_response(self, resource: Resource, record: Record, status: int) -> Response:
        if self._choices["write-answer"] == "record":
            return self.read_response(resource, record, status)
        return self._enveloped(status, [_dumped(self._extend({"id": record.id}, kind=resource.name))])

    def list_response(self, resource: Resource, records: list[Record], envelope_end: str) -> Response:
        """The answer that shows one page, with the JSON of what follows its records."""
        data = [", "] * (2 * len(records) - 1)
        cache_key = self._cache_key
        data[::2] = [
            cached[1] if (cached := record.json) and cached[0] is cache_key else self._text(resource, record)
            for record in records
        ]
        return self._enveloped(200, ["[", *data, "], ", envelope_end])

    def json(self, payload: Any, status: int) -> Response:
        return self._answer([_dumped(payload)], status)

    def _text(self, resource: Resource, record: Record) -> str:
        if record.json and record.json[0] is self._cache_key:
            return record.json[1]
        text = _dumped(self.record(resource, record))
        record.keep(self._cache_key, text)
        return text

    def _enveloped(self, status: int, data: list[str]) -> Response:
        """An answer whose envelope holds this, which is JSON in pieces; what follows `data` stands at its end."""
        version = ', "version": "1.0"' if self._choices["further-keys"] == "some" else ""
        return self._answer(['{"data": ', *data, version, "}"], status)

    def _answer(self, pieces: list[str], status: int) -> Response:
        """An answer with a JSON body in pieces, which are joined once, because they may be large."""
        is_escaped, is_sorted = self._choices["json-escapes"] == "escaped", self._choices["key-order"] == "sorted"
        if is_escaped or is_sorted or self._vary_json:
            payload = json.loads("".join(pieces))
            payload = self._vary_json(payload) if self._vary_json else payload
            pieces = [json.dumps(payload, ensure_ascii=is_escaped, sort_keys=is_sorted)]
        if is_escaped:
            pieces = [pieces[0].replace("/", "\\/")]
        body = "".join([*pieces, "\n"]).encode()
        return PreparedResponse(body, status, MEDIA_TYPES[self._choices["media-type"]])

    def _settings(self, resource: Resource, record: Record) -> dict[str, Any]:
        fields = [field for field in resource.fields.values() if field.applies_when and field.applies_to(record.values)]
        if record.values.get("type") == "email":
            return {field.name: record.values.get(field.name, "") for field in fields}
        return {
            self._settings_key(field): record.values.get(field.name, "" if self._unset == "empty" else None)
            for field in fields
            if field.name in record.values or self._unset != "absent"
        }

    @property
    def _unset(self) -> str:
        return self._choices["settings-unset"]

    def _settings_key(self, field: Field) -> str:
        if self._choices["settings-keys"] == "fields":
            return field.name
        if field.applies_when and field.applies_when[1] == field.name:
            return GENERIC_KEYS.get(field.name, "url")
        return GENERIC_KEYS.get(field.name, field.name)

    def _extend(self, members: dict[str, Any], **extra_members: Any) -> dict[str, Any]:
        return members | extra_members if self._choices["further-keys"] == "some" else members


HTML = "text/html; charset=utf-8"
LOGIN_PAGE = "<!doctype html><title>Log in</title><form><input name=email><input name=password></form>"
PAGE = "<!doctype html><title>{status}</title><h1>{title}</h1>"

log = logging.getLogger("mock_server")


class ErrorPages:
    """Turns errors into answers, all in the form that the open points choose.

    Args:
        choices: the open points.
        representations: writes JSON.
        base_path: the prefix of all paths.
    """

    def __init__(self, choices: Choices, representations: Representations, base_path: str) -> None:
        self._choices = choices
        self._representations = representations
        self._base_path = base_path

    def register(self, app: Flask) -> None:
        app.register_error_handler(Refusal, self.response)
        app.register_error_handler(HTTPException, self._http)
        app.register_error_handler(Exception, self._failure)

    def response(self, refusal: Refusal) -> AnyResponse:
        """The answer to a request that is not carried out."""
        answer = self._body(refusal)
        # Traceback frames hold the request, whose context holds the refusal; breaking the cycle frees all of it
        refusal.__traceback__ = refusal.__cause__ = refusal.__context__ = None
        if refusal.mistake:
            context_of(request.environ).refusal = refusal
        if refusal.status == HTTPStatus.UNAUTHORIZED:
            answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    def login_page(self) -> Response:
        return Response(LOGIN_PAGE, content_type=HTML)

    def _body(self, refusal: Refusal) -> AnyResponse:
        match refusal.body or self._choices["error-body"]:
            case "login" if refusal.status == HTTPStatus.FOUND:
                answer: AnyResponse = redirect(f"{self._base_path}/login")
            case "login":
                answer = self.login_page()
            case "html":
                page = PAGE.format(status=refusal.status, title=escape(refusal.title))
                answer = Response(page, refusal.status, content_type=HTML)
            case "empty":
                answer = Response(status=refusal.status)
            case "null":
                answer = self._representations.json({"data": None}, refusal.status)
            case "problem":
                answer = self._representations.json(refusal.as_dict(), refusal.status)
                answer.content_type = "application/problem+json"
            case _:
                answer = self._representations.json({"errors": [refusal.as_dict()]}, refusal.status)
        return answer

    def _http(self, error: HTTPException) -> AnyResponse:
        title = error.description or error.name
        allowed = ""
        if isinstance(error, NotFound):
            title = f'There is nothing at "{request.path}"; the API is under {self._base_path}/api/.'
        elif isinstance(error, MethodNotAllowed):
            allowed = ", ".join(sorted(set(error.valid_methods or ()) - {request.environ["REQUEST_METHOD"]}))
            title = f"{request.environ['REQUEST_METHOD']} is not for this path; try {allowed}."
            if request.path.rstrip("/").endswith("/api/splash-pages"):
                title = f"{title[:-1]}, or POST {self._base_path}/api/projects to create a splash page."
        answer = self.response(Refusal(str(error.code), title))
        if allowed:
            answer.headers["Allow"] = allowed
        return answer

    def _failure(self, error: Exception) -> AnyResponse:
        trace = "".join(traceback.format_exception(error))
        log.error("failed: %s", failure_text(request.environ, trace))
        return self.response(
            Refusal("500", "The server failed to answer this request; its log says why.", mistake=False)
        )


MAX_TRACE = 20_000  # characters of a traceback in the log


def failure_text(environ: WSGIEnvironment, trace: str) -> str:
    """Which request failed, and the end of a traceback, without the request's key."""
    key = scheme_and_key(environ)[1]
    path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
    target = printable(masked_pairs(masked_text(key, f"{environ['REQUEST_METHOD']} {path}")))
    for spelling in (key, repr(key)[1:-1]):
        trace = masked_key(spelling, trace.encode(errors="backslashreplace")).decode(errors="replace")
    return f"{target}\n{trace[-MAX_TRACE:]}"


NUMBER = re.compile(r"[0-9]{1,4000}", re.ASCII)
MAX_CACHED_LENGTH = 200  # characters of a query or a URL, for what is kept for the next request


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection that holds `total` records on `pages` pages; an empty one has none."""

    number: int
    size: int
    total: int
    pages: int


class Paging:
    """Pages collections, as the open points choose.

    Args:
        contract: the page sizes and defaults.
        choices: the open points.
    """

    def __init__(self, contract: Contract, choices: Choices) -> None:
        self._contract = contract
        self._choices = choices
        self._cached_query = lru_cache(256)(self._parse_query)  # clients ask for the same pages again and again
        self._cached_meta = lru_cache(256)(self._meta_and_links)

    def parse_query(self, query: bytes) -> tuple[int, int]:
        """The page number and size that a query asks for.

        Raises:
            Refusal: if one of them is invalid and this server refuses it.
        """
        return self._cached_query(query) if len(query) <= MAX_CACHED_LENGTH else self._parse_query(query)

    def _parse_query(self, query: bytes) -> tuple[int, int]:
        args = Request({"QUERY_STRING": query.decode("latin-1")}).args
        return self._number(args.get("page")), self._size(args.get("results_per_page"))

    def meta_and_links(self, page: Page, collection_url: str, record_count: int) -> str:
        """The JSON of a list envelope's `meta` and `links`, without its braces."""
        is_cacheable = len(collection_url) <= MAX_CACHED_LENGTH
        return (self._cached_meta if is_cacheable else self._meta_and_links)(page, collection_url, record_count)

    def _meta_and_links(self, page: Page, collection_url: str, record_count: int) -> str:
        extra_members = {"count": record_count} if self._choices["further-keys"] == "some" else {}
        return _dumped({"meta": self.meta(page) | extra_members, "links": self.links(page, collection_url)})[1:-1]

    def locate(self, number: int, size: int, total: int) -> Page:
        """The page to show when this one is asked for.

        Raises:
            Refusal: if it is past the last page and this server refuses it.
        """
        pages = -(-total // size)
        if number > max(pages, 1) and self._choices["page-past-the-end"] != "empty":  # page 1 is always there
            if self._choices["page-past-the-end"] == "404":
                raise Refusal("404", f"There is no page {number}; the last is {pages}.", field="page")
            number = max(pages, 1)
        return Page(number, size, total, pages)

    def meta(self, page: Page) -> dict[str, int]:
        pages = page.pages or int(self._choices["empty-collection-pages"])
        return {"page": page.number, "results_per_page": page.size, "total": page.total, "total_pages": pages}

    def links(self, page: Page, collection_url: str) -> dict[str, str | None]:
        """The list envelope's `links`, each the collection's URL with only a page number."""
        start = collection_url + ("?&page=" if self._choices["link-query"] == "ampersand" else "?page=")
        pages, before = page.pages, min(page.number - 1, page.pages)
        return {
            "first": f"{start}1",
            "last": f"{start}{pages or self._choices['empty-collection-last']}",
            "next": f"{start}{page.number + 1}" if page.number < pages else None,
            "prev": f"{start}{before}" if before else None,
            "self": f"{start}{page.number}",
        }

    def _number(self, text: str | None) -> int:
        if text is None:
            return self._contract.default_page
        if NUMBER.fullmatch(text) and int(text) >= 1:
            return int(text)
        if self._choices["odd-page"] == "first":
            return 1
        raise Refusal(self._choices["odd-page"], f'No page "{text}"; pages are numbered from 1.', field="page")

    def _size(self, text: str | None) -> int:
        sizes = self._contract.page_sizes
        if text is not None and text in map(str, sizes):
            return int(text)
        if text is None or self._choices["size-not-allowed"] == "default":
            return self._contract.default_page_size
        if self._choices["size-not-allowed"] == "nearest":
            requested = int(text) if NUMBER.fullmatch(text) else 0
            return min(sizes, key=lambda size: abs(size - requested))
        raise Refusal(
            self._choices["size-not-allowed"],
            f'No page size "{text}"; the sizes are {", ".join(map(str, sizes))}.',
            "pagination.other-sizes-are-not-used",
            "results_per_page",
        )
