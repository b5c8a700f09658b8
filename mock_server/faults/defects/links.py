"""Lists that link wrongly."""

from __future__ import annotations

from mock_server.faults.defects.defect import D, Defect, N, S
from mock_server.faults.defects.means import Body, is_full, link, links, page_url

OTHER_NAMES = {S: "splash-pages", D: "custom-domains", N: "handlers"}


def _renamed(url: str, collection: str) -> str:
    head, _, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{collection}?{query}"


def _is_past_the_end(body: Body) -> bool:
    return bool(body["meta"]["page"] > body["meta"]["total_pages"] + 1 and body["meta"]["total"])


DEFECTS = (
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
        "`last` names the page after the last.",
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
            lambda body: not body["links"]["next"] and is_full(body),
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
    *(
        Defect(
            f"{name}-past-the-end-goes-on",
            "pagination.neighbours-past-the-end-exist",
            f"Past the last page, `{name}` names a page that there is not.",
            link(name, lambda body, step=step: page_url(body, body["meta"]["page"] + step), _is_past_the_end),  # type: ignore[misc]
            needs={"page-past-the-end": "empty"},
        )
        for name, step in (("next", 1), ("prev", -1))
    ),
)
