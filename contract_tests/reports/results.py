"""The outcome of a run as JSON, for programs and as the source of every other report but the terminal's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from contract_tests.errors import UsageError
from contract_tests.exchange import Exchange
from contract_tests.reports.curl import curl
from contract_tests.reports.excerpts import excerpt
from contract_tests.rules.observation import Violation
from contract_tests.run.outcome import Outcome
from contract_tests.run.runner import MOST_TOLD
from contract_tests.run.verdicts import Result, Verdict
from link_management_contract.texts import printable

SCHEMA_VERSION = 1
SCHEMA = Path(__file__).with_name("results.schema.json")
FILE = "results.json"
TEXTS = ("base_url", "word", "contract_version", "began")


def as_dict(outcome: Outcome) -> dict[str, Any]:
    """The outcome, as `results.schema.json` describes it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "suite_version": _suite_version(),
        "contract_version": outcome.version,
        "base_url": outcome.base_url,
        "insecure": outcome.insecure,
        "began": datetime.fromtimestamp(outcome.began, UTC).isoformat(timespec="seconds"),
        "seconds": round(outcome.seconds, 3),
        "requests": outcome.requests,
        "created": outcome.created,
        "left": [str(entry) for entry in outcome.left],
        "word": outcome.word,
        "verdict": outcome.masking.text(outcome.verdict),
        "not_judged": list(outcome.not_judged),
        "notes": list(outcome.notes),
        "status": outcome.status,
        "strict": outcome.strict,
        "not_run": outcome.not_run,
        "stale_waivers": list(outcome.stale),
        "open_points": {
            name: {printable(outcome.masking.text(value)): count for value, count in values.most_common()}
            for name, values in sorted(outcome.observed.items())
        },
        "removed": outcome.created - sum(entry.identifier is not None for entry in outcome.left),
        "results": [_result(outcome, each) for each in outcome.results],
    }


def write(results: dict[str, Any], path: Path) -> None:
    """Write the file.

    Raises:
        OSError: if it cannot be written.
    """
    unfinished = path.with_suffix(".unfinished")  # so that nobody ever reads half of it
    unfinished.write_text(
        json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="backslashreplace"
    )
    unfinished.replace(path)


def read(path: Path) -> dict[str, Any]:
    """Read such a file.

    Raises:
        UsageError: if it cannot be read, or is not one that this version understands.
    """
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    known = isinstance(results, dict) and results.get("schema_version") == SCHEMA_VERSION
    required = set(json.loads(SCHEMA.read_text(encoding="utf-8"))["required"])
    if not known or not required <= set(results) or not _is_usable(results):
        raise UsageError(f"{path} is no {FILE} of schema version {SCHEMA_VERSION}")
    return results


def _is_usable(results: Mapping[str, Any]) -> bool:
    """Whether all that is compared is there, and of the right type."""
    points, rows = results["open_points"], results["results"]
    if not isinstance(points, dict) or not isinstance(rows, list) or not all(isinstance(each, dict) for each in rows):
        return False
    texts = [results[name] for name in TEXTS] + [each.get(name) for each in rows for name in ("rule", "kind")]
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(values, dict) for values in points.values())
        and all(each.get("verdict") in list(Verdict) for each in rows)
    )


def _result(outcome: Outcome, result: Result) -> dict[str, Any]:
    return {
        "rule": result.rule.id,
        "kind": result.resource,
        "level": result.rule.level,
        "section": result.rule.section,
        "numbers": [str(number) for number in result.rule.numbers],
        "statement": result.rule.statement,
        "verdict": str(result.verdict),
        "witnesses": result.witnesses,
        "seconds": round(result.seconds, 3),
        "reasons": list(result.reasons),
        "waived": result.waived or None,
        "findings": [_finding(outcome, each) for each in result.findings[:MOST_TOLD]],
        "further_findings": max(0, len(result.findings) - MOST_TOLD),
    }


def _finding(outcome: Outcome, finding: Violation) -> dict[str, Any]:
    request = finding.exchange.request
    return {
        "expected": finding.expected,
        "received": finding.received,
        "request": request_line(finding.exchange),
        "identity": request.identity,
        "exchange": finding.exchange.number,
        "repeat": curl(outcome.base_url, request),
        **({"timeline": list(finding.timeline)} if finding.timeline else {}),
    } | excerpt(finding, outcome.exchanges, outcome.masking)


def name_of(result: Mapping[str, Any]) -> str:
    """The name of a result, by which it is selected."""
    return f"{result['rule']}[{result['kind']}]"


def rows_of(finding: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a finding shows, each with a word for it."""
    rows = [(name, finding[name]) for name in ("expected", "received", "sent", "answered")]
    if finding.get("at"):
        similar = f"; {finding['similar']} looks like it" if finding.get("similar") else ""
        rows.append(("at", f"{finding['at']}: {finding['value']}{similar}"))
    if finding.get("body"):
        rows.append(("body", finding["body"]))
    if finding.get("timeline"):
        rows.append(("time line", "\n".join(finding["timeline"])))
    return [*rows, ("written by", finding["cause"])] if finding.get("cause") else rows


def source_of(section: str, numbers: Iterable[object]) -> str:
    """Where a rule comes from, for people."""
    every = list(map(str, numbers))
    return f"{section}, {'statement' if len(every) == 1 else 'statements'} {', '.join(every)}"


def request_line(exchange: Exchange) -> str:
    """The method, path and query of a request."""
    query = "&".join(f"{name}={value}" for name, value in exchange.request.query)
    return f"{exchange.request.method} {exchange.request.path}{f'?{query}' if query else ''}"


def _suite_version() -> str:
    try:
        return version("link-management-contract")
    except PackageNotFoundError:  # run from a folder, not installed
        return "unknown"
