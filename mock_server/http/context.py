"""What is known of a request: its key, and what the layers learn about it, in one context that they share."""

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hmac import compare_digest
from typing import Any
from wsgiref.types import WSGIEnvironment

from werkzeug.datastructures import Authorization

from mock_server.errors import Refusal
from mock_server.http.form_parts import Part
from mock_server.http.masking import holds_escaped

KEY = "mock_server.context"


@dataclass(slots=True)
class Context:
    """The context of one request.

    Attributes:
        ignored: the names of parts of its form that had no influence.
        refusal: how it was refused, if the client is to blame, or None.
        effects: what it gets of what is forced, and the conditions for it: `mock_server.effects.effect.Effect`.
        pending_conditions: the conditions that still surround it; None before they are known.
        broken: how its answer breaks off on purpose, or an empty string.
        parts: the parts of its form, if an operation read them.
        body_refusal: why its body is not used, or None.
        delay: for how many seconds its answer is held back.
        body_delay: for how many seconds the answer's body is held back after its head.
        forwarded: whether a deployment is to answer it.
        headers: its headers as they came, by their names in a WSGI environment; None if it came by no gateway.
    """

    ignored: tuple[str, ...] = ()
    refusal: Refusal | None = None
    effects: tuple[Any, ...] = ()  # of a higher layer
    pending_conditions: list[Any] | None = None
    broken: str = ""
    parts: Mapping[str, Part] | None = None
    body_refusal: Refusal | None = None
    delay: float = 0.0
    body_delay: float = 0.0
    forwarded: bool = False
    headers: Mapping[str, str] | None = None


def context_of(environ: WSGIEnvironment) -> Context:
    context: Context | None = environ.get(KEY)
    if context is None:
        context = environ[KEY] = Context()
    return context


SCHEME, MAX_CACHED_HEADER = "Bearer", 200  # characters of a header that is kept for the next request


def scheme_and_key(environ: Mapping[str, Any]) -> tuple[str, str]:
    """The scheme of a request's Authorization header, as it is spelled, and what follows it; both may be empty."""
    text = environ.get("HTTP_AUTHORIZATION", "")
    return _divided(text) if len(text) <= MAX_CACHED_HEADER else _divided.__wrapped__(text)


@lru_cache(256)  # clients send the same again and again
def _divided(text: str) -> tuple[str, str]:
    scheme, _, key = text.strip().partition(" ")
    return scheme, key.strip()


def key_of(environ: WSGIEnvironment) -> str:
    """The API key that a request carries, or an empty string."""
    scheme, key = scheme_and_key(environ)
    return key if scheme.capitalize() == SCHEME else ""


def shows_token(environ: WSGIEnvironment, token: str | None) -> bool:
    """Whether a request shows a token, as a bearer token or as the password of basic authentication."""
    scheme, secret = scheme_and_key(environ)
    if scheme.lower() == "basic":
        credentials = Authorization.from_header(environ.get("HTTP_AUTHORIZATION"))
        secret = (credentials and credentials.password) or ""
    elif scheme.lower() != "bearer":
        return False
    return bool(secret and token and compare_digest(secret.encode(), token.encode()))


def holds_token(text: bytes, token: str | None) -> bool:
    """Whether the text of a header holds a token, under whatever scheme, as it is or as basic authentication has it."""
    if not token:
        return False
    secret, words = token.encode(), re.findall(rb"[A-Za-z0-9+/]{16,}", text)
    decoded_words = (b64decode(word[: len(word) - (len(word) % 4 == 1)] + b"==") for word in words)
    return secret in text or holds_escaped(secret, text) or any(secret in word for word in decoded_words)
