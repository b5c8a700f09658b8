"""A pytest fixture: a mock server for the tests of a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mock_server.server import MockServer


@pytest.fixture(scope="session")
def mock_server() -> Iterator[MockServer]:
    """A mock server with the demo data for the whole run; give each test its own `sandbox-` key."""
    from mock_server.server import MockServer  # noqa: PLC0415 - who does not use the fixture does not wait for it

    with MockServer() as server:
        yield server
