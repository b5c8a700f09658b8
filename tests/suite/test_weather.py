"""A server that keeps every rule never fails, whatever befalls it; what cannot be judged says why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from liar import CONTRACT, Ask, LyingTarget, Reply, Serve, honest, verdicts

from contract_tests.explore import Exploration
from contract_tests.run.verdicts import VIOLATED, Verdict
from contract_tests.survey import visit, visitor
from mock_server import Settings

EMPTY, FULL = Settings(fixture="empty"), Settings(fixture="empty", records=40)
KINDS = ("splash-pages", "domains", "notification-handlers")
OWNER = {"Authorization": "Bearer demo-key-harbour"}
WEATHER = [
    *({"gateway-errors": every} for every in (40, 13, 7)),
    *({"other-writer": every} for every in (2, 11, 30)),
    {"quota": 6},
    {"retry-after": 9},
    {"rate-limit-reset": 9},
    {"plan-without-writes": 0},
    {"plan-without-types": 0},
    {"redirecting-proxy": 307},
]


@pytest.mark.parametrize(("kind", "records"), [(KINDS[0], 0), (KINDS[1], 40), (KINDS[2], 25), (KINDS[2], 0)])
@pytest.mark.parametrize("weather", WEATHER, ids=lambda weather: "-".join(f"{k}={v}" for k, v in weather.items()))
def test_no_condition_makes_a_correct_server_fail(
    monkeypatch: pytest.MonkeyPatch, no_pauses: None, weather: dict[str, float], records: int, kind: str
) -> None:
    monkeypatch.setattr(visitor, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr("contract_tests.target.target.time.sleep", lambda _: None)
    settings = Settings(fixture="empty", records=records, conditions=weather)
    results = verdicts(honest, kind, settings, Exploration(CONTRACT, 60, seed=1)).values()
    broken = [result for result in results if result.verdict in VIOLATED]
    assert [(result.id, result.findings[0]) for result in broken] == []
    assert all(result.reasons for result in results if result.verdict is Verdict.INCONCLUSIVE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("every", [3, 6, 11])
def test_a_colleague_who_edits_old_records_makes_no_correct_server_fail(no_pauses: None, kind: str, every: int) -> None:
    def edits(ask: Ask, serve: Serve) -> Reply:
        count = ask.memory["count"] = ask.memory.get("count", 0) + 1
        if count % every == 0:
            label = {"domains": "host"}.get(kind, "name")
            path = f"/api/{kind}/{1 + count // every % 3}"
            serve(replace(ask, method="POST", path=path, headers=OWNER).with_form({label: f"edit-{count}.example.org"}))
        return serve(ask)

    results = verdicts(edits, kind, FULL).values()
    broken = [result for result in results if result.verdict in VIOLATED]
    assert [(result.id, result.findings[0]) for result in broken] == []


@pytest.mark.parametrize("kind", KINDS)
def test_reads_that_lag_make_no_correct_server_fail(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(visitor, "SETTLING", 0.3)  # longer than the lag, as the usual one is than usual lags
    results = verdicts(honest, kind, Settings(fixture="empty", conditions={"lag": 0.15})).values()
    assert [result.id for result in results if result.verdict is not Verdict.PASS] == [
        f"operations.reads-redirected-within-host[{kind}]"
    ]


@pytest.mark.parametrize(
    ("settings", "most"),
    [(EMPTY, 385), (Settings(fixture="empty", records=10), 385), (FULL, 265)],
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
