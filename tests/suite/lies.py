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


def link(name: str, value: Callable[[Body], Any], when: Callable[[Body], bool] = lambda _: True) -> Lie:
    def change(body: Body) -> None:
        if when(body):
            body["links"][name] = value(body)

    return on("list", change)


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


def other(ask: Ask) -> bool:
    return ask.headers.get("Authorization") == "Bearer demo-key-alpine"


def get(ask: Ask, serve: Serve, path: str, **query: str) -> Any:
    return serve(replace(ask, method="GET", path=path, query=query, body=None)).json


def rows(ask: Ask, serve: Serve) -> list[Body]:
    found: list[Body] = get(ask, serve, f"/api/{ask.kind}/", results_per_page="1000")["data"]
    return found


def label(ask: Ask) -> str:
    return "host" if ask.kind == "domains" else "name"
