"""Lists and reads at one moment, with both keys if there are two: none shows what belongs to another."""

from contract_tests.evidence.evidence import Simultaneous
from contract_tests.evidence.exchange import OTHER, Expect, request_of
from contract_tests.survey.visitor import Visitor

QUERY = {"results_per_page": "10", "page": "1"}


def read_at_once(visitor: Visitor, identifier: int) -> None:
    """Send lists of the account at one moment, with those and reads of the other; not at a limited rate."""
    target = visitor.target
    if target.budget.is_rate_limited:
        return
    own_list = visitor.list_of(QUERY, Expect.OPEN)
    groups = [[own_list, own_list]]
    if OTHER in target.keys:
        other_list = visitor.list_of(QUERY, Expect.OPEN, OTHER)
        other_read = request_of(visitor.resource, "read", identifier, Expect.OPEN, identity=OTHER)
        groups = [[own_list, own_list, other_list], [own_list, other_list, other_read]]
    before = visitor.page(**QUERY)
    exchanges = [
        exchange
        for number in range(visitor.moments)
        for exchange in target.send_together(groups[number % len(groups)], [0.0] * len(groups[0]))
    ]
    after = visitor.page(**QUERY)
    visitor.evidence.simultaneous = Simultaneous(tuple(exchanges), before, after)
