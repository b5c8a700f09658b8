"""Where commands print; a reader that goes away, as `head` does, changes no verdict."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import TextIO

from link_management_contract.texts import discard, printable


def complain(text: str) -> None:
    """Print what went wrong on a single line of standard error."""
    print_to(sys.stderr, f"contract-tests: {' '.join(printable(text).splitlines())}")


def say(text: str) -> None:
    print_to(sys.stdout, printable(text))


def print_to(stream: TextIO, text: str) -> None:
    """Print a text, if anybody still reads it."""
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        discard(stream)


def runs_in_github() -> bool:
    """Whether this runs in a GitHub job, whose runner takes lines that begin with `::` for commands."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def without_workflow_commands() -> Iterator[None]:
    """Keep a runner from taking any printed line for a command; a target may answer some, and wrapping may make one."""
    token = token_hex(16)
    _command(f"::stop-commands::{token}")
    try:
        yield
    finally:
        _command(f"\n::{token}::")


def _command(line: str) -> None:
    if runs_in_github():
        with suppress(BrokenPipeError):  # nobody reads it, so nobody can take it for a command
            print(line, flush=True)
