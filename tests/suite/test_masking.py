from __future__ import annotations

import json
import re
from typing import Any
from zlib import crc32

import pytest
from faulty import BASE_URL, CONTRACT, visited
from werkzeug.wrappers import Response

from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Request
from contract_tests.evidence.masking import Masking
from contract_tests.reports.results import as_dict
from contract_tests.run import Options, _secrets
from contract_tests.target.connection import Connection
from contract_tests.verdicts.verdicts import Outcome
from mock_server import Settings
from mock_server.defects import DEFECTS
from mock_server.defects.building_blocks import Call, Serve

CANARY = "Zeisig"
SECRET = "Kolibri-5f2c"
ROW = {
    "id": 12,
    "type": "telegram",
    "name": "Jane's shop 7",
    "settings": {"telegram": "123:AB", "telegram_chat_id": -5},
    "is_enabled": True,
    "last_datetime": None,
    "datetime": "2026-03-02 09:00:01",
}
SHAPE = ROW | {"name": "aaaa'a aaaa 0", "settings": {"telegram": "000:aa", "telegram_chat_id": 0}}

MASKED = {"id": 0, "type": "aaaaaaaa", "datetime": "0000-00-00 00:00:00"}


def exchange(body: Any, status: int = 200, **headers: str) -> Exchange:
    request = Request("list", "notification-handlers", "GET", "/api/notification-handlers/")
    return Exchange(request, 1, status, headers, body if isinstance(body, bytes) else json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"data": [ROW], "meta": {"page": 1}}, {"data": [SHAPE], "meta": {"page": 1}}),
        ({"data": ROW}, {"data": SHAPE}),
        (
            {"data": {"12": ROW}},
            {"data": {"12": SHAPE | {"id": 0, "type": "aaaaaaaa", "datetime": "0000-00-00 00:00:00"}}},
        ),
        ({"data": [list(ROW.values())]}, None),
        ({"items": [ROW]}, {"items": [SHAPE]}),
        (ROW, SHAPE),
        ([ROW], None),
        ({"data": [ROW | {"type": "Jane's", "datetime": "at Jane's"}]}, None),
    ],
)
def test_somebody_elses_record_keeps_its_shape_alone(body: Any, expected: Any) -> None:
    masked = Masking.of({}, [("notification-handlers", OWN_KEY, 13), ("notification-handlers", OTHER, 12)]).exchange(
        exchange(body)
    )
    assert "Jane" not in masked.body.decode()
    assert "123:AB" not in masked.body.decode()
    if expected is not None:
        assert masked.json == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"statusCode": 400, "code": "FST_ERR_VALIDATION"}, {"statusCode": 400, "code": "FST_ERR_VALIDATION"}),
        (
            {"detail": [{"loc": ["body", "host"], "msg": "Required"}]},
            {"detail": [{"loc": ["body", "host"], "msg": "Required"}]},
        ),
        ({"detail": "taken", "by": ROW}, {"detail": "taken", "by": SHAPE}),
        ([{"problem": [ROW]}], [{"problem": [SHAPE]}]),
        ({"title": "Conflict", "data": {"name": "Jane"}}, {"title": "Conflict", "data": {"name": "aaaa"}}),
    ],
)
def test_a_refusal_tells_its_reason_and_no_record(body: Any, expected: Any) -> None:
    assert Masking.of({}, []).exchange(exchange(body, 400)).json == expected


@pytest.mark.parametrize("key", ["demo-key/har%bour", "Kolibri-5f2c"])
def test_a_key_is_masked_however_its_characters_are_escaped(key: str) -> None:
    in_hex = "".join(f"%{ord(letter):02x}" for letter in key)
    in_json = "".join(f"\\u00{ord(letter):02X}" for letter in key)
    forms = (in_hex, in_hex.upper(), in_hex[:12] + key[4:], in_json, in_json[:12] + key[2:])
    masking = Masking.of({key: "[own key]"}, [])
    for form in forms:
        assert masking.text(f"a {form} z") == "a [own key] z"
        assert masking.exchange(exchange(f"no JSON: {form}".encode(), 500)).body == b"no JSON: [own key]"


def test_values_of_headers_are_masked_unless_they_are_as_short_as_parts_of_words() -> None:
    connection = Connection(headers={"X-Tenant": "abcd", "X-Shop": "xyz", "X-Login": "Basic c2VjcmV0"})
    masking = Masking.of(_secrets(Options(BASE_URL, SECRET, connection=connection)), [])
    assert masking.text("abcd, xyz, c2VjcmV0") == "[hidden], xyz, [hidden]"


@pytest.mark.parametrize("end", ["", "…", '"'])
def test_a_finding_that_was_cut_off_within_a_key_shows_no_part_of_it(end: str) -> None:
    masking = Masking.of({"Kolibri-5f2c": "[own key]"}, [])
    for length in (4, 8, 11):
        assert masking.findings(exchange({}), f"the query key={'Kolibri-5f2c'[:length]}{end}") == (
            f"the query key=[own key]{end}"
        )
    assert masking.findings(exchange({}), f"the query key=Kol{end}") == f"the query key=Kol{end}"


def test_what_shows_a_choice_of_the_service_stays_in_somebody_elses_record() -> None:
    row = {
        "id": 12,
        "color": "#00ff7f",
        "type": "email",
        "scheme": "https://",
        "datetime": "2026-03-02 09:00:01",
        "last_datetime": "2026-03-02T09:00:01Z",
    }
    masked = Masking.of({}, []).exchange(exchange({"data": [row | {"name": "Jane's 7"}]}))
    assert masked.json == {"data": [row | {"name": "aaaa'a 0"}]}


def test_a_record_of_the_runs_own_is_shown_as_it_is() -> None:
    masked = Masking.of({}, [("notification-handlers", OWN_KEY, 12)], ["jane"]).exchange(exchange({"data": [ROW]}))
    assert masked.json == {"data": [ROW]}


@pytest.mark.parametrize(
    "body",
    [
        b'<br />\n<b>Warning</b>\n{"data": [{"id": 12, "name": "Jane"}]}',
        b'callback({"data": [{"id": 12, "name": "Jane"}]});',
        b'{"data": [{"id": 12, "name": "Jane"},]}',
        b"<table><tr><td>Jane</td></tr></table>",
        b"id,name\n12,Jane\n",
        b'\xff\xfe{"name": "Jane"}',
    ],
)
def test_a_success_that_cannot_be_read_keeps_its_shape_alone(body: bytes) -> None:
    masked = Masking.of({}, []).exchange(exchange(body)).body
    assert b"Jane" not in masked
    assert (b"Warning" in masked) == (b"Warning" in body)


def test_secrets_are_told_nowhere() -> None:
    secrets = {SECRET: "[key]"}
    headers = {"Set-Cookie": "a=b", "X-Csrf-Token": "c", "X-Session-Id": "d", "X-Reason": f"is {SECRET}"}
    sent = exchange(f"<p>Your key {SECRET} is wrong</p>".encode(), 401, **headers)
    masked = Masking.of(secrets, []).exchange(sent)
    assert masked.body == b"<p>Your key [key] is wrong</p>"
    hidden = dict.fromkeys(("Set-Cookie", "X-Csrf-Token", "X-Session-Id"), "[hidden]")
    assert masked.headers == hidden | {"X-Reason": "is [key]"}


# Here all that lacks a marker counts as somebody else's, so a defect must not hide the markers or the structure.
HIDING = {
    "byte-order-mark",
    "host-is-an-object",
    "key-is-forbidden",
    "key-is-not-understood",
    "lists-are-scripts",
    "name-is-translated",
    "reads-show-the-oldest",
    "rows-are-arrays",
    "update-resets-the-name",
    "warning-before-lists",
}
SOME = [name for name in DEFECTS if crc32(name.encode()) % 9 == 0 and name not in HIDING]


def plants_canaries(call: Call, serve: Serve) -> Response:
    """A server whose records are the account's own, and hold what nobody is to read, but for those that a run makes."""
    answer = serve(call)
    if call.operation in ("list", "read") and answer.status_code == 200:
        text = answer.get_data(as_text=True)
        try:
            answer.set_data(json.dumps(planted(json.loads(text)), ensure_ascii=False))
        except ValueError:
            answer.set_data(text.replace("Generated", CANARY))
    return answer


def planted(value: Any) -> Any:
    if isinstance(value, list):
        return [planted(each) for each in value]
    if not isinstance(value, dict):
        return value
    label = next((str(value[name]) for name in ("name", "host") if isinstance(value.get(name), str)), "")
    if label and not re.search(r"ct\d", label.casefold()):
        texts = {name: f"{CANARY}-{name}" for name in ("name", "host", "custom_index_url", "title") if name in value}
        return value | texts | ({"settings": {"email": f"{CANARY}@example.org"}} if value.get("settings") else {})
    return {name: planted(each) for name, each in value.items()}


def marks(number: int) -> list[pytest.MarkDecorator]:
    """Every second case is judged in CI: as the table of defects goes by rules, some of each area are."""
    return [] if number % 6 == 0 else [pytest.mark.exhaustive if number % 2 else pytest.mark.slow]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(number)) for number, name in enumerate(["none", *SOME])]
)
def test_no_finding_tells_what_others_have_written(no_pauses: None, name: str) -> None:
    defect = DEFECTS.get(name)
    resource = CONTRACT.resources[
        (defect.resources or CONTRACT.rules[defect.rule].resources)[0] if defect else "domains"
    ]
    defects = (name,) if defect else ()
    settings = Settings(fixture="empty", records=28, defects=defects)
    visits, target = visited(plants_canaries, resource.name, settings)
    assert any(CANARY.encode() in each.body for each in target.exchanges)
    entries = [each for each in target.ledger.entries if each.seen]
    own = [(each.resource, each.owner, each.identifier) for each in entries if each.identifier is not None]
    outcome = Outcome(
        base_url=BASE_URL,
        version="1.0.0",
        started_at=0.0,
        word="does not conform",
        status=1,
        results=tuple(visits.results),
        exchanges=tuple(target.exchanges),
        not_run=0,
        requests=target.budget.request_count,
        seconds=0.0,
        masking=Masking.of({}, own),
    )
    assert CANARY not in json.dumps(as_dict(outcome), ensure_ascii=False)
    assert [each.number for each in outcome.exchanges if CANARY.encode() in outcome.masking.exchange(each).body] == []
