"""How long a visit waits for what reads do not show yet: learnt while it waits."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator

from contract_tests.exchange import Exchange

PAUSES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.4, 0.5)  # seconds between tries, for a lag of 2.1 seconds
SETTLING = 1.2  # seconds until no usual replica or cache shows the state before a write, and clocks have moved on
LATER = 0.5  # seconds to wait for a state, once one did not come in the whole time
MARGIN = 0.1  # seconds more than the longest lag that was seen


class Lag:
    """How far reads lag behind writes, as far as a run has seen; shared by its visits.

    Args:
        share: how long they may lag, compared with what is usual.

    Attributes:
        settling: seconds from a write until reads show it; zero as long as none was seen to lag.
        wrote: when each resource was last written to, by the monotonic clock.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self.settling = 0.0
        self.wrote: dict[str, float] = defaultdict(float)
        self._missed: set[tuple[str, str]] = set()
        self._broken: set[str] = set()

    @property
    def whole(self) -> float:
        """Seconds until reads surely show a write, as far as is known of services like this."""
        return SETTLING * self._share

    def rest(self) -> None:
        """Wait until no replica or cache is out of date."""
        time.sleep(self.whole)

    def learn(self, seconds: float, *, settled: bool) -> None:
        """Note by how much a read was behind; if it was although the lag was known, nothing is known of it.

        Args:
            seconds: from the last write to the last read that did not show it.
            settled: whether that read came after the time that was known.
        """
        self.settling = self.whole if settled else max(self.settling, min(self.whole, seconds + MARGIN))

    def has_missed(self, resource: str, write: str) -> bool:
        """Whether such a state did not come once."""
        return (resource, write) in self._missed

    def miss(self, resource: str, write: str, *, due: bool = False) -> None:
        """Note that the state after a write did not come, however long it was waited for.

        Args:
            resource: whose state it is.
            write: the operation that leads to it.
            due: whether it comes on every correct server, so that this one is broken.
        """
        self._missed.add((resource, write))
        if due:
            self._broken.add(resource)

    def pauses(self, resource: str, write: str, *, missed: bool) -> Iterator[float]:
        """The seconds between looks for the state after a write; fewer after such a state did not come once.

        The time that looks take counts, too, so a slow server is hardly waited for longer than a fast one.

        Args:
            resource: whose state it is.
            write: the operation that leads to it.
            missed: whether it did not come earlier in the same visit.
        """
        left = sum(PAUSES) * self._share
        if missed:
            left = min(left, self.settling)
        elif resource in self._broken or self.has_missed(resource, write):
            left = min(left, max(LATER, self.settling))
        looked = time.monotonic()
        end = looked + left
        for pause in PAUSES:
            if looked >= end:
                return
            now = time.monotonic()
            looked = max(now, min(now + pause * self._share, end))
            yield looked - now


def sleep_until(moment: float) -> None:
    """Sleep until a moment of the monotonic clock."""
    pause = moment - time.monotonic()
    if pause > 0:
        time.sleep(pause)


def let_a_second_pass(exchange: Exchange) -> None:
    """Wait until a server's clock shows another second than when it answered."""
    passed = time.time() - exchange.began - exchange.seconds
    time.sleep(max(0.0, SETTLING - max(0.0, passed)))
