"""A server that keeps every rule never fails, whatever the trouble around it; what cannot be judged says why."""

from __future__ import annotations

import itertools

import pytest
from clock import SimulatedClock
from faulty import CONTRACT, OWNER, SELDOM_SATISFIED, FaultyTarget, honest, verdicts, visited
from werkzeug.wrappers import Response

from contract_tests.exploration import Exploration
from contract_tests.survey import waits
from contract_tests.survey.visit import visit
from contract_tests.survey.visitor import Visitor
from contract_tests.verdicts.verdicts import VIOLATED, Verdict
from mock_server import Settings
from mock_server.defects.building_blocks import Call, Serve, Transformation

EMPTY, SOME, FULL = (Settings(fixture="empty", records=records) for records in (0, 10, 40))
OLD = range(1, 41)  # the ids of its records
RESOURCES = ("splash-pages", "domains", "notification-handlers")
ACCOUNTS = [(RESOURCES[0], 0), (RESOURCES[1], 40), (RESOURCES[2], 25), (RESOURCES[2], 0)]
TROUBLE = [
    *({"gateway-errors": every} for every in (40, 13, 7)),
    {"other-writer": 11},
    {"quota": 6},
    {"retry-after": 9},
    {"rate-limit-reset": 9},
    {"plan-without-writes": 0},
    {"plan-without-types": 0},
    {"redirecting-proxy": 307},
]
# of the four accounts of each trouble
TIERS: tuple[list[pytest.MarkDecorator], ...] = (
    [],
    [pytest.mark.exhaustive],
    [pytest.mark.slow],
    [pytest.mark.exhaustive],
)


@pytest.mark.parametrize(
    ("trouble", "resource", "records"),
    [
        pytest.param(trouble, resource, records, marks=TIERS[(number + turn) % 4])
        for turn, trouble in enumerate(TROUBLE)
        for number, (resource, records) in enumerate(ACCOUNTS)
    ],
    ids=str,
)
def test_no_condition_makes_a_correct_server_fail(
    monkeypatch: pytest.MonkeyPatch, no_pauses: None, trouble: dict[str, float], records: int, resource: str
) -> None:
    monkeypatch.setattr(waits, "PAUSES", (0.0, 0.0))
    settings = Settings(fixture="empty", records=records, conditions=trouble)
    results = verdicts(honest, resource, settings, Exploration(CONTRACT, 60, seed=1)).values()
    broken = [result for result in results if result.verdict in VIOLATED]
    assert [(result.id, result.findings[0]) for result in broken] == []
    assert all(result.reasons for result in results if result.verdict is Verdict.INCONCLUSIVE)


def loses_its_first_delete(call: Call, serve: Serve) -> Response:
    """A server behind a gateway that carries out its first delete and loses the answer."""
    answer = serve(call)
    if call.operation != "delete" or answer.status_code >= 400 or call.memory.get("lost"):
        return answer
    call.memory["lost"] = True
    return Response("<h1>Bad gateway</h1>", 502, content_type="text/html")


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_delete_whose_answer_is_lost_leaves_no_rule_undecided(no_pauses: None, resource: str) -> None:
    results = verdicts(loses_its_first_delete, resource, FULL).values()
    undecided = [(result.id, result.reasons) for result in results if result.verdict is Verdict.INCONCLUSIVE]
    assert [result for result in undecided if "delete" in result[0]] == []


def colleague(works: tuple[str, ...], every: int, begins: int) -> Transformation:
    """Somebody else who creates, updates or deletes a record of the account with one request in so many."""
    numbers = itertools.count(begins)

    def transformation(call: Call, serve: Serve) -> Response:
        turn, rest = divmod(next(numbers), every)
        theirs = call.by(OWNER)
        work, label = works[turn % len(works)], f"theirs-{turn}.example.org"
        old = [record.id for record in theirs.records if record.id <= len(OLD)]
        if rest == 0 and work == "create":
            least = {"type": "slack"} if "type" in call.resource.fields else {}
            serve(theirs.at("create").sending(least | {call.resource.label: label}))
        elif rest == 0 and old:
            serve(theirs.at(work, old[turn % len(old)]).sending({call.resource.label: label}))
        return serve(call)

    return transformation


WORKS = {
    "creating": ("create",),
    "updating": ("update",),
    "deleting": ("delete",),
    "all": ("create", "update", "delete"),
}


@pytest.mark.sample(7)  # each work with each pace, mostly
@pytest.mark.parametrize(
    "resource", [pytest.param(each, marks=[pytest.mark.slow] * (each != "domains")) for each in RESOURCES]
)
@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("every", [3, 10, 25, 60])
@pytest.mark.parametrize("works", WORKS.values(), ids=WORKS)
def test_a_colleague_at_work_makes_no_correct_server_fail(
    no_pauses: None, works: tuple[str, ...], every: int, third: int, resource: str
) -> None:
    begins = third * every // 3 + RESOURCES.index(resource)
    visits, target = visited(colleague(works, every, begins), resource, FULL)
    broken = [result for result in visits.results if result.verdict in VIOLATED]
    assert [(result.id, result.findings[0]) for result in broken] == []
    assert target.ledger.left == []


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize("resource", RESOURCES)
def test_reads_that_lag_make_no_correct_server_fail(
    monkeypatch: pytest.MonkeyPatch, simulated_clock: SimulatedClock, resource: str
) -> None:
    monkeypatch.setattr(waits, "SETTLING", 0.3)  # longer than the lag, as the usual one is than usual lags
    results = verdicts(honest, resource, Settings(fixture="empty", conditions={"lag": 0.15})).values()
    others = {result.rule.id for result in results if result.verdict is not Verdict.PASS}
    assert others <= SELDOM_SATISFIED


@pytest.mark.parametrize(
    ("settings", "most"),
    [(EMPTY, 552), pytest.param(SOME, 552, marks=pytest.mark.exhaustive), (FULL, 436)],
    ids=["empty", "10 records", "40 records"],
)
def test_the_survey_is_small_leaves_nothing_behind_and_is_the_same_again(
    no_pauses: None, settings: Settings, most: int
) -> None:
    runs = []
    for _ in range(2):
        target = FaultyTarget(honest, settings)
        for resource in CONTRACT.resources.values():
            visit(Visitor(target, resource))
        assert target.ledger.left == []
        assert target.budget.request_count <= most
        runs.append([exchange.request for exchange in target.exchanges])
    assert runs[0] == runs[1]
