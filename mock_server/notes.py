"""What becomes known of a request on its way, for the log and the journal; all layers share one note of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mock_server.errors import Refusal

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
    """

    ignored: tuple[str, ...] = ()
    refusal: Refusal | None = None
    forced: str = ""
    broken: str = ""


def notes_of(environ: WSGIEnvironment) -> Notes:
    """The notes about a request."""
    notes: Notes = environ.setdefault(KEY, Notes())
    return notes
