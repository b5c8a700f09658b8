"""Surface: compressed bodies of requests, to the API and to the control plane.
Attack: a few kilobytes that decompress to 64 MiB of blanks and a form.
Holds: they are refused by their header, and neither stored nor shown in the journal.
"""

from __future__ import annotations

import gzip
import zlib

import pytest
from shell import everything
from wire import Client

from mock_server import MockServer
from mock_server.http.masking import UNREADABLE

FORM = b" " * 2**26 + b"&host=bomb.example.com"
BOMBS = {"gzip": gzip.compress(FORM), "GZIP": gzip.compress(b"host=a"), "deflate": zlib.compress(FORM), "br": b"\x0b"}


@pytest.mark.parametrize("coding", BOMBS)
def test_a_compressed_body_is_refused_by_its_header(server: MockServer, client: Client, coding: str) -> None:
    before = everything(server)
    headers = {"Content-Encoding": coding, "Content-Type": "application/x-www-form-urlencoded"}
    answer = client.request("POST", "/api/domains", body=BOMBS[coding], headers=headers)
    entry = server.running.journal.find()[-1]
    json_headers = headers | {"Content-Type": "application/json"}
    control = client.request("POST", "/_mock/reset", body=BOMBS[coding], headers=json_headers)
    assert (answer.status, control.status) == (415, 400)
    assert f'without "Content-Encoding: {coding.lower()}"' in answer.json["errors"][0]["title"]
    assert (entry.fields, entry.body) == ({}, "" if coding == "GZIP" else UNREADABLE)
    assert everything(server) == before
