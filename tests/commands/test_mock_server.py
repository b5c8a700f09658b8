from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import requests
import trustme
import yaml
from shell import MOCK_SERVER, failure, in_process, printed, running
from upstream import wait_for
from wire import HARBOUR, Client, over_network

from mock_server import MockServer
from mock_server.cli import parse, settings_of
from mock_server.output import MAX_WAITING_LINES, BatchHandler, banner, remarks, saved, say


def served(*options: str) -> MockServer:
    """The mock that the command serves with these options, for this process."""
    given = parse(options)
    return MockServer(given.host, control_token=given.control_token, **settings_of(given))


def test_it_prints_its_url_its_keys_and_a_curl_line_that_works() -> None:
    with running("--api-key", "mine", "--base-path", "/v1/") as (_, lines):
        text = "".join(lines)
        assert re.search(r"^Mock server +http://127\.0\.0\.1:\d+/v1$", text, re.MULTILINE)
        assert re.findall(r"^API key +(\S+)", text, re.MULTILINE) == [HARBOUR, "demo-key-alpine", "mine"]
        assert "sandbox-" in text
        line = re.search(r"^Try +(curl .*)$", text, re.MULTILINE)
        assert line
        answer = subprocess.run(["bash", "-c", f"{line[1]} --silent"], capture_output=True, check=True, timeout=60)
        assert json.loads(answer.stdout)["meta"]["results_per_page"] == 10


def test_a_program_that_starts_it_is_told_where_it_listens_in_a_line_of_json() -> None:
    options = ("--port", "0", "--ready-json", "--log-level", "error")
    with subprocess.Popen([MOCK_SERVER, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            told = json.loads(process.stdout.readline())
            client = Client(over_network(told["base_url"]), next(iter(told["api_keys"])))
            assert client.get("/api/domains/").status == 200
            assert told["console"] == f"{told['base_url']}/"
            assert told["pid"] == process.pid
        finally:
            process.send_signal(signal.SIGTERM)


@pytest.fixture
def no_nohup() -> Iterator[None]:
    """Processes are started with the usual SIGHUP, even if the tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, id="ctrl-c"),
        pytest.param(signal.SIGHUP, id="closed terminal", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, id="sigterm", marks=pytest.mark.exhaustive),
    ],
)
def test_a_signal_ends_it_at_once_and_cleanly_with_a_connection_open(number: signal.Signals, no_nohup: None) -> None:
    with running() as (process, lines):
        assert process.stderr
        client = Client(over_network(lines[0].split()[-1]))
        assert client.get("/api/domains/").status == 200
        process.send_signal(number)
        assert process.wait(timeout=120) == 0
        assert re.fullmatch(r"\d\d:\d\d:\d\d GET /api/domains/ 200 \d+\.\d ms  Harbour Books\n", process.stderr.read())


@pytest.mark.slow
def test_a_log_that_nobody_reads_stops_nothing() -> None:
    with running() as (process, lines):
        client = Client(over_network(lines[0].split()[-1]))
        for _ in range(100):  # twice what a pipe holds
            assert client.get(f"/api/domains/?filler={'x' * 1500}").status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0


def test_of_log_lines_that_nobody_reads_the_oldest_are_lost() -> None:
    handler, written_texts, is_read = BatchHandler(), list[str](), threading.Event()

    def write(text: str) -> None:
        is_read.wait()
        written_texts.append(text)

    handler.stream = SimpleNamespace(write=write, flush=lambda: None)
    handler.emit(logging.makeLogRecord({"msg": "the first"}))
    wait_for(lambda: not handler._waiting)  # noqa: SLF001 - it was taken to be written
    for number in range(MAX_WAITING_LINES + 5):
        handler.emit(logging.makeLogRecord({"msg": str(number)}))
    is_read.set()
    wait_for(lambda: len(written_texts) > 1)
    handler.finish()
    assert "".join(written_texts).split("\n")[:2] == ["the first", "5"]


@pytest.mark.slow
def test_a_port_is_free_again_at_once() -> None:
    with running() as (process, lines):
        port = lines[0].rpartition(":")[2].strip()
        over_network(lines[0].split()[-1])("GET", "/openapi.yaml", {}, None)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=120)
    with MockServer(port=int(port)) as server:
        assert server.origin.endswith(f":{port}")


def test_a_port_in_use_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert failure("--port", str(port)) == (
            f"mock-server: cannot listen on 127.0.0.1, port {port}: Address already in use, by another program; "
            "try another, or 0 for a free port\n"
        )


@pytest.mark.parametrize("token", [None, "a-token-that-nobody-guesses"])
def test_a_port_in_use_by_a_mock_is_told_with_its_console(token: str | None) -> None:
    with MockServer(control_token=token) as server:
        told = failure("--port", server.origin.rpartition(":")[2])
    assert f"Address already in use, by a mock whose console is at {server.origin}/; try another" in told


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--fixtrue", "Did you mean one of: '--fixture'"),
        ("--defects", "Did you mean one of: '--defect'"),
        ("--zzzzz", "No such option '--zzzzz'"),
    ],
)
def test_an_unknown_option_gets_a_hint(option: str, hint: str) -> None:
    assert hint in failure(option, "demo")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "x"], "'--port': 'x' is not a valid integer range"),
        (["--port", "65536"], "'--port': 65536 is not in the range 0<=x<=65535"),
        (["--open", "delete-status"], "expected POINT=VALUE, such as create-status=200"),
        (["--open", "delete-states=204"], 'no open point "delete-states"; did you mean delete-status'),
        (["--open", "delete-status=500"], "it takes 200-empty, 200-json, 200-text, 202-empty, 204"),
        (["--records", "-1"], "'--records': -1 is not in the range x>=0"),
        (["--sandboxes", "0"], "sandboxes is 0; give 1 or more"),
        (["--api-key", "sandbox-1"], "cannot be a key"),
        (["--api-key", ""], "cannot be a key"),
        (["--base-path", "v1"], 'invalid path prefix "v1": expected something like /prefix'),
        (["--public-base-url", "example.com"], 'invalid base URL "example.com": expected something like https://'),
        (["--fixture", "nowhere.yaml"], 'fixture "nowhere.yaml" cannot be read'),
        (["--host", "256.0.0.1"], "cannot listen on 256.0.0.1"),
        (["--seed", "x"], "'--seed': 'x' is not a valid integer"),
        (["--base-path", "/it's"], "invalid path prefix"),
        (["--public-base-url", "http://[::1"], "invalid base URL"),
        (["--api-key", HARBOUR], "is the fixture's already; give another"),
        (["--colour"], "No such option '--colour'"),
        (["--defect", "total-is-1-more"], 'no defect "total-is-1-more"; did you mean total-is-one-more'),
        (["--condition", "rain"], 'invalid condition "rain": expected NAME or NAME=N, such as lag=0.3'),
        (["--condition", "rain=1"], 'no condition "rain"; conditions are latency, lag'),
        (["--condition", "lag=soon"], 'invalid condition "lag=soon": expected NAME or NAME=N, such as lag=0.3'),
        (["--condition", "lag=-1"], 'the condition "lag" is -1.0; expected a number from 0 to 1000'),
        (["--rate-limit", "60/m", "--condition", "rate-limit=5"], "give one of them"),
        (["--cors", "off", "--cors-origin", "http://localhost:5173"], "--cors off and --cors-origin contradict"),
    ],
)
def test_a_mistake_is_told_in_one_line(options: list[str], message: str) -> None:
    said = failure("--port", "0", *options)
    assert message in said
    assert said.count("\n") == 1
    assert said.startswith("mock-server: ")


def test_the_open_points_are_listed() -> None:
    listed = printed("--list-open")
    assert "create-status: The status of a create that succeeds.\n  200: OK.\n  201 (default): Created.\n" in listed


def test_the_clock_of_the_machine_dates_records_when_asked() -> None:
    with served("--clock", "system", "--fixture", "empty") as server:
        client = Client(over_network(server.base_url))
        identifier = client.create("/api/projects", {"name": "Now"})
        made = client.get(f"/api/splash-pages/{identifier}").json["data"]["datetime"]
    assert made[:4] == time.strftime("%Y", time.gmtime())


@pytest.mark.slow
def test_output_that_cannot_hold_a_letter_escapes_it(tmp_path: Path) -> None:
    fixture = tmp_path / "f.yaml"
    fixture.write_text("{now: '2026-03-02 09:00:00', accounts: [{name: Café, api_key: k}]}", "utf-8")
    printed = tmp_path / "printed"
    shown = f"for _ in $(seq 300); do grep -qs 'k  (' {printed} && break; sleep 0.1; done"
    script = f"{MOCK_SERVER} --port 0 --fixture {fixture} > {printed} & pid=$!; {shown}; kill $pid; wait $pid"
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert r"k  (Caf\xe9)" in printed.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["contract", "--help", "--version"])
@pytest.mark.parametrize(
    ("reader", "status", "told"),
    [("| true", 0, b""), (">/dev/full", 1, b"mock-server: the output cannot be written\n")],
)
def test_what_cannot_be_printed_is_a_failure_unless_nobody_reads_it(
    what: str, reader: str, status: int, told: bytes
) -> None:
    line = f"set -o pipefail; {MOCK_SERVER} {what} {reader}"
    ended = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (status, told)


@pytest.mark.slow
def test_it_runs_as_a_module_too() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "mock_server", "--help"], capture_output=True, text=True, check=True, env=os.environ
    )
    assert ended.stdout.startswith("Usage: mock-server ")


def test_it_says_what_is_wrong_with_it_and_what_befalls_it() -> None:
    with served("--defect", "total-is-one-more", "--condition", "latency", "--condition", "quota=9") as server:
        text = banner(server)
        assert (
            "Defect       total-is-one-more: `total` is one too high. (pagination.total-counts-the-records)\n" in text
        )
        assert "Condition    latency=0.05\nCondition    quota=9\n" in text
        client = Client(over_network(server.base_url))
        assert client.get("/api/domains/").json["meta"]["total"] == 55


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (("list", "defects"), ["total-is-one-more: `total` is one too high. (pagination.total-counts-the-records)"]),
        (("list", "conditions"), ["lag=0.3: reads show a write N seconds after it was made"]),
        (("--list-conditions",), ["lag=0.3: reads show a write N seconds after it was made"]),
    ],
)
def test_it_lists_defects_and_conditions(line: tuple[str, ...], lines: list[str]) -> None:
    assert set(lines) <= set(printed(*line).splitlines())


@pytest.mark.parametrize(
    ("options", "status"),
    [((), 0), pytest.param(("--fail-on-remarks",), 1, marks=pytest.mark.slow)],
    ids=["told", "failed"],
)
def test_mistakes_of_clients_are_summed_up_at_the_end(options: tuple[str, ...], status: int) -> None:
    with running(*options) as (process, lines):
        client = Client(over_network(lines[0].split()[-1]))
        for _ in range(2):
            client.get("/api/domains/?results_per_page=30")
        process.send_signal(signal.SIGTERM)
        told, _ = process.communicate(timeout=120)
    assert process.returncode == status
    lines = told.splitlines()
    assert lines[0] == "Stopped. Remarks:"
    assert lines[1].startswith('     2  pagination.other-sizes-are-not-used: The page size "30" is not one of 10, 25')
    assert lines[2] == "        GET /api/domains/?results_per_page=30  (Harbour Books)"
    assert lines[3].endswith("page 1 alone was read by Harbour Books. This may be intended.")


@pytest.mark.slow
def test_a_mistake_that_is_ignored_does_not_fail() -> None:
    with running("--fail-on-remarks", "--ignore-remark", "pagination.*") as (process, lines):
        Client(over_network(lines[0].split()[-1])).get("/api/domains/?results_per_page=30&page=2")
        process.send_signal(signal.SIGTERM)
        told, _ = process.communicate(timeout=120)
    assert (process.returncode, told) == (0, "Stopped.\n")
    assert "needs a journal" in failure("--fail-on-remarks", "--journal", "0")
    assert 'no remark is about "paging"' in failure("--ignore-remark", "paging")


@pytest.mark.slow
def test_a_client_that_never_reads_past_page_1_is_named_and_does_not_fail() -> None:
    with running("--fail-on-remarks") as (process, lines):
        Client(over_network(lines[0].split()[-1])).get("/api/domains/?results_per_page=10")
        process.send_signal(signal.SIGTERM)
        summary, _ = process.communicate(timeout=120)
    assert "page 1 alone was read by Harbour Books. This may be intended." in summary
    assert process.returncode == 0


def test_a_rate_limit_is_given_in_requests_a_minute() -> None:
    with served("--rate-limit", "2/m") as server:
        client = Client(over_network(server.base_url))
        assert [client.get("/api/domains/1").status for _ in range(3)] == [200, 200, 429]
    assert 'invalid rate "60": expected something like 60/m' in failure("--rate-limit", "60")


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ((), {"http://localhost:5173": "*", "http://localhost:6006": "*", "http://localhost:9009": "*"}),
        (("--cors", "off"), {}),
        (
            ("--cors-origin", "http://localhost:5173", "--cors-origin", "http://localhost:6006"),
            {"http://localhost:5173": "http://localhost:5173", "http://localhost:6006": "http://localhost:6006"},
        ),
    ],
    ids=["default", "off", "two origins"],
)
def test_answers_are_open_to_the_pages_that_the_command_line_names(
    options: tuple[str, ...], allowed: dict[str, str]
) -> None:
    with served(*options) as server:
        for page in ("http://localhost:5173", "http://localhost:6006", "http://localhost:9009"):
            answer = Client(over_network(server.base_url)).request("GET", "/api/domains/", headers={"Origin": page})
            assert (answer.status, answer.headers.get("Access-Control-Allow-Origin")) == (200, allowed.get(page))


def test_the_console_is_named_where_there_is_one() -> None:
    none = "\nConsole      none, as others can reach this mock; --control-"
    with served("--base-path", "/prefix") as server:
        assert f"\nConsole      {server.base_url.removesuffix('/prefix')}/\n" in banner(server)
    with served("--host", "0.0.0.0") as server:
        assert none in banner(server)
    with served("--public-base-url", "https://mock.example.com") as server:
        assert none in banner(server)
    with served("--host", "0.0.0.0", "--control-token", "a token of a test") as server:
        assert "\nConsole      http://" in banner(server)


@pytest.mark.slow
def test_a_control_token_stands_in_a_file_or_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("a token of a file\n")
    with running("--control-token-file", str(file)) as (_, lines):
        assert statuses(lines, "a token of a file") == [401, 200]
    monkeypatch.setenv("MOCK_CONTROL_TOKEN", "a token from outside")
    with running() as (_, lines):
        assert statuses(lines, "a token from outside") == [401, 200]
    assert failure("--control-token-file", str(file)) == (
        "mock-server: the control token is given twice; give one of --control-token, its file, $MOCK_CONTROL_TOKEN\n"
    )
    monkeypatch.delenv("MOCK_CONTROL_TOKEN")
    file.write_text("short")
    assert "has 5 characters; give 16 or more" in failure("--control-token-file", str(file))
    assert "No such file" in failure("--control-token-file", str(tmp_path / "none"))


def test_the_address_stands_in_the_environment_unless_an_option_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_HOST", "127.0.0.2")
    with running() as (_, lines):
        assert lines[0].startswith("Mock server  http://127.0.0.2:")
    with served("--host", "127.0.0.3") as server:
        assert banner(server).startswith("Mock server  http://127.0.0.3:")


def statuses(lines: list[str], token: str) -> list[int]:
    """What the control plane answers without a token, and with it."""
    url = f"{lines[0].split()[-1]}/_mock/state"
    given: list[dict[str, str]] = [{}, {"Authorization": f"Bearer {token}"}]
    return [requests.get(url, headers=headers, timeout=60).status_code for headers in given]


def test_it_tells_its_version() -> None:
    assert re.fullmatch(r"mock-server \d+\.\d+\.\d+\n", printed("--version"))


def test_what_a_fixture_says_does_not_steer_the_terminal(tmp_path: Path) -> None:
    fixture = tmp_path / "fixture.yaml"
    fixture.write_text('{now: "2026-01-01 00:00:00", accounts: [{name: "A\\e]0;x\\a\\nStop", api_key: key}]}')
    with served("--fixture", str(fixture)) as server:
        assert "API key      key  (A\\x1b]0;x\\x07" in banner(server).splitlines()


@pytest.mark.slow
def test_signals_one_upon_the_other_end_it_too() -> None:
    for _ in range(2):
        with running() as (process, _):
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=120) == 0


def test_nothing_in_a_remark_is_taken_for_a_command() -> None:
    with MockServer() as server:
        client = Client(over_network(server.base_url))
        client.post("/api/domains", {"host": "a.example.com", "\x1b[2J\n::error::pwned": "1"})
        told = in_process(lambda _: say(remarks(server))).stdout
    assert "pwned" in told
    assert "\x1b" not in told
    assert not [line for line in told.splitlines() if line.startswith("::")]


def test_the_contract_is_printed_whole_or_for_clients() -> None:
    for form, version in (("whole", "3.1.0"), ("client", "3.0.3")):
        document = yaml.safe_load(printed("contract", form, "--port", "9000", "--base-path", "/v1"))
        assert document["openapi"] == version
        assert "http://127.0.0.1:9000/v1" in str(document["servers"])
        assert "127.0.0.1:8000" not in str(document)
        assert document == yaml.safe_load(printed("--print-contract", form, "--port", "9000", "--base-path", "/v1"))
    assert "url: http://[::1]:8000\n" in printed("contract", "client", "--host", "::1")


def test_the_choices_of_a_grease_are_listed() -> None:
    listed = printed("list", "open", "--grease", "7", "--open", "ids=large")
    assert re.search(r"^  large \(chosen\): ", listed, re.MULTILINE)
    assert len(re.findall(r"^  \S+ \(chosen\): ", listed, re.MULTILINE)) > 5
    assert 'open point "ids" has no value' in failure("--list-open", "--open", "ids=none")


def test_a_fixture_is_begun_served_and_read_again_when_it_changes(tmp_path: Path) -> None:
    fixture = tmp_path / "mine.yaml"
    said = printed("fixture", fixture)
    serve = f"Serve it: mock-server --fixture {fixture} --watch"
    assert said == f"Wrote {fixture}, and {tmp_path}/mine.schema.json for editors. {serve}\n"
    assert f"{fixture} already exists" in failure("--write-fixture", str(fixture))
    assert "is not the name of a file" in failure("fixture", ".")
    assert "cannot be written: File name too long" in failure("--write-fixture", "x" * 300)
    with running("--fixture", str(fixture), "--watch") as (process, lines):
        assert process.stdout
        client = Client(over_network(lines[0].split()[-1]), "my-key")
        assert client.get("/api/domains/").json["meta"]["total"] == 2
        good = fixture.read_text("utf-8")
        fixture.write_text(good.replace("host: go.example.com", "id: 5"), "utf-8")
        told = [process.stdout.readline() for _ in range(2)]
        assert told[0].endswith('line 13: My company, domains, record 1 (id 5): the field "host" is missing\n'), told
        assert told[1].startswith("Keeping the previous version; correct the file")
        assert client.get("/api/domains/").json["meta"]["total"] == 2
        fixture.write_text(good.replace("        - host: go.example.com\n", ""), "utf-8")
        assert process.stdout.readline() == f"Reloaded {fixture}.\n"
        assert client.get("/api/domains/").json["meta"]["total"] == 1
    assert "--watch watches a file; name it with --fixture FILE" in failure("--watch")


@pytest.mark.slow
def test_an_extension_is_read_again_when_it_is_saved(tmp_path: Path) -> None:
    extension = tmp_path / "mine.py"
    extension.write_text("def extend(app):\n    app.add_url_rule('/one', view_func=lambda: 'first')\n")
    with running("--extend", str(extension)) as (process, lines):
        assert process.stdout
        base_url = lines[0].split()[-1]
        assert requests.get(f"{base_url}/one", timeout=60).text == "first"
        extension.write_text("def extend(app):\n    1 / 0\n")
        told = [process.stdout.readline() for _ in range(2)]
        assert told[0] == f"{extension}, line 2: ZeroDivisionError: division by zero\n"
        assert told[1].startswith("Keeping the previous version; correct the file")
        assert requests.get(f"{base_url}/one", timeout=60).text == "first"
        extension.write_text("def extend(app):\n    app.add_url_rule('/one', view_func=lambda: 'the second')\n")
        assert process.stdout.readline() == f"Reloaded {extension}.\n"
        assert requests.get(f"{base_url}/one", timeout=60).text == "the second"
    assert "line 2: ZeroDivisionError" in failure("--extend", _written(extension, "def extend(app):\n    1 / 0\n"))
    assert "--extend goes with one process" in failure("--extend", str(extension), "--workers", "2")


def test_an_extension_that_is_saved_while_the_mock_starts_is_read_again(tmp_path: Path) -> None:
    extension = tmp_path / "mine.py"
    saved = "def extend(app):\n    app.add_url_rule('/one', view_func=lambda: 'second')\n"
    first = f"from pathlib import Path\n\ndef extend(app):\n    Path(__file__).write_text({saved!r})\n"
    with running("--extend", _written(extension, first)) as (process, lines):
        assert process.stdout
        assert process.stdout.readline() == f"Reloaded {extension}.\n"
        assert requests.get(f"{lines[0].split()[-1]}/one", timeout=60).text == "second"


def _written(file: Path, text: str) -> str:
    file.write_text(text)
    return str(file)


@pytest.mark.slow
def test_records_are_saved_in_the_file_they_came_from(tmp_path: Path) -> None:
    fixture = tmp_path / "mine.yaml"
    printed("fixture", fixture)
    fixture.chmod(0o640)
    begun, options = fixture.read_text("utf-8"), ("--fixture", str(fixture), "--save", "--log-level", "error")
    assert _ended(*options) == [f"{fixture} stays as it is: nothing has changed."]
    assert fixture.read_text("utf-8") == begun
    assert _ended(*options, host="saved.example.com") == [f"Saved the records in {fixture}."]
    assert fixture.stat().st_mode & 0o777 == 0o640
    assert fixture.read_text("utf-8").splitlines()[:3] == begun.splitlines()[:3]  # its schema, and two comments
    with MockServer(fixture=fixture) as server:
        listed = Client(over_network(server.base_url), "my-key").get("/api/domains/").json["data"]
        assert [each["host"] for each in listed] == ["saved.example.com", "links.example.com", "go.example.com"]
    beside = tmp_path / "mine.saved.yaml"
    told = _ended(*options, host="other.example.com", meanwhile=lambda: fixture.write_text(begun))
    assert told == [f"Saved the records in {beside}, because {fixture} was changed meanwhile."]
    assert (fixture.read_text("utf-8"), "other.example.com" in beside.read_text("utf-8")) == (begun, True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine.saved.yaml", "mine.schema.json", "mine.yaml"]


@pytest.mark.slow
def test_a_file_that_cannot_be_saved_stays_as_it_was(tmp_path: Path) -> None:
    fixture = tmp_path / "mine.yaml"
    printed("fixture", fixture)
    begun = fixture.read_text("utf-8")
    (tmp_path / ".mine.yaml.unfinished").mkdir()  # in the way, as a full disk would be
    options = ("--fixture", str(fixture), "--save", "--log-level", "error")
    told = _ended(*options, host="lost.example.com", status=1)
    assert told == [f"{fixture} cannot be written: Is a directory. It is as it was."]
    assert fixture.read_text("utf-8") == begun


def _ended(*options: str, host: str = "", meanwhile: Callable[[], object] = lambda: None, status: int = 0) -> list[str]:
    """What a mock says when it ends, before the last line; a domain may have been created."""
    with running(*options) as (process, lines):
        assert process.stdout
        client = Client(over_network(lines[0].split()[-1]), "my-key")
        if host:
            client.create("/api/domains", {"host": host})
        meanwhile()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == status
        *told, last = process.stdout.read().splitlines()
        assert last == "Stopped."
        return told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--save"], "--save writes to a file; name it with --fixture FILE"),
        (["--save", "--fixture", "mine.yaml", "--watch"], "--save does not go with --watch"),
        (["--save", "--fixture", "mine.yaml", "--records", "3"], "--save does not go with --records"),
        (["--save", "--fixture", "mine.yaml", "--api-key", "a"], "--save does not go with --api-key"),
        (["--save", "--fixture", "mine.yaml", "--store", "redis://127.0.0.1:1/0"], "--save does not go with --store"),
    ],
)
def test_what_does_not_go_with_saving_is_told(options: list[str], told: str) -> None:
    assert told in failure(*options)


@pytest.mark.slow
def test_it_serves_https(tmp_path: Path) -> None:
    authority, (ca, cert, key) = trustme.CA(), (tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem"))
    authority.cert_pem.write_to_path(ca)
    issued = authority.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(cert)
    issued.private_key_pem.write_to_path(key)
    with running("--tls-cert", str(cert), "--tls-key", str(key)) as (_, lines):
        base_url = lines[0].split()[-1]
        assert base_url.startswith("https://127.0.0.1:")
        answer = requests.get(
            f"{base_url}/api/domains/", headers={"Authorization": f"Bearer {HARBOUR}"}, verify=str(ca), timeout=60
        )
        assert answer.json()["links"]["next"].startswith(f"{base_url}/api/domains?page=2")
        assert requests.get(base_url, verify=str(ca), timeout=60).status_code == 200
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = ssl.create_default_context(cafile=str(ca))
            context.minimum_version = context.maximum_version = version
            port = urlsplit(base_url).port
            with socket.create_connection(("127.0.0.1", port or 0), timeout=60) as connection:
                context.wrap_socket(connection, server_hostname="127.0.0.1").close()
    assert "go together; give both" in failure("--tls-cert", str(cert))
    assert "cannot be used: " in failure("--tls-cert", str(ca), "--tls-key", str(key))


@pytest.mark.slow
def test_a_page_of_an_origin_that_is_named_uses_the_control_plane() -> None:
    origin = "http://localhost:6006"
    with running("--control-origin", origin, "--control-token", "a token of a test") as (_, lines):
        url = f"{lines[0].split()[-1]}/_mock/state"
        asking = {"Origin": origin, "Access-Control-Request-Method": "PATCH", "Sec-Fetch-Site": "cross-site"}
        preflight = requests.options(url, headers=asking, timeout=60)
        assert (preflight.status_code, preflight.headers["Access-Control-Allow-Origin"]) == (204, origin)
        token = {"Authorization": "Bearer a token of a test"}
        answers = [
            requests.get(url, headers=token | {"Origin": each, "Sec-Fetch-Site": "cross-site"}, timeout=60)
            for each in (origin, "http://localhost:6007")
        ]
        assert [answer.status_code for answer in answers] == [200, 403]
        assert ["Access-Control-Allow-Origin" in answer.headers for answer in answers] == [True, False]
        assert requests.get(url, headers={"Origin": origin}, timeout=60).status_code == 401
    assert 'invalid origin "*"' in failure("--control-origin", "*")


def test_options_before_a_command_hold_for_it_whatever_they_say() -> None:
    options = parse(["--port", "0", "--journal", "0", "forward", "http://links.example.com"])
    assert (options.port, options.journal) == (0, 0)
    assert parse(["try", "--manual", "--", "client"]).port == 8000


def test_the_package_loads_nothing_before_it_is_used_so_that_an_interrupt_is_heard() -> None:
    line = "import mock_server.__main__, sys; print([name for name in ('flask', 'granian') if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_a_fixture_behind_a_link_is_saved_where_it_is(tmp_path: Path) -> None:
    fixture, link = tmp_path / "real" / "mine.yaml", tmp_path / "link.yaml"
    fixture.parent.mkdir()
    fixture.write_text("# mine\naccounts: []\n", "utf-8")
    link.symlink_to(fixture)
    assert saved(link, "", {"accounts": []}, is_changed=False) == (f"Saved the records in {link}.", True)
    assert link.is_symlink()
    assert fixture.read_text("utf-8") == "# mine\naccounts: []\n"
    assert [each.name for each in fixture.parent.iterdir()] == ["mine.yaml"]
