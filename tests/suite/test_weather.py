"""A server that keeps every rule never fails, whatever happens around it; what cannot be judged says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from liar import CONTRACT, Lie, LyingTarget, verdicts
from weather import crowded, lagging, limited, read_only, rewriting, stumbling, two_types, with_quota

from contract_tests.explore import Exploration
from contract_tests.survey import visit
from contract_tests.verdicts import Verdict
from mock_server import Settings

EMPTY, FULL = Settings(fixture="empty"), Settings(fixture="empty", records=40)
KINDS = ("splash-pages", "domains", "notification-handlers")
WEATHER: dict[str, Callable[[], Lie]] = {
    **{f"one gateway error in {every}": lambda every=every: stumbling(every) for every in (40, 13, 7)},  # type: ignore[misc]
    **{f"others write every {every} requests": lambda every=every: crowded(every) for every in (2, 11, 30)},  # type: ignore[misc]
    "a quota of 6": lambda: with_quota(6),
    "a rate limit": lambda: limited(9, "Retry-After"),
    "a rate limit in seconds left": lambda: limited(9, "X-RateLimit-Reset"),
    "a plan without writes": lambda: read_only,
    "a plan with fewer types": lambda: two_types,
    "further keys in another order": lambda: rewriting,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [EMPTY, FULL], ids=["empty", "40 records"])
@pytest.mark.parametrize("name", WEATHER)
def test_no_weather_makes_a_correct_server_fail(
    monkeypatch: pytest.MonkeyPatch, name: str, settings: Settings, kind: str
) -> None:
    monkeypatch.setattr("contract_tests.survey.visitor.PAUSES", (0.0, 0.0))
    monkeypatch.setattr("contract_tests.survey.visitor.SETTLING", 0.0)
    monkeypatch.setattr("contract_tests.target.PAUSE", 0.0)
    results = verdicts(WEATHER[name](), kind, settings, Exploration(CONTRACT, 60, seed=1)).values()
    broken = [result for result in results if result.verdict in (Verdict.FAIL, Verdict.WARN)]
    assert [(result.id, result.findings[0]) for result in broken] == []
    assert all(result.reasons for result in results if result.verdict is Verdict.INCONCLUSIVE)


@pytest.mark.parametrize("kind", KINDS)
def test_reads_that_lag_make_no_correct_server_fail(kind: str) -> None:
    results = verdicts(lagging(0.3, EMPTY), kind, EMPTY).values()
    assert [result.id for result in results if result.verdict is not Verdict.PASS] == [
        f"operations.reads-redirected-within-host[{kind}]"
    ]


@pytest.mark.parametrize(
    ("settings", "most"),
    [(EMPTY, 350), (Settings(fixture="empty", records=10), 350), (FULL, 200)],
    ids=["empty", "10 records", "40 records"],
)
def test_the_survey_is_small_leaves_nothing_behind_and_is_the_same_again(settings: Settings, most: int) -> None:
    runs = []
    for _ in range(2):
        target = LyingTarget(lambda ask, serve: serve(ask), settings)
        for kind in CONTRACT.kinds.values():
            visit(target, kind)
        assert target.ledger.left == []
        assert target.sent <= most
        runs.append([exchange.request for exchange in target.exchanges])
    assert runs[0] == runs[1]
