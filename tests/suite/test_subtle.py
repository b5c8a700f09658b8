"""Servers that strangers thought of: faults that show in few places, and choices that look like faults."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from liar import CONTRACT, Ask, Lie, Reply, Serve, looks, verdicts
from lies import D, N, S, answers, get, is_owner, label, let_in, record, sets, then

from contract_tests.explore import Exploration
from contract_tests.run.verdicts import Verdict
from contract_tests.survey import visitor
from mock_server import Settings

EXPLORE = Exploration(CONTRACT, 120, seed=0)
FULL = Settings(fixture="empty", records=40)


def dates_by_the_last_write(ask: Ask, serve: Serve) -> Reply:
    """By a clock that runs and counts in seconds."""
    written: dict[str, str] = ask.memory.setdefault("written", {})
    reply = serve(ask)
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    if ask.operation in ("create", "update") and reply.status < 300:
        written[str(reply.json["data"]["id"])] = now
    if ask.method == "GET" and reply.status < 300:
        body = reply.json
        for row in body["data"] if ask.operation == "list" else [body["data"]]:
            row["datetime"] = written.get(str(row["id"]), row["datetime"])
        return reply.with_json(body)
    return reply


def tires_of_deleting(ask: Ask, serve: Serve) -> Reply:
    if ask.operation == "delete" and is_owner(ask):
        ask.memory["deletes"] = ask.memory.get("deletes", 0) + 1
        if ask.memory["deletes"] > 2:
            return Reply(200, {}, b"")
    return serve(ask)


def touched_by_nobody(ask: Ask, serve: Serve) -> Reply:
    if ask.operation == "update" and "Authorization" not in ask.headers:
        owner = replace(ask, headers=ask.headers | {"Authorization": "Bearer demo-key-harbour"})
        serve(owner.with_form({"custom_index_url": "https://www.example.com/nobody"}))
    return serve(ask)


def no_size_is_all(ask: Ask, serve: Serve) -> Reply:
    if ask.query.get("results_per_page") != "0":
        return serve(ask)
    body = get(ask, serve, ask.path, results_per_page="1000")
    body["meta"]["results_per_page"] = body["meta"]["total"]
    return Reply(200, {}, json.dumps(body).encode())


def is_basic(ask: Ask) -> bool:
    return ask.headers.get("Authorization", "").startswith("Basic")


FAULTS: dict[str, tuple[str, str, Lie]] = {
    "datetime is that of the last write": ("lifecycle.update-keeps-datetime", S, dates_by_the_last_write),
    "nobody's update changes another field": ("accounts.strangers-update-nothing", D, touched_by_nobody),
    "Basic creates": ("accounts.strangers-create-nothing", S, let_in("create", when=is_basic)),
    "an update refuses a type": (
        "forms.optional-fields-are-accepted-on-update",
        N,
        answers("update", 422, when=lambda ask: ask.form.get("type") == "discord"),
    ),
    "a size of 0 is all": ("pagination.other-sizes-are-not-used", D, no_size_is_all),
}


pytestmark = pytest.mark.usefixtures("no_pauses")


@pytest.mark.parametrize(("rule", "kind", "lie"), FAULTS.values(), ids=FAULTS)
def test_a_subtle_fault_fails_by_the_rules_name(
    monkeypatch: pytest.MonkeyPatch, rule: str, kind: str, lie: Lie
) -> None:
    if lie is dates_by_the_last_write:
        monkeypatch.setattr(visitor, "SETTLING", 1.1)
    assert verdicts(lie, kind, FULL, EXPLORE)[rule].verdict is Verdict.FAIL


def takes_hosts_for_good(ask: Ask, serve: Serve) -> Reply:
    taken = ask.operation == "create" and bool(ask.body) and ask.form.get(label(ask), "").startswith("ct1-")
    return Reply(409, {}, b'{"error": "taken"}') if taken else serve(ask)


def refuses_as_jsend(ask: Ask, reply: Reply) -> Reply:
    refused = ask.operation == "create" and reply.status == 400
    return Reply(200, {}, b'{"status": "fail", "data": {"name": "This is required."}}') if refused else reply


def refuses_other_scripts(ask: Ask, serve: Serve) -> Reply:
    odd = ask.method == "POST" and bool(ask.body) and not ask.form.get("name", "").isascii()
    return Reply(400, {}, b'{"error": "letters only"}') if odd else serve(ask)


def tells_of_deletes(ask: Ask, reply: Reply) -> Reply:
    return replace(reply, data=b'{"error": null}') if ask.operation == "delete" and reply.status < 300 else reply


def misses_as_jsend(ask: Ask, reply: Reply) -> Reply:
    missing = ask.operation == "read" and reply.status == 404
    return Reply(200, {}, b'{"status": "fail", "data": {"id": "There is none."}}') if missing else reply


CHOICES: dict[str, tuple[str, Lie, set[Verdict]]] = {
    "a name that was given once is taken": (D, takes_hosts_for_good, set()),
    "refusals are told with 200 and data": (S, then(refuses_as_jsend), set()),
    "other scripts are refused": (N, refuses_other_scripts, set()),
    "each answer has another colour": (S, record(sets("color", "#a1b2c3"), when=lambda row: row["id"] % 2 == 0), set()),
    "a delete tells that there is no error": (S, then(tells_of_deletes), set()),
    "a missing record is told with 200 and data": (N, then(misses_as_jsend), set()),
    "the key may not delete": (D, answers("delete", 403), {Verdict.INCONCLUSIVE}),
    "ids are written as 12.0": (
        N,
        record(lambda row: row.__setitem__("id", float(row["id"]))),
        {Verdict.WARN},
    ),
}


@pytest.mark.parametrize(("kind", "lie", "others"), CHOICES.values(), ids=CHOICES)
def test_a_choice_that_looks_like_a_fault_is_none(kind: str, lie: Lie, others: set[Verdict]) -> None:
    results = verdicts(lie, kind, FULL, EXPLORE).values()
    allowed = {Verdict.PASS, Verdict.NOT_APPLICABLE} | others
    assert [(each.id, each.findings[:1], each.reasons) for each in results if each.verdict not in allowed] == []


@pytest.mark.parametrize("kind", [S, N])
def test_a_record_without_a_name_that_was_there_before_is_left_alone(kind: str) -> None:
    blank: Any = record(sets("name", ""), when=lambda row: row["id"] == 3)
    _, _, target = looks(blank, kind, FULL, EXPLORE)
    writes = [each.request for each in target.exchanges if each.request.operation in ("update", "delete")]
    assert 3 not in {request.identifier for request in writes}


def test_what_could_not_be_removed_is_told() -> None:
    _, _, target = looks(tires_of_deleting, S, FULL)
    headers = {"Authorization": "Bearer demo-key-harbour"}
    listed = target.wsgi.get("/api/splash-pages/?results_per_page=1000", headers=headers).json
    assert listed is not None
    assert {entry.identifier for entry in target.ledger.left} == {row["id"] for row in listed["data"]} - set(
        range(1, 41)
    )
    assert target.ledger.left
