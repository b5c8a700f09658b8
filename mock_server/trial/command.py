"""The command `mock-server try`."""

import math
import signal
import sys
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

import click

from mock_server.app import contract_of
from mock_server.defects import DEFECTS
from mock_server.errors import SettingsError
from mock_server.options import TryOptions
from mock_server.output import say
from mock_server.settings.settings import Settings
from mock_server.trial import report
from mock_server.trial.client_test import BROKEN, OPEN, TROUBLE, ClientTest
from mock_server.trial.runs import Command, Person, Runs
from mock_server.trial.trouble import KINDS

SIGNALS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else [])]


def try_client(options: TryOptions, settings: Mapping[str, Any]) -> int:
    """Try a client, report what it relies on, and return the exit status.

    Args:
        options: those of the command line.
        settings: those of the server with default choices.

    Raises:
        SettingsError: if it can't be tried.
    """
    usual = Settings(**settings)
    if options.minutes is not None and not math.isfinite(options.minutes):
        raise SettingsError(f"--minutes is {options.minutes}; give a number, such as 5")
    vary = _kinds_to_vary(options, usual)
    before = report.read_failures(options.baseline) if options.baseline else None
    folder = options.report_dir and options.report_dir.absolute()  # whatever the command does to this folder
    if folder:
        report.prepare(folder)
    client = Person() if options.manual else Command(options.client, dict(options.env))
    served = {"host": options.host, "port": _port(options), **settings}
    runs = Runs(served, client, options.limit, options.client_junit and options.client_junit.absolute())
    client_test = ClientTest(
        runs,
        usual,
        jobs=options.jobs,
        max_runs=options.runs,
        max_seconds=60 * options.minutes if options.minutes else math.inf,
        is_repeated=not options.manual,
    )
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)
    try:
        client_test.carry_out(vary, options.only)
    except (KeyboardInterrupt, click.Abort):
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # a second one comes from impatience
        client_test.stop_reason = report.BY_YOU
    except OSError as error:
        raise SettingsError(f"the trial cannot go on: {error}") from error
    finally:
        client.stop()
    results = report.document(client_test, list(options.client), runs)
    if before is not None and not client_test.own_failure:
        results = report.gated(results, before)
    say(report.text(results))
    if folder:
        report.write(results, folder)
    status: int = results["status"]
    return status


def _port(options: TryOptions) -> int:
    """The port of each server, or 0 for one that is free."""
    if bool(options.client) == options.manual:
        raise SettingsError("give the command that starts your client after --, or --manual if none can")
    port: int = options.port if options.manual or "port" in options.names_used else 0
    if options.jobs > 1 and (port or options.manual):
        raise SettingsError("--jobs goes with a free port for each run; leave --port and --manual out")
    if options.jobs > 1 and options.client_junit:
        raise SettingsError("--client-junit names one file, which runs at the same time would share; leave --jobs out")
    return port


def _kinds_to_vary(options: TryOptions, settings: Settings) -> set[str]:
    """What is varied: what is asked for, or whatever the names after --only are."""
    kinds: dict[str, Collection[str]] = {OPEN: contract_of(settings).open_points, TROUBLE: KINDS, BROKEN: DEFECTS}
    vary = set(options.vary.split(","))
    if unknown := vary - set(kinds):
        raise SettingsError(f'--vary cannot vary "{unknown.pop()}"; it varies {", ".join(kinds)}')
    names = {name: kind for kind, known_names in kinds.items() for name in known_names}
    for name in [choice.partition("=")[0] for choice in options.only]:
        if name not in names:
            close = get_close_matches(name, names, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}?" if close else "`mock-server list open` names the open points"
            raise SettingsError(f'--only names "{name}", which is no open point, trouble or defect; {hint}')
    return {names[choice.partition("=")[0]] for choice in options.only} or vary
