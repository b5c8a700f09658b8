"""The composite action for GitHub: its steps are carried out as a runner would, against a mock."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from action import ACTION, STEPS, carry_out, comment, judge
from wire import HARBOUR

from contract_tests.github_action import run
from mock_server import MockServer

QUICK = "--explore 0 --lag 0"
LEFT_OUT = "not judged: " + re.escape(
    "separation of accounts (no second key), rarer input (--explore 0), overlapping requests (--overlap 0)"
)


@pytest.fixture(scope="module")
def right() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(
    ("defects", "options", "status", "verdict"),
    [
        ((), "", 0, f"conforms; {LEFT_OUT}"),
        (("total-is-one-more",), "--resources domains", 1, rf"does not conform; {LEFT_OUT}, \d+ checks .*"),
    ],
    ids=["right", "wrong"],
)
def test_the_action_judges_with_its_inputs(
    tmp_path: Path, defects: tuple[str, ...], options: str, status: int, verdict: str
) -> None:
    with MockServer(defects=defects) as server:
        ended = carry_out(tmp_path, server.base_url, allow_writes="true", arguments=f"{QUICK} {options}")
    assert ended.returncode == status, ended.stderr
    assert (tmp_path / "reports" / "junit.xml").exists()
    assert (tmp_path / "summary.md").read_text("utf-8").startswith("## ")
    assert ("::error title=" in ended.stdout) == bool(status)
    outputs = (tmp_path / "outputs").read_text("utf-8").splitlines()
    assert re.fullmatch(f"verdict={verdict}", outputs[0])
    assert outputs[1:] == [f"report-dir={tmp_path}/reports"]


HOSTILE = {
    "an apostrophe": "--rate 60/m --header 'X-Name: O'Neil'",
    "an open quotation mark": '--header "X-Name: a',
    "a backslash at the end": "--rate 60/m \\",
    "writes": "--allow-writes",
    "writes, shortened": "--allow",
    "writes, in quotation marks": "'--allow-'writes",
    "writes, on a line of their own": "--rate 60/m\n--allow-writes",
    "another target": "--base-url https://elsewhere.example.com",
    "another target, shortened": "--base=https://elsewhere.example.com",
    "another folder": "--report-dir /tmp/elsewhere",
    "other waivers": "--waivers waivers.yaml",
    "an unknown option": "--no-such-option",
    "an option without its value": "--rate",
    "a word": "hello",
    "a command": "; touch owned",
    "a substitution": "$(touch owned)",
    "a substitution of old": "`touch owned`",
    "a pipe": "| touch owned",
    "a file's name": "*",
    "a redirection": "--rate 60/m > owned",
    "a variable": "--rate $HOME",
    "an end of options": "-- --allow-writes",
    "help": "--help",
    "a plan": "--plan",
    "a watch that never ends": "--watch",
}


@pytest.mark.parametrize("arguments", HOSTILE.values(), ids=HOSTILE)
def test_arguments_that_cannot_be_meant_stop_the_action_and_nothing_is_sent(
    tmp_path: Path, right: MockServer, arguments: str
) -> None:
    before = len(right.running.journal.find())
    ended = judge(tmp_path, right.base_url, arguments=arguments)
    assert (ended.returncode, ended.stdout.count("\n")) == (4, 1), ended.stderr
    assert ended.stdout.startswith("::error::contract-tests: ")
    assert not (tmp_path / "outputs").exists()
    assert len(right.running.journal.find()) == before


FOR_A_SHELL = ("a command", "a substitution", "a file's name")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FOR_A_SHELL else pytest.mark.exhaustive) for name in HOSTILE]
)
def test_no_shell_interprets_the_arguments(tmp_path: Path, name: str) -> None:
    ended = carry_out(tmp_path, "http://127.0.0.1:1", arguments=HOSTILE[name])
    assert (ended.returncode, ended.stdout.count("\n")) == (4, 1), ended.stderr
    assert ended.stdout.startswith("::error::contract-tests: ")
    assert not (tmp_path / "owned").exists()


def test_the_action_writes_nothing_elsewhere_unless_it_is_allowed_to(tmp_path: Path) -> None:
    ended = judge(tmp_path, "https://links.example.com", arguments=QUICK)
    assert ended.returncode == 4
    assert "links.example.com is not this machine" in ended.stderr
    assert "say --allow-writes if that is meant" in ended.stderr


def test_a_switch_that_is_neither_on_nor_off_stops_the_action(tmp_path: Path, right: MockServer) -> None:
    ended = judge(tmp_path, right.base_url, allow_writes="yes please")
    assert ended.returncode == 4
    assert 'the input allow-writes is "yes please"; give true or false' in ended.stdout


def test_a_server_that_cannot_be_judged_is_told_where_a_verdict_would_stand(tmp_path: Path) -> None:
    ended = judge(tmp_path, "http://127.0.0.1:9")
    assert ended.returncode == 7
    assert "::error::nothing was judged: target unusable: " in ended.stdout
    assert "verdict=unusable\n" in (tmp_path / "outputs").read_text("utf-8")
    for path in (tmp_path / "summary.md", tmp_path / "reports" / "summary.md", tmp_path / "reports" / "comment.md"):
        assert "# ❌ nothing was judged\n\ntarget unusable: " in path.read_text("utf-8")


def test_the_reports_of_an_earlier_run_do_not_stand_for_one_that_judged_nothing(
    tmp_path: Path, right: MockServer
) -> None:
    folder, quick = tmp_path / "reports", "--explore 0 --lag 0 --resources domains --rules envelopes.list-*"
    assert judge(tmp_path, right.base_url, arguments=quick).returncode == 0
    assert {"results.json", "junit.xml", "results.sarif", "report.html"} <= {path.name for path in folder.iterdir()}
    assert judge(tmp_path, "http://127.0.0.1:9").returncode == 7
    assert {path.name for path in folder.iterdir()} == {"summary.md", "comment.md"}


def test_a_job_without_a_key_is_told_on_its_page(tmp_path: Path) -> None:
    ended = judge(tmp_path, "http://127.0.0.1:9", api_key="")
    assert (ended.returncode, ended.stdout.count("::error::contract-tests: nothing was judged")) == (4, 1)
    assert ended.stderr == "contract-tests: no API key; set CONTRACT_API_KEY or give --api-key\n"


def test_a_runner_that_cancels_the_step_reaches_the_run_itself(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho $$\n")
    python.chmod(0o755)
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS["judge"]["run"]]  # as GitHub starts it
    environment = {"HOME_OF_IT": str(tmp_path)}
    with subprocess.Popen(shell, env=environment, stdout=subprocess.PIPE, text=True) as process:
        printed, _ = process.communicate()
    assert int(printed) == process.pid


def test_without_a_folder_for_reports_nothing_is_deleted(
    tmp_path: Path, right: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "comment.md").write_text("the user's", "utf-8")
    (tmp_path / "results.json").write_text("{}", "utf-8")
    assert judge(tmp_path, right.base_url, report_dir="").returncode == 4
    assert (tmp_path / "comment.md").exists()
    assert (tmp_path / "results.json").exists()


def test_arguments_are_read_as_a_shell_would(tmp_path: Path, right: MockServer) -> None:
    ended = judge(tmp_path, right.base_url, arguments=f"{QUICK} --read-only \\\n --header 'X-Name: O'\\''Neil' # none")
    assert ended.returncode == 4  # a comment is none here
    ended = judge(tmp_path, right.base_url, arguments=f"{QUICK} --read-only --header 'X-Name: a b'")
    assert ended.returncode == 0, ended.stdout


def test_the_action_leaves_the_jobs_python_alone() -> None:
    python, install, *_ = ACTION["runs"]["steps"]
    assert python["with"]["update-environment"] is False
    assert '"$PYTHON" -m venv "$HOME_OF_IT"' in install["run"]
    assert "${{" not in install["run"] + ACTION["runs"]["steps"][-1]["run"]


def test_the_verdict_of_an_earlier_run_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results.json").write_text('{"verdict": "conforms"}', "utf-8")
    inputs = {
        "INPUT_BASE_URL": "http://127.0.0.1:1",
        "INPUT_REPORT_DIR": str(tmp_path),
        "INPUT_ARGUMENTS": QUICK,
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
    }
    monkeypatch.setenv("CONTRACT_API_KEY", HARBOUR)
    assert run(inputs) == 7
    assert (tmp_path / "outputs").read_text("utf-8") == f"verdict=unusable\nreport-dir={tmp_path}\n"


@pytest.mark.parametrize(
    ("there", "wanted"), [("", "issues/7/comments --field"), (r"31\n32\n", "issues/comments/31 --method PATCH")]
)
def test_a_comment_is_posted_once_and_then_updated(tmp_path: Path, there: str, wanted: str) -> None:
    status, looks, sent = comment(tmp_path, there)
    assert status == 0
    assert looks.startswith("api repos/me/mine/issues/7/comments --paginate")
    assert f"repos/me/mine/{wanted}" in sent
    assert sent.endswith(f"body=@{tmp_path}/comment.md --silent\n")
