"""What the layers learn about a request, for the log and the journal; they share one note for each request."""

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
