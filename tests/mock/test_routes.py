"""Other spellings of paths and methods, as the open points choose."""

from __future__ import annotations

import ast
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from werkzeug.test import Client

from mock_server import MockServer, Settings, create_app

KEY = {"Authorization": "Bearer demo-key-harbour"}


@pytest.mark.parametrize(
    ("choices", "method", "path", "status", "location", "allowed"),
    [
        ({}, "GET", "/api/domains", 200, None, None),
        ({}, "GET", "/api/domains/1/", 200, None, None),
        ({}, "GET", "/api/splash-pages", 200, None, None),
        ({}, "GET", "/api/domains//", 404, None, None),
        ({}, "GET", "//api/domains/", 404, None, None),
        ({}, "GET", "/api/projects?page=2", 405, None, "OPTIONS, POST"),
        ({}, "DELETE", "/api/domains/", 405, None, "GET, HEAD, OPTIONS, POST"),
        ({}, "PATCH", "/api/domains/1", 405, None, "DELETE, GET, HEAD, OPTIONS, POST"),
        ({"other-slash": "404"}, "GET", "/api/domains/1/", 404, None, None),
        ({"other-slash": "404"}, "GET", "/api/splash-pages", 404, None, None),
        ({"other-slash": "404"}, "POST", "/api/domains/", 405, None, "GET, HEAD, OPTIONS"),
        ({"other-slash": "404", "followed-link": "405"}, "GET", "/api/domains", 405, None, "OPTIONS, POST"),
        ({"followed-link": "404"}, "GET", "/api/domains?page=2", 404, None, None),
        ({"followed-link": "redirected"}, "GET", "/api/domains?page=2", 301, "/api/domains/?page=2", None),
        ({"followed-splash-link": "served"}, "GET", "/api/projects?page=2", 200, None, None),
        ({"followed-splash-link": "404"}, "GET", "/api/projects?page=2", 404, None, None),
        ({"followed-splash-link": "redirected"}, "GET", "/api/projects?page=2", 301, "/api/splash-pages/?page=2", None),
        ({"list-redirect": "307"}, "GET", "/api/domains/?page=2", 307, "/api/domains?page=2", None),
        ({"list-redirect": "301"}, "GET", "/api/domains?page=2", 200, None, None),
        ({"put-and-patch": "update"}, "PUT", "/api/domains/", 405, None, "GET, HEAD, OPTIONS, POST"),
    ],
)
def test_a_path_is_answered_as_the_open_points_choose(  # noqa: PLR0913, PLR0917 - the columns of a table
    choices: dict[str, str], method: str, path: str, status: int, location: str | None, allowed: str | None
) -> None:
    for prefix in ("", "/prefix"):
        client = Client(create_app(Settings(choices=choices, base_path=prefix)))
        answer = client.open(path.replace("/api", f"{prefix}/api"), method=method, headers=KEY)
        told = answer.headers.get("Location")
        assert (answer.status_code, told, answer.headers.get("Allow")) == (
            status,
            location and prefix + location,
            allowed,
        )


def test_mocks_that_start_in_threads_parse_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    within, parse = threading.Lock(), ast.parse

    def parsing(*args: Any, **options: Any) -> Any:
        assert within.acquire(blocking=False), "Python 3.11 fails now and then if two threads parse"
        try:
            time.sleep(0)  # lets another thread come
            return parse(*args, **options)
        finally:
            within.release()

    monkeypatch.setattr("werkzeug.routing.rules.ast.parse", parsing)
    with ThreadPoolExecutor() as threads:
        assert len(list(threads.map(lambda _: MockServer(), range(6)))) == 6
