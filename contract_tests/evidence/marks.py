"""The texts that mark the records of a run, and where they are recognised."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from html import unescape
from typing import Any

MAX_CACHED_LENGTH = 2000  # characters
RUN_MARKER = re.compile(r"ct[0-9a-z]+-\d+z?|00\d{10}0", re.IGNORECASE)  # in a name or host, or a number as a name


def normalize(text: object) -> str:
    """The letters and digits of a text, in lower case; HTML entities are decoded first."""
    string = str(text)
    return _normalize(string) if len(string) <= MAX_CACHED_LENGTH else _normalize.__wrapped__(string)


@lru_cache(1024)  # the same records are shown again and again
def _normalize(text: str) -> str:
    return re.sub(r"[\W_]+", "", unescape(text)).casefold()


def holds(text: str, marker: str) -> bool:
    """Whether a text holds a marker; no text holds an empty one."""
    needle, letters = normalize(marker), normalize(text)
    return bool(needle) and needle in letters and re.search(rf"{needle}{_end(marker)}", letters) is not None


def begins(text: object, marker: str) -> bool:
    """Whether a text begins with a marker, and no longer one; none begins with an empty one."""
    start, letters = normalize(marker), normalize(text)
    is_longer_number = marker[-1:].isdigit() and letters[len(start) : len(start) + 1].isdecimal()
    return bool(start) and letters.startswith(start) and not is_longer_number


def shows(record: Mapping[str, Any], marker: str) -> bool:
    return holds(json.dumps(record, ensure_ascii=False), marker)


def _end(marker: str) -> str:
    """A pattern for the end of a marker: after a digit, no further digit follows."""
    return r"(?!\d)" if marker[-1:].isdigit() else ""


def is_marker(text: str) -> bool:
    """Whether a text is a marker as runs make them, and not a word that other records may hold, too."""
    return RUN_MARKER.match(text) is not None


def mark_of(label: object) -> str:
    """The marker in a name or host of the run; a name may go on after it."""
    return str(label or "").partition(" ")[0]
