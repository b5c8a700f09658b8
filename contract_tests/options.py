"""The options of each command: what click reads, and what the command gets."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import click
from click import FloatRange, IntRange

from link_management_contract.texts import shown_url

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
FILE = click.Path(path_type=Path)
PUBLIC = "what page links begin with, if not --base-url"
# options of a run that an agent's tools or the environment give, and those for people alone
TOOL_PARAMETERS = {"api_key", "second_api_key", "resources", "rules", "explore", "overlap"}
SCREEN_PARAMETERS = {"watch", "plan", "max_failures", "write_waivers", "baseline", "quiet", "verbose"}


def checked_url(text: str) -> str:
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


def _names(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip()) if isinstance(text, str) else text


def _rate(text: str) -> float:
    match = re.fullmatch(r"([1-9]\d*)/([smh])", text)
    if not match:
        raise click.BadParameter(f'invalid rate "{text}": expected something like 60/m')
    return SECONDS[match[2]] / int(match[1])


def _duration(text: str | float) -> float:
    if isinstance(text, float):
        return text
    match = re.fullmatch(r"([1-9]\d*)([smh])", text)
    if not match:
        raise click.BadParameter(f'invalid time "{text}": expected something like 90s or 10m')
    return int(match[1]) * SECONDS[match[2]]


class _Seconds(FloatRange):
    """A number of seconds, which is neither `inf` nor `nan`, as ranges of numbers let pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds: float = super().convert(value, param, ctx)
        return seconds if math.isfinite(seconds) else self.fail(f"{value} is no number of seconds", param, ctx)


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


def option(text: str, default: Any = None, **details: Any) -> Any:
    """A field that the option with its name fills; `details` are for click."""
    default_details = (
        {"default": default, "show_default": default != () and default is not False} if default is not None else {}
    )
    return field(default=default, metadata={"details": {"help": text} | default_details | details})


def argument(**details: Any) -> Any:
    """A field that an argument fills; `details` are for click."""
    return field(default=None, metadata={"argument": details})


file_option = partial(option, type=FILE, metavar="FILE")
url_option = partial(option, type=checked_url, metavar="URL")
flag = partial(option, default=False, is_flag=True)


@dataclass(frozen=True, kw_only=True)
class CommandOptions:
    """What a command is told.

    Attributes:
        command: its name.
        text: what it does, for `--help`.
    """

    command: ClassVar[str] = ""
    text: ClassVar[str] = ""

    @classmethod
    def parameters(cls) -> Iterable[click.Parameter]:
        """Its options and arguments."""
        for each in fields(cls):
            if "argument" in each.metadata:
                yield click.Argument([each.name], **each.metadata["argument"])
            elif "details" in each.metadata:
                yield click.Option([f"--{each.name.replace('_', '-')}", each.name], **each.metadata["details"])


@dataclass(frozen=True, kw_only=True)
class TargetOptions(CommandOptions):
    """How to reach an implementation."""

    base_url: str | None = url_option("where it answers, if the ledger does not say")
    api_key: str | None = option("key of the account; better in $CONTRACT_API_KEY", metavar="KEY")
    second_api_key: str | None = option("key of another account; better in $CONTRACT_SECOND_API_KEY", metavar="KEY")
    rate: float | None = option("send at most this many requests a second, minute or hour", type=_rate, metavar="60/m")
    timeout: int = option("time for a whole answer", 30, type=IntRange(1), metavar="SECONDS")
    patience: float = option(
        "how long a server may be away [default: 2m]", 120.0, type=_duration, show_default=False, metavar="2m"
    )
    header: tuple[tuple[str, str], ...] = option(
        "send this with each request", (), type=_header, multiple=True, metavar="'NAME: VALUE'"
    )
    ca_bundle: Path | None = file_option("certificate authorities to trust (PEM)")
    insecure: bool = flag("trust any certificate")
    client_cert: Path | None = file_option("client certificate (PEM)")
    client_key: Path | None = file_option("key of the client certificate, if in its own file")


@dataclass(frozen=True, kw_only=True)
class RunOptions(TargetOptions):
    """What a run is told."""

    command = "run"
    text = "Judge an implementation."

    base_url: str = url_option("where it answers, with its prefix", required=True)
    allow_writes: bool = flag("allow writes to a host other than this machine")
    read_only: bool = flag("write nothing; judge only what reads show")
    watch: bool = flag("judge again whenever the server has restarted, or on Enter")
    plan: bool = flag("show what a run would do, and send nothing")
    resources: tuple[str, ...] = option("resources to judge [default: all]", (), type=_names, metavar="NAME,...")
    rules: tuple[str, ...] = option("rules to judge, such as 'pagination.*'", (), type=_names, metavar="PATTERN,...")
    strict: bool = flag("let advisory rules fail the run")
    fail_on: tuple[str, ...] = option("advisory rules that fail the run", (), type=_names, metavar="PATTERN,...")
    max_5xx: int | None = option(
        "fail if more than N documented requests get a 5xx, outages and limits aside [default: no limit; 0 with"
        " --strict]",
        type=IntRange(0),
        metavar="N",
    )
    slowest: float | None = option("fail if an answer takes longer", type=_Seconds(0, min_open=True), metavar="SECONDS")
    public_base_url: str | None = url_option(PUBLIC)
    splash_create_path: str | None = option("path that creates splash pages, if not the documented one", metavar="PATH")
    jobs: int | None = option("have at most N requests under way [default: 6]", type=IntRange(1), metavar="N")
    max_failures: int | None = option("stop once N checks have failed", type=IntRange(1), metavar="N")
    max_requests: int | None = option(
        "never send more than N requests, redirects that are followed aside", type=IntRange(1), metavar="N"
    )
    deadline: float | None = option("stop after this time, clean-up aside", type=_duration, metavar="10m")
    explore: int = option("generate about N further requests", 466, type=IntRange(0), metavar="N")
    shrink: int | None = option(
        "with --report-dir, send N requests at most for shorter scripts [default: a quarter of the others]",
        type=IntRange(0),
        metavar="N",
    )
    fill: int | None = option("create records of one resource until there are N", type=IntRange(1, 1100), metavar="N")
    large_files: bool = flag("also send images of 200 kB and 2 MB")
    poison: bool = flag("also send a name that is not UTF-8, which breaks each list on some servers; this machine only")
    overlap: int = option("rounds of overlapping requests to judge", 0, type=IntRange(0), metavar="N")
    seed: int = option("seed of the generated requests", 0, type=IntRange(0), metavar="N")
    lag: float = option("how long reads may lag writes", 2.1, type=_Seconds(0, 60), metavar="SECONDS")
    adopt: Path | None = file_option("first remove what earlier runs left, by the ledgers in here", metavar="DIR")
    ledger: Path | None = file_option("record what the run creates here, not in your state folder")
    waivers: Path | None = file_option("failures that are known and allowed for a while")
    write_waivers: Path | None = file_option("write a waivers file for what fails now")
    baseline: Path | None = file_option("fail only if a verdict is worse than in these results", metavar="RESULTS")
    report_dir: Path | None = option("write reports to this folder", type=_folder, metavar="DIR")
    quiet: bool = flag("print only the verdict, and what has changed since a baseline")
    verbose: bool = flag("also print the areas, the server's choices and all that was not judged")


@dataclass(frozen=True, kw_only=True)
class RulesOptions(CommandOptions):
    """What is to be listed or explained."""

    command = "rules"
    text = "List the rules and open points, or explain one, or a statement of the specification by its number."

    rule: str | None = argument(required=False)


@dataclass(frozen=True, kw_only=True)
class VerdictOptions(CommandOptions):
    """Whose answers are to be judged."""

    command = "verdict"
    text = "Judge what the script of a finding printed; such scripts call it themselves."

    answers: Path = argument(type=FILE)
    base_url: str = url_option("where the script sent them", required=True)
    mark: str = option("what marks the script's records", required=True, metavar="TEXT")


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(CommandOptions):
    """Which traffic is to be judged."""

    command = "judge"
    text = "Judge recorded traffic: an HTTP archive (HAR) of a browser, a proxy or a run."

    file: Path = argument(type=FILE)
    base_url: str | None = url_option("service to judge [default: the most frequent]")
    public_base_url: str | None = url_option(PUBLIC)
    strict: bool = flag("let advisory rules fail")
    verbose: bool = flag("also print the areas and the server's choices")


@dataclass(frozen=True, kw_only=True)
class CompareOptions(CommandOptions):
    """Which results are to be compared."""

    command = "compare"
    text = "Set the results of two runs side by side: results.json, or the folder it is in."

    results: tuple[Path, ...] = argument(type=FILE, nargs=-1, required=True)
    baseline: Path | None = file_option("fail only if a verdict is worse than in this run", metavar="RESULTS")
    all: bool = flag("also show what is the same")
    json: Path | None = file_option("write the comparison to this file")


@dataclass(frozen=True, kw_only=True)
class CleanupOptions(TargetOptions):
    """Whose records are to be removed."""

    command = "cleanup"
    text = "Delete what an interrupted run left behind, as its ledger says."

    ledger: Path = argument(type=FILE)


@dataclass(frozen=True, kw_only=True)
class McpOptions(RunOptions):
    """What all runs of an agent are told; its tools or the environment say the rest.

    Attributes:
        arguments: the same as it was given.
    """

    command = "mcp"
    text = "Serve tools to a coding agent, over stdin and stdout; keys come from the environment alone."
    base_url: str = url_option("judge no other [default: any on this machine]")
    arguments: tuple[str, ...] = ()

    @classmethod
    def parameters(cls) -> Iterable[click.Parameter]:
        return (each for each in super().parameters() if each.name not in TOOL_PARAMETERS | SCREEN_PARAMETERS)


@dataclass(frozen=True, kw_only=True)
class ProveOptions(CommandOptions):
    """How much is to be proved."""

    command = "prove"
    text = "Show that the suite catches every defect and fails no correct server."

    defect: tuple[str, ...] = option(
        "only this one [default: all that the mock has]", (), multiple=True, metavar="NAME"
    )
    seeds: int = option("servers with each defect", 5, type=IntRange(1), metavar="N")
    grease: int = option("correct servers", 300, type=IntRange(1), metavar="N")
    short: bool = flag("try a sample of both")
    jobs: int | None = option("servers judged at once [default: 4 a core]", type=IntRange(1), metavar="N")
    markdown: Path | None = file_option("write the matrix to this file, as Markdown")
    json: Path | None = file_option("write the matrix to this file, as JSON")


COMMANDS: tuple[type[CommandOptions], ...] = (
    RunOptions,
    RulesOptions,
    VerdictOptions,
    JudgeOptions,
    CompareOptions,
    CleanupOptions,
    McpOptions,
    ProveOptions,
)
