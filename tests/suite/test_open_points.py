"""Each value of each open point, and any combination: the mock shows it, keeps the contract, and the suite conforms."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain
from zlib import crc32

import pytest
from conformance import check
from faulty import CONTRACT, honest, looks, verdicts, visited
from walk import RESOURCES, walk
from wire import Client, in_process

from contract_tests.exploration import Exploration
from contract_tests.open_points import DETECTORS, observed
from contract_tests.verdicts import Verdict
from link_management_contract import shipped_contract
from mock_server import Settings, SettingsError, create_app
from mock_server.choices import system_clock

Transcript = list[tuple[str, str, int, list[tuple[str, str]], bytes]]
POINTS = shipped_contract().open_points
OTHERS = [(name, value) for name, point in POINTS.items() for value in point.values if value != point.default]
WITHIN = {"domain-after-host-change": {"domain-starts": "enabled"}}  # a point that shows only beside another's value
KEPT = (Verdict.PASS, Verdict.NOT_APPLICABLE)


def transcript(choices: dict[str, str]) -> Transcript:
    """What a walk through all resources sees, every success checked against the contract."""
    client = Client(in_process(create_app(Settings(fixture="empty", choices=choices))))
    seen = []
    for step in chain.from_iterable(walk(client, resource) for resource in RESOURCES):
        answers = [step.answer]
        if step.answer.status in (301, 307):
            answers.append(client.get(step.answer.headers["Location"]))
        if step.operation:
            check(step.resource, step.operation, answers[-1])
        for answer in answers:
            assert answer.status < 500, step
            headers = sorted(answer.headers.items())
            seen.append((step.resource.name, step.label, answer.status, headers, answer.body))
    return seen


@pytest.fixture(scope="module")
def default_transcript() -> Transcript:
    return transcript({})


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "value"), OTHERS, ids=[f"{name}={value}" for name, value in OTHERS])
def test_each_value_of_each_open_point_shows_keeps_the_contract_and_conforms(
    no_pauses: None, name: str, value: str, default_transcript: Transcript
) -> None:
    among = WITHIN.get(name, {})
    choices, usual = among | {name: value}, transcript(among) if among else default_transcript
    shown = transcript(choices)
    resources = sorted(
        {step[0] for step in shown if step not in usual} | {step[0] for step in usual if step not in shown}
    )
    assert resources, (
        f'tests/walk.py gets the same answers with {name}={value}: act on choices["{name}"] in mock_server/, or let the'
        " walk send a request that shows it"
    )
    resource = resources[crc32(f"{name}={value}".encode()) % len(resources)]
    visits, _ = visited(honest, resource, Settings(fixture="empty", records=27, choices=choices))
    assert [result.id for result in visits.results if result.verdict not in KEPT] == []
    seen = observed(visits.seen[0].exchanges).get(name, ())
    assert not seen or value in seen, f"contract_tests/open_points/: the detector of {name} sees {seen}, not {value}"


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 7)) for seed in range(40)])
def test_any_combination_of_values_keeps_the_contract(seed: int) -> None:
    chance = random.Random(seed)
    assert transcript({name: chance.choice(list(point.values)) for name, point in POINTS.items()})


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_any_combination_of_values_conforms(no_pauses: None, seed: int) -> None:
    settings = Settings(fixture="empty", records=(0, 10, 25, 40)[seed % 4], grease=seed)
    explore = Exploration(CONTRACT, 80, seed)
    results = [each for name in CONTRACT.resources for each in verdicts(honest, name, settings, explore).values()]
    assert [result.id for result in results if result.verdict not in KEPT] == []


@pytest.mark.slow
def test_each_detector_sees_a_choice(no_pauses: None) -> None:
    seen: dict[str, Counter[str]] = {}
    for records, clock, choices in ((0, None, {}), (40, None, {"domain-starts": "enabled"}), (0, system_clock, {})):
        settings = Settings(fixture="empty", records=records, clock=clock, choices=choices)
        for resource in CONTRACT.resources:
            seen |= observed(looks(honest, resource, settings, Exploration(CONTRACT, 170, 0))[0].exchanges)
    assert set(seen["time-zone"]) == {"utc"}
    assert set(DETECTORS) - set(seen) == set(), "contract_tests/open_points/: these detectors see nothing on the mock"


def test_the_same_requests_get_the_same_answers(default_transcript: Transcript) -> None:
    assert transcript({}) == default_transcript


def test_an_unknown_open_point_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SettingsError, match=r"no open point .delete-staus.; did you mean delete-status"):
        create_app(Settings(choices={"delete-staus": "204"}))


def test_an_unknown_value_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"has no value .500.; it takes 200, 201, 202"):
        create_app(Settings(choices={"create-status": "500"}))
