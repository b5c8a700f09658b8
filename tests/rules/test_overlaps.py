"""Rules of overlapping requests, on hand-made rounds, and what orders of requests explain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from handmade import CONTRACT, D, N, answer, deleted, made, page, read, record, rows, said, visit, written

from contract_tests.evidence.evidence import Round
from contract_tests.evidence.exchange import Exchange
from contract_tests.evidence.observation import Violation
from contract_tests.overlap.rules import Step, WriteResult, described, orders, timeline
from contract_tests.verdicts.verdicts import observe

BEFORE = record(D, 7)
HOST, INDEX = {"host": "new.example.com"}, {"custom_index_url": "https://new.example.com"}
BOTH: dict[str, Any] = {**HOST, **INDEX}


def seen(rule: str, round_: Round) -> str:
    return said(f"concurrency.{rule}", visit(rounds={D.name: [round_]}))


def shown(**values: str) -> Exchange:
    return read(record(D, 7, **values))


def gone() -> Exchange:
    return answer("read", {"errors": []}, status=404, identifier=7)


FAILED = answer("update", {"errors": []}, status=500, identifier=7, form=INDEX)
REFUSED = answer("update", {"errors": []}, status=409, identifier=7, form=INDEX)
UPDATES = {
    "both are there": ((written(7, HOST), written(7, INDEX)), shown(**BOTH), "S"),
    "the second has undone the first": ((written(7, HOST), written(7, INDEX)), shown(**INDEX), "V"),
    "none is there": ((written(7, HOST), written(7, INDEX)), shown(), "V"),
    "the loser was refused": ((written(7, HOST), REFUSED), shown(**HOST), "S"),
    "a refused one was carried out": ((written(7, HOST), REFUSED), shown(**BOTH), "V"),
    "one failed, and was not carried out": ((written(7, HOST), FAILED), shown(**HOST), "S"),
    "one failed, and was carried out": ((written(7, HOST), FAILED), shown(**BOTH), "S"),
    "the read is one too many": ((written(7, HOST), written(7, INDEX)), answer("read", status=429, identifier=7), "S"),
    "the read fails": ((written(7, HOST), written(7, INDEX)), answer("read", status=500, identifier=7), "S"),
}


@pytest.mark.parametrize(("updates", "after", "expected"), UPDATES.values(), ids=UPDATES)
def test_updates_of_different_fields(updates: tuple[Exchange, ...], after: Exchange, expected: str) -> None:
    assert seen("updates-leave-other-fields", Round("updates", updates, BEFORE, (after,))) == expected


def test_creates_at_one_moment_keep_their_values() -> None:
    first, second = made(7, {"host": "ct1x-1z.example.com"}), made(8, {"host": "ct1x-2z.example.com"})
    own, others = (read(record(D, 7, host=f"ct1x-{number}z.example.com"), identifier=7) for number in (1, 2))
    rule, at_once = "created-records-keep-their-values", Round("creates", (first, second), reads=(own,))
    assert seen(rule, at_once) == "S"
    assert seen(rule, replace(at_once, reads=(own, others))) == "V"
    assert seen(rule, replace(at_once, reads=(gone(),))) == "S"


READS = {
    "before and after": ((shown(), shown(**BOTH)), "S"),
    "after and before": ((shown(**BOTH), shown()), "S"),
    "half of each": ((shown(), shown(**HOST)), "V"),
    "one that shows nothing": ((gone(), shown(**BOTH)), "S"),
}


@pytest.mark.parametrize(("reads", "expected"), READS.values(), ids=READS)
def test_reads_while_a_record_is_updated(reads: tuple[Exchange, ...], expected: str) -> None:
    round_ = Round("reads", (*reads, written(7, BOTH)), BEFORE, (shown(**BOTH),))
    assert seen("reads-show-whole-records", round_) == expected


def test_a_deleted_record() -> None:
    rule, update = "deleted-record-stays-deleted", written(7, HOST)
    pair = Round("update and delete", (update, deleted(7)), BEFORE, (gone(),), listed_ids=(1, 2))
    assert seen(rule, pair) == "S"
    assert seen(rule, replace(pair, reads=(shown(**HOST),))) == "V"
    assert seen(rule, replace(pair, listed_ids=(1, 7))) == "V"
    refused = answer("delete", {"errors": []}, status=409, identifier=7)
    assert seen(rule, replace(pair, exchanges=(update, refused), reads=(shown(**HOST),), listed_ids=(7,))) == "S"
    assert seen(rule, Round("deletes", (deleted(7), deleted(7)), BEFORE, (gone(),), listed_ids=())) == "S"
    assert seen(rule, Round("updates", (update, update), BEFORE, (gone(),))) == ""


def test_creates() -> None:
    creates = made(8, {"host": "a"}), made(9, {"host": "b"})
    good = Round("creates", creates, reads=(read(record(D, 8)), read(record(D, 9))), listed_ids=(9, 8, 1), total=3)
    for rule in ("creates-answer-different-ids", "created-records-are-listed-once", "totals-come-right"):
        assert seen(rule, good) == "S"
    twice = (creates[0], made(8, {"host": "b"}))
    assert seen("creates-answer-different-ids", replace(good, exchanges=twice)) == "V"
    assert seen("created-records-are-listed-once", replace(good, listed_ids=(9, 8, 8))) == "V"
    assert seen("created-records-are-listed-once", replace(good, listed_ids=(9, 1))) == "V"
    assert seen("created-records-are-listed-once", replace(good, listed_ids=None)) == "S"
    lost = answer("read", {"errors": []}, status=404, identifier=9)
    assert seen("created-records-are-listed-once", replace(good, reads=(lost,))) == "V"
    busy = answer("read", {"errors": []}, status=429, identifier=9)
    assert seen("created-records-are-listed-once", replace(good, reads=(busy,))) == "S"
    assert seen("totals-come-right", replace(good, total=4)) == "V"
    assert seen("totals-come-right", replace(good, total=4, is_reliable=False)) == "S"
    assert seen("totals-come-right", replace(good, total=4, listed_ids=None)) == "S"


def test_lists_while_records_are_created() -> None:
    creates = made(8, {"host": "a"}), made(9, {"host": "b"})
    assert seen("lists-show-a-record-once", Round("creates", (*creates, page(rows(D, 8, 1))))) == "S"
    assert seen("lists-show-a-record-once", Round("creates", (*creates, page(rows(D, 8, 8, 1))))) == "V"


def test_lists_that_contradict_their_own_total() -> None:
    rule, create = "lists-agree-with-themselves", made(8, {"host": "a"})
    assert seen(rule, Round("creates", (create, page(rows(D, 8, 1))))) == "S"
    assert seen(rule, Round("creates", (create, page(rows(D, 8, 1), total=3)))) == "V"
    assert seen(rule, Round("creates", (create, page(rows(D, 8, 1), total=3)), is_reliable=False)) == "S"
    full = page(rows(D, *range(10)), total=31, query={"results_per_page": "10"})
    assert seen(rule, Round("creates", (create, full))) == "S"


def test_writes_that_fail_at_one_moment() -> None:
    rule, creates = "requests-do-not-fail", [made(8, {"host": "a"})] * 19
    for status, expected in ((500, "V"), (503, "S"), (502, "S"), (429, "S"), (None, "S"), (409, "S")):
        other = answer("create", status=status, form={"host": "b"})
        assert seen(rule, Round("burst of creates", (*creates, other))) == expected


def test_updates_of_two_keys_of_one_object() -> None:
    before = record(N, 7, type="telegram", settings={"token": "1:a", "chat": "2"})
    updates = written(7, {"telegram": "1:b"}, N), written(7, {"telegram_chat_id": "3"}, N)
    for settings, expected in (({"token": "1:b", "chat": "3"}, "S"), ({"token": "1:a", "chat": "3"}, "V")):
        after = read(before | {"settings": settings}, N)
        round_ = Round("updates", updates, before, (after,))
        evidence = visit(rounds={N.name: [round_]})
        assert said("concurrency.updates-leave-other-fields", evidence, N) == expected


def test_a_create_while_another_account_lists() -> None:
    rule, create = "accounts-stay-apart", made(8, {"host": "a"})
    good = Round("accounts", (create,), reads=(read(record(D, 8)),))
    assert seen(rule, good) == "S"
    assert seen(rule, replace(good, extra_count=1)) == "V"
    assert seen(rule, replace(good, reads=(answer("read", {}, status=404, identifier=8),))) == "V"
    assert seen(rule, replace(good, reads=(answer("read", {}, status=429, identifier=8),))) == "S"


def test_bursts() -> None:
    rule, good = "bursts-of-reads-are-answered", [shown()] * 15
    for status, expected in ((500, "V"), (None, "V"), (503, "S"), (429, "S")):
        others = [answer("read", status=status, identifier=7)] * 5
        assert seen(rule, Round("burst", (*good, *others))) == expected
    few = [answer("read", status=502, identifier=7)] * 3
    assert seen(rule, Round("burst", (*good, *few))) == "S"


def test_where_nothing_could_overlap_nothing_is_said() -> None:
    assert said("concurrency.totals-come-right", visit(has_overlapped=True)) == "N"
    assert said("concurrency.totals-come-right", visit()) == ""


def test_orders_are_those_that_reads_allow() -> None:
    one, two = Step("one", frozenset({"a"})), Step("two", frozenset({"b"}))
    assert {state for _, state in orders([one, two])} == {frozenset({"a", "b"})}
    between = Step("read", shows=frozenset({"b"}))
    assert [order for order, _ in orders([one, two, between])] == [("two", "read", "one")]
    assert list(orders([one, Step("read", shows=frozenset({"c"}))])) == []
    unknown = replace(two, result=WriteResult.UNKNOWN)
    assert {state for _, state in orders([one, unknown])} == {frozenset({"a", "b"}), frozenset({"a"})}
    delete = Step("delete", None)
    assert {state for _, state in orders([one, delete])} == {None}
    assert {state for _, state in orders([one, replace(delete, result=WriteResult.REJECTED)])} == {frozenset({"a"})}
    assert [described(state) for state in (None, frozenset(), frozenset({"b", "a"}))] == [
        "no record",
        "nothing changed",
        "a and b changed",
    ]


def test_a_time_line_tells_what_was_sent_and_what_each_order_gives() -> None:
    update = replace(written(7, HOST), started_at=10.0, seconds=0.002)
    other = replace(written(7, INDEX), started_at=10.001, seconds=0.002)
    lines = timeline(Round("updates", (update, other), BEFORE, (shown(**INDEX),)))
    assert lines == (
        "    0.0 to 2.0 ms  POST /api/domains/7 (host)  status 200",
        "    1.0 to 3.0 ms  POST /api/domains/7 (custom_index_url)  status 200",
        "afterwards  GET /api/domains/7  custom_index_url changed",
        "would give custom_index_url and host changed: 1: update of host; 2: update of custom_index_url",
    )
    silent = replace(answer("delete", status=None, identifier=7), started_at=9.0, seconds=0.01)
    seen = replace(shown(**HOST), started_at=10.0, seconds=1.0)
    pair = replace(written(7, BOTH), started_at=10.5, seconds=0.5)
    lines = timeline(Round("reads", (silent, seen, pair), BEFORE, (gone(), shown())))
    assert lines == (
        "    0.0 to 10.0 ms  DELETE /api/domains/7  no answer",
        " 1000.0 to 2000.0 ms  GET /api/domains/7  status 200, host changed",
        " 1500.0 to 2000.0 ms  POST /api/domains/7 (host, custom_index_url)  status 200",
        "afterwards  GET /api/domains/7  no record",
    )
    nothing = Round("updates", (FAILED, FAILED), BEFORE, (gone(),))
    assert timeline(nothing)[-2:] == (
        "would give custom_index_url changed: 1: update of custom_index_url; 2: update of custom_index_url",
        "would give nothing changed: none of them",
    )
    assert timeline(Round("burst", ())) == ()


def test_a_finding_names_the_request_that_shows_it() -> None:
    evidence = visit(
        rounds={D.name: [Round("updates", (written(7, HOST), written(7, INDEX)), BEFORE, (gone(), shown()))]}
    )
    [found] = observe(CONTRACT.rules["concurrency.updates-leave-other-fields"], evidence)
    assert isinstance(found, Violation)
    assert found.exchange is evidence.rounds[0].reads[0]
    creates = made(8, {"host": "a"}), made(8, {"host": "b"})
    evidence = visit(rounds={D.name: [Round("creates", creates, reads=(shown(),))]})
    [found] = observe(CONTRACT.rules["concurrency.creates-answer-different-ids"], evidence)
    assert isinstance(found, Violation)
    assert found.exchange is creates[1]
