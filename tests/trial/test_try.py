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
from shell import MOCK_SERVER, has_ended, in_process
from wire import Client, over_network

from mock_server import cli
from mock_server.trial import client_test, runs

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
    relies, repeat, said, survived, runs = ended.stdout.splitlines()[-5:]
    assert re.match(
        "your client relies on  create-status = 201  fails with 20[02] or 20[02]  first seen at POST", relies
    )
    assert relies.endswith("  first seen at POST /api/domains")
    assert repeat.strip().startswith("mock-server --open create-status=20")
    assert said.strip() == "it said: relies on create-status"
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


@pytest.mark.slow
def test_a_client_that_does_not_wait_after_a_429_is_told_how_often() -> None:
    ended = tried("--only", "429-retry-after", planted="429-retry-after")
    assert ended.returncode == 1
    assert "sent again before Retry-After was over, " in ended.stdout


@pytest.mark.slow
def test_harm_comes_before_what_the_client_relies_on_and_that_before_what_it_gives_up(tmp_path: Path) -> None:
    names = ("500-once", "create-status", "lost-create")
    options = (f"--only={name}" for name in names)
    ended = tried(*options, "--report-dir", tmp_path, planted=",".join(names))
    assert ended.returncode == 1
    headings = re.findall("^(harm|your client relies on|gives up)", ended.stdout, re.MULTILINE)
    assert headings == ["harm", "your client relies on", "gives up"]
    assert "survived 1 of 2 kinds of trouble\n  by giving up, without harm: 500-once\n" in ended.stdout
    entries = {each["name"]: each for each in json.loads((tmp_path / "results.json").read_text("utf-8"))["variations"]}
    assert (entries["lost-create"]["harm"], entries["500-once"]["harm"]) == (True, False)
    assert tried("--only", "500-once", planted="500-once").returncode == 0


@pytest.mark.parametrize(("asks_junit", "has_junit"), [(False, False), (True, True), (True, False)])
def test_the_tests_that_fail_are_named_with_the_limit_that_ended_them(
    tmp_path: Path, *, asks_junit: bool, has_junit: bool
) -> None:
    junit = tmp_path / "junit.xml"
    text = f"""
import json
if json.loads(get('/api/domains/'))['data'][0]['id'] != 1:
    print(' FAIL  a.test.ts > newest')
    print('\\x1b[31mError: Test timed out in 50ms.')
    if {has_junit}:
        pathlib.Path({str(junit)!r}).write_text('<a><testcase name="as in the file"><failure/></testcase></a>')
    sys.exit(1)
"""
    junit_options = ("--client-junit", junit) if asks_junit else ()
    ended = tried("--only", "order", "--open", "order=oldest-first", *junit_options, client=script(tmp_path, text))
    told = [line.strip() for line in ended.stdout.splitlines()]
    assert "exit status 1, after the runner's own limit of 50ms" in told
    assert ("in as in the file" if has_junit else "in a.test.ts > newest") in told
    assert "it said: Error: Test timed out in 50ms." in told
    assert ("left no JUnit report" in ended.stdout) == (asks_junit and not has_junit)


@pytest.mark.parametrize("base_path", ["", "/v1"])
def test_the_request_that_is_named_is_one_of_the_test_that_fails(tmp_path: Path, base_path: str) -> None:
    text = """
import json
os.environ['API_KEY'] = 'sandbox-all-of-them-01234567-89ab-cdef-0123-456789abcdef'
get('/api/notification-handlers/')
os.environ['API_KEY'] = 'sandbox-the-newest-first-01234567-89ab-cdef-0123-456789abcdef'
if json.loads(get('/api/domains/'))['data'][0]['id'] != 1:
    sys.exit(' FAIL  a.test.ts > lists > the newest, first')
"""
    options = ("--only", "order", "--open", "order=oldest-first", "--base-path", base_path)
    ended = tried(*options, client=script(tmp_path, text))
    relies = next(line for line in ended.stdout.splitlines() if line.startswith("your client relies on"))
    assert relies.endswith("  first seen at GET /api/domains/")


BLIND = """
headers = {'Authorization': 'Bearer ' + os.environ['API_KEY']}
request = u.Request(os.environ['MOCK_URL'] + '/api/domains', b'host=once.example.com', headers)
try: u.urlopen(request)
except OSError:
    try: u.urlopen(request)
    except OSError: pass
"""


@pytest.mark.slow
def test_a_command_that_does_not_end_is_ended_after_its_time_and_has_not_survived(tmp_path: Path) -> None:
    text = f"""
import time
open({str(tmp_path / "pids")!r}, 'a').write(str(os.getpid()) + ' ')
try: get('/api/domains/')
except OSError: time.sleep(600)
"""
    with patch.multiple(runs, MIN_SECONDS=0, TIMES_AS_LONG=0):
        ended = tried("--only", "503-once", client=script(tmp_path, text))
    assert (ended.returncode, ended.stderr.count(": did not end within 1 s, ")) == (1, 2)
    assert "survived 0 of 1 kinds of trouble" in ended.stdout
    assert all(has_ended(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_trouble_leaves_alone_what_the_client_s_test_forces(tmp_path: Path) -> None:
    text = """
import json
forced = json.dumps({'method': 'GET', 'path': '/api/domains/', 'status': 418, 'times': 1}).encode()
u.urlopen(u.Request(os.environ['MOCK_URL'] + '/_mock/forced', forced, {'Content-Type': 'application/json'}))
def status(path):
    try: get(path)
    except OSError as error: return error.code
    return 200
if status('/api/domains/') != 418:
    sys.exit('not as forced')
status('/api/domains/1')
"""
    ended = tried("--only", "503-once", client=script(tmp_path, text))
    assert (ended.returncode, "gives up" in ended.stdout) == (0, False)
    assert "survived 1 of 1 kinds of trouble\n" in ended.stdout


def test_only_what_the_first_run_can_reveal_is_varied(tmp_path: Path) -> None:
    client = script(tmp_path, "get('/api/domains/')")
    ended = tried("--only", "order", "--only", "create-status", client=client)
    assert "\n2 runs for the 2 other values of the 1 open points it meets\n" in ended.stdout
    ended = tried("--only", "create-status", client=client)
    assert (ended.returncode, "\nno other choice is met\n" in ended.stdout) == (6, True)
    assert ended.stdout.endswith(", stopped as the client's requests show nothing of what is varied\n")


def test_first_comes_a_value_of_each_point_then_what_may_show_harm_then_the_other_values(tmp_path: Path) -> None:
    options = [f"--only={name}" for name in ("503-once", "lost-create", "create-status", "order")]
    ended = tried(*options, "--runs", "4", client=script(tmp_path, f"{BLIND}get('/api/domains/')"))
    assert "not tried: 503-once\n" in ended.stdout
    assert re.findall(r"^run \d(?: of \d)?: (.*): passed, ", ended.stderr, re.MULTILINE) == [
        "default choices",
        "create-status=200, order=by-name",
        "lost-create",
        "create-status=202, order=oldest-first",
    ]


def test_jobs_run_at_the_same_time(tmp_path: Path) -> None:
    folder = tmp_path / "started"
    folder.mkdir()
    text = f"""
import time
get('/api/domains/')
folder, ends = pathlib.Path({str(folder)!r}), time.monotonic() + 50
is_first = not list(folder.iterdir())
(folder / str(os.getpid())).touch()
while not is_first and len(list(folder.iterdir())) < 3:
    if time.monotonic() > ends: sys.exit('alone')
    time.sleep(0.05)
"""
    ended = tried("--jobs", "2", "--only", "order", client=script(tmp_path, text))
    assert "\nsurvived 2 of 2 choices\n" in ended.stdout
    assert "\n3 runs in " in ended.stdout  # none failed and was repeated


@pytest.mark.parametrize(
    ("condition", "runs_of_one"),
    [("is_other", 3), ("is_other and 'all' in titles", 4), ("is_other or 'all' not in titles", 1)],
    ids=["independent", "passes alone", "fails alone"],
)
def test_only_the_tests_that_failed_are_run_to_find_the_choice_unless_they_need_the_others(
    tmp_path: Path, condition: str, runs_of_one: int
) -> None:
    patterns = tmp_path / "patterns"
    text = f"""
import json, re
titles = [title for title in ('all', 'newest, first') if re.search(sys.argv[1], title)]
pathlib.Path({str(patterns)!r}).open('a').write(sys.argv[1] + chr(10))
ids = [domain['id'] for domain in json.loads(get('/api/domains/'))['data']]
is_other = ids != sorted(ids)
if 'newest, first' in titles and ({condition}):
    sys.exit(' FAIL  a.test.ts > lists > newest, first')
"""
    only = [f"--only={name}" for name in ("order=by-name", "ids", "delete-status", "media-type")]
    ended = tried(*only, "--open", "order=oldest-first", client=(*script(tmp_path, text), "{tests}"))
    assert "your client relies on  order = oldest-first  fails with by-name" in ended.stdout
    first, *others = patterns.read_text().splitlines()
    assert (first, others.count("newest.+first")) == (".", runs_of_one)


def test_a_form_that_is_sent_whole_undoes_what_somebody_else_changed(tmp_path: Path) -> None:
    text = """
import json
before = json.loads(get('/api/domains/1'))['data']
form = '&'.join(f'{name}={before[name]}' for name in ('host', 'custom_index_url')).encode()
headers = {'Authorization': 'Bearer ' + os.environ['API_KEY']}
u.urlopen(u.Request(os.environ['MOCK_URL'] + '/api/domains/1', form, headers))
"""
    ended = tried("--only", "changed-meanwhile", client=script(tmp_path, text))
    assert '"custom_index_url" was written as it was before somebody else changed it' in ended.stdout


def test_a_create_that_is_sent_again_without_a_look_is_harm_though_it_is_refused(tmp_path: Path) -> None:
    ended = tried("--only", "lost-create", client=script(tmp_path, BLIND))
    assert ended.returncode == 1
    harm = "^harm .* sent again without a look whether it was done +POST /api/domains"
    assert re.search(harm, ended.stdout, re.MULTILINE)


def test_one_run_ends_before_the_next_begins(tmp_path: Path) -> None:
    text = f"""
import json, time
busy = pathlib.Path({str(tmp_path / "busy")!r})
try: busy.mkdir()
except FileExistsError: pathlib.Path({str(tmp_path / "overlap")!r}).touch()
time.sleep(0.2)
{BLIND}
try: shown = json.loads(get('/api/domains/'))['data'][0]['host'] == 'once.example.com'
except OSError: shown = False
busy.rmdir()
sys.exit(not shown)
"""
    ended = tried("--only", "lag", "--only", "lost-create", "--only", "429", client=script(tmp_path, text))
    assert ended.stderr.count("again: ") == 1  # to confirm what lag shows
    assert not (tmp_path / "overlap").exists()


def test_after_so_many_minutes_it_stops_and_says_what_was_not_tried() -> None:
    ended = tried("--minutes", "0.0001", "--only", "order", "--only", "500-once")
    assert ended.returncode == 6
    assert "survived 0 of 1 kinds of trouble; 1 was not tried" in ended.stdout
    assert ended.stdout.rstrip().endswith("stopped after 0.0001 minutes")


def test_what_runs_have_shown_is_told_although_the_time_is_over(tmp_path: Path) -> None:
    text = """
import json
if json.loads(get('/api/domains/'))['data'][0]['id'] != 1:
    print(' FAIL  a.test.ts > newest')
    sys.exit(1)
get('/api/notification-handlers/')
"""
    options = ("--vary", "open", "--open", "order=oldest-first", "--runs")
    stopped = tried(*options, "2", client=script(tmp_path, text))
    assert stopped.returncode == 6
    [suspicion] = [
        line for line in stopped.stdout.splitlines() if line.startswith("note: Your client fails with one of")
    ]
    assert "order=by-name" in suspicion
    runs = next(
        number for number in range(3, 20) if tried(*options, str(number), client=script(tmp_path, text)).returncode == 1
    )
    assert runs < 10  # before all of the others are tried


def test_a_command_that_fails_by_itself_is_tried_twice_and_its_output_shown(tmp_path: Path) -> None:
    ended = tried("--report-dir", tmp_path, client=(sys.executable, "-c", "print('it is broken'); raise SystemExit(3)"))
    assert ended.returncode == 7
    said, verdict = ended.stdout.splitlines()
    assert said == "it is broken"
    assert verdict.endswith(", stopped because your client fails by itself, with default choices: exit status 3")
    assert ended.stderr.count("run ") == 2
    assert parse(tmp_path / "junit.xml").getroot()[0].get("errors") == "1"
    assert "it is broken" in (tmp_path / "summary.md").read_text("utf-8")


@pytest.mark.slow
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
    assert "note: A run that failed passed once more; with default choices, 3 of 10 runs fail." in ended.stdout


@pytest.mark.slow
def test_what_is_no_chance_is_found_although_the_client_also_fails_now_and_then(tmp_path: Path) -> None:
    text = """
import json
runs = pathlib.Path(sys.argv[0] + '.runs')
before = runs.read_text() if runs.exists() else ''
runs.write_text(before + '.')
ids = [each['id'] for each in json.loads(get('/api/domains/'))['data'][:2]]
sys.exit(ids[0] < ids[1] or len(before) % 4 == 1)
"""
    only = ("--only", "order", "--only", "key-order", "--only", "further-keys")
    ended = tried(*only, "--report-dir", tmp_path, client=script(tmp_path, text))
    assert "fails now and then by itself" in ended.stdout
    results = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert {each["name"] for each in results["variations"] if each["result"] == "failed"} <= {"order"}
    assert ended.returncode == 1


@pytest.mark.parametrize("reset", ["reset", "accounts/demo-key-harbour/reset"])
def test_a_client_that_resets_the_mock_is_tried_all_the_same(tmp_path: Path, reset: str) -> None:
    text = f"""
import json
u.urlopen(u.Request(os.environ['MOCK_URL'] + '/_mock/{reset}', method='POST')).read()
ids = [each['id'] for each in json.loads(get('/api/domains/'))['data'][:2]]
sys.exit(ids[0] < ids[1])
"""
    ended = tried("--only", "order=oldest-first", client=script(tmp_path, text))
    assert "fails with oldest-first" in ended.stdout
    assert "survived 0 of 1 choices" in ended.stdout


def test_what_comes_after_many_requests_that_are_alike_is_tried_too(tmp_path: Path) -> None:
    text = """
import http.client
connection = http.client.HTTPConnection(os.environ['MOCK_URL'].partition('//')[2])
for _ in range(300):
    connection.request('GET', '/api/domains/1', headers={'Authorization': 'Bearer ' + os.environ['API_KEY']})
    connection.getresponse().read()
get('/api/domains/')
"""
    ended = tried("--only", "order", client=script(tmp_path, text))
    assert "survived 2 of 2 choices" in ended.stdout


def test_what_a_command_leaves_running_is_ended_even_if_it_ignores_that(tmp_path: Path) -> None:
    text = f"""
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
left = subprocess.Popen(['sleep', '600'])
open({str(tmp_path / "pids")!r}, 'a').write(str(left.pid) + ' ')
get('/api/domains/')
"""
    with patch.object(runs, "SECONDS_TO_END", 0.1):
        assert tried("--only", "order", client=script(tmp_path, text)).returncode == 0
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 3
    ends = time.monotonic() + 60
    while any(
        Path(f"/proc/{pid}/cmdline").exists() and b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids
    ):
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.mark.slow
def test_reports_are_written_although_nobody_reads_what_is_printed(tmp_path: Path) -> None:
    line: list[str | Path] = [MOCK_SERVER, "try", "--only", "order", "--report-dir", tmp_path, "--", *CLIENT]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(line, stdout=full, stderr=full, check=False)
    assert ended.returncode == 0
    assert json.loads((tmp_path / "results.json").read_text("utf-8"))["status"] == 0


@pytest.mark.slow
def test_a_command_that_removes_its_folder_is_no_reason_to_lose_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    client = script(tmp_path, f"get('/api/domains/')\nimport shutil\nshutil.rmtree({str(tmp_path / 'gone')!r}, True)")
    line: list[str | Path] = [MOCK_SERVER, "try", "--only", "order", "--", *client]
    ended = subprocess.run(line, cwd=tmp_path / "gone", capture_output=True, text=True, check=False)
    assert ended.returncode == 4
    assert "mock-server: the trial cannot go on: " in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_defects_that_the_client_does_not_notice_are_named() -> None:
    ended = tried("--only", "total-is-one-more", "--only", "key-is-not-understood")
    assert "noticed 1 of 2 defects that no server may have\n  not noticed: total-is-one-more: " in ended.stdout
    assert ended.returncode == 0


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
    ended = tried("--only", "order=oldest-first", "--only", "key-order=sorted", client=script(tmp_path, text))
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
        (("--baseline", "/dev/null", "--", "true"), "/dev/null is not the results.json of a trial"),
        (("--baseline", "/dev/nothing", "--", "true"), "cannot be read: No such file"),
        (("--open", "order=none", "--", "true"), 'open point "order" has no value "none"'),
    ],
)
def test_a_mistake_is_told_in_one_line(options: tuple[str, ...], message: str) -> None:
    ended = in_process(cli.main, "try", *options)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_an_error_of_the_trial_itself_is_no_failure_of_the_client(tmp_path: Path) -> None:
    with patch.object(client_test, "differing", side_effect=ZeroDivisionError):
        ended = tried(client=script(tmp_path, "get('/api/domains/')"))
    assert ended.returncode == 3
    assert ended.stderr.splitlines()[-2:] == ["ZeroDivisionError", f"mock-server: {cli.OWN_ERROR}"]


@pytest.mark.slow
def test_a_client_is_only_to_rely_on_no_more_than_before(tmp_path: Path) -> None:
    only = ("--only", "create-status", "--only", "update-status")
    assert tried(*only, "--report-dir", tmp_path, planted="create-status").returncode == 1
    same = tried(*only, "--baseline", tmp_path, "--report-dir", tmp_path / "same", planted="create-status")
    assert same.returncode == 0
    assert "\nas in the baseline\n" in same.stdout
    assert parse(tmp_path / "same" / "junit.xml").getroot()[0].get("failures") == "0"
    other = tried(*only, "--baseline", tmp_path / "results.json", planted="update-status")
    assert other.returncode == 1
    assert "worse than in the baseline: update-status=20" in other.stdout
    assert "better than in the baseline: create-status=20" in other.stdout
    less = tried("--only", "update-status", "--baseline", tmp_path)
    assert "better" not in less.stdout  # of what was not tried, nothing is known
    assert tried(*only, "--baseline", tmp_path / "none").returncode == 4


def test_after_so_many_runs_it_stops_and_says_what_was_not_tried() -> None:
    ended = tried("--only", "create-status", "--runs", "2")
    assert ended.returncode == 6
    assert "survived 1 of 2 choices; 1 was not tried\n  not tried: create-status\n2 runs in " in ended.stdout


def test_a_person_is_asked_if_no_command_can_start_the_client() -> None:
    answers = iter(["", "perhaps", "passed", "f", "p"])

    def asked(_: str) -> str:
        printed = sys.stdout.buffer.getvalue().decode()  # type: ignore[union-attr]
        url, key = re.findall(r" at (\S+), key (\S+)", printed)[-1]
        Client(over_network(url), key).get("/api/domains/")
        return next(answers)

    with patch("click.termui.visible_prompt_func", asked):
        ended = in_process(cli.main, "try", "--manual", "--port", "0", "--only", "order")
    assert "'perhaps' is not one of 'passed', 'failed'" in ended.stdout
    assert "survived 1 of 2 choices" in ended.stdout
    assert ended.returncode == 1


def test_nobody_answers_any_more() -> None:
    with patch("click.termui.visible_prompt_func", side_effect=EOFError):
        ended = in_process(cli.main, "try", "--manual", "--port", "0", "--only", "order")
    assert ended.returncode == 2
    assert "stopped by you" in ended.stdout


@pytest.mark.slow
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
