"""Servers that are right as long as requests come one by one, and wrong when they overlap.

The mock carries out one request at a time. What seems to take time here is carried out at once and answered a moment
later; a client that waits for each answer never meets such a moment, and one that does not sends a request within it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, Transformation, content, done
from mock_server.faults.defects.defect import D, N, Table, defect
from mock_server.faults.defects.means import made_id, says
from mock_server.http.request_notes import notes_of

LISTS_OF_OTHERS: WeakKeyDictionary[Any, list[str]] = WeakKeyDictionary()  # the keys of the latest lists, by service
MOMENT = 0.05  # seconds
MOST_READS = 30  # at a time
TIMES = ("datetime", "last_datetime")


def _begin(call: Call, key: str, value: Any) -> None:
    """Note that something is under way, and answer it a moment later."""
    call.memory[key] = (monotonic() + MOMENT, value)
    notes_of(call.environ).delay += MOMENT


def _under_way(call: Call, key: str) -> Any:
    """What is under way, or None."""
    until, value = call.memory.get(key, (0.0, None))
    return value if monotonic() < until else None


def _key(call: Call, operation: str) -> str:
    return f"{operation} {call.resource.name} {call.identifier}"


def _undoes(call: Call, serve: Serve) -> Response:
    if call.operation != "update" or call.record is None:
        return serve(call)
    key, now = _key(call, "update"), dict(call.record.values)
    before = _under_way(call, key)
    if before is not None:
        call.collection.update(call.record.id, lambda record: replace(record, values=before))
    _begin(call, key, now if before is None else before)
    return serve(call)


def _tears(call: Call, serve: Serve) -> Response:
    key = _key(call, "update")
    if call.operation == "update" and call.record is not None:
        shown = content(serve(call.at("read", call.record.id)))
        _begin(call, key, shown["data"])
        return serve(call)
    before, answer = _under_way(call, key), serve(call)
    if call.operation != "read" or before is None or not done(call, answer):
        return answer
    body = content(answer)
    changed = [name for name in body["data"] if name not in TIMES and body["data"][name] != before.get(name)]
    body["data"] |= {name: before[name] for name in changed[1:] if name in before}
    return says(call, answer, body)


def _brings_back(call: Call, serve: Serve) -> Response:
    kept: dict[str, Any] = call.memory.setdefault("kept", {})
    record, here = _key(call, ""), call.record
    if call.operation == "read" and here is None and record in kept:
        return call.service.representations.json(kept[record], 200)
    if call.operation not in ("update", "delete"):
        return serve(call)
    shown = content(serve(call.at("read", here.id))) if here else None
    other = _under_way(call, _key(call, "delete" if call.operation == "update" else "update"))
    kept.pop(record, None)
    if other is not None and (call.operation == "update" or here):
        kept[record] = other
    _begin(call, _key(call, call.operation), shown or {})
    return serve(call)


def _answers_one_id(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if call.operation != "create" or not done(call, answer):
        return answer
    first = _under_way(call, _key(call, "create"))
    if first is None:
        _begin(call, _key(call, "create"), made_id(call, answer))
        return answer
    body = content(answer)
    body["data"]["id"] = first
    return says(call, answer, body)


def _loses(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if call.operation != "create" or not done(call, answer):
        return answer
    if _under_way(call, _key(call, "create")):
        call.collection.delete(made_id(call, answer))
    else:
        _begin(call, _key(call, "create"), True)  # noqa: FBT003 - a value that is kept
    return answer


def _counts_once_more(call: Call, serve: Serve) -> Response:
    answer, drift = serve(call), f"drift {call.resource.name}"
    if call.operation in ("create", "delete") and done(call, answer):
        key = f"write {call.resource.name}"
        call.memory[drift] = call.memory.get(drift, 0) + bool(_under_way(call, key))
        _begin(call, key, True)  # noqa: FBT003 - a value that is kept
    if call.operation != "list" or not done(call, answer) or not call.memory.get(drift):
        return answer
    body = content(answer)
    body["meta"]["total"] += call.memory[drift]
    return says(call, answer, body)


def _during_creates(change: Callable[[dict[str, Any]], None]) -> Transformation:
    """Change lists while a record is created."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer, key = serve(call), f"create {call.resource.name}"
        if call.operation == "create" and done(call, answer):
            _begin(call, key, True)  # noqa: FBT003 - a value that is kept
        if call.operation != "list" or not done(call, answer) or not _under_way(call, key):
            return answer
        body = content(answer)
        change(body)
        return says(call, answer, body)

    return transformation


def _twice(body: dict[str, Any]) -> None:
    body["data"] = [*body["data"][:1], *body["data"]]


def _one_more(body: dict[str, Any]) -> None:
    body["meta"]["total"] += 1


def _is_locked(call: Call, serve: Serve) -> Response:
    """Fail writes of a resource while another is under way."""
    if call.operation not in ("create", "update", "delete") or not call.account:
        return serve(call)
    key = f"write {call.resource.name}"
    if _under_way(call, key):
        return serve(call.refused(500, "The store is locked."))
    _begin(call, key, True)  # noqa: FBT003 - a value that is kept
    return serve(call)


def _is_busy(call: Call, serve: Serve) -> Response:
    """Fail while another resource is written to."""
    writing = _under_way(call, "writing")
    if writing not in (None, call.resource.name) and call.account:
        return serve(call.refused(500, "The store is locked."))
    if call.operation in ("create", "update", "delete") and call.account:
        _begin(call, "writing", call.resource.name)
    return serve(call)


def _undoes_a_setting(call: Call, serve: Serve) -> Response:
    """Of two updates of one object of settings, keep the second alone."""
    if call.operation != "update" or call.record is None or not {"telegram", "telegram_chat_id"} & set(call.form):
        return serve(call)
    return _undoes(call, serve)


def _lands_elsewhere(call: Call, serve: Serve) -> Response:
    """Make a record in another account that has just sent two lists, as if they had come while this one was read."""
    lists = LISTS_OF_OTHERS.setdefault(call.service.accounts, [])
    if call.operation == "list" and call.account:
        lists.append(call.authorization)
        return serve(call)
    latest = lists[-2:]
    lists.clear()
    if call.operation == "create" and call.account and len(latest) > 1 and call.authorization not in latest:
        return serve(call.by(latest[0]))
    return serve(call)


def _locks_up(call: Call, serve: Serve) -> Response:
    if call.operation != "read":
        return serve(call)
    reads: list[float] = call.memory.setdefault("reads", [])
    reads[:] = [due for due in reads if due > monotonic()]
    if len(reads) >= MOST_READS:
        return serve(call.refused(500, "There is no connection left to the store."))
    hold = MOMENT * (1 + len(reads)) / 2  # the more of them, the longer each, so that a burst fills up on any machine
    reads.append(monotonic() + hold)
    notes_of(call.environ).delay += hold
    return serve(call)


# fmt: off
DEFECTS: Table = {
    "concurrency.updates-leave-other-fields": [
        defect("update-undoes-one-under-way", "Of two updates that overlap, the second undoes the first.",
               _undoes, D, N),
        defect("update-undoes-a-setting", "Of two updates of one handler's settings that overlap, one is lost.",
               _undoes_a_setting, N),
    ],
    "concurrency.reads-show-whole-records": [
        defect("read-shows-half-an-update", "A read while a record is updated shows one field new and the others old.",
               _tears, D, N),
    ],
    "concurrency.deleted-record-stays-deleted": [
        defect("overlapping-update-brings-back", "A delete and an update that overlap leave the record there.",
               _brings_back),
    ],
    "concurrency.creates-answer-different-ids": [
        defect("creates-that-overlap-answer-one-id", "Creates that overlap answer the same id.", _answers_one_id),
    ],
    "concurrency.created-records-are-listed-once": [
        defect("create-that-overlaps-is-lost", "Of creates that overlap, one record alone is kept.", _loses),
    ],
    "concurrency.totals-come-right": [
        defect("total-drifts", "Creates or deletes that overlap raise `total` for good.", _counts_once_more),
    ],
    "concurrency.lists-show-a-record-once": [
        defect("list-shows-a-row-twice-during-creates", "A list while a record is created shows a record twice.",
               _during_creates(_twice)),
    ],
    "concurrency.lists-agree-with-themselves": [
        defect("total-runs-ahead-during-creates", "A list while a record is created counts one more than it shows.",
               _during_creates(_one_more)),
    ],
    "robustness.requests-work-in-parallel": [
        defect("requests-fail-while-another-resource-is-written", "Requests fail while another resource is written to.",
               _is_busy),
    ],
    "concurrency.accounts-stay-apart": [
        defect("create-lands-in-another-account", "A record lands in an account that sends lists during its create.",
               _lands_elsewhere),
    ],
    "concurrency.requests-do-not-fail": [
        defect("write-fails-while-another-is-under-way", "A write fails while another of its resource is carried out.",
               _is_locked),
    ],
    "concurrency.bursts-of-reads-are-answered": [
        defect("reads-fail-beyond-thirty-at-a-time", "Of more than 30 reads at a time, the others fail.", _locks_up),
    ],
}
# fmt: on
