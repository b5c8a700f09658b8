"""Answers that are not wrapped as stated."""

from __future__ import annotations

from typing import Any

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve
from mock_server.faults.defects.defect import D, Defect, N, S
from mock_server.faults.defects.means import Body, drops, knowing, known, link, meta, on, raw, tells

WARNING = b"<br />\n<b>Warning</b>: Undefined index: page in list.php on line 27<br />\n"


def _by_position(body: Body) -> None:
    """As PHP writes an array that was filtered."""
    if body["meta"]["page"] > 1:
        body["data"] = {str(position): row for position, row in enumerate(body["data"], 10)}


def _single(body: Body) -> None:
    if len(body["data"]) == 1:
        body["data"] = body["data"][0]


def _newest_id(call: Call, body: Body) -> None:
    body["data"]["id"] = max(record.id for record in call.records) + 1


def _text(name: str) -> Any:
    return lambda body: body["data"].__setitem__(name, str(body["data"][name]))


def _with_bom(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if answer.get_data():
        answer.set_data(b"\xef\xbb\xbf" + answer.get_data())
    return answer


DEFECTS = (
    Defect(
        "warning-before-lists",
        "envelopes.body-is-json",
        "The language's warning is printed before a list.",
        raw("list", lambda text: WARNING + text),
    ),
    Defect(
        "warning-before-creates",
        "envelopes.body-is-json",
        "The language's warning is printed before the answer to a create.",
        raw("create", lambda text: WARNING + text),
    ),
    Defect(
        "time-behind-reads",
        "envelopes.body-is-json",
        "A comment with the time that a read took follows its JSON.",
        raw("read", lambda text: text + b"<!-- 12 ms -->"),
    ),
    Defect(
        "update-answers-no-body",
        "envelopes.body-is-json",
        "An update answers 204, without a body.",
        tells("update", 204, b""),
    ),
    Defect(
        "create-answers-no-body",
        "envelopes.body-is-json",
        "A create answers 201 and no body.",
        tells("create", 201, b""),
    ),
    Defect(
        "lists-hold-nan",
        "envelopes.body-is-json",
        "A list holds NaN, which is no JSON.",
        on("list", lambda body: body["meta"].__setitem__("ratio", float("nan"))),
    ),
    Defect(
        "trailing-comma-in-reads",
        "envelopes.body-is-json",
        "A read ends with a comma too many.",
        raw("read", lambda text: text.rstrip()[:-1] + b",}"),
    ),
    Defect(
        "lists-are-scripts",
        "envelopes.body-is-json",
        "A list is wrapped in a function call, as JSONP.",
        raw("list", lambda text: b"callback(" + text.strip() + b");"),
    ),
    Defect(
        "create-answers-twice",
        "envelopes.body-is-json",
        "The answer to a create is written twice in one body.",
        raw("create", lambda text: text + text),
    ),
    Defect(
        "list-is-keyed-by-id",
        "envelopes.list-data-is-an-array",
        "A list's `data` is an object by id.",
        on("list", lambda body: body | {"data": {str(row["id"]): row for row in body["data"]}}),
    ),
    Defect(
        "later-pages-are-keyed-by-position",
        "envelopes.list-data-is-an-array",
        "From page 2 on, a list's `data` is an object by position.",
        on("list", _by_position),
    ),
    Defect(
        "single-record-is-not-in-an-array",
        "envelopes.list-data-is-an-array",
        "A page of one record shows it without an array.",
        on("list", _single),
    ),
    Defect(
        "rows-are-arrays",
        "envelopes.list-data-is-an-array",
        "A list's records are arrays of values, without names.",
        on("list", lambda body: body | {"data": [list(row.values()) for row in body["data"]]}),
    ),
    Defect(
        "records-are-not-under-data",
        "envelopes.list-data-is-an-array",
        "A list's records stand under `items`.",
        on("list", lambda body: {"items": body["data"], "meta": body["meta"], "links": body["links"]}),
    ),
    Defect(
        "meta-page-is-text",
        "envelopes.list-meta-holds-integers",
        "`meta.page` is text once `page` is sent.",
        meta("page", lambda m: str(m["page"]), lambda call: "page" in call.query),
    ),
    Defect(
        "meta-size-is-text",
        "envelopes.list-meta-holds-integers",
        "`meta.results_per_page` is text once a size is sent.",
        meta("results_per_page", lambda m: str(m["results_per_page"]), lambda call: "results_per_page" in call.query),
    ),
    Defect(
        "meta-total-is-text",
        "envelopes.list-meta-holds-integers",
        "`meta.total` is text.",
        meta("total", lambda m: str(m["total"])),
    ),
    Defect(
        "meta-total-is-named-total-results",
        "envelopes.list-meta-holds-integers",
        "The total stands under `meta.total_results`.",
        on("list", lambda body: body["meta"].__setitem__("total_results", body["meta"].pop("total"))),
    ),
    Defect(
        "meta-total-pages-is-missing",
        "envelopes.list-meta-holds-integers",
        "`meta` has no `total_pages`.",
        on("list", lambda body: drops("total_pages")(body["meta"])),
    ),
    Defect(
        "meta-stands-in-pagination",
        "envelopes.list-meta-holds-integers",
        "What belongs in `meta` stands in `meta.pagination`.",
        on("list", lambda body: body.__setitem__("meta", {"pagination": body["meta"]})),
    ),
    Defect(
        "meta-is-an-empty-array",
        "envelopes.list-meta-holds-integers",
        "Beyond page 1, `meta` is an empty array.",
        on("list", lambda body: body | {"meta": []} if body["meta"]["page"] > 1 else None),
    ),
    Defect(
        "link-self-is-null",
        "envelopes.list-links-are-strings",
        "`links.self` is null.",
        link("self", lambda _: None),
    ),
    Defect(
        "link-first-is-missing",
        "envelopes.list-links-are-strings",
        "`links` has no `first`.",
        on("list", lambda body: drops("first")(body["links"])),
    ),
    Defect(
        "link-last-is-null-on-the-last-page",
        "envelopes.list-links-are-strings",
        "On the last page, `links.last` is null.",
        link("last", lambda _: None, lambda body: body["links"]["self"] == body["links"]["last"]),
    ),
    Defect(
        "links-are-objects",
        "envelopes.list-links-are-strings",
        "Each link is an object with an `href`.",
        on(
            "list", lambda body: body.__setitem__("links", {name: {"href": url} for name, url in body["links"].items()})
        ),
    ),
    Defect(
        "link-next-is-false",
        "envelopes.list-neighbours-are-strings-or-null",
        "Where there is no next page, `links.next` is false.",
        link("next", lambda body: body["links"]["next"] or False),
    ),
    Defect(
        "link-prev-is-missing",
        "envelopes.list-neighbours-are-strings-or-null",
        "On page 1, `links` has no `prev`.",
        on("list", lambda body: drops("prev")(body["links"]) if body["meta"]["page"] == 1 else None),
    ),
    Defect(
        "link-next-is-a-number",
        "envelopes.list-neighbours-are-strings-or-null",
        "`links.next` is the number of the next page.",
        link("next", lambda body: body["meta"]["page"] + 1, lambda body: bool(body["links"]["next"])),
    ),
    Defect(
        "read-data-is-an-array",
        "envelopes.read-data-is-an-object",
        "A read answers an array of one record.",
        on("read", lambda body: {"data": [body["data"]]}),
    ),
    Defect(
        "read-is-bare",
        "envelopes.read-data-is-an-object",
        "A read answers the record without `data` around it.",
        on("read", lambda body: body["data"]),
    ),
    Defect(
        "read-names-the-kind",
        "envelopes.read-data-is-an-object",
        "A read wraps the record once more, in `data.record`.",
        on("read", lambda body: {"record": body["data"]}),
    ),
    Defect(
        "created-id-is-text",
        "envelopes.create-answers-the-id",
        "A create answers its id as text.",
        on("create", _text("id")),
    ),
    Defect(
        "created-id-is-bare",
        "envelopes.create-answers-the-id",
        "A create answers the id without `data` around it.",
        on("create", lambda body: {"id": body["data"]["id"]}),
    ),
    Defect(
        "create-tells-no-id",
        "envelopes.create-answers-the-id",
        "A create answers a message instead of the id.",
        on("create", lambda _: {"data": {"message": "Created."}}),
    ),
    Defect(
        "create-answers-an-empty-array",
        "envelopes.create-answers-the-id",
        "A create answers an empty array as `data`.",
        on("create", lambda _: {"data": []}),
    ),
    Defect(
        "update-answers-an-empty-object",
        "envelopes.update-answers-the-id",
        "An update answers an empty object as `data`.",
        on("update", lambda _: {"data": {}}),
    ),
    Defect(
        "update-answers-an-empty-array",
        "envelopes.update-answers-the-id",
        "An update answers an empty array as `data`.",
        on("update", lambda _: {"data": []}),
    ),
    Defect(
        "update-answers-true",
        "envelopes.update-answers-the-id",
        "An update answers true as `data`.",
        on("update", lambda _: {"data": True}),
    ),
    Defect(
        "updated-id-is-text",
        "envelopes.update-answers-the-id",
        "An update answers its id as the text from the path.",
        on("update", _text("id")),
    ),
    Defect(
        "updated-id-is-one-more",
        "envelopes.update-id-is-the-path-id",
        "An update answers an id that is one too high.",
        on("update", lambda body: {"data": {"id": body["data"]["id"] + 1}}),
    ),
    Defect(
        "updated-id-is-zero",
        "envelopes.update-id-is-the-path-id",
        "An update of a domain answers the id 0.",
        on("update", lambda _: {"data": {"id": 0}}),
        (D,),
    ),
    Defect(
        "updated-id-is-the-next",
        "envelopes.update-id-is-the-path-id",
        "An update answers the id that the next create will have.",
        knowing("update", _newest_id, known),
        (S, N),
    ),
    Defect("byte-order-mark", "envelopes.no-byte-order-mark", "Each body begins with a byte order mark.", _with_bom),
)
