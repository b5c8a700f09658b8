"""Answers that tests force on other clients' requests: by a `Prefer` header, or with a status and body of their own."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from dataclasses import field as attribute
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import Any, TypeVar

from werkzeug.wrappers import Response

from link_management_contract import Resource
from mock_server.errors import Refusal, SettingsError
from mock_server.faults.preferences import Preferred, preferences_of

FORCED = "mock_server.forced"  # key in a request's environment: the answer that is forced on it
MOST, MOST_HEADERS = 100, 50
LONGEST_BODY = 2**20  # bytes of JSON
DEEPEST = 100  # levels of a body
METHODS = ("*", "GET", "POST", "DELETE", "PUT", "PATCH", "HEAD")
LEAST_STATUS, MOST_STATUS = 200, 599
WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT, HTTPStatus.NOT_MODIFIED)
TOKEN = re.compile(r"[!#$%&'*+.^_`|~\w-]{1,100}", re.ASCII)
HEADER = re.compile(r"[ -~]{0,4000}")
OF_THE_CONNECTION = frozenset({"connection", "content-length", "date", "transfer-encoding", "upgrade"})
WILD = re.compile(r"[*?\[]")
QUERY = re.compile(r"\?[\w.]+=")


Result = TypeVar("Result")


@dataclass(frozen=True)
class Forced:
    """An answer that is forced.

    Attributes:
        prefer: as in a `Prefer` header: `code=429`, `delay=2`, `lost=after`, `defect=NAME`.
        status: the status of an answer of its own, or None.
        headers: further headers of the answer.
        body: its JSON, or a text if `headers` name another media type; None if it has no body of its own.
        field: the form field that the answer reports as wrong, or an empty string.
        method: the method of requests that match, or `*`.
        path: their path, with `*` for anything.
        account: the name of their account, with `*` for anything.
        times: how often it is used, or None to use it until it is removed.
    """

    prefer: str = ""
    status: int | None = None
    headers: Mapping[str, str] = attribute(default_factory=dict)
    body: Any = None
    field: str = ""
    method: str = "*"
    path: str = "*"
    account: str = "*"
    times: int | None = 1
    number: int = 0

    @property
    def what(self) -> str:
        """What it does, for people."""
        told = [self.prefer] if self.prefer else []
        told += [f"status={self.status}"] if self.status else []
        told += [f"field={self.field}"] if self.field else []
        told += [f"{name}: {value}" for name, value in self.headers.items()]
        told += ["with a body"] if self.body is not None else []
        return ", ".join(told)

    @property
    def preferred(self) -> Preferred:
        """What it asks for besides an answer of its own."""
        return preferences_of(self.prefer)

    def matches(self, method: str, path: str, account: str) -> bool:
        """Whether it is forced on a request."""
        return (
            self.method.upper() in ("*", method) and fnmatchcase(path, self.path) and fnmatchcase(account, self.account)
        )

    def refusal(self, usual: str) -> Refusal | None:
        """The refusal of a form field, with the usual status of those unless it has another; None without a field."""
        if not self.field:
            return None
        title = f'The field "{self.field}" is refused, because a test asked for that.'
        return Refusal(str(self.status or usual), title, field=self.field, mistake=False)

    def response(self) -> Response | None:
        """The answer of its own, or None."""
        if self.field or (self.status is None and self.body is None):
            return None
        own = {name.lower(): value for name, value in self.headers.items()}
        is_text = isinstance(self.body, str) and not own.get("content-type", "application/json").startswith(
            "application/json"
        )
        content = "" if self.body is None else self.body if is_text else json.dumps(self.body, ensure_ascii=False)
        answer = Response(content, self.status or HTTPStatus.OK, content_type="application/json")
        if not content:
            del answer.headers["Content-Type"]
        return answer


@dataclass
class State:
    """The answers that are forced at present, and how many ever were."""

    every: list[Forced] = attribute(default_factory=list)
    count: int = 0

    def add(self, forced: Forced) -> Forced:
        """Force an answer, which gets a number.

        Raises:
            SettingsError: if there are too many.
        """
        if len(self.every) >= MOST:
            raise SettingsError(f"{MOST} answers are forced already; take some back")
        self.count += 1
        self.every.append(replace(forced, number=self.count))
        return self.every[-1]

    def take(self, method: str, path: str, account: str) -> Forced | None:
        """The first that matches a request, or None; it then counts as used."""
        for position, forced in enumerate(self.every):
            if forced.matches(method, path, account):
                if forced.times == 1:
                    del self.every[position]
                elif forced.times:
                    self.every[position] = replace(forced, times=forced.times - 1)
                return forced
        return None

    def keep(self, is_kept: Callable[[Forced], bool]) -> None:
        """Remove the others."""
        self.every = list(filter(is_kept, self.every))


class ForcedAnswers:
    """All answers that are forced at present; the first that matches a request is used.

    Args:
        resources: whose paths requests may have.
        base_path: the prefix of all paths.
    """

    def __init__(self, resources: Collection[Resource], base_path: str) -> None:
        self._paths = {base_path + path.rstrip("/") for each in resources for path in each.paths.values()}
        self._base_path = base_path
        self._lock = threading.Lock()
        self._state = State()

    @property
    def every(self) -> list[Forced]:
        """All forced answers."""
        return list(self._state.every)

    def add(self, given: Any) -> Forced:
        """Force an answer.

        Args:
            given: an object with attributes of `Forced`, at least one of which says what to answer.

        Raises:
            SettingsError: if it is invalid, or can match no request.
        """
        forced = Forced(**_checked(given))
        if problem := next(_problems(forced), "") or self._problem_of_path(forced.path):
            raise SettingsError(problem)
        return self._change(lambda state: state.add(forced))

    def _problem_of_path(self, pattern: str) -> str:
        """Why no request could ever have a path, or an empty string."""
        literal = WILD.split(pattern, maxsplit=1)[0]
        known = any(_may_be(path, literal, whole=literal == pattern) for path in self._paths)
        if known and not QUERY.search(pattern):
            return ""
        example = f"{self._base_path}/api/domains/*"
        return f'"path" is "{pattern}", which no request to this API has; give one such as {example}, without a query'

    def take(self, method: str, path: str, account: str) -> Forced | None:
        """The answer that is forced on a request, or None; it then counts as used."""
        if not any(each.matches(method, path, account) for each in self.every):
            return None
        return self._change(lambda state: state.take(method, path, account))

    def remove(self, number: int | None = None) -> None:
        """Remove one forced answer, or all."""
        self._change(lambda state: state.keep(lambda each: number is not None and each.number != number))

    def remove_of(self, account: str) -> None:
        """Remove those that are forced on one account alone."""
        self._change(lambda state: state.keep(lambda each: each.account != account))

    def _change(self, change: Callable[[State], Result]) -> Result:
        """Change what is forced, with no other change in between."""
        with self._lock:
            return change(self._state)


def _checked(given: Any) -> dict[str, Any]:
    """The attributes that are given.

    Raises:
        SettingsError: if one is unknown, or of another type.
    """
    names = [name for name in asdict(Forced()) if name != "number"]
    answers = ("prefer", "status", "headers", "body", "field")
    if not isinstance(given, dict) or set(given) - set(names) or not set(given) & set(answers):
        raise SettingsError(
            f"expected an object with one or more of {', '.join(answers)}, which say what to answer, and perhaps"
            f" {', '.join(names[len(answers) :])}, no others"
        )
    for name in ("prefer", "field", "method", "path", "account"):
        value = given.get(name)
        if value is not None and not (isinstance(value, str) and value.isprintable()):
            raise SettingsError(f'"{name}" is {value!r}; expected a text')
    return {name: value for name, value in given.items() if value is not None or name in ("times", "body")}


def _problems(forced: Forced) -> Iterator[str]:
    """Why an answer cannot be forced."""
    if forced.times is not None and (type(forced.times) is not int or forced.times < 1):
        yield f'"times" is {forced.times!r}; expected 1 or more, or null for ever'
    if forced.method.upper() not in METHODS:
        yield f'"method" is "{forced.method}"; expected one of {", ".join(METHODS)}'
    try:
        preferred = forced.preferred
    except ValueError as error:
        yield str(error)
        return
    status = forced.status
    if status is not None and (type(status) is not int or not LEAST_STATUS <= status <= MOST_STATUS):
        yield f'"status" is {status!r}; expected a number from {LEAST_STATUS} to {MOST_STATUS}'
    elif preferred.code and (status or forced.field or forced.body is not None):
        yield f'"prefer" asks for code={preferred.code}, and the answer is given, too; give "status" instead'
    elif not preferred.applied and not status and not forced.field and forced.body is None:
        yield 'nothing is forced; give "prefer" such as "code=429", or "status", "body" or "field"'
    elif forced.body is not None and (status in WITHOUT_BODY or forced.field):
        yield '"body" is given for an answer that has none of its own; leave it out'
    yield from _problems_of_headers(forced.headers)
    yield from _problems_of_body(forced.body)
    if forced.field and status and status < HTTPStatus.BAD_REQUEST:
        yield f'"status" is {status}, and a field is refused; give a status from 400 on'


def _problems_of_body(body: Any) -> Iterator[str]:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
        if len(text.encode()) > LONGEST_BODY or _is_deep(body):
            yield f'"body" is longer than {LONGEST_BODY:,} bytes of JSON, or nested too deep'
    except (ValueError, RecursionError) as error:  # a UnicodeError is a ValueError
        yield f'"body" cannot be written as JSON: {error}'


def _is_deep(body: Any) -> bool:
    """Whether JSON is nested deeper than is safe to write again and again."""
    level = [body]
    for _ in range(DEEPEST):
        level = [
            each
            for node in level
            for each in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
        ]
    return bool(level)


def _problems_of_headers(headers: Any) -> Iterator[str]:
    if not isinstance(headers, dict) or len(headers) > MOST_HEADERS:
        yield f'"headers" is not an object of at most {MOST_HEADERS} names with texts'
        return
    for name, value in headers.items():
        if not TOKEN.fullmatch(name) or not isinstance(value, str) or not HEADER.fullmatch(value):
            yield f'the header "{name}" is {value!r}; expected a name, and a text of visible ASCII characters'
        elif name.lower() in OF_THE_CONNECTION:
            yield f'the header "{name}" is the server\'s own; leave it out'


def _may_be(path: str, literal: str, *, whole: bool) -> bool:
    """Whether a documented path, with any id, may begin with a text, or be it."""
    prefix, brace, _ = path.partition("{")
    literal = literal if literal == "/" or not whole else literal.rstrip("/")
    identifier = literal.removeprefix(prefix) if brace and literal.startswith(prefix) else ""
    if whole:
        return literal == path if not brace else identifier.isdecimal()
    return path.startswith(literal) or f"{path}/" == literal or identifier.isdecimal()
