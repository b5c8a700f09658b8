"""What shows only in requests at one moment, over one connection, or on demand, on servers that listen on a port."""

from __future__ import annotations

import pytest
from faulty import CONTRACT

from contract_tests.evidence.observation import NEEDS_UPDATES, Chapter
from contract_tests.proof import KEY, ONLY_IN_A_RUN, SECOND_KEY
from contract_tests.run import Options, run
from contract_tests.target.ledger import Ledger
from contract_tests.verdicts.verdicts import VIOLATED
from mock_server import MockServer
from mock_server.defects import DEFECTS

NAMES = [name for name, defect in DEFECTS.items() if defect.rule in ONLY_IN_A_RUN]


def violated(*defects: str) -> set[str]:
    """The rules that fail on a server, in a visit of each resource."""
    with MockServer(fixture="empty", records=28, defects=defects) as mock:
        chapters = NEEDS_UPDATES | {Chapter.PAGING, Chapter.ACCESS}
        options = Options(mock.base_url, KEY, SECOND_KEY, chapters=chapters, large_files=True, poison=True)
        outcome = run(CONTRACT, options, Ledger())
    assert outcome.left == ()
    return {result.rule.id for result in outcome.results if result.verdict in VIOLATED}


@pytest.mark.parametrize("name", NAMES)
def test_a_defect_fails_its_rule_and_no_other(name: str) -> None:
    assert violated(name) == {DEFECTS[name].rule}


def test_an_honest_server_fails_none() -> None:
    assert violated() == set()
