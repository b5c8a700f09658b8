"""The suite as a pytest plugin: one item for each rule and resource, from one run of the survey."""

from __future__ import annotations

import os
import pickle
import sys
from argparse import ArgumentError
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from contract_tests.commands.arguments import add_run

HERE = Path(__file__).parent
NAMED = "CONTRACT_TESTS_NAMED"
KEY = "contract_tests_outcome"
NOT_HERE = {"--plan", "--quiet", "--verbose", "--write-waivers"}  # these concern the command, not the run
OUTCOME = pytest.StashKey[Any]()
TOLD = pytest.StashKey[Any]()
WRITTEN = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `contract-tests run` if this suite is named; other suites may have the same options."""
    if not any("contract_tests" in argument for argument in sys.argv) and NAMED not in os.environ:
        return
    os.environ[NAMED] = "1"  # so that pytest-xdist's workers, whose arguments are not visible, know it too
    group = parser.getgroup("contract-tests")
    for name, told in options().items():
        kept = {key: told[key] for key in ("action", "metavar") if key in told}
        with suppress(ValueError, ArgumentError):  # another plugin's option of this name serves as well
            group.addoption(
                name, default=None, help=f"{told['help'].partition(' (default')[0]} (contract-tests)", **kept
            )


def options() -> dict[str, dict[str, Any]]:
    """The options of `contract-tests run` that a run under pytest takes too, each with its arguments for argparse."""
    every: dict[str, dict[str, Any]] = {}
    add_run(lambda name, **told: every.update({name: told}))
    return {name: told for name, told in every.items() if name not in NOT_HERE}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse to run the suite without a base URL."""
    if not given(config, "--base-url") and any(item.path.parent == HERE for item in items):
        pytest.exit("contract-tests: give --base-url, where the implementation answers", returncode=4)


def outcome_of(config: pytest.Config) -> Any:
    """The outcome of the run that these options ask for, which happens on the first call."""
    from contract_tests.errors import BROKEN, StoppedError  # noqa: PLC0415 - loaded only if the suite runs

    if OUTCOME not in config.stash:
        handed = getattr(config, "workerinput", {}).get(KEY)
        try:
            config.stash[OUTCOME] = pickle.loads(handed) if handed else _run(config)  # noqa: S301 - our own
        except StoppedError as error:
            pytest.exit(f"contract-tests: {error}", returncode=error.status)
        except Exception as error:  # noqa: BLE001 - no error here may be repeated for each item
            pytest.exit(f"contract-tests: the suite itself broke: {type(error).__name__}: {error}", returncode=BROKEN)
    return config.stash[OUTCOME]


def results_of(config: pytest.Config) -> Any:
    """The same, as `results.json` holds it."""
    from contract_tests.reports.results import as_dict  # noqa: PLC0415

    outcome = outcome_of(config)
    if TOLD not in config.stash:
        config.stash[TOLD] = as_dict(outcome)
    return config.stash[TOLD]


def _run(config: pytest.Config) -> Any:
    from contract_tests.cli import parse_run  # noqa: PLC0415
    from contract_tests.commands.run import Interrupts, carry_out, write_reports  # noqa: PLC0415
    from contract_tests.errors import InterruptedRunError  # noqa: PLC0415
    from contract_tests.reports.results import as_dict  # noqa: PLC0415
    from link_management_contract import shipped_contract  # noqa: PLC0415

    contract, asked, interrupts = shipped_contract(), parse_run(_arguments(config)), Interrupts()
    outcome = carry_out(contract, asked, interrupted=lambda: interrupts.came)
    config.stash[TOLD] = as_dict(outcome)
    config.stash[WRITTEN] = write_reports(contract, outcome, config.stash[TOLD], asked)
    if outcome.interrupted:
        raise InterruptedRunError(left=len(outcome.left))
    return outcome


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Run the survey once for all workers of pytest-xdist."""
    if given(node.config, "--base-url"):
        node.workerinput[KEY] = pickle.dumps(outcome_of(node.config))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Distinguish violated rules from undecided ones, by the exit status."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    stats = reporter.stats if reporter else {}
    outcome = session.config.stash.get(OUTCOME, None)
    if outcome and exitstatus == pytest.ExitCode.TESTS_FAILED and stats.get("error") and not stats.get("failed"):
        session.exitstatus = 6
    if outcome and outcome.stale and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = 1
    unwritten = not session.config.stash.get(WRITTEN, True)
    if outcome and (outcome.left or unwritten) and session.exitstatus != pytest.ExitCode.TESTS_FAILED:
        session.exitstatus = 3
    for text in outcome.stale if outcome else ():
        print(f"\nwaiver: {text}")
    if outcome and reporter:
        print(f"\ncontract-tests: {outcome.verdict}")


def given(config: pytest.Config, option: str) -> Any:
    """The value given for an option, or None."""
    return config.getoption(option.removeprefix("--").replace("-", "_"), default=None)


def _arguments(config: pytest.Config) -> list[str]:
    """The options that were given, as a command line."""
    line = []
    for name in options():
        value = given(config, name)
        for each in value if isinstance(value, list) else [value]:
            if each:
                line += [name] if each is True else [name, str(each)]
    return line
