"""The command `contract-tests`: its options, and the statuses it ends with."""

import gc
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import click
from click import FloatRange, IntRange

from contract_tests.errors import BROKEN, INTERRUPTED, StoppedError, UsageError
from contract_tests.output import complain, without_workflow_commands
from link_management_contract import Contract, shipped_contract
from link_management_contract.texts import shown_url

GC_THRESHOLDS = (50_000, 20, 100)  # a run keeps nearly all that it sees: looking for garbage more often finds none
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
FILE = click.Path(path_type=Path)


def base_url(text: str) -> str:
    """The text, without a slash at the end, if it is a base URL.

    Raises:
        click.BadParameter: if it is not.
    """
    try:
        parts = urlsplit(text)
        has_only_a_path = not (parts.query or parts.fragment or "@" in parts.netloc or re.search(r"[^!-~]", text))
        fits = parts.scheme in ("http", "https") and parts.hostname and has_only_a_path and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise click.BadParameter(
            f'invalid base URL "{shown_url(text)}": expected something like https://links.example.com/prefix'
        )
    return text.rstrip("/")


def _folder(text: str) -> Path:
    if not text:
        raise click.BadParameter("name a folder; . is the one that you are in")
    return Path(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _rate(text: str) -> float:
    match = re.fullmatch(r"([1-9]\d*)/([smh])", text)
    if not match:
        raise click.BadParameter(f'invalid rate "{text}": expected something like 60/m')
    return SECONDS[match[2]] / int(match[1])


def _duration(text: str) -> float:
    match = re.fullmatch(r"([1-9]\d*)([smh])", text)
    if not match:
        raise click.BadParameter(f'invalid time "{text}": expected something like 90s or 10m')
    return int(match[1]) * SECONDS[match[2]]


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not value.strip().isprintable():
        raise click.BadParameter("a header is given as 'NAME: VALUE'")
    if not value.strip().isascii():
        raise click.BadParameter(f"the header {name} has letters beyond ASCII; write them in another way")
    if name.casefold() in ("content-type", "content-length", "transfer-encoding"):
        raise click.BadParameter(f"{name} describes the body of each request; the run sets it itself")
    if name.casefold() == "authorization":
        raise click.BadParameter("Authorization carries the API key; give that with --api-key")
    return name, value.strip()


def _flag(name: str, text: str) -> click.Option:
    return click.Option([name], is_flag=True, help=text)


_option = partial(click.Option, show_default=True)
TARGET = (
    _option(["--api-key"], metavar="KEY", help="key of the account; better in $CONTRACT_API_KEY"),
    _option(["--second-api-key"], metavar="KEY", help="key of another account; better in $CONTRACT_SECOND_API_KEY"),
    _option(["--rate"], type=_rate, metavar="60/m", help="send at most this many requests a second, minute or hour"),
    _option(["--timeout"], type=IntRange(1), default=30, metavar="SECONDS", help="time for a whole answer"),
    _option(["--patience"], type=_duration, default="2m", metavar="2m", help="how long a server may be away"),
    _option(["--header"], type=_header, multiple=True, metavar="'NAME: VALUE'", help="send this with each request"),
    _option(["--ca-bundle"], type=FILE, metavar="FILE", help="certificate authorities to trust (PEM)"),
    _flag("--insecure", "trust any certificate"),
    _option(["--client-cert"], type=FILE, metavar="FILE", help="client certificate (PEM)"),
    _option(["--client-key"], type=FILE, metavar="FILE", help="key of the client certificate, if in its own file"),
)
PUBLIC = _option(
    ["--public-base-url"], type=base_url, metavar="URL", help="what page links begin with, if not --base-url"
)
RUN = (
    _option(["--base-url"], type=base_url, required=True, metavar="URL", help="where it answers, with its prefix"),
    *TARGET,
    _flag("--allow-writes", "allow writes to a host other than this machine"),
    _flag("--read-only", "write nothing; judge only what reads show"),
    _flag("--watch", "judge again whenever the server has restarted, or on Enter"),
    _flag("--plan", "show what a run would do, and send nothing"),
    _option(["--resources"], type=_names, default="", metavar="NAME,...", help="resources to judge [default: all]"),
    _option(["--rules"], type=_names, default="", metavar="PATTERN,...", help="rules to judge, such as 'pagination.*'"),
    _flag("--strict", "let advisory rules fail the run"),
    _option(["--fail-on"], type=_names, default="", metavar="PATTERN,...", help="advisory rules that fail the run"),
    _option(
        ["--max-5xx"],
        type=IntRange(0),
        metavar="N",
        help="fail if more than N documented requests get a 5xx, outages and limits aside [default: no limit; 0 with"
        " --strict]",
    ),
    _option(["--slowest"], type=FloatRange(0, min_open=True), metavar="SECONDS", help="fail if an answer takes longer"),
    PUBLIC,
    _option(["--splash-create-path"], metavar="PATH", help="path that creates splash pages, if not the documented one"),
    _option(["--jobs"], type=IntRange(1), metavar="N", help="have at most N requests under way [default: 6]"),
    _option(["--max-failures"], type=IntRange(1), metavar="N", help="stop once N checks have failed"),
    _option(["--max-requests"], type=IntRange(1), metavar="N", help="never send more than N requests"),
    _option(["--deadline"], type=_duration, metavar="10m", help="stop after this time, clean-up aside"),
    _option(["--explore"], type=IntRange(0), default=466, metavar="N", help="generate about N further requests"),
    _option(
        ["--shrink"],
        type=IntRange(0),
        metavar="N",
        help="with --report-dir, send N requests at most for shorter scripts [default: a quarter of the others]",
    ),
    _option(["--fill"], type=IntRange(1, 1100), metavar="N", help="create records of one resource until there are N"),
    _flag("--large-files", "also send images of 200 kB and 2 MB"),
    _flag("--poison", "also send a name that is not UTF-8, which breaks each list on some servers; this machine only"),
    _option(["--overlap"], type=IntRange(0), default=0, metavar="N", help="rounds of overlapping requests to judge"),
    _option(["--seed"], type=IntRange(0), default=0, metavar="N", help="seed of the generated requests"),
    _option(["--lag"], type=FloatRange(0, 60), default=2.1, metavar="SECONDS", help="how long reads may lag writes"),
    _option(["--adopt"], type=FILE, metavar="DIR", help="first remove what earlier runs left, by the ledgers in here"),
    _option(["--ledger"], type=FILE, metavar="FILE", help="record what the run creates here, not in your state folder"),
    _option(["--waivers"], type=FILE, metavar="FILE", help="failures that are known and allowed for a while"),
    _option(["--write-waivers"], type=FILE, metavar="FILE", help="write a waivers file for what fails now"),
    _option(["--baseline"], type=FILE, metavar="RESULTS", help="fail only if a verdict is worse than in these results"),
    _option(["--report-dir"], type=_folder, metavar="DIR", help="write reports to this folder"),
    _flag("--quiet", "print only the verdict, and what has changed since a baseline"),
    _flag("--verbose", "also print the areas, the server's choices and all that was not judged"),
)
# options of a run that `mcp` does not take: its tools or the environment give them, or they are for people alone
MCP_OPTIONS = {"api_key", "second_api_key", "base_url", "watch", "plan", "resources", "rules", "explore", "overlap"}
SCREEN_OPTIONS = {"max_failures", "write_waivers", "baseline", "quiet", "verbose"}
COMMANDS: dict[str, tuple[str, tuple[click.Parameter, ...]]] = {
    "run": ("judge an implementation", RUN),
    "rules": (
        "list the rules and open points, or explain one, or a statement of the specification by its number",
        (click.Argument(["rule"], required=False),),
    ),
    "verdict": (
        "judge what the script of a finding printed; such scripts call it themselves",
        (
            click.Argument(["answers"], type=FILE),
            _option(["--base-url"], type=base_url, required=True, metavar="URL", help="where the script sent them"),
            _option(["--mark"], required=True, metavar="TEXT", help="what marks the script's records"),
        ),
    ),
    "judge": (
        "judge recorded traffic: an HTTP archive (HAR) of a browser, a proxy or a run",
        (
            click.Argument(["file"], type=FILE),
            _option(["--base-url"], type=base_url, metavar="URL", help="service to judge [default: the most frequent]"),
            PUBLIC,
            _flag("--strict", "let advisory rules fail"),
            _flag("--verbose", "also print the areas and the server's choices"),
        ),
    ),
    "compare": (
        "set the results of two runs side by side: results.json, or the folder it is in",
        (
            click.Argument(["results"], type=FILE, nargs=-1, required=True),
            _option(
                ["--baseline"], type=FILE, metavar="RESULTS", help="fail only if a verdict is worse than in this run"
            ),
            _flag("--all", "also show what is the same"),
            _option(["--json"], type=FILE, metavar="FILE", help="write the comparison to this file"),
        ),
    ),
    "cleanup": (
        "delete what an interrupted run left behind, as its ledger says",
        (
            click.Argument(["ledger"], type=FILE),
            _option(["--base-url"], type=base_url, metavar="URL", help="where it answers, if the ledger does not say"),
            *TARGET,
        ),
    ),
    "mcp": (
        "serve tools to a coding agent, over stdin and stdout; keys come from the environment alone",
        (
            _option(["--base-url"], type=base_url, metavar="URL", help="judge no other [default: any on this machine]"),
            *(option for option in RUN if option.name not in MCP_OPTIONS | SCREEN_OPTIONS),
        ),
    ),
    "prove": (
        "show that the suite catches every defect and fails no correct server",
        (
            _option(["--defect"], multiple=True, metavar="NAME", help="only this one [default: all that the mock has]"),
            _option(["--seeds"], type=IntRange(1), default=5, metavar="N", help="servers with each defect"),
            _option(["--grease"], type=IntRange(1), default=300, metavar="N", help="correct servers"),
            _flag("--short", "try a sample of both"),
            _option(["--jobs"], type=IntRange(1), metavar="N", help="servers judged at once [default: 4 a core]"),
            _option(["--markdown"], type=FILE, metavar="FILE", help="write the matrix to this file, as Markdown"),
            _option(["--json"], type=FILE, metavar="FILE", help="write the matrix to this file, as JSON"),
        ),
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:  # noqa: PLR0911 - the ways in which a command ends
    """Run the command.

    Returns:
        The exit status: 0 conforms, 1 does not conform, 2 interrupted, 3 the suite broke, 4 usage, 5 nothing
        selected, 6 undecided, 7 target unusable.
    """
    gc.set_threshold(*GC_THRESHOLDS)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a replaced stream may have no encoding
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = _carry_out(parse(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except click.exceptions.Exit:  # --help or --version was printed
        return 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has seen enough
        return 0
    except StoppedError as error:
        return _end(str(error), error.status)
    except KeyboardInterrupt:
        return _end("interrupted", INTERRUPTED)
    except OSError as error:
        return _end(str(error), BROKEN)
    except Exception:  # noqa: BLE001 - no error here may be mistaken for a verdict
        traceback.print_exc()
        return _end("the suite itself broke, and says nothing of the target; please report the lines above", BROKEN)
    return status


def parse(arguments: Sequence[str]) -> SimpleNamespace:
    """The options in a command line, and which command it is.

    Raises:
        UsageError: if it cannot be read.
    """
    group = click.Group("contract-tests", help="Judge implementations of the contract.")
    click.version_option(_version(), prog_name="contract-tests")(group)
    for name, (text, parameters) in COMMANDS.items():
        callback = partial(SimpleNamespace, command=name)
        group.add_command(click.Command(name, params=list(parameters), help=text, callback=callback))
    try:
        options: SimpleNamespace = group.invoke(group.make_context("contract-tests", list(arguments)))
    except click.ClickException as error:
        raise UsageError(" ".join(error.format_message().split())) from error
    options.arguments = list(arguments[1:])
    return options


def _carry_out(options: SimpleNamespace) -> int:
    try:
        module = import_module(f"contract_tests.commands.{options.command}")  # listing rules needs few packages
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed; run `make suite` here, or install this project with its extra [tests]"
            " (and [mcp] for `contract-tests mcp`)"
        ) from error
    command: Callable[[Contract, SimpleNamespace], int] = getattr(module, f"{options.command}_command")
    if options.command == "run":  # which has workflow commands of its own
        return command(shipped_contract(), options)
    with without_workflow_commands():
        return command(shipped_contract(), options)


def _version() -> str:
    try:
        return version("link-management-contract")
    except PackageNotFoundError:
        return "unknown (not installed)"


def _end(message: str, status: int) -> int:
    with without_workflow_commands():
        complain(message)
    return status
