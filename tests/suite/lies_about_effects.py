"""Lies about what requests do."""

from __future__ import annotations

from dataclasses import replace

from elaborate_lies import at_another_path, counts_reads, old_id, redirected, undead, wrong_record
from liar import Lie
from lies import (
    D,
    N,
    S,
    also,
    answers,
    deaf,
    fails,
    filled_in,
    form,
    is_owner,
    let_in,
    missing_but_stored,
    no_key,
    odd_page,
    odd_size,
    on,
    other,
    remove_neighbour,
    rename_neighbour,
    some_key,
    then,
    updates_touch,
)

LIES: dict[str, list[tuple[str, Lie]]] = {
    "operations.list-answers": [(S, answers("list", 404, when=lambda ask: ask.query.get("page") == "2"))],
    "operations.read-answers": [(D, answers("read", 404))],
    "operations.create-answers": [(S, answers("create", 405)), (N, answers("create", 422))],
    "operations.update-answers": [(S, answers("update", 405)), (N, answers("update", 500))],
    "operations.delete-answers": [(D, answers("delete", 405))],
    "operations.splash-pages-created-at-projects": [(S, at_another_path)],
    "operations.writes-not-redirected": [(D, answers("delete", 307)), (S, answers("create", 301))],
    "operations.reads-redirected-within-host": [(S, redirected)],
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
        (S, form("update", lambda f: f | {"name": f["name"].encode().decode("latin-1")}, lambda f: "name" in f)),
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
        (N, form("create", lambda f: {k: v for k, v in f.items() if not k.startswith("telegram")}))
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
        (S, also("delete", rename_neighbour)),
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
        (
            D,
            let_in("read", when=lambda ask: ask.headers.get("Authorization", "").startswith("Bearer demo-key-harbour")),
        ),
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
        (S, then(lambda _, reply: replace(reply, status=500) if reply.status == 404 else reply))
    ],
    "robustness.odd-text-does-not-fail": [
        (S, fails(lambda ask: ask.operation == "create" and "<b>" in ask.form.get("name", "")))
    ],
    "robustness.odd-forms-do-not-fail": [
        (D, fails(lambda ask: ask.operation == "create" and not ask.form and is_owner(ask)))
    ],
}
