"""Reads API keys; no other module does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

SCHEME = "Bearer"


def scheme_and_key(environ: WSGIEnvironment) -> tuple[str, str]:
    """The scheme of a request's Authorization header, as it is spelled, and what follows it; both may be empty."""
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    return scheme, key.strip()


def key_of(environ: WSGIEnvironment) -> str:
    """The API key that a request carries, or an empty string."""
    scheme, key = scheme_and_key(environ)
    return key if scheme.capitalize() == SCHEME else ""
