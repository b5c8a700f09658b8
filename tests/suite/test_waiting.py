"""What a run learns while it waits: how far reads lag, which states do not come, which operations do not answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from clock import SimulatedClock
from faulty import CONTRACT, SELDOM_SATISFIED, FaultyTarget, honest

from contract_tests.evidence.exchange import OTHER, Exchange, Expect, Request, request_of
from contract_tests.evidence.observation import Chapter, Chapters
from contract_tests.run import needed
from contract_tests.survey import waits
from contract_tests.survey.visit import visit
from contract_tests.survey.visitor import Visitor
from contract_tests.survey.waits import Lag
from contract_tests.target.availability import Availability, outage_numbers
from contract_tests.target.retries import Timeouts
from contract_tests.verdicts.verdicts import Verdict, judge
from link_management_contract import Rule
from mock_server import Settings
from mock_server.defects.building_blocks import refuses

SEVERAL_NEEDS = sorted({needed([rule]) for rule in CONTRACT.rules.values()}, key=lambda needs: sorted(map(str, needs)))


@dataclass
class Clock:
    """A clock that moves on when it is told to, in place of the one that waits go by."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(waits, "time", clock)
    return clock


def total(clock: Clock, lag: Lag, write: str = "update", *, missed: bool, look: float = 0.0) -> float:
    """The seconds from the end of the first look to the beginning of the last, if each takes so long."""
    began = last = clock.now
    for pause in lag.pauses("domains", write, has_missed=missed):
        last = clock.now + pause
        clock.now = last + look
    return last - began


def test_a_state_is_waited_for_in_full_once_and_then_for_as_long_as_reads_were_seen_to_lag(clock: Clock) -> None:
    lag = Lag(1.0)
    assert total(clock, lag, missed=False) == pytest.approx(2.1)
    lag.note_missed("domains", "update")
    assert total(clock, lag, missed=True) == 0
    assert total(clock, lag, missed=False) == pytest.approx(waits.REDUCED_WAIT)  # on the second visit
    assert total(clock, lag, "delete", missed=False) == pytest.approx(2.1)
    lag.note_missed("domains", "update", due=True)
    assert total(clock, lag, "delete", missed=False) == pytest.approx(waits.REDUCED_WAIT)  # the server is broken
    lag.record_lag(0.3, waited_out=False)
    assert total(clock, lag, missed=True) == pytest.approx(0.3 + waits.MARGIN)


@pytest.mark.parametrize(("look", "last"), [(0.1, 2.1), (0.3, 2.3), (9.0, 9.05)])
def test_the_last_look_at_a_slow_server_is_the_first_after_the_wait(clock: Clock, look: float, last: float) -> None:
    assert total(clock, Lag(1.0), missed=False, look=look) == pytest.approx(last)


def test_a_lag_is_known_until_it_turns_out_to_be_longer() -> None:
    lag = Lag(1.0)
    lag.record_lag(0.2, waited_out=False)
    lag.record_lag(0.1, waited_out=False)
    assert lag.settling == pytest.approx(0.2 + waits.MARGIN)
    lag.record_lag(0.5, waited_out=True)
    assert lag.settling == waits.SETTLING


def test_a_refused_update_is_not_waited_for(no_pauses: None) -> None:
    lag, handlers = Lag(1.0), CONTRACT.resources["notification-handlers"]
    visitor = Visitor(FaultyTarget(refuses("update", 422), Settings()), handlers, lag=lag)
    evidence = visit(visitor, frozenset({Chapter.UPDATING}))
    assert evidence.changes
    assert not lag.has_missed("notification-handlers", "update")


@pytest.mark.parametrize(("status", "wait"), [(202, waits.REDUCED_WAIT), (503, 2.1)])
def test_only_an_update_that_succeeds_and_does_nothing_shows_a_broken_server(
    monkeypatch: pytest.MonkeyPatch, status: int, wait: float
) -> None:
    lag, domains = Lag(1.0), CONTRACT.resources["domains"]
    with monkeypatch.context() as patched:
        patched.setattr(waits, "PAUSES", (0.0,))
        patched.setattr("contract_tests.target.retries.PAUSE", 0.0)
        target = FaultyTarget(refuses("update", status), Settings())
        visit(Visitor(target, domains, lag=lag), frozenset({Chapter.UPDATING}))
    assert lag.has_missed("domains", "update")
    assert next_wait(monkeypatch, lag) == pytest.approx(wait)


def test_a_list_that_others_may_have_changed_shows_no_broken_server(monkeypatch: pytest.MonkeyPatch) -> None:
    lag, target = Lag(1.0), FaultyTarget(honest, Settings())
    visitor = Visitor(target, CONTRACT.resources["domains"], lag=lag)
    with monkeypatch.context() as patched:
        patched.setattr(waits, "PAUSES", (0.0,))
        visitor.waits.for_state("create", visitor.list_all, lambda _: False)
    assert lag.has_missed("domains", "create")
    assert next_wait(monkeypatch, lag) == pytest.approx(2.1)


def next_wait(monkeypatch: pytest.MonkeyPatch, lag: Lag) -> float:
    """How long the next delete of a domain is waited for."""
    clock = Clock()
    monkeypatch.setattr(waits, "time", clock)
    return total(clock, lag, "delete", missed=False)


@pytest.mark.parametrize("share", [0.0, 2.0])
def test_the_option_for_the_lag_scales_every_wait(clock: Clock, share: float) -> None:
    lag = Lag(share)
    assert total(clock, lag, missed=False) == pytest.approx(2.1 * share)
    assert lag.max_wait == waits.SETTLING * share


LIST = Request("list", "domains", "GET", "/api/domains/")
ODD = Request("list", "domains", "GET", "/api/domains/", expects=Expect.OPEN)


def test_what_hangs_three_times_is_given_up_and_what_is_like_it_has_less_time() -> None:
    hangs = Timeouts(30.0)
    assert (hangs.seconds_to_wait(LIST, last=False), hangs.gives_up(LIST)) == (30.0, False)
    hangs.note(Exchange(LIST, 1, None, timed_out=True))
    assert hangs.seconds_to_wait(LIST, last=False) == 7.5
    hangs.note(Exchange(LIST, 2, None, timed_out=True))
    assert (hangs.seconds_to_wait(LIST, last=False), hangs.gives_up(LIST)) == (7.5, False)
    hangs.note(Exchange(LIST, 3, None, timed_out=True))
    assert (hangs.seconds_to_wait(LIST, last=True), hangs.gives_up(LIST)) == (1.0, True)
    assert (hangs.seconds_to_wait(ODD, last=False), hangs.gives_up(ODD)) == (1.0, False)
    hangs.note(Exchange(LIST, 4, 200))
    assert (hangs.seconds_to_wait(LIST, last=False), hangs.gives_up(LIST)) == (30.0, False)


def test_odd_requests_that_hang_take_no_time_from_documented_ones() -> None:
    hangs = Timeouts(30.0)
    for number in (1, 2):
        hangs.note(Exchange(ODD, number, None, timed_out=True))
    assert (hangs.seconds_to_wait(LIST, last=False), hangs.gives_up(LIST)) == (30.0, False)
    stranger = Request("list", "domains", "GET", "/api/domains/", identity=OTHER)
    assert not hangs.gives_up(stranger)


def rules_that_need(chapters: Chapters, resource: str) -> list[Rule]:
    """The rules of a resource that need these chapters and no others, and that an honest server can be judged by."""
    rules = [rule for rule in CONTRACT.rules.values() if rule.decided_by != "round" and rule.id not in SELDOM_SATISFIED]
    return [rule for rule in rules if resource in rule.resources and needed([rule]) == chapters]


def chapters_and_resources() -> Iterator[Any]:
    """The chapters of each visit, with each resource; a visit that judges no further rule is slow."""
    for chapters in SEVERAL_NEEDS:
        judged = set[str]()
        for resource in reversed(CONTRACT.resources):  # handlers have the most rules
            rules = {rule.id for rule in rules_that_need(chapters, resource)}
            marks = () if rules - judged else (pytest.mark.slow,)
            judged |= rules
            names = "-".join(sorted(each.name for each in chapters))
            yield pytest.param(chapters, resource, marks=marks, id=f"{names}-{resource}")


@pytest.mark.parametrize(("chapters", "resource"), [*chapters_and_resources()])
def test_the_chapters_that_a_rule_needs_are_enough_to_judge_it(
    no_pauses: None, chapters: Chapters, resource: str
) -> None:
    target = FaultyTarget(honest, Settings(fixture="empty", records=28))
    of = CONTRACT.resources[resource]
    evidence = visit(Visitor(target, of), chapters)
    for rule in rules_that_need(chapters, resource):
        result = judge(rule, evidence)
        assert result.verdict is Verdict.PASS, f"contract_tests/rules/: {rule.id} needs more: {result.reasons}"
    assert target.ledger.left == []


@pytest.mark.parametrize("is_under_way", [True, False])
def test_answers_to_what_was_under_way_when_an_outage_began_leave_the_pace_as_it_was(*, is_under_way: bool) -> None:
    state, request = Availability(120, 5), request_of(CONTRACT.resources["domains"], "list")

    def note(status: int, started_at: float) -> None:
        state.note(Exchange(request, 1, status, {}, b"{}", started_at=started_at))

    before = time.time()
    for _ in range(20):
        note(200, before)
    for _ in range(6):  # the first of six requests side by side
        state.note_limit(Exchange(request, 1, 503, {}, b"", started_at=before))
    started_at = before if is_under_way else time.time() + 1
    note(200, started_at)
    state.note_limit(Exchange(request, 1, 503, {}, b"", started_at=started_at))
    note(200, time.time() + 1)
    assert (state.interval == 0) == is_under_way


def test_refusals_of_requests_side_by_side_slow_a_run_down_once() -> None:
    state, request = Availability(120, 5), request_of(CONTRACT.resources["domains"], "list")
    before = time.time()
    state.note(Exchange(request, 1, 200, {}, b"{}", started_at=before))
    for _ in range(5):
        state.note(Exchange(request, 1, 429, {}, b"", started_at=before))
    assert state.interval == pytest.approx(0.1)
    assert state.limit_count == 5
    state.note(Exchange(request, 1, 429, {}, b"", started_at=time.time() + 1))
    assert state.interval == pytest.approx(0.2)


@pytest.mark.parametrize(("refused_count", "rate"), [(4, ""), (5, "60/m")])
def test_five_refusals_tell_the_rate_that_the_server_allows(refused_count: int, rate: str) -> None:
    request = request_of(CONTRACT.resources["domains"], "list")
    with SimulatedClock(is_frozen=True).running():
        state = Availability(120, 5)
        for _ in range(refused_count):
            state.note(Exchange(request, 1, 429, {}, b""))
        for _ in range(10):
            time.sleep(1)
            state.note(Exchange(request, 1, 200, {}, b"{}"))
    assert state.suggested_rate == rate


@pytest.mark.parametrize("allowed", [0.07, 0.3, 1.0])
def test_a_run_comes_close_to_the_pace_that_a_server_allows(allowed: float) -> None:
    state, request = Availability(120, 5), request_of(CONTRACT.resources["domains"], "list")
    now, refused_count = time.time(), 0
    for _ in range(300):
        now += max(state.interval, 0.001)
        is_refused = state.interval < allowed
        refused_count += is_refused
        state.note(Exchange(request, 1, 429 if is_refused else 200, {}, b"{}", started_at=now))
    assert allowed <= state.interval <= 1.1 * allowed
    assert refused_count < 12


@pytest.mark.parametrize(
    ("operations", "works_later", "is_outage"),
    [
        (("list", "read"), True, True),
        (("list", "read"), False, False),  # what never works is broken
        (("list",), True, False),  # others may have worked
    ],
)
def test_failures_of_several_kinds_in_a_row_are_an_outage_if_the_same_requests_work_otherwise(
    operations: tuple[str, ...], *, works_later: bool, is_outage: bool
) -> None:
    requests = [request_of(CONTRACT.resources["domains"], operation, 1) for operation in operations * 12][:12]
    failed = [Exchange(request, number, 503) for number, request in enumerate(requests)]
    worked = [Exchange(request, number, 200) for number, request in enumerate(requests, len(requests))]
    hit = outage_numbers(failed + worked * works_later)
    assert hit == ({exchange.number for exchange in failed} if is_outage else set())
    few = failed[:10]
    assert outage_numbers(few + worked) == set()
