"""What becomes known of a request on its way, for the log and the journal; all layers share one note of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mock_server.errors import Refusal
from mock_server.http.form_parts import Part

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

KEY = "mock_server.notes"


@dataclass
class Notes:
    """Notes about one request.

    Attributes:
        ignored: the names of parts of its form that had no influence.
        refusal: what it was refused with, unless it was answered or asked for that itself.
        forced: the preference that was forced on it, or nothing.
        broken: how its answer breaks off, on purpose, or nothing.
        parts: those of its form, if an operation read them.
        unread: why its body is not to be used, or None.
        delay: for how many seconds its answer is held back.
        late: likewise the body of the answer, once its head was sent.
    """

    ignored: tuple[str, ...] = ()
    refusal: Refusal | None = None
    forced: str = ""
    broken: str = ""
    parts: Mapping[str, Part] | None = None
    unread: Refusal | None = None
    delay: float = 0.0
    late: float = 0.0


def notes_of(environ: WSGIEnvironment) -> Notes:
    """The notes about a request."""
    notes: Notes = environ.setdefault(KEY, Notes())
    return notes
