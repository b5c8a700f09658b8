"""The ledger: what a run may write to, what it removes, and what it reports as left behind."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

import pytest
from clock import SimulatedClock
from faulty import CONTRACT, OWNER, FaultyTarget, exploring, honest, listed, looks, visited
from werkzeug.test import Client
from werkzeug.wrappers import Response

from contract_tests.errors import UsageError
from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect, Request
from contract_tests.evidence.observation import NEEDS_CREATES, NEEDS_DELETES, NEEDS_UPDATES, Chapter
from contract_tests.survey.cleanup import clean_up
from contract_tests.survey.probes import probes
from contract_tests.survey.visit import visit
from contract_tests.survey.visitor import Visitor
from contract_tests.target.budget import BudgetSpentError
from contract_tests.target.ledger import Ledger
from contract_tests.target.ledger_file import LedgerFile
from contract_tests.target.ownership import WriteRefusedError
from contract_tests.target.target import Target
from mock_server import Settings, create_app
from mock_server.defects.building_blocks import Call, Serve


def test_a_record_may_be_written_to_once_it_was_seen_with_its_marker() -> None:
    ledger = Ledger()
    ledger.note_id(ledger.plan("domains", "ct1-1.example.com"), 5)
    assert not ledger.allows_write("domains", 5)
    ledger.note_text("domains", 5, '{"id": 5, "host": "somebody-elses.example.com"}')
    assert not ledger.allows_write("domains", 5)
    ledger.note_text("domains", 5, '{"id": 5, "host": "CT1-1.example.com"}')
    assert ledger.allows_write("domains", 5)
    assert not ledger.allows_write("splash-pages", 5)
    assert not ledger.allows_write("domains", 5, OTHER)


def test_an_id_that_is_given_again_belongs_to_the_record_that_has_it_now() -> None:
    ledger = Ledger()
    for marker in ("first", "second"):
        ledger.note_id(ledger.plan("domains", marker), 5)
        ledger.note_text("domains", 5, marker)
        assert len(ledger.left) == 1
        ledger.note_deleted("domains", 5)
        assert ledger.left == []


def test_what_was_there_before_is_never_written_to_not_even_by_the_clean_up_of_another_day(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(LedgerFile(path, "http://127.0.0.1:1")) as ledger:
        ledger.note_listing("domains", [{"id": 5}])
        ledger.note_id(ledger.plan("domains", "ct1-1.example.com"), 5)
    with Ledger.resume(path) as resumed:
        resumed.note_text("domains", 5, "ct1-1.example.com")
        assert resumed.is_foreign("domains", 5)
        assert not resumed.allows_write("domains", 5)
        resumed.note_all_ids("domains", [6])  # it is gone, so its id may be given to the run
        assert not resumed.is_foreign("domains", 5)


@pytest.mark.parametrize("can_list", [True, False])
def test_what_was_refused_may_be_left_if_nothing_could_be_listed_since(
    *, can_list: bool, simulated_clock: SimulatedClock
) -> None:
    creates = list[Call]()

    def refuse_what_is_done(call: Call, serve: Serve) -> Response:
        if call.operation == "list" and call.resource.name == "domains" and creates and not can_list:
            return Response("{}", 500, content_type="application/json")
        answer = serve(call)
        if call.operation != "create":
            return answer
        creates.append(call)
        return Response('{"errors": []}', 400, content_type="application/json")

    target = FaultyTarget(refuse_what_is_done, Settings(fixture="empty", records=3))
    visitor = Visitor(target, CONTRACT.resources["domains"])
    visitor.records.marker = "ct1"
    for name in ("splash-pages", "domains"):  # so that the server is up, as the other list shows
        Visitor(target, CONTRACT.resources[name]).list_all()
    visitor.post(visitor.records.required_form(), Expect.OPEN)
    clean_up(target, visitor.resource)
    assert len(target.ledger.left) == (0 if can_list else 1)
    assert target.ledger.needed != can_list


def test_a_record_with_the_id_of_one_that_is_gone_is_removed(no_pauses: None) -> None:
    target = FaultyTarget(honest, Settings(fixture="empty", records=3))
    visitor, ledger = Visitor(target, CONTRACT.resources["domains"]), target.ledger
    visitor.records.marker = "ct1"
    first, second = ledger.plan("domains", "ct1-8z.example.com"), visitor.post(visitor.records.required_form())
    lost = ledger.latest("domains", "ct1-1z.example.com")
    ledger.note_id(first, second.made_id or 0)
    ledger.note_seen(first)
    lost.identifier, lost.answered = None, False  # its answer never came
    clean_up(target, visitor.resource)
    assert ledger.left == []
    assert visitor.read(second.made_id or 0, Expect.OPEN).status == 404


def test_clean_up_begins_with_the_newest_records(no_pauses: None) -> None:
    target = FaultyTarget(honest, Settings(fixture="empty", records=3))
    visitor = Visitor(target, CONTRACT.resources["domains"])
    made_ids = [visitor.post(visitor.records.required_form()).made_id for _ in range(4)]
    clean_up(target, visitor.resource)
    deletes = [exchange.request for exchange in target.exchanges if exchange.request.operation == "delete"]
    assert [request.identifier for request in deletes] == made_ids[::-1]


def test_what_is_no_regular_file_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    os.mkfifo(path)  # which nobody writes to
    with pytest.raises(UsageError, match="it is not a regular file"):
        Ledger.resume(path)


def test_a_create_is_written_down_before_it_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "state" / "ledger.jsonl"
    with Ledger(LedgerFile(path)) as ledger:
        ledger.plan("domains", "ct1-1.example.com")
        line = json.loads(path.read_text("utf-8").splitlines()[-1])
        assert (line["event"], line["resource"], line["markers"]) == ("planned", "domains", ["ct1-1.example.com"])


@pytest.mark.parametrize("operation", ["update", "delete"])
def test_the_target_refuses_to_write_to_what_the_run_did_not_create(operation: str) -> None:
    target = FaultyTarget(honest, Settings())
    method = {"update": "POST", "delete": "DELETE"}[operation]
    with pytest.raises(WriteRefusedError, match="domains 1 is not known to be this run's own"):
        target.send(Request(operation, "domains", method, "/api/domains/1", identifier=1))
    assert target.budget.request_count == 0


@pytest.mark.sample(5)
@pytest.mark.parametrize("resource", CONTRACT.resources)
@pytest.mark.parametrize("defect", ["create-answers-the-oldest-id", "create-answers-the-last-id"])
@pytest.mark.parametrize("records", [0, 40])
def test_a_server_that_answers_creates_with_old_ids_loses_and_keeps_nothing(
    no_pauses: None, records: int, defect: str, resource: str
) -> None:
    settings = Settings(fixture="empty", records=records, defects=(defect,))
    _, _, target = looks(honest, resource, settings)
    assert listed(target.wsgi, resource) == listed(Client(create_app(settings)), resource)
    assert target.ledger.left == []


def makes_handlers_with_the_ids_of_splash_pages(call: Call, serve: Serve) -> Response:
    """A server whose creates of splash pages make notification handlers, and answer ids that splash pages have."""
    if call.resource.name != "splash-pages" or call.operation != "create":
        return serve(call)
    handlers = call.mock.contract.resources["notification-handlers"]
    serve(call.at("create", resource=handlers).sending({"name": call.form.get("name", ""), "type": "webhook"}))
    made = call.memory["made"] = call.memory.get("made", 0) + 1
    return Response(b'{"data": {"id": %d}}' % made, 201, content_type="application/json")


@pytest.mark.parametrize("records", [5, 40])
def test_a_server_that_makes_records_of_another_kind_loses_and_changes_nothing(no_pauses: None, records: int) -> None:
    settings = Settings(fixture="empty", records=records)
    first, second, target = looks(makes_handlers_with_the_ids_of_splash_pages, "splash-pages", settings, probes)
    before, after = (contents(app) for app in (Client(create_app(settings)), target.wsgi))
    assert after["splash-pages"] == before["splash-pages"]
    assert after["domains"] == before["domains"]
    strays = [row for row in after["notification-handlers"] if row not in before["notification-handlers"]]
    assert [row["name"] for row in strays] == ["ct2cx-1z Test Name", "ct1cx-1z Test Name"]  # one of each look
    assert [row for row in after["notification-handlers"] if row not in strays] == before["notification-handlers"]
    assert first.notes == ["a created record does not show in splash-pages: nothing more was created there"]
    assert second is not None
    left = [(entry.resource, entry.identifier, entry.marker, entry.seen) for entry in target.ledger.left]
    assert left == [("splash-pages", 1, "ct1cx-1z", False), ("splash-pages", 2, "ct2cx-1z", False)]
    writes = [each.request for each in target.exchanges if each.request.method in ("POST", "DELETE")]
    assert {each.operation for each in writes} == {"create"}


def contents(client: Client) -> dict[str, list[dict[str, Any]]]:
    return {resource: listed(client, resource) for resource in CONTRACT.resources}


def test_an_exception_in_the_suite_leaves_nothing_behind(no_pauses: None) -> None:
    def breaks(_: Visitor) -> None:
        raise ZeroDivisionError

    settings = Settings(fixture="empty", records=40)
    target = FaultyTarget(honest, settings)
    with pytest.raises(ZeroDivisionError):
        visit(
            Visitor(target, CONTRACT.resources["domains"]),
            extra_steps=[exploring(lambda visitor: iter([partial(breaks, visitor)]))],
        )
    assert target.ledger.entries
    assert target.ledger.left == []
    assert contents(target.wsgi) == contents(Client(create_app(settings)))


@pytest.mark.parametrize(
    ("status", "body"),
    [(503, b""), (200, b'{"id": 7, "name": "Bob"}'), (200, b'{"data": {"id": 7, "name": "ct1-12x"}}')],
    ids=["a failure", "a record without data", "another record"],
)
def test_nobody_elses_key_writes_where_it_may_find_a_record_of_its_own(
    no_pauses: None, status: int, body: bytes
) -> None:
    def hides(call: Call, serve: Serve) -> Response:
        is_the_others = call.authorization == "Bearer demo-key-alpine"
        return Response(body, status) if is_the_others and call.operation == "read" else serve(call)

    _, _, target = looks(hides, "splash-pages", Settings(fixture="empty", records=40), probes)
    tried = [each.request for each in target.exchanges if each.request.identity == OTHER]
    assert {each.operation for each in tried} <= {"list", "read", "create"}


@pytest.mark.parametrize("defect", ["create-makes-two", "update-adds-a-record"])
def test_what_one_write_has_made_twice_is_removed_too(no_pauses: None, defect: str) -> None:
    settings = Settings(fixture="empty", records=40, defects=(defect,))
    _, target = visited(honest, "domains", settings, chapters=NEEDS_UPDATES)
    assert contents(target.wsgi)["domains"] == contents(Client(create_app(settings)))["domains"]


def test_an_id_that_was_given_to_somebody_else_meanwhile_is_left_alone(no_pauses: None) -> None:
    target = FaultyTarget(honest, Settings(fixture="empty", records=40))

    def replaces(visitor: Visitor) -> None:
        path = f"/api/domains/{max(visitor.evidence.created_ids)}"
        target.wsgi.post(path, data={"host": "jane.example.org"}, headers={"Authorization": OWNER})

    visit(
        Visitor(target, CONTRACT.resources["domains"]),
        extra_steps=[exploring(lambda visitor: iter([partial(replaces, visitor)]))],
    )
    assert "jane.example.org" in [row["host"] for row in contents(target.wsgi)["domains"]]
    assert len(target.ledger.left) == 1


def test_nameless_records_that_a_server_made_though_it_refused_them_are_told_of(no_pauses: None) -> None:
    settings = Settings(fixture="empty", records=40, defects=("splash-page-without-name-is-refused-and-made",))
    _, target = visited(honest, "splash-pages", settings, chapters=NEEDS_CREATES | {Chapter.OMITTING})
    more = {row["id"] for row in contents(target.wsgi)["splash-pages"]} - set(range(1, 41))
    assert more
    assert {entry.identifier for entry in target.ledger.left} == more
    assert [str(entry).partition(", ")[2] for entry in target.ledger.left] == [
        "perhaps: it came with a create without name"
    ]  # one, though two visits looked for it


def test_a_create_that_is_carried_out_after_the_run_is_found_by_a_later_clean_up(
    no_pauses: None, tmp_path: Path
) -> None:
    waiting: list[Call] = []

    def gateway(call: Call, serve: Serve) -> Response:
        if call.operation == "create" and not waiting:
            waiting.append(call)
            return Response(b"", 504)
        return serve(call)

    settings = Settings(fixture="empty", records=40)
    resource, path = CONTRACT.resources["domains"], tmp_path / "ledger.jsonl"
    with Ledger(LedgerFile(path, "http://127.0.0.1:1")) as ledger:
        target = FaultyTarget(gateway, settings, ledger=ledger)
        visit(Visitor(target, resource))
        assert ledger.left == []
        assert [entry.marker for entry in ledger.missing] == ["ct17x-1z.example.com"]
    late = waiting[0]
    headers = {"Authorization": late.authorization, "Content-Type": late.environ["CONTENT_TYPE"]}
    target.wsgi.post(late.environ["PATH_INFO"], data=late.body, headers=headers)
    with Ledger.resume(path) as ledger:
        resumed = FaultyTarget(gateway, settings, ledger=ledger)
        resumed.wsgi = target.wsgi
        clean_up(resumed, resource)
        assert not ledger.needed
    assert contents(target.wsgi)["domains"] == contents(Client(create_app(settings)))["domains"]


@pytest.mark.parametrize("status", [400, 500, 503, 200])
def test_a_create_that_was_answered_and_made_nothing_is_over(no_pauses: None, tmp_path: Path, status: int) -> None:
    def refuses(call: Call, serve: Serve) -> Response:
        return Response(b"{}", status) if call.operation == "create" else serve(call)

    with Ledger(LedgerFile(tmp_path / "ledger.jsonl", "http://127.0.0.1:1")) as ledger:
        target = FaultyTarget(refuses, Settings(fixture="empty", records=40), ledger=ledger)
        visit(Visitor(target, CONTRACT.resources["domains"]))
        assert ledger.entries
        assert not ledger.needed


@pytest.mark.sample(3)  # so that both sizes are in CI, one with 401 and one with 500
@pytest.mark.parametrize(
    ("records", "status"), [(40, 401), (40, 403), (40, 500), (1200, 500), (1200, 401), (1200, 403)]
)
def test_a_server_that_tells_nothing_of_an_id_that_is_gone_has_nothing_left(
    no_pauses: None, status: int, records: int
) -> None:
    def hides(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        return Response(b"{}", status) if call.operation == "read" and answer.status_code == 404 else answer

    settings = Settings(fixture="empty", records=records)
    _, target = visited(hides, "domains", settings, chapters=NEEDS_DELETES | {Chapter.ACCESS})
    made = [entry for entry in target.ledger.entries if entry.identifier is not None]
    assert {entry.owner for entry in made} == {OWN_KEY, OTHER}
    left = [str(entry) for entry in target.ledger.left]
    assert left == [] or (status == 500 and records > 1000)  # then neither read nor list can tell


@pytest.mark.slow
def test_reads_that_lag_leave_nothing_of_the_other_account_behind(
    monkeypatch: pytest.MonkeyPatch, simulated_clock: SimulatedClock
) -> None:
    monkeypatch.setattr("contract_tests.survey.waits.SETTLING", 0.3)
    settings = Settings(fixture="empty", records=28, conditions={"lag": 0.15})
    _, _, target = looks(honest, "splash-pages", settings)
    assert any(entry.owner == OTHER for entry in target.ledger.entries)
    assert target.ledger.left == []


def test_a_ledger_of_which_nothing_is_left_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(LedgerFile(path, "http://127.0.0.1:1")) as ledger:
        entry = ledger.plan("domains", "ct1x-1z.example.com")
        ledger.note_id(entry, 5)
        ledger.note_removed(entry)
    with Ledger(LedgerFile(path, "http://127.0.0.1:2")) as again:
        again.plan("domains", "ct1x-2z.example.com")
    assert "ct1x-1z" not in path.read_text("utf-8")
    with pytest.raises(UsageError, match="may be all that is known of what another run left"):
        LedgerFile(path)


DAMAGED = [
    b"\x00\n",
    b'{"\xff\xfe\n',
    b"{}\n",
    b'{"event": "seen", "number": 0, "kind": 5}\n',
    b"[1]\n",
    b'{"event": "seen"}\n',
]


@pytest.mark.parametrize(
    "damage", DAMAGED, ids=["no JSON", "no text", "no event", "another type", "no object", "no number"]
)
def test_of_a_damaged_ledger_every_good_line_is_used(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(LedgerFile(path, "http://127.0.0.1:1")) as ledger:
        for number in (1, 2):
            ledger.note_id(ledger.plan("domains", f"ct1x-{number}z.example.com"), number)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], damage, *lines[2:]]))
    with Ledger.resume(path) as resumed:
        assert {entry.identifier for entry in resumed.left} == {1, 2}
        assert [text.partition(" (")[0] for text in resumed.unread] == ["line 3"]
        resumed.note_removed(resumed.left[0])
    assert path.read_bytes().startswith(b"".join([*lines[:2], damage, *lines[2:]]))  # what is damaged stays


@pytest.mark.parametrize("is_listening", [False, True], ids=["no connection", "closed"])
def test_a_create_that_never_left_this_machine_leaves_nothing(
    simulated_clock: SimulatedClock, *, is_listening: bool
) -> None:
    with ThreadingTCPServer(("127.0.0.1", 0), BaseRequestHandler) as closing:  # it closes each connection at once
        base_url = f"http://127.0.0.1:{closing.server_address[1]}"
        if is_listening:
            Thread(target=closing.serve_forever, daemon=True).start()
        else:
            closing.server_close()
        visitor = Visitor(Target(base_url, {}, Ledger()), CONTRACT.resources["domains"])
        visitor.post({"host": "ct1x-1z.example.com"})
        visitor.target.availability.note(Exchange(visitor.list_of({}), 1, 200))
        with pytest.raises(BudgetSpentError, match=r"no answer since .*: (no connection \(|the connection was closed)"):
            visitor.post({"host": "ct1x-2z.example.com"})
        if is_listening:
            closing.shutdown()
    assert len(visitor.target.ledger.left) == (2 if is_listening else 0)
    assert sum(simulated_clock.slept) > 100


def test_the_ledger_tells_what_was_created_and_removed(no_pauses: None, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(LedgerFile(path, "http://127.0.0.1:1")) as ledger:
        target = FaultyTarget(honest, Settings(fixture="empty", records=40), ledger=ledger)
        visit(Visitor(target, CONTRACT.resources["domains"]))
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert (lines[0]["event"], lines[0]["base_url"]) == ("begun", "http://127.0.0.1:1")
    of = {
        event: {(each["owner"], each["identifier"]) for each in lines if each["event"] == event}
        for event in ("created", "removed")
    }
    assert len(of["created"]) > 3
    assert of["created"] == {each for each in of["removed"] if each[1] is not None}


def test_a_ledger_is_not_needed_for_creates_that_have_left_nothing() -> None:
    ledger = Ledger()
    entry = ledger.plan("domains", "ct1x-1z")
    ledger.note_missing(entry)
    assert ledger.needed
    ledger.note_removed(entry)
    assert not ledger.needed
