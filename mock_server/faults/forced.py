"""Answers that tests force on other clients' requests: a match is answered as if it had sent a `Prefer` header."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from mock_server.errors import SettingsError
from mock_server.faults.preferences import preferences_of

MOST = 100


@dataclass(frozen=True)
class Forced:
    """An answer that is forced.

    Attributes:
        prefer: as in a `Prefer` header: `code=429`, `delay=2`, `lost=after`, `defect=NAME`.
        method: the method of requests that match, or `*`.
        path: their path, with `*` for anything.
        account: the name of their account, with `*` for anything.
        times: how often it is used, or None to use it until it is removed.
    """

    prefer: str
    method: str = "*"
    path: str = "*"
    account: str = "*"
    times: int | None = None
    number: int = 0


class ForcedAnswers:
    """All answers that are forced at present; the first that matches a request is used."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._every: list[Forced] = []

    @property
    def every(self) -> list[Forced]:
        """All forced answers."""
        with self._lock:
            return list(self._every)

    def add(self, given: Any) -> Forced:
        """Force an answer.

        Args:
            given: an object with the attributes of `Forced`, of which only `prefer` is required.

        Raises:
            SettingsError: if it is invalid.
        """
        names = ("prefer", "method", "path", "account", "times")
        if not isinstance(given, dict) or not isinstance(given.get("prefer"), str) or set(given) - set(names):
            raise SettingsError(f'expected an object with "prefer" and perhaps {", ".join(names[1:])}, no others')
        for name in names[:-1]:
            value = given.get(name)
            if value is not None and not (isinstance(value, str) and value.isprintable()):
                raise SettingsError(f'"{name}" is {value!r}; expected a text')
        times = given.get("times")
        if times is not None and (type(times) is not int or times < 1):
            raise SettingsError(f'"times" is {times!r}; expected 1 or more, or null for ever')
        try:
            if not preferences_of(given["prefer"]).applied:
                raise SettingsError('"prefer" asks for nothing; give one such as "code=429"')
        except ValueError as error:
            raise SettingsError(str(error)) from error
        with self._lock:
            if len(self._every) >= MOST:
                raise SettingsError(f"{MOST} answers are forced already; take some back")
            self._count += 1
            forced = Forced(**{name: value for name, value in given.items() if value is not None}, number=self._count)
            self._every.append(forced)
            return forced

    def take(self, method: str, path: str, account: str) -> str:
        """The preference that is forced on a request, or an empty string; it then counts as used."""
        with self._lock:
            for position, forced in enumerate(self._every):
                if (
                    forced.method.upper() in ("*", method)
                    and fnmatchcase(path, forced.path)
                    and fnmatchcase(account, forced.account)
                ):
                    if forced.times == 1:
                        del self._every[position]
                    elif forced.times:
                        self._every[position] = replace(forced, times=forced.times - 1)
                    return forced.prefer
            return ""

    def remove(self, number: int | None = None) -> None:
        """Remove one forced answer, or all."""
        with self._lock:
            self._every = [each for each in self._every if number is not None and each.number != number]
