"""The command line: its subcommands, and what it asks for as settings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import copy
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any

import click
from click.core import ParameterSource

from mock_server.clock import system_clock
from mock_server.errors import SettingsError, shown_url
from mock_server.options import ACCESS, BEHAVIOUR, DATA, FILE, FRONT, OPTIONS, OUTPUT, SHARED, Option
from mock_server.settings import FORWARDS, Deployment, read_profile

OF_BOTH = ("--journal", "--condition")  # that go with a deployment, too
OF_ADDRESSES = ("--host", "--port", "--base-path", "--public-base-url")


ABOUT = "A stateful mock of the link-management service API. Without a command, it serves."


class _Command(click.Command):
    """A command whose help shows options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, heading by heading."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                groups.setdefault(getattr(parameter, "group", "other options"), []).append(record)
        for title, records in groups.items():
            with formatter.section(title[0].upper() + title[1:]):
                formatter.write_dl(records)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class _Group(_Command, click.Group):
    """The command that serves, and has others."""


def _shown(*flags: str, groups: Sequence[str] = ()) -> list[click.Parameter]:
    """Options by flag or heading, none of which is hidden."""
    found = [copy(option) for option in OPTIONS if option.flag in flags or option.group in groups]
    for option in found:
        option.hidden = False
    return list(found)


COMMANDS: dict[str, tuple[str, list[click.Parameter]]] = {
    "forward": (
        "Stand in front of the deployment at URL, and hold nothing.",
        [click.Argument(["forward_to"], metavar="URL"), *_shown(*OF_BOTH, groups=(FRONT, ACCESS, OUTPUT))],
    ),
    "list": (
        "List the defects, the open points or the conditions.",
        [
            click.Argument(["what"], type=click.Choice(("defects", "open", "conditions"))),
            *_shown("--open", "--profile", "--grease"),
        ],
    ),
    "contract": (
        "Print openapi.yaml, or its rendering for generators of clients.",
        [
            click.Argument(["print_contract"], type=click.Choice(("whole", "client")), default="whole"),
            *_shown(*OF_ADDRESSES),
        ],
    ),
    "fixture": (
        "Write a fixture to begin with, and its schema for editors.",
        [click.Argument(["write_fixture"], type=FILE, metavar="FILE")],
    ),
}


def parse(arguments: Sequence[str] | None = None) -> SimpleNamespace:
    """The values of all options, and in `used` the names of those on the command line.

    Args:
        arguments: the command line; that of the process, if None.

    Raises:
        click.ClickException: if it cannot be read.
        click.exceptions.Exit: if help or the version was printed.
    """
    group = _Group("mock-server", params=list(OPTIONS), invoke_without_command=True, callback=_note, help=ABOUT)
    click.version_option(_version(), prog_name="mock-server", message="%(prog)s %(version)s")(group)
    for name, (text, parameters) in COMMANDS.items():
        group.add_command(_Command(name, params=parameters, callback=_note, help=text))
    given = SimpleNamespace(used=set(), what="")
    line = sys.argv[1:] if arguments is None else list(arguments)
    with group.make_context("mock-server", line, obj=given) as context:
        group.invoke(context)
    if given.what:
        setattr(given, f"list_{given.what}", True)
    return given


@click.pass_context
def _note(context: click.Context, /, **values: Any) -> None:
    """Note the values of a command's parameters, over those of the command that it belongs to."""
    for name, value in values.items():
        is_used = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_used or not getattr(context.obj, name, None):
            setattr(context.obj, name, value)
        if is_used:
            context.obj.used.add(name)


def _version() -> str:
    try:
        return version("link-management-contract")
    except PackageNotFoundError:
        return "that is not installed"


def settings_of(given: SimpleNamespace) -> dict[str, Any]:
    """The settings that a command line asks for.

    Raises:
        SettingsError: if options contradict one another, or a profile cannot be read.
    """
    if given.rate_limit and "rate-limit" in dict(given.condition):
        raise SettingsError("--rate-limit and --condition rate-limit are the same; give one of them")
    if not given.store and (used := [option.flag for option in _used(given) if option.group == SHARED]):
        raise SettingsError(f"{used[0]} goes with --store URL; give both")
    if given.cors == "off" and given.cors_origin:
        raise SettingsError("--cors off and --cors-origin contradict each other; give one of them")
    return {
        **{option.setting: getattr(given, str(option.name)) for option in OPTIONS if option.setting},
        "choices": (read_profile(given.profile) if given.profile else {}) | dict(given.open),
        "conditions": dict(given.condition) | ({"rate-limit": given.rate_limit} if given.rate_limit else {}),
        "cors_origins": given.cors_origin or ("*",) if given.cors == "on" else (),
        "clock": system_clock if given.clock == "system" else None,
        "deployment": _deployment(given),
    }


def _deployment(given: SimpleNamespace) -> Deployment | None:
    """The deployment that requests are forwarded to, if any.

    Raises:
        SettingsError: if an option does not go with that.
    """
    used = _used(given)
    if given.forward_to is None:
        for option in used:
            if option.group == FRONT:
                raise SettingsError(f"{option.flag} goes with `mock-server forward URL`; give both")
        return None
    for option in used:
        if option.group in (DATA, BEHAVIOUR, SHARED) and option.flag not in OF_BOTH:
            raise SettingsError(f"{option.flag} does not apply: {FORWARDS.format(shown_url(given.forward_to))}")
    if given.verbatim and not given.record:
        raise SettingsError("--verbatim goes with --record FILE; give both")
    if given.client_key and not given.client_cert:
        raise SettingsError("--client-key goes with --client-cert FILE; give both")
    return Deployment(
        url=given.forward_to.rstrip("/"),
        read_only=given.read_only,
        rewrite_links=given.rewrite_links,
        is_recorded=given.record is not None,
        timeout=given.timeout,
        ca_bundle=given.ca_bundle,
        insecure=given.insecure,
        client_certificate=given.client_cert,
        client_key=given.client_key,
    )


def _used(given: SimpleNamespace) -> list[Option]:
    return [option for option in OPTIONS if option.name in given.used]
