"""How hard a target may be pushed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How hard a target may be pushed.

    Attributes:
        requests: how many may be sent; some are kept for clean-up.
        seconds: how long the run may take, clean-up aside; None for as long as it takes.
        interval: minimum seconds between two requests.
        timeout: seconds to wait for an answer, to its last byte.
        patience: seconds to wait, in all, for rate limits to pass.
        lag: seconds by which reads may lag behind writes.
        read_only: whether nothing may be written.
    """

    requests: int = 2000
    seconds: float | None = None
    interval: float = 0.0
    timeout: float = 30.0
    patience: float = 300.0
    lag: float = 2.1
    read_only: bool = False
