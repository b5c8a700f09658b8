"""What is met beyond the survey: it is judged by the same rules, and harms nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from math import ceil

import pytest
from faulty import CONTRACT, D, FaultyTarget, N, S, exploring, honest, is_owner, looks, verdicts, visited
from independent import IndependentServer
from werkzeug.test import Client as WsgiClient
from werkzeug.wrappers import Response

from contract_tests import exploration
from contract_tests.evidence.exchange import Request
from contract_tests.exploration import Exploration, Step
from contract_tests.options import RunOptions
from contract_tests.proof import EXPLORE
from contract_tests.survey.probes import probes
from contract_tests.survey.visit import visit
from contract_tests.survey.visitor import Visitor
from contract_tests.verdicts.verdicts import Verdict
from mock_server import Settings
from mock_server.defects.building_blocks import Call, Serve, Transformation, changes, link

ADDRESSES = ("email", "webhook", "slack", "discord", "microsoft_teams")
pytestmark = pytest.mark.usefixtures("no_pauses")
FULL = Settings(fixture="empty", records=120)


def deleting_the_newest_takes_another(call: Call, serve: Serve) -> Response:
    if call.operation == "delete" and is_owner(call):
        newest, before = sorted((record.id for record in call.records), reverse=True)[:2]
        if call.identifier == str(newest):
            call.collection.delete(before)
    return serve(call)


def is_second_of_fifty(body: dict[str, dict[str, int]]) -> bool:
    return (body["meta"]["page"], body["meta"]["results_per_page"]) == (2, 50)


MET_BY_EXPLORING_ALONE: dict[str, tuple[str, str, Transformation, int, Exploration]] = {
    "Greek, Cyrillic and Korean letters": (
        "forms.name-comes-back",
        N,
        changes("name", lambda name: re.sub("[Ͱ-ӿ가-힣]", "?", name)),
        28,
        Exploration(CONTRACT, 300, seed=2),
    ),
    "the second page of 50": (
        "pagination.self-names-this-page",
        S,
        link("self", lambda body: body["links"]["first"], is_second_of_fifty),
        120,
        Exploration(CONTRACT, 300, seed=0),
    ),
    "a delete of the newest": (
        "lifecycle.delete-leaves-other-records",
        D,
        deleting_the_newest_takes_another,
        28,
        Exploration(CONTRACT, 200, seed=2),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "resource", "fault", "records", "exploration"), MET_BY_EXPLORING_ALONE.values(), ids=MET_BY_EXPLORING_ALONE
)
def test_what_the_survey_does_not_meet_fails_by_the_rules_name(
    rule: str, resource: str, fault: Transformation, records: int, exploration: Exploration
) -> None:
    settings = Settings(fixture="empty", records=records)
    assert verdicts(fault, resource, settings)[rule].verdict is Verdict.PASS
    visits, _ = visited(fault, resource, settings, exploration, explore_until=CONTRACT.rules[rule])
    assert {result.rule.id: result.verdict for result in visits.results}[rule] is Verdict.FAIL


def explored(seed: int) -> list[Request]:
    target = FaultyTarget(honest, Settings(fixture="empty", records=28))
    for resource in (D, N):  # without and with types
        visit(Visitor(target, CONTRACT.resources[resource]), extra_steps=[exploring(Exploration(CONTRACT, 150, seed))])
    assert target.ledger.left == []
    return [exchange.request for exchange in target.exchanges]


@pytest.mark.slow
def test_a_seed_means_the_same_requests_and_another_means_others() -> None:
    assert explored(0) == explored(0) != explored(1)


@pytest.mark.parametrize("requests", [170, pytest.param(300, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(
    "resource", [S, pytest.param(D, marks=pytest.mark.slow), pytest.param(N, marks=pytest.mark.slow)]
)
def test_exploring_writes_to_no_record_of_others_and_names_no_host_of_others(resource: str, requests: int) -> None:
    _, _, target = looks(honest, resource, FULL, Exploration(CONTRACT, requests, seed=2))
    made = {entry.identifier for entry in target.ledger.entries}
    for request in (exchange.request for exchange in target.exchanges):
        assert request.operation not in ("update", "delete") or request.identifier in made
        form = request.form or {}
        texts = {name: value for name, value in form.items() if isinstance(value, str)}
        values = [value for name, value in texts.items() if name.endswith("_url") or name in ADDRESSES]
        values = [value for value in values if value not in ("", "x")]  # emptied, or of another type
        hosts = [re.sub(r"^https://|^[\w.+-]+@|/.*", "", value) for value in values]
        hosts += [str(form["host"])] if form.get("host") and "<b>" not in str(form) else []
        assert [host for host in hosts if not re.fullmatch(r"([a-z0-9-]+\.)*example\.com", host.lower())] == []


@pytest.mark.parametrize(
    "requests", [60, pytest.param(150, marks=pytest.mark.slow), pytest.param(360, marks=pytest.mark.exhaustive)]
)
def test_exploring_leaves_nothing_where_a_record_may_lose_its_name(requests: int) -> None:
    target = FaultyTarget(honest, FULL)
    target.wsgi = WsgiClient(IndependentServer(30))  # it takes an empty label
    for resource in CONTRACT.resources.values():
        visit(Visitor(target, resource), extra_steps=[exploring(Exploration(CONTRACT, requests, seed=0))])
    assert target.ledger.left == []


def test_exploring_keeps_to_the_number_of_requests() -> None:
    _, _, alone = looks(honest, "domains", FULL)
    _, _, target = looks(honest, "domains", FULL, Exploration(CONTRACT, 100, seed=0))
    removals = sum(exchange.request.operation == "delete" for exchange in target.exchanges)
    assert 60 <= target.budget.request_count - alone.budget.request_count <= 100 + 20 + removals


@pytest.mark.parametrize("resource", CONTRACT.resources)
def test_the_default_leaves_out_no_probe(resource: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planned, done = list[Step](), list[Step]()

    def noted(step: Step) -> None:
        done.append(step)
        step()

    def watched(visitor: Visitor) -> Iterator[Step]:
        for step in probes(visitor):
            planned.append(step)
            yield partial(noted, step)

    assert RunOptions(base_url="").explore == EXPLORE
    monkeypatch.setattr(exploration, "probes", watched)
    weights = sum(map(exploration.weight_of, CONTRACT.resources.values()))
    visited(honest, resource, FULL, Exploration(CONTRACT, ceil(EXPLORE / weights), seed=0))
    assert planned == done != []
