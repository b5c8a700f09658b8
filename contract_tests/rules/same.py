"""Whether a value that comes back is the one that was written, however it is spelled."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit


def is_same(field: str, shown_value: Any, text: str) -> bool:
    """Whether a field shows what was written: hosts and addresses without regard to case, URLs by their parts."""
    if field.endswith("_url") and isinstance(shown_value, str):
        return same_url(shown_value, text)
    if field in ("host", "email"):
        return str(shown_value).strip().casefold().rstrip(".") == text.casefold()
    return bool(shown_value == text)


def same_url(one: str, other: str) -> bool:
    """Whether two URLs mean the same."""
    try:
        return _parts(one) == _parts(other)
    except ValueError:
        return False


def _parts(url: str) -> tuple[str, ...]:
    """The meaning of a URL, however its scheme, host and escapes are spelled (RFC 3986, 6.2.2)."""
    parts = urlsplit(url.strip())
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    rest = (parts.path if parts.path != "/" else "", parts.query, parts.fragment)
    return parts.scheme, (parts.hostname or "").rstrip("."), str(port), *map(_normal, rest)


def _normal(text: str) -> str:
    """A text with normalised escapes: in capitals, and only for characters that need one."""

    def spelled(found: re.Match[str]) -> str:
        letter = chr(int(found[1], 16))
        return letter if re.fullmatch(r"[A-Za-z0-9._~-]", letter) else found[0].upper()

    return re.sub(r"%([0-9A-Fa-f]{2})", spelled, text)
