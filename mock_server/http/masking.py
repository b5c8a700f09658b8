"""Masks keys, tokens and passwords in whatever is kept of a request or an answer."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote_plus

MASKED = "[key]"
HIDDEN = "[not shown: it may hold a key]"
SCHEMES = ("bearer", "basic", "digest", "token")
WORDS = ("key", "token", "secret", "passw", "credential", "authorization", "cookie", "session")
PAIR = re.compile(r"(?<![\w%.\[\]-])([\w%.\[\]-]{1,300})=([^&;,\s\"'<>]+)")
SHORTEST_KEY = 8  # characters; a shorter one may stand in other words, too
LONGEST_KEPT = 2000  # characters
LONGEST_JSON = 64 * 2**10  # characters that are parsed


def is_secret(text: str) -> bool:
    """Whether a name, or anything in a text, suggests a secret."""
    return _has_word(text) if len(text) <= LONGEST_KEPT else _has_word.__wrapped__(text)


@lru_cache(512)  # the same headers, fields and answers come again and again
def _has_word(text: str) -> bool:
    return any(map(text.casefold().__contains__, WORDS))


@lru_cache(128)  # clients send the same headers again and again; not more, because names may be long
def masked_header(name: str, text: str) -> str:
    """The text of a header without secrets; an Authorization header keeps its scheme."""
    return _without_key(text) if is_secret(name) else masked_pairs(text)


def masked_query(query: str) -> str:
    """A query string without secrets."""
    if not query or not is_secret(unquote_plus(query)):
        return query
    pairs = (pair.partition("=") for pair in query.split("&"))
    return "&".join(
        f"{name}{equals}{MASKED}" if equals and is_secret(unquote_plus(name)) else f"{name}{equals}{text}"
        for name, equals, text in pairs
    )


def masked_key(key: str, content: bytes) -> bytes:
    """A part of a request or an answer without a key, which may stand anywhere in it."""
    for form in _forms(key) if len(key) >= SHORTEST_KEY else ():
        if form in content:
            content = content.replace(form, MASKED.encode())
    return content


@lru_cache(64)
def _forms(key: str) -> tuple[bytes, ...]:
    """A key as it may be written: as it is, in JSON, in a URL."""
    forms = (key, json.dumps(key)[1:-1], key.replace("/", "\\/"), quote(key, safe=""), quote(key))
    return tuple(dict.fromkeys(each.encode("latin-1", "replace") for each in forms))


def masked_pairs(text: str) -> str:
    """A text that may contain `name=value`, as in a URL, without secrets."""
    if "=" not in text or not is_secret(unquote_plus(text)):
        return text
    return PAIR.sub(lambda found: f"{found[1]}={MASKED}" if is_secret(unquote_plus(found[1])) else found[0], text)


def masked_body(text: str) -> str:
    """A body that is not a form: JSON without secrets, or any other text only if it mentions none."""
    if len(text) <= LONGEST_JSON:
        try:
            return _dumped(json.loads(text), text)
        except (ValueError, RecursionError):
            pass
    return HIDDEN if is_secret(text) or "\\u" in text else text


def masked_answer(text: str, longest: int) -> str:
    """The beginning of a body that the mock itself sent, without what it repeats.

    Args:
        text: the body.
        longest: how many characters of it are kept.
    """
    if not is_secret(text[:longest]):  # a secret stands after its name
        return text[:longest]
    return _without_repeated(text)[:longest]


def masked_whole(text: str) -> str:
    """A whole body of an answer, however long, without what it repeats; JSON that repeats nothing stays as it is."""
    return _without_repeated(text, longest=len(text)) if is_secret(text) else text


def _without_repeated(text: str, longest: int = LONGEST_JSON) -> str:
    try:
        return _dumped(json.loads(text), text) if len(text) <= longest else masked_pairs(text)
    except (ValueError, RecursionError):
        return masked_pairs(text)


def _dumped(document: Any, text: str) -> str:
    without = _without_secrets(document)
    return text if without == document else json.dumps(without, ensure_ascii=False)


def _without_secrets(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: MASKED if is_secret(name) else _without_secrets(value) for name, value in document.items()}
    return [_without_secrets(each) for each in document] if isinstance(document, list) else document


def _without_key(text: str) -> str:
    scheme, _, key = text.partition(" ")
    return f"{scheme} {MASKED}" if key and scheme.lower() in SCHEMES else MASKED
