"""A long time of mixed load on a mock: its memory minute by minute, and the statuses of all answers.

Sandboxes open and close, records come and go with files and texts, and meanwhile the mock is reset, saved as snapshots
and restored, its switches change, answers are forced, and others follow the journal.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from itertools import count
from typing import Any
from urllib.parse import urlencode

import hostile
from hostile import Mock
from urllib3.filepost import encode_multipart_formdata

CLIENTS, FOLLOWERS, SANDBOXES = 4, 3, 1500
PAUSE = 0.015  # seconds between two requests of a client
JSON, URLENCODED = "application/json", "application/x-www-form-urlencoded"
CHANGE = urlencode({"custom_index_url": "https://a.example.com"}).encode()
SWITCHES: tuple[dict[str, Any], ...] = (
    {"open": {"order": "by-name"}},
    {"open": {"create-status": "200"}},
    {"conditions": {"latency": 0.01}},
    {"open": {}},
)


class Load:
    """Everybody who uses the mock.

    Args:
        mock: the mock.
        seed: decides what they do.
    """

    def __init__(self, mock: Mock, seed: int) -> None:
        self._mock, self._seed = mock, seed
        self._ends, self._lock = threading.Event(), threading.Lock()
        self.statuses: Counter[str] = Counter()
        self.events = 0

    def run(self, minutes: float) -> None:
        """Run for some minutes, and print what the mock takes each minute."""
        everybody = [self._client] * CLIENTS + [self._follower] * FOLLOWERS + [self._operator]
        threads = [threading.Thread(target=self._on, args=(each, number)) for number, each in enumerate(everybody)]
        for thread in threads:
            thread.start()
        print(f"{'minute':>6} {'memory MB':>10} {'answers':>9} {'events':>9}  statuses", flush=True)
        began = time.monotonic()
        for minute in count(1):
            self._ends.wait(max(0.0, min(began + minute * 60, began + minutes * 60) - time.monotonic()))
            now, _ = self._mock.memory()
            with self._lock:
                told = ", ".join(f"{status} {times}" for status, times in sorted(self.statuses.items()))
                print(f"{minute:6} {now:10.1f} {self.statuses.total():9} {self.events:9}  {told}", flush=True)
            if time.monotonic() >= began + minutes * 60:
                break
        self._ends.set()
        for thread in threads:
            thread.join()

    def _on(self, what: Callable[[random.Random], None], number: int) -> None:
        chance = random.Random(f"{self._seed}/{number}")
        while not self._ends.is_set():
            what(chance)

    def _ask(self, method: str, path: str, key: str = "", body: bytes = b"", media_type: str = "") -> None:
        more: dict[str, Any] = {"Content_Type": media_type} if media_type else {}
        status = self._mock.ask(method, path, body, key, **more)
        with self._lock:
            self.statuses[f"{'control ' if path.startswith('/_mock') else ''}{status}"] += 1
        self._ends.wait(PAUSE)

    def _client(self, chance: random.Random) -> None:
        """A client's short life: a few creates with files and texts, lists, updates and deletes in one sandbox."""
        key, numbers = f"sandbox-{chance.randrange(SANDBOXES)}", range(1, 90)
        for _ in range(chance.randrange(1, 8)):
            number = chance.choice(numbers)
            form: dict[str, Any] = {"name": f"Page {chance.random()}", "custom_css": "x" * chance.randrange(2000)}
            files: dict[str, Any] = {"logo": ("logo.png", chance.randbytes(chance.randrange(1, 20_000)), "image/png")}
            body, media_type = encode_multipart_formdata(form | (files if chance.random() < 0.3 else {}))
            self._ask("POST", "/api/projects", key, body, media_type)
            self._ask("GET", f"/api/domains/?results_per_page={chance.choice((10, 100, 1000))}", key)
            self._ask("POST", f"/api/domains/{number}", key, CHANGE, URLENCODED)
            self._ask("DELETE", f"/api/notification-handlers/{number}", key)

    def _operator(self, chance: random.Random) -> None:
        """Somebody at the control plane."""
        name = f"kept-{chance.randrange(5)}"
        forced = {"prefer": "code=429", "path": "/api/domains/*", "account": "sandbox-1", "times": 3}
        asked = chance.choice(
            [
                ("POST", "/_mock/reset", {}),
                ("PUT", f"/_mock/snapshots/{name}", None),
                ("POST", f"/_mock/snapshots/{name}/restore", None),
                ("DELETE", f"/_mock/snapshots/{name}", None),
                ("POST", f"/_mock/accounts/sandbox-{chance.randrange(SANDBOXES)}/reset", None),
                ("PATCH", "/_mock/state", chance.choice(SWITCHES)),
                ("POST", "/_mock/forced", forced),
                ("GET", "/_mock/journal?remarks=1", None),
                ("GET", "/_mock/journal.har", None),
                ("GET", "/", None),
            ]
        )
        method, path, document = asked
        body = json.dumps(document).encode() if document is not None else b""
        self._ask(method, path, "", body, JSON if body else "")
        self._ends.wait(chance.uniform(0.2, 2))

    def _follower(self, chance: random.Random) -> None:
        """Somebody who follows the journal for a while."""
        connection = HTTPConnection(self._mock.host, self._mock.port, timeout=5)
        until = time.monotonic() + chance.uniform(1, 60)
        with suppress(HTTPException, OSError):
            connection.request("GET", "/_mock/journal/events")
            answer = connection.getresponse()
            while time.monotonic() < until and not self._ends.is_set() and answer.readline():
                self.events += 1
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long (default: %(default)g)")
    parser.add_argument("--seed", type=int, default=0, help="what everybody does (default: %(default)s)")
    given = parser.parse_args()
    with hostile.started("--log-level", "error") as mock:
        load = Load(mock, given.seed)
        load.run(given.minutes)
        now, most = mock.memory()
        failures = {status: times for status, times in load.statuses.items() if status.split()[-1][0] in "05"}
        told = f"memory {now:.0f} MB, at most {most:.0f} MB; failures: {failures or 'none'}"
        print(f"{load.statuses.total()} answers; {told}")


if __name__ == "__main__":
    main()
