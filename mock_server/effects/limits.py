"""Trouble from a correct server's policy or users: rate limits, quotas, plans, colleagues."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from math import ceil

from werkzeug.wrappers import Response

from mock_server.defects.call import Call, Serve, Transformation
from mock_server.store.collection import UnknownIdError, ValueTakenError

MINUTE = 60.0  # seconds
MOST_OF_OTHERS = 100  # records


def rate_limit(most: float) -> Transformation:
    """Limit how many requests each account may send in a minute, which begins with its first one."""
    lock = threading.Lock()

    def transformation(call: Call, serve: Serve) -> Response:
        if not call.account:
            return serve(call)
        now = time.monotonic()
        with lock:
            if now - call.memory.get("began", -MINUTE) >= MINUTE:
                call.memory.update(began=now, count=0)
            call.memory["count"] += 1
            left, ends = int(most) - call.memory["count"], ceil(call.memory["began"] + MINUTE - now)
        if left >= 0:
            answer = serve(call)
        else:
            title = f"This is more than {int(most)} requests in a minute; wait for {ends} seconds."
            answer = serve(call.refused(429, title))
            answer.headers["X-RateLimit-Reset"] = str(ends)
        answer.headers["X-RateLimit-Limit"] = str(int(most))
        answer.headers["X-RateLimit-Remaining"] = str(max(0, left))
        return answer

    return transformation


def refusing(status: int, when: Callable[[Call], bool]) -> Transformation:
    """Refuse some calls of clients that have an account."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.account and when(call):
            return serve(call.refused(status, "Your plan does not cover this."))
        return serve(call)

    return transformation


def writes(call: Call) -> bool:
    """Whether a call would write."""
    return call.operation in ("create", "update", "delete")


def quota(most: float) -> Transformation:
    """Refuse creates once the account has `most` records of the resource."""
    return refusing(403, lambda call: call.operation == "create" and len(call.records) >= most)


def plan_without_types(_: float) -> Transformation:
    """Refuse creates of Discord and Telegram handlers."""
    return refusing(403, lambda call: call.operation == "create" and call.form.get("type") in ("discord", "telegram"))


def on_old_records(operation: str) -> Callable[[float], Transformation]:
    """Let another user of the first account update or delete, now and then, a record that was there at first."""

    def make(every: float) -> Transformation:
        numbers, first = count(1), dict[str, list[int]]()

        def transformation(call: Call, serve: Serve) -> Response:
            turn, left = divmod(next(numbers), max(1, int(every)))
            theirs = call.by(f"Bearer {next(iter(call.service.accounts.keys))}")
            old = first.setdefault(call.resource.name, [record.id for record in theirs.records])
            if not left and old:
                identifier = old[turn % len(old)] if operation == "update" else old.pop()
                serve(theirs.at(operation, identifier).sending({call.resource.label: f"colleague-{turn}.example.com"}))
            return serve(call)

        return transformation

    return make


def others(every: float) -> Transformation:
    """Let another user of the first account add two records and remove one of theirs, over and over."""
    numbers, made = count(1), dict[str, deque[int]]()

    def transformation(call: Call, serve: Serve) -> Response:
        turn, left = divmod(next(numbers), max(1, int(every)))
        account = call.service.accounts.get(next(iter(call.service.accounts.keys)))
        if not left and account:
            collection, theirs = account.collections[call.resource.name], made.setdefault(call.resource.name, deque())
            with suppress(UnknownIdError, ValueTakenError):  # the client may have deleted it, or made one like it
                if theirs and (turn % 3 == 0 or len(theirs) >= MOST_OF_OTHERS):
                    collection.delete(theirs.popleft())
                    return serve(call)
                form = {"name": f"Colleague's {turn}", "host": f"colleague-{turn}.example.com", "type": "slack"}
                given = {name: form[name] for name, field in call.resource.fields.items() if field.required}
                resource, new_records = call.resource, call.service.new_records
                record = collection.add(lambda number: new_records.values(resource, number) | given, account.clock)
                theirs.append(record.id)
        return serve(call)

    return transformation
