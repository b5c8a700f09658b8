"""Servers that strangers thought of: faults that show in few places, and choices that look like faults."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from liar import CONTRACT, Ask, Lie, Reply, Serve, looks, verdicts
from lies import D, N, S, answers, form, get, is_owner, label, let_in, links, on, other, record, rows, sets, then

from contract_tests.explore import Exploration
from contract_tests.survey import visitor
from contract_tests.verdicts import Verdict
from mock_server import Settings

EXPLORE = Exploration(CONTRACT, 120, seed=0)
FULL = Settings(fixture="empty", records=40)


def toggles(ask: Ask, serve: Serve) -> Reply:
    if ask.operation == "update" and "is_enabled" in ask.form and is_owner(ask):
        enabled = get(ask, serve, ask.path)["data"]["is_enabled"]
        return serve(ask.with_form(ask.form | {"is_enabled": "0" if enabled else "1"}))
    return serve(ask)


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


def shows_the_newest(ask: Ask, serve: Serve) -> Reply:
    if ask.operation == "read" and is_owner(ask):
        newest = max(row["id"] for row in rows(ask, serve))
        return serve(replace(ask, path=f"/api/{ask.kind}/{newest}"))
    return serve(ask)


def tires_of_deleting(ask: Ask, serve: Serve) -> Reply:
    if ask.operation == "delete" and is_owner(ask):
        ask.memory["deletes"] = ask.memory.get("deletes", 0) + 1
        if ask.memory["deletes"] > 2:
            return Reply(200, {}, b"")
    return serve(ask)


def forbids_and_shows(ask: Ask, serve: Serve) -> Reply:
    reply = let_in("read", when=other)(ask, serve)
    return replace(reply, status=403) if other(ask) and ask.operation == "read" else reply


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
    "an update without is_enabled disables": (
        "forms.is-enabled-is-optional-on-update",
        N,
        form("update", lambda fields: {"is_enabled": "0"} | fields),
    ),
    "any is_enabled toggles": ("forms.one-enables", N, toggles),
    "datetime is that of the last write": ("lifecycle.update-keeps-datetime", S, dates_by_the_last_write),
    "a name among many fields is lost": (
        "lifecycle.update-changes-what-it-names",
        S,
        form("update", lambda fields: fields.pop("name", None), lambda fields: len(fields) > 3),
    ),
    "reads show the newest": ("lifecycle.created-record-is-read", D, shows_the_newest),
    "the third delete does nothing": ("lifecycle.deleted-record-is-not-listed", N, tires_of_deleting),
    "a refusal shows the record": ("accounts.other-account-reads-nothing", D, forbids_and_shows),
    "nobody's update changes another field": ("accounts.strangers-update-nothing", D, touched_by_nobody),
    "Basic creates": ("accounts.strangers-create-nothing", S, let_in("create", when=is_basic)),
    "NaN": ("envelopes.body-is-json", S, on("list", lambda body: body["meta"].__setitem__("ratio", float("nan")))),
    "a double slash": ("pagination.links-have-the-stated-path", S, links(lambda url: url.replace("/api/", "//api/"))),
    "an old record is not read": (
        "operations.read-answers",
        S,
        answers("read", 404, when=lambda ask: ask.identifier == "1"),
    ),
    "names are cut on create": (
        "forms.name-comes-back",
        S,
        form("create", lambda fields: fields | {"name": fields["name"][:10]}, lambda fields: "name" in fields),
    ),
    "an update refuses a type": (
        "forms.optional-fields-are-accepted-on-update",
        N,
        answers("update", 422, when=lambda ask: ask.form.get("type") == "discord"),
    ),
    "a size of 0 is all": ("pagination.other-sizes-are-not-used", D, no_size_is_all),
}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor, "PAUSES", (0.0,))
    monkeypatch.setattr(visitor, "SETTLING", 0.0)
    monkeypatch.setattr("contract_tests.target.PAUSE", 0.0)


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
