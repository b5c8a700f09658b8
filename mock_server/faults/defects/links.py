"""Lists with wrong links."""

from __future__ import annotations

from collections.abc import Callable

from mock_server.faults.defects.defect import D, Defect, N, S, Table, defect
from mock_server.faults.defects.means import Body, is_full, is_page, link, links, page_url


def _name(resource: str, collection: str) -> Callable[[str], Defect]:
    def renamed(url: str) -> str:
        head, _, query = url.partition("?")
        return f"{head.rpartition('/')[0]}/{collection}?{query}"

    what = f"Links name the collection `{collection}`."
    return defect(f"links-name-{collection}", what, links(renamed), resource)


def _is_past_the_end(body: Body) -> bool:
    return bool(body["meta"]["page"] > body["meta"]["total_pages"] + 1 and body["meta"]["total"])


def _goes_on(name: str, step: int) -> Callable[[str], Defect]:
    return defect(
        f"{name}-past-the-end-goes-on",
        f"Past the last page, `{name}` names a page that there is not.",
        link(name, lambda body: page_url(body, body["meta"]["page"] + step), _is_past_the_end),
        needs={"page-past-the-end": "empty"},
    )


# fmt: off
DEFECTS: Table = {
    "pagination.links-have-the-stated-path": [
        defect("links-have-a-slash", "Links have a slash behind the collection.",
               links(lambda url: url.replace("?", "/?"))),
        defect("links-have-a-version", "Links have a version in their path.",
               links(lambda url: url.replace("/api/", "/api/v1/"))),
        defect("links-have-two-slashes", "Links have two slashes before `api`.",
               links(lambda url: url.replace("/api/", "//api/"))),
        defect("links-lack-api", "Links lack `/api`.", links(lambda url: url.replace("/api/", "/"))),
    ],
    "pagination.links-name-the-collection": [
        _name(S, "splash-pages"),
        _name(D, "custom-domains"),
        _name(N, "handlers"),
    ],
    "pagination.links-hold-page-alone": [
        defect("links-hold-the-size", "Links hold the page size too.", links(lambda url: f"{url}&results_per_page=10")),
        defect("links-call-the-page-p", "Links call the page's number `p`.",
               links(lambda url: url.replace("page=", "p="))),
        defect("links-hold-a-token", "Links hold a token too.", links(lambda url: f"{url}&token=4f3c")),
    ],
    "pagination.links-begin-with-the-base-url": [
        defect("links-have-another-scheme", "Links begin with another scheme.",
               links(lambda url: url.replace("http://", "https://", 1))),
        defect("links-are-relative", "Links lack scheme and host.",
               links(lambda url: url[url.index("/", len("https://")) :])),
        defect("links-name-the-machine-behind", "Links name the machine behind the proxy.",
               links(lambda url: f"http://backend-2:8080{url[url.index('/', len('https://')) :]}")),
    ],
    "pagination.first-names-page-1": [
        defect("first-is-this-page", "`first` names the page that is shown.",
               link("first", lambda body: body["links"]["self"])),
        defect("first-is-page-0", "`first` names page 0.", link("first", lambda body: page_url(body, 0))),
    ],
    "pagination.last-names-the-last-page": [
        defect("last-is-the-first", "`last` names page 1.", link("last", lambda body: body["links"]["first"])),
        defect("last-is-the-total", "`last` names the page whose number is the total.",
               link("last", lambda body: page_url(body, body["meta"]["total"]))),
        defect("last-is-one-more", "`last` names the page after the last.",
               link("last", lambda body: page_url(body, body["meta"]["total_pages"] + 1))),
        defect("last-goes-by-the-default-size", "`last` names the last page of 25, whatever the size.",
               link("last", lambda body: page_url(body, max(1, -(-body["meta"]["total"] // 25))))),
    ],
    "pagination.self-names-this-page": [
        defect("self-is-the-first", "`self` names page 1.", link("self", lambda body: body["links"]["first"])),
        defect("self-is-the-next", "`self` names the page after this one.",
               link("self", lambda body: page_url(body, body["meta"]["page"] + 1))),
    ],
    "pagination.next-names-the-next-page": [
        defect("next-is-the-last", "`next` names the last page.",
               link("next", lambda body: body["links"]["next"] and body["links"]["last"])),
        defect("next-is-null", "`next` is null on every page.", link("next", lambda _: None)),
        defect("next-is-this-page", "`next` names the page that is shown.",
               link("next", lambda body: body["links"]["next"] and body["links"]["self"])),
        defect("next-is-null-before-the-last-page", "`next` is null on the last page but one.",
               link("next", lambda _: None, lambda body: body["meta"]["page"] == body["meta"]["total_pages"] - 1)),
    ],
    "pagination.next-is-null-on-last-page": [
        defect("next-of-the-last-is-the-last", "On the last page, `next` names it again.",
               link("next", lambda body: body["links"]["next"] or body["links"]["last"])),
        defect("next-of-the-last-is-empty", "On the last page, `next` is an empty text.",
               link("next", lambda body: body["links"]["next"] or "")),
        defect("next-after-a-full-last-page", "On a last page that is full, `next` names a page after it.",
               link("next", lambda body: page_url(body, body["meta"]["page"] + 1),
                    lambda body: not body["links"]["next"] and is_full(body))),
    ],
    "pagination.prev-names-the-previous-page": [
        defect("prev-is-the-first", "`prev` names page 1.",
               link("prev", lambda body: body["links"]["prev"] and body["links"]["first"])),
        defect("prev-is-null", "`prev` is null on every page.", link("prev", lambda _: None)),
        defect("prev-is-null-on-page-2", "`prev` is null on page 2.", link("prev", lambda _: None, is_page(2))),
    ],
    "pagination.prev-is-null-on-first-page": [
        defect("prev-of-the-first-is-the-first", "On page 1, `prev` names it again.",
               link("prev", lambda body: body["links"]["prev"] or body["links"]["first"])),
        defect("prev-of-the-first-is-page-0", "On page 1, `prev` names page 0.",
               link("prev", lambda body: body["links"]["prev"] or page_url(body, 0))),
    ],
    "pagination.neighbours-past-the-end-exist": [_goes_on("next", 1), _goes_on("prev", -1)],
}
# fmt: on
