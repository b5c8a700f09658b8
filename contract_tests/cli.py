"""The command `contract-tests`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

from contract_tests.commands.arguments import add_cleanup, add_compare, add_judge, add_prove, add_run
from contract_tests.commands.rules import explain, overview
from contract_tests.errors import BROKEN, INTERRUPTED, StoppedError, UsageError
from contract_tests.workflow_commands import without_commands
from link_management_contract import Contract, shipped_contract
from link_management_contract.texts import printable, with_hint

SELDOM = (50_000, 20, 100)  # a run keeps nearly all that it sees: looking for garbage more often finds none


class _Parser(argparse.ArgumentParser):
    """Raises mistakes, with a hint where an option is unknown."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(with_hint(message, self._options()))

    def _options(self) -> Iterator[str]:
        """The options of all commands."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse has no other way
                for command in action.choices.values():
                    yield from command._option_string_actions  # noqa: SLF001


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command line, or None for that of the process.

    Returns:
        The exit status: 0 conforms, 1 does not conform, 2 interrupted, 3 the suite broke, 4 usage, 5 nothing
        selected, 6 undecided, 7 target unusable.
    """
    gc.set_threshold(*SELDOM)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a replaced stream may have no encoding
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        options = _parser().parse_args(arguments)
        contract = shipped_contract()
        status = _rules(contract, options.rule) if options.command == "rules" else _carry_out(contract, options)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has seen enough
        return 0
    except StoppedError as error:
        return _say(str(error), error.status)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except OSError as error:
        return _say(str(error), BROKEN)
    except Exception:  # noqa: BLE001 - no error here may be mistaken for a verdict
        traceback.print_exc()
        return _say("the suite itself broke, and says nothing of the target; please report the lines above", BROKEN)
    return status


def _rules(contract: Contract, name: str | None) -> int:
    try:
        print(explain(contract, name) if name else overview(contract))
    except LookupError as error:
        raise UsageError(str(error)) from error
    return 0


def _carry_out(contract: Contract, given: argparse.Namespace) -> int:
    try:
        module = import_module(f"contract_tests.commands.{given.command}")  # listing rules needs no command's packages
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed; run `make suite` here, or install this project with its extra [tests]"
        ) from error
    command: Callable[[Contract, argparse.Namespace], int] = getattr(module, f"{given.command}_command")
    if given.command == "run":  # which has workflow commands of its own
        return command(contract, given)
    with without_commands():
        return command(contract, given)


def parse_run(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the options of `contract-tests run ...`.

    Raises:
        UsageError: if they cannot be read.
    """
    return _parser().parse_args(["run", *arguments])


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="contract-tests", description="Judge implementations of the contract.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(required=True, dest="command", metavar="run|rules|judge|compare|cleanup|prove")
    rules = commands.add_parser("rules", help="list the rules and open points, or explain one")
    rules.add_argument("rule", nargs="?", metavar="RULE", help="the id of a rule or an open point")
    add_run(commands.add_parser("run", help="judge an implementation").add_argument)
    add_judge(commands.add_parser("judge", help="judge recorded traffic (HAR)").add_argument)
    add_compare(commands.add_parser("compare", help="set the results of several runs side by side").add_argument)
    cleanup = commands.add_parser("cleanup", help="delete what an interrupted run left behind")
    add_cleanup(cleanup.add_argument)
    add_prove(
        commands.add_parser(
            "prove", help="show that the suite catches every defect and fails no correct server"
        ).add_argument
    )
    return parser


def _version() -> str:
    try:
        return version("link-management-contract")
    except PackageNotFoundError:
        return "that is not installed"


def _say(message: str, status: int) -> int:
    with without_commands():
        print(f"contract-tests: {printable(message)}", file=sys.stderr)
    return status
