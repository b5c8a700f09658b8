"""Runs that judge one rule of a mock, and the scripts of what they find."""

from __future__ import annotations

from wire import ALPINE, HARBOUR

from contract_tests.repro.script import script_of
from contract_tests.run import Options, run
from contract_tests.target.budget import Limits
from contract_tests.target.ledger import Ledger
from contract_tests.verdicts.verdicts import Outcome
from link_management_contract import shipped_contract
from mock_server import MockServer

CONTRACT = shipped_contract()
KEYS = {"CONTRACT_API_KEY": HARBOUR, "CONTRACT_SECOND_API_KEY": ALPINE}
UPDATES, TOTALS = "lifecycle.update-leaves-other-fields", "pagination.total-counts-the-records"


def judged(server: MockServer, rule: str, *, try_scripts: bool = False) -> Outcome:
    """What a run finds that judges one rule, of splash pages."""
    options = Options(
        server.base_url,
        HARBOUR,
        ALPINE,
        ("splash-pages",),
        (rule,),
        limits=Limits(lag=0),
        shrink=None,
        try_scripts=try_scripts,
    )
    return run(CONTRACT, options, Ledger())


def script_text(found: Outcome, tried: int | None = None) -> str:
    """The script of the first finding, as one that ended with this status when the run tried it."""
    return script_of(CONTRACT, found, found.failing[0], tried).text
