"""Answers with the wrong envelope."""

from __future__ import annotations

from typing import Any

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve
from mock_server.faults.defects.defect import D, N, S, Table, defect
from mock_server.faults.defects.means import Body, drops, knowing, known, link, meta, on, raw, tells

WARNING = b"<br />\n<b>Warning</b>: Undefined index: page in list.php on line 27<br />\n"


def _by_position(body: Body) -> None:
    """Write the rows as PHP writes a filtered array, by position."""
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


# fmt: off
DEFECTS: Table = {
    "envelopes.body-is-json": [
        defect("warning-before-lists", "The language's warning is printed before a list.",
               raw("list", lambda text: WARNING + text)),
        defect("warning-before-creates", "The language's warning is printed before the answer to a create.",
               raw("create", lambda text: WARNING + text)),
        defect("time-behind-reads", "A comment with the time that a read took follows its JSON.",
               raw("read", lambda text: text + b"<!-- 12 ms -->")),
        defect("update-answers-no-body", "An update answers 204, without a body.", tells("update", 204, b"")),
        defect("create-answers-no-body", "A create answers 201 and no body.", tells("create", 201, b"")),
        defect("lists-hold-nan", "A list holds NaN, which is no JSON.",
               on("list", lambda body: body["meta"].__setitem__("ratio", float("nan")))),
        defect("trailing-comma-in-reads", "A read ends with a comma too many.",
               raw("read", lambda text: text.rstrip()[:-1] + b",}")),
        defect("lists-are-scripts", "A list is wrapped in a function call, as JSONP.",
               raw("list", lambda text: b"callback(" + text.strip() + b");")),
        defect("create-answers-twice", "The answer to a create is written twice in one body.",
               raw("create", lambda text: text + text)),
    ],
    "envelopes.list-data-is-an-array": [
        defect("empty-list-is-null", "A list without records shows null as `data`.",
               on("list", lambda body: body.update(data=body["data"] or None))),
        defect("list-is-keyed-by-id", "A list's `data` is an object by id.",
               on("list", lambda body: body | {"data": {str(row["id"]): row for row in body["data"]}})),
        defect("later-pages-are-keyed-by-position", "From page 2 on, a list's `data` is an object by position.",
               on("list", _by_position)),
        defect("single-record-is-not-in-an-array", "A page of one record shows it without an array.",
               on("list", _single)),
        defect("rows-are-arrays", "A list's records are arrays of values, without names.",
               on("list", lambda body: body | {"data": [list(row.values()) for row in body["data"]]})),
        defect("records-are-not-under-data", "A list's records stand under `items`.",
               on("list", lambda body: {"items": body["data"], "meta": body["meta"], "links": body["links"]})),
    ],
    "envelopes.list-meta-holds-integers": [
        defect("meta-page-is-text", "`meta.page` is text once `page` is sent.",
               meta("page", lambda m: str(m["page"]), lambda call: "page" in call.query)),
        defect("meta-size-is-text", "`meta.results_per_page` is text once a size is sent.",
               meta("results_per_page", lambda m: str(m["results_per_page"]),
                    lambda call: "results_per_page" in call.query)),
        defect("meta-total-is-text", "`meta.total` is text.", meta("total", lambda m: str(m["total"]))),
        defect("meta-total-is-named-total-results", "The total stands under `meta.total_results`.",
               on("list", lambda body: body["meta"].__setitem__("total_results", body["meta"].pop("total")))),
        defect("meta-total-pages-is-missing", "`meta` has no `total_pages`.",
               on("list", lambda body: drops("total_pages")(body["meta"]))),
        defect("meta-stands-in-pagination", "What belongs in `meta` stands in `meta.pagination`.",
               on("list", lambda body: body.__setitem__("meta", {"pagination": body["meta"]}))),
        defect("meta-is-an-empty-array", "Beyond page 1, `meta` is an empty array.",
               on("list", lambda body: body | {"meta": []} if body["meta"]["page"] > 1 else None)),
    ],
    "envelopes.list-links-are-strings": [
        defect("link-self-is-null", "`links.self` is null.", link("self", lambda _: None)),
        defect("link-first-is-missing", "`links` has no `first`.",
               on("list", lambda body: drops("first")(body["links"]))),
        defect("link-last-is-null-on-the-last-page", "On the last page, `links.last` is null.",
               link("last", lambda _: None, lambda body: body["links"]["self"] == body["links"]["last"])),
        defect("links-are-objects", "Each link is an object with an `href`.",
               on("list", lambda body: body | {"links": {name: {"href": url} for name, url in body["links"].items()}})),
    ],
    "envelopes.list-neighbours-are-strings-or-null": [
        defect("link-next-is-false", "Where there is no next page, `links.next` is false.",
               link("next", lambda body: body["links"]["next"] or False)),
        defect("link-prev-is-missing", "On page 1, `links` has no `prev`.",
               on("list", lambda body: drops("prev")(body["links"]) if body["meta"]["page"] == 1 else None)),
        defect("link-next-is-a-number", "`links.next` is the number of the next page.",
               link("next", lambda body: body["meta"]["page"] + 1, lambda body: bool(body["links"]["next"]))),
    ],
    "envelopes.read-data-is-an-object": [
        defect("read-data-is-an-array", "A read answers an array of one record.",
               on("read", lambda body: {"data": [body["data"]]})),
        defect("read-is-bare", "A read answers the record without `data` around it.",
               on("read", lambda body: body["data"])),
        defect("read-names-the-kind", "A read wraps the record once more, in `data.record`.",
               on("read", lambda body: {"record": body["data"]})),
    ],
    "envelopes.create-answers-the-id": [
        defect("created-id-is-text", "A create answers its id as text.", on("create", _text("id"))),
        defect("created-id-is-bare", "A create answers the id without `data` around it.",
               on("create", lambda body: {"id": body["data"]["id"]})),
        defect("create-tells-no-id", "A create answers a message instead of the id.",
               on("create", lambda _: {"data": {"message": "Created."}})),
        defect("create-answers-an-empty-array", "A create answers an empty array as `data`.",
               on("create", lambda _: {"data": []})),
    ],
    "envelopes.update-answers-the-id": [
        defect("update-answers-an-empty-object", "An update answers an empty object as `data`.",
               on("update", lambda _: {"data": {}})),
        defect("update-answers-an-empty-array", "An update answers an empty array as `data`.",
               on("update", lambda _: {"data": []})),
        defect("update-answers-true", "An update answers true as `data`.", on("update", lambda _: {"data": True})),
        defect("updated-id-is-text", "An update answers its id as the text from the path.", on("update", _text("id"))),
    ],
    "envelopes.update-id-is-the-path-id": [
        defect("updated-id-is-one-more", "An update answers an id that is one too high.",
               on("update", lambda body: {"data": {"id": body["data"]["id"] + 1}})),
        defect("updated-id-is-zero", "An update of a domain answers the id 0.",
               on("update", lambda _: {"data": {"id": 0}}), D),
        defect("updated-id-is-the-next", "An update answers the id that the next create will have.",
               knowing("update", _newest_id, known), S, N),
    ],
    "envelopes.no-byte-order-mark": [defect("byte-order-mark", "Each body begins with a byte order mark.", _with_bom)],
}
# fmt: on
