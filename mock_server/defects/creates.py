"""Creates that do less, more or something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from werkzeug.wrappers import Response

from mock_server.calls import Call, Serve, Transformation, content, done
from mock_server.defects.defect import D, N, breaks
from mock_server.defects.means import (
    also,
    made_id,
    on,
    says,
)
from mock_server.store import Record


def _neighbour(call: Call, answer: Response) -> Record | None:
    mine = made_id(call, answer)
    return next((record for record in call.records if record.id != mine), None)


def _changes_a_neighbour(values: Callable[[Record, str], Mapping[str, Any]]) -> Callable[[Call, Response], None]:
    """Change the first other record of the list; `values` is given the record and the label's name."""

    def effect(call: Call, answer: Response) -> None:
        record = _neighbour(call, answer)
        if record:
            new = {**record.values, **values(record, call.resource.label)}
            call.collection.update(record.id, lambda old: replace(old, values=new))

    return effect


def _renamed(record: Record, label: str) -> dict[str, Any]:
    old = str(record.values[label])
    if label == "host":
        return {label: f"x-{old[:40].removesuffix('.example.com')}.example.com"}
    return {label: f"{old[1:]}{old[:1]}" if len(set(old)) > 1 else f"{old}x"}


def _toggled(record: Record, _: str) -> dict[str, Any]:
    return {"is_enabled": not record.values["is_enabled"]}


def _removes_a_neighbour(call: Call, answer: Response) -> None:
    record = _neighbour(call, answer)
    if record:
        call.collection.delete(record.id)


def _old_id(choose: Callable[[list[Record]], Record]) -> Transformation:
    """Answer a create with the id of a record that was there before."""

    def transformation(call: Call, serve: Serve) -> Response:
        known = call.records if call.operation == "create" and call.account else []
        answer = serve(call)
        if not known or not done(call, answer):
            return answer
        body = content(answer)
        body["data"]["id"] = choose(known).id
        return says(call, answer, body)

    return transformation


def _instead(choose: Callable[[list[Record]], Record]) -> Transformation:
    """Read another record than the one that was asked for."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation == "read" and call.record:
            return serve(call.at("read", choose(call.records).id))
        return serve(call)

    return transformation


def _newest(records: list[Record]) -> Record:
    return max(records, key=lambda record: record.id)


def _oldest(records: list[Record]) -> Record:
    return min(records, key=lambda record: record.id)


def _made(call: Call, serve: Serve) -> Response:
    """Remember what was made, and leave it out of lists."""
    answer = serve(call)
    if not call.account or not done(call, answer):
        return answer
    made = call.memory.setdefault("made", set())
    if call.operation == "create":
        made.add(content(answer)["data"]["id"])
    if call.operation == "list":
        body = content(answer)
        body["data"] = [row for row in body["data"] if row["id"] not in made]
        return says(call, answer, body)
    return answer


def _listed_twice(call: Call, serve: Serve) -> Response:
    """Remember what was made, and list it twice."""
    answer = serve(call)
    if not call.account or not done(call, answer):
        return answer
    made = call.memory.setdefault("made", set())
    if call.operation == "create":
        made.add(content(answer)["data"]["id"])
    if call.operation == "list":
        body = content(answer)
        body["data"] += [row for row in body["data"] if row["id"] in made]
        return says(call, answer, body)
    return answer


DEFECTS = (
    breaks(
        "create-answers-an-id-that-is-not-there",
        "created-record-is-read",
        "A create answers an id that no record has.",
        on("create", lambda body: {"data": {"id": body["data"]["id"] + 7000}}),
        D,
        N,
    ),
    breaks("reads-show-the-newest", "created-record-is-read", "A read shows the newest record.", _instead(_newest)),
    breaks("reads-show-the-oldest", "created-record-is-read", "A read shows the oldest record.", _instead(_oldest)),
    breaks(
        "created-records-are-not-listed",
        "created-record-is-listed-once",
        "Records that were created are never listed.",
        _made,
    ),
    breaks(
        "created-records-are-listed-twice",
        "created-record-is-listed-once",
        "Records that were created are listed twice.",
        _listed_twice,
    ),
    breaks(
        "create-answers-the-oldest-id",
        "created-id-is-new",
        "A create answers the id of the oldest record.",
        _old_id(_oldest),
    ),
    breaks(
        "create-answers-the-last-id",
        "created-id-is-new",
        "A create answers the id of the record before it.",
        _old_id(_newest),
    ),
    breaks(
        "create-renames-another",
        "create-leaves-other-records",
        "A create renames another record.",
        also("create", _changes_a_neighbour(_renamed)),
    ),
    breaks(
        "create-removes-another",
        "create-leaves-other-records",
        "A create removes another record.",
        also("create", _removes_a_neighbour),
    ),
    breaks(
        "create-toggles-another",
        "create-leaves-other-records",
        "A create enables or disables another record.",
        also("create", _changes_a_neighbour(_toggled)),
        N,
    ),
)
