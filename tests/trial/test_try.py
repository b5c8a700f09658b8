from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch
from xml.etree.ElementTree import parse

import pytest
from shell import MOCK_SERVER, in_process
from wire import Client, over_network

from mock_server import cli

CLIENT = (sys.executable, Path(__file__).parents[1] / "clients" / "planted.py")


def tried(*options: str | Path, client: Sequence[str | Path] = CLIENT, planted: str = "") -> CompletedProcess[str]:
    """What `mock-server try` prints of a client."""
    with patch.dict(os.environ, {"PLANTED": planted}):
        return in_process(cli.main, "try", *options, "--", *client)


def script(tmp_path: Path, text: str) -> tuple[str, Path]:
    """A client of a few lines, which has `get(path)`."""
    file = tmp_path / "client.py"
    lines = (
        "import os, sys, urllib.request as u, pathlib",
        "def get(path):",
        "    headers = {'Authorization': 'Bearer ' + os.environ['API_KEY']}",
        "    return u.urlopen(u.Request(os.environ['MOCK_URL'] + path, headers=headers)).read()",
        text,
    )
    file.write_text("\n".join(lines))
    return sys.executable, file


def test_a_client_that_relies_on_a_choice_is_told_which_and_where(tmp_path: Path) -> None:
    ended = tried("--only", "order", "--only", "create-status", "--report-dir", tmp_path, planted="create-status")
    assert ended.returncode == 1
    relies, repeat, survived, runs = ended.stdout.splitlines()[-4:]
    assert re.match("your client relies on  create-status = 201  fails with 20[02] or 20[02]  POST", relies)
    assert relies.endswith("  POST /api/domains")
    assert repeat.strip().startswith("mock-server --open create-status=20")
    assert survived == "survived 2 of 4 choices"
    assert " runs in " in runs
    results = json.loads((tmp_path / "results.json").read_text("utf-8"))
    failed = [each for each in results["variations"] if each["result"] == "failed"]
    assert {(each["name"], each["usual"], each["value"]) for each in failed} == {
        ("create-status", "201", "200"),
        ("create-status", "201", "202"),
    }
    assert failed[0]["output"].endswith("relies on create-status\n")
    suite = parse(tmp_path / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    assert "relies on" in (tmp_path / "summary.md").read_text("utf-8")


def test_a_client_that_relies_on_nothing_survives() -> None:
    ended = tried("--only", "order", "--only", "ids", "--only", "lost-create")
    assert ended.returncode == 0
    assert "survived 4 of 4 choices\nsurvived 1 of 1 kinds of trouble\n" in ended.stdout


def test_a_create_that_is_made_twice_is_seen_although_the_client_succeeds() -> None:
    ended = tried("--only", "lost-create", planted="lost-create")
    assert ended.returncode == 1
    assert "two records were made" in ended.stdout
    assert "POST /api/projects" in ended.stdout


def test_a_client_that_does_not_wait_after_a_429_is_told_how_often() -> None:
    ended = tried("--only", "429-retry-after", planted="429-retry-after")
    assert ended.returncode == 1
    assert "sent again before Retry-After was over, " in ended.stdout


def test_a_command_that_fails_by_itself_is_tried_twice_and_its_output_shown() -> None:
    ended = tried(client=(sys.executable, "-c", "print('it is broken'); raise SystemExit(3)"))
    assert ended.returncode == 7
    assert ended.stdout == "it is broken\nyour client fails by itself, with default choices: exit status 3\n"
    assert ended.stderr.count("run ") == 2


def test_a_command_that_fails_now_and_then_is_repeated_until_it_is_known(tmp_path: Path) -> None:
    text = """
get('/api/domains/')
runs = pathlib.Path(sys.argv[0] + '.runs')
before = runs.read_text() if runs.exists() else ''
runs.write_text(before + '.')
sys.exit(len(before) % 3 == 2)
"""
    ended = tried("--only", "order", client=script(tmp_path, text))
    assert ended.returncode == 0
    assert "fails now and then by itself" in ended.stdout
    assert "survived 2 of 2 choices" in ended.stdout
    assert "note: By itself, the client fails in " in ended.stdout


def test_a_client_that_ends_with_success_but_never_asked_the_mock_is_no_proof() -> None:
    ended = tried(client=(sys.executable, "-c", ""))
    assert ended.returncode == 4
    assert "sent no request to $MOCK_URL" in ended.stderr


def test_the_command_is_told_where_the_server_is_by_any_name(tmp_path: Path) -> None:
    told = "assert os.environ['BACKEND'] == os.environ['MOCK_URL'] + '/v1 demo-key-harbour'"
    client = script(tmp_path, f"{told}\nassert os.environ['API_BASE_URL'] == os.environ['MOCK']\nget('/api/domains/')")
    ended = tried("--env", "BACKEND={url}/v1 {key}", "--only", "order", client=client)
    assert ended.returncode == 0, ended.stdout


def test_choices_that_fail_only_together_are_told_together(tmp_path: Path) -> None:
    text = """
import json
first, second = json.loads(get('/api/domains/'))['data'][:2]
sys.exit(list(first) == sorted(first) and first['id'] < second['id'])
"""
    ended = tried("--only", "order", "--only", "key-order", "--pairs", client=script(tmp_path, text))
    assert ended.returncode == 1
    assert re.search("fails with (sorted together with order = oldest|oldest-first together with key)", ended.stdout)
    assert "mock-server --open key-order=sorted --open order=oldest-first" in ended.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "ordr", "--", "true"), "did you mean order"),
        (("--vary", "all", "--", "true"), 'cannot vary "all"; it varies open, trouble, defects'),
        (("--jobs", "0", "--", "true"), "--jobs"),
        (("--env", "HERE", "--", "true"), "expected NAME=TEXT"),
        (("--jobs", "2", "--port", "8123", "--", "true"), "--jobs goes with a free port"),
        (("--manual", "--", "true"), "or --manual if none can"),
        ((), "give the command that starts your client after --"),
        (("--", "no-such-command"), '"no-such-command" cannot be run'),
        (("--nonsense",), "--nonsense"),
        (("--report-dir", "/dev/null/reports", "--", "true"), "/dev/null/reports cannot be made: Not a directory"),
        (("--baseline", "/dev/null", "--", "true"), "the baseline /dev/null cannot be read"),
        (("--open", "order=none", "--", "true"), 'open point "order" has no value "none"'),
    ],
)
def test_a_mistake_is_told_in_one_line(options: tuple[str, ...], message: str) -> None:
    ended = in_process(cli.main, "try", *options)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_client_is_only_to_rely_on_no_more_than_before(tmp_path: Path) -> None:
    only = ("--only", "create-status", "--only", "update-status")
    assert tried(*only, "--report-dir", tmp_path, planted="create-status").returncode == 1
    same = tried(*only, "--baseline", tmp_path, planted="create-status")
    assert (same.returncode, same.stdout.splitlines()[-1]) == (0, "as in the baseline")
    other = tried(*only, "--baseline", tmp_path / "results.json", planted="update-status")
    assert other.returncode == 1
    assert other.stdout.endswith(
        "worse than in the baseline: update-status\nbetter than in the baseline: create-status\n"
    )
    assert tried(*only, "--baseline", tmp_path / "none").returncode == 4


def test_after_so_many_runs_it_stops_and_says_what_was_not_tried() -> None:
    ended = tried("--only", "create-status", "--runs", "2")
    assert ended.returncode == 6
    assert "survived 1 of 2 choices; 1 were not tried\n2 runs in " in ended.stdout


def test_a_person_is_asked_if_no_command_can_start_the_client() -> None:
    answers = iter(["", "perhaps", "passed", "f", "p"])

    def asked(_: str) -> str:
        printed = sys.stdout.buffer.getvalue().decode()  # type: ignore[union-attr]
        url, key = re.findall(r" at (\S+), key (\S+)", printed)[-1]
        Client(over_network(url), key).get("/api/domains/")
        return next(answers)

    with patch("builtins.input", asked):
        ended = in_process(cli.main, "try", "--manual", "--port", "0", "--only", "order")
    assert ended.stdout.count('Say "passed" or "failed".') == 2
    assert "survived 1 of 2 choices" in ended.stdout
    assert ended.returncode == 1


def test_nobody_answers_any_more() -> None:
    with patch("builtins.input", side_effect=EOFError):
        ended = in_process(cli.main, "try", "--manual", "--port", "0", "--only", "order")
    assert ended.returncode == 2
    assert "stopped by you" in ended.stdout


def test_ctrl_c_ends_the_command_and_tells_what_is_known(tmp_path: Path) -> None:
    started = tmp_path / "started"
    hangs = f"""
import time
get('/api/domains/')
runs = int(open({str(started)!r}).read().split()[0]) if os.path.exists({str(started)!r}) else 0
open({str(started)!r}, 'w').write(str(runs + 1) + ' ' + str(os.getpid()))
time.sleep(600 if runs else 0)
"""
    command: list[str | Path] = [MOCK_SERVER, "try", "--only", "order", "--", *script(tmp_path, hangs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        while not started.exists() or not started.read_text().startswith("2 "):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        printed = process.stdout.read()
    assert process.returncode == 2
    assert "survived 0 of 2 choices; 2 were not tried" in printed
    assert "stopped by you" in printed
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text().split()[1]), 0)
