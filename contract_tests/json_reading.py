"""Reads JSON that anybody may have sent, within bounds."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

LONGEST_NUMBER = 100  # digits; Python refuses to print numbers with several thousand of them
LONG = 20_000  # bytes
PART = re.compile(rb'[\[{]\s*["\[{\]}]')  # the beginning of an object or a list; in a text it hardly ever stands
MOST_PARTS = 100_000  # objects and lists in one answer; a page of 1000 records holds some 3000
DEEPEST = 40  # levels


def read_json(body: bytes) -> Any:
    """The value of a body, or None if it is no JSON that a reader has to be ready for; a byte order mark is ignored."""
    if has_too_many_parts(body):
        return None
    hook = _once if len(body) > LONG else None
    try:
        text = body.decode("utf-8-sig")
        whole = json.loads(text, parse_constant=refuse_constant, parse_int=integer, object_pairs_hook=hook)
    except (ValueError, RecursionError):
        return None
    return None if _is_deep(whole) else whole


def has_too_many_parts(body: bytes) -> bool:
    """Whether JSON would take more memory than any list of this API has a use for."""
    return len(body) > MOST_PARTS and sum(1 for _ in PART.finditer(body)) > MOST_PARTS


def refuse_constant(constant: str) -> None:
    """Refuse what Python reads as JSON though it is none, such as NaN.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{constant} is not JSON")


def integer(digits: str) -> int:
    """A whole number; only the first digits count if there are more than anybody needs."""
    return int(digits[:LONGEST_NUMBER])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of equal ones the same, because a run reads the same records again and again."""
    try:
        return _kept(tuple(pairs), tuple(type(value) for _, value in pairs))  # 1, 1.0 and true are equal
    except TypeError:  # it holds lists or objects
        return dict(pairs)


@lru_cache(20_000)
def _kept(pairs: tuple[tuple[str, Any], ...], _: tuple[type, ...]) -> dict[str, Any]:
    return dict(pairs)


def _is_deep(value: Any) -> bool:
    """Whether JSON is nested more deeply than any record is, so that no reader has to be ready for it."""
    level = [value]
    for _ in range(DEEPEST):
        parts = [each for each in level if isinstance(each, dict | list)]
        level = [child for each in parts for child in (each.values() if isinstance(each, dict) else each)]
        if not level:
            return False
    return True
