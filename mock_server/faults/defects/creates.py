"""Creates that do less, more or something else."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, Transformation, content, done
from mock_server.faults.defects.defect import D, N, S, Table, defect
from mock_server.faults.defects.effects import changes_a_neighbour, removes_a_neighbour, renamed, toggled
from mock_server.faults.defects.means import Body, also, on, says
from mock_server.store.records import Record


def _old_id(choose: Callable[[list[Record]], Record]) -> Transformation:
    """Answer a create with the id of a record that already existed."""

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
    """Read a record other than the one that was asked for."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation == "read" and call.record:
            return serve(call.at("read", choose(call.records).id))
        return serve(call)

    return transformation


def _newest(records: list[Record]) -> Record:
    return max(records, key=lambda record: record.id)


def _oldest(records: list[Record]) -> Record:
    return min(records, key=lambda record: record.id)


def _listing(change: Callable[[list[Body], set[int]], list[Body]]) -> Transformation:
    """List created records in another way; `change` is given the rows and the ids of created records."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if not call.account or not done(call, answer):
            return answer
        made: set[int] = call.memory.setdefault("made", set())
        body = content(answer)
        if call.operation == "create":
            made.add(body["data"]["id"])
        if call.operation == "list":
            return says(call, answer, body | {"data": change(body["data"], made)})
        return answer

    return transformation


def _same_name(call: Call, serve: Serve) -> Response:
    if call.operation == "create" and call.account:
        label = call.resource.label
        found = [record.id for record in call.records if record.values[label] == call.form.get(label)]
        if found:
            return call.service.representations.json({"data": {"id": found[0]}}, 200)
    return serve(call)


# fmt: off
DEFECTS: Table = {
    "lifecycle.created-record-is-read": [
        defect("create-answers-an-id-that-is-not-there", "A create answers an id that no record has.",
               on("create", lambda body: {"data": {"id": body["data"]["id"] + 7000}}), D, N),
        defect("reads-show-the-newest", "A read shows the newest record.", _instead(_newest)),
        defect("reads-show-the-oldest", "A read shows the oldest record.", _instead(_oldest)),
    ],
    "lifecycle.created-record-is-listed-once": [
        defect("created-records-are-not-listed", "Records that were created are never listed.",
               _listing(lambda rows, made: [row for row in rows if row["id"] not in made])),
        defect("created-records-are-listed-twice", "Records that were created are listed twice.",
               _listing(lambda rows, made: rows + [row for row in rows if row["id"] in made])),
    ],
    "lifecycle.created-id-is-new": [
        defect("create-answers-the-oldest-id", "A create answers the id of the oldest record.", _old_id(_oldest)),
        defect("create-answers-the-last-id", "A create answers the id of the record before it.", _old_id(_newest)),
        defect("create-answers-the-id-of-the-same-name",
               "A create of a name that there is answers the id of the record that has it, and makes none.",
               _same_name, S, N),
    ],
    "lifecycle.create-leaves-other-records": [
        defect("create-renames-another", "A create renames another record.",
               also("create", changes_a_neighbour(renamed))),
        defect("create-removes-another", "A create removes another record.", also("create", removes_a_neighbour)),
        defect("create-toggles-another", "A create enables or disables another record.",
               also("create", changes_a_neighbour(toggled)), N),
    ],
}
# fmt: on
