"""Serves the implementation of `tests/independent.py`: as it is, broken, slow, behind a replica, or hanging.

python bench/broken.py NAME PORT; names are the keys of SERVERS.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Response

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from independent import IndependentServer, Record

RECORDS, LATENCY, LAG, HANG = 40, 0.1, 0.3, 120.0  # records of each resource; seconds


class Broken(IndependentServer):
    """Five mistakes that one author might make, which break 29 results."""

    def _list(self, records: dict[int, Record], resource: str, request: Any) -> Response:
        answer = super()._list(records, resource, request)
        if answer.status_code == HTTPStatus.OK:
            body = json.loads(answer.get_data())
            body["meta"]["total"] = len(body["data"])  # the page's records, not the collection's
            body["links"]["next"] = body["links"]["next"] or ""  # no null
            answer.set_data(json.dumps(body))
        return answer

    def _update(self, record: Record, resource: str, given: dict[str, str]) -> None:
        known = {name for name in ("host", "type") if record.get("_changed") and name in given}
        super()._update(record, resource, {name: text for name, text in given.items() if name not in known})
        record["last_datetime"] = record["datetime"]  # on new records too

    def _answer(self, request: Any) -> Response:
        if request.method == "DELETE" and request.path.startswith("/api/notification-handlers/"):
            return Response(status=204)  # and does nothing
        return super()._answer(request)


class NearServer(IndependentServer):
    """A correct one over a network."""

    latency = 0.05

    def _answer(self, request: Any) -> Response:
        time.sleep(self.latency)
        return super()._answer(request)


class FarServer(NearServer):
    """The same, farther away."""

    latency = 0.2


class Slow(NearServer, Broken):
    """The broken one, after some time each."""

    latency = LATENCY


class Lagging(IndependentServer):
    """A correct one whose reads show what was true some time ago."""

    def __init__(self, records: int) -> None:
        super().__init__(records)
        self._lock = Lock()
        self._states = [(0.0, copy.deepcopy(self._accounts))]

    def _answer(self, request: Any) -> Response:
        with self._lock:
            if request.method != "GET":
                answer = super()._answer(request)
                self._states.append((time.monotonic(), copy.deepcopy(self._accounts)))
                return answer
            past = [state for at, state in self._states if at <= time.monotonic() - LAG][-1]
            now, self._accounts = self._accounts, past
            try:
                return super()._answer(request)
            finally:
                self._accounts = now


class Hanging(IndependentServer):
    """One that answers no update."""

    def _answer(self, request: Any) -> Response:
        if request.method == "POST" and request.path.rpartition("/")[2].isdecimal():
            time.sleep(HANG)
        return super()._answer(request)


SERVERS = {
    "right": IndependentServer,
    "near": NearServer,
    "far": FarServer,
    "broken": Broken,
    "slow": Slow,
    "lagging": Lagging,
    "hanging": Hanging,
}


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    make_server(
        "127.0.0.1", int(sys.argv[2]), SERVERS[sys.argv[1]](RECORDS), threaded=True, request_handler=_Handler
    ).serve_forever()
