"""Faulty servers: the mock in this process behind a transformation, the means of which its own defects are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from answered import Answered
from urllib3 import HTTPResponse
from werkzeug.test import Client as WsgiClient
from werkzeug.wrappers import Response

from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.observation import NEEDS_ALL, Chapters
from contract_tests.proof import ACROSS_RESOURCES
from contract_tests.run import Options, Run, Visits
from contract_tests.survey.visit import ExtraSteps
from contract_tests.survey.visitor import Visitor
from contract_tests.target.budget import Limits
from contract_tests.target.identities import identities
from contract_tests.target.ledger import Ledger
from contract_tests.target.target import Target
from contract_tests.verdicts.verdicts import Result
from link_management_contract import Rule, shipped_contract
from mock_server import Settings
from mock_server.control.instance import Instance
from mock_server.defects.building_blocks import Call, Serve, Transformation
from mock_server.effects.layer import EffectLayer

CONTRACT = shipped_contract()
BASE_URL = "http://localhost"
OWNER = "Bearer demo-key-harbour"
S, D, N = "splash-pages", "domains", "notification-handlers"
SELDOM_SATISFIED = {  # on an honest server, in a single visit without exploration
    "operations.reads-redirected-within-host",
    "robustness.stored-text-can-be-read",
    "forms.update-takes-what-create-takes",
    "forms.empty-text-is-stored",
    "lifecycle.refused-create-makes-nothing",
    "lifecycle.refused-update-changes-nothing",
    "lifecycle.ids-are-not-used-again",
    *ACROSS_RESOURCES,
}
Explore = Callable[[Visitor], Iterator[Callable[[], object]]]


def reply(status: int, headers: Mapping[str, str] | None = None, body: bytes = b"{}") -> HTTPResponse:
    """An answer as a connection gives it."""
    return HTTPResponse(BytesIO(body), headers, status, preload_content=False)


class FaultyTarget(Target):
    """A target that is the mock in this process, behind a transformation."""

    def __init__(
        self, fault: Transformation, settings: Settings, limits: Limits | None = None, ledger: Ledger | None = None
    ) -> None:
        keys = identities("demo-key-harbour", "demo-key-alpine")
        super().__init__(BASE_URL, keys, ledger or Ledger(), limits, Answered(self._answer))
        settings = replace(settings, journal=0)
        running = Instance(settings)
        faults = EffectLayer(running, running.app.url_map, running.mock, [fault])
        self.wsgi = WsgiClient(faults, use_cookies=False)  # so that it sends those it is given

    def _answer(
        self, method: str, url: str, body: bytes | Iterable[bytes] | None, headers: Mapping[str, str], **_: Any
    ) -> HTTPResponse:
        parts, whole = urlsplit(url), body if body is None or isinstance(body, bytes) else b"".join(body)
        answer = self.wsgi.open(
            parts.path,
            method=method,
            query_string=parts.query,
            headers=headers,
            data=whole,
            base_url=BASE_URL,
            environ_overrides={"wsgi.input_terminated": True},  # as servers do that read chunks
        )
        return reply(answer.status_code, dict(answer.headers), answer.data)


def honest(call: Call, serve: Serve) -> Response:
    return serve(call)


def is_owner(call: Call) -> bool:
    """Whether a call carries the first account's key."""
    return call.authorization == OWNER


def survey_alone(_: Visitor) -> Iterator[Callable[[], object]]:
    return iter(())


def exploring(explore: Explore) -> ExtraSteps:
    """Exploration as a visit takes it."""
    return lambda visitor: (("exploring", step) for step in explore(visitor))


def rules_of(resource: str) -> list[Rule]:
    """The rules that hold for a resource, where no requests overlap."""
    return [rule for rule in CONTRACT.rules.values() if resource in rule.resources and rule.decided_by != "round"]


def visited(  # noqa: PLR0913, PLR0917 - what a run may be given
    fault: Transformation,
    resource_name: str,
    settings: Settings | None = None,
    explore: Explore = survey_alone,
    limits: Limits | None = None,
    chapters: Chapters = NEEDS_ALL,
    explore_until: Rule | None = None,
) -> tuple[Visits, FaultyTarget]:
    """Visit one resource as a run does: once and, where it is needed, again."""
    target = FaultyTarget(fault, settings or Settings(fixture="empty", records=28), limits)
    resource = CONTRACT.resources[resource_name]
    visits = Visits(rules_of(resource_name), resource)
    key = "demo-key-harbour"
    options = Options(BASE_URL, key, limits=target.limits, explore=1, chapters=chapters, explore_until=explore_until)
    run = Run(CONTRACT, options, target.ledger, lambda _chapter, _requests: None, None)
    run.target, run.exploration = target, explore
    run.visit(visits)
    return visits, target


def looks(
    fault: Transformation,
    resource_name: str,
    settings: Settings | None = None,
    explore: Explore = survey_alone,
    limits: Limits | None = None,
) -> tuple[Evidence, Evidence | None, FaultyTarget]:
    """What a run sees of one resource in its visits."""
    visits, target = visited(fault, resource_name, settings, explore, limits)
    first, *others = visits.evidences
    return first, others[0] if others else None, target


def verdicts(
    fault: Transformation,
    resource_name: str,
    settings: Settings | None = None,
    explore: Explore = survey_alone,
) -> dict[str, Result]:
    """The verdict on each rule for one resource."""
    visits, _ = visited(fault, resource_name, settings, explore)
    return {result.rule.id: result for result in visits.results}


def listed(client: WsgiClient, resource: str) -> list[dict[str, Any]]:
    """The records of the first account."""
    answer: Any = client.get(f"/api/{resource}/?results_per_page=1000", headers={"Authorization": OWNER}).json
    rows: list[dict[str, Any]] = answer["data"]
    return rows
