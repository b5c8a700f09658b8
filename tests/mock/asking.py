"""How the tests of a running mock ask it, and its control plane."""

from __future__ import annotations

from typing import Any

import requests
from wire import HARBOUR

from mock_server import MockServer


def ask(server: MockServer, method: str, path: str, **more: Any) -> requests.Response:
    """Ask the API, for the first account unless other headers say so."""
    more["headers"] = {"Authorization": f"Bearer {HARBOUR}"} | more.get("headers", {})
    return requests.request(method, server.base_url + path, timeout=60, **more)


def control(server: MockServer, method: str, path: str, **more: Any) -> requests.Response:
    """Ask the control plane."""
    return requests.request(method, f"{server.origin}/_mock{path}", timeout=60, **more)


def told(answer: requests.Response) -> str:
    """Why something was refused."""
    title: str = answer.json()["errors"][0]["title"]
    return title


def journal(server: MockServer, **filters: str) -> list[dict[str, Any]]:
    """The requests that the journal has."""
    entries: list[dict[str, Any]] = control(server, "GET", "/journal", params=filters).json()["entries"]
    return entries
