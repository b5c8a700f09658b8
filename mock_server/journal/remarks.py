"""Remarks about requests that break the contract, or make mistakes that clients of such services are known to make.

Each remark is one row of the tables below: the rule it is about, when it is made, what is wrong, and what to do.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from http import HTTPStatus
from time import monotonic
from typing import Any
from urllib.parse import parse_qsl

from link_management_contract import Contract, Resource
from mock_server.errors import SettingsError
from mock_server.http.context import Context
from mock_server.http.form_parts import Part
from mock_server.journal.journal import RawEntry, Remark

API = re.compile("/+api(/|$)")
TOTAL_PAGES = re.compile(rb'"total_pages"\s*:\s*(\d+)')
POSITIVE = re.compile("0*[1-9][0-9]*")
OVERRIDE = "X-HTTP-Method-Override"
URLENCODED = "application/x-www-form-urlencoded"
ARTEFACTS = frozenset({"undefined", "null", "NaN", "[object Object]", "[object File]", "[object Blob]"})  # of scripts
SPACE_FOR_PLUS = re.compile(r"[^\s,;@]+ [^\s,;@]+@[^\s,;@]+")
IMAGE = re.compile(
    rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|\x00\x00\x01\x00|BM|....ftyp(avif|avis|mif1)|(\xef\xbb\xbf)?\s*<",
    re.DOTALL,
)
MAX_IMAGE_HEAD = 512  # bytes of a file in which an image shows that it is one
GRACE = 0.25  # seconds in which requests that were under way may still arrive
MAX_WAIT = 3600.0  # seconds; a larger number is a time
POLLING_COUNT, POLLING_SECONDS = 60, 60.0  # the same request, so often in so many seconds
MAX_ACCOUNTS = 5000  # accounts
REFUSED_RULE, PAGE_1_RULE = "client.refused", "client.page-1"  # made below, about what was refused and at the end


@dataclass(frozen=True, slots=True)
class Target:
    """What a request asks for.

    Attributes:
        prefix: what stands before `/api`.
        full_path, path: its path, with and without that prefix.
        query: its parameters.
        reads: the resource whose list it reads, or None.
        moved: the resource whose page links name its path, where no list is, or None.
        writes: the resource whose records it writes, or None.
        page_sizes: the page sizes of the contract.
    """

    method: str
    prefix: str
    full_path: str
    path: str
    query: Mapping[str, str]
    reads: Resource | None
    moved: Resource | None
    writes: Resource | None
    page_sizes: tuple[str, ...]

    @property
    def form(self) -> str:
        """What a form is sent for: create, update or nothing."""
        if self.writes is None or self.method != "POST":
            return ""
        return "create" if self.path.rstrip("/") == self.writes.paths["create"] else "update"


@dataclass(slots=True)
class RequestFacts:
    """A request that has been answered, and what its account did before.

    Attributes:
        before: the page size of the list that it goes on with, if it has to send that again; else empty.
        elapsed, wait: how many seconds after a 429 it was sent, if too early, and how many that asked to wait.
        times, seconds: how often in a row, and within how many seconds, the account has sent just that.
    """

    entry: RawEntry
    context: Context
    target: Target
    before: str = ""
    elapsed: float = 0.0
    wait: float = 0.0
    times: int = 0
    seconds: float = 0.0

    @property
    def is_json(self) -> bool:
        return self.entry.media_type == "application/json"

    @property
    def parts(self) -> Mapping[str, Part]:
        return self.context.parts or {}


@dataclass(slots=True)
class Value:
    """The value of a parameter, the id in a path, or a field of a form.

    Attributes:
        location: what it is, for people.
        text: what was sent; empty for a file.
        request, name, part: the request, the name and the part of a field.
        kind: the kind of field that it is, as the contract has it; empty if it is none of the resource's.
        file: the content of a file where one belongs, or None.
    """

    location: str
    text: str
    request: RequestFacts | None = None
    name: str = ""
    part: Part | None = None
    kind: str = ""
    file: bytes | None = None

    @property
    def is_odd_boolean(self) -> bool:
        """Whether it says neither 1 nor 0 where one of them belongs."""
        return self.kind == "boolean" and self.text not in ("0", "1")


@dataclass(frozen=True, slots=True)
class Row:
    """A remark.

    Attributes:
        rule: the id of the contract's rule, or one that begins with `client.` where the contract has none.
        test: given what the remark may be about, something true if it is made.
        text: what is wrong; `item` is what the remark is about, and `found` what was true of it.
        fix: what to do.
    """

    rule: str
    test: Callable[[Any], object]
    text: str
    fix: str


JSON = ("The body is JSON", "send a form, as multipart/form-data")
TARGET_ROWS = (  # each is about a `Target`, and slips in its values are, too
    Row(
        "pagination.links-begin-with-the-base-url",
        lambda item: item.prefix and not item.full_path.startswith(f"{item.prefix}/"),
        '"{item.full_path}" is without the prefix {item.prefix}',
        "append paths to the base URL, prefix and all, and do not resolve them against its origin",
    ),
    Row(
        "client.two-slashes",
        lambda item: "//" in item.path,
        '"{item.full_path}" has two slashes in a row',
        "the base URL ends without one",
    ),
    Row(
        "operations.writes-not-redirected",
        lambda item: item.writes and item.path[-1] == "/" and item.full_path.rstrip("/"),
        "The path of a write ends with a slash, and a service may redirect it and lose the form",
        'send it to "{found}"',
    ),
    Row(
        "operations.update-answers",
        lambda item: item.method in ("PUT", "PATCH"),
        "{item.method} is no method of the API",
        "an update is sent by POST, whole or in part",
    ),
    Row(
        "client.unknown-parameter",
        lambda item: (
            item.reads and '", "'.join(name[:40] for name in item.query if name not in ("page", "results_per_page"))
        ),
        'The parameter "{found}" is not documented',
        "it is ignored",
    ),
    Row(
        "client.write-parameters",
        lambda item: item.method not in ("GET", "HEAD") and ", ".join(item.query),
        "A write ignores parameters: {found:.80}",
        "send fields in the form",
    ),
    Row(
        "pagination.links-name-the-collection",
        lambda item: item.moved,
        'Page links of {item.moved.name} name "{item.moved.link_collection}", where no list is',
        "take the page's number from the link, and ask {item.moved.paths[list]} for it",
    ),
    Row(
        "pagination.other-sizes-are-not-used",
        lambda item: (
            item.reads
            and item.query.get("results_per_page") not in (None, *item.page_sizes)
            and ", ".join(item.page_sizes)
        ),
        'The page size "{item.query[results_per_page]:.40}" is not one of {found}',
        "send one of them, because a service uses its default instead",
    ),
    Row(
        "robustness.odd-pages-do-not-fail",
        lambda item: item.reads and not POSITIVE.fullmatch(item.query.get("page", "1")),
        'The page "{item.query[page]:.40}" is not a number from 1 up',
        "the first page is 1",
    ),
)
WRITE_ROWS = (  # each is about a `RequestFacts`
    Row(
        "operations.delete-answers",
        lambda item: "HTTP_X_HTTP_METHOD_OVERRIDE" in item.entry.headers,
        f"The header {OVERRIDE} is ignored",
        "send a DELETE",
    ),
    Row("operations.create-answers", lambda item: item.target.form == "create" and item.is_json, *JSON),
    Row("operations.update-answers", lambda item: item.target.form == "update" and item.is_json, *JSON),
    Row(
        "client.type-without-its-field",
        lambda item: item.target.form == "create" and _missing_field(item),
        'The field "{found}" is not there, without which its type is of no use',
        "send both",
    ),
)
HISTORY_ROWS = (  # each is about a `RequestFacts`
    Row(
        "pagination.links-hold-page-alone",
        lambda item: item.before,
        "A page of {item.target.reads.name} is asked for without results_per_page, and one before with {found}",
        "page links hold the page's number alone, so send the size again",
    ),
    Row(
        "client.calls-on-after-429",
        lambda item: item.elapsed,
        "Sent {found:.1f} s after a 429 that asked to wait {item.wait:g} s",
        "wait that long, then send the same request again",
    ),
    Row(
        "client.polling",
        lambda item: item.times == POLLING_COUNT,
        "{item.entry.method} {item.entry.target:.80} came {item.times} times within {item.seconds:.0f} s,"
        " and nothing else",
        "ask again after a change, or less and less often",
    ),
)
ARTEFACT_ROW = Row(
    "client.slip",
    lambda item: item.text in ARTEFACTS,
    '{item.location} is "{item.text}"',
    "scripts write that for a value that is missing or not a string: leave it out, or send its text",
)
FIELD_ROWS = (  # each is about a `Value`
    ARTEFACT_ROW,
    Row(
        "client.field-twice",
        lambda item: item.part and item.part.times > 1,
        "{item.location} is sent {item.part.times} times; the last counts here, another service may take the first",
        "use set where you use append",
    ),
    Row(
        "operations.delete-answers",
        lambda item: item.name == "_method",
        "{item.location} is ignored",
        "send a DELETE",
    ),
    Row(
        "client.unknown-field",
        lambda item: not item.kind and item.name != "_method",
        "{item.location} is not a field of {item.request.target.writes.name}",
        "it is ignored",
    ),
    Row(
        "forms.one-enables",
        lambda item: item.is_odd_boolean,
        '{item.location} is "{item.text:.40}"',
        "the contract knows 1 and 0",
    ),
    Row(
        "client.ignored-field",
        lambda item: (
            item.name in item.request.context.ignored
            and not item.is_odd_boolean
            and ("does not go with this record or operation" if item.part.content else "is empty")
        ),
        "{item.location} {found}",
        "it is ignored",
    ),
    Row(
        "client.empty-file",
        lambda item: item.file == b"",
        "{item.location} holds an empty file",
        "wait until it is read, or leave the field out",
    ),
    Row(
        "client.no-image",
        lambda item: item.file and not IMAGE.match(item.file, 0, MAX_IMAGE_HEAD),
        "{item.location} holds a file that is not an image that browsers show",
        "check its first bytes before you send it",
    ),
    Row(
        "client.url-as-host",
        lambda item: item.name == "host" and ("/" in item.text or ":" in item.text),
        "The host is a URL or has a port",
        "send the name alone, such as new URL(text).hostname gives it",
    ),
    Row(
        "client.raw-plus",
        lambda item: (
            item.name == "email" and item.request.entry.media_type == URLENCODED and SPACE_FOR_PLUS.fullmatch(item.text)
        ),
        'The e-mail address has a space before the "@", because a raw "+" stands for one in an urlencoded form',
        "encode it as %2B, as URLSearchParams does",
    ),
)

CLIENT_RULES = sorted(
    {row.rule for row in (*TARGET_ROWS, *WRITE_ROWS, *HISTORY_ROWS, *FIELD_ROWS) if row.rule.startswith("client.")}
    | {REFUSED_RULE, PAGE_1_RULE}
)


@dataclass(slots=True)
class _Account:
    """What an account did before.

    Attributes:
        ignored_rules: patterns of the rules against which its mistakes are meant.
        limited_at, wait: when a 429 asked it to wait, on the clock that only goes forward, and for how many seconds.
        target, repeated_since, times: what it reads again and again, since when, and how often.
        sizes: the page size of its last view of each list; empty once it viewed one of the default size.
        pages: how many pages each list has of which it read page 1 alone; empty once it read another.
    """

    ignored_rules: tuple[str, ...] = ()
    limited_at: float = 0.0
    wait: float = 0.0
    target: str = ""
    repeated_since: float = 0.0
    times: int = 0
    sizes: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)


class Remarks:
    """Looks at requests in order, because some mistakes show only in the next one.

    Args:
        contract: what requests may hold.
        base_path: the prefix of `/api`.
        ignored: patterns of rules; remarks about them never count, for any account.

    Raises:
        SettingsError: if such a pattern matches no rule.
    """

    def __init__(self, contract: Contract, base_path: str, ignored: Sequence[str] = ()) -> None:
        self._contract = contract
        self._base_path = base_path
        self._lists = {resource.paths["list"].rstrip("/"): resource for resource in contract.resources.values()}
        linked = {f"/api/{resource.link_collection}": resource for resource in contract.resources.values()}
        self._linked = {path: resource for path, resource in linked.items() if path not in self._lists}
        self._page_sizes = tuple(map(str, contract.page_sizes))
        for pattern in ignored:
            self.check(pattern)
        self._ignored = tuple(ignored)
        self._accounts: OrderedDict[str, _Account] = OrderedDict()
        self._target = lru_cache(256)(self._target_of)  # clients ask for the same again and again

    def forget(self, account: str | None = None) -> None:
        """Forget all accounts' earlier requests, or those of one that starts again, except for the pages it read."""
        if account is None:
            self._accounts.clear()
            return
        forgotten = self._accounts.pop(account, None)
        if forgotten and any(forgotten.pages.values()) and not self._is_meant(forgotten, PAGE_1_RULE):
            self._account(account).pages = forgotten.pages

    def expect(self, account: str, patterns: Sequence[str]) -> None:
        """Let the mistakes that an account makes against some rules count as meant, until it starts again.

        Raises:
            SettingsError: if a pattern matches no rule.
        """
        for pattern in patterns:
            self.check(pattern)
        self._account(account).ignored_rules = tuple(patterns)

    def check(self, pattern: str) -> None:
        """Refuse a pattern that matches no rule.

        Raises:
            SettingsError: if it matches none.
        """
        rules = sorted({*self._contract.rules, *CLIENT_RULES})
        if not any(fnmatchcase(rule, pattern) for rule in rules):
            similar = get_close_matches(pattern, rules, n=2, cutoff=0.5) or CLIENT_RULES
            raise SettingsError(f'no remark is about "{pattern}"; remarks are about rules such as {", ".join(similar)}')

    @property
    def unread(self) -> list[Remark]:
        """What shows only at the end, and may be intended: collections of which nobody asked for more than page 1."""
        unread_accounts: dict[str, list[tuple[str, str]]] = {}
        for name, account in list(self._accounts.items()):
            for resource, total in account.pages.items():
                if total and not self._is_meant(account, PAGE_1_RULE):
                    unread_accounts.setdefault(resource, []).append((name, total))
        return [
            Remark(f"Of the {_common(accounts)}pages of {name}, page 1 alone was read{_by(accounts)}.", PAGE_1_RULE)
            for name, accounts in unread_accounts.items()
        ]

    def remarks_on(self, raw_entry: RawEntry, context: Context, answer: bytes) -> Iterator[Remark]:
        """The remarks about one request.

        Args:
            raw_entry: the request.
            context: what the layers learned about it.
            answer: the body of its answer.
        """
        target, target_remarks = self._target(raw_entry.method, raw_entry.path, raw_entry.query)
        if not target:
            return
        account, request = self._account(raw_entry.account), RequestFacts(raw_entry, context, target)
        if target.reads:
            _note_pages(account, target.reads.name, request, answer)
            self._note_size(account, target.reads.name, request)
        if raw_entry.account:
            now = monotonic()
            _note_wait(account, request, now)
            _note_repetition(account, request, now)
        remarks = [*target_remarks]
        if request.before or request.elapsed or request.times >= POLLING_COUNT:  # few do
            remarks += _matching_remarks(HISTORY_ROWS, request)
        if raw_entry.method not in ("GET", "HEAD"):
            remarks += _matching_remarks(WRITE_ROWS, request)
            for value in _fields(request, target.writes) if target.form and target.writes else ():
                remarks += _matching_remarks(FIELD_ROWS, value)
        is_own_failure = (raw_entry.head.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR
        if context.refusal and not is_own_failure and all(rule.startswith("client.") for _, rule in remarks):
            remarks.append((context.refusal.title, context.refusal.rule or REFUSED_RULE))
        for text, rule in remarks:
            yield Remark(text, rule, self._is_meant(account, rule))

    def _is_meant(self, account: _Account, rule: str) -> bool:
        return any(fnmatchcase(rule, pattern) for pattern in (*self._ignored, *account.ignored_rules))

    def _account(self, name: str) -> _Account:
        """What an account did before; the one that was seen longest ago is forgotten if there are too many."""
        account = self._accounts.get(name)
        if account is None:
            account = self._accounts[name] = _Account()
            while len(self._accounts) > MAX_ACCOUNTS:
                self._accounts.popitem(last=False)
        self._accounts.move_to_end(name)
        return account

    def _target_of(self, method: str, full_path: str, query: str) -> tuple[Target | None, list[tuple[str, str]]]:
        """What a request to the API asks for, and the remarks about that alone; None and nothing for another."""
        path = full_path.removeprefix(self._base_path)
        bare_path = path.rstrip("/")
        if method == "OPTIONS" or not API.match(path):
            return None, []
        target = Target(
            method=method,
            prefix=self._base_path,
            full_path=full_path,
            path=path,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            reads=self._lists.get(bare_path) if method == "GET" else None,
            moved=self._linked.get(bare_path) if method == "GET" else None,
            writes=self._resource_written_at(bare_path) if method in ("POST", "DELETE") else None,
            page_sizes=self._page_sizes,
        )
        remarks = [*_matching_remarks(TARGET_ROWS, target)]
        for name, text in (*target.query.items(), ("id", bare_path.rpartition("/")[2])):
            remarks += _matching_remarks((ARTEFACT_ROW,), Value(f"The {name[:40]} of {method} {path[:80]}", text))
        return target, remarks

    def _note_size(self, account: _Account, name: str, request: RequestFacts) -> None:
        """Page links hold only the page's number, so a client that follows one gets pages of another size."""
        target, before = request.target, account.sizes.get(name)
        size, page = target.query.get("results_per_page"), target.query.get("page", "")
        is_link = page and not target.path.endswith("/")  # page links have no slash there
        if size is None and (is_link or page not in ("", "1")):
            request.before = before or ""
        else:
            usual = (None, "", str(self._contract.default_page_size))
            account.sizes[name] = "" if before == "" or size in usual else size

    def _resource_written_at(self, path: str) -> Resource | None:
        """The resource that a create, update or delete at a path would write to."""
        for resource in self._contract.resources.values():
            record = resource.paths["update"].partition("{")[0]
            if path == resource.paths["create"] or (path.startswith(record) and path != record):
                return resource
        return None


def _matching_remarks(rows: Sequence[Row], item: object) -> Iterator[tuple[str, str]]:
    """The remarks that are made about something, and their rules."""
    for row in rows:
        if matched := row.test(item):
            yield f"{row.text}; {row.fix}.".format(item=item, found=matched), row.rule


def _fields(request: RequestFacts, resource: Resource) -> list[Value]:
    """The fields of a form for a resource."""
    values = []
    for name, part in request.parts.items():
        field, content = resource.fields.get(name), part.content
        text, file = (content, None) if isinstance(content, str) else ("", content)
        kind, location = field.kind if field else "", f'The field "{name[:40]}"'
        values.append(Value(location, text, request, name, part, kind, file if kind == "file" else None))
    return values


def _missing_field(request: RequestFacts) -> str:
    """The field that goes with the type of a new record, and is not in its form; or an empty string."""
    parts, resource = request.parts, request.target.writes
    for candidate in resource.fields.values() if resource else ():
        on, value = candidate.applies_when or ("", "")
        if on in parts and parts[on].content == value and candidate.name not in parts:
            return candidate.name
    return ""


def _note_pages(account: _Account, name: str, request: RequestFacts, answer: bytes) -> None:
    """Note whether an account read anything but page 1 of several."""
    if pages := TOTAL_PAGES.match(answer, max(0, answer.rfind(b'"total_pages"'))):
        is_all_read = request.target.query.get("page", "1") != "1" or int(pages[1]) == 1
        account.pages[name] = "" if is_all_read else account.pages.get(name, pages[1].decode())


def _note_wait(account: _Account, request: RequestFacts, now: float) -> None:
    """Note until when an account has to wait, and whether it did."""
    if account.wait and GRACE < (delay := now - request.entry.milliseconds / 1000 - account.limited_at) < account.wait:
        request.elapsed, request.wait = delay, account.wait
    if request.entry.head.status == HTTPStatus.TOO_MANY_REQUESTS:
        account.limited_at, account.wait = now, _wait(request.entry)


def _wait(raw_entry: RawEntry) -> float:
    """The seconds that a 429 asks to wait, as its headers say."""
    header_texts = dict(raw_entry.head.headers)
    for name in ("Retry-After", "X-RateLimit-Reset"):
        text = header_texts.get(name, "")
        if text.isascii() and text.isdecimal() and float(text) <= MAX_WAIT:
            return float(text)
    return 0.0


def _note_repetition(account: _Account, request: RequestFacts, now: float) -> None:
    """Note what an account reads again and again."""
    target = request.entry.target if request.entry.method == "GET" else ""
    if not target or target != account.target or now > account.repeated_since + POLLING_SECONDS:
        account.target, account.repeated_since, account.times = target, now, 0
    account.times += 1
    request.times, request.seconds = account.times, now - account.repeated_since


def _common(accounts: list[tuple[str, str]]) -> str:
    """How many pages there are, if that is the same for all."""
    totals = {total for _, total in accounts}
    return f"{totals.pop()} " if len(totals) == 1 else ""


def _by(accounts: list[tuple[str, str]]) -> str:
    """Who did something: one account, or several."""
    first = accounts[0][0]
    return f" by {len(accounts)} accounts, such as {first}" if len(accounts) > 1 else first and f" by {first}"
