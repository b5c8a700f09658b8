"""What the mock chooses where the specification leaves room: the defaults, what is asked for, or chance from a seed."""

import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from itertools import count
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from link_management_contract import OpenPoint
from mock_server.errors import SettingsError

Clock = Callable[[], datetime]
SECOND = timedelta(seconds=1)


class SettableClock(ABC):
    """A clock that advances only when it is read, so that the same requests get the same times.

    Attributes:
        now: its time.
    """

    now: datetime

    @abstractmethod
    def __call__(self) -> datetime: ...


class SteppingClock(SettableClock):
    """A settable clock in the memory of this process.

    Args:
        now: the time before it is first read; it may be set.
        step: by how much it advances.

    Attributes:
        step: as given.
    """

    def __init__(self, now: datetime, step: Callable[[], timedelta] = lambda: SECOND) -> None:
        self.now = now
        self.step = step
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        with self._lock:
            self.now += self.step()
            return self.now


def system_clock() -> datetime:
    """The machine's clock, in UTC and whole seconds."""
    return datetime.now(UTC).replace(microsecond=0, tzinfo=None)


HEADER = "X-Mock-Grease"
MAX_KEYS = 20
MAX_GAP = 90_000  # seconds, somewhat more than a day
WORDS = ("Das geht nicht.", "Requête refusée", "見つかりません", "Error 0x80070057", "null", "<b>Oops</b>", "", "🚫")
HEADERS = {
    "X-Request-Id": ("7f3a", "00000000-0000-4000-8000-000000000000"),
    "Server-Timing": ("app;dur=12.3", "miss, db;dur=53"),
    "Cache-Control": ("no-store", "private, max-age=0", "no-cache"),
    "X-Powered-By": ("PHP/8.3", "Express"),
    "Vary": ("Accept", "Origin, Accept-Encoding"),
}


def greased(points: Mapping[str, OpenPoint], seed: int) -> dict[str, str]:
    """A value for each open point, the same for the same seed; a new point does not change the values of others."""
    return {name: _seeded(seed, name).choice(list(point.values)) for name, point in points.items()}


def ticking(start: datetime, seed: int | None) -> SteppingClock:
    """A clock that advances by a second each time it is read; with a seed, by nothing, or by up to about a day."""
    if seed is None:
        return SteppingClock(start)
    rng = _seeded(seed, "clock")
    return SteppingClock(start, lambda: timedelta(seconds=rng.choice((0, 1, 1, 1, 1, 1, 1, rng.randrange(1, MAX_GAP)))))


class JsonVariation:
    """Reorders the keys of each answer and rewords errors, differently each time.

    Args:
        seed: the seed.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._numbers = count(1)

    def __call__(self, payload: Any) -> Any:
        if not isinstance(payload, dict):
            return payload
        rng = _seeded(self._seed, "voice", next(self._numbers))
        reordered = _rotate_keys(payload, rng.randrange(MAX_KEYS))
        for error in [reordered, *(reordered.get("errors") or ())]:
            if "title" in error and "status" in error:
                error["title"] = rng.choice(WORDS)
        return reordered


class Grease:
    """Adds headers that the contract does not mention, and states in every answer the seed of all choices.

    Args:
        app: the application.
        seed: the seed.
    """

    def __init__(self, app: WSGIApplication, seed: int) -> None:
        self._app = app
        self._seed = seed
        self._numbers = count(1)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        rng = _seeded(self._seed, "headers", next(self._numbers))
        added = [(name, rng.choice(HEADERS[name])) for name in rng.sample(list(HEADERS), rng.randrange(3))]

        def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Callable[[bytes], object]:
            if any(name == HEADER for name, _ in headers):  # a second mock behind this one has added them
                return start_response(status, headers, *exc_info)
            return start_response(status, [*headers, *added, (HEADER, str(self._seed))], *exc_info)

        return self._app(environ, start)


def _rotate_keys(value: Any, by: int) -> Any:
    """The same JSON with the keys of each object in another order."""
    if isinstance(value, dict):
        names = list(value)
        at = by % max(1, len(names))
        return {name: _rotate_keys(value[name], by) for name in names[at:] + names[:at]}
    return [_rotate_keys(item, by) for item in value] if isinstance(value, list) else value


def _seeded(*of: object) -> random.Random:
    return random.Random(" ".join(map(str, of)))  # noqa: S311 - no secret


class Choices(dict[str, str]):
    """A value for every open point, by the point's name without `open.`.

    Args:
        points: the open points of the contract.
        choices: values other than the defaults.
        grease: the seed of all values that are not chosen; if None, they are the defaults.

    Raises:
        SettingsError: if a point or value is unknown.
    """

    def __init__(self, points: Mapping[str, OpenPoint], choices: Mapping[str, str], grease: int | None = None) -> None:
        defaults = {name: point.default for name, point in points.items()}
        super().__init__(defaults if grease is None else greased(points, grease))
        for name, value in ((key.removeprefix("open."), value) for key, value in choices.items()):
            if name not in points:
                raise SettingsError(f'no open point "{name}"; {_hint(name, points)}')
            if value not in points[name].values:
                known_values = ", ".join(points[name].values)
                raise SettingsError(f'open point "{name}" has no value "{value}"; it takes {known_values}')
            self[name] = value


def _hint(name: str, points: Mapping[str, OpenPoint]) -> str:
    close_names = get_close_matches(name, points, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close_names)}?" if close_names else "`mock-server list open` names them all"
