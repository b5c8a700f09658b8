"""The command `contract-tests run`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, strftime
from types import FrameType

import platformdirs
from rich.console import Console

from contract_tests import waivers
from contract_tests.contract import Contract
from contract_tests.errors import BROKEN, InterruptedRunError, UsageError
from contract_tests.ledger import Ledger
from contract_tests.options import Options, options_of
from contract_tests.reports import github, plan, results, terminal
from contract_tests.runner import Outcome, Progress, run

PROGRAM = "link-management-contract"


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
    if given.plan:
        plan.show(contract, _options(contract, given), Console(highlight=False, markup=False))
        return 0
    errors = Console(stderr=True, highlight=False, markup=False)
    interrupts = Interrupts()
    with errors.status("") as status:
        began = monotonic()

        def progress(chapter: str, requests: int) -> None:
            status.update(f"{chapter}  ·  {requests} requests  ·  {monotonic() - began:.0f} s")

        try:
            outcome = carry_out(contract, given, progress, lambda: interrupts.came)
        except InterruptedRunError as error:
            errors.print(f"contract-tests: {error}")
            return error.status
    written = write_reports(contract, outcome, given)
    if given.quiet:
        print(outcome.word)
    else:
        terminal.show(outcome, Console(highlight=False, markup=False))
    return outcome.status or (0 if written else BROKEN)


def carry_out(
    contract: Contract,
    given: argparse.Namespace,
    progress: Progress = lambda _chapter, _requests: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Judge an implementation as a command line says; what is left behind is told on the way out, whatever happens.

    Args:
        contract: the rules.
        given: the options.
        progress: told of each chapter and of the requests so far.
        interrupted: whether the run is to end.

    Raises:
        StoppedError: if nothing can be judged.
        InterruptedRunError: if the run was interrupted.
    """
    options = _options(contract, given)
    errors = Console(stderr=True, highlight=False, markup=False)
    cache = platformdirs.user_cache_path(PROGRAM) / "hypothesis"
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache))  # by default it is the folder that one works in
    if options.connection.insecure:
        errors.print("contract-tests: INSECURE: any certificate is trusted, so nobody knows whose answers these are")
    with Ledger(given.ledger or _state_file(), options.base_url) as ledger:
        try:
            return run(contract, options, ledger, progress, interrupted)
        except (Exception, KeyboardInterrupt) as error:
            if not interrupted():  # else what the interrupt came upon may not have been made for exceptions
                raise
            raise InterruptedRunError(left=len(ledger.left)) from error
        finally:
            tell_left(ledger, errors)


def _options(contract: Contract, given: argparse.Namespace) -> Options:
    unknown = [name for name in given.resources if name not in contract.kinds]
    if unknown:
        raise UsageError(f'no kind "{unknown[0]}"; kinds are {", ".join(contract.kinds)}')
    return options_of(given)


def tell_left(ledger: Ledger, errors: Console) -> None:
    """Tell what is left behind, and how to remove it."""
    for entry in ledger.left:
        errors.print(f"contract-tests: left behind: {entry}")
    if ledger.left and ledger.path:
        errors.print(f"contract-tests: to remove it, run: contract-tests cleanup {ledger.path}", soft_wrap=True)


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


def _state_file() -> Path:
    return platformdirs.user_state_path(PROGRAM) / "ledgers" / f"{strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"


def write_reports(contract: Contract, outcome: Outcome, given: argparse.Namespace) -> bool:
    """Write what a command line asks for; whether that could be done."""
    try:
        if given.write_waivers:
            waivers.write(given.write_waivers, outcome.results, datetime.fromtimestamp(outcome.began, UTC).date())
        if given.report_dir:
            from contract_tests.reports import folder  # noqa: PLC0415 - who wants none does not wait for Jinja

            folder.write(contract, outcome, given.report_dir)
        if github.runs_here():
            github.tell(results.as_dict(outcome))
    except OSError as error:
        Console(stderr=True, highlight=False, markup=False).print(
            f"contract-tests: no report could be written: {error}"
        )
        return False
    return True
