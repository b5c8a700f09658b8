"""Times in another form, or that were never."""

from __future__ import annotations

from mock_server.faults.defects.defect import D, Defect, N
from mock_server.faults.defects.means import never_updated, record, sets, shows, turns, was_updated

DATETIME, UPDATED = "datetime-has-the-stated-form", "last-datetime-has-the-stated-form"
NULL = "last-datetime-is-null-before-any-update"

DEFECTS = (
    shows(
        "datetime-has-a-t",
        DATETIME,
        "`datetime` has a T between date and time.",
        turns("datetime", lambda t: t.replace(" ", "T")),
    ),
    shows(
        "datetime-has-a-zone",
        DATETIME,
        "Reads show a zone behind `datetime`.",
        turns("datetime", lambda t: f"{t}Z"),
        operations="read",
    ),
    shows("datetime-lacks-seconds", DATETIME, "`datetime` ends with the minutes.", turns("datetime", lambda t: t[:-3])),
    shows(
        "datetime-has-microseconds",
        DATETIME,
        "Lists show `datetime` with microseconds.",
        turns("datetime", lambda t: f"{t}.000000"),
        operations="list",
    ),
    shows(
        "datetime-is-a-number",
        DATETIME,
        "`datetime` is the number of seconds since 1970.",
        sets("datetime", 1772442001),
    ),
    shows(
        "datetime-is-no-day",
        DATETIME,
        "Lists show a `datetime` that is no day of the calendar.",
        turns("datetime", lambda t: f"{t[:4]}-02-30{t[10:]}"),
        operations="list",
    ),
    shows(
        "datetime-is-zero",
        DATETIME,
        "Domains show a `datetime` of zeros.",
        sets("datetime", "0000-00-00 00:00:00"),
        (D,),
    ),
    shows(
        "datetime-is-spelled-out",
        DATETIME,
        "`datetime` is in words.",
        turns("datetime", lambda t: f"{t[8:10]} March {t[:4]}"),
        (N,),
    ),
    shows(
        "last-datetime-is-empty",
        UPDATED,
        "`last_datetime` is an empty text before any update.",
        sets("last_datetime", ""),
        row=never_updated,
    ),
    shows(
        "last-datetime-is-0",
        UPDATED,
        "`last_datetime` is 0 before any update.",
        sets("last_datetime", 0),
        row=never_updated,
    ),
    shows(
        "last-datetime-is-zero",
        UPDATED,
        "`last_datetime` is a date of zeros before any update.",
        sets("last_datetime", "0000-00-00 00:00:00"),
        row=never_updated,
    ),
    shows(
        "last-datetime-is-false",
        UPDATED,
        "`last_datetime` is false before any update.",
        turns("last_datetime", bool),
        row=never_updated,
    ),
    Defect(
        "last-datetime-has-a-t",
        f"representations.{UPDATED}",
        "After an update, `last_datetime` has a T between date and time.",
        record(turns("last_datetime", lambda t: t.replace(" ", "T")), row=was_updated),
        needs={"last-datetime-after-update": "set"},
    ),
    Defect(
        "last-datetime-is-a-number",
        f"representations.{UPDATED}",
        "After an update, lists show `last_datetime` as a number.",
        record(sets("last_datetime", 1772442001), "list", was_updated),
        needs={"last-datetime-after-update": "set"},
    ),
    shows(
        "last-datetime-is-set-by-the-create",
        NULL,
        "`last_datetime` is the time of the create before any update.",
        lambda row: row.update(last_datetime=row["datetime"]),
        row=never_updated,
    ),
    shows(
        "last-datetime-is-set-in-lists",
        NULL,
        "Lists show the time of the create as `last_datetime`.",
        lambda row: row.update(last_datetime=row["datetime"]),
        operations="list",
        row=never_updated,
    ),
)
