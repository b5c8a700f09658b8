"""The rules of the contract, one function each, from evidence to observations.

A rule `area.some-slug` is the function `some_slug` in a module of its area.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from contract_tests.evidence import Evidence
from contract_tests.rules import (
    accounts,
    concurrency,
    envelopes,
    forms,
    lifecycle,
    links,
    operations,
    pagination,
    representations,
    robustness,
    shapes,
)
from contract_tests.rules.observation import Observations
from link_management_contract import Resource, Rule

Judge = Callable[[Evidence, Resource], Observations]
AREAS: dict[str, tuple[ModuleType, ...]] = {
    "operations": (operations,),
    "pagination": (pagination, links),
    "envelopes": (envelopes,),
    "representations": (representations,),
    "forms": (forms, shapes),
    "lifecycle": (lifecycle,),
    "accounts": (accounts,),
    "robustness": (robustness,),
    "concurrency": (concurrency,),
}


def judge_of(rule: Rule) -> Judge:
    """The function that judges a rule.

    Raises:
        LookupError: if there is none.
    """
    area, _, slug = rule.id.partition(".")
    name = slug.replace("-", "_")
    for module in AREAS[area]:
        if hasattr(module, name):
            judge: Judge = getattr(module, name)
            return judge
    place = AREAS[area][0].__name__.replace(".", "/")
    raise LookupError(f"no function judges {rule.id}: add {name} to {place}.py")
