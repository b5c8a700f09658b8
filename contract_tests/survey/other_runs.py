"""Other runs that are at work in the same account: their records bear marks, and change."""

import re
import time
from collections.abc import Mapping
from typing import Any

from contract_tests.evidence.evidence import Listing, Record
from contract_tests.survey.visitor import Visitor

MARK_OF_A_RUN = re.compile(r"ct[0-9a-f]+(x[0-9a-f]{4})-\d+z")
BETWEEN_LOOKS, MAX_WAIT = 1.0, 30.0  # seconds


def await_other_runs(visitor: Visitor) -> Listing:
    """List the collection, once no other run changes its records there; note those that go on for too long.

    Marks whose records stay as they are were left behind by a run that was killed.
    """
    listing, end = visitor.list_settled(), time.monotonic() + MAX_WAIT
    while records := _records_of_other_runs(visitor, listing):
        if time.monotonic() >= end:
            visitor.evidence.other_runs |= {token for token, _ in records.values()}
            break
        time.sleep(BETWEEN_LOOKS)
        before, listing = records, visitor.list_settled()
        if _records_of_other_runs(visitor, listing) == before:
            break
    return listing


def _records_of_other_runs(visitor: Visitor, listing: Listing) -> Mapping[Any, tuple[str, Record]]:
    """The records with marks of other runs, by id, each with the token of its run."""
    labels = ((row, MARK_OF_A_RUN.match(str(row.get(visitor.resource.label)))) for row in listing.rows)
    own = visitor.target.ledger.token
    return {str(row.get("id")): (match[1], row) for row, match in labels if match and match[1] != own}
