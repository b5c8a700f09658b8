"""Lists that page, count or link wrongly."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.wrappers import Response

from mock_server.calls import Call, Serve, Transformation, content, done
from mock_server.defects.defect import D, Defect, N, S
from mock_server.defects.means import (
    Asked,
    Body,
    also,
    asks,
    link,
    links,
    meta,
    on,
    page_url,
    says,
)

OTHER_NAMES = {S: "splash-pages", D: "custom-domains", N: "handlers"}


def _reads(size: str, when: Asked) -> Transformation:
    """Understand the page size as another."""
    return asks("list", lambda call: call.asking(results_per_page=size), when)


def _sized(*sizes: str) -> Asked:
    return lambda call: call.query.get("results_per_page") in sizes


def _any_size(most: int) -> Transformation:
    """Use page sizes that are not allowed, up to some size."""

    def transformation(call: Call, serve: Serve) -> Response:
        text = call.query.get("results_per_page", "")
        allowed = call.service.contract.page_sizes
        if call.operation != "list" or not text.isdecimal() or int(text) in allowed or not 0 < int(text) <= most:
            return serve(call)
        answer = serve(call.asking(results_per_page=str(max(allowed)), page="1"))
        if not done(call, answer):
            return answer
        body = content(answer)
        body["data"] = body["data"][: int(text)]
        body["meta"] |= {"results_per_page": int(text), "total_pages": -(-body["meta"]["total"] // int(text))}
        return says(call, answer, body)

    return transformation


def _rows(change: Callable[[list[Body]], list[Body]], when: Callable[[Body], bool]) -> Transformation:
    """Show other records on a page."""
    return on("list", lambda body: body | {"data": change(body["data"])} if when(body) and body["data"] else None)


def _is_last(body: Body) -> bool:
    return bool(body["meta"]["page"] == body["meta"]["total_pages"])


def _is_full(body: Body) -> bool:
    return bool(len(body["data"]) == body["meta"]["results_per_page"])


def _counts_everybody(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if call.operation != "list" or not call.account or not done(call, answer):
        return answer
    body = content(answer)
    accounts = map(call.service.accounts.get, call.service.accounts.keys)
    others = [account for account in accounts if account and account is not call.account]
    strangers = [account.collections[call.kind].page(lambda total: (0, total))[1] for account in others]
    body["meta"]["total"] += sum(strangers) + 1
    return says(call, answer, body)


def _remembering(change: Callable[[dict[str, int], Body], None]) -> Transformation:
    """Change lists by what was listed before."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if call.operation != "list" or not done(call, answer):
            return answer
        body = content(answer)
        change(call.memory.setdefault(call.kind, {}), body)
        return says(call, answer, body)

    return transformation


def _as_it_was(memory: dict[str, int], body: Body) -> None:
    body["meta"]["total"] = memory.setdefault("total", body["meta"]["total"])


def _never_less(memory: dict[str, int], body: Body) -> None:
    memory["total"] = body["meta"]["total"] = max(body["meta"]["total"], memory.get("total", 0))


def _never_more(memory: dict[str, int], body: Body) -> None:
    memory["total"] = body["meta"]["total"] = min(body["meta"]["total"], memory.get("total", body["meta"]["total"]))


def _turned(memory: dict[str, int], body: Body) -> None:
    turn = memory["turn"] = memory.get("turn", 0) + 1
    rows = body["data"]
    at = turn % max(1, len(rows))
    body["data"] = rows[at:] + rows[:at]


def _reversed(memory: dict[str, int], body: Body) -> None:
    memory["turn"] = memory.get("turn", 0) + 1
    if memory["turn"] % 2:
        body["data"].reverse()


def _twice(call: Call, answer: Response) -> None:
    values = dict(call.collection.get(int(content(answer)["data"]["id"])).values)
    values[call.resource.label] = f"{values[call.resource.label]}x"
    if call.account:
        call.collection.add(lambda _: values, call.account.clock)


def _repeats(call: Call, serve: Serve) -> Response:
    """Begin each page with the record that the page before ended with."""
    answer = serve(call)
    if call.operation != "list" or not call.account or not done(call, answer):
        return answer
    body = content(answer)
    page, size = body["meta"]["page"], body["meta"]["results_per_page"]
    if page < 2 or not body["data"]:  # noqa: PLR2004 - page 1 has none before it
        return answer
    before = content(serve(call.asking(page=str(page - 1), results_per_page=str(size))))
    body["data"] = [before["data"][-1], *body["data"][:-1]]
    return says(call, answer, body)


DEFECTS = (
    Defect(
        "no-page-is-the-second",
        "pagination.page-defaults-to-1",
        "A list without `page` shows page 2.",
        asks("list", lambda call: call.asking(page="2"), lambda call: "page" not in call.query),
    ),
    Defect(
        "no-page-is-the-last",
        "pagination.page-defaults-to-1",
        "A list without `page` shows the last page.",
        asks(
            "list",
            lambda call: call.asking(page=str(max(1, -(-len(call.records) // 25)))),
            lambda call: call.account is not None and not call.query,
        ),
    ),
    *(
        Defect(
            f"default-size-is-{size}",
            "pagination.size-defaults-to-25",
            f"A list without `results_per_page` has {size} a page.",
            _reads(size, lambda call: "results_per_page" not in call.query),
        )
        for size in ("10", "50", "100")
    ),
    Defect(
        "default-size-is-said-wrongly",
        "pagination.size-defaults-to-25",
        "A list without `results_per_page` says that a page holds 10, and shows 25.",
        meta("results_per_page", lambda _: 10, lambda call: "results_per_page" not in call.query),
    ),
    *(
        Defect(
            f"size-{asked}-is-{used}",
            "pagination.allowed-sizes-are-kept",
            f"A list of {asked} a page has {used}.",
            _reads(used, _sized(asked)),
        )
        for asked, used in (("10", "25"), ("50", "25"), ("100", "50"), ("250", "100"), ("500", "100"), ("1000", "500"))
    ),
    Defect(
        "any-size-is-used",
        "pagination.other-sizes-are-not-used",
        "A list has any page size that is asked for.",
        _any_size(10**9),
    ),
    Defect(
        "any-size-below-the-largest-is-used",
        "pagination.other-sizes-are-not-used",
        "A list has any page size up to 1,000 that is asked for.",
        _any_size(1000),
    ),
    Defect(
        "small-sizes-are-used",
        "pagination.other-sizes-are-not-used",
        "A list has any page size below 10 that is asked for.",
        _any_size(9),
    ),
    Defect(
        "pages-lose-their-last-record",
        "pagination.page-is-filled",
        "Each page shows one record too few.",
        _rows(lambda rows: rows[:-1], lambda _: True),
    ),
    Defect(
        "full-pages-lose-a-record",
        "pagination.page-is-filled",
        "A full page shows one record too few.",
        _rows(lambda rows: rows[:-1], _is_full),
    ),
    Defect(
        "last-page-is-empty",
        "pagination.page-is-filled",
        "The last of several pages is empty.",
        _rows(lambda _: [], lambda body: _is_last(body) and body["meta"]["page"] > 1),
    ),
    Defect(
        "third-page-loses-a-record",
        "pagination.page-is-filled",
        "Page 3 shows one record too few.",
        _rows(lambda rows: rows[1:], lambda body: body["meta"]["page"] == 3),  # noqa: PLR2004 - the page of the name
    ),
    Defect(
        "first-page-shows-one-more",
        "pagination.page-is-filled",
        "Page 1 of several shows its last record twice.",
        _rows(
            lambda rows: [*rows, rows[-1]], lambda body: body["meta"]["page"] == 1 and body["meta"]["total_pages"] > 1
        ),
    ),
    Defect(
        "meta-page-is-always-1",
        "pagination.meta-page-is-the-page-asked-for",
        "`meta.page` is 1 on every page.",
        meta("page", lambda _: 1),
    ),
    Defect(
        "meta-page-counts-from-0",
        "pagination.meta-page-is-the-page-asked-for",
        "`meta.page` is 0 on page 1.",
        meta("page", lambda m: m["page"] - 1),
    ),
    Defect(
        "meta-page-is-the-last",
        "pagination.meta-page-is-the-page-asked-for",
        "`meta.page` says how many pages there are.",
        meta("page", lambda m: m["total_pages"]),
    ),
    Defect(
        "total-pages-is-rounded-down",
        "pagination.total-pages-is-the-ceiling",
        "`total_pages` is rounded down.",
        meta("total_pages", lambda m: m["total"] // m["results_per_page"]),
    ),
    Defect(
        "total-pages-is-one-more-on-exact-multiples",
        "pagination.total-pages-is-the-ceiling",
        "`total_pages` is one too high where the last page is full.",
        meta("total_pages", lambda m: m["total"] // m["results_per_page"] + 1),
    ),
    Defect(
        "total-pages-goes-by-the-default-size",
        "pagination.total-pages-is-the-ceiling",
        "`total_pages` counts pages of 25, whatever the size.",
        meta("total_pages", lambda m: max(1, -(-m["total"] // 25))),
    ),
    Defect(
        "total-pages-is-1",
        "pagination.total-pages-is-the-ceiling",
        "`total_pages` is always 1.",
        meta("total_pages", lambda _: 1),
    ),
    Defect(
        "total-is-one-more",
        "pagination.total-counts-the-records",
        "`total` is one too high.",
        meta("total", lambda m: m["total"] + 1),
    ),
    Defect(
        "total-is-one-less",
        "pagination.total-counts-the-records",
        "`total` is one too low.",
        meta("total", lambda m: max(0, m["total"] - 1)),
    ),
    Defect(
        "total-counts-the-page",
        "pagination.total-counts-the-records",
        "`total` counts the records of the page.",
        on("list", lambda body: body["meta"].__setitem__("total", len(body["data"]))),
    ),
    Defect(
        "total-stops-at-the-size",
        "pagination.total-counts-the-records",
        "`total` is never above the page size.",
        meta("total", lambda m: min(m["total"], m["results_per_page"])),
    ),
    Defect(
        "total-counts-all-accounts",
        "pagination.total-counts-the-records",
        "`total` counts other accounts' records too.",
        _counts_everybody,
    ),
    Defect(
        "total-differs-on-later-pages",
        "pagination.total-counts-the-records",
        "From page 2 on, `total` counts only the records from there.",
        on(
            "list",
            lambda body: (
                body["meta"].__setitem__(
                    "total", body["meta"]["total"] - (body["meta"]["page"] - 1) * body["meta"]["results_per_page"]
                )
                if body["meta"]["page"] > 1
                else None
            ),
        ),
    ),
    Defect(
        "create-makes-two",
        "pagination.total-follows-creates",
        "A create makes two records.",
        also("create", _twice),
    ),
    Defect(
        "total-is-what-it-first-was",
        "pagination.total-follows-creates",
        "`total` is kept for good when it was first counted.",
        _remembering(_as_it_was),
    ),
    Defect(
        "total-never-grows",
        "pagination.total-follows-creates",
        "`total` goes down, but never up.",
        _remembering(_never_more),
    ),
    Defect(
        "deleted-records-are-counted",
        "pagination.total-follows-deletes",
        "`total` goes up, but never down.",
        _remembering(_never_less),
    ),
    Defect(
        "second-page-is-the-first",
        "pagination.pages-partition-the-collection",
        "Page 2 shows the records of page 1.",
        asks("list", lambda call: call.asking(page="1"), lambda call: call.query.get("page") == "2"),
    ),
    Defect(
        "pages-overlap",
        "pagination.pages-partition-the-collection",
        "Each page begins with the last record of the one before.",
        _repeats,
    ),
    Defect(
        "record-is-listed-twice",
        "pagination.pages-partition-the-collection",
        "Page 2 shows its last record first too, instead of its first.",
        on("list", lambda body: body["data"].__setitem__(0, body["data"][-1]) if body["meta"]["page"] == 2 else None),  # noqa: PLR2004 - likewise
    ),
    Defect(
        "order-turns",
        "pagination.order-is-the-same-again",
        "The same page begins with another record each time.",
        _remembering(_turned),
    ),
    Defect(
        "order-is-reversed-every-other-time",
        "pagination.order-is-the-same-again",
        "Every other list is in the opposite order.",
        _remembering(_reversed),
    ),
    Defect(
        "links-have-a-slash",
        "pagination.links-have-the-stated-path",
        "Links have a slash behind the collection.",
        links(lambda url: url.replace("?", "/?")),
    ),
    Defect(
        "links-have-a-version",
        "pagination.links-have-the-stated-path",
        "Links have a version in their path.",
        links(lambda url: url.replace("/api/", "/api/v1/")),
    ),
    Defect(
        "links-have-two-slashes",
        "pagination.links-have-the-stated-path",
        "Links have two slashes before `api`.",
        links(lambda url: url.replace("/api/", "//api/")),
    ),
    Defect(
        "links-lack-api",
        "pagination.links-have-the-stated-path",
        "Links lack `/api`.",
        links(lambda url: url.replace("/api/", "/")),
    ),
    *(
        Defect(
            f"links-name-{collection}",
            "pagination.links-name-the-collection",
            f"Links name the collection `{collection}`.",
            links(lambda url, collection=collection: _renamed(url, collection)),  # type: ignore[misc]
            (kind,),
        )
        for kind, collection in OTHER_NAMES.items()
    ),
    Defect(
        "links-hold-the-size",
        "pagination.links-hold-page-alone",
        "Links hold the page size too.",
        links(lambda url: f"{url}&results_per_page=10"),
    ),
    Defect(
        "links-call-the-page-p",
        "pagination.links-hold-page-alone",
        "Links call the page's number `p`.",
        links(lambda url: url.replace("page=", "p=")),
    ),
    Defect(
        "links-hold-a-token",
        "pagination.links-hold-page-alone",
        "Links hold a token too.",
        links(lambda url: f"{url}&token=4f3c"),
    ),
    Defect(
        "links-have-another-scheme",
        "pagination.links-begin-with-the-base-url",
        "Links begin with another scheme.",
        links(lambda url: url.replace("http://", "https://", 1)),
    ),
    Defect(
        "links-are-relative",
        "pagination.links-begin-with-the-base-url",
        "Links lack scheme and host.",
        links(lambda url: url[url.index("/", len("https://")) :]),
    ),
    Defect(
        "links-name-the-machine-behind",
        "pagination.links-begin-with-the-base-url",
        "Links name the machine behind the proxy.",
        links(lambda url: f"http://backend-2:8080{url[url.index('/', len('https://')) :]}"),
    ),
    Defect(
        "first-is-this-page",
        "pagination.first-names-page-1",
        "`first` names the page that is shown.",
        link("first", lambda body: body["links"]["self"]),
    ),
    Defect(
        "first-is-page-0",
        "pagination.first-names-page-1",
        "`first` names page 0.",
        link("first", lambda body: page_url(body, 0)),
    ),
    Defect(
        "last-is-the-first",
        "pagination.last-names-the-last-page",
        "`last` names page 1.",
        link("last", lambda body: body["links"]["first"]),
    ),
    Defect(
        "last-is-the-total",
        "pagination.last-names-the-last-page",
        "`last` names the page whose number is the total.",
        link("last", lambda body: page_url(body, body["meta"]["total"])),
    ),
    Defect(
        "last-is-one-more",
        "pagination.last-names-the-last-page",
        "`last` names the page behind the last.",
        link("last", lambda body: page_url(body, body["meta"]["total_pages"] + 1)),
    ),
    Defect(
        "last-goes-by-the-default-size",
        "pagination.last-names-the-last-page",
        "`last` names the last page of 25, whatever the size.",
        link("last", lambda body: page_url(body, max(1, -(-body["meta"]["total"] // 25)))),
    ),
    Defect(
        "self-is-the-first",
        "pagination.self-names-this-page",
        "`self` names page 1.",
        link("self", lambda body: body["links"]["first"]),
    ),
    Defect(
        "self-is-the-next",
        "pagination.self-names-this-page",
        "`self` names the page behind this one.",
        link("self", lambda body: page_url(body, body["meta"]["page"] + 1)),
    ),
    Defect(
        "next-is-the-last",
        "pagination.next-names-the-next-page",
        "`next` names the last page.",
        link("next", lambda body: body["links"]["next"] and body["links"]["last"]),
    ),
    Defect(
        "next-is-null",
        "pagination.next-names-the-next-page",
        "`next` is null on every page.",
        link("next", lambda _: None),
    ),
    Defect(
        "next-is-this-page",
        "pagination.next-names-the-next-page",
        "`next` names the page that is shown.",
        link("next", lambda body: body["links"]["next"] and body["links"]["self"]),
    ),
    Defect(
        "next-is-null-before-the-last-page",
        "pagination.next-names-the-next-page",
        "`next` is null on the last page but one.",
        link("next", lambda _: None, lambda body: body["meta"]["page"] == body["meta"]["total_pages"] - 1),
    ),
    Defect(
        "next-of-the-last-is-the-last",
        "pagination.next-is-null-on-last-page",
        "On the last page, `next` names it again.",
        link("next", lambda body: body["links"]["next"] or body["links"]["last"]),
    ),
    Defect(
        "next-of-the-last-is-empty",
        "pagination.next-is-null-on-last-page",
        "On the last page, `next` is an empty text.",
        link("next", lambda body: body["links"]["next"] or ""),
    ),
    Defect(
        "next-after-a-full-last-page",
        "pagination.next-is-null-on-last-page",
        "On a last page that is full, `next` names a page behind it.",
        link(
            "next",
            lambda body: page_url(body, body["meta"]["page"] + 1),
            lambda body: not body["links"]["next"] and _is_full(body),
        ),
    ),
    Defect(
        "prev-is-the-first",
        "pagination.prev-names-the-previous-page",
        "`prev` names page 1.",
        link("prev", lambda body: body["links"]["prev"] and body["links"]["first"]),
    ),
    Defect(
        "prev-is-null",
        "pagination.prev-names-the-previous-page",
        "`prev` is null on every page.",
        link("prev", lambda _: None),
    ),
    Defect(
        "prev-is-null-on-page-2",
        "pagination.prev-names-the-previous-page",
        "`prev` is null on page 2.",
        link("prev", lambda _: None, lambda body: body["meta"]["page"] == 2),  # noqa: PLR2004 - likewise
    ),
    Defect(
        "prev-of-the-first-is-the-first",
        "pagination.prev-is-null-on-first-page",
        "On page 1, `prev` names it again.",
        link("prev", lambda body: body["links"]["prev"] or body["links"]["first"]),
    ),
    Defect(
        "prev-of-the-first-is-page-0",
        "pagination.prev-is-null-on-first-page",
        "On page 1, `prev` names page 0.",
        link("prev", lambda body: body["links"]["prev"] or page_url(body, 0)),
    ),
)


def _renamed(url: str, collection: str) -> str:
    head, _, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{collection}?{query}"
