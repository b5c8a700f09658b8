"""Creates, updates and deletes that do less, more or something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from werkzeug.wrappers import Response

from mock_server.calls import Call, Serve, Transformation, content, done
from mock_server.defects.defect import D, Defect, N, S
from mock_server.defects.means import (
    Body,
    also,
    form,
    has,
    loses,
    made_id,
    on,
    rows_of,
    says,
)
from mock_server.store import Record

LATER = "2027-01-01 00:00:00"


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


def _adds_another(call: Call, answer: Response) -> None:
    values = dict(call.collection.get(made_id(call, answer)).values)
    values[call.resource.label] = f"{values[call.resource.label]}b"
    if call.account and values[call.resource.label] not in [each.values[call.resource.label] for each in call.records]:
        call.collection.add(lambda _: values, call.account.clock)


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


def _undone(operation: str) -> Transformation:
    """Say that an operation was carried out, and do nothing."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation != operation or call.record is None:
            return serve(call)
        status = int(call.service.choices[f"{operation}-status"][:3])
        body = b"" if operation == "delete" else b'{"data": {"id": %d}}' % call.record.id
        return Response(body, status, content_type="application/json")

    return transformation


def _kept(*, until_updated: bool) -> Transformation:
    """Show deleted records when they are read; perhaps only once they were updated."""

    def transformation(call: Call, serve: Serve) -> Response:
        deleted: dict[str, Record] = call.memory.setdefault(f"{call.kind} deleted", {})
        shown: dict[str, Record] = call.memory.setdefault(f"{call.kind} shown", {})
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
    """Deletes keep a record from being read or updated, but not from being listed."""
    deleted: set[str] = call.memory.setdefault(call.kind, set())
    if call.record is None or (call.operation != "delete" and call.identifier not in deleted):
        return serve(call)
    if call.identifier in deleted:
        return Response(b"{}", 404, content_type="application/json")
    deleted.add(call.identifier)
    return Response(status=204)


def _tires(call: Call, serve: Serve) -> Response:
    """Deletes say that they were carried out, and are not from the third on."""
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


def _updated_shows(name: str, value: Callable[[Body], Any]) -> Transformation:
    """Show something else of records once they were updated."""

    def transformation(call: Call, serve: Serve) -> Response:
        touched: set[str] = call.memory.setdefault(call.kind, set())
        answer = serve(call)
        if not call.account or not done(call, answer):
            return answer
        if call.operation == "update":
            touched.add(call.identifier)
        if call.operation not in ("read", "list"):
            return answer
        body = content(answer)
        for row in rows_of(body):
            if str(row["id"]) in touched:
                row[name] = value(row)
        return says(call, answer, body)

    return transformation


def _listed_is_touched(call: Call, _: Response) -> None:
    records = call.records
    if records and call.account:
        now = call.account.clock()
        call.collection.update(records[0].id, lambda old: replace(old, updated=now))


def _read_is_touched(call: Call, _: Response) -> None:
    if call.record and call.account:
        now = call.account.clock()
        call.collection.update(call.record.id, lambda old: replace(old, updated=now))


def _breaks(name: str, rule: str, what: str, transformation: Transformation, *kinds: str) -> Defect:
    return Defect(name, f"lifecycle.{rule}", what, transformation, kinds)


CHANGES, LEAVES = "update-changes-what-it-names", "update-leaves-other-fields"

DEFECTS = (
    _breaks(
        "create-answers-an-id-that-is-not-there",
        "created-record-is-read",
        "A create answers an id that no record has.",
        on("create", lambda body: {"data": {"id": body["data"]["id"] + 7000}}),
        D,
        N,
    ),
    _breaks("reads-show-the-newest", "created-record-is-read", "A read shows the newest record.", _instead(_newest)),
    _breaks("reads-show-the-oldest", "created-record-is-read", "A read shows the oldest record.", _instead(_oldest)),
    _breaks(
        "created-records-are-not-listed",
        "created-record-is-listed-once",
        "Records that were created are never listed.",
        _made,
    ),
    _breaks(
        "created-records-are-listed-twice",
        "created-record-is-listed-once",
        "Records that were created are listed twice.",
        _listed_twice,
    ),
    _breaks(
        "create-answers-the-oldest-id",
        "created-id-is-new",
        "A create answers the id of the oldest record.",
        _old_id(_oldest),
    ),
    _breaks(
        "create-answers-the-last-id",
        "created-id-is-new",
        "A create answers the id of the record before it.",
        _old_id(_newest),
    ),
    _breaks(
        "create-renames-another",
        "create-leaves-other-records",
        "A create renames another record.",
        also("create", _changes_a_neighbour(_renamed)),
    ),
    _breaks(
        "create-removes-another",
        "create-leaves-other-records",
        "A create removes another record.",
        also("create", _removes_a_neighbour),
    ),
    _breaks(
        "create-toggles-another",
        "create-leaves-other-records",
        "A create enables or disables another record.",
        also("create", _changes_a_neighbour(_toggled)),
        N,
    ),
    _breaks(
        "updates-do-nothing", CHANGES, "An update says that it was carried out, and does nothing.", _undone("update")
    ),
    *(
        _breaks(
            f"{label}-update-ignores-{field.replace('_', '-')}",
            CHANGES,
            f"An update ignores `{field}`.",
            form("update", loses(field), has(field)),
            kind,
        )
        for kind, label, field in (
            (S, "splash-page", "name"),
            (D, "domain", "host"),
            (D, "domain", "custom_index_url"),
            (N, "handler", "name"),
        )
    ),
    Defect(
        "handler-update-ignores-type",
        f"lifecycle.{CHANGES}",
        "An update ignores `type`.",
        form("update", loses("type"), has("type")),
        (N,),
        needs={"other-types-fields": "ignored"},
    ),
    _breaks(
        "update-ignores-email",
        CHANGES,
        "An update ignores `email` where it is the only field.",
        form("update", loses("email"), lambda f: list(f) == ["email"]),
        N,
    ),
    _breaks(
        "update-with-many-fields-ignores-the-name",
        CHANGES,
        "An update of many fields ignores `name`.",
        form("update", loses("name"), lambda f: len(f) > 3),
        S,
    ),
    _breaks(
        "update-with-files-ignores-the-name",
        CHANGES,
        "An update with a file ignores `name`.",
        form("update", loses("name"), has("logo", "favicon", "opengraph")),
        S,
    ),
    _breaks(
        "update-clears-the-index-url",
        LEAVES,
        "An update without `custom_index_url` clears it.",
        form("update", lambda f: {"custom_index_url": ""} | f),
        D,
    ),
    _breaks(
        "update-resets-the-name",
        LEAVES,
        "An update without `name` gives the record another.",
        form("update", lambda f: {"name": "Untitled"} | f),
        S,
        N,
    ),
    Defect(
        "update-clears-the-settings",
        f"lifecycle.{LEAVES}",
        "An update of other fields clears the address of a webhook or of Slack.",
        form("update", lambda f: {"webhook": "", "slack": ""} | f),
        (N,),
        needs={"other-types-fields": "ignored"},
    ),
    _breaks(
        "update-resets-the-type",
        LEAVES,
        "An update without `type` makes the handler one for Slack.",
        form("update", lambda f: {"type": "slack"} | f),
        N,
    ),
    _breaks(
        "update-changes-datetime",
        "update-keeps-datetime",
        "An update sets `datetime` too.",
        _updated_shows("datetime", lambda _: LATER),
    ),
    _breaks(
        "update-swaps-the-times",
        "update-keeps-datetime",
        "After an update, `datetime` is the time of the update.",
        _updated_shows("datetime", lambda row: row["last_datetime"] or LATER),
    ),
    _breaks(
        "update-renames-another",
        "update-leaves-other-records",
        "An update renames another record too.",
        also("update", _changes_a_neighbour(_renamed)),
    ),
    _breaks(
        "update-toggles-another",
        "update-leaves-other-records",
        "An update enables or disables another record.",
        also("update", _changes_a_neighbour(_toggled)),
        N,
    ),
    _breaks(
        "update-removes-another",
        "update-leaves-other-records",
        "An update removes another record.",
        also("update", _removes_a_neighbour),
    ),
    _breaks(
        "update-adds-a-record", "update-leaves-other-records", "An update adds a record.", also("update", _adds_another)
    ),
    _breaks(
        "deletes-do-nothing",
        "deleted-record-is-not-read",
        "A delete says that it was carried out, and does nothing.",
        _undone("delete"),
    ),
    _breaks(
        "deleted-records-are-read",
        "deleted-record-is-not-read",
        "Deleted records are still read, but not listed.",
        _kept(until_updated=False),
    ),
    _breaks(
        "reads-of-deleted-records-show-another",
        "deleted-record-is-not-read",
        "A read of a deleted record shows the one before it.",
        _shows_another_when_gone,
    ),
    _breaks(
        "deleted-records-are-listed",
        "deleted-record-is-not-listed",
        "Deleted records are still listed, but not read.",
        _still_listed,
    ),
    _breaks(
        "third-delete-does-nothing", "deleted-record-is-not-listed", "From the third on, deletes do nothing.", _tires
    ),
    _breaks(
        "update-brings-back",
        "deleted-record-stays-deleted",
        "A deleted record is read again once it was updated.",
        _kept(until_updated=True),
    ),
    _breaks(
        "delete-removes-another-too",
        "delete-leaves-other-records",
        "A delete removes another record too.",
        also("delete", _removes_a_neighbour),
    ),
    _breaks(
        "delete-renames-another",
        "delete-leaves-other-records",
        "A delete renames another record.",
        also("delete", _changes_a_neighbour(_renamed)),
    ),
    _breaks(
        "lists-touch-a-record",
        "reads-change-nothing",
        "A list sets `last_datetime` of its first record.",
        also("list", _listed_is_touched),
    ),
    _breaks(
        "reads-touch-the-record", "reads-change-nothing", "A read sets `last_datetime`.", also("read", _read_is_touched)
    ),
)
