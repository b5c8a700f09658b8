"""What a new record starts with, which times clocks can show, and how those are written."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zlib import crc32

from link_management_contract import Resource
from mock_server.errors import SettingsError
from mock_server.open_points.choices import Choices

EARLIEST, LATEST = 1970, 8998  # years that clocks can be set to
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


class NewRecords:
    """The values of a new record's fields that no form sets.

    Args:
        choices: the open points.
        seed: what colours are derived from.
    """

    def __init__(self, choices: Choices, seed: int) -> None:
        self._choices = choices
        self._seed = seed

    def values(self, resource: Resource, identifier: int) -> dict[str, Any]:
        """The values by field."""
        varied = self._choices["color"] == "varied"
        starts = {
            "color": f"#{crc32(f'{self._seed}/{identifier}'.encode()) & 0xFFFFFF:06x}" if varied else "#5a67d8",
            "scheme": f"{self._choices['domain-scheme']}://",
            "is_enabled": self._starts_enabled(resource),
        }
        return {name: value for name, value in starts.items() if name in resource.shape}

    def _starts_enabled(self, resource: Resource) -> bool:
        point = "handler-starts" if "is_enabled" in resource.fields else "domain-starts"
        return self._choices[point] == "enabled"


def check_clock(now: datetime) -> None:
    """Refuse a time that clocks cannot be set to.

    Raises:
        SettingsError: if it is too early or too late.
    """
    if not EARLIEST <= now.year <= LATEST:
        raise SettingsError(f"{now.year} is no year that clocks can be set to; give {EARLIEST} to {LATEST}")
