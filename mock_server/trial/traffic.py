"""What a client sent to a mock, and what of it another server would have answered differently."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from link_management_contract import Contract, Resource
from mock_server.control import Control
from mock_server.control.instance import Instance
from mock_server.errors import REFUSAL
from mock_server.http.context import KEY, scheme_and_key
from mock_server.http.gateway import WsgiSite, call_wsgi
from mock_server.settings.settings import SANDBOX_PREFIX, Settings

METHODS = {"list": "GET", "create": "POST", "read": "GET", "update": "POST", "delete": "DELETE"}
MAX_PER_KIND, MAX_BYTES, MIN_BYTES = 200, 64 * 2**20, 1000  # requests that are kept, with their bodies
AROUND_TEST_NAME = re.compile(rf"^{SANDBOX_PREFIX}|-[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$")  # in a key
REQUEST_KEYS = (KEY, REFUSAL, "wsgi.input")


@dataclass(frozen=True)
class Operation:
    """An operation that a request calls, and the id in its path, if any."""

    resource: Resource
    name: str
    identifier: str = ""

    def __str__(self) -> str:
        """Its method and path, for people."""
        return f"{METHODS[self.name]} {self.resource.paths[self.name]}"


class Operations:
    """The operations of a contract.

    Args:
        contract: the contract.
        base_path: the prefix of `/api`.
    """

    def __init__(self, contract: Contract, base_path: str) -> None:
        self._patterns = [
            (
                f"{METHODS[name]} {re.escape(base_path + path.rstrip('/'))}/?".replace(r"\{id\}", "([^/]+)"),
                resource,
                name,
            )
            for resource in contract.resources.values()
            for name, path in resource.paths.items()
        ]

    def operation_of(self, method: str, path: str) -> Operation | None:
        for pattern, resource, name in self._patterns:
            if match := re.fullmatch(pattern, f"{method} {path}"):
                return Operation(resource, name, "".join(match.groups()))
        return None


@dataclass(frozen=True)
class Request:
    """A request as it came."""

    environ: Mapping[str, Any]
    body: bytes
    is_control: bool

    @property
    def line(self) -> tuple[str, str]:
        """Its method and path."""
        return self.environ["REQUEST_METHOD"], self.environ["PATH_INFO"]

    def belongs_to(self, tests: Iterable[str]) -> bool:
        """Whether its key is that of a sandbox whose name is in the name of one of some tests."""
        test_name = _letters(AROUND_TEST_NAME.sub("", scheme_and_key(self.environ)[1]))
        return bool(test_name) and any(test_name in _letters(test) for test in tests)

    def fresh_environ(self) -> WSGIEnvironment:
        """The same request, to be answered once more."""
        return {**self.environ, "wsgi.input": BytesIO(self.body)}


class Tap:
    """Keeps the requests to a site, within bounds, and lets something happen before each request to its API.

    Args:
        operations: what requests call.
        before: takes a request to the API.

    Attributes:
        requests: those that are kept.
        count: how many there were to the API.
    """

    def __init__(self, operations: Operations, before: Callable[[WSGIEnvironment], None]) -> None:
        self._operations, self._before = operations, before
        self.requests, self._kinds = list[Request](), Counter[str]()
        self.count = self._bytes = 0

    def attach(self, wsgi_site: WsgiSite) -> WsgiSite:
        self._wsgi_site, self.is_control, self.body_limit = wsgi_site, wsgi_site.is_control, wsgi_site.body_limit
        return self

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        is_control = self.is_control(environ)
        if not is_control:
            self.count += 1
            self._before(environ)
        if not is_control or environ["REQUEST_METHOD"] != "GET":
            body = environ["wsgi.input"].read()
            environ["wsgi.input"] = BytesIO(body)
            self._keep({name: value for name, value in environ.items() if name not in REQUEST_KEYS}, body, is_control)
        return self._wsgi_site(environ, start_response)

    def _keep(self, environ: WSGIEnvironment, body: bytes, is_control: bool) -> None:  # noqa: FBT001 - as in Request
        """Keep a request, unless many like it are kept, so that rare ones always have room."""
        path, size = environ["PATH_INFO"], MIN_BYTES + len(body)
        kind = str(self._operations.operation_of(environ["REQUEST_METHOD"], path) or path)
        if self._kinds[kind] < MAX_PER_KIND and self._bytes + size <= MAX_BYTES:
            self.requests.append(Request(environ, body, is_control))
            self._kinds[kind] += 1
            self._bytes += size


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def differing(
    requests: Sequence[Request], settings: Settings, other_settings: Iterable[Mapping[str, Any]]
) -> Iterator[int | None]:
    """For each other mock, the number of the first request that it answers differently, counted from 0, or None.

    Args:
        requests: what a client sent, in order.
        settings: those of the mock that it was sent to.
        other_settings: the settings in which each other mock differs.
    """
    settings = replace(settings, journal=0, clock=None)
    site_class = Control if any(request.is_control for request in requests) else Instance
    usual = list(_answers(site_class(settings), requests))
    for other in other_settings:  # a server of its own, because the client may reset it
        answers = zip(usual, _answers(site_class(replace(settings, **other)), requests), strict=True)
        yield next((number for number, (usual_answer, answer) in enumerate(answers) if answer != usual_answer), None)


def _answers(wsgi_site: WsgiSite, requests: Sequence[Request]) -> Iterator[tuple[Any, ...]]:
    """The answers to requests, one after another; those of the control plane are alike."""
    for request in requests:
        start, body = call_wsgi(wsgi_site, request.fresh_environ())
        yield () if request.is_control else (start["status"], start["headers"], b"".join(body))
