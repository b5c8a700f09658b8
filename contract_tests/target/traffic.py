"""How many requests are under way: several threads send at once until one fails for no other reason than that."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Traffic:
    """Lets requests through: many at once or, after failures that went away without others, one at a time.

    Args:
        limit: how many may be under way.

    Attributes:
        one_at_a_time: whether every request waits until no other is under way.
    """

    def __init__(self, limit: int) -> None:
        self.one_at_a_time = False
        self._limit = limit
        self._changed = Condition()
        self._under_way = 0
        self._started_count = 0
        self._waiting = 0  # for a moment without others

    @contextmanager
    def under_way(self, *, is_exclusive: bool = False, is_burst: bool = False) -> Iterator[list[bool]]:
        """Wait for one's turn; afterwards, the yielded list says whether others were under way meanwhile.

        Args:
            is_exclusive: whether no other may be under way.
            is_burst: whether the request is one of several that are to overlap, whatever was found out.
        """
        is_exclusive = not is_burst and (is_exclusive or self.one_at_a_time)
        start_number, overlapped = 0, [False]
        try:
            with self._changed:
                self._waiting += is_exclusive
                self._changed.wait_for(lambda: is_burst or self._has_room(is_exclusive=is_exclusive))
                self._under_way += 1
                start_number = self._started_count = self._started_count + 1
                overlapped[0] = self._under_way > 1
            yield overlapped
        finally:
            with self._changed:
                overlapped[0] = overlapped[0] or self._started_count > start_number
                self._under_way -= start_number > 0  # it has not begun if it was interrupted while it waited
                self._waiting -= is_exclusive
                self._changed.notify_all()

    def _has_room(self, *, is_exclusive: bool) -> bool:
        return not self._under_way if is_exclusive else not self._waiting and self._under_way < self._limit
