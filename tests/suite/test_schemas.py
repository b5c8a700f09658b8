"""The rules and the schemas of openapi.yaml describe the same answers: what a schema refuses breaks a rule."""

from __future__ import annotations

import copy
import json
import random
from functools import cache
from typing import Any

import hypothesis.strategies as st
import pytest
from faulty import BASE_URL, CONTRACT, honest, looks, rules_of, verdicts
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from werkzeug.wrappers import Response

from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.exchange import Exchange
from contract_tests.evidence.observation import Violation
from contract_tests.exploration import Exploration
from contract_tests.verdicts.verdicts import Verdict, observe
from mock_server import Settings
from mock_server.defects.building_blocks import Call, Serve, Transformation, content

OTHERS: tuple[Any, ...] = (
    None,
    True,
    0,
    2.5,
    "",
    "0",
    "#12345g",
    "2026-02-30 00:00:00",
    "2026-01-01T00:00:00",
    [],
    {},
    [{}],
)
FEW = 10  # rows
PAIRS = [(resource, operation) for resource in CONTRACT.resources for operation in ("list", "read", "create", "update")]


@cache
def exchanged(resource: str) -> Evidence:
    evidence, _, _ = looks(honest, resource, Settings(fixture="demo"))
    return evidence


def answered(resource: str, operation: str) -> Exchange:
    """The longest answer of an operation, but of lists one with few rows, since the rules look at all of them."""
    successes = [exchange for exchange in exchanged(resource).of(resource, operation) if exchange.succeeded]
    short = [exchange for exchange in successes if not exchange.page or len(exchange.page.rows) <= FEW]
    return max(short, key=lambda exchange: len(exchange.body))


@cache
def validator(resource: str, operation: str) -> Draft202012Validator:
    for path in CONTRACT.document["paths"].values():
        for each in path.values():
            if isinstance(each, dict) and resource in each["tags"] and each["operationId"].startswith(operation):
                answer = CONTRACT.resolve(each["responses"]["2XX"])
                schema = answer["content"]["application/json"]["schema"]
                return Draft202012Validator(schema | {"components": CONTRACT.document["components"]})
    raise LookupError(operation)


def broken(resource: str, exchange: Exchange) -> list[str]:
    evidence = Evidence(CONTRACT.resources[resource], BASE_URL, [exchange])
    rules = [each for each in CONTRACT.rules.values() if each.decided_by == "exchange" and resource in each.resources]
    return [rule.id for rule in rules if any(isinstance(each, Violation) for each in observe(rule, evidence))]


@st.composite
def spoilt(draw: st.DrawFn, body: Any) -> Any:
    """The body with one member left out, or with another value."""
    spoilt_body = node = copy.deepcopy(body)
    while True:
        key = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if isinstance(node[key], dict | list) and node[key] and draw(st.integers(0, 3)):
            node = node[key]
        elif isinstance(node, dict) and draw(st.booleans()):
            del node[key]
            return spoilt_body
        else:
            node[key] = draw(st.sampled_from(OTHERS))
            return spoilt_body


@pytest.mark.parametrize(("resource", "operation"), PAIRS, ids=["-".join(pair) for pair in PAIRS])
def test_what_a_schema_refuses_breaks_a_rule(resource: str, operation: str) -> None:
    exchange, schema = answered(resource, operation), validator(resource, operation)
    assert schema.is_valid(exchange.json)
    assert broken(resource, exchange) == []
    refused = []

    @settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(spoilt(exchange.json))
    def agree(body: Any) -> None:
        if not schema.is_valid(body):
            refused.append(body)
            answer = Exchange(exchange.request, 1, exchange.status, body=json.dumps(body).encode())
            assert broken(resource, answer) != [], f"the schema of openapi.yaml refuses {body}, and no rule does"

    agree()
    assert len(refused) > 10


BODIES = (
    b"",
    b"null",
    b"[]",
    b"0",
    b'"text"',
    b"{",
    b"\xff",
    b"[" * 100_000,
    b'{"data": [[]], "meta": [], "links": 1}',
)


def raving(seed: int) -> Transformation:
    """Answers that are spoilt now and then, in every way."""
    chance = random.Random(seed)

    def transformation(call: Call, serve: Serve) -> Response:
        answer = serve(call)
        if chance.random() > 0.1 or not answer.get_data():
            return answer
        if chance.random() < 0.2:
            return Response(chance.choice(BODIES), chance.choice((200, 404, 500)))
        body = node = content(answer)
        while isinstance(node, dict | list) and node:
            key = chance.choice(sorted(node) if isinstance(node, dict) else range(len(node)))
            if not isinstance(node[key], dict | list) or not node[key] or chance.random() < 0.3:
                node[key] = chance.choice(OTHERS)
                break
            node = node[key]
        answer.set_data(json.dumps(body))
        return answer

    return transformation


@pytest.mark.sample(7)
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 1)) for seed in range(20)])
@pytest.mark.parametrize("resource", CONTRACT.resources)
def test_no_answer_breaks_the_suite(no_pauses: None, resource: str, seed: int) -> None:
    results = verdicts(raving(seed), resource, explore=Exploration(CONTRACT, 60, seed))
    assert [
        each.id for each in results.values() if each.verdict is not Verdict.PASS and not each.findings + each.reasons
    ] == []
    assert len(results) == len(rules_of(resource))
