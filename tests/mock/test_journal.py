from __future__ import annotations

import gzip
import json
import shlex
import time
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import pytest
import requests
from asking import ask, control, journal
from wire import HARBOUR, PNG, Client, over_network

from mock_server import MockServer
from mock_server.http.masking import MASKED, UNREADABLE, holds_escaped, masked_answer, masked_key, masked_whole
from mock_server.http.messages import decompress_body
from mock_server.journal.journal import MAX_TEXT_LENGTH, Count, Entry, Head, MemoryJournal, RawEntry, Remark

SHARED = pytest.mark.usefixtures("store")  # for what a store in Redis does in code of its own


@SHARED
def test_it_tells_what_was_sent_and_answered_and_masks_the_key(server: MockServer) -> None:
    files = {"logo": ("logo.png", PNG, "image/png")}
    made = ask(server, "POST", "/api/projects?a=%C3%A9", data={"name": "Über"}, files=files).json()["data"]["id"]
    (entry,) = journal(server)
    assert (entry["method"], entry["path"], entry["query"]) == ("POST", "/api/projects", "a=%C3%A9")
    assert (entry["account"], entry["status"], entry["broken"]) == ("Harbour Books", 201, "")
    assert entry["fields"] == {"name": "Über"}
    assert entry["files"] == {"logo": {"name": "logo.png", "media_type": "image/png", "size": len(PNG)}}
    assert entry["headers"]["Authorization"] == "Bearer [key]"
    assert json.loads(entry["answer"]) == {"data": {"id": made}}
    assert HARBOUR not in json.dumps(entry)


def test_the_key_is_masked_in_an_odd_method_and_in_the_media_type_of_a_part(server: MockServer) -> None:
    connection = HTTPConnection("127.0.0.1", int(server.base_url.rpartition(":")[2]))
    connection.request(HARBOUR, "/api/domains/1", headers={"Authorization": f"Bearer {HARBOUR}"})
    connection.getresponse().read()
    connection.close()
    ask(server, "POST", "/api/projects", data={"name": "a"}, files={"logo": ("a.png", PNG, f"image/{HARBOUR}")})
    named, made = journal(server)
    assert (named["method"], made["files"]["logo"]["media_type"]) == ("[key]", "image/[key]")


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("abc/def+12345==", quote('{"k":"abc\\/def+12345=="}')),  # as PHP writes it, in a query
        ("abcdefgh", quote('{"k":"\\u0061bcdefgh"}')),
        ("ab%41cd-efghijk", '{"note":"\\u0061b%41cd-efghijk"}'),
        ("abcd\\u0041efgh", '{"note":"abcd\\\\u0041efgh"}'),
        ("back\\slash%41-token", '"back\\\\slash%41-token"'),
    ],
)
def test_a_key_is_masked_however_json_and_urls_escape_it(key: str, content: str) -> None:
    assert holds_escaped(key.encode(), content.encode())
    masked = masked_key(key, content.encode())
    assert MASKED.encode() in masked
    assert not holds_escaped(key.encode(), masked)


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": "session=a-secret"},
        {"Proxy-Authorization": "Basic a-secret"},
        {"X-Api-Key": "a-secret"},
        {"X-Csrf-Token": "a-secret"},
        {"X-Client-Secret": "a-secret"},
        {"X-Password": "a-secret"},
        {"X-Credential": "a-secret"},
        {"Authorization": "a-secret"},
        {"X-Signature": 'v=1, token="a-secret"'},
        {"Referer": "https://example.com/?a=1;token=a-secret"},
    ],
    ids=lambda headers: next(iter(headers)),
)
def test_keys_meant_for_others_are_masked_in_headers(server: MockServer, headers: dict[str, str]) -> None:
    ask(server, "GET", "/api/domains/1", headers=headers)
    text = json.dumps(journal(server))
    assert "a-secret" not in text
    assert "[key]" in text


@SHARED
def test_keys_meant_for_others_are_masked_in_queries_forms_and_json(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    ask(server, "GET", "/api/domains/1?a=1&api_key=a-secret&auth%5Btoken%5D=a-secret;token=a-secret&page=2")
    ask(server, "POST", "/api/domains", data={"host": "a.example.com", "password": "a-secret"})
    ask(
        server, "POST", "/api/domains", json={"host": "x", "nested": {"auth_token": "a-secret", "n": 1, "key": 1234567}}
    )
    ask(server, "POST", "/api/elsewhere", data={"password": "a-secret"})
    ask(server, "POST", "/api/domains", data={"password": "a-secret"}, headers={"Authorization": "Bearer wrong"})
    query, form, body, *unread = journal(server)
    assert query["query"] == "a=1&api_key=[key]&auth%5Btoken%5D=[key]&page=2"
    assert form["fields"] == {"host": "a.example.com", "password": "[key]"}
    assert json.loads(body["body"]) == {"host": "x", "nested": {"auth_token": "[key]", "n": 1, "key": "[key]"}}
    assert [(entry["fields"], entry["body"]) for entry in unread] == [({}, ""), ({}, "")]
    assert "GET /api/domains/1?a=1&api_key=[key]" in caplog.text
    assert "a-secret" not in caplog.text + json.dumps(journal(server))


def test_the_log_tells_sandboxes_apart_and_shows_no_key_of_an_account(
    server: MockServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    long_key = f"sandbox-{'a' * 40}-of-test-7"
    for key in (HARBOUR, "sandbox-alice-1", long_key):
        ask(server, "GET", "/api/domains/", headers={"Authorization": f"Bearer {key}"})
    names = [record.getMessage().split("  ")[-1] for record in caplog.records]
    assert names == ["Harbour Books", "sandbox-alice-1", "sandbox-aaaaaaa\u2026aaaaa-of-test-7"]


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/json", '{"passwords": ["a-secret"]}'),
        ("application/json", '{"token": {"value": "a-secret"}}'),
        ("application/json", '{"pass\\u0077ord": "a-secret"}'),
        ("application/json", '{"a": [": "], "password": "a-secret"}'),
        ("application/json", '{"' + "x" * 300 + 'password": "a-secret"}'),
        ("application/json", '{"password": "a-secret"'),
        ("application/json", '{"a": "' + "x" * 70_000 + '", "password": "a-secret"}'),
        ("text/plain", "password=a-secret"),
        ("", "password=a-secret"),
        (
            "multipart/mixed; boundary=b",
            '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\na-secret\r\n--b--',
        ),
        ("application/x-www-form-urlencoded", "x" * 3000 + "password=a-secret"),
        (
            "multipart/form-data; boundary=b",
            '--b\r\nContent-Disposition: form-data; name="password"; filename="a-secret"\r\n\r\nx\r\n--b--\r\n',
        ),
    ],
    ids=[
        "list",
        "object",
        "escape",
        "punctuation",
        "long name",
        "JSON that is cut",
        "long JSON",
        "plain text",
        "no type",
        "mixed",
        "long field",
        "file",
    ],
)
def test_keys_meant_for_others_are_masked_in_any_body(server: MockServer, media_type: str, body: str) -> None:
    ask(server, "POST", "/api/domains", data=body.encode(), headers={"Content-Type": media_type})
    assert len(journal(server)) == 1
    assert "a-secret" not in json.dumps(journal(server))


def test_the_cookies_that_an_answer_sets_are_masked(server: MockServer) -> None:
    answer = {"status": 200, "headers": {"Set-Cookie": "a=a-secret"}, "body": {}}
    assert requests.post(f"{server.base_url}/_mock/forced", json=answer, timeout=60).ok
    ask(server, "GET", "/api/domains/1")
    assert journal(server)[-1]["answer_headers"]["Set-Cookie"] == "[key]"


def test_keys_meant_for_others_are_masked_in_answers_and_addresses() -> None:
    with MockServer(choices={"list-redirect": "301"}) as server:
        headers = {"Referer": "http://localhost/?token=a-secret", "Prefer": "token=a-secret"}
        headers |= {"X-A": "http://a/?token=b,a-secret", "X-B": "?token!=a-secret", "X-C": "/?token(1)='a-secret'"}
        headers |= {
            "X-D": "a=1,b=2,token=a-secret",
            "X-E": 'api_key="not a-secret"',
            "X-F": "/?a=/?token=a-secret;a-secret",
        }
        headers |= {"Demo-Key-Harbour": "1"}
        ask(server, "GET", "/api/domains/;token=a-secret?api_key=a-secret", headers=headers, allow_redirects=False)
        (entry,) = journal(server)
    assert entry["headers"]["Referer"] == "http://localhost/?token=[key]"
    assert "demo-key-harbour" not in json.dumps(entry).lower()
    assert "a-secret" not in json.dumps(entry)


@pytest.mark.parametrize("key", ["demo-key-harbour", 'a/key%of=odd"letters', "k" * 300])
def test_a_clients_own_key_is_found_however_it_is_written(
    server: MockServer, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    in_hex = "".join(f"%{ord(letter):02x}" for letter in key)
    in_json = "".join(f"\\u00{ord(letter):02X}" for letter in key)
    forms = [quote(key, safe=""), in_hex, in_hex.upper(), f"{in_hex[:12]}{quote(key[4:], safe='')}"]
    headers = {"Authorization": f"Bearer {key}"}
    for form in (*forms, "x" * (MAX_TEXT_LENGTH - 5) + quote(key, safe="")):
        ask(server, "GET", f"/api/domains/{form}?x={form}", headers=headers | {"Referer": f"http://a/?x={form}"})
    for body in (json.dumps({"x": key}), f'{{"x": "{in_json}"}}', json.dumps("x" * (MAX_TEXT_LENGTH - 5) + key)):
        ask(server, "POST", "/api/domains", data=body, headers=headers | {"Content-Type": "application/json"})
    ask(server, "POST", "/api/domains", data={"host": "x" * (MAX_TEXT_LENGTH - 5) + key, key: "x"}, headers=headers)
    shown = json.dumps(journal(server)) + caplog.text
    assert len(journal(server)) == 9
    for form in (key, json.dumps(key)[1:-1], *forms, in_json, key[:5] if "%" in key or "kkk" in key else key[:7]):
        assert form not in shown.replace("Harbour", "")


@SHARED
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Encoding": "gzip"}, b"demo-key-elsewhere"),
        ({"Content-Encoding": "br"}, b"demo-key-elsewhere"),
        ({"Content-Encoding": "gzip"}, gzip.compress(b"x" * 100 + b"demo-key-elsewhere", 0)[:-9]),
    ],
    ids=["not compressed", "in another way", "cut off"],
)
def test_a_body_that_cannot_be_decompressed_is_not_shown(
    server: MockServer, headers: dict[str, str], body: bytes
) -> None:
    ask(server, "POST", "/api/domains", data=body, headers=headers | {"Content-Type": "text/plain"})
    given = {"path": "/api/domains/1", "body": body.decode("latin-1"), "headers": headers}
    assert control(server, "POST", "/forced", json=given).ok
    requests.get(
        f"{server.base_url}/api/domains/1", headers={"Authorization": f"Bearer {HARBOUR}"}, timeout=60, stream=True
    )
    first, second = journal(server)
    assert (first["body"], second["answer"]) == (UNREADABLE, UNREADABLE)
    assert "demo-key-elsewhere" not in control(server, "GET", "/journal.har").text


@pytest.mark.parametrize(
    ("codings", "is_readable"),
    [(("gzip", "gzip"), False), (("gzip", "br"), False), (("gzip, gzip",), False), (("identity, gzip", ""), True)],
)
def test_a_body_in_two_codings_cannot_be_decompressed(codings: tuple[str, ...], *, is_readable: bool) -> None:
    body = gzip.compress(b"{}")
    decompressed = decompress_body(body, [("Content-Encoding", coding) for coding in codings])
    assert decompressed == (b"{}" if is_readable else None)
    assert decompress_body(body + body, [("Content-Encoding", "gzip")]) is None  # no part of a body passes for it


@pytest.mark.parametrize("path", ["/api/domains%3Fapi_key=a-secret", "/api/domains&token=a-secret"])
def test_what_a_remark_or_an_error_repeats_is_masked_like_the_path(server: MockServer, path: str) -> None:
    ask(server, "GET", path)
    [entry] = journal(server)
    assert entry["remarks"]
    assert "a-secret" not in json.dumps(entry) + control(server, "GET", "/journal.har").text


def test_a_key_is_masked_as_the_name_of_a_header_with_escapes_too(server: MockServer) -> None:
    ask(server, "GET", "/api/domains/1", headers={"".join(f"%{ord(letter):02X}" for letter in HARBOUR): "1"})
    [entry] = journal(server)
    assert MASKED in entry["headers"]


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"token": "a-secret", "more": "x" * 70_000}),
        '{"data": {"token": "a-secret"}, "data": 1}',
        '{"more": "' + "x" * (MAX_TEXT_LENGTH - 30) + '", "token": "a-secret" ' + "x" * 70_000,
        '{"session": {"id": "a-secret", "more": "' + "x" * 70_000 + '"}}',
        '{"keys": [1, "a-secret"], "more": "' + "x" * 70_000 + '"}',
        '{"\\u0074oken": "a-secret"}',
    ],
    ids=["long", "twice", "cut off in its value", "in an object", "in a list", "named with an escape"],
)
def test_a_secret_in_json_that_cannot_be_read_whole_is_masked(server: MockServer, body: str) -> None:
    ask(server, "POST", "/api/domains", data=body, headers={"Content-Type": "application/json"})
    assert len(journal(server)) == 1
    for shown in (json.dumps(journal(server)), masked_answer(body, MAX_TEXT_LENGTH), masked_whole(body)):
        assert "a-sec" not in shown


@SHARED
def test_an_answer_that_shows_a_key_is_kept_without_it() -> None:
    with MockServer(choices={"settings-keys": "generic"}) as server:
        form = {"name": "a", "type": "telegram", "telegram": "a-secret", "telegram_chat_id": "1"}
        made = ask(server, "POST", "/api/notification-handlers", data=form).json()["data"]["id"]
        assert "a-secret" in ask(server, "GET", f"/api/notification-handlers/{made}").text
        assert "a-secret" not in journal(server)[1]["answer"]


@SHARED
def test_it_is_searched_counted_and_cleared(server: MockServer) -> None:
    ask(server, "GET", "/api/domains/")
    ask(server, "GET", "/api/domains/1", headers={"Authorization": "Bearer sandbox-9"})
    ask(server, "DELETE", "/api/domains/999999")
    first = journal(server)[0]["number"]
    for filters, count in (
        ({"account": "sandbox-9"}, 1),
        ({"method": "get"}, 2),
        ({"path": "/api/domains/*"}, 3),
        ({"status": "404"}, 1),
        ({"after": str(first)}, 2),
        ({"remarks": "1"}, 0),
        ({"method": "GET", "status": "200"}, 2),
    ):
        assert len(journal(server, **filters)) == count, filters
        answer = requests.get(f"{server.base_url}/_mock/journal/count", filters, timeout=60)
        assert answer.json() == {"count": count}
    assert requests.delete(f"{server.base_url}/_mock/journal", timeout=60).status_code == 204
    assert journal(server) == []
    assert control(server, "GET", f"/journal/{first}").status_code == 404


def test_a_filter_that_is_none_is_told(server: MockServer) -> None:
    answer = requests.get(f"{server.base_url}/_mock/journal?url=x", timeout=60)
    assert (answer.status_code, answer.json()["errors"][0]["title"]) == (
        400,
        'no filter "url"; filters are account, method, path, status, remarks, after',
    )
    assert requests.get(f"{server.base_url}/_mock/journal?after=x", timeout=60).status_code == 400


@SHARED
def test_it_is_followed(server: MockServer) -> None:
    ask(server, "GET", "/api/domains/1")
    with requests.get(f"{server.base_url}/_mock/journal/events?method=DELETE", stream=True, timeout=60) as answer:
        lines = answer.iter_lines(decode_unicode=True)
        assert next(lines) == ": the journal"
        ask(server, "GET", "/api/domains/2")
        ask(server, "DELETE", "/api/domains/3")
        data = next(json.loads(line[5:]) for line in lines if line.startswith("data:"))
    assert (data["method"], data["path"]) == ("DELETE", "/api/domains/3")


def test_it_is_bounded_in_number_and_in_bytes() -> None:
    kept = MemoryJournal(most_entries=3, most_bytes=6500)
    for _ in range(5):
        kept.add(Entry("", "", "GET", "/", "", {}))
    assert [entry.number for entry in kept.find()] == [3, 4, 5]
    kept.add(Entry("", "", "GET", "/" * 4000, "", {}))
    assert [entry.number for entry in kept.find()] == [5, 6]


@pytest.mark.parametrize("place", ["names", "answer"])
def test_long_names_of_headers_and_headers_of_answers_count_as_its_bytes(place: str) -> None:
    kept, long = MemoryJournal(most_bytes=100_000), "X" * 1000
    headers = {f"{long}{number}": "" for number in range(20)} if place == "names" else {}
    head = Head(200, [(long, long)] * 10 if place == "answer" else [])
    for _ in range(50):
        kept.add(RawEntry(0.0, "", "", "GET", "/", "", headers, head, 1.0))
    assert len(kept.find()) < 6


def test_a_remark_is_counted_after_its_request_is_gone() -> None:
    kept = MemoryJournal(most_entries=1)
    for _ in range(3):
        kept.add(Entry("", "", "GET", "/", "", {}, remarks=[Remark("wrong", "a.rule")]))
    assert kept.remark_counts == {("wrong", "a.rule"): Count(3, "GET /", "")}


@SHARED
def test_an_account_is_found_by_its_key_too(server: MockServer) -> None:
    ask(server, "GET", "/api/domains/1")
    assert len(journal(server, account=HARBOUR)) == len(journal(server, account="Harbour Books")) == 1


@pytest.mark.parametrize("filters", [{"remarks": "yes"}, {"status": "4xx"}, {"after": "9" * 5000}])
def test_a_filter_of_no_sense_is_told(server: MockServer, filters: dict[str, str]) -> None:
    assert requests.get(f"{server.base_url}/_mock/journal", filters, timeout=60).status_code == 400


@pytest.mark.parametrize(
    "condition",
    ["chunked", "compressed", "connection-close", "slow-body", "cut-off", "dropped-after", "lag", "other-writer"],
)
def test_a_lost_answer_is_lost_and_told_of_under_each_condition(condition: str) -> None:
    in_memory: dict[str, Any] = {"store": None} if condition == "lag" else {}  # it needs a second mock
    with MockServer(conditions={condition: 0.01 if condition in ("slow-body", "lag") else 1}, **in_memory) as server:
        with pytest.raises(requests.exceptions.RequestException):
            ask(server, "GET", "/api/domains/1", headers={"Prefer": "lost=after"})
        assert [entry.broken for entry in server.running.journal.find()] == ["dropped"]


@SHARED
def test_what_is_compressed_or_comes_in_pieces_can_be_read(server: MockServer) -> None:
    for condition in ("compressed", "chunked"):
        server.running.change_switches(conditions={condition: 0})
        answer = ask(server, "GET", "/api/domains/1")
        assert answer.json()["data"]["id"] == 1
        assert json.loads(journal(server)[-1]["answer"])["data"]["id"] == 1
    assert answer.headers["Transfer-Encoding"] == "chunked"


def test_no_answer_of_the_api_can_run_a_script_beside_the_console(server: MockServer) -> None:
    server.running.change_switches(choices={"media-type": "html"})
    for path in ("/api/%3Cscript%3E", "/api/domains/1", "/login"):
        headers = ask(server, "GET", path).headers
        assert (headers["Content-Security-Policy"], headers["X-Content-Type-Options"]) == ("sandbox", "nosniff")


@SHARED
def test_a_journal_holds_no_long_texts(server: MockServer) -> None:
    Client(over_network(server.base_url)).post(
        "/api/projects", {"name": "x" * 100_000, **{f"f{n}": "1" for n in range(300)}}
    )
    (entry,) = journal(server)
    assert (len(entry["fields"]["name"]), len(entry["fields"])) == (2000, 100)


@SHARED
def test_so_many_follow_and_who_leaves_makes_room(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.control.api.SECONDS_BETWEEN_SIGNS", 0.05)

    def followed() -> requests.Response:
        return requests.get(f"{server.base_url}/_mock/journal/events", stream=True, timeout=60)

    answers = [followed() for _ in range(17)]
    assert [answer.status_code for answer in answers] == [200] * 16 + [503]
    for answer in answers:
        answer.close()
    for _ in range(600):  # until the server has noticed
        with followed() as again:
            if has_room := again.status_code == 200:
                next(again.iter_lines())
        time.sleep(0.5)  # so that it has noticed this one, too, before it is stopped
        if has_room:
            return
    pytest.fail("nobody may follow any more")


@SHARED
def test_no_journal_keeps_and_remarks_nothing_and_answers_break_off_all_the_same() -> None:
    with MockServer(journal=0, conditions={"chunked": 0}) as server:
        assert ask(server, "GET", "/api/domains/?results_per_page=30").status_code == 200
        with pytest.raises(requests.exceptions.RequestException):
            ask(server, "GET", "/api/domains/1", headers={"Prefer": "lost=after"})
        assert server.running.journal.find() == []
        assert server.running.journal.remark_counts == {}


def test_a_curl_command_names_no_file_of_this_machine_and_controls_nothing(server: MockServer) -> None:
    client = Client(over_network(server.base_url))

    def command() -> str:
        number = server.running.journal.find()[-1].number
        return requests.get(f"{server.base_url}/_mock/journal/{number}/curl", timeout=60).text.strip()

    client.post("/api/projects", {"x=@/etc/passwd;y": ("a.png", PNG, "image/png")})
    assert command() == "# curl cannot send a part whose name has an equals sign"
    client.post("/api/projects", {"name": "Page", "logo": ('@/etc/"a.png', PNG, "image/png,/etc/passwd")})
    words = shlex.split(command())
    assert words[words.index("-F") + 1] == 'logo=@FILE;filename="@/etc/\\"a.png"'
    assert ask(server, "POST", "/_mock%2freset").status_code == 404
    assert shlex.split(command())[-1] == f"{server.base_url}/%5Fmock/reset"
