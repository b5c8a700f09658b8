"""The composite action for GitHub: its last step is carried out as a runner would, against a mock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from wire import HARBOUR

from mock_server import MockServer

ACTION: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "action.yml").read_text("utf-8"))


@pytest.mark.parametrize(("defects", "status"), [((), 0), (("total-is-one-more",), 1)], ids=["right", "wrong"])
def test_the_action_judges_with_its_inputs(tmp_path: Path, defects: tuple[str, ...], status: int) -> None:
    step = ACTION["runs"]["steps"][-1]
    page = tmp_path / "summary.md"
    with MockServer(defects=defects) as server:
        given = {
            "base-url": server.base_url,
            "api-key": HARBOUR,
            "report-dir": str(tmp_path / "reports"),
            "arguments": "--explore 0 --lag 0",
        }
        inputs = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | given
        environment = {name: inputs[text.split("inputs.")[1].split()[0]] for name, text in step["env"].items()}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        runner = {"PATH": path, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page), "HOME": str(tmp_path)}
        ended = subprocess.run(
            ["bash", "-e", "-c", step["run"]], env=environment | runner, capture_output=True, text=True, check=False
        )
    assert ended.returncode == status, ended.stderr
    assert (tmp_path / "reports" / "junit.xml").exists()
    assert page.read_text("utf-8").startswith("## ")
    assert ("::error title=" in ended.stdout) == bool(status)
