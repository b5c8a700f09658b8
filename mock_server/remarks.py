"""What in a request goes against the contract, or is a mistake that clients of such services are known to make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl

from mock_server.contract import Contract, Resource
from mock_server.journal import Entry, Remark
from mock_server.notes import Notes

MOST_KNOWN = 5000  # accounts and kinds
LINKS = "pagination.links-hold-page-alone"
TOTAL_PAGES = re.compile(rb'"total_pages"\s*:\s*(\d+)')
SIZES = "pagination.other-sizes-are-not-used"


class Remarks:
    """Looks at requests, one after the other: some mistakes show in the one that follows.

    Args:
        contract: what requests may hold.
        base_path: what stands in front of `/api`.
    """

    def __init__(self, contract: Contract, base_path: str) -> None:
        self._contract = contract
        self._base_path = base_path
        self._sizes: dict[tuple[str, str], str] = {}
        self._unread: dict[tuple[str, str], str] = {}

    def forget(self) -> None:
        """Begin anew, as the mock does."""
        self._sizes.clear()
        self._unread.clear()

    @property
    def unread(self) -> list[Remark]:
        """What shows at the end alone, and may be meant: collections of which nobody asked for more than page 1."""
        return [
            Remark(f"Of the {total} pages of {kind}, page 1 alone was read{account and f' by {account}'}.")
            for (account, kind), total in self._unread.items()
            if total
        ]

    def about(self, entry: Entry, notes: Notes, answer: bytes) -> Iterator[Remark]:
        """The remarks about one request.

        Args:
            entry: the request.
            notes: what became known of it on its way.
            answer: the body of its answer.
        """
        if entry.method == "OPTIONS":
            return
        path = entry.path.removeprefix(self._base_path)
        self._note_pages(entry, path, answer)
        for known in (self._sizes, self._unread):
            if len(known) > MOST_KNOWN:
                known.pop(next(iter(known)), None)
        known = [*self._about_path(entry, path), *self._about_query(entry, path), *self._about_form(entry, path, notes)]
        yield from known
        if notes.refusal and not any(remark.rule for remark in known):
            yield Remark(notes.refusal.title, notes.refusal.rule)

    def _about_path(self, entry: Entry, path: str) -> Iterator[Remark]:
        if self._base_path and not entry.path.startswith(f"{self._base_path}/") and path.startswith("/api/"):
            yield Remark(
                f'"{entry.path}" is without the prefix {self._base_path}; append paths to the base URL, prefix and all,'
                " and do not resolve them against its origin.",
                "pagination.links-begin-with-the-base-url",
            )
        if entry.method == "POST" and path.endswith("/") and path.startswith("/api/"):
            yield Remark(
                f'A create is sent to "{entry.path.rstrip("/")}", without the slash at the end: a service may redirect,'
                " and the form be lost.",
                "operations.writes-not-redirected",
            )
        if entry.method in ("PUT", "PATCH"):
            yield Remark("An update is sent by POST, whole or in part.", "operations.update-answers")
        for resource in self._contract.resources:
            collection = f"/api/{resource.link_collection}"
            is_list = path.rstrip("/") == collection and entry.method == "GET"
            if is_list and collection != resource.paths["list"].rstrip("/"):
                yield Remark(
                    f'Page links of {resource.name} name "{resource.link_collection}", where no list is; take the'
                    f" page's number from the link, and ask {resource.paths['list']} for it.",
                    "pagination.links-name-the-collection",
                )

    def _note_pages(self, entry: Entry, path: str, answer: bytes) -> None:
        resource, pages = self._listed(path), TOTAL_PAGES.search(answer)
        if resource and pages and entry.method == "GET" and int(pages[1]) > 1:
            first = dict(parse_qsl(entry.query)).get("page", "1") == "1"
            place = (entry.account, resource.name)
            self._unread[place] = pages[1].decode() if first and self._unread.get(place, "?") else ""

    def _about_query(self, entry: Entry, path: str) -> Iterator[Remark]:
        resource = self._listed(path)
        query = dict(parse_qsl(entry.query, keep_blank_values=True))
        if resource is None or entry.method != "GET":
            return
        yield from (
            Remark(f'The parameter "{name[:40]}" is not documented and has no influence.')
            for name in query
            if name not in ("page", "results_per_page")
        )
        size, page = query.get("results_per_page"), query.get("page", "1")
        if size is not None and size not in map(str, self._contract.page_sizes):
            sizes = ", ".join(map(str, self._contract.page_sizes))
            yield Remark(f'The page size "{size[:40]}" is none of {sizes}; a service takes its default instead.', SIZES)
        if not page.isdecimal() or int(page[:20]) < 1:
            yield Remark(f'The page "{page[:40]}" is no number from 1 on.', "robustness.odd-pages-do-not-fail")
        before = self._sizes.get((entry.account, resource.name))
        if size is None and page not in ("", "1") and before:
            yield Remark(
                f"Page {page[:20]} of {resource.name} was asked for without results_per_page, and a page before with"
                f" {before}: page links hold the page's number alone, so send the size again.",
                LINKS,
            )
        elif page == "1" or size:
            self._sizes[entry.account, resource.name] = size or ""

    def _about_form(self, entry: Entry, path: str, notes: Notes) -> Iterator[Remark]:
        resource = self._written(path) if entry.method == "POST" else None
        if resource is None:
            return
        media_type = entry.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media_type == "application/json":
            yield Remark("The body is JSON; send a form, as multipart/form-data.", "operations.create-answers")
        for name, text in entry.fields.items():
            field = resource.fields.get(name)
            if name == "_method":
                yield Remark(
                    "The field _method has no influence; a delete is sent by DELETE.", "operations.delete-answers"
                )
            elif field is None:
                yield Remark(f'The field "{name[:40]}" is not one of {resource.name} and has no influence.')
            elif field.kind == "boolean" and text not in ("0", "1"):
                yield Remark(f'"{name}" is "{text[:40]}"; the contract knows 1 and 0.', "forms.one-enables")
            elif name in notes.ignored:
                yield Remark(f'The field "{name}" does not go with this record or operation, and had no influence.')

    def _listed(self, path: str) -> Resource | None:
        return next(
            (each for each in self._contract.resources if path.rstrip("/") == each.paths["list"].rstrip("/")), None
        )

    def _written(self, path: str) -> Resource | None:
        for each in self._contract.resources:
            record = each.paths["update"].partition("{")[0]
            if path.rstrip("/") == each.paths["create"] or path.startswith(record):
                return each
        return None
