"""The command `contract-tests run`."""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from time import monotonic, strftime
from types import FrameType, TracebackType
from typing import Any, Self

import platformdirs

from contract_tests.commands import compare, plan
from contract_tests.commands.watch import watch
from contract_tests.errors import BROKEN, FAILED, UNDECIDED, InterruptedRunError, UsageError
from contract_tests.reports import github, results, terminal
from contract_tests.reports.screen import Screen, complain, say
from contract_tests.run import waivers
from contract_tests.run.options import Options, options_of
from contract_tests.run.outcome import Outcome
from contract_tests.run.runner import TOO_MANY, Progress, run
from contract_tests.run.verdicts import Verdict
from contract_tests.target.ledger import Ledger, digest_of
from contract_tests.workflow_commands import runs_here, without_commands
from link_management_contract import Contract

PROGRAM = "link-management-contract"
BETWEEN_LINES = 30  # seconds between two lines of progress without a terminal
MOST_TOLD = 3  # records left behind
PASSED_OVER = 2  # the interrupt to ignore: a second one comes from impatience, and clean-up takes a moment


def run_command(contract: Contract, given: argparse.Namespace) -> int:
    """Judge an implementation, and report the outcome.

    Args:
        contract: the rules.
        given: the options from the command line.

    Returns:
        The exit status.

    Raises:
        UsageError: if the options are invalid.
        NothingSelectedError: if they select nothing.
        UnusableTargetError: if nothing can be judged there.
    """
    if given.plan:
        _keep_examples_elsewhere()
        plan.show(contract, _options(contract, given), Screen())
        return 0
    interrupts = Interrupts()

    def judged(asked: argparse.Namespace) -> Outcome:
        with without_commands(), ProgressDisplay(Screen(stderr=True), asked) as progress:
            return carry_out(contract, asked, progress, lambda: interrupts.came, progress.certain)

    if given.watch:
        return watch(given, judged, lambda outcome: _tell(given, outcome, results.as_dict(outcome)))
    baseline = compare.read(given.baseline) if given.baseline else None
    outcome = judged(given)
    told = results.as_dict(outcome)
    if not write_reports(contract, outcome, told, given):
        outcome = replace(outcome, word=f"{outcome.word}, and a report is missing", status=outcome.status or BROKEN)
        told = results.as_dict(outcome)
    _tell(given, outcome, told)
    return outcome.status if baseline is None else _gated(outcome, told, baseline)


def _tell(given: argparse.Namespace, outcome: Outcome, told: dict[str, Any]) -> None:
    with without_commands():
        if outcome.interrupted:
            complain(str(InterruptedRunError(left=len(outcome.left))))
        elif given.quiet:
            say(outcome.verdict)
        else:
            terminal.show(told, Screen(), verbose=given.verbose, folder=given.report_dir)


def _gated(outcome: Outcome, told: dict[str, Any], baseline: dict[str, Any]) -> int:
    """The exit status of a run that only has to be no worse than an earlier one; what has changed is printed."""
    regression = compare.Regression.of(baseline, told)
    with without_commands():
        say("\n".join(["", *regression.lines]))
    if regression.worse:
        return FAILED
    return 0 if outcome.status in (FAILED, UNDECIDED) and not outcome.stale else outcome.status


class ProgressDisplay:
    """A context manager that shows a run's progress: continuously on a terminal, elsewhere a line now and then.

    Failures are shown as soon as they are certain, on a terminal and in `results.json`.
    """

    def __init__(self, screen: Screen, given: argparse.Namespace) -> None:
        self._screen = screen
        self._given = given
        self._told: set[str] = set()
        self._status = screen.status("")
        self._began = monotonic()
        self._line = "beginning"
        self._ended = Event()
        self._thread = Thread(target=self._tell, daemon=True)

    def __call__(self, chapter: str, requests: int) -> None:
        """Note the current chapter and the number of requests so far."""
        self._line = f"{chapter}  ·  {requests} requests"
        self._status.update(f"{self._line}  ·  {monotonic() - self._began:.0f} s")
        if TOO_MANY in chapter and not self._screen.is_terminal:
            complain(self._line)

    def certain(self, outcome: Outcome) -> None:
        """Show the failures that are new, and keep all of them in `results.json` in case the run does not end well."""
        failed = {each.id for each in outcome.results if each.verdict is Verdict.FAIL and not each.waived}
        if self._screen.is_terminal and not self._given.quiet:
            for name in sorted(failed - self._told):
                self._screen.print(f"fail: {name}", style="red")
        if self._given.report_dir and failed - self._told:
            with suppress(OSError):  # it is written again at the end, and then complained of
                self._given.report_dir.mkdir(parents=True, exist_ok=True)
                results.write(results.as_dict(outcome), self._given.report_dir / results.FILE)
        self._told |= failed

    def __enter__(self) -> Self:
        """Start to show progress."""
        if self._screen.is_terminal:
            self._status.start()
        else:
            self._thread.start()
        return self

    def __exit__(
        self, resource: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop showing progress."""
        self._status.stop()
        self._ended.set()

    def _tell(self) -> None:
        while not self._ended.wait(BETWEEN_LINES):
            complain(f"{self._line}  ·  {monotonic() - self._began:.0f} s")


def carry_out(
    contract: Contract,
    given: argparse.Namespace,
    progress: Progress = lambda _chapter, _requests: None,
    interrupted: Callable[[], bool] = lambda: False,
    certain: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Judge an implementation as the command line says, and report what is left behind, whatever happens.

    Args:
        contract: the rules.
        given: the options.
        progress: called with each chapter and the number of requests so far.
        interrupted: whether the run must end.
        certain: called with the outcome so far whenever more results are certain.

    Raises:
        StoppedError: if nothing can be judged.
    """
    options = _options(contract, given)
    _keep_examples_elsewhere()
    if options.connection.insecure:
        complain("INSECURE: any certificate is trusted, so nobody knows whose answers these are")
    account, token = digest_of(options.api_key), secrets.token_hex(2)
    with Ledger(given.ledger or _state_file(), options.base_url, account, f"x{token}") as ledger:
        try:
            return run(contract, options, ledger, progress, interrupted, certain)
        finally:
            tell_left(ledger)
            if ledger.needed and ledger.path:
                complain(f"to look again, and remove what is there, run: contract-tests cleanup {ledger.path}")
            if not ledger.needed:
                ledger.discard()


def _keep_examples_elsewhere() -> None:
    """Let Hypothesis keep examples in the user's cache; it would keep them in the working directory."""
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(platformdirs.user_cache_path(PROGRAM) / "hypothesis"))


def _options(contract: Contract, given: argparse.Namespace) -> Options:
    unknown = [name for name in given.resources if name not in contract.resources]
    if unknown:
        raise UsageError(f'no resource "{unknown[0]}"; resources are {", ".join(contract.resources)}')
    return options_of(given)


def tell_left(ledger: Ledger) -> None:
    """Report what is left behind, or may still appear."""
    for entry in ledger.left[:MOST_TOLD]:
        complain(f"left behind: {entry}")
    if len(ledger.left) > MOST_TOLD:
        complain(f"and {len(ledger.left) - MOST_TOLD} more are left behind; {ledger.path} lists them")
    if ledger.unanswered:
        complain(f"creates that were never answered, and of which nothing was found so far: {len(ledger.unanswered)}")


class Interrupts:
    """Turns Ctrl-C, SIGTERM and SIGHUP into an exception and a flag; finalizers and callbacks lose exceptions.

    A second interrupt, during clean-up, is ignored; a third ends clean-up too.
    """

    def __init__(self) -> None:
        self._count = 0
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._interrupt)
        sys.unraisablehook = lambda lost: lost.exc_type is KeyboardInterrupt or sys.__unraisablehook__(lost)

    @property
    def came(self) -> bool:
        """Whether there was an interrupt."""
        return self._count > 0

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count != PASSED_OVER:
            raise KeyboardInterrupt


def _state_file() -> Path:
    return platformdirs.user_state_path(PROGRAM) / "ledgers" / f"{strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl"


def write_reports(contract: Contract, outcome: Outcome, told: dict[str, Any], given: argparse.Namespace) -> bool:
    """Write each report that the command line asks for, if possible; return whether all were written.

    Args:
        contract: the open points.
        outcome: what the run came to.
        told: the same, as `results.json` holds it.
        given: the options.
    """
    today = datetime.fromtimestamp(outcome.began, UTC).date()
    wanted: list[Callable[[], None]] = []
    if given.write_waivers:
        wanted.append(lambda: waivers.write(given.write_waivers, outcome.results, today, strict=outcome.strict))
    if given.report_dir:
        from contract_tests.reports import folder  # noqa: PLC0415 - only reports need Jinja, which is slow to load

        wanted.append(lambda: folder.write(contract, outcome, told, given.report_dir))
    if runs_here():
        wanted.append(lambda: github.tell(told))
    written = True
    for write in wanted:
        try:
            write()
        except OSError as error:
            written = False
            complain(f"no report could be written: {error}")
    return written
