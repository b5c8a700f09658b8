"""Hostile clients of the mock: what each sends, the answers it gets, and what becomes of its connection."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from enum import Enum


class Then(Enum):
    """What becomes of a connection after the answers."""

    CLOSES = "the server closes it"
    GOES_ON = "the next request is answered"
    WAITS = "the server waits for the rest of the request, until its patience ends"


@dataclass(frozen=True)
class Hostile:
    """A hostile client.

    Attributes:
        sent: what it sends.
        answers: the statuses of the answers, in order.
        then: what becomes of the connection.
        says: a part of the last answer's body.
        at_last: the status that a client gets who lets the server wait; None if the connection is closed without one.
        half_closes: whether the client closes its direction of the connection after sending.
    """

    sent: bytes
    answers: tuple[int, ...]
    then: Then
    says: str = ""
    at_last: int | None = None
    half_closes: bool = False


def answered(sent: bytes, *answers: int, says: str = "") -> Hostile:
    return Hostile(sent, answers, Then.GOES_ON, says)


def closed(sent: bytes, *answers: int, says: str = "", half_closes: bool = False) -> Hostile:
    return Hostile(sent, answers, Then.CLOSES, says, half_closes=half_closes)


def waiting(sent: bytes, *answers: int, at_last: int | None = None) -> Hostile:
    return Hostile(sent, answers, Then.WAITS, at_last=at_last)


KEY, HOST, EVIL = b"Authorization: Bearer sandbox-hostile", b"Host: localhost", b"Host: evil.example"
URLENCODED = b"Content-Type: application/x-www-form-urlencoded"
FORM = b"Content-Type: multipart/form-data; boundary=XX"
JSON, YAML = b"Content-Type: application/json", b"Content-Type: application/yaml"
CHUNKED, CONTINUE = b"Transfer-Encoding: chunked", b"Expect: 100-continue"
MANY, LONG = 10**5, 10**6


def request(line: bytes, *headers: bytes, body: bytes = b"", host: bytes = HOST, version: bytes = b"HTTP/1.1") -> bytes:
    return b"\r\n".join([line + b" " + version, *([host] if host else []), *headers, b"", body])


def get(target: bytes, *headers: bytes) -> bytes:
    return request(b"GET " + target, KEY, *headers)


def domain(*headers: bytes) -> bytes:
    return get(b"/api/domains/1", *headers)


def create(*headers: bytes, body: bytes = b"host=h") -> bytes:
    """A request to create a domain, whose length or coding is among the headers."""
    return request(b"POST /api/domains", KEY, URLENCODED, *headers, body=body)


def chunks(body: bytes, *headers: bytes) -> bytes:
    return create(CHUNKED, *headers, body=body)


def length(body: bytes) -> bytes:
    return b"Content-Length: %d" % len(body)


def form(body: bytes, *headers: bytes, media_type: bytes = FORM) -> bytes:
    """A form that creates a splash page."""
    return request(b"POST /api/projects", KEY, media_type, length(body), *headers, body=body)


def control(line: bytes, body: bytes = b"", *headers: bytes, media_type: bytes = JSON, host: bytes = HOST) -> bytes:
    return request(line, media_type, length(body), *headers, body=body, host=host)


def snapshot(body: bytes) -> bytes:
    return control(b"PUT /_mock/snapshots/hostile", body, media_type=YAML)


def part(attributes: bytes, content: bytes = b"x") -> bytes:
    return b"--XX\r\nContent-Disposition: form-data; " + attributes + b"\r\n\r\n" + content + b"\r\n"


NAME, END = part(b'name="name"', b"Hostile"), b"--XX--\r\n"
SMUGGLED = get(b"/api/smuggled")
NESTED = b"".join(
    b'--X%d\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: multipart/mixed; boundary=X%d\r\n\r\n' % each
    for each in zip(range(1000), range(1, 1001), strict=True)
).replace(b"--X0\r", b"--XX\r")
BOMB = gzip.compress(bytes(50 * LONG))
TLS = bytes.fromhex("16030100a5010000a10303") + bytes(160)
HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
UPGRADE = (b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: aGFsbG8=")
WRONG_HOST = b"GET http://evil.example/_mock/state"
TWICE = json.dumps({"defects": ["pages-overlap", "pages-overlap"]}).encode()
CUT_OFF = "The body was cut off after 0 bytes"

SMUGGLING = {
    "a length beside chunks": closed(create(CHUNKED, b"Content-Length: 4", body=b"0\r\n\r\n" + SMUGGLED), 400),
    "chunks beside a length": closed(create(b"Content-Length: 4", CHUNKED, body=b"0\r\n\r\n" + SMUGGLED), 400),
    "two lengths": closed(create(b"Content-Length: 6", b"Content-Length: 0", body=b"host=h" + SMUGGLED), 400),
    "a list of lengths": closed(create(b"Content-Length: 6, 6"), 400),
    "a negative length": closed(create(b"Content-Length: -1"), 400),
    "a length with a plus": closed(create(b"Content-Length: +6"), 400),
    "a hexadecimal length": closed(create(b"Content-Length: 0x6"), 400),
    "an empty length": closed(create(b"Content-Length: "), 400),
    "a length in digits of another script": closed(create(b"Content-Length: \xd9\xa6"), 400),
    "a length beyond 64 bits": closed(create(b"Content-Length: 18446744073709551617"), 400),
    "a length of 63 bits": waiting(create(b"Content-Length: 9223372036854775807"), at_last=408),
    "a length with a space before the colon": closed(create(b"Content-Length : 6"), 400),
    "a length that goes on in the next line": closed(create(b"Content-Length: 6\r\n 6"), 400),
    "a length with an underscore for its hyphen": answered(create(b"Content_Length: 50", body=b""), 400, says="host"),
    "a coding that is none": closed(create(b"Transfer-Encoding: xchunked"), 400),
    "a coding after chunked": closed(chunks(b"0\r\n\r\n", b"Transfer-Encoding: identity"), 400),
    "a coding with a vertical tab": closed(create(b"Transfer-Encoding: \x0bchunked"), 400),
    "a coding with a parameter": closed(create(b"Transfer-Encoding: chunked;q=1"), 400),
    "a coding with a space before the colon": closed(create(b"Transfer-Encoding : chunked"), 400),
    "a coding behind a line feed": answered(create(b"X: y\n" + CHUNKED, body=b"0\r\n\r\n"), 400, says="host"),
    "a coding behind a carriage return": closed(create(b"X: y\r" + CHUNKED), 400),
    "chunks under HTTP/1.0": closed(create(CHUNKED).replace(b"HTTP/1.1", b"HTTP/1.0"), 400),
    "a negative chunk": closed(chunks(b"-1\r\n"), 400, says=CUT_OFF),
    "a chunk with 0x": closed(chunks(b"0x6\r\nhost=h\r\n0\r\n\r\n"), 400, says=CUT_OFF),
    "a chunk beyond 64 bits": closed(chunks(b"10000000000000006\r\nhost=h\r\n0\r\n\r\n"), 400, says=CUT_OFF),
    "a chunk of 64 bits": waiting(chunks(b"FFFFFFFFFFFFFFFF\r\nhost=h"), at_last=408),
    "a chunk with line feeds alone": closed(chunks(b"6\nhost=h\n0\n\n"), 400, says=CUT_OFF),
    "a chunk longer than it says": closed(chunks(b"3\r\nhost=h\r\n0\r\n\r\n" + SMUGGLED), 400, says="after 3 bytes"),
    "a chunk without its line break": closed(chunks(b"6\r\nhost=hXX0\r\n\r\n" + SMUGGLED), 400, says="after 6 bytes"),
    "an endless chunk extension": closed(chunks(b"6;" + b"x" * MANY), 400, says=CUT_OFF),
    "a line break in a chunk extension": closed(chunks(b'6;a="\r\n"\r\nhost=h\r\n0\r\n\r\n'), 400),
    "an endless trailer": closed(chunks(b"0\r\n" + b"a: b\r\n" * MANY), 400, says=CUT_OFF),
    "a key in a trailer": answered(request(b"POST /api/x", CHUNKED, body=b"0\r\n" + KEY + b"\r\n\r\n"), 404),
    "3,000 chunks of a byte": answered(chunks(b"1\r\nx\r\n" * 3000 + b"0\r\n\r\n"), 400, says="host"),
    "a request in the body of a GET": answered(domain(length(SMUGGLED)) + SMUGGLED, 200),
    "a request in the body of a refused one": answered(
        request(b"POST /api/x", length(SMUGGLED), body=SMUGGLED) + domain(), 404, 200
    ),
}

HEADS = {
    "an endless method": closed(b"A" * LONG, 431),
    "an endless target": closed(get(b"/" + b"a" * LONG), 431),
    "an endless header": closed(b"GET / HTTP/1.1\r\nX: " + b"a" * LONG, 431),
    "endless headers": closed(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * MANY, 431),
    "101 headers": closed(domain(*[b"a: b"] * 99), 431),
    "endless line breaks": closed(b"\r\n" * LONG, 431),
    "a target of 60,000 bytes": answered(get(b"/api/" + b"a" * 60_000), 404),
    "a target of 70,000 bytes": closed(get(b"/api/" + b"a" * 70_000), 414),
    "no header at all": waiting(b""),
    "half a method": waiting(b"G"),
    "half a head": waiting(b"GET /api/domains/1 HTTP/1.1\r\nHost: loc"),
    "a head that is cut off": closed(b"GET /api/domains/1 HTTP/1.1\r\nHost: loc", half_closes=True),
    "an answer that waits, half-closed": closed(domain(b"Prefer: delay=60"), half_closes=True),
    "a folded header": closed(domain(b"X: a\r\n b"), 400),
    "a header without a colon": closed(domain(b"nothing"), 400),
    "a header with NUL": closed(domain(b"X: a\0b"), 400),
    "a header name of 8 bits": closed(domain(b"X\xff: a"), 400),
    "a header of 8 bits": answered(domain(b"X: \xff\xfe\x80"), 200),
    "no Host": answered(request(b"GET /api/domains/1", KEY, host=b""), 400),
    "two Hosts": answered(domain(EVIL), 400),
    "a huge key": answered(request(b"GET /api/domains/1", b"Authorization: Bearer " + b"k" * 60_000), 401),
    "a key of 8 bits": answered(request(b"GET /api/domains/1", b"Authorization: Bearer sandbox-\xff"), 401),
    "a scheme without a key": answered(request(b"GET /api/domains/1", b"Authorization: Bearer "), 401),
    "a basic key that is no base64": answered(request(b"GET /api/domains/1", b"Authorization: Basic !"), 401),
    "two keys": answered(domain(KEY), 401),
    "a preferred status of 5,000 digits": answered(
        domain(b"Prefer: code=" + b"4" * 5000), 400, says="give 2,000 at most"
    ),
    "a preferred 503": answered(domain(b"Prefer: code=503"), 503),
    "20,000 preferences": answered(domain(b"Prefer: " + b"a," * 20_000), 400),
    "HTTP/0.9": closed(b"GET /api/domains/1\r\n\r\n", 400),
    "HTTP/1.0": closed(request(b"GET /api/domains/1", KEY, version=b"HTTP/1.0") + SMUGGLED, 200),
    "HTTP/1.2": closed(request(b"GET /api/domains/1", KEY, version=b"HTTP/1.2"), 400),
    "HTTP/2": closed(HTTP_2),
    "HTTP/2 after a request": closed(domain() + HTTP_2, 200),
    "an upgrade to HTTP/2": answered(domain(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c"), 200),
    "a WebSocket": answered(domain(*UPGRADE), 200),
    "a hello of TLS": closed(TLS, 400),
    "nothing but NUL": closed(bytes(1000), 400),
    "a byte between requests": closed(domain() + b"\0" + domain(), 200, 400),
    "TRACE": answered(request(b"TRACE /api/domains/1", KEY), 405),
    "CONNECT with requests in the tunnel": answered(request(b"CONNECT evil.example:443", KEY) + domain(), 404, 200),
    "a method of lower-case letters": answered(request(b"delete /api/domains/2", KEY), 405),
    "an unknown method": answered(request(b"PROPFIND /api/domains/1", KEY), 405),
    "100 requests at once": answered(domain() * 100, *[200] * 100),
    "refused requests among others": answered(
        domain() + SMUGGLED + domain(b"Prefer: code=400") + domain(), *[200, 404, 400, 200]
    ),
    "a malformed request among others": closed(domain() + domain(b"nothing") + domain(), 200, 400),
}

TARGETS = {
    "a parent folder": answered(get(b"/api/../api/domains/1"), 404),
    "an encoded parent folder": answered(get(b"/api/%2e%2e/_mock/state"), 404),
    "an encoded slash": answered(get(b"/_mock%2fstate"), 404),
    "a double slash before the control plane": answered(get(b"//_mock/state"), 404),
    "a double slash": answered(get(b"/api//domains/1"), 404),
    "a backslash": answered(get(b"/api\\domains\\1"), 404),
    "an encoded NUL": answered(get(b"/api/domains/1%00"), 404),
    "a NUL": closed(get(b"/api/domains/1\0"), 400),
    "a half escape": answered(get(b"/api/domains/%"), 404),
    "an escape of overlong UTF-8": answered(get(b"/api/domains/%c0%b1"), 404),
    "an escaped escape": answered(get(b"/api/domains/%2531"), 404),
    "escaped line breaks": answered(get(b"/api/domains/1%0d%0aX:%20y"), 404),
    "path parameters": answered(get(b"/api/domains/1;a=b"), 404),
    "an id of 5,000 digits": answered(get(b"/api/domains/" + b"9" * 5000), 404),
    "an id in digits of another script": answered(get(b"/api/domains/%D9%A1"), 404),
    "a whole URL": answered(get(b"http://evil.example/api/domains/1"), 200),
    "an authority": answered(get(b"localhost:80"), 404),
    "an asterisk": answered(request(b"OPTIONS *", KEY), 404),
    "no leading slash": closed(get(b"api/domains/1"), 400),
    "a page of 4,000 digits": answered(get(b"/api/domains/?page=" + b"9" * 4000), 200),
    "a page of 60,000 digits": answered(get(b"/api/domains/?page=" + b"9" * 60_000), 200),
    "a page size of 60,000 digits": answered(get(b"/api/domains/?results_per_page=" + b"9" * 60_000), 200),
    "20,000 parameters": answered(get(b"/api/domains/?" + b"a&" * 20_000), 200),
    "a query of 8 bits": closed(get(b"/api/domains/?page=\xff"), 400),
}

BODIES = {
    "a body that does not come": waiting(form(NAME + END)[: -len(NAME + END)], at_last=408),
    "a body that stops": waiting(form(NAME + END)[:-5], at_last=408),
    "a body of a stranger that does not come": waiting(
        request(b"POST /api/projects", b"Content-Length: 50"), at_last=401
    ),
    "a body that is cut off": closed(form(NAME + END)[:-5], 400, says="was cut off after", half_closes=True),
    "a delete whose body does not come": waiting(
        request(b"DELETE /api/domains/1", KEY, b"Content-Length: 50"), at_last=408
    ),
    "chunks that stop": waiting(chunks(b"6\r\nhos"), at_last=408),
    "chunks that are cut off": closed(chunks(b"6\r\nhos"), 400, says="was cut off after", half_closes=True),
    "an expectation without a body": waiting(
        request(b"POST /api/projects", KEY, CONTINUE, b"Content-Length: 9"), 100, at_last=415
    ),
    "an unknown expectation": answered(form(NAME + END, b"Expect: 200-ok"), 201),
    "a body of 20 MB": answered(form(b"x" * 20 * LONG), 413),
    "a body of 65 MiB": closed(form(b"x" * 65 * 2**20), 413),
    "100,000 parts": answered(form(part(b'name="a"') * MANY + END), 413),
    "100,000 urlencoded parts": answered(create(length(b"a=1&" * MANY), body=b"a=1&" * MANY), 413),
    "a part's name of 10^6 bytes": answered(form(part(b'name="' + b"n" * LONG + b'"') + END), 400),
    "an urlencoded name of 10^6 bytes": answered(create(b"Content-Length: 1000000", body=b"n" * LONG), 400),
    "a part of 100,000 headers": answered(form(b"--XX\r\n" + b"a: b\r\n" * MANY + b"\r\nx\r\n" + END), 400),
    "a part of 21 headers": answered(
        form(part(b'name="a"').replace(b"\r\n\r\n", b"\r\n" + b"a: b\r\n" * 20 + b"\r\n") + END), 400, says="20 headers"
    ),
    "a part with headers of 3 KiB": answered(
        form(b"--XX\r\n" + b"a: " + b"b" * 3000 + b"\r\n\r\nx\r\n" + END), 400, says="2,048"
    ),
    "a text of 5 MB": answered(form(NAME + part(b'name="a"', b"x" * 5 * LONG) + END), 400, says="4,194,304"),
    "a field of 1,100,000 characters": answered(
        form(NAME + part(b'name="title"', b"x" * 1_100_000) + END), 400, says="1,048,576"
    ),
    "an urlencoded form of 1,100,000 bytes": answered(
        create(length(b"a=" * 550_000), body=b"a=" * 550_000), 400, says="1,048,576"
    ),
    "boundaries nested 1,000 deep": answered(form(NESTED), 400),
    "200,000 halves of a boundary": answered(form(NAME + b"--X\r\n" * 200_000 + END), 201),
    "a boundary that is a pattern": answered(form(NAME + END, media_type=FORM[:-2] + b'"(X+)+$"'), 400),
    "a boundary without an end quote": answered(form(NAME + END, media_type=FORM[:-2] + b'"XX'), 400),
    "two boundaries": answered(form(NAME + END, media_type=FORM + b"; boundary=YY"), 400),
    "an unknown charset": answered(form(NAME + END, media_type=FORM + b"; charset=zork"), 201),
    "a file name in a charset that is a codec": answered(
        form(NAME + part(b"name=\"logo\"; filename*=unicode_escape''%5cud800") + END), 201
    ),
    "an integer of 10^6 digits": answered(form(NAME + part(b'name="link_unlock_seconds"', b"9" * LONG) + END), 400),
    "a compression bomb": answered(form(BOMB, b"Content-Encoding: gzip"), 415),
}

CONTROL = {
    "a rebound host": answered(control(b"POST /_mock/reset", b"{}", host=EVIL), 403),
    "a host that begins like a local one": answered(
        control(b"GET /_mock/state", host=b"Host: localhost.evil.example"), 403
    ),
    "a host with a user": answered(control(b"GET /_mock/state", host=b"Host: localhost@evil.example"), 403),
    # The server does not tell the mock of the host in a whole URL, which no browser sends to it.
    "a whole URL of a foreign host": answered(control(WRONG_HOST), 200),
    "a whole URL beside a foreign host": answered(control(b"GET http://localhost/_mock/state", host=EVIL), 403),
    "a foreign origin": answered(control(b"POST /_mock/reset", b"{}", b"Origin: http://evil.example"), 403),
    "no origin in particular": answered(control(b"POST /_mock/reset", b"{}", b"Origin: null"), 403),
    "two origins": answered(control(b"POST /_mock/reset", b"{}", b"Origin: http://localhost", b"Origin: null"), 403),
    "a WebSocket of a foreign origin": answered(
        control(b"GET /_mock/journal/events", b"", b"Origin: http://evil.example", *UPGRADE), 403
    ),
    "a foreign host that announces a long body": waiting(
        request(b"POST /_mock/reset", JSON, b"Content-Length: 1000000", host=EVIL), at_last=403
    ),
    "arrays nested 100,000 deep": answered(control(b"PATCH /_mock/state", b"[" * MANY + b"]" * MANY), 400),
    "objects nested 100,000 deep": answered(control(b"POST /_mock/forced", b'{"a":' * MANY + b"1" + b"}" * MANY), 400),
    "an integer of 5,000 digits": answered(control(b"POST /_mock/reset", b'{"records":' + b"9" * 5000 + b"}"), 400),
    "no number": answered(control(b"PATCH /_mock/state", b'{"conditions":{"latency":NaN}}'), 400),
    "half a surrogate": answered(control(b"POST /_mock/forced", b'{"field":"\\ud800"}'), 400),
    "a line break in a forced header": answered(
        control(b"POST /_mock/forced", b'{"status":200,"headers":{"X":"a\\r\\nb: c"}}'), 400
    ),
    "a defect twice": answered(control(b"PATCH /_mock/state", TWICE), 400),
    "a path out of the console's files": answered(control(b"GET /_mock/swagger/..%2f..%2f__init__.py"), 404),
    "a file of 5,000 digits": answered(control(b"GET /_mock/files/" + b"9" * 5000), 404),
    "a fixture of aliases": answered(snapshot(b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"), 400, says="alias"),
    "a fixture with a tag": answered(snapshot(b"now: !!python/object/apply:os.getpid []\n"), 400, says="a tag"),
    "a fixture nested 100,000 deep": answered(snapshot(b"[" * MANY), 400, says="more than 20 deep"),
    "a compressed switch": answered(control(b"POST /_mock/reset", BOMB[:1000], b"Content-Encoding: gzip"), 400),
}

HOSTILE: dict[str, Hostile] = SMUGGLING | HEADS | TARGETS | BODIES | CONTROL
