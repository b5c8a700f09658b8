"""The file of a ledger: JSON lines, first what the run is about, then each step of each create."""

import fcntl
import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import IO, Any, Self

from contract_tests.errors import UsageError
from contract_tests.evidence.exchange import OWN_KEY
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
        foreign: whether the record with its id was there before the run's first create, and so is another's.
        listed: whether the collection could be listed since it was refused.
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
    foreign: bool = False
    listed: bool = False
    number: int = field(default=0, compare=False)

    @property
    def record_key(self) -> tuple[str, int | None, str]:
        """What distinguishes its record: the resource, the id and the owner."""
        return self.resource, self.identifier, self.owner

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
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} cannot be read: it is not a regular file")
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
    flags = [entry.answered, entry.refused, entry.seen, entry.removed, entry.foreign, entry.listed]
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


class LedgerFile:
    """A file that holds what is left to do if the run is killed; it comes to be with the first create.

    Args:
        path: of the file, or None for no file.
        base_url: of the target.
        account: what identifies the account, as returned by `digest_of`.

    Raises:
        UsageError: if the file exists, and may be all that is known about what an earlier run left.
    """

    def __init__(self, path: Path | None = None, base_url: str = "", account: str = "") -> None:
        self.path, self.base_url, self.account = path, base_url, account
        self._file: IO[str] | None = None
        self._lock = Lock()
        if path and path.exists() and not is_finished(path):
            raise UsageError(
                f"{path} already exists, and may be all that is known of what another run left; give another file,"
                f" or run: contract-tests cleanup {path}"
            )

    @classmethod
    def resume(cls, path: Path) -> tuple[Self, list[Entry], list[str]]:
        """Resume the file of an earlier run.

        Returns:
            The file, the creates, and which lines cannot be read.

        Raises:
            UsageError: if the file cannot be read, is not a ledger, or is of a run that is still at work.
            OSError: if it cannot be written.
        """
        resumed, text = cls(), whole_lines(path)
        resumed.base_url, resumed.account, entries, unread = parsed(path, text)
        resumed.path, resumed._file = path, path.open("r+", encoding="utf-8", newline="\n")
        try:
            lock(resumed._file)
        except BlockingIOError as error:
            raise UsageError(f"{path} is of a run that is still at work; it removes what it makes") from error
        resumed._file.seek(len(text.encode(errors="surrogateescape")))
        resumed._file.truncate()  # a last line that was cut off
        return resumed, entries, unread

    def open(self) -> None:
        """Create the file, unless it is there.

        Raises:
            OSError: if it cannot be written.
        """
        with self._lock:
            if self.path and not self._file:
                try:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                    self.path.unlink(missing_ok=True)  # the ledger of a run that left nothing
                    self._file = self.path.open("x", encoding="utf-8", newline="\n")
                    lock(self._file)
                except OSError as error:
                    raise self._unwritable(error) from error
                first_line = {"event": "begun", "base_url": self.base_url, "account": self.account}
                self._file.write(json.dumps(first_line) + "\n")

    def plan(self, entry: Entry) -> None:
        """Write down a create that is about to be sent.

        Raises:
            OSError: if it cannot be written.
        """
        try:
            self._write("planned", entry)
        except OSError as error:
            raise self._unwritable(error) from error

    def note(self, event: str, entry: Entry) -> None:
        """Write down a step; if the disk is full, the run goes on with what it knows, and still cleans up."""
        with suppress(OSError):
            self._write(event, entry)

    def _write(self, event: str, entry: Entry) -> None:
        if not self._file:
            return
        line = json.dumps({"event": event} | asdict(entry))
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()

    def _unwritable(self, error: OSError) -> OSError:
        problem = f"the ledger {self.path} cannot be written: {error.strerror}"
        return OSError(f"{problem}; nothing is created without it, so name another with --ledger FILE")

    def close(self) -> None:
        if self._file:
            with suppress(OSError):  # of a full disk, which was told of when it was written to
                self._file.close()

    def discard(self) -> None:
        if self.path and self._file:
            self.close()
            self.path.unlink(missing_ok=True)


def digest_of(api_key: str, salt: str = "") -> str:
    """What identifies an API key without revealing it: a salt, and a hash with it."""
    salt = salt or token_hex(8)
    return f"{salt}:{sha256(f'{salt}:{api_key}'.encode()).hexdigest()[:16]}"


def is_key_of(account: str, api_key: str) -> bool:
    """Whether a digest is that of a key; a missing digest matches any key."""
    return not account or digest_of(api_key, account.partition(":")[0]) == account
