"""The suite as a pytest plugin: one item for each rule and kind, from one run of the survey."""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
NAMED = "CONTRACT_TESTS_NAMED"
KEY = "contract_tests_outcome"
OPTIONS = {
    "--base-url": "where the implementation answers (contract-tests)",
    "--api-key": "or CONTRACT_API_KEY in the environment (contract-tests)",
    "--second-api-key": "another account's, or CONTRACT_SECOND_API_KEY (contract-tests)",
    "--public-base-url": "what page links begin with, if not with the base URL (contract-tests)",
    "--max-requests": "at most so many (contract-tests)",
    "--rate": "at most so many requests, such as 60/m (contract-tests)",
    "--explore": "generate about so many requests too (contract-tests)",
    "--seed": "generate others (contract-tests)",
}
FLAGS = {"--allow-writes": "let the run write elsewhere than on this machine (contract-tests)"}
OUTCOME = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the options of `contract-tests run`, where this suite is named; other suites may have such of their own."""
    if not any("contract_tests" in argument for argument in sys.argv) and NAMED not in os.environ:
        return
    os.environ[NAMED] = "1"  # so that workers of pytest-xdist, whose arguments are not to be seen, know it too
    group = parser.getgroup("contract-tests")
    for name, text in OPTIONS.items():
        with suppress(ValueError):  # another plugin has an option of this name, and its value serves as well
            group.addoption(name, help=text)
    for name, text in FLAGS.items():
        with suppress(ValueError):
            group.addoption(name, action="store_true", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse to run the suite against nothing."""
    if not given(config, "--base-url") and any(item.path.parent == HERE for item in items):
        pytest.exit("contract-tests: give --base-url, where the implementation answers", returncode=4)


def outcome_of(config: pytest.Config) -> Any:
    """The outcome of the run that these options ask for, made when it is first asked for."""
    from contract_tests.cli import parse_run  # noqa: PLC0415 - who does not run the suite does not wait for all this
    from contract_tests.contract import Contract  # noqa: PLC0415
    from contract_tests.errors import StoppedError  # noqa: PLC0415
    from contract_tests.run_command import options_of  # noqa: PLC0415
    from contract_tests.runner import run  # noqa: PLC0415

    if OUTCOME not in config.stash:
        handed = getattr(config, "workerinput", {}).get(KEY)
        try:
            made = pickle.loads(handed) if handed else run(Contract(), options_of(parse_run(_arguments(config))))  # noqa: S301 - our own
        except StoppedError as error:
            pytest.exit(f"contract-tests: {error}", returncode=error.status)
        config.stash[OUTCOME] = made
    return config.stash[OUTCOME]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Run the survey once for all workers of pytest-xdist."""
    if given(node.config, "--base-url"):
        node.workerinput[KEY] = pickle.dumps(outcome_of(node.config))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Tell rules that were broken from those that could only not be decided."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    stats = reporter.stats if reporter else {}
    failed = OUTCOME in session.config.stash and exitstatus == pytest.ExitCode.TESTS_FAILED
    if failed and stats.get("error") and not stats.get("failed"):
        session.exitstatus = 6


def given(config: pytest.Config, option: str) -> Any:
    """What was given for an option, or None."""
    return config.getoption(option.removeprefix("--").replace("-", "_"), default=None)


def _arguments(config: pytest.Config) -> list[str]:
    flags = [name for name in FLAGS if given(config, name)]
    values = [(name, given(config, name)) for name in OPTIONS]
    return [*flags, *(part for name, value in values if value for part in (name, str(value)))]
