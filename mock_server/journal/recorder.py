"""Writes each request and its answer into the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from gzip import decompress
from http import HTTPStatus
from io import BytesIO
from time import perf_counter
from typing import TYPE_CHECKING, Any

from werkzeug.datastructures import EnvironHeaders
from werkzeug.http import parse_options_header

from mock_server.api.authentication import scheme_and_key
from mock_server.api.forms import MULTIPART, URLENCODED
from mock_server.api.operations import Service
from mock_server.faults.forced import ForcedAnswers
from mock_server.http.answers import whole
from mock_server.http.form_parts import MalformedFormError, Part, TooManyPartsError, multipart, urlencoded
from mock_server.http.masking import MASKED, is_secret, masked, masked_answer, masked_body, masked_query
from mock_server.http.request_notes import notes_of
from mock_server.journal.journal import Entry, File, Journal
from mock_server.journal.remarks import Remarks
from mock_server.settings import is_sandbox

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LONGEST_TEXT = 2000  # characters of a body, a field, a path
LONGEST_READ = 64 * 2**10  # bytes of a body that are looked at
MOST_FIELDS = 100
BY_HAND = "mock_server.console"  # set where somebody uses the console: no client's mistakes, and no test's answers
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
        return (self._recorded if self._journal.most_entries else self._carried_out)(environ, start)

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

    def _recorded(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        began = perf_counter()
        entry, sent = self._begun(environ), environ["wsgi.input"].read(self._most + 1)
        environ["wsgi.input"] = BytesIO(sent)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            entry.status = int(status[:3])
            entry.answer_headers = masked({name: value[:LONGEST_TEXT] for name, value in headers[:MOST_FIELDS]})
            return start_response(status, headers, *more)

        notes, body = notes_of(environ), b""
        try:
            answer = self._carried_out(environ, start)
            body = _plain(b"".join(answer), entry)
        finally:
            entry.answer = masked_answer(body[:LONGEST_READ].decode("utf-8", "replace"))[:LONGEST_TEXT]
            entry.forced, entry.broken = notes.forced, notes.broken
            entry.status = None if notes.broken == "dropped" else entry.status
            parts = _parts(entry, environ, sent)
            _note_form(entry, parts, sent)
            entry.remarks = [] if BY_HAND in environ else list(self._remarks.about(entry, notes, body))
            entry.milliseconds = round((perf_counter() - began + notes.delay) * 1000, 1)
            self._journal.add(entry)
        return answer

    def _carried_out(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        """The parts of an answer."""
        return whole(self._inner(environ, start_response))

    def _begun(self, environ: WSGIEnvironment) -> Entry:
        headers = {name: value[:LONGEST_TEXT] for name, value in list(EnvironHeaders(environ))[:MOST_FIELDS]}
        _, key = scheme_and_key(environ)
        return Entry(
            time=datetime.now(UTC).isoformat(" ", "milliseconds")[:-6],
            account=self._keys.get(key) or (key if is_sandbox(key) else ""),
            method=environ["REQUEST_METHOD"],
            path=environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")[:LONGEST_TEXT],
            query=masked_query(environ["QUERY_STRING"])[:LONGEST_TEXT],
            headers=masked(headers),
        )


def _plain(body: bytes, entry: Entry) -> bytes:
    """The body of an answer as it was before it was compressed."""
    return decompress(body) if entry.answer_headers.get("Content-Encoding") == "gzip" and body else body


def _parts(entry: Entry, environ: WSGIEnvironment, body: bytes) -> Mapping[str, Part]:
    """The parts of a form: those that were read already, or those of an account's request that was not carried out."""
    notes = notes_of(environ)
    if notes.parts is not None:
        return notes.parts
    if notes.unread or not entry.account or entry.status == HTTPStatus.NOT_FOUND:
        return {}
    media_type, options = parse_options_header(environ.get("CONTENT_TYPE", ""))
    with suppress(MalformedFormError, TooManyPartsError):
        if media_type == MULTIPART:
            return multipart(body, options.get("boundary", ""))
        if media_type == URLENCODED:
            return urlencoded(body)
    return {}


def _note_form(entry: Entry, parts: Mapping[str, Part], body: bytes) -> None:
    for name, part in list(parts.items())[:MOST_FIELDS]:
        shown = name[:LONGEST_TEXT]
        if isinstance(part.content, bytes):
            file_name = MASKED if is_secret(name) else (part.file_name or "")[:LONGEST_TEXT]
            entry.files[shown] = File(file_name, part.media_type, len(part.content))
        else:
            entry.fields[shown] = MASKED if is_secret(name) else part.content[:LONGEST_TEXT]
    if not parts and entry.media_type not in (MULTIPART, URLENCODED):
        entry.body = masked_body(body[:LONGEST_READ].decode("utf-8", "replace"))[:LONGEST_TEXT]
