"""States, types and settings that are wrong."""

from __future__ import annotations

import json

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, content, done
from mock_server.faults.defects.defect import SHOWN, D, N, Table, defect
from mock_server.faults.defects.means import Body, is_email, record, rows_of, says, sets, turns, was_updated


def _any_type(call: Call, serve: Serve) -> Response:
    """Accept and show any type."""
    sent = call.form.get("type", "webhook") if call.operation == "create" and call.account else "webhook"
    known = call.resource.fields["type"].values
    answer = serve(call if sent in known else call.sending(call.form | {"type": "webhook"}))
    if not done(call, answer):
        return answer
    body = content(answer)
    if sent not in known:
        call.memory[str(body["data"]["id"])] = sent
    if call.operation in SHOWN:
        for row in rows_of(body):
            row["type"] = call.memory.get(str(row["id"]), row["type"])
    return says(call, answer, body)


def _any_new_type(call: Call, serve: Serve) -> Response:
    """Accept any type in updates, and show it in reads."""
    sent = call.form.get("type", "") if call.operation == "update" and call.record else ""
    if sent and sent not in call.resource.fields["type"].values:
        call.memory[call.identifier] = sent
        return call.service.representations.json({"data": {"id": int(call.identifier)}}, 200)
    answer = serve(call)
    if call.operation not in SHOWN or not done(call, answer):
        return answer
    body = content(answer)
    for row in rows_of(body):
        row["type"] = call.memory.get(str(row["id"]), row["type"])
    return says(call, answer, body)


def _renamed_types(row: Body) -> None:
    row["type"] = {"microsoft_teams": "teams"}.get(row["type"], row["type"])


# fmt: off
DEFECTS: Table = {
    "representations.is-enabled-is-a-boolean": [
        defect("is-enabled-is-a-number", "`is_enabled` is 0 or 1.", record(turns("is_enabled", int))),
        defect("is-enabled-is-text", "Lists show `is_enabled` as text.",
               record(turns("is_enabled", lambda on: str(int(on))), "list")),
        defect("is-enabled-is-pending", "Handlers that are disabled show 2, for pending.",
               record(sets("is_enabled", 2), row=lambda row: row["is_enabled"] is False), N),
        defect("is-enabled-is-null", "Domains that are disabled show null.",
               record(sets("is_enabled", None), row=lambda row: row["is_enabled"] is False),
               D, needs={"domain-starts": "disabled"}),
        defect("is-enabled-is-a-number-after-updates", "`is_enabled` is a number after an update.",
               record(turns("is_enabled", int), row=was_updated), needs={"last-datetime-after-update": "set"}),
    ],
    "representations.type-is-one-of-six": [
        defect("any-type-is-stored", "A handler of any type is stored and shown.", _any_type),
        defect("update-stores-any-type", "An update with any type is accepted, and the type shown.", _any_new_type),
        defect("type-is-shortened", "The type `microsoft_teams` is shown as `teams`.", record(_renamed_types)),
        defect("type-is-a-title", "Types are shown with a capital letter.", record(turns("type", str.title))),
        defect("type-is-a-number", "Lists show types as numbers.", record(sets("type", 3), "list")),
    ],
    "representations.settings-is-an-object": [
        defect("empty-settings-are-an-array", "Settings without a key are an empty array, as PHP writes them.",
               record(sets("settings", []), row=lambda row: not row["settings"]), needs={"settings-unset": "absent"}),
        defect("settings-are-an-array", "Settings are an array of their values.",
               record(turns("settings", lambda settings: sorted(map(str, settings.values()))))),
        defect("settings-are-text", "Lists show settings as JSON in a text.",
               record(turns("settings", lambda settings: json.dumps(settings, sort_keys=True)), "list")),
        defect("settings-are-null", "Reads show null as settings of types other than `email`.",
               record(sets("settings", None), "read", lambda row: not is_email(row))),
    ],
    "representations.email-settings-hold-email-alone": [
        defect("email-settings-say-more", "The settings of type `email` say whether it was verified.",
               record(lambda row: row["settings"].update(verified=True), row=is_email)),
        defect("email-settings-hold-null", "The settings of type `email` hold null.",
               record(lambda row: row["settings"].update(email=None), row=is_email)),
        defect("email-settings-hold-address", "The settings of type `email` call the key `address`.",
               record(turns("settings", lambda settings: {"address": settings["email"]}), row=is_email)),
        defect("email-settings-are-empty-in-lists", "Lists show no settings of type `email`.",
               record(sets("settings", {}), "list", is_email)),
        defect("email-settings-hold-an-array", "The settings of type `email` hold an array of addresses.",
               record(turns("settings", lambda settings: {"email": [settings["email"]]}), row=is_email)),
    ],
}
# fmt: on
