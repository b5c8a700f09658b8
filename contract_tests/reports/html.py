"""The outcome as one page for people, which needs neither a network nor scripts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from contract_tests.exchange import Exchange
from contract_tests.reports.causes import groups, undecided
from contract_tests.reports.results import request_line, rows_of
from contract_tests.reports.summary import COLUMNS, by_area, fallen_of, verdicts_of
from contract_tests.rules.observation import Violation
from contract_tests.run.outcome import Outcome
from contract_tests.run.verdicts import VIOLATED
from contract_tests.statements import statements

FILE = "report.html"
LONGEST = 4000  # characters of a body
EARLIER = 6  # requests that led up to a finding
SHOWN = 2  # findings of one rule and resource that are shown with their exchange


@dataclass(frozen=True)
class Shown:
    """An exchange as the page shows it."""

    line: str
    identity: str
    form: list[tuple[str, str]]
    answer: str
    headers: list[tuple[str, str]]
    body: str


def write(outcome: Outcome, results: dict[str, Any], scripts: dict[str, str], path: Path) -> None:
    """Write the page.

    Args:
        outcome: what the run came to, for the exchanges.
        results: the same, as `results.json` holds it.
        scripts: the scripts that repeat what was found, by name.
        path: where to write.

    Raises:
        OSError: if it cannot be written.
    """
    found = groups(results["results"])
    page = render(
        "report.html.jinja",
        run=results,
        areas=by_area(verdicts_of(results)),
        verdicts=COLUMNS,
        resources=list(dict.fromkeys(each["kind"] for each in results["results"])),
        rules=_rules(results),
        groups=found,
        undecided=undecided(results["results"], found),
        totals=Counter(each["verdict"] for each in results["results"]),
        scripts={name.removeprefix("repro/").removesuffix(".sh"): text for name, text in scripts.items()},
        evidence=_evidence(outcome),
        statements=_statements(results),
        most=SHOWN,
    )
    path.write_text(page, encoding="utf-8", errors="backslashreplace")


def render(template: str, **values: Any) -> str:
    """A page of one of the templates beside this module."""
    environment = Environment(loader=PackageLoader("contract_tests.reports"), autoescape=True, trim_blocks=True)
    environment.filters["code"] = _code
    environment.filters["rows"] = rows_of
    environment.filters["area"] = lambda rule: rule.partition(".")[0]
    return environment.get_template(template).render(**values)


def _code(text: str) -> Markup:
    """A text in which everything between backticks is marked up as code."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped just before


def _rules(results: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """The results by rule, then by resource."""
    rules: dict[str, dict[str, dict[str, Any]]] = {}
    for each in results["results"]:
        rules.setdefault(each["rule"], {})[each["kind"]] = each
    return dict(sorted(rules.items()))


def _statements(results: dict[str, Any]) -> dict[str, str]:
    """The statements that broken rules rest on, by number, in the order of the specification."""
    cited = {number for each in fallen_of(results) for number in each["numbers"]}
    return {number: text for number, text in statements().items() if number in cited}


def _evidence(outcome: Outcome) -> dict[tuple[str, str], list[tuple[Shown, list[str]]]]:
    """The exchange of each finding with the requests that led up to it, by rule and resource."""
    return {
        (result.rule.id, result.resource): [_one(outcome, finding) for finding in result.findings[:SHOWN]]
        for result in outcome.results
        if result.verdict in VIOLATED
    }


def _one(outcome: Outcome, finding: Violation) -> tuple[Shown, list[str]]:
    exchange = finding.exchange
    same = [each for each in outcome.exchanges if each.request.resource == exchange.request.resource]
    earlier = [each for each in same if each.number < exchange.number][-EARLIER:]
    lines = [f"{request_line(each)} → {each.status or 'no answer'}" for each in earlier]
    return shown(outcome.masking.exchange(exchange)), lines


def shown(exchange: Exchange) -> Shown:
    """An exchange that is already masked, as the page shows it."""
    request = exchange.request
    form = [(name, _value(value)) for name, value in (request.form or {}).items()]
    if request.body is not None:
        form = [(request.body[0], request.body[1].decode("utf-8", "replace"))]
    answer = f"status {exchange.status}" if exchange.status else f"no answer: {exchange.error}"
    if exchange.redirects:
        answer = f"{answer}, after {', '.join(f'{status} to {where}' for status, where in exchange.redirects)}"
    headers = list(exchange.headers.items())
    return Shown(request_line(exchange), request.identity, form, answer, headers, _body(exchange))


def _value(value: str | Sequence[Any]) -> str:
    return value if isinstance(value, str) else f"file {value[0]}, {len(value[1])} bytes, {value[2]}"


def _body(exchange: Exchange) -> str:
    text = exchange.body.decode("utf-8", "replace")
    if exchange.json is not None:
        text = json.dumps(exchange.json, indent=2, ensure_ascii=False)
    more = f"\n… and {len(text) - LONGEST} characters more" if len(text) > LONGEST else ""
    return text[:LONGEST] + more
