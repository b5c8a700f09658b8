"""The folder of a run's reports, and in it the page for people, which needs neither a network nor scripts."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from contract_tests import har
from contract_tests.evidence.exchange import Exchange, FormValue
from contract_tests.evidence.observation import Violation
from contract_tests.reports import ci, results
from contract_tests.reports.causes import groups, undecided
from contract_tests.repro import script as repro
from contract_tests.verdicts.open_points import profile
from contract_tests.verdicts.verdicts import VIOLATED, Outcome
from link_management_contract import Contract
from link_management_contract.texts import printable_values, statements, write_whole

FILE, PROFILE = "report.html", "profile.yaml"
REPORTS = (results.FILE, ci.JUNIT, ci.CTRF, har.FILE, f"{har.FILE}.gz", ci.SUMMARY, ci.SARIF, ci.COMMENT, PROFILE, FILE)
LONGEST = 4000  # characters of a body
EARLIER = 6  # requests that led up to a finding
MAX_FINDINGS = 2  # findings of one rule and resource that are shown with their exchange


@dataclass(frozen=True)
class ExchangeView:
    line: str
    identity: str
    form: list[tuple[str, str]]
    answer: str
    headers: list[tuple[str, str]]
    body: str


def write_folder(
    contract: Contract, outcome: Outcome, document: dict[str, Any], folder: Path, changes: Iterable[str] = ()
) -> None:
    """Write all reports.

    Args:
        changes: what is worse and better than in an earlier run.

    Raises:
        OSError: if one cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    printable_document = printable_values(document)
    scripts = repro.scripts(contract, outcome)
    _remove_scripts(contract, folder)
    for name, script in scripts.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        write_whole(path, script, newline="")
        path.chmod(0o755)
    results.write(printable_document, folder / results.FILE)
    ci.write_junit(printable_document, folder / ci.JUNIT)
    ci.write_ctrf(printable_document, folder / ci.CTRF)
    har.write(outcome, folder / har.FILE)
    choices = yaml.safe_dump(profile(outcome.choices_seen, contract))
    head = f"# What {outcome.base_url} chose where the contract leaves room: mock-server --profile FILE\n"
    head += f"# Verdict: {outcome.verdict}\n"
    for name, text in (
        (ci.SUMMARY, ci.markdown(printable_document)),
        (ci.SARIF, f"{json.dumps(ci.sarif(printable_document, contract), indent=1, ensure_ascii=False)}\n"),
        (ci.COMMENT, ci.comment(printable_document, changes)),
        (PROFILE, head + choices),
        (FILE, _page(outcome, printable_document, scripts)),
    ):
        write_whole(folder / name, text)


def remove_reports(contract: Contract, folder: Path) -> None:
    """Remove the reports of an earlier run.

    Raises:
        OSError: if one cannot be removed.
    """
    for name in REPORTS:
        (folder / name).unlink(missing_ok=True)
    _remove_scripts(contract, folder)


def _remove_scripts(contract: Contract, folder: Path) -> None:
    for rule in contract.rules:
        (folder / repro.file_of(rule)).unlink(missing_ok=True)


def _page(outcome: Outcome, document: dict[str, Any], scripts: dict[str, str]) -> str:
    environment = Environment(loader=PackageLoader("contract_tests.reports"), autoescape=True, trim_blocks=True)
    environment.filters |= {"code": _code, "rows": results.rows_of, "answers": results.answers_of}
    environment.filters["area"] = lambda rule: rule.partition(".")[0]
    cause_groups = groups(document["results"])
    rules: dict[str, dict[str, Any]] = {}
    for result in sorted(document["results"], key=lambda result: str(result["rule"])):
        rules.setdefault(result["rule"], {})[result["kind"]] = result
    ids = {number for result in document["results"] if result["verdict"] in VIOLATED for number in result["numbers"]}
    return environment.get_template("report.html.jinja").render(
        run=document,
        areas=ci.by_area(document),
        verdicts=ci.COLUMNS,
        resources=list(dict.fromkeys(result["kind"] for result in document["results"])),
        rules=rules,
        groups=cause_groups,
        undecided=undecided(document["results"], cause_groups),
        totals=Counter(result["verdict"] for result in document["results"]),
        scripts={name.removeprefix("repro/").removesuffix(".sh"): text for name, text in scripts.items()},
        evidence={
            (result.rule.id, result.resource): [
                _evidence(outcome, finding) for finding in result.findings[:MAX_FINDINGS]
            ]
            for result in outcome.results
            if result.verdict in VIOLATED
        },
        statements={number: text for number, text in statements().items() if number in ids},
        most=MAX_FINDINGS,
    )


def _code(text: str) -> Markup:
    """A text in which everything between backticks is marked up as code."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped just before


def _evidence(outcome: Outcome, finding: Violation) -> tuple[ExchangeView, list[str]]:
    """The exchange of a finding, and the requests that led up to it."""
    exchange = finding.exchange
    exchanges = [step for step in outcome.exchanges if step.request.resource == exchange.request.resource]
    earlier = [step for step in exchanges if step.number < exchange.number][-EARLIER:]
    lines = [f"{results.request_line(step)} → {step.status or 'no answer'}" for step in earlier]
    return view_of(outcome.masking.exchange(exchange)), lines


def view_of(exchange: Exchange) -> ExchangeView:
    request = exchange.request
    form = [(name, _form_value(value)) for name, value in (request.form or {}).items()]
    if request.body is not None:
        form = [(request.body[0], request.body[1].decode("utf-8", "replace"))]
    answer = f"status {exchange.status}" if exchange.status else f"no answer: {exchange.error}"
    if exchange.redirects:
        answer = f"{answer}, after {', '.join(f'{status} to {location}' for status, location in exchange.redirects)}"
    text = exchange.body.decode("utf-8", "replace")
    if exchange.json is not None:
        text = json.dumps(exchange.json, indent=2, ensure_ascii=False)
    note = f"\n… and {len(text) - LONGEST} characters more" if len(text) > LONGEST else ""
    headers = list(exchange.headers.items())
    return ExchangeView(results.request_line(exchange), request.identity, form, answer, headers, text[:LONGEST] + note)


def _form_value(value: FormValue) -> str:
    return value if isinstance(value, str) else f"file {value[0]}, {len(value[1])} bytes, {value[2]}"
