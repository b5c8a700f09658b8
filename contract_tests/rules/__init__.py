"""The rules of the contract, a module for each area, from evidence to observations.

`@rule("area.some-slug")` stands on the function that decides a rule; those of overlapping requests are in `overlap`.
"""

from contract_tests.rules import (
    accounts,
    envelopes,
    forms,
    lifecycle,
    operations,
    pagination,
    representations,
    robustness,
)

__all__ = ["accounts", "envelopes", "forms", "lifecycle", "operations", "pagination", "representations", "robustness"]
