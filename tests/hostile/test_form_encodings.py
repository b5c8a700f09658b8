"""Surface: the charset and the transfer encoding that a part of a form names.
Attack: a name that the mock would store as it came, or that makes Python decode by one of its own codecs.
Holds: the text is stored decoded, or the form is refused and nothing is stored.
"""

from __future__ import annotations

import pytest
from wire import Client

CHARSET, CODING = "Content-Type: text/plain; charset=", "Content-Transfer-Encoding: "
CASES = [
    (f"{CODING}base64", "ZGVjb2RlZC5leGFtcGxlLmNvbQ==", {"decoded.example.com"}),
    (f"{CODING}Quoted-Printable", "decoded=2Eexample.com", {"decoded.example.com"}),
    (f"{CHARSET}utf-16le", "decoded.example.com".encode("utf-16le").decode(), {"decoded.example.com"}),
    (f"{CODING}base64", "ZGVj*", set()),
    (f"{CODING}x-uuencode", "raw.example.com", set()),
    *((f"{CHARSET}{name}", "raw.example.com", set()) for name in ("rot13", "utf-7", "zlib", "unicode_escape", "idna")),
]


@pytest.mark.parametrize(("header", "content", "expected"), CASES)
def test_a_text_is_stored_decoded_or_not_at_all(client: Client, header: str, content: str, expected: set[str]) -> None:
    before = {row["host"] for row in client.get("/api/domains/?results_per_page=1000").json["data"]}
    body = f'--XX\r\nContent-Disposition: form-data; name="host"\r\n{header}\r\n\r\n{content}\r\n--XX--\r\n'.encode()
    headers = {"Content-Type": "multipart/form-data; boundary=XX"}
    answer = client.request("POST", "/api/domains", body=body, headers=headers)
    after = {row["host"] for row in client.get("/api/domains/?results_per_page=1000").json["data"]}
    assert (answer.status, after - before) == (201 if expected else 400, expected)
