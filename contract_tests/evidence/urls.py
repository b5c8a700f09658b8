"""Whether an answer shows what was written, however a server spells it."""

import json
import re
import string
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit


def is_same_value(field: str, value: Any, text: str) -> bool:
    """Whether a field shows what was written: hosts and addresses without regard to case, URLs by their parts."""
    if field.endswith("_url") and isinstance(value, str):
        return same_url(value, text)
    if field in ("host", "email"):
        return str(value).strip().casefold().rstrip(".") == text.casefold()
    return bool(form_text(value) == text)


def form_text(value: Any) -> Any:
    """What a form has for the value that a record shows: a text for a boolean or an integer."""
    return str(int(value)) if isinstance(value, int) else value


def same_url(one: str, other: str) -> bool:
    try:
        return _parts(one) == _parts(other)
    except ValueError:
        return False


def _parts(url: str) -> tuple[str, ...]:
    """The meaning of a URL, however its scheme, host and escapes are spelled (RFC 3986, 6.2.2)."""
    parts = urlsplit(url.strip())
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    path_query_fragment = (parts.path if parts.path != "/" else "", parts.query, parts.fragment)
    return parts.scheme, (parts.hostname or "").rstrip("."), str(port), *map(_normal, path_query_fragment)


def _normal(text: str) -> str:
    """A text with normalised escapes: in capitals, and for no other characters than need one."""

    def spelled(match: re.Match[str]) -> str:
        letter = chr(int(match[1], 16))
        return letter if re.fullmatch(r"[A-Za-z0-9._~-]", letter) else match[0].upper()

    return re.sub(r"%([0-9A-Fa-f]{2})", spelled, quote(text, safe=string.printable))


def holds_text(settings: Mapping[str, Any], text: str) -> bool:
    """Whether settings hold a text, alone or within another; a URL may be spelled otherwise."""
    if json.dumps(text, ensure_ascii=False)[1:-1] in json.dumps(settings, ensure_ascii=False):
        return True
    return "://" in text and any(isinstance(value, str) and same_url(value, text) for value in settings.values())
