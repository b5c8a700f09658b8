"""The command `contract-tests`."""

from __future__ import annotations

import argparse
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from contract_tests.catalogue import explain, overview
from contract_tests.contract import Contract
from contract_tests.errors import BROKEN, INTERRUPTED, StoppedError, UsageError

LONGEST_LAG = 60
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command line; that of the process, if None.

    Returns:
        The exit status: 0 conforms, 1 does not conform, 2 interrupted, 3 the suite broke, 4 usage, 5 nothing
        selected, 6 undecided, 7 target unusable.
    """
    try:
        options = _parser().parse_args(arguments)
        contract = Contract()
        return _rules(contract, options.rule) if options.command == "rules" else _carry_out(contract, options)
    except StoppedError as error:
        return _say(str(error), error.status)
    except KeyboardInterrupt:
        return _say("interrupted; what this run made was removed, as far as the target let it", INTERRUPTED)
    except OSError as error:
        return _say(str(error), BROKEN)
    except Exception:  # noqa: BLE001 - whatever breaks here must not be taken for a verdict
        traceback.print_exc()
        return _say("the suite itself broke, and says nothing of the target; please report the lines above", BROKEN)


def _rules(contract: Contract, name: str | None) -> int:
    try:
        print(explain(contract, name) if name else overview(contract))
    except LookupError as error:
        raise UsageError(str(error)) from error
    return 0


def _carry_out(contract: Contract, given: argparse.Namespace) -> int:
    try:
        module = import_module(f"contract_tests.{given.command}_command")  # the rules are listed without what it needs
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed; install link-management-contract[tests]") from error
    status: int = getattr(module, f"{given.command}_command")(contract, given)
    return status


def parse_run(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of `contract-tests run ...`.

    Raises:
        UsageError: if they cannot be read.
    """
    return _parser().parse_args(["run", *arguments])


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="contract-tests", description="Judge implementations of the contract.")
    commands = parser.add_subparsers(required=True, dest="command", metavar="run|rules|prove")
    rules = commands.add_parser("rules", help="list the rules and open points, or explain one")
    rules.add_argument("rule", nargs="?", metavar="RULE", help="the id of a rule or an open point")
    _add_run(commands.add_parser("run", help="judge an implementation").add_argument)
    _add_prove(
        commands.add_parser("prove", help="show that each rule falls when it should, and only then").add_argument
    )
    return parser


def _add_prove(add: Callable[..., Any]) -> None:
    add("--defect", action="append", default=[], metavar="NAME", help="this one alone (default: all that the mock has)")
    add("--seeds", type=_number, default=5, metavar="N", help="servers with each defect (default: %(default)s)")
    add("--grease", type=_number, default=300, metavar="N", help="servers that are right (default: %(default)s)")
    add("--short", action="store_true", help="a sample of both, in less than a minute")
    add("--jobs", type=_number, metavar="N", help="how many are judged at once (default: 4 a core)")
    add("--markdown", metavar="FILE", help="write the matrix there")
    add("--json", metavar="FILE", help="likewise")


def _add_run(add: Callable[..., Any]) -> None:
    add("--base-url", type=_url, required=True, metavar="URL", help="where it answers, its path prefix too")
    add("--api-key", metavar="KEY", help="or CONTRACT_API_KEY in the environment")
    add("--second-api-key", metavar="KEY", help="another account's, or CONTRACT_SECOND_API_KEY")
    add(
        "--allow-writes",
        action="store_true",
        help="let it create, change and delete its own records elsewhere than here",
    )
    add("--resources", type=_names, default=(), metavar="KIND,...", help="the kinds to judge (default: all)")
    add("--rules", type=_names, default=(), metavar="PATTERN,...", help="the rules to judge, such as 'pagination.*'")
    add("--strict", action="store_true", help="let advisory rules fail the run too")
    add("--public-base-url", type=_url, metavar="URL", help="what page links begin with, if not with the base URL")
    add("--splash-create-path", metavar="PATH", help="where splash pages are created, if not at the documented path")
    add("--max-requests", type=_number, metavar="N", help="at most so many, clean-up aside")
    add("--explore", type=_count, default=360, metavar="N", help="generate about N requests too (default: %(default)s)")
    add("--seed", type=_count, default=0, metavar="N", help="generate others (default: %(default)s)")
    add("--rate", type=_rate, default=0.0, metavar="60/m", help="at most so many requests in a second, minute or hour")
    add("--timeout", type=_number, default=30, metavar="SECONDS", help="for an answer (default: %(default)s)")
    add("--lag", type=_seconds, default=2.1, metavar="SECONDS", help="by which reads may lag (default: %(default)s)")
    add("--ledger", type=Path, metavar="FILE", help="write down there what the run creates")
    add("--report-dir", type=Path, metavar="DIR", help="write junit.xml there")
    add("--quiet", action="store_true", help="print the overall word alone")


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise argparse.ArgumentTypeError(f'"{text}" is no base URL; give one such as https://links.example.com/prefix')
    return text


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is no number; give 1 or more')
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_LAG:
        raise argparse.ArgumentTypeError(f'"{text}" is no lag; give seconds from 0 to {LONGEST_LAG}')
    return seconds


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'"{text}" is no number; give 0 or more')
    return int(text)


def _rate(text: str) -> float:
    found = re.fullmatch(r"([1-9]\d*)/([smh])", text)
    if not found:
        raise argparse.ArgumentTypeError(f'"{text}" is no rate; give one such as 60/m')
    return SECONDS[found[2]] / int(found[1])


def _say(message: str, status: int) -> int:
    print(f"contract-tests: {message}", file=sys.stderr)
    return status
