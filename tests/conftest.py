from __future__ import annotations

import gc
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from clock import SimulatedClock
from redis_server import RedisServer
from shell import installed
from wire import Client, over_network

from contract_tests.cli import GC_THRESHOLDS
from contract_tests.survey import waits
from mock_server import MockServer, Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ["golden_findings"]
gc.set_threshold(*GC_THRESHOLDS)  # a tenth less processor time
SLEEP = time.sleep
PREFIXES = count()  # each mock has keys of its own
CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.hookimpl(tryfirst=True)  # before tests are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test that is sampled, mark all but every Nth exhaustive; let tests in a browser come last.

    The loop of the browser runs until the session ends, and no other can run beside it.
    """
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))
    cases = Counter[str]()
    for item in items:
        if sampled := item.get_closest_marker("sample"):
            test = item.nodeid.partition("[")[0]
            if cases[test] % sampled.args[0]:
                item.add_marker(pytest.mark.exhaustive)
            cases[test] += 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Name the test that leaves a simulated clock to the tests after it."""
    yield
    assert time.sleep is SLEEP, "time.sleep is still replaced"


def pytest_report_header(config: pytest.Config) -> str:
    """Say which tests are left out, and how to run them."""
    if "not exhaustive" not in config.option.markexpr:
        return ""
    slow = "slow ones (browsers, Redis, generators, the wheel) and " if "not slow" in config.option.markexpr else ""
    return (
        f"left out: {slow}further cases of large tables; `make test-all` runs all, `pytest -m '' FILE` those of a file"
    )


@pytest.fixture
def simulated_clock() -> Iterator[SimulatedClock]:
    """A clock by which waits take no time."""
    with SimulatedClock().running() as clock:
        yield clock


@pytest.fixture
def no_pauses(simulated_clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "PAUSES", (0.0,))
    monkeypatch.setattr(waits, "SETTLING", 0.0)
    monkeypatch.setattr("contract_tests.target.retries.PAUSE", 0.0)


@pytest.fixture
def anyio_backend() -> str:
    """What runs the tests that are coroutines."""
    return "asyncio"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Commands can be interrupted, even where these tests themselves run in the background and cannot."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis server."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as running:
        yield running.url


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the mocks of a test keep what they hold: each test runs twice."""
    kind: str = request.param
    if kind == "redis":
        url, usual = request.getfixturevalue("redis_url"), Settings.__init__

        def given(self: Settings, **settings: Any) -> None:
            own = {"store": url, "store_prefix": f"test {os.getpid()} {next(PREFIXES)}"}
            usual(self, **({} if settings.get("deployment") else own) | settings)

        monkeypatch.setattr(Settings, "__init__", given)
    return kind


@pytest.fixture
def server() -> Iterator[MockServer]:
    """A mock with the demo data."""
    with MockServer() as running:
        yield running


@pytest.fixture
def client(server: MockServer) -> Client:
    """Who speaks to it for its first account."""
    return Client(over_network(server.base_url))


@pytest.fixture(scope="session")
def node_modules() -> None:
    """The Node packages of the project."""
    installed("node_modules/.ready")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Where Debian's Chromium is; a user without one is told so, and in CI there is always one."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        told = "no Chromium here: the browser tests were skipped"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    return str(path)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """Chromium, under way; on a busy machine, pages take their time."""
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415 - most tests do without

    expect.set_options(timeout=60_000)  # milliseconds
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM)
        yield running
        running.close()
