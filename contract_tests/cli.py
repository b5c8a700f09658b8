"""The command `contract-tests`: its options, and the statuses it ends with."""

import gc
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from contract_tests.errors import BROKEN, INTERRUPTED, StoppedError, UsageError
from contract_tests.options import COMMANDS, CommandOptions, McpOptions, RunOptions
from contract_tests.output import complain, without_workflow_commands
from link_management_contract import Contract, shipped_contract
from link_management_contract.texts import discard

GC_THRESHOLDS = (50_000, 20, 100)  # a run keeps nearly all that it sees: looking for garbage more often finds none


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
        discard(sys.stdout)  # the reader has seen enough
        return 0
    except StoppedError as error:
        return _end(str(error), error.status)
    except KeyboardInterrupt:
        return _end("interrupted", INTERRUPTED)
    except OSError as error:
        discard(sys.stdout)  # what is left of the output cannot be written at the exit either
        return _end(str(error), BROKEN)
    except Exception:  # noqa: BLE001 - no error here may be mistaken for a verdict
        traceback.print_exc()
        return _end("the suite itself broke, and says nothing of the target; please report the lines above", BROKEN)
    return status


def parse(arguments: Sequence[str]) -> CommandOptions:
    """The options in a command line, of the command that it names.

    Raises:
        UsageError: if it cannot be read.
    """
    group = click.Group("contract-tests", help="Judge implementations of the contract.")
    click.version_option(_version(), prog_name="contract-tests")(group)
    for options_class in COMMANDS:
        group.add_command(_command(options_class))
    options: CommandOptions = _parsed(group, "contract-tests", arguments)
    return replace(options, arguments=tuple(arguments[1:])) if isinstance(options, McpOptions) else options


def parse_run(arguments: Sequence[str]) -> RunOptions:
    """The options of a run.

    Raises:
        UsageError: if they cannot be read.
    """
    command = _command(RunOptions)
    command.add_help_option = False  # which would print, and end the program
    options: RunOptions = _parsed(command, RunOptions.command, arguments)
    return options


def _parsed(command: click.Command, name: str, arguments: Sequence[str]) -> Any:
    try:
        return command.invoke(command.make_context(name, list(arguments)))
    except click.ClickException as error:
        raise UsageError(" ".join(error.format_message().split())) from error


def _command(options_class: type[CommandOptions]) -> click.Command:
    name, text = options_class.command, options_class.text
    return click.Command(name, params=[*options_class.parameters()], help=text, short_help=text, callback=options_class)


def _carry_out(options: CommandOptions) -> int:
    try:
        module = import_module(f"contract_tests.commands.{options.command}")  # listing rules needs few packages
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed; run `make suite` here, or install this project with its extra [tests]"
            " (and [mcp] for `contract-tests mcp`)"
        ) from error
    command: Callable[[Contract, CommandOptions], int] = getattr(module, f"{options.command}_command")
    if options.command == RunOptions.command:  # which has workflow commands of its own
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
