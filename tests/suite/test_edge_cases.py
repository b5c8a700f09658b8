"""Edge cases: faults that show in few places, and choices that look like faults."""

from __future__ import annotations

import time

import pytest
from faulty import CONTRACT, OWNER, D, N, S, is_owner, listed, looks, verdicts, visited
from werkzeug.wrappers import Response

from contract_tests.evidence.observation import NEEDS_CONTROL
from contract_tests.exploration import Exploration
from contract_tests.run import needed
from contract_tests.survey import waits
from contract_tests.verdicts.verdicts import Verdict
from mock_server import Settings
from mock_server.defects.building_blocks import (
    Body,
    Call,
    Serve,
    Transformation,
    content,
    is_carried_out,
    json_answer,
    json_by_call,
    record,
    refuses,
    rows_of,
    sets,
)

EXPLORE, PROBES = Exploration(CONTRACT, 120, seed=0), Exploration(CONTRACT, 80, seed=0)  # little more than probes
FULL = Settings(fixture="empty", records=40)


def dates_by_the_last_write(call: Call, body: Body) -> None:
    """By a clock that runs and counts in seconds."""
    written: dict[str, str] = call.memory.setdefault(call.resource.name, {})
    if call.operation in ("create", "update"):
        written[str(body["data"]["id"])] = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time()))
    else:
        for row in rows_of(body):
            row["datetime"] = written.get(str(row["id"]), row["datetime"])


def tires_of_deleting(call: Call, serve: Serve) -> Response:
    if call.operation == "delete" and is_owner(call):
        call.memory["deletes"] = call.memory.get("deletes", 0) + 1
        if call.memory["deletes"] > 2:
            return Response(b"", 200)
    return serve(call)


def touched_by_nobody(call: Call, serve: Serve) -> Response:
    if call.operation == "update" and not call.authorization:
        serve(call.by(OWNER).sending({"custom_index_url": "https://www.example.com/nobody"}))
    return serve(call)


def no_size_is_all(call: Call, serve: Serve) -> Response:
    if call.query.get("results_per_page") != "0":
        return serve(call)
    answer = serve(call.asking(results_per_page="1000"))
    body = content(answer)
    if is_carried_out(call, answer):
        body["meta"]["results_per_page"] = body["meta"]["total"]
    return json_answer(call, answer, body)


FAULTS: dict[str, tuple[str, str, Transformation]] = {
    "datetime is that of the last write": (
        "lifecycle.update-keeps-datetime",
        S,
        json_by_call("create update read list", dates_by_the_last_write),
    ),
    "nobody's update changes another field": ("accounts.strangers-update-nothing", D, touched_by_nobody),
    "an update refuses a type": (
        "forms.optional-fields-are-accepted-on-update",
        N,
        refuses("update", 422, applies=lambda call: call.form.get("type") == "discord"),
    ),
    "a size of 0 is all": ("pagination.other-sizes-are-not-used", D, no_size_is_all),
}


pytestmark = pytest.mark.usefixtures("no_pauses")


def marked(name: str, quick: tuple[str, ...]) -> list[pytest.MarkDecorator]:
    return [] if name in quick else [pytest.mark.slow]


@pytest.mark.parametrize(
    ("rule", "resource", "fault"),
    [
        pytest.param(
            *fault, id=name, marks=marked(name, ("nobody's update changes another field", "a size of 0 is all"))
        )
        for name, fault in FAULTS.items()
    ],
)
def test_a_fault_that_shows_in_few_places_fails_by_the_rules_name(
    monkeypatch: pytest.MonkeyPatch, rule: str, resource: str, fault: Transformation
) -> None:
    if rule == "lifecycle.update-keeps-datetime":
        monkeypatch.setattr(waits, "SETTLING", 1.1)
    broken = CONTRACT.rules[rule]
    chapters = needed([broken]) - NEEDS_CONTROL
    visits, _ = visited(fault, resource, FULL, EXPLORE, chapters=chapters, explore_until=broken)
    assert {result.rule.id: result.verdict for result in visits.results}[rule] is Verdict.FAIL


def takes_hosts_for_good(call: Call, serve: Serve) -> Response:
    taken = call.operation == "create" and call.form.get(call.resource.label, "").startswith("ct1-")
    return Response(b'{"error": "taken"}', 409) if taken else serve(call)


def refuses_as_jsend(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if call.operation == "create" and answer.status_code == 400 and is_owner(call):
        return Response(b'{"status": "fail", "data": {"name": "This is required."}}', 200)
    return answer


def refuses_other_scripts(call: Call, serve: Serve) -> Response:
    odd = call.operation in ("create", "update") and not call.form.get("name", "").isascii()
    return Response(b'{"error": "letters only"}', 400) if odd else serve(call)


def tells_of_deletes(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if call.operation == "delete" and answer.status_code < 300 and is_owner(call):
        answer.set_data(b'{"error": null}')
    return answer


def misses_as_jsend(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if call.operation == "read" and answer.status_code == 404 and is_owner(call):
        return Response(b'{"status": "fail", "data": {"id": "There is none."}}', 200)
    return answer


def takes_unknown_types_for_webhook(call: Call, serve: Serve) -> Response:
    known = call.form.get("type", "webhook") in call.resource.fields["type"].values
    return serve(call) if known or call.operation != "create" else serve(call.sending(call.form | {"type": "webhook"}))


CHOICES: dict[str, tuple[str, Transformation, set[Verdict]]] = {
    "a name that was given once is taken": (D, takes_hosts_for_good, set()),
    "refusals are told with 200 and data": (S, refuses_as_jsend, set()),
    "other scripts are refused": (N, refuses_other_scripts, set()),
    "an unknown type makes a webhook": (N, takes_unknown_types_for_webhook, set()),
    "each answer has another colour": (S, record(sets("color", "#a1b2c3"), row=lambda row: row["id"] % 2 == 0), set()),
    "a delete tells that there is no error": (S, tells_of_deletes, set()),
    "a missing record is told with 200 and data": (N, misses_as_jsend, set()),
    "the key may not delete": (D, refuses("delete", 403), {Verdict.INCONCLUSIVE}),
    "ids are written as 12.0": (
        N,
        record(lambda row: row.__setitem__("id", float(row["id"]))),
        {Verdict.WARN},
    ),
}


QUICK = ("a name that was given once is taken", "each answer has another colour", "the key may not delete")


@pytest.mark.parametrize(
    ("resource", "choice", "others"),
    [pytest.param(*choice, id=name, marks=marked(name, QUICK)) for name, choice in CHOICES.items()],
)
def test_a_choice_that_looks_like_a_fault_is_none(resource: str, choice: Transformation, others: set[Verdict]) -> None:
    results = verdicts(choice, resource, FULL, PROBES).values()
    allowed = {Verdict.PASS, Verdict.NOT_APPLICABLE} | others
    assert [(each.id, each.findings[:1], each.reasons) for each in results if each.verdict not in allowed] == []


@pytest.mark.parametrize("resource", [S, pytest.param(N, marks=pytest.mark.slow)])
def test_a_record_without_a_name_that_was_there_before_is_left_alone(resource: str) -> None:
    blank = record(sets("name", ""), row=lambda row: row["id"] == 3)
    _, _, target = looks(blank, resource, FULL, PROBES)
    writes = [each.request for each in target.exchanges if each.request.operation in ("update", "delete")]
    assert 3 not in {request.identifier for request in writes}


def test_what_could_not_be_removed_is_told() -> None:
    _, _, target = looks(tires_of_deleting, S, FULL)
    more = {row["id"] for row in listed(target.wsgi, S)} - set(range(1, 41))
    assert more
    assert {entry.identifier for entry in target.ledger.left} == more
