"""The options of a mock: the one table that the command line, the settings, the control plane and the console share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mock_server.effects.conditions import parsed
from mock_server.settings import SECONDS_TO_ANSWER, Settings

HIGHEST_PORT = 65535
MOST_PROCESSES = 64
ENVIRONMENT = "MOCK_CONTROL_TOKEN"
DATA, BEHAVIOUR, ACCESS, OUTPUT = "what it holds", "how it behaves", "who reaches it", "what it prints"
FRONT = "in front of a real deployment, instead of holding anything"
SHARED = "shared by several processes, on one machine or several"
FIXTURE = "demo|empty|FILE"
CLOCK = "start at the fixture's time and advance a second a write, or use the machine's time"
DEFAULTS = Settings()
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class Option:
    """An option of the command line.

    Attributes:
        flag: such as `--port`.
        group: its heading in `--help`.
        help: what it does.
        how: further arguments for argparse.
        setting: the setting that it sets, whole or in part; none if empty.
        switch: the type of the JSON with which the control plane changes the same setting, or None if it cannot.
    """

    flag: str
    group: str
    help: str
    how: Mapping[str, Any]
    setting: str = ""
    switch: Any = None

    @property
    def name(self) -> str:
        """What the control plane calls it."""
        return {"choices": "open"}.get(self.setting, self.setting)

    @property
    def is_for_the_start(self) -> bool:
        """Whether it sets what a mock begins with, so that the control plane can change it only with a reset."""
        return self.group == DATA


def _option(flag: str, group: str, text: str, setting: str = "", switch: Any = None, **how: Any) -> Option:
    """An option with its setting's default."""
    default = getattr(DEFAULTS, setting, None)
    if isinstance(default, (tuple, Mapping)):
        how |= {"action": "append", "default": []}
    elif setting and "action" not in how:
        how |= {"default": default}
    return Option(flag, group, text, how, setting, switch)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'"{text}" is no count; give 0 or more')
    return int(text)


def _processes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_PROCESSES:
        raise argparse.ArgumentTypeError(f'"{text}" is no number of processes; give 1 to {MOST_PROCESSES}')
    return int(text)


def _condition(text: str) -> tuple[str, float]:
    try:
        return parsed(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _rate(text: str) -> int:
    number, slash, unit = text.partition("/")
    if not number.isdecimal() or int(number) == 0 or slash + unit != "/m":
        raise argparse.ArgumentTypeError(f'"{text}" is no rate; give requests in a minute, such as 60/m')
    return int(number)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f'"{text}" is no port; give a number from 0 to {HIGHEST_PORT}')
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


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is no number of seconds; give one such as 30') from None


def _without_slash(text: str) -> str:
    return text.rstrip("/")


OPTIONS = (
    _option("--fixture", DATA, "what accounts start with (default: %(default)s)", "fixture", str, metavar=FIXTURE),
    _option(
        "--records",
        DATA,
        "add N generated records of each resource to the first account",
        "records",
        int,
        type=_count,
        metavar="N",
    ),
    _option("--api-key", DATA, "add a key with an account of its own; may be repeated", "api_keys", metavar="KEY"),
    _option(
        "--sandboxes", DATA, "sandbox accounts to keep (default: %(default)s)", "sandboxes", type=_count, metavar="N"
    ),
    _option("--journal", DATA, "requests to keep (default: %(default)s)", "journal", type=_count, metavar="N"),
    _option("--seed", DATA, "seed of the colours (default: %(default)s)", "seed", type=_seed, metavar="N"),
    _option("--clock", DATA, CLOCK, choices=("fixture", "system"), default="fixture"),
    _option(
        "--open",
        BEHAVIOUR,
        "choose a value for an open point; may be repeated",
        "choices",
        dict,
        type=_choice,
        metavar="POINT=VALUE",
    ),
    _option("--profile", BEHAVIOUR, "choose the values in a profile.yaml that a run wrote", type=Path, metavar="FILE"),
    _option(
        "--grease",
        BEHAVIOUR,
        "choose the values of all other open points at random",
        "grease",
        int | None,
        type=_seed,
        metavar="SEED",
    ),
    _option("--defect", BEHAVIOUR, "break a rule in a named way; may be repeated", "defects", list, metavar="NAME"),
    _option(
        "--condition",
        BEHAVIOUR,
        "add trouble such as lag=0.3; may be repeated",
        "conditions",
        dict,
        type=_condition,
        metavar="NAME[=N]",
    ),
    _option("--rate-limit", BEHAVIOUR, "answer 429 to an account that sends more", type=_rate, metavar="60/m"),
    _option("--host", ACCESS, "address to listen on (default: %(default)s)", default="127.0.0.1"),
    _option("--port", ACCESS, "port; 0 picks a free one (default: %(default)s)", type=_port, default=8000),
    _option("--base-path", ACCESS, "path in front of /api", "base_path", type=_without_slash, metavar="/PREFIX"),
    _option(
        "--public-base-url",
        ACCESS,
        "what page links begin with (default: the URL of the request)",
        "public_base_url",
        type=_without_slash,
        metavar="URL",
    ),
    _option("--cors", ACCESS, "let pages of other origins call (default: on)", choices=("on", "off"), default="on"),
    _option(
        "--cors-origin", ACCESS, "let only pages of this origin call; may be repeated", "cors_origins", metavar="ORIGIN"
    ),
    _option(
        "--control-origin",
        ACCESS,
        "let pages of this origin use the control plane; may be repeated",
        metavar="ORIGIN",
        action="append",
        default=[],
    ),
    _option("--tls-cert", ACCESS, "serve HTTPS with this certificate", type=Path, metavar="FILE"),
    _option("--tls-key", ACCESS, "the certificate's key", type=Path, metavar="FILE"),
    _option(
        "--control-token", ACCESS, f"token that opens the control plane; better in ${ENVIRONMENT}", metavar="TOKEN"
    ),
    _option("--control-token-file", ACCESS, "file that holds the control token", type=Path, metavar="FILE"),
    _option("--store", SHARED, "keep all it holds in Redis, such as redis://localhost/0", "store", metavar="URL"),
    _option("--store-prefix", SHARED, "begin keys with NAME (default: %(default)s)", "store_prefix", metavar="NAME"),
    _option(
        "--store-lifetime",
        SHARED,
        "forget all that long after the last request, or up to twice as long (default: never)",
        "store_lifetime",
        type=_count,
        metavar="SECONDS",
    ),
    _option(
        "--workers", SHARED, "serve with N processes (default: %(default)s)", type=_processes, default=1, metavar="N"
    ),
    _option("--forward-to", FRONT, "forward requests to the deployment at URL", type=_without_slash, metavar="URL"),
    _option("--read-only", FRONT, "refuse writes", action="store_true"),
    _option("--rewrite-links", FRONT, "let page links and redirects of the deployment lead here", action="store_true"),
    _option("--record", FRONT, "write what lists and reads showed as a fixture, at the end", type=Path, metavar="FILE"),
    _option("--verbatim", FRONT, "record texts as they are, instead of others of their shape", action="store_true"),
    _option(
        "--timeout",
        FRONT,
        "seconds to wait for the deployment (default: %(default)g)",
        type=_seconds,
        default=SECONDS_TO_ANSWER,
        metavar="SECONDS",
    ),
    _option("--ca-bundle", FRONT, "authorities to trust, as PEM", type=Path, metavar="FILE"),
    _option("--client-cert", FRONT, "certificate to show to the deployment, as PEM", type=Path, metavar="FILE"),
    _option("--client-key", FRONT, "key of that certificate, if in a file of its own", type=Path, metavar="FILE"),
    _option("--insecure", FRONT, "trust any certificate", action="store_true"),
    _option("--watch", DATA, "start again when the file of the fixture has changed", action="store_true"),
    _option(
        "--write-fixture", OUTPUT, "write a fixture to begin with, and its schema, and exit", type=Path, metavar="FILE"
    ),
    _option("--list-open", OUTPUT, "list the open points with their values, and exit", action="store_true"),
    _option("--list-defects", OUTPUT, "list the defects with the rules they break, and exit", action="store_true"),
    _option("--list-conditions", OUTPUT, "list the conditions, and exit", action="store_true"),
    _option(
        "--print-contract",
        OUTPUT,
        "print openapi.yaml, or its rendering for generators of clients, and exit",
        choices=("whole", "client"),
    ),
    _option("--log-level", OUTPUT, "info logs a line for each request (default: info)", choices=LEVELS, default="info"),
    _option(
        "--ignore-remark",
        OUTPUT,
        "do not count remarks about a rule, such as client.polling or 'forms.*'; may be repeated",
        "ignore_remarks",
        metavar="RULE",
    ),
    _option(
        "--har",
        OUTPUT,
        "write the journal as an HTTP archive at the end, for contract-tests judge",
        type=Path,
        metavar="FILE",
    ),
    _option("--fail-on-remarks", OUTPUT, "exit with status 1 if clients made mistakes", action="store_true"),
)
SWITCHES = {
    option.name: option for option in sorted(OPTIONS, key=lambda option: option.is_for_the_start) if option.switch
}
