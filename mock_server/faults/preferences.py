"""What a single request asks of the mock itself, as RFC 7240 has it: `Prefer: code=429, delay=1.5, defect=NAME`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from flask import request
from werkzeug.http import parse_list_header, unquote_header_value

from mock_server.errors import REFUSAL, Refusal
from mock_server.faults.defects import DEFECTS
from mock_server.http.broken_answers import dropped, dropped_after
from mock_server.http.request_notes import notes_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

DEFECT_NAMES = "mock_server.defects"
OURS = ("code", "delay", "defect", "lost")
OF_OTHERS = ("respond-async", "return", "wait", "handling")  # registered, and none of the mock's business
MOST, MOST_DEFECTS = 20, 3  # preferences of one request
LONGEST_DELAY = 60.0
LEAST_CODE, MOST_CODE = 400, 599
TOO_MANY = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}


@dataclass
class Preferred:
    """What one request prefers: how it is answered, after how many seconds, wrong in which ways, or not at all."""

    code: int | None = None
    delay: float = 0.0
    lost: str = ""
    defects: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()


class Preferences:
    """Carries out the preferences of each request, and tells in `Preference-Applied` which.

    Args:
        inner: the application.
        knows: whether a request carries the key of an account; the answers to others are not held back.
    """

    def __init__(self, inner: WSGIApplication, knows: Callable[[WSGIEnvironment], bool]) -> None:
        self._inner = inner
        self._knows = knows

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; one whose preferences cannot be meant is refused, and not carried out."""
        if not environ.get("HTTP_PREFER"):
            return self._inner(environ, start_response)
        try:
            preferred = preferences_of(environ["HTTP_PREFER"])
        except ValueError as error:
            environ[REFUSAL] = Refusal("400", str(error), mistake=False)
            return self._inner(environ, start_response)
        if preferred.code:
            environ[REFUSAL] = Refusal(str(preferred.code), "The request itself preferred this answer.", mistake=False)
        environ[DEFECT_NAMES] = preferred.defects
        if preferred.delay and self._knows(environ):
            notes_of(environ).delay += preferred.delay
        if preferred.lost == "before":
            return dropped(environ, start_response)
        if preferred.lost == "after":
            return dropped_after(self._inner, environ, start_response)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            told = [("Preference-Applied", ", ".join(preferred.applied))] if preferred.applied else []
            limits = TOO_MANY.items() if preferred.code == HTTPStatus.TOO_MANY_REQUESTS else ()
            return start_response(status, [*headers, *told, *limits], *more)

        return self._inner(environ, start)


def preferences_of(header: str) -> Preferred:
    """Read a `Prefer` header.

    Raises:
        ValueError: if something in it cannot be meant; the message is one sentence for people.
    """
    preferred = Preferred()
    for name, value in _bounded(list(_pairs(header))):
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
                near = get_close_matches(value, DEFECTS, n=2, cutoff=0.5)
                hint = f"did you mean {' or '.join(near)}?" if near else "`mock-server --list-defects` names them all."
                raise ValueError(f'Prefer: there is no defect "{value}"; {hint}')
            case _ if name in OF_OTHERS:
                continue
            case _:
                raise ValueError(f'Prefer: the mock knows no preference "{name}"; it knows {", ".join(OURS)}.')
        preferred.applied += (f"{name}={value}",)
    return preferred


def _pairs(header: str) -> Iterator[tuple[str, str]]:
    """Names and values; parameters behind a semicolon belong to nothing here, and are left out."""
    for item in parse_list_header(header):
        name, _, value = item.partition(";")[0].partition("=")
        yield name.strip().lower(), unquote_header_value(value.strip())


def _bounded(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Preferences, unless they are too many: each defect may serve a request once more."""
    if len(pairs) > MOST:
        raise ValueError(f"Prefer: {len(pairs)} preferences are too many; give {MOST} at most.")
    defects = [value for name, value in pairs if name == "defect"]
    if len(defects) > MOST_DEFECTS or len(set(defects)) < len(defects):
        raise ValueError(f"Prefer: give {MOST_DEFECTS} defects at most, each once.")
    return pairs


def _code(value: str) -> int:
    if not value.isascii() or not value.isdecimal() or not LEAST_CODE <= int(value) <= MOST_CODE:
        raise ValueError(f'Prefer: code is "{value}"; give a status from {LEAST_CODE} to {MOST_CODE}.')
    return int(value)


def _delay(value: str) -> float:
    seconds = float(value) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value, re.ASCII) else -1.0
    if not 0 <= seconds <= LONGEST_DELAY:
        raise ValueError(f'Prefer: delay is "{value}"; give seconds from 0 to {LONGEST_DELAY:g}.')
    return seconds


def refuse_as_preferred() -> None:
    """Answer as a request prefers, before it is carried out.

    Raises:
        Refusal: if it prefers to be refused, or prefers what cannot be meant.
    """
    refusal = request.environ.get(REFUSAL)
    if refusal:
        raise refusal
