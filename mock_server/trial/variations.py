"""Which servers a client is tried against, and how few runs find the choice that it fails with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
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


def rows_of(values: Mapping[str, Sequence[str]]) -> list[list[Choice]]:
    """Few sets of choices in which each value occurs once: the first of each point, then the second of each, and so on.

    Args:
        values: the values of each open point that are to be tried.
    """
    columns = ([(point, value) for value in point_values] for point, point_values in values.items())
    return [[choice for choice in row if choice] for row in zip_longest(*columns)]


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
