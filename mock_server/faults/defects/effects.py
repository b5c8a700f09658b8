"""What writes do to other records, or fail to do to their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, Transformation
from mock_server.faults.defects.means import made_id
from mock_server.store.records import Record


def neighbour(call: Call, answer: Response) -> Record | None:
    """The first record of the list other than the one that was written."""
    mine = made_id(call, answer)
    return next((record for record in call.records if record.id != mine), None)


def changes_a_neighbour(values: Callable[[Record, str], Mapping[str, Any]]) -> Callable[[Call, Response], None]:
    """Change the first other record of the list; `values` is given the record and the label's name."""

    def effect(call: Call, answer: Response) -> None:
        record = neighbour(call, answer)
        if record:
            new = {**record.values, **values(record, call.resource.label)}
            call.collection.update(record.id, lambda old: replace(old, values=new))

    return effect


def renamed(record: Record, label: str) -> dict[str, Any]:
    """Another name or host."""
    return {label: f"x{record.values[label]}"}


def toggled(record: Record, _: str) -> dict[str, Any]:
    """The opposite state."""
    return {"is_enabled": not record.values["is_enabled"]}


def removes_a_neighbour(call: Call, answer: Response) -> None:
    """Remove the first other record of the list."""
    record = neighbour(call, answer)
    if record:
        call.collection.delete(record.id)


def adds_another(call: Call, answer: Response) -> None:
    """Add a record like the one that was written, unless there is one of that name already."""
    label = call.resource.label
    values = dict(call.collection.get(made_id(call, answer)).values)
    values[label] = f"{values[label]}x"
    if call.account and values[label] not in [each.values[label] for each in call.records]:
        call.collection.add(lambda _: values, call.account.clock)


def touches(record: Callable[[Call], Record | None]) -> Callable[[Call, Response], None]:
    """Set the time of a record's last update."""

    def effect(call: Call, _: Response) -> None:
        touched = record(call)
        if touched and call.account:
            now = call.account.clock()
            call.collection.update(touched.id, lambda old: replace(old, updated=now))

    return effect


def undone(operation: str) -> Transformation:
    """Answer as if an operation was carried out, and do nothing."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation != operation or call.record is None:
            return serve(call)
        status = int(call.service.choices[f"{operation}-status"][:3])
        body = b"" if operation == "delete" else b'{"data": {"id": %d}}' % call.record.id
        return Response(body, status, content_type="application/json")

    return transformation


def alike(operation: str) -> Transformation:
    """Carry out an operation on every record of the same name, too."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation == operation and call.record:
            label = call.resource.label
            same = [each for each in call.records if each.values[label] == call.record.values[label]]
            for record in same:
                if record.id != call.record.id:
                    serve(call.at(operation, record.id))
        return serve(call)

    return transformation
