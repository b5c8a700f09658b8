"""Several processes are one mock."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import redis
import requests
from redis_server import RedisServer
from shell import NEEDS_PROC, command, failure, has_ended, running, spawned
from upstream import wait_for
from wire import HARBOUR, Client, over_network

from mock_server import MockServer, SettingsError
from mock_server.control.shared_backend import SharedBackend
from mock_server.errors import Refusal
from mock_server.output import banner, ready
from mock_server.server import Workers
from mock_server.shared.journal import SharedJournal
from mock_server.shared.store import StoreError

pytestmark = pytest.mark.slow


@NEEDS_PROC
def test_a_mock_of_three_processes_conforms_and_replaces_one_that_ends(redis_url: str, tmp_path: Path) -> None:
    options = ("--store", redis_url, "--store-prefix", str(tmp_path), "--workers", "3")
    with running(*options) as (process, lines):
        base_url = lines[0].split()[-1]
        assert any(line.startswith("Store        redis://127.0.0.1") for line in lines)
        wait_for(lambda: len(spawned(process.pid)) >= 2)
        before = spawned(process.pid)
        os.kill(min(before), signal.SIGKILL)
        wait_for(lambda: len(spawned(process.pid) - before) == 1)
        judged = command("run", "--base-url", base_url, "--explore", "0")
        assert judged.returncode == 0, judged.stdout + judged.stderr
        assert judged.stdout.splitlines()[-1].startswith("conforms")
        rest = spawned(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 0
        wait_for(lambda: not any(Path(f"/proc/{each}").exists() for each in rest))


@NEEDS_PROC
def test_all_processes_stop_if_the_first_is_killed(redis_url: str, tmp_path: Path) -> None:
    with running("--store", redis_url, "--store-prefix", str(tmp_path), "--workers", "3") as (process, _):
        wait_for(lambda: len(spawned(process.pid)) >= 2)
        workers = spawned(process.pid)
        process.kill()
        process.wait(timeout=120)
        wait_for(lambda: all(map(has_ended, workers)))


def test_a_process_that_cannot_start_is_tried_again_with_increasing_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("mock_server.server.time", SimpleNamespace(monotonic=lambda: now[0]))

    def replaced_at(seconds: float) -> bool:
        for process in multiprocessing.active_children():
            process.join()
        now[0] = seconds
        return workers.replaced() != []

    with Workers(1, None, sys.exit, {}) as workers:
        found = [at for at in (0.9, 1.1, 3.0, 3.2, 7.1, 7.3) if replaced_at(at)]
    assert found == [1.1, 3.2, 7.3]


@pytest.fixture
def pair(redis_url: str, tmp_path: Path) -> tuple[MockServer, MockServer]:
    more: dict[str, Any] = {"store": redis_url, "store_prefix": str(tmp_path)}
    return MockServer(**more), MockServer(**more)


def test_what_one_process_is_told_holds_for_the_other(pair: tuple[MockServer, MockServer]) -> None:
    with pair[0] as one, pair[1] as other:
        here, there = Client(over_network(one.base_url)), Client(over_network(other.base_url))
        for path, told in (
            ("/state", {"defects": ["total-is-one-more"]}),
            ("/forced", {"status": 418, "method": "GET", "path": "/api/domains/1", "times": 1}),
        ):
            method = "PATCH" if path == "/state" else "POST"
            assert requests.request(method, f"{one.origin}/_mock{path}", json=told, timeout=60).ok
        assert there.get("/api/domains/").json["meta"]["total"] == 55
        assert [client.get("/api/domains/1").status for client in (there, here, there)] == [418, 200, 200]
        assert requests.put(f"{other.origin}/_mock/snapshots/kept", timeout=60).ok
        assert here.delete("/api/domains/1").status == 200
        assert requests.post(f"{one.origin}/_mock/snapshots/kept/restore", timeout=60).ok
        assert there.get("/api/domains/1").status == 200
        paths = [(entry.method, entry.status) for entry in other.running.journal.find()]
        assert paths == [(entry.method, entry.status) for entry in one.running.journal.find()]
        assert ("GET", 418) in paths
        assert requests.post(f"{other.origin}/_mock/reset", timeout=60).ok
        assert here.get("/api/domains/").json["meta"]["total"] == 54


def test_ids_and_times_are_given_once(pair: tuple[MockServer, MockServer]) -> None:
    with pair[0] as one, pair[1] as other:
        clients = [Client(over_network(each.base_url), "sandbox-a") for each in (one, other)]
        made = [clients[number % 2].create("/api/domains", {"host": f"{number}.example.com"}) for number in range(10)]
        assert made == list(range(made[0], made[0] + 10))
        rows = clients[0].get("/api/domains/?results_per_page=10").json["data"]
        assert [row["id"] for row in rows] == made[::-1]
        assert sorted({row["datetime"] for row in rows}) == [row["datetime"] for row in reversed(rows)]
        assert clients[1].post("/api/domains", {"host": "7.EXAMPLE.com"}).status == 409


def test_all_keys_have_the_prefix_and_the_lifetime(redis_url: str, tmp_path: Path) -> None:
    database: Any = redis.Redis.from_url(redis_url)
    known = set(database.keys())
    with MockServer(store=redis_url, store_prefix=str(tmp_path), store_lifetime=100) as server:
        client = Client(over_network(server.base_url), "sandbox-a")
        client.create("/api/projects", {"name": "Page", "logo": ("a.png", b"x", "image/png")})
        client.delete("/api/domains/1")
        requests.put(f"{server.origin}/_mock/snapshots/kept", timeout=60)
        keys = set(database.keys()) - known
        left = {key: database.ttl(key) for key in keys}
        assert all(key.startswith(f"{tmp_path}:".encode()) for key in keys)
        assert [key for key, seconds in left.items() if not 0 < seconds <= 200] == []
        assert 100 < left.pop(f"{tmp_path}:head".encode()) <= 150  # goes first, but lives as long as promised
        assert min(seconds for key, seconds in left.items() if not key.endswith(b":renewed")) > 150
        for key in keys:
            database.delete(key)
        assert client.get("/api/domains/1").status == 200  # begun again


def test_what_a_reset_replaces_goes_and_no_epoch_comes_twice(redis_url: str, tmp_path: Path) -> None:
    database: Any = redis.Redis.from_url(redis_url)
    with MockServer(store=redis_url, store_prefix=str(tmp_path), store_lifetime=3600) as server:
        for _ in range(3):
            requests.post(f"{server.origin}/_mock/reset", timeout=60)
        assert (
            requests.post(f"{server.origin}/_mock/reset", json={"conditions": {"lag": 1}}, timeout=60).status_code
            == 400
        )
        epoch = int(database.get(f"{tmp_path}:epoch"))
        left = {key: database.ttl(key) for key in database.keys(f"{tmp_path}:*:begun")}
        assert len(left) >= 4
        assert [key for key, seconds in left.items() if seconds > 20] == [f"{tmp_path}:{epoch}:begun".encode()]
        for key in database.keys(f"{tmp_path}:*"):
            database.delete(key)
        client = Client(over_network(server.base_url))
        assert client.get("/api/domains/").json["meta"]["total"] == 54
        assert int(database.get(f"{tmp_path}:epoch")) > epoch


def test_what_is_written_to_what_was_reset_is_refused_and_leaves_no_key(redis_url: str, tmp_path: Path) -> None:
    database, key = redis.Redis.from_url(redis_url), "sandbox-late"
    with MockServer(store=redis_url, store_prefix=str(tmp_path)) as server:

        def is_refused(write: Callable[[], object]) -> None:
            before = database.keys(f"{tmp_path}:*")
            with pytest.raises(StoreError, match="reset while this request was under way"):
                write()
            assert sorted(database.keys(f"{tmp_path}:*")) == sorted(before)

        for _ in range(2):
            late = server.running.mock.accounts.get(key)
            assert late
            late.collections["domains"].delete(61)
            requests.post(f"{server.origin}/_mock/accounts/{key}/reset", timeout=60).raise_for_status()
            is_refused(partial(late.collections["domains"].delete, 60))
        uploads = server.running.mock.forms.uploads
        requests.post(f"{server.origin}/_mock/reset", timeout=60).raise_for_status()
        is_refused(partial(uploads.add, "a.png", "image/png", b"late"))


def test_resets_that_meet_leave_no_place_behind(pair: tuple[MockServer, MockServer], redis_url: str) -> None:
    database: Any = redis.Redis.from_url(redis_url)
    key, records = "sandbox-met", {"domains": [{"host": "a.example.com"}]}
    one, other = (server.running for server in pair)
    backend = one.backend
    assert isinstance(backend, SharedBackend)

    def places() -> list[bytes]:
        """The places of accounts with records of their own that stay."""
        pattern = f"{one.settings.store_prefix}:*:*:domains:own"
        return [place for place in database.keys(pattern) if database.ttl(place) == -1]

    one.reset_account(key, {"records": records})
    place_count = len(places())
    with ThreadPoolExecutor(2) as threads:
        for _ in range(10):
            list(threads.map(lambda running: running.reset_account(key, {"records": records}), (one, other)))
    assert len(places()) == place_count
    with (
        patch.object(backend._store, "keep", other.reset),  # noqa: SLF001 - just before the new place is used
        pytest.raises(StoreError, match="reset while this request was under way"),
    ):
        one.reset_account(key, {"records": records})
    assert len(places()) == place_count - 1


def test_equal_updates_at_once_do_not_refuse_each_other(pair: tuple[MockServer, MockServer]) -> None:
    with pair[0] as one, pair[1] as other, ThreadPoolExecutor(8) as threads:

        def move(number: int) -> int:
            client = Client(over_network((one, other)[number % 2].base_url))
            return client.post("/api/domains/1", {"host": f"moved-{number // 8}.example.com"}).status

        assert set(threads.map(move, range(80))) == {200}


def test_a_store_that_goes_is_told_of_and_comes_back(redis_url: str, tmp_path: Path) -> None:
    with MockServer(store=redis_url, store_prefix=str(tmp_path)) as server:
        client = Client(over_network(server.base_url))
        assert client.get("/api/domains/1").status == 200
        database: Any = redis.Redis.from_url(redis_url)
        database.execute_command("CLIENT", "PAUSE", "7000", "ALL")
        with suppress(redis.RedisError):
            paused = [client.get("/api/domains/1") for _ in range(1)]
            assert [(each.status, each.json["errors"][0]["status"]) for each in paused] == [(503, 503)]
        wait_for(lambda: client.get("/api/domains/1").status == 200)


def test_a_store_that_hangs_holds_one_client_and_the_others_fail_at_once(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MockServer(store=redis_url, store_prefix=str(tmp_path)) as server:
        client = Client(over_network(server.base_url))
        assert client.get("/api/domains/1").status == 200
        monkeypatch.setattr("mock_server.shared.store.SECONDS_OF_REST", 3600)
        database: Any = redis.Redis.from_url(redis_url)
        database.execute_command("CLIENT", "PAUSE", "6000", "ALL")
        assert client.get("/api/domains/1").status == 503
        with patch.object(redis.Connection, "send_packed_command") as sent:
            assert [client.get("/api/domains/1").status for _ in range(20)] == [503] * 20
    assert not sent.called


@pytest.mark.parametrize("head", [b"{", b"\xff", b"[]", b'{"epoch": "1"}'])
def test_a_damaged_head_is_told_of_and_mended_by_a_reset(redis_url: str, tmp_path: Path, head: bytes) -> None:
    database: Any = redis.Redis.from_url(redis_url)
    more: dict[str, Any] = {"store": redis_url, "store_prefix": str(tmp_path)}
    with MockServer(**more) as server:
        client = Client(over_network(server.base_url))
        database.set(f"{tmp_path}:head", head)
        title = client.get("/api/domains/1").json["errors"][0]["title"]
        assert title == (
            f'The store holds something under "{tmp_path}:head" that no mock wrote; reset the mock, or delete that key.'
        )
        assert requests.get(f"{server.origin}/_mock/state", timeout=60).status_code == 503
        with pytest.raises(StoreError, match="that no mock wrote"):
            MockServer(**more)
        assert requests.post(f"{server.origin}/_mock/reset", timeout=60).status_code == 200
        assert client.get("/api/domains/1").status == 200
        with MockServer(**more) as other:
            assert Client(over_network(other.base_url)).get("/api/domains/1").status == 200


def test_a_full_store_still_answers_reads(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as store, MockServer(store=store.url, store_lifetime=3600) as server:
        client, sandbox = (Client(over_network(server.base_url), key) for key in (HARBOUR, "sandbox-a"))
        assert sandbox.get("/api/domains/1").status == 200
        database: Any = redis.Redis.from_url(store.url)
        database.config_set("maxmemory", "1")
        for each in (client, sandbox):
            assert each.get("/api/domains/?results_per_page=10").status == 200
            refused = each.post("/api/domains", {"host": "full.example.com"})
            assert refused.status == 503
            assert refused.json["errors"][0]["title"].startswith("The store behind this mock is full: ")
        database.config_set("maxmemory", "0")
        assert client.post("/api/domains", {"host": "full.example.com"}).status == 201


def test_bounds_hold_for_all_processes_together(
    pair: tuple[MockServer, MockServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (server.running for server in pair)
    for number in range(19):
        one.fixtures.keep(f"kept-{number}")
    assert len(other.fixtures.snapshots) == 19
    one.fixtures.snapshots["one"] = "accounts: []"  # past the check, as if both had found room at once
    with pytest.raises(SettingsError, match="there may be 20 snapshots, of 64 MiB together; delete one"):
        other.fixtures.snapshots["other"] = "accounts: []"
    one.fixtures.snapshots["one"] = "now: 2024-01-01 00:00:00"
    monkeypatch.setattr("mock_server.shared.journal.LIMIT", 5000)
    files = [(one, other)[number % 2].mock.forms.uploads.add("a", "image/png", b"x" * 1000) for number in range(5)]
    assert [one.mock.forms.uploads.content(file) is not None for file in files] == [False, False, False, True, True]
    one.journal.most_entries = other.journal.most_entries = 3
    for number in range(5):
        (one, other)[number % 2].app.test_client().get("/api/domains/1")
    assert len(other.journal.find()) == 3
    account = other.mock.accounts.get(HARBOUR)
    assert account
    monkeypatch.setattr("mock_server.store.accounts.MAX_ACCOUNT_BYTES", 2000)
    add = partial(account.collections["domains"].add, lambda number: {"host": f"{number}.com"}, datetime.now)
    add()
    before = account.collections["domains"].total
    with pytest.raises(Refusal, match="This account would take over 0 MiB"):
        add()
    assert account.collections["domains"].total == before


def test_the_password_of_a_store_is_not_shown(redis_url: str, tmp_path: Path) -> None:
    url = redis_url.replace("//", "//default:Kolibri@")  # which it takes, as it asks for none
    with MockServer(store=url, store_prefix=str(tmp_path)) as server:
        assert "Store        redis://" in banner(server)
        assert "Kolibri" not in banner(server) + ready(server)


def test_processes_that_make_sandboxes_at_once_keep_within_their_bound(redis_url: str, tmp_path: Path) -> None:
    more: dict[str, Any] = {"store": redis_url, "store_prefix": str(tmp_path), "sandboxes": 5}
    pair = [MockServer(**more).running.mock.accounts for _ in range(2)]
    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(lambda number: pair[number % 2].get(f"sandbox-{number}"), range(100)))
    assert all(opened)
    assert len(pair[0].sandboxes) == 5


def test_a_follower_reads_what_is_new_alone(pair: tuple[MockServer, MockServer]) -> None:
    with pair[0] as one:
        client, running = Client(over_network(one.base_url)), one.running
        for _ in range(5):
            client.get("/api/domains/1")
        following = running.journal.follow(60, after="4")
        with patch.object(SharedJournal, "_ask_for", autospec=True, side_effect=SharedJournal._ask_for) as asked:  # noqa: SLF001
            entry = next(following)
    assert entry
    assert [entry.number, *asked.call_args.args[1:]] == [5, "entries", range(5, 6)]


def test_a_mock_whose_store_has_gone_says_so_when_it_stops(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as store, running("--store", store.url) as (process, lines):
        assert Client(over_network(lines[0].split()[-1])).get("/api/domains/1").status == 200
        store.kill()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 1
        assert process.stdout
        assert process.stdout.read().endswith("The store does not answer, so nothing can be said of the requests.\n")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--workers", "2"), "--workers goes with --store URL; give both"),
        (("--store", "redis://u:secret@127.0.0.1:1/0"), "the store redis://127.0.0.1:1/0 cannot be used: "),
        (("--store", "redis://u:secret/x?#y@127.0.0.1:1/0"), "the store redis://127.0.0.1:1/0 cannot be used: "),
        (("--store", "redis://127.0.0.1:1/0?foo=1"), "the store redis://127.0.0.1:1/0 cannot be used: "),
        (("--store", "redis://127.0.0.1:1/0?max_connections=x"), "the store redis://127.0.0.1:1/0 cannot be used: "),
        (("--store", "http://localhost"), "the store http://localhost cannot be used: "),
        (("--store", "redis://127.0.0.1:1", "--workers", "0"), "'--workers': 0 is not in the range 1<=x<=64"),
        (("--store", "redis://127.0.0.1:1", "--store-prefix", "a:b"), 'invalid prefix "a:b": expected letters'),
        (("--store", "redis://127.0.0.1:1", "--forward-to", "http://127.0.0.1:2"), "--store does not apply: "),
    ],
)
def test_what_cannot_be_is_told_in_one_line(options: tuple[str, ...], told: str) -> None:
    said = failure(*options)
    assert said.count("\n") == 1
    assert told in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        (("--fixture", "empty"), "fixture is 'demo'"),
        (("--open", "create-status=200"), "choices is {}"),
        (("--defect", "total-is-one-more"), "defects is ()"),
        (("--condition", "latency=0.1"), "conditions is {}"),
    ],
    ids=["records", "choices", "defects", "conditions"],
)
def test_a_mock_that_starts_otherwise_does_not_share(
    redis_url: str, tmp_path: Path, options: tuple[str, ...], setting: str
) -> None:
    with MockServer(store=redis_url, store_prefix=str(tmp_path)):
        said = failure("--store", redis_url, "--store-prefix", str(tmp_path), *options)
    assert f"the store holds a mock whose {setting}; give the same options, or another --store-prefix" in said
