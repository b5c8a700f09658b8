"""What can be set about a mock server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mock_server.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one mock server.

    Attributes:
        fixture: `demo`, `empty` or the path of a fixture file.
        records: how many generated records of each kind the first account has beside the fixture's.
        api_keys: keys that each open an account of their own, which starts as a copy of the fixture's first.
        choices: values of open points other than the defaults, by name.
        base_path: a path in front of `/api`, such as `/prefix`.
        public_base_url: what page links begin with; where the request was sent to, if None.
        seed: what colours that nobody chose are derived from.
        clock: where times come from; if None, each account has a clock that starts with the fixture and moves on by
            one second with each write.
        sandboxes: how many accounts with `sandbox-` keys are kept; the least recently used goes first.
        max_body: the longest request body that is read, in bytes.
        contract: another openapi.yaml than the one that ships with the project, or None.
    """

    fixture: str | Path = "demo"
    records: int = 0
    api_keys: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    base_path: str = ""
    public_base_url: str | None = None
    seed: int = 0
    clock: Clock | None = None
    sandboxes: int = 1000
    max_body: int = 16 * 2**20
    contract: Path | None = None
