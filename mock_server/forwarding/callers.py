"""Names for the keys of a deployment's accounts, which nobody but the deployment knows."""

from __future__ import annotations

from hashlib import blake2b

MOST, UNNAMED = 1000, "another account"


class Callers:
    """Names each key by the order in which it came; the keys themselves are not kept."""

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def name_of(self, key: str) -> str:
        """The name of the account with a key; empty without a key."""
        if not key:
            return ""
        digest = blake2b(key.encode(), digest_size=16).digest()
        if digest not in self._names and len(self._names) < MOST:
            self._names[digest] = f"account {len(self._names) + 1}"
        return self._names.get(digest, UNNAMED)
