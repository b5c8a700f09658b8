from __future__ import annotations

import gc
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from redis_server import RedisServer
from shell import installed
from wire import Client, over_network

from contract_tests.cli import SELDOM
from contract_tests.survey import visitor as waiting
from mock_server import MockServer, Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ["findings"]
gc.set_threshold(*SELDOM)  # a tenth less processor time
PREFIXES = count()  # each mock has keys of its own
CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test that is sampled, mark all but each Nth slow."""
    cases = Counter[str]()
    for item in items:
        sampled = item.get_closest_marker("sample")
        if sampled and not item.get_closest_marker("slow"):
            test = item.nodeid.partition("[")[0]
            if cases[test] % sampled.args[0]:
                item.add_marker(pytest.mark.slow)
            cases[test] += 1


def pytest_report_header(config: pytest.Config) -> str:
    """Say which tests are left out, and how to run them."""
    left_out = "left out: the tests marked slow (browsers, Redis, generators, the wheel, most cases of large tables)"
    how = "`make test-all` runs all tests, `pytest -m slow FILE` those of a file"
    return f"{left_out}; {how}" if config.option.markexpr == "not slow" else ""


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PAUSES", (0.0,))
    monkeypatch.setattr(waiting, "SETTLING", 0.0)
    monkeypatch.setattr("contract_tests.target.target.PAUSE", 0.0)


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
    """Chromium, under way."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - most tests do without

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM)
        yield running
        running.close()
