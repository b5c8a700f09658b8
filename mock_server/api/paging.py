"""Pages of a collection: which one a query asks for, which records it holds, and its links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from link_management_contract import Contract
from mock_server.choices import Choices
from mock_server.errors import Refusal

NUMBER = re.compile(r"[0-9]{1,4000}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection that holds `total` records on `pages` pages; an empty one has none."""

    number: int
    size: int
    total: int
    pages: int


class Paging:
    """Pages collections, as the open points choose.

    Args:
        contract: the page sizes and defaults.
        choices: the open points.
    """

    def __init__(self, contract: Contract, choices: Choices) -> None:
        self._contract = contract
        self._choices = choices

    def asked(self, query: Mapping[str, str]) -> tuple[int, int]:
        """The page number and size that a query asks for.

        Raises:
            Refusal: if one of them is invalid and this server refuses it.
        """
        return self._number(query.get("page")), self._size(query.get("results_per_page"))

    def locate(self, number: int, size: int, total: int) -> Page:
        """The page to show when this one is asked for.

        Raises:
            Refusal: if it is past the last page and this server refuses it.
        """
        pages = -(-total // size)
        if number > max(pages, 1) and self._choices["page-past-the-end"] != "empty":  # page 1 is always there
            if self._choices["page-past-the-end"] == "404":
                raise Refusal("404", f"There is no page {number}; the last is {pages}.", field="page")
            number = max(pages, 1)
        return Page(number, size, total, pages)

    def meta(self, page: Page) -> dict[str, int]:
        """The list envelope's `meta`."""
        pages = page.pages or int(self._choices["empty-collection-pages"])
        return {"page": page.number, "results_per_page": page.size, "total": page.total, "total_pages": pages}

    def links(self, page: Page, collection_url: str) -> dict[str, str | None]:
        """The list envelope's `links`, each the collection's URL with only a page number."""
        start = collection_url + ("?&page=" if self._choices["link-query"] == "ampersand" else "?page=")
        pages, before = page.pages, min(page.number - 1, page.pages)
        return {
            "first": f"{start}1",
            "last": f"{start}{pages or self._choices['empty-collection-last']}",
            "next": f"{start}{page.number + 1}" if page.number < pages else None,
            "prev": f"{start}{before}" if before else None,
            "self": f"{start}{page.number}",
        }

    def _number(self, text: str | None) -> int:
        if text is None:
            return self._contract.default_page
        if NUMBER.fullmatch(text) and int(text) >= 1:
            return int(text)
        if self._choices["odd-page"] == "first":
            return 1
        raise Refusal(self._choices["odd-page"], f'No page "{text}"; pages are numbered from 1.', field="page")

    def _size(self, text: str | None) -> int:
        sizes = self._contract.page_sizes
        if text is not None and text in map(str, sizes):
            return int(text)
        if text is None or self._choices["size-not-allowed"] == "default":
            return self._contract.default_page_size
        if self._choices["size-not-allowed"] == "nearest":
            wanted = int(text) if NUMBER.fullmatch(text) else 0
            return min(sizes, key=lambda size: abs(size - wanted))
        raise Refusal(
            self._choices["size-not-allowed"],
            f'No page size "{text}"; the sizes are {", ".join(map(str, sizes))}.',
            "pagination.other-sizes-are-not-used",
            "results_per_page",
        )
