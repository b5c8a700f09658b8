"""Texts of the same shape as others, so that a recording shows what there was and not whose it was."""

from __future__ import annotations

import random
import re
import string
from secrets import randbits

AS_THEY_ARE = frozenset({"color", "datetime", "last_datetime", "scheme", "type"})  # fields that say nothing of anybody
HOST = re.compile(r"(?<=://)[^/?#:@\s]+|(?<=@)[^/?#:@\s]+\.[^/?#:@\s]+")  # in URLs and addresses
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
ALPHABETS = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
OTHERS = "áéíóúäöüñçåøłßğ"
RESERVED = ".example.com"
MOST_TRIES = 100


class Disguise:
    """Replaces each text by one of the same shape: letters by letters, digits by digits, all else kept.

    The same text is always replaced by the same one, different texts by different ones, and nobody can tell from a
    recording what it was.
    """

    def __init__(self) -> None:
        self._random = random.Random(randbits(64))  # noqa: S311 - which letters come is no secret
        self._replaced: dict[tuple[str, str], str] = {}
        self._used: set[tuple[str, str]] = set()

    def of(self, field: str, text: str) -> str:
        """The text that stands for another one.

        Args:
            field: the field that holds it.
            text: what it holds.
        """
        if field in AS_THEY_ARE or not text:
            return text
        if (field, text) not in self._replaced:
            tries = (self._made(field, text) for _ in range(MOST_TRIES))
            made = next((each for each in tries if (field, each.casefold()) not in self._used), None)
            made = made or f"{len(self._used)}-{self._made(field, text)}"
            self._used.add((field, made.casefold()))
            self._replaced[field, text] = made
        return self._replaced[field, text]

    def _made(self, field: str, text: str) -> str:
        if field == "host":
            return _reserved("".join(map(self._like, text)))
        begins = SCHEME.match(text)
        kept = begins[0] if begins else ""
        made = kept + "".join(map(self._like, text[len(kept) :]))
        return HOST.sub(lambda found: _reserved(found[0]), made)

    def _like(self, letter: str) -> str:
        for alphabet in ALPHABETS:
            if letter in alphabet:
                return self._random.choice(alphabet)
        if letter.isnumeric():
            return self._random.choice(string.digits)
        return self._random.choice(OTHERS) if letter.isalpha() else letter


def _reserved(host: str) -> str:
    """A host under a name that is reserved for examples, and nobody's."""
    first, dot, _ = host.partition(".")
    return f"{first}{RESERVED}" if dot else host
