"""What defects are made of: small transformations of what an honest server does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from werkzeug.wrappers import Response

from link_management_contract import shipped_contract
from mock_server.defects.call import Call, Serve, Transformation, content, done
from mock_server.store.records import Record

S, D, N = "splash-pages", "domains", "notification-handlers"
SHOWN = {"list": "lists", "read": "reads"}
TYPES = shipped_contract().resources[N].fields["type"].values
Body = dict[str, Any]
Asked = Callable[[Call], bool]


def always(_: Any) -> bool:
    """Always true, whatever is asked or shown."""
    return True


def says(call: Call, answer: Response, body: Any) -> Response:
    """An answer of the same status with another JSON body, written as the server writes JSON."""
    return call.service.representations.json(body, answer.status_code)


def knowing(operations: str, change: Callable[[Call, Body], Any], when: Asked = always) -> Transformation:
    """Change the JSON of successful operations; what `change` returns replaces it, unless that is None."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if call.operation not in operations.split() or not done(call, answer) or not when(call):
            return answer
        body = content(answer)
        changed = change(call, body)
        return says(call, answer, body if changed is None else changed)

    return transformation


def on(operations: str, change: Callable[[Body], Any], when: Asked = always) -> Transformation:
    """Like `knowing`, for a `change` that needs only the answer."""
    return knowing(operations, lambda _, body: change(body), when)


def known(call: Call) -> bool:
    """Whether a call carries an account's key."""
    return call.account is not None


def raw(operations: str, change: Callable[[bytes], bytes], when: Asked = always) -> Transformation:
    """Change the bytes of successful answers."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if call.operation in operations.split() and done(call, answer) and when(call):
            answer.set_data(change(answer.get_data()))
        return answer

    return transformation


def rows_of(body: Body) -> list[Body]:
    """The records that an answer shows."""
    rows: list[Body] = body["data"] if isinstance(body["data"], list) else [body["data"]]
    return rows


def record(
    change: Callable[[Body], Any],
    operations: str = "read list",
    row: Callable[[Body], bool] = always,
    when: Asked = always,
) -> Transformation:
    """Change, in place, the records that reads and lists show."""

    def each(body: Body) -> None:
        for shown in rows_of(body):
            if row(shown):
                change(shown)

    return on(operations, each, when)


def sets(name: str, value: Any) -> Callable[[Body], None]:
    """Set a field to one value."""
    return lambda body: body.__setitem__(name, value)


def turns(name: str, change: Callable[[Any], Any]) -> Callable[[Body], None]:
    """Replace a field's value with one derived from it."""
    return lambda body: body.__setitem__(name, change(body[name]))


def drops(name: str) -> Callable[[Body], None]:
    """Leave a field out."""

    def change(body: Body) -> None:
        body.pop(name, None)

    return change


def meta(name: str, value: Callable[[Body], Any], when: Asked = always) -> Transformation:
    """Change a value in a list's `meta`."""
    return on("list", lambda body: body["meta"].__setitem__(name, value(body["meta"])), when)


def link(name: str, value: Callable[[Body], Any], when: Callable[[Body], bool] = always) -> Transformation:
    """Change one of a list's `links`; `value` and `when` see the whole answer."""

    def change(body: Body) -> None:
        if when(body):
            body["links"][name] = value(body)

    return on("list", change)


def links(change: Callable[[str], str]) -> Transformation:
    """Spell all page links in another way."""
    return on(
        "list", lambda body: body["links"].update({name: url and change(url) for name, url in body["links"].items()})
    )


def page_url(body: Body, number: int) -> str:
    """The link to a page, as this server spells links."""
    return f"{body['links']['first'].rpartition('=')[0]}={number}"


def answers(operations: str, status: int, body: bytes = b"{}", when: Asked = always) -> Transformation:
    """Answer the account's calls without carrying them out."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation in operations.split() and call.account and when(call):
            return Response(body, status, content_type="application/json")
        return serve(call)

    return transformation


def redirects(operations: str, status: int, location: Callable[[Call], str], when: Asked = always) -> Transformation:
    """Redirect the account's calls."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation in operations.split() and call.account and when(call):
            return Response(status=status, headers={"Location": location(call)})
        return serve(call)

    return transformation


def tells(operations: str, status: int, body: bytes | None = b"{}") -> Transformation:
    """Carry calls out, and answer with something else."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if call.operation not in operations.split() or not done(call, answer):
            return answer
        return Response(body, status, content_type="application/json")

    return transformation


def asks(operations: str, change: Callable[[Call], Call], when: Asked = always) -> Transformation:
    """Replace calls with other calls."""

    def transformation(call: Call, serve: Serve) -> Response:
        return serve(change(call) if call.operation in operations.split() and when(call) else call)

    return transformation


def form(
    operations: str, change: Callable[[dict[str, str]], Any], when: Callable[[dict[str, str]], bool] = always
) -> Transformation:
    """Replace the account's forms with others; `change` returns a form, or changes the one that it is given."""

    def other(call: Call) -> Call:
        fields = call.form
        changed = change(fields)
        return call.sending(changed if isinstance(changed, dict) else fields)

    return asks(operations, other, lambda call: bool(call.account and call.parts) and when(call.form))


def changes(field: str, change: Callable[[str], str], operations: str = "create update") -> Transformation:
    """Replace the text of a field in the account's forms."""
    return form(operations, lambda fields: fields | {field: change(fields[field])}, has(field))


def ignores(field: str, operations: str = "create update") -> Transformation:
    """Ignore a field of the account's forms."""
    return form(operations, loses(field), has(field))


def has(*names: str) -> Callable[[Mapping[str, str]], bool]:
    """Whether a form has one of these fields."""
    return lambda fields: any(name in fields for name in names)


def gives(*names: str) -> Asked:
    """Whether a call's form has one of these fields."""
    return lambda call: has(*names)(call.form)


def loses(*names: str) -> Callable[[dict[str, str]], dict[str, str]]:
    """Leave fields out of a form."""
    return lambda fields: {name: text for name, text in fields.items() if name not in names}


def also(operation: str, effect: Callable[[Call, Response], Any], when: Asked = always) -> Transformation:
    """Do something more after an operation was carried out for the account."""

    def transformation(call: Call, serve: Serve) -> Response:
        known = call.operation != "delete" or call.record is not None
        answer = serve(call)
        if call.operation == operation and call.account and known and done(call, answer) and when(call):
            effect(call, answer)
        return answer

    return transformation


def made_id(call: Call, answer: Response) -> int:
    """The id of the record that a create has made, or that the path names."""
    return int(call.identifier or content(answer)["data"]["id"])


def remembering(change: Callable[[dict[str, int], Body], None]) -> Transformation:
    """Change lists, depending on what was listed before."""
    return knowing("list", lambda call, body: change(call.memory.setdefault(call.resource.name, {}), body))


def is_full(body: Body) -> bool:
    """Whether a page holds as many records as its size."""
    return bool(len(body["data"]) == body["meta"]["results_per_page"])


def is_page(number: int) -> Callable[[Body], bool]:
    """Whether a list shows the page with this number."""
    return lambda body: bool(body["meta"]["page"] == number)


def was_updated(row: Body) -> bool:
    """Whether a record was updated."""
    return row["last_datetime"] is not None


def never_updated(row: Body) -> bool:
    """Whether a record was never updated."""
    return row["last_datetime"] is None


def is_email(row: Body) -> bool:
    """Whether a handler is of type `email`."""
    return bool(row["type"] == "email")


# What writes do to other records, or fail to do to their own.


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
