"""A client with requests, as an application would have it: it relies on the contract alone.

It creates a splash page with a logo and a notification handler, changes both, and deletes them.
"""

import os
import time

import requests

URL = os.environ["API_BASE_URL"]
PATIENCE = 6  # seconds
BUSY = (429, 500, 502, 503, 504)
LOGO = b"\x89PNG\r\n\x1a\n"

session = requests.Session()
session.headers["Authorization"] = f"Bearer {os.environ['API_KEY']}"


def call(method, path, **more):
    """Send what may be sent again, until there is an answer that means something."""
    for turn in range(6):
        try:
            answer = session.request(method, URL + path, timeout=10, **more)
        except requests.RequestException:
            time.sleep(0.1)
            continue
        if answer.status_code not in BUSY:
            break
        time.sleep(float(answer.headers.get("Retry-After", 0.2 * 2**turn)))
    if answer.status_code == 404 and method == "DELETE":
        return answer  # somebody else was faster, or an answer was lost
    answer.raise_for_status()
    return answer


def listed(path):
    page = pages = 1
    while page <= pages:
        body = call("GET", path, params={"results_per_page": 250, "page": page}).json()
        yield from body["data"]
        pages, page = body["meta"]["total_pages"], page + 1


def for_state(holds):
    """Reads may lag behind writes."""
    ends = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < ends, "what was written does not show"
        time.sleep(0.2)


def create(path, collection, name, **more):
    """Create a record, once: if it is unknown whether that worked, look for it before trying again."""
    before = {record["id"] for record in listed(collection) if record["name"] == name}
    for turn in range(6):
        try:
            answer = session.post(URL + path, timeout=10, **more)
        except requests.RequestException:
            answer = None
        if answer is not None and answer.ok:
            return int(answer.json()["data"]["id"])
        if answer is not None and answer.status_code < 500 and answer.status_code != 429:
            answer.raise_for_status()
        time.sleep(float(answer.headers.get("Retry-After", 0.2 * 2**turn)) if answer is not None else 0.8)
        for record in listed(collection):
            if record["name"] == name and record["id"] not in before:
                return record["id"]
    raise RuntimeError(f"could not create {name}")


def update(path, **fields):
    """An update may be sent again: it changes nothing the second time."""
    call("POST", path, files={name: (None, value) for name, value in fields.items()})


def names(collection):
    return {record["id"]: record["name"] for record in listed(collection)}


page = create(
    "/api/projects",
    "/api/splash-pages/",
    "Made by requests",
    files={"name": (None, "Made by requests"), "logo": ("logo.png", LOGO, "image/png")},
)
handler = create(
    "/api/notification-handlers",
    "/api/notification-handlers/",
    "Alarm",
    files={"name": (None, "Alarm"), "type": (None, "slack"), "slack": (None, "https://hooks.example.com/1")},
)
update(f"/api/splash-pages/{page}", name="Changed by requests")
update(f"/api/notification-handlers/{handler}", is_enabled="0")
for_state(lambda: names("/api/splash-pages/").get(page) == "Changed by requests")
for_state(lambda: call("GET", f"/api/notification-handlers/{handler}").json()["data"]["is_enabled"] is False)
call("DELETE", f"/api/splash-pages/{page}")
call("DELETE", f"/api/notification-handlers/{handler}")
for_state(lambda: page not in names("/api/splash-pages/") and handler not in names("/api/notification-handlers/"))
