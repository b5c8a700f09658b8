"""Rules about whose records are shown to whom, on hand-made exchanges."""

from __future__ import annotations

from typing import Any

import pytest
from handmade import D, N, answer, deleted, listing, made, page, read, record, rows, said, visit, written

from contract_tests.evidence.evidence import AccessAttempt, Creation, Evidence, KeyReads, Simultaneous
from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect
from contract_tests.target.identities import NOBODY, WRONG_KEY

MINE = record(D, 7, host="ct1x-1z.example.com")
THERE = page([record(D, 1), MINE])
OPEN = Expect.OPEN


def tried(
    operation: str,
    exchange: Exchange,
    *,
    identity: str = NOBODY,
    marker: str = "",
    earlier: tuple[Exchange, ...] = (THERE,),
    **seen: Any,
) -> Evidence:
    """A visit in which somebody tries an operation on the run's record 7."""
    attempt = AccessAttempt(identity, exchange, marker, **{"before": MINE, **seen})
    evidence = visit(*earlier, access_attempts={D.name: [attempt]}, created_ids={D.name: {7}}, markers={"ct1x-1z"})
    if identity == OTHER:
        evidence.has_second_key = True
        by_other = answer("read", status=404, identifier=7, identity=OTHER)
        if operation != "read":
            evidence.access_attempts.append(AccessAttempt(OTHER, by_other, "", MINE))
    return evidence


def sent(
    operation: str, body: Any = None, *, status: int | None = 401, identity: str = NOBODY, **more: Any
) -> Exchange:
    identifier = None if operation in ("list", "create") else 7
    return answer(operation, body, status=status, identity=identity, identifier=identifier, expects=OPEN, **more)


def listed(*shown: dict[str, Any]) -> Any:
    return page(shown).json


def test_the_accounts_key_opens_what_is_the_accounts() -> None:
    rule, refused = "accounts.bearer-key-is-accepted", answer("list", status=401)
    assert said(rule, visit(THERE, refused)) == "S"
    assert said(rule, visit(refused, answer("read", status=403, identifier=1))) == "VV"
    assert said(rule, visit(answer("list", status=500))) == ""
    assert said(rule, visit(written(7, {}), refused)) == said(rule, visit(deleted(7), refused)) == "S"


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (sent("list"), "S"),
        (sent("list", status=None), "S"),
        (sent("list", listed(), status=200), "S"),
        (sent("list", listed(record(D, 9)), status=200), "S"),
        (sent("list", listed(record(D, 1)), status=200), "V"),
        (sent("list", listed(MINE), status=200), "V"),
        (sent("list", {"record": {"host": "CT1x-1z.example.com"}}, status=403), "V"),
        (sent("list", {"record": {"host": "ct1x-1zebra"}}, status=403), "V"),
        (sent("list", {"title": "not ct1x-1z"}, status=403), "S"),
    ],
)
def test_a_list_shows_unauthorized_clients_no_record(exchange: Exchange, expected: str) -> None:
    assert said("accounts.strangers-see-no-list", tried("list", exchange)) == expected
    assert said("accounts.other-account-sees-no-list", tried("list", exchange)) == "N"


@pytest.mark.parametrize("other", [{"id": 2}, {"datetime": "2026-03-02 10:00:00"}, {"host": "x.example.com"}], ids=str)
def test_a_record_that_only_resembles_one_of_the_accounts_may_be_shown(other: dict[str, Any]) -> None:
    alike = sent("list", listed(record(D, 1) | other), status=200)
    assert said("accounts.strangers-see-no-list", tried("list", alike)) == "S"


def test_several_attempts_are_judged_each_on_its_own() -> None:
    shown, empty, silent = sent("list", listed(MINE), status=200), sent("list"), sent("list", status=None)
    evidence = tried("list", empty)
    evidence.access_attempts += [AccessAttempt(WRONG_KEY, shown, ""), AccessAttempt(WRONG_KEY, silent, "")]
    assert said("accounts.strangers-see-no-list", evidence) == "SVS"
    unseen = tried("list", silent, earlier=())
    unseen.access_attempts.append(AccessAttempt(WRONG_KEY, sent("list", {"x": "ct1x-1z"}, status=403), ""))
    assert said("accounts.strangers-see-no-list", unseen) == "UV"
    created = tried("create", sent("create"), marker="ct9-4z")
    created.access_attempts.append(AccessAttempt(WRONG_KEY, sent("create"), "ct9-5z", after=GONE))
    assert said("accounts.strangers-create-nothing", created) == "US"
    updated = tried("update", sent("update"), marker="ct9-4z")
    renamed = read(MINE | {"host": "ct9-5z.example.com"})
    updated.access_attempts.append(AccessAttempt(WRONG_KEY, sent("update"), "ct9-5z.example.com", MINE, renamed))
    assert said("accounts.strangers-update-nothing", updated) == "UV"


def test_a_change_with_a_known_name_is_held_against_its_author_alone() -> None:
    now = MINE | {"host": "ct9-5z.example.com", "custom_index_url": "https://b"}
    evidence = tried("update", sent("update"), marker="ct9-4z.example.com", read=read(now))
    seen = evidence.access_attempts[0].read
    evidence.access_attempts.append(AccessAttempt(WRONG_KEY, sent("update"), "ct9-5z.example.com", MINE, seen))
    assert said("accounts.strangers-update-nothing", evidence) == "SV"


def test_what_unauthorized_clients_sent_may_be_repeated_to_them() -> None:
    evidence = tried("list", sent("list", {"you": "ct9-4z.example.com"}, status=403), marker="ct9-4z.example.com")
    evidence.markers |= {"ct9-4z"}
    assert said("accounts.strangers-see-no-list", evidence) == "S"


def test_where_nothing_answers_nobody_is_shown_anything() -> None:
    assert said("accounts.strangers-see-no-list", tried("list", sent("list", status=None), earlier=())) == "U"


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (sent("read"), "S"),
        (sent("read", {"data": MINE}, status=200), "V"),
        (sent("read", {"data": {"id": 7}}, status=200), "S"),
        (sent("read", {"data": MINE}, status=403), "V"),
    ],
)
def test_a_read_shows_unauthorized_clients_nothing(exchange: Exchange, expected: str) -> None:
    assert said("accounts.strangers-read-no-record", tried("read", exchange)) == expected


def test_who_sends_the_accounts_own_key_in_another_way_is_no_stranger() -> None:
    for status, expected in ((401, "S"), (200, "V")):
        exchange = sent("read", {"data": MINE}, status=status, identity="the key in the query")
        exchange = exchange if status == 200 else sent("read", identity="the key in the query")
        evidence = tried("read", exchange, identity="the key in the query")
        assert said("accounts.key-opens-nothing-elsewhere", evidence) == expected
        assert said("accounts.strangers-read-no-record", evidence) == ""


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (sent("read", identity=OTHER), "S"),
        (sent("read", {"data": MINE}, status=200, identity=OTHER), "V"),
        (sent("read", {"data": record(D, 7, host="other.example.com")}, status=200, identity=OTHER), "S"),
        (sent("read", {"detail": "ct1x-1z.example.com"}, identity=OTHER), "V"),
    ],
)
def test_another_account_may_have_a_record_of_the_same_id(exchange: Exchange, expected: str) -> None:
    assert said("accounts.other-account-reads-nothing", tried("read", exchange, identity=OTHER)) == expected


def test_another_accounts_list_may_hold_records_that_look_alike() -> None:
    alike = sent("list", listed(record(D, 1)), status=200, identity=OTHER)
    assert said("accounts.other-account-sees-no-list", tried("list", alike, identity=OTHER)) == "S"
    shown = sent("list", listed(MINE), status=200, identity=OTHER)
    assert said("accounts.other-account-sees-no-list", tried("list", shown, identity=OTHER)) == "V"


AFTER, GONE = listing(page([record(D, 1), MINE])), listing(page(rows(D, 1)))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (AFTER, "S"),
        (listing(page([record(D, 9, host="CT9-4z.example.com")])), "V"),
        (listing(page([record(D, 9, host="ct9-4")])), "S"),
        (None, "U"),
    ],
)
def test_a_create_by_somebody_else_makes_nothing(after: Any, expected: str) -> None:
    exchange = sent("create")
    evidence = tried("create", exchange, marker="ct9-4z.example.com", after=after)
    assert said("accounts.strangers-create-nothing", evidence) == expected
    made_there = sent("create", {"data": {"id": 4}}, status=201, identity=OTHER)
    by_other = tried("create", made_there, identity=OTHER, marker="ct9-4z.example.com", after=after)
    assert said("accounts.other-account-creates-apart", by_other) == expected
    assert said("accounts.strangers-create-nothing", by_other) == ""


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (MINE, "S"),
        (MINE | {"host": "ct9-4z.example.com"}, "V"),
        (MINE | {"custom_index_url": "https://b"}, "V"),
        (MINE | {"last_datetime": "2026-03-02 10:00:00"}, "S"),
        (MINE | {"is_enabled": True}, "S"),
        (MINE | {"id": 8}, "U"),
    ],
)
def test_an_update_by_somebody_else_changes_nothing(now: dict[str, Any], expected: str) -> None:
    evidence = tried("update", sent("update"), marker="ct9-4z.example.com", read=read(now, identifier=7))
    assert said("accounts.strangers-update-nothing", evidence) == expected


def test_what_was_listed_before_an_update_by_somebody_else_is_no_change() -> None:
    now = MINE | {"custom_index_url": "https://b"}
    evidence = tried("update", sent("update"), marker="ct9-4z", read=read(now), listed_record=now)
    assert said("accounts.strangers-update-nothing", evidence) == "S"


def attempts(*told: tuple[str, int], read_then: Exchange, after: Any = None) -> Evidence:
    """Deletes by several clients before one look at the record, each with the status it was told."""
    every = [
        AccessAttempt(identity, sent("delete", status=status, identity=identity), "", MINE, read_then, after)
        for identity, status in told
    ]
    return visit(THERE, access_attempts={D.name: every}, created_ids={D.name: {7}})


MISSED = answer("read", status=404, identifier=7)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (attempts((NOBODY, 401), read_then=read(MINE), after=AFTER), "S"),
        (attempts((NOBODY, 401), read_then=MISSED, after=GONE), "V"),
        (attempts((NOBODY, 401), (WRONG_KEY, 204), read_then=MISSED, after=GONE), "UV"),
        (attempts((NOBODY, 401), (WRONG_KEY, 401), read_then=MISSED, after=GONE), "VV"),
        (attempts((NOBODY, 401), read_then=MISSED, after=AFTER), "U"),
        (attempts((NOBODY, 401), read_then=read(MINE), after=GONE), "U"),  # a list may be cut short
        (attempts((NOBODY, 401), read_then=answer("read", status=500, identifier=7), after=GONE), "U"),
        (attempts((NOBODY, 401), read_then=MISSED), "U"),
    ],
    ids=[str(number) for number in range(8)],
)
def test_a_delete_by_somebody_else_removes_nothing(evidence: Evidence, expected: str) -> None:
    assert said("accounts.strangers-delete-nothing", evidence) == expected


def test_the_writes_of_another_account_have_rules_of_their_own() -> None:
    now = MINE | {"custom_index_url": "https://ct9-4z"}
    exchange = sent("update", identity=OTHER)
    evidence = tried("update", exchange, identity=OTHER, marker="ct9-4z.example.com", read=read(now, identifier=7))
    assert said("accounts.other-account-updates-nothing", evidence) == "V"
    exchange = sent("delete", status=404, identity=OTHER)
    evidence = tried("delete", exchange, identity=OTHER, read=MISSED, after=GONE)
    assert said("accounts.other-account-deletes-nothing", evidence) == "V"
    evidence = tried("delete", exchange, identity=OTHER, read=read(MINE), after=AFTER)
    assert said("accounts.other-account-deletes-nothing", evidence) == "S"
    refused = sent("update", status=404, identity=OTHER)
    evidence = tried("update", refused, identity=OTHER, marker="ct9-4z.example.com", read=read(MINE, identifier=7))
    assert said("accounts.other-account-updates-nothing", evidence) == "S"


def test_a_second_key_that_was_not_given_leaves_the_separation_of_accounts_unjudged() -> None:
    for rule in ("sees-no-list", "reads-nothing", "creates-apart", "updates-nothing", "deletes-nothing"):
        assert said(f"accounts.other-account-{rule}", visit(THERE, made(7, {}))) == "N"


def test_what_another_account_may_not_try_is_not_judged() -> None:
    evidence = tried("list", sent("list", listed(), status=200, identity=OTHER), identity=OTHER)
    assert said("accounts.other-account-updates-nothing", evidence) == "N"


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [((500, 500), "V"), ((500, 401, 500), "S"), ((502, 500), "V"), ((502, 503), ""), ((None, 504), "")],
)
def test_what_fails_whenever_a_key_is_missing_is_no_refusal(statuses: tuple[int | None, ...], expected: str) -> None:
    attempts = [AccessAttempt(NOBODY, sent("read", status=status), "", MINE) for status in statuses]
    attempts += [AccessAttempt(OTHER, sent("read", status=500, identity=OTHER), "", MINE)] * 3
    evidence = visit(THERE, access_attempts={D.name: attempts})
    assert said("robustness.strangers-do-not-fail", evidence) == expected


@pytest.mark.parametrize(
    ("status", "rows", "total", "refused", "hidden"),
    [(401, None, 0, "S", "S"), (200, [], 0, "V", "S"), (200, [MINE], 1, "S", "V"), (200, [], 2, "V", "V")],
)
def test_a_stranger_gets_no_list_and_no_total_of_the_account(
    status: int, rows: list[Any] | None, total: int, refused: str, hidden: str
) -> None:
    body = None if rows is None else page(rows, total=total).json
    evidence = tried("list", sent("list", body, status=status))
    assert said("accounts.strangers-are-refused", evidence) == refused
    assert said("accounts.strangers-see-no-list", evidence) == hidden


def test_a_second_account_that_may_not_create_is_noted() -> None:
    refused = tried("create", sent("create", status=403, identity=OTHER), identity=OTHER, after=listing(THERE))
    assert said("accounts.other-account-creates-apart", refused) == "N"


OTHERS = record(D, 9, host="other.example.com")


@pytest.mark.parametrize(
    ("shown", "identity", "expected"),
    [
        ([record(D, 1), MINE], OWN_KEY, "S"),
        ([record(D, 1), OTHERS], OWN_KEY, "V"),
        ([OTHERS], OTHER, "S"),
        ([MINE], OTHER, "V"),
        ([record(D, 1, host="x.example.com")], OTHER, "S"),
    ],
)
def test_accounts_that_ask_at_one_moment_see_their_own(
    shown: list[dict[str, Any]], identity: str, expected: str
) -> None:
    evidence = tried("list", sent("list", listed(OTHERS), status=200, identity=OTHER), identity=OTHER)
    evidence.simultaneous = Simultaneous((sent("list", listed(*shown), status=200, identity=identity),), None, None)
    assert said("accounts.both-at-once-stay-apart", evidence) == expected
    assert said("accounts.both-at-once-stay-apart", visit()) == "N"


def test_lists_at_one_moment_show_what_each_shows_alone() -> None:
    rule, garbled = (
        "robustness.simultaneous-reads-agree",
        record(D, 7, host=MINE["host"], datetime="0026-03-02 09:00:00"),
    )
    same, other = (sent("list", listed(row), status=200, identity=OWN_KEY) for row in (MINE, garbled))
    by_other = sent("list", listed(garbled), status=200, identity=OTHER)
    edited = page([record(D, 1), record(D, 7, host="ct1x-2z.example.com")])

    def around(*exchanges: Exchange, after: Exchange = THERE) -> Evidence:
        return visit(THERE, simultaneous=Simultaneous(exchanges, THERE.page, after.page), created_ids={D.name: {7}})

    assert set(said(rule, around(same, by_other))) == {"S"}
    assert said(rule, around(other)).count("V") == 1
    assert said(rule, around(other, after=edited)) == ""


def test_creates_stay_in_the_account_whose_key_they_carry() -> None:
    rule = "accounts.creates-stay-in-their-account"
    creations = {D.name: [Creation(answer("create", status=201), {}, frozenset(), 7, read(MINE))]}
    stray = sent("read", {"data": MINE}, status=200, identity=OTHER)

    def apart(*stray_reads: Exchange) -> Evidence:
        evidence = visit(creations=creations, stray_reads={D.name: list(stray_reads)})
        evidence.has_second_key = True
        return evidence

    assert said(rule, apart()) == "S"
    assert said(rule, apart(stray)) == "SV"
    assert said(rule, visit(creations=creations)) == "N"


def test_a_connection_keeps_no_key() -> None:
    rule = "accounts.connections-keep-no-key"
    shows, refused = read(record(N, 7), N), answer("read", status=401, identifier=7, resource=N)
    failed = answer("read", status=500, identifier=7, resource=N)

    def reads(*exchanges: Exchange) -> str:
        return said(rule, visit(key_reads=KeyReads(*exchanges)), N)

    assert reads(shows, refused, refused, shows, shows) == "SS"
    assert reads(shows, shows, shows, shows, shows) == "SS"
    assert reads(shows, shows, refused, shows, shows) == "VS"
    assert reads(shows, refused, refused, refused, shows) == "SV"
    assert reads(shows, refused, refused, shows, failed) == "U"
    assert reads(shows, refused, failed, shows, shows) == "U"
    assert said(rule, visit(), N) == "N"


def test_a_key_in_other_cases_is_another_key() -> None:
    rule = "accounts.key-in-other-cases-is-refused"
    shows, refused = read(record(N, 7), N), answer("read", status=401, identifier=7, resource=N)
    assert said(rule, visit(key_reads=KeyReads(shows, refused, refused, shows, shows)), N) == "S"
    assert said(rule, visit(key_reads=KeyReads(shows, shows, shows, shows, shows)), N) == "V"
    failed = answer("read", status=500, identifier=7, resource=N)
    assert said(rule, visit(key_reads=KeyReads(shows, refused, failed, shows, shows)), N) == "U"
    assert said(rule, visit(), N) == "N"
