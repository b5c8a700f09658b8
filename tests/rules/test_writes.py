"""Rules about operations, forms, lifecycles and odd input, on hand-made exchanges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from handmade import (
    BASE_URL,
    CONTRACT,
    D,
    N,
    S,
    answer,
    deleted,
    listing,
    made,
    page,
    read,
    record,
    rows,
    said,
    visit,
    written,
)

from contract_tests.evidence.evidence import (
    BystanderCheck,
    Change,
    ChangePeriod,
    Creation,
    Evidence,
    FieldIsolation,
    Omission,
    PagingScan,
    Removal,
    RepeatedListing,
    UnreadableText,
)
from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect, FormValue
from contract_tests.evidence.multipart import FORM_STYLES, NOTHING_CHOSEN, STREAMED, UNUSUAL, FormStyle
from contract_tests.evidence.observation import Violation
from contract_tests.verdicts.verdicts import observe
from link_management_contract import Resource

OPEN, REFUSAL = Expect.OPEN, Expect.REFUSAL
LOGO: dict[str, FormValue] = {"logo": ("logo.png", b"\x89PNG", "image/png")}
UPDATED = "2026-03-02 09:00:05"


def created(  # noqa: PLR0913 - whatever a create may have come to
    resource: Resource,
    form: dict[str, str],
    shown: dict[str, Any] | None = None,
    *,
    before: frozenset[int] = frozenset(),
    exchange: Exchange | None = None,
    seen: Exchange | None = None,
) -> Evidence:
    """A visit with one create, whose record is read straight after it."""
    exchange = exchange or made(7, form, resource)
    seen = seen or (read(record(resource, 7, **shown), resource, identifier=7) if shown is not None else None)
    creation = Creation(exchange, form, before, exchange.made_id, seen)
    exchanges = [each for each in (exchange, seen) if each]
    return visit(*exchanges, creations={resource.name: [creation]}, created_ids={resource.name: {7}})


def updated(
    resource: Resource,
    form: dict[str, str],
    now: dict[str, Any] | None,
    before: dict[str, Any] | None = None,
    exchange: Exchange | None = None,
) -> Evidence:
    """A visit with one update, and the read after it."""
    exchange = exchange or written(7, form, resource)
    seen = None if now is None else read(record(resource, 7, last_datetime=UPDATED, **now), resource)
    change = Change(exchange, form, record(resource, 7, **(before or {})), seen)
    return visit(exchange, *([seen] if seen else []), changes={resource.name: [change]})


# ---- operations

STYLE = FORM_STYLES[0]
ACCEPTED = [
    (answer("list", {"data": []}), "S"),
    (answer("list", {"data": []}, status=299), "S"),
    (answer("list", {"errors": [{}]}), "U"),
    (answer("list", status=400), "V"),
    (answer("list", status=501), "V"),
    (answer("list", status=403), "U"),
    (answer("list", status=409), "U"),
    (answer("list", status=500), "U"),
    (answer("list", status=500, attempts=(500, 502)), "V"),
    (answer("list", status=500, attempts=(500,)), "U"),
    (answer("list", status=None, attempts=(None, None)), "V"),
    (answer("list", status=None, attempts=(None,)), "U"),
    (replace(answer("list", status=500), is_usual=True), "V"),
    (answer("list", status=None, attempts=(500, None)), "U"),
    (answer("list", status=404, expects=OPEN), ""),
]


@pytest.mark.parametrize(("exchange", "expected"), ACCEPTED, ids=[str(number) for number in range(len(ACCEPTED))])
def test_a_documented_request_is_not_told_that_it_is_wrong(exchange: Exchange, expected: str) -> None:
    assert said("operations.list-answers", visit(exchange)) == expected


def test_reads_of_listed_records_alone_have_to_answer() -> None:
    gone = answer("read", status=404, identifier=7)
    assert said("operations.read-answers", visit(page(rows(D, 7)), gone)) == "V"
    assert said("operations.read-answers", visit(page(rows(D, 8)), gone)) == ""
    assert said("operations.read-answers", visit(page(rows(D, 7)), read(record(D, 7)))) == "S"


def test_where_some_writes_are_accepted_the_others_fields_are_to_blame() -> None:
    wrong = answer("create", status=422)
    assert said("operations.create-answers", visit(wrong)) == "V"
    assert said("operations.create-answers", visit(wrong, made(7, {}))) == "S"
    assert said("operations.update-answers", visit(answer("update", status=405, identifier=7))) == "V"
    assert said("operations.update-answers", visit(written(7, {"host": "a"}))) == "S"
    failing = [answer("create", status=status) for status in (500, 502, 503)]
    assert said("operations.create-answers", visit(page(rows(D, 1)), *failing)) == "VUUU"


def test_an_operation_that_fails_on_each_of_several_records_is_broken() -> None:
    failing = [answer("delete", status=500, identifier=each) for each in (1, 2, 3)]
    assert said("operations.delete-answers", visit(page(rows(D, 1)), *failing)) == "VUUU"
    assert said("operations.delete-answers", visit(*failing)) == "UUU"
    assert said("operations.delete-answers", visit(page(rows(D, 1)), *failing[:2])) == "UU"
    assert said("operations.delete-answers", visit(page(rows(D, 1)), deleted(4), *failing)) == "SUUU"
    cut_off = [answer("delete", status=None, identifier=each) for each in (1, 2, 3)]
    assert said("operations.delete-answers", visit(page(rows(D, 1)), *cut_off)) == "VUUU"


def test_a_delete_that_answers_after_a_failure_may_have_been_done_before_it() -> None:
    late = answer("delete", status=404, identifier=7, attempts=(502,))
    assert said("operations.delete-answers", visit(late)) == "U"
    assert said("operations.delete-answers", visit(answer("delete", status=404, identifier=7))) == "V"


def test_splash_pages_are_created_at_projects() -> None:
    rule, form = "operations.splash-pages-created-at-projects", {"name": "ct1x-1z A"}
    assert said(rule, created(S, form, {"name": "ct1x-1z A"}), S) == "S"
    assert said(rule, created(S, form, {"name": "x"}, before=frozenset({7})), S) == "V"
    assert said(rule, created(S, form, seen=answer("read", status=404, resource=S, identifier=7)), S) == "V"
    assert said(rule, created(S, form, seen=answer("read", status=403, resource=S, identifier=7)), S) == "U"
    assert said(rule, created(S, form, seen=answer("read", raw=b"CT1x-1z", resource=S, identifier=7)), S) == "S"
    assert said(rule, created(S, form, exchange=made(7, form, S, path="/api/pages")), S) == "V"
    assert said(rule, created(S, {}, {"name": ""}), S) == "U"
    assert said(rule, created(S, form), S) == ""


def test_a_write_is_answered_and_not_redirected() -> None:
    rule = "operations.writes-not-redirected"
    assert said(rule, visit(made(7, {}))) == "S"
    assert said(rule, visit(answer("create", status=200, redirects=((301, "/api/domains/"),)))) == "V"
    assert said(rule, visit(answer("create", status=None))) == ""
    assert said(rule, visit(answer("list", redirects=((301, "/x"),)))) == ""
    no_url = ((302, "https://[/x"),)
    for operation in ("update", "delete"):
        assert said(rule, visit(answer(operation, identifier=7, redirects=no_url))) == "V"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (f"{BASE_URL}/elsewhere?page=2", "S"),
        ("/elsewhere?a=1&page=2", "S"),
        ("/elsewhere", "V"),
        ("https://www.example.com/?page=2", "V"),
    ],
)
def test_a_list_may_be_redirected_within_its_host(location: str, expected: str) -> None:
    exchange = answer("list", {}, query={"page": "2"}, redirects=((307, location),))
    assert said("operations.reads-redirected-within-host", visit(exchange)) == expected
    single = read(record(D, 7), redirects=((307, location),))
    leaves = location.startswith("https://www")
    assert said("operations.reads-redirected-within-host", visit(single)) == ("V" if leaves else "S")
    assert said("operations.reads-redirected-within-host", visit(page([]))) == "N"


# ---- forms


@pytest.mark.parametrize(
    ("exchange", "came", "is_quiet", "expected"),
    [
        (answer("create", status=400), (), True, "S"),
        (answer("create", status=302), (), True, "S"),
        (answer("create", {"data": {"id": 9}}, status=201), (), True, "V"),
        (answer("create", {"data": {"id": 9}}, status=400), (), True, "S"),
        (answer("create", status=400), ({"id": 9, "host": "m1"},), False, "V"),
        (answer("create", status=400), ({"id": 9},), True, "V"),
        (answer("create", status=400), ({"id": 9},), False, "U"),
        (answer("create", status=500), (), True, "U"),
        (answer("create", status=500, attempts=(500, 500)), (), True, "S"),
        (answer("create", status=None, attempts=(None, None)), (), True, "S"),
        (answer("create", status=500, attempts=(500, 500)), ({"id": 9},), True, "V"),
    ],
)
def test_a_create_without_a_required_field_makes_nothing(
    exchange: Exchange,
    came: tuple[dict[str, Any], ...],
    is_quiet: bool,  # noqa: FBT001 - a column
    expected: str,
) -> None:
    evidence = visit(omissions={D.name: [Omission("host", exchange, "m1", came, is_quiet)]})
    assert said("forms.host-required", evidence) == expected
    assert said("forms.name-required", evidence) == said("forms.type-required", evidence) == ""


@pytest.mark.parametrize("status", [None, 500])
def test_a_create_without_a_required_field_is_refused_and_makes_nothing_fail(status: int | None) -> None:
    omission = Omission("host", answer("create", status=status, attempts=(status, status)), "m1")
    assert said("robustness.odd-forms-do-not-fail", visit(*WORKING, omissions={D.name: [omission]})) == "V"


@pytest.mark.parametrize("field", ["name", "type"])
def test_each_required_field_of_a_handler_has_its_rule(field: str) -> None:
    omission = Omission(field, made(9, {}, N), "m1", (record(N, 9),), is_stable=True)
    assert said(f"forms.{field}-required", visit(omissions={N.name: [omission]}), N) == "V"
    omission = Omission(field, answer("create", status=422, resource=N), "m1", (), is_stable=True)
    assert said(f"forms.{field}-required", visit(omissions={N.name: [omission]}), N) == "S"


def test_which_creates_each_rule_on_accepted_fields_looks_at() -> None:
    least = made(7, {"host": "a"})
    more = answer("create", status=422, form={"host": "a", "custom_index_url": "b"})
    assert said("forms.required-fields-alone-suffice", visit(least, more)) == "S"
    refused = answer("create", status=422, form={"host": "a"})
    assert said("forms.required-fields-alone-suffice", visit(least, refused)) == "SV"
    assert said("forms.optional-fields-are-accepted-on-create", visit(least, more)) == "V"
    both = made(7, {"host": "a", "custom_index_url": "b"})
    assert said("forms.optional-fields-are-accepted-on-create", visit(least, both)) == "S"
    file = answer("update", status=415, resource=S, form=LOGO, identifier=7)
    assert said("forms.files-are-accepted", visit(file, written(7, {"name": "a"}, S)), S) == "V"
    assert said("forms.files-are-accepted", visit(written(7, LOGO, S)), S) == "S"
    assert said("forms.files-are-accepted", visit(made(7, LOGO, S)), S) == "S"
    others_too = answer("update", status=422, resource=S, form=LOGO | {"title": "b"}, identifier=7)
    assert said("forms.files-are-accepted", visit(others_too), S) == "V"
    assert said("forms.files-are-accepted", visit(written(7, LOGO, S), others_too), S) == "S"
    refused = answer("create", status=400, resource=N, form={"name": "a", "type": "slack"})
    assert said("forms.types-are-accepted", visit(refused, made(7, {}, N)), N) == "VS"


def test_an_update_that_is_refused_for_its_fields_is_told_from_one_that_lacks_others() -> None:
    partly = answer("update", status=422, form={"custom_index_url": "b"}, identifier=7)
    whole = written(7, {"host": "a", "custom_index_url": "b"})
    refused = answer("update", status=422, form={"host": "a", "custom_index_url": "b"}, identifier=7)
    optional, required = "forms.optional-fields-are-accepted-on-update", "forms.required-fields-are-optional-on-update"
    assert said(optional, visit(partly)) == "V"
    assert said(optional, visit(partly, whole)) == "US"
    assert said(required, visit(partly, whole)) == "V"
    assert said(required, visit(partly, refused)) == "U"
    assert said(required, visit(partly)) == "V"
    assert said(required, visit(written(7, {"custom_index_url": "b"}))) == "S"
    assert said(optional, visit(written(7, {"host": "a"}))) == ""


@pytest.mark.parametrize(
    ("sent", "shown", "expected"),
    [
        ("a.example.com", "a.example.com", "S"),
        ("a.example.com", " A.Example.com. ", "S"),
        ("a.example.com", "b.example.com", "V"),
        ("a.example.com", None, ""),
        ("", "b", ""),
    ],
)
def test_a_host_comes_back_in_any_letters(sent: str, shown: str | None, expected: str) -> None:
    assert said("forms.host-comes-back", created(D, {"host": sent}, {"host": shown})) == expected
    assert said("forms.host-comes-back", updated(D, {"host": sent}, {"host": shown})) == expected


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("https://www.example.com/A%2fb?q=1#c", "S"),
        ("HTTPS://WWW.example.com.:443/%41%2Fb?q=1#c", "S"),
        ("https://www.example.com/a%2Fb?q=1#c", "V"),
        ("https://www.example.com/A/b?q=1#c", "V"),
        ("https://www.example.com/A%2Fb?q=1", "V"),
        ("https://www.example.com/A%2Fb", "V"),
        ("https://www.example.com:8443/A%2Fb?q=1#c", "V"),
        ("http://www.example.com/A%2Fb?q=1#c", "V"),
        ("https://www.example.com/A%2Fb?q=1#c%7e", "V"),
        ("https://[/", "V"),
    ],
)
def test_an_address_comes_back_however_it_is_spelled(shown: str, expected: str) -> None:
    form = {"custom_index_url": "https://www.example.com/A%2Fb?q=1#c"}
    assert said("forms.custom-index-url-comes-back", created(D, form, {"custom_index_url": shown})) == expected


@pytest.mark.parametrize(
    ("sent", "shown", "expected"),
    [
        ("http://www.example.com", "http://www.example.com:80/", "S"),
        ("http://www.example.com", "http://www.example.com:443", "V"),
        ("https://www.example.com/%7Ea/%E4", "https://www.example.com/~a/%e4", "S"),
        ("ftp://www.example.com", "ftp://www.example.com:0", "S"),
        ("https://www.example.com/a", "https://www.example.com/", "V"),
    ],
)
def test_an_address_may_be_spelled_with_a_port_or_without_escapes(sent: str, shown: str, expected: str) -> None:
    evidence = created(D, {"custom_index_url": sent}, {"custom_index_url": shown})
    assert said("forms.custom-index-url-comes-back", evidence) == expected


def test_what_comes_back_is_seen_in_a_list_where_a_record_was_not_read() -> None:
    form = {"name": "a"}
    evidence = created(S, form)
    assert said("forms.name-comes-back", evidence, S) == ""
    evidence.exchanges.append(page([record(S, 7, name="b")], S))
    assert said("forms.name-comes-back", evidence, S) == "V"
    evidence.exchanges.reverse()
    assert said("forms.name-comes-back", evidence, S) == "V"  # its number tells when it was sent
    assert said("forms.name-comes-back", created(S, form, {"name": "a"}), S) == "S"


def test_an_update_that_changed_nothing_says_nothing_of_what_comes_back() -> None:
    assert said("forms.name-comes-back", updated(S, {"name": "b"}, {"name": "a"}, {"name": "a"}), S) == ""
    assert said("forms.name-comes-back", updated(S, {"name": "b"}, {"name": "c"}, {"name": "a"}), S) == "V"
    refused = answer("update", status=422, resource=S, identifier=7)
    assert said("forms.name-comes-back", updated(S, {"name": "b"}, {"name": "c"}, {}, refused), S) == ""


EMAIL = {"name": "a", "type": "email", "email": "A.b@example.com"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"email": "a.B@Example.com"}, "S"), ({"email": "ab@example.com"}, "V"), ({}, ""), ([], "")],
)
def test_an_address_comes_back_in_the_settings(settings: Any, expected: str) -> None:
    evidence = created(N, EMAIL, {"name": "a", "type": "email", "settings": settings})
    assert said("forms.email-comes-back", evidence, N) == expected
    assert said("forms.type-comes-back", evidence, N) == "S"
    assert said("forms.type-comes-back", created(N, EMAIL, {"name": "a", "type": "slack"}), N) == "V"
    fax = created(N, EMAIL | {"type": "fax"}, {"name": "a", "type": "webhook"})
    assert said("forms.type-comes-back", fax, N) == ""


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"token": "1:ab", "chat": "-5"}, "S"), ({"x": ["1:ab -5"]}, "S"), ({"token": "1:ab"}, "V"), ([], "")],
)
def test_the_fields_of_a_type_show_in_its_settings(settings: Any, expected: str) -> None:
    form = {"name": "a", "type": "telegram", "telegram": "1:ab", "telegram_chat_id": "-5", "slack": "x"}
    accented = {"type": "slack", "slack": "https://hooks.example.com/é"}
    held = {"type": "slack", "settings": {"url": "https://hooks.example.com/é"}}
    assert said("forms.type-fields-show-in-settings", created(N, accented, held), N) == "S"
    shorter = {"type": "slack", "settings": {"url": "ttps://hooks.example.com/"}}
    assert said("forms.type-fields-show-in-settings", created(N, accented, shorter), N) == "V"
    evidence = created(N, form, {"name": "a", "type": "telegram", "settings": settings})
    assert said("forms.type-fields-show-in-settings", evidence, N) == expected
    assert said("forms.type-fields-show-in-settings", created(N, EMAIL, {"type": "email"}), N) == ""


def test_a_not_found_url_is_not_the_index_url() -> None:
    rule, url = "forms.custom-not-found-url-stays-apart", "https://www.example.com/404"
    assert said(rule, updated(D, {"custom_not_found_url": url}, {"custom_index_url": ""})) == "S"
    assert said(rule, updated(D, {"custom_not_found_url": url}, {"custom_index_url": url})) == "V"
    both = {"custom_not_found_url": url, "custom_index_url": "https://www.example.com/"}
    assert said(rule, updated(D, both, {"custom_index_url": url})) == ""
    assert said(rule, created(D, both, {"custom_index_url": both["custom_index_url"]})) == "S"
    assert said(rule, created(D, both, {"custom_index_url": url})) == "V"
    assert said(rule, created(D, {"host": "a"}, {})) == ""
    by_any_update = updated(D, {"custom_not_found_url": url}, {"custom_index_url": ""}, {"custom_index_url": url})
    by_any_update.changes += updated(D, {"host": "a"}, {"custom_index_url": ""}, {"custom_index_url": url}).changes
    assert said(rule, by_any_update) == "N"


@pytest.mark.parametrize(
    ("before", "now", "one", "zero"),
    [
        (False, True, "S", "V"),
        (True, False, "V", "S"),
        (True, True, "", "V"),
        (False, 1, "U", "U"),
        (False, False, "V", ""),
    ],
)
def test_one_enables_and_zero_disables(before: bool, now: Any, one: str, zero: str) -> None:  # noqa: FBT001 - a column
    for text, rule, expected in (("1", "forms.one-enables", one), ("0", "forms.zero-disables", zero)):
        evidence = updated(N, {"is_enabled": text}, {"is_enabled": now}, {"is_enabled": before})
        assert said(rule, evidence, N) == expected
    refused = answer("update", status=400, resource=N, identifier=7)
    assert said("forms.one-enables", updated(N, {"is_enabled": "1"}, {}, {}, refused), N) == "V"


@pytest.mark.parametrize(
    ("form", "now", "expected"),
    [
        ({"name": "b"}, True, "S"),
        ({"name": "b"}, False, "V"),
        ({"type": "slack"}, False, "V"),
        ({"type": "telegram"}, False, ""),
        ({"email": "a@b"}, False, ""),
        ({"is_enabled": "0"}, False, ""),
    ],
)
def test_an_update_without_is_enabled_leaves_it(form: dict[str, str], now: bool, expected: str) -> None:  # noqa: FBT001
    evidence = updated(N, form, {"is_enabled": now})
    assert said("forms.is-enabled-is-optional-on-update", evidence, N) == expected


def test_an_update_without_is_enabled_is_accepted() -> None:
    rule, form = "forms.is-enabled-is-optional-on-update", {"name": "b"}
    refused = answer("update", status=400, resource=N, identifier=7)
    odd = answer("update", status=400, resource=N, identifier=7, expects=OPEN)
    assert said(rule, updated(N, form, None, {}, refused), N) == "V"
    assert said(rule, updated(N, form, None, {}, odd), N) == ""


def starts(*pairs: tuple[str, Any]) -> Evidence:
    """Creates of webhooks with these values of `is_enabled`, and what was shown then; None where it was refused."""
    creations = []
    for number, (sent, shown) in enumerate(pairs, 1):
        form = {"name": "a", "type": "webhook"} | ({"is_enabled": sent} if sent else {})
        exchange = made(number, form, N) if shown is not None else answer("create", status=400, resource=N, form=form)
        seen = None if shown is None else read(record(N, number, type="webhook", is_enabled=shown), N)
        creations.append(Creation(exchange, form, frozenset(), exchange.made_id, seen))
    return visit(creations={N.name: creations})


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("", True), ("0", True), ("1", True)], "SS"),
        ([("", True), ("0", False)], "V"),
        ([("", True), ("1", None)], "S"),
        ([("0", False)], "U"),
        ([("", "yes"), ("0", False)], "U"),
    ],
)
def test_is_enabled_has_no_influence_on_a_create(pairs: list[tuple[str, Any]], expected: str) -> None:
    assert said("forms.is-enabled-is-not-accepted-on-create", starts(*pairs), N) == expected


def test_a_form_that_another_client_writes_is_understood() -> None:
    rule, form, usual = (
        "forms.client-shapes-are-understood",
        {"name": "ct1x-1z"},
        updated(S, {"name": "a"}, {"name": "a"}),
    )

    def shaped(name: str, shape: Any = STYLE, status: int = 200) -> str:
        exchange = answer("update", {"data": {"id": 7}}, S, form=form, identifier=7, status=status, shape=shape)
        usual.shaped = [Change(exchange, form, record(S, 7), read(record(S, 7, name=name), S))]
        return said(rule, usual, S)

    assert shaped("ct1x-1z") == "S"
    assert shaped("other") == "V"
    assert shaped("ct1x-1z", status=400) == "V"
    assert shaped("ct1x-1z", status=403) == "U"
    assert shaped("ct1x-1z", NOTHING_CHOSEN, 400) == ""
    usual.changes.clear()
    assert shaped("ct1x-1z") == "U"


def test_a_create_that_another_client_writes_is_judged_where_its_fields_suffice() -> None:
    def said_of(*creates: Exchange) -> str:
        evidence = created(S, {"name": "a", "title": "b"}, {"name": "a"})
        evidence.exchanges += creates
        exchange = answer("create", status=400, resource=S, form={"name": "ct1x-1z"}, shape=STYLE)
        evidence.shaped = [Change(exchange, {"name": "ct1x-1z"}, {}, read(record(S, 7), S))]
        return said("forms.client-shapes-are-understood", evidence, S)

    refused = answer("create", status=400, resource=S, form={"name": "a"})
    assert (said_of(), said_of(refused), said_of(refused, made(8, {"name": "a"}, S))) == ("V", "U", "V")


@pytest.mark.parametrize(
    ("rule", "shape"),
    [
        ("forms.any-boundary-is-understood", UNUSUAL[0]),
        ("forms.empty-file-inputs-are-accepted", NOTHING_CHOSEN),
        ("forms.chunked-forms-are-understood", STREAMED),
    ],
)
def test_a_form_as_hardly_anybody_needs_it_has_a_rule_of_its_own(rule: str, shape: FormStyle) -> None:
    form = {"name": "ct1x-1z"}
    for status, expected, usual in ((200, "S", "S"), (400, "V", ""), (403, "U", "U")):
        evidence = updated(S, {"name": "a"}, {"name": "a"})
        exchange = answer("update", {"data": {"id": 7}}, S, form=form, identifier=7, status=status, shape=shape)
        evidence.shaped = [Change(exchange, form, record(S, 7), read(record(S, 7, **form), S))]
        assert said(rule, evidence, S) == expected
        assert said("forms.client-shapes-are-understood", evidence, S) == (usual if shape == NOTHING_CHOSEN else "")


def test_a_form_in_chunks_may_be_refused_as_one_without_a_length_but_fails_only_once() -> None:
    rule, form, failed = "forms.chunked-forms-are-understood", {"name": "ct1x-1z"}, (500, 500)
    for status, attempts, expected in ((411, (), "S"), (501, failed, "S"), (500, (), "U"), (500, failed, "V")):
        evidence = updated(S, {"name": "a"}, {"name": "a"})
        refused = answer("update", {}, S, form=form, identifier=7, status=status, shape=STREAMED)
        evidence.shaped = [Change(replace(refused, attempts=attempts), form, record(S, 7), read(record(S, 7), S))]
        assert said(rule, evidence, S) == expected


def test_a_create_that_another_client_writes_is_understood() -> None:
    rule, form = "forms.client-shapes-are-understood", {"name": "ct1x-1z"}
    for status, name, expected in ((201, "ct1x-1z", "S"), (201, "other", "V"), (415, "", "V")):
        evidence = created(S, {"name": "a"}, {"name": "a"})
        exchange = answer("create", {"data": {"id": 8}}, S, form=form, status=status, shape=STYLE)
        evidence.shaped = [Creation(exchange, form, frozenset(), 8, read(record(S, 8, name=name), S))]
        assert said(rule, evidence, S) == expected
        evidence.creations.clear()
        assert said(rule, evidence, S) == "U"


TAKEN, TOO_LARGE = made(8, {"name": "a", "title": "b"}, S), answer("create", {}, S, form=LOGO, status=413)
SPLITS = {
    "each field alone": (FieldIsolation((TAKEN, TAKEN), TOO_LARGE, TAKEN), "V"),
    "all of them now": (FieldIsolation((TAKEN, TAKEN), TAKEN, TAKEN), ""),
    "one field not even alone": (FieldIsolation((TAKEN, TOO_LARGE), TOO_LARGE, TAKEN), ""),
    "nothing any longer": (FieldIsolation((TAKEN, TAKEN), TOO_LARGE, TOO_LARGE), ""),
    "too many requests": (FieldIsolation((TAKEN, TAKEN), answer("create", {}, S, form=LOGO, status=429), TAKEN), ""),
}


@pytest.mark.parametrize(("split", "expected"), SPLITS.values(), ids=SPLITS)
def test_a_limit_that_is_none(split: FieldIsolation, expected: str) -> None:
    evidence = visit(isolations={S.name: [split]})
    rule = "forms.optional-fields-are-accepted-on-create"
    assert said(rule, evidence, S) == expected
    observations = observe(CONTRACT.rules[rule], replace(evidence, resource=S))
    assert not any(isinstance(each, Violation) and each.is_repeatable for each in observations)  # by one request alone
    assert said("forms.optional-fields-are-accepted-on-update", evidence, S) == ""


@pytest.mark.parametrize(
    ("now", "expected"),
    [({"token": "1:a", "chat": "3"}, "S"), ({"chat": "3"}, "V"), ({"token": "", "chat": "3"}, "V")],
)
def test_an_update_of_one_setting_leaves_the_other(now: dict[str, str], expected: str) -> None:
    before = {"type": "telegram", "settings": {"token": "1:a", "chat": "2"}}
    evidence = updated(N, {"telegram_chat_id": "3"}, {"type": "telegram", "settings": now}, before)
    form = {"type": "telegram", "telegram": "1:a", "telegram_chat_id": "2"}
    evidence.creations = [Creation(made(7, dict(form), N), form, frozenset(), 7)]
    assert said("lifecycle.update-leaves-other-fields", evidence, N).endswith(expected)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("https://a.example.com/größe", "S"),
        ("https://a.example.com/gr%C3%B6%C3%9Fe", "S"),
        ("https://a.example.com/grÃ¶Ã\x9fe", "V"),
    ],
)
def test_a_url_with_letters_beyond_ascii_comes_back(shown: str, expected: str) -> None:
    form = {"type": "webhook", "webhook": "https://a.example.com/größe"}
    evidence = updated(N, form, {"type": "webhook", "settings": {"url": shown}})
    assert said("forms.type-fields-show-in-settings", evidence, N) == expected


# ---- lifecycles


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (read(record(D, 7)), "S"),
        (read(record(D, 8), identifier=7), "V"),
        (answer("read", status=404, identifier=7), "V"),
        (answer("read", status=410, identifier=7), "V"),
        (answer("read", status=403, identifier=7), "U"),
        (answer("read", {"data": None}, identifier=7), "V"),
        (answer("read", raw=b"<p>a.example.com</p>", identifier=7), ""),
    ],
)
def test_a_created_record_is_read(seen: Exchange, expected: str) -> None:
    assert said("lifecycle.created-record-is-read", created(D, {"host": "a.example.com"}, seen=seen)) == expected


def phase(event: str, before: list[dict[str, Any]], after: list[dict[str, Any]], **more: Any) -> ChangePeriod:
    ids = {name: frozenset(each) for name, each in more.items() if name != "complete"}
    return ChangePeriod(event, listing(page(before)), listing(page(after), complete=more.get("complete", True)), **ids)


def around(event: str, before: list[dict[str, Any]], after: list[dict[str, Any]], **more: Any) -> Evidence:
    """A visit with a listing before, and one after, some writes."""
    return visit(change_periods={D.name: [phase(event, before, after, **more)]}, created_ids={D.name: {7}})


@pytest.mark.parametrize(
    ("after", "complete", "expected"),
    [(rows(D, 1, 7), True, "S"), (rows(D, 1), True, "V"), (rows(D, 7, 7), True, "V"), (rows(D, 1), False, "U")],
)
def test_a_created_record_is_listed_once(after: list[dict[str, Any]], complete: bool, expected: str) -> None:  # noqa: FBT001
    evidence = around("create", rows(D, 1), after, created={7}, complete=complete)
    assert said("lifecycle.created-record-is-listed-once", evidence) == expected


def test_a_created_id_is_new() -> None:
    assert said("lifecycle.created-id-is-new", created(D, {}, before=frozenset({6}))) == "S"
    assert said("lifecycle.created-id-is-new", created(D, {}, before=frozenset({6, 7}))) == "V"
    assert said("lifecycle.created-id-is-new", created(D, {}, exchange=answer("create", status=400))) == ""


OWN, OTHERS = record(D, 7), record(D, 1)


@pytest.mark.parametrize(
    ("after", "more", "expected"),
    [
        ([OTHERS, OWN], {"changed": {9}}, "SS"),
        ([OTHERS, OWN], {}, ""),
        ([record(D, 1, host="x"), OWN], {"changed": {9}}, "US"),
        ([OTHERS, record(D, 7, host="x")], {"changed": {9}}, "SV"),
        ([OTHERS, record(D, 7, host="x")], {"changed": {7}}, "S"),
        ([record(D, 1, is_enabled=True), OWN], {"changed": {9}}, "SS"),
        ([OWN], {"changed": {9}}, "US"),
        ([OTHERS], {"changed": {9}}, "VS"),
        ([OTHERS], {"removed": {7}}, "S"),
        ([OWN], {"changed": {9}, "complete": False}, "S"),
    ],
    ids=[str(number) for number in range(10)],
)
@pytest.mark.parametrize("event", ["create", "update", "delete"])
def test_a_write_leaves_other_records(
    event: str, after: list[dict[str, Any]], more: dict[str, Any], expected: str
) -> None:
    evidence = around(event, [OTHERS, OWN], after, **more)
    further = "S" if event == "update" else ""  # no record is added either
    if event == "create" and not more:
        expected = "SS"  # a create that answers the id of an earlier record leaves even that as it was
    assert said(f"lifecycle.{event}-leaves-other-records", evidence) == expected + further
    others = [each for each in ("create", "delete") if each != event]
    assert [said(f"lifecycle.{each}-leaves-other-records", evidence) for each in others] == [""] * len(others)


@pytest.mark.parametrize(("host", "expected"), [("x", "US"), ("ct1x-1z.example.com", "VS")])
def test_a_change_of_others_is_held_against_a_write_if_it_shows_what_the_run_has_written(
    host: str, expected: str
) -> None:
    evidence = around("create", [OTHERS, OWN], [record(D, 1, host=host), OWN], created={9})
    evidence.markers = {"ct1x-1z"}
    assert said("lifecycle.create-leaves-other-records", evidence) == expected


def test_an_update_adds_no_record_of_the_run() -> None:
    rule = "lifecycle.update-leaves-other-records"
    evidence = around("update", [OTHERS], [OTHERS, record(D, 9, host="ct1x-1z.example.com")], changed={8})
    assert said(rule, evidence) == "SS"
    evidence.markers = {"ct1x-1z"}
    assert said(rule, evidence) == "SV"
    evidence.exchanges = [answer("create", status=502, form={"host": "ct1x-1z.example.com"})]
    assert said(rule, evidence) == "SS"


@pytest.mark.parametrize(
    ("form", "before", "now", "changes", "leaves"),
    [
        ({"host": "b"}, {"host": "a"}, {"host": "b"}, "S", "S"),
        ({"host": "b"}, {"host": "a"}, {"host": "a"}, "V", "S"),
        ({"host": "B"}, {"host": "b"}, {"host": "b"}, "", "S"),
        ({"host": "b"}, {"host": "a", "scheme": "http://"}, {"host": "b"}, "S", "S"),
        ({"host": "b"}, {"custom_index_url": "x"}, {"host": "b", "custom_index_url": ""}, "S", "V"),
        ({"custom_index_url": "x"}, {}, {"custom_index_url": "x", "host": "z"}, "S", "V"),
        ({"custom_index_url": "x"}, {}, {"custom_index_url": "x", "scheme": "http://"}, "S", "S"),
        ({"custom_index_url": ""}, {"custom_index_url": "x"}, {"custom_index_url": "x"}, "", "S"),
    ],
)
def test_an_update_changes_what_it_names_and_leaves_the_rest(
    form: dict[str, str], before: dict[str, Any], now: dict[str, Any], changes: str, leaves: str
) -> None:
    evidence = updated(D, form, now, before)
    assert said("lifecycle.update-changes-what-it-names", evidence) == changes
    others = said("lifecycle.update-leaves-other-fields", evidence)  # a letter for each other field
    assert others.count("V") == (leaves == "V")
    assert {*others} <= {"S", "V"}


@pytest.mark.parametrize(
    ("form", "settings", "expected"),
    [
        ({"email": "b@c"}, {"email": "b@c"}, "S"),
        ({"email": "b@c"}, {"email": "a@b"}, "V"),
        ({"email": "b@c"}, {}, ""),
        ({"is_enabled": "0"}, {"email": "a@b"}, ""),
    ],
)
def test_an_update_of_an_address_changes_the_settings(
    form: dict[str, str], settings: dict[str, str], expected: str
) -> None:
    email = {"type": "email", "settings": {"email": "a@b"}}
    evidence = updated(N, form, email | {"settings": settings}, email)
    assert said("lifecycle.update-changes-what-it-names", evidence, N) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [({"name": "b"}, "VS"), ({"is_enabled": "0"}, "SVS"), ({"type": "slack"}, "S"), ({"slack": "x"}, "SS")],
)
def test_settings_may_change_with_any_field_but_name_and_state(form: dict[str, str], expected: str) -> None:
    evidence = updated(N, form, {"settings": {"url": "https://b"}})
    assert said("lifecycle.update-leaves-other-fields", evidence, N) == expected


def test_an_update_keeps_the_time_of_the_create() -> None:
    rule = "lifecycle.update-keeps-datetime"
    assert said(rule, updated(D, {}, {})) == "S"
    assert said(rule, updated(D, {}, {"datetime": UPDATED})) == "V"
    assert said(rule, updated(D, {}, None)) == ""


def removed(**more: Any) -> Evidence:
    exchange = more.pop("exchange", None) or deleted(7)
    removal = Removal(exchange, **more)
    return visit(exchange, removals={D.name: [removal]}, markers={"ct1x-1z"})


GONE, THERE = answer("read", status=404, identifier=7), read(record(D, 7, host="ct1x-1z.example.com"))
LISTED = listing(page([record(D, 7, host="ct1x-1z.example.com")]))
RENAMED = listing(page([record(D, 7, host="somebody-elses.example.com")]))
NOT_LISTED = listing(page(rows(D, 1)))
REFUSED = answer("delete", status=403, identifier=7)


@pytest.mark.parametrize(
    ("rule", "evidence", "expected"),
    [
        ("read", removed(read=GONE), "S"),
        ("read", removed(read=THERE), "V"),
        ("read", removed(read=read({"id": 7, "host": ""}, identifier=7)), "S"),
        ("read", removed(read=read({"id": 7, "scheme": "https://"}, identifier=7)), "V"),
        ("read", removed(read=read({"id": 8, "scheme": "https://"}, identifier=7)), "S"),
        ("read", removed(read=answer("read", {"data": {"id": 7}}, identifier=7)), "S"),
        ("read", removed(read=THERE, exchange=REFUSED), ""),
        ("listed", removed(after=NOT_LISTED), "S"),
        ("listed", removed(after=LISTED), "V"),
        ("listed", removed(after=RENAMED), "S"),
        ("listed", removed(after=LISTED, exchange=REFUSED), ""),
    ],
)
def test_a_deleted_record_is_gone(rule: str, evidence: Evidence, expected: str) -> None:
    assert said(f"lifecycle.deleted-record-is-not-{rule}", evidence) == expected


def test_an_update_of_a_deleted_record_does_not_bring_it_back() -> None:
    rule = "lifecycle.deleted-record-stays-deleted"
    assert said(rule, removed(late_read=GONE, late_list=NOT_LISTED)) == "SS"
    assert said(rule, removed(late_read=THERE, late_list=LISTED)) == "VV"
    assert said(rule, removed(late_list=LISTED)) == ""


def test_an_update_of_a_deleted_record_is_refused_where_its_read_is() -> None:
    rule, refused = "lifecycle.update-of-a-deleted-record-is-refused", answer("update", status=404, identifier=7)
    in_disguise = answer("update", {"errors": ["gone"]}, identifier=7)
    nothing_read = answer("read", {"data": None}, identifier=7)
    assert said(rule, removed(late_update=refused, late_read=GONE)) == "S"
    assert said(rule, removed(late_update=in_disguise, late_read=GONE)) == "S"
    assert said(rule, removed(late_update=written(7, {}), late_read=GONE)) == "V"
    assert said(rule, removed(late_update=written(7, {}), late_read=nothing_read)) == "N"
    assert said(rule, removed(late_update=answer("update", status=500, identifier=7), late_read=GONE)) == ""
    assert said(rule, removed()) == ""


def looked(*looks: list[dict[str, Any]], rested: list[dict[str, Any]]) -> RepeatedListing:
    by_id = [{row["id"]: row for row in look} for look in looks]
    return RepeatedListing(tuple(by_id), {row["id"]: row for row in rested}, page([]))


def test_reads_change_nothing() -> None:
    rule, one, two, three = (
        "lifecycle.reads-change-nothing",
        rows(D, 1),
        [record(D, 1, host="b")],
        [record(D, 1, host="c")],
    )

    def seen(watch: RepeatedListing) -> str:
        return said(rule, visit(repeated_listings={D.name: [watch]}))

    assert seen(looked(one, two, three, rested=three)) == "V"
    assert seen(looked(one, two, three, rested=one)) == "V"
    assert seen(looked(one, two, two, rested=two)) == ""
    assert seen(looked(one, two, three, rested=[*three, *rows(D, 2)])) == "V"
    assert seen(looked([*one, *rows(D, 2)], [*two, *rows(D, 2)], [*three, *rows(D, 2)], rested=[])) == ""
    scan = PagingScan(listing(page(one)), (), listing(page(one)))
    assert said(rule, visit(paging_scans={D.name: [scan]})) == "S"
    touched = [record(D, 1, last_datetime=UPDATED)]
    scan = PagingScan(listing(page(one)), (), listing(page(touched)))
    assert said(rule, visit(paging_scans={D.name: [scan]})) == "V"
    scan = PagingScan(listing(page(one)), (), listing(page(two)))
    assert said(rule, visit(paging_scans={D.name: [scan]})) == "U"
    assert said(rule, visit(paging_scans={D.name: [scan]}, created_ids={D.name: {1}})) == "V"


# ---- present values, refused updates, what only the server sets


def updates(*steps: tuple[Exchange, dict[str, Any], dict[str, Any]]) -> Evidence:
    """A visit with some updates of record 7, each with what a read shows before and after it."""
    changes = [
        Change(exchange, dict(exchange.request.form or {}), record(D, 7, **before), read(record(D, 7, **now)))  # type: ignore[arg-type]
        for exchange, before, now in steps
    ]
    return visit(*(exchange for exchange, _, _ in steps), changes={D.name: changes})


def refused(form: dict[str, FormValue], status: int = 422) -> Exchange:
    return answer("update", status=status, form=form, identifier=7)


A, B = {"host": "a"}, {"host": "b"}
OFF, ON = {"is_enabled": False}, {"is_enabled": True}
CALLED_B = (written(7, {"host": "b"}), A, B)


@pytest.mark.parametrize(
    ("rule", "evidence", "expected"),
    [
        ("update-takes-present-values", updates((written(7, {"host": "a"}), A, A)), "S"),
        ("update-takes-present-values", updates((refused({"host": "a"}), A, A), CALLED_B), "V"),
        ("update-takes-present-values", updates((refused({"host": "a"}, 409), A, A), CALLED_B), "V"),
        ("update-takes-present-values", updates((refused({"host": "a"}), A, A), (refused({"host": "b"}), A, A)), "U"),
        ("update-takes-present-values", updates((refused({"host": "a"}), A, A)), "U"),
        ("update-takes-present-values", updates(CALLED_B), "N"),
        ("refused-update-changes-nothing", updates((refused({"host": "b"}), A, A)), "S"),
        ("refused-update-changes-nothing", updates((refused({"host": "b"}), A, B)), "V"),
        ("refused-update-changes-nothing", updates((refused({"host": "b"}), A, {"host": "c"})), "S"),
        ("refused-update-changes-nothing", updates((refused({"is_enabled": "1"}), OFF, ON)), "V"),
        ("refused-update-changes-nothing", updates((refused({"is_enabled": "1"}), OFF, OFF)), "S"),
        ("refused-update-changes-nothing", updates(CALLED_B), "N"),
        ("update-leaves-what-only-the-server-sets", updates((written(7, {"custom_index_url": "x"}), {}, {})), "S"),
        (
            "update-leaves-what-only-the-server-sets",
            updates((written(7, {"custom_index_url": "x"}), {}, {"scheme": "http://"})),
            "V",
        ),
        ("update-leaves-what-only-the-server-sets", updates((*CALLED_B[:2], B | {"scheme": "http://"})), ""),
    ],
)
def test_an_update_is_judged_by_what_it_may_not_do(rule: str, evidence: Evidence, expected: str) -> None:
    assert said(f"lifecycle.{rule}", evidence) == expected


def test_ids_are_not_used_again() -> None:
    rule, first, second, again, third = (
        "lifecycle.ids-are-not-used-again",
        made(7, {}),
        made(8, {}),
        made(8, {}),
        made(9, {}),
    )
    assert said(rule, visit(first, second, deleted(8), again)) == "V"
    assert said(rule, visit(first, second, deleted(8), third)) == "S"
    assert said(rule, visit(first, second, deleted(7), third)) == "N"
    assert said(rule, visit(first, second, third)) == "N"


@pytest.mark.parametrize(
    ("form", "settings", "expected"),
    [
        ({"type": "email"}, {"email": ""}, "SS"),
        ({"type": "email"}, {"email": "first@example.com"}, "SV"),
        ({"type": "email", "email": "first@example.com"}, {"email": "first@example.com"}, "SS"),
    ],
)
def test_a_new_handler_shows_nothing_that_only_others_were_given(
    form: dict[str, str], settings: dict[str, str], expected: str
) -> None:
    first_form = {"type": "email", "email": "first@example.com"}
    evidence = created(N, first_form, {"settings": {"email": "first@example.com"}})
    read_later = read(record(N, 8, settings=settings), N, identifier=8)
    evidence.creations = [*evidence.creations, Creation(made(8, form, N), form, frozenset(), 8, read_later)]
    assert said("lifecycle.created-record-shows-no-other", evidence, N) == expected


def test_a_refused_create_makes_nothing() -> None:
    rule, form = "lifecycle.refused-create-makes-nothing", {"host": "ct1x-1z.example.com"}
    there_before = page([record(D, 7, host="ct1x-1z.example.com")])
    refused, taken = answer("create", status=422, form=form), answer("create", status=409, form=form)
    there = page([record(D, 7, host="ct1x-1z.example.com")])
    retried = answer("create", status=422, form=form, attempts=(502,))
    assert said(rule, visit(refused, page(rows(D, 1)))) == "S"
    assert said(rule, visit(refused, there)) == "V"
    assert said(rule, visit(there_before, refused)) == ""
    assert said(rule, visit(taken, there)) == said(rule, visit(retried, there)) == "N"
    assert said(rule, visit(made(7, form), refused, there)) == "N"


ORDINARY = Expect.ORDINARY


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (answer("create", status=201, form={"host": "a"}, expects=ORDINARY), "S"),
        (answer("create", status=422, form={"host": "a"}, expects=ORDINARY), "S"),
        (answer("create", status=500, form={"host": "a"}, expects=ORDINARY, attempts=(500, 500)), "V"),
        (answer("create", status=500, form={"host": "a"}, expects=ORDINARY), "U"),
        (answer("update", status=500, form={"host": "a"}, identifier=7, expects=ORDINARY, attempts=(500, 500)), "U"),
        (answer("create", status=500, form={"host": "a"}, expects=OPEN, attempts=(500, 500)), ""),
    ],
)
def test_ordinary_input_may_be_refused_and_makes_nothing_fail(exchange: Exchange, expected: str) -> None:
    assert said("forms.ordinary-input-does-not-fail", visit(made(7, {}), exchange)) == expected


@pytest.mark.parametrize(
    ("form", "before", "now", "expected"),
    [
        ({"custom_index_url": ""}, {"custom_index_url": "x"}, {"custom_index_url": ""}, "S"),
        ({"custom_index_url": ""}, {"custom_index_url": "x"}, {"custom_index_url": None}, "S"),
        ({"custom_index_url": ""}, {"custom_index_url": "x"}, {"custom_index_url": "x"}, "V"),
        ({"custom_index_url": ""}, {"custom_index_url": "x"}, None, "N"),
        ({"host": ""}, {}, {}, "N"),
    ],
)
def test_an_empty_text_that_is_accepted_is_stored(
    form: dict[str, str], before: dict[str, Any], now: dict[str, Any] | None, expected: str
) -> None:
    assert said("forms.empty-text-is-stored", updated(D, form, now, before)) == expected


@pytest.mark.parametrize(
    ("create", "update", "expected"),
    [
        (made(7, {"name": "a" * 9}, S), written(7, {"name": "b" * 9}, S), "S"),
        (made(7, {"name": "a" * 9}, S), answer("update", status=413, form={"name": "b" * 9}, resource=S), "V"),
        (answer("create", status=422, form={"name": "a" * 9}, resource=S), written(7, {"name": "b" * 9}, S), "V"),
        (made(7, {"name": "a" * 9}, S), answer("update", status=409, form={"name": "b" * 9}, resource=S), "S"),
        (made(7, {"name": "a" * 9}, S), answer("update", status=500, form={"name": "b" * 9}, resource=S), "N"),
        (made(7, {"name": "a" * 9}, S), written(7, {"name": "b" * 8}, S), "N"),
        (made(7, {"name": "a", **LOGO}, S), written(7, {"name": "b"}, S), "N"),
    ],
)
def test_creates_and_updates_take_the_same(create: Exchange, update: Exchange, expected: str) -> None:
    ordinary = [replace(each, request=replace(each.request, expects=ORDINARY)) for each in (create, update)]
    assert said("forms.update-takes-what-create-takes", visit(*ordinary), S) == expected


# ---- the same ids in another resource or account

BEFORE = read(record(N, 7), N)
SAME_LIST, THEIRS = (D.name, OWN_KEY), (N.name, OTHER)


def bystander(
    write: Exchange,
    after: Exchange,
    collection: tuple[str, str] = (N.name, OWN_KEY),
    *,
    own: bool = True,
    hit: bool = False,
) -> Evidence:
    return visit(write, bystander_checks=[BystanderCheck(write, after, collection, is_own=own, is_hit=hit)])


@pytest.mark.parametrize(
    ("rule", "evidence", "expected"),
    [
        ("update-leaves-same-ids", bystander(written(7, {"host": "a"}), BEFORE), "S"),
        ("update-leaves-same-ids", bystander(written(7, {"host": "a"}), BEFORE, hit=True), "V"),
        (
            "update-leaves-same-ids",
            bystander(written(7, {"host": "a"}), BEFORE, THEIRS, own=False, hit=True),
            "V",
        ),
        ("update-leaves-same-ids", bystander(deleted(7), GONE, hit=True), "N"),
        ("delete-leaves-same-ids", bystander(deleted(7), BEFORE), "S"),
        ("delete-leaves-same-ids", bystander(deleted(7), GONE, hit=True), "V"),
        ("delete-leaves-same-ids", visit(), "N"),
        ("delete-leaves-same-ids", bystander(deleted(7), GONE, SAME_LIST, hit=True), "N"),
        ("delete-leaves-other-records", bystander(deleted(7), GONE, SAME_LIST, hit=True), "V"),
        ("delete-leaves-other-records", bystander(deleted(7), BEFORE, SAME_LIST), "S"),
        ("update-leaves-other-records", bystander(written(7, {"host": "a"}), BEFORE, SAME_LIST, hit=True), "V"),
    ],
)
def test_a_write_leaves_what_has_its_id_elsewhere_and_what_is_next_to_it(
    rule: str, evidence: Evidence, expected: str
) -> None:
    assert said(f"lifecycle.{rule}", evidence) == expected


@pytest.mark.parametrize(("is_hit", "expected"), [(False, "S"), (True, "V")])
def test_a_read_shows_no_record_of_another_resource(*, is_hit: bool, expected: str) -> None:
    shown = read(record(N, 7, name="ct1x-1z"))
    check = BystanderCheck(shown, shown, (D.name, OWN_KEY), is_own=is_hit, is_hit=is_hit)
    assert said("operations.read-shows-its-resource", visit(bystander_checks=[check])) == expected
    assert (
        said(
            "operations.read-shows-its-resource", visit(bystander_checks=[replace(check, collection=(N.name, OWN_KEY))])
        )
        == "N"
    )


# ---- odd input


def test_text_that_was_stored_can_be_read() -> None:
    rule, shown = "robustness.stored-text-can-be-read", read(record(N, 7), N)
    failed = answer("read", status=500, identifier=7, resource=N)

    def tried(created: Exchange, read_after: Exchange) -> str:
        return said(rule, visit(unreadable_text=UnreadableText(created, read_after, page((), N))), N)

    assert tried(made(7, {}, N), shown) == "SS"
    assert tried(made(7, {}, N), failed) == "VS"
    assert tried(answer("create", status=400, expects=OPEN), failed) == "N"
    assert said(rule, visit(), N) == "N"


TWICE = (500, 500)
ODD = [
    ("odd-pages-do-not-fail", answer("list", status=400, expects=OPEN), "S"),
    ("odd-pages-do-not-fail", answer("list", status=500, expects=OPEN, attempts=TWICE), "V"),
    ("odd-pages-do-not-fail", answer("list", status=500, expects=OPEN, attempts=(500,)), "U"),
    ("odd-pages-do-not-fail", answer("list", status=None, expects=OPEN), ""),
    ("odd-pages-do-not-fail", answer("list", status=None, expects=OPEN, attempts=(None, None)), "V"),
    ("odd-ids-do-not-fail", answer("read", status=500, expects=OPEN, attempts=TWICE, identifier=9), "V"),
    ("odd-ids-do-not-fail", answer("list", status=400, expects=OPEN), ""),
    ("odd-text-does-not-fail", answer("create", status=500, expects=OPEN, attempts=TWICE, form={"host": "<"}), "V"),
    ("odd-text-does-not-fail", answer("create", status=400, expects=OPEN, form={"host": "<"}, shape=STYLE), ""),
    ("odd-forms-do-not-fail", answer("create", status=500, expects=OPEN, attempts=TWICE), "V"),
    ("odd-forms-do-not-fail", answer("create", status=400, expects=OPEN), "S"),
    ("odd-forms-do-not-fail", answer("create", status=400, expects=OPEN, form={"host": "<"}), ""),
    ("odd-forms-do-not-fail", answer("delete", status=400, expects=OPEN, identifier=9), ""),
]  # fmt: skip
WORKING = [page([]), read(record(D, 7)), made(7, {}), written(7, {})]


@pytest.mark.parametrize(
    ("rule", "exchange", "expected"), ODD, ids=[f"{number}-{case[0]}" for number, case in enumerate(ODD)]
)
def test_odd_input_does_not_make_a_working_operation_fail(rule: str, exchange: Exchange, expected: str) -> None:
    assert said(f"robustness.{rule}", visit(*WORKING, exchange)) == expected


def test_an_operation_that_fails_anyway_is_not_judged_by_odd_input() -> None:
    failing = answer("list", status=500, expects=OPEN, attempts=TWICE)
    assert said("robustness.odd-pages-do-not-fail", visit(failing)) == "U"


def test_an_update_of_a_deleted_record_is_one_of_an_odd_id() -> None:
    gone, late = deleted(7), answer("update", status=404, form={"host": "a"}, identifier=7, expects=OPEN)
    evidence = visit(*WORKING, gone, late, removals={D.name: [Removal(gone)]})
    assert said("robustness.odd-ids-do-not-fail", evidence) == "S"
    assert said("robustness.odd-text-does-not-fail", evidence) == ""
    other = answer("update", status=404, form={"host": "a"}, identifier=8, expects=OPEN)
    assert said("robustness.odd-text-does-not-fail", visit(*WORKING, other, removals={D.name: [Removal(gone)]})) == "S"
