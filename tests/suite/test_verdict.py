"""The word, the exit status, and what a verdict says that it did not judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest
from faulty import honest, visited
from outcomes import CONTRACT, READ, result

from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.observation import DECISIONS, NEEDS_PAGES, OTHERS_WROTE, Observation, Satisfied, Violation
from contract_tests.verdicts.verdicts import Result, Verdict, judge, overall, unjudged
from contract_tests.verdicts.waivers import Waiver, apply_waivers
from link_management_contract import Rule

PASS = result("pagination.page-is-filled", Verdict.PASS)
FAIL = result("envelopes.body-is-json", Verdict.FAIL, Violation(READ, "JSON", "none"))
WARN = result("robustness.odd-text-does-not-fail", Verdict.WARN, Violation(READ, "any answer", "status 500"))
UNDECIDED = result("forms.name-required", Verdict.INCONCLUSIVE, reasons=("a quota",))
ODD = result("robustness.odd-ids-do-not-fail", Verdict.INCONCLUSIVE, reasons=("each read fails",))
WAIVED = result("envelopes.body-is-json", Verdict.FAIL, Violation(READ, "JSON", "none"), waived="ticket 12")
KEYLESS = result(
    "accounts.other-account-sees-no-list",
    Verdict.NOT_APPLICABLE,
    reasons=("no second key",),
    unjudged="separation of accounts",
)


@pytest.mark.parametrize(
    ("results", "more", "expected"),
    [
        ([PASS], {}, ("conforms", 0)),
        ([PASS, WARN], {}, ("conforms", 0)),
        ([PASS, WARN], {"strict": True}, ("does not conform", 1)),
        ([PASS, ODD], {}, ("conforms", 0)),
        ([PASS, ODD], {"strict": True}, ("undecided", 6)),
        ([PASS, WAIVED], {}, ("conforms but for what is waived", 0)),
        ([PASS, replace(UNDECIDED, waived="ticket 12")], {}, ("conforms but for what is waived", 0)),
        ([PASS, WAIVED], {"partial": True}, ("partial: no claim", 0)),
        ([PASS, UNDECIDED], {"partial": True}, ("undecided", 6)),
        ([PASS, FAIL, UNDECIDED], {"partial": True}, ("does not conform", 1)),
        ([PASS], {"left": True}, ("conforms, with records left behind", 3)),
        ([PASS], {"left": True, "partial": True}, ("partial: no claim, with records left behind", 3)),
        ([UNDECIDED], {"left": True}, ("undecided, with records left behind", 3)),
        ([FAIL], {"left": True}, ("does not conform, with records left behind", 1)),
        ([PASS], {"stale": True}, ("a waiver is stale", 1)),
        ([PASS], {"exceeded": True}, ("conforms, but a limit is exceeded", 1)),
        ([PASS], {"exceeded": True, "stale": True}, ("a waiver is stale, and a limit is exceeded", 1)),
        ([FAIL], {"exceeded": True}, ("does not conform, and a limit is exceeded", 1)),
        ([PASS, UNDECIDED], {"is_gone": True}, ("the server is gone: no claim", 7)),
        ([WARN], {"is_gone": True, "left": True}, ("the server is gone: no claim, with records left behind", 7)),
        ([FAIL, UNDECIDED], {"is_gone": True, "left": True}, ("does not conform, with records left behind", 1)),
        ([PASS], {"interrupted": True}, ("interrupted: no claim", 2)),
        ([FAIL], {"interrupted": True, "left": True}, ("interrupted: no claim, with records left behind", 3)),
    ],
)
def test_word_and_exit_status_agree(results: list[Result], more: dict[str, bool], expected: tuple[str, int]) -> None:
    assert overall(results, **{"partial": False, "strict": False} | more) == expected


def test_a_waiver_covers_all_that_a_rule_says_of_a_resource() -> None:
    waiver = Waiver("forms.name-*", "splash-pages", "ticket 12", date(2027, 1, 31))
    [waived], stale = apply_waivers([waiver], [UNDECIDED], CONTRACT, date(2026, 12, 1))
    assert (waived.waived, stale) == ("ticket 12 (until 2027-01-31)", [])


def test_a_waiver_is_not_stale_where_a_run_could_not_judge_what_it_matches() -> None:
    waiver = Waiver(KEYLESS.rule.id, KEYLESS.resource, "ticket 12", date(2027, 1, 31))
    [kept], stale = apply_waivers([waiver], [KEYLESS], CONTRACT, date(2026, 12, 1))
    assert (kept.verdict, stale) == (Verdict.NOT_APPLICABLE, [])
    absent = replace(KEYLESS, unjudged="")
    _, [told] = apply_waivers([waiver], [absent], CONTRACT, date(2026, 12, 1))
    assert told.endswith("nothing fails there any more; take it out")


def test_what_was_not_judged_is_said_with_the_reason() -> None:
    assert unjudged([PASS, KEYLESS, KEYLESS, ODD]) == [
        "separation of accounts (no second key)",
        "1 advisory checks (undecided)",
    ]
    absent = result("operations.reads-redirected-within-host", Verdict.NOT_APPLICABLE, reasons=("no redirect",))
    assert unjudged([PASS, absent]) == []  # its condition does not hold: there is nothing to judge


def test_each_rule_of_the_catalogue_is_judged_by_one_answer_by_several_or_by_overlapping_ones() -> None:
    assert {rule.decided_by for rule in CONTRACT.rules.values()} == {"exchange", "state", "round"}


def test_what_a_visit_that_was_cut_short_has_not_come_to_is_undecided() -> None:
    rule, domains = CONTRACT.rules["accounts.both-at-once-stay-apart"], CONTRACT.resources["domains"]
    evidence = Evidence(domains, "http://127.0.0.1:1", has_second_key=True)
    assert judge(rule, evidence).verdict is Verdict.NOT_APPLICABLE
    evidence.notes.append("the time for the run was up")
    assert judge(rule, evidence).reasons == ("the time for the run was up",)
    assert judge(rule, evidence).verdict is Verdict.INCONCLUSIVE
    assert judge(rule, replace(evidence, has_second_key=False)).verdict is Verdict.NOT_APPLICABLE  # whatever came
    assert judge(rule, replace(evidence, explored_from=300)).verdict is Verdict.NOT_APPLICABLE


COUNTS = CONTRACT.rules["pagination.total-counts-the-records"]


def decide(monkeypatch: pytest.MonkeyPatch, rule: Rule, observe: Callable[[Evidence], list[Observation]]) -> None:
    decision = replace(DECISIONS[rule.id], judge=lambda evidence, *_: iter(observe(evidence)))
    monkeypatch.setitem(DECISIONS, rule.id, decision)


@pytest.mark.parametrize(
    ("visits", "verdict"),
    [
        ("broken", Verdict.INCONCLUSIVE),
        ("broken, broken", Verdict.FAIL),
        ("broken, kept, kept", Verdict.INCONCLUSIVE),
        ("broken, kept, kept, unseen", Verdict.INCONCLUSIVE),
        ("broken, kept, kept, kept", Verdict.PASS),
        ("kept, kept, broken, kept", Verdict.PASS),
        ("broken, broken, kept, kept, kept", Verdict.INCONCLUSIVE),
    ],
)
def test_what_one_visit_shows_and_three_do_not_does_not_count(
    monkeypatch: pytest.MonkeyPatch, visits: str, verdict: Verdict
) -> None:
    observations: dict[str, list[Observation]] = {
        "broken": [Violation(READ, "26", "25")],
        "kept": [Satisfied(READ)],
        "unseen": [],
    }
    decide(monkeypatch, COUNTS, lambda evidence: observations[evidence.base_url])
    evidences = [Evidence(CONTRACT.resources["domains"], visit) for visit in visits.split(", ")]
    assert judge(COUNTS, *evidences).verdict is verdict


def test_a_resource_is_visited_five_times_at_most(no_pauses: None, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(monkeypatch, COUNTS, lambda _: [OTHERS_WROTE])
    visits, _ = visited(honest, "domains", chapters=NEEDS_PAGES)
    assert len(visits.evidences) == 5
