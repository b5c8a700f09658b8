"""Records of browsers and proxies, judged by what one exchange decides."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from shell import command

from mock_server import MockServer


def test_a_browsers_record_is_judged_by_what_can_be_recognised(tmp_path: Path) -> None:
    def entry(url: str, status: int, body: Any) -> dict[str, Any]:
        content = {"mimeType": "application/json", "text": json.dumps(body)}
        request = {"method": "GET", "url": url, "headers": []}
        return {"request": request, "response": {"status": status, "headers": [], "content": content}}

    there = "https://links.example.com/prefix"
    page = {"id": 1, "name": "Home", "color": "red", "last_datetime": None, "datetime": "2026-01-01 00:00:00"}
    entries = [
        entry("https://links.example.com/style.css", 200, {}),
        entry(f"{there}/api/splash-pages/1", 200, {"data": page}),
        entry(f"{there}/api/splash-pages/2", 404, {"errors": []}),
        entry("https://elsewhere.example.com/api/users", 200, {}),
        entry(f"{there}/api/domains/1", 200, {}),
        {"request": {"method": "GET", "url": f"{there}/api/domains/2"}},
    ]
    entries[4]["response"]["content"] = {"size": 80, "mimeType": "application/json"}
    path = tmp_path / "browser.har"
    path.write_text(json.dumps({"log": {"entries": entries}}), "utf-8")
    ended = command("judge", path)
    assert ended.returncode == 1
    assert ended.stdout.startswith(f"2 of 6 exchanges are with {there}\n")
    assert "fail: representations.color-is-hex" in ended.stdout
    assert "Home" not in ended.stdout
    assert "1 of the entries passed over: without the body of its answer; record it with bodies\n" in ended.stderr
    assert "no exchange that can be read (the first is entry 6: KeyError)\n" in ended.stderr
    assert "2 of the entries passed over: to no list, record or create of this API\n" in ended.stderr


THERE = "https://links.example.com/prefix"
WHOLE: dict[str, Any] = {
    "data": [],
    "meta": {"page": 1, "results_per_page": 25, "total": 0, "total_pages": 0},
    "links": dict.fromkeys(("first", "last", "self"), f"{THERE}/api/domains?page=1") | {"next": None, "prev": None},
}


def recorded(method: str, path: str, status: int, body: Any, *, there: str = THERE, **content: str) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    request = {"method": method, "url": there + path, "headers": [{"name": "Authorization", "value": "Bearer k"}]}
    headers = [{"name": "Content-Encoding", "value": content.pop("coding", "identity")}]
    return {
        "request": request,
        "response": {"status": status, "headers": headers, "content": {"text": text, **content}},
    }


def judged(path: Path, *entries: dict[str, Any], options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    path.write_text(json.dumps({"log": {"entries": entries}}), "utf-8")
    return command("judge", path, *options)


def without(name: str, key: str) -> dict[str, Any]:
    return {**WHOLE, name: {each: value for each, value in WHOLE[name].items() if each != key}}


SHOWING = {
    "a list without its total": (("GET", "/api/domains/", 200, without("meta", "total")), "envelopes.list-meta-holds"),
    "a list without meta": (("GET", "/api/domains/", 200, {"data": []}), "envelopes.list-meta-holds-integers"),
    "a list without self": (("GET", "/api/domains/?page=1", 200, without("links", "self")), "envelopes.list-links-are"),
    "a list by a page link": (
        ("GET", "/api/domains?page=1", 200, without("meta", "page")),
        "envelopes.list-meta-holds",
    ),
    "a list that is cut": (("GET", "/api/domains/", 200, '{"data": [{"id": 5}'), "envelopes.body-is-json"),
    "a record without data": (("GET", "/api/domains/5", 200, {"id": 5}), "envelopes.read-data-is-an-object"),
    "a record in an array": (("GET", "/api/domains/5", 200, {"data": [{"id": 5}]}), "envelopes.read-data-is-an-object"),
    "an id that is text": (("POST", "/api/domains", 201, {"data": {"id": "5"}}), "envelopes.create-answers-the-id"),
    "an id without data": (("POST", "/api/domains/5", 200, {"id": 5}), "envelopes.update-answers-the-id"),
    "a create without an answer": (("POST", "/api/domains", 204, ""), "envelopes.body-is-json"),
    "a list that is refused": (("GET", "/api/domains/?results_per_page=10", 405, {}), "operations.list-answers"),
}


@pytest.mark.parametrize(("entry", "rule"), SHOWING.values(), ids=SHOWING)
def test_an_answer_in_which_something_is_missing_is_evidence(
    tmp_path: Path, entry: tuple[str, str, int, Any], rule: str
) -> None:
    ended = judged(tmp_path / "a.har", recorded("GET", "/api/notification-handlers/", 200, WHOLE), recorded(*entry))
    assert ended.returncode == 1
    assert f"fail: {rule}" in ended.stdout


FREE = {
    "a page past the end": ("GET", "/api/domains/?page=9", 200, {"data": [], "meta": {}}),
    "a page size outside the seven": ("GET", "/api/domains/?results_per_page=7", 422, {}),
    "a record that is gone": ("GET", "/api/domains/5", 200, {"errors": ["gone"]}),
    "a login page": ("GET", "/api/domains/", 200, "<h1>Log in</h1>"),
    "a refusal with data": ("POST", "/api/domains", 200, {"status": "fail", "data": {"host": "taken"}}),
    "a page link of splash pages": ("GET", "/api/projects?page=2", 200, {"data": [{"id": 1}]}),
    "a page link that leads nowhere": ("GET", "/api/domains?page=1", 405, {}),
}


@pytest.mark.parametrize("entry", FREE.values(), ids=FREE)
def test_an_answer_that_may_be_a_choice_is_none(tmp_path: Path, entry: tuple[str, str, int, Any]) -> None:
    ended = judged(tmp_path / "a.har", recorded("GET", "/api/domains/", 200, WHOLE), recorded(*entry))
    assert (ended.returncode, "fail:" in ended.stdout) == (0, False)


def encoded(body: bytes) -> str:
    return b64encode(body).decode()


RED = json.dumps(without("meta", "total")).encode()


@pytest.mark.parametrize(
    ("body", "coding"),
    [(RED, "identity"), (gzip.compress(RED), "gzip"), (zlib.compress(RED), "deflate"), (RED, "gzip")],
    ids=["base64", "gzip", "deflate", "said to be gzip, and decoded already"],
)
def test_bodies_are_read_out_of_base64_and_compression(tmp_path: Path, body: bytes, coding: str) -> None:
    entry = recorded("GET", "/api/domains/", 200, encoded(body), encoding="base64", coding=coding)
    assert "fail: envelopes.list-meta-holds-integers" in judged(tmp_path / "a.har", entry).stdout


@pytest.mark.parametrize(
    ("body", "coding", "why"),
    [
        (encoded(b"\x8b\x00\xff"), "br", "with a body that is compressed in a way that is not read here (br)"),
        (encoded(b"\x1f\x8b\xff"), "gzip", "with a body that cannot be decompressed"),
        ("%%%", "identity", "with a body that is not base64"),
    ],
)
def test_bodies_that_cannot_be_read_are_counted_by_reason(tmp_path: Path, body: str, coding: str, why: str) -> None:
    bad = recorded("GET", "/api/domains/", 200, body, encoding="base64", coding=coding)
    ended = judged(tmp_path / "a.har", bad, bad, recorded("GET", "/api/domains/", 200, WHOLE))
    assert ended.returncode == 0
    assert f"contract-tests: 2 of the entries passed over: {why}\n" in ended.stderr


def test_a_secret_in_a_recorded_url_is_not_shown(tmp_path: Path) -> None:
    bad = recorded("GET", "/api/domains/7?access_token=s3cret-value", 200, '{"data": {"id": 7}}')
    ended = judged(tmp_path / "a.har", bad, recorded("GET", "/api/domains/", 200, WHOLE))
    assert "access_token=" in ended.stdout
    assert "s3cret-value" not in ended.stdout + ended.stderr


def test_a_body_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    cut_off = recorded("GET", "/api/domains/", 200, '{"data": [{"id": 1, "na')
    cut_off["response"]["content"]["size"] = 2570
    ended = judged(tmp_path / "a.har", recorded("GET", "/api/domains/", 200, WHOLE), cut_off)
    assert (ended.returncode, "1 of the entries passed over: without the body" in ended.stderr) == (0, True)


@pytest.mark.parametrize("spelling", ["https://LINKS.example.com/prefix", "https://links.example.com:443/prefix"])
def test_a_service_is_the_same_in_other_spellings(tmp_path: Path, spelling: str) -> None:
    entries = [recorded("GET", "/api/domains/", 200, WHOLE, there=there) for there in (THERE, THERE, spelling)]
    for options in ((), ("--base-url", spelling)):
        ended = judged(tmp_path / "a.har", *entries, options=options)
        assert ended.stdout.startswith("3 of 3 exchanges are with "), ended.stderr


def test_bodies_in_files_of_their_own_are_read_also_out_of_an_archive(tmp_path: Path) -> None:
    entry = recorded("GET", "/api/domains/", 200, without("meta", "total"))
    body = entry["response"]["content"].pop("text")
    entry["response"]["content"] |= {"_file": "7a.json", "size": len(body)}
    (tmp_path / "7a.json").write_text(body)
    beside = judged(tmp_path / "a.har", entry)
    with ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.har", "har.har")
        archive.write(tmp_path / "7a.json", "7a.json")
    assert (beside.returncode, command("judge", tmp_path / "a.zip").returncode) == (1, 1)
    with ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.write(tmp_path / "7a.json", "7a.json")
    ended = command("judge", tmp_path / "b.zip")
    assert (ended.returncode, "it is a ZIP archive without a .har file" in ended.stderr) == (4, True)


def test_of_two_services_in_one_record_one_is_chosen(tmp_path: Path) -> None:
    bad = recorded("GET", "/api/domains/", 200, without("meta", "total"), there="https://staging.example.com")
    good = [recorded("GET", "/api/domains/", 200, WHOLE)] * 2
    usual, chosen = (
        judged(tmp_path / "a.har", bad, *good, options=options)
        for options in ((), ("--base-url", "https://staging.example.com/"))
    )
    assert (usual.returncode, chosen.returncode) == (0, 1)
    assert "1 of the entries passed over: to https://staging.example.com, which --base-url chooses\n" in usual.stderr
    assert chosen.stdout.startswith("1 of 3 exchanges are with https://staging.example.com\n")
    none = judged(tmp_path / "a.har", bad, options=("--base-url", "https://elsewhere.example.com"))
    assert (none.returncode, "belongs to this API at https://elsewhere.example.com" in none.stderr) == (5, True)


def test_a_file_of_somebody_elses_is_named_and_not_told(tmp_path: Path) -> None:
    path = tmp_path / "secret.har"
    path.write_bytes(b"Canary \xff\xfe" * 9)
    ended = command("judge", path)
    assert (ended.returncode, ended.stderr.count("\n"), "Canary" in ended.stderr) == (4, 1, False)
    assert ended.stderr.endswith("secret.har is not an HTTP archive (HAR): it is not UTF-8 text\n")


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ('{"log": {"entries": []}}', 5, "none of the 0 exchanges"),
        ("{}", 4, "is not an HTTP archive (HAR)"),
        ("hello", 4, "is not an HTTP archive (HAR)"),
        ("[" * 100_000, 4, "is not an HTTP archive (HAR)"),
        (None, 4, "cannot be read: No such file or directory"),
    ],
)
def test_a_record_of_something_else_is_not_judged(tmp_path: Path, text: str | None, status: int, message: str) -> None:
    path = tmp_path / "some.har"
    if text is not None:
        path.write_text(text, "utf-8")
    ended = command("judge", path)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert message in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("defects", "options"),
    [
        ((), ("--explore", "60", "--overlap", "2")),
        (("empty-list-is-null",), ("--explore", "60", "--resources", "domains")),
        (("color-lacks-its-sign", "datetime-has-a-t"), ("--explore", "0", "--resources", "splash-pages")),
        (
            ("list-shows-a-row-twice-during-creates", "pages-lose-their-last-record"),
            ("--explore", "0", "--overlap", "2", "--resources", "notification-handlers"),
        ),
        (
            ("settings-are-null", "links-are-relative", "total-runs-ahead-during-creates"),
            ("--explore", "0", "--overlap", "2", "--resources", "domains"),
        ),
    ],
    ids=str,
)
def test_the_record_of_a_run_shows_nothing_that_it_did_not_report(
    defects: tuple[str, ...], options: tuple[str, ...], tmp_path: Path
) -> None:
    with MockServer(fixture="empty", records=28, defects=defects) as mock:
        command("run", "--base-url", mock.base_url, "--lag", "0", *options, "--report-dir", tmp_path)
    results = json.loads((tmp_path / "results.json").read_text("utf-8"))["results"]
    reported = {each["rule"] for each in results if each["verdict"] in ("fail", "warn")}
    found = re.findall(r"^(?:fail|warn): (\S+)", command("judge", tmp_path / "record.har").stdout, re.MULTILINE)
    assert set(found) <= reported
    assert bool(found) == bool(defects)
