"""Surface: the records with which a sandbox is reset.
Attack: many sandboxes are reset with many long records, again and again.
Holds: such records count as memory that the sandbox takes: older sandboxes go, and one that takes too much is refused.
"""

from __future__ import annotations

import pytest
from wire import mock

from mock_server.errors import SettingsError

PAGE = {"name": "Page", "custom_css": "x" * 100_000}


def test_records_of_a_reset_count_as_memory_that_a_sandbox_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.store.accounts.MAX_TOTAL_BYTES", 300_000)
    monkeypatch.setattr("mock_server.store.accounts.MAX_ACCOUNT_BYTES", 250_000)
    app = mock()
    for number in range(3):
        app.reset_account(f"sandbox-{number}", {"records": {"splash-pages": [PAGE]}})
    assert list(app.mock.accounts.sandboxes) == ["sandbox-1", "sandbox-2"]
    for _ in range(9):  # what it held before counts no more
        app.reset_account("sandbox-2", {"records": {"splash-pages": [PAGE]}})
    assert list(app.mock.accounts.sandboxes) == ["sandbox-1", "sandbox-2"]
    with pytest.raises(SettingsError, match="give fewer or shorter records"):
        app.reset_account("sandbox-2", {"records": {"splash-pages": [PAGE] * 3}})
