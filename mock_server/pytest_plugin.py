"""Pytest fixtures for the tests of a client: a mock server, and an account of it for each test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mock_server.journal.journal import Entry, Remark
    from mock_server.server import MockServer

MARKER_HELP = 'mock_meant(*rules): mistakes of the client against these rules are meant, such as "forms.name-required"'
TRY = "run each test that uses the mock once for every choice that the specification leaves open"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("mock server").addoption("--mock-try", action="store_true", help=TRY)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with one server after another, each with one choice that is not the default."""
    if metafunc.config.getoption("--mock-try") and "mock_server" in metafunc.fixturenames:
        from link_management_contract import shipped_contract  # noqa: PLC0415 - as below

        points = shipped_contract().open_points.values()
        other_choices = [(point.name, value) for point in points for value in point.values if value != point.default]
        names = ["default choices", *map("=".join, other_choices)]
        metafunc.parametrize("mock_server", [None, *other_choices], indirect=True, ids=names, scope="session")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER_HELP)


@pytest.fixture(scope="session")
def mock_server(request: pytest.FixtureRequest) -> Iterator[MockServer]:
    """A mock server with the demo data for the whole run; give each test its own `sandbox-` key."""
    from mock_server.server import MockServer  # noqa: PLC0415 - who does not use the fixture does not wait for it

    choice: tuple[str, str] | None = getattr(request, "param", None)
    with MockServer(choices=dict([choice] if choice else [])) as server:
        yield server


@pytest.fixture
def mock_account(mock_server: MockServer, request: pytest.FixtureRequest) -> Iterator[MockAccount]:
    """An account that no other test has; the test fails if its client makes a mistake that is not marked as meant."""
    markers = request.node.iter_markers("mock_meant")
    ignored_rules = tuple(rule for marker in markers for rule in _rules(marker))
    account = MockAccount(mock_server, f"sandbox-{re.sub(r'[^!-~]', '-', request.node.nodeid)[-180:]}", ignored_rules)
    account.reset()
    first = len(account.requests())
    yield account
    mistakes = [
        f"{remark.rule}: {remark.what}"
        for entry in account.requests()[first:]
        for remark in entry.remarks
        if not remark.is_meant
    ]
    mock_server.running.effects.remove_of(account.api_key)
    if mistakes:
        pytest.fail(
            "the client made mistakes; where they are meant, mark the test with mock_meant:\n" + "\n".join(mistakes)
        )


def _rules(marker: pytest.Mark) -> list[str]:
    """The rules that a marker names, one by one or as a list; without any, every mistake is meant."""
    return [rule for pattern in marker.args or ("*",) for rule in ([pattern] if isinstance(pattern, str) else pattern)]


@dataclass(frozen=True)
class MockAccount:
    """One account of a mock.

    Attributes:
        server: the mock.
        api_key: the account's key.
        ignored_rules: patterns of the rules against which mistakes are meant.
    """

    server: MockServer
    api_key: str
    ignored_rules: tuple[str, ...] = ()

    @property
    def base_url(self) -> str:
        """The mock's base URL."""
        return self.server.base_url

    @property
    def headers(self) -> dict[str, str]:
        """The header that its requests need."""
        return {"Authorization": f"Bearer {self.api_key}"}

    @property
    def remarks(self) -> list[Remark]:
        return [remark for entry in self.requests() for remark in entry.remarks]

    def requests(self, **filters: str) -> list[Entry]:
        """Its requests, oldest first; filters are `method`, `path`, `status`, `remarks` and `after`."""
        return self.server.running.journal.find(account=self.api_key, **filters)

    def force(self, prefer: str = "", **attributes: Any) -> None:
        """Force an answer on its next request, or on more: see `mock_server.effects.effect.Effect`.

        Raises:
            SettingsError: if it is invalid.
        """
        self.server.running.force(({"prefer": prefer} if prefer else {}) | attributes | {"account": self.api_key})

    def set_clock(self, now: datetime) -> None:
        """Set its clock; the next write is dated a second later."""
        self.server.running.mock.accounts.set_clocks(now, self.api_key)

    def reset(self, **start_data: Any) -> None:
        """Start again, perhaps with `records`, a `fixture` or a `snapshot`.

        Raises:
            SettingsError: if there is none of that name, or the fixture is invalid.
        """
        self.server.running.reset_account(self.api_key, start_data)
        self.server.running.remarks.expect(self.api_key, self.ignored_rules)
