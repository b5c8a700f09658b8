"""Writes each request and its answer into the log and the journal."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from itertools import islice
from time import perf_counter, time
from typing import Any
from urllib.parse import quote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.http import parse_options_header

from mock_server.api.forms import MULTIPART, URLENCODED
from mock_server.api.operations import MockState
from mock_server.effects.effect import Effect, Effects
from mock_server.errors import FROM_EXTENSION
from mock_server.http.context import Context, context_of, scheme_and_key
from mock_server.http.form_parts import MalformedFormError, Part, TooManyPartsError, multipart, urlencoded
from mock_server.http.masking import (
    MASKED,
    MAX_ESCAPE_LENGTH,
    UNREADABLE,
    masked_answer,
    masked_body,
    masked_key,
    masked_pairs,
    masked_query,
    masked_text,
)
from mock_server.http.messages import decompress_body, has_body, read_parts
from mock_server.journal.journal import MAX_FIELDS, MAX_TEXT_LENGTH, File, Form, Head, Journal, RawEntry, is_preflight
from mock_server.journal.remarks import Remarks
from mock_server.settings.settings import is_sandbox

log = logging.getLogger("mock_server")

MAX_BODY_READ = 64 * 2**10  # bytes of a body that are looked at
MAX_NAME = 30  # characters of a sandbox's key in the log
MAX_RAW_ANSWER = 8 * 2**10  # bytes of an answer that waits as it is until somebody looks
BODY_VARIABLES = ("CONTENT_TYPE", "CONTENT_LENGTH")
USUAL_METHODS = {"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"}  # another may hold a key
LINE = "%s %s %s %.1f ms%s"
PLAIN_PATH = re.compile(r"[\w/.-]*", re.ASCII)
HARMLESS = (("Content-Security-Policy", "sandbox"), ("X-Content-Type-Options", "nosniff"))  # on the console's origin


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


class _Line(logging.LogRecord):
    """A line of the log, which differs from others in few attributes, so the others need not be found out again."""

    _RECORD_DEFAULTS = logging.makeLogRecord(
        {"name": log.name, "msg": LINE, "pathname": __file__, "module": "recorder"}
    ).__dict__

    def __init__(self, level: int, log_arguments: tuple[object, ...]) -> None:
        now = time()
        self.__dict__.update(self._RECORD_DEFAULTS)
        self.levelno, self.levelname, self.args = level, logging.getLevelName(level), log_arguments
        self.created, self.msecs = now, now % 1 * 1000


class JournalWriter:
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
            context, request = context_of(environ), (method, _path(environ), self.account_of(environ))
            is_answered = "HTTP_PREFER" in environ or bool(context.effects)
            context.effects += self._effects.take(*request, is_answered=is_answered)

    def read_form(self, environ: WSGIEnvironment, body_sent: bytes) -> None:
        """Read the form of a request for the journal before it is answered, while nothing else is to be done."""
        if self.reads_bodies:
            context_of(environ).parts = _read_form(environ, body_sent)

    def keep(self, environ: WSGIEnvironment, head: Head, body_sent: bytes, answer: bytes, milliseconds: float) -> None:
        """Keep a request with its answer.

        Args:
            environ: the request.
            head: the head of the answer.
            body_sent: the body of the request, or its beginning.
            answer: the body of the answer, or its beginning.
            milliseconds: from the request to the answer.
        """
        key, context = scheme_and_key(environ)[1], context_of(environ)
        path, query = _target(key, environ)
        method = environ["REQUEST_METHOD"]
        raw_entry = RawEntry(
            time=time(),
            account=self._name_of(key),
            key=key,
            method=method if method in USUAL_METHODS else masked_text(key, method),
            path=path,
            query=query,
            headers=_headers(environ) if context.headers is None else context.headers,
            head=head,
            milliseconds=milliseconds,
            forced_answers=_forced_effects(context.effects) if context.effects else "",
            broken=context.broken,
        )
        if self.reads_bodies:
            self._journal.add(raw_entry, self._bodies_noted(raw_entry, context, body_sent, answer))
        level = logging.DEBUG if is_preflight(raw_entry.method, environ) else logging.INFO
        if log.isEnabledFor(level):
            details = (_log_details.__wrapped__ if context.ignored else _log_details)(
                key, raw_entry.account, raw_entry.forced_answers, raw_entry.broken, context.ignored
            )
            log.handle(
                _Line(level, (raw_entry.method, _printable_target(path, query), head.status, milliseconds, details))
            )

    def _bodies_noted(self, raw_entry: RawEntry, context: Context, body_sent: bytes, answer: bytes) -> bytes:
        """Note both bodies, and what is to be said of the request; the body of the answer if it is whole."""
        key, body = raw_entry.key, decompress_body(answer, raw_entry.head.headers)
        is_complete = raw_entry.head.is_complete and body is not None
        body = UNREADABLE.encode() if body is None else body
        raw_entry.answer = body if len(body) <= MAX_RAW_ANSWER else _beginning(key, body)
        if body_sent:
            context.parts = _parts(raw_entry, context, body_sent)
            raw_entry.form = _form(key, context.parts)
            raw_entry.text = "" if raw_entry.form else _text(key, raw_entry, body_sent)
        raw_entry.remarks = list(self._remarks.remarks_on(raw_entry, context, body))
        for remark in raw_entry.remarks:
            remark.what = masked_pairs(masked_text(key, remark.what))
        return body if is_complete else b""

    def account_of(self, environ: WSGIEnvironment) -> str:
        """The name of the account whose key a request carries, or an empty string."""
        return self._name_of(scheme_and_key(environ)[1])


class Recorder:
    """Passes requests on, logs them, and keeps them in the journal.

    Args:
        inner: the application.
        mock: knows the accounts' keys, and how long a body may be.
        recording: where requests are kept, and what is forced on them.
    """

    def __init__(self, inner: WSGIApplication, mock: MockState, recording: Recording) -> None:
        names = mock.accounts.keys
        self._inner = inner
        self._journal_writer = JournalWriter(recording, lambda key: names.get(key) or (key if is_sandbox(key) else ""))
        self._max_body = mock.settings.max_body

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; it is in the log and the journal before its answer is sent."""
        if FROM_EXTENSION in environ:
            return self._inner(environ, start_response)
        started, head = perf_counter(), Head()
        self._journal_writer.force(environ)
        body_sent = _body(environ, self._max_body) if self._journal_writer.reads_bodies else b""

        def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            head.status, head.headers = int(status[:3]), headers
            return start_response(status, [*headers, *HARMLESS], *exc_info)

        answer: list[bytes] = []
        try:
            answer = read_parts(self._inner(environ, start))
        finally:
            milliseconds = (perf_counter() - started + context_of(environ).delay) * 1000
            self._journal_writer.keep(environ, head, body_sent, b"".join(answer), milliseconds)
        return answer


def _body(environ: WSGIEnvironment, max_bytes: int) -> bytes:
    """The body of a request, which can be read once more."""
    if not has_body(environ):
        return b""
    content: bytes = environ["wsgi.input"].read(max_bytes + 1)
    environ["wsgi.input"] = BytesIO(content)
    return content


def _headers(environ: WSGIEnvironment) -> Mapping[str, str]:
    return {name: text for name, text in environ.items() if name.startswith("HTTP_") or name in BODY_VARIABLES}


def _path(environ: WSGIEnvironment) -> str:
    path: str = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
    return path


def _target(key: str, environ: WSGIEnvironment) -> tuple[str, str]:
    parts = key, environ["PATH_INFO"], environ["QUERY_STRING"]
    return _masked_target(*parts) if sum(map(len, parts)) <= MAX_TEXT_LENGTH else _masked_target.__wrapped__(*parts)


@lru_cache(256)  # clients ask for the same again and again
def _masked_target(key: str, path: str, query: str) -> tuple[str, str]:
    """Path and query of a WSGI environment without a key."""
    path = path.encode("latin-1").decode("utf-8", "replace")
    query = query and masked_text(key, masked_query(query[: MAX_TEXT_LENGTH + MAX_ESCAPE_LENGTH * len(key)]))
    return masked_pairs(masked_text(key, path)), query


def _parts(raw_entry: RawEntry, context: Context, body: bytes) -> Mapping[str, Part]:
    """The parts of a form, read here only if an account's request was not carried out."""
    if context.parts is not None:
        return context.parts
    if context.body_refusal or not raw_entry.account or raw_entry.head.status == HTTPStatus.NOT_FOUND:
        return {}
    return _read_form(raw_entry.headers, body)


def _read_form(headers: Mapping[str, Any], body_sent: bytes) -> Mapping[str, Part]:
    """The parts of a form; none if it is malformed.

    Args:
        headers: by their keys in a WSGI environment.
    """
    media_type, options = parse_options_header(headers.get("CONTENT_TYPE", ""))
    body = _decompressed(headers, body_sent) or b""
    with suppress(MalformedFormError, TooManyPartsError):
        if media_type == MULTIPART:
            return multipart(body, options.get("boundary", ""))
        if media_type == URLENCODED:
            return urlencoded(body)
    return {}


def _beginning(key: str, body: bytes) -> bytes:
    """The beginning of a long answer, which would take too much room as it is."""
    text = masked_key(key, body[:MAX_BODY_READ]).decode("utf-8", "replace")
    return masked_answer(text, MAX_TEXT_LENGTH).encode()


def _form(key: str, parts: Mapping[str, Part]) -> Form:
    """The beginning of a form, without what its files hold."""
    longest = MAX_TEXT_LENGTH + MAX_ESCAPE_LENGTH * len(key)
    return tuple(
        [
            (name, content[:longest] if isinstance(content := part.content, str) else _file(part))
            for name, part in islice(parts.items(), MAX_FIELDS)
        ]
    )


def _file(part: Part) -> File:
    return File(part.file_name or "", part.media_type, len(part.content))


def _text(key: str, raw_entry: RawEntry, body_sent: bytes) -> str:
    """The beginning of a body that is not a form, without a key."""
    body = _decompressed(raw_entry.headers, body_sent)
    if body is None:
        return UNREADABLE
    if raw_entry.media_type in (MULTIPART, URLENCODED):
        return ""
    return masked_body(masked_key(key, body[:MAX_BODY_READ]).decode("utf-8", "replace"))[:MAX_TEXT_LENGTH]


def _decompressed(headers: Mapping[str, Any], body_sent: bytes) -> bytes | None:
    coding = headers.get("HTTP_CONTENT_ENCODING")
    return decompress_body(body_sent, [("Content-Encoding", coding)]) if coding else body_sent


@lru_cache(256)  # as above
def _printable_target(path: str, query: str) -> str:
    """Path and query, of 2,000 characters each at most, on one line, whatever is in them."""
    text = path if PLAIN_PATH.fullmatch(path) else quote(path, safe="/:@!$&'()*+,;=~-._").replace(quote(MASKED), MASKED)
    if not query:
        return text
    return text + "?" + quote(query, safe="/:@!$&'()*+,;=~-._%?[]")


def _forced_effects(effects: Iterable[Effect]) -> str:
    """What was forced on a request, for people."""
    return ", ".join([effect.description for effect in effects])


@lru_cache(256)  # as above; not the names of parts, which may be long
def _log_details(key: str, account: str, forced_effects: str, broken: str, ignored: tuple[str, ...]) -> str:
    """Who sent a request, what was done to its answer on purpose, and which parts of its form had no influence."""
    parts = [
        forced_effects and f"forced: {forced_effects}",
        broken,
        ignored and f"ignored: {', '.join(ascii(name)[1:-1] for name in ignored)}",
    ]
    details = masked_text(key, "".join(f"  {part}" for part in parts if part))
    return f"  {_account_label(account, key)}{details}" if account else details


def _account_label(account: str, key: str) -> str:
    """The name of an account; of a sandbox its key, which opens nothing else, or both ends of a long one."""
    if not is_sandbox(account):
        return masked_text(key, account)
    return account if len(account) <= MAX_NAME else f"{account[: MAX_NAME // 2]}\u2026{account[-MAX_NAME // 2 :]}"
