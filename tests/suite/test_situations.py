"""In the weather of a real deployment, no correct server fails, and nothing is left behind; a broken one still fails.

`make situations` judges more servers in each situation, by twenty runs.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest
from clock import SimulatedClock
from situations import (
    BASE_URL,
    CONTRACT,
    DEATH,
    DEFECTS,
    KEYS,
    LOST,
    ROWS,
    TWO_RUNS,
    Forward,
    Reply,
    Sent,
    independent,
    judge,
    judge_server,
    limit,
    mock,
    nothing,
    outage,
    weathered_connection,
    window,
)

from contract_tests.evidence.exchange import OWN_KEY, Expect, request_of
from contract_tests.evidence.multipart import encode
from contract_tests.target.budget import Limits
from contract_tests.target.ledger import Ledger
from contract_tests.target.target import DOUBT, Target
from contract_tests.verdicts.verdicts import Verdict

STACKS = ("mock", "independent")
HECTIC = [name for name in ROWS if name.endswith("every 5 requests") or " a second, " in name]  # may stay undecided
WITH_A_DEFECT = [name for name in ROWS if name.endswith((", 3 s", "every 25 requests", "a second, 429"))]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "situation"), [*enumerate(ROWS)], ids=ROWS)
def test_a_correct_server_fails_in_no_weather(number: int, situation: str) -> None:
    # Where ids are given again, one run may be given an id that it has seen another use, and then touches it no more.
    stack = "mock" if situation == TWO_RUNS else STACKS[number % 2]
    for judgement in judge(situation, number, stack):
        outcome = judgement.outcome
        assert [(result.id, result.findings[0]) for result in outcome.failed] == []
        if situation == DEATH:
            assert outcome.word.startswith("the server is gone: no claim")
            assert outcome.status == 7
            reasons = {reason for result in outcome.results for reason in result.reasons}
            assert any(reason.startswith("no answer since ") for reason in reasons)
            continue
        undecided = [result for result in outcome.results if result.verdict is Verdict.INCONCLUSIVE]
        assert situation in HECTIC or not outcome.status, [(result.id, result.reasons) for result in undecided]
        assert outcome.left == ()


def test_a_limit_that_refuses_every_other_request_is_not_how_the_server_refuses_an_unknown_id(
    simulated_clock: SimulatedClock,
) -> None:
    weather, limits = limit(0, rate=4.9, status=403, headers={}), Limits(interval=0.2)
    with independent(0) as forward:
        target = Target(
            BASE_URL, {OWN_KEY: f"Bearer {KEYS[0]}"}, Ledger(), limits, weathered_connection(weather, forward)
        )
        splash_pages = CONTRACT.resources["splash-pages"]
        assert target.send_once(request_of(splash_pages, "list")).succeeded
        target.refusals.learn(splash_pages)
    assert [exchange.status for exchange in target.all_exchanges] == [
        200,
        403,
        200,
        200,
    ]  # a success with errors in its body
    assert target.availability.own_refusals == set()


@pytest.mark.parametrize("defect", ["updates-fail", "deletes-fail"])
def test_an_operation_that_never_works_costs_the_time_until_it_counts_and_hardly_more(defect: str) -> None:
    [calm], [failing] = judge("calm", 0, "mock"), judge("calm", 0, "mock", defect)
    assert failing.outcome.status == 1
    assert failing.wait_seconds - calm.wait_seconds < 3 * DOUBT  # for each resource


def test_an_operation_that_never_works_is_no_outage() -> None:
    [failing] = judge("calm", 0, "mock", "deletes-fail")
    answers = (*failing.outcome.exchanges, *failing.outcome.tries)
    failed = [answer for answer in answers if answer.request.operation == "delete" and answer.is_server_error]
    documented = [answer for answer in failed if answer.expects is Expect.SUCCESS]
    with mock(0, "deletes-fail") as forward:
        [gated] = judge_server(forward, max_5xx=0)
    assert documented
    assert str(len(documented)) == gated.outcome.exceeded[0].split()[0]


def test_a_server_that_reads_nothing_with_a_quote_in_it_is_not_gone() -> None:
    def spoilt(sent: Sent, forward: Forward) -> Reply:
        reply = forward(sent)
        is_spoilt = sent.is_read and reply.status == 200 and b'\\"' in reply.body
        return Reply(500, {"Content-Type": "application/json"}, b"{}") if is_spoilt else reply

    with mock(0) as forward:
        [judgement] = judge_server(forward, spoilt)
    results = judgement.outcome.results
    failed = {result.rule.id for result in judgement.outcome.failed}
    assert "operations.list-answers" in failed
    assert [result.id for result in results if str(result.reasons).count("no answer since")] == []


@pytest.mark.parametrize("seconds", [1, 3, 10])
def test_an_outage_counts_for_no_limit_of_5xx(seconds: float) -> None:
    weather = outage(0, seconds=seconds, reply=Reply(503, {}, b""))
    with mock(0) as forward:
        [judgement] = judge_server(forward, weather, max_5xx=0)
    assert any(exchange.status == 503 for exchange in judgement.outcome.tries)
    assert (judgement.outcome.status, judgement.outcome.exceeded) == (0, ())


def test_a_run_that_was_refused_often_names_a_rate() -> None:
    with mock(0) as forward:
        weather = window(20, 60, "Retry-After")
        [limited] = judge_server(forward, weather, resources=("domains",), rules=("pagination.*",))
    refused_count = sum(exchange.status == 429 for exchange in limited.outcome.tries)
    [note] = [note for note in limited.outcome.notes if "--rate" in note]
    assert re.fullmatch(
        rf"{refused_count} requests were refused because there were too many; --rate \d+/m would have avoided that",
        note,
    )


def test_a_run_ends_when_the_answers_are_too_long_and_names_what_it_did_not_judge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("contract_tests.target.budget.MAX_ANSWER_BYTES", 1 << 18)
    with mock(6) as forward:
        [judgement] = judge_server(forward, resources=("domains",))
    outcome = judgement.outcome
    assert "the rest of domains (the answers came to more than 0 MiB)" in outcome.not_judged
    assert (outcome.status, outcome.left) == (6, ())


@pytest.mark.parametrize("is_at_work", [True, False], ids=["at work", "killed"])
def test_another_run_is_waited_for_and_named_only_while_its_records_change(*, is_at_work: bool) -> None:
    numbers = itertools.count()

    def goes_on(sent: Sent, forward: Forward) -> Reply:
        reply = forward(sent)
        return replace(reply, body=reply.body.replace(b"look-0000", b"look-%04d" % next(numbers)))

    form = {"host": "ct12xbeef-1z.example.com", "custom_index_url": "https://www.example.com/look-0000"}
    body, media_type = encode(form)
    headers = {"Authorization": f"Bearer {KEYS[0]}", "Content-Type": media_type}
    with mock(0) as forward:
        forward(Sent("POST", "/api/domains", body, headers))
        weather = goes_on if is_at_work else nothing
        [judgement] = judge_server(forward, weather, resources=("domains",), rules=("lifecycle.create*",))
    note = "what another run (xbeef) disturbs, which is at work in this account"
    assert (note in judgement.outcome.not_judged) == is_at_work
    assert judgement.seconds >= 30 if is_at_work else judgement.wait_seconds < 30
    assert judgement.outcome.failed == []


def test_a_server_that_crashes_on_odd_input_is_warned_about_and_nothing_is_undecided() -> None:
    def crashes(sent: Sent, forward: Forward) -> Reply:
        is_odd_page = re.search(r"[?&]page=[^0-9&]", sent.url)
        is_nameless = (
            sent.url.endswith("/api/domains") and not sent.is_read and b'name="host"' not in (sent.body or b"")
        )
        return LOST if is_odd_page or is_nameless else forward(sent)

    with mock(0) as forward:
        [judgement] = judge_server(forward, crashes)
    warned = {result.rule.id for result in judgement.outcome.results if result.verdict is Verdict.WARN}
    assert {"robustness.odd-pages-do-not-fail", "robustness.odd-forms-do-not-fail"} <= warned
    assert (judgement.outcome.status, judgement.outcome.left) == (0, ())


def test_a_server_that_is_gone_fails_if_something_had_failed_for_certain() -> None:
    [judgement] = judge(DEATH, 6, "mock", "meta-page-is-always-1")
    outcome = judgement.outcome
    assert any(reason.startswith("no answer since ") for result in outcome.results for reason in result.reasons)
    assert (outcome.word.partition(",")[0], outcome.status) == ("does not conform", 1)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "situation"), [*enumerate(WITH_A_DEFECT)], ids=WITH_A_DEFECT)
def test_a_defect_shows_in_any_weather(number: int, situation: str) -> None:
    [judgement] = judge(situation, number, "mock", DEFECTS[number % len(DEFECTS)])
    assert judgement.outcome.status == 1
