"""Rules about answers to single records and what they show, on hand-made exchanges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from handmade import D, N, S, answer, changed, deleted, listing, made, page, read, record, rows, said, visit, written

from contract_tests.evidence.evidence import ChangePeriod, Creation
from contract_tests.evidence.exchange import Exchange, Expect
from link_management_contract import Resource

MISSING = ...


def shown(resource: Resource, change: dict[str, Any], operation: str = "read") -> Exchange:
    """A read or list of a record with other values."""
    row = changed(record(resource, 7), change)
    return read(row, resource, identifier=7) if operation == "read" else page([row], resource)


FIELDS: list[tuple[str, Resource, dict[str, Any], str]] = [
    ("fields-are-present", D, {}, "S"),
    ("fields-are-present", D, {"further": 1}, "S"),
    ("fields-are-present", D, {"scheme": MISSING}, "V"),
    ("id-is-an-integer", D, {"id": 7.0}, "S"),
    ("id-is-an-integer", D, {"id": "7"}, "V"),
    ("id-is-an-integer", D, {"id": True}, "V"),
    ("id-is-an-integer", D, {"id": MISSING}, ""),
    ("name-is-a-string", S, {"name": ""}, "S"),
    ("name-is-a-string", S, {"name": None}, "V"),
    ("name-is-a-string", S, {"name": ["a"]}, "V"),
    ("color-is-hex", S, {"color": "#ABCdef"}, "S"),
    ("color-is-hex", S, {"color": "#abcdefa"}, "V"),
    ("color-is-hex", S, {"color": "abcdef"}, "V"),
    ("color-is-hex", S, {"color": "#abcdeg"}, "V"),
    ("color-is-hex", S, {"color": None}, "V"),
    ("scheme-has-its-separator", D, {"scheme": "Git+ssh-1.0://"}, "S"),
    ("scheme-has-its-separator", D, {"scheme": "https:"}, "V"),
    ("scheme-has-its-separator", D, {"scheme": "://"}, "V"),
    ("scheme-has-its-separator", D, {"scheme": None}, "V"),
    ("host-is-a-string", D, {}, "S"),
    ("host-is-a-string", D, {"host": {}}, "V"),
    ("custom-index-url-is-a-string", D, {}, "S"),
    ("custom-index-url-is-a-string", D, {"custom_index_url": None}, "V"),
    ("custom-not-found-url-is-absent", D, {}, "S"),
    ("custom-not-found-url-is-absent", D, {"custom_not_found_url": None}, "V"),
    ("is-enabled-is-a-boolean", D, {"is_enabled": True}, "S"),
    ("is-enabled-is-a-boolean", D, {"is_enabled": 1}, "V"),
    ("type-is-one-of-six", N, {"type": "microsoft_teams"}, "S"),
    ("type-is-one-of-six", N, {"type": "teams"}, "V"),
    ("type-is-one-of-six", N, {"type": ["slack"]}, "V"),
    ("type-is-one-of-six", N, {"type": MISSING}, ""),
    ("settings-is-an-object", N, {"settings": {}}, "S"),
    ("settings-is-an-object", N, {"settings": []}, "V"),
    ("email-settings-hold-email-alone", N, {}, ""),
    ("email-settings-hold-email-alone", N, {"type": "email", "settings": {"email": ""}}, "S"),
    ("email-settings-hold-email-alone", N, {"type": "email", "settings": {"email": None}}, "V"),
    ("email-settings-hold-email-alone", N, {"type": "email", "settings": {}}, "V"),
    ("email-settings-hold-email-alone", N, {"type": "email", "settings": {"email": "a@b", "ok": 1}}, "V"),
    ("email-settings-hold-email-alone", N, {"type": "email", "settings": []}, ""),
    ("datetime-has-the-stated-form", D, {}, "S"),
    ("datetime-has-the-stated-form", D, {"datetime": "2024-02-29 23:59:59"}, "S"),
    ("datetime-has-the-stated-form", D, {"datetime": "2023-02-29 00:00:00"}, "V"),
    ("datetime-has-the-stated-form", D, {"datetime": "2026-03-02T09:00:00"}, "V"),
    ("datetime-has-the-stated-form", D, {"datetime": "2026-03-02 09:00:00Z"}, "V"),
    ("datetime-has-the-stated-form", D, {"datetime": 1}, "V"),
    ("datetime-has-the-stated-form", D, {"datetime": None}, "V"),
    ("last-datetime-has-the-stated-form", D, {}, "S"),
    ("last-datetime-has-the-stated-form", D, {"last_datetime": "2026-03-02 09:00:00"}, "S"),
    ("last-datetime-has-the-stated-form", D, {"last_datetime": ""}, "V"),
    ("last-datetime-has-the-stated-form", D, {"last_datetime": False}, "V"),
]


@pytest.mark.parametrize("operation", ["read", "list"])
@pytest.mark.parametrize(
    ("rule", "resource", "change", "expected"),
    FIELDS,
    ids=[f"{number}-{case[0]}" for number, case in enumerate(FIELDS)],
)
def test_a_record_is_judged_where_it_is_read_and_where_it_is_listed(
    rule: str, resource: Resource, change: dict[str, Any], expected: str, operation: str
) -> None:
    assert said(f"representations.{rule}", visit(shown(resource, change, operation)), resource) == expected


def test_integers_are_written_without_a_fraction() -> None:
    rule = "representations.integers-have-no-fraction"
    assert said(rule, visit(read(record(D, 7)))) == "S"
    assert said(rule, visit(read(record(D, 7, id=7.0)))) == "V"
    assert said(rule, visit(page([], change={"meta/total": 0.0}))) == "SSVS"
    assert said(rule, visit(answer("create", {"data": {"id": 7.0}}, status=201))) == "V"
    assert said(rule, visit(written(7, {}), made(7, {}))) == "SS"
    assert said(rule, visit(read(record(D, 7, id="7"), identifier=7))) == ""


NEVER = "representations.last-datetime-is-null-before-any-update"


@pytest.mark.parametrize(
    ("exchanges", "expected"),
    [
        ([read(record(D, 7))], "S"),
        ([page(rows(D, 7, 8))], "S"),
        ([read(record(D, 7, last_datetime="2026-03-02 09:00:00"))], "V"),
        ([read(record(D, 8, last_datetime="2026-03-02 09:00:00"))], ""),
        ([written(7, {}), read(record(D, 7, last_datetime="2026-03-02 09:00:00"))], ""),
        ([written(8, {}), read(record(D, 7))], "S"),
        ([read(record(D, 7, last_datetime=""), expects=Expect.OPEN)], ""),
        ([read(record(D, 7, last_datetime=""), status=500)], ""),
        ([read({"id": 7})], ""),
        ([read(record(S, 7), S)], ""),
        ([deleted(7), read(record(D, 7))], ""),
        ([made(7, {}, S), made(7, {}), read(record(D, 7))], "S"),
    ],
)
def test_a_new_record_was_never_updated(exchanges: list[Exchange], expected: str) -> None:
    assert said(NEVER, visit(*exchanges, created_ids={D.name: {7}})) == expected


@pytest.mark.parametrize(
    ("form", "url", "expected"),
    [
        ({"host": "a"}, "", "S"),
        ({"host": "a"}, "/", "V"),
        ({"custom_index_url": "b"}, "b", ""),
        ({"host": "a"}, None, ""),
    ],
)
def test_an_index_url_that_was_not_given_is_empty(form: dict[str, str], url: str | None, expected: str) -> None:
    creation = Creation(made(7, form), form, frozenset(), 7)
    evidence = visit(
        read(record(D, 7, custom_index_url=url)), created_ids={D.name: {7}}, creations={D.name: [creation]}
    )
    assert said("representations.custom-index-url-is-empty-when-unset", evidence) == expected


def test_an_index_url_may_have_been_given_to_an_earlier_record_of_the_same_id() -> None:
    rule, url = "representations.custom-index-url-is-empty-when-unset", {"custom_index_url": "b"}
    plain = Creation(made(7, {}), {}, frozenset(), 7)
    shown, own = read(record(D, 7, custom_index_url="b")), {D.name: {7}}
    earlier = made(7, url)
    assert said(rule, visit(earlier, shown, created_ids=own, creations={D.name: [plain]})) == ""
    given = Creation(answer("create", status=502, form=url), url, frozenset(), 7)
    assert said(rule, visit(shown, created_ids=own, creations={D.name: [plain, given]})) == ""
    assert said(rule, visit(written(7, url), made(8, url), shown, created_ids=own, creations={D.name: [plain]})) == ""
    assert said(rule, visit(made(8, url), shown, created_ids=own, creations={D.name: [plain]})) == "V"


LISTED = "representations.listed-as-read"


@pytest.mark.parametrize(
    ("exchanges", "expected"),
    [
        ([page(rows(D, 7)), read(record(D, 7))], "S"),
        ([read(record(D, 7)), page(rows(D, 7))], "S"),
        ([page(rows(D, 7)), read(record(D, 7, host="x"))], "U"),  # somebody else may have written
        ([page(rows(D, 7)), read(record(D, 7, host="x")), page([record(D, 7, host="x")])], "US"),
        ([page(rows(D, 7)), read(record(D, 7, host="x")), page(rows(D, 7))], "VU"),
        ([page(rows(D, 7)), read(record(D, 7, is_enabled=True))], "S"),  # a domain may be enabled by itself
        ([page(rows(D, 7)), read({"id": 7, "further": 1})], "S"),
        ([page(rows(D, 7)), written(7, {}), read(record(D, 7, host="x"))], "U"),
        ([page(rows(D, 7)), page([record(D, 7, host="x")])], "U"),
        ([page(rows(D, 7)), deleted(7), read(record(D, 7, host="x"))], "U"),
        ([page(rows(D, 7)), answer("create", form={}, identifier=7), read(record(D, 7, host="x"))], "U"),
        ([written(9, {}), page([{"further": 1}, *rows(D, 7)]), read(record(D, 7, host="x"))], "U"),
        ([page(rows(D, 7)), read(record(D, 8))], "U"),
        ([page(rows(D, 7)), read(record(D, 7, host="x"), expects=Expect.OPEN)], "U"),
        ([page(rows(D, 7)), read(record(D, 7, host="x"), status=404)], "U"),
        ([page(rows(D, 7)), read(record(S, 7), S)], "U"),
        ([], "U"),
    ],
)
def test_what_is_listed_is_what_is_read(exchanges: list[Exchange], expected: str) -> None:
    assert said(LISTED, visit(*exchanges)) == expected


def test_a_record_of_the_run_is_shown_with_its_values() -> None:
    exchanges = page(rows(D, 7)), read(record(D, 7, host="ct1x-1z.example.com"))
    assert said(LISTED, visit(*exchanges, created_ids={D.name: {7}}, markers={"ct1x-1z"})) == "V"
    assert (
        said("representations.color-is-hex", visit(read(record(S, 7, color="red"), S), created_ids={S.name: {7}}), S)
        == "V"
    )


def test_a_handler_is_not_enabled_by_itself() -> None:
    exchanges = page(rows(N, 7), N), read(record(N, 7, is_enabled=False), N)
    assert said(LISTED, visit(*exchanges, created_ids={N.name: {7}}), N) == "V"


ANSWERS: list[tuple[str, Exchange, str]] = [
    ("body-is-json", read(record(D, 7)), "S"),
    ("body-is-json", answer("read", raw=b"null", identifier=7), "S"),
    ("body-is-json", answer("read", raw=b"", identifier=7), "V"),
    ("body-is-json", answer("update", raw=b"", status=204, identifier=7), "V"),
    ("body-is-json", answer("create", raw=b'{"data": {"id": 7},}'), "V"),
    ("body-is-json", answer("create", raw=b"<p>\xff a page of thirty letters and more"), "V"),
    ("body-is-json", answer("create", raw=b""), "V"),
    ("body-is-json", answer("read", raw=b"<h1>", identifier=7), "V"),
    ("body-is-json", answer("list", raw=b'{"meta": NaN}'), "V"),
    ("body-is-json", answer("delete", raw=b"deleted", identifier=7), ""),
    ("body-is-json", answer("read", raw=b"<h1>", status=404, identifier=7), ""),
    ("no-byte-order-mark", read(record(D, 7)), "S"),
    ("no-byte-order-mark", answer("read", raw=b'\xef\xbb\xbf{"data": {}}', identifier=7), "V"),
    ("read-data-is-an-object", read(record(D, 7)), "S"),
    ("read-data-is-an-object", answer("read", {"data": [{}]}, identifier=7), "V"),
    ("read-data-is-an-object", answer("read", record(D, 7), identifier=7), "V"),
    ("read-data-is-an-object", answer("read", [], identifier=7), "V"),
    ("read-data-is-an-object", answer("read", {"error": "gone"}, identifier=7), ""),
    ("create-answers-the-id", made(7, {}), "S"),
    ("create-answers-the-id", answer("create", {"data": {"id": "7"}}), "V"),
    ("create-answers-the-id", answer("create", {"id": 7}), "V"),
    ("create-answers-the-id", answer("create", {"data": []}), "V"),
    ("create-answers-the-id", answer("create", [7]), "V"),
    ("create-answers-the-id", answer("create", {"data": {}}, status=400), ""),
    ("update-answers-the-id", written(7, {}), "S"),
    ("update-answers-the-id", answer("update", {"data": True}, identifier=7), "V"),
    ("update-id-is-the-path-id", written(7, {}), "S"),
    ("update-id-is-the-path-id", answer("update", {"data": {"id": 8}}, identifier=7), "V"),
    ("update-id-is-the-path-id", answer("update", {"data": {}}, identifier=7), ""),
]


@pytest.mark.parametrize(
    ("rule", "exchange", "expected"), ANSWERS, ids=[f"{number}-{case[0]}" for number, case in enumerate(ANSWERS)]
)
def test_an_envelope_is_judged(rule: str, exchange: Exchange, expected: str) -> None:
    assert said(f"envelopes.{rule}", visit(exchange)) == expected


def test_a_read_of_a_record_that_was_never_made_is_not_an_envelope() -> None:
    phase = ChangePeriod("create", listing(page([])), listing(page([])), frozenset({7}))
    evidence = visit(answer("read", {"data": None}, identifier=7), change_periods={D.name: [phase]})
    assert said("envelopes.read-data-is-an-object", evidence) == ""


@pytest.mark.parametrize(
    ("updated", "expected"),
    [("2026-03-02 09:00:00", "S"), ("2026-03-02 08:59:59", "S"), ("2026-03-02 07:00:00", "V"), (None, "N"), ("x", "N")],
)
def test_a_record_is_not_updated_before_it_was_made(updated: str | None, expected: str) -> None:
    evidence = visit(read(record(D, 7, last_datetime=updated)), created_ids={D.name: {7}})
    assert said("representations.last-datetime-is-not-before-datetime", evidence) == expected
    assert said("representations.last-datetime-is-not-before-datetime", replace(evidence, created_ids=set())) in (
        "",
        "N",
    )
