"""Uploaded files: their names and, within a bound, their content."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

LIMIT = 32 * 2**20  # bytes of all files
BARE = 1000  # bytes that even an empty file takes, about


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a form: its name as sent, its media type, its size in bytes and where its content is kept."""

    name: str
    media_type: str
    size: int
    key: int


class Uploads:
    """The content of the latest files; older content is dropped when the total exceeds a limit.

    Args:
        limit: how much is kept, in bytes.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._kept: OrderedDict[int, tuple[str, bytes]] = OrderedDict()
        self._bytes = 0
        self._count = 0
        self._lock = threading.Lock()

    def add(self, name: str, media_type: str, content: bytes) -> Upload:
        """Keep a file, and drop the oldest ones if there is no room."""
        with self._lock:
            self._count += 1
            self._kept[self._count] = media_type, content
            self._bytes += len(content) + BARE
            while self._bytes > self._limit:
                self._bytes -= len(self._kept.popitem(last=False)[1][1]) + BARE
            return Upload(name, media_type, len(content), self._count)

    def content(self, upload: Upload) -> bytes | None:
        """The content of a file, or None if it was dropped."""
        with self._lock:
            return self._kept.get(upload.key, ("", None))[1]

    def find(self, key: int) -> tuple[str, bytes] | None:
        """The media type and content of a file by its key, or None if it was dropped."""
        with self._lock:
            return self._kept.get(key)
