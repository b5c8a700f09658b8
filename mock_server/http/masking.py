"""Masks keys, tokens and passwords in whatever is kept of a request or an answer."""

import json
import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus, unquote_to_bytes

from link_management_contract.texts import escape_pattern

MASKED = "[key]"
HIDDEN_TEXT = "[not shown: it may hold a key]"
UNREADABLE = "[not shown: it cannot be decompressed]"
SCHEMES = ("bearer", "basic", "digest", "token")
WORDS = ("key", "token", "secret", "passw", "credential", "authorization", "cookie", "session")
NAME = re.compile(r"(?<![^\s&;?#\"'<>,:/=])([^\s=&;?#\"'<>,:/]+)=")  # of a pair, such as `token=x`
PAIR_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"?|[^&\s"<>]+')
MEMBER = re.compile(
    r'("([^"\\]{1,300})"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[{\[]|[^\s,}\]"]+)'
)  # of JSON, perhaps cut off in its value; of an object or a list, its beginning
MIN_KEY_LENGTH = 8  # characters; a shorter one may stand in other words, too
MAX_CACHED_LENGTH = 2000  # characters
MAX_ESCAPE_LENGTH = 6  # characters that stand for one of a key, in JSON
MAX_KEY_LENGTH = 200  # characters of a key that is found however it is written; where a longer one is, all is hidden
ESCAPE = re.compile(rb'\\(?:u00([2-7][0-9a-fA-F])|(["\\/]))')
ESCAPED_LETTER = re.compile(r"\\u00([46][1-9a-fA-F]|[57][0-9aA])")
MAX_JSON_LENGTH = 64 * 2**10  # characters that are parsed


def is_secret(text: str) -> bool:
    """Whether a name, or anything in a text, suggests a secret."""
    return _has_word(text) if len(text) <= MAX_CACHED_LENGTH else _has_word.__wrapped__(text)


@lru_cache(512)  # the same headers, fields and answers come again and again
def _has_word(text: str) -> bool:
    return any(map(text.casefold().__contains__, WORDS))


@lru_cache(128)  # clients send the same headers again and again; not more, because names may be long
def masked_header(name: str, text: str) -> str:
    """The text of a header without secrets; an Authorization header keeps its scheme."""
    return _without_key(text) if is_secret(name) else masked_pairs(text)


def masked_query(query: str) -> str:
    if not query or not is_secret(unquote_plus(query)):
        return query
    pairs = (pair.partition("=") for pair in re.split("(&)", query))
    return "".join(
        f"{name}{equals}{MASKED}" if equals and is_secret(unquote_plus(name)) else f"{name}{equals}{text}"
        for name, equals, text in pairs
    )


def masked_key(key: str, content: bytes) -> bytes:
    """A part of a request or an answer without a key, which may stand anywhere in it."""
    if len(key) < MIN_KEY_LENGTH:
        return content
    key_bytes = key.encode("latin-1", "replace")
    if key_bytes in content:
        content = content.replace(key_bytes, MASKED.encode())
    if not (b"%" in content or b"\\" in content) or not holds_escaped(key_bytes, content):
        return content
    masked = _key_pattern(key).sub(MASKED.encode(), content) if len(key) <= MAX_KEY_LENGTH else MASKED.encode()
    return MASKED.encode() if holds_escaped(key_bytes, masked) else masked  # escaped twice, as JSON in a URL


def masked_text(key: str, text: str, longest: int = MAX_CACHED_LENGTH) -> str:
    """The beginning of a text without a key, not even a part of one that it would be cut off in."""
    beginning = text[: longest + MAX_ESCAPE_LENGTH * len(key)]
    return masked_key(key, beginning.encode()).decode("utf-8", "replace")[:longest]


def holds_escaped(secret: bytes, content: bytes) -> bool:
    """Whether a content holds a secret with the escapes of JSON, of URLs, or of one within the other."""
    json_read, url_read = _without_json_escapes(content), unquote_to_bytes(content)
    readings = (json_read, url_read, unquote_to_bytes(json_read), _without_json_escapes(url_read))
    return any(secret in reading for reading in readings)


def _without_json_escapes(content: bytes) -> bytes:
    return ESCAPE.sub(lambda match: bytes([int(match[1], 16)]) if match[1] else match[2], content)


@lru_cache(64)
def _key_pattern(key: str) -> re.Pattern[bytes]:
    """A key as it may be written: each character as it is, in JSON or in a URL."""
    latin_1_key = key.encode("latin-1", "replace").decode("latin-1")
    return re.compile(escape_pattern(latin_1_key, "latin-1").encode("latin-1"))


def masked_pairs(text: str) -> str:
    """A text that may contain `name=value`, as in a URL, or `"name": "value"`, without secrets."""
    if not (("=" in text or ":" in text) and is_secret(unquote_plus(text))):
        return text
    text = _without_secret_pairs(text)
    if secret_member := next(
        (member for member in MEMBER.finditer(text) if member[0][-1] in "{[" and is_secret(member[2])), None
    ):
        text = f'{text[: secret_member.end() - 1]}"{MASKED}"'  # where it ends is not known
    return MEMBER.sub(lambda match: f'{match[1]}"{MASKED}"' if is_secret(match[2]) else match[0], text)


def _without_secret_pairs(text: str) -> str:
    """A text without the values of pairs whose names suggest a secret."""
    pieces, end = list[str](), 0
    for name in NAME.finditer(text):
        if name.start() >= end and is_secret(unquote_plus(name[1])):
            value = PAIR_VALUE.match(text, name.end())
            pieces += [text[end : name.end()], MASKED if value else ""]
            end = value.end() if value else name.end()
    return "".join([*pieces, text[end:]])


def masked_body(text: str) -> str:
    """A body that is not a form: JSON without secrets, or any other text only if it mentions none."""
    if len(text) <= MAX_JSON_LENGTH:
        try:
            return _masked_json(text)
        except (ValueError, RecursionError):
            pass
    return HIDDEN_TEXT if is_secret(text.replace("\0", "")) or "\\u" in text else text


def masked_answer(text: str, longest: int) -> str:
    """The beginning of a body that the mock itself sent, without what it repeats.

    Args:
        text: the body.
        longest: how many characters of it are kept.
    """
    text = _without_escaped_letters(text)
    if not is_secret(text[:longest]):  # a secret stands after its name
        return text[:longest]
    try:
        is_json = len(text) < MAX_JSON_LENGTH and text.lstrip()[:1] in ("{", "[")  # a longer one was cut off
        return (_masked_json(text) if is_json else masked_pairs(text[:longest]))[:longest]
    except (ValueError, RecursionError):
        return masked_pairs(text[:longest])


def masked_whole(text: str) -> str:
    """A whole body of an answer, however long, without what it repeats; JSON that repeats nothing stays as it is."""
    plain_text = _without_escaped_letters(text)
    return _without_repeated(plain_text, longest=len(plain_text)) if is_secret(plain_text) else text


def _without_escaped_letters(text: str) -> str:
    """JSON in which each letter of a name stands as it is."""
    return ESCAPED_LETTER.sub(lambda match: chr(int(match[1], 16)), text) if "\\u00" in text else text


def _without_repeated(text: str, longest: int = MAX_JSON_LENGTH) -> str:
    try:
        return _masked_json(text) if len(text) <= longest else masked_pairs(text)
    except (ValueError, RecursionError):
        return masked_pairs(text)


def _masked_json(text: str) -> str:
    """JSON without secrets; as it is, if it has none."""
    secret: list[str] = []

    def masked(members: list[tuple[str, Any]]) -> dict[str, Any]:  # a name may come twice
        safe_members = [(name, MASKED if is_secret(name) else _without_pairs(value)) for name, value in members]
        secret.extend(name for (name, value), (_, safe) in zip(members, safe_members, strict=True) if safe != value)
        return dict(safe_members)

    document = json.loads(text, object_pairs_hook=masked)
    return json.dumps(document, ensure_ascii=False) if secret else text


def _without_pairs(value: Any) -> Any:
    return masked_pairs(value) if isinstance(value, str) else value


def _without_key(text: str) -> str:
    scheme, _, key = text.partition(" ")
    return f"{scheme} {MASKED}" if key and scheme.lower() in SCHEMES else MASKED
