"""Rules about a single answer judge every answer of a run: with whichever account's key, and in whatever chapter."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import CONTRACT, D, S, answer, made, page, read, record, rows, said, visit

from contract_tests.evidence.exchange import OTHER, Exchange, Expect
from contract_tests.evidence.observation import Violation, format_both, from_first_difference
from contract_tests.target.identities import NOBODY
from contract_tests.verdicts.open_points import observed_choices
from contract_tests.verdicts.verdicts import observe


def of(identity: str, exchange: Exchange) -> Exchange:
    return replace(exchange, request=replace(exchange.request, identity=identity, expects=Expect.OPEN))


def overlooked(exchange: Exchange) -> Exchange:
    return replace(exchange, judged_as=Expect.IGNORED)


def test_another_accounts_list_is_judged_as_the_accounts_is() -> None:
    empty = of(OTHER, page([], change={"/data": None}))
    assert said("envelopes.list-data-is-an-array", visit(empty)) == "V"
    assert said("envelopes.list-data-is-an-array", visit(of(OTHER, page([])))) == "S"
    assert (
        said(
            "pagination.total-pages-is-the-ceiling", visit(of(OTHER, page(rows(D, 1), change={"/meta/total_pages": 2})))
        )
        == "V"
    )
    assert (
        said("representations.scheme-has-its-separator", visit(of(OTHER, page([record(D, 1, scheme="https")])))) == "V"
    )


def test_another_account_may_be_refused_in_any_way() -> None:
    for refusal in (
        answer("list", {"errors": ["no"]}),
        answer("list", None, status=403),
        answer("list", raw=b"<html>", status=404),
    ):
        assert said("envelopes.list-data-is-an-array", visit(of(OTHER, refusal))) == ""
        assert said("envelopes.body-is-json", visit(of(OTHER, refusal))) == ""
    nothing = of(OTHER, answer("read", {"data": None}, identifier=4))
    assert said("envelopes.read-data-is-an-object", visit(nothing)) == ""
    assert said("envelopes.list-data-is-an-array", visit(of(NOBODY, answer("list", {"data": None})))) == ""


def test_another_accounts_record_is_shown_by_its_shape_alone() -> None:
    evidence = visit(of(OTHER, page([record(S, 7, color="Acme Ltd")], S)), created_ids={7})
    assert said("representations.color-is-hex", evidence, S) == "V"
    [violation] = observe(CONTRACT.rules["representations.color-is-hex"], replace(evidence, resource=S))
    assert isinstance(violation, Violation)
    assert "Acme" not in violation.received


def test_answers_to_requests_that_overlap_are_judged_each_by_itself() -> None:
    assert said("envelopes.list-links-are-strings", visit(overlooked(page([], change={"/links/last": None})))) == "SVS"
    assert said("envelopes.create-answers-the-id", visit(overlooked(answer("create", {"data": {}}, form={})))) == "V"
    assert said("representations.scheme-has-its-separator", visit(overlooked(read(record(D, 4, scheme="x"))))) == "V"


def test_what_overlaps_with_a_delete_may_show_nothing() -> None:
    gone = (
        overlooked(answer("read", {"data": None}, identifier=4)),
        overlooked(answer("update", {"data": None}, identifier=4)),
    )
    assert said("envelopes.read-data-is-an-object", visit(*gone)) == ""
    assert said("envelopes.update-answers-the-id", visit(*gone)) == ""


def sent_beside_others(*tries: tuple[int | None, bool]) -> Exchange:
    """A list with the status of each try, and whether other requests were under way meanwhile."""
    exchange = answer("list", status=tries[-1][0], attempts=tuple(status for status, _ in tries[:-1]))
    return replace(exchange, overlapped=tuple(crowded for _, crowded in tries))


WITH_OTHERS, ALONE = True, False
FINE, LOCKED = sent_beside_others((200, WITH_OTHERS)), sent_beside_others((500, WITH_OTHERS), (200, ALONE))
ODD_QUERY = answer("list", status=200, attempts=(500,), expects=Expect.OPEN)
CROWDS = {
    "nothing was sent beside others": ([sent_beside_others((200, ALONE))], "N"),
    "all is well": ([FINE], "S"),
    "one fails only beside others": ([FINE, LOCKED], "V"),
    "an odd query fails alone": ([FINE, LOCKED, replace(ODD_QUERY, overlapped=(ALONE, ALONE))], "V"),
    "others fail alone": ([FINE, LOCKED, sent_beside_others((500, ALONE), (200, ALONE))], "U"),
    "a gateway fails": ([FINE, sent_beside_others((502, WITH_OTHERS), (200, ALONE))], "S"),
    "it fails alone, too": ([FINE, sent_beside_others((500, WITH_OTHERS), (500, ALONE), (500, ALONE))], "U"),
}


@pytest.mark.parametrize(("exchanges", "expected"), CROWDS.values(), ids=CROWDS)
def test_requests_that_fail_beside_others_alone(exchanges: list[Exchange], expected: str) -> None:
    assert said("robustness.requests-work-in-parallel", visit(*exchanges)) == expected


def with_json(exchange: Exchange) -> Exchange:
    return replace(exchange, request=replace(exchange.request, body=("application/json", b"{}")))


CHOICES = {
    "JSON is read": ("json-body", [with_json(answer("create", {"data": {"id": 7}}, status=201))], {"accepted": 1}),
    "JSON holds no field": ("json-body", [with_json(answer("create", {}, status=422))], {"no-fields": 1}),
    "JSON is no form": ("json-body", [with_json(answer("create", {}, status=415))], {"415": 1}),
    "problem details": ("error-body", [answer("create", {"title": "a", "status": 400}, status=400)], {"problem": 1}),
    "any other object": ("error-body", [answer("create", {"message": "a"}, status=400)], {"other JSON": 1}),
    "an empty second account": ("empty-collection-pages", [of(OTHER, page([]))], {"0": 1}),
    "an absurd page": (
        "page-past-the-end",
        [page(rows(D, 1)), *(page([], total=1, query={"page": number}) for number in ("9", "4294967297"))],
        {"empty": 1},
    ),
    "creates answered in another order": ("ids", [made(number, {}) for number in (1, 3, 2, 4)], {"consecutive": 1}),
    "creates with a gap": ("ids", [made(number, {}) for number in (1, 2, 3, 5)], {"gaps": 1}),
}


@pytest.mark.parametrize(("point", "exchanges", "expected"), CHOICES.values(), ids=CHOICES)
def test_a_choice_is_told_for_what_it_is(point: str, exchanges: list[Exchange], expected: dict[str, int]) -> None:
    refused = [replace(each, judged_as=Expect.REFUSAL) if point == "error-body" else each for each in exchanges]
    assert observed_choices(refused).get(point) == expected


def test_long_texts_are_shown_from_where_they_differ_even_if_one_ends_there() -> None:
    whole = "a" * 100 + "b" * 100
    assert from_first_difference(whole, whole[:100] + "c") == (f'"…{"a" * 20}{"b" * 38}…', f'"…{"a" * 20}c"')
    assert from_first_difference(whole, whole[:64])[1] == f'"…{"a" * 20}"'


def test_a_long_text_is_cut_between_words_if_they_are_short() -> None:
    words = "ct1xdkqt-1z " + "left out " * 9
    assert from_first_difference(words, f"{words[:21]}x")[1] == '"ct1xdkqt-1z left out x"'
    assert from_first_difference(words, f"{words[:-4]}x")[1] == '"…left out left out left x"'


def test_what_belongs_to_others_shows_its_shape_and_where_it_differs() -> None:
    assert format_both("Jane's 7", "Jane's 8", "name", verbatim=False) == (
        '[masked: "aaaa\'a 0"]',
        '[masked: "aaaa\'a 0"], different from character 8 on',
    )
    zero = "0000-00-00 00:00:00"
    assert format_both(None, zero, "last_datetime", verbatim=False) == ("null", f'"{zero}"')
