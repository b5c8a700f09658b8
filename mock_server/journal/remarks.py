"""Remarks about requests that break the contract, or make mistakes that clients of such services are known to make."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from http import HTTPStatus
from time import monotonic
from urllib.parse import parse_qsl

from link_management_contract import Contract, Field, Resource
from mock_server.errors import SettingsError
from mock_server.http.context import Context
from mock_server.http.form_parts import Part
from mock_server.journal.journal import Entry, Remark

SLIPS = frozenset({"undefined", "null", "NaN", "[object Object]", "[object File]", "[object Blob]"})  # of scripts
URLENCODED = "application/x-www-form-urlencoded"
SPACE_FOR_PLUS = re.compile(r"[^\s,;@]+ [^\s,;@]+@[^\s,;@]+")
IMAGE = re.compile(
    rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|\x00\x00\x01\x00|BM|....ftyp(avif|avis|mif1)|(\xef\xbb\xbf)?\s*<",
    re.DOTALL,
)


def slip(where: str, text: str) -> Remark:
    """The remark about a text that is one of SLIPS."""
    cure = "scripts write that for a value that is missing or not a string; leave it out, or send its text"
    return Remark(f'{where} is "{text}": {cure}.', "client.slip")


def about_form(entry: Entry, resource: Resource, operation: str, context: Context) -> Iterator[Remark]:
    """The remarks about the form of a create or update."""
    if entry.media_type == "application/json":
        yield Remark("The body is JSON; send a form, as multipart/form-data.", f"operations.{operation}-answers")
    parts = context.parts or {}
    for name in {**entry.fields, **entry.files}:
        part = parts.get(name)
        if part and part.times > 1:
            yield Remark(
                f'The field "{name[:40]}" is sent {part.times} times; the last counts here, another service may take'
                " the first: use set where you use append.",
                "client.field-twice",
            )
        field, text = resource.fields.get(name), entry.fields.get(name)
        if name == "_method":
            yield Remark("The field _method is ignored; send a DELETE.", "operations.delete-answers")
        elif field is None:
            yield Remark(
                f'The field "{name[:40]}" is not a field of {resource.name}; ignored.',
                "client.unknown-field",
            )
        elif field.kind == "boolean" and text not in ("0", "1"):
            yield Remark(f'"{name}" is "{(text or "")[:40]}"; the contract knows 1 and 0.', "forms.one-enables")
        else:
            yield from _about_field(entry, field, part, context)
    if operation == "create":
        yield from _about_type(resource, parts)


def _about_field(entry: Entry, field: Field, part: Part | None, context: Context) -> Iterator[Remark]:
    name = field.name
    if name in context.ignored:
        why = "does not go with this record or operation" if entry.fields.get(name) else "is empty"
        yield Remark(f'The field "{name}" {why}; ignored.', "client.ignored-field")
    if part and field.kind == "file":
        yield from _about_file(name, part)
    elif part and isinstance(part.content, str):
        text = part.content
        if text in SLIPS:
            yield slip(f'The field "{name}"', text)
        if name == "host" and ("/" in text or ":" in text):
            yield Remark(
                "The host is a URL or has a port; send the name alone, such as new URL(text).hostname gives it.",
                "client.url-as-host",
            )
        if name == "email" and entry.media_type == URLENCODED and SPACE_FOR_PLUS.fullmatch(text):
            yield Remark(
                f'The field "{name}" has a space before the "@": in an urlencoded form, a raw "+" stands for one;'
                " encode it as %2B, as URLSearchParams does.",
                "client.raw-plus",
            )


def _about_file(name: str, part: Part) -> Iterator[Remark]:
    if not isinstance(part.content, bytes):
        return
    if not part.content:
        yield Remark(f'The file "{name}" is empty; wait until it is read, or leave the field out.', "client.empty-file")
    elif not IMAGE.match(part.content):
        yield Remark(
            f'The file "{name}" is not an image that browsers show; check its first bytes before you send it.',
            "client.no-image",
        )


def _about_type(resource: Resource, parts: Mapping[str, Part]) -> Iterator[Remark]:
    """A type without the fields that go with it is of no use to the service."""
    for field in resource.fields.values():
        if field.applies_when is None or field.name in parts:
            continue
        on, value = field.applies_when
        if on in parts and parts[on].content == value:
            yield Remark(
                f'The type is {value}, and its field "{field.name}" is not there; send both.',
                "client.type-without-its-field",
            )


GRACE = 0.25  # seconds in which requests that were under way may still arrive
LONGEST_WAIT = 3600.0  # seconds; a larger number is a time
OFTEN, WITHIN = 60, 60.0  # the same request, so often in so many seconds


class _Account:
    """What an account did last: until when it has to wait, and what it reads again and again."""

    __slots__ = ("again", "since", "target", "told", "wait")

    def __init__(self) -> None:
        self.told = self.wait = self.since = 0.0
        self.target, self.again = "", 0


class Habits:
    """Looks at when each account sends what."""

    def __init__(self) -> None:
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    def forget(self, account: str | None = None) -> None:
        """Forget one account, or all."""
        if account is None:
            self._accounts.clear()
        else:
            self._accounts.pop(account, None)

    def about(self, entry: Entry) -> Iterator[Remark]:
        """The remarks about a request that has just been answered."""
        if not entry.account:
            return
        now, known = monotonic(), self._accounts.setdefault(entry.account, _Account())
        while len(self._accounts) > MOST_KNOWN:
            self._accounts.popitem(last=False)
        began = now - entry.milliseconds / 1000
        if known.told + GRACE < began < known.told + known.wait:
            yield Remark(
                f"Sent {began - known.told:.1f} s after a 429 that asked to wait {known.wait:g} s; wait that long, then"
                " send the same request again.",
                "client.calls-on-after-429",
            )
        if entry.status == HTTPStatus.TOO_MANY_REQUESTS:
            known.told, known.wait = now, _wait(entry)
        yield from _polling(entry, known, now)


def _polling(entry: Entry, known: _Account, now: float) -> Iterator[Remark]:
    if entry.method != "GET" or entry.target != known.target or now > known.since + WITHIN:
        known.target, known.since, known.again = entry.target if entry.method == "GET" else "", now, 0
    known.again += 1
    if known.again == OFTEN:
        yield Remark(
            f"{entry.method} {entry.target[:80]} came {OFTEN} times within {now - known.since:.0f} s, and nothing else;"
            " ask again after a change, or less and less often.",
            "client.polling",
        )


def _wait(entry: Entry) -> float:
    """The seconds that a 429 asks to wait, as its headers say."""
    for name in ("Retry-After", "X-RateLimit-Reset"):
        text = entry.answer_headers.get(name, "")
        if text.isascii() and text.isdecimal() and float(text) <= LONGEST_WAIT:
            return float(text)
    return 0.0


BOTH = "beside the default size, "
MOST_KNOWN = 5000  # accounts, or pairs of one and a resource
API = re.compile("/+api(/|$)")
TOTAL_PAGES = re.compile(rb'"total_pages"\s*:\s*(\d+)')
OF_CLIENTS = (  # rules of remarks where the contract has none
    "client.calls-on-after-429",
    "client.empty-file",
    "client.field-twice",
    "client.ignored-field",
    "client.no-image",
    "client.polling",
    "client.raw-plus",
    "client.refused",
    "client.slip",
    "client.two-slashes",
    "client.type-without-its-field",
    "client.unknown-field",
    "client.unknown-parameter",
    "client.url-as-host",
    "client.write-parameters",
)
OVERRIDE = "X-Http-Method-Override"


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
        self._meant: dict[str, tuple[str, ...]] = {}
        self._habits = Habits()
        self._sizes: dict[tuple[str, str], str] = {}
        self._unread: dict[tuple[str, str], str] = {}

    def forget(self, account: str | None = None) -> None:
        """Forget earlier requests, of one account or of all, because it starts again."""
        self._habits.forget(account)
        for name in [each for each in list(self._meant) if account in (None, each)]:
            self._meant.pop(name, None)
        for memory in (self._sizes, self._unread):
            for place in [each for each in list(memory) if account in (None, each[0])]:
                memory.pop(place, None)

    def mean(self, account: str, patterns: Sequence[str]) -> None:
        """Let the mistakes that an account makes against some rules count as meant, until it starts again.

        Raises:
            SettingsError: if a pattern matches no rule.
        """
        for pattern in patterns:
            self.check(pattern)
        self._meant[account] = tuple(patterns)
        while len(self._meant) > MOST_KNOWN:
            self._meant.pop(next(iter(self._meant)), None)

    def check(self, pattern: str) -> None:
        """Refuse a pattern that matches no rule.

        Raises:
            SettingsError: if it matches none.
        """
        rules = sorted({*self._contract.rules, *OF_CLIENTS})
        if not any(fnmatchcase(rule, pattern) for rule in rules):
            near = get_close_matches(pattern, rules, n=2, cutoff=0.5) or OF_CLIENTS
            raise SettingsError(f'no remark is about "{pattern}"; remarks are about rules such as {", ".join(near)}')

    @property
    def unread(self) -> list[Remark]:
        """What shows only at the end, and may be intended: collections of which nobody asked for more than page 1."""
        found: dict[str, list[tuple[str, str]]] = {}
        for (account, name), total in self._unread.items():
            if total:
                found.setdefault(name, []).append((account, total))
        return [
            Remark(f"Of the {_common(places)}pages of {name}, page 1 alone was read{_by(places)}.", "client.page-1")
            for name, places in found.items()
        ]

    def about(self, entry: Entry, context: Context, answer: bytes) -> Iterator[Remark]:
        """The remarks about one request.

        Args:
            entry: the request.
            context: what the layers learned about it.
            answer: the body of its answer.
        """
        path = entry.path.removeprefix(self._base_path)
        if entry.method == "OPTIONS" or not API.match(path):
            return
        query = _parsed(entry.query)
        known = [*self._about_path(entry, path), *_about_method(entry)]
        for name, text in (*query.items(), ("id", path.rstrip("/").rpartition("/")[2])):
            if text in SLIPS:  # nearly never, and this is done for every request
                known.append(slip(f"The {name[:40]} of {entry.method} {path[:80]}", text))
        if resource := self._lists.get(path.rstrip("/")) if entry.method == "GET" else None:
            self._note_pages(entry, resource, query, answer)
            known += [*self._about_list(query), *self._about_links(entry, resource, query)]
        elif query and entry.method not in ("GET", "HEAD"):
            known.append(Remark(f"A write ignores parameters: {', '.join(query)[:80]}.", "client.write-parameters"))
        if entry.method == "POST" and (resource := self._written(path)):
            known += about_form(entry, resource, _operation(resource, path), context)
        known += self._habits.about(entry)
        if context.refusal and all(remark.rule.startswith("client.") for remark in known):
            known.append(Remark(context.refusal.title, context.refusal.rule or "client.refused"))
        meant = (*self._ignored, *self._meant.get(entry.account, ()))
        for remark in known:
            remark.is_meant = any(fnmatchcase(remark.rule, pattern) for pattern in meant)
            yield remark

    def _about_path(self, entry: Entry, path: str) -> Iterator[Remark]:
        if self._base_path and not entry.path.startswith(f"{self._base_path}/"):
            yield Remark(
                f'"{entry.path}" is without the prefix {self._base_path}; append paths to the base URL, prefix and all,'
                " and do not resolve them against its origin.",
                "pagination.links-begin-with-the-base-url",
            )
        if "//" in path:
            yield Remark(
                f'"{entry.path}" has two slashes in a row; the base URL ends without one.', "client.two-slashes"
            )
        if entry.method in ("POST", "DELETE") and path.endswith("/") and self._written(path.rstrip("/")):
            yield Remark(
                f'A write is sent to "{entry.path.rstrip("/")}", without the slash at the end: a service may redirect,'
                " and the form be lost.",
                "operations.writes-not-redirected",
            )
        if entry.method == "GET" and (resource := self._linked.get(path.rstrip("/"))):
            yield Remark(
                f'Page links of {resource.name} name "{resource.link_collection}", where no list is; take the'
                f" page's number from the link, and ask {resource.paths['list']} for it.",
                "pagination.links-name-the-collection",
            )

    def _note_pages(self, entry: Entry, resource: Resource, query: Mapping[str, str], answer: bytes) -> None:
        """Note whether anything but page 1 of several was ever read."""
        at, place = max(0, answer.rfind(b'"total_pages"')), (entry.account, resource.name)
        pages = TOTAL_PAGES.match(answer, at)
        if pages and (query.get("page", "1") != "1" or int(pages[1]) == 1):
            _remember(self._unread, place, "")
        elif pages:
            _remember(self._unread, place, self._unread.get(place, pages[1].decode()))

    def _about_list(self, query: Mapping[str, str]) -> Iterator[Remark]:
        for name in query:
            if name not in ("page", "results_per_page"):
                yield Remark(f'The parameter "{name[:40]}" is not documented; ignored.', "client.unknown-parameter")
        size, page = query.get("results_per_page"), query.get("page", "1")
        if size is not None and size not in self._page_sizes:
            sizes = ", ".join(self._page_sizes)
            yield Remark(
                f'The page size "{size[:40]}" is not one of {sizes}; a service uses its default instead.',
                "pagination.other-sizes-are-not-used",
            )
        if not page.isdecimal() or int(page[:20]) < 1:
            yield Remark(f'The page "{page[:40]}" is not a number from 1 up.', "robustness.odd-pages-do-not-fail")

    def _about_links(self, entry: Entry, resource: Resource, query: Mapping[str, str]) -> Iterator[Remark]:
        """Page links hold only the page's number, so a client that follows one gets pages of another size."""
        size, place = query.get("results_per_page"), (entry.account, resource.name)
        page, before = query.get("page", ""), self._sizes.get(place)
        is_link = page and not entry.path.endswith("/")  # page links have no slash there
        goes_on = size is None and (is_link or page not in ("", "1"))
        if goes_on and before and not before.startswith(BOTH) and before != str(self._contract.default_page_size):
            yield Remark(
                f"Page {page[:20]} of {resource.name} was asked for without results_per_page, and a page before with"
                f" {before}: page links hold the page's number alone, so send the size again.",
                "pagination.links-hold-page-alone",
            )
        elif not goes_on:
            has_usual = before is not None and (before == "" or before.startswith(BOTH))  # a view of the default size
            _remember(self._sizes, place, (BOTH if has_usual else "") + size if size else "")

    def _written(self, path: str) -> Resource | None:
        """The resource that a create, update or delete at a path would write to."""
        for each in self._contract.resources.values():
            record = each.paths["update"].partition("{")[0]
            if path.rstrip("/") == each.paths["create"] or (path.startswith(record) and path != record):
                return each
        return None


def _common(places: list[tuple[str, str]]) -> str:
    """How many pages there are, if that is the same for all."""
    totals = {total for _, total in places}
    return f"{totals.pop()} " if len(totals) == 1 else ""


def _by(places: list[tuple[str, str]]) -> str:
    """Who did something: one account, or several."""
    first = places[0][0]
    return f" by {len(places)} accounts, such as {first}" if len(places) > 1 else first and f" by {first}"


@lru_cache(256)  # clients ask for the same pages again and again
def _parsed(query: str) -> Mapping[str, str]:
    return dict(parse_qsl(query, keep_blank_values=True))


def _remember(memory: dict[tuple[str, str], str], place: tuple[str, str], text: str) -> None:
    memory[place] = text
    if len(memory) > MOST_KNOWN:
        memory.pop(next(iter(memory)), None)


def _operation(resource: Resource, path: str) -> str:
    return "create" if path.rstrip("/") == resource.paths["create"] else "update"


def _about_method(entry: Entry) -> Iterator[Remark]:
    if entry.method in ("PUT", "PATCH"):
        yield Remark("An update is sent by POST, whole or in part.", "operations.update-answers")
    if OVERRIDE in entry.headers:
        yield Remark(f"The header {OVERRIDE} is ignored; send a DELETE.", "operations.delete-answers")
