"""Waiting until reads show what was written: replicas and caches lag behind."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.exchange import Exchange, Expect
from contract_tests.target.availability import Availability

PAUSES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.4, 0.5)  # seconds between tries, for a lag of 2.1 seconds
SETTLING = 1.2  # seconds until no usual replica or cache shows the state before a write, and clocks have moved on
REDUCED_WAIT = 0.5  # seconds to wait for a state, once one did not come in the whole time
MARGIN = 0.1  # seconds more than the longest lag that was seen
BETWEEN_LOOKS = 0.05  # seconds, while the lag is measured
Result = TypeVar("Result")


class Lag:
    """How far reads lag behind writes, as far as a run has seen; shared by its visits.

    Args:
        factor: how long they may lag, compared with what is usual.

    Attributes:
        settling: seconds from a write until reads show it; zero as long as none was seen to lag.
        wrote: when each resource was last written to, by the monotonic clock.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self.settling = 0.0
        self.wrote: dict[str, float] = defaultdict(float)
        self._missed_writes: set[tuple[str, str]] = set()
        self._broken: set[str] = set()

    @property
    def max_wait(self) -> float:
        """Seconds until reads surely show a write, as far as is known of services like this."""
        return SETTLING * self._factor

    def wait_out(self) -> None:
        """Wait until no replica or cache is out of date."""
        time.sleep(self.max_wait)

    def record_lag(self, seconds: float, *, waited_out: bool) -> None:
        """Note by how much a read was behind; if it was although the lag was known, nothing is known of it.

        Args:
            seconds: from the last write to the last read that did not show it.
            waited_out: whether that read came after the time that was known.
        """
        self.settling = self.max_wait if waited_out else max(self.settling, min(self.max_wait, seconds + MARGIN))

    def has_missed(self, resource: str, write: str) -> bool:
        return (resource, write) in self._missed_writes

    def note_missed(self, resource: str, write: str, *, due: bool = False) -> None:
        """Note that the state after a write did not come; if it was due, this server is broken."""
        self._missed_writes.add((resource, write))
        if due:
            self._broken.add(resource)

    def pauses(self, resource: str, write: str, *, has_missed: bool) -> Iterator[float]:
        """The seconds between looks for the state after a write; fewer after such a state did not come once.

        The time that looks take counts, too, so a slow server is hardly waited for longer than a fast one.

        Args:
            has_missed: whether it did not come earlier in the same visit.
        """
        left = sum(PAUSES) * self._factor
        if has_missed:
            left = min(left, self.settling)
        elif resource in self._broken or self.has_missed(resource, write):
            left = min(left, max(REDUCED_WAIT, self.settling))
        last_look = time.monotonic()
        end = last_look + left
        for pause in PAUSES:
            if last_look >= end:
                return
            now = time.monotonic()
            last_look = max(now, min(now + pause * self._factor, end))
            yield last_look - now


class Waits:
    """The waits of a visit to one resource.

    Args:
        evidence: of the visit.

    Attributes:
        lag: what is known of the lag of reads; visits share it.
    """

    def __init__(self, evidence: Evidence, lag: Lag, availability: Availability) -> None:
        self.lag = lag
        self._evidence, self._availability, self._resource = evidence, availability, evidence.resource.name
        self._missed_writes: set[str] = set()

    def note_write(self) -> None:
        self.lag.wrote[self._resource] = time.monotonic()

    def for_state(
        self,
        write: str,
        fetch: Callable[[], Result],
        is_done: Callable[[Result], bool],
        first: Result | None = None,
        *,
        due: bool = False,
    ) -> Result:
        """Call `fetch` until its result is good: for about two seconds, or less if such a state did not come before.

        All exchanges but those of the last call count as a slow replica's, and no rule judges them. Once one was seen,
        replicas and caches are given time after each write. Nothing is waited for where such writes never work.

        Args:
            write: the operation that leads to the state.
            fetch: sends the requests.
            is_done: whether their result shows the state.
            first: the result of a first look, an exchange, if there was one just now.
            due: whether every correct server comes to show it, whatever others do.
        """
        waited_out, never_works = self.let_settle(), (self._resource, write) in self._availability.hopeless
        start = len(self._evidence.exchanges)
        result, lags = fetch() if first is None else first, False
        for pause in self.lag.pauses(self._resource, write, has_missed=write in self._missed_writes):
            if is_done(result) or never_works:
                return self._measure_lag(fetch, is_done, result, waited_out=waited_out) if lags else result
            lags = True
            time.sleep(pause)
            if result is first and isinstance(first, Exchange):
                self._evidence.treat(first, Expect.IGNORED)
            self._overlook(start)
            start = len(self._evidence.exchanges)
            result = fetch()
        if not is_done(result):
            self._missed_writes.add(write)
            self.lag.note_missed(self._resource, write, due=due)
        return result

    def _measure_lag(
        self, fetch: Callable[[], Result], is_done: Callable[[Result], bool], result: Result, *, waited_out: bool
    ) -> Result:
        """Learn for how long reads are behind: another replica may be so for longer than the one that has answered."""
        wrote = self.lag.wrote[self._resource]
        lag_seconds = time.monotonic() - wrote
        while not waited_out and time.monotonic() < wrote + self.lag.max_wait:
            start = len(self._evidence.exchanges)
            latest = fetch()
            if is_done(latest):
                result = latest
            else:
                lag_seconds = time.monotonic() - wrote
                self._overlook(start)
            time.sleep(BETWEEN_LOOKS)
        self.lag.record_lag(lag_seconds, waited_out=waited_out)
        return result

    def let_settle(self) -> bool:
        """Give replicas and caches time since the last write, if reads were seen to lag; return whether they were."""
        settling = self.lag.settling
        time.sleep(max(0.0, self.lag.wrote[self._resource] + settling - time.monotonic()))
        return settling > 0

    @property
    def is_rested(self) -> bool:
        """Whether no replica or cache can be out of date, as nothing was written for long enough."""
        return time.monotonic() >= self.lag.wrote[self._resource] + self.lag.max_wait

    def _overlook(self, start: int) -> None:
        exchanges = self._evidence.exchanges
        exchanges[start:] = [replace(exchange, judged_as=Expect.IGNORED) for exchange in exchanges[start:]]


def let_a_second_pass(exchange: Exchange) -> None:
    """Wait until a server's clock shows another second than when it answered."""
    seconds_passed = time.time() - exchange.started_at - exchange.seconds
    time.sleep(max(0.0, SETTLING - max(0.0, seconds_passed)))
