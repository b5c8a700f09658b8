"""Servers that break one rule each: the mock in process, with something between it and the suite."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

from werkzeug.datastructures import Headers
from werkzeug.formparser import FormDataParser
from werkzeug.test import Client as WsgiClient
from werkzeug.test import EnvironBuilder

from contract_tests.contract import Contract
from contract_tests.evidence import Evidence
from contract_tests.run.verdicts import Result, judge, needs_second_look
from contract_tests.survey import Visitor, visit
from contract_tests.target.identities import identities
from contract_tests.target.ledger import Ledger
from contract_tests.target.target import Limits, Target
from mock_server import Settings, create_app

CONTRACT = Contract()
BASE_URL = "http://localhost"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    def with_json(self, body: Any) -> Reply:
        return replace(self, data=json.dumps(body).encode())


@dataclass(frozen=True)
class Ask:
    """A request on its way: what kind it is of and which operation, as its path says."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes | None
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        segment = self.path.removeprefix("/api/").partition("/")[0]
        return {"projects": "splash-pages"}.get(segment, segment)

    @property
    def identifier(self) -> str:
        return self.path.removeprefix("/api/").partition("/")[2]

    @property
    def operation(self) -> str:
        if self.method == "GET":
            return "read" if self.identifier else "list"
        if self.method == "POST":
            return "update" if self.identifier else "create"
        return "delete"

    @property
    def form(self) -> dict[str, str]:
        headers = Headers(self.headers)
        environ = EnvironBuilder(method="POST", headers=headers, data=self.body or b"").get_environ()
        _, form, files = FormDataParser(stream_factory=lambda *_, **__: BytesIO()).parse_from_environ(environ)
        return {**form.to_dict(), **dict.fromkeys(files, "")}

    def with_form(self, form: Mapping[str, str]) -> Ask:
        builder = EnvironBuilder(method="POST", data=dict(form), content_type="multipart/form-data")
        environ = builder.get_environ()
        headers = self.headers | {"Content-Type": environ["CONTENT_TYPE"]}
        return replace(self, headers=headers, body=environ["wsgi.input"].read())


Serve = Callable[[Ask], Reply]
Lie = Callable[[Ask, Serve], Reply]


class LyingTarget(Target):
    """A target that is the mock in this process, behind a lie."""

    def __init__(self, lie: Lie, settings: Settings, limits: Limits | None = None) -> None:
        super().__init__(BASE_URL, identities("demo-key-harbour", "demo-key-alpine"), Ledger(), limits)
        self.wsgi = WsgiClient(create_app(settings))
        self._lie = lie
        self._memory: dict[str, Any] = {}

    def _call(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        self.sent += 1
        parts = urlsplit(url)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        return self._lie(Ask(method, parts.path, query, dict(headers), body, self._memory), self._serve)

    def _serve(self, ask: Ask) -> Reply:
        answer = self.wsgi.open(
            ask.path, method=ask.method, query_string=ask.query, headers=ask.headers, data=ask.body, base_url=BASE_URL
        )
        return Reply(answer.status_code, dict(answer.headers), answer.data)


def honest(ask: Ask, serve: Serve) -> Reply:
    return serve(ask)


def survey_alone(_: Visitor) -> None:
    pass


def looks(
    lie: Lie,
    kind_name: str,
    settings: Settings | None = None,
    explore: Callable[[Visitor], None] = survey_alone,
    limits: Limits | None = None,
) -> tuple[Evidence, Evidence | None, LyingTarget]:
    """What a run sees of one kind: one visit and, where it is needed, another."""
    target = LyingTarget(lie, settings or Settings(fixture="empty", records=28), limits)
    kind = CONTRACT.kinds[kind_name]
    rules = [rule for rule in CONTRACT.rules.values() if kind_name in rule.resources]
    first = visit(target, kind, explore=explore)
    second = visit(target, kind, explore=explore) if needs_second_look(rules, kind, first) else None
    return first, second, target


def verdicts(
    lie: Lie, kind_name: str, settings: Settings | None = None, explore: Callable[[Visitor], None] = survey_alone
) -> dict[str, Result]:
    """The verdict on each rule for one kind."""
    first, second, _ = looks(lie, kind_name, settings, explore)
    kind = CONTRACT.kinds[kind_name]
    rules = [rule for rule in CONTRACT.rules.values() if kind_name in rule.resources]
    return {rule.id: judge(rule, kind, first, second) for rule in rules}
