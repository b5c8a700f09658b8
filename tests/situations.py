"""Correct servers in the weather of real deployments: `python tests/situations.py` judges them, and prints a table.

Three stacks, each behind what goes wrong around servers: outages, limits, colleagues, caches, restarts. Waits take no
time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.client import HTTPConnection
from io import BytesIO
from pathlib import Path
from threading import RLock
from typing import Any
from urllib.parse import urlsplit

import urllib3
from answered import Answered
from clock import SimulatedClock
from independent import IndependentServer
from werkzeug.test import Client as WsgiClient

from contract_tests import run as running
from contract_tests.errors import UnusableTargetError
from contract_tests.run import Options
from contract_tests.target.budget import Limits
from contract_tests.target.ledger import Ledger
from contract_tests.verdicts.verdicts import Outcome, Verdict
from link_management_contract import shipped_contract
from mock_server import Settings, create_app

CONTRACT = shipped_contract()
BASE_URL = "http://links.example.com"  # so that a run has as much patience as with another machine
KEYS = ("demo-key-harbour", "demo-key-alpine")
RESOURCES = ("splash-pages", "domains", "notification-handlers")
DJANGO = Path(__file__).parent / "mutants" / "django" / "server.py"
OUTAGES = (0.3, 1, 3, 10, 30)  # seconds
RATES = (1, 2, 5, 20)  # requests a second
RECORDS = (0, 12, 40)  # of each resource, before a run
PACES = (5, 10, 25, 60)  # a colleague's request after so many of the run's
TWO_RUNS, DEATH = "two runs at once", "a death"
UNSURE = (Verdict.FAIL, Verdict.INCONCLUSIVE)
CALM = 350  # requests of a run, about
DEFECTS = (
    "total-is-one-more",
    "update-clears-the-index-url",
    "update-resets-the-name",
    "deletes-do-nothing",
    "update-renames-another",
    "updates-do-nothing",
)


@dataclass(frozen=True)
class Sent:
    """A request on its way to the server."""

    method: str
    url: str
    body: bytes | None
    headers: Mapping[str, str]

    @property
    def is_read(self) -> bool:
        return self.method == "GET"

    @property
    def cache_key(self) -> tuple[str, str]:
        """What a cache has to distinguish: two accounts never share a page."""
        return self.url, self.headers.get("Authorization", "")


@dataclass(frozen=True)
class Reply:
    """An answer; without a status, the connection is lost."""

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


LOST = Reply(None)
PAGE = {"Content-Type": "text/html"}
Forward = Callable[[Sent], Reply]
Weather = Callable[[Sent, Forward], Reply]
MakeWeather = Callable[[int], Weather]  # from a seed


def weathered_connection(weather: Weather, forward: Forward) -> Answered:
    """A connection that leads through the weather to a server."""

    def answer(method: str, url: str, body: Any, headers: Mapping[str, str], **_: Any) -> urllib3.HTTPResponse:
        whole = body if body is None or isinstance(body, bytes) else b"".join(body)
        reply = weather(Sent(method, url.removeprefix(BASE_URL), whole, dict(headers)), forward)
        if reply.status is None:
            raise urllib3.exceptions.ProtocolError("connection reset by peer")
        return urllib3.HTTPResponse(BytesIO(reply.body), reply.headers, reply.status, preload_content=False)

    return Answered(answer)


def in_process(app: Any) -> Forward:
    """Requests to a WSGI application, one at a time."""
    client, lock = WsgiClient(app, use_cookies=False), RLock()

    def forward(sent: Sent) -> Reply:
        parts = urlsplit(sent.url)
        with lock:
            answer = client.open(
                parts.path,
                method=sent.method,
                query_string=parts.query,
                headers=sent.headers,
                data=sent.body,
                base_url=BASE_URL,
                environ_overrides={"wsgi.input_terminated": True},
            )
        return Reply(answer.status_code, dict(answer.headers), answer.data)

    return forward


@contextmanager
def mock(seed: int, defect: str = "") -> Iterator[Forward]:
    settings = Settings(
        fixture="empty", records=RECORDS[seed // len(STACKS) % len(RECORDS)], grease=None if defect else seed, journal=0
    )
    yield in_process(create_app(replace(settings, defects=(defect,)) if defect else settings))


@contextmanager
def independent(seed: int, defect: str = "") -> Iterator[Forward]:
    yield in_process(IndependentServer(RECORDS[seed // len(STACKS) % len(RECORDS)]))


@contextmanager
def django(_: int, defect: str = "") -> Iterator[Forward]:
    with subprocess.Popen([sys.executable, DJANGO, "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            port = int(line.rpartition(":")[2])

            def forward(sent: Sent) -> Reply:
                headers = dict(sent.headers) | {"Host": urlsplit(BASE_URL).netloc, "Connection": "close"}
                headers.pop("Transfer-Encoding", None)  # the body is whole by now
                with closing(HTTPConnection("127.0.0.1", port)) as connection:
                    connection.request(sent.method, sent.url, sent.body, headers)
                    answer = connection.getresponse()
                    return Reply(answer.status, dict(answer.headers), answer.read())

            yield forward
        finally:
            process.terminate()


STACKS = {"mock": mock, "independent": independent, "django": django}


def nothing(sent: Sent, forward: Forward) -> Reply:
    """No weather."""
    return forward(sent)


def outage(seed: int, seconds: float, reply: Reply, *, kind: str = "all", caches: bool = False) -> Weather:
    """From a random request on, answers of a gateway for so many seconds.

    Args:
        kind: `all`, `writes`, or `half`: each request with a probability of a half.
        caches: whether pages that were read before are served meanwhile.
    """
    draw = random.Random(seed)
    first, numbers, cache = draw.randrange(1, CALM), itertools.count(1), dict[tuple[str, str], Reply]()
    end: list[float] = []

    def weather(sent: Sent, forward: Forward) -> Reply:
        if next(numbers) >= first and not end:
            end.append(time.monotonic() + seconds)
        is_over = not end or time.monotonic() >= end[0]
        is_spared = (kind == "writes" and sent.is_read) or (kind == "half" and draw.random() < 0.5)
        if caches and sent.is_read and not is_over and sent.cache_key in cache:
            return cache[sent.cache_key]
        if not is_over and not is_spared:
            return reply
        answer = forward(sent)
        if caches and sent.is_read and is_over:
            cache[sent.cache_key] = answer
        return answer

    return weather


def limit(_: int, rate: float, status: int, headers: Mapping[str, str]) -> Weather:
    """A limit of so many requests a second, none of which may come early, as nginx has it without a burst."""
    allowed = [0.0]

    def weather(sent: Sent, forward: Forward) -> Reply:
        now = time.monotonic()
        if now < allowed[0]:
            return Reply(status, {**PAGE, **headers}, b"<h1>Too many</h1>")
        allowed[0] = now + 1 / rate
        return forward(sent)

    return weather


def window(requests: int, seconds: float, header: str) -> Weather:
    """A limit of so many requests in a window of time."""
    window_start, used = [-math.inf], [0]

    def weather(sent: Sent, forward: Forward) -> Reply:
        now = time.monotonic()
        if now >= window_start[0] + seconds:
            window_start[0], used[0] = now, 0
        used[0] += 1
        if used[0] > requests:
            return Reply(429, {header: str(math.ceil(window_start[0] + seconds - now))}, b"{}")
        return forward(sent)

    return weather


def colleague(seed: int, works: tuple[str, ...], pace: int) -> Weather:
    """Somebody else who works on older records of the account, and on some of their own."""
    draw = random.Random(seed)
    numbers = itertools.count(draw.randrange(pace))

    def weather(sent: Sent, forward: Forward) -> Reply:
        turn, rest = divmod(next(numbers), pace)
        if rest == 0:
            _work(draw, works[turn % len(works)], turn, forward)
        return forward(sent)

    return weather


def _work(draw: random.Random, work: str, turn: int, forward: Forward) -> None:
    resource = RESOURCES[turn % len(RESOURCES)]
    path, own = f"/api/{resource}", {"Authorization": f"Bearer {KEYS[0]}"}
    create_path = path.replace("splash-pages", "projects")
    label = "host" if resource == "domains" else "name"
    form = {label: f"theirs-{turn}.example.org"} | ({"type": "slack"} if resource == "notification-handlers" else {})
    encoded, media_type = urllib3.encode_multipart_formdata(form)
    headers = own | {"Content-Type": media_type}
    if work == "create":
        forward(Sent("POST", create_path, encoded, headers))
        return
    answer = forward(Sent("GET", f"{path}/?results_per_page=1000&page=1", None, own))
    if answer.status != 200:
        answer = forward(Sent("GET", f"{path}?results_per_page=1000&page=1", None, own))
    page = json.loads(answer.body)
    theirs = [row["id"] for row in page["data"] if not str(row.get(label, "")).startswith("ct")]
    if theirs and work == "update":
        forward(Sent("POST", f"{path}/{draw.choice(theirs)}", encoded, headers))
    elif theirs:
        forward(Sent("DELETE", f"{path}/{draw.choice(theirs)}", None, own))


def lagging(seconds: float) -> Weather:
    """Reads show what was there so many seconds ago."""
    last_write, cache = [-math.inf], dict[tuple[str, str], Reply]()

    def weather(sent: Sent, forward: Forward) -> Reply:
        if not sent.is_read:
            answer = forward(sent)
            last_write[0] = time.monotonic()
            return answer
        if time.monotonic() < last_write[0] + seconds and sent.cache_key in cache:
            return cache[sent.cache_key]
        if time.monotonic() < last_write[0] + seconds and re.search(r"/\d+$", sent.url):
            return Reply(404, {}, b"{}")
        answer = cache[sent.cache_key] = forward(sent)
        return answer

    return weather


def outages() -> Iterator[tuple[str, MakeWeather]]:
    page = b"<h1>Back soon</h1>"
    replies = {
        "500": Reply(500, {}, b'{"errors": [{"title": "Error", "status": 500}]}'),
        "502": Reply(502, PAGE, page),
        "503": Reply(503, PAGE, page),
        "504": Reply(504, PAGE, page),
        "lost connections": LOST,
        "a page with status 200": Reply(200, PAGE, page),
    }
    for name, reply in replies.items():
        for seconds in OUTAGES:
            yield f"{name}, {seconds:g} s", partial(outage, seconds=seconds, reply=reply)
    for seconds in OUTAGES:
        asked = Reply(503, PAGE | {"Retry-After": str(math.ceil(seconds))}, page)
        yield f"503 with Retry-After, {seconds:g} s", partial(outage, seconds=seconds, reply=asked)
    yield "writes fail, 30 s", partial(outage, seconds=30, reply=replies["503"], kind="writes")
    yield "writes fail and pages are cached, 30 s", partial(outage, seconds=30, reply=replies["502"], caches=True)
    yield "one of two workers restarts, 10 s", partial(outage, seconds=10, reply=LOST, kind="half")


def limits() -> Iterator[tuple[str, MakeWeather]]:
    for rate in RATES:
        for status in (429, 503, 403):
            for headers in ({}, {"Retry-After": "1"}) if status != 403 else ({},):
                name = f"{rate} a second, {status}{' with Retry-After' if headers else ''}"
                yield name, partial(limit, rate=rate, status=status, headers=headers)
    yield "60 a minute, 429 with X-RateLimit-Reset", lambda _: window(60, 60, "X-RateLimit-Reset")


def colleagues() -> Iterator[tuple[str, MakeWeather]]:
    every_work = ("create", "update", "delete")
    for works in (*((work,) for work in every_work), every_work):
        for pace in PACES:
            name = f"a colleague's {' and '.join(f'{work}s' for work in works)}, every {pace} requests"
            yield name, partial(colleague, works=works, pace=pace)


ROWS: dict[str, MakeWeather] = {
    "calm": lambda _: nothing,
    **dict(outages()),
    **dict(limits()),
    **dict(colleagues()),
    "reads lag by 0.5 s": lambda _: lagging(0.5),
    TWO_RUNS: lambda _: nothing,
    DEATH: partial(outage, seconds=math.inf, reply=LOST),
}


@dataclass(frozen=True)
class Judgement:
    """The outcome of a run in some weather.

    Attributes:
        seconds: how long the run took, by the clock that waits go by.
        wait_seconds: how many of them it waited.
    """

    outcome: Outcome
    seconds: float
    wait_seconds: float


def judge(situation: str, seed: int, stack: str, defect: str = "") -> list[Judgement]:
    """Judge a server in some weather; by two runs where that is the situation.

    Raises:
        UnusableTargetError: if nothing can be judged.
    """
    with STACKS[stack](seed, defect) as forward:
        return judge_server(forward, ROWS[situation](seed), seed, run_count=1 + (situation == TWO_RUNS))


def judge_server(
    forward: Forward, weather: Weather = nothing, seed: int = 0, run_count: int = 1, **changes: Any
) -> list[Judgement]:
    """Judge a server in some weather, on a clock of its own."""
    with ExitStack() as stacked:
        clock = stacked.enter_context(SimulatedClock().running())
        limits, connection = Limits(requests=3000), weathered_connection(weather, forward)
        options = Options(BASE_URL, KEYS[0], second_api_key=KEYS[1], limits=limits, connection=connection, seed=seed)
        options = replace(options, **changes)

        def judge_once(number: int) -> Judgement:
            started = time.monotonic()
            outcome = running.run(CONTRACT, options, Ledger(token=f"x{seed:03x}{number}"))
            return Judgement(outcome, time.monotonic() - started, sum(clock.slept))

        return list(stacked.enter_context(ThreadPoolExecutor(run_count)).map(judge_once, range(run_count)))


def row_of(situation: str, seeds: range, stacks: Sequence[str], *, defect: bool) -> tuple[list[object], Counter[str]]:
    """The figures of a situation, and what was wrong with which runs."""
    statuses, left, longest, reasons = Counter[int](), 0, 0.0, Counter[str]()
    for seed in seeds:
        name = DEFECTS[seed % len(DEFECTS)] if defect else ""
        stack = "mock" if defect else stacks[seed % len(stacks)]
        try:
            judgements = judge(situation, seed, stack, name)
        except UnusableTargetError as error:
            statuses[error.status] += 1
            reasons[f"{stack} {seed}: {error}"] += 1
            continue
        for judgement in judgements:
            outcome = judgement.outcome
            statuses[outcome.status] += 1
            left += len(outcome.left)
            longest = max(longest, judgement.seconds)
            if outcome.status and not name:
                wrong = [result for result in outcome.results if result.verdict in UNSURE]
                reasons.update(f"{stack} {seed} {result.verdict}: {result.id}: {result.reasons}" for result in wrong)
            if name and outcome.status != 1:
                reasons[f"{name} {seed}: {outcome.word}"] += 1
            reasons.update(f"{stack} {seed} left: {entry}" for entry in outcome.left)
    figures = [statuses.total(), statuses[1], statuses[6], left, statuses[7], f"{longest:.0f} s"]
    return figures, reasons


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="a regular expression: the situations to try")
    parser.add_argument("--runs", type=int, default=20, help="runs of each situation")
    parser.add_argument("--stacks", nargs="*", default=list(STACKS), choices=list(STACKS))
    parser.add_argument("--defect", action="store_true", help="with a defect, which is to be found")
    options = parser.parse_args()
    print("| situation | runs | failed | undecided | records left | gone | longest |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for situation in filter(re.compile(options.pattern).search, ROWS):
        figures, reasons = row_of(situation, range(options.runs), options.stacks, defect=options.defect)
        print(f"| {situation} | {' | '.join(map(str, figures))} |", flush=True)
        for reason, count in reasons.most_common(6):
            print(f"    {count} {reason[:300]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
