"""A plain Flask application with an ordered store of encoded records: about the least that a mock in Flask can cost.

It checks the key, keeps records and pages them, and leaves out all else that the mock does: the contract's rules, open
points, the journal, the log, CORS and defects. `granian --interface wsgi plain:app` serves it.
"""

from __future__ import annotations

import json
from itertools import count
from threading import Lock
from typing import Any

from flask import Flask, Response, request
from sortedcontainers import SortedDict

KEY = "Bearer demo-key-harbour"
RECORDS = 1000
FIXED = b'{"data": {}}'

app = Flask(__name__, static_folder=None)
records: SortedDict[int, bytes] = SortedDict()
numbers, lock = count(1), Lock()


def put(host: str) -> bytes:
    """Keep a new record; its JSON."""
    number = next(numbers)
    record = {
        "id": number,
        "scheme": "https://",
        "host": host,
        "custom_index_url": "",
        "custom_not_found_url": "",
        "is_enabled": False,
        "last_datetime": None,
        "datetime": "2026-03-02 09:00:00",
    }
    text = json.dumps(record).encode()
    with lock:
        records[number] = text
    return text


@app.before_request
def check() -> Response | None:
    """Refuse a request without the key."""
    return None if request.headers.get("Authorization") == KEY else answered(b'{"errors": []}', 401)


@app.get("/api/domains/")
def page() -> Response:
    """A page of the list."""
    number, size = int(request.args.get("page", 1)), int(request.args.get("results_per_page", 25))
    with lock:
        total, shown = len(records), records.values()[(number - 1) * size : number * size]
    meta = {"page": number, "results_per_page": size, "total": total, "total_pages": -(-total // size)}
    return answered(b'{"data": [' + b", ".join(shown) + b'], "meta": ' + json.dumps(meta).encode() + b"}")


@app.get("/api/domains/<int:number>")
def read(number: int) -> Response:
    """A record."""
    return answered(b'{"data": ' + records[number] + b"}")


@app.post("/api/domains")
def create() -> Response:
    """A new record."""
    for file in request.files.values():
        file.read()
    return answered(b'{"data": ' + put(request.form.get("host", "")) + b"}", 201)


app.add_url_rule("/api/projects", "project", create, methods=["POST"])


def answered(body: bytes, status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(body, status, content_type="application/json")


for position in range(RECORDS):
    put(f"host-{position}.example.com")


async def bare(scope: dict[str, Any], _: Any, send: Any) -> None:
    """One fixed answer to every request, as an ASGI application."""
    if scope["type"] == "http":
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(FIXED)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": FIXED})
