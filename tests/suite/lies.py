"""The means of lying: small transformations of what an honest server does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from liar import Ask, Lie, Reply, Serve

Body = dict[str, Any]

S, D, N = "splash-pages", "domains", "notification-handlers"


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


def then(change: Callable[[Ask, Reply], Reply]) -> Lie:
    """Change answers to the account on their way back."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        reply = serve(ask)
        return change(ask, reply) if is_owner(ask) else reply

    return lie


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


def deaf(*fields: str) -> Lie:
    """Updates ignore some fields."""
    return form("update", lambda given: {name: value for name, value in given.items() if name not in fields})


def fails(when: Callable[[Ask], bool]) -> Lie:
    def lie(ask: Ask, serve: Serve) -> Reply:
        return Reply(500, {}, b"<h1>Oops</h1>") if when(ask) else serve(ask)

    return lie


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
