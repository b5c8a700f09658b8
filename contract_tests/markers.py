"""The texts that mark a run's records, recognised by their letters and digits alone: services change the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from html import unescape
from typing import Any

LONGEST_KEPT = 2000  # characters


def plain(text: object) -> str:
    """The letters and digits of a text, in lower case; HTML entities are decoded first."""
    whole = str(text)
    return _plain(whole) if len(whole) <= LONGEST_KEPT else _plain.__wrapped__(whole)


@lru_cache(1024)  # the same records are shown again and again
def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", unescape(text)).casefold()


def holds(text: str, marker: str) -> bool:
    """Whether a text holds a marker; no text holds an empty one."""
    sought, letters = plain(marker), plain(text)
    return bool(sought) and sought in letters and re.search(rf"{sought}{_end(marker)}", letters) is not None


def begins(text: object, marker: str) -> bool:
    """Whether a text begins with a marker."""
    return bool(plain(marker)) and re.match(rf"{plain(marker)}{_end(marker)}", plain(text)) is not None


def shows(record: Mapping[str, Any], marker: str) -> bool:
    """Whether a record shows a marker in any of its fields."""
    return holds(json.dumps(record, ensure_ascii=False), marker)


def _end(marker: str) -> str:
    """A pattern for the end of a marker: after a digit, no further digit follows."""
    return r"(?!\d)" if marker[-1:].isdigit() else ""


def mark_of(label: object) -> str:
    """The marker in a name or host of the run; a name may go on after it."""
    return str(label or "").partition(" ")[0]
