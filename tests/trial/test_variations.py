from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from link_management_contract import shipped_contract
from mock_server.trial.variations import Variation, narrowed, rows_of

POINTS = shipped_contract().open_points
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


def test_few_runs_try_each_value_once() -> None:
    others = {name: [value for value in point.values if value != point.default] for name, point in POINTS.items()}
    rows = rows_of(others)
    assert sorted(choice for row in rows for choice in row) == sorted(
        (name, value) for name, values in others.items() for value in values
    )
    assert len(rows) == max(map(len, others.values())) == 5
    assert all(len(dict(row)) == len(row) for row in rows)  # never two values of one point


def test_a_variation_is_named_for_people() -> None:
    assert str(Variation()) == "default choices"
    assert str(Variation(choices=frozenset({("order", "by-name"), ("ids", "gaps")}))) == "ids=gaps, order=by-name"
    assert str(Variation(trouble="lag")) == "lag"
