"""States, types and settings that are not as stated."""

from __future__ import annotations

import json

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, content, done
from mock_server.faults.defects.defect import SHOWN, D, Defect, N
from mock_server.faults.defects.means import Body, is_email, record, rows_of, says, sets, shows, turns, was_updated


def _any_type(call: Call, serve: Serve) -> Response:
    """A type is taken and shown, whatever it is."""
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
    """An update takes any type, and reads show it."""
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


ENABLED, SETTINGS, EMAIL = "is-enabled-is-a-boolean", "settings-is-an-object", "email-settings-hold-email-alone"

DEFECTS = (
    shows("is-enabled-is-a-number", ENABLED, "`is_enabled` is 0 or 1.", turns("is_enabled", int)),
    shows(
        "is-enabled-is-text",
        ENABLED,
        "Lists show `is_enabled` as text.",
        turns("is_enabled", lambda on: str(int(on))),
        operations="list",
    ),
    shows(
        "is-enabled-is-pending",
        ENABLED,
        "Handlers that are disabled show 2, for pending.",
        sets("is_enabled", 2),
        (N,),
        row=lambda row: row["is_enabled"] is False,
    ),
    Defect(
        "is-enabled-is-null",
        f"representations.{ENABLED}",
        "Domains that are disabled show null.",
        record(sets("is_enabled", None), row=lambda row: row["is_enabled"] is False),
        (D,),
        needs={"domain-starts": "disabled"},
    ),
    Defect(
        "is-enabled-is-a-number-after-updates",
        f"representations.{ENABLED}",
        "`is_enabled` is a number after an update.",
        record(turns("is_enabled", int), row=was_updated),
        needs={"last-datetime-after-update": "set"},
    ),
    Defect(
        "any-type-is-stored",
        "representations.type-is-one-of-six",
        "A handler of any type is stored and shown.",
        _any_type,
    ),
    Defect(
        "update-stores-any-type",
        "representations.type-is-one-of-six",
        "An update with any type is accepted, and the type shown.",
        _any_new_type,
    ),
    shows("type-is-shortened", "type-is-one-of-six", "The type `microsoft_teams` is shown as `teams`.", _renamed_types),
    shows("type-is-a-title", "type-is-one-of-six", "Types are shown with a capital letter.", turns("type", str.title)),
    shows("type-is-a-number", "type-is-one-of-six", "Lists show types as numbers.", sets("type", 3), operations="list"),
    Defect(
        "empty-settings-are-an-array",
        f"representations.{SETTINGS}",
        "Settings without a key are an empty array, as PHP writes them.",
        record(sets("settings", []), row=lambda row: not row["settings"]),
        needs={"settings-unset": "absent"},
    ),
    shows(
        "settings-are-an-array",
        SETTINGS,
        "Settings are an array of their values.",
        turns("settings", lambda settings: sorted(map(str, settings.values()))),
    ),
    shows(
        "settings-are-text",
        SETTINGS,
        "Lists show settings as JSON in a text.",
        turns("settings", lambda settings: json.dumps(settings, sort_keys=True)),
        operations="list",
    ),
    shows(
        "settings-are-null",
        SETTINGS,
        "Reads show null as settings of types other than `email`.",
        sets("settings", None),
        operations="read",
        row=lambda row: not is_email(row),
    ),
    shows(
        "email-settings-say-more",
        EMAIL,
        "The settings of type `email` say whether it was verified.",
        lambda row: row["settings"].update(verified=True),
        row=is_email,
    ),
    shows(
        "email-settings-hold-null",
        EMAIL,
        "The settings of type `email` hold null.",
        lambda row: row["settings"].update(email=None),
        row=is_email,
    ),
    shows(
        "email-settings-hold-address",
        EMAIL,
        "The settings of type `email` call the key `address`.",
        turns("settings", lambda settings: {"address": settings["email"]}),
        row=is_email,
    ),
    shows(
        "email-settings-are-empty-in-lists",
        EMAIL,
        "Lists show no settings of type `email`.",
        sets("settings", {}),
        operations="list",
        row=is_email,
    ),
    shows(
        "email-settings-hold-an-array",
        EMAIL,
        "The settings of type `email` hold an array of addresses.",
        turns("settings", lambda settings: {"email": [settings["email"]]}),
        row=is_email,
    ),
)
