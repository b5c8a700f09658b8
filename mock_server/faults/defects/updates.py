"""Updates that do less, more or something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mock_server.faults.call import Call, Transformation
from mock_server.faults.defects.defect import D, N, S, Table, defect
from mock_server.faults.defects.effects import (
    adds_another,
    alike,
    changes_a_neighbour,
    removes_a_neighbour,
    renamed,
    toggled,
    undone,
)
from mock_server.faults.defects.means import Body, also, form, has, ignores, knowing, known, loses, rows_of

MANY = 3
LATER = "2027-01-01 00:00:00"


def _updated_shows(name: str, value: Callable[[Body], Any]) -> Transformation:
    """Show another value in a field of updated records."""

    def change(call: Call, body: Body) -> None:
        touched: set[str] = call.memory.setdefault(call.resource.name, set())
        if call.operation == "update":
            touched.add(call.identifier)
        else:
            for row in rows_of(body):
                if str(row["id"]) in touched:
                    row[name] = value(row)

    return knowing("update read list", change, known)


# fmt: off
DEFECTS: Table = {
    "lifecycle.update-changes-what-it-names": [
        defect("updates-do-nothing", "An update says that it was carried out, and does nothing.", undone("update")),
        defect("splash-page-update-ignores-name", "An update ignores `name`.", ignores("name", "update"), S),
        defect("domain-update-ignores-host", "An update ignores `host`.", ignores("host", "update"), D),
        defect("domain-update-ignores-custom-index-url", "An update ignores `custom_index_url`.",
               ignores("custom_index_url", "update"), D),
        defect("handler-update-ignores-name", "An update ignores `name`.", ignores("name", "update"), N),
        defect("handler-update-ignores-type", "An update ignores `type`.",
               ignores("type", "update"), N, needs={"other-types-fields": "ignored"}),
        defect("update-ignores-email", "An update ignores `email` where it is the only field.",
               form("update", loses("email"), lambda f: list(f) == ["email"]), N),
        defect("update-with-many-fields-ignores-the-name", "An update of many fields ignores `name`.",
               form("update", loses("name"), lambda f: len(f) > MANY), S),
        defect("update-with-files-ignores-the-name", "An update with a file ignores `name`.",
               form("update", loses("name"), has("logo", "favicon", "opengraph")), S),
    ],
    "lifecycle.update-leaves-other-fields": [
        defect("update-clears-the-index-url", "An update without `custom_index_url` clears it.",
               form("update", lambda f: {"custom_index_url": ""} | f), D, needs={"cleared-text": "emptied"}),
        defect("update-resets-the-name", "An update without `name` gives the record another.",
               form("update", lambda f: {"name": "Untitled"} | f), S, N),
        defect("update-clears-the-other-setting", "An update of a bot's token alone clears its chat, and vice versa.",
               form("update", lambda f: {"telegram": "", "telegram_chat_id": ""} | f,
                    lambda f: ("telegram" in f) != ("telegram_chat_id" in f)),
               N, needs={"other-types-fields": "ignored", "cleared-text": "emptied"}),
        defect("update-clears-the-settings", "An update of other fields clears the address of a webhook or of Slack.",
               form("update", lambda f: {"webhook": "", "slack": ""} | f),
               N, needs={"other-types-fields": "ignored", "cleared-text": "emptied"}),
        defect("update-resets-the-type", "An update without `type` makes the handler one for Slack.",
               form("update", lambda f: {"type": "slack"} | f), N, needs={"other-types-fields": "ignored"}),
    ],
    "lifecycle.update-keeps-datetime": [
        defect("update-changes-datetime", "An update sets `datetime` too.",
               _updated_shows("datetime", lambda _: LATER)),
        defect("update-swaps-the-times", "After an update, `datetime` is the time of the update.",
               _updated_shows("datetime", lambda row: row["last_datetime"] or LATER)),
    ],
    "lifecycle.update-leaves-other-records": [
        defect("update-renames-another", "An update renames another record too.",
               also("update", changes_a_neighbour(renamed))),
        defect("update-toggles-another", "An update enables or disables another record.",
               also("update", changes_a_neighbour(toggled)), N),
        defect("update-removes-another", "An update removes another record.", also("update", removes_a_neighbour)),
        defect("update-changes-all-of-the-same-name", "An update changes each record of the same name.",
               alike("update"), S, N),
        defect("update-changes-all-of-the-same-host",
               "An update changes each record of the same host, whatever its capital letters.",
               alike("update"), D, needs={"host-taken": "accepted", "host-letters": "lowered"}),
        defect("update-adds-a-record", "An update adds a record.", also("update", adds_another)),
    ],
}
# fmt: on
