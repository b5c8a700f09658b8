"""The findings that the tests of rules produce are the lines of `golden/findings.txt`, which somebody has read.

With FINDINGS=write in the environment, the file is written.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "rules"
FILE = Path(__file__).parent / "golden" / "findings.txt"
WRITES = os.environ.get("FINDINGS") == "write"


class Findings:
    """A plugin that knows, at the end of a run, which texts its tests produced, in whatever process.

    Attributes:
        produced: the texts so far.
        is_complete: whether all tests of rules are run.
    """

    def __init__(self) -> None:
        self.produced: set[str] = set()
        self.is_complete = False
        self._deselected = False

    def check(self, text: str) -> None:
        self.produced.add(text)
        assert WRITES or text in accepted(), f"{text!r} is not in {FILE.name}; read it, and run with FINDINGS=write"

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected |= any(item.path.parent == FOLDER for item in items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        config, files = session.config, {item.path for item in session.items}
        selected = self._deselected or config.option.collectonly or any("::" in argument for argument in config.args)
        self.is_complete = not selected and files.issuperset(FOLDER.glob("test_*.py"))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of pytest-xdist has seen."""
        self.produced |= set(getattr(node, "workeroutput", {}).get("findings", ()))
        self.is_complete |= getattr(node, "workeroutput", {}).get("has_all_findings", False)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        if hasattr(config, "workeroutput"):
            config.workeroutput |= {"findings": sorted(self.produced), "has_all_findings": self.is_complete}
        elif WRITES:
            written = self.produced if self.is_complete and not session.testsfailed else self.produced | accepted()
            FILE.write_text("\n".join(sorted(written)) + "\n", encoding="utf-8")
        elif self.is_complete and not session.testsfailed and (stale := accepted() - self.produced):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            printer = config.get_terminal_writer()
            printer.line(f"\n{FILE.name} has lines that no test produces; run tests/rules with FINDINGS=write:")
            printer.line("\n".join(sorted(stale)))


FINDINGS = Findings()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(FINDINGS)


@cache
def accepted() -> frozenset[str]:
    return frozenset(FILE.read_text("utf-8").splitlines()) if FILE.exists() else frozenset()
