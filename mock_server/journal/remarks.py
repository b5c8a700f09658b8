"""Remarks about requests that break the contract, or make mistakes that clients of such services are known to make."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import parse_qsl

from mock_server.contract import Contract, Resource
from mock_server.http.request_notes import Notes
from mock_server.journal.journal import Entry, Remark

MOST_KNOWN = 5000  # pairs of an account and a resource
API = re.compile("/+api(/|$)")
TOTAL_PAGES = re.compile(rb'"total_pages"\s*:\s*(\d+)')
OVERRIDE = "X-Http-Method-Override"


class Remarks:
    """Looks at requests in order, because some mistakes show only in the next one.

    Args:
        contract: what requests may hold.
        base_path: the prefix of `/api`.
    """

    def __init__(self, contract: Contract, base_path: str) -> None:
        self._contract = contract
        self._base_path = base_path
        self._lists = {resource.paths["list"].rstrip("/"): resource for resource in contract.resources}
        linked = {f"/api/{resource.link_collection}": resource for resource in contract.resources}
        self._linked = {path: resource for path, resource in linked.items() if path not in self._lists}
        self._page_sizes = tuple(map(str, contract.page_sizes))
        self._sizes: dict[tuple[str, str], str] = {}
        self._unread: dict[tuple[str, str], str] = {}

    def forget(self) -> None:
        """Forget earlier requests, because the mock starts again."""
        self._sizes.clear()
        self._unread.clear()

    @property
    def unread(self) -> list[Remark]:
        """What shows only at the end, and may be intended: collections of which nobody asked for more than page 1."""
        return [
            Remark(f"Of the {total} pages of {name}, page 1 alone was read{account and f' by {account}'}.")
            for (account, name), total in self._unread.items()
            if total
        ]

    def about(self, entry: Entry, notes: Notes, answer: bytes) -> Iterator[Remark]:
        """The remarks about one request.

        Args:
            entry: the request.
            notes: what the layers learned about it.
            answer: the body of its answer.
        """
        path = entry.path.removeprefix(self._base_path)
        if entry.method == "OPTIONS" or not API.match(path):
            return
        query = _parsed(entry.query)
        known = [*self._about_path(entry, path), *_about_method(entry)]
        if resource := self._lists.get(path.rstrip("/")) if entry.method == "GET" else None:
            self._note_pages(entry, resource, query, answer)
            known += [*self._about_list(query), *self._about_links(entry, resource, query)]
        elif query and entry.method != "GET":
            known.append(Remark(f"Parameters of a write have no influence: {', '.join(query)[:80]}."))
        if entry.method == "POST" and (resource := self._written(path)):
            known += _about_form(entry, resource, path, notes)
        yield from known
        if notes.refusal and not any(remark.rule for remark in known):
            yield Remark(notes.refusal.title, notes.refusal.rule)

    def _about_path(self, entry: Entry, path: str) -> Iterator[Remark]:
        if self._base_path and not entry.path.startswith(f"{self._base_path}/"):
            yield Remark(
                f'"{entry.path}" is without the prefix {self._base_path}; append paths to the base URL, prefix and all,'
                " and do not resolve them against its origin.",
                "pagination.links-begin-with-the-base-url",
            )
        if "//" in path:
            yield Remark(f'"{entry.path}" has two slashes in a row; the base URL ends without one.')
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
                yield Remark(f'The parameter "{name[:40]}" is not documented and has no influence.')
        size, page = query.get("results_per_page"), query.get("page", "1")
        if size is not None and size not in self._page_sizes:
            sizes = ", ".join(self._page_sizes)
            yield Remark(
                f'The page size "{size[:40]}" is none of {sizes}; a service takes its default instead.',
                "pagination.other-sizes-are-not-used",
            )
        if not page.isdecimal() or int(page[:20]) < 1:
            yield Remark(f'The page "{page[:40]}" is no number from 1 on.', "robustness.odd-pages-do-not-fail")

    def _about_links(self, entry: Entry, resource: Resource, query: Mapping[str, str]) -> Iterator[Remark]:
        """Page links hold only the page's number, so a client that follows one gets pages of another size."""
        size, place = query.get("results_per_page"), (entry.account, resource.name)
        followed = "page" in query and size is None and not entry.path.endswith("/")  # links have no trailing slash
        before = self._sizes.get(place)
        if followed and before and before != str(self._contract.default_page_size):
            yield Remark(
                f"Page {query['page'][:20]} of {resource.name} was asked for by its link, without results_per_page, and"
                f" a page before with {before}: links hold the page's number alone, so send the size again.",
                "pagination.links-hold-page-alone",
            )
        elif size is not None or "page" not in query:
            _remember(self._sizes, place, size or "")

    def _written(self, path: str) -> Resource | None:
        """The resource that a create, update or delete at a path would write to."""
        for each in self._contract.resources:
            record = each.paths["update"].partition("{")[0]
            if path.rstrip("/") == each.paths["create"] or (path.startswith(record) and path != record):
                return each
        return None


@lru_cache(256)  # clients ask for the same pages again and again
def _parsed(query: str) -> Mapping[str, str]:
    return dict(parse_qsl(query, keep_blank_values=True))


def _remember(memory: dict[tuple[str, str], str], place: tuple[str, str], text: str) -> None:
    memory[place] = text
    if len(memory) > MOST_KNOWN:
        memory.pop(next(iter(memory)), None)


def _about_method(entry: Entry) -> Iterator[Remark]:
    if entry.method in ("PUT", "PATCH"):
        yield Remark("An update is sent by POST, whole or in part.", "operations.update-answers")
    if OVERRIDE in entry.headers:
        yield Remark(
            f"The header {OVERRIDE} has no influence; a delete is sent by DELETE.", "operations.delete-answers"
        )


def _about_form(entry: Entry, resource: Resource, path: str, notes: Notes) -> Iterator[Remark]:
    if entry.media_type == "application/json":
        operation = "create" if path.rstrip("/") == resource.paths["create"] else "update"
        yield Remark("The body is JSON; send a form, as multipart/form-data.", f"operations.{operation}-answers")
    for name in {**entry.fields, **entry.files}:
        text, field = entry.fields.get(name), resource.fields.get(name)
        if name == "_method":
            yield Remark("The field _method has no influence; a delete is sent by DELETE.", "operations.delete-answers")
        elif field is None:
            yield Remark(f'The field "{name[:40]}" is none that is written to {resource.name}, and had no influence.')
        elif field.kind == "boolean" and text not in ("0", "1"):
            yield Remark(f'"{name}" is "{(text or "")[:40]}"; the contract knows 1 and 0.', "forms.one-enables")
        elif name in notes.ignored:
            why = "does not go with this record or operation" if text else "is empty"
            yield Remark(f'The field "{name}" {why}, and had no influence.')
