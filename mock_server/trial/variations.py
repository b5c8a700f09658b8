"""Which servers a client is tried against, and how few runs find the choice that it fails with."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeVar

Item = TypeVar("Item")
Choice = tuple[str, str]  # an open point, and a value of it


@dataclass(frozen=True)
class Variation:
    """What is different about a server: its choices for open points, one kind of trouble around it, or one defect."""

    choices: frozenset[Choice] = frozenset()
    trouble: str = ""
    defect: str = ""

    def __str__(self) -> str:
        """What is different, for people."""
        return ", ".join(map("=".join, sorted(self.choices))) or self.trouble or self.defect or "default choices"


def covering(values: Mapping[str, Sequence[str]], usual: Mapping[str, str], *, strength: int = 1) -> list[list[Choice]]:
    """Few sets of choices in which each value occurs, or each pair of values; the usual values are left out.

    Args:
        values: the values of each open point.
        usual: the value of each that has been tried.
        strength: 1 for each value, 2 for each pair of values.
    """
    rng = random.Random(0)  # noqa: S311 - the same sets each time
    pairs = {point: [(point, value) for value in point_values] for point, point_values in values.items()}
    uncovered = {
        frozenset(combination)
        for points in combinations(values, strength)
        for combination in product(*map(pairs.__getitem__, points))
        if any(usual[point] != value for point, value in combination)
    }
    rows = []
    while uncovered:
        row = dict(min(map(sorted, uncovered)))
        for point in rng.sample(list(values), len(values)):
            if point not in row:
                _, _, row[point] = max(
                    (_gain(row, pair, uncovered, strength), rng.random(), pair[1]) for pair in pairs[point]
                )
        uncovered -= set(map(frozenset, combinations(row.items(), strength)))
        rows.append([(point, row[point]) for point in values if row[point] != usual[point]])
    return rows


def _gain(row: Mapping[str, str], pair: Choice, uncovered: set[frozenset[Choice]], strength: int) -> int:
    """How many wanted sets a row would hold more with one more choice."""
    return sum(frozenset((pair, *combination)) in uncovered for combination in combinations(row.items(), strength - 1))


def narrowed(
    items: Sequence[Item], fails: Callable[[Sequence[Item]], bool], fails_soon: Callable[[Sequence[Item]], bool]
) -> Iterator[list[Item]]:
    """The smallest sets that fail, mostly of one item each, of items that fail together.

    Each is found without those before it, so that one does not hide the next; the rest passes in the end.

    Args:
        items: what fails together.
        fails: whether some items fail.
        fails_soon: the same, found out sooner; it may miss a failure.
    """
    left, passing = list(items), set[Item]()
    while True:
        untried = [item for item in left if item not in passing] or left
        smallest = _single_failing(untried, fails_soon, passing)
        smallest = smallest or _minimal_with([], left, fails_soon if fails_soon(left) else fails)
        yield smallest
        left.remove(smallest[-1])
        if not left or not fails(left):
            return


def _single_failing(items: Sequence[Item], fails: Callable[[Sequence[Item]], bool], passing: set[Item]) -> list[Item]:
    """An item that fails by itself, found by halving; none if halving leads to an item that passes."""
    is_tried = False
    while len(items) > 1:
        head = items[: len(items) // 2]
        is_tried = fails(head)
        if is_tried:
            items = head
        else:
            passing.update(head)
            items = items[len(head) :]
    return list(items) if is_tried or fails(items) else []


def _minimal_with(fixed: list[Item], items: list[Item], fails: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """The fewest of some items that fail with others, which pass without them (QuickXplain, Junker 2004)."""
    if len(items) == 1:
        return items
    head, second_half = items[: len(items) // 2], items[len(items) // 2 :]
    if fails([*fixed, *head]):
        return _minimal_with(fixed, head, fails)
    needed = _minimal_with([*fixed, *head], second_half, fails)
    from_head = [] if fails([*fixed, *needed]) else _minimal_with([*fixed, *needed], head, fails)
    return [*from_head, *needed]
