"""The state of the server: up, limited, away or gone; rules see only what was decided here.

A request that ought to work and fails is judged only while the server is up, as other requests of its kind show. Until
then the run waits, and goes on where it was.
"""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import groupby

from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect, Request

LIMITED = HTTPStatus.TOO_MANY_REQUESTS
MIN_WAIT, MAX_WAIT = 0.5, 300.0  # seconds for what the server asks for
FIRST_WAIT, LAST_WAIT, GROWTH = 0.25, 5.0, 1.6  # seconds between tries while nothing says how long to wait
WITNESS_LIFETIME = 1.0  # seconds for which a request that worked speaks for others of its kind
MAX_WITNESSES = 5  # requests of one kind that failed for reasons of their own; then no more are asked about
FEW_LIMITS = 5  # requests that were refused, and may have been so by an outage
FEW_REQUESTS = 10  # requests between two limits: the pace is too fast, not the minute full
SLOWER, MIN_INTERVAL, MAX_INTERVAL = 2.0, 0.1, 2.0  # of the seconds between two requests
LIMIT_STATUSES = (403, 429, 503)  # what proxies refuse a request with that comes too soon
MAX_LIMIT_SECONDS = 8.0  # seconds after which trouble is no limit of so many requests a second
MAX_START = 10.0  # seconds for a server that is being started
NO_INTERVAL = 0.01  # seconds
PATIENT_REQUESTS, MIN_GAP = 10, 1.05  # requests without a limit before a shorter interval, still so much too long
MAX_DOUBT_OF_REFUSAL = 5.0  # seconds
MANY_FAILURES = 10  # in a row: no chance, and more than are under way at a time
SAME_TIME = 0.05  # seconds between two readings of a time
UNKNOWN_ID = 2_000_000_011  # which no server has given out, and each can hold
EPOCH = 1e9  # seconds; a larger number in a header is a time
Kind = tuple[str, str]  # a resource and an operation


class Availability:
    """What answers show of the server's state.

    Args:
        patience: seconds without any success after which the server is gone.
        doubt: seconds for which an operation may fail although others work, before that counts.

    Attributes:
        interval: seconds between two requests that the server has turned out to allow.
        gone_reason: why the server is not asked any more; empty as long as it is.
        limit_count: how many requests were refused because there were too many.
        hopeless: the kinds of requests that went on failing although others worked.
        own_refusals: what the server's own answers with 403 to ids that nobody has have in common (`signatures_of`).
    """

    def __init__(self, patience: float, doubt: float) -> None:
        self.patience, self.doubt = patience, doubt
        self.interval = 0.0
        self.gone_reason = ""
        self.limit_count = 0
        self.hopeless: set[Kind] = set()
        self.own_refusals: set[str] = set()
        self._worked: dict[Kind, Request] = {}
        self._witnessed: dict[Kind, list[float]] = {}
        self._last_success = time.monotonic()
        self._last_number = 0
        self._since_limit, self._limited_at = 0, 0.0  # requests, and seconds since 1970
        self._calm_interval, self._is_repeated = 0.0, True
        self._refused_interval = self._allowed_interval = 0.0
        self._first_limit: float | None = None
        self._requests_since_limit = 0  # requests since then
        self._outages: list[tuple[float, float]] = []  # when each began and ended, in seconds since 1970
        self._is_forbidding = False  # whether what ought to work was refused with a 403

    def note(self, exchange: Exchange) -> None:
        """Note what an answer shows."""
        if self.is_trouble(exchange):
            if exchange.status == LIMITED or (self.is_limiting and exchange.status != HTTPStatus.FORBIDDEN):
                self.note_limit(exchange)
            return
        self._last_success, self._last_number = time.monotonic(), exchange.number
        self._requests_since_limit += self._first_limit is not None
        if not self._was_under_way(exchange):
            self._note_pace()
        request = exchange.request
        is_usual = request.identity == OWN_KEY and request.expects is Expect.SUCCESS
        if is_usual and exchange.succeeded and not is_page(exchange):
            self._worked[kind_of(request)] = request
            self.hopeless.discard(kind_of(request))

    def _was_under_way(self, exchange: Exchange) -> bool:
        """Whether a request was under way at the latest limit, so that its answer says nothing of the pace since."""
        return 0 < exchange.started_at < self._limited_at

    def _note_pace(self) -> None:
        """Note a request that did not come too soon."""
        if not self._since_limit and not self._is_repeated:  # it was an outage, or a minute's share was used up
            self.interval = self._calm_interval
        self._since_limit += 1
        if self._since_limit > PATIENT_REQUESTS and self.interval > self._refused_interval * MIN_GAP:
            self._allowed_interval, self._since_limit = self.interval, 1
            shorter = (self.interval + self._refused_interval) / 2
            self.interval = shorter if shorter > NO_INTERVAL else 0.0

    def is_trouble(self, exchange: Exchange) -> bool:
        """Whether an answer may not be the server's own, or only for now.

        Of the account's own requests, that is also a 403 where the operation has worked before, and a page in the place
        of JSON, which another account may get, too.
        """
        if exchange.failed or exchange.status == LIMITED:
            return True
        request, is_documented = exchange.request, exchange.request.expects is Expect.SUCCESS
        if request.identity == OTHER and request.operation in ("list", "create"):
            return is_page(exchange)
        if request.identity != OWN_KEY or not (is_documented or self._is_forbidding):
            return False
        if exchange.status == HTTPStatus.FORBIDDEN:
            if self.is_own_refusal(exchange):
                return False
            return bool(exchange.redirects) or any(operation == request.operation for _, operation in self._worked)
        return is_documented and bool(self._worked) and is_page(exchange)

    def is_own_refusal(self, exchange: Exchange) -> bool:
        """Whether an answer with 403 is what the server says of an id that nobody has."""
        is_about_a_record = exchange.status == HTTPStatus.FORBIDDEN and exchange.request.identifier is not None
        return is_about_a_record and not self.own_refusals.isdisjoint(signatures_of(exchange))

    def note_limit(self, exchange: Exchange) -> None:
        """Note a request that may have come too soon; if few came since the last, later ones keep more distance.

        After many, a minute's share may be used up, for which no distance helps.
        """
        if exchange.status not in LIMIT_STATUSES:
            return
        self.limit_count += 1
        if self._was_under_way(exchange):
            return
        self._limited_at = time.time()
        is_documented = exchange.request.expects is Expect.SUCCESS
        self._is_forbidding |= is_documented and exchange.status == HTTPStatus.FORBIDDEN
        self._first_limit = self._first_limit or time.monotonic()
        if self._since_limit:
            self._calm_interval, self._is_repeated = self.interval, self._since_limit <= FEW_REQUESTS
        if self._since_limit <= FEW_REQUESTS or self.interval:
            self._refused_interval = self.interval
            slower = min(max(MIN_INTERVAL, self.interval * SLOWER), MAX_INTERVAL)
            self.interval = self._allowed_interval if self._allowed_interval > self.interval else slower
        self._since_limit = 0

    def note_trouble(self, exchange: Exchange, seconds: float, interval: float) -> None:
        """Note trouble that goes on: a limit, for which more distance is tried, unless it lasts too long for one.

        Args:
            seconds: for how long it has gone on.
            interval: the seconds between two requests before it began.
        """
        if seconds > MAX_LIMIT_SECONDS:
            self.interval = interval
        elif exchange.status != LIMITED:  # that was noted as it came
            self.note_limit(exchange)

    @property
    def is_limiting(self) -> bool:
        """Whether the server has refused requests for coming too soon, and not only now and then."""
        return self.limit_count >= FEW_LIMITS

    @property
    def suggested_rate(self) -> str:
        """The rate, as the command line takes it, that the server has allowed since its first limit; empty if none."""
        if self._first_limit is None or not self.is_limiting:
            return ""
        minutes = (self._last_success - self._first_limit) / 60
        return f"{max(1, int(self._requests_since_limit / minutes))}/m" if minutes > 0 else ""

    def note_wait(self, seconds: float) -> None:
        """Note a wait that the server asked for: it uses up no patience."""
        self._last_success += seconds

    def may_be_starting(self, exchange: Exchange, seconds: float) -> bool:
        """Whether to wait for a server that has not worked yet; false for one that nobody answers for.

        Args:
            seconds: for how long it was waited for.
        """
        return bool(self._worked) or (exchange.status is not None and seconds < MAX_START)

    @property
    def is_patience_over(self) -> bool:
        return time.monotonic() - self._last_success >= self.patience

    def doubt_of(self, exchange: Exchange) -> float:
        """The seconds for which a request like this may fail although others work: a refusal may be about a quota."""
        return min(self.doubt, MAX_DOUBT_OF_REFUSAL) if exchange.status == HTTPStatus.FORBIDDEN else self.doubt

    def note_gone(self, exchange: Exchange) -> None:
        """Note that the server is not asked any more, and since when it has answered nothing."""
        started = time.strftime("%H:%M:%S", time.localtime(time.time() - self.seconds_without_success()))
        reason = exchange.error or exchange.status_text
        self.gone_reason = f"no answer since {started}, after request {self._last_number}: {reason}"

    def note_away(self, seconds: float) -> None:
        """Note that the server has been away for so long."""
        self._outages.append((time.time() - seconds, time.time()))

    def withdraw_away(self, started_at: float) -> None:
        """Note that it was no outage after all that began then, in seconds since 1970."""
        self._outages = [outage for outage in self._outages if abs(outage[0] - started_at) > SAME_TIME]

    def was_away(self, exchange: Exchange) -> bool:
        """Whether an answer came during an outage, or from a limit."""
        is_limit = self.is_limiting and exchange.status in LIMIT_STATUSES
        return is_limit or any(start <= exchange.started_at <= end for start, end in self._outages)

    def restart_patience(self) -> None:
        self._last_success = time.monotonic()

    def seconds_without_success(self) -> float:
        return time.monotonic() - self._last_success

    def worked(self, request: Request) -> Request | None:
        """The latest request of the same kind that worked, if any has."""
        return self._worked.get(kind_of(request))

    def other_read(self, request: Request) -> Request | None:
        """A read of another kind that worked before; of another operation, if there is one."""
        reads = [other for kind, other in self._worked.items() if kind != kind_of(request) and other.method == "GET"]
        return min(reads, key=lambda read: read.operation == request.operation, default=None)

    def unknown_read(self) -> Request | None:
        """A read of an id that nobody has, if reads have worked."""
        read = next((read for (_, operation), read in self._worked.items() if operation == "read"), None)
        return read and replace(read, path=f"{read.path.rpartition('/')[0]}/{UNKNOWN_ID}", identifier=UNKNOWN_ID)

    def note_witness(self, request: Request) -> None:
        """Note that a request of the same kind works just now."""
        self._witnessed.setdefault(kind_of(request), []).append(time.monotonic())

    def is_hopeless(self, request: Request) -> bool:
        """Whether requests of this kind went on failing although others worked."""
        return kind_of(request) in self.hopeless

    def is_known_to_fail(self, exchange: Exchange) -> bool:
        """Whether requests of this kind fail for no outage, as others of the kind have shown, or time.

        That says nothing of a 403, which may be a limit or the server's own answer from one request to the next.
        """
        times = self._witnessed.get(kind_of(exchange.request), [])
        is_witnessed = len(times) >= MAX_WITNESSES or (times and time.monotonic() - times[-1] < WITNESS_LIFETIME)
        return self.is_hopeless(exchange.request) or (exchange.status != HTTPStatus.FORBIDDEN and bool(is_witnessed))

    def give_up(self, request: Request) -> None:
        self.hopeless.add(kind_of(request))


def is_page(exchange: Exchange) -> bool:
    """Whether an answer is a success in status and, in the place of JSON, a page, as gateways send it."""
    is_html = exchange.succeeded and "html" in exchange.headers.get("Content-Type", "")
    return is_html and exchange.request.operation != "delete" and exchange.json is None


def outage_numbers(exchanges: Iterable[Exchange]) -> set[int]:
    """The numbers of exchanges that an outage hit: many failed in a row, of several kinds, which work at other times.

    Nobody has waited for it to pass if it hit odd requests above all, which may fail for reasons of their own.
    """
    in_order = sorted(exchanges, key=lambda exchange: exchange.number)
    working = {(answer.request.method, answer.request.target) for answer in in_order if not answer.failed}
    numbers = set[int]()
    for is_failing, row in groupby(in_order, key=lambda exchange: exchange.failed):
        hit = [answer for answer in row if is_failing and (answer.request.method, answer.request.target) in working]
        if len(hit) > MANY_FAILURES and len({kind_of(answer.request) for answer in hit}) > 1:
            numbers.update(answer.number for answer in hit)
    return numbers


def signatures_of(exchange: Exchange) -> tuple[str, ...]:
    """What an answer shares with others of its kind: all but words with digits in them, or the keys of its JSON."""
    text, media_type = exchange.body.decode("utf-8", "replace"), exchange.headers.get("Content-Type", "")
    wording = media_type + re.sub(r"\w*\d\w*", "", text)
    keys = sorted(set(re.findall(r'"(\w+)"\s*:', text)))
    return (wording,) if exchange.json is None else (wording, media_type + ",".join(keys))


def kind_of(request: Request) -> Kind:
    return request.resource, request.operation


def waits() -> Iterator[float]:
    """The seconds between tries, growing."""
    seconds = FIRST_WAIT
    while True:
        yield seconds
        seconds = min(seconds * GROWTH, LAST_WAIT)


def stated_wait(exchange: Exchange) -> float | None:
    """How long the server asks to wait, in seconds; None if it does not."""
    header = exchange.headers.get("Retry-After")
    if exchange.status == LIMITED:
        header = header or exchange.headers.get("X-RateLimit-Reset")
    return None if header is None else max(min(_seconds_of(header), MAX_WAIT), MIN_WAIT)


def _seconds_of(header: str) -> float:
    """The seconds to wait, from a header that holds seconds, or a time as a date or Unix time."""
    if re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", header.strip(), re.ASCII):
        seconds = float(header)
        return seconds - time.time() if seconds > EPOCH else seconds
    with suppress(ValueError, OverflowError):
        return parsedate_to_datetime(header).timestamp() - time.time()
    return 1.0
