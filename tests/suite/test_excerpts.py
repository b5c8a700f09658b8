"""What findings show, and in which order: the value that is wrong, the message of the server, the likeliest cause."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from contract_tests.evidence.exchange import OTHER, Exchange, Request
from contract_tests.evidence.masking import Masking
from contract_tests.evidence.observation import Violation
from contract_tests.reports.causes import groups, undecided
from contract_tests.reports.results import excerpt, not_json

OPEN = Masking.of({}, [("domains", "the account's key", 7)], ["ct1-1z"])
READ = Request("read", "domains", "GET", "/api/domains/7", identifier=7)
RECORD = {"id": 7, "host": "ct1-1z.example.com", "lastDatetime": None}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{}", ""),
        (b"\xef\xbb\xbf{}", ""),
        (b" ", "the body is empty"),
        (b'{"a": "\xe9"}', "byte 7 (0xe9) is not UTF-8"),
        (b'{"a": NaN}', "NaN is not JSON"),
        ('{"ä": 1 2}'.encode(), "not JSON from byte 9 on: "),
        (b"<p>", "not JSON from byte 0 on: Expecting value, before '<p>'"),
        (b"[" * 100_000, "JSON that is nested too deeply"),
    ],
)
def test_a_body_that_is_no_json_says_why_and_where(body: bytes, why: str) -> None:
    told = not_json(body)
    assert told.startswith(why)
    assert bool(told) == bool(why)


def told(exchange: Exchange, at: str = "", exchanges: tuple[Exchange, ...] = ()) -> dict[str, Any]:
    return excerpt(Violation(exchange, "a JSON body", "no body", at), exchanges, OPEN)


def test_a_finding_shows_the_value_and_a_key_that_looks_like_a_missing_one() -> None:
    read = Exchange(READ, 3, 200, {"Content-Type": "application/json"}, json.dumps({"data": RECORD}).encode())
    assert told(read, "/data/host")["value"] == '"ct1-1z.example.com"'
    missing = told(read, "/data/last_datetime")
    assert (missing["value"], missing["similar"]) == ("missing", "lastDatetime")
    assert "similar" not in told(read, "/data/color")
    assert told(read, "/meta/total")["value"] == "missing"


@pytest.mark.parametrize(
    ("status", "body", "shown"),
    [
        (500, b"<html><head><style>p {}</style></head><h1>KeyError: 'name'</h1></html>", "KeyError: 'name'"),
        (500, b"Traceback\n  KeyError", "Traceback KeyError"),
        (422, b'{"error": "host is needed"}', '{"error": "host is needed"}'),
        (500, b"\x1b[2J\x07oops", "\\x1b[2J\\x07oops"),
        (500, b"x" * 1000, "x" * 300 + "…"),
    ],
)
def test_a_refusal_shows_the_servers_own_message_in_which_nothing_steers_a_terminal(
    status: int, body: bytes, shown: str
) -> None:
    assert told(Exchange(READ, 3, status, {"Content-Type": "text/html"}, body))["body"] == shown


def test_an_answer_that_is_cut_off_says_by_how_much() -> None:
    error = "('Connection broken: IncompleteRead(10 bytes read, 5 more expected)', ...)"
    answered = told(Exchange(READ, 3, None, error=error))["answered"]
    assert answered == "no whole answer: the body ended after 10 bytes, 5 fewer than its Content-Length says"


def test_a_record_that_is_wrong_or_cannot_be_deleted_comes_with_the_write_that_it_is_from() -> None:
    form = {"host": "ct1-1z.example.com"}
    create = Exchange(
        Request("create", "domains", "POST", "/api/domains", form=form), 1, 201, {}, b'{"data": {"id": 7}}'
    )
    other = Exchange(Request("create", "domains", "POST", "/api/domains"), 2, 201, {}, b'{"data": {"id": 8}}')
    read = Exchange(READ, 3, 200, {}, json.dumps({"data": RECORD}).encode())
    page = Exchange(
        Request("list", "domains", "GET", "/api/domains/"),
        4,
        200,
        {},
        json.dumps({"data": [{"id": 9}, RECORD]}).encode(),
    )
    deleted = Exchange(Request("delete", "domains", "DELETE", "/api/domains/7", identifier=7), 5, 404, {}, b"{}")
    for exchange, at in ((read, "/data/host"), (page, "/data/1/host"), (deleted, "")):
        cause = told(exchange, at, (create, other, exchange))["cause"]
        assert cause.startswith(
            "POST /api/domains with host=ct1-1z.example.com, as multipart/form-data, answered with status 201"
        )
    assert "cause" not in told(page, "/data/0/host", (create, other, page))


def test_lists_that_fail_from_a_write_on_come_with_it() -> None:
    def listed(number: int, status: int) -> Exchange:
        return Exchange(Request("list", "domains", "GET", "/api/domains/"), number, status, {}, b"{}")

    def written(number: int, host: str, status: int = 201) -> Exchange:
        request = Request("create", "domains", "POST", "/api/domains", form={"host": host})
        return Exchange(request, number, status, {}, b'{"data": {"id": 7}}')

    harmless, harmful, later = written(2, "a.example.com"), written(4, "b.example.com"), written(7, "c.example.com")
    refused = written(5, "d.example.com", 422)
    steps = (listed(1, 200), harmless, listed(3, 200), harmful, refused, listed(6, 500), later, listed(8, 500))
    assert told(steps[-1], exchanges=steps)["cause"].startswith("POST /api/domains with host=b.example.com")
    assert "cause" not in told(steps[-1], exchanges=steps[1:2] + steps[3:])
    another_keys = Exchange(replace(steps[-1].request, identity=OTHER), 9, 500, {}, b"{}")
    assert "cause" not in told(another_keys, exchanges=(*steps[:3], another_keys))


def result(rule: str, kind: str = "domains", exchange: int = 1, verdict: str = "fail", **more: Any) -> dict[str, Any]:
    findings = [{"exchange": exchange, "at": more.pop("at", "")}] if verdict in ("fail", "warn") else []
    return {"rule": rule, "kind": kind, "verdict": verdict, "findings": findings, "waived": None, "reasons": []} | more


def named(results: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    return [(group.rule, [each["rule"] for each in group.follows]) for group in groups(results)]


def test_what_blocks_most_comes_first_and_what_follows_stands_under_it() -> None:
    results = [
        result("pagination.total-pages-is-the-ceiling", exchange=9),
        result("pagination.total-counts-the-records", exchange=8),
        result("forms.zero-disables", exchange=4),
        result("lifecycle.update-changes-what-it-names", exchange=5),
        result("operations.delete-answers", exchange=7),
        result("accounts.bearer-key-is-accepted", "splash-pages"),
    ]
    assert named(results) == [
        ("accounts.bearer-key-is-accepted", []),
        ("operations.delete-answers", []),
        ("pagination.total-counts-the-records", ["pagination.total-pages-is-the-ceiling"]),
        ("lifecycle.update-changes-what-it-names", ["forms.zero-disables"]),
    ]


def test_what_is_to_be_built_first_comes_first() -> None:
    order = [
        "operations.list-answers",
        "envelopes.list-meta-holds-integers",
        "operations.create-answers",
        "envelopes.create-answers-the-id",
        "operations.read-answers",
        "accounts.other-account-sees-no-list",
        "lifecycle.created-record-is-read",
        "forms.name-comes-back",
        "representations.type-is-one-of-six",
    ]
    results = [result(rule, f"resource {number}", number) for number, rule in enumerate(reversed(order))]
    assert [group.rule for group in groups(results)] == order


def test_a_cause_explains_nothing_of_another_resource_or_of_what_is_waived() -> None:
    cause = result("lifecycle.update-changes-what-it-names")
    assert len(named([cause, result("forms.zero-disables", "splash-pages", 2)])) == 2
    assert len(named([cause, result("forms.zero-disables", exchange=2, waived="ticket 1")])) == 2


def test_what_the_same_place_of_one_answer_breaks_is_one_group() -> None:
    one, other = (
        result("envelopes.list-meta-holds-integers", at="/meta/page"),
        result("representations.id-is-an-integer"),
    )
    assert len(named([one, other])) == 2
    assert len(named([one, other | {"findings": [{"exchange": 1, "at": "/meta/page"}]}])) == 1


def test_rules_without_a_verdict_name_the_failure_that_is_in_the_way() -> None:
    open_rule = result("forms.host-required", verdict="inconclusive", reasons=["nothing that it speaks of was seen"])
    elsewhere = open_rule | {"kind": "splash-pages"}
    results = [result("operations.create-answers"), open_rule, elsewhere]
    assert undecided(results, groups(results)) == {
        "operations.create-answers fails": [open_rule],
        "nothing that it speaks of was seen": [elsewhere],
    }
