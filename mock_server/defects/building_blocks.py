"""What defects are made of: small transformations of what an honest server does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from typing import Any
from wsgiref.types import WSGIEnvironment

from werkzeug.datastructures import FileStorage
from werkzeug.http import parse_options_header
from werkzeug.test import encode_multipart
from werkzeug.wrappers import Request, Response

from link_management_contract import Resource, shipped_contract
from mock_server.api.operations import MockState
from mock_server.errors import REFUSAL, Refusal
from mock_server.http.context import key_of
from mock_server.http.form_parts import MalformedFormError, Part, TooManyPartsError, multipart
from mock_server.store.collection import UnknownIdError
from mock_server.store.protocols import Account, Collection
from mock_server.store.records import Record


@dataclass(frozen=True)
class Call:
    """A call of an operation.

    Attributes:
        mock: what the operations work with.
        environ: the request, without its body.
        resource: the resource in its path.
        operation: `list`, `create`, `read`, `update` or `delete`.
        identifier: the id in its path, unparsed; empty if the path has none.
        body: the request's body.
        memory: what one transformation remembers for one account.
    """

    mock: MockState
    environ: WSGIEnvironment
    resource: Resource
    operation: str
    identifier: str
    body: bytes
    memory: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def query(self) -> dict[str, str]:
        return Request(self.environ).args.to_dict()

    @property
    def authorization(self) -> str:
        return str(self.environ.get("HTTP_AUTHORIZATION", ""))

    @cached_property
    def account(self) -> Account | None:
        key = key_of(self.environ)
        return self.mock.accounts.get(key) if key else None

    @property
    def collection(self) -> Collection:
        return self.of(self.resource)

    def of(self, resource: Resource) -> Collection:
        if self.account is None:
            raise LookupError("a stranger has no records")
        return self.account.collections[resource.name]

    @property
    def records(self) -> list[Record]:
        """The account's records of this resource, in the order of its lists."""
        return self.collection.all_records

    @property
    def record(self) -> Record | None:
        """The record that the path names, if the account has it."""
        if self.account is None or not self.identifier.isdecimal():
            return None
        try:
            return self.collection.get(int(self.identifier))
        except UnknownIdError:
            return None

    @cached_property
    def parts(self) -> dict[str, Part]:
        """The form's parts by name; none if the body is not a multipart form."""
        media_type, options = parse_options_header(self.environ.get("CONTENT_TYPE", ""))
        if media_type != "multipart/form-data":
            return {}
        try:
            return multipart(self.body, options.get("boundary", ""))
        except (MalformedFormError, TooManyPartsError):
            return {}

    @property
    def form(self) -> dict[str, str]:
        """The form's texts by name; empty for a file."""
        return {name: part.content if isinstance(part.content, str) else "" for name, part in self.parts.items()}

    def sending(self, form: Mapping[str, str]) -> Call:
        """The same call with other fields in its form; files that it still names are kept."""
        values = {name: self._file(name) or text for name, text in form.items()}
        boundary, body = encode_multipart(values)
        media_type = f"multipart/form-data; boundary={boundary}"
        return self.changed(body=body, CONTENT_TYPE=media_type, CONTENT_LENGTH=str(len(body)))

    def asking(self, **query: str) -> Call:
        """The same call with these query parameters added or replaced."""
        pairs = "&".join(f"{name}={value}" for name, value in (self.query | query).items())
        return self.changed(QUERY_STRING=pairs)

    def by(self, authorization: str) -> Call:
        """The same call with another key."""
        return self.changed(HTTP_AUTHORIZATION=authorization)

    def as_refused(self, status: int, title: str) -> Call:
        """The same call, to be refused instead of carried out."""
        refusal = Refusal(str(status), title, mistake=False)
        return replace(self, environ=self.environ | {REFUSAL: refusal})

    def at(self, operation: str, identifier: int | None = None, resource: Resource | None = None) -> Call:
        """A call of another operation, record or resource with the same key."""
        resource = resource or self.resource
        prefix = self.mock.settings.base_path
        path = prefix + resource.paths[operation].replace("{id}", str(identifier or ""))
        method = {"list": "GET", "read": "GET", "delete": "DELETE"}.get(operation, "POST")
        other = replace(self, operation=operation, identifier=str(identifier or ""), resource=resource)
        return other.changed(PATH_INFO=path, REQUEST_METHOD=method)

    def changed(self, body: bytes | None = None, **environ: str) -> Call:
        """The same call with another body or other variables in its environment."""
        return replace(self, environ=self.environ | environ, body=self.body if body is None else body)

    def _file(self, name: str) -> FileStorage | None:
        part = self.parts.get(name)
        if part is None or not isinstance(part.content, bytes):
            return None
        return FileStorage(BytesIO(part.content), part.file_name, name, part.media_type)


Serve = Callable[[Call], Response]
Transformation = Callable[[Call, Serve], Response]


def content(answer: Response) -> Any:
    try:
        return json.loads(answer.get_data())
    except ValueError:
        return None


def is_carried_out(call: Call, answer: Response) -> bool:
    """Whether an answer says that the call was carried out."""
    if not 200 <= answer.status_code < 300:  # noqa: PLR2004 - what HTTP calls success
        return False
    body = content(answer)
    return call.operation == "delete" or (isinstance(body, dict) and isinstance(body.get("data"), (dict, list)))


S, D, N = "splash-pages", "domains", "notification-handlers"
SHOWING_OPERATIONS = {"list": "lists", "read": "reads"}
TYPES = shipped_contract().resources[N].fields["type"].values
Body = dict[str, Any]
CallTest = Callable[[Call], bool]


def anything(_: Any) -> bool:
    """Always true, whatever is asked or shown."""
    return True


def json_answer(call: Call, answer: Response, body: Any) -> Response:
    """An answer of the same status with another JSON body, written as the server writes JSON."""
    return call.mock.representations.json(body, answer.status_code)


def json_by_call(operations: str, change: Callable[[Call, Body], Any], applies: CallTest = anything) -> Transformation:
    """Change the JSON of successful operations; what `change` returns replaces it, unless that is None."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if call.operation not in operations.split() or not is_carried_out(call, answer) or not applies(call):
            return answer
        body = content(answer)
        changed = change(call, body)
        return json_answer(call, answer, body if changed is None else changed)

    return transformation


def json_of(operations: str, change: Callable[[Body], Any], applies: CallTest = anything) -> Transformation:
    """Like `json_by_call`, for a `change` that needs only the answer."""
    return json_by_call(operations, lambda _, body: change(body), applies)


def has_known_key(call: Call) -> bool:
    return call.account is not None


def bytes_of(operations: str, change: Callable[[bytes], bytes], applies: CallTest = anything) -> Transformation:
    """Change the bytes of successful answers."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if call.operation in operations.split() and is_carried_out(call, answer) and applies(call):
            answer.set_data(change(answer.get_data()))
        return answer

    return transformation


def rows_of(body: Body) -> list[Body]:
    rows: list[Body] = body["data"] if isinstance(body["data"], list) else [body["data"]]
    return rows


def record(
    change: Callable[[Body], Any],
    operations: str = "read list",
    row: Callable[[Body], bool] = anything,
    applies: CallTest = anything,
) -> Transformation:
    """Change, in place, the records that reads and lists show."""

    def change_rows(body: Body) -> None:
        for record_shown in rows_of(body):
            if row(record_shown):
                change(record_shown)

    return json_of(operations, change_rows, applies)


def sets(name: str, value: Any) -> Callable[[Body], None]:
    return lambda body: body.__setitem__(name, value)


def turns(name: str, change: Callable[[Any], Any]) -> Callable[[Body], None]:
    return lambda body: body.__setitem__(name, change(body[name]))


def drops(name: str) -> Callable[[Body], None]:
    def change(body: Body) -> None:
        body.pop(name, None)

    return change


def meta(name: str, value: Callable[[Body], Any], applies: CallTest = anything) -> Transformation:
    return json_of("list", lambda body: body["meta"].__setitem__(name, value(body["meta"])), applies)


def link(name: str, value: Callable[[Body], Any], applies: Callable[[Body], bool] = anything) -> Transformation:
    """Change one of a list's `links`; `value` and `applies` see the whole answer."""

    def change(body: Body) -> None:
        if applies(body):
            body["links"][name] = value(body)

    return json_of("list", change)


def links(change: Callable[[str], str]) -> Transformation:
    return json_of(
        "list", lambda body: body["links"].update({name: url and change(url) for name, url in body["links"].items()})
    )


def page_url(body: Body, number: int) -> str:
    return f"{body['links']['first'].rpartition('=')[0]}={number}"


def refuses(operations: str, status: int, body: bytes = b"{}", applies: CallTest = anything) -> Transformation:
    """Answer the account's calls without carrying them out."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation in operations.split() and call.account and applies(call):
            return Response(body, status, content_type="application/json")
        return serve(call)

    return transformation


def redirects(
    operations: str, status: int, location: Callable[[Call], str], applies: CallTest = anything
) -> Transformation:
    """Redirect the account's calls."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation in operations.split() and call.account and applies(call):
            return Response(status=status, headers={"Location": location(call)})
        return serve(call)

    return transformation


def answers_as(operations: str, status: int, body: bytes | None = b"{}") -> Transformation:
    """Carry calls out, and answer with something else."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if call.operation not in operations.split() or not is_carried_out(call, answer):
            return answer
        return Response(body, status, content_type="application/json")

    return transformation


def replaces(operations: str, change: Callable[[Call], Call], applies: CallTest = anything) -> Transformation:
    """Replace calls with other calls."""

    def transformation(call: Call, serve: Serve) -> Response:
        return serve(change(call) if call.operation in operations.split() and applies(call) else call)

    return transformation


def form(
    operations: str, change: Callable[[dict[str, str]], Any], applies: Callable[[dict[str, str]], bool] = anything
) -> Transformation:
    """Replace the account's forms with others; `change` returns a form, or changes the one that it is given."""

    def other(call: Call) -> Call:
        fields = call.form
        changed = change(fields)
        return call.sending(changed if isinstance(changed, dict) else fields)

    return replaces(operations, other, lambda call: bool(call.account and call.parts) and applies(call.form))


def changes(field: str, change: Callable[[str], str], operations: str = "create update") -> Transformation:
    """Replace the text of a field in the account's forms."""
    return form(operations, lambda fields: fields | {field: change(fields[field])}, has(field))


def ignores(field: str, operations: str = "create update") -> Transformation:
    return form(operations, loses(field), has(field))


def has(*names: str) -> Callable[[Mapping[str, str]], bool]:
    return lambda fields: any(name in fields for name in names)


def gives(*names: str) -> CallTest:
    return lambda call: has(*names)(call.form)


def loses(*names: str) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda fields: {name: text for name, text in fields.items() if name not in names}


def then_do(operation: str, effect: Callable[[Call, Response], Any], applies: CallTest = anything) -> Transformation:
    """Do something more after an operation was carried out for the account."""

    def transformation(call: Call, serve: Serve) -> Response:
        exists = call.operation != "delete" or call.record is not None
        answer = serve(call)
        if call.operation == operation and call.account and exists and is_carried_out(call, answer) and applies(call):
            effect(call, answer)
        return answer

    return transformation


def made_id(call: Call, answer: Response) -> int:
    """The id of the record that a create has made, or that the path names."""
    return int(call.identifier or content(answer)["data"]["id"])


def remembering(change: Callable[[dict[str, int], Body], None]) -> Transformation:
    """Change lists, depending on what was listed before."""
    return json_by_call("list", lambda call, body: change(call.memory.setdefault(call.resource.name, {}), body))


def is_full(body: Body) -> bool:
    """Whether a page holds as many records as its size."""
    return bool(len(body["data"]) == body["meta"]["results_per_page"])


def is_empty(body: Body) -> bool:
    return not body["meta"]["total"]


def is_page(number: int) -> Callable[[Body], bool]:
    return lambda body: bool(body["meta"]["page"] == number)


def was_updated(row: Body) -> bool:
    return row["last_datetime"] is not None


def never_updated(row: Body) -> bool:
    return row["last_datetime"] is None


def is_email(row: Body) -> bool:
    return bool(row["type"] == "email")


# What writes do to other records, or fail to do to their own.


def other_record(call: Call, answer: Response) -> Record | None:
    """The record whose id is closest to that of the one that was written, the later one of two."""
    written_id = made_id(call, answer)
    others = [record for record in call.records if record.id != written_id]
    return min(others, key=lambda record: (abs(record.id - written_id), -record.id), default=None)


def changes_a_neighbour(values: Callable[[Record, str], Mapping[str, Any]]) -> Callable[[Call, Response], None]:
    """Change the record next to the one that was written; `values` is given the record and the label's name."""

    def effect(call: Call, answer: Response) -> None:
        record = other_record(call, answer)
        if record:
            new = {**record.values, **values(record, call.resource.label)}
            call.collection.update(record.id, lambda old: replace(old, values=new))

    return effect


def renamed(record: Record, label: str) -> dict[str, Any]:
    return {label: f"x{record.values[label]}"}


def toggled(record: Record, _: str) -> dict[str, Any]:
    return {"is_enabled": not record.values["is_enabled"]}


def removes_a_neighbour(call: Call, answer: Response) -> None:
    record = other_record(call, answer)
    if record:
        call.collection.delete(record.id)


def adds_another(call: Call, answer: Response) -> None:
    """Add a record like the one that was written, unless there is one of that name already."""
    label = call.resource.label
    values = dict(call.collection.get(made_id(call, answer)).values)
    values[label] = f"{values[label]}x"
    if call.account and values[label] not in [record.values[label] for record in call.records]:
        call.collection.add(lambda _: values, call.account.clock)


def touches(record: Callable[[Call], Record | None]) -> Callable[[Call, Response], None]:
    """Set the time of a record's last update."""

    def effect(call: Call, _: Response) -> None:
        touched = record(call)
        if touched and call.account:
            now = call.account.clock()
            call.collection.update(touched.id, lambda old: replace(old, updated=now))

    return effect


def skips(operation: str) -> Transformation:
    """Answer as if an operation was carried out, and do nothing."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation != operation or call.record is None:
            return serve(call)
        status = int(call.mock.choices[f"{operation}-status"][:3])
        body = b"" if operation == "delete" else b'{"data": {"id": %d}}' % call.record.id
        return Response(body, status, content_type="application/json")

    return transformation


def same_label(operation: str) -> Transformation:
    """Carry out an operation on every record of the same name, too."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation == operation and call.record:
            label = call.resource.label
            alike_records = [record for record in call.records if record.values[label] == call.record.values[label]]
            for record in alike_records:
                if record.id != call.record.id:
                    serve(call.at(operation, record.id))
        return serve(call)

    return transformation
