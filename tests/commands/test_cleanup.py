from __future__ import annotations

import fcntl
import json
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from shell import COMMANDS, ENVIRONMENT, command
from werkzeug.serving import make_server
from werkzeug.test import Client
from wire import ALPINE, HARBOUR

from contract_tests.cli import parse_run
from contract_tests.commands.cleanup import adopt
from contract_tests.target.ledger import Ledger
from contract_tests.target.ledger_file import LedgerFile, digest_of
from link_management_contract import shipped_contract
from mock_server import MockServer, Settings, create_app

RESOURCES = ("splash-pages", "domains", "notification-handlers")
POINTS = range(12, 325, 15)  # requests of a survey of some 330, in all its chapters


class Deadly:
    """A mock that kills a process when so many requests have come: every other time once it did its work."""

    def __init__(self, at: int) -> None:
        self.app = create_app(Settings(fixture="empty", records=3))
        self.at = at
        self.process: subprocess.Popen[bytes] | None = None
        self.numbers = count(1)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        number = next(self.numbers)  # its own, whatever other threads take meanwhile
        if self.process and number == self.at and self.at % 2:
            self.process.kill()
        environ["wsgi.input"] = BytesIO(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)))
        answer = list(self.app(environ, start_response))
        if self.process and number == self.at:
            self.process.kill()
        return answer

    def records(self) -> dict[str, Any]:
        client = Client(self.app)
        return {
            f"{key} {resource}": client.get(
                f"/api/{resource}/?results_per_page=1000", headers={"Authorization": f"Bearer {key}"}
            ).json
            for key in (HARBOUR, ALPINE)
            for resource in RESOURCES
        }


@pytest.fixture
def deadly(request: pytest.FixtureRequest) -> Iterator[tuple[Deadly, str]]:
    app = Deadly(request.param)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield app, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def killed(app: Deadly, base_url: str, ledger: Path) -> None:
    """Begin a run that is killed on its way."""
    arguments: list[str | Path] = [COMMANDS / "contract-tests", "run", "--base-url", base_url, "--ledger", ledger]
    arguments += ["--explore", "0", "--lag", "0"]
    app.process = subprocess.Popen(arguments, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    assert app.process.wait(120) == -signal.SIGKILL
    app.process = None


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize("deadly", POINTS, indirect=True, ids=lambda at: f"request {at}")
def test_what_a_killed_run_left_behind_is_removed_afterwards(deadly: tuple[Deadly, str], tmp_path: Path) -> None:
    app, base_url = deadly
    before, ledger = app.records(), tmp_path / "ledger.jsonl"
    killed(app, base_url, ledger)
    ended = command("cleanup", ledger)
    never_came = "contract-tests: creates that were never answered, and of which nothing was found so far: [1-3]\n"
    assert ended.returncode == 0
    assert re.fullmatch(f"({never_came})?", ended.stderr)
    assert ", 0 left\n" in ended.stdout
    assert app.records() == before


@pytest.mark.parametrize("deadly", [0], indirect=True)
def test_a_record_that_others_have_changed_since_is_left_alone_and_told_of(
    deadly: tuple[Deadly, str], tmp_path: Path
) -> None:
    app, base_url = deadly
    path = tmp_path / "ledger.jsonl"
    with Ledger(LedgerFile(path, base_url, digest_of(HARBOUR))) as ledger:
        entry = ledger.plan("splash-pages", "ct1-1")
        ledger.note_id(entry, 2)
        ledger.note_seen(entry)
    before = app.records()
    for _ in range(2):
        ended = command("cleanup", path)
        assert ended.returncode == 3
        assert ended.stderr == "contract-tests: left behind: splash-pages 2, made as ct1-1\n"
    assert app.records() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("hello\n", "is not a run's ledger"),
        ("", "it names no target"),
        (
            '{"event": "begun", "base_url": "http://[::1"}\n',
            'invalid base URL "http://[::1": expected something like https://',
        ),
        ('{"event": "begun", "base_url": "http://127.0.0.1:1"}\n', "does not say which account its run used"),
        (
            f'{{"event": "begun", "base_url": "http://127.0.0.1:1", "account": "{digest_of(HARBOUR)}"}}\n',
            "target unusable: unreachable",
        ),
    ],
    ids=["missing", "another file", "empty", "no base URL", "no account", "unreachable"],
)
def test_a_ledger_that_is_of_no_use_is_a_line_that_says_why(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "ledger.jsonl"
    if text is not None:
        path.write_text(text, "utf-8")
    ended = command("cleanup", path)
    assert ended.returncode in (4, 7)
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("deadly", [0], indirect=True)
@pytest.mark.parametrize("marker", ["e", "example", "page 2"])
def test_a_ledger_of_ordinary_words_removes_nothing(deadly: tuple[Deadly, str], tmp_path: Path, marker: str) -> None:
    app, base_url = deadly
    path, before = tmp_path / "ledger.jsonl", app.records()
    with Ledger(LedgerFile(path, base_url, digest_of(HARBOUR))) as ledger:
        for resource in RESOURCES:
            for identifier in (None, 1, 2, 3):
                entry = ledger.plan(resource, marker)
                if identifier:
                    ledger.note_id(entry, identifier)
                    ledger.note_seen(entry)
    ended = command("cleanup", path)
    assert (ended.returncode, app.records() == before) == (3, True), ended.stderr


def test_a_last_line_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(LedgerFile(path, "http://127.0.0.1:1")) as ledger:
        ledger.plan("domains", "ct1-1.example.com")
        ledger.plan("domains", "ct1-2.example.com")
    path.write_text(path.read_text("utf-8")[:-20], "utf-8")
    with Ledger.resume(path) as resumed:
        assert [str(entry) for entry in resumed.left] == [
            "domains, perhaps: the create of ct1-1.example.com was never answered"
        ]


def test_a_ledger_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.touch()
    ended = command("run", "--base-url", "http://127.0.0.1:1", "--ledger", path)
    assert ended.returncode == 4
    assert "already exists, and may be all that is known of what another run left; give another file" in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [100], indirect=True)
def test_a_ledger_is_taken_up_with_its_own_key_alone_and_more_than_once(
    deadly: tuple[Deadly, str], tmp_path: Path
) -> None:
    app, base_url = deadly
    before, ledger = app.records(), tmp_path / "ledger.jsonl"
    killed(app, base_url, ledger)
    with ledger.open("a", encoding="utf-8") as cut_off:
        cut_off.write('{"event": "begu')
    refused = command("cleanup", ledger, CONTRACT_API_KEY="demo-key-other")
    assert (refused.returncode, app.records() == before) == (4, False)
    assert "is of a run with another API key; give that one" in refused.stderr
    assert (command("cleanup", ledger).returncode, app.records() == before) == (0, True)
    if ledger.exists():  # as a create was never answered
        assert (command("cleanup", ledger).returncode, app.records() == before) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [100], indirect=True)
def test_a_run_first_removes_what_an_earlier_one_left_and_touches_no_other_ledger(
    deadly: tuple[Deadly, str], tmp_path: Path
) -> None:
    app, base_url = deadly
    before, ledger = app.records(), tmp_path / "job 7" / "killed.jsonl"
    killed(app, base_url, ledger)
    (elsewhere := tmp_path / "elsewhere.jsonl").write_text(ledger.read_text("utf-8").replace(base_url, f"{base_url}/b"))
    (tmp_path / "broken.jsonl").write_text("oops\n")
    options = (
        "--base-url",
        base_url,
        "--explore",
        "0",
        "--lag",
        "0",
        "--resources",
        "domains",
        "--rules",
        "envelopes.*",
    )
    with ledger.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        busy = command("run", *options, "--adopt", tmp_path)
    assert f"not adopted: {ledger} is of a run that is still at work" in busy.stderr
    assert app.records() != before
    ended = command("run", *options, "--adopt", tmp_path)
    assert re.search(r"killed.jsonl: \d+ requests to .*; [1-9]\d* records removed, 0 left", ended.stderr)
    assert f"not adopted: {tmp_path / 'broken.jsonl'} is not a run's ledger" in ended.stderr
    assert (app.records() == before, elsewhere.exists()) == (True, True)


def test_what_cannot_be_adopted_stands_in_the_notes(tmp_path: Path) -> None:
    marker = "ct12x1234-1z.example.com"
    with MockServer(fixture="empty", records=3) as server:
        with Ledger(LedgerFile(tmp_path / "earlier.jsonl", server.base_url, digest_of(HARBOUR))) as ledger:
            ledger.note_id(ledger.plan("domains", marker), 1)  # where somebody else's record is
        options = ("--explore", "0", "--resources", "domains", "--rules", "envelopes.*", "--adopt", tmp_path)
        ended = command("run", "--base-url", server.base_url, *options, "--report-dir", tmp_path / "reports")
    notes = json.loads((tmp_path / "reports" / "results.json").read_text("utf-8"))["notes"]
    [left] = [note for note in notes if "an earlier run left" in note]
    assert left.startswith("an earlier run left domains 1, or something elsewhere: ")
    assert left.endswith(f"({tmp_path / 'earlier.jsonl'})")
    assert ended.returncode == 0


@pytest.mark.parametrize(
    ("base_url", "account"),
    [
        pytest.param("http://127.0.0.1:9", digest_of(ALPINE), id="another key"),
        pytest.param("http://127.0.0.1:9", "", id="no key"),
        pytest.param("http://127.0.0.1:9/prefix", digest_of(HARBOUR), id="another base URL"),
    ],
)
def test_a_ledger_of_another_account_or_target_is_not_adopted(tmp_path: Path, base_url: str, account: str) -> None:
    path = tmp_path / "earlier.jsonl"
    with Ledger(LedgerFile(path, base_url, account)) as ledger:
        ledger.note_id(ledger.plan("domains", "ct12x1234-1z.example.com"), 1)
    before = path.read_bytes()
    options = parse_run(["--base-url", "http://127.0.0.1:9", "--api-key", HARBOUR])
    assert adopt(shipped_contract(), tmp_path, options) == []
    assert path.read_bytes() == before


def test_adopting_takes_a_folder_and_writes() -> None:
    for options, why in (
        (("--adopt", "/nowhere"), "is not a folder"),
        (("--adopt", "/tmp", "--read-only"), "writes nothing"),
    ):
        ended = command("run", "--base-url", "http://127.0.0.1:9", *options)
        assert (ended.returncode, why in ended.stderr) == (4, True)


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [101], indirect=True)
def test_a_damaged_ledger_is_used_as_far_as_it_can_be_read(deadly: tuple[Deadly, str], tmp_path: Path) -> None:
    app, base_url = deadly
    before, ledger = app.records(), tmp_path / "ledger.jsonl"
    killed(app, base_url, ledger)
    first, *rest = ledger.read_text("utf-8").splitlines(keepends=True)
    ledger.write_text("".join([first.replace("begun", "begu"), "oops\n", *rest]), "utf-8")
    lost = command("cleanup", ledger)
    assert (lost.returncode, "no longer names a target; say where it is with --base-url" in lost.stderr) == (4, True)
    ended = command("cleanup", ledger, "--base-url", base_url)
    assert ended.returncode == 0, ended.stderr
    assert "skipped what could not be read, line 1 (KeyError), line 2 (JSONDecodeError)" in ended.stderr
    assert app.records() == before
