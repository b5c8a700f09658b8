"""Mistakes that show in the pace of requests: calling on after 429, and polling."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from http import HTTPStatus
from time import monotonic

from mock_server.journal.journal import Entry, Remark

MOST_KNOWN = 5000  # accounts
GRACE = 0.25  # seconds in which requests that were under way may still arrive
LONGEST_WAIT = 3600.0  # seconds; a larger number is a time
OFTEN, WITHIN = 60, 60.0  # the same request, so often in so many seconds


class _Account:
    """What an account did last: until when it has to wait, and what it reads again and again."""

    __slots__ = ("again", "since", "target", "told", "wait")

    def __init__(self) -> None:
        self.told = self.wait = self.since = 0.0
        self.target, self.again = "", 0


class Habits:
    """Looks at when each account sends what."""

    def __init__(self) -> None:
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    def forget(self, account: str | None = None) -> None:
        """Forget one account, or all."""
        if account is None:
            self._accounts.clear()
        else:
            self._accounts.pop(account, None)

    def about(self, entry: Entry) -> Iterator[Remark]:
        """The remarks about a request that has just been answered."""
        if not entry.account:
            return
        now, known = monotonic(), self._accounts.setdefault(entry.account, _Account())
        while len(self._accounts) > MOST_KNOWN:
            self._accounts.popitem(last=False)
        began = now - entry.milliseconds / 1000
        if known.told + GRACE < began < known.told + known.wait:
            yield Remark(
                f"Sent {began - known.told:.1f} s after a 429 that asked to wait {known.wait:g} s; wait that long, then"
                " send the same request again.",
                "client.calls-on-after-429",
            )
        if entry.status == HTTPStatus.TOO_MANY_REQUESTS:
            known.told, known.wait = now, _wait(entry)
        yield from _polling(entry, known, now)


def _polling(entry: Entry, known: _Account, now: float) -> Iterator[Remark]:
    if entry.method != "GET" or entry.target != known.target or now > known.since + WITHIN:
        known.target, known.since, known.again = entry.target if entry.method == "GET" else "", now, 0
    known.again += 1
    if known.again == OFTEN:
        yield Remark(
            f"{entry.method} {entry.target[:80]} came {OFTEN} times within {now - known.since:.0f} s, and nothing else;"
            " ask again after a change, or less and less often.",
            "client.polling",
        )


def _wait(entry: Entry) -> float:
    """The seconds that a 429 asks to wait, as its headers say."""
    for name in ("Retry-After", "X-RateLimit-Reset"):
        text = entry.answer_headers.get(name, "")
        if text.isascii() and text.isdecimal() and float(text) <= LONGEST_WAIT:
            return float(text)
    return 0.0
