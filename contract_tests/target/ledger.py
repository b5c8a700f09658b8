"""What a run created: noted before each create, so that nothing is ever left behind unnoticed."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Self

from contract_tests.evidence.exchange import OWN_KEY, whole_id
from contract_tests.target.ledger_file import Entry, LedgerFile

NO_RUN = "x"  # instead of a token, for runs that never meet another


class Ledger:
    """The creates of one run, and what is known of their records.

    Args:
        file: where each step of each create is written down; nowhere if None.
        token: what distinguishes the markers of this run from those of all others.

    Attributes:
        unread: which lines of the file of an earlier run could not be read.
        reserved: the resources, ids and owners of what no visit writes to.
    """

    def __init__(self, file: LedgerFile | None = None, token: str = NO_RUN) -> None:
        self.file = file or LedgerFile()
        self.token = token
        self.entries: list[Entry] = []
        self.unread: list[str] = []
        self.reserved: set[tuple[str, int, str]] = set()
        self._numbering = Lock()
        self._foreign_ids: set[tuple[str, int, str]] = set()

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Resume the ledger of an earlier run; every record must be seen again before it is written to.

        Raises:
            UsageError: if the file cannot be read, is not a ledger, or is of a run that is still at work.
            OSError: if it cannot be written.
        """
        file, entries, unread = LedgerFile.resume(path)
        ledger = cls(file)
        ledger.entries, ledger.unread = entries, unread
        return ledger

    @property
    def needed(self) -> bool:
        return bool(self.left or self.missing)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def plan(self, resource: str, marker: str, owner: str = OWN_KEY, omitted: str = "") -> Entry:
        """Note a create that is about to be sent.

        Raises:
            OSError: if it cannot be written down.
        """
        self.file.open()
        with self._numbering:
            number = max((earlier.number for earlier in self.entries), default=-1) + 1
            entry = Entry(resource, [marker], owner, without=omitted, number=number)
            self.entries.append(entry)
        try:
            self.file.plan(entry)
        except OSError:
            self.entries.remove(entry)  # it is not sent
            raise
        return entry

    def latest(self, resource: str, marker: str) -> Entry:
        """The last create with this marker."""
        entries = (entry for entry in reversed(self.entries) if entry.resource == resource)
        return next(entry for entry in entries if entry.marker == marker)

    def note_answer(self, entry: Entry, *, is_refused: bool) -> None:
        entry.answered, entry.refused = True, is_refused
        self.file.note("answered", entry)

    def note_id(self, entry: Entry, identifier: int) -> None:
        """Note the id that a create returned; it may still turn out to be that of somebody else's record."""
        entry.identifier, entry.foreign = identifier, self.is_foreign(entry.resource, identifier, entry.owner)
        entry.answered, entry.missing = True, False
        self.file.note("created", entry)

    def note_marker(self, resource: str, identifier: int, marker: str, owner: str = OWN_KEY) -> None:
        """Note another text by which a record may be recognised: an update with it is about to be sent."""
        for entry in self.entries:
            if entry.record_key == (resource, identifier, owner) and entry.seen and not entry.removed:
                entry.markers.append(marker)
                self.file.note("marked", entry)

    def note_text(self, resource: str, identifier: int, text: str, owner: str = OWN_KEY) -> None:
        """Note that a record was read or listed; if its own marker is in it, the run may write to it."""
        for entry in self._of(resource, identifier, owner):
            if (not entry.seen or entry.stale) and entry.is_marked_in(text):
                self.note_seen(entry)

    def note_listing(self, resource: str, rows: Iterable[Mapping[str, Any]], owner: str = OWN_KEY) -> None:
        awaited = self.awaited(resource, owner)
        if not any((entry.resource, entry.owner) == (resource, owner) for entry in self.entries):
            ids = (whole_id(row) for row in rows)
            self._foreign_ids |= {(resource, identifier, owner) for identifier in ids if identifier is not None}
        for row in rows if awaited else ():
            identifier = whole_id(row)
            if identifier is not None and identifier in awaited:
                self.note_text(resource, identifier, json.dumps(row, ensure_ascii=False), owner)

    def awaited(self, resource: str, owner: str = OWN_KEY) -> set[int | None]:
        """The ids under which the run's records must still be seen, or seen again."""
        return {
            entry.identifier
            for entry in self.entries
            if (entry.resource, entry.owner) == (resource, owner) and (not entry.seen or entry.stale)
        }

    def note_seen(self, entry: Entry) -> None:
        if self.is_foreign(entry.resource, entry.identifier, entry.owner):
            return
        if not entry.seen or entry.stale:
            entry.seen, entry.stale = True, False
            self.file.note("seen", entry)

    def note_owner(self, entry: Entry, owner: str) -> None:
        """Note that a create has made its record in another account, where it was seen with its marker."""
        entry.owner, entry.seen, entry.foreign = owner, True, False
        self._foreign_ids.discard((entry.resource, entry.identifier or 0, owner))
        self.file.note("seen", entry)

    def is_foreign(self, resource: str, identifier: int | None, owner: str = OWN_KEY) -> bool:
        """Whether a record was listed before the run's first create, and so is none of its own, whatever it shows."""
        key = (resource, identifier, owner)
        return key in self._foreign_ids or any(entry.foreign and entry.record_key == key for entry in self.entries)

    def note_all_ids(self, resource: str, ids: Iterable[Any], owner: str = OWN_KEY) -> None:
        """Note that these are all records there are: an id that is none of theirs any more may be given to the run."""
        present = set(ids)
        self._foreign_ids = {
            key for key in self._foreign_ids if (key[0], key[2]) != (resource, owner) or key[1] in present
        }
        for entry in self.entries:
            if (entry.resource, entry.owner) == (resource, owner) and entry.identifier not in present:
                entry.foreign = False

    def note_listed(self, resource: str) -> None:
        """Note that the collection was listed, with whatever refused creates have made all the same."""
        for entry in self.entries:
            entry.listed = entry.listed or (entry.resource == resource and entry.refused)

    def doubt_refusals(self, resource: str) -> None:
        """Note that what was refused may have been made: since then, nothing could be listed."""
        for entry in self.entries:
            if entry.resource == resource and entry.refused and not entry.listed and entry.identifier is None:
                entry.refused = False
                self.file.note("doubted", entry)

    def note_deleted(self, resource: str, identifier: int, owner: str = OWN_KEY) -> None:
        entries = [entry for entry in self._of(resource, identifier, owner) if not entry.removed]
        for entry in [entry for entry in entries if entry.seen] or entries:
            self.note_removed(entry)

    def note_removed(self, entry: Entry) -> None:
        """Note that a create has left nothing."""
        entry.removed = True
        self.file.note("removed", entry)

    def note_missing(self, entry: Entry) -> None:
        """Note that a create that was never answered has left nothing so far."""
        entry.missing = True
        self.file.note("missing", entry)

    def is_shown(self, resource: str, identifier: int, text: str) -> bool:
        """Whether a text shows one of the account's records that the run has made, by its marker."""
        return any(entry.is_marked_in(text) for entry in self._of(resource, identifier, OWN_KEY))

    def allows_write(self, resource: str, identifier: int, owner: str = OWN_KEY) -> bool:
        """Whether a record is the run's own: created by it, and seen with its marker."""
        return any(entry.seen and not entry.stale for entry in self._of(resource, identifier, owner))

    @property
    def left(self) -> list[Entry]:
        """What was created, or may have been, and was not removed."""
        return [entry for entry in self.entries if not entry.missing and entry.may_exist]

    def unremoved(self, resource: str, owner: str = OWN_KEY) -> list[Entry]:
        """What is left of a resource in an account."""
        return [entry for entry in self.left if (entry.resource, entry.owner) == (resource, owner)]

    def removable(self, resource: str, owner: str = OWN_KEY) -> list[Entry]:
        """What is left of a resource in an account, and is not reserved."""
        left = self.unremoved(resource, owner)
        return [entry for entry in left if (resource, entry.identifier, owner) not in self.reserved]

    @property
    def missing(self) -> list[Entry]:
        """The creates whose records were not found, though what became of them is unknown."""
        return [entry for entry in self.entries if entry.missing and entry.identifier is None and not entry.removed]

    def _of(self, resource: str, identifier: int, owner: str) -> list[Entry]:
        """The entries of an id: those not removed, as a create may return an id that existed before; else the latest.

        Some services reuse an id when it is free, and some return that of another record.
        """
        matching = [entry for entry in self.entries if entry.record_key == (resource, identifier, owner)]
        return [entry for entry in matching if not entry.removed] or matching[-1:]
