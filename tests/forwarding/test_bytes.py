"""What passes between clients and a deployment: all of it, byte by byte, but what belongs to a connection."""

from __future__ import annotations

import gzip
import json
import socket
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from tls import TlsProxy
from upstream import Upstream, answer, kept

from mock_server import MockServer
from mock_server.errors import SettingsError
from mock_server.settings.settings import Deployment

KEY = {"Authorization": "Bearer the-key-of-a-deployment"}


def in_front(upstream: Upstream | str, base_path: str = "", **how: Any) -> MockServer:
    url = upstream if isinstance(upstream, str) else upstream.url
    return MockServer(deployment=Deployment(url=url, timeout=5.0, **how), base_path=base_path)


@pytest.fixture
def up() -> Iterator[Upstream]:
    with Upstream(answer()) as upstream:
        yield upstream


def raw(server: MockServer, sent: bytes) -> bytes:
    """What a server answers to these bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", int(server.origin.rpartition(":")[2])), timeout=60) as conn:
        conn.sendall(sent)
        got = b""
        while part := conn.recv(65_536):
            got += part
    return got


def test_a_request_arrives_as_it_was_sent(up: Upstream) -> None:
    target = "/api//x/../%7e/%2f%zz/a'b?q=%20+&&=;x=%C3%A4#"
    with in_front(up) as server:
        raw(
            server,
            f"GET {target.rstrip('#')} HTTP/1.1\r\nHost: here\r\nX-Two: a\r\nX-Two: b\r\nCookie: c=d\r\n"
            "Authorization: Bearer k\r\nAccept-Encoding: gzip, br;q=0.5, zstd\r\nConnection: close, X-Own\r\n"
            "X-Own: mine\r\nTE: trailers\r\nKeep-Alive: 5\r\nUser-Agent: test\r\n\r\n".encode(),
        )
    assert up.line == f"GET {target.rstrip('#')} HTTP/1.1"
    lines = up.requests[0].decode().split("\r\n")[1:-2]
    assert sorted(line.lower() for line in lines) == sorted(
        [
            f"host: 127.0.0.1:{up.port}",
            "x-two: a",
            "x-two: b",
            "cookie: c=d",
            "authorization: bearer k",
            "accept-encoding: gzip",  # the journal could not read the others
            "user-agent: test",
        ]
    )


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [0, 1, 5000, 3_000_001])
def test_a_body_arrives_as_it_was_sent(up: Upstream, size: int, chunked: bool) -> None:  # noqa: FBT001
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    with in_front(up) as server:
        data: Any = iter([body[:100], body[100:]]) if chunked and size else body
        headers = KEY | {"Content-Type": "multipart/form-data; boundary=b"}
        assert requests.post(f"{server.base_url}/api/projects", data=data, headers=headers).json() == {"data": []}
    if chunked and size:
        assert up.head["transfer-encoding"] == "chunked"
        assert sum(len(each) for each in up.body.split(b"\r\n")) >= size
    else:
        assert up.body == body
    assert up.head["content-type"] == headers["Content-Type"]


def test_an_answer_arrives_as_it_was_sent() -> None:
    body = gzip.compress(b'{"data": {"name": "x"}}')
    sent = answer(body, "Content-Encoding: gzip", "Set-Cookie: a=b", "Set-Cookie: c=d", "ETag: W/x", "X-Odd:  \xe4 ")
    with Upstream(sent.replace(b"200 OK", b"207 Odd")) as up, in_front(up) as server:
        got = raw(server, b"GET /api/domains/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    head, _, came = got.partition(b"\r\n\r\n")
    assert came == body
    lines = head.split(b"\r\n")
    assert lines[0].startswith(b"HTTP/1.1 207")
    for line in (b"set-cookie: a=b", b"set-cookie: c=d", b"etag: W/x", b"content-encoding: gzip", b"x-odd: \xe4"):
        assert line in lines


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_answers_without_a_body_pass(status: str) -> None:
    with Upstream(f"HTTP/1.1 {status}\r\nX-A: b\r\n\r\n".encode()) as up, in_front(up) as server:
        got = requests.get(f"{server.base_url}/api/domains/1")
        assert (got.status_code, got.headers["x-a"], got.content) == (int(status[:3]), "b", b"")


def test_an_answer_to_head_keeps_its_length() -> None:
    with Upstream(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n") as up, in_front(up) as server:
        got = requests.head(f"{server.base_url}/api/domains/1")
        assert (got.headers["content-length"], got.content) == ("500", b"")
        assert up.line.startswith("HEAD ")


def test_chunked_answers_pass() -> None:
    sent = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n3\r\n 1}\r\n0\r\n\r\n'
    with Upstream(sent) as up, in_front(up) as server:
        assert requests.get(f"{server.base_url}/api/domains/1").json() == {"a": 1}


def test_prefixes_on_both_sides_are_taken_off_and_put_on(up: Upstream) -> None:
    with in_front(f"{up.url}/there/too", "/here") as server:
        assert requests.get(f"{server.base_url}/api/domains/1?a=b").ok
        assert up.line == "GET /there/too/api/domains/1?a=b HTTP/1.1"
        assert requests.get(f"{server.origin}/api/domains/1").status_code == 404
        assert requests.get(f"{server.origin}/hereafter/api/domains/1").status_code == 404
    assert len(up.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_handed_on_and_never_followed(status: int) -> None:
    with Upstream(answer()) as elsewhere:
        sent = answer(b"", f"Location: {elsewhere.url}/api/domains/1", status=f"{status} There")
        with Upstream(sent) as up, in_front(up) as server:
            got = requests.get(f"{server.base_url}/api/domains/1", headers=KEY, allow_redirects=False)
            assert (got.status_code, got.headers["location"]) == (status, f"{elsewhere.url}/api/domains/1")
        assert elsewhere.requests == []


def test_with_rewrite_links_page_links_and_redirects_lead_here() -> None:
    there = "https://links.example.com/p"
    pages = {"self": 1, "first": 1, "next": 2, "last": 3}
    links = {name: f"{there}/api/x?page={page}" for name, page in pages.items()} | {"prev": None}
    page = json.dumps({"data": [{"name": f"{there}/api/kept"}], "links": links}).replace("/", "\\/").encode()
    with Upstream(answer(page, "Content-Type: text/plain")) as up, in_front(up, rewrite_links=True) as server:
        got = requests.get(f"{server.base_url}/api/domains/")
        assert got.json()["links"] == {
            "self": f"{server.base_url}/api/x?page=1",
            "first": f"{server.base_url}/api/x?page=1",
            "next": f"{server.base_url}/api/x?page=2",
            "last": f"{server.base_url}/api/x?page=3",
            "prev": None,
        }
        assert got.json()["data"] == [{"name": f"{there}/api/kept"}]
        assert up.head["accept-encoding"] == "identity"
        kept(server)
        assert f"{there}/api/x?page=1" in server.running.archive().replace("\\", "")  # the archive has what was sent
    sent = answer(b"", "Location: /login", status="302 Found")
    moved = Upstream(lambda conn: conn.sendall(sent.replace(b"/login", f"{moved.url}/login".encode())))
    with moved, in_front(moved, rewrite_links=True) as server:
        got = requests.get(f"{server.base_url}/api/domains/", allow_redirects=False)
        assert got.headers["location"] == f"{server.base_url}/login"


LINKED = b'{"links": {"next": "https://links.example.com/api/x?page=2"}, "data": ["%s"]}'


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(LINKED % b"x", 0), ["Content-Encoding: gzip"]),  # in which the link stands as it is
        (LINKED % b"x", ["Content-Encoding: br"]),
        (LINKED % (b"x" * 2**20), []),
    ],
    ids=["gzip", "another coding", "over 1 MiB"],
)
def test_with_rewrite_links_answers_that_are_compressed_or_long_stay_as_they_are(
    body: bytes, headers: list[str]
) -> None:
    with Upstream(answer(body, *headers)) as up, in_front(up, rewrite_links=True) as server:
        response = requests.get(f"{server.base_url}/api/domains/", stream=True)
        assert response.raw.read(decode_content=False) == body


@pytest.mark.parametrize(
    "headers", [(), ("Date: Mon, 02 Mar 2026 09:00:00 GMT", "Server: theirs")], ids=["without", "with its own"]
)
def test_an_answer_has_one_date_and_one_server(headers: tuple[str, ...]) -> None:
    with Upstream(answer(b"{}", *headers)) as up, in_front(up) as server:
        response = raw(server, b"GET /api/domains/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    lines = response.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    header_lines = sorted(line for line in lines if line.lower().startswith(("date: ", "server: ")))
    assert [line.partition(":")[0].lower() for line in header_lines] == ["date", "server"]
    assert not headers or header_lines == ["date: Mon, 02 Mar 2026 09:00:00 GMT", "server: theirs"]


def test_pages_of_other_origins_may_call_whatever_the_deployment_says_of_that() -> None:
    theirs = (
        "Access-Control-Allow-Origin: https://app.example.com",
        "Access-Control-Allow-Credentials: true",
        "Vary: A",
    )
    with Upstream(answer(b"{}", *theirs)) as up, in_front(up) as server:
        origin = {"Origin": "http://localhost:5173"}
        asked = origin | {"Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "authorization"}
        allowed = requests.options(f"{server.base_url}/api/domains/1", headers=asked)
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (204, "*")
        assert up.requests == []
        got = requests.get(f"{server.base_url}/api/domains/1", headers=origin)
        assert got.headers["access-control-allow-origin"] == "*"
        assert got.headers["vary"] == "A, Origin"


def test_pages_of_origins_that_are_not_named_may_not_call() -> None:
    with Upstream(answer(b"{}", "Access-Control-Allow-Origin: *")) as up:
        for origins in ((), ("http://a.example",)):
            with MockServer(deployment=Deployment(url=up.url), cors_origins=origins) as server:
                origin = {"Origin": "http://evil.example"}
                got = requests.get(f"{server.base_url}/api/domains/1", headers=origin)
                assert "access-control-allow-origin" not in got.headers
                asked = origin | {"Access-Control-Request-Method": "DELETE"}
                refused = requests.options(f"{server.base_url}/api/domains/1", headers=asked)
                assert refused.status_code == 403
                assert "access-control-allow-origin" not in refused.headers
    assert all(request.startswith(b"GET ") for request in up.requests)


def test_the_control_token_stays_here(up: Upstream) -> None:
    token = "a-token-that-nobody-guesses"
    with MockServer(deployment=Deployment(url=up.url), control_token=token) as server:
        basic = b64encode(f"x:{token}".encode()).decode()
        for name, given in (
            ("authorization", f"Basic {basic}"),
            ("authorization", f"Bearer {token}"),
            ("authorization", f"Token {token}"),
            ("authorization", f"Bearer the-key-of-a-deployment, Basic {basic}"),
            ("x-key", token),
            ("cookie", f"a=b; token={token}"),
            (token.title(), "1"),
            ("referer", f"http://127.0.0.1/?token={token.replace('-', '%2d')}"),
            ("x-context", json.dumps({"token": token}).replace("-", "\\u002d")),
        ):
            assert requests.get(f"{server.base_url}/favicon.ico", headers={name: given}).ok
            assert name.lower() not in up.head
        for length in range(14, 26):  # some of which are no lengths of base64
            key = {"Authorization": f"Bearer {'sk_' + 'a' * (length - 3)}"}
            assert requests.get(f"{server.base_url}/api/domains/1", headers=key).ok
            assert up.head["authorization"] == key["Authorization"]


def test_a_deployment_may_have_an_ipv6_address_or_an_odd_prefix(up: Upstream) -> None:
    with in_front(f"{up.url}/a%20b") as server:
        assert requests.get(f"{server.base_url}/api/domains/1").ok
    assert up.line == "GET /a%20b/api/domains/1 HTTP/1.1"
    with in_front("http://[::1]:1") as server:
        assert "cannot be reached" in requests.get(f"{server.base_url}/api/domains/1").text


def test_scripts_in_a_deployments_pages_do_not_run_where_the_console_is(up: Upstream) -> None:
    with in_front(up) as server:
        got = requests.get(f"{server.base_url}/api/domains/1")
        assert got.headers["content-security-policy"] == "sandbox"
        assert got.headers["x-content-type-options"] == "nosniff"


def test_the_contract_is_the_servers_own(up: Upstream) -> None:
    with in_front(up) as server:
        assert requests.get(f"{server.base_url}/openapi.yaml").text.startswith("openapi:")
    assert up.requests == []


def test_read_only_refuses_whatever_may_write(up: Upstream) -> None:
    with in_front(up, read_only=True) as server:
        there = f"{server.base_url}/api/domains/1"
        for method in ("POST", "PUT", "PATCH", "DELETE", "PROPFIND"):
            refused = requests.request(method, there, headers=KEY)
            assert refused.status_code == 405
            assert "--read-only" in refused.json()["errors"][0]["title"]
            assert refused.headers["proxy-status"] == "mock-server; error=http_request_denied"
        names = ("X-HTTP-Method-Override", "X-Method", "X-HTTP-Verb", "Method-Override", "HTTP-Method", "Verb")
        for name in (*names, "Access-Control-Request-Method-Override"):
            assert requests.get(there, headers=KEY | {name: "DELETE"}).status_code == 405
        queries = (
            "_method=DELETE %5fmethod _METHOD=DELETE _method[]=DELETE a=1;_method=DELETE .method=DELETE x-method verb"
            " method_name=DELETE methods=D verbs=D httpMethodName=D"
        )
        for query in queries.split():
            assert requests.get(f"{there}?{query}", headers=KEY).status_code == 405
        assert requests.get(there, headers=KEY, data={"_method": "DELETE"}).status_code == 405
        assert up.requests == []
        assert requests.get(there, headers=KEY).ok


@pytest.mark.parametrize(
    "path",
    [
        "/../admin",
        "/api/../../admin",
        "/api/%2e%2E/..%2fadmin",
        "/x/..;/../a",
        "/..\\admin",
        "/api%2Fx/../../secret",
        "/api\\x/../../secret",
        "/api%5Cx/%2e%2e/.%2E/secret",
        "/a;b%2Fc/../../y",
    ],
)
def test_no_path_leads_out_of_the_prefix_of_a_deployment(up: Upstream, path: str) -> None:
    with in_front(f"{up.url}/prefix") as server:
        got = raw(server, f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        assert got.startswith(b"HTTP/1.1 400 ")
        assert up.requests == []
        raw(server, b"GET /api/x/../domains/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert up.line == "GET /prefix/api/x/../domains/1 HTTP/1.1"


@pytest.mark.parametrize("path", ["/p/q/../admin", "/p/q/%2e%2e/admin", "/p/q/api/../../admin", "/p/q/..%2f..%2fadmin"])
def test_the_path_of_the_proxy_itself_does_not_count_as_one_to_leave(up: Upstream, path: str) -> None:
    with in_front(f"{up.url}/prefix", base_path="/p/q") as server:
        got = raw(server, f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 400 ")
    assert up.requests == []


def test_a_deployment_does_nothing_to_the_consoles_origin() -> None:
    headers = "X-Content-Type-Options: off", "Clear-Site-Data: *", "Alt-Svc: h3", "Strict-Transport-Security: max-age=9"
    with Upstream(answer(b"{}", *headers)) as up, in_front(up) as server:
        got = requests.get(f"{server.base_url}/api/domains/1", headers=KEY, timeout=60)
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert not {"Clear-Site-Data", "Alt-Svc", "Strict-Transport-Security"} & set(got.headers)


def test_headers_with_underscores_are_not_sent_because_some_servers_take_them_for_others(up: Upstream) -> None:
    with in_front(up) as server:
        assert requests.get(f"{server.base_url}/api/domains/1", headers={"X_HTTP_Method_Override": "DELETE"}).ok
    assert b"override" not in up.requests[0].lower()


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "trace", "connect", "patch"])
def test_what_no_api_has_is_not_forwarded(up: Upstream, method: str) -> None:
    with in_front(up) as server:
        got = raw(server, f"{method} /api/domains/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        assert got.split()[1] in (b"400", b"404", b"405")
    assert up.requests == []


def test_it_is_no_open_proxy(up: Upstream) -> None:
    with Upstream(answer(b"elsewhere")) as elsewhere, in_front(up) as server:
        for target in (
            f"{elsewhere.url}/api/x",
            f"//127.0.0.1:{elsewhere.port}/api/x",
            f"/@127.0.0.1:{elsewhere.port}/",
        ):
            raw(server, f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        assert elsewhere.requests == []


class TestTls:
    def test_a_certificate_is_checked_unless_told_otherwise(self, up: Upstream, tmp_path: Path) -> None:
        with TlsProxy(tmp_path) as proxy:
            proxy.to = up.port
            there = f"https://localhost:{proxy.port}"
            with in_front(there) as server:
                refused = requests.get(f"{server.base_url}/api/domains/1", headers=KEY)
                assert refused.status_code == 502
                assert refused.headers["proxy-status"] == "mock-server; error=tls_certificate_error"
                assert "--ca-bundle" in refused.json()["errors"][0]["title"]
            assert up.requests == []
            ways: list[dict[str, Any]] = [{"ca_bundle": proxy.ca_bundle}, {"insecure": True}]
            for how in ways:
                with in_front(there, **how) as server:
                    assert requests.get(f"{server.base_url}/api/domains/1", headers=KEY).json() == {"data": []}

    def test_a_clients_certificate_is_shown(self, up: Upstream, tmp_path: Path) -> None:
        with TlsProxy(tmp_path, client=True) as proxy:
            proxy.to = up.port
            there = f"https://localhost:{proxy.port}"
            with in_front(there, ca_bundle=proxy.ca_bundle) as server:
                assert requests.get(f"{server.base_url}/api/domains/1").status_code == 502
            key, marker, certificates = proxy.client_certificate.read_text().partition("-----BEGIN CERTIFICATE")
            (tmp_path / "key.pem").write_text(key)
            (tmp_path / "alone.pem").write_text(marker + certificates)
            certificates_with_keys: list[dict[str, Any]] = [
                {"client_certificate": proxy.client_certificate},
                {"client_certificate": tmp_path / "alone.pem", "client_key": tmp_path / "key.pem"},
            ]
            for files in certificates_with_keys:
                with in_front(there, ca_bundle=proxy.ca_bundle, **files) as server:
                    assert requests.get(f"{server.base_url}/api/domains/1").ok

    def test_files_that_cannot_be_used_are_named_at_the_start(self, tmp_path: Path) -> None:
        (tmp_path / "bad.pem").write_text("nothing")
        ways: list[dict[str, Any]] = [
            {"ca_bundle": tmp_path / "none.pem"},
            {"client_certificate": tmp_path / "bad.pem"},
        ]
        for how in ways:
            with pytest.raises(SettingsError, match=r"none\.pem|bad\.pem"):
                in_front("https://localhost:1", **how)
