"""Updates that do less, more or something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mock_server.faults.call import Call, Transformation
from mock_server.faults.defects.defect import D, Defect, N, S, breaks
from mock_server.faults.defects.effects import (
    adds_another,
    alike,
    changes_a_neighbour,
    removes_a_neighbour,
    renamed,
    toggled,
    undone,
)
from mock_server.faults.defects.means import Body, also, form, has, knowing, known, loses, rows_of

MANY = 3
LATER = "2027-01-01 00:00:00"


def _updated_shows(name: str, value: Callable[[Body], Any]) -> Transformation:
    """Show something else of records once they were updated."""

    def change(call: Call, body: Body) -> None:
        touched: set[str] = call.memory.setdefault(call.kind, set())
        if call.operation == "update":
            touched.add(call.identifier)
        else:
            for row in rows_of(body):
                if str(row["id"]) in touched:
                    row[name] = value(row)

    return knowing("update read list", change, known)


CHANGES, LEAVES = "update-changes-what-it-names", "update-leaves-other-fields"
OTHERS = "update-leaves-other-records"

DEFECTS = (
    breaks(
        "updates-do-nothing", CHANGES, "An update says that it was carried out, and does nothing.", undone("update")
    ),
    *(
        breaks(
            f"{label}-update-ignores-{field.replace('_', '-')}",
            CHANGES,
            f"An update ignores `{field}`.",
            form("update", loses(field), has(field)),
            kind,
        )
        for kind, label, field in (
            (S, "splash-page", "name"),
            (D, "domain", "host"),
            (D, "domain", "custom_index_url"),
            (N, "handler", "name"),
        )
    ),
    Defect(
        "handler-update-ignores-type",
        f"lifecycle.{CHANGES}",
        "An update ignores `type`.",
        form("update", loses("type"), has("type")),
        (N,),
        needs={"other-types-fields": "ignored"},
    ),
    breaks(
        "update-ignores-email",
        CHANGES,
        "An update ignores `email` where it is the only field.",
        form("update", loses("email"), lambda f: list(f) == ["email"]),
        N,
    ),
    breaks(
        "update-with-many-fields-ignores-the-name",
        CHANGES,
        "An update of many fields ignores `name`.",
        form("update", loses("name"), lambda f: len(f) > MANY),
        S,
    ),
    breaks(
        "update-with-files-ignores-the-name",
        CHANGES,
        "An update with a file ignores `name`.",
        form("update", loses("name"), has("logo", "favicon", "opengraph")),
        S,
    ),
    Defect(
        "update-clears-the-index-url",
        f"lifecycle.{LEAVES}",
        "An update without `custom_index_url` clears it.",
        form("update", lambda f: {"custom_index_url": ""} | f),
        (D,),
        needs={"cleared-text": "emptied"},
    ),
    breaks(
        "update-resets-the-name",
        LEAVES,
        "An update without `name` gives the record another.",
        form("update", lambda f: {"name": "Untitled"} | f),
        S,
        N,
    ),
    Defect(
        "update-clears-the-settings",
        f"lifecycle.{LEAVES}",
        "An update of other fields clears the address of a webhook or of Slack.",
        form("update", lambda f: {"webhook": "", "slack": ""} | f),
        (N,),
        needs={"other-types-fields": "ignored", "cleared-text": "emptied"},
    ),
    Defect(
        "update-resets-the-type",
        f"lifecycle.{LEAVES}",
        "An update without `type` makes the handler one for Slack.",
        form("update", lambda f: {"type": "slack"} | f),
        (N,),
        needs={"other-types-fields": "ignored"},
    ),
    breaks(
        "update-changes-datetime",
        "update-keeps-datetime",
        "An update sets `datetime` too.",
        _updated_shows("datetime", lambda _: LATER),
    ),
    breaks(
        "update-swaps-the-times",
        "update-keeps-datetime",
        "After an update, `datetime` is the time of the update.",
        _updated_shows("datetime", lambda row: row["last_datetime"] or LATER),
    ),
    breaks(
        "update-renames-another",
        OTHERS,
        "An update renames another record too.",
        also("update", changes_a_neighbour(renamed)),
    ),
    breaks(
        "update-toggles-another",
        OTHERS,
        "An update enables or disables another record.",
        also("update", changes_a_neighbour(toggled)),
        N,
    ),
    breaks(
        "update-removes-another",
        OTHERS,
        "An update removes another record.",
        also("update", removes_a_neighbour),
    ),
    breaks(
        "update-changes-all-of-the-same-name",
        OTHERS,
        "An update changes each record of the same name.",
        alike("update"),
        S,
        N,
    ),
    Defect(
        "update-changes-all-of-the-same-host",
        f"lifecycle.{OTHERS}",
        "An update changes each record of the same host, whatever its capital letters.",
        alike("update"),
        (D,),
        needs={"host-taken": "accepted", "host-letters": "lowered"},
    ),
    breaks(
        "update-adds-a-record", "update-leaves-other-records", "An update adds a record.", also("update", adds_another)
    ),
)
