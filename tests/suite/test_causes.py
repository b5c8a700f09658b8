"""A server with one defect gets one root cause, and the right one; `bench/findings.py` tries all defects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from contract_tests import proof
from contract_tests.reports.causes import groups
from contract_tests.reports.results import as_dict
from link_management_contract import shipped_contract

CONTRACT = shipped_contract()
DEFECTS = (
    "second-page-is-not-found",
    "updates-fail",
    "deletes-fail",
    "default-size-is-10",
    "size-50-is-25",
    "order-turns",
    "total-is-one-more",
    "total-is-what-it-first-was",
    "total-counts-all-accounts",
    "splash-pages-lack-id-in-lists",
    "read-id-is-text",
    "name-is-null",
    "color-lacks-its-sign",
    "scheme-is-null",
    "host-is-an-array",
    "email-settings-are-empty-in-lists",
    "datetime-has-a-zone",
    "last-datetime-is-set-in-lists",
    "type-is-a-title",
    "settings-are-text",
    "splash-page-needs-title",
    "handler-update-needs-name",
    "create-takes-no-title",
    "host-gets-www",
    "index-url-loses-its-path",
    "created-records-are-not-listed",
    "create-removes-another",
    "update-clears-the-index-url",
    "deletes-do-nothing",
    "reads-touch-the-record",
)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with proof.serving() as [url]:
        yield url


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", DEFECTS)
def test_one_defect_has_one_cause(base_url: str, name: str) -> None:
    defect = proof.defects(base_url)[name]
    [setup] = proof.trials_of(defect, CONTRACT, [0])
    outcome = proof.run_suite(CONTRACT, base_url, replace(setup, rule=None, explore=0, is_repeated=False))
    causes = groups(as_dict(outcome)["results"])
    assert [group.rule for group in causes if group.results[0]["verdict"] == "fail"] == [defect.rule]
