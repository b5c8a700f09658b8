"""The entries of a ledger, one for each create of a run, and how they are read back from a file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contract_tests.errors import UsageError
from contract_tests.exchange import OWN
from contract_tests.markers import holds, is_marker


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
    owner: str = OWN
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
        """The text that the record was created with."""
        return self.markers[0] if self.markers else ""

    @property
    def may_exist(self) -> bool:
        """Whether there may be a record of it: not if the create was refused, or if it was removed."""
        return not self.removed and (self.identifier is not None or not self.refused)

    def is_in(self, text: str) -> bool:
        """Whether a text holds one of the markers."""
        return any(holds(text, marker) for marker in self.markers)

    def __str__(self) -> str:
        """What may exist of it, for people to read."""
        if self.identifier is None:
            how = "answered without an id" if self.answered else "never answered"
            return f"{self.resource}, perhaps: the create of {self.marker} was {how}"
        if self.without and not self.seen:
            return f"{self.resource} {self.identifier}, perhaps: it came with a create without {self.without}"
        if not self.seen:
            never = f"a create answered this id, but {self.marker or 'its record'} was never seen there"
            return f"{self.resource} {self.identifier}, or something elsewhere: {never}"
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
                place = int(line["number"])
                entries[place] = _entry(line | {"number": place})
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            unread.append(f"line {number} ({type(error).__name__})")
    if not base_url and not entries:
        raise UsageError(f"{path} is no ledger of a run: it names no target, and no create")
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
