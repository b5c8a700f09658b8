from __future__ import annotations

from contract_tests.reports.curl import HEADERS
from contract_tests.target.identities import identities


def test_a_request_of_every_identity_can_be_repeated() -> None:
    assert set(HEADERS) == set(identities("one-key", "another-key"))
