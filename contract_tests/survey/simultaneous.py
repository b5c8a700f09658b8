"""Lists and reads at one moment, with both keys if there are two: none shows what belongs to another."""

from contract_tests.evidence import Simultaneous
from contract_tests.exchange import OTHER, Expect, request_of
from contract_tests.survey.visitor import Visitor

QUERY = {"results_per_page": "10", "page": "1"}


def read_at_once(visitor: Visitor, identifier: int) -> None:
    """Send lists of the account at one moment, with those and reads of the other; not at a limited rate."""
    target = visitor.target
    if target.is_rate_limited:
        return
    requests = [visitor.list_of(QUERY, Expect.OPEN)] * 2
    if OTHER in target.keys:
        other_read = request_of(visitor.resource, "read", identifier, Expect.OPEN, identity=OTHER)
        requests += [visitor.list_of(QUERY, Expect.OPEN, OTHER), other_read]
    before = visitor.page(**QUERY)
    exchanges = [
        exchange for _ in range(visitor.moments) for exchange in target.send_together(requests, [0.0] * len(requests))
    ]
    after = visitor.page(**QUERY)
    visitor.evidence.simultaneous = Simultaneous(tuple(exchanges), before, after)
