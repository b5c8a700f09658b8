"""What writes hit under the same id in another resource or account, found on the run's own records if ids allow it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest
from faulty import CONTRACT
from situations import KEYS, RESOURCES, Forward, Reply, Sent, in_process, judge_server

from contract_tests.evidence.exchange import OWN_KEY, Exchange, Request, request_of
from contract_tests.proof import ACROSS_RESOURCES, PARALLEL_RULE
from contract_tests.repro.script import file_of, scripts
from contract_tests.run import SAME_ID_RULES
from contract_tests.target.bystanders import Bystanders
from contract_tests.target.ledger import Ledger
from contract_tests.verdicts.verdicts import VIOLATED
from mock_server import Settings, create_app
from mock_server.defects import DEFECTS

NAMES = [name for name, defect in DEFECTS.items() if defect.rule in ACROSS_RESOURCES - {PARALLEL_RULE}]
Ids = Mapping[tuple[str, str], set[Any]]


def server(records: int, *defects: str, **choices: str) -> Forward:
    settings = Settings(fixture="empty", records=records, defects=defects, choices=choices, journal=0)
    return in_process(create_app(settings))


def records_of(forward: Forward) -> dict[tuple[str, str, int], str]:
    """What each account has, by account, resource and id."""
    records = {}
    for key in KEYS:
        for resource in RESOURCES:
            sent = Sent("GET", f"/api/{resource}/?results_per_page=1000", None, {"Authorization": f"Bearer {key}"})
            for row in json.loads(forward(sent).body)["data"]:
                records[key, resource, row["id"]] = str(row.get("name", row.get("host")))
    return records


def accounts_apart(own_records: int, their_records: int, method: str) -> Forward:
    """Two accounts that count ids for themselves, and a server that goes by the id alone in all accounts."""
    by_key = {KEYS[0]: server(own_records), KEYS[1]: server(their_records)}

    def forward(sent: Sent) -> Reply:
        key = sent.headers.get("Authorization", "").removeprefix("Bearer ")
        own_key = {**sent.headers, "Authorization": f"Bearer {KEYS[0]}"}  # in a server of its own, each has the first
        reply = by_key[key](replace(sent, headers=own_key)) if key in by_key else by_key[KEYS[0]](sent)
        is_about_a_record = re.search(r"/\d+$", sent.url)
        if key == KEYS[0] and sent.method == method and is_about_a_record and reply.status == HTTPStatus.OK:
            by_key[KEYS[1]](sent)
        return reply

    return forward


@pytest.mark.slow
@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(("own_records", "their_records", "harm"), [(0, 0, 0), (30, 30, 0), (30, 45, 1), (0, 30, 1)])
def test_a_write_in_all_accounts_hits_at_most_one_record(
    method: str, own_records: int, their_records: int, harm: int
) -> None:
    forward = accounts_apart(own_records, their_records, method)
    before = records_of(forward)
    [judgement] = judge_server(forward)
    after = records_of(forward)
    assert sum(after.get(key) != before[key] for key in before) == harm
    assert len(after.keys() - before) == len(judgement.outcome.left)  # removing those might do harm
    assert bool(judgement.outcome.left) == bool(harm)
    assert "of the second account" in judgement.outcome.harm
    operation = "update" if method == "POST" else "delete"
    assert f"lifecycle.{operation}-leaves-same-ids" in {result.rule.id for result in judgement.outcome.failed}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["delete-removes-all", "update-renames-all"])
def test_a_write_to_all_records_happens_once(name: str) -> None:
    forward = server(30, name)
    before = records_of(forward)
    [judgement] = judge_server(forward)
    after, outcome = records_of(forward), judgement.outcome
    hit = {
        (key, resource)
        for key, resource, identifier in before
        if before[key, resource, identifier] != after.get((key, resource, identifier))
    }
    assert len(hit) == 1  # one resource of the account; nothing more is written
    assert outcome.verdict.startswith(outcome.harm + ": does not conform")
    assert DEFECTS[name].rule in {result.rule.id for result in outcome.failed}


@pytest.mark.slow
@pytest.mark.parametrize(("records", "unknown_id"), [(0, "404"), (30, "404"), (30, "403")])
@pytest.mark.parametrize("name", NAMES)
def test_a_write_by_the_id_alone_is_found_without_harm(name: str, records: int, unknown_id: str) -> None:
    forward = server(records, name, **{"unknown-id": unknown_id})
    before = records_of(forward)
    [judgement] = judge_server(forward)
    outcome, rule = judgement.outcome, DEFECTS[name].rule
    assert {result.rule.id for result in outcome.results if result.verdict in VIOLATED} <= {
        rule,
        *DEFECTS[name].implied_rules,
    }
    assert rule in {result.rule.id for result in outcome.failed}
    assert records_of(forward) == before
    assert outcome.requests < 1200  # a 403 is not taken for a limit, again and again
    assert file_of(rule) not in scripts(CONTRACT, outcome)  # which might hit what others have
    if rule in SAME_ID_RULES:
        assert outcome.verdict.startswith(outcome.harm + ": does not conform")
        assert "another record of the run" in outcome.harm


def test_a_record_that_the_run_deletes_meanwhile_was_not_hit() -> None:
    """Where reads go by the id alone, the handler's id shows the domain as soon as the handler is gone."""
    domains, handlers = CONTRACT.resources["domains"], CONTRACT.resources["notification-handlers"]
    ledger, shown = Ledger(), {domains.name: "ct1-a.example.com", handlers.name: "ct1-b"}
    for resource in (domains, handlers):
        ledger.note_id(ledger.plan(resource.name, shown[resource.name]), 5)
        ledger.note_text(resource.name, 5, shown[resource.name])

    def send(request: Request) -> Exchange:
        label = shown.get(request.resource, shown[domains.name])
        body = {"data": [] if request.operation == "list" else {"id": 5, "label": label}}
        return Exchange(request, 1, HTTPStatus.OK, {}, json.dumps(body).encode())

    bystanders = Bystanders(ledger, send, lambda _: False)
    for resource in (domains, handlers):
        bystanders.list_first(resource, OWN_KEY)
    update = send(request_of(domains, "update", 5, form={"host": "ct1-c.example.com"}))
    reads = bystanders.before(update.request)
    assert [read.request.resource for read in reads] == [handlers.name]
    bystanders.before(request_of(handlers, "delete", 5))  # of another visit, at the same time
    shown = {domains.name: "ct1-c.example.com"}
    bystanders.after(update, reads)
    assert bystanders.harm == ""
