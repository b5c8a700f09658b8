"""What the server does to requests that it forwards: forced answers, preferences, conditions; and what it keeps."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from upstream import Upstream, answer, kept

from mock_server import MockServer
from mock_server.effects.conditions import CONDITIONS
from mock_server.errors import SettingsError
from mock_server.http.masking import UNREADABLE
from mock_server.settings.settings import Deployment

KEY = {"Authorization": "Bearer the-key-of-a-deployment"}
RECORD = b'{"data": {"id": 1, "host": "go.example.com", "token": "t", "note": "the-key-of-a-deployment"}}'


def in_front(up: Upstream, **settings: Any) -> MockServer:
    return MockServer(deployment=Deployment(url=up.url, timeout=5), **settings)


@pytest.fixture
def up() -> Iterator[Upstream]:
    with Upstream(answer(RECORD)) as upstream:
        yield upstream


@pytest.fixture
def server(up: Upstream) -> Iterator[MockServer]:
    with in_front(up) as running:
        yield running


def get(server: MockServer, path: str = "/api/domains/1", **headers: str) -> requests.Response:
    return requests.get(server.base_url + path, headers=KEY | headers, timeout=60)


@pytest.mark.parametrize("origins", [(), ("http://localhost:5173",)])
def test_a_page_that_may_not_call_sends_nothing_to_the_deployment(up: Upstream, origins: tuple[str, ...]) -> None:
    with in_front(up, cors_origins=origins) as server:
        url, form = f"{server.base_url}/api/domains", {"host": "go.example.com"}
        for origin in ("http://evil.example.com", "null"):
            assert requests.post(url, form, headers={"Origin": origin}, timeout=60).status_code == 403
        assert requests.post(url, form, headers={"Host": "evil.example.com"}, timeout=60).status_code == 421
        for fetch_site in ("cross-site", "same-site"):  # of what reads and names no origin; or of another scheme
            for headers in ({}, {"Origin": server.origin.replace("http:", "https:")}):
                assert get(server, **{"Sec-Fetch-Site": fetch_site}, **headers).status_code == 403
        assert up.requests == []
        assert get(server, **{"Sec-Fetch-Site": "none"}).ok  # typed by a person
        for origin in (server.origin, *origins):
            site = "cross-site" if origin in origins else "same-origin"
            assert requests.post(url, form, headers={"Origin": origin, "Sec-Fetch-Site": site}, timeout=60).ok
        assert requests.post(url, form, timeout=60).ok


class TestPreferences:
    def test_an_answer_is_given_here(self, server: MockServer, up: Upstream) -> None:
        got = get(server, Prefer="code=503")
        assert (got.status_code, got.headers["preference-applied"]) == (503, "code=503")
        assert got.headers["proxy-status"].startswith("mock-server")
        assert up.requests == []

    def test_the_deployments_answer_is_held_back(self, server: MockServer) -> None:
        began = time.monotonic()
        got = get(server, Prefer="delay=0.3")
        assert time.monotonic() - began >= 0.3
        assert (got.content, got.headers["preference-applied"]) == (RECORD, "delay=0.3")

    @pytest.mark.parametrize(("when", "times"), [("before", 0), ("after", 1)])
    def test_an_answer_is_lost(self, server: MockServer, up: Upstream, when: str, times: int) -> None:
        with pytest.raises(requests.RequestException):
            get(server, Prefer=f"lost={when}")
        assert len(up.requests) == times
        (entry,) = kept(server)
        assert (entry.status, entry.broken) == (None, "dropped")

    def test_a_defect_is_refused_with_the_reason(self, server: MockServer, up: Upstream) -> None:
        got = get(server, Prefer="defect=null-data")
        assert got.status_code == 400
        assert up.requests == []

    def test_one_that_is_unknown_is_refused(self, server: MockServer, up: Upstream) -> None:
        assert get(server, Prefer="speed=11").status_code == 400
        assert up.requests == []


class TestForced:
    def force(self, server: MockServer, **given: Any) -> None:
        assert requests.post(f"{server.origin}/_mock/forced", json=given, timeout=60).ok

    def test_an_answer_of_its_own(self, server: MockServer, up: Upstream) -> None:
        self.force(server, status=503, body={"errors": []}, headers={"Retry-After": "7"}, path="/api/domains*")
        got = get(server)
        assert (got.status_code, got.headers["retry-after"], got.json()) == (503, "7", {"errors": []})
        assert up.requests == []
        assert get(server).content == RECORD

    def test_headers_upon_the_deployments_answer(self, server: MockServer) -> None:
        self.force(server, prefer="delay=0.01", headers={"X-Forced": "yes", "Content-Type": "text/plain"})
        got = get(server)
        assert (got.content, got.headers["x-forced"]) == (RECORD, "yes")

    def test_a_status_of_200_is_forced_too(self, server: MockServer, up: Upstream) -> None:
        self.force(server, status=200, body={"data": []})
        assert get(server).json() == {"data": []}
        assert up.requests == []

    def test_an_account_is_named_by_its_key_too(self, server: MockServer) -> None:
        self.force(server, status=500, account="the-key-of-another")
        assert "the-key" not in requests.get(f"{server.origin}/_mock/forced", timeout=60).text
        assert get(server).ok
        assert get(server, Authorization="Bearer the-key-of-another").status_code == 500

    def test_a_defect_is_refused_at_once(self, server: MockServer) -> None:
        given = {"prefer": "defect=total-is-one-more"}
        assert requests.post(f"{server.origin}/_mock/forced", json=given, timeout=60).status_code == 400
        assert get(server).ok

    def test_on_the_requests_of_one_account(self, server: MockServer) -> None:
        get(server)
        self.force(server, status=500, account="account 2")
        assert get(server).ok
        assert get(server, Authorization="Bearer another").status_code == 500


class TestConditions:
    @pytest.mark.parametrize("name", [name for name, each in CONDITIONS.items() if not each.travels])
    def test_those_that_need_records_are_refused(self, up: Upstream, name: str) -> None:
        with pytest.raises(SettingsError, match=f'"{name}" does not apply in front of a deployment; these do: '):
            in_front(up, conditions={name: CONDITIONS[name].amounts[0]})

    def test_latency_and_late_bodies(self, up: Upstream) -> None:
        with in_front(up, conditions={"latency": 0.15, "slow-body": 0.15}) as server:
            began = time.monotonic()
            assert get(server).content == RECORD
            assert time.monotonic() - began >= 0.3

    def test_a_gateway_that_fails_after_the_work_is_done(self, up: Upstream) -> None:
        with in_front(up, conditions={"gateway-errors": 1}) as server:
            assert [get(server).status_code for _ in range(2)] == [502, 502]
            assert len(up.requests) == 1
            assert [entry.own for entry in kept(server, 2)] == [True, True]

    @pytest.mark.parametrize("name", ["dropped-before", "dropped-after", "cut-off"])
    def test_answers_that_break_off(self, up: Upstream, name: str) -> None:
        with in_front(up, conditions={name: 1}) as server:
            with pytest.raises(requests.RequestException):
                get(server)
            assert len(up.requests) == (name != "dropped-before")
            (entry,) = kept(server)
            assert entry.broken == ("cut off" if name == "cut-off" else "dropped")

    def test_limits(self, up: Upstream) -> None:
        with in_front(up, conditions={"retry-after": 1}) as server:
            got = get(server)
            assert (got.status_code, got.headers["retry-after"]) == (429, "1")
        assert up.requests == []

    def test_connections_that_are_closed(self, up: Upstream) -> None:
        with in_front(up, conditions={"connection-close": 0}) as server:
            assert get(server).headers["connection"] == "close"

    def test_they_are_switched_under_way(self, server: MockServer) -> None:
        state = f"{server.origin}/_mock/state"
        assert requests.patch(state, json={"conditions": {"too-many": 1}}, timeout=60).ok
        assert get(server).status_code == 429
        assert requests.patch(state, json={"conditions": {}}, timeout=60).ok
        assert get(server).ok


class TestWhatIsKept:
    def test_a_request_with_its_answer(self, server: MockServer) -> None:
        get(server, "/api/domains/1?sort=host")
        (entry,) = kept(server)
        assert (entry.account, entry.status, entry.own) == ("account 1", 200, False)
        assert [remark.rule for remark in entry.remarks] == []
        get(server, "/api/domains/?sort=host")
        assert [each.rule for each in kept(server, 2)[1].remarks] == ["client.unknown-parameter"]

    def test_keys_are_in_nothing_that_is_kept(self, server: MockServer) -> None:
        get(server, "/api/domains/1?api_key=the-key-of-a-deployment")
        kept(server)
        told = requests.get(f"{server.origin}/_mock/journal", timeout=60).text
        saved = requests.get(f"{server.origin}/_mock/journal.har", timeout=60)
        page = requests.get(f"{server.origin}/_mock/journal/1", timeout=60).text
        for text in (told, saved.text, page):
            assert "the-key-of" not in text
            assert "[key]" in text
        assert "attachment" in saved.headers["content-disposition"]

    @pytest.mark.parametrize(
        "spelling",
        ["the-key-of-a-deployment", "".join(f"\\u{ord(letter):04x}" for letter in "the-key-of-a-deployment")],
        ids=["plain", "escaped"],
    )
    def test_keys_are_in_no_recording(self, spelling: str) -> None:
        record = {"id": 1, "host": "go.example.com", "custom_index_url": "https://go.example.com/?k=KEY"}
        body = json.dumps({"data": record}).replace("KEY", spelling).encode()
        with (
            Upstream(answer(body)) as up,
            MockServer(deployment=Deployment(url=up.url, is_recorded=True)) as server,
        ):
            assert get(server).content == body
            kept(server)
        recording = server.running.fixture_recording
        assert recording
        [recorded] = recording.fixture(verbatim=True)["accounts"][0]["records"]["domains"]
        assert recorded["custom_index_url"] == "https://go.example.com/?k=[key]"

    @pytest.mark.parametrize("coding", ["x-gzip", "deflate", "br"])
    def test_keys_are_hidden_however_an_answer_is_written(self, coding: str) -> None:
        raw = zlib.compressobj(wbits=-15)
        said = {"x-gzip": gzip.compress(RECORD), "deflate": raw.compress(RECORD) + raw.flush(), "br": b"\x8b" + RECORD}
        sent = answer(said[coding], f"Content-Encoding: {coding}", f"X-Echo: {KEY['Authorization']}")
        with Upstream(sent) as up, in_front(up) as server:
            got = requests.get(f"{server.base_url}/api/domains/1", headers=KEY, stream=True, timeout=60)
            assert got.raw.read(decode_content=False) == said[coding]
            kept(server)
            saved = json.loads(server.running.archive())["log"]["entries"][0]["response"]
            told = requests.get(f"{server.origin}/_mock/journal", timeout=60).text
        assert "the-key-of" not in told + json.dumps(saved)
        assert ("[key]" in saved["content"].get("text", "")) == (coding != "br")

    def test_what_is_long_once_it_is_unpacked_is_not_kept_as_if_it_were_whole(self) -> None:
        body = json.dumps({"data": ["x" * 1000] * 8000}).encode()
        with Upstream(answer(gzip.compress(body), "Content-Encoding: gzip")) as up, in_front(up) as server:
            assert get(server, "/api/domains/").content == body
            kept(server)
            saved = json.loads(server.running.archive())["log"]["entries"][0]["response"]["content"]
        assert "text" not in saved
        assert saved["size"] > 0

    def test_an_archive_holds_what_the_deployment_answered_and_that_alone(
        self, server: MockServer, up: Upstream
    ) -> None:
        get(server)
        get(server, Prefer="code=500")
        requests.get(f"{server.base_url}/openapi.yaml", timeout=60)
        requests.post(
            f"{server.base_url}/api/domains", files={"host": (None, "a.example.com")}, headers=KEY, timeout=60
        )
        kept(server, 4)
        entries = json.loads(server.running.archive())["log"]["entries"]
        assert [(each["request"]["method"], each["request"]["url"]) for each in entries] == [
            ("GET", f"{up.url}/api/domains/1"),
            ("POST", f"{up.url}/api/domains"),
        ]
        assert entries[1]["request"]["postData"]["params"] == [{"name": "host", "value": "a.example.com"}]

    def test_whole_answers_are_in_it_within_a_bound(self) -> None:
        body = json.dumps({"data": ["x" * 1000] * 1000}).encode()
        with Upstream(answer(body)) as up, in_front(up) as server:
            for _ in range(20):
                get(server, "/api/domains/")
            kept(server, 20)
            entries = json.loads(server.running.archive())["log"]["entries"]
        bodies = [each["response"]["content"].get("text") for each in entries]
        assert len(bodies) == 20
        assert bodies[0] is None
        assert bodies[-1].encode() == body
        assert sum(len(each or "") for each in bodies) <= 16 * 2**20
        assert entries[0]["response"]["content"]["size"] > 0

    def test_without_a_journal_it_keeps_nothing(self, up: Upstream) -> None:
        with in_front(up, journal=0) as server:
            assert get(server).ok
            assert json.loads(server.running.archive())["log"]["entries"] == []


NOT_APPLYING = [
    ("POST", "/_mock/reset"),
    ("POST", "/_mock/accounts/k/reset"),
    ("POST", "/_mock/clock"),
    ("PUT", "/_mock/snapshots/a"),
    ("GET", "/_mock/snapshots"),
    ("GET", "/_mock/defects"),
    ("GET", "/_mock/open-points"),
    ("GET", "/_mock/accounts"),
    ("GET", "/_mock/records/domains?account=k"),
]


@pytest.mark.parametrize(("method", "path"), NOT_APPLYING)
def test_what_only_a_mock_has_does_not_apply_and_says_so(
    server: MockServer, up: Upstream, method: str, path: str
) -> None:
    got = requests.request(method, server.origin + path, headers={"Content-Type": "application/json"}, timeout=60)
    assert got.status_code == 409
    assert f"requests are forwarded to {up.url}" in got.text


@pytest.mark.parametrize("switch", [{"defects": ["null-data"]}, {"open": {"create-status": "200"}}, {"grease": 3}])
def test_switches_of_a_mock_do_not_apply(server: MockServer, switch: dict[str, Any]) -> None:
    got = requests.patch(f"{server.origin}/_mock/state", json=switch, timeout=60)
    assert got.status_code == 400
    assert "requests are forwarded to" in got.json()["errors"][0]["title"]


def test_it_tells_what_the_console_shows_of_the_deployment(server: MockServer, up: Upstream) -> None:
    about = requests.get(f"{server.origin}/_mock/about", timeout=60).json()
    assert about["deployment"]["url"] == up.url
    assert about["key"] is None
    names = {each["name"] for each in about["conditions"]}
    assert "gateway-errors" in names
    assert "quota" not in names
    assert len(up.requests) == 0


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_form_that_cannot_be_decompressed_is_not_shown(server: MockServer, up: Upstream, coding: str) -> None:
    body = gzip.compress(b"greeting=hello") if coding == "br" else b"greeting=hello"
    headers = KEY | {"Content-Encoding": coding, "Content-Type": "application/x-www-form-urlencoded"}
    assert requests.post(f"{server.base_url}/api/domains", body, headers=headers, timeout=60).ok
    assert up.body == body
    [entry] = server.running.journal.find()
    assert (entry.fields, entry.body) == ({}, UNREADABLE)


def test_a_compressed_form_is_read(server: MockServer) -> None:
    headers = KEY | {"Content-Encoding": "gzip", "Content-Type": "application/x-www-form-urlencoded"}
    requests.post(f"{server.base_url}/api/domains", gzip.compress(b"host=a.example.com"), headers=headers, timeout=60)
    [entry] = server.running.journal.find()
    assert entry.fields == {"host": "a.example.com"}
