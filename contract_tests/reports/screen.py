"""Where commands print; a reader that goes away, as `head` does, changes no verdict."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console

from link_management_contract.texts import printable


class Screen(Console):
    """Standard output, or standard error; no text is taken for markup."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False)

    def on_broken_pipe(self) -> None:
        """Go on without a reader."""
        self.quiet = True
        go_on_unread(sys.stderr if self.stderr else sys.stdout)


def go_on_unread(stream: TextIO) -> None:
    """Discard everything that is still printed to a stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def complain(text: str) -> None:
    """Print what went wrong on a single line of standard error, whatever its width."""
    Screen(stderr=True).print(f"contract-tests: {printable(text)}", soft_wrap=True)


def say(text: str) -> None:
    """Print a text, if anybody still reads it."""
    try:
        print(printable(text), flush=True)
    except BrokenPipeError:
        go_on_unread(sys.stdout)
