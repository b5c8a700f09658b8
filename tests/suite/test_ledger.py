from __future__ import annotations

import json
from pathlib import Path

import pytest
from liar import CONTRACT, LyingTarget, honest, looks
from werkzeug.test import Client

from contract_tests.exchange import OTHER, Request
from contract_tests.ledger import Ledger
from contract_tests.target import WriteRefusedError
from mock_server import Settings, create_app


def test_a_record_may_be_written_to_once_it_was_seen_with_its_marker() -> None:
    ledger = Ledger()
    ledger.complete(ledger.plan("domains", "ct1-1.example.com"), 5)
    assert not ledger.allows_write("domains", 5)
    ledger.see("domains", 5, '{"id": 5, "host": "somebody-elses.example.com"}')
    assert not ledger.allows_write("domains", 5)
    ledger.see("domains", 5, '{"id": 5, "host": "CT1-1.example.com"}')
    assert ledger.allows_write("domains", 5)
    assert not ledger.allows_write("splash-pages", 5)
    assert not ledger.allows_write("domains", 5, OTHER)


def test_an_id_that_is_given_again_belongs_to_the_record_that_has_it_now() -> None:
    ledger = Ledger()
    for marker in ("first", "second"):
        ledger.complete(ledger.plan("domains", marker), 5)
        ledger.see("domains", 5, marker)
        assert len(ledger.left) == 1
        ledger.remove("domains", 5)
        assert ledger.left == []


def test_a_create_is_written_down_before_it_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "state" / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.plan("domains", "ct1-1.example.com")
        line = json.loads(path.read_text("utf-8").splitlines()[-1])
        assert (line["event"], line["kind"], line["markers"]) == ("planned", "domains", ["ct1-1.example.com"])


@pytest.mark.parametrize("operation", ["update", "delete"])
def test_the_target_refuses_to_write_to_what_the_run_did_not_create(operation: str) -> None:
    target = LyingTarget(honest, Settings())
    method = {"update": "POST", "delete": "DELETE"}[operation]
    with pytest.raises(WriteRefusedError, match="domains 1 is not known to be this run's own"):
        target.send(Request(operation, "domains", method, "/api/domains/1", identifier=1))
    assert target.sent == 0


@pytest.mark.parametrize("kind", CONTRACT.kinds)
@pytest.mark.parametrize("defect", ["create-answers-the-oldest-id", "create-answers-the-last-id"])
@pytest.mark.parametrize("records", [0, 40])
def test_a_server_that_answers_creates_with_old_ids_loses_and_keeps_nothing(
    no_pauses: None, records: int, defect: str, kind: str
) -> None:
    settings = Settings(fixture="empty", records=records, defects=(defect,))
    _, _, target = looks(honest, kind, settings)
    headers = {"Authorization": "Bearer demo-key-harbour"}
    path = f"/api/{kind}/?results_per_page=1000"
    after, before = (app.get(path, headers=headers).json for app in (target.wsgi, Client(create_app(settings))))
    assert after == before
    assert target.ledger.left == []
