"""What a run created: written down before each create, so that nothing is ever left behind unknown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from contract_tests.exchange import OWN


@dataclass
class Entry:
    """A create of the run: the marker in the record, whose key made it, its id once known, how far it has got."""

    kind: str
    marker: str
    owner: str
    identifier: int | None = None
    seen: bool = False
    removed: bool = False


class Ledger:
    """The creates of one run, as JSON lines in a file.

    Args:
        path: where to write, or None for nowhere.

    Raises:
        OSError: if the file cannot be written.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.entries: list[Entry] = []
        self._file: IO[str] | None = None
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")

    def __enter__(self) -> Self:
        """Keep the file open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file."""
        if self._file:
            self._file.close()

    def plan(self, kind: str, marker: str, owner: str = OWN) -> Entry:
        """Note a create that is about to be sent."""
        entry = Entry(kind, marker, owner)
        self.entries.append(entry)
        self._write("planned", entry)
        return entry

    def complete(self, entry: Entry, identifier: int) -> None:
        """Note the id that a create answered; it may yet name a record of somebody else."""
        entry.identifier = identifier
        self._write("created", entry)

    def see(self, kind: str, identifier: int, shown: str, owner: str = OWN) -> None:
        """Note that a record was read or listed; if its own marker is in it, the run may write to it."""
        for entry in self._of(kind, identifier, owner):
            if entry.marker and entry.marker.casefold() in shown.casefold():
                self.vouch(entry)

    def vouch(self, entry: Entry) -> None:
        """Note that a record is the run's own."""
        if not entry.seen:
            entry.seen = True
            self._write("seen", entry)

    def remove(self, kind: str, identifier: int, owner: str = OWN) -> None:
        """Note that a record is gone."""
        entries = [entry for entry in self._of(kind, identifier, owner) if not entry.removed]
        for entry in [entry for entry in entries if entry.seen] or entries:
            entry.removed = True
            self._write("removed", entry)

    def allows_write(self, kind: str, identifier: int, owner: str = OWN) -> bool:
        """Whether a record is the run's own: created by it, and seen with its marker."""
        return any(entry.seen for entry in self._of(kind, identifier, owner))

    @property
    def left(self) -> list[Entry]:
        """What was created and not removed."""
        return [entry for entry in self.entries if entry.identifier is not None and not entry.removed]

    def _of(self, kind: str, identifier: int, owner: str) -> list[Entry]:
        """The entries of an id: those not removed, for a create may answer an id that was there; or else the latest.

        Some services give an id again when it is free, and some answer that of another record.
        """
        sought = (kind, identifier, owner)
        found = [entry for entry in self.entries if (entry.kind, entry.identifier, entry.owner) == sought]
        return [entry for entry in found if not entry.removed] or found[-1:]

    def _write(self, event: str, entry: Entry) -> None:
        if self._file:
            line = {
                "event": event,
                "kind": entry.kind,
                "marker": entry.marker,
                "id": entry.identifier,
                "owner": entry.owner,
            }
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
