from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from walk import RESOURCES, Resource
from wire import ALPINE, HARBOUR, Client, in_process

from mock_server import Settings, SettingsError, create_app

SPLASH_PAGE = {"id": 1, "name": "a", "datetime": "2026-01-01 00:00:00"}
DOMAIN = {"id": 1, "host": "a.example.com", "datetime": "2026-01-01 00:00:00"}
HANDLER = {"id": 1, "name": "a", "type": "email", "datetime": "2026-01-01 00:00:00"}
NOW = "2026-03-02 09:00:00"
PAGE = (Path(__file__).parents[2] / "docs" / "mock.md").read_text("utf-8")


def write(folder: Path, document: Any) -> Path:
    path = folder / "fixture.yaml"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def account(resource: str, *records: Any) -> dict[str, Any]:
    return {"now": NOW, "accounts": [{"name": "A", "api_key": "key", "records": {resource: list(records)}}]}


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.name)
def test_the_demo_has_pages_of_10_and_25_with_a_next_and_a_previous(resource: Resource) -> None:
    client = Client(in_process(create_app()))
    for size in (10, 25):
        links = client.get(f"{resource.path}/?page=2&results_per_page={size}").json["links"]
        assert links["next"]
        assert links["prev"]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.name)
@pytest.mark.parametrize("key", [HARBOUR, ALPINE])
def test_the_demo_is_believable(resource: Resource, key: str) -> None:
    records = Client(in_process(create_app()), key).get(f"{resource.path}/?results_per_page=100").json["data"]
    assert len(records) >= 10
    for record in records:
        assert record["datetime"] < NOW
        assert record["last_datetime"] is None or record["datetime"] < record["last_datetime"] < NOW
        assert record["id"] > 0
    created = [record["datetime"] for record in records]
    assert created == sorted(created, reverse=True)


def test_generated_records_come_beside_those_of_the_fixture() -> None:
    client = Client(in_process(create_app(Settings(records=30))))
    for resource, total in zip(RESOURCES, (88, 84, 84), strict=True):
        assert client.get(f"{resource.path}/").json["meta"]["total"] == total
    hosts = [record["host"] for record in client.get("/api/domains/?results_per_page=100").json["data"]]
    assert len(set(hosts)) == 84


def test_a_fixture_of_ones_own_is_served(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"png")
    full = SPLASH_PAGE | {"title": "t", "logo": "logo.png", "auto_redirect": True, "color": "#ABCDEF"}
    choices = {"splash-page-fields": "shown"}
    app = create_app(Settings(fixture=write(tmp_path, account("splash-pages", full)), choices=choices))
    record = Client(in_process(app), "key").get("/api/splash-pages/1").json["data"]
    assert record == full | {"last_datetime": None}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "is not YAML"),
        (
            {"now": NOW, "accounts": [{"api_key": "a", "record": {}}]},
            'no key "record"; keys are name, api_key, records',
        ),
        ({"nwo": NOW, "accounts": [{"api_key": "a"}]}, 'the fixture: no key "nwo"; keys are now, accounts'),
        ("[]", "expected the keys now and accounts"),
        ({"now": NOW, "accounts": []}, "with at least one account"),
        ({"now": NOW, "accounts": [{"name": "A"}]}, "account 1: expected api_key, a text; put a number in quotes"),
        ({"now": "today", "accounts": [{"api_key": "a"}]}, "now is 'today'; expected YYYY-MM-DD"),
        ({"now": NOW, "accounts": [{"api_key": "a"}, {"api_key": "a"}]}, "two accounts have the same api_key"),
        (account("links"), 'no resource "links"; resources are splash-pages, domains'),
        (account("domains", DOMAIN, DOMAIN | {"id": 2}), "domains: 2 records have the host a.example.com"),
        (account("splash-pages", SPLASH_PAGE, SPLASH_PAGE), "splash-pages: 2 records have the id 1"),
        (account("splash-pages", {"id": 7}), r'A, splash-pages, record 1 \(id 7\): the field "name" is missing'),
        (account("domains", {"id": 7, "datetime": NOW}), 'the field "host" is missing'),
        (account("splash-pages", SPLASH_PAGE | {"colour": "x"}), 'field "colour" is not one that a fixture can set'),
        (account("splash-pages", SPLASH_PAGE | {"color": "red"}), 'the field "color" is .red.; expected a match'),
        (account("splash-pages", SPLASH_PAGE | {"id": "1"}), 'the field "id" is .1.; expected a whole number'),
        (account("splash-pages", SPLASH_PAGE | {"id": True}), 'the field "id" is True; expected a whole number'),
        (account("splash-pages", SPLASH_PAGE | {"name": 5}), 'the field "name" is 5; expected text'),
        (account("splash-pages", SPLASH_PAGE | {"auto_redirect": 1}), 'field "auto_redirect" is 1; expected true'),
        (account("splash-pages", SPLASH_PAGE | {"datetime": "2026-02-30 00:00:00"}), 'field "datetime" is .2026-02-30'),
        (account("splash-pages", SPLASH_PAGE | {"logo": "none.png"}), 'field "logo": .*No such file'),
        (account("splash-pages", "a"), "record 1: expected fields and their values"),
        ("{now: 2026-13-02 09:00:00, accounts: [{api_key: a}]}", "is not YAML: month must be in 1..12"),
        ({"now": NOW, "accounts": [{"api_key": "sandbox-me"}]}, '"sandbox-me" cannot be a key'),
        ({"now": NOW, "accounts": [{"api_key": "a", "records": 5}]}, "records holds a list for each of splash-pages"),
        ({"now": NOW, "accounts": [{"api_key": "a", "records": {"domains": 5}}]}, "records holds a list for each"),
        ({"now": "9999-12-31 00:00:00", "accounts": [{"api_key": "a"}]}, "now is '9999-.*1970 to 8999"),
        (account("domains", DOMAIN | {"id": -5}), 'the field "id" is -5; expected a whole number from 1'),
        (account("domains", DOMAIN | {"id": 10**16}), 'the field "id" is 1000.*; expected a whole number from 1'),
        (account("splash-pages", SPLASH_PAGE | {"logo": "a\0b"}), 'field "logo": .*embedded null'),
        (account("domains", DOMAIN | {"scheme": "https"}), 'the field "scheme" is .https.; expected a match of'),
        (account("notification-handlers", HANDLER | {"type": "pigeon"}), "expected one of email, webhook"),
        (account("notification-handlers", HANDLER | {"settings": {}}), '"settings" is not one that a fixture can set'),
    ],
)
def test_a_fixture_against_the_contract_is_refused_by_record_and_field(
    tmp_path: Path, document: Any, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        create_app(Settings(fixture=write(tmp_path, document)))


def test_a_fixture_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"cannot be read: .*; give demo, empty or a file"):
        create_app(Settings(fixture="demonstration"))


@pytest.mark.parametrize("released", ["deleted", "moved"])
def test_a_host_that_two_records_have_is_taken_until_both_give_it_up(released: str) -> None:
    record = {
        "scheme": "https://",
        "host": "twice.example.com",
        "datetime": "2026-03-02 09:00:00",
        "last_datetime": None,
    }
    records = [{**record, "id": number, "is_enabled": True, "custom_index_url": ""} for number in (1, 2)]
    account = {"name": "A", "api_key": "a-key", "records": {"domains": records}}
    fixture = {"now": "2026-03-02 09:00:00", "accounts": [account]}
    client = Client(in_process(create_app(Settings(fixture=fixture, choices={"host-taken": "409"}))), "a-key")
    answers = [client.post("/api/domains", {"host": "twice.example.com"}).status]
    for number in (1, 2):
        if released == "deleted":
            client.delete(f"/api/domains/{number}")
        else:
            client.post(f"/api/domains/{number}", {"host": f"moved-{number}.example.com"})
        answers.append(client.post("/api/domains", {"host": "twice.example.com"}).status)
    assert answers == [409, 409, 201]


MISTAKEN = """\
now: '2026-03-02 09:00:00'
accounts:
  - name: Harbour Books
    api_key: my-key
    records:
      domains:
        - host: a.example.com
        - id: 5
          host: 7
          scheme: https
      splash-pages:
        - {id: 1, title: No name}
  - name: Alpine
    api_key: my-key
"""


def test_all_mistakes_are_told_at_once_with_account_record_and_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as told:
        create_app(Settings(fixture=write(tmp_path, MISTAKEN)))
    first, *lines = str(told.value).splitlines()
    scheme = "expected a match of ^[A-Za-z][A-Za-z0-9+.-]*://$"
    assert first.endswith('fixture.yaml": 4 mistakes')
    assert [line.strip() for line in lines] == [
        "line 3: two accounts have the same api_key",
        'line 9: Harbour Books, domains, record 2 (id 5): the field "host" is 7; expected text',
        f"line 10: Harbour Books, domains, record 2 (id 5): the field \"scheme\" is 'https'; {scheme}",
        'line 12: Harbour Books, splash-pages, record 1 (id 1): the field "name" is missing',
    ]


def test_of_many_mistakes_fifty_are_told_and_the_others_counted(tmp_path: Path) -> None:
    nameless = [{"id": number} for number in range(1, 54)]
    with pytest.raises(SettingsError) as refusal:
        create_app(Settings(fixture=write(tmp_path, account("splash-pages", *nameless))))
    first, *mistakes, last = str(refusal.value).splitlines()
    assert (first.endswith(": 53 mistakes"), len(mistakes), last.strip()) == (True, 50, "and 3 more")


def test_the_fixture_that_the_page_shows_is_served(tmp_path: Path) -> None:
    [example] = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    client = Client(in_process(create_app(Settings(fixture=write(tmp_path, example)))), "my-key")
    hosts = [domain["host"] for domain in client.get("/api/domains/").json["data"]]
    assert hosts == ["go.example.com", "links.example.com"]


def test_ids_and_times_are_given_where_a_fixture_has_none(tmp_path: Path) -> None:
    hosts = [{"host": "a.example.com", "datetime": None}, {"id": 7, "host": "b.example.com"}, {"host": "c.example.com"}]
    document = {"accounts": [{"api_key": "key", "records": {"domains": hosts}}]}
    made = []
    for _ in range(2):
        client = Client(in_process(create_app(Settings(fixture=write(tmp_path, document)))), "key")
        rows = client.get("/api/domains/").json["data"]
        made.append([(row["id"], row["host"], row["datetime"]) for row in rows])
    assert made[0] == made[1]
    assert made[0] == [
        (9, "c.example.com", "2026-03-02 08:00:00"),
        (8, "a.example.com", "2026-03-02 06:00:00"),
        (7, "b.example.com", "2026-03-02 07:00:00"),
    ]
