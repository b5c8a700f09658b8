from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from contract_tests.survey import visitor


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor, "PAUSES", (0.0,))
    monkeypatch.setattr(visitor, "SETTLING", 0.0)
    monkeypatch.setattr("contract_tests.target.PAUSE", 0.0)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Commands can be interrupted, even where these tests themselves run in the background and cannot."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
