"""Effects: which requests get what, an answer or trouble; and how a request prefers one itself (RFC 7240)."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from dataclasses import field as attribute
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property, partial
from http import HTTPStatus
from time import time
from typing import Any, Protocol, TypeVar

from werkzeug.http import parse_list_header, unquote_header_value
from werkzeug.wrappers import Response

from link_management_contract import Resource
from mock_server.defects import DEFECTS
from mock_server.effects import conditions
from mock_server.errors import Refusal, SettingsError
from mock_server.http.messages import NAME_CHARACTER
from mock_server.settings.settings import FORWARDS, Settings, is_sandbox

SUPPORTED = ("code", "delay", "defect", "lost")
IGNORED = ("respond-async", "return", "wait", "handling")  # registered preferences that the mock ignores
MAX_PREFERENCES, MAX_DEFECTS = 20, 3  # preferences of one request
MAX_PREFER_LENGTH, MAX_DELAY = 2000, 60.0  # characters of a header, and seconds
STATUS = re.compile(r"[0-9]{3}")
SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(?:-(\d{1,9}(?:\.\d{1,9})?))?", re.ASCII)
MIN_CODE, MAX_CODE = 400, 599


@dataclass
class Preferred:
    """What one request prefers: which answer, after how many seconds, with which defects, or no answer at all."""

    code: int | None = None
    delay: float = 0.0
    lost: str = ""
    defects: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()


def preferences_of(header: str) -> Preferred:
    """Read a `Prefer` header.

    Raises:
        ValueError: if something in it is invalid; the message is one sentence for people.
    """
    preferred = Preferred()
    for name, value in _bounded(header):
        match name:
            case "code":
                preferred.code = _code(value)
            case "delay":
                preferred.delay = _delay(value)
            case "lost" if value in ("before", "after"):
                preferred.lost = value
            case "lost":
                raise ValueError(f'Prefer: lost is "{value}"; give before or after: when the connection is to break.')
            case "defect" if value in DEFECTS:
                preferred.defects += (value,)
            case "defect":
                close = get_close_matches(value, DEFECTS, n=2, cutoff=0.5)
                hint = f"did you mean {' or '.join(close)}?" if close else "`mock-server list defects` names them all."
                raise ValueError(f'Prefer: there is no defect "{value}"; {hint}')
            case _ if name in IGNORED:
                continue
            case _:
                raise ValueError(f'Prefer: the mock knows no preference "{name}"; it knows {", ".join(SUPPORTED)}.')
        preferred.applied += (f"{name}={value}",)
    return preferred


def _pairs(header: str) -> Iterator[tuple[str, str]]:
    """Names and values, without parameters after a semicolon, which have no meaning here."""
    for item in parse_list_header(header):
        name, _, value = item.partition(";")[0].partition("=")
        yield name.strip().lower(), unquote_header_value(value.strip())


def _bounded(header: str) -> list[tuple[str, str]]:
    """Names and values, unless there are too many: each defect may serve a request once more."""
    if header.count(",") >= MAX_PREFERENCES:
        raise ValueError(f"Prefer: {header.count(',') + 1} preferences are too many; give {MAX_PREFERENCES} at most.")
    if len(header) > MAX_PREFER_LENGTH:
        raise ValueError(f"Prefer: {len(header):,} characters are too many; give {MAX_PREFER_LENGTH:,} at most.")
    pairs = list(_pairs(header))
    defects = [value for name, value in pairs if name == "defect"]
    if len(defects) > MAX_DEFECTS or len(set(defects)) < len(defects):
        raise ValueError(f"Prefer: give {MAX_DEFECTS} defects at most, each once.")
    return pairs


def _code(value: str) -> int:
    if not STATUS.fullmatch(value) or not MIN_CODE <= int(value) <= MAX_CODE:
        raise ValueError(f'Prefer: code is "{value}"; give a status from {MIN_CODE} to {MAX_CODE}.')
    return int(value)


def _delay(value: str) -> float:
    """Seconds, those given or any between two that are."""
    match = SECONDS.fullmatch(value)
    min_seconds, max_seconds = (float(match[1]), float(match[2] or match[1])) if match else (-1.0, -1.0)
    if not 0 <= min_seconds <= max_seconds <= MAX_DELAY:
        raise ValueError(
            f'Prefer: delay is "{value}"; give seconds from 0 to {MAX_DELAY:g}, or a range such as 0.2-1.5.'
        )
    return random.uniform(min_seconds, max_seconds)  # noqa: S311 - no secret


MAX_EFFECTS, MAX_HEADERS = 100, 50
MAX_BODY_BYTES = 2**20  # bytes of JSON
DEEPEST = 100  # levels of a body
LONGEST = 10**7  # seconds
METHODS = ("*", "GET", "POST", "DELETE", "PUT", "PATCH", "HEAD")
MIN_STATUS, MAX_STATUS = 200, 599
WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT, HTTPStatus.NOT_MODIFIED)
TOKEN = re.compile(f"{NAME_CHARACTER}{{1,100}}")
HEADER = re.compile(r"[ -~]{0,4000}")
CONNECTION_HEADERS = frozenset({"connection", "content-length", "date", "transfer-encoding", "upgrade"})
WILD = re.compile(r"[*?\[]")
QUERY = re.compile(r"\?[\w.]+=")


Result = TypeVar("Result")


@dataclass(frozen=True)
class Effect:
    """Which requests get what.

    Attributes:
        prefer: as in a `Prefer` header: `code=429`, `delay=2`, `lost=after`, `defect=NAME`.
        condition: trouble around the answer, as `--condition` takes it: `latency=0.5`.
        status: the status of an answer of its own, or None.
        headers: further headers of the answer.
        body: its JSON, or a text if `headers` name another media type; None if it has no body of its own.
        field: the form field that the answer reports as wrong, or an empty string.
        method: the method of requests that match, or `*`.
        path: their path, with `*` for anything.
        account: the name of their account, with `*` for anything.
        times: how often it is used, or None to use it until it is removed.
        seconds: for how long it is used, or None.
        every: of how many matching requests one gets it.
        number: by which it is removed.
        ends: when it ends, in seconds since 1970, or None.
        seen: how many requests have matched.
    """

    prefer: str = ""
    condition: str = ""
    status: int | None = None
    headers: Mapping[str, str] = attribute(default_factory=dict)
    body: Any = None
    field: str = ""
    method: str = "*"
    path: str = "*"
    account: str = "*"
    times: int | None = 1
    seconds: float | None = None
    every: int = 1
    number: int = 0
    ends: float | None = None
    seen: int = 0

    @property
    def description(self) -> str:
        """What it does, for people."""
        parts = [text for text in (self.prefer, self.condition) if text]
        parts += [f"status={self.status}"] if self.status else []
        parts += [f"field={self.field}"] if self.field else []
        parts += [f"{name}: {value}" for name, value in self.headers.items()]
        parts += ["with a body"] if self.body is not None else []
        return ", ".join(parts)

    @property
    def preferred(self) -> Preferred:
        """What it asks for besides an answer of its own."""
        return preferences_of(self.prefer)

    @cached_property  # asked for at each request
    def measured(self) -> tuple[str, float]:
        """The name and the measure of its condition."""
        return conditions.parsed(self.condition)

    @property
    def counts(self) -> bool:
        """Whether it depends on how many requests have matched."""
        return self.times is not None or self.every > 1

    def matches(self, method: str, path: str, account: str) -> bool:
        """Whether a request may get it."""
        return (
            self.method.upper() in ("*", method)
            and fnmatchcase(path, self.path)
            and self._applies_to(account)
            and (self.ends is None or time() < self.ends)
        )

    def _applies_to(self, account: str) -> bool:
        """Whether it is for an account; for a sandbox, whose key may hold any sign of a pattern, named in full."""
        is_named = self.account in ("*", account)
        return is_named or (not is_sandbox(account) and fnmatchcase(account, self.account))

    def after_request(self) -> tuple[bool, Effect | None]:
        """Whether the next request that matches gets it, and what remains of it then."""
        is_due = (self.seen + 1) % self.every == 0
        if is_due and self.times == 1:
            return True, None
        left = self.times - 1 if is_due and self.times else self.times
        return is_due, replace(self, seen=self.seen + 1, times=left)

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
        header_texts = {name.lower(): value for name, value in self.headers.items()}
        is_text = isinstance(self.body, str) and not header_texts.get("content-type", "application/json").startswith(
            "application/json"
        )
        content = "" if self.body is None else self.body if is_text else json.dumps(self.body, ensure_ascii=False)
        answer = Response(content, self.status or HTTPStatus.OK, content_type="application/json")
        if not content:
            del answer.headers["Content-Type"]
        return answer


@dataclass
class State:
    """The effects at present, and how many there ever were."""

    effects: list[Effect] = attribute(default_factory=list)
    count: int = 0

    def add(self, effect: Effect) -> Effect:
        """Add an effect, which gets a number.

        Raises:
            SettingsError: if there are too many.
        """
        self.keep(lambda effect: effect.ends is None or time() < effect.ends)
        if len(self.effects) >= MAX_EFFECTS:
            raise SettingsError(f"{MAX_EFFECTS} answers and conditions are forced already; remove some")
        self.count += 1
        ends = None if effect.seconds is None else time() + effect.seconds
        self.effects.append(replace(effect, number=self.count, ends=ends))
        return self.effects[-1]

    def take(self, method: str, path: str, account: str, *, is_answered: bool) -> tuple[Effect, ...]:
        """What a request gets; that then counts as used."""
        due_effects, left = list[Effect](), list[Effect]()
        for effect in self.effects:
            is_too_late = not effect.condition and (is_answered or any(not due.condition for due in due_effects))
            if is_too_late or not effect.matches(method, path, account):
                left.append(effect)
                continue
            is_due, remaining = effect.after_request()
            due_effects += [effect] if is_due else []
            left += [remaining] if remaining else []
        self.effects = left
        return tuple(due_effects)

    def keep(self, is_kept: Callable[[Effect], bool]) -> None:
        """Remove the others."""
        self.effects = list(filter(is_kept, self.effects))


class EffectStore(Protocol):
    """Where the effects are kept."""

    @property
    def state(self) -> State:
        """The effects at present, to read."""

    def change(self, change: Callable[[State], Result]) -> Result:
        """Change the effects, with no other change in between."""
        ...


class MemoryEffects:
    """Keeps the effects in this process."""

    def __init__(self) -> None:
        self.state = State()
        self._lock = threading.Lock()

    def change(self, change: Callable[[State], Result]) -> Result:
        with self._lock:
            return change(self.state)


class Effects:
    """All effects at present.

    Args:
        resources: whose paths requests may have.
        settings: the prefix of all paths, and what can be in effect.
        store: where they are kept.
    """

    def __init__(self, resources: Collection[Resource], settings: Settings, store: EffectStore) -> None:
        self._settings, base_path = settings, settings.base_path
        self._paths = {base_path + path.rstrip("/") for resource in resources for path in resource.paths.values()}
        self._store = store

    def __bool__(self) -> bool:
        return bool(self._store.state.effects)

    @property
    def active(self) -> list[Effect]:
        """All effects that have not ended."""
        now = time()
        return [effect for effect in self._store.state.effects if effect.ends is None or now < effect.ends]

    def add(self, attributes: Any) -> Effect:
        """Add an effect.

        Args:
            attributes: an object with attributes of `Effect`, at least one of which says what requests get.

        Raises:
            SettingsError: if it is invalid, or can match no request.
        """
        effect = Effect(**_checked(attributes))
        if problem := next(_problems(effect), "") or self._problem_here(effect):
            raise SettingsError(problem)
        return self._store.change(lambda state: state.add(effect))

    def _problem_here(self, effect: Effect) -> str:
        """Why this mock can't do it, or no request could ever have its path; a success with a body may be anywhere."""
        deployment = self._settings.deployment
        if deployment and effect.preferred.defects:
            return f"defects do not apply: {FORWARDS.format(deployment.url)}"
        if effect.condition:
            is_shared = bool(self._settings.store)
            conditions.check(dict([effect.measured]), forwarded=deployment is not None, shared=is_shared)
        literal = WILD.split(effect.path, maxsplit=1)[0]
        is_success = effect.body is not None and (effect.status or HTTPStatus.OK) < HTTPStatus.BAD_REQUEST
        is_known = is_success or any(_may_be(path, literal, is_exact=literal == effect.path) for path in self._paths)
        if (is_known or self._settings.extend) and not QUERY.search(effect.path):
            return ""
        return (
            f'"path" is "{effect.path}", which no request to this API has; give one such as {self._settings.base_path}'
            '/api/domains/*, without a query, or a "body" for an endpoint that is yet to come'
        )

    def take(self, method: str, path: str, account: str, *, is_answered: bool = False) -> tuple[Effect, ...]:
        """What a request gets: the first answer that matches, and all conditions; they then count as used.

        Args:
            method: of the request.
            path: of the request.
            account: the name of its account, or an empty string.
            is_answered: whether it prefers an answer itself, and so gets no other.
        """
        matching = [effect for effect in self._store.state.effects if effect.matches(method, path, account)]
        if not matching:
            return ()
        take = partial(State.take, method=method, path=path, account=account, is_answered=is_answered)
        return self._store.change(take) if any(effect.counts for effect in matching) else take(State(matching))

    def remove(self, number: int | None = None) -> None:
        self._store.change(lambda state: state.keep(lambda effect: number is not None and effect.number != number))

    def remove_of(self, account: str) -> None:
        self._store.change(lambda state: state.keep(lambda effect: effect.account != account))


def _checked(attributes: Any) -> dict[str, Any]:
    """The attributes that are given."""
    names = [name for name in asdict(Effect()) if name not in ("number", "ends", "seen")]
    answers = ("prefer", "condition", "status", "headers", "body", "field")
    if not isinstance(attributes, dict) or set(attributes) - set(names) or not set(attributes) & set(answers):
        raise SettingsError(
            f"expected an object with one or more of {', '.join(answers)}, which say what to answer, and perhaps"
            f" {', '.join(names[len(answers) :])}, no others"
        )
    for name in ("prefer", "condition", "field", "method", "path", "account"):
        value = attributes.get(name)
        if value is not None and not (isinstance(value, str) and value.isprintable()):
            raise SettingsError(f'"{name}" is {value!r}; expected a text')
    stays = {"times": None} if attributes.get("condition") or attributes.get("seconds") is not None else {}
    return stays | {name: value for name, value in attributes.items() if value is not None or name in ("times", "body")}


def _problems(effect: Effect) -> Iterator[str]:
    yield from _problems_of_numbers(effect)
    if effect.method.upper() not in METHODS:
        yield f'"method" is "{effect.method}"; expected one of {", ".join(METHODS)}'
    try:
        preferred = effect.preferred
    except ValueError as error:
        yield str(error)
        return
    status = effect.status
    if effect.condition:
        yield from _problems_of_condition(effect)
    elif status is not None and (type(status) is not int or not MIN_STATUS <= status <= MAX_STATUS):
        yield f'"status" is {status!r}; expected a number from {MIN_STATUS} to {MAX_STATUS}'
    elif preferred.code and (status or effect.field or effect.body is not None):
        yield f'"prefer" asks for code={preferred.code}, and the answer is given, too; give "status" instead'
    elif not preferred.applied and not status and not effect.field and effect.body is None:
        yield 'nothing is forced; give "prefer" such as "code=429", or "condition", "status", "body" or "field"'
    elif effect.body is not None and (status in WITHOUT_BODY or effect.field):
        yield '"body" is given for an answer that has none of its own; leave it out'
    yield from _problems_of_headers(effect.headers)
    yield from _problems_of_body(effect.body)
    if effect.field and status and status < HTTPStatus.BAD_REQUEST:
        yield f'"status" is {status}, and a field is refused; give a status from 400 on'


def _problems_of_numbers(effect: Effect) -> Iterator[str]:
    if effect.times is not None and (type(effect.times) is not int or effect.times < 1):
        yield f'"times" is {effect.times!r}; expected 1 or more, or null for ever'
    if effect.seconds is not None and (type(effect.seconds) not in (int, float) or not 0 < effect.seconds < LONGEST):
        yield f'"seconds" is {effect.seconds!r}; expected a number above 0, and below {LONGEST:,}'
    if type(effect.every) is not int or not 1 <= effect.every <= conditions.MAX_AMOUNT:
        yield f'"every" is {effect.every!r}; expected a whole number from 1 to {conditions.MAX_AMOUNT}'


def _problems_of_condition(effect: Effect) -> Iterator[str]:
    if effect.prefer or effect.status or effect.field or effect.headers or effect.body is not None:
        yield '"condition" surrounds whatever is answered; force an answer apart from it'


def _problems_of_body(body: Any) -> Iterator[str]:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
        if len(text.encode()) > MAX_BODY_BYTES or _is_deep(body):
            yield f'"body" is longer than {MAX_BODY_BYTES:,} bytes of JSON, or nested too deep'
    except (ValueError, RecursionError) as error:  # a UnicodeError is a ValueError
        yield f'"body" cannot be written as JSON: {error}'


def _is_deep(body: Any) -> bool:
    """Whether JSON is nested deeper than is safe to write again and again."""
    level = [body]
    for _ in range(DEEPEST):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
        ]
    return bool(level)


def _problems_of_headers(headers: Any) -> Iterator[str]:
    if not isinstance(headers, dict) or len(headers) > MAX_HEADERS:
        yield f'"headers" is not an object of at most {MAX_HEADERS} names with texts'
        return
    for name, value in headers.items():
        if not TOKEN.fullmatch(name) or not isinstance(value, str) or not HEADER.fullmatch(value):
            yield f'the header "{name}" is {value!r}; expected a name, and a text of visible ASCII characters'
        elif name.lower() in CONNECTION_HEADERS:
            yield f'the header "{name}" is the server\'s own; leave it out'


def _may_be(path: str, literal: str, *, is_exact: bool) -> bool:
    """Whether a documented path, with any id, may begin with a text, or be it."""
    prefix, brace, _ = path.partition("{")
    literal = literal if literal == "/" or not is_exact else literal.rstrip("/")
    identifier = literal.removeprefix(prefix) if brace and literal.startswith(prefix) else ""
    if is_exact:
        return literal == path if not brace else identifier.isdecimal()
    return path.startswith(literal) or f"{path}/" == literal or identifier.isdecimal()
