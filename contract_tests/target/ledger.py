"""What a run created: noted before each create, so that nothing is ever left behind unnoticed."""

import fcntl
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import IO, Any, Self

from contract_tests.errors import UsageError
from contract_tests.evidence.exchange import OWN_KEY, whole_id
from contract_tests.evidence.marks import holds, is_marker


@dataclass
class Entry:
    """A create of the run.

    Attributes:
        markers: the texts by which the record is known as the run's: that of the create, and those of updates.
        owner: whose key made it.
        identifier: its id, once a create or a list has shown it.
        answered: whether the server answered the create, in any way; if not, it may still be carried out later.
        refused: whether the answer reports that it was not carried out.
        without: the required field that it lacked, if any.
        seen: whether it was read or listed with a marker in it.
        stale: whether that was in an earlier run, so that it must be seen again before it is written to.
        missing: whether the last listing did not show it; a gateway may still carry out the create later.
    """

    resource: str
    markers: list[str] = field(default_factory=list)
    owner: str = OWN_KEY
    identifier: int | None = None
    answered: bool = False
    refused: bool = False
    without: str = ""
    seen: bool = False
    stale: bool = False
    missing: bool = False
    removed: bool = False
    number: int = field(default=0, compare=False)

    @property
    def marker(self) -> str:
        return self.markers[0] if self.markers else ""

    @property
    def may_exist(self) -> bool:
        """Whether there may be a record of it: not if the create was refused, or if it was removed."""
        return not self.removed and (self.identifier is not None or not self.refused)

    def is_marked_in(self, text: str) -> bool:
        return any(holds(text, marker) for marker in self.markers)

    def __str__(self) -> str:
        if self.identifier is None:
            answer_note = "answered without an id" if self.answered else "never answered"
            return f"{self.resource}, perhaps: the create of {self.marker} was {answer_note}"
        if self.without and not self.seen:
            return f"{self.resource} {self.identifier}, perhaps: it came with a create without {self.without}"
        if not self.seen:
            reason = f"a create answered this id, but {self.marker or 'its record'} was never seen there"
            return f"{self.resource} {self.identifier}, or something elsewhere: {reason}"
        return f"{self.resource} {self.identifier}, made as {self.marker}"


def whole_lines(path: Path) -> str:
    """The text of a ledger, without a last line that was cut off.

    Raises:
        UsageError: if it cannot be read.
    """
    try:
        # As it is, whatever is damaged in it: a ledger is continued where its last line ends.
        text = path.read_bytes().decode(errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    return text[: text.rfind("\n") + 1]


def is_finished(path: Path) -> bool:
    """Whether a file is the ledger of a run of which nothing can be left."""
    try:
        _, _, entries, unread = parsed(path, whole_lines(path))
    except UsageError:
        return False
    return not unread and not any(entry.may_exist for entry in entries)


def parsed(path: Path, text: str) -> tuple[str, str, list[Entry], list[str]]:
    """Parse the text of a ledger.

    Returns:
        The target, the account, the creates, and which lines cannot be read.

    Raises:
        UsageError: if it is not a ledger.
    """
    base_url, account, entries, unread = "", "", dict[int, Entry](), list[str]()
    for number, text_line in enumerate(text.splitlines(), 1):
        try:
            line = json.loads(text_line)
            if line.pop("event") == "begun":
                base_url, account = str(line["base_url"]), str(line.get("account", ""))
            else:
                entry_number = int(line["number"])
                entries[entry_number] = _entry(line | {"number": entry_number})
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            unread.append(f"line {number} ({type(error).__name__})")
    if not base_url and not entries:
        raise UsageError(f"{path} is not a run's ledger: it names no target and no create")
    return base_url, account, list(entries.values()), unread


def _entry(line: dict[str, Any]) -> Entry:
    entry = Entry(**line | {"stale": True, "missing": False})
    flags = [entry.answered, entry.refused, entry.seen, entry.removed]
    if not isinstance(entry.markers, list) or not all(isinstance(flag, bool) for flag in flags):
        raise TypeError(entry)
    texts = [entry.resource, entry.owner, entry.without, *entry.markers]
    if not all(isinstance(text, str) for text in texts) or not isinstance(entry.identifier, int | None):
        raise TypeError(entry)
    entry.markers = [marker for marker in entry.markers if is_marker(marker)]
    return entry


def lock(file: IO[str]) -> None:
    """Hold a ledger for as long as it is open; where files cannot be locked, nobody holds any.

    Raises:
        BlockingIOError: if another process does.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # some network file systems
        pass


NO_RUN = "x"  # instead of a token, for runs that never meet another


class Ledger:
    """The creates of one run, as JSON lines in a file: first what the run is about, then each step of each create.

    Args:
        path: the file to create, or None for no file.
        account: what identifies the account, as returned by `digest_of`.
        token: what distinguishes the markers of this run from those of all others.

    Raises:
        UsageError: if the file exists, and may be all that is known about what an earlier run left.
    """

    def __init__(self, path: Path | None = None, base_url: str = "", account: str = "", token: str = NO_RUN) -> None:
        self.path = path
        self.base_url = base_url
        self.account = account
        self.token = token
        self.entries: list[Entry] = []
        self.unread: list[str] = []
        self.reserved: set[tuple[str, int, str]] = set()  # resources, ids and owners of what no visit writes to
        self._file: IO[str] | None = None
        self._lock = Lock()
        self._foreign_ids: set[tuple[str, int, str]] = set()
        if path and path.exists() and not is_finished(path):
            raise UsageError(
                f"{path} already exists, and may be all that is known of what another run left; give another file,"
                f" or run: contract-tests cleanup {path}"
            )

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Resume the ledger of an earlier run; every record must be seen again before it is written to.

        Raises:
            UsageError: if the file cannot be read, is not a ledger, or is of a run that is still at work.
            OSError: if it cannot be written.
        """
        ledger = cls()
        text = whole_lines(path)
        ledger.base_url, ledger.account, ledger.entries, ledger.unread = parsed(path, text)
        ledger.path, ledger._file = path, path.open("r+", encoding="utf-8", newline="\n")
        try:
            lock(ledger._file)
        except BlockingIOError as error:
            raise UsageError(f"{path} is of a run that is still at work; it removes what it makes") from error
        ledger._file.seek(len(text.encode(errors="surrogateescape")))
        ledger._file.truncate()  # a last line that was cut off
        return ledger

    @property
    def needed(self) -> bool:
        return bool(self.left or self.missing)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._file:
            with suppress(OSError):  # of a full disk, which was told of when it was written to
                self._file.close()

    def discard(self) -> None:
        if self.path and self._file:
            self._close()
            self.path.unlink(missing_ok=True)

    def plan(self, resource: str, marker: str, owner: str = OWN_KEY, omitted: str = "") -> Entry:
        """Note a create that is about to be sent; the first one creates the file.

        Raises:
            OSError: if it cannot be written.
        """
        with self._lock:
            self._open()
            number = max((earlier.number for earlier in self.entries), default=-1) + 1
            entry = Entry(resource, [marker], owner, without=omitted, number=number)
            self.entries.append(entry)
        try:
            self._write(self._line("planned", entry))
        except OSError as error:
            self.entries.remove(entry)  # it is not sent
            raise self._unwritable(error) from error
        return entry

    def _unwritable(self, error: OSError) -> OSError:
        problem = f"the ledger {self.path} cannot be written: {error.strerror}"
        return OSError(f"{problem}; nothing is created without it, so name another with --ledger FILE")

    def _open(self) -> None:
        if self.path and not self._file:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.unlink(missing_ok=True)  # the ledger of a run that left nothing
                self._file = self.path.open("x", encoding="utf-8", newline="\n")
                lock(self._file)
            except OSError as error:
                raise self._unwritable(error) from error
            self._file.write(json.dumps({"event": "begun", "base_url": self.base_url, "account": self.account}) + "\n")

    def latest(self, resource: str, marker: str) -> Entry:
        """The last create with this marker."""
        entries = (entry for entry in reversed(self.entries) if entry.resource == resource)
        return next(entry for entry in entries if entry.marker == marker)

    def note_answer(self, entry: Entry, *, is_refused: bool) -> None:
        entry.answered, entry.refused = True, is_refused
        self._note("answered", entry)

    def note_id(self, entry: Entry, identifier: int) -> None:
        """Note the id that a create returned; it may still turn out to be that of somebody else's record."""
        entry.identifier = identifier
        entry.answered, entry.missing = True, False
        self._note("created", entry)

    def note_marker(self, resource: str, identifier: int, marker: str, owner: str = OWN_KEY) -> None:
        """Note another text by which a record may be recognised: an update with it is about to be sent."""
        for entry in self.entries:
            is_entry = (entry.resource, entry.identifier, entry.owner) == (resource, identifier, owner)
            if is_entry and entry.seen and not entry.removed:
                entry.markers.append(marker)
                self._note("marked", entry)

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
            self._note("seen", entry)

    def note_owner(self, entry: Entry, owner: str) -> None:
        """Note that a create has made its record in another account, where it was seen with its marker."""
        entry.owner, entry.seen = owner, True
        self._foreign_ids.discard((entry.resource, entry.identifier or 0, owner))
        self._note("seen", entry)

    def is_foreign(self, resource: str, identifier: int | None, owner: str = OWN_KEY) -> bool:
        """Whether a record was listed before the run's first create, and so is none of its own, whatever it shows."""
        return (resource, identifier, owner) in self._foreign_ids

    def note_all_ids(self, resource: str, ids: Iterable[Any], owner: str = OWN_KEY) -> None:
        """Note that these are all records there are: an id that is none of theirs any more may be given to the run."""
        present = set(ids)
        self._foreign_ids = {
            key for key in self._foreign_ids if (key[0], key[2]) != (resource, owner) or key[1] in present
        }

    def note_deleted(self, resource: str, identifier: int, owner: str = OWN_KEY) -> None:
        entries = [entry for entry in self._of(resource, identifier, owner) if not entry.removed]
        for entry in [entry for entry in entries if entry.seen] or entries:
            self.note_removed(entry)

    def note_removed(self, entry: Entry) -> None:
        """Note that a create has left nothing."""
        entry.removed = True
        self._note("removed", entry)

    def note_missing(self, entry: Entry) -> None:
        """Note that a create that was never answered has left nothing so far."""
        entry.missing = True
        self._note("missing", entry)

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
        record_key = (resource, identifier, owner)
        matching = [entry for entry in self.entries if (entry.resource, entry.identifier, entry.owner) == record_key]
        return [entry for entry in matching if not entry.removed] or matching[-1:]

    def _note(self, event: str, entry: Entry) -> None:
        """Write down a step; if the disk is full, the run goes on with what it knows, and still cleans up."""
        with suppress(OSError):
            self._write(self._line(event, entry))

    def _line(self, event: str, entry: Entry) -> dict[str, Any]:
        if not self._file:
            return {}
        return {"event": event} | asdict(entry)

    def _write(self, line: dict[str, Any]) -> None:
        with self._lock:
            if self._file:
                self._file.write(json.dumps(line) + "\n")
                self._file.flush()


def digest_of(api_key: str, salt: str = "") -> str:
    """What identifies an API key without revealing it: a salt, and a hash with it."""
    salt = salt or token_hex(8)
    return f"{salt}:{sha256(f'{salt}:{api_key}'.encode()).hexdigest()[:16]}"


def is_key_of(account: str, api_key: str) -> bool:
    """Whether a digest is that of a key; a missing digest matches any key."""
    return not account or digest_of(api_key, account.partition(":")[0]) == account
