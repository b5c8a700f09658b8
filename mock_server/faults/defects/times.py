"""Times in another form, or of updates that never happened."""

from __future__ import annotations

from datetime import datetime, timedelta

from mock_server.faults.defects.defect import D, N, Table, defect
from mock_server.faults.defects.means import never_updated, record, sets, turns, was_updated


def _two_hours_before(text: str) -> str:
    return str(datetime.fromisoformat(text) - timedelta(hours=2))


# fmt: off
DEFECTS: Table = {
    "representations.datetime-has-the-stated-form": [
        defect("datetime-has-a-t", "`datetime` has a T between date and time.",
               record(turns("datetime", lambda t: t.replace(" ", "T")))),
        defect("datetime-has-a-zone", "Reads show a zone behind `datetime`.",
               record(turns("datetime", lambda t: f"{t}Z"), "read")),
        defect("datetime-lacks-seconds", "`datetime` ends with the minutes.",
               record(turns("datetime", lambda t: t[:-3]))),
        defect("datetime-has-microseconds", "Lists show `datetime` with microseconds.",
               record(turns("datetime", lambda t: f"{t}.000000"), "list")),
        defect("datetime-is-a-number", "`datetime` is the number of seconds since 1970.",
               record(sets("datetime", 1772442001))),
        defect("datetime-is-no-day", "Lists show a `datetime` that is no day of the calendar.",
               record(turns("datetime", lambda t: f"{t[:4]}-02-30{t[10:]}"), "list")),
        defect("datetime-is-zero", "Domains show a `datetime` of zeros.",
               record(sets("datetime", "0000-00-00 00:00:00")), D),
        defect("datetime-is-spelled-out", "`datetime` is in words.",
               record(turns("datetime", lambda t: f"{t[8:10]} March {t[:4]}")), N),
    ],
    "representations.last-datetime-is-not-before-datetime": [
        defect("last-datetime-is-before-datetime", "After an update, `last_datetime` is two hours before `datetime`.",
               record(lambda row: row.update(last_datetime=_two_hours_before(row["datetime"])), row=was_updated),
               needs={"last-datetime-after-update": "set"}),
    ],
    "representations.last-datetime-has-the-stated-form": [
        defect("last-datetime-is-empty", "`last_datetime` is an empty text before any update.",
               record(sets("last_datetime", ""), row=never_updated)),
        defect("last-datetime-is-0", "`last_datetime` is 0 before any update.",
               record(sets("last_datetime", 0), row=never_updated)),
        defect("last-datetime-is-zero", "`last_datetime` is a date of zeros before any update.",
               record(sets("last_datetime", "0000-00-00 00:00:00"), row=never_updated)),
        defect("last-datetime-is-false", "`last_datetime` is false before any update.",
               record(turns("last_datetime", bool), row=never_updated)),
        defect("last-datetime-has-a-t", "After an update, `last_datetime` has a T between date and time.",
               record(turns("last_datetime", lambda t: t.replace(" ", "T")), row=was_updated),
               needs={"last-datetime-after-update": "set"}),
        defect("last-datetime-is-a-number", "After an update, lists show `last_datetime` as a number.",
               record(sets("last_datetime", 1772442001), "list", was_updated),
               needs={"last-datetime-after-update": "set"}),
    ],
    "representations.last-datetime-is-null-before-any-update": [
        defect("last-datetime-is-set-by-the-create", "`last_datetime` is the time of the create before any update.",
               record(lambda row: row.update(last_datetime=row["datetime"]), row=never_updated)),
        defect("last-datetime-is-set-in-lists", "Lists show the time of the create as `last_datetime`.",
               record(lambda row: row.update(last_datetime=row["datetime"]), "list", never_updated)),
    ],
}
# fmt: on
