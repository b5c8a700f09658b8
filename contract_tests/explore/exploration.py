"""What a visit does after the survey: probes, requests that Schemathesis generates, a walk of creates and changes.

Nothing fails here: everything seen goes into the visit's evidence, for the rules to judge. All is drawn before any of
it is sent, so a seed yields the same requests wherever possible, whatever the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from hypothesis.strategies import one_of
from schemathesis.core.result import Ok

from contract_tests.explore.generated import Generated
from contract_tests.explore.probes import Proceed, probe
from contract_tests.explore.walk import Step, Walk
from contract_tests.survey.lifecycle import see_late
from contract_tests.survey.visitor import Visitor
from link_management_contract import Contract

STEPS = 10  # of a walk, each of about three requests
_DRAWING = Lock()  # Hypothesis draws in one thread at a time


@dataclass(frozen=True)
class Exploration:
    """Explores one resource after the other.

    Attributes:
        contract: what requests are generated from.
        requests: about how many to send for each resource; the last step is not cut off.
        seed: the same seed generates the same requests.
    """

    contract: Contract
    requests: int
    seed: int

    def __call__(self, visitor: Visitor) -> None:
        """Explore a resource; of a very large collection, only the first page is listed after each step."""
        see_late(visitor, visitor.snapshot())
        whole, visitor.most_pages = visitor.most_pages, 1
        try:
            self._explore(visitor)
        finally:
            visitor.most_pages = whole

    def _explore(self, visitor: Visitor) -> None:
        end = len(visitor.evidence.exchanges) + self.requests
        probe(visitor, _within(visitor, self.requests))
        left = max(0, end - len(visitor.evidence.exchanges))
        self._generate(visitor, left // 3)
        self._walk(visitor, left - left // 3)

    @cached_property
    def _schema(self) -> schemathesis.BaseSchema:
        schema = schemathesis.openapi.from_dict(self.contract.document)
        schema.config.generation.update(allow_x00=False)
        return schema

    def _generate(self, visitor: Visitor, requests: int) -> None:
        generated, proceed = Generated(visitor), _within(visitor, requests)
        operations = self._schema.include(tag=visitor.resource.name).get_all_operations()
        drawn: list[schemathesis.Case[Any]] = []
        with _DRAWING:
            cases = one_of([found.ok().as_strategy() for found in operations if isinstance(found, Ok)])
            seed(self.seed)(_settings(max(1, requests))(given(cases)(lambda case: drawn.append(case))))()  # noqa: PLW0108 - it needs a function
        for case in drawn:
            proceed(partial(generated.send, case))

    def _walk(self, visitor: Visitor, requests: int) -> None:
        proceed = _within(visitor, requests)
        steps: list[Step] = []
        factory: Any = seed(self.seed)(lambda: Walk(visitor, steps))
        with _DRAWING:
            run_state_machine_as_test(factory, settings=_settings(requests // STEPS + 1, STEPS))
        for step in steps:
            proceed(step)


def _settings(examples: int, steps: int = 1) -> settings:
    """Settings with which Hypothesis draws this many examples and does nothing else."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def _within(visitor: Visitor, requests: int) -> Proceed:
    """Carry out steps until the visitor has sent this many more requests; then do nothing."""
    end = len(visitor.evidence.exchanges) + requests

    def proceed(step: Callable[[], object]) -> None:
        if len(visitor.evidence.exchanges) < end:
            step()

    return proceed
