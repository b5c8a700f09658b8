"""How collections are arranged where that is open: which ids come next, in which order lists are, what is unique."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from link_management_contract import Resource
from mock_server.open_points.choices import Choices
from mock_server.store.collection import Order

BEYOND_32_BITS = 5_000_000_000


def following(choices: Choices) -> Callable[[int], int]:
    """The function from an id to the next one."""
    match choices["ids"]:
        case "large":
            return lambda last: max(last, BEYOND_32_BITS) + 1
        case "gaps":
            return lambda last: last + 1 + crc32(str(last).encode()) % 9
        case _:
            return lambda last: last + 1


def order_of(choices: Choices, resource: Resource) -> Order:
    """What the lists of a resource are sorted by."""
    match choices["order"]:
        case "by-name":
            return lambda number, records: (str(records[number].values[resource.label]).casefold(), number)
        case "oldest-first":
            return lambda number, _: number
        case _:
            return lambda number, _: -number


def unique_field(choices: Choices, resource: Resource) -> str | None:
    """The field whose value no two records of a resource may share, or None."""
    return "host" if "host" in resource.fields and choices["host-taken"] != "accepted" else None
