"""The verdict on what a script printed: what it repeats, as JSON, and its answers, read back as exchanges."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Any

from urllib3 import HTTPHeaderDict

from contract_tests.evidence.exchange import METHODS, Exchange, Expect, FormValue, Request
from contract_tests.evidence.multipart import USUAL, FormStyle
from contract_tests.evidence.observation import NotApplicable, Satisfied, Undecided, Violation
from contract_tests.repro.replayed import rejudge, with_markers
from contract_tests.target.wire import REDIRECTS
from link_management_contract import Contract, Resource, Rule

STEP = rb"^--- %s (\d+)\. [A-Z]+ (\S+).*\n"  # with the name of the script's own folder, which no server knows
Plan = Mapping[str, Any]


def plan_of(  # noqa: PLR0913, PLR0917 - what a script repeats, and what is known of it
    rule: Rule,
    resource: Resource,
    exchanges: Sequence[Exchange],
    at: int,
    public_base_url: str | None,
    script_status: int | None,
) -> str:
    """What a script repeats, as one line of JSON; files are left out.

    Args:
        at: the number of the exchange that shows the failure.
        script_status: its exit status when it was tried; None if it was not.
    """
    plan = {
        "rule": rule.id,
        "resource": resource.name,
        "it": next((number for number, exchange in enumerate(exchanges, 1) if exchange.number == at), 0),
        "steps": [_as_json(exchange) for exchange in exchanges],
        "public_base_url": public_base_url,
        "tried": script_status is not None,
    }
    return json.dumps(plan)


def _as_json(exchange: Exchange) -> dict[str, Any]:
    request = exchange.request
    form: Any = request.form and {
        name: value if isinstance(value, str) else [value[0], value[2]] for name, value in request.form.items()
    }
    step = {
        "operation": request.operation,
        "identity": request.identity,
        "expects": exchange.expects,
        "form": form,
        "body": request.body and [request.body[0], request.body[1].decode("latin-1")],
        "query": [list(pair) for pair in request.query],
        "shape": {name: value for name, value in asdict(request.form_style).items() if value != getattr(USUAL, name)},
    }
    return {name: value for name, value in step.items() if value}


def judge_answers(contract: Contract, plan: Plan, answers: Path, base_url: str, marker: str) -> Violation | bool | None:
    """What the answers that a script kept show: its rule broken, satisfied, or neither (None).

    Args:
        answers: in the script's own folder, with whose name the title of each answer begins.
        marker: what marks the records of the script.

    Raises:
        OSError: if they cannot be read.
    """
    resource, rule = contract.resources[plan["resource"]], contract.rules[plan["rule"]]
    exchanges = _exchanges(plan, resource, answers.resolve(), marker)
    observations = rejudge(rule, resource, base_url, exchanges, plan.get("public_base_url"))
    broken = next((observation for observation in observations if isinstance(observation, Violation)), None)
    documented = [exchange for exchange in exchanges if exchange.expects is Expect.SUCCESS]
    is_doubted = any(isinstance(observation, Undecided) for observation in observations)
    answered = {exchange.number for exchange in exchanges if not _is_trouble(exchange)}
    is_seen = answered >= set(range(1, plan["it"] + 1)) and not any(map(_is_trouble, exchanges))
    if broken or not plan["it"] or not is_seen or not all(exchange.succeeded for exchange in documented):
        return broken
    if not plan["tried"]:  # nobody knows whether it would show the failure
        return None
    is_satisfied = any(isinstance(observation, Satisfied | NotApplicable) for observation in observations)
    is_read = all(exchange.json is not None for exchange in documented if exchange.request.operation != "delete")
    is_complete = not is_doubted and len(answered) == len(plan["steps"])
    return (is_read and (is_satisfied or is_complete)) or None


def _is_trouble(exchange: Exchange) -> bool:
    """Whether an answer may be that of a server that is away, or too busy."""
    return exchange.failed or exchange.status == HTTPStatus.TOO_MANY_REQUESTS


def _exchanges(plan: Plan, resource: Resource, answers: Path, marker: str) -> list[Exchange]:
    parts = re.split(STEP % re.escape(answers.parent.name.encode()), answers.read_bytes(), flags=re.MULTILINE)[1:]
    exchanges = list[Exchange]()
    for number, target, answer in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        request = _request(plan["steps"][int(number) - 1], resource, target.decode(), marker)
        head, _, body = answer.partition(b"\r\n\r\n")
        status, headers = _head(head)
        redirects = list[tuple[int, str]]()
        while status and (status < HTTPStatus.OK or status in REDIRECTS):
            redirects += [(status, headers.get("Location", ""))] if status in REDIRECTS else []
            if not body.startswith(b"HTTP/"):  # it was not followed
                break
            head, _, body = body.partition(b"\r\n\r\n")
            status, headers = _head(head)
        body = body.removesuffix(b"\n")
        exchange = Exchange(request, int(number), status, headers, body, redirects=tuple(redirects))
        if exchanges and exchanges[-1].number == exchange.number:  # another try
            exchange = exchange.after(exchanges.pop())
        exchanges.append(exchange)
    return exchanges


def _head(head: bytes) -> tuple[int | None, HTTPHeaderDict]:
    """The status in the head of an answer, and its headers."""
    status, *lines = head.decode("latin-1").split("\r\n")
    status_match = re.match(r"HTTP/\S+ (\d+)", status)
    headers = HTTPHeaderDict((name, text.strip()) for name, _, text in (line.partition(":") for line in lines))
    return int(status_match[1]) if status_match else None, headers


def _request(step: Mapping[str, Any], resource: Resource, target: str, marker: str) -> Request:
    """A request as it was sent: with the script's mark, and the id in its path."""

    def with_script_marker(text: str) -> str:
        return with_markers(text, lambda before: f"{marker}-{before.rpartition('-')[2]}")

    path = target.partition("?")[0]
    last = path.rpartition("/")[2]
    form: dict[str, FormValue] | None = step.get("form") and {
        name: with_script_marker(value) if isinstance(value, str) else (value[0], b"", value[1])
        for name, value in step["form"].items()
    }
    body = step.get("body")
    style: Any = {
        name: tuple(member) if isinstance(member, list) else member for name, member in step.get("shape", {}).items()
    }
    return Request(
        step["operation"],
        resource.name,
        METHODS.get(step["operation"], "GET"),
        path,
        tuple((name, value) for name, value in step.get("query", ())),
        form,
        step["identity"],
        int(last) if last.isdecimal() else None,
        Expect(step["expects"]),
        body=body and (body[0], with_script_marker(body[1]).encode("latin-1")),
        form_style=FormStyle(**style) if style else USUAL,
    )
