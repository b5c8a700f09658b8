"""`contract-tests run --watch`: judges again when the server has restarted, or on Enter."""

from __future__ import annotations

import argparse
import select
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from contract_tests.commands.compare import changes
from contract_tests.errors import StoppedError, UsageError
from contract_tests.reports.screen import complain, say
from contract_tests.run.outcome import Outcome
from contract_tests.run.verdicts import Verdict

SECONDS_BETWEEN = 0.3
SETTLING = 0.3  # seconds for a server that listens again to be ready
Judge = Callable[[argparse.Namespace], Outcome]


def watch(given: argparse.Namespace, judge: Judge, tell: Callable[[Outcome], None]) -> int:
    """Judge again and again: what failed last comes first, and the rest once that is mended.

    Args:
        given: the options from the command line.
        judge: judges with such options.
        tell: shows an outcome.

    Returns:
        The exit status of the last whole run, once the input has ended or `q` was entered.
    """
    last: Outcome | None = None
    status = 0
    while True:
        again = _failed(last)
        try:
            if again:
                say(f"\nfirst what failed last: {', '.join(again)}")
                first = judge(argparse.Namespace(**vars(given) | {"rules": again}))
                if _failed(first):
                    tell(first)
                    if not _wait(given.base_url):
                        return status
                    continue
            outcome = judge(given)
        except UsageError:
            raise
        except StoppedError as error:
            complain(str(error))
            status = error.status
        else:
            tell(outcome)
            for line in changes(last, outcome) if last else ():
                say(line)
            last, status = outcome, outcome.status
        if not _wait(given.base_url):
            return status


def _failed(outcome: Outcome | None) -> tuple[str, ...]:
    """The rules that fail."""
    results = outcome.results if outcome else ()
    return tuple(dict.fromkeys(each.rule.id for each in results if each.verdict is Verdict.FAIL and not each.waived))


def _wait(base_url: str) -> bool:
    """Wait until the server has stopped and started again, or for Enter; false at the end of the input, or on `q`."""
    say("\nwatching: restart the server or press Enter to judge again; q and Enter to end")
    was_down = False
    while True:
        with suppress(ValueError, OSError):  # an input that cannot be waited for
            if select.select([sys.stdin], [], [], SECONDS_BETWEEN)[0]:
                line = sys.stdin.readline()
                return bool(line) and line.strip() != "q"
        time.sleep(SECONDS_BETWEEN)
        is_up = _listens(base_url)
        if is_up and was_down:
            time.sleep(SETTLING)
            return True
        if not is_up and not was_down:
            say("the server has stopped; it is judged again once it listens")
        was_down = not is_up


def _listens(base_url: str) -> bool:
    parts = urlsplit(base_url)
    port = parts.port or {"https": 443}.get(parts.scheme, 80)
    try:
        with socket.create_connection((parts.hostname or "", port), timeout=1):
            return True
    except OSError:
        return False
