"""Writes each request and its answer into the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from gzip import decompress
from time import perf_counter
from typing import TYPE_CHECKING, Any

from werkzeug.datastructures import EnvironHeaders
from werkzeug.http import parse_options_header

from mock_server.api import Service
from mock_server.forced import ForcedAnswers
from mock_server.journal import Entry, File, Journal
from mock_server.notes import notes_of
from mock_server.parts import MalformedFormError, Part, TooManyPartsError, multipart, urlencoded
from mock_server.remarks import Remarks
from mock_server.settings import SANDBOX_PREFIX

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LONGEST_TEXT = 2000  # characters of a body, a field, a path
MOST_FIELDS = 100
MASKED = "[key]"
BY_HAND = "mock_server.console"  # set where somebody uses the console: no client's mistakes, and no test's answers
SCHEMES = ("bearer", "basic", "digest", "token")
HARMLESS = (("Content-Security-Policy", "sandbox"), ("X-Content-Type-Options", "nosniff"))  # of the console's origin


class Recorder:
    """Passes requests on, and keeps what there is to know of them.

    Args:
        inner: the application.
        journal: where they are kept.
        remarks: what there is to remark.
        forced: answers that are forced on requests.
        service: tells whose keys there are, and how long a body may be.
    """

    def __init__(
        self, inner: WSGIApplication, journal: Journal, remarks: Remarks, forced: ForcedAnswers, service: Service
    ) -> None:
        self._inner = inner
        self._journal = journal
        self._remarks = remarks
        self._forced = forced
        self._keys = service.accounts.keys
        self._most = service.settings.max_body

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; it is in the journal before its answer is sent."""

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            return start_response(status, [*headers, *HARMLESS], *more)

        self._force(environ)
        answer = (self._recorded if self._journal.most_entries else self._carried_out)(environ, start)
        return iter(answer) if isinstance(answer, list) and len(answer) > 1 else answer

    def _force(self, environ: WSGIEnvironment) -> None:
        """Let a request prefer what is forced on it, unless it prefers something itself."""
        if (
            self._forced.every
            and not {"HTTP_PREFER", BY_HAND} & environ.keys()
            and environ["REQUEST_METHOD"] != "OPTIONS"
        ):
            known = self._begun(environ)
            forced = self._forced.take(known.method, known.path, known.account)
            environ["HTTP_PREFER"] = notes_of(environ).forced = forced

    def _recorded(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        began = perf_counter()
        entry, sent = self._begun(environ), _Tee(environ["wsgi.input"], self._most)
        environ["wsgi.input"] = sent

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            entry.status = int(status[:3])
            entry.answer_headers = {name: value[:LONGEST_TEXT] for name, value in headers[:MOST_FIELDS]}
            return start_response(status, headers, *more)

        notes, body = notes_of(environ), b""
        try:
            answer = self._carried_out(environ, start)
            body = _plain(b"".join(answer), entry) if isinstance(answer, list) else b""
        finally:
            entry.answer = body[:LONGEST_TEXT].decode("utf-8", "replace")
            entry.forced, entry.broken = notes.forced, notes.broken
            entry.status = None if notes.broken == "dropped" else entry.status
            _read_form(entry, environ, sent.body)
            entry.remarks = [] if BY_HAND in environ else list(self._remarks.about(entry, notes, body))
            entry.milliseconds = round((perf_counter() - began) * 1000, 1)
            self._journal.add(entry)
        return answer

    def _carried_out(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """An answer: a list of its parts, unless it comes slowly."""
        answer = self._inner(environ, start_response)
        return answer if notes_of(environ).broken == "slow" else _whole(answer)

    def _begun(self, environ: WSGIEnvironment) -> Entry:
        headers = {name: value[:LONGEST_TEXT] for name, value in list(EnvironHeaders(environ))[:MOST_FIELDS]}
        scheme, _, key = headers.get("Authorization", "").partition(" ")
        key = key.strip()
        if "Authorization" in headers:
            headers["Authorization"] = f"{scheme} {MASKED}" if scheme.lower() in SCHEMES else MASKED
        return Entry(
            time=datetime.now(UTC).isoformat(" ", "milliseconds")[:-6],
            account=self._keys.get(key) or (key if key.startswith(SANDBOX_PREFIX) else ""),
            method=environ["REQUEST_METHOD"],
            path=environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")[:LONGEST_TEXT],
            query=environ["QUERY_STRING"][:LONGEST_TEXT],
            headers=headers,
        )


class _Tee:
    """A request's body, of which what was read is kept, as far as a form may go."""

    def __init__(self, inner: Any, most: int) -> None:
        self._inner = inner
        self._most = most
        self._parts: list[bytes] = []
        self._length = 0

    @property
    def body(self) -> bytes:
        return b"".join(self._parts)

    def read(self, size: int | None = -1) -> bytes:
        part: bytes = self._inner.read() if size is None or size < 0 else self._inner.read(size)
        if self._length < self._most:
            self._parts.append(part)
            self._length += len(part)
        return part


def _whole(answer: Iterable[bytes]) -> list[bytes]:
    try:
        return list(answer)
    finally:
        close: Callable[[], None] | None = getattr(answer, "close", None)
        if close:
            close()


def _plain(body: bytes, entry: Entry) -> bytes:
    """The body of an answer as it was before it was compressed."""
    return decompress(body) if entry.answer_headers.get("Content-Encoding") == "gzip" and body else body


def _read_form(entry: Entry, environ: WSGIEnvironment, body: bytes) -> None:
    media_type, options = parse_options_header(environ.get("CONTENT_TYPE", ""))
    parts: dict[str, Part] = {}
    with suppress(MalformedFormError, TooManyPartsError):
        if media_type == "multipart/form-data":
            parts = multipart(body, options.get("boundary", ""))
        elif media_type == "application/x-www-form-urlencoded":
            parts = urlencoded(body)
    for name, part in list(parts.items())[:MOST_FIELDS]:
        if isinstance(part.content, bytes):
            entry.files[name[:LONGEST_TEXT]] = File(
                (part.file_name or "")[:LONGEST_TEXT], part.media_type, len(part.content)
            )
        else:
            entry.fields[name[:LONGEST_TEXT]] = part.content[:LONGEST_TEXT]
    if not parts:
        entry.body = body[:LONGEST_TEXT].decode("utf-8", "replace")
