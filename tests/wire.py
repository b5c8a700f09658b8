"""How the tests speak to a server: requests as bytes, whichever way they travel."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from wsgiref.types import WSGIApplication

import requests
from urllib3.filepost import encode_multipart_formdata
from werkzeug.test import Client as TestClient

from mock_server import Settings
from mock_server.control import Control
from mock_server.control.instance import Instance

HARBOUR = "demo-key-harbour"
ALPINE = "demo-key-alpine"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Send = Callable[[str, str, dict[str, str], bytes | None], Answer]


@dataclass(frozen=True)
class Client:
    """Speaks for one API key."""

    send: Send
    key: str | None = HARBOUR

    def request(
        self,
        method: str,
        path: str,
        form: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        given = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        given |= headers or {}
        if form is not None:
            body, given["Content-Type"] = encode_multipart_formdata(dict(form))
        return self.send(method, path, given, body)

    def get(self, path: str) -> Answer:
        return self.request("GET", path)

    def post(self, path: str, form: Mapping[str, Any]) -> Answer:
        return self.request("POST", path, form)

    def delete(self, path: str) -> Answer:
        return self.request("DELETE", path)

    def create(self, path: str, form: Mapping[str, Any]) -> int:
        """The id of a record that is made."""
        answer = self.post(path, form)
        assert 200 <= answer.status < 300, answer
        identifier: int = answer.json["data"]["id"]
        return identifier


def over_network(base_url: str) -> Send:
    session = requests.Session()

    def send(method: str, path: str, headers: dict[str, str], body: bytes | None) -> Answer:
        answer = session.request(method, base_url + path, headers=headers, data=body, allow_redirects=False, timeout=60)
        return Answer(answer.status_code, answer.headers, answer.content)

    return send


def mock(**settings: Any) -> Instance:
    """A mock that needs no socket."""
    return Control(Settings(**settings)).running


def in_process(app: WSGIApplication) -> Send:
    client = TestClient(app)

    def send(method: str, path: str, headers: dict[str, str], body: bytes | None) -> Answer:
        answer = client.open(path, method=method, headers=headers, data=body, environ_base={"REMOTE_ADDR": "127.0.0.1"})
        return Answer(answer.status_code, dict(answer.headers), answer.get_data())

    return send
