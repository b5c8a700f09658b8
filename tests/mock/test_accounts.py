from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

import pytest
from walk import RESOURCES, Resource
from wire import ALPINE, HARBOUR, Client, in_process, mock

from mock_server.control.instance import Instance
from mock_server.shared.accounts import SharedAccount
from mock_server.store.accounts import MemoryAccount

SHARED = pytest.mark.usefixtures("store")  # for what a store in Redis does in code of its own


@contextmanager
def disabled_collector() -> Iterator[None]:
    """What is freed now is in no cycle."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def account() -> Callable[..., Client]:
    """A client for a key, all of one server."""
    send = in_process(mock(api_keys=("mine",), sandboxes=3))
    return lambda key: Client(send, key)


def names(client: Client, path: str = "/api/splash-pages/") -> list[str]:
    return [record["name"] for record in client.get(f"{path}?results_per_page=1000").json["data"]]


@SHARED
@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.name)
def test_an_account_neither_shows_nor_changes_anothers_records(
    account: Callable[..., Client], resource: Resource
) -> None:
    ours, theirs = account(HARBOUR), account(ALPINE)
    record = f"{resource.path}/{ours.create(resource.create_path, resource.most)}"
    seen = ours.get(record).json
    total = theirs.get(f"{resource.path}/").json["meta"]["total"]
    assert [theirs.get(record).status, theirs.post(record, resource.change).status, theirs.delete(record).status] == [
        404
    ] * 3
    assert ours.get(record).json == seen
    assert theirs.get(f"{resource.path}/").json["meta"]["total"] == total


@pytest.mark.parametrize("key", [None, "", "wrong", HARBOUR[:-1], f"{HARBOUR}x", HARBOUR.upper()])
def test_a_stranger_is_refused_with_the_rule_that_helps(account: Callable[..., Client], key: str | None) -> None:
    stranger = account(key)
    for answer in (stranger.get("/api/domains/"), stranger.get("/api/domains/1"), stranger.delete("/api/domains/1")):
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.json["errors"][0]["rule"] == "accounts.bearer-key-is-accepted"


@pytest.mark.parametrize("header", ["Basic {}", "{}", "Bearer", "Bearer{}", "Token {}", "Bearer {} x"])
def test_another_scheme_is_refused(account: Callable[..., Client], header: str) -> None:
    answer = account(None).request("GET", "/api/domains/", headers={"Authorization": header.format(HARBOUR)})
    assert answer.status == 401


@SHARED
def test_a_sandbox_starts_as_a_copy_of_the_fixture_and_stays_apart(account: Callable[..., Client]) -> None:
    first, second = account("sandbox-1"), account("sandbox-2")
    before = names(account(HARBOUR))
    first.create("/api/projects", {"name": "Only in the first"})
    second.delete("/api/splash-pages/1")
    assert names(account(HARBOUR)) == before
    assert names(first) == ["Only in the first", *before]
    assert names(second) == before[:-1]


@SHARED
def test_sandboxes_are_told_the_same_whatever_others_do(account: Callable[..., Client]) -> None:
    answers = []
    for key in ("sandbox-1", "sandbox-2"):
        identifier = account(key).create("/api/projects", {"name": "a"})
        account(HARBOUR).create("/api/projects", {"name": "noise"})
        answers.append(account(key).get(f"/api/splash-pages/{identifier}").json)
    assert answers[0] == answers[1]


@SHARED
def test_the_sandbox_that_was_not_used_for_longest_goes_first(account: Callable[..., Client]) -> None:
    for key in ("mine", "sandbox-0", "sandbox-1", "sandbox-2"):
        account(key).create("/api/projects", {"name": "Kept"})
    assert names(account("sandbox-0"))[0] == "Kept"
    account("sandbox-3").get("/api/domains/")
    assert names(account("sandbox-0"))[0] == "Kept"
    assert names(account("sandbox-2"))[0] == "Kept"
    assert names(account("sandbox-1"))[0] != "Kept"
    assert names(account("mine"))[0] == "Kept"


@SHARED
def test_a_key_of_ones_own_opens_a_copy_of_the_fixture(account: Callable[..., Client]) -> None:
    account("mine").delete("/api/splash-pages/1")
    assert len(names(account("mine"))) + 1 == len(names(account(HARBOUR)))


@SHARED
def test_ids_are_never_given_again(account: Callable[..., Client]) -> None:
    ours, theirs = account(HARBOUR), account(ALPINE)
    given: list[int] = []
    for client in (ours, theirs, ours, theirs):
        given.append(client.create("/api/domains", {"host": f"{len(given)}.example.com"}))
        client.delete(f"/api/domains/{given[-1]}")
    assert len(set(given)) == 4
    assert given == sorted(given)


@SHARED
def test_a_host_is_registered_once_in_an_account_and_free_again_when_deleted(account: Callable[..., Client]) -> None:
    ours = account(HARBOUR)
    first = ours.create("/api/domains", {"host": "Twice.example.com"})
    second = ours.create("/api/domains", {"host": "other.example.com"})
    refused = ours.post("/api/domains", {"host": "twice.EXAMPLE.com"})
    assert (refused.status, refused.json["errors"][0]["field"]) == (409, "host")
    assert ours.post(f"/api/domains/{second}", {"host": "twice.example.com"}).status == 409
    assert ours.get(f"/api/domains/{second}").json["data"]["host"] == "other.example.com"
    assert ours.post(f"/api/domains/{first}", {"host": "TWICE.example.com"}).status == 200
    assert account(ALPINE).post("/api/domains", {"host": "twice.example.com"}).status == 201
    ours.delete(f"/api/domains/{first}")
    assert ours.post("/api/domains", {"host": "twice.example.com"}).status == 201


@SHARED
def test_an_account_holds_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.store.accounts.MAX_ACCOUNT_BYTES", 2 * 2**20)
    client = Client(in_process(mock()))
    text = "x" * (9 * 10**5)
    made = [client.post("/api/projects", {"name": f"Page {number}", "custom_css": text}) for number in range(3)]
    assert [answer.status for answer in made] == [201, 201, 413]
    assert "This account would take over 2 MiB" in made[2].json["errors"][0]["title"]
    client.delete(f"/api/splash-pages/{made[0].json['data']['id']}")
    again = client.create("/api/projects", {"name": "Again", "custom_css": text})
    assert client.post(f"/api/splash-pages/{again}", {"custom_js": text}).status == 413
    assert client.post(f"/api/splash-pages/{again}", {"custom_css": ""}).status == 200
    assert client.post(f"/api/splash-pages/{again}", {"custom_js": text}).status == 200


PAGE = {"name": "Page", "custom_css": "x" * 100_000}


@SHARED
def test_resets_keep_within_the_bound_of_sandboxes() -> None:
    app = mock(sandboxes=3)
    for number in range(5):
        app.reset_account(f"sandbox-{number}")
    assert list(app.mock.accounts.sandboxes) == ["sandbox-2", "sandbox-3", "sandbox-4"]


@SHARED
def test_the_least_recently_used_sandboxes_go_when_all_take_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.store.accounts.MAX_TOTAL_BYTES", 300_000)
    send = in_process(mock())
    for number in range(3):
        Client(send, f"sandbox-{number}").create("/api/projects", PAGE)
    totals = [Client(send, f"sandbox-{number}").get("/api/splash-pages/").json["meta"]["total"] for number in range(3)]
    assert totals == [58, 59, 59]


@SHARED
def test_where_nobody_gives_way_a_write_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.store.accounts.MAX_TOTAL_BYTES", 250_000)
    send = in_process(mock())
    made = [Client(send).post("/api/projects", PAGE).status for _ in range(3)]
    assert made == [201, 201, 413]
    assert Client(send, "sandbox-a").post("/api/projects", PAGE).status == 413
    assert Client(send, "sandbox-a").post("/api/domains", {"host": "small.example.com"}).status == 201


def written(app: Instance, key: str) -> int:
    account = app.mock.accounts.get(key)
    if isinstance(account, MemoryAccount):
        return account.written_bytes
    assert isinstance(account, SharedAccount)
    backend = vars(app.backend)
    store: Any = backend["_store"]
    return int(store.ask("HGET", f"{store.prefix}:{backend['_epoch']}:written", str(account.number)) or 0)


@SHARED
def test_sandboxes_share_their_records_until_they_write() -> None:
    app = mock(records=500)
    ours, theirs = Client(in_process(app), "sandbox-ours"), Client(in_process(app), "sandbox-theirs")
    assert ours.get("/api/domains/").json["meta"]["total"] == theirs.get("/api/domains/").json["meta"]["total"] == 554
    assert written(app, "sandbox-ours") == 0
    ours.delete("/api/domains/1")
    assert written(app, "sandbox-ours") > 0
    assert ours.get("/api/domains/1").status == 404
    assert Client(in_process(app)).delete("/api/domains/2").status == 200
    assert [theirs.get(f"/api/domains/{number}").status for number in (1, 2)] == [200, 200]
    assert written(app, "sandbox-theirs") == 0


@SHARED
def test_copies_of_many_records_count_for_sandboxes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("mock_server.store.collection", "mock_server.shared.collection"):
        monkeypatch.setattr(f"{module}.BYTES_PER_RECORD", 2**20)
    app = mock(records=30)
    made = [
        Client(in_process(app), key).post("/api/domains", {"host": "x.example.com"}) for key in (HARBOUR, "sandbox-a")
    ]
    assert [answer.status for answer in made] == [201, 413]


def test_a_key_of_a_sandbox_has_200_characters_at_most() -> None:
    send = in_process(mock())
    assert Client(send, "sandbox-".ljust(200, "x")).get("/api/domains/1").status == 200
    assert Client(send, "sandbox-".ljust(201, "x")).get("/api/domains/1").status == 401


@SHARED
def test_what_a_defect_remembers_goes_with_its_sandbox() -> None:
    app = mock(conditions={"rate-limit": 2}, sandboxes=1)
    client, other = Client(in_process(app), "sandbox-1"), Client(in_process(app), "sandbox-2")
    assert [client.get("/api/domains/1").status for _ in range(3)] == [200, 200, 429]
    assert other.get("/api/domains/1").status == 200
    assert client.get("/api/domains/1").status == 200


def test_an_account_that_goes_is_freed_at_once() -> None:
    app = mock(sandboxes=1)
    accounts = app.mock.accounts
    account = accounts.get("sandbox-1")
    assert account
    gone = ref(account.collections["domains"])
    del account
    with disabled_collector():
        accounts.get("sandbox-2")
        assert gone() is None
