"""Prints what a request costs in this process, layer by layer: `python bench/layers.py`.

Each row adds a layer to the one above it; the figures are microseconds of processor time, the least of some rounds.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from flask import Flask
from urllib3.filepost import encode_multipart_formdata

sys.path.insert(0, str(Path(__file__).parent))
import plain

from mock_server import Settings, create_app
from mock_server.control import Control
from mock_server.http.gateway import Gateway
from mock_server.output import BatchHandler

ROUNDS, REQUESTS = 30, 60
FORM, FORM_TYPE = encode_multipart_formdata({"name": "Spring sale", "title": "Sale", "description": "All must go"})
CALLS = {
    "read": ("GET", "/api/domains/11", "", b""),
    "list of 25": ("GET", "/api/domains/", "results_per_page=25", b""),
    "create": ("POST", "/api/projects", "", FORM),
}
SETTINGS = Settings(records=1000)


def main() -> None:
    """Print the table."""
    with redirect_stderr(Path(os.devnull).open("w")):
        logging.basicConfig(format="%(asctime)s %(message)s", handlers=[BatchHandler()])
    print(f"{'microseconds of processor time':34}" + "".join(f"{name:>12}" for name in CALLS))
    bare = create_app(SETTINGS)
    controlled = Control(SETTINGS)
    rows: dict[str, tuple[Callable[[Any], Any], int]] = {
        "a plain Flask application": (whole(plain.app), logging.ERROR),
        "routes and operations": (whole(partial(Flask.wsgi_app, bare)), logging.ERROR),
        "and CORS, defects": (whole(bare), logging.ERROR),
        "and the journal": (whole(controlled), logging.ERROR),
        "and log lines": (whole(controlled), logging.INFO),
        "and the gateway (all there is)": (through(Gateway(controlled)), logging.INFO),
    }
    taken: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):  # taking turns, so that a busy moment of the machine hurts all alike
        for row, (call, level) in rows.items():
            logging.getLogger("mock_server").setLevel(level)
            for column, request in CALLS.items():
                taken[row, column] = min(seconds(call, request), taken.get((row, column), 1e9))
    for row in rows:
        print(f"{row:34}" + "".join(f"{1e6 * taken[row, column] / REQUESTS:12.0f}" for column in CALLS))


def seconds(call: Callable[[Any], Any], request: Any) -> float:
    """How long some requests take."""
    began = process_time()
    call(request)
    return process_time() - began


def whole(site: Any) -> Callable[[Any], Any]:
    """Some requests to a WSGI application."""

    def call(request: Any) -> None:
        for _ in range(REQUESTS):
            b"".join(site(environ(*request), ignore))

    return call


def through(gateway: Gateway) -> Callable[[Any], Any]:
    """The time of some requests through a gateway, in an event loop of its own."""
    loop = asyncio.new_event_loop()

    async def call(request: Any) -> None:
        method, path, query, body = request
        asked = scope(method, path, query, body)

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        for _ in range(REQUESTS):
            await gateway(asked, receive, send)

    async def send(_: Any) -> None:
        pass

    return lambda request: loop.run_until_complete(call(request))


def scope(method: str, path: str, query: str, body: bytes) -> dict[str, Any]:
    headers = [
        (b"host", b"127.0.0.1:8000"),
        (b"authorization", plain.KEY.encode()),
        (b"accept", b"*/*"),
        (b"user-agent", b"bench"),
    ]
    if body:
        headers += [(b"content-type", FORM_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    return {
        "method": method,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "server": ("127.0.0.1", "8000"),
        "client": ("127.0.0.1", 50000),
        "scheme": "http",
        "http_version": "1.1",
        "headers": headers,
    }


def environ(method: str, path: str, query: str, body: bytes) -> dict[str, Any]:
    given: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "RAW_PATH": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "HTTP_HOST": "127.0.0.1:8000",
        "HTTP_AUTHORIZATION": plain.KEY,
        "HTTP_ACCEPT": "*/*",
        "HTTP_USER_AGENT": "bench",
    }
    return given | ({"CONTENT_TYPE": FORM_TYPE, "CONTENT_LENGTH": str(len(body))} if body else {})


def ignore(*_: Any) -> Any:
    pass


if __name__ == "__main__":
    main()
