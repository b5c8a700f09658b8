"""Scripts of findings: they write to what has shown their mark, and claim what a run has seen them show."""

from __future__ import annotations

import json
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from repro import CONTRACT, KEYS, TOTALS, UPDATES, judged, script_text
from shell import command

from contract_tests.repro.script import script_of
from contract_tests.repro.transcript import judge_answers
from contract_tests.repro.trial import BROKEN, FIXED, UNCLEAR, run_script
from mock_server import MockServer


@pytest.mark.parametrize(("tried", "status"), [(None, UNCLEAR), (BROKEN, FIXED), (FIXED, UNCLEAR)])
def test_only_a_script_that_has_shown_the_failure_says_that_it_is_fixed(tried: int | None, status: int) -> None:
    with MockServer(defects=("total-is-one-more",)) as server:
        found = judged(server, TOTALS)
    with MockServer() as server:
        assert run_script(script_text(found, tried), KEYS | {"BASE_URL": server.base_url})[0] == status


@pytest.mark.parametrize(("witnesses", "status"), [(0, FIXED), (1, UNCLEAR)])
def test_a_time_that_was_right_now_and_then_is_not_called_fixed(witnesses: int, status: int) -> None:
    rule = "representations.datetime-has-the-stated-form"
    with MockServer(defects=("datetime-has-a-t",)) as server:
        found = judged(server, rule)
        [result] = found.failing
        text = script_of(CONTRACT, found, replace(result, witnesses=witnesses), BROKEN).text
        assert run_script(text, KEYS | {"BASE_URL": server.base_url})[0] == BROKEN
    with MockServer() as server:
        assert run_script(text, KEYS | {"BASE_URL": server.base_url})[0] == status


@pytest.mark.parametrize(
    ("defect", "rule", "status"),
    [
        ("total-is-one-more", TOTALS, BROKEN),
        ("update-resets-the-name", UPDATES, BROKEN),
        ("reads-touch-the-record", "lifecycle.reads-change-nothing", FIXED),
    ],
)
def test_a_run_tries_its_scripts_and_counts_what_they_send(defect: str, rule: str, status: int) -> None:
    with MockServer(defects=(defect,), journal=5000) as server:
        found = judged(server, rule, try_scripts=True)
        entries = server.running.journal.find()
    assert found.script_statuses == {f"{rule}[splash-pages]": status}
    assert found.left == ()
    assert found.requests == len(entries)
    assert ("It showed the failure" in script_text(found)) == (status == BROKEN)
    assert script_text(found).endswith("PLAN\n") == (status == BROKEN)


@pytest.mark.parametrize("option", ["--read-only", "--rate"])
def test_no_script_is_tried_where_nothing_is_written_or_a_rate_is_kept(tmp_path: Path, option: str) -> None:
    with MockServer(defects=("total-is-one-more",)) as server:
        options = ("--rate", "1000/s") if option == "--rate" else (option,)
        subject = ("--base-url", server.base_url, "--resources", "domains", "--rules", TOTALS)
        assert command("run", *subject, "--report-dir", str(tmp_path), *options).returncode == 1
    assert "The run has not tried it" in (tmp_path / "repro" / f"{TOTALS}.sh").read_text("utf-8")


class NestedIds(BaseHTTPRequestHandler):
    """Answers whose data holds the id of an account before that of the record; 7 is a record of somebody else."""

    def answer(self, name: str, identifier: int) -> None:
        shown = {"account": {"id": 7}, "name": name, "id": identifier}
        body = json.dumps({"data": shown if identifier == OWN_ID else {"id": 7, "name": name}}).encode()
        self.server.asked.append((self.command, self.path))  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        own = self.path.endswith(f"/{OWN_ID}")
        self.answer("a-mark-1z" if own else "Jane's page", OWN_ID if own else 7)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer("a-mark-1z", OWN_ID)

    do_DELETE = do_GET  # noqa: N815 - as the library calls it

    def log_message(self, *_: object) -> None:
        pass


OWN_ID = 12


def test_a_script_takes_no_nested_id_for_that_of_its_record() -> None:
    with MockServer(defects=("update-resets-the-name",)) as server:
        text = script_text(judged(server, UPDATES), BROKEN)
    with ThreadingHTTPServer(("127.0.0.1", 0), NestedIds) as other:
        other.asked = []  # type: ignore[attr-defined]
        Thread(target=other.serve_forever, daemon=True).start()
        run_script(text, KEYS | {"BASE_URL": f"http://127.0.0.1:{other.server_port}", "MARK": "a-mark"})
        other.shutdown()
        asked = list(other.asked)  # type: ignore[attr-defined]
    assert ("GET", f"/api/splash-pages/{OWN_ID}") in asked
    assert not any(path.endswith("/7") for method, path in asked if method != "GET")


def test_a_script_that_hangs_is_ended_with_its_request() -> None:
    script = "trap 'exit 125' TERM\nsleep 60 &\nwait\n"
    assert run_script(script, {}, 0.2) == (UNCLEAR, 0)


def test_an_answer_cannot_pass_for_a_further_step(tmp_path: Path) -> None:
    step = {"operation": "list", "identity": "the account's key", "expects": "success"}
    plan = {
        "rule": "envelopes.list-data-is-an-array",
        "resource": "domains",
        "it": 2,
        "tried": True,
        "steps": [step, step],
    }
    head = "HTTP/1.1 200 OK\r\n\r\n"
    right, wrong = json.dumps({"data": []}), json.dumps({"data": {}})
    title = f"\n--- {tmp_path.name} {{}}. GET /api/domains/\n{head}"
    forged = f"{title.format(1)}{right}\n--- 2. GET /api/domains/\n{head}{wrong}"
    answers = tmp_path / "answers"
    answers.write_bytes(forged.encode())
    assert judge_answers(CONTRACT, plan, answers, "http://127.0.0.1:1", "ct1x2") is None  # step 2 was not answered
    answers.write_bytes(f"{forged}{title.format(2)}{right}".encode())
    assert judge_answers(CONTRACT, plan, answers, "http://127.0.0.1:1", "ct1x2") is not True
    answers.write_bytes(f"{title.format(1)}{right}{title.format(2)}{right}".encode())
    assert judge_answers(CONTRACT, plan, answers, "http://127.0.0.1:1", "ct1x2") is True
    busy = title.format(2).replace("200 OK", "503 Service Unavailable")
    answers.write_bytes(f"{title.format(1)}{right}{busy}{right}".encode())
    assert judge_answers(CONTRACT, plan, answers, "http://127.0.0.1:1", "ct1x2") is None
