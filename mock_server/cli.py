"""The command `mock-server`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

from mock_server import printed
from mock_server.clock import system_clock
from mock_server.errors import SettingsError
from mock_server.faults.conditions import CONDITIONS
from mock_server.server import MockServer
from mock_server.settings import read_profile

REMARKED, USAGE_ERROR = 1, 2
SECONDS_TO_NOTICE = 0.1  # that a signal came
HIGHEST_PORT = 65535
ENVIRONMENT = "MOCK_CONTROL_TOKEN"


class _Parser(argparse.ArgumentParser):
    """Tells a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the mock until Ctrl-C or SIGTERM.

    Args:
        arguments: the command line; that of the process, if None.

    Raises:
        SystemExit: with status 0 when it was stopped, 1 if there were remarks that are to fail it, 2 when it could not
            start.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    with suppress(AttributeError):  # a stream of one's own may have no encoding
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    lists = {"open": printed.open_points, "defects": printed.defects, "conditions": printed.conditions}
    for name, text in lists.items():
        if getattr(options, f"list_{name}"):
            return _say(text())
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until it listens, there is nothing to tidy up
    logging.raiseExceptions = False  # likewise a log that cannot be written
    logging.basicConfig(level=options.log_level.upper(), format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    try:
        server = _server(options)
        with server:
            came: list[int] = []  # an event has a lock, which a second signal may find taken by the first
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: came.append(1))
            _say(printed.banner(server))
            while not came:
                time.sleep(SECONDS_TO_NOTICE)
    except SettingsError as error:
        parser.error(str(error))
    remarks = printed.remarks(server)
    _say(remarks or "Stopped.")
    os._exit(REMARKED if options.fail_on_remarks and server.running.journal.remarked else 0)  # whatever still hangs


def _server(options: argparse.Namespace) -> MockServer:
    if options.rate_limit and "rate-limit" in dict(options.condition):
        raise SettingsError("--rate-limit and --condition rate-limit are the same; give one of them")
    return MockServer(
        options.host,
        options.port,
        fixture=options.fixture,
        records=options.records,
        api_keys=tuple(options.api_key),
        choices=(read_profile(options.profile) if options.profile else {}) | dict(options.open),
        grease=options.grease,
        grease_each_request=options.grease_each_request,
        conditions=dict(options.condition) | ({"rate-limit": options.rate_limit} if options.rate_limit else {}),
        defects=tuple(options.defect),
        base_path=options.base_path.rstrip("/"),
        public_base_url=options.public_base_url and options.public_base_url.rstrip("/"),
        cors_origins=tuple(options.cors_origin) or ("*",) if options.cors == "on" else (),
        seed=options.seed,
        clock=system_clock if options.clock == "system" else None,
        sandboxes=options.sandboxes,
        journal=options.journal,
        control_token=_token(options),
    )


def _token(options: argparse.Namespace) -> str | None:
    """The control token, which stands best where neither other users nor logs see it.

    Raises:
        SettingsError: if it is given in more than one way, or its file cannot be read.
    """
    given = [each for each in (options.control_token, os.environ.get(ENVIRONMENT)) if each is not None]
    if options.control_token_file:
        try:
            given.append(options.control_token_file.read_text("utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"the file of the control token cannot be read: {error}") from error
    if len(given) > 1:
        raise SettingsError(f"the control token is given twice; give one of --control-token, its file, ${ENVIRONMENT}")
    return given[0] if given else None


def _say(text: str) -> None:
    """Print, if anybody listens: a closed pipe or a full disk is no reason to stop serving."""
    with suppress(OSError):
        print(text, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mock-server", description="A stateful mock of the link-management service API.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    for title, add_options in (
        ("what it holds", _add_data),
        ("how it behaves", _add_behaviour),
        ("who reaches it", _add_access),
        ("what it prints", _add_output),
    ):
        add_options(parser.add_argument_group(title).add_argument)
    return parser


def _add_data(add: Callable[..., Any]) -> None:
    add("--fixture", default="demo", metavar="demo|empty|FILE", help="what accounts start with (default: %(default)s)")
    add(
        "--records",
        type=_count,
        default=0,
        metavar="N",
        help="add N generated records of each kind to the first account",
    )
    add(
        "--api-key",
        action="append",
        default=[],
        metavar="KEY",
        help="add a key with an account of its own; may be repeated",
    )
    add("--sandboxes", type=_count, default=1000, metavar="N", help="sandbox accounts to keep (default: %(default)s)")
    add("--journal", type=_count, default=1000, metavar="N", help="requests to keep (default: %(default)s)")
    add("--seed", type=_seed, default=0, metavar="N", help="seed of the colours (default: %(default)s)")
    add(
        "--clock",
        choices=("fixture", "system"),
        default="fixture",
        help="start at the fixture's time and advance a second a write, or use the machine's time",
    )


def _add_behaviour(add: Callable[..., Any]) -> None:
    add(
        "--open",
        type=_choice,
        action="append",
        default=[],
        metavar="POINT=VALUE",
        help="choose a value for an open point; may be repeated",
    )
    add("--profile", type=Path, metavar="FILE", help="choose the values in a profile.yaml that a run wrote")
    add("--grease", type=_seed, metavar="SEED", help="choose the values of all other open points at random")
    add(
        "--grease-each-request",
        action="store_true",
        help="choose again for each request, where that keeps the contract",
    )
    add("--defect", action="append", default=[], metavar="NAME", help="break a rule in a named way; may be repeated")
    add(
        "--condition",
        type=_condition,
        action="append",
        default=[],
        metavar="NAME[=N]",
        help="add trouble such as lag=0.3; may be repeated",
    )
    add("--rate-limit", type=_rate, metavar="60/m", help="answer 429 to an account that sends more")


def _add_access(add: Callable[..., Any]) -> None:
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    add("--port", type=_port, default=8000, help="port; 0 picks a free one (default: %(default)s)")
    add("--base-path", default="", metavar="/PREFIX", help="path in front of /api")
    add("--public-base-url", metavar="URL", help="what page links begin with (default: the URL of the request)")
    add("--cors", choices=("on", "off"), default="on", help="let pages of other origins call (default: on)")
    add(
        "--cors-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let only pages of this origin call; may be repeated",
    )
    add("--control-token", metavar="TOKEN", help=f"token that opens the control plane; better in ${ENVIRONMENT}")
    add("--control-token-file", type=Path, metavar="FILE", help="file that holds the control token")


def _add_output(add: Callable[..., Any]) -> None:
    add("--list-open", action="store_true", help="list the open points with their values, and exit")
    add("--list-defects", action="store_true", help="list the defects with the rules they break, and exit")
    add("--list-conditions", action="store_true", help="list the conditions, and exit")
    add(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="info logs a line for each request (default: info)",
    )
    add("--fail-on-remarks", action="store_true", help="exit with status 1 if clients made mistakes")


def _version() -> str:
    try:
        return version("link-management-contract")
    except PackageNotFoundError:
        return "that is not installed"


def _condition(text: str) -> tuple[str, float]:
    name, equals, measure = text.partition("=")
    try:
        return name, float(measure) if equals or name not in CONDITIONS else CONDITIONS[name].measures[0]
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is no condition; give NAME or NAME=N, such as lag=0.3') from None


def _rate(text: str) -> int:
    number, slash, unit = text.partition("/")
    if not number.isdecimal() or int(number) == 0 or slash + unit != "/m":
        raise argparse.ArgumentTypeError(f'"{text}" is no rate; give requests in a minute, such as 60/m')
    return int(number)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f'"{text}" is no port; give a number from 0 to {HIGHEST_PORT}')
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'"{text}" is no count; give 0 or more')
    return int(text)


def _seed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is no seed; give a whole number') from None


def _choice(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f'"{text}" is no choice; give POINT=VALUE, such as create-status=200')
    return name, value
