"""Every block of docs/ci.md: what it gives the action and the command is known, and its scripts run."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from shell import ROOT, command

from link_management_contract import shipped_contract

PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
TEXTS = re.findall(r"```yaml\n(.*?)```", PAGE.replace("<this repository>", "this"), re.DOTALL)
BLOCKS = [yaml.safe_load(text) for text in TEXTS]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
SERVES = f"#!/bin/sh\nexec {sys.executable} -m http.server $2 --bind 127.0.0.1\n"
DIES = "#!/bin/sh\necho no database >&2\nexit 3\n"
QUICK = ("--plan", "--explore", "0", "--resources", "domains", "--rules", "envelopes.list-data-*")
LOGS = '#!/bin/sh\necho "$(basename $0) $*" >>"$CALLS"\n'


def mappings(value: Any) -> list[dict[str, Any]]:
    """All mappings in a value, the outer ones first."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    inner = [value] if isinstance(value, dict) else []
    return inner + [mapping for member in members for mapping in mappings(member)]


STEPS = [mapping for block in BLOCKS for mapping in mappings(block)]


def scripts() -> list[str]:
    """What the blocks run, in the order of the page."""
    lines = [step.get("run") or step.get("script") for step in STEPS]
    return ["\n".join(script) if isinstance(script, list) else script for script in lines if script]


def stand_in(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def ended(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a runner does, where its programs are stand-ins first."""
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "CALLS": str(folder / "calls")} | variables
    bash_command = ["bash", "-e", "-c", f"{script}\nkill $server 2>/dev/null || true"]
    return subprocess.run(
        bash_command, cwd=folder, env=environment, capture_output=True, text=True, timeout=90, check=False
    )


def test_the_action_knows_what_the_page_gives_it() -> None:
    own_steps = [step for step in STEPS if str(step.get("uses", "")).startswith("this@")]
    assert [set(step["with"]) - set(ACTION["inputs"]) for step in own_steps] == [set(), set()]
    assert set(re.findall(r"steps\.contract\.outputs\.([a-z-]+)", PAGE)) <= set(ACTION["outputs"])


@pytest.mark.slow
def test_the_command_knows_the_options_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    action_arguments = re.findall(r"^ +arguments: (.*)", PAGE, re.MULTILINE)
    arguments = re.findall(r"contract-tests run( --.*)", PAGE)
    arguments += [f"--base-url http://127.0.0.1:1 {text}" for text in action_arguments]
    monkeypatch.chdir(tmp_path)
    Path("earlier").mkdir()
    for text in arguments:
        options = [each for each in shlex.split(text) if each not in ("--baseline", "known/results.json")]
        plan_result = command("run", *options, *QUICK)
        assert (plan_result.returncode, plan_result.stderr) == (0, ""), text
    assert len(arguments) == 5


def test_waivers_of_the_page_name_a_rule() -> None:
    waived = {step["rule"] for step in STEPS if "until" in step}
    assert waived
    assert waived <= set(shipped_contract().rules)


@pytest.mark.parametrize("number", [0, 1], ids=["GitHub", "GitLab"])
@pytest.mark.parametrize(("server", "status"), [(SERVES, 0), (DIES, 1)], ids=["serves", "dies"])
def test_the_loop_ends_once_the_server_answers_or_has_ended(
    tmp_path: Path, number: int, server: str, status: int
) -> None:
    script = [text for text in scripts() if "start-the-server" in text][number]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    stand_in(tmp_path, "start-the-server", server)
    stand_in(tmp_path, "contract-tests", LOGS)
    result = ended(tmp_path, script.replace("8080", port))
    assert (result.returncode, "no database" in result.stdout) == (status, bool(status))
    calls = tmp_path / "calls"
    assert calls.exists() is (number == 1 and not status)


def test_the_lines_for_gitlab_install_what_is_pinned_before_they_run_it(tmp_path: Path) -> None:
    [script] = [text for text in scripts() if "--require-hashes" in text]
    for name in ("git", "pip", "contract-tests"):
        stand_in(tmp_path, name, LOGS)
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "comment.md").write_text("of an earlier commit")
    assert ended(tmp_path, re.sub(r"<[a-z ]+>", "x", script)).returncode == 0
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["git", "git", "pip", "pip", "contract-tests"]
    assert "contract/requirements/suite.txt" in calls[2]
    assert (ROOT / "requirements" / "suite.txt").exists()
    assert not (tmp_path / "reports" / "comment.md").exists()


def test_the_ledgers_of_cancelled_jobs_are_downloaded_as_far_as_there_are_any(tmp_path: Path) -> None:
    [script] = [text for text in scripts() if "gh run download" in text]
    answers = 'case "$*" in "run list"*) printf "7\\n8\\n";; *" 7 "*) exit 1;; esac\n'
    stand_in(tmp_path, "gh", f"{LOGS}{answers}")
    assert ended(tmp_path, script, GITHUB_WORKFLOW="a job").returncode == 0
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split("contract-reports ")[-1] for call in calls[1:]] == ["--dir earlier/7", "--dir earlier/8"]
    assert (tmp_path / "earlier").is_dir()
