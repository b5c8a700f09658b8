"""The texts that mark a run's records, recognised by their letters and digits alone: services change the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from html import unescape
from typing import Any

LONGEST_KEPT = 2000  # characters
OF_A_RUN = re.compile(r"ct[0-9a-z]+-\d+z?|00\d{10}0", re.IGNORECASE)  # in a name or host, or a number as a name


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


def is_marker(text: str) -> bool:
    """Whether a text is a marker as runs make them, and not a word that other records may hold, too."""
    return OF_A_RUN.match(text) is not None


def mark_of(label: object) -> str:
    """The marker in a name or host of the run; a name may go on after it."""
    return str(label or "").partition(" ")[0]
