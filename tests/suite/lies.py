"""One way or more to break each rule, as small transformations of what an honest server does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from liar import Ask, Lie, Reply, Serve

Body = dict[str, Any]


def succeeded(reply: Reply) -> bool:
    return 200 <= reply.status < 300


def on(operation: str, change: Callable[[Body], Any], when: Callable[[Ask], bool] = lambda _: True) -> Lie:
    """Change the JSON of an operation's successes."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        reply = serve(ask)
        if ask.operation not in operation.split() or not succeeded(reply) or not reply.data or not when(ask):
            return reply
        body = reply.json
        return reply.with_json(change(body) or body)

    return lie


def record(
    change: Callable[[Body], Any], operations: str = "read list", when: Callable[[Body], bool] = lambda _: True
) -> Lie:
    """Change the records that reads and lists show."""

    def each(body: Body) -> None:
        rows = body["data"] if isinstance(body["data"], list) else [body["data"]]
        for row in rows:
            if when(row):
                change(row)

    return on(operations, each)


def sets(name: str, value: Any) -> Callable[[Body], None]:
    return lambda row: row.__setitem__(name, value)


def meta(name: str, value: Callable[[Body], Any]) -> Lie:
    return on("list", lambda body: body["meta"].__setitem__(name, value(body["meta"])))


def link(name: str, value: Callable[[Body], Any], when: Callable[[Body], bool] = lambda _: True) -> Lie:
    def change(body: Body) -> None:
        if when(body):
            body["links"][name] = value(body)

    return on("list", change)


def links(change: Callable[[str], str]) -> Lie:
    return on(
        "list", lambda body: body["links"].update({key: url and change(url) for key, url in body["links"].items()})
    )


def answers(operation: str, status: int, body: bytes = b"{}", when: Callable[[Ask], bool] = lambda _: True) -> Lie:
    """Answer an operation in some way without carrying it out."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        if ask.operation in operation.split() and when(ask) and is_owner(ask):
            return Reply(status, {"Content-Type": "application/json", "Location": "/elsewhere"}, body)
        return serve(ask)

    return lie


def asks(operation: str, change: Callable[[Ask], Ask], when: Callable[[Ask], bool] = lambda _: True) -> Lie:
    """Change an operation's requests on their way."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        return serve(change(ask) if ask.operation in operation.split() and when(ask) else ask)

    return lie


def form(
    operation: str, change: Callable[[dict[str, str]], Any], when: Callable[[dict[str, str]], bool] = lambda _: True
) -> Lie:
    """Change an operation's forms on their way."""

    def altered(ask: Ask) -> Ask:
        fields = ask.form
        if not when(fields):
            return ask
        changed = change(fields)
        return ask.with_form(changed if isinstance(changed, dict) else fields)

    return asks(operation, altered, is_owner)


def is_owner(ask: Ask) -> bool:
    return ask.headers.get("Authorization") == "Bearer demo-key-harbour"


def let_in(*operations: str, when: Callable[[Ask], bool]) -> Lie:
    """Serve strangers as if they were the account."""

    def change(ask: Ask) -> Ask:
        return replace(ask, headers=ask.headers | {"Authorization": "Bearer demo-key-harbour"})

    return asks(" ".join(operations), change, lambda ask: not is_owner(ask) and when(ask))


def no_key(ask: Ask) -> bool:
    return "Authorization" not in ask.headers


def other(ask: Ask) -> bool:
    return ask.headers.get("Authorization") == "Bearer demo-key-alpine"


def some_key(ask: Ask) -> bool:
    return not no_key(ask) and not other(ask)


def also(operation: str, extra: Callable[[Ask, Serve, Reply], Any]) -> Lie:
    """Do something more when an operation has succeeded."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        reply = serve(ask)
        if ask.operation == operation and succeeded(reply) and is_owner(ask):
            extra(ask, serve, reply)
        return reply

    return lie


def get(ask: Ask, serve: Serve, path: str, **query: str) -> Any:
    return serve(replace(ask, method="GET", path=path, query=query, body=None)).json


def rows(ask: Ask, serve: Serve) -> list[Body]:
    found: list[Body] = get(ask, serve, f"/api/{ask.kind}/", results_per_page="1000")["data"]
    return found


def label(ask: Ask) -> str:
    return "host" if ask.kind == "domains" else "name"


def rename_neighbour(ask: Ask, serve: Serve, reply: Reply) -> None:
    mine = ask.identifier or str(reply.json["data"]["id"])
    neighbour = next((row for row in rows(ask, serve) if str(row["id"]) != mine), None)
    if neighbour:
        changed = replace(ask, method="POST", path=f"/api/{ask.kind}/{neighbour['id']}")
        serve(changed.with_form({label(ask): f"renamed-{neighbour['id']}-{mine}.example.com"}))


def remove_neighbour(ask: Ask, serve: Serve, _: Reply) -> None:
    for row in rows(ask, serve)[-1:]:
        serve(replace(ask, method="DELETE", path=f"/api/{ask.kind}/{row['id']}"))


def double(ask: Ask, serve: Serve) -> Reply:
    reply = serve(ask)
    if ask.operation == "create" and succeeded(reply) and is_owner(ask):
        fields = ask.form
        serve(ask.with_form(fields | {label(ask): f"{fields[label(ask)]}x"}))
    return reply


def filled_in(ask: Ask, serve: Serve, field: str) -> Reply:
    """Make up a required field that is missing."""
    if ask.operation == "create" and is_owner(ask) and ask.body and field not in ask.form:
        made_up = {"name": "", "host": f"n{len(ask.memory)}.example.com", "type": "webhook"}
        ask.memory[str(len(ask.memory))] = True
        fields = ask.form | {field: made_up[field] or "Untitled"}
        return serve(ask.with_form(fields))
    return serve(ask)


def missing_but_stored(field: str) -> Lie:
    def lie(ask: Ask, serve: Serve) -> Reply:
        missing = ask.operation == "create" and is_owner(ask) and ask.body and field not in ask.form
        reply = filled_in(ask, serve, field)
        return replace(reply, status=400) if missing else reply

    return lie


def odd_page(ask: Ask) -> bool:
    return ask.query.get("page", "1") in ("0", "-1", "x") or len(ask.query.get("page", "1")) > 9


def odd_size(ask: Ask) -> bool:
    return ask.query.get("results_per_page", "10") in ("7", "60", "5000")


def own_size(ask: Ask, serve: Serve) -> Reply:
    """Use any page size."""
    if ask.operation == "list" and odd_size(ask):
        whole = serve(replace(ask, query={"results_per_page": "1000"}))
        body, size = whole.json, int(ask.query["results_per_page"])
        body["data"] = body["data"][:size]
        body["meta"]["results_per_page"] = size
        return whole.with_json(body)
    return serve(ask)


def shuffled(ask: Ask, serve: Serve) -> Reply:
    """Another order with each list."""
    reply = serve(ask)
    if ask.operation == "list" and succeeded(reply):
        ask.memory["turn"] = ask.memory.get("turn", 0) + 1
        body = reply.json
        turn = ask.memory["turn"] % max(1, len(body["data"]))
        body["data"] = body["data"][turn:] + body["data"][:turn]
        return reply.with_json(body)
    return reply


def undead(ask: Ask, serve: Serve) -> Reply:
    """Deletes hide a record until it is updated."""
    hidden: set[str] = ask.memory.setdefault("hidden", set())
    key = f"{ask.kind}/{ask.identifier}"
    if not is_owner(ask):
        return serve(ask)
    if ask.operation == "delete":
        if key in hidden:
            return serve(ask)
        hidden.add(key)
        return Reply(200, {}, b"")
    if key in hidden:
        if ask.operation == "read":
            return Reply(404, {}, b"")
        hidden.discard(key)
        ask.memory["back"] = True
    reply = serve(ask)
    if ask.operation == "list" and succeeded(reply):
        body = reply.json
        kept = [row for row in body["data"] if f"{ask.kind}/{row['id']}" not in hidden]
        body["meta"]["total"] -= len(body["data"]) - len(kept)
        body["data"] = kept
        return reply.with_json(body)
    return reply


def stale_list(ask: Ask, serve: Serve) -> Reply:
    """Lists show records as they were first shown."""
    seen: Body = ask.memory.setdefault("seen", {})
    reply = serve(ask)
    if ask.operation == "list" and succeeded(reply):
        body = reply.json
        body["data"] = [seen.setdefault(f"{ask.kind}/{row['id']}", row) for row in body["data"]]
        return reply.with_json(body)
    return reply


def counts_reads(ask: Ask, serve: Serve) -> Reply:
    """Reads leave a trace."""
    reply = serve(ask)
    if ask.operation == "list" and succeeded(reply):
        ask.memory["count"] = ask.memory.get("count", 0) + 1
        body = reply.json
        for row in body["data"]:
            row["last_datetime"] = f"2026-03-02 10:00:{ask.memory['count'] % 60:02}"
        return reply.with_json(body)
    return reply


def old_id(ask: Ask, serve: Serve) -> Reply:
    """Creates answer the id of the oldest record."""
    known = rows(ask, serve) if ask.operation == "create" and is_owner(ask) else []
    reply = serve(ask)
    if known and succeeded(reply):
        return reply.with_json({"data": {"id": known[-1]["id"]}})
    return reply


def wrong_record(ask: Ask, serve: Serve) -> Reply:
    """Reads show the newest record, whichever was asked for."""
    if ask.operation == "read" and is_owner(ask) and succeeded(serve(ask)):
        return serve(replace(ask, path=f"/api/{ask.kind}/{rows(ask, serve)[-1]['id']}"))
    return serve(ask)


def at_another_path(ask: Ask, serve: Serve) -> Reply:
    """What `POST /api/projects` makes is no splash page."""
    if ask.operation == "create" and ask.kind == "splash-pages" and is_owner(ask):
        form = {"name": ask.form.get("name", ""), "type": "slack"}
        made = serve(replace(ask, path="/api/notification-handlers").with_form(form))
        if not succeeded(made):
            return made
        return made.with_json({"data": {"id": made.json["data"]["id"] + 5000}})
    return serve(ask)


def deaf(*fields: str) -> Lie:
    """Updates ignore some fields."""
    return form("update", lambda given: {name: value for name, value in given.items() if name not in fields})


def never_fewer(ask: Ask, serve: Serve) -> Reply:
    """Totals that never go down."""
    reply = serve(ask)
    if ask.operation == "list" and succeeded(reply):
        body = reply.json
        ask.memory[ask.kind] = body["meta"]["total"] = max(body["meta"]["total"], ask.memory.get(ask.kind, 0))
        return reply.with_json(body)
    return reply


def fails(when: Callable[[Ask], bool]) -> Lie:
    def lie(ask: Ask, serve: Serve) -> Reply:
        return Reply(500, {}, b"<h1>Oops</h1>") if when(ask) else serve(ask)

    return lie


def redirected(ask: Ask, serve: Serve) -> Reply:
    if ask.operation == "list" and "moved" not in ask.memory:
        return Reply(301, {"Location": f"{ask.path}?moved=1"}, b"")
    return serve(ask)


def updates_touch(name: str, value: Callable[[Body], Any]) -> Lie:
    """Records show something else once they were updated."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        touched: set[str] = ask.memory.setdefault("touched", set())
        if ask.operation == "update" and is_owner(ask):
            touched.add(f"{ask.kind}/{ask.identifier}")
        reply = serve(ask)
        if ask.operation in ("read", "list") and succeeded(reply):
            body = reply.json
            shown = body["data"] if isinstance(body["data"], list) else [body["data"]]
            for row in shown:
                if f"{ask.kind}/{row['id']}" in touched:
                    row[name] = value(row)
            return reply.with_json(body)
        return reply

    return lie


def rules_and_lies() -> Iterator[tuple[str, str, Lie]]:
    """Each with the rule that it breaks and a kind that shows it."""
    table: dict[str, list[Any]] = LIES
    for rule, entries in table.items():
        for kind, lie in entries:
            yield rule, kind, lie


S, D, N = "splash-pages", "domains", "notification-handlers"
TOTAL = "total"
LIES: dict[str, list[tuple[str, Lie]]] = {
    "operations.list-answers": [(S, answers("list", 404, when=lambda ask: ask.query.get("page") == "2"))],
    "operations.read-answers": [(D, answers("read", 404))],
    "operations.create-answers": [(S, answers("create", 405)), (N, answers("create", 422))],
    "operations.update-answers": [(S, answers("update", 405)), (N, answers("update", 500))],
    "operations.delete-answers": [(D, answers("delete", 405))],
    "operations.splash-pages-created-at-projects": [(S, at_another_path)],
    "operations.writes-not-redirected": [(D, answers("delete", 307)), (S, answers("create", 301))],
    "operations.reads-redirected-within-host": [(S, redirected)],
    "pagination.page-defaults-to-1": [
        (
            S,
            asks(
                "list",
                lambda ask: replace(ask, query=ask.query | {"page": "2"}),
                lambda ask: "page" not in ask.query and "results_per_page" not in ask.query,
            ),
        )
    ],
    "pagination.size-defaults-to-25": [
        (
            D,
            asks(
                "list",
                lambda ask: replace(ask, query=ask.query | {"results_per_page": "50"}),
                lambda ask: "results_per_page" not in ask.query,
            ),
        )
    ],
    "pagination.allowed-sizes-are-kept": [
        (
            S,
            asks(
                "list",
                lambda ask: replace(ask, query=ask.query | {"results_per_page": "100"}),
                lambda ask: ask.query.get("results_per_page") == "250",
            ),
        )
    ],
    "pagination.other-sizes-are-not-used": [(N, own_size)],
    "pagination.page-is-filled": [
        (S, on("list", lambda body: body.__setitem__("data", body["data"][:-1]))),
        (
            D,
            on(
                "list",
                lambda body: body.__setitem__("data", body["data"][:-1]),
                lambda ask: ask.query.get("page") == "3",
            ),
        ),
    ],
    "pagination.meta-page-is-the-page-asked-for": [
        (S, meta("page", lambda _: 1)),
        (D, meta("page", lambda m: m["page"] - 1)),
    ],
    "pagination.total-pages-is-the-ceiling": [
        (S, meta("total_pages", lambda m: m["total"] // m["results_per_page"])),
        (D, meta("total_pages", lambda m: m["total"] // m["results_per_page"] + 1)),
    ],
    "pagination.total-counts-the-records": [
        (S, meta(TOTAL, lambda m: m["total"] + 1)),
        (N, meta(TOTAL, lambda m: min(m["total"], m["results_per_page"]))),
    ],
    "pagination.total-follows-creates": [(D, meta(TOTAL, lambda m: min(m["total"], 28)))],
    "pagination.total-follows-deletes": [(S, never_fewer)],
    "pagination.pages-partition-the-collection": [
        (
            S,
            on(
                "list",
                lambda body: body["data"].__setitem__(0, body["data"][-1]) if body["meta"]["page"] == 2 else None,
            ),
        ),
        (
            D,
            asks(
                "list",
                lambda ask: replace(ask, query=ask.query | {"page": "1"}),
                lambda ask: ask.query.get("page") == "2",
            ),
        ),
    ],
    "pagination.order-is-the-same-again": [(S, shuffled)],
    "pagination.links-have-the-stated-path": [
        (S, links(lambda url: url.replace("?", "/?"))),
        (D, links(lambda url: url.replace("/api/", "/api/v1/"))),
    ],
    "pagination.links-name-the-collection": [
        (S, links(lambda url: url.replace("/projects", "/splash-pages"))),
        (N, links(lambda url: url.replace("/notification-handlers", "/handlers"))),
    ],
    "pagination.links-hold-page-alone": [
        (S, links(lambda url: f"{url}&results_per_page=10")),
        (D, links(lambda url: url.replace("page=", "p="))),
    ],
    "pagination.links-begin-with-the-base-url": [
        (S, links(lambda url: url.replace("http://localhost", "https://localhost"))),
        (D, links(lambda url: url.removeprefix("http://localhost"))),
    ],
    "pagination.first-names-page-1": [(S, link("first", lambda body: body["links"]["self"]))],
    "pagination.last-names-the-last-page": [
        (S, link("last", lambda body: body["links"]["first"])),
        (D, link("last", lambda body: body["links"]["last"] + "0")),
    ],
    "pagination.self-names-this-page": [(S, link("self", lambda body: body["links"]["first"]))],
    "pagination.next-names-the-next-page": [
        (S, link("next", lambda body: body["links"]["next"] and body["links"]["last"])),
        (D, link("next", lambda _: None)),
    ],
    "pagination.next-is-null-on-last-page": [
        (S, link("next", lambda body: body["links"]["next"] or body["links"]["last"]))
    ],
    "pagination.prev-names-the-previous-page": [
        (S, link("prev", lambda body: body["links"]["prev"] and body["links"]["first"])),
        (D, link("prev", lambda _: None)),
    ],
    "pagination.prev-is-null-on-first-page": [
        (S, link("prev", lambda body: body["links"]["prev"] or body["links"]["first"]))
    ],
    "envelopes.body-is-json": [
        (
            S,
            lambda ask, serve: (
                lambda reply: replace(reply, data=b"Warning: x\n" + reply.data) if ask.operation == "list" else reply
            )(serve(ask)),
        ),
        (
            D,
            lambda ask, serve: (
                lambda reply: (
                    replace(reply, status=204, data=b"") if ask.operation == "update" and succeeded(reply) else reply
                )
            )(serve(ask)),
        ),
    ],
    "envelopes.list-data-is-an-array": [
        (S, on("list", lambda body: body | {"data": {str(row["id"]): row for row in body["data"]}}))
    ],
    "envelopes.list-meta-holds-integers": [
        (S, meta("page", lambda m: str(m["page"]))),
        (D, on("list", lambda body: body["meta"].pop("total_pages") and None)),
    ],
    "envelopes.list-links-are-strings": [
        (S, link("self", lambda _: None)),
        (D, on("list", lambda body: body["links"].pop("first") and None)),
    ],
    "envelopes.list-neighbours-are-strings-or-null": [
        (S, link("next", lambda _: False)),
        (D, on("list", lambda body: body["links"].pop("prev", None) and None)),
    ],
    "envelopes.read-data-is-an-object": [
        (S, on("read", lambda body: {"data": [body["data"]]})),
        (D, on("read", lambda body: body["data"])),
    ],
    "envelopes.create-answers-the-id": [
        (S, on("create", lambda body: {"data": {"id": str(body["data"]["id"])}})),
        (D, on("create", lambda body: body["data"])),
    ],
    "envelopes.update-answers-the-id": [
        (S, on("update", lambda body: {"data": {}})),
        (D, on("update", lambda _: {"data": []})),
    ],
    "envelopes.update-id-is-the-path-id": [(N, on("update", lambda body: {"data": {"id": body["data"]["id"] + 1}}))],
    "envelopes.no-byte-order-mark": [
        (
            S,
            lambda ask, serve: (
                lambda reply: (
                    replace(reply, data=b"\xef\xbb\xbf" + reply.data) if succeeded(reply) and reply.data else reply
                )
            )(serve(ask)),
        )
    ],
    "representations.fields-are-present": [
        (S, record(lambda row: row.pop("color"))),
        (D, record(lambda row: row.pop("scheme"), "list")),
        (N, record(lambda row: row.pop("last_datetime"), "read")),
    ],
    "representations.id-is-an-integer": [(S, record(lambda row: row.__setitem__("id", str(row["id"])), "list"))],
    "representations.integers-have-no-fraction": [(D, meta("total", lambda m: float(m["total"])))],
    "representations.datetime-has-the-stated-form": [
        (S, record(lambda row: row.__setitem__("datetime", row["datetime"].replace(" ", "T")))),
        (D, record(sets("datetime", "2026-02-30 00:00:00"), "list")),
    ],
    "representations.last-datetime-has-the-stated-form": [
        (S, record(sets("last_datetime", ""), when=lambda row: row["last_datetime"] is None)),
        (N, record(sets("last_datetime", 0), when=lambda row: row["last_datetime"] is None)),
    ],
    "representations.last-datetime-is-null-before-any-update": [
        (
            D,
            record(
                lambda row: row.__setitem__("last_datetime", row["datetime"]),
                when=lambda row: row["last_datetime"] is None,
            ),
        )
    ],
    "representations.name-is-a-string": [
        (S, record(lambda row: row.__setitem__("name", [row["name"]]), "list")),
        (N, record(lambda row: row.__setitem__("name", {"en": row["name"]}))),
    ],
    "representations.color-is-hex": [
        (S, record(sets("color", "#fff"))),
        (S, record(lambda row: row.__setitem__("color", row["color"][1:]), "list")),
    ],
    "representations.scheme-has-its-separator": [(D, record(sets("scheme", "https")))],
    "representations.host-is-a-string": [(D, record(lambda row: row.__setitem__("host", [row["host"]]), "list"))],
    "representations.custom-index-url-is-a-string": [
        (D, record(sets("custom_index_url", None), when=lambda row: not row["custom_index_url"]))
    ],
    "representations.custom-index-url-is-empty-when-unset": [
        (D, record(sets("custom_index_url", "https://example.com"), when=lambda row: not row["custom_index_url"]))
    ],
    "representations.custom-not-found-url-is-absent": [
        (D, record(sets("custom_not_found_url", ""))),
        (D, record(sets("custom_not_found_url", None), "list")),
    ],
    "representations.is-enabled-is-a-boolean": [
        (D, record(lambda row: row.__setitem__("is_enabled", int(row["is_enabled"])))),
        (N, record(lambda row: row.__setitem__("is_enabled", str(row["is_enabled"])), "list")),
    ],
    "representations.type-is-one-of-six": [
        (N, record(sets("type", "teams"), when=lambda row: row["type"] == "microsoft_teams"))
    ],
    "representations.settings-is-an-object": [
        (N, record(lambda row: row.__setitem__("settings", list(row["settings"].values())))),
        (N, record(lambda row: row.__setitem__("settings", json.dumps(row["settings"])), "list")),
    ],
    "representations.email-settings-hold-email-alone": [
        (N, record(lambda row: row["settings"].__setitem__("verified", True), when=lambda row: row["type"] == "email")),
        (N, record(lambda row: row["settings"].__setitem__("email", None), when=lambda row: row["type"] == "email")),
    ],
    "representations.listed-as-read": [
        (S, record(sets("name", "listed"), "list")),
        (D, stale_list),
        (N, record(sets("settings", {}), "list", when=lambda row: row["type"] != "email")),
    ],
    "forms.name-required": [
        (S, lambda ask, serve: filled_in(ask, serve, "name")),
        (N, missing_but_stored("name")),
        (S, missing_but_stored("name")),
    ],
    "forms.host-required": [(D, lambda ask, serve: filled_in(ask, serve, "host"))],
    "forms.type-required": [(N, lambda ask, serve: filled_in(ask, serve, "type")), (N, missing_but_stored("type"))],
    "forms.required-fields-alone-suffice": [
        (S, answers("create", 422, when=lambda ask: bool(ask.body) and list(ask.form) == ["name"]))
    ],
    "forms.optional-fields-are-accepted-on-create": [
        (D, answers("create", 400, when=lambda ask: "custom_not_found_url" in ask.form)),
        (S, answers("create", 400, when=lambda ask: "ads_footer" in ask.form)),
    ],
    "forms.optional-fields-are-accepted-on-update": [
        (S, answers("update", 400, when=lambda ask: "link_unlock_seconds" in ask.form)),
        (N, answers("update", 400, when=lambda ask: "email" in ask.form)),
    ],
    "forms.required-fields-are-optional-on-update": [
        (S, answers("update", 400, when=lambda ask: "name" not in ask.form)),
        (N, answers("update", 422, when=lambda ask: "type" not in ask.form)),
    ],
    "forms.files-are-accepted": [
        (S, answers("create", 415, when=lambda ask: "favicon" in ask.form)),
        (S, answers("update", 500, when=lambda ask: "opengraph" in ask.form)),
    ],
    "forms.types-are-accepted": [(N, answers("create", 400, when=lambda ask: ask.form.get("type") == "discord"))],
    "forms.name-comes-back": [
        (S, form("create", lambda f: f | {"name": f["name"].upper()}, lambda f: "name" in f)),
        (N, form("update", lambda f: f | {"name": f["name"] + "!"}, lambda f: "name" in f)),
    ],
    "forms.host-comes-back": [(D, form("create", lambda f: f | {"host": "www." + f["host"]}, lambda f: "host" in f))],
    "forms.custom-index-url-comes-back": [
        (
            D,
            form(
                "create update",
                lambda f: f | {"custom_index_url": "https://www.example.com"},
                lambda f: "custom_index_url" in f,
            ),
        )
    ],
    "forms.custom-not-found-url-stays-apart": [
        (
            D,
            form(
                "create update",
                lambda f: f | {"custom_index_url": f["custom_not_found_url"]},
                lambda f: "custom_not_found_url" in f,
            ),
        )
    ],
    "forms.type-comes-back": [
        (N, form("create", lambda f: f | {"type": "webhook"}, lambda f: f.get("type") == "slack"))
    ],
    "forms.email-comes-back": [(N, form("create", lambda f: {k: v for k, v in f.items() if k != "email"}))],
    "forms.type-fields-show-in-settings": [
        (N, form("create", lambda f: {k: v for k, v in f.items() if k != "telegram_chat_id"}))
    ],
    "forms.one-enables": [(N, form("update", lambda f: f | {"is_enabled": "0"}, lambda f: "is_enabled" in f))],
    "forms.zero-disables": [
        (N, deaf("is_enabled")),
        (N, form("update", lambda f: f | {"is_enabled": "1"}, lambda f: "is_enabled" in f)),
    ],
    "forms.is-enabled-is-optional-on-update": [
        (N, form("update", lambda f: f | {"is_enabled": "1"}, lambda f: "is_enabled" not in f))
    ],
    "forms.is-enabled-is-not-accepted-on-create": [
        (
            N,
            also(
                "create",
                lambda ask, serve, reply: (
                    serve(
                        replace(ask, path=f"/api/{ask.kind}/{reply.json['data']['id']}").with_form({"is_enabled": "0"})
                    )
                    if ask.form.get("is_enabled") == "0"
                    else None
                ),
            ),
        )
    ],
    "lifecycle.created-record-is-read": [
        (S, on("create", lambda body: {"data": {"id": body["data"]["id"] + 7000}})),
        (D, wrong_record),
    ],
    "lifecycle.created-record-is-listed-once": [
        (
            S,
            on(
                "list",
                lambda body: body.__setitem__(
                    "data", body["data"] + [row for row in body["data"] if row["name"].startswith("ct")]
                ),
            ),
        ),
        (
            D,
            on(
                "list",
                lambda body: body.__setitem__(
                    "data", [row for row in body["data"] if not row["host"].startswith("ct")]
                ),
            ),
        ),
    ],
    "lifecycle.created-id-is-new": [(D, old_id)],
    "lifecycle.create-leaves-other-records": [
        (S, also("create", rename_neighbour)),
        (N, also("create", remove_neighbour)),
    ],
    "lifecycle.update-changes-what-it-names": [
        (S, deaf("name")),
        (D, deaf("custom_index_url")),
        (D, deaf("host")),
        (N, deaf("type")),
        (N, deaf("name")),
        (N, form("update", lambda f: {k: v for k, v in f.items() if k != "email"}, lambda f: list(f) == ["email"])),
    ],
    "lifecycle.update-leaves-other-fields": [
        (D, form("update", lambda f: {"custom_index_url": ""} | f)),
        (S, form("update", lambda f: {"name": "wiped"} | f)),
        (N, form("update", lambda f: {"webhook": ""} | f)),
    ],
    "lifecycle.update-keeps-datetime": [(S, updates_touch("datetime", lambda _: "2027-01-01 00:00:00"))],
    "lifecycle.update-leaves-other-records": [
        (D, also("update", rename_neighbour)),
        (
            S,
            also(
                "update",
                lambda ask, serve, _: serve(
                    replace(ask, path="/api/projects").with_form({"name": ask.form.get("name", "x") + "b"})
                ),
            ),
        ),
    ],
    "lifecycle.deleted-record-is-not-read": [(S, answers("delete", 200))],
    "lifecycle.deleted-record-is-not-listed": [(D, answers("delete", 200))],
    "lifecycle.deleted-record-stays-deleted": [(S, undead)],
    "lifecycle.delete-leaves-other-records": [
        (D, also("delete", remove_neighbour)),
        (S, also("delete", lambda ask, serve, reply: rename_neighbour(ask, serve, reply))),
    ],
    "lifecycle.reads-change-nothing": [(S, counts_reads)],
    "accounts.bearer-key-is-accepted": [
        (S, lambda ask, serve: serve(replace(ask, headers=ask.headers | {"Authorization": "x"})))
    ],
    "accounts.strangers-see-no-list": [
        (S, let_in("list", when=no_key)),
        (D, let_in("list", when=some_key)),
        (N, let_in("list", when=some_key)),
    ],
    "accounts.strangers-read-no-record": [
        (S, let_in("read", when=no_key)),
        (D, let_in("read", when=some_key)),
        (N, let_in("read", when=some_key)),
    ],
    "accounts.strangers-create-nothing": [(S, let_in("create", when=no_key)), (N, let_in("create", when=some_key))],
    "accounts.strangers-update-nothing": [(D, let_in("update", when=no_key)), (S, let_in("update", when=some_key))],
    "accounts.strangers-delete-nothing": [(S, let_in("delete", when=no_key)), (D, let_in("delete", when=some_key))],
    "accounts.other-account-sees-no-list": [(S, let_in("list", when=other))],
    "accounts.other-account-reads-nothing": [(D, let_in("read", when=other))],
    "accounts.other-account-creates-apart": [(N, let_in("create", when=other))],
    "accounts.other-account-updates-nothing": [(S, let_in("update", when=other))],
    "accounts.other-account-deletes-nothing": [(N, let_in("delete", when=other))],
    "robustness.odd-pages-do-not-fail": [
        (S, fails(lambda ask: ask.operation == "list" and odd_page(ask))),
        (D, fails(lambda ask: ask.operation == "list" and odd_size(ask))),
    ],
    "robustness.odd-ids-do-not-fail": [
        (S, lambda ask, serve: (lambda reply: replace(reply, status=500) if reply.status == 404 else reply)(serve(ask)))
    ],
    "robustness.odd-text-does-not-fail": [
        (S, fails(lambda ask: ask.operation == "create" and "<b>" in ask.form.get("name", "")))
    ],
    "robustness.odd-forms-do-not-fail": [
        (D, fails(lambda ask: ask.operation == "create" and not ask.form and is_owner(ask)))
    ],
}
