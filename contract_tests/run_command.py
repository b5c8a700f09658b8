"""The command `contract-tests run`."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from types import FrameType
from urllib.parse import urlsplit

import platformdirs
from rich.console import Console

from contract_tests.contract import Contract
from contract_tests.errors import BROKEN, UsageError
from contract_tests.reports import junit, terminal
from contract_tests.runner import Options, Outcome, run
from contract_tests.target import Limits

LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1")


def run_command(contract: Contract, given: argparse.Namespace) -> int:
    """Judge an implementation, and tell the outcome.

    Args:
        contract: the rules.
        given: the options, as the command line has them.

    Returns:
        The exit status.

    Raises:
        UsageError: if the options cannot be meant.
        NothingSelectedError: if they select nothing.
        UnusableTargetError: if nothing can be judged there.
    """
    options = options_of(given)
    _known(contract, given.resources)
    interrupts = Interrupts()
    cache = platformdirs.user_cache_path("link-management-contract") / "hypothesis"
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache))  # by default it is the folder that one works in
    errors = Console(stderr=True)
    with errors.status("") as status:
        began = monotonic()

        def progress(chapter: str, requests: int) -> None:
            status.update(f"{chapter}  ·  {requests} requests  ·  {monotonic() - began:.0f} s")

        try:
            outcome = run(contract, options, progress, lambda: interrupts.came)
        except Exception as error:
            if interrupts.came:  # what it came upon may not have been made for exceptions
                raise KeyboardInterrupt from error
            raise
    if given.quiet:
        print(outcome.word)
    else:
        terminal.show(outcome, options.base_url, Console(highlight=False, markup=False))
    try:
        _write(outcome, given.report_dir)
    except OSError as error:
        errors.print(f"contract-tests: no report could be written: {error}", markup=False, highlight=False)
        return outcome.status or BROKEN
    return outcome.status


class Interrupts:
    """Ctrl-C and SIGTERM: an exception, and a flag too, since an exception in a finalizer or a callback gets lost."""

    def __init__(self) -> None:
        self.came = False
        signal.signal(signal.SIGTERM, self._interrupt)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._interrupt)
        sys.unraisablehook = lambda lost: lost.exc_type is KeyboardInterrupt or sys.__unraisablehook__(lost)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt


def _write(outcome: Outcome, folder: Path | None) -> None:
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        junit.write(outcome, folder / "junit.xml")


def _known(contract: Contract, kinds: Sequence[str]) -> None:
    unknown = [name for name in kinds if name not in contract.kinds]
    if unknown:
        raise UsageError(f'no kind "{unknown[0]}"; kinds are {", ".join(contract.kinds)}')


def options_of(given: argparse.Namespace) -> Options:
    """What a run is asked to do.

    Raises:
        UsageError: if that cannot be meant.
    """
    api_key = given.api_key or os.environ.get("CONTRACT_API_KEY")
    if not api_key:
        raise UsageError("no API key; set CONTRACT_API_KEY or give --api-key")
    second = given.second_api_key or os.environ.get("CONTRACT_SECOND_API_KEY")
    if second == api_key:
        raise UsageError("the second API key is the first; give one of another account, or none")
    base_url = given.base_url.rstrip("/")
    host = urlsplit(base_url).hostname or ""
    if not given.allow_writes and not LOOPBACK.fullmatch(host):
        raise UsageError(
            f"{host} is not this machine, and the run creates, changes and deletes records of its own there;"
            " say --allow-writes if that is meant"
        )
    return Options(
        base_url=base_url,
        api_key=api_key,
        second_api_key=second,
        resources=given.resources,
        rules=given.rules,
        public_base_url=given.public_base_url and given.public_base_url.rstrip("/"),
        splash_create_path=given.splash_create_path,
        strict=given.strict,
        limits=Limits(
            requests=given.max_requests or Limits.requests + 2 * given.explore,  # there may be a second look
            interval=given.rate,
            timeout=given.timeout,
            lag=given.lag,
        ),
        ledger=given.ledger,
        explore=given.explore,
        seed=given.seed,
    )
