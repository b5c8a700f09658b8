"""Choices by chance, from a seed: clients that lean on what the contract leaves open find out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mock_server.contract import OpenPoint

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HEADER = "X-Mock-Grease"


def greased(points: Mapping[str, OpenPoint], seed: int) -> dict[str, str]:
    """A value for each open point; the same for the same seed, and a further point changes no other's value."""
    return {name: random.Random(f"{seed} {name}").choice(list(point.values)) for name, point in points.items()}  # noqa: S311 - no secret


class Grease:
    """Says in every answer which seed the choices come from.

    Args:
        app: what answers.
        seed: the seed.
    """

    def __init__(self, app: WSGIApplication, seed: int) -> None:
        self._app = app
        self._seed = str(seed)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Callable[[bytes], object]:
            return start_response(status, [*headers, (HEADER, self._seed)], *rest)

        return self._app(environ, start)
