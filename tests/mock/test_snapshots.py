"""Snapshots: what the accounts held, kept under a name and as a file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from asking import control, told
from wire import HARBOUR, PNG, Client, over_network

from mock_server import MockServer

SHARED = pytest.mark.usefixtures("store")  # for what a store in Redis does in code of its own


@SHARED
def test_a_snapshot_brings_back_records_files_and_times(server: MockServer, client: Client) -> None:
    made = client.create("/api/projects", {"name": "Kept", "logo": ("logo.png", PNG, "image/png")})
    before = client.get(f"/api/splash-pages/{made}").json
    assert control(server, "PUT", "/snapshots/one").json() == ["one"]
    client.delete(f"/api/splash-pages/{made}")
    client.create("/api/projects", {"name": "Lost"})
    assert control(server, "POST", "/snapshots/one/restore").status_code == 200
    assert client.get(f"/api/splash-pages/{made}").json == before
    assert client.get("/api/splash-pages/?results_per_page=10").json["data"][0]["name"] == "Kept"
    logo = server.running.mock.accounts.get(HARBOUR).collections["splash-pages"].get(made).values["logo"]  # type: ignore[union-attr]
    assert server.running.mock.forms.uploads.content(logo) == PNG


@SHARED
def test_a_snapshot_holds_no_sandboxes_and_is_restored_with_fresh_ones(server: MockServer) -> None:
    sandbox = Client(over_network(server.base_url), "sandbox-a")
    sandbox.create("/api/domains", {"host": "of-one-test.example.com"})
    control(server, "PUT", "/snapshots/one")
    snapshot = control(server, "GET", "/snapshots/one").text
    assert ("demo-key-harbour" in snapshot, "sandbox-" in snapshot, "of-one-test" in snapshot) == (True, False, False)
    assert control(server, "POST", "/snapshots/one/restore").status_code == 200
    assert sandbox.get("/api/domains/").json["meta"]["total"] == 54


@SHARED
def test_a_snapshot_is_a_fixture(server: MockServer, client: Client, tmp_path: Path) -> None:
    client.create("/api/projects", {"name": "Kept: 'so' \u00e9", "favicon": ("a b.png", PNG, "image/png")})
    control(server, "PUT", "/snapshots/one")
    path = tmp_path / "one.yaml"
    path.write_text(control(server, "GET", "/snapshots/one").text, "utf-8")
    with MockServer(fixture=path) as another:
        other = Client(over_network(another.base_url))
        for resource in ("splash-pages", "domains", "notification-handlers"):
            listed = [each.get(f"/api/{resource}/?results_per_page=100").json["data"] for each in (client, other)]
            assert listed[0] == listed[1]


@SHARED
def test_a_fixture_is_kept_as_a_snapshot_and_a_wrong_one_is_not(server: MockServer, client: Client) -> None:
    fixture = {"now": "2026-01-01 00:00:00", "accounts": [{"name": "One", "api_key": HARBOUR, "records": {}}]}
    assert control(server, "PUT", "/snapshots/empty", data=yaml.dump(fixture)).status_code == 200
    control(server, "POST", "/snapshots/empty/restore")
    assert client.get("/api/domains/").json["meta"]["total"] == 0
    for body, problem in (
        ("{", "the fixture cannot be read, it is not YAML"),
        ("[]", "the fixture is not a mapping with now and accounts"),
        ("now: 2026-01-01 00:00:00", "expected the keys now and accounts"),
        (yaml.dump(fixture | {"now": "soon"}), "now is 'soon'"),
    ):
        answer = control(server, "PUT", "/snapshots/wrong", data=body)
        assert answer.status_code == 400
        assert told(answer).startswith(problem)
    record = {"id": 1, "name": "A", "datetime": "2026-01-01 00:00:00", "logo": "/etc/passwd"}
    fixture["accounts"][0]["records"] = {"splash-pages": [record]}  # type: ignore[index]
    assert "is a path; here, give files as data:" in told(
        control(server, "PUT", "/snapshots/wrong", data=yaml.dump(fixture))
    )
    assert control(server, "GET", "/snapshots").json() == ["empty"]


@SHARED
def test_a_snapshot_that_is_not_there_is_told(server: MockServer) -> None:
    for method, path in (("GET", ""), ("POST", "/restore"), ("DELETE", "")):
        answer = control(server, method, f"/snapshots/none{path}")
        assert (answer.status_code, told(answer)) == (404, 'There is no snapshot "none"; there are: none.')


def test_snapshots_are_bounded_and_can_be_forgotten(server: MockServer) -> None:
    for number in range(20):
        assert control(server, "PUT", f"/snapshots/{number}").status_code == 200
    assert told(control(server, "PUT", "/snapshots/one-more")) == "there are 20 snapshots already; delete one"
    assert control(server, "DELETE", "/snapshots/3").status_code == 204
    assert control(server, "PUT", "/snapshots/one-more").status_code == 200


@pytest.mark.parametrize("body", ["[" * 100_000, "a: " + "[" * 8000, "{"], ids=["json", "yaml", "neither"])
def test_what_is_nested_too_deep_is_refused(server: MockServer, body: str) -> None:
    headers = {"Content-Type": "application/json"}
    assert control(server, "POST", "/reset", data=body, headers=headers).status_code == 400
    assert control(server, "PUT", "/snapshots/deep", data=body).status_code == 400
    assert control(server, "GET", "/snapshots").json() == []


@SHARED
def test_a_file_of_an_odd_media_type_survives_a_snapshot(server: MockServer, client: Client) -> None:
    for number, media_type in enumerate(["", "image/png,x", "a" * 900]):
        body = (
            b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nOdd\r\n--b\r\nContent-Disposition: form-data;'
            b' name="logo"; filename="'
            + b"n" * 900
            + b'"\r\nContent-Type: '
            + media_type.encode()
            + b"\r\n\r\nx\r\n--b--\r\n"
        )
        form = {"Content-Type": "multipart/form-data; boundary=b"}
        assert client.request("POST", "/api/projects", body=body, headers=form).status == 201, number
    control(server, "PUT", "/snapshots/odd")
    assert control(server, "POST", "/snapshots/odd/restore").status_code == 200
    assert client.get("/api/splash-pages/").json["meta"]["total"] == 58 + 3


@SHARED
def test_a_snapshot_that_would_be_too_long_is_refused_before_it_is_written(
    server: MockServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create("/api/projects", {"name": "Long", "logo": ("logo.png", b"x" * 200_000, "image/png")})
    monkeypatch.setattr("mock_server.control.fixtures.MAX_SNAPSHOT_BYTES", 200_000)
    monkeypatch.setattr("mock_server.control.fixtures.write_document", lambda _: pytest.fail("it was written"))
    answer = control(server, "PUT", "/snapshots/long")
    assert (answer.status_code, told(answer)) == (400, "snapshots would take over 0 MiB together; delete one")
    assert control(server, "GET", "/snapshots").json() == []
