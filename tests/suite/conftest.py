from __future__ import annotations

import pytest

from contract_tests.survey import visitor


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor, "PAUSES", (0.0,))
    monkeypatch.setattr(visitor, "SETTLING", 0.0)
    monkeypatch.setattr("contract_tests.target.PAUSE", 0.0)
