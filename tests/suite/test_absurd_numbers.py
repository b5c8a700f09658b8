"""Numbers that a target says and that mean nothing: they cost neither memory nor time, and are findings."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable

import pytest
from faulty import CONTRACT, honest, looks, verdicts

from contract_tests.exchange import Exchange, Request
from contract_tests.exploration import Exploration
from contract_tests.verdicts import VIOLATED
from mock_server import Settings
from mock_server.defects.means import Transformation, raw

pytestmark = pytest.mark.usefixtures("no_pauses")
FULL = Settings(fixture="empty", records=28)
MOST_MEMORY = 64 << 20  # bytes
DIGITS = "9" * 10_000


def says(pattern: str, text: str, operation: str = "list") -> Transformation:
    return raw(operation, lambda body: re.sub(pattern, text, body.decode()).encode())


NUMBERS = {"10^12": str(10**12), "2^64-1": str(2**64 - 1), "negative": "-5", "a float": "28.5", "long": DIGITS}
NUMBERS |= {"beyond floats": "1e999", "a text of digits": f'"{DIGITS}"'}
OTHERS, FEW = ("total_pages", "page", "results_per_page"), ("10^12", "negative", "long")


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("name", "number"),
    [("total", each) for each in NUMBERS.values()] + [(name, NUMBERS[each]) for name in OTHERS for each in FEW],
    ids=[f"total {each}" for each in NUMBERS] + [f"{name} {each}" for name in OTHERS for each in FEW],
)
def test_an_absurd_number_in_meta_is_found(name: str, number: str) -> None:
    fault = says(rf'"{name}": \d+', f'"{name}": {number}')
    results = verdicts(fault, "domains", FULL)
    fell = {rule for rule, result in results.items() if result.verdict in VIOLATED}
    assert fell & {"envelopes.list-meta-holds-integers", *(each for each in fell if each.startswith("pagination."))}


@pytest.mark.slow
@pytest.mark.parametrize("number", [NUMBERS["10^12"], DIGITS], ids=["10^12", "long"])
@pytest.mark.parametrize("name", ["total", *OTHERS])
def test_an_absurd_number_takes_little_memory(name: str, number: str) -> None:
    fault, explore = says(rf'"{name}": \d+', f'"{name}": {number}'), Exploration(CONTRACT, 60, 0)
    verdicts(honest, "domains", FULL, explore)  # what Hypothesis reads once is not the number's doing
    tracemalloc.start()
    verdicts(fault, "domains", FULL, explore)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_MEMORY


@pytest.mark.parametrize(
    ("pattern", "text", "operation"),
    [
        (r'page=\d+"', f'page={DIGITS}"', "list"),
        (r'"id": \d+', f'"id": {DIGITS}', "list"),
        (r'"id": \d+', f'"id": "{DIGITS}"', "list"),
        (r'"id": \d+', f'"id": {DIGITS}', "read"),
    ],
    ids=["page links", "listed ids", "listed ids as text", "ids that are read"],
)
def test_an_absurd_number_elsewhere_is_found_too(pattern: str, text: str, operation: str) -> None:
    results = verdicts(says(pattern, text, operation), "domains", FULL)
    assert any(result.verdict in VIOLATED for result in results.values())


def test_a_list_without_end_is_read_in_a_bounded_number_of_requests() -> None:
    _, _, target = looks(says(r'"total": \d+', f'"total": {10**12}'), "domains", FULL)
    assert target.sent < 400


@pytest.mark.parametrize(
    "read",
    [lambda exchange: exchange.json, lambda exchange: exchange.page, lambda exchange: exchange.data],
    ids=["json", "page", "data"],
)
def test_a_query_of_many_digits_is_read_as_a_number(read: Callable[[Exchange], object]) -> None:
    request = Request("list", "domains", "GET", "/api/domains/", (("page", DIGITS), ("results_per_page", DIGITS)))
    assert read(Exchange(request, 1, 200, body=b'{"data": [], "meta": {}}')) is not None
