"""Numbers that a target says and that mean nothing: they cost neither memory nor time, and are findings."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable

import pytest
from faulty import CONTRACT, Explore, honest, survey_alone, verdicts, visited

from contract_tests.evidence.exchange import Exchange, Request
from contract_tests.exploration import Exploration
from contract_tests.verdicts.verdicts import VIOLATED
from mock_server import Settings
from mock_server.defects.building_blocks import Transformation, bytes_of

pytestmark = pytest.mark.usefixtures("no_pauses")
FULL = Settings(fixture="empty", records=28)
MOST_MEMORY = 64 << 20  # bytes
DIGITS = "9" * 10_000


def says(pattern: str, text: str, operation: str = "list") -> Transformation:
    return bytes_of(operation, lambda body: re.sub(pattern, text, body.decode()).encode())


NUMBERS = {"10^12": str(10**12), "2^64-1": str(2**64 - 1), "negative": "-5", "a float": "28.5", "long": DIGITS}
NUMBERS |= {"beyond floats": "1e999", "a text of digits": f'"{DIGITS}"'}
OTHERS, FEW = ("total_pages", "page", "results_per_page"), ("10^12", "negative", "long")
CASES = [("total", number) for number in NUMBERS] + [(name, number) for name in OTHERS for number in FEW]
MARKS = dict.fromkeys(CASES, (pytest.mark.slow,)) | {
    ("total", "10^12"): (),
    ("total", "2^64-1"): (pytest.mark.exhaustive,),
    ("total", "beyond floats"): (),
    ("total_pages", "negative"): (),
    ("page", "long"): (),
}


@pytest.mark.parametrize(
    ("name", "number"),
    [pytest.param(*case, id=" ".join(case), marks=MARKS[case]) for case in CASES],
)
def test_an_absurd_number_in_meta_is_found_in_a_bounded_number_of_requests(name: str, number: str) -> None:
    visits, target = visited(says(rf'"{name}": \d+', f'"{name}": {NUMBERS[number]}'), "domains", FULL)
    fell = {result.rule.id for result in visits.results if result.verdict in VIOLATED}
    assert fell & {"envelopes.list-meta-holds-integers", *(each for each in fell if each.startswith("pagination."))}
    assert target.budget.request_count < 400


EXPLORE = Exploration(CONTRACT, 60, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number", "explore"),
    [
        pytest.param("total", "10^12", EXPLORE, id="total 10^12"),  # which alone exploring divides
        *(pytest.param(name, "10^12", survey_alone, id=f"{name} 10^12") for name in OTHERS),
        *(
            pytest.param(name, "long", EXPLORE, id=f"{name} long", marks=pytest.mark.exhaustive)
            for name in ("total", *OTHERS)
        ),
    ],
)
def test_an_absurd_number_takes_little_memory(name: str, number: str, explore: Explore) -> None:
    fault = says(rf'"{name}": \d+', f'"{name}": {NUMBERS[number]}')
    if explore is EXPLORE:
        verdicts(honest, "domains", FULL, explore)  # what Hypothesis reads once is not the number's doing
    tracemalloc.start()
    verdicts(fault, "domains", FULL, explore)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_MEMORY


@pytest.mark.parametrize(
    ("pattern", "text", "operation"),
    [
        pytest.param(r'page=\d+"', f'page={DIGITS}"', "list", id="page links"),
        pytest.param(r'"id": \d+', f'"id": {DIGITS}', "list", id="listed ids", marks=pytest.mark.slow),
        pytest.param(r'"id": \d+', f'"id": "{DIGITS}"', "list", id="listed ids as text", marks=pytest.mark.slow),
        pytest.param(r'"id": \d+', f'"id": {DIGITS}', "read", id="ids that are read"),
    ],
)
def test_an_absurd_number_elsewhere_is_found_too(pattern: str, text: str, operation: str) -> None:
    results = verdicts(says(pattern, text, operation), "domains", FULL)
    assert any(result.verdict in VIOLATED for result in results.values())


@pytest.mark.parametrize(
    "read",
    [lambda exchange: exchange.json, lambda exchange: exchange.page, lambda exchange: exchange.data],
    ids=["json", "page", "data"],
)
def test_a_query_of_many_digits_is_read_as_a_number(read: Callable[[Exchange], object]) -> None:
    request = Request("list", "domains", "GET", "/api/domains/", (("page", DIGITS), ("results_per_page", DIGITS)))
    assert read(Exchange(request, 1, 200, body=b'{"data": [], "meta": {}}')) is not None
