"""The command `contract-tests run`: progress, interrupts, reports, and `--watch`."""

import math
import os
import secrets
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread
from types import FrameType
from typing import Any, Self
from urllib.parse import urlsplit

import platformdirs

from contract_tests.commands import compare
from contract_tests.commands.cleanup import adopt, report_left
from contract_tests.errors import (
    BROKEN,
    FAILED,
    UNDECIDED,
    InterruptedRunError,
    StoppedError,
    UnusableTargetError,
    UsageError,
)
from contract_tests.options import RunOptions
from contract_tests.output import complain, runs_in_github, say, without_workflow_commands
from contract_tests.reports import ci, results, terminal
from contract_tests.run import WAITING, Options, Progress, options_of, run
from contract_tests.survey.visit import CLEANING_UP
from contract_tests.target.ledger import Ledger
from contract_tests.target.ledger_file import LedgerFile, digest_of
from contract_tests.verdicts.verdicts import Outcome
from contract_tests.verdicts.waivers import write_waivers
from link_management_contract import Contract

PROGRAM = "link-management-contract"
BETWEEN_LINES, BETWEEN_UPDATES = 10, 0.5  # seconds between two lines of progress without a terminal, and on one
BETWEEN_URGENT = 2.0  # seconds between two lines about waits, or the clean-up of an interrupted run
REQUESTS_OF_A_REMOVAL = 1.5  # some records are read first
IGNORED = 2  # the interrupt to ignore: a second one comes from impatience, and clean-up takes a moment
BETWEEN_LOOKS, STARTING = 0.3, 0.3  # seconds between looks at a watched server, and until one that listens is ready


def run_command(contract: Contract, options: RunOptions) -> int:
    """Judge an implementation, and report the outcome.

    Returns:
        The exit status.

    Raises:
        UsageError: if the options are invalid.
        NothingSelectedError: if they select nothing.
        UnusableTargetError: if nothing can be judged there.
    """
    if options.plan:
        from contract_tests.commands import plan  # noqa: PLC0415 - only this needs a mock

        _keep_examples_elsewhere()
        plan.show(contract, _options(contract, options), terminal.TerminalConsole())
        return 0
    interrupts = Interrupts()
    if options.watch:
        return _run_repeatedly(contract, options, interrupts)
    baseline = compare.read(options.baseline) if options.baseline else None
    try:
        outcome = carry_out(contract, options, interrupts, ProgressDisplay(options))
    except UnusableTargetError as error:
        with suppress(OSError):
            if options.report_dir:
                from contract_tests.reports import html  # noqa: PLC0415 - as in write_reports

                html.remove_reports(contract, options.report_dir)  # whose verdict is not that of this run
            ci.report_unusable(str(error), options.report_dir)
        raise
    document = results.as_dict(outcome)
    regression = compare.Regression.of(baseline, document) if baseline else None
    changes = regression.lines if regression else []
    if not write_reports(contract, outcome, document, options, regression):
        outcome = replace(outcome, word=f"{outcome.word}, and a report is missing", status=outcome.status or BROKEN)
        document = results.as_dict(outcome)
    _show(options, outcome, document, changes)
    status = _gated(outcome, regression) if regression else outcome.status
    if outcome.status and not status:
        say("no worse than the baseline")
    return status


def _show(options: RunOptions, outcome: Outcome, document: dict[str, Any], changes: Sequence[str] = ()) -> None:
    with without_workflow_commands():
        if outcome.interrupted:
            complain(str(InterruptedRunError(left=len(outcome.left))))
        elif options.quiet:
            say("\n".join([*changes, outcome.verdict]))
        else:
            console, folder = terminal.TerminalConsole(), options.report_dir
            terminal.show(document, console, verbose=options.verbose, folder=folder, changes=changes)


def _gated(outcome: Outcome, regression: compare.Regression) -> int:
    """The exit status of a run that only has to be no worse than an earlier one."""
    if regression.worsened:
        return FAILED
    if outcome.status in (FAILED, UNDECIDED) and not (outcome.stale or outcome.exceeded):
        return BROKEN if outcome.left else 0
    return outcome.status


class ProgressDisplay:
    """A context manager that shows a run's progress: continuously on a terminal, elsewhere a line now and then.

    Failures are shown as soon as they are certain, on a terminal and in `results.json`.
    """

    def __init__(self, options: RunOptions) -> None:
        self._console = terminal.TerminalConsole(stderr=True)
        self._options = options
        self._failed: set[str] = set()
        self._status = self._console.status("")
        self._started = time.monotonic()
        self._line, self._requests = "beginning", 0
        self._end_event, self._next_urgent = Event(), 0.0
        self.ledger, self._is_ledger_named = Ledger(), False
        self.interrupted: Callable[[], bool] = lambda: False

    def __call__(self, chapter: str, requests: int) -> None:
        """Note the current chapter and the number of requests so far."""
        self._line, self._requests = f"{chapter}  ·  {requests} requests", requests
        if self.ledger.entries and not (self._is_ledger_named or self._console.is_terminal or self._options.quiet):
            self._is_ledger_named = True
            complain(f"what this run makes is noted in {self.ledger.file.path}, for contract-tests cleanup")
        is_urgent = WAITING in chapter or (CLEANING_UP in chapter and self.interrupted())
        if is_urgent and not self._console.is_terminal and time.monotonic() >= self._next_urgent:
            self._next_urgent = time.monotonic() + BETWEEN_URGENT
            complain(self._line + self._clean_up_left)

    @property
    def shows_failures(self) -> bool:
        """Whether anybody sees failures before the run is over."""
        return bool(self._options.report_dir) or (self._console.is_terminal and not self._options.quiet)

    def certain(self, outcome: Outcome) -> None:
        """Show the failures that are new, and keep all of them in `results.json` in case the run does not end well."""
        failed = {result.id for result in outcome.failed}
        if self._console.is_terminal and not self._options.quiet:
            for name in sorted(failed - self._failed):
                self._console.print(f"fail: {name}", style="red")
        if self._options.report_dir and failed - self._failed:
            with suppress(OSError):  # it is written again at the end, and then complained of
                self._options.report_dir.mkdir(parents=True, exist_ok=True)
                results.write(results.as_dict(outcome), self._options.report_dir / results.FILE)
        self._failed |= failed

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status.start()
        Thread(target=self._show_lines, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()
        self._end_event.set()

    def _show_lines(self) -> None:
        """Show again and again how far the run is, and of its clean-up how much is left to do."""
        is_terminal = self._console.is_terminal
        while not self._end_event.wait(BETWEEN_UPDATES if is_terminal else BETWEEN_LINES):
            line = f"{self._line}  ·  {time.monotonic() - self._started:.0f} s{self._clean_up_left}"
            (self._status.update if is_terminal else complain)(line)

    @property
    def _clean_up_left(self) -> str:
        """How many records clean-up has left to remove, and for how long at the pace so far; empty before clean-up."""
        if CLEANING_UP not in self._line:
            return ""
        records, seconds = len(self.ledger.left), time.monotonic() - self._started
        expected = REQUESTS_OF_A_REMOVAL * records * seconds / max(self._requests, 1)
        return f"  ·  {records} records to remove, in about {math.ceil(expected)} s"


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

    def __call__(self) -> bool:
        return self._count > 0

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count != IGNORED:
            raise KeyboardInterrupt


def carry_out(
    contract: Contract,
    options: RunOptions,
    interrupted: Callable[[], bool],
    display: ProgressDisplay | None = None,
) -> Outcome:
    """Judge an implementation as the command line says, and report what is left behind, whatever happens.

    Raises:
        StoppedError: if nothing can be judged.
    """
    checked = _options(contract, options)
    _keep_examples_elsewhere()
    records_not_adopted = adopt(contract, options.adopt, options) if options.adopt else []
    if checked.connection.insecure:
        complain("INSECURE: any certificate is trusted, so nobody knows whose answers these are")
    account, token = digest_of(checked.api_key), f"x{secrets.token_hex(2)}"
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{token}.jsonl"
    path = options.ledger or platformdirs.user_state_path(PROGRAM) / "ledgers" / name
    progress: Progress = display or (lambda _chapter, _requests: None)
    with (
        without_workflow_commands(),
        display or nullcontext(),
        Ledger(LedgerFile(path, checked.base_url, account), token) as ledger,
    ):
        if display:
            display.ledger, display.interrupted = ledger, interrupted
        try:
            certain = display.certain if display and display.shows_failures else None
            outcome = run(contract, checked, ledger, progress, interrupted, certain)
            return replace(outcome, notes=(*records_not_adopted, *outcome.notes))
        finally:
            report_left(ledger)
            if ledger.needed and ledger.file.path:
                complain(f"to look again, and remove what is there, run: contract-tests cleanup {ledger.file.path}")
            if not ledger.needed:
                ledger.file.discard()


def _keep_examples_elsewhere() -> None:
    """Let Hypothesis keep examples in the user's cache; it would keep them in the working directory."""
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(platformdirs.user_cache_path(PROGRAM) / "hypothesis"))


def _options(contract: Contract, options: RunOptions) -> Options:
    unknown = [name for name in options.resources if name not in contract.resources]
    if unknown:
        raise UsageError(f'no resource "{unknown[0]}"; resources are {", ".join(contract.resources)}')
    return options_of(options)


def write_reports(
    contract: Contract,
    outcome: Outcome,
    document: dict[str, Any],
    options: RunOptions,
    regression: compare.Regression | None = None,
) -> bool:
    """Write each report that the command line asks for, if possible; return whether all were written."""
    today = datetime.fromtimestamp(outcome.started_at, UTC).date()
    changes = regression.lines if regression else []
    worsened = regression.worsened if regression else None
    writers: list[Callable[[], None]] = []
    if path := options.write_waivers:
        writers.append(partial(write_waivers, path, outcome.results, today, strict=outcome.strict))
    if folder := options.report_dir:
        from contract_tests.reports import html  # noqa: PLC0415 - only reports need Jinja, which is slow to load

        writers.append(partial(html.write_folder, contract, outcome, document, folder, changes))
    if runs_in_github():
        writers.append(lambda: ci.report_to_github(document, changes, worsened))
    is_complete = True
    for write in writers:
        try:
            write()
        except OSError as error:
            is_complete = False
            complain(f"no report could be written: {error}")
    return is_complete


def _run_repeatedly(contract: Contract, options: RunOptions, interrupts: Interrupts) -> int:
    """Judge again and again: what failed last comes first, and the rest once that is mended.

    Returns:
        The exit status of the last whole run, once the input has ended or `q` was entered.
    """
    last: Outcome | None = None
    status = 0
    while True:
        failed = _failed_rules(last)
        try:
            if failed:
                say(f"\nfirst what failed last: {', '.join(failed)}")
                first = carry_out(contract, replace(options, rules=failed), interrupts, ProgressDisplay(options))
                if _failed_rules(first):
                    _show(options, first, results.as_dict(first))
                    if not _wait_for_restart(options.base_url):
                        return status
                    continue
            outcome = carry_out(contract, options, interrupts, ProgressDisplay(options))
        except UsageError:
            raise
        except StoppedError as error:
            complain(str(error))
            status = error.status
        else:
            _show(options, outcome, results.as_dict(outcome))
            if last:
                say("\n".join(compare.Regression.of(results.as_dict(last), results.as_dict(outcome)).lines))
            last, status = outcome, outcome.status
        if not _wait_for_restart(options.base_url):
            return status


def _failed_rules(outcome: Outcome | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(result.rule.id for result in outcome.failed)) if outcome else ()


def _wait_for_restart(base_url: str) -> bool:
    """Wait until the server has stopped and started again, or for Enter; false at the end of the input, or on `q`."""
    say("\nwatching: restart the server or press Enter to judge again; q and Enter to end")
    was_down = False
    while True:
        with suppress(ValueError, OSError):  # an input that cannot be waited for
            if select.select([sys.stdin], [], [], BETWEEN_LOOKS)[0]:
                line = sys.stdin.readline()
                if not line:
                    say("the input has ended, so this stops watching; --watch needs a terminal")
                return bool(line) and line.strip() != "q"
        time.sleep(BETWEEN_LOOKS)
        is_up = _listens(base_url)
        if is_up and was_down:
            time.sleep(STARTING)
            return True
        if not is_up and not was_down:
            say("the server has stopped; it is judged again once it listens")
        was_down = not is_up


def _listens(base_url: str) -> bool:
    parts = urlsplit(base_url)
    address = (parts.hostname or "", parts.port or {"https": 443}.get(parts.scheme, 80))
    with suppress(OSError), socket.create_connection(address, timeout=1):
        return True
    return False
