"""A client that relies on nothing but the contract, except for what $PLANTED names: `order,lost-create`.

It takes care in every step: it retries what may be retried, looks before it creates once more, and waits for what it
has written to show.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any

PLANTED = set(filter(None, os.environ.get("PLANTED", "").split(",")))
URL, KEY = os.environ["MOCK_URL"], os.environ["API_KEY"]
TRIES, PATIENCE = 7, 5.0  # seconds
BUSY = (429, 500, 502, 503)
EDGE = "between-the-parts"


class LostError(Exception):
    """There was no answer, or none that says whether the request was carried out."""


def relies(name: str, holds: object) -> None:
    """Fail if something is planted that does not hold."""
    if name in PLANTED and not holds:
        sys.exit(f"relies on {name}")


def once(method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, Any, Any]:
    """The status, the headers and the body of an answer."""
    headers, data = {"Authorization": f"Bearer {KEY}"}, None
    if form is not None:
        parts = [
            f'--{EDGE}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
            for name, text in form.items()
        ]
        data = f"{''.join(parts)}--{EDGE}--\r\n".encode()
        headers["Content-Type"] = f"multipart/form-data; boundary={EDGE}"
    request = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()
    except (OSError, HTTPException) as error:
        raise LostError from error


def send(
    method: str, path: str, form: dict[str, str] | None = None, *, may_repeat: bool = True
) -> tuple[int, Any, Any]:
    """The same, after as many tries as it takes."""
    for turn in range(TRIES):
        try:
            status, headers, body = once(method, path, form)
        except LostError:
            if not may_repeat:
                raise
            status, headers, body = 503, {}, b""
        relies("500-once", status != 500)
        if status == 401 and "expired-key" in PLANTED:
            continue
        if status not in BUSY:
            return status, headers, body
        if status != 429 and not may_repeat:
            raise LostError
        wait = float(headers.get("Retry-After", 0.1 * 2**turn))
        time.sleep(0 if "429-retry-after" in PLANTED and status == 429 else wait)
        if "429-retry-after" in PLANTED and status == 429:
            time.sleep(0.3)
    return status, headers, body


def success(answer: tuple[int, Any, Any]) -> Any:
    """The JSON of an answer that has to be a success; None if its body is empty or no JSON."""
    status, _, body = answer
    if not 200 <= status < 300:
        sys.exit(f"status {status}: {body[:200]!r}")
    try:
        return json.loads(body)
    except ValueError:
        return None


def every(path: str) -> list[dict[str, Any]]:
    """All records of a list."""
    records: list[dict[str, Any]] = []
    page = pages = 1
    while page <= pages:
        listed = success(send("GET", f"{path}?results_per_page=100&page={page}"))
        records, pages, page = records + listed["data"], listed["meta"]["total_pages"], page + 1
    return records


def until(found: Any) -> Any:
    """What is found at last, though reads may lag."""
    ends = time.monotonic() + PATIENCE
    while not (result := found()):
        relies("lag", holds=False)
        if time.monotonic() > ends:
            sys.exit("what was written does not show")
        time.sleep(0.1)
    return result


def create(path: str, listed: str, label: str, form: dict[str, str]) -> int:
    """The id of a new record; if it is unknown whether it was made, it is looked for."""
    for _ in range(TRIES):
        try:
            answer = send("POST", path, form, may_repeat="lost-create" in PLANTED and label == "name")
            relies("create-status", answer[0] == 201)
            relies("media-type", answer[1].get("Content-Type") == "application/json")
            made = success(answer)["data"]
            relies("write-answer", label not in made)
            return int(made["id"])
        except LostError:
            time.sleep(0.7)  # longer than reads lag
            for record in every(listed):
                if record[label] == form[label]:
                    return int(record["id"])
    sys.exit("could not create")


def update(path: str, form: dict[str, str]) -> None:
    answer = send("POST", path, form)
    relies("update-status", answer[0] == 200)
    success(answer)


def delete(path: str) -> None:
    """Delete a record; it is as well if it is gone already."""
    status, _, body = send("DELETE", path)
    relies("deleted-meanwhile", status != 404)
    relies("delete-status", status == 200 and not body)
    if not 200 <= status < 300 and status not in (400, 403, 404, 410):
        sys.exit(f"status {status}")


def domains() -> None:
    path, there = "/api/domains/", len(every("/api/domains/"))
    first = create("/api/domains", path, "host", {"host": "one.example.com"})
    second = create("/api/domains", path, "host", {"host": "zwei.example.com"})
    relies("ids", second == first + 1)
    record = until(lambda: next((each for each in every(path) if each["id"] == second), None))
    relies("order", every(path)[0]["id"] == second)
    relies("domain-starts", not record["is_enabled"])
    update(f"{path}{second}", {"custom_index_url": "https://example.com/"})
    changed = until(lambda: (it := success(send("GET", f"{path}{second}"))["data"])["custom_index_url"] and it)
    relies("last-datetime-after-update", changed["last_datetime"] is not None)
    past = send("GET", f"{path}?results_per_page=100&page=90")
    relies("page-past-the-end", past[0] == 200 and json.loads(past[2])["data"] == [])
    unknown = send("GET", f"{path}99999999")
    relies("unknown-id", unknown[0] == 404)
    refused = send("POST", "/api/domains", {"custom_index_url": "https://example.com/"})
    relies("invalid-field", refused[0] == 400)
    for number in (first, second):
        delete(f"{path}{number}")
    until(lambda: len(every(path)) == there)


def splash_pages() -> None:
    number = create("/api/projects", "/api/splash-pages/", "name", {"name": "Made by a client"})
    update(f"/api/splash-pages/{number}", {"title": "Of a client"})
    delete(f"/api/splash-pages/{number}")


domains()
splash_pages()
