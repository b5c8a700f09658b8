"""Copies of bodies that pass, for the journal: whole as long as there is room, else their beginnings."""

from __future__ import annotations

from dataclasses import dataclass

BEGINNING = 64 * 2**10  # bytes


@dataclass
class Room:
    """How many more bytes all copies together may take."""

    left: int


class Copy:
    """What is kept of one body.

    Args:
        room: what all copies share.
        longest: how many bytes of one body are kept whole.

    Attributes:
        came: how many bytes of the body have passed.
        is_whole: whether all of them are kept.
    """

    def __init__(self, room: Room, longest: int) -> None:
        self._room, self._longest = room, longest
        self._kept = bytearray()
        self._taken = self.came = 0
        self.is_whole = True

    @property
    def content(self) -> bytes:
        """What is kept."""
        return bytes(self._kept)

    def add(self, part: bytes) -> None:
        """Keep a part of the body that passes."""
        self.came += len(part)
        if not self.is_whole:
            return
        if self.came <= self._longest and len(part) <= self._room.left:
            self._room.left -= len(part)
            self._taken += len(part)
            self._kept += part
        else:
            self.is_whole = False
            self._kept = (self._kept + part)[:BEGINNING]
            self.release()

    def release(self) -> None:
        """Give the room back."""
        self._room.left += self._taken
        self._taken = 0
