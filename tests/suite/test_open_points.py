"""Each value of each open point, and any combination: the mock shows it, keeps the contract, and the suite conforms."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import chain, zip_longest

import pytest
from conformance import check
from faulty import CONTRACT, Explore, honest, survey_alone, verdicts, visited
from walk import RESOURCES, walk
from wire import Client, in_process

from contract_tests.exploration import Exploration
from contract_tests.survey.probes import probes
from contract_tests.verdicts.open_points import DETECTORS, observed_choices
from contract_tests.verdicts.verdicts import Verdict
from link_management_contract import shipped_contract
from mock_server import Settings, SettingsError, create_app
from mock_server.settings.choices import system_clock

Answered = tuple[str, str, int, list[tuple[str, str]], bytes]
POINTS = shipped_contract().open_points
OTHERS = [(name, value) for name, point in POINTS.items() for value in point.values if value != point.default]
WITHIN = {"domain-after-host-change": {"domain-starts": "enabled"}}  # a point that shows only beside another's value
KEPT = (Verdict.PASS, Verdict.NOT_APPLICABLE)
MOST_COMBINATIONS = 14  # half as many show every value
MIXED = {  # detectors that may see something else than the mock's choice, and why
    "followed-link": "where lists redirect, every link is served",
    "ids": "a host that is refused as taken takes an id",
    "order": "the few records of a page may be in two orders",
    "other-form-encoding": "a form may be refused for what it lacks",
    "stranger-status": "a list may redirect before it asks for a key",
}


def walked(choices: dict[str, str]) -> Iterator[Answered]:
    """What a walk through all resources sees, every success checked against the contract."""
    client = Client(in_process(create_app(Settings(fixture="empty", choices=choices))))
    for step in chain.from_iterable(walk(client, resource) for resource in RESOURCES):
        answers = [step.answer]
        if step.answer.status in (301, 307):
            answers.append(client.get(step.answer.headers["Location"]))
        if step.operation:
            check(step.resource, step.operation, answers[-1])
        for answer in answers:
            assert answer.status < 500, step
            yield step.resource.name, step.label, answer.status, sorted(answer.headers.items()), answer.body


@pytest.fixture(scope="module")
def default_walk() -> list[Answered]:
    return list(walked({}))


@pytest.mark.parametrize(("name", "value"), OTHERS, ids=[f"{name}={value}" for name, value in OTHERS])
def test_each_value_of_each_open_point_shows(name: str, value: str, default_walk: list[Answered]) -> None:
    among = WITHIN.get(name, {})
    usual = walked(among) if among else default_walk
    shows = any(shown != expected for shown, expected in zip_longest(walked(among | {name: value}), usual))
    assert shows, (
        f'tests/walk.py gets the same answers with {name}={value}: act on choices["{name}"] in mock_server/, or let the'
        " walk send a request that shows it"
    )


def sightings(choices: dict[str, str], records: int, explore: Explore = probes) -> dict[str, Counter[str]]:
    """What the detectors see of a mock with choices, which must keep the contract and conform."""
    settings = Settings(fixture="empty", records=records, clock=system_clock, choices=choices)
    visits = [visited(honest, resource, settings, explore)[0] for resource in CONTRACT.resources]
    broken = [result.id for of_one in visits for result in of_one.results if result.verdict not in KEPT]
    assert broken == [], f"a mock with {choices} breaks them; the exhaustive tests of this file try each value alone"
    assert list(walked(choices))
    return observed_choices(exchange for of_one in visits for exchange in of_one.evidences[0].exchanges)


def combined(turn: int, unseen: dict[str, list[str]]) -> dict[str, str]:
    """A value for each point that its detector has not seen yet; if it has seen all, now and then the default."""
    choices = {}
    for name, point in POINTS.items():
        is_settled = unseen.get(name) == []
        values = [point.default] if is_settled and turn % 2 == 0 else unseen.get(name) or list(point.values)
        choices[name] = values[turn % len(values)]
    return choices


@pytest.mark.slow
def test_each_value_among_others_keeps_the_contract_conforms_and_is_seen_by_its_detector(no_pauses: None) -> None:
    unseen, turn = {name: list(POINTS[name].values) for name in DETECTORS}, 0
    while any(unseen.values()) and turn < MOST_COMBINATIONS:
        choices = combined(turn, unseen)
        for name, values in sightings(choices, (0, 40)[turn % 2]).items():
            assert set(values) == {choices[name]} or name in MIXED, f"the detector of {name} sees {values}: {choices}"
            if choices[name] in values and choices[name] in unseen[name]:
                unseen[name].remove(choices[name])
        turn += 1
    assert {name: values for name, values in unseen.items() if values} == {}, (
        "detectors in contract_tests/verdicts/open_points.py do not see these"
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "value"), OTHERS, ids=[f"{name}={value}" for name, value in OTHERS])
def test_each_value_alone_keeps_the_contract_conforms_and_is_seen(no_pauses: None, name: str, value: str) -> None:
    values = sightings(WITHIN.get(name, {}) | {name: value}, 27, survey_alone).get(name)
    assert not values or value in values, f"the detector of {name} in verdicts/open_points.py sees {values}"


@pytest.mark.sample(10)
@pytest.mark.parametrize("seed", range(40))
def test_any_combination_of_values_keeps_the_contract(seed: int) -> None:
    chance = random.Random(seed)
    assert list(walked({name: chance.choice(list(point.values)) for name, point in POINTS.items()}))


@pytest.mark.sample(7)
@pytest.mark.slow
@pytest.mark.parametrize("resource", CONTRACT.resources)
@pytest.mark.parametrize("seed", range(10))
def test_any_combination_of_values_conforms(no_pauses: None, seed: int, resource: str) -> None:
    settings = Settings(fixture="empty", records=(0, 10, 25, 40)[seed % 4], grease=seed)
    results = verdicts(honest, resource, settings, Exploration(CONTRACT, 80, seed)).values()
    assert [result.id for result in results if result.verdict not in KEPT] == []


def test_the_same_requests_get_the_same_answers(default_walk: list[Answered]) -> None:
    assert list(walked({})) == default_walk


def test_an_unknown_open_point_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SettingsError, match=r"no open point .delete-staus.; did you mean delete-status"):
        create_app(Settings(choices={"delete-staus": "204"}))


def test_an_unknown_value_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"has no value .500.; it takes 200, 201, 202"):
        create_app(Settings(choices={"create-status": "500"}))
