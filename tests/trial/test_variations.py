from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from link_management_contract import shipped_contract
from mock_server.trial.variations import Variation, covering, narrowed

POINTS = shipped_contract().open_points
VALUES = {name: list(point.values) for name, point in POINTS.items()}
USUAL = {name: point.default for name, point in POINTS.items()}
SETS = st.sets(st.frozensets(st.integers(0, 20), min_size=1, max_size=3), min_size=1, max_size=4)


def narrowing(count: int, *needed: set[int]) -> tuple[list[list[int]], int]:
    """What is found among so many items that fail if all of some are there, and in how many runs."""
    tried = dict[frozenset[int], bool]()

    def fails(items: Sequence[int]) -> bool:
        return tried.setdefault(frozenset(items), any(each <= set(items) for each in needed))

    return list(narrowed(range(count), fails, fails)), len(tried)


def test_one_choice_among_51_is_found_in_at_most_nine_runs() -> None:
    found = {number: narrowing(51, {number}) for number in range(51)}
    assert all(smallest == [[number]] for number, (smallest, _) in found.items())
    assert max(runs for _, runs in found.values()) == 8


def test_two_choices_of_which_each_fails_are_found_in_at_most_sixteen_runs() -> None:
    found = {pair: narrowing(51, {pair[0]}, {pair[1]}) for pair in combinations(range(51), 2)}
    assert all(sorted(smallest) == [[each] for each in pair] for pair, (smallest, _) in found.items())
    assert max(runs for _, runs in found.values()) == 16


def test_two_choices_that_fail_only_together_are_found_together() -> None:
    for pair in combinations(range(20), 2):
        (smallest,), _ = narrowing(20, {*pair})
        assert sorted(smallest) == [*pair]


@given(SETS)
def test_whatever_fails_is_found_and_the_rest_passes(needed: set[frozenset[int]]) -> None:
    found, _ = narrowing(21, *map(set, needed))
    smallest = {each for each in needed if not any(other < each for other in needed)}
    assert {frozenset(each) for each in found} <= smallest
    left = set(range(21)) - {each[-1] for each in found}
    assert not any(each <= left for each in needed)


@given(SETS, st.data())
def test_what_some_tests_alone_do_not_show_is_found_too(needed: set[frozenset[int]], data: st.DataObject) -> None:
    shown = data.draw(st.sets(st.sampled_from(sorted(needed, key=sorted))))

    def fails(items: Sequence[int], causes: set[frozenset[int]] = needed) -> bool:
        return any(cause <= set(items) for cause in causes)

    found = list(narrowed(range(21), fails, lambda items: fails(items, shown)))
    assert all(map(fails, found))
    assert not fails([*{*range(21)} - {smallest[-1] for smallest in found}])


def test_few_runs_cover_each_value() -> None:
    rows = covering(VALUES, USUAL)
    others = {(name, value) for name, known in VALUES.items() for value in known if value != USUAL[name]}
    assert {choice for row in rows for choice in row} == others
    assert len(rows) == max(map(len, VALUES.values())) - 1 == 5


def test_each_pair_of_values_is_covered_on_request() -> None:
    values = {name: VALUES[name] for name in ("create-status", "order", "delete-status", "ids", "write-answer")}
    rows = [{**{name: USUAL[name] for name in values}, **dict(row)} for row in covering(values, USUAL, strength=2)]
    for one, other in combinations(values, 2):
        wanted = {(a, b) for a in values[one] for b in values[other]} - {(USUAL[one], USUAL[other])}
        assert {(row[one], row[other]) for row in rows} >= wanted
    assert len(rows) < 25


@pytest.mark.parametrize("cover", [lambda: covering(VALUES, USUAL), lambda: covering(VALUES, USUAL, strength=2)])
def test_the_same_runs_are_made_each_time(cover: Callable[[], object]) -> None:
    assert cover() == cover()


def test_a_variation_is_named_for_people() -> None:
    assert str(Variation()) == "default choices"
    assert str(Variation(choices=frozenset({("order", "by-name"), ("ids", "gaps")}))) == "ids=gaps, order=by-name"
    assert str(Variation(trouble="lag")) == "lag"
