"""What is not answered in time, or always fails: how long to wait for it again, and when to leave it."""

from __future__ import annotations

from collections import Counter

from contract_tests.exchange import TRIES, Exchange, Expect, Request

TRIES_OF_A_HANG = 2
ALWAYS = 3 * TRIES  # failures in a row, after which another try of a request like those comes sooner
SOONER = 0.05  # of the usual pause
AGAIN = 0.25  # of the timeout is enough for another try of what has not answered within the whole
LAST = 1.0  # seconds for a clean-up by an operation that never answers


class Hangs:
    """The requests that were not answered in time, or failed.

    Args:
        timeout: seconds to wait for an answer.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._failures: Counter[tuple[str, ...]] = Counter()

    def note(self, exchange: Exchange) -> None:
        """Note whether a request was answered in time, and whether that was a failure."""
        alike = _places(exchange.request)[0]
        self._failures[alike] = self._failures[alike] + 1 if exchange.failed else 0
        for place in _places(exchange.request):
            self._counts[place] = self._counts[place] + 1 if exchange.timed_out else 0

    def is_given_up(self, request: Request) -> bool:
        """Whether requests like this one were given their time, and are left to clean-up."""
        return self._counts[_places(request)[0]] >= TRIES_OF_A_HANG

    def patience(self, request: Request, *, last: bool) -> float:
        """Seconds to wait for an answer: the whole timeout, unless other requests like this one were not answered.

        Args:
            request: the request.
            last: whether it is one of clean-up.
        """
        alike, operation = (self._counts[place] for place in _places(request))
        hangs = alike if request.expects is Expect.SUCCESS else operation
        if hangs >= TRIES_OF_A_HANG or (operation and last):
            return LAST
        return max(LAST, AGAIN * self._timeout) if hangs else self._timeout

    def tries(self, exchange: Exchange) -> int:
        """How often a request is sent, of which this is the latest answer."""
        if not exchange.timed_out:
            return TRIES
        alike, operation = (self._counts[place] for place in _places(exchange.request))
        return 1 if operation > alike else TRIES_OF_A_HANG

    def pause(self, exchange: Exchange, usual: float) -> float:
        """Seconds between this failure and another try: the usual ones, unless requests like this always fail."""
        return usual if self._failures[_places(exchange.request)[0]] < ALWAYS else usual * SOONER


def _places(request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What may hang with a request that hangs: requests like it, and all of its operation."""
    operation = (request.resource, request.operation)
    return (*operation, request.identity, request.expects), operation
