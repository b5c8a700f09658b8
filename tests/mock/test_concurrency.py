from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from wire import HARBOUR, Client, over_network

from mock_server import MockServer

pytestmark = pytest.mark.usefixtures("store")

WRITERS = 8
OFTEN = pytest.mark.parametrize("writes", [15, pytest.param(100, marks=pytest.mark.exhaustive)])


def run(jobs: int, job: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(job, range(jobs)))


@OFTEN
def test_eight_writers_lose_nothing_and_readers_never_see_a_torn_page(writes: int) -> None:
    with MockServer(fixture="empty") as server:
        done = Event()

        def write(writer: int) -> list[int]:
            client = Client(over_network(server.base_url), HARBOUR)
            made = [client.create("/api/projects", {"name": f"{writer} {number}"}) for number in range(writes)]
            for identifier in made[::2]:
                assert client.delete(f"/api/splash-pages/{identifier}").status == 200
            for identifier in made[1::2]:
                assert client.post(f"/api/splash-pages/{identifier}", {"name": f"{writer} kept"}).status == 200
            return made

        def look(_: int) -> int:
            client, looks = Client(over_network(server.base_url), HARBOUR), 0
            while not done.is_set():
                page = client.get("/api/splash-pages/?results_per_page=1000").json
                assert len(page["data"]) == page["meta"]["total"]
                assert len({record["id"] for record in page["data"]}) == page["meta"]["total"]
                looks += 1
            return looks

        with ThreadPoolExecutor(2) as readers:
            looking = [readers.submit(look, number) for number in range(2)]
            made = run(WRITERS, write)
            done.set()
            assert all(reader.result() > 0 for reader in looking)
        everything = [identifier for ids in made for identifier in ids]
        kept = {identifier for ids in made for identifier in ids[1::2]}
        page = Client(over_network(server.base_url), HARBOUR).get("/api/splash-pages/?results_per_page=1000").json
    assert len(set(everything)) == WRITERS * writes
    assert {record["id"] for record in page["data"]} == kept
    assert {record["name"] for record in page["data"]} == {f"{writer} kept" for writer in range(WRITERS)}


@OFTEN
def test_no_update_of_a_record_is_lost_when_eight_write_its_fields_at_once(writes: int) -> None:
    fields = (
        "title",
        "description",
        "custom_css",
        "custom_js",
        "ads_header",
        "ads_footer",
        "secondary_button_name",
        "name",
    )
    with MockServer(choices={"splash-page-fields": "shown"}) as server:

        def write(writer: int) -> None:
            client = Client(over_network(server.base_url), HARBOUR)
            for number in range(writes):
                client.post("/api/splash-pages/1", {fields[writer]: str(number)})

        run(WRITERS, write)
        record = Client(over_network(server.base_url), HARBOUR).get("/api/splash-pages/1").json["data"]
    assert {record[field] for field in fields} == {str(writes - 1)}


def test_a_host_is_registered_by_one_of_many_who_ask_at_once() -> None:
    with MockServer() as server:

        def register(_: int) -> int:
            return Client(over_network(server.base_url)).post("/api/domains", {"host": "race.example.com"}).status

        assert sorted(run(WRITERS, register)) == [201] + [409] * (WRITERS - 1)
