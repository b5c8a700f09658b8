"""The command `mock-server try`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from types import SimpleNamespace
from typing import Any, NoReturn

from link_management_contract.texts import printable
from mock_server.app import contract_of
from mock_server.defects import DEFECTS
from mock_server.errors import SettingsError
from mock_server.settings import Settings
from mock_server.trial import report
from mock_server.trial.campaign import BROKEN, OPEN, TROUBLE, Campaign, OwnFailureError
from mock_server.trial.runs import Command, Person, Runs
from mock_server.trial.trouble import KINDS

BY_ITSELF = 7  # the exit status if the client fails by itself
LISTED = 20  # lines of what it printed


def try_client(options: SimpleNamespace, settings: Mapping[str, Any]) -> int:
    """Try a client, report what it relies on, and return the exit status.

    Args:
        options: those of the command line.
        settings: those of the server with default choices.

    Raises:
        SettingsError: if it can't be tried.
    """
    usual = Settings(**settings)
    vary = _varied(options, usual)
    if bool(options.client) == options.manual:
        raise SettingsError("give the command that starts your client after --, or --manual if none can")
    port = options.port if options.manual or "port" in options.used else 0
    if options.jobs > 1 and (port or options.manual):
        raise SettingsError("--jobs goes with a free port for each run; leave --port and --manual out")
    before = report.read_failures(options.baseline) if options.baseline else None
    if options.report_dir:
        report.prepare(options.report_dir)
    client = Person() if options.manual else Command(options.client, dict(options.env))
    signal.signal(signal.SIGTERM, _interrupt)
    runs = Runs({"host": options.host, "port": port, **settings}, client)
    campaign = Campaign(
        runs,
        usual,
        _say,
        lambda line: print(printable(line), file=sys.stderr, flush=True),
        jobs=options.jobs,
        most=options.runs,
        is_repeated=not options.manual,
    )
    try:
        campaign.carry_out(vary, options.only, together=2 if options.pairs else 1)
    except (KeyboardInterrupt, EOFError):
        client.stop()
        campaign.stopped = report.BY_YOU
    except OwnFailureError as error:
        why, output = error.args
        _say("\n".join([*output.splitlines()[-LISTED:], f"your client fails by itself, with default choices: {why}"]))
        return BY_ITSELF
    results = report.document(campaign, list(options.client), runs.first.unread)
    _say(report.text(results))
    if before is not None:
        results, lines = report.gated(results, before)
        _say("\n".join(lines))
    if options.report_dir:
        report.write(results, options.report_dir)
    status: int = results["status"]
    return status


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _varied(options: SimpleNamespace, settings: Settings) -> set[str]:
    """What is varied: what is asked for, or whatever the names after --only are.

    Raises:
        SettingsError: if there is no such thing.
    """
    kinds: dict[str, Collection[str]] = {OPEN: contract_of(settings).open_points, TROUBLE: KINDS, BROKEN: DEFECTS}
    vary = set(options.vary.split(","))
    if unknown := vary - set(kinds):
        raise SettingsError(f'--vary cannot vary "{unknown.pop()}"; it varies {", ".join(kinds)}')
    names = {name: kind for kind, known in kinds.items() for name in known}
    for name in options.only:
        if name not in names:
            near = get_close_matches(name, names, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "`mock-server list open` names the open points"
            raise SettingsError(f'--only names "{name}", which is no open point, trouble or defect; {hint}')
    return {names[name] for name in options.only} or vary


def _say(text: str) -> None:
    print(printable(text), flush=True)
