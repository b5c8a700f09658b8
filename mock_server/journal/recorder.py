"""Writes each request and its answer into the log and the journal."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from itertools import islice
from time import perf_counter, time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from werkzeug.http import parse_options_header

from mock_server.api.forms import MULTIPART, URLENCODED
from mock_server.api.operations import Service
from mock_server.effects.effect import Effects
from mock_server.http.context import Context, context_of, scheme_and_key
from mock_server.http.form_parts import MalformedFormError, Part, TooManyPartsError, multipart, urlencoded
from mock_server.http.masking import (
    LONGEST_LETTER,
    MASKED,
    UNREADABLE,
    is_secret,
    masked_answer,
    masked_body,
    masked_header,
    masked_key,
    masked_query,
    masked_text,
)
from mock_server.http.messages import has_body, plain, whole
from mock_server.journal.journal import Entry, File, Journal, is_preflight
from mock_server.journal.remarks import Remarks
from mock_server.settings import is_sandbox

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger("mock_server")

LONGEST_TEXT = 2000  # characters of a body, a field, a path
LONGEST_READ = 64 * 2**10  # bytes of a body that are looked at
MOST_FIELDS = 100
LINE = "%s %s %s %.1f ms%s"
PLAIN = re.compile(r"[\w/.-]*", re.ASCII)
HARMLESS = (("Content-Security-Policy", "sandbox"), ("X-Content-Type-Options", "nosniff"))  # on the console's origin


@dataclass
class Head:
    """The head of an answer.

    Attributes:
        is_own: whether the answer came from the proxy itself, not from the deployment behind it.
        is_whole: whether the body that is kept with it is all that was sent.
    """

    status: int | None = None
    headers: Sequence[tuple[str, str]] = ()
    is_own: bool = False
    is_whole: bool = True


@dataclass(frozen=True)
class Recording:
    """What outlives the application that answers, which is replaced when a mock is reset or switched.

    Attributes:
        journal: the latest requests.
        remarks: makes the remarks about requests.
        effects: what is forced on requests.
    """

    journal: Journal
    remarks: Remarks
    effects: Effects


class Keeper:
    """Keeps requests in the journal and the log, and knows what is forced on them.

    Args:
        recording: where requests are kept, and what is forced on them.
        name_of: the name of the account with a key, or an empty string.
    """

    def __init__(self, recording: Recording, name_of: Callable[[str], str]) -> None:
        self._journal, self._remarks, self._effects = recording.journal, recording.remarks, recording.effects
        self._name_of = name_of
        self.reads_bodies = bool(self._journal.most_entries)

    def force(self, environ: WSGIEnvironment) -> None:
        """Give a request what is in effect for it; an answer that is forced on it only if it prefers none itself."""
        method = environ["REQUEST_METHOD"]
        if self._effects and method != "OPTIONS":
            request, is_answered = (method, _path(environ), self.account_of(environ)), "HTTP_PREFER" in environ
            context_of(environ).effects = self._effects.take(*request, is_answered=is_answered)

    def read_form(self, environ: WSGIEnvironment, sent: bytes) -> None:
        """Read the form of a request for the journal before it is answered, while nothing else is to be done."""
        if self.reads_bodies:
            context_of(environ).parts = _read_form(environ, sent)

    def keep(self, environ: WSGIEnvironment, head: Head, sent: bytes, answer: bytes, milliseconds: float) -> None:
        """Keep a request with its answer.

        Args:
            environ: the request.
            head: the head of the answer.
            sent: the body of the request, or its beginning.
            answer: the body of the answer, or its beginning.
            milliseconds: from the request to the answer.
        """
        key = scheme_and_key(environ)[1]
        if self.reads_bodies:
            body = plain(answer, head.headers)
            whole = head.is_whole and body is not None
            body = masked_key(key, UNREADABLE.encode() if body is None else body)
            self._journal.add(self._entry(environ, key, head, sent, body, milliseconds), body if whole else b"")
        level = logging.DEBUG if is_preflight(environ["REQUEST_METHOD"], environ) else logging.INFO
        if log.isEnabledFor(level):
            more = masked_text(key, _more(context_of(environ), self._name_of(key)))
            told = (environ["REQUEST_METHOD"], _target(key, environ), head.status, milliseconds, more)
            log.handle(log.makeRecord(log.name, level, __file__, 0, LINE, told, None))  # seeks no caller

    def account_of(self, environ: WSGIEnvironment) -> str:
        """The name of the account whose key a request carries, or an empty string."""
        return self._name_of(scheme_and_key(environ)[1])

    def _entry(  # noqa: PLR0913, PLR0917 - all there is to know of a request
        self, environ: WSGIEnvironment, key: str, head: Head, sent: bytes, body: bytes, milliseconds: float
    ) -> Entry:
        """A request, and what became of it, without its key."""
        context = context_of(environ)
        headers = ((name, text) for variable, text in environ.items() if (name := _header_name(variable)))
        entry = Entry(
            time=_now(),
            account=self._name_of(key),
            method=environ["REQUEST_METHOD"],
            path=masked_text(key, _path(environ)),
            query=_query(key, environ),
            headers=_masked(key, headers),
            status=None if context.broken == "dropped" else head.status,
            forced=_forced(context),
            broken=context.broken,
            own=head.is_own,
            answer_headers=_masked(key, head.headers),
            answer=masked_answer(body[:LONGEST_READ].decode("utf-8", "replace"), LONGEST_TEXT),
            milliseconds=round(milliseconds, 1),
        )
        if sent:
            context.parts = _parts(entry, environ, sent)
            _note_form(entry, key, context.parts, sent)
        entry.remarks = list(self._remarks.about(entry, context, body))
        for remark in entry.remarks:
            remark.what = masked_text(key, remark.what)
        return entry


class Recorder:
    """Passes requests on, logs them, and keeps them in the journal.

    Args:
        inner: the application.
        service: knows the accounts' keys, and how long a body may be.
        recording: where requests are kept, and what is forced on them.
    """

    def __init__(self, inner: WSGIApplication, service: Service, recording: Recording) -> None:
        names = service.accounts.keys
        self._inner = inner
        self._keeper = Keeper(recording, lambda key: names.get(key) or (key if is_sandbox(key) else ""))
        self._most = service.settings.max_body

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; it is in the log and the journal before its answer is sent."""
        began, head = perf_counter(), Head()
        self._keeper.force(environ)
        sent = _body(environ, self._most) if self._keeper.reads_bodies else b""

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            head.status, head.headers = int(status[:3]), headers
            return start_response(status, [*headers, *HARMLESS], *more)

        answer: list[bytes] = []
        try:
            answer = whole(self._inner(environ, start))
        finally:
            milliseconds = (perf_counter() - began + context_of(environ).delay) * 1000
            self._keeper.keep(environ, head, sent, b"".join(answer), milliseconds)
        return answer


def _body(environ: WSGIEnvironment, most: int) -> bytes:
    """The body of a request, which can be read once more."""
    if not has_body(environ):
        return b""
    sent: bytes = environ["wsgi.input"].read(most + 1)
    environ["wsgi.input"] = BytesIO(sent)
    return sent


def _now() -> str:
    """The time in UTC, to the millisecond."""
    seconds, milliseconds = divmod(int(time() * 1000), 1000)
    return f"{_second(seconds)}.{milliseconds:03}"


@lru_cache(1)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _path(environ: WSGIEnvironment) -> str:
    path: str = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
    return path


def _query(key: str, environ: WSGIEnvironment) -> str:
    query: str = environ["QUERY_STRING"]
    return query and masked_text(key, masked_query(query[: LONGEST_TEXT + LONGEST_LETTER * len(key)]))


@lru_cache(128)  # not more, because a client may send long names
def _header_name(key: str) -> str:
    """The header that a key of a WSGI environment stands for, or an empty string."""
    known = key[5:] if key.startswith("HTTP_") else key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else ""
    return known.replace("_", "-").title()


def _masked(key: str, headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers without a key, and without what their names say is secret."""
    shown = {name: masked_header(name, text) for name, text in islice(headers, MOST_FIELDS)}
    every = "\n".join(shown.values())
    if len(every) <= LONGEST_TEXT and masked_text(key, every) == every:  # as nearly always
        return shown
    return {name: masked_text(key, text) for name, text in shown.items()}


def _parts(entry: Entry, environ: WSGIEnvironment, body: bytes) -> Mapping[str, Part]:
    """The parts of a form, read here only if an account's request was not carried out."""
    context = context_of(environ)
    if context.parts is not None:
        return context.parts
    if context.unread or not entry.account or entry.status == HTTPStatus.NOT_FOUND:
        return {}
    return _read_form(environ, body)


def _read_form(environ: WSGIEnvironment, body: bytes) -> Mapping[str, Part]:
    """The parts of a form; none if it is malformed."""
    media_type, options = parse_options_header(environ.get("CONTENT_TYPE", ""))
    with suppress(MalformedFormError, TooManyPartsError):
        if media_type == MULTIPART:
            return multipart(body, options.get("boundary", ""))
        if media_type == URLENCODED:
            return urlencoded(body)
    return {}


def _note_form(entry: Entry, key: str, parts: Mapping[str, Part], sent: bytes) -> None:
    """Note a form, or another body, without a key."""
    for name, part in list(parts.items())[:MOST_FIELDS]:
        shown = masked_text(key, name)
        if isinstance(part.content, bytes):
            file_name = MASKED if is_secret(name) else masked_text(key, part.file_name or "")
            entry.files[shown] = File(file_name, part.media_type, len(part.content))
        else:
            entry.fields[shown] = MASKED if is_secret(name) else masked_text(key, part.content)
    if not parts and entry.media_type not in (MULTIPART, URLENCODED):
        body = plain(sent, entry.headers.items())
        text = UNREADABLE if body is None else masked_key(key, body[:LONGEST_READ]).decode("utf-8", "replace")
        entry.body = masked_body(text)[:LONGEST_TEXT]


def _target(key: str, environ: WSGIEnvironment) -> str:
    """Path and query on one line, whatever is in them."""
    path, query = masked_text(key, _path(environ)), _query(key, environ)
    shown = path if PLAIN.fullmatch(path) else quote(path, safe="/:@!$&'()*+,;=~-._").replace(quote(MASKED), MASKED)
    if not query:
        return shown
    return shown + "?" + quote(query, safe="/:@!$&'()*+,;=~-._%?[]")


def _forced(context: Context) -> str:
    """What was forced on a request, for people."""
    return ", ".join(effect.what for effect in context.effects)


def _more(context: Context, account: str) -> str:
    """Who sent a request, what was done to its answer on purpose, and which parts of its form had no influence."""
    parts = [account] if account else []
    parts += [f"forced: {forced}"] if (forced := _forced(context)) else []
    parts += [context.broken] if context.broken else []
    parts += [f"ignored: {', '.join(ascii(name)[1:-1] for name in context.ignored)}"] if context.ignored else []
    return "".join(f"  {part}" for part in parts)
