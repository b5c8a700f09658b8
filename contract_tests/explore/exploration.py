"""What a visit does after the survey: probes, requests that Schemathesis generates, a walk of creates and changes.

Nothing fails here: everything seen goes into the visit's evidence, for the rules to judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from hypothesis.strategies import one_of
from schemathesis.core.result import Ok

from contract_tests.contract import Contract
from contract_tests.explore.generated import Generated
from contract_tests.explore.probes import Proceed, probe
from contract_tests.explore.walk import Walk
from contract_tests.survey.lifecycle import see_late
from contract_tests.survey.visitor import Visitor
from contract_tests.target.target import BudgetSpentError

STEPS = 10  # of a walk, each of about three requests


class _EnoughError(BaseException):
    """The run may send no more requests; like an interrupt, this stops Hypothesis."""


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
        except _EnoughError as error:
            raise BudgetSpentError(str(error)) from error
        finally:
            visitor.most_pages = whole

    def _explore(self, visitor: Visitor) -> None:
        end = visitor.target.sent + self.requests
        probe(visitor, _until(visitor, end))
        left = max(0, end - visitor.target.sent)
        self._generate(visitor, left // 3)
        self._walk(visitor, left - left // 3)

    @cached_property
    def _schema(self) -> schemathesis.BaseSchema:
        schema = schemathesis.openapi.from_dict(self.contract.document)
        schema.config.generation.update(allow_x00=False)
        return schema

    def _generate(self, visitor: Visitor, requests: int) -> None:
        generated, proceed = Generated(visitor), _until(visitor, visitor.target.sent + requests)
        operations = self._schema.include(tag=visitor.resource.name).get_all_operations()
        cases = one_of([found.ok().as_strategy() for found in operations if isinstance(found, Ok)])

        def attempt(case: schemathesis.Case[Any]) -> None:
            proceed(lambda: generated.send(case))

        seed(self.seed)(_settings(max(1, requests))(given(cases)(attempt)))()

    def _walk(self, visitor: Visitor, requests: int) -> None:
        proceed = _until(visitor, visitor.target.sent + requests)
        factory: Any = seed(self.seed)(lambda: Walk(visitor, proceed))
        run_state_machine_as_test(factory, settings=_settings(requests // STEPS + 1, STEPS))


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


def _until(visitor: Visitor, end: int) -> Proceed:
    """Carry out steps until this many requests have been sent to the target; then do nothing.

    What is drawn never depends on an answer, so that a seed yields the same requests wherever possible.
    """

    def proceed(step: Callable[[], object]) -> None:
        if visitor.target.sent < end:
            try:
                step()
            except BudgetSpentError as error:
                raise _EnoughError(str(error)) from error

    return proceed
