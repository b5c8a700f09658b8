"""Request bodies byte by byte, each with its defined answer."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from werkzeug.test import EnvironBuilder
from wire import HARBOUR, PNG, Client, over_network

from mock_server import MockServer

MULTIPART = "multipart/form-data; boundary=XX"
URLENCODED = "application/x-www-form-urlencoded"
SECONDS = "link_unlock_seconds"
TOO_LONG = 200_000


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(choices={"splash-page-fields": "shown"}, max_body=TOO_LONG) as running:
        yield running


def part(head: str, content: bytes = b"", *headers: str) -> bytes:
    lines = [f"Content-Disposition: form-data; {head}", *headers]
    return b"--XX\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n"


END = b"--XX--\r\n"
NAME = part('name="name"', b"Plain")
PNG_TYPE = "Content-Type: image/png"

# label: content type, body, what the record then shows (a subset)
GOOD: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "one text": (MULTIPART, NAME + END, {"name": "Plain"}),
    "quoted boundary": ('multipart/form-data; boundary="XX"', NAME + END, {"name": "Plain"}),
    "capital letters in the type": ("Multipart/Form-Data; Boundary=XX", NAME + END, {"name": "Plain"}),
    "charset in the type": (f"{MULTIPART}; charset=utf-8", NAME + END, {"name": "Plain"}),
    "preamble and epilogue": (MULTIPART, b"hello\r\n" + NAME + END + b"bye", {"name": "Plain"}),
    "no line break at the end": (MULTIPART, NAME + b"--XX--", {"name": "Plain"}),
    "bare line feeds": (MULTIPART, (NAME + END).replace(b"\r\n", b"\n"), {"name": "Plain"}),
    "spaces behind the boundary": (MULTIPART, NAME.replace(b"--XX\r", b"--XX  \r") + END, {"name": "Plain"}),
    "nothing between an empty part and the next": (
        MULTIPART,
        part('name="title"').removesuffix(b"\r\n") + NAME + END,
        {"name": "Plain", "title": ""},
    ),
    "utf-8 value": (MULTIPART, part('name="name"', "Grüße 東京 🎈".encode()) + END, {"name": "Grüße 東京 🎈"}),
    "bytes that are no utf-8": (MULTIPART, part('name="name"', b"a\xffb") + END, {"name": "a\ufffdb"}),
    "a text in Latin-1": (
        MULTIPART,
        part('name="name"', "Café Müller".encode("latin-1"), "Content-Type: text/plain; charset=ISO-8859-1") + END,
        {"name": "Café Müller"},
    ),
    "a text in Thai": (
        MULTIPART,
        part('name="name"', "ไทย".encode("cp874"), "Content-Type: text/plain; charset=windows-874") + END,
        {"name": "ไทย"},
    ),
    "a charset for the form": (
        MULTIPART,
        part('name="_charset_"', b"windows-1252") + part('name="name"', "5 €".encode("cp1252")) + END,
        {"name": "5 €"},
    ),
    "a charset for the form, in a part with a type": (
        MULTIPART,
        part("name=_charset_", b"windows-1252", "Content-Type: text/plain")
        + part('name="name"', "5 \u20ac".encode("cp1252"))
        + END,
        {"name": "5 \u20ac"},
    ),
    "a text that only looks like a charset for the form": (
        MULTIPART,
        part('name="title"', b'name="_charset_"\r\n\r\nlatin-1\r\n') + part('name="name"', "K\u00e4se".encode()) + END,
        {"name": "K\u00e4se"},
    ),
    "a charset for an urlencoded form": (URLENCODED, b"name=Caf%E9&_charset_=iso-8859-1", {"name": "Café"}),
    "base64": (
        MULTIPART,
        part('name="name"', b"Q2Fm\r\nw6k=", "Content-Transfer-Encoding: base64") + END,
        {"name": "Café"},
    ),
    "quoted-printable": (
        MULTIPART,
        part('name="name"', b"Caf=C3=A9", "Content-Transfer-Encoding: quoted-printable") + END,
        {"name": "Café"},
    ),
    "8 bit": (MULTIPART, part('name="name"', b"Plain", "Content-Transfer-Encoding: 8bit") + END, {"name": "Plain"}),
    "utf-8 file name": (
        MULTIPART,
        NAME + part('name="logo"; filename="grün.png"', PNG, PNG_TYPE) + END,
        {"logo": "grün.png"},
    ),
    "file name in RFC 5987 form": (
        MULTIPART,
        NAME + part("name=\"logo\"; filename*=UTF-8''gr%C3%BCn.png", PNG, PNG_TYPE) + END,
        {"logo": "grün.png"},
    ),
    "unquoted name": (MULTIPART, part("name=name", b"Plain") + END, {"name": "Plain"}),
    "escaped quote in a file name": (
        MULTIPART,
        NAME + part('name="logo"; filename="a\\"b.png"', PNG, PNG_TYPE) + END,
        {"logo": 'a"b.png'},
    ),
    "line breaks in a value": (MULTIPART, NAME + part('name="custom_css"', b"a\r\nb") + END, {"custom_css": "a\r\nb"}),
    "boundary-like text in a value": (MULTIPART, part('name="name"', b"--XY\r\n--X") + END, {"name": "--XY\r\n--X"}),
    "boundary inside a file": (
        MULTIPART,
        NAME + part('name="logo"; filename="a"', b"ab--XXcd") + END,
        {"logo": "a"},
    ),
    "content type on a text": (MULTIPART, part('name="name"', b"P", "Content-Type: text/plain") + END, {"name": "P"}),
    "a file without a file name": (MULTIPART, NAME + part('name="logo"', PNG, PNG_TYPE) + END, {"logo": "logo"}),
    "repeated part": (MULTIPART, NAME + part('name="name"', b"Last") + END, {"name": "Last"}),
    "repeated file": (
        MULTIPART,
        NAME + part('name="logo"; filename="1"', b"1") + part('name="logo"; filename="2"', b"2") + END,
        {"logo": "2"},
    ),
    "unchosen file": (
        MULTIPART,
        NAME + part('name="logo"; filename=""', b"", "Content-Type: application/octet-stream") + END,
        {"name": "Plain"},
    ),
    "empty file": (MULTIPART, NAME + part('name="logo"; filename="e.png"', b"", PNG_TYPE) + END, {"logo": "e.png"}),
    "empty text for a file": (MULTIPART, NAME + part('name="logo"') + END, {"name": "Plain"}),
    "unknown field": (MULTIPART, NAME + part('name="shade"', b"x") + END, {"name": "Plain"}),
    "unknown file": (MULTIPART, NAME + part('name="shade"; filename="a"', b"x") + END, {"name": "Plain"}),
    "boolean 1": (MULTIPART, NAME + part('name="auto_redirect"', b"1") + END, {"auto_redirect": True}),
    "boolean 0": (MULTIPART, NAME + part('name="auto_redirect"', b"0") + END, {"auto_redirect": False}),
    "boolean of a checkbox": (MULTIPART, NAME + part('name="auto_redirect"', b"on") + END, {"auto_redirect": True}),
    "boolean of a script": (MULTIPART, NAME + part('name="auto_redirect"', b"false") + END, {"auto_redirect": False}),
    "integer": (MULTIPART, NAME + part('name="link_unlock_seconds"', b"12") + END, {"link_unlock_seconds": 12}),
    "negative integer": (
        MULTIPART,
        NAME + part('name="link_unlock_seconds"', b"-3") + END,
        {"link_unlock_seconds": -3},
    ),
    "urlencoded": (
        URLENCODED,
        b"name=Gr%C3%BC%C3%9Fe+a&title=",
        {"name": "Grüße a", "title": ""},
    ),
    "urlencoded, repeated": (URLENCODED, b"name=a&name=b", {"name": "b"}),
}

# label: content type, body, status, rule, field
BAD: dict[str, tuple[str, bytes, int, str | None, str | None]] = {
    "no body": ("", b"", 415, None, None),
    "json": ("application/json", b'{"name": "a"}', 415, None, None),
    "text": ("text/plain", b"name=a", 415, None, None),
    "no boundary": ("multipart/form-data", NAME + END, 400, None, None),
    "empty boundary": ("multipart/form-data; boundary=", NAME + END, 400, None, None),
    "another boundary": ("multipart/form-data; boundary=YY", NAME + END, 400, None, None),
    "multipart without a body": (MULTIPART, b"", 400, None, None),
    "no end": (MULTIPART, NAME, 400, None, None),
    "no charset": (
        MULTIPART,
        part('name="name"', b"a", "Content-Type: text/plain; charset=punycode") + END,
        400,
        None,
        None,
    ),
    "a charset that Python lacks": (
        MULTIPART,
        part('name="name"', b"a", "Content-Type: text/plain; charset=iso-8859-12") + END,
        400,
        None,
        None,
    ),
    "urlencoded in UTF-16": (f"{URLENCODED}; charset=utf-16", b"name=abc", 400, None, None),
    "no base64": (MULTIPART, part('name="name"', b"Q2*=", "Content-Transfer-Encoding: base64") + END, 400, None, None),
    "no coding": (MULTIPART, part('name="name"', b"a", "Content-Transfer-Encoding: x-odd") + END, 400, None, None),
    "cut off in a value": (MULTIPART, NAME[:-4], 400, None, None),
    "cut off in the headers": (MULTIPART, NAME + b"--XX\r\nContent-Dispo", 400, None, None),
    "cut off in a file": (MULTIPART, NAME + part('name="logo"; filename="a"', PNG)[:-20], 400, None, None),
    "no disposition": (MULTIPART, b"--XX\r\nContent-Type: text/plain\r\n\r\nx\r\n" + END, 400, None, None),
    "a part without a name": (MULTIPART, NAME + part("", b"x") + END, 400, None, None),
    "headers that are no utf-8": (MULTIPART, NAME.replace(b"name=", b"\xff\xfe=") + END, 400, None, None),
    "no parts": (MULTIPART, END, 400, "forms.name-required", "name"),
    "blank name": (MULTIPART, part('name="name"', b" \t") + END, 400, "forms.name-required", "name"),
    "empty name": (MULTIPART, part('name="name"') + END, 400, "forms.name-required", "name"),
    "name as a file": (MULTIPART, part('name="name"; filename="a"', b"Plain") + END, 400, None, "name"),
    "file as text": (MULTIPART, NAME + part('name="logo"', b"logo.png") + END, 400, None, "logo"),
    "no integer": (
        MULTIPART,
        NAME + part('name="link_unlock_seconds"', b"1.5") + END,
        400,
        None,
        SECONDS,
    ),
    "digits of another script": (
        MULTIPART,
        NAME + part('name="link_unlock_seconds"', "٣".encode()) + END,
        400,
        None,
        SECONDS,
    ),
    "no boolean": (MULTIPART, NAME + part('name="auto_redirect"', b"maybe") + END, 400, None, "auto_redirect"),
    "empty boolean": (MULTIPART, NAME + part('name="auto_redirect"') + END, 400, None, "auto_redirect"),
    "too many parts": (MULTIPART, NAME + part('name="a"') * 1000 + END, 413, None, None),
    "too many urlencoded": (URLENCODED, b"a=1&" * 1001, 413, None, None),
    "too long": (MULTIPART, part('name="name"', b"n" * TOO_LONG) + END, 413, None, None),
    "empty urlencoded": (URLENCODED, b"", 400, "forms.name-required", "name"),
}


def post(server: MockServer, key: str, content_type: str, body: bytes) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}"} | ({"Content-Type": content_type} if content_type else {})
    answer = Client(over_network(server.base_url), None).request(
        "POST",
        "/api/projects",
        body=body,
        headers={name: value.encode() for name, value in headers.items()},  # type: ignore[misc]
    )
    return answer.status, answer.json


def splash_pages(server: MockServer, key: str) -> Any:
    return Client(over_network(server.base_url), key).get("/api/splash-pages/?results_per_page=100").json


@pytest.mark.parametrize("label", GOOD)
def test_a_good_body_is_stored_as_it_was_meant(server: MockServer, label: str) -> None:
    content_type, body, shown = GOOD[label]
    key = f"sandbox-{label.replace(' ', '-')}"
    status, answer = post(server, key, content_type, body)
    assert (status, list(answer["data"])) == (201, ["id"])
    record = splash_pages(server, key)["data"][0]
    assert record["id"] == answer["data"]["id"]
    assert record.items() >= shown.items()
    assert "shade" not in record


@pytest.mark.parametrize("label", BAD)
def test_a_bad_body_is_refused_with_its_reason_and_stores_nothing(server: MockServer, label: str) -> None:
    content_type, body, status, rule, field = BAD[label]
    key = f"sandbox-{label.replace(' ', '-')}"
    before = splash_pages(server, key)
    seen, answer = post(server, key, content_type, body)
    (error,) = answer["errors"]
    assert (seen, error["status"], error.get("rule"), error.get("field")) == (status, status, rule, field)
    assert len(error["title"]) > 20
    assert splash_pages(server, key) == before


@pytest.mark.parametrize(
    ("content_type", "body", "cut"),
    [
        (MULTIPART, NAME + part('name="title"', b"t" * 200) + END, 1),
        (MULTIPART, NAME + part('name="title"', b"t" * 200) + END, 40),
        (MULTIPART, NAME + part('name="title"', b"t" * 200) + END, 120),
        (URLENCODED, b"name=Plain&title=t", 10),
    ],
    ids=["early", "in the headers of a part", "in a value", "urlencoded"],
)
def test_a_connection_that_ends_within_the_body_stores_nothing(
    server: MockServer, content_type: str, body: bytes, cut: int
) -> None:
    key = f"sandbox-cut-{content_type[:5]}-{cut}"
    before = splash_pages(server, key)
    head = (
        f"POST /api/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with connect(server) as connection:
        connection.sendall(head.encode() + body[:cut])
    assert splash_pages(server, key) == before


@pytest.mark.parametrize(("key", "max_bytes"), [(HARBOUR, 16 * 2**20), ("unknown", 16 * 2**10), ("", 16 * 2**10)])
def test_little_is_kept_of_a_body_whose_key_opens_no_account(key: str, max_bytes: int) -> None:
    environ = EnvironBuilder("/api/projects", headers=[("Authorization", f"Bearer {key}")]).get_environ()
    assert MockServer().running.body_limit(environ) == max_bytes


def test_a_chunked_body_is_read_as_any_other(server: MockServer) -> None:
    head = (
        "POST /api/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sandbox-chunked\r\n"
        f"Content-Type: {MULTIPART}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    body = NAME + END
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i : i + 7]), body[i : i + 7]) for i in range(0, len(body), 7))
    answer = raw(server, head.encode() + chunks + b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 201 ")
    stored = splash_pages(server, "sandbox-chunked")["data"][0]
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"data": {"id": stored["id"]}}


@pytest.mark.parametrize("content_type", [MULTIPART, URLENCODED])
def test_a_chunked_body_that_is_cut_off_stores_nothing(server: MockServer, content_type: str) -> None:
    head = (
        "POST /api/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sandbox-chunks\r\n"
        f"Content-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    body = b"name=Plain" if content_type == URLENCODED else NAME + END
    before = splash_pages(server, "sandbox-chunks")
    with connect(server) as connection:
        connection.sendall(head.encode() + b"%x\r\n%s\r\n" % (len(body), body))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
    assert splash_pages(server, "sandbox-chunks") == before


def test_a_chunked_body_that_is_too_long_is_refused(server: MockServer) -> None:
    head = (
        "POST /api/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sandbox-long\r\n"
        f"Content-Type: {URLENCODED}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    body = b"name=" + b"n" * TOO_LONG
    answer = raw(server, head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"send 200,000 bytes at most" in answer


@pytest.mark.parametrize(("key", "path", "status"), [("sandbox-a", "/api/projects", 413), ("wrong", "/api/x", 404)])
def test_a_client_that_sends_a_long_refused_body_gets_its_answer_and_may_go_on(
    server: MockServer, key: str, path: str, status: int
) -> None:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": MULTIPART}
    with closing(HTTPConnection(urlsplit(server.base_url).netloc, timeout=20)) as connection:
        connection.request("POST", path, b"x" * 8_000_000, headers)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["errors"][0]["status"]) == (status, status)
        connection.request("GET", "/api/domains/1", headers={"Authorization": "Bearer sandbox-a"})
        assert connection.getresponse().read()


def test_clients_that_stall_within_their_bodies_do_not_stop_others(server: MockServer) -> None:
    head = (
        "POST /api/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sandbox-stall\r\n"
        f"Content-Type: {MULTIPART}\r\nContent-Length: 50\r\n\r\n--XX"
    )
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connect(server)).sendall(head.encode())
        assert splash_pages(server, "sandbox-stall")["meta"]["total"] > 0


def connect(server: MockServer) -> socket.socket:
    address = urlsplit(server.base_url)
    return socket.create_connection((address.hostname, address.port), timeout=60)


def raw(server: MockServer, request: bytes) -> bytes:
    """Send bytes and read what comes until the server closes."""
    with connect(server) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))
