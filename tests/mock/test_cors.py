from __future__ import annotations

from typing import Any

import pytest
from werkzeug.test import Client, TestResponse
from wire import HARBOUR

from mock_server import Settings, create_app
from mock_server.control import Control
from mock_server.errors import SettingsError

PAGE = "http://localhost:5173"
KEY = {"Authorization": f"Bearer {HARBOUR}"}


def call(path: str, method: str = "GET", origin: str | None = PAGE, **settings: Any) -> TestResponse:
    more = {"Origin": origin} if origin else {}
    return Client(create_app(Settings(**settings))).open(path, method=method, headers=KEY | more)


@pytest.mark.parametrize("path", ["/api/domains/", "/api/domains", "/api/projects", "/openapi.yaml", "/nothing"])
def test_a_preflight_allows_whatever_is_asked_for(path: str) -> None:
    asked = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "DELETE",
        "Access-Control-Request-Headers": "authorization,x-whatever",
    }
    answer = Client(create_app()).options(path, headers=asked)
    assert (answer.status_code, answer.data) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "DELETE" in answer.headers["Access-Control-Allow-Methods"]
    assert answer.headers["Access-Control-Allow-Headers"] == "authorization,x-whatever"


@pytest.mark.parametrize(
    ("path", "settings", "status"),
    [
        ("/api/domains/", {}, 200),
        ("/api/domains/999999", {}, 404),
        ("/nothing", {}, 404),
        ("/api/domains/", {"choices": {"list-redirect": "307"}}, 307),
        ("/api/domains/", {"defects": ("list-without-a-page-is-refused",)}, 400),
        ("/api/domains/", {"conditions": {"gateway-errors": 1}}, 502),
    ],
    ids=["success", "refusal", "unknown path", "redirect", "defect", "gateway"],
)
def test_every_answer_can_be_read_by_a_page(path: str, settings: dict[str, Any], status: int) -> None:
    answer = call(path, **settings)
    assert answer.status_code == status
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "X-RateLimit-Reset" in answer.headers["Access-Control-Expose-Headers"]
    assert "Origin" in answer.headers["Vary"]


def test_who_is_no_page_is_told_nothing_of_it() -> None:
    assert not [name for name, _ in call("/api/domains/", origin=None).headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("origin", [None, "http://elsewhere.example.com", PAGE])
def test_caches_are_told_where_origins_are_named(origin: str | None) -> None:
    assert "Origin" in call("/api/domains/", origin=origin, cors_origins=(PAGE,)).headers["Vary"]


@pytest.mark.parametrize(
    ("origins", "origin", "allowed"),
    [
        ((), PAGE, None),
        ((PAGE,), PAGE, PAGE),
        ((PAGE,), "http://elsewhere.example.com", None),
        (("null",), "null", "null"),
    ],
    ids=["off", "named", "another", "a file"],
)
def test_the_origins_can_be_named_or_none_be_allowed(
    origins: tuple[str, ...], origin: str, allowed: str | None
) -> None:
    assert (
        call("/api/domains/", origin=origin, cors_origins=origins).headers.get("Access-Control-Allow-Origin") == allowed
    )


def test_the_control_plane_is_for_no_page_at_all() -> None:
    client = Client(Control(Settings()))
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
    for answer in (client.options("/_mock/reset", headers=asked), client.get("/_mock/state", headers={"Origin": PAGE})):
        assert not [name for name, _ in answer.headers if name.startswith("Access-Control")]


def test_what_is_no_origin_is_refused() -> None:
    with pytest.raises(
        SettingsError, match='invalid origin "localhost:5173/app": expected something like http://localhost:5173'
    ):
        Settings(cors_origins=("localhost:5173/app",))


def test_a_preflight_to_a_name_that_strangers_can_own_is_refused() -> None:
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "GET", "Host": "evil.example"}
    assert Client(create_app(Settings(cors_origins=(PAGE,)))).options("/api/domains/", headers=asked).status_code == 421


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("[::1]:8000", 200),
        ("192.168.1.7:8000", 200),
        ("mock", 200),
        ("app.localhost", 200),
        ("mock.example.com", 200),
        ("rebound.example.com", 421),
        ("mock.example.com.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
    ],
)
@pytest.mark.parametrize("origins", [(), ("http://localhost:5173",)])
def test_unless_all_pages_may_call_it_answers_to_names_that_no_stranger_can_own(
    host: str, status: int, origins: tuple[str, ...]
) -> None:
    app = create_app(Settings(cors_origins=origins, public_base_url="https://mock.example.com/prefix"))
    answer = Client(app).get("/api/domains/1", headers=KEY | {"Host": host})
    assert answer.status_code == status
    if status == 421:
        assert f'does not go by the name "{host}"' in answer.json["errors"][0]["title"]  # type: ignore[index]
    assert Client(create_app()).get("/api/domains/1", headers=KEY | {"Host": host}).status_code == 200
