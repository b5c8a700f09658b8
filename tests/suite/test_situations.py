"""In the weather of a real deployment, no correct server fails, and nothing is left behind; a broken one still fails.

`make situations` judges more servers in each situation, by twenty runs.
"""

from __future__ import annotations

import pytest
from situations import DEATH, DEFECTS, ROWS, TWO_RUNS, judge

from contract_tests.verdicts import Verdict

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


@pytest.mark.slow
@pytest.mark.parametrize(("number", "situation"), [*enumerate(WITH_A_DEFECT)], ids=WITH_A_DEFECT)
def test_a_defect_shows_in_any_weather(number: int, situation: str) -> None:
    [judgement] = judge(situation, number, "mock", DEFECTS[number % len(DEFECTS)])
    assert judgement.outcome.status == 1
