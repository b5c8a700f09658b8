"""Lists with wrong totals."""

from __future__ import annotations

from mock_server.faults.call import Call
from mock_server.faults.defects.defect import Table, defect
from mock_server.faults.defects.effects import adds_another
from mock_server.faults.defects.means import Body, also, knowing, known, meta, on, remembering


def _counts_everybody(call: Call, body: Body) -> None:
    accounts = map(call.service.accounts.get, call.service.accounts.keys)
    others = [account for account in accounts if account and account is not call.account]
    strangers = [account.collections[call.resource.name].page(lambda total: (0, total))[1] for account in others]
    body["meta"]["total"] += sum(strangers) + 1


def _as_it_was(memory: dict[str, int], body: Body) -> None:
    body["meta"]["total"] = memory.setdefault("total", body["meta"]["total"])


def _never_less(memory: dict[str, int], body: Body) -> None:
    memory["total"] = body["meta"]["total"] = max(body["meta"]["total"], memory.get("total", 0))


def _never_more(memory: dict[str, int], body: Body) -> None:
    memory["total"] = body["meta"]["total"] = min(body["meta"]["total"], memory.get("total", body["meta"]["total"]))


# fmt: off
DEFECTS: Table = {
    "pagination.total-pages-is-the-ceiling": [
        defect("total-pages-is-rounded-down", "`total_pages` is rounded down.",
               meta("total_pages", lambda m: m["total"] // m["results_per_page"])),
        defect("total-pages-is-one-more-on-exact-multiples",
               "`total_pages` is one too high where the last page is full.",
               meta("total_pages", lambda m: m["total"] // m["results_per_page"] + 1)),
        defect("total-pages-goes-by-the-default-size", "`total_pages` counts pages of 25, whatever the size.",
               meta("total_pages", lambda m: max(1, -(-m["total"] // 25)))),
        defect("total-pages-is-1", "`total_pages` is always 1.", meta("total_pages", lambda _: 1)),
    ],
    "pagination.total-counts-the-records": [
        defect("total-is-one-more", "`total` is one too high.", meta("total", lambda m: m["total"] + 1)),
        defect("total-is-one-less", "`total` is one too low.", meta("total", lambda m: max(0, m["total"] - 1))),
        defect("total-counts-the-page", "`total` counts the records of the page.",
               on("list", lambda body: body["meta"].__setitem__("total", len(body["data"])))),
        defect("total-stops-at-the-size", "`total` is never above the page size.",
               meta("total", lambda m: min(m["total"], m["results_per_page"]))),
        defect("total-counts-all-accounts", "`total` counts other accounts' records too.",
               knowing("list", _counts_everybody, known)),
        defect("total-differs-on-later-pages", "From page 2 on, `total` counts only the records from there.",
               meta("total", lambda m: m["total"] - (m["page"] - 1) * m["results_per_page"])),
    ],
    "pagination.total-follows-creates": [
        defect("create-makes-two", "A create makes two records.", also("create", adds_another)),
        defect("total-is-what-it-first-was", "`total` is kept for good when it was first counted.",
               remembering(_as_it_was)),
        defect("total-never-grows", "`total` goes down, but never up.", remembering(_never_more)),
    ],
    "pagination.total-follows-deletes": [
        defect("deleted-records-are-counted", "`total` goes up, but never down.", remembering(_never_less)),
    ],
}
# fmt: on
