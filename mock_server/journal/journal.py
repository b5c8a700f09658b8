"""The journal: the latest requests with their answers, for people and tests to look at."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain, count, islice
from typing import Protocol
from urllib.parse import unquote

from mock_server.http.masking import (
    MASKED,
    MIN_KEY_LENGTH,
    is_secret,
    masked_answer,
    masked_header,
    masked_key,
    masked_text,
)

MAX_ENTRIES = 1000
MAX_BYTES = 8 * 2**20
MAX_ANSWER_BYTES = 16 * 2**20  # bytes of whole answers
PREFLIGHT = ("Access-Control-Request-Method", "HTTP_ACCESS_CONTROL_REQUEST_METHOD")
MAX_TEXT_LENGTH = 2000  # characters of a body, a field, a path
MAX_FIELDS = 100
BARE = 1000  # bytes of an entry without its texts, about


@dataclass
class Remark:
    """A breach of the contract in a request, or a known mistake of clients.

    Attributes:
        what: what is wrong, and what to do.
        rule: the id of the contract's rule, or one that begins with `client.` where the contract has none.
        is_meant: whether somebody said that such a mistake is intended; it does not count then.
    """

    what: str
    rule: str
    is_meant: bool = False


@dataclass
class Count:
    """How often a remark was made, and the first request that it was made about."""

    times: int
    request: str
    account: str


@dataclass
class File:
    """A file of a form: name, media type and size in bytes; its content is not kept here."""

    name: str
    media_type: str
    size: int


@dataclass
class Entry:
    """A request and its answer.

    Attributes:
        number: counts the answers from 1; resets do not start again.
        time: when it arrived, in UTC.
        account: the account whose key it carried, or an empty string.
        headers: the headers of the request, with the key masked.
        fields: the texts of its form by name, long ones cut.
        files: the files of its form by name.
        body: the beginning of a body that is not a form.
        status: the status of the answer; None if the connection was dropped.
        forced: the preference that was forced on it, or an empty string.
        broken: how the answer broke off, or an empty string.
        own: whether the answer came from the proxy itself, not from the deployment behind it.
        answer: the beginning of the answer's body.
        milliseconds: from the request to the answer.
    """

    time: str
    account: str
    method: str
    path: str
    query: str
    headers: dict[str, str]
    fields: dict[str, str] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    body: str = ""
    status: int | None = None
    forced: str = ""
    broken: str = ""
    own: bool = False
    answer_headers: dict[str, str] = field(default_factory=dict)
    answer: str = ""
    milliseconds: float = 0.0
    remarks: list[Remark] = field(default_factory=list)
    number: int = 0

    @property
    def is_preferred(self) -> bool:
        """Whether it asked for its answer itself."""
        return "Preference-Applied" in self.answer_headers

    @property
    def media_type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def size(self) -> int:
        """About how many bytes it takes to keep."""
        texts = [self.path, self.query, self.body, self.answer, *self.files]
        for pairs in (self.headers, self.fields, self.answer_headers):
            texts += [*pairs, *pairs.values()]
        for file in self.files.values():
            texts += [file.name, file.media_type]
        return BARE + sum(map(len, texts)) + sum([len(remark.what) for remark in self.remarks])

    @property
    def key(self) -> str:
        """The key that is to be masked: none is in it."""
        return ""

    def complete(self) -> Entry:
        return self


@dataclass(slots=True)
class Head:
    """The head of an answer.

    Attributes:
        is_own: whether the answer came from the proxy itself, not from the deployment behind it.
        is_complete: whether the body that is kept with it is all that was sent.
    """

    status: int | None = None
    headers: Sequence[tuple[str, str]] = ()
    is_own: bool = False
    is_complete: bool = True


Form = tuple[tuple[str, str | File], ...]  # names with texts and files


@dataclass(slots=True)
class RawEntry:
    """A request and its answer as they were, of which an entry is made when somebody looks.

    Attributes:
        time: when it was answered, in seconds since 1970.
        key: the key that it carried, or an empty string.
        path, query: without that key.
        headers: those of the request, by their names in a WSGI environment.
        form: the beginning of its form.
        text: the beginning of another body.
        answer: the answer's body, or its beginning.
        size: about how many bytes it takes to keep.
    """

    time: float
    account: str
    key: str
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    head: Head
    milliseconds: float
    answer: bytes = b""
    form: Form = ()
    text: str = ""
    forced_answers: str = ""
    broken: str = ""
    remarks: list[Remark] = field(default_factory=list)

    @property
    def media_type(self) -> str:
        return self.headers.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def size(self) -> int:
        form = sum([len(name) + len(part if isinstance(part, str) else part.name) for name, part in self.form])
        headers = sum(map(len, self.headers)) + sum(map(len, self.headers.values()))
        answer_headers = sum(map(len, chain.from_iterable(self.head.headers)))
        return BARE + len(self.query) + len(self.text) + len(self.answer) + form + headers + answer_headers

    def complete(self) -> Entry:
        seconds, milliseconds = divmod(int(self.time * 1000), 1000)
        entry = Entry(
            time=f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{milliseconds:03}",
            account=self.account,
            method=self.method,
            path=self.path,
            query=self.query,
            headers=_masked(self.key, ((_header_name(name), text) for name, text in self.headers.items())),
            body=self.text,
            status=None if self.broken == "dropped" else self.head.status,
            forced=self.forced_answers,
            broken=self.broken,
            own=self.head.is_own,
            answer_headers=_masked(self.key, self.head.headers),
            answer=masked_answer(masked_key(self.key, self.answer).decode("utf-8", "replace"), MAX_TEXT_LENGTH),
            milliseconds=round(self.milliseconds, 1),
            remarks=self.remarks,
        )
        for name, field_value in self.form:
            masked_name = masked_text(self.key, name)
            if isinstance(field_value, File):
                file_name = MASKED if is_secret(name) else masked_text(self.key, field_value.name)
                entry.files[masked_name] = File(
                    file_name, masked_text(self.key, field_value.media_type), field_value.size
                )
            else:
                entry.fields[masked_name] = MASKED if is_secret(name) else masked_text(self.key, field_value)
        return entry


@lru_cache(128)  # not more, because a client may send long names
def _header_name(key: str) -> str:
    """The header that a key of a WSGI environment stands for."""
    return key.removeprefix("HTTP_").replace("_", "-").title()


def _masked(key: str, headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers without a key, and without what their names say is secret."""
    masked_headers = {name: masked_header(name, text) for name, text in islice(headers, MAX_FIELDS)}
    names, all_texts = "\n".join(masked_headers), "\n".join(masked_headers.values())
    if (
        len(all_texts) <= MAX_TEXT_LENGTH
        and masked_text(key, all_texts) == all_texts
        and _masked_name(key, names) == names
    ):  # as nearly always
        return masked_headers
    return {_masked_name(key, name): masked_text(key, text) for name, text in masked_headers.items()}


def _masked_name(key: str, name: str) -> str:
    """The name of a header, which is no key, however its letters and hyphens are written."""
    secret, names = key.replace("_", "-").casefold(), (name, unquote(name))
    is_key = len(key) >= MIN_KEY_LENGTH and any(secret in text.replace("_", "-").casefold() for text in names)
    return MASKED if is_key else name


@dataclass(slots=True)
class _StoredEntry:
    """A request that is kept, as an entry once somebody has looked, and the key that it carried."""

    number: int
    size: int
    key: str
    request: RawEntry | Entry

    @property
    def entry(self) -> Entry:
        if isinstance(self.request, RawEntry):
            self.request = self.request.complete()
        self.request.number = self.number
        return self.request


class Journal(Protocol):
    """The latest requests, and how often each remark was made."""

    most_entries: int

    def add(self, request: RawEntry | Entry, answer: bytes = b"") -> None:
        """Keep a request, and drop the oldest ones if there is no room.

        Args:
            request: the request.
            answer: the whole body of its answer, of which the entry itself has the beginning.
        """

    @property
    def remark_counts(self) -> dict[tuple[str, str], Count]:
        """How often each remark was made, by what it says and its rule."""

    def find(self, **filters: str) -> list[Entry]:
        """The requests that match, oldest first.

        Args:
            filters: `account`, `method`, `status` and `path` (with `*` for anything) of the requests; `remarks` is `1`
                for requests with remarks; `after` is the number of an entry.
        """

    def entry(self, number: int) -> Entry | None:
        """One request, if it is still kept."""

    @property
    def exchanges(self) -> list[tuple[Entry, bytes | None]]:
        """The requests, oldest first, each with the whole body of its answer, or None if that is not kept."""

    def clear(self) -> None:
        """Forget all of them, and the counts."""

    def follow(self, seconds: float, **filters: str) -> Iterator[Entry | None]:
        """Requests as they arrive, and None whenever none has arrived for some seconds."""


class MemoryJournal:
    """The latest requests, within bounds, and how often each remark was made.

    Args:
        most_entries: how many are kept.
        most_bytes: about how many bytes they may take together.
    """

    def __init__(self, most_entries: int = MAX_ENTRIES, most_bytes: int = MAX_BYTES) -> None:
        self.most_entries, self._most_bytes = most_entries, most_bytes
        self._entries: deque[_StoredEntry] = deque()
        self._bytes = 0
        self._answers: dict[int, bytes] = {}
        self._answer_bytes = 0
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._added, self._followers = threading.Condition(self._lock), 0
        self._remark_counts: dict[tuple[str, str], Count] = {}

    def add(self, request: RawEntry | Entry, answer: bytes = b"") -> None:
        size = request.size
        with self._lock:
            stored = _StoredEntry(next(self._numbers), size, request.key, request)
            self._entries.append(stored)
            self._bytes += size
            while len(self._entries) > self.most_entries or self._bytes > self._most_bytes:
                before = self._entries.popleft()
                self._bytes -= before.size
                self._answer_bytes -= len(self._answers.pop(before.number, b""))
            if answer:
                self._answers[stored.number] = answer
                self._answer_bytes += len(answer)
            while self._answer_bytes > MAX_ANSWER_BYTES:
                self._answer_bytes -= len(self._answers.pop(next(iter(self._answers))))
            for remark in request.remarks:
                if not remark.is_meant:
                    self._count(remark, request)
            if self._followers:
                self._added.notify_all()

    def _count(self, remark: Remark, request: RawEntry | Entry) -> None:
        remark_key = (remark.what, remark.rule)
        if remark_key in self._remark_counts:
            self._remark_counts[remark_key].times += 1
        elif len(self._remark_counts) < self.most_entries:
            self._remark_counts[remark_key] = Count(1, f"{request.method} {request.target}", request.account)

    @property
    def remark_counts(self) -> dict[tuple[str, str], Count]:
        with self._lock:
            return dict(self._remark_counts)

    def find(self, **filters: str) -> list[Entry]:
        with self._lock:
            stored_entries = list(self._entries)  # of which entries are made while requests are answered
        return [stored.entry for stored in stored_entries if matches(stored.entry, filters)]

    def entry(self, number: int) -> Entry | None:
        with self._lock:
            return next((stored.entry for stored in self._entries if stored.number == number), None)

    @property
    def exchanges(self) -> list[tuple[Entry, bytes | None]]:
        with self._lock:
            stored_answers = [(stored, self._answers.get(stored.number)) for stored in self._entries]
        return [(stored.entry, _unmasked_answer(stored, answer)) for stored, answer in stored_answers]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._answers.clear()
            self._answer_bytes = 0
            self._remark_counts.clear()
            self._bytes = 0

    def follow(self, seconds: float, **filters: str) -> Iterator[Entry | None]:
        last = int(filters.pop("after")) if "after" in filters else self._latest
        while True:
            with self._added:
                if self._latest <= last:
                    self._followers += 1
                    self._added.wait(seconds)
                    self._followers -= 1
                arrived_entries = [stored for stored in self._entries if stored.number > last]
                last = max(last, self._latest)
            new = [stored.entry for stored in arrived_entries if matches(stored.entry, filters)]
            yield from new
            if not new:
                yield None

    @property
    def _latest(self) -> int:
        return self._entries[-1].number if self._entries else 0


def _unmasked_answer(stored: _StoredEntry, answer: bytes | None) -> bytes | None:
    """The whole body of an answer without a key; None if it is not kept."""
    if answer is None:
        return None if stored.entry.answer else b""
    return masked_key(stored.key, answer)


def frequent_remarks(journal: Journal) -> list[tuple[str, str, Count]]:
    """Remarks with their rules and counts, the most frequent first."""
    remarks = [(text, rule, count) for (text, rule), count in journal.remark_counts.items()]
    return sorted(remarks, key=lambda row: -row[2].times)


def is_preflight(method: str, headers: Collection[str]) -> bool:
    """Whether a request is one that browsers send before another (Fetch standard); its headers by either name."""
    return method == "OPTIONS" and any(name in headers for name in PREFLIGHT)


FILTERS: dict[str, Callable[[Entry, str], bool]] = {
    "account": lambda entry, expected: entry.account == expected,
    "method": lambda entry, expected: entry.method == expected.upper(),
    "path": lambda entry, expected: fnmatchcase(entry.path, expected),
    "status": lambda entry, expected: str(entry.status) == expected,
    "remarks": lambda entry, expected: bool(entry.remarks) == (expected not in ("0", "")),
    "after": lambda entry, expected: entry.number > int(expected),
}


def matches(entry: Entry, filters: Mapping[str, str]) -> bool:
    return all(FILTERS[name](entry, expected) for name, expected in filters.items())
