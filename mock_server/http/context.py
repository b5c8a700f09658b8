"""What is known of a request: its key, and what the layers learn about it, in one context that they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mock_server.errors import Refusal
from mock_server.http.form_parts import Part

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

KEY = "mock_server.notes"


@dataclass(slots=True)
class Notes:
    """Notes about one request.

    Attributes:
        ignored: the names of parts of its form that had no influence.
        refusal: how it was refused, if the client is to blame, or None.
        effects: what it gets of what is forced, and the conditions for it: `mock_server.effects.effect.Effect`.
        around: the conditions that still surround it; None before they are known.
        broken: how its answer breaks off on purpose, or an empty string.
        parts: the parts of its form, if an operation read them.
        unread: why its body is not used, or None.
        delay: for how many seconds its answer is held back.
        late: for how many seconds the answer's body is held back after its head.
        forwarded: whether a deployment is to answer it.
    """

    ignored: tuple[str, ...] = ()
    refusal: Refusal | None = None
    effects: tuple[Any, ...] = ()  # of a higher layer
    around: list[Any] | None = None
    broken: str = ""
    parts: Mapping[str, Part] | None = None
    unread: Refusal | None = None
    delay: float = 0.0
    late: float = 0.0
    forwarded: bool = False


def notes_of(environ: WSGIEnvironment) -> Notes:
    """The notes about a request."""
    notes: Notes | None = environ.get(KEY)
    if notes is None:
        notes = environ[KEY] = Notes()
    return notes


SCHEME = "Bearer"


def scheme_and_key(environ: WSGIEnvironment) -> tuple[str, str]:
    """The scheme of a request's Authorization header, as it is spelled, and what follows it; both may be empty."""
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    return scheme, key.strip()


def key_of(environ: WSGIEnvironment) -> str:
    """The API key that a request carries, or an empty string."""
    scheme, key = scheme_and_key(environ)
    return key if scheme.capitalize() == SCHEME else ""
