"""The suite as a pytest plugin: one item for each rule and resource, from one run of the survey."""

import os
import pickle
import sys
from argparse import ArgumentError
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest

from contract_tests.cli import parse_run
from contract_tests.options import RunOptions

PACKAGE_FOLDER = Path(__file__).parent
SUITE_NAMED = "CONTRACT_TESTS_NAMED"
KEY = "contract_tests_outcome"
NOT_HERE = {"--plan", "--quiet", "--verbose", "--write-waivers"}  # these concern the command, not the run
OPTIONS = {
    option.opts[0]: option
    for option in RunOptions.parameters()
    if isinstance(option, click.Option) and option.opts[0] not in NOT_HERE
}
OUTCOME = pytest.StashKey[Any]()
RESULTS = pytest.StashKey[Any]()
REPORTS_WRITTEN = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `contract-tests run` if this suite is named; other suites may have the same options."""
    if not any("contract_tests" in argument for argument in sys.argv) and SUITE_NAMED not in os.environ:
        return
    os.environ[SUITE_NAMED] = "1"  # so that pytest-xdist's workers, whose arguments are not visible, know it too
    group = parser.getgroup("contract-tests")
    for name, option in OPTIONS.items():
        action = "store_true" if option.is_flag else "append" if option.multiple else "store"
        value_options = {} if option.is_flag else {"metavar": option.metavar}
        with suppress(ValueError, ArgumentError):  # another plugin's option of this name serves as well
            group.addoption(name, default=None, action=action, help=f"{option.help} (contract-tests)", **value_options)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not option_value(config, "--base-url") and any(item.path.parent == PACKAGE_FOLDER for item in items):
        pytest.exit("contract-tests: give --base-url, where the implementation answers", returncode=4)


def outcome_of(config: pytest.Config) -> Any:
    """The outcome of the run that these options ask for, which happens on the first call."""
    from contract_tests.errors import BROKEN, StoppedError  # noqa: PLC0415 - loaded only if the suite runs

    if OUTCOME not in config.stash:
        pickled = getattr(config, "workerinput", {}).get(KEY)
        try:
            config.stash[OUTCOME] = pickle.loads(pickled) if pickled else _run(config)  # noqa: S301 - our own
        except StoppedError as error:
            pytest.exit(f"contract-tests: {error}", returncode=error.status)
        except Exception as error:  # noqa: BLE001 - no error here may be repeated for each item
            pytest.exit(f"contract-tests: the suite itself broke: {type(error).__name__}: {error}", returncode=BROKEN)
    return config.stash[OUTCOME]


def results_of(config: pytest.Config) -> Any:
    """The same, as `results.json` holds it."""
    from contract_tests.reports.results import as_dict  # noqa: PLC0415

    outcome = outcome_of(config)
    if RESULTS not in config.stash:
        config.stash[RESULTS] = as_dict(outcome)
    return config.stash[RESULTS]


def _run(config: pytest.Config) -> Any:
    from contract_tests.commands.run import Interrupts, carry_out, write_reports  # noqa: PLC0415
    from contract_tests.errors import InterruptedRunError  # noqa: PLC0415
    from contract_tests.reports.results import as_dict  # noqa: PLC0415
    from link_management_contract import shipped_contract  # noqa: PLC0415

    contract, options = shipped_contract(), parse_run(_arguments(config))
    outcome = carry_out(contract, options, Interrupts())
    config.stash[RESULTS] = as_dict(outcome)
    config.stash[REPORTS_WRITTEN] = write_reports(contract, outcome, config.stash[RESULTS], options)
    if outcome.interrupted:
        raise InterruptedRunError(left=len(outcome.left))
    return outcome


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Run the survey once for all workers of pytest-xdist."""
    if option_value(node.config, "--base-url"):
        node.workerinput[KEY] = pickle.dumps(outcome_of(node.config))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Distinguish violated rules from undecided ones, by the exit status."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    stats = reporter.stats if reporter else {}
    outcome = session.config.stash.get(OUTCOME, None)
    if outcome is None:
        return
    if exitstatus == pytest.ExitCode.TESTS_FAILED and stats.get("error") and not stats.get("failed"):
        session.exitstatus = 6
    if outcome.stale and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = 1
    unwritten = not session.config.stash.get(REPORTS_WRITTEN, True)
    if (outcome.left or unwritten) and session.exitstatus != pytest.ExitCode.TESTS_FAILED:
        session.exitstatus = 3
    for text in outcome.stale:
        print(f"\nwaiver: {text}")
    if reporter:
        print(f"\ncontract-tests: {outcome.verdict}")


def option_value(config: pytest.Config, option: str) -> Any:
    return config.getoption(option.removeprefix("--").replace("-", "_"), default=None)


def _arguments(config: pytest.Config) -> list[str]:
    line = []
    for name in OPTIONS:
        value = option_value(config, name)
        for argument in value if isinstance(value, list) else [value]:
            if argument:
                line += [name] if argument is True else [name, str(argument)]
    return line
