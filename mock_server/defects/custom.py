"""Special cases: what only one or two defects do, area by area."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from werkzeug.http import parse_options_header
from werkzeug.wrappers import Response

from mock_server.defects.building_blocks import (
    SHOWING_OPERATIONS,
    TYPES,
    Body,
    Call,
    CallTest,
    N,
    Serve,
    Transformation,
    content,
    gives,
    has,
    has_known_key,
    is_carried_out,
    json_answer,
    json_by_call,
    json_of,
    made_id,
    refuses,
    renamed,
    replaces,
    rows_of,
    turns,
)
from mock_server.http.context import context_of
from mock_server.store.collection import IdSequence, UnknownIdError
from mock_server.store.protocols import Collection
from mock_server.store.records import Record

# Operations that are refused, fail, or are moved elsewhere.

OTHER_SITE_URL = "https://elsewhere.example.com/api/"
FAILURE = b"<h1>Internal Server Error</h1>"


def path_of(call: Call) -> str:
    return str(call.environ["PATH_INFO"])


def is_oldest(call: Call) -> bool:
    return call.record is not None and call.record.id == min(record.id for record in call.records)


def makes_handlers(call: Call, serve: Serve) -> Response:
    if call.operation != "create" or call.account is None:
        return serve(call)
    form = {"name": call.form.get("name", ""), "type": "slack"}
    handlers = call.mock.contract.resources[N]
    answer = serve(call.at("create", resource=handlers).sending(form))
    body = content(answer)
    if body and body.get("data"):
        body["data"]["id"] += 5000
        return call.mock.representations.json(body, answer.status_code)
    return answer


def loses_the_query(call: Call, serve: Serve) -> Response:
    if call.operation == "list" and call.account and call.query:
        return Response(status=301, headers={"Location": path_of(call)})
    return serve(call)


# Lists with wrong pages.

SMALL_PAGE = 10  # records on a page
FAR_PAGE = 2_000_000_000  # no page that a client has a reason to ask for


def uses_size(size: str, applies: CallTest) -> Transformation:
    return replaces("list", lambda call: call.asking(results_per_page=size), applies)


def asks_for_size(*sizes: str) -> CallTest:
    return lambda call: call.query.get("results_per_page") in sizes


def asks_for_no_size(call: Call) -> bool:
    return "results_per_page" not in call.query


def any_size(max_size: int) -> Transformation:
    def transformation(call: Call, serve: Serve) -> Response:
        text = call.query.get("results_per_page", "")
        allowed = call.mock.contract.page_sizes
        if call.operation != "list" or not text.isdecimal() or int(text) in allowed or not 0 < int(text) <= max_size:
            return serve(call)
        answer = serve(call.asking(results_per_page=str(max(allowed)), page="1"))
        if not is_carried_out(call, answer):
            return answer
        body = content(answer)
        body["data"] = body["data"][: int(text)]
        body["meta"] |= {"results_per_page": int(text), "total_pages": -(-body["meta"]["total"] // int(text))}
        return json_answer(call, answer, body)

    return transformation


def is_far(call: Call) -> bool:
    number = call.query.get("page", "1")
    return number.isdecimal() and int(number) > FAR_PAGE


def shows_the_first(call: Call, body: Body) -> None:
    size = body["meta"]["results_per_page"]
    rows = [call.mock.representations.record(call.resource, record) for record in call.records[:size]]
    body["data"] = rows


def shows_rows(change: Callable[[list[Body]], list[Body]], applies: Callable[[Body], bool]) -> Transformation:
    return json_of(
        "list", lambda body: body | {"data": change(body["data"])} if applies(body) and body["data"] else None
    )


def is_last_page(body: Body) -> bool:
    return bool(body["meta"]["page"] == body["meta"]["total_pages"])


def rotate_rows(memory: dict[str, int], body: Body) -> None:
    turn = memory["turn"] = memory.get("turn", 0) + 1
    rows = body["data"]
    at = turn % max(1, len(rows))
    body["data"] = rows[at:] + rows[:at]


def reverse_every_second(memory: dict[str, int], body: Body) -> None:
    memory["turn"] = memory.get("turn", 0) + 1
    if memory["turn"] % 2:
        body["data"].reverse()


def repeats(call: Call, serve: Serve) -> Response:
    """Begin each page with the last record of the page before."""
    answer = serve(call)
    if call.operation != "list" or not call.account or not is_carried_out(call, answer):
        return answer
    body = content(answer)
    page, size = body["meta"]["page"], body["meta"]["results_per_page"]
    if page < 2 or not body["data"]:  # noqa: PLR2004 - page 1 has none before it
        return answer
    before = content(serve(call.asking(page=str(page - 1), results_per_page=str(size))))
    body["data"] = [before["data"][-1], *body["data"][:-1]]
    return json_answer(call, answer, body)


def lacks_new_records(call: Call, body: Body) -> None:
    created_ids: set[int] = call.memory.setdefault(call.resource.name, set())
    if call.operation == "create":
        created_ids.add(body["data"]["id"])
    elif len(body["data"]) <= SMALL_PAGE:
        body["data"] = [row for row in body["data"] if row["id"] not in created_ids]


def new_records_last(call: Call, body: Body) -> None:
    created_ids: list[int] = call.memory.setdefault(call.resource.name, [])
    if call.operation == "create":
        created_ids.append(body["data"]["id"])
    elif created_ids and body["meta"]["results_per_page"] == SMALL_PAGE and len(body["data"]) == SMALL_PAGE:
        newest = next((record for record in call.records if record.id == created_ids[-1]), None)
        if newest:
            body["data"][-1] = call.mock.representations.read(call.resource, newest)["data"]


# Records that have the same id in other resources.


def same_ids(call: Call, resources: Iterable[str]) -> Iterator[tuple[Collection, Record]]:
    """The records of other resources that have the id of a call."""
    for name in resources:
        collection = call.of(call.mock.contract.resources[name])
        if name != call.resource.name:
            with suppress(UnknownIdError):
                yield collection, collection.get(int(call.identifier))


def removes_same_ids(*resources: str) -> Callable[[Call, Response], None]:
    def effect(call: Call, _: Response) -> None:
        for collection, record in same_ids(call, resources):
            collection.delete(record.id)

    return effect


def renames_same_ids(*resources: str) -> Callable[[Call, Response], None]:
    def effect(call: Call, _: Response) -> None:
        text = call.form.get(call.resource.label)
        for collection, record in same_ids(call, resources) if text else ():
            new = {**record.values, "name" if "name" in record.values else "host": text}
            collection.update(record.id, partial(replace, values=new))

    return effect


def removes_all(call: Call, _: Response) -> None:
    for record in call.records:
        call.collection.delete(record.id)


def renames_all(call: Call, _: Response) -> None:
    name = call.form.get("name")
    for record in call.records if name else ():
        call.collection.update(record.id, lambda old: replace(old, values={**old.values, "name": name}))


def reads_same_ids(*resources: str) -> Transformation:
    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation == "read" and call.account and call.record is None and call.identifier.isdecimal():
            for resource in (call.mock.contract.resources[name] for name in resources if name != call.resource.name):
                answer = serve(call.at("read", int(call.identifier), resource))
                if answer.status_code == HTTPStatus.OK:
                    return answer
        return serve(call)

    return transformation


# Lists with wrong totals.


def counts_everybody(call: Call, body: Body) -> None:
    accounts = map(call.mock.accounts.get, call.mock.accounts.keys)
    foreign = [account for account in accounts if account and account is not call.account]
    totals = [account.collections[call.resource.name].page(lambda total: (0, total))[1] for account in foreign]
    body["meta"]["total"] += sum(totals) + 1


def as_it_was(memory: dict[str, int], body: Body) -> None:
    body["meta"]["total"] = memory.setdefault("total", body["meta"]["total"])


def only_grows(memory: dict[str, int], body: Body) -> None:
    memory["total"] = body["meta"]["total"] = max(body["meta"]["total"], memory.get("total", 0))


def only_shrinks(memory: dict[str, int], body: Body) -> None:
    memory["total"] = body["meta"]["total"] = min(body["meta"]["total"], memory.get("total", body["meta"]["total"]))


# Lists with wrong links.


def is_past_the_end(body: Body) -> bool:
    return bool(body["meta"]["page"] > body["meta"]["total_pages"] + 1 and body["meta"]["total"])


# Answers with the wrong envelope.

WARNING = b"<br />\n<b>Warning</b>: Undefined index: page in list.php on line 27<br />\n"


def by_position(body: Body) -> None:
    """Write the rows as PHP writes a filtered array, by position."""
    if body["meta"]["page"] > 1:
        body["data"] = {str(position): row for position, row in enumerate(body["data"], 10)}


def single(body: Body) -> None:
    if len(body["data"]) == 1:
        body["data"] = body["data"][0]


def newest_id(call: Call, body: Body) -> None:
    body["data"]["id"] = max(record.id for record in call.records) + 1


def written_id_as_text(name: str) -> Any:
    return lambda body: body["data"].__setitem__(name, str(body["data"][name]))


def with_bom(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if answer.get_data():
        answer.set_data(b"\xef\xbb\xbf" + answer.get_data())
    return answer


# Records whose fields are missing, have another type or differ from what other answers show.


def has_no_index_url(row: Body) -> bool:
    return not row["custom_index_url"]


def as_text(name: str) -> Callable[[Body], None]:
    return turns(name, str)


def keep_first_version(call: Call, body: Body) -> None:
    body["data"] = [call.memory.setdefault(f"{call.resource.name}/{row['id']}", row) for row in body["data"]]


def shows_what_was_written(call: Call, body: Body) -> None:
    values_by_id = {record.id: record.values for record in call.records}
    for row in rows_of(body):
        row["custom_not_found_url"] = values_by_id[row["id"]].get("custom_not_found_url", "")


# Times in another form, or of updates that never happened.


def two_hours_before(text: str) -> str:
    return str(datetime.fromisoformat(text) - timedelta(hours=2))


# States, types and settings that are wrong.


def any_type(call: Call, serve: Serve) -> Response:
    """Accept and show any type."""
    sent_type = call.form.get("type", "webhook") if call.operation == "create" and call.account else "webhook"
    known_types = call.resource.fields["type"].values
    answer = serve(call if sent_type in known_types else call.sending(call.form | {"type": "webhook"}))
    if not is_carried_out(call, answer):
        return answer
    body = content(answer)
    if sent_type not in known_types:
        call.memory[str(body["data"]["id"])] = sent_type
    if call.operation in SHOWING_OPERATIONS:
        for row in rows_of(body):
            row["type"] = call.memory.get(str(row["id"]), row["type"])
    return json_answer(call, answer, body)


def any_new_type(call: Call, serve: Serve) -> Response:
    """Accept any type in updates, and show it in reads."""
    sent_type = call.form.get("type", "") if call.operation == "update" and call.record else ""
    if sent_type and sent_type not in call.resource.fields["type"].values:
        call.memory[call.identifier] = sent_type
        return call.mock.representations.json({"data": {"id": int(call.identifier)}}, 200)
    answer = serve(call)
    if call.operation not in SHOWING_OPERATIONS or not is_carried_out(call, answer):
        return answer
    body = content(answer)
    for row in rows_of(body):
        row["type"] = call.memory.get(str(row["id"]), row["type"])
    return json_answer(call, answer, body)


def renamed_types(row: Body) -> None:
    row["type"] = {"microsoft_teams": "teams"}.get(row["type"], row["type"])


# Forms that are wrongly refused or accepted for their fields.

MADE_UP = {"name": "Untitled", "host": "untitled-{}.example.com", "type": "webhook"}
MANY_FIELDS = 8  # fields


def filled_in(field: str, status: int | None = None, *, stays_empty: bool = False) -> Callable[[Call, Serve], Response]:
    """Make up a required field that is missing; answer with another status, if one is given.

    Args:
        stays_empty: whether the record is kept without a value all the same.
    """

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation != "create" or not call.account or not call.parts or field in call.form:
            return serve(call)
        call.memory["count"] = call.memory.get("count", 0) + 1
        answer = serve(call.sending(call.form | {field: MADE_UP[field].format(call.memory["count"])}))
        if not status or not is_carried_out(call, answer):
            return answer
        if stays_empty:
            call.collection.update(made_id(call, answer), lambda old: replace(old, values={**old.values, field: ""}))
        return Response(b"{}", status, content_type="application/json")

    return transformation


def claim_creation(call: Call, serve: Serve) -> Response:
    """Where a required field is missing, answer as if a record was made, and make none."""
    required = [field.name for field in call.resource.fields.values() if field.required]
    if (
        call.operation == "create"
        and call.account
        and call.parts
        and not all(has(name)(call.form) for name in required)
    ):
        return call.mock.representations.json({"data": {"id": 999_999}}, 201)
    return serve(call)


def lacks(field: str) -> CallTest:
    return lambda call: bool(call.parts) and not gives(field)(call)


# Forms whose values become something else.

VERBATIM = {"url-form": "verbatim"}


def as_latin_1(text: str) -> str:
    return text.encode().decode("latin-1")


def misread_encoding(settings: dict[str, Any]) -> dict[str, Any]:
    other = {name: value for name, value in settings.items() if isinstance(value, str) and name != "email"}
    return settings | {name: as_latin_1(value) for name, value in other.items()}


def without_dots(email: str) -> str:
    local, at, host = email.rpartition("@")
    return f"{local.replace('.', '')}{at}{host}"


def starts(word: str, enabled: bool) -> Callable[[Call, Response], None]:  # noqa: FBT001 - what the word is taken for
    """Let `is_enabled` take effect in a create."""

    def effect(call: Call, answer: Response) -> None:
        if call.form.get("is_enabled") == word:
            enable(call, made_id(call, answer), enabled)

    return effect


def enable(call: Call, identifier: int, enabled: bool) -> None:  # noqa: FBT001 - the value itself
    call.collection.update(identifier, lambda old: replace(old, values={**old.values, "is_enabled": enabled}))


def toggles(call: Call, serve: Serve) -> Response:
    if call.operation == "update" and call.record and "is_enabled" in call.form:
        word = "0" if call.record.values["is_enabled"] else "1"
        return serve(call.sending(call.form | {"is_enabled": word}))
    return serve(call)


# Forms that are misread in the shapes that common clients write.

LONG_BOUNDARY = 64  # characters


def media_type(call: Call) -> str:
    return str(call.environ.get("CONTENT_TYPE", ""))


def boundary(call: Call) -> str:
    return parse_options_header(media_type(call))[1].get("boundary", "")


def loses_texts_after_files(call: Call) -> Call:
    is_file = [isinstance(part.content, bytes) for part in call.parts.values()]
    if True not in is_file:
        return call
    first = is_file.index(True)
    return call.sending({name: text for at, (name, text) in enumerate(call.form.items()) if at < first or is_file[at]})


def loses_typed_texts(call: Call) -> Call:
    typed = rb'name="(\w+)"\r\nContent-Type: text/plain'
    lost = {name.decode() for name in re.findall(typed, call.body)}
    return call.sending({name: text for name, text in call.form.items() if name not in lost}) if lost else call


def comes_in_chunks(call: Call) -> bool:
    return "HTTP_TRANSFER_ENCODING" in call.environ


# Creates that do less, more or something else.


def old_id(choose: Callable[[list[Record]], Record]) -> Transformation:
    """Answer a create with the id of a record that already existed."""

    def transformation(call: Call, serve: Serve) -> Response:
        earlier_records = call.records if call.operation == "create" and call.account else []
        answer = serve(call)
        if not earlier_records or not is_carried_out(call, answer):
            return answer
        body = content(answer)
        body["data"]["id"] = choose(earlier_records).id
        return json_answer(call, answer, body)

    return transformation


def read_another(choose: Callable[[list[Record]], Record]) -> Transformation:
    """Read a record other than the one that was asked for."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation == "read" and call.record:
            return serve(call.at("read", choose(call.records).id))
        return serve(call)

    return transformation


def newest(records: list[Record]) -> Record:
    return max(records, key=lambda record: record.id)


def oldest(records: list[Record]) -> Record:
    return min(records, key=lambda record: record.id)


def listing(change: Callable[[list[Body], set[int]], list[Body]]) -> Transformation:
    """List created records in another way; `change` is given the rows and the ids of created records."""

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if not call.account or not is_carried_out(call, answer):
            return answer
        created_ids: set[int] = call.memory.setdefault("made", set())
        body = content(answer)
        if call.operation == "create":
            created_ids.add(body["data"]["id"])
        if call.operation == "list":
            return json_answer(call, answer, body | {"data": change(body["data"], created_ids)})
        return answer

    return transformation


def renames_the_one_before(call: Call, answer: Response) -> None:
    before, call.memory["made"] = call.memory.get("made"), made_id(call, answer)
    if before in [record.id for record in call.records]:
        change = lambda old: replace(old, values={**old.values, **renamed(old, call.resource.label)})  # noqa: E731
        call.collection.update(before, change)


def same_name(call: Call, serve: Serve) -> Response:
    if call.operation == "create" and call.account:
        label = call.resource.label
        same_name_ids = [record.id for record in call.records if record.values[label] == call.form.get(label)]
        if same_name_ids:
            return call.mock.representations.json({"data": {"id": same_name_ids[0]}}, 200)
    return serve(call)


# Updates that do less, more or something else.

MAX_CREATES = 3
FUTURE_TIME = "2027-01-01 00:00:00"


def other_scheme(row: Body) -> str:
    return "http://" if row["scheme"] == "https://" else "https://"


def repeats_its_label(call: Call) -> bool:
    label = call.resource.label
    return call.record is not None and call.form.get(label) == call.record.values[label]


def gives_its_id_back(call: Call, _: Response) -> None:
    ids: IdSequence = call.collection.ids  # type: ignore[attr-defined] # of a collection in memory
    if ids.last == int(call.identifier):
        ids.last -= 1


def without_empty_texts(fields: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in fields.items() if text or name != "custom_index_url"}


def remembers_settings(call: Call, serve: Serve) -> Response:
    """Give a new handler what the latest one of its type was given, unless it brings that itself."""
    if call.operation != "create" or call.account is None or "type" not in call.form:
        return serve(call)
    handler_type, types_of = call.form["type"], call.resource.types_of
    values = {name: text for name, text in call.form.items() if types_of.get(name) == handler_type}
    values = call.memory[handler_type] = call.memory.get(handler_type, {}) | values
    return serve(call.sending(values | call.form))


def is_invalid(call: Call) -> bool:
    return call.form.get("type", TYPES[0]) not in TYPES or "x" in call.form.values()


def makes_what_it_refuses(call: Call, serve: Serve) -> Response:
    if call.operation != "create" or call.account is None or not is_invalid(call):
        return serve(call)
    form = {name: text for name, text in call.form.items() if name == call.resource.label}
    serve(call.sending(form | ({"type": "slack"} if "type" in call.form else {})))
    return Response(b"{}", HTTPStatus.UNPROCESSABLE_ENTITY, content_type="application/json")


def stores_what_it_refuses(call: Call, serve: Serve) -> Response:
    if call.operation != "update" or call.record is None or not is_invalid(call):
        return serve(call)
    label, values = call.resource.label, call.record.values
    new = {**values, label: call.form.get(label, values[label])}
    call.collection.update(call.record.id, lambda record: replace(record, values=new))
    return Response(b"{}", HTTPStatus.UNPROCESSABLE_ENTITY, content_type="application/json")


def updated_shows(name: str, value: Callable[[Body], Any]) -> Transformation:
    """Show another value in a field of updated records."""

    def change(call: Call, body: Body) -> None:
        touched: set[str] = call.memory.setdefault(call.resource.name, set())
        if call.operation == "update":
            touched.add(call.identifier)
        else:
            for row in rows_of(body):
                if str(row["id"]) in touched:
                    row[name] = value(row)

    return json_by_call("update read list", change, has_known_key)


# Deletes that do less, more or something else, and reads that do something.

SMALL_COLLECTION = 10  # records


def still_read(*, until_updated: bool) -> Transformation:
    """Show deleted records when they are read, perhaps only after an update."""

    def transformation(call: Call, serve: Serve) -> Response:
        deleted: dict[str, Record] = call.memory.setdefault(f"{call.resource.name} deleted", {})
        records_shown: dict[str, Record] = call.memory.setdefault(f"{call.resource.name} shown", {})
        record = call.record
        if record is None and call.identifier in deleted and call.operation == "update":
            records_shown[call.identifier] = deleted[call.identifier]
        if record is None and call.identifier in records_shown and call.operation == "read":
            body = call.mock.representations.read(call.resource, records_shown[call.identifier])
            return call.mock.representations.json(body, 200)
        if record is not None and call.operation == "delete":
            (deleted if until_updated else records_shown)[call.identifier] = record
        return serve(call)

    return transformation


def takes_updates_of_deleted(call: Call, serve: Serve) -> Response:
    """Answer updates of deleted records as if they were carried out."""
    deleted: set[str] = call.memory.setdefault(call.resource.name, set())
    if call.operation == "delete" and call.record is not None:
        deleted.add(call.identifier)
    if call.operation == "update" and call.record is None and call.identifier in deleted:
        return call.mock.representations.json({"data": {"id": int(call.identifier)}}, 200)
    return serve(call)


def keeps_listing(call: Call, serve: Serve) -> Response:
    """Keep deleted records from being read or updated, but not from being listed."""
    deleted: set[str] = call.memory.setdefault(call.resource.name, set())
    if call.record is None or (call.operation != "delete" and call.identifier not in deleted):
        return serve(call)
    if call.identifier in deleted:
        return Response(b"{}", 404, content_type="application/json")
    deleted.add(call.identifier)
    return Response(status=204)


def is_largest(call: Call) -> bool:
    return call.query.get("results_per_page") == "1000" and len(call.records) > SMALL_COLLECTION


def renames_the_oldest(call: Call, _: Response) -> None:
    oldest = min(call.records, key=lambda record: record.id)
    values = {**oldest.values, **renamed(oldest, call.resource.label)}
    call.collection.update(oldest.id, lambda old: replace(old, values=values))


def tires(call: Call, serve: Serve) -> Response:
    """Answer the third delete and later ones as if they were carried out, and do nothing."""
    if call.operation == "delete" and call.record:
        call.memory["count"] = call.memory.get("count", 0) + 1
        if call.memory["count"] > 2:  # noqa: PLR2004 - as the docstring says
            return Response(status=204)
    return serve(call)


def shows_another_when_gone(call: Call, serve: Serve) -> Response:
    if call.operation == "read" and call.account and call.record is None and call.identifier.isdecimal():
        smaller_ids = [record.id for record in call.records if record.id < int(call.identifier)]
        if smaller_ids:
            return serve(call.at("read", max(smaller_ids)))
    return serve(call)


# Keys that open another account, or do not open their own.


def first_key(call: Call) -> str:
    return next(iter(call.mock.accounts.keys))


def let_in(operations: str, applies: CallTest) -> Transformation:
    """Treat some clients as the first account."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation in operations.split() and applies(call):
            return serve(call.by(f"Bearer {first_key(call)}"))
        return serve(call)

    return transformation


def empty_for(clients: CallTest) -> Transformation:
    """Answer lists of some clients with an empty page."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation != "list" or not clients(call):
            return serve(call)
        answer = serve(call.by(f"Bearer {first_key(call)}"))
        body = content(answer)
        body["data"], body["meta"]["total"], body["meta"]["total_pages"] = [], 0, 1
        return json_answer(call, answer, body)

    return transformation


def answers_nobody(call: Call, serve: Serve) -> Response:
    if call.operation != "update" or not has_no_key(call):
        return serve(call)
    return call.mock.representations.json({"data": {"id": int(call.identifier)}}, 200)


def has_no_key(call: Call) -> bool:
    return not call.authorization


def has_wrong_key(call: Call) -> bool:
    return bool(call.authorization) and call.account is None


def key_that(match: Callable[[str, str], bool]) -> CallTest:
    """Whether an unknown key, sent as a bearer token, matches the first account's key in some way."""

    def has_matching_key(call: Call) -> bool:
        scheme, _, sent_key = call.authorization.partition(" ")
        return scheme == "Bearer" and call.account is None and match(sent_key.strip(), first_key(call))

    return has_matching_key


def is_other_account(call: Call) -> bool:
    return call.account is not None and call.account is not call.mock.accounts.get(first_key(call))


def is_prefix(sent_key: str, key: str) -> bool:
    return bool(sent_key) and sent_key != key and key.startswith(sent_key)


def is_longer(sent_key: str, key: str) -> bool:
    return sent_key != key and sent_key.startswith(key)


def uses_another_scheme(call: Call) -> bool:
    return call.authorization.startswith("Basic")


def uses_token_scheme(call: Call) -> bool:
    return call.authorization == f"Token {first_key(call)}"


def uses_no_scheme(call: Call) -> bool:
    return call.authorization == first_key(call)


def sends_key_as_parameter(call: Call) -> bool:
    return call.authorization == f'Bearer token="{first_key(call)}"'


def sends_key_in_a_cookie(call: Call) -> bool:
    return not call.authorization and f"token={first_key(call)}" in call.environ.get("HTTP_COOKIE", "")


def sends_key_in_the_query(call: Call) -> bool:
    return not call.authorization and call.query.get("api_key") == first_key(call)


def mixed_lists(call: Call, serve: Serve) -> Response:
    """Begin another account's lists with a record of the first account."""
    answer = serve(call)
    if call.operation != "list" or not is_other_account(call) or not is_carried_out(call, answer):
        return answer
    rows = content(serve(call.by(f"Bearer {first_key(call)}")))["data"]
    body = content(answer)
    body["data"] = sorted(rows, key=lambda row: row["id"])[-1:] + body["data"]
    return json_answer(call, answer, body)


def refuses_and_does(operations: str, status: int, applies: CallTest) -> Transformation:
    """Refuse an unauthorized call, and carry it out all the same."""
    inner = let_in(operations, applies)

    def transformation(call: Call, serve: Serve) -> Response:
        answer = inner(call, serve)
        if call.operation in operations.split() and applies(call):
            return Response(b"{}", status, content_type="application/json")
        return answer

    return transformation


def forbids_and_shows(call: Call, serve: Serve) -> Response:
    """Refuse another account's read by status only, and show the record in the body."""
    answer = let_in("read", is_other_account)(call, serve)
    if call.operation == "read" and is_other_account(call):
        answer.status_code = 403
    return answer


# Odd input that makes the server fail.

MAX_NAME, MAX_TEXT, MAX_VARCHAR, MAX_BODY = 64, 200, 255, 8192


def has_letters_beyond(last: str) -> CallTest:
    """Whether a name holds a letter behind another one."""
    return lambda call: any(letter > last for letter in call.form.get("name", ""))


def keeps_deleted_labels(call: Call, serve: Serve) -> Response:
    labels: set[str] = call.memory.setdefault(call.resource.name, set())
    label = call.resource.label
    if call.operation == "delete" and call.record:
        labels.add(str(call.record.values[label]))
    if call.operation == "create" and call.form.get(label) in labels:
        return Response(FAILURE, 500, content_type="text/html")
    return serve(call)


def fails(operations: str, applies: CallTest) -> Transformation:
    return refuses(operations, 500, FAILURE, applies)


def shows_broken_text(call: Call) -> bool:
    records = [call.record] if call.operation == "read" else call.records
    return any("\N{REPLACEMENT CHARACTER}" in str(record.values["name"]) for record in records if record)


def fails_for(clients: CallTest) -> Transformation:
    """Fail whatever some clients ask for, whether they have an account or not."""
    return lambda call, serve: Response(FAILURE, 500, content_type="text/html") if clients(call) else serve(call)


def odd_page(call: Call) -> bool:
    page = call.query.get("page", "1")
    return not page.isdecimal() or int(page) == 0


def odd_size(call: Call) -> bool:
    size = call.query.get("results_per_page", "10")
    return size not in map(str, call.mock.contract.page_sizes)


def empty_form(call: Call) -> bool:
    return call.environ["REQUEST_METHOD"] == "POST" and not call.parts


def unknown_id_fails(call: Call, serve: Serve) -> Response:
    if call.operation == "read" and call.account and call.record is None:
        return Response(FAILURE, 500)
    return serve(call)


# Servers that are right as long as requests come one by one, and wrong when they overlap.

LISTS_UNDER_WAY: WeakKeyDictionary[Any, dict[str, tuple[float, str]]] = WeakKeyDictionary()  # until when, whose
CONNECTION_KEYS: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()  # by port of the client, by service
LISTS_OF_OTHERS: WeakKeyDictionary[Any, list[str]] = WeakKeyDictionary()  # the keys of the latest lists, by service
MOMENT, BRIEFLY = 0.05, 0.02  # seconds
MAX_READS = 30  # at a time
LOST_CREATE = 2  # the create whose record is made in another account
TIMES = ("datetime", "last_datetime")


def begin_write(call: Call, key: str, value: Any, seconds: float = MOMENT) -> None:
    """Note that something is under way, and answer it a moment later."""
    call.memory[key] = (monotonic() + seconds, value)
    context_of(call.environ).delay += seconds


def under_way(call: Call, key: str) -> Any:
    end_time, value = call.memory.get(key, (0.0, None))
    return value if monotonic() < end_time else None


def key_of_write(call: Call, operation: str) -> str:
    return f"{operation} {call.resource.name} {call.identifier}"


def remembers_by_connection(call: Call, serve: Serve) -> Response:
    """Take a key for the one before it on its connection, if they differ in the case of letters alone."""
    keys, port = CONNECTION_KEYS.setdefault(call.mock.accounts, {}), str(call.environ["REMOTE_PORT"])
    if keys.get(port, "").casefold() == call.authorization.casefold():
        return serve(call.by(keys[port]))
    keys[port] = call.authorization
    return serve(call)


def lists_for_the_one_before(call: Call, serve: Serve) -> Response:
    """Answer a list as another account, whose list of the same resource is under way."""
    if call.operation != "list" or call.account is None:
        return serve(call)
    latest, key = LISTS_UNDER_WAY.setdefault(call.mock.accounts, {}), call.authorization
    end_time, other_key = latest.get(call.resource.name, (0.0, key))
    if key != other_key and monotonic() < end_time:
        return serve(call.by(other_key))
    latest[call.resource.name] = (monotonic() + BRIEFLY, key)
    context_of(call.environ).delay += BRIEFLY
    return serve(call)


def garbles_times(call: Call, serve: Serve) -> Response:
    """Show other times in a list while another list is under way."""
    answer, key = serve(call), f"list {call.resource.name}"
    if call.operation != "list" or not is_carried_out(call, answer):
        return answer
    if not under_way(call, key):
        begin_write(call, key, True, BRIEFLY)  # noqa: FBT003 - a value that is kept
        return answer
    body = content(answer)
    for row in rows_of(body):
        row["datetime"] = f"0{row['datetime'][1:]}"
    return json_answer(call, answer, body)


def undoes(call: Call, serve: Serve) -> Response:
    if call.operation != "update" or call.record is None:
        return serve(call)
    key, now = key_of_write(call, "update"), dict(call.record.values)
    before = under_way(call, key)
    if before is not None:
        call.collection.update(call.record.id, lambda record: replace(record, values=before))
    begin_write(call, key, now if before is None else before)
    return serve(call)


def tears(call: Call, serve: Serve) -> Response:
    key = key_of_write(call, "update")
    if call.operation == "update" and call.record is not None:
        record_shown = content(serve(call.at("read", call.record.id)))
        begin_write(call, key, record_shown["data"])
        return serve(call)
    before, answer = under_way(call, key), serve(call)
    if call.operation != "read" or before is None or not is_carried_out(call, answer):
        return answer
    body = content(answer)
    changed = [name for name in body["data"] if name not in TIMES and body["data"][name] != before.get(name)]
    body["data"] |= {name: before[name] for name in changed[1:] if name in before}
    return json_answer(call, answer, body)


def brings_back(call: Call, serve: Serve) -> Response:
    deleted_records: dict[str, Any] = call.memory.setdefault("kept", {})
    record, current_record = key_of_write(call, ""), call.record
    if call.operation == "read" and current_record is None and record in deleted_records:
        return call.mock.representations.json(deleted_records[record], 200)
    if call.operation not in ("update", "delete"):
        return serve(call)
    record_shown = content(serve(call.at("read", current_record.id))) if current_record else None
    other = under_way(call, key_of_write(call, "delete" if call.operation == "update" else "update"))
    deleted_records.pop(record, None)
    if other is not None and (call.operation == "update" or current_record):
        deleted_records[record] = other
    begin_write(call, key_of_write(call, call.operation), record_shown or {})
    return serve(call)


def answers_one_id(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if call.operation != "create" or not is_carried_out(call, answer):
        return answer
    first = under_way(call, key_of_write(call, "create"))
    if first is None:
        begin_write(call, key_of_write(call, "create"), made_id(call, answer))
        return answer
    body = content(answer)
    body["data"]["id"] = first
    return json_answer(call, answer, body)


def takes_the_name_of_another(call: Call, serve: Serve) -> Response:
    """Store the name of a create that is under way instead of the one that came."""
    key = key_of_write(call, "create")
    if call.operation != "create" or call.account is None or not call.form.get("name"):
        return serve(call)
    first = under_way(call, key)
    if first is not None:
        return serve(call.sending(call.form | {"name": first}))
    begin_write(call, key, call.form["name"])
    return serve(call)


def loses_overlapping(call: Call, serve: Serve) -> Response:
    answer = serve(call)
    if call.operation != "create" or not is_carried_out(call, answer):
        return answer
    if under_way(call, key_of_write(call, "create")):
        call.collection.delete(made_id(call, answer))
    else:
        begin_write(call, key_of_write(call, "create"), True)  # noqa: FBT003 - a value that is kept
    return answer


def counts_once_more(call: Call, serve: Serve) -> Response:
    answer, drift = serve(call), f"drift {call.resource.name}"
    if call.operation in ("create", "delete") and is_carried_out(call, answer):
        key = f"write {call.resource.name}"
        call.memory[drift] = call.memory.get(drift, 0) + bool(under_way(call, key))
        begin_write(call, key, True)  # noqa: FBT003 - a value that is kept
    if call.operation != "list" or not is_carried_out(call, answer) or not call.memory.get(drift):
        return answer
    body = content(answer)
    body["meta"]["total"] += call.memory[drift]
    return json_answer(call, answer, body)


def changes_lists_during_creates(change: Callable[[dict[str, Any]], None]) -> Transformation:
    def transformation(call: Call, serve: Serve) -> Response:
        answer, key = serve(call), f"create {call.resource.name}"
        if call.operation == "create" and is_carried_out(call, answer):
            begin_write(call, key, True)  # noqa: FBT003 - a value that is kept
        if call.operation != "list" or not is_carried_out(call, answer) or not under_way(call, key):
            return answer
        body = content(answer)
        change(body)
        return json_answer(call, answer, body)

    return transformation


def shows_twice(body: dict[str, Any]) -> None:
    body["data"] = [*body["data"][:1], *body["data"]]


def counts_one_more(body: dict[str, Any]) -> None:
    body["meta"]["total"] += 1


def is_locked(call: Call, serve: Serve) -> Response:
    if call.operation not in ("create", "update", "delete") or not call.account:
        return serve(call)
    key = f"write {call.resource.name}"
    if under_way(call, key):
        return serve(call.as_refused(500, "The store is locked."))
    begin_write(call, key, True)  # noqa: FBT003 - a value that is kept
    return serve(call)


def is_busy(call: Call, serve: Serve) -> Response:
    """Fail while another resource is written to."""
    writing = under_way(call, "writing")
    if writing not in (None, call.resource.name) and call.account:
        return serve(call.as_refused(500, "The store is locked."))
    if call.operation in ("create", "update", "delete") and call.account:
        begin_write(call, "writing", call.resource.name)
    return serve(call)


def undoes_a_setting(call: Call, serve: Serve) -> Response:
    """Of two updates of one object of settings, keep the second alone."""
    if call.operation != "update" or call.record is None or not {"telegram", "telegram_chat_id"} & set(call.form):
        return serve(call)
    return undoes(call, serve)


def lands_elsewhere(call: Call, serve: Serve) -> Response:
    """Make a record in another account that has just sent two lists, as if they had come while this one was read."""
    lists = LISTS_OF_OTHERS.setdefault(call.mock.accounts, [])
    if call.operation == "list" and call.account:
        lists.append(call.authorization)
        return serve(call)
    latest = lists[-2:]
    lists.clear()
    if call.operation == "create" and call.account and len(latest) > 1 and call.authorization not in latest:
        return serve(call.by(latest[0]))
    return serve(call)


def lands_elsewhere_once(call: Call, serve: Serve) -> Response:
    """Make one record of the first account in another account."""
    if call.operation == "create" and call.authorization == f"Bearer {first_key(call)}":
        call.memory["creates"] = call.memory.get("creates", 0) + 1
        if call.memory["creates"] == LOST_CREATE:
            return serve(call.by(f"Bearer {list(call.mock.accounts.keys)[1]}"))
    return serve(call)


def locks_up(call: Call, serve: Serve) -> Response:
    if call.operation != "read":
        return serve(call)
    reads: list[float] = call.memory.setdefault("reads", [])
    reads[:] = [due for due in reads if due > monotonic()]
    if len(reads) >= MAX_READS:
        return serve(call.as_refused(500, "There is no connection left to the store."))
    hold = MOMENT * (1 + len(reads)) / 2  # the more of them, the longer each, so that a burst fills up on any machine
    reads.append(monotonic() + hold)
    context_of(call.environ).delay += hold
    return serve(call)


# Forms that name one of the types, and links that name another collection.


def makes(handler_type: str) -> CallTest:
    return lambda call: call.form.get("type") == handler_type


def link_to(collection: str) -> Callable[[str], str]:
    """Name another collection in a page link."""

    def change(url: str) -> str:
        head, _, query = url.partition("?")
        return f"{head.rpartition('/')[0]}/{collection}?{query}"

    return change
