"""The options of a mock: the one table that the command line, the settings, the control plane and the console share."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mock_server.effects.conditions import parsed
from mock_server.settings.settings import SECONDS_TO_ANSWER, Settings

MAX_PORT = 65535
MAX_PROCESSES = 64
ENVIRONMENT = "MOCK_CONTROL_TOKEN"
HOST = "MOCK_HOST"
DATA, BEHAVIOUR, ACCESS, OUTPUT = "data", "behaviour", "network", "output"
PROXY = "in front of a deployment"
SHARED = "shared by several processes, on one machine or several"
ACTIONS = "what is done instead of serving"
DEFAULTS = Settings()
FILE = click.Path(path_type=Path)
COUNT = click.IntRange(0)


class Option(click.Option):
    """An option of the command line.

    Args:
        flag: such as `--port`.
        group: its heading in `--help`.
        text: what it does.
        setting: the setting that it sets, whole or in part; none if empty.
        switch: the type of the JSON with which the control plane changes the same setting, or None if it cannot.
        settings: further arguments for click.
    """

    def __init__(
        self, flag: str, group: str, text: str, setting: str = "", switch: Any = None, **settings: Any
    ) -> None:
        default = getattr(DEFAULTS, setting, None)
        if isinstance(default, (tuple, Mapping)):
            settings |= {"multiple": True}
        elif setting and default is not None:
            settings |= {"default": default, "show_default": default not in (0, "")}
        super().__init__([flag], help=text, **{"hidden": group in (PROXY, ACTIONS)} | settings)
        self.flag, self.group, self.setting, self.switch = flag, group, setting, switch

    @property
    def plane_name(self) -> str:
        """What the control plane calls it."""
        return {"choices": "open"}.get(self.setting, self.setting)

    @property
    def is_for_the_start(self) -> bool:
        """Whether it sets what a mock begins with, so that the control plane can change it only with a reset."""
        return self.group == DATA


def _condition(text: str) -> tuple[str, float]:
    try:
        return parsed(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _rate(text: str) -> int:
    number, slash, unit = text.partition("/")
    if not number.isdecimal() or int(number) == 0 or slash + unit != "/m":
        raise click.BadParameter(f'invalid rate "{text}": expected something like 60/m')
    return int(number)


def _choice(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f'invalid choice "{text}": expected POINT=VALUE, such as create-status=200')
    return name, value


def without_slash(text: str) -> str:
    return text.rstrip("/")


def _flag(flag: str, group: str, text: str) -> Option:
    return Option(flag, group, text, is_flag=True)


# fmt: off
OPTIONS = (
    Option("--fixture", DATA, "what accounts start with", "fixture", str, metavar="demo|empty|FILE"),
    Option("--records", DATA, "add N generated records of each resource to the first account", "records", int,
           type=COUNT, metavar="N"),
    Option("--api-key", DATA, "add a key with an account of its own; may be repeated", "api_keys", metavar="KEY"),
    Option("--sandboxes", DATA, "sandbox accounts to keep", "sandboxes", type=COUNT, metavar="N"),
    Option("--journal", DATA, "requests to keep", "journal", type=COUNT, metavar="N"),
    Option("--seed", DATA, "seed of the colours", "seed", type=int, metavar="N"),
    Option("--clock", DATA, "start at the fixture's time and advance a second a write, or use the machine's time",
           type=click.Choice(("fixture", "system")), default="fixture"),
    _flag("--watch", DATA, "start again when the file of the fixture has changed"),
    _flag("--save", DATA, "write the records to the file of the fixture at the end"),
    Option("--open", BEHAVIOUR, "choose a value for an open point; may be repeated", "choices", dict,
           type=_choice, metavar="POINT=VALUE"),
    Option("--profile", BEHAVIOUR, "choose the values in a profile.yaml that a run wrote", type=FILE, metavar="FILE"),
    Option("--grease", BEHAVIOUR, "choose the values of all other open points at random", "grease", int | None,
           type=int, metavar="SEED"),
    Option("--defect", BEHAVIOUR, "break a rule in a named way; may be repeated", "defects", list, metavar="NAME"),
    Option("--extend", BEHAVIOUR, "call extend(app) of a Python file; read again when it is saved",
           "extend", type=FILE, metavar="FILE"),
    Option("--condition", BEHAVIOUR, "add trouble such as lag=0.3; may be repeated", "conditions", dict,
           type=_condition, metavar="NAME[=N]"),
    Option("--rate-limit", BEHAVIOUR, "answer 429 to an account that sends more", type=_rate, metavar="60/m"),
    Option("--host", ACCESS, f"address to listen on; also ${HOST}", default="127.0.0.1", show_default=True,
           envvar=HOST),
    Option("--port", ACCESS, "port; 0 picks a free one", type=click.IntRange(0, MAX_PORT), default=8000,
           show_default=True, metavar="N"),
    Option("--base-path", ACCESS, "path in front of /api", "base_path", type=without_slash, metavar="/PREFIX"),
    Option("--public-base-url", ACCESS, "what page links begin with [default: the URL of the request]",
           "public_base_url", type=without_slash, metavar="URL"),
    Option("--cors", ACCESS, "let pages of other origins call", type=click.Choice(("on", "off")), default="on",
           show_default=True),
    Option("--cors-origin", ACCESS, "let only pages of this origin call; may be repeated", "cors_origins",
           metavar="ORIGIN"),
    Option("--control-origin", ACCESS, "let pages of this origin use the control plane; may be repeated",
           multiple=True, metavar="ORIGIN"),
    Option("--tls-cert", ACCESS, "serve HTTPS with this certificate", type=FILE, metavar="FILE"),
    Option("--tls-key", ACCESS, "the certificate's key", type=FILE, metavar="FILE"),
    Option("--control-token", ACCESS, f"token that opens the control plane; better in ${ENVIRONMENT}", metavar="TOKEN"),
    Option("--control-token-file", ACCESS, "file that holds the control token", type=FILE, metavar="FILE"),
    Option("--store", SHARED, "keep all it holds in Redis, such as redis://localhost/0", "store", metavar="URL"),
    Option("--store-prefix", SHARED, "begin keys with NAME", "store_prefix", metavar="NAME"),
    Option("--store-lifetime", SHARED,
           "forget all that long after the last request, or up to twice as long [default: never]", "store_lifetime",
           type=COUNT, metavar="SECONDS"),
    Option("--workers", SHARED, "serve with N processes", type=click.IntRange(1, MAX_PROCESSES), default=1,
           show_default=True, metavar="N"),
    Option("--forward-to", ACTIONS, "forward requests to the deployment at URL", type=without_slash, metavar="URL"),
    _flag("--read-only", PROXY, "refuse writes"),
    _flag("--rewrite-links", PROXY, "let page links and redirects of the deployment lead here"),
    Option("--record", PROXY, "write what lists and reads showed as a fixture, at the end", type=FILE, metavar="FILE"),
    _flag("--verbatim", PROXY, "record texts as they are, instead of others of their shape"),
    Option("--timeout", PROXY, "seconds to wait for the deployment", type=float, default=SECONDS_TO_ANSWER,
           show_default=True, metavar="SECONDS"),
    Option("--ca-bundle", PROXY, "authorities to trust, as PEM", type=FILE, metavar="FILE"),
    Option("--client-cert", PROXY, "certificate to show to the deployment, as PEM", type=FILE, metavar="FILE"),
    Option("--client-key", PROXY, "key of that certificate, if in a file of its own", type=FILE, metavar="FILE"),
    _flag("--insecure", PROXY, "trust any certificate"),
    Option("--write-fixture", ACTIONS, "write a fixture to begin with, and its schema", type=FILE, metavar="FILE"),
    _flag("--list-open", ACTIONS, "list the open points with their values"),
    _flag("--list-defects", ACTIONS, "list the defects with the rules they break"),
    _flag("--list-conditions", ACTIONS, "list the conditions"),
    Option("--print-contract", ACTIONS, "print the contract", type=click.Choice(("whole", "client"))),
    Option("--log-level", OUTPUT, "info logs a line for each request",
           type=click.Choice(("debug", "info", "warning", "error")), default="info", show_default=True),
    Option("--ignore-remark", OUTPUT,
           "do not count remarks about a rule, such as client.polling or 'forms.*'; may be repeated",
           "ignore_remarks", metavar="RULE"),
    Option("--har", OUTPUT, "write the journal as an HTTP archive at the end, for contract-tests judge", type=FILE,
           metavar="FILE"),
    _flag("--ready-json", OUTPUT, "say in one line of JSON where it listens, for a program that starts it"),
    _flag("--fail-on-remarks", OUTPUT, "exit with status 1 if clients made mistakes"),
)
# fmt: on
SWITCHES = {
    option.plane_name: option for option in sorted(OPTIONS, key=lambda option: option.is_for_the_start) if option.switch
}


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """A command line: what each option says, by the name that click gives it.

    Attributes:
        command: the name of the command.
        words: the whole line.
        names_used: the names of the options that are on it.
    """

    command: str
    words: tuple[str, ...]
    names_used: frozenset[str]
    fixture: str
    records: int
    api_key: tuple[str, ...]
    sandboxes: int
    journal: int
    seed: int
    clock: str
    watch: bool
    save: bool
    open: tuple[tuple[str, str], ...]
    profile: Path | None
    grease: int | None
    defect: tuple[str, ...]
    extend: Path | None
    condition: tuple[tuple[str, float], ...]
    rate_limit: int | None
    host: str
    port: int
    base_path: str
    public_base_url: str | None
    cors: str
    cors_origin: tuple[str, ...]
    control_origin: tuple[str, ...]
    tls_cert: Path | None
    tls_key: Path | None
    control_token: str | None
    control_token_file: Path | None
    store: str | None
    store_prefix: str
    store_lifetime: int
    workers: int
    forward_to: str | None
    read_only: bool
    rewrite_links: bool
    record: Path | None
    verbatim: bool
    timeout: float
    ca_bundle: Path | None
    client_cert: Path | None
    client_key: Path | None
    insecure: bool
    write_fixture: Path | None
    list_open: bool
    list_defects: bool
    list_conditions: bool
    print_contract: str | None
    log_level: str
    ignore_remark: tuple[str, ...]
    har: Path | None
    ready_json: bool
    fail_on_remarks: bool


@dataclass(frozen=True, kw_only=True)
class TryOptions(ServerOptions):
    """The command line of a trial."""

    client: tuple[str, ...]
    vary: str
    only: tuple[str, ...]
    jobs: int
    runs: int
    minutes: float | None
    client_junit: Path | None
    limit: int
    env: tuple[tuple[str, str], ...]
    manual: bool
    report_dir: Path | None
    baseline: Path | None
