"""Lies that remember, or that take more than a change of one answer."""

from __future__ import annotations

from dataclasses import replace

from liar import Ask, Reply, Serve
from lies import Body, is_owner, odd_size, record, rows, succeeded


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


def never_fewer(ask: Ask, serve: Serve) -> Reply:
    """Totals that never go down."""
    reply = serve(ask)
    if ask.operation == "list" and succeeded(reply):
        body = reply.json
        ask.memory[ask.kind] = body["meta"]["total"] = max(body["meta"]["total"], ask.memory.get(ask.kind, 0))
        return reply.with_json(body)
    return reply


def any_type(ask: Ask, serve: Serve) -> Reply:
    """A type is taken and shown whatever it is."""
    odd: dict[str, str] = ask.memory.setdefault("types", {})
    sent = ask.form.get("type", "") if ask.operation == "create" and ask.body else ""
    if sent.startswith("contract"):
        reply = serve(ask.with_form(ask.form | {"type": "webhook"}))
        odd[str(reply.json["data"]["id"])] = sent
        return reply
    return record(lambda row: row.__setitem__("type", odd.get(str(row["id"]), row["type"])))(ask, serve)


def redirected(ask: Ask, serve: Serve) -> Reply:
    if ask.operation == "list" and "moved" not in ask.memory:
        return Reply(301, {"Location": f"{ask.path}?moved=1"}, b"")
    return serve(ask)
