"""Lists with wrong pages."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, Transformation, content, done
from mock_server.faults.defects.defect import Table, defect
from mock_server.faults.defects.means import (
    Asked,
    Body,
    asks,
    is_full,
    is_page,
    knowing,
    known,
    meta,
    on,
    remembering,
    says,
)

SMALL = 10  # records on a page
FAR = 2_000_000_000  # no page that a client has a reason to ask for


def _reads(size: str, when: Asked) -> Transformation:
    """Use another page size than the one that is asked for."""
    return asks("list", lambda call: call.asking(results_per_page=size), when)


def _sized(*sizes: str) -> Asked:
    return lambda call: call.query.get("results_per_page") in sizes


def _unsized(call: Call) -> bool:
    return "results_per_page" not in call.query


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


def _is_far(call: Call) -> bool:
    number = call.query.get("page", "1")
    return number.isdecimal() and int(number) > FAR


def _shows_the_first(call: Call, body: Body) -> None:
    size = body["meta"]["results_per_page"]
    rows = [call.service.representations.record(call.resource, record) for record in call.records[:size]]
    body["data"] = rows


def _rows(change: Callable[[list[Body]], list[Body]], when: Callable[[Body], bool]) -> Transformation:
    """Show other records on a page."""
    return on("list", lambda body: body | {"data": change(body["data"])} if when(body) and body["data"] else None)


def _is_last(body: Body) -> bool:
    return bool(body["meta"]["page"] == body["meta"]["total_pages"])


def _turned(memory: dict[str, int], body: Body) -> None:
    turn = memory["turn"] = memory.get("turn", 0) + 1
    rows = body["data"]
    at = turn % max(1, len(rows))
    body["data"] = rows[at:] + rows[:at]


def _reversed(memory: dict[str, int], body: Body) -> None:
    memory["turn"] = memory.get("turn", 0) + 1
    if memory["turn"] % 2:
        body["data"].reverse()


def _repeats(call: Call, serve: Serve) -> Response:
    """Begin each page with the last record of the page before."""
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


def _lacks_new_records(call: Call, body: Body) -> None:
    """Leave records that the account has created out of small pages."""
    made: set[int] = call.memory.setdefault(call.resource.name, set())
    if call.operation == "create":
        made.add(body["data"]["id"])
    elif len(body["data"]) <= SMALL:
        body["data"] = [row for row in body["data"] if row["id"] not in made]


def _new_records_last(call: Call, body: Body) -> None:
    """End pages of ten with the newest record."""
    made: list[int] = call.memory.setdefault(call.resource.name, [])
    if call.operation == "create":
        made.append(body["data"]["id"])
    elif made and body["meta"]["results_per_page"] == SMALL and len(body["data"]) == SMALL:
        newest = next((record for record in call.records if record.id == made[-1]), None)
        if newest:
            body["data"][-1] = call.service.representations.read(call.resource, newest)["data"]


# fmt: off
DEFECTS: Table = {
    "pagination.page-is-filled": [
        defect("far-page-shows-the-first", "A page beyond 2,000,000,000 shows the records of page 1.",
               knowing("list", _shows_the_first, _is_far), needs={"page-past-the-end": "empty"}),
        defect("small-pages-lack-new-records", "Pages of ten lack records that were created.",
               knowing("create list", _lacks_new_records, known)),
        defect("pages-lose-their-last-record", "Each page shows one record too few.",
               _rows(lambda rows: rows[:-1], lambda _: True)),
        defect("full-pages-lose-a-record", "A full page shows one record too few.",
               _rows(lambda rows: rows[:-1], is_full)),
        defect("last-page-is-empty", "The last of several pages is empty.",
               _rows(lambda _: [], lambda body: _is_last(body) and body["meta"]["page"] > 1)),
        defect("third-page-loses-a-record", "Page 3 shows one record too few.",
               _rows(lambda rows: rows[1:], is_page(3))),
        defect("first-page-shows-one-more", "Page 1 of several shows its last record twice.",
               _rows(lambda rows: [*rows, rows[-1]],
                     lambda body: body["meta"]["page"] == 1 and body["meta"]["total_pages"] > 1)),
    ],
    "pagination.pages-partition-the-collection": [
        defect("small-pages-repeat-the-newest-record", "Full pages of ten end with the record that was created last.",
               knowing("create list", _new_records_last, known)),
        defect("second-page-is-the-first", "Page 2 shows the records of page 1.",
               asks("list", lambda call: call.asking(page="1"), lambda call: call.query.get("page") == "2")),
        defect("pages-overlap", "Each page begins with the last record of the one before.", _repeats),
        defect("record-is-listed-twice", "Page 2 shows its last record first too, instead of its first.",
               _rows(lambda rows: [rows[-1], *rows[1:]], is_page(2))),
    ],
    "pagination.page-defaults-to-1": [
        defect("no-page-is-the-second", "A list without `page` shows page 2.",
               asks("list", lambda call: call.asking(page="2"), lambda call: "page" not in call.query)),
        defect("no-page-is-the-last", "A list without `page` shows the last page.",
               asks("list", lambda call: call.asking(page=str(max(1, -(-len(call.records) // 25)))),
                    lambda call: call.account is not None and not call.query)),
    ],
    "pagination.size-defaults-to-25": [
        defect("default-size-is-10", "A list without `results_per_page` has 10 a page.", _reads("10", _unsized)),
        defect("default-size-is-50", "A list without `results_per_page` has 50 a page.", _reads("50", _unsized)),
        defect("default-size-is-100", "A list without `results_per_page` has 100 a page.", _reads("100", _unsized)),
        defect("default-size-is-said-wrongly",
               "A list without `results_per_page` says that a page holds 10, and shows 25.",
               meta("results_per_page", lambda _: 10, _unsized)),
    ],
    "pagination.allowed-sizes-are-kept": [
        defect("size-10-is-25", "A list of 10 a page has 25.", _reads("25", _sized("10"))),
        defect("size-50-is-25", "A list of 50 a page has 25.", _reads("25", _sized("50"))),
        defect("size-100-is-50", "A list of 100 a page has 50.", _reads("50", _sized("100"))),
        defect("size-250-is-100", "A list of 250 a page has 100.", _reads("100", _sized("250"))),
        defect("size-500-is-100", "A list of 500 a page has 100.", _reads("100", _sized("500"))),
        defect("size-1000-is-500", "A list of 1000 a page has 500.", _reads("500", _sized("1000"))),
    ],
    "pagination.other-sizes-are-not-used": [
        defect("any-size-is-used", "A list has any page size that is asked for.", _any_size(10**9)),
        defect("any-size-below-the-largest-is-used", "A list has any page size up to 1,000 that is asked for.",
               _any_size(1000)),
        defect("small-sizes-are-used", "A list has any page size below 10 that is asked for.", _any_size(9)),
    ],
    "pagination.meta-page-is-the-page-asked-for": [
        defect("meta-page-is-always-1", "`meta.page` is 1 on every page.", meta("page", lambda _: 1)),
        defect("meta-page-counts-from-0", "`meta.page` is 0 on page 1.", meta("page", lambda m: m["page"] - 1)),
        defect("meta-page-is-the-last", "`meta.page` says how many pages there are.",
               meta("page", lambda m: m["total_pages"])),
    ],
    "pagination.order-is-the-same-again": [
        defect("order-turns", "The same page begins with another record each time.", remembering(_turned)),
        defect("order-is-reversed-every-other-time", "Every other list is in the opposite order.",
               remembering(_reversed)),
    ],
}
# fmt: on
