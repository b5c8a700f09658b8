"""A recording and a profile make a mock that stands in for the deployment they were made of."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from independent import IndependentServer
from shell import ENVIRONMENT, command, failure, running
from upstream import Upstream, answer, serving
from walk import RESOURCES, Resource
from wire import ALPINE, HARBOUR, Answer, Client, over_network

from link_management_contract import shipped_contract
from mock_server import MockServer
from mock_server.forwarding.recording import FixtureRecording
from mock_server.output import recorded
from mock_server.settings.documents import write_document

FEWER = ("--explore", "0", "--lag", "0")
DOCUMENTED = {name: list(resource.record_schema) for name, resource in shipped_contract().resources.items()}
SIZES = "?results_per_page=100"
RECORDED = {"CONTRACT_API_KEY": "recorded-key-1", "CONTRACT_SECOND_API_KEY": "recorded-key-2"}


def stopped(process: subprocess.Popen[str]) -> str:
    """What the command prints once it is interrupted."""
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=120)
    return told


def seen(client: Client, ids: list[int]) -> Iterator[tuple[str, Any]]:
    """A client's walk: what it asked, and what it was answered, save for ids, times and texts."""
    for each in RESOURCES:
        for query in ("", SIZES, "?results_per_page=10&page=2", "?page=99", "?page=x", "?results_per_page=7"):
            yield f"list {each.name} {query}", shape(each, client.get(f"{each.path}/{query}"))
        for identifier in ids:
            yield f"read {each.name} {identifier}", shape(each, client.get(f"{each.path}/{identifier}"))
        yield f"create {each.name}", written(client.post(each.create_path, each.least))
        yield f"refused create {each.name}", written(client.post(each.create_path, {}))
        yield f"update {each.name}", written(client.post(f"{each.path}/{ids[0]}", each.change))
        yield f"read again {each.name}", shape(each, client.get(f"{each.path}/{ids[0]}"))
        yield f"delete {each.name}", client.delete(f"{each.path}/{ids[0]}").status
        yield f"read what is gone {each.name}", shape(each, client.get(f"{each.path}/{ids[0]}"))
        yield f"refused {each.name}", shape(each, Client(client.send, "nobodys-key").get(f"{each.path}/{ids[1]}"))


def shape(resource: Resource, given: Answer) -> Any:
    """An answer without ids, times and texts, as far as it is documented; only the status if it shows no record."""
    body = decoded(given)
    if not body.get("data"):
        return given.status, "nothing shown"  # and the links of a page past the end may be anything
    meta = {name: body.get("meta", {}).get(name) for name in ("page", "results_per_page", "total", "total_pages")}
    links = {name: re.sub(".*=", "", link or "none") for name, link in body.get("links", {}).items()}
    rows = body["data"] if isinstance(body["data"], list) else [body["data"]]
    names = DOCUMENTED[resource.name]
    outlines = [{name: outline(name, row[name]) for name in names} for row in rows]
    return given.status, given.headers["Content-Type"].partition(";")[0], outlines, meta, links


def written(given: Answer) -> Any:
    """Whether a write was carried out, and its status."""
    data = decoded(given).get("data")
    return given.status, isinstance(data, dict) and type(data.get("id"))


def decoded(given: Answer) -> dict[str, Any]:
    try:
        body = json.loads(given.body)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def outline(name: str, value: Any) -> Any:
    if name == "settings":
        return {key: type(each).__name__ for key, each in value.items()}
    return value if name in ("is_enabled", "type") else type(value).__name__


ODD = {
    "create-status": "200",
    "settings-keys": "generic",
    "unknown-id": "410",
    "error-body": "problem",
    "order": "newest-first",
    "size-not-allowed": "nearest",
}


@contextmanager
def a_mock() -> Iterator[str]:
    with MockServer(choices=ODD) as server:
        yield server.base_url


DEPLOYMENTS: dict[str, tuple[Callable[[], AbstractContextManager[str]], set[str]]] = {
    # HTTP:// is no value that a mock knows; the records were all made within a second, so that two orders fit.
    "on another stack": (lambda: serving(IndependentServer(30)), {"domain-scheme", "order"}),
    "that chose otherwise": (a_mock, set()),
}


@pytest.mark.slow
@pytest.mark.parametrize("options", [FEWER, pytest.param((), marks=pytest.mark.exhaustive)], ids=["fixed", "explored"])
@pytest.mark.parametrize(("made", "unlike"), DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_a_stand_in_answers_a_clients_walk_as_the_deployment_did(
    tmp_path: Path, made: Callable[[], AbstractContextManager[str]], unlike: set[str], options: tuple[str, ...]
) -> None:
    recording = tmp_path / "recording.yaml"
    with made() as there:
        ran = command("run", "--base-url", there, *options, "--report-dir", tmp_path / "deployment")
        assert ran.returncode == 0, ran.stdout
        with running("forward", there, "--record", str(recording)) as (process, lines):
            send = over_network(lines[0].split()[2].rstrip(","))
            ids = [row["id"] for row in Client(send).get(f"/api/domains/{SIZES}").json["data"]]
            for key in (HARBOUR, ALPINE):
                for resource in RESOURCES:
                    assert Client(send, key).get(f"{resource.path}/{SIZES}").status == 200
            told = stopped(process)
        assert f"Wrote {recording}. Serve it: mock-server --fixture {recording}" in told
        assert re.search(r"account 1, domains: (\d+) of \1 records", told)
        expected = list(seen(Client(over_network(there)), ids[-3:]))
    profile = tmp_path / "deployment" / "profile.yaml"
    with running("--fixture", str(recording), "--profile", str(profile)) as (_, lines):
        here = lines[0].split()[2]
        ran = command("run", "--base-url", here, *options, "--report-dir", tmp_path / "stand-in", **RECORDED)
        assert ran.returncode == 0, ran.stdout
        walked = list(seen(Client(over_network(here), "recorded-key-1"), ids[-3:]))
    for each, other in zip(walked, expected, strict=True):
        assert each == other
    compared = command("compare", tmp_path / "deployment", tmp_path / "stand-in", "--json", tmp_path / "c.json")
    differences = json.loads((tmp_path / "c.json").read_text())
    not_met = {"pass", "not applicable"}  # the two, where one server answers otherwise what the rule is about
    differing = {each["name"].partition("[")[0] for each in differences["rules"] if not set(each["values"]) <= not_met}
    assert differing <= {"lifecycle.ids-are-not-used-again"}, compared.stdout  # the stand-in counts in its own way
    seen_in_both = [each for each in differences["open_points"] if "not seen" not in each["values"]]  # for want of time
    assert {each["name"] for each in seen_in_both if not each["same"]} <= unlike, compared.stdout


PRIVATE = {
    "splash-pages": [{"id": 4, "name": "Jane's 2 Pages", "color": "#a1b2c3", "datetime": "2026-01-02 03:04:05"}],
    "domains": [
        {"id": 7, "scheme": "https://", "host": "secret.jane.org", "custom_index_url": "https://jane.org/Ab1?x=9"},
        {"id": 8, "scheme": "ftp", "host": "b.jane.org", "custom_index_url": "", "is_enabled": "yes", "x": "y"},
    ],
    "notification-handlers": [
        {"id": 1, "type": "telegram", "name": "N", "settings": {"token": "123:abc", "chat": "-55"}, "is_enabled": True},
        {"id": 2, "type": "email", "name": "N", "settings": {"email": "jane@jane.org"}, "last_datetime": None},
        {"id": 3, "type": "pager", "name": "N", "settings": {"pager": "1"}},
        {"id": 5, "type": "slack", "name": "M", "settings": {"hook": "https://hooks.jane.org/T0"}},
    ],
}


@pytest.fixture
def sightings() -> FixtureRecording:
    made = FixtureRecording(shipped_contract(), "")
    for resource, rows in PRIVATE.items():
        body = json.dumps({"data": rows, "meta": {"total": 9}}).encode()
        made.learn("account 1", {"REQUEST_METHOD": "GET", "PATH_INFO": f"/api/{resource}/"}, 200, body)
    return made


def records(fixture: dict[str, Any], resource: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = fixture["accounts"][0]["records"][resource]
    return rows


def test_a_recording_shows_what_there_was_and_not_whose_it_was(sightings: FixtureRecording) -> None:
    fixture = sightings.fixture()
    assert "jane" not in json.dumps(fixture).casefold()
    (page,) = records(fixture, "splash-pages")
    assert re.fullmatch(r"[A-Z][a-z]{3}'[a-z] \d [A-Z][a-z]{4}", page["name"])
    assert (page["color"], page["datetime"]) == ("#a1b2c3", "2026-01-02 03:04:05")
    first, second = records(fixture, "domains")
    assert re.fullmatch(r"[a-z]{6}\.example\.com", first["host"])
    assert re.fullmatch(r"https://[a-z]{4}\.example\.com/[A-Z][a-z]\d\?[a-z]=\d", first["custom_index_url"])
    assert "is_enabled" not in second  # it was no boolean
    telegram, email, slack = records(fixture, "notification-handlers")
    assert telegram["name"] == email["name"] != slack["name"]
    assert re.fullmatch(r"\d{3}:[a-z]{3}", telegram["telegram"])
    assert re.fullmatch(r"-\d\d", telegram["telegram_chat_id"])
    assert re.fullmatch(r"[a-z]{4}@[a-z]{4}\.example\.com", email["email"])
    assert re.fullmatch(r"https://[a-z]{5}\.example\.com/[A-Z]\d", slack["slack"])
    assert fixture["now"] == "2026-01-02 03:04:05"
    assert sightings.fixture() != fixture  # nobody can tell what a text was
    with MockServer(fixture=fixture):
        pass


def test_a_recording_is_bounded_in_bytes_and_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("mock_server.forwarding.recording.MAX_BYTES", 3000)
    made = FixtureRecording(shipped_contract(), "")
    for number in (*range(1, 9), 1, 2):
        body = json.dumps({"data": {"id": number, "name": "n" * 900}}).encode()
        made.learn("account 1", {"REQUEST_METHOD": "GET", "PATH_INFO": f"/api/splash-pages/{number}"}, 200, body)
    assert [row["id"] for row in records(made.fixture(), "splash-pages")] == [1, 2, 3]
    made.learn("account 1", {"REQUEST_METHOD": "DELETE", "PATH_INFO": "/api/splash-pages/2"}, 200, b"")
    body = json.dumps({"data": {"id": 8, "name": "n" * 900}}).encode()
    made.learn("account 1", {"REQUEST_METHOD": "GET", "PATH_INFO": "/api/splash-pages/8"}, 200, body)
    assert [row["id"] for row in records(made.fixture(), "splash-pages")] == [1, 3, 8]
    (tmp_path / "recording.yaml").write_text("an earlier one")
    recorded(tmp_path / "recording.yaml", made, verbatim=True)
    assert (tmp_path / "recording.yaml").stat().st_mode & 0o777 == 0o600


def test_verbatim_it_holds_the_texts_themselves(sightings: FixtureRecording) -> None:
    fixture = sightings.fixture(verbatim=True)
    assert records(fixture, "domains")[0]["host"] == "secret.jane.org"
    assert records(fixture, "notification-handlers")[0]["telegram"] == "123:abc"
    assert fixture["accounts"][0]["api_key"] == "recorded-key-1"
    with MockServer(fixture=fixture) as server:
        got = Client(over_network(server.base_url), "recorded-key-1").get("/api/domains/8")
        assert got.json["data"]["host"] == "b.jane.org"


def test_many_short_texts_stay_different(sightings: FixtureRecording) -> None:
    rows = [{"id": number, "host": f"{chr(97 + number % 26)}.{number}.org"} for number in range(1, 200)]
    body = json.dumps({"data": rows}).encode()
    sightings.learn("account 2", {"REQUEST_METHOD": "GET", "PATH_INFO": "/api/domains/"}, 200, body)
    fixture = sightings.fixture()
    hosts = [row["host"] for row in fixture["accounts"][1]["records"]["domains"]]
    assert len(set(hosts)) == len(hosts) == 199
    with MockServer(fixture=fixture):
        pass


def test_what_a_fixture_cannot_hold_is_left_out(sightings: FixtureRecording) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 20, "host": "a.org", "datetime": "9999-01-01 00:00:00"},
        {"id": 21, "host": "A.org"},
        {"id": 22, "host": "h\ud800x.de"},
    ]
    sightings.learn(
        "account 1",
        {"REQUEST_METHOD": "GET", "PATH_INFO": "/api/domains/"},
        200,
        json.dumps({"data": rows}).encode(),
    )
    text = write_document(sightings.fixture())
    text.encode()
    assert [row["id"] for row in records(sightings.fixture(), "domains")] == [7, 8, 20]
    with MockServer(fixture=sightings.fixture()):
        pass


NOTHING_SHOWN = [
    (b"{", 200, "/api/domains/"),
    (b"[" * 100_000, 200, "/api/domains/"),
    (b'{"data": [1, null, {"id": true}, {"id": -1, "host": "a"}, {"id": 1e99, "host": "a"}]}', 200, "/api/domains/"),
    (b'{"data": {"id": 1, "host": 5}}', 200, "/api/domains/1"),
    (b'{"data": [{"id": 1, "host": "a"}]}', 500, "/api/domains/"),
    (b'{"data": [{"id": 1, "host": "a"}]}', 200, "/api/others/"),
    (b'{"data": {"id": 1, "host": "a"}}', 200, "/api/domains/" + "9" * 10_000),
]


@pytest.mark.parametrize(("body", "status", "path"), NOTHING_SHOWN)
def test_what_shows_no_record_is_not_recorded(body: bytes, status: int, path: str) -> None:
    made = FixtureRecording(shipped_contract(), "")
    made.learn("account 1", {"REQUEST_METHOD": "GET", "PATH_INFO": path}, status, body)
    assert sum(shown for _, _, shown, _ in made.counts) == 0


def test_what_is_deleted_is_forgotten(sightings: FixtureRecording) -> None:
    sightings.learn("account 1", {"REQUEST_METHOD": "DELETE", "PATH_INFO": "/api/domains/7"}, 204, b"")
    assert [row["id"] for row in records(sightings.fixture(), "domains")] == [8]


class TestCommand:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--read-only"], "--read-only goes with `mock-server forward URL`; give both"),
            (["--record", "a.yaml"], "--record goes with `mock-server forward URL`; give both"),
            (
                ["--forward-to", "example.com"],
                'invalid base URL "example.com" to forward to: expected something like https://',
            ),
            (["--forward-to", "https://user:pass@example.com"], "invalid base URL"),
            (["--forward-to", "http://127.0.0.1:1", "--defect", "null-data"], "--defect does not apply: requests are"),
            (["--forward-to", "http://127.0.0.1:1", "--fixture", "empty"], "--fixture does not apply: requests are"),
            (["--forward-to", "http://127.0.0.1:1", "--records", "5"], "--records does not apply: requests are"),
            (["--forward-to", "http://127.0.0.1:1", "--grease", "0"], "--grease does not apply: requests are"),
            (["--forward-to", "http://127.0.0.1:1", "--condition", "quota=3"], '"quota" does not apply in front of'),
            (["--forward-to", "http://127.0.0.1:1", "--verbatim"], "--verbatim goes with --record FILE; give both"),
            (["--forward-to", "http://127.0.0.1:1", "--client-key", "k"], "--client-key goes with --client-cert FILE"),
            (["--forward-to", "http://127.0.0.1:1", "--timeout", "0"], "the timeout is 0; give seconds, more than 0"),
            (["--forward-to", "http://127.0.0.1:1", "--timeout", "x"], "'--timeout': 'x' is not a valid float"),
            (["--forward-to", "https://a.example.com", "--ca-bundle", "none.pem"], "none.pem cannot be used as a CA"),
            (["--forward-to", "http://127.0.0.1:99999"], '"http://127.0.0.1:99999" has no valid port'),
            (["--har", "a", "--journal", "0"], "--har needs a journal; leave --journal 0 out"),
            (["--forward-to", "http://127.0.0.1:1", "--har", "a", "--record", "a"], "name the same file; give two"),
            (["--har", "/nowhere/a.har"], "/nowhere/a.har cannot be written; give a file in a folder that exists"),
        ],
    )
    def test_a_mistake_is_told_in_one_line(self, options: list[str], message: str) -> None:
        told = failure(*options)
        assert message in told
        assert told.count("\n") == 1

    def test_what_is_unsafe_is_said_at_the_start(self) -> None:
        with running("forward", "https://localhost:1", "--insecure", "--host", "0.0.0.0") as (_, lines):
            text = "".join(lines)
        assert "WARNING      --insecure" in text
        assert "WARNING      others can reach this server" in text

    def test_an_archive_of_a_mock_is_judged_too(self, tmp_path: Path) -> None:
        har = tmp_path / "mock.har"
        with running("--har", str(har), "--defect", "total-is-one-more") as (process, lines):
            client = Client(over_network(lines[0].split()[2]))
            assert client.get("/api/domains/").status == 200
            assert client.get("/api/domains/3").status in (200, 404)
            told = stopped(process)
        assert f"Wrote {har}. Judge it: contract-tests judge {har}" in told
        judged = command("judge", har, **ENVIRONMENT)
        assert "2 of 2 exchanges are with" in judged.stdout

    def test_a_disk_that_is_full_at_the_end_is_told(self) -> None:
        with (
            Upstream(answer()) as up,
            running("--forward-to", up.url, "--har", "/dev/full") as (process, lines),
        ):
            assert requests.get(f"{lines[0].split()[2].rstrip(',')}/api/domains/", timeout=60).ok
            assert "/dev/full cannot be written: No space left on device" in stopped(process)
            assert process.returncode == 1
