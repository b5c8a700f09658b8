"""The texts that mark a run's records, recognised by their letters and digits alone: services change the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any


def plain(text: object) -> str:
    """The letters and digits of a text, in lower case; HTML entities are decoded first."""
    return re.sub(r"[\W_]+", "", unescape(str(text))).casefold()


def holds(text: str, marker: str) -> bool:
    """Whether a text holds a marker; no text holds an empty one."""
    return bool(plain(marker)) and re.search(rf"{plain(marker)}{_end(marker)}", plain(text)) is not None


def begins(text: object, marker: str) -> bool:
    """Whether a text begins with a marker."""
    return bool(plain(marker)) and re.match(rf"{plain(marker)}{_end(marker)}", plain(text)) is not None


def shows(record: Mapping[str, Any], marker: str) -> bool:
    """Whether a record shows a marker in any of its fields."""
    return holds(json.dumps(record, ensure_ascii=False), marker)


def _end(marker: str) -> str:
    """A pattern for the end of a marker: after a digit, no further digit follows."""
    return r"(?!\d)" if marker[-1:].isdigit() else ""
