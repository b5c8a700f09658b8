"""The independent server with a store that takes time: wrong when requests overlap, unless it locks."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Lock
from typing import Any

from independent import IndependentServer, Record
from werkzeug.wrappers import Request, Response

SECONDS = 0.004  # that the store takes to read or to write a record


class RacyServer(IndependentServer):
    """Reads a record, changes it and saves it whole, which inserts it again if it was deleted meanwhile.

    Args:
        records: as for the independent server.
        loser: what a write meets that overlaps another: nothing (an empty text), a lock for which it `waits`, or a
            refusal with status `409` or `503`.
    """

    def __init__(self, records: int, loser: str = "") -> None:
        super().__init__(records)
        self._loser, self._lock = loser, Lock()

    def _answer(self, request: Request) -> Response:
        if not self._loser:
            with suppress(KeyError):
                return super()._answer(request)
            return Response("<h1>gone</h1>", 404, content_type="text/html")
        if request.method == "GET" or self._loser == "waits":
            with self._lock:
                return super()._answer(request)
        if not self._lock.acquire(blocking=False):
            return Response("<h1>Somebody else is at it</h1>", int(self._loser), content_type="text/html")
        try:
            return super()._answer(request)
        finally:
            self._lock.release()

    def _write(self, records: dict[int, Record], resource: str, request: Request, record: Record | None) -> Response:
        if record is None:
            return super()._write(records, resource, request, None)
        mine: dict[str, Any] = dict(record)
        time.sleep(SECONDS)
        answer = super()._write(records, resource, request, mine)
        time.sleep(SECONDS)
        records[mine["id"]] = mine
        return answer

    def _create(self, records: dict[int, Record], resource: str, given: dict[str, str]) -> Record:
        record = super()._create(dict(records), resource, given)
        time.sleep(SECONDS)
        records[record["id"]] = record
        return record
