"""The body of a WSGI answer: taken whole, and closed as WSGI asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def whole(body: Iterable[bytes]) -> list[bytes]:
    """The parts of a body, which is closed then."""
    try:
        return list(body)
    finally:
        close(body)


def close(body: Iterable[bytes]) -> None:
    """Close a body that is not read any further, if it can be closed (PEP 3333)."""
    method: Callable[[], None] | None = getattr(body, "close", None)
    if method:
        method()
