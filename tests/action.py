"""The steps of the action for GitHub, carried out as a runner would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from shell import ROOT, in_process
from wire import HARBOUR

from contract_tests.github_action import run

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}


def environment_of_step(folder: Path, base_url: str, **inputs: str) -> dict[str, str]:
    """What the action's step that judges finds in its environment: the inputs, and where its outputs go."""
    given = {"base-url": base_url, "api-key": HARBOUR, "report-dir": str(folder / "reports")}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    values = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | given
    step = STEPS["judge"]["env"]
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_OUTPUT": str(folder / "outputs"),
    } | {name: values[text.split("inputs.")[1].split()[0]] for name, text in step.items() if "inputs." in text}


def judge(folder: Path, base_url: str, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run in this process what the step's script starts."""
    with patch.dict(os.environ, environment_of_step(folder, base_url, **inputs)):
        return in_process(lambda _: run(os.environ))


def carry_out(folder: Path, base_url: str, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the action's step that judges: a script in a file, its inputs in the environment, as GitHub's runner does."""
    (folder / "tool" / "bin").mkdir(parents=True)
    (folder / "tool" / "bin" / "python").symlink_to(sys.executable)
    runner = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME_OF_IT": str(folder / "tool"),
        "HOME": str(folder),
    }
    script = folder / "step.sh"
    script.write_text(STEPS["judge"]["run"], "utf-8")
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
        env=environment_of_step(folder, base_url, **inputs) | runner,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


GH = """#!/bin/sh
case "$*" in
*--paginate*) echo "$*" >>"$CALLS.looks"; [ "$THERE" != fails ] && printf "$THERE" ;;
"api user"*) [ "$ME" ] && echo "$ME" ;;
*) echo "$*" >>"$CALLS" ;;
esac
"""


def comment(folder: Path, there: str, me: str = "", text: str = "<!-- contract-tests -->") -> tuple[int, str, str]:
    """What the step that comments does: its exit status, what it asks for, and what it sends.

    Args:
        there: the ids of its own comments that GitHub finds, each with a line feed in printf's spelling.
        me: whose token it has, if GitHub tells that.
    """
    (folder / "gh").write_text(GH)
    (folder / "gh").chmod(0o755)
    (folder / "comment.md").write_text(text)
    (folder / "step.sh").write_text(STEPS["comment"]["run"])
    environment = {"GITHUB_REPOSITORY": "me/mine", "NUMBER": "7", "FOLDER": str(folder), "GH_TOKEN": "secret"}
    environment |= {"CALLS": str(folder / "calls"), "THERE": there, "ME": me}
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    line: list[str | Path] = ["bash", "--noprofile", "--norc", "-eo", "pipefail", folder / "step.sh"]
    status = subprocess.run(line, env=environment | {"PATH": path}, check=False).returncode
    files = (folder / "calls.looks", folder / "calls")
    looks, sent = (file.read_text() if file.exists() else "" for file in files)
    return status, looks, sent
