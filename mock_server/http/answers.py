"""The body of a WSGI answer: read whole, and closed as WSGI requires."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def whole(body: Iterable[bytes]) -> list[bytes]:
    """Read all parts of a body, and close it."""
    try:
        return list(body)
    finally:
        close(body)


def close(body: Iterable[bytes]) -> None:
    """Close a body that is not read any further, if it has a `close` method (PEP 3333)."""
    method: Callable[[], None] | None = getattr(body, "close", None)
    if method:
        method()
