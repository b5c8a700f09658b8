from __future__ import annotations

import random
from itertools import chain

import pytest
from conformance import check
from walk import RESOURCES, walk
from wire import Client, in_process

from mock_server import Settings, SettingsError, create_app
from mock_server.contract import shipped_contract

Transcript = list[tuple[str, int, list[tuple[str, str]], bytes]]
WITHIN = {"domain-after-host-change": {"domain-starts": "enabled"}}  # a point that shows only beside another's value

POINTS = shipped_contract().open_points
OTHERS = [(name, value) for name, point in POINTS.items() for value in point.values if value != point.default]


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
            seen.append(
                (f"{step.resource.name} {step.label}", answer.status, sorted(answer.headers.items()), answer.body)
            )
    return seen


@pytest.fixture(scope="module")
def default_transcript() -> Transcript:
    return transcript({})


@pytest.mark.parametrize(("name", "value"), OTHERS, ids=[f"{name}={value}" for name, value in OTHERS])
def test_every_value_of_every_open_point_shows_and_keeps_the_contract(
    name: str, value: str, default_transcript: Transcript
) -> None:
    among = WITHIN.get(name, {})
    shown = transcript(among | {name: value})
    assert shown != (transcript(among) if among else default_transcript), (
        f'tests/walk.py gets the same answers with {name}={value}: act on choices["{name}"] in mock_server/, or let the'
        " walk send a request that shows it"
    )


@pytest.mark.parametrize("seed", range(40))
def test_any_combination_of_values_keeps_the_contract(seed: int) -> None:
    chance = random.Random(seed)
    assert transcript({name: chance.choice(list(point.values)) for name, point in POINTS.items()})


def test_the_same_requests_get_the_same_answers(default_transcript: Transcript) -> None:
    assert transcript({}) == default_transcript


def test_an_unknown_open_point_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SettingsError, match=r"no open point .delete-staus.; did you mean delete-status"):
        create_app(Settings(choices={"delete-staus": "204"}))


def test_an_unknown_value_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"has no value .500.; it takes 200, 201, 202"):
        create_app(Settings(choices={"create-status": "500"}))
