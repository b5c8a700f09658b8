"""Generated records are made when they are first looked at, and nobody can tell."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from wire import Answer, Client, in_process, mock

from mock_server.control.instance import Instance
from mock_server.store.collection import Contents, ValueTakenError
from mock_server.store.records import Generated, Record, Records

SHARED = pytest.mark.usefixtures("store")  # for what a store in Redis does in code of its own

MANY = 3000


def a_client(app: Instance) -> Client:
    return Client(in_process(app))


def first_page(client: Client) -> Any:
    return client.get("/api/domains/?results_per_page=10").json


@SHARED
def test_a_record_far_down_is_the_same_in_a_list_and_in_a_read() -> None:
    client = a_client(mock(fixture="empty", records=MANY))
    last = client.get(f"/api/domains/?page={MANY // 10}&results_per_page=10").json
    assert last["meta"]["total"] == MANY
    assert [row["id"] for row in last["data"]] == list(range(10, 0, -1))
    assert client.get("/api/domains/7").json["data"] == last["data"][3]
    assert client.get(f"/api/domains/{MANY + 1}").status == 404


@pytest.mark.parametrize("fixture", ["demo", "empty"])
def test_another_seed_changes_the_colours_alone(fixture: str) -> None:
    choices = {"splash-page-fields": "shown"}
    lists = [
        a_client(mock(fixture=fixture, records=20, seed=seed, choices=choices)).get("/api/splash-pages/").json["data"]
        for seed in (0, 7, 7)
    ]
    colours = [[page.pop("color") for page in pages] for pages in lists]
    assert colours[0] != colours[1] == colours[2]
    assert lists[0] == lists[1]


@SHARED
def test_a_record_that_was_deleted_is_not_made_again() -> None:
    client = a_client(mock(fixture="empty", records=30))
    assert client.request("DELETE", "/api/domains/30").status == 200
    assert client.get("/api/domains/30").status == 404
    assert [row["id"] for row in first_page(client)["data"]] == list(range(29, 19, -1))
    assert first_page(client)["meta"]["total"] == 29


@SHARED
def test_hosts_of_records_that_nobody_looked_at_are_taken() -> None:
    client = a_client(mock(fixture="empty", records=30))

    def registered(host: str) -> Answer:
        return client.post("/api/domains", {"host": host})

    assert registered("HOST-7.example.com").status == 409
    assert registered("host-31.example.com").status == 201
    assert registered("host-007.example.com").status == 201
    assert client.post("/api/domains/7", {"host": "elsewhere.example.com"}).status == 200
    assert registered("host-7.example.com").status == 201
    assert client.request("DELETE", "/api/domains/8").status == 200
    assert registered("host-8.example.com").status == 201
    assert [registered(f"host-{number}.example.com").status for number in (7, 8, 9)] == [409, 409, 409]


@SHARED
def test_a_sandbox_keeps_its_own_changes_to_them() -> None:
    app = mock(fixture="empty", records=30)
    owner, visitor = a_client(app), Client(in_process(app), "sandbox-a")
    visitor.request("DELETE", "/api/domains/5")
    visitor.post("/api/domains/6", {"host": "moved.example.com"})
    assert (visitor.get("/api/domains/5").status, owner.get("/api/domains/5").status) == (404, 200)
    assert owner.get("/api/domains/6").json["data"]["host"] == "host-6.example.com"
    assert visitor.get("/api/domains/6").json["data"]["host"] == "moved.example.com"


@SHARED
def test_what_was_shown_before_a_switch_is_shown_anew() -> None:
    running = mock(fixture="empty", records=3)
    before = a_client(running).get("/api/splash-pages/2").json["data"]
    running.change_switches(choices={"time-zone": "ahead", "further-keys": "some"})
    after = a_client(running).get("/api/splash-pages/2").json["data"]
    assert before.items() - after.items() == {("datetime", before["datetime"])}
    assert set(after) - set(before) == {"kind"}
    a_client(running).post("/api/splash-pages/2", {"name": "Renamed"})
    assert a_client(running).get("/api/splash-pages/2").json["data"]["name"] == "Renamed"
    assert [row["name"] for row in a_client(running).get("/api/splash-pages/").json["data"]][1] == "Renamed"


def test_only_those_that_are_looked_at_are_made() -> None:
    made: list[int] = []

    def make(identifier: int) -> Record:
        made.append(identifier)
        return Record(identifier, {"host": f"host-{identifier}"}, datetime(2026, 3, 2))  # noqa: DTZ001 - records have no zone

    contents = Contents(Records([], Generated(range(1, 101), make)), lambda number, _: -number, "host")
    assert (len(contents.index), contents.index[0], made) == (100, 100, [])
    assert contents.records[50] is contents.records[50]
    with pytest.raises(ValueTakenError):
        contents.take("host-60")
    contents.take("host-101")
    assert made == [50, 60]
