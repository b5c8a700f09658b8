"""Surface: the header `Origin`, with which a page says where it comes from.
Attack: a page sends its cookies along, from an origin that is named, another one, or any where all may call.
Holds: only a page of a named origin may read an answer to credentials, and it is named back, not `*`.
"""

from __future__ import annotations

import pytest
from wire import Client, over_network

from mock_server import MockServer

PAGE, OTHER = "http://localhost:5173", "https://hostile.example.com"
ALLOW = "Access-Control-Allow-"
CASES = [((PAGE,), PAGE, (PAGE, "true")), ((PAGE,), OTHER, (None, None)), (("*",), OTHER, ("*", None))]


@pytest.mark.parametrize(("named", "origin", "expected"), CASES, ids=["named", "another", "any"])
def test_credentials_are_for_named_origins(
    named: tuple[str, ...], origin: str, expected: tuple[str | None, str | None]
) -> None:
    headers = {"Origin": origin, "Cookie": "session=1", "Access-Control-Request-Method": "DELETE"}
    with MockServer(cors_origins=named) as server:
        for method in ("GET", "OPTIONS", "DELETE"):
            answer = Client(over_network(server.base_url)).request(method, "/api/domains/1", headers=headers)
            assert tuple(answer.headers.get(ALLOW + name) for name in ("Origin", "Credentials")) == expected
