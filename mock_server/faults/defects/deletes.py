"""Deletes that do less, more or something else, and reads that do something."""

from __future__ import annotations

from dataclasses import replace

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, Transformation
from mock_server.faults.defects.defect import Table, defect
from mock_server.faults.defects.effects import changes_a_neighbour, removes_a_neighbour, renamed, touches, undone
from mock_server.faults.defects.means import also
from mock_server.store.records import Record

FEW = 10  # records


def _kept(*, until_updated: bool) -> Transformation:
    """Show deleted records when they are read, perhaps only after an update."""

    def transformation(call: Call, serve: Serve) -> Response:
        deleted: dict[str, Record] = call.memory.setdefault(f"{call.resource.name} deleted", {})
        shown: dict[str, Record] = call.memory.setdefault(f"{call.resource.name} shown", {})
        record = call.record
        if record is None and call.identifier in deleted and call.operation == "update":
            shown[call.identifier] = deleted[call.identifier]
        if record is None and call.identifier in shown and call.operation == "read":
            body = call.service.representations.read(call.resource, shown[call.identifier])
            return call.service.representations.json(body, 200)
        if record is not None and call.operation == "delete":
            (deleted if until_updated else shown)[call.identifier] = record
        return serve(call)

    return transformation


def _still_listed(call: Call, serve: Serve) -> Response:
    """Keep deleted records from being read or updated, but not from being listed."""
    deleted: set[str] = call.memory.setdefault(call.resource.name, set())
    if call.record is None or (call.operation != "delete" and call.identifier not in deleted):
        return serve(call)
    if call.identifier in deleted:
        return Response(b"{}", 404, content_type="application/json")
    deleted.add(call.identifier)
    return Response(status=204)


def _is_largest(call: Call) -> bool:
    return call.query.get("results_per_page") == "1000" and len(call.records) > FEW


def _renames_the_oldest(call: Call, _: Response) -> None:
    oldest = min(call.records, key=lambda record: record.id)
    values = {**oldest.values, **renamed(oldest, call.resource.label)}
    call.collection.update(oldest.id, lambda old: replace(old, values=values))


def _tires(call: Call, serve: Serve) -> Response:
    """Answer the third delete and later ones as if they were carried out, and do nothing."""
    if call.operation == "delete" and call.record:
        call.memory["count"] = call.memory.get("count", 0) + 1
        if call.memory["count"] > 2:  # noqa: PLR2004 - as the docstring says
            return Response(status=204)
    return serve(call)


def _shows_another_when_gone(call: Call, serve: Serve) -> Response:
    if call.operation == "read" and call.account and call.record is None and call.identifier.isdecimal():
        below = [record.id for record in call.records if record.id < int(call.identifier)]
        if below:
            return serve(call.at("read", max(below)))
    return serve(call)


# fmt: off
DEFECTS: Table = {
    "lifecycle.deleted-record-is-not-read": [
        defect("deletes-do-nothing", "A delete says that it was carried out, and does nothing.", undone("delete")),
        defect("deleted-records-are-read", "Deleted records are still read, but not listed.",
               _kept(until_updated=False)),
        defect("reads-of-deleted-records-show-another", "A read of a deleted record shows the one before it.",
               _shows_another_when_gone),
    ],
    "lifecycle.deleted-record-is-not-listed": [
        defect("deleted-records-are-listed", "Deleted records are still listed, but not read.", _still_listed),
        defect("third-delete-does-nothing", "From the third on, deletes do nothing.", _tires),
    ],
    "lifecycle.deleted-record-stays-deleted": [
        defect("update-brings-back", "A deleted record is read again once it was updated.", _kept(until_updated=True)),
    ],
    "lifecycle.delete-leaves-other-records": [
        defect("delete-removes-another-too", "A delete removes another record too.",
               also("delete", removes_a_neighbour)),
        defect("delete-renames-another", "A delete renames another record.",
               also("delete", changes_a_neighbour(renamed))),
    ],
    "lifecycle.reads-change-nothing": [
        defect("lists-touch-a-record", "A list sets `last_datetime` of its first record.",
               also("list", touches(lambda call: next(iter(call.records), None)))),
        defect("lists-rename-the-oldest", "A list of the largest size renames the oldest record.",
               also("list", _renames_the_oldest, _is_largest)),
        defect("reads-touch-the-record", "A read sets `last_datetime`.",
               also("read", touches(lambda call: call.record))),
    ],
}
# fmt: on
