"""What is never kept of a request: keys, tokens and passwords, whoever they are meant for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote_plus

MASKED = "[key]"
SCHEMES = ("bearer", "basic", "digest", "token")
SECRET = re.compile(r"key|token|secret|passw|credential|authorization|cookie|session", re.IGNORECASE)
JSON_TEXT = re.compile(r'"((?:[^"\\]|\\.){0,200})"(\s*:\s*)("(?:[^"\\]|\\.)*"?|-?\d[\w.+-]*)')


def is_secret(name: str) -> bool:
    """Whether something of this name is nobody else's business."""
    return SECRET.search(name) is not None


def masked(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts by name, without secrets; of an Authorization header, its scheme stays."""
    return {name: _without_key(text) if is_secret(name) else text for name, text in texts.items()}


def masked_query(query: str) -> str:
    """A query string without secrets."""
    if not is_secret(unquote_plus(query)):
        return query
    pairs = (pair.partition("=") for pair in query.split("&"))
    return "&".join(
        f"{name}{equals}{MASKED}" if equals and is_secret(unquote_plus(name)) else f"{name}{equals}{text}"
        for name, equals, text in pairs
    )


def masked_json(text: str) -> str:
    """The beginning of a JSON text without secrets; any other text likewise, as far as it looks like JSON."""
    return JSON_TEXT.sub(lambda found: _masked_pair(found) if is_secret(found[1]) else found[0], text)


def _masked_pair(found: re.Match[str]) -> str:
    return f'"{found[1]}"{found[2]}"{MASKED}"'


def _without_key(text: str) -> str:
    scheme, _, key = text.partition(" ")
    return f"{scheme} {MASKED}" if key and scheme.lower() in SCHEMES else MASKED
