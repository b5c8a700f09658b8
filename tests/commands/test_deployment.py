"""Runs against a deployment that is not this machine's own."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import requests
from shell import COMMANDS, answering, beside_progress, command
from tls import TlsProxy
from wire import ALPINE, HARBOUR, Client, over_network

from contract_tests.target.connection import Connection
from mock_server import MockServer

RESOURCES = ("splash-pages", "domains", "notification-handlers")
QUICK = ("--explore", "0", "--lag", "0")
FEW = (*QUICK, "--resources", "domains", "--rules", "pagination.*")
PARTIAL = "partial: no claim; not judged: rarer input (--explore 0), overlapping requests (--overlap 0), "
CANARY = "Zeisig"
MANY = 1200  # records, more than the largest page shows


def records(server: MockServer, key: str = HARBOUR) -> dict[str, list[dict[str, Any]]]:
    """All records of an account, by resource."""
    client = Client(over_network(server.base_url), key)
    found: dict[str, list[dict[str, Any]]] = {}
    for resource in RESOURCES:
        pages = client.get(f"/api/{resource}/?results_per_page=1000").json["meta"]["total_pages"]
        for page in range(1, pages + 1):
            rows = client.get(f"/api/{resource}/?results_per_page=1000&page={page}").json["data"]
            found.setdefault(resource, []).extend(rows)
    return found


@pytest.fixture
def behind_tls(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[TlsProxy]:
    with TlsProxy(tmp_path, client=getattr(request, "param", False)) as proxy:
        url = f"https://localhost:{proxy.port}/prefix"
        with MockServer(fixture="empty", records=40, base_path="/prefix", public_base_url=url) as server:
            proxy.to = int(server.base_url.rpartition(":")[2].partition("/")[0])
            yield proxy


def test_a_private_authority_is_trusted_once_it_is_named(behind_tls: TlsProxy) -> None:
    url = f"https://localhost:{behind_tls.port}/prefix"
    refused = command("run", "--base-url", url, *QUICK)
    assert refused.returncode == 7
    assert "target unusable: TLS: " in refused.stderr
    assert "give --ca-bundle if its authority is one of your own" in refused.stderr
    ended = command("run", "--base-url", url, "--ca-bundle", behind_tls.ca_bundle, "--quiet", *QUICK)
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        0,
        "conforms; not judged: rarer input (--explore 0), overlapping requests (--overlap 0)\n",
        "",
    )


@pytest.mark.parametrize(
    ("variable", "other"), [("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")]
)
def test_the_environment_names_an_authority_too(behind_tls: TlsProxy, variable: str, other: str) -> None:
    line = ("run", "--base-url", f"https://localhost:{behind_tls.port}/prefix", "--quiet", *QUICK)
    ended = command(*line, without=other, **{variable: str(behind_tls.ca_bundle)})
    assert ended.returncode == 0, ended.stderr
    missing = command(*line, without=other, **{variable: str(behind_tls.ca_bundle.parent)})
    assert (missing.returncode, "give --ca-bundle" in missing.stderr) == (7, True)  # a folder, as some machines have


def test_the_wrong_protocol_is_named(behind_tls: TlsProxy, server: MockServer) -> None:
    plain = command("run", "--base-url", server.base_url.replace("http:", "https:"), *QUICK)
    assert (plain.returncode, "; HTTP may answer there" in plain.stderr) == (7, True)
    secure = command("run", "--base-url", f"http://localhost:{behind_tls.port}/prefix", *QUICK)
    assert (secure.returncode, "TLS answers there, not HTTP; give the base URL with https://" in secure.stderr) == (
        7,
        True,
    )


@pytest.mark.slow
def test_any_certificate_is_trusted_only_loudly(behind_tls: TlsProxy, tmp_path: Path) -> None:
    url, reports = f"https://localhost:{behind_tls.port}/prefix", tmp_path / "reports"
    ended = command("run", "--base-url", url, "--insecure", "--report-dir", reports, *FEW)
    assert ended.returncode == 0
    assert ended.stderr.startswith("contract-tests: INSECURE: any certificate is trusted")
    assert "Any certificate was trusted" in (reports / "report.html").read_text("utf-8")


@pytest.mark.parametrize("behind_tls", [True], indirect=True, ids=["client"])
def test_a_certificate_of_ones_own_is_shown_where_it_is_asked_for(behind_tls: TlsProxy) -> None:
    url = f"https://localhost:{behind_tls.port}/prefix"
    options = ("run", "--base-url", url, "--ca-bundle", behind_tls.ca_bundle)
    assert command(*options, *FEW).returncode == 7
    ended = command(*options, "--client-cert", behind_tls.client_certificate, "--quiet", *FEW)
    assert (ended.returncode, ended.stdout.startswith(PARTIAL), ended.stdout.count("\n")) == (0, True, 1)


@pytest.mark.parametrize("option", ["--ca-bundle", "--client-cert"])
def test_a_file_that_holds_no_certificate_is_named(tmp_path: Path, option: str) -> None:
    path = tmp_path / "no.pem"
    path.write_text("hello", "utf-8")
    ended = command("run", "--base-url", "https://localhost:1", option, path)
    assert ended.returncode == 4
    assert f"{path} cannot be used as a " in ended.stderr


def test_an_address_of_ip_version_6_is_this_machine_too() -> None:
    ended = command("run", "--base-url", "http://[::1]:1", *QUICK)
    assert (ended.returncode, "target unusable: unreachable" in ended.stderr) == (7, True)


@pytest.mark.slow
def test_the_proxy_of_the_environment_is_used_but_for_this_machine() -> None:
    asked = []

    def refuse(request: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        asked.append(request.path)
        return 403, b""

    with answering(refuse) as proxy:
        environment = {"http_proxy": proxy, "no_proxy": "internal.example.com"}
        for url in ("http://links.example.com", "http://127.0.0.1:1", "http://internal.example.com"):
            assert command("run", "--base-url", url, "--read-only", *QUICK, **environment).returncode == 7
    assert asked == [f"http://links.example.com/api/{resource}/" for resource in RESOURCES]


@pytest.mark.parametrize(
    "proxy",
    ["http://user:s3cret@:x", "socks9://user:s3cret@127.0.0.1:1", "http://u:s3/c#ret@h:1", "http://u:s3cret@[::1"],
)
def test_a_proxy_that_cannot_be_used_is_told_without_its_password(proxy: str) -> None:
    ended = command("run", "--base-url", "http://links.example.com", "--read-only", *QUICK, http_proxy=proxy)
    assert "the proxy that the environment names cannot be used; expected one such as" in ended.stderr
    assert "s3" not in ended.stdout + ended.stderr


def test_a_host_keeps_its_first_address_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = iter(["127.0.0.1", "127.0.0.2"])
    connection = Connection()
    with answering(lambda _: (200, b"{}")) as base_url:
        port = int(base_url.rpartition(":")[2])
        real = socket.getaddrinfo

        def resolve(host: str, *more: Any, **named: Any) -> Any:
            return real(next(resolved) if host == "links.example.com" else host, *more, **named)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        for _ in range(2):  # each thread has a pool of its own
            pool = connection.pool(f"http://links.example.com:{port}", 60)
            assert pool.request("GET", f"http://links.example.com:{port}/").status == 200
    assert next(resolved) == "127.0.0.2"


def test_a_plan_leaves_nothing_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HYPOTHESIS_STORAGE_DIRECTORY", raising=False)
    options = ("--plan", "--explore", "1", "--resources", "domains")
    assert command("run", "--base-url", "https://links.example.com", *options).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_plan_sends_nothing_and_tells_what_would_be_sent() -> None:
    ended = command("run", "--base-url", "https://links.example.com", "--plan", "--rate", "60/m", "--explore", "0")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Nothing was sent to https://links.example.com. A run would send, about:\n")
    lines = {" ".join(line.split()[:-2]): line.split()[-2:] for line in ended.stdout.splitlines() if line.strip()}
    assert lines["splash-pages"] == ["6", "30"]
    minutes, seconds = " ".join(ended.stdout.split("time at this rate")[1].split()[:4]).split(" min ")
    assert int(minutes) * 60 + int(seconds.removesuffix(" s")) < 400
    addresses = ended.stdout.split("under example.com:\n")[1].split()
    assert all("example.com" in each for each in addresses)
    assert [each for each in addresses if each.startswith("ct")] == ["ct….example.com"]  # whatever the number


def test_a_run_that_reads_alone_writes_nothing_and_claims_nothing_more() -> None:
    with MockServer() as server:
        before = records(server)
        ended = command("run", "--base-url", server.base_url, "--read-only", "--ledger", "/nowhere/ledger.jsonl")
        assert records(server) == before
    assert ended.returncode == 0
    assert "\npartial: no claim; not judged: " in ended.stdout
    assert re.search(r"^5xx: 0; slowest answer \d+\.\d s$", ended.stdout, re.MULTILINE)
    assert "0 records created, 0 removed" in ended.stdout
    with MockServer(defects=("total-is-one-more",)) as server:
        assert command("run", "--base-url", server.base_url, "--read-only", "--resources", "domains").returncode == 1


@pytest.mark.parametrize("most", [8, 12, 40, 100, 200])
def test_no_more_requests_are_sent_than_allowed_and_nothing_is_left(most: int) -> None:
    with MockServer(fixture="empty", records=3) as server:
        before = records(server)
        ended = command("run", "--base-url", server.base_url, "--max-requests", str(most), *QUICK)
        assert records(server) == before
    assert ended.returncode == 6
    assert int(ended.stdout.rpartition(" requests in")[0].split()[-1]) <= most
    assert "the budget of requests was spent" in ended.stdout


def test_too_few_requests_even_for_a_look_is_a_mistake() -> None:
    with MockServer() as server:
        ended = command("run", "--base-url", server.base_url, "--max-requests", "2")
    assert ended.returncode == 4
    assert "the budget of requests was spent before the lists could be read; allow more" in ended.stderr


@pytest.mark.slow
def test_a_deadline_ends_a_run_and_leaves_nothing() -> None:
    with MockServer(fixture="empty", records=3, conditions={"latency": 0.1}) as server:  # a run takes ten seconds
        before = records(server)
        ended = command("run", "--base-url", server.base_url, "--deadline", "3s", *QUICK)
        assert records(server) == before
    assert ended.returncode == 6
    assert "the time for the run was up" in ended.stdout


def test_a_further_header_is_sent_and_told_nowhere(tmp_path: Path) -> None:
    seen = set()

    def echo(request: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        seen.add(request.headers["X-Tenant"])
        return 200, json.dumps({"data": [], "echo": request.headers["X-Tenant"]}).encode()

    options = ("--read-only", "--header", f"X-Tenant: {CANARY}", "--report-dir", tmp_path)
    with answering(echo) as url:
        ended = command("run", "--base-url", url, *options)
    assert seen == {CANARY}
    assert ended.returncode == 1
    assert CANARY not in ended.stdout + ended.stderr + "".join(
        each.read_text("utf-8") for each in tmp_path.rglob("*.*")
    )


@pytest.mark.slow
def test_neither_keys_nor_what_others_have_written_stand_in_any_output(tmp_path: Path) -> None:
    key = f"{CANARY}-key"
    with MockServer(api_keys=(key,), defects=("listed-name-is-cut", "total-is-one-more")) as server:
        client = Client(over_network(server.base_url), key)
        client.post("/api/projects", {"name": f"{CANARY} page"})
        client.post(
            "/api/domains", {"host": f"{CANARY}.example.org", "custom_index_url": f"https://{CANARY}.example.org"}
        )
        for resource, value in {"telegram": f"123:{CANARY}", "slack": f"https://{CANARY}.example.org/hook"}.items():
            client.post(
                "/api/notification-handlers", {"name": f"{CANARY} {resource}", "type": resource, resource: value}
            )
        ended = command(
            "run",
            "--base-url",
            server.base_url,
            "--report-dir",
            tmp_path,
            "--lag",
            "0",
            "--explore",
            "30",
            CONTRACT_API_KEY=key,
        )
    assert ended.returncode == 1
    told = {each.name: each.read_text("utf-8") for each in tmp_path.rglob("*.*")} | {
        "printed": ended.stdout + ended.stderr
    }
    assert set(told) >= {"results.json", "junit.xml", "report.html", "summary.md", "record.har", "profile.yaml"}
    assert [name for name, text in told.items() if CANARY.casefold() in text.casefold()] == []


@pytest.mark.slow
@pytest.mark.parametrize("resources", ["domains", pytest.param("", marks=pytest.mark.exhaustive, id="all")])
def test_among_a_thousand_records_and_with_a_colleague_at_work_each_stays_as_it_was(resources: str) -> None:
    with MockServer(fixture="empty", records=MANY) as server:
        before = records(server)
        switches = {"fixture": "empty", "records": MANY, "conditions": {"other-writer": 11}}
        requests.post(f"{server.base_url}/_mock/reset", timeout=30, json=switches)
        ended = command("run", "--base-url", server.base_url, *QUICK, "--resources", resources)
        after = [records(server) for _ in range(3)]  # what moves from one page to another is missed at times
    assert ended.returncode in (0, 6), ended.stdout
    theirs = []
    for resource in RESOURCES:
        assert len(before[resource]) == MANY
        old = {row["id"]: row for row in before[resource]}
        assert {row["id"]: row for look in after for row in look[resource] if row["id"] in old} == old
        theirs += [row for look in after for row in look[resource] if row["id"] not in old]
    assert theirs
    assert all("olleague" in json.dumps(row) for row in theirs)


def test_what_is_left_behind_is_told_and_is_no_success(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    with MockServer(fixture="empty", records=40, defects=("deletes-do-nothing",)) as server:
        options = ("--rules", "pagination.total-pages-*", "--ledger", ledger, "--report-dir", tmp_path / "reports")
        ended = command("run", "--base-url", server.base_url, *options, *QUICK)
        both = [records(server), records(server, ALPINE)]
        left = [row for account in both for rows in account.values() for row in rows if '"ct' in json.dumps(row)]
    assert ended.returncode == 3
    assert "\npartial: no claim, with records left behind; not judged: " in ended.stdout
    assert ended.stderr.count("left behind: ") == 3
    assert f"and {len(left) - 3} more are left behind; {ledger} lists them" in ended.stderr
    assert f"to look again, and remove what is there, run: contract-tests cleanup {ledger}\n" in ended.stderr
    assert (tmp_path / "reports" / "report.html").read_text("utf-8").count('<p class="fail">left behind: ') == len(left)


@pytest.mark.parametrize(
    "defects",
    [("read-is-bare",), ("read-data-is-an-array",), ("listed-id-is-text", "read-id-is-text")],
    ids="+".join,
)
def test_what_lists_alone_show_as_the_runs_own_is_removed_in_both_accounts(defects: tuple[str, ...]) -> None:
    with MockServer(defects=defects) as server:
        both = [records(server), records(server, ALPINE)]
        ended = command("run", "--base-url", server.base_url, *QUICK, "--resources", "domains")
        assert [records(server), records(server, ALPINE)] == both
    assert ended.returncode == 1
    [created, removed] = map(int, re.findall(r"(\d+) (?:created|records created|removed)", ended.stdout))
    assert created == removed > 0


def test_a_second_key_that_opens_nothing_judges_no_walls() -> None:
    with MockServer(defects=("other-account-reads",)) as server:
        ended = command("run", "--base-url", server.base_url, *QUICK, CONTRACT_SECOND_API_KEY="nope")
    assert ended.returncode == 7
    assert "the second API key opens nothing (status 401); give another account's" in ended.stderr


def test_a_line_end_behind_a_key_is_no_part_of_it_and_other_letters_are_a_mistake() -> None:
    with MockServer() as server:
        ended = command("run", "--base-url", server.base_url, "--read-only", *FEW, CONTRACT_API_KEY=f" {HARBOUR}\n")
        assert (ended.returncode, "\npartial: no claim; not judged: " in ended.stdout) == (0, True)
        refused = command("run", "--base-url", server.base_url, CONTRACT_API_KEY=f"{HARBOUR}\nmore")
    assert (refused.returncode, HARBOUR in refused.stderr) == (4, False)
    assert "the API key has a space or a letter beyond ASCII" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("defects", "status"), [((), 0), (("total-is-one-more",), 1)], ids=["right", "wrong"])
def test_a_reader_that_goes_away_changes_no_verdict(defects: tuple[str, ...], status: int) -> None:
    with MockServer(defects=defects) as server:
        options = f"--base-url {server.base_url} {shlex.join(FEW)} --api-key {HARBOUR}"
        line = f"set -o pipefail; {COMMANDS}/contract-tests run {options} | true"
        ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (ended.returncode, beside_progress(ended.stderr)) == (status, "")


@pytest.mark.parametrize(
    ("defects", "kept"), [((), 0), (("deletes-do-nothing",), 1)], ids=["nothing left", "some left"]
)
def test_a_ledger_is_kept_as_long_as_it_is_of_use(tmp_path: Path, defects: tuple[str, ...], kept: int) -> None:
    with MockServer(fixture="empty", records=40, defects=defects) as server:
        command("run", "--base-url", server.base_url, *FEW, XDG_STATE_HOME=str(tmp_path))
    ledgers = tmp_path / "link-management-contract" / "ledgers"
    assert [path.parent for path in tmp_path.rglob("*.jsonl")] == [ledgers] * kept
