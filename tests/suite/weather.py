"""Hostile conditions around an honest server: none of them may make it fail."""

from __future__ import annotations

import time
from dataclasses import replace

from liar import Ask, Lie, Reply, Serve
from lies import is_owner, succeeded
from werkzeug.test import Client as WsgiClient

from mock_server import Settings, create_app


def lagging(seconds: float, settings: Settings) -> Lie:
    """Reads and lists come from a replica that takes over writes some time later."""
    replica = WsgiClient(create_app(settings))
    pending: list[tuple[float, Ask]] = []

    def on_replica(ask: Ask) -> Reply:
        answer = replica.open(
            ask.path,
            method=ask.method,
            query_string=ask.query,
            headers=ask.headers,
            data=ask.body,
            base_url="http://localhost",
        )
        return Reply(answer.status_code, dict(answer.headers), answer.data)

    def lie(ask: Ask, serve: Serve) -> Reply:
        now = time.monotonic()
        while pending and pending[0][0] <= now:
            on_replica(pending.pop(0)[1])
        if ask.method == "GET":
            return on_replica(ask)
        pending.append((now + seconds, ask))
        return serve(ask)

    return lie


def stumbling(every: int) -> Lie:
    """One request in so many is answered by a gateway that failed, now before and now after the server did its work."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        count = ask.memory["count"] = ask.memory.get("count", 0) + 1
        if count % every:
            return serve(ask)
        if count // every % 2:
            serve(ask)
        return Reply(502, {"Content-Type": "text/html"}, b"<h1>Bad Gateway</h1>")

    return lie


def crowded(every: int) -> Lie:
    """Others add and remove records of the account all the while."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        count = ask.memory["count"] = ask.memory.get("count", 0) + 1
        if count % every == 0:
            path = {"splash-pages": "/api/projects"}.get(ask.kind, f"/api/{ask.kind}")
            theirs = replace(ask, headers={"Authorization": "Bearer demo-key-harbour"})
            made: list[str] = ask.memory.setdefault("made", [])
            if count // every % 3 == 2 and made:
                serve(replace(theirs, method="DELETE", path=made.pop(0), body=None))
            else:
                form = {"name": f"Colleague's {count}", "host": f"colleague-{count}.example.com", "type": "slack"}
                answer = serve(replace(theirs, method="POST", path=path).with_form(form))
                made.append(f"/api/{ask.kind}/{answer.json['data']['id']}")
        return serve(ask)

    return lie


def with_quota(most: int) -> Lie:
    """The account may hold so many records of a kind."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        if ask.operation == "create" and is_owner(ask):
            listed = serve(replace(ask, method="GET", path=f"/api/{ask.kind}/", body=None))
            if listed.json["meta"]["total"] >= most:
                return Reply(403, {}, b'{"errors": [{"title": "quota"}]}')
        return serve(ask)

    return lie


def limited(every: int, header: str) -> Lie:
    """A rate limit that passes at once."""

    def lie(ask: Ask, serve: Serve) -> Reply:
        count = ask.memory["count"] = ask.memory.get("count", 0) + 1
        return Reply(429, {header: "0"} if header else {}, b"") if count % every == 0 else serve(ask)

    return lie


def read_only(ask: Ask, serve: Serve) -> Reply:
    """A plan that refuses writes."""
    if ask.method != "GET" and is_owner(ask):
        return Reply(402, {}, b"")
    return serve(ask)


def two_types(ask: Ask, serve: Serve) -> Reply:
    """A plan with two types of handlers."""
    if ask.operation == "create" and is_owner(ask) and ask.body and ask.form.get("type") in ("discord", "telegram"):
        return Reply(403, {}, b"")
    return serve(ask)


def rewriting(ask: Ask, serve: Serve) -> Reply:
    """Odd, but allowed: ids as whole floats, another order of keys, further keys."""
    reply = serve(ask)
    if succeeded(reply) and reply.data and ask.operation in ("read", "list", "create", "update"):
        body = reply.json
        return reply.with_json({"jsonapi": {"version": "1"}} | dict(reversed(body.items())))
    return reply
