"""What is printed where a runner of GitHub looks for workflow commands: lines that begin with `::`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex


def runs_here() -> bool:
    """Whether this runs in a GitHub job."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def without_commands() -> Iterator[None]:
    """Keep a runner from taking any printed line for a command; a target may answer some, and wrapping may make one."""
    token = token_hex(16)
    _print(f"::stop-commands::{token}")
    try:
        yield
    finally:
        _print(f"\n::{token}::")


def _print(line: str) -> None:
    if runs_here():
        with suppress(BrokenPipeError):  # nobody reads it, so nobody can take it for a command
            print(line, flush=True)
