"""No choice that the specification leaves makes a server fail: each value of each open point, and any combination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from faulty import CONTRACT, honest, looks, survey_alone, verdicts, visited

from contract_tests.explore import Exploration
from contract_tests.open_points import DETECTORS, observed
from contract_tests.run.verdicts import Verdict
from contract_tests.survey import Visitor
from mock_server import Settings
from mock_server.clock import system_clock
from mock_server.contract import shipped_contract

POINTS = shipped_contract().open_points
SINGLE = [{name: value} for name, point in POINTS.items() for value in point.values if value != point.default]
KEPT = (Verdict.PASS, Verdict.NOT_APPLICABLE)
RESOURCES = ("splash-pages", "domains", "notification-handlers")


def not_kept(settings: Settings, explore: Callable[[Visitor], None] = survey_alone) -> list[str]:
    results = [result for resource in RESOURCES for result in verdicts(honest, resource, settings, explore).values()]
    return [result.id for result in results if result.verdict not in KEPT]


@pytest.mark.parametrize("choices", SINGLE, ids=lambda choices: "=".join(*choices.items()))
def test_each_value_of_each_open_point_conforms(no_pauses: None, choices: dict[str, str]) -> None:
    settings, seen = Settings(fixture="empty", records=27, choices=choices), set[str]()
    ((name, value),) = choices.items()
    for resource in RESOURCES:
        visits, _ = visited(honest, resource, settings)
        assert [result.id for result in visits.results if result.verdict not in KEPT] == []
        seen |= set(observed(visits.looks[0].exchanges).get(name, ()))
    assert not seen or value in seen, f"contract_tests/open_points/: the detector of {name} sees {seen}, not {value}"


def test_each_detector_sees_a_choice(no_pauses: None) -> None:
    seen: dict[str, Counter[str]] = {}
    for records, clock, choices in ((0, None, {}), (40, None, {"domain-starts": "enabled"}), (0, system_clock, {})):
        settings = Settings(fixture="empty", records=records, clock=clock, choices=choices)
        for resource in RESOURCES:
            seen |= observed(looks(honest, resource, settings, Exploration(CONTRACT, 170, 0))[0].exchanges)
    assert set(seen["time-zone"]) == {"utc"}
    assert set(DETECTORS) - set(seen) == set(), "contract_tests/open_points/: these detectors see nothing on the mock"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_any_combination_of_values_conforms(no_pauses: None, seed: int) -> None:
    settings = Settings(fixture="empty", records=(0, 10, 25, 40)[seed % 4], grease=seed)
    assert not_kept(settings, Exploration(CONTRACT, 80, seed)) == []
