"""Lists that count wrongly."""

from __future__ import annotations

from mock_server.faults.call import Call
from mock_server.faults.defects.defect import Defect
from mock_server.faults.defects.effects import adds_another
from mock_server.faults.defects.means import Body, also, knowing, known, meta, on, remembering


def _counts_everybody(call: Call, body: Body) -> None:
    accounts = map(call.service.accounts.get, call.service.accounts.keys)
    others = [account for account in accounts if account and account is not call.account]
    strangers = [account.collections[call.kind].page(lambda total: (0, total))[1] for account in others]
    body["meta"]["total"] += sum(strangers) + 1


def _as_it_was(memory: dict[str, int], body: Body) -> None:
    body["meta"]["total"] = memory.setdefault("total", body["meta"]["total"])


def _never_less(memory: dict[str, int], body: Body) -> None:
    memory["total"] = body["meta"]["total"] = max(body["meta"]["total"], memory.get("total", 0))


def _never_more(memory: dict[str, int], body: Body) -> None:
    memory["total"] = body["meta"]["total"] = min(body["meta"]["total"], memory.get("total", body["meta"]["total"]))


DEFECTS = (
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
        knowing("list", _counts_everybody, known),
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
        also("create", adds_another),
    ),
    Defect(
        "total-is-what-it-first-was",
        "pagination.total-follows-creates",
        "`total` is kept for good when it was first counted.",
        remembering(_as_it_was),
    ),
    Defect(
        "total-never-grows",
        "pagination.total-follows-creates",
        "`total` goes down, but never up.",
        remembering(_never_more),
    ),
    Defect(
        "deleted-records-are-counted",
        "pagination.total-follows-deletes",
        "`total` goes up, but never down.",
        remembering(_never_less),
    ),
)
