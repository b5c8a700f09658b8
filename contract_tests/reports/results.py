"""The outcome of a run as JSON, for programs and as the source of every other report.

With each finding goes the part of its exchange that it is about, short and without secrets.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from contract_tests.errors import UsageError
from contract_tests.evidence.exchange import (
    MAX_PARTS,
    OWN_KEY,
    WRITES,
    Exchange,
    FormValue,
    Request,
    counts_text,
    has_too_many_parts,
    id_of,
    refuse_constant,
    request_counts,
    without_id,
)
from contract_tests.evidence.masking import Masking, text_shape
from contract_tests.evidence.multipart import USUAL, FormStyle, file_as_sent, media_type_of
from contract_tests.evidence.observation import MISSING, Violation
from contract_tests.repro.script import curl
from contract_tests.run import MAX_FINDINGS
from contract_tests.verdicts.verdicts import Outcome, Result, Verdict
from link_management_contract.texts import printable, write_whole

SCHEMA_VERSION = 1
SCHEMA = Path(__file__).with_name("results.schema.json")
FILE = "results.json"
TEXTS = ("base_url", "word", "contract_version", "began")
MAX_TRACES = 5
MAX_VALUE_LENGTH, MAX_BODY_LENGTH, MAX_TEXT, MAX_FORM_LENGTH = 120, 300, 60, 500  # characters
LAST_ROWS = (("write", "cause"), ("shown by", "shown_by"), ("again", "shown_again"))
LABELS = ("name", "host")
MARKUP = re.compile(rb"\s*<(!doctype|html|\?xml|head|body|h1)", re.IGNORECASE)


def as_dict(outcome: Outcome) -> dict[str, Any]:
    """The outcome, as `results.schema.json` describes it."""
    server_errors = outcome.server_errors
    try:
        suite_version = version("link-management-contract")
    except PackageNotFoundError:  # run from a folder, not installed
        suite_version = "unknown"
    return {
        "schema_version": SCHEMA_VERSION,
        "suite_version": suite_version,
        "contract_version": outcome.version,
        "base_url": outcome.base_url,
        "insecure": outcome.insecure,
        "began": datetime.fromtimestamp(outcome.started_at, UTC).isoformat(timespec="seconds"),
        "seconds": round(outcome.seconds, 3),
        "requests": outcome.requests,
        "server_errors": len(server_errors),
        "server_errors_at": request_counts(server_errors),
        "server_error_traces": [exchange.trace for exchange in server_errors if exchange.trace][:MAX_TRACES],
        "slowest": round(max((exchange.seconds for exchange in outcome.exchanges), default=0.0), 3),
        "created": outcome.created,
        "left": [str(entry) for entry in outcome.left],
        "word": outcome.word,
        "headline": outcome.headline,
        "verdict": outcome.masking.text(outcome.verdict),
        "not_judged": list(outcome.not_judged),
        "notes": list(outcome.notes),
        "status": outcome.status,
        "strict": outcome.strict,
        "exceeded": list(outcome.exceeded),
        "not_run": outcome.not_run,
        "stale_waivers": list(outcome.stale),
        "open_points": {
            name: {printable(outcome.masking.text(value)): count for value, count in values.most_common()}
            for name, values in sorted(outcome.choices_seen.items())
        },
        "removed": outcome.created - sum(entry.identifier is not None for entry in outcome.left),
        "results": [_result(outcome, result) for result in outcome.results],
    }


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
        "findings": [_finding(outcome, result, finding) for finding in result.findings[:MAX_FINDINGS]],
        "further_findings": max(0, len(result.findings) - MAX_FINDINGS),
    }


def _finding(outcome: Outcome, result: Result, finding: Violation) -> dict[str, Any]:
    request = finding.exchange.request
    is_first_finding = finding == result.findings[0]
    retries = outcome.shown_again.get(result.id) if is_first_finding else None
    fewest_writes = _fewest_writes(outcome, result) if is_first_finding else ""
    shows_alone = result.rule.decided_by == "exchange" or finding.at.startswith(("/meta", "/links"))
    is_shown_again = finding.is_repeatable and shows_alone and _stands_alone(request, outcome.exchanges)
    repeat = curl(outcome.base_url, request) if is_shown_again else ""
    return {
        "expected": finding.expected,
        "received": finding.received,
        "request": request_line(finding.exchange),
        "identity": request.identity,
        "exchange": finding.exchange.number,
        "repeat": repeat if repeat.isprintable() else "",  # else it would not be what was sent
        **({} if finding.is_repeatable else {"no_script": True}),
        **({"trace": finding.exchange.trace} if finding.exchange.trace else {}),
        **({"timeline": list(finding.timeline)} if finding.timeline else {}),
        **({"shown_again": retries} if retries else {}),
        **({"shown_by": fewest_writes} if fewest_writes else {}),
    } | excerpt(finding, outcome.exchanges, outcome.masking)


def _fewest_writes(outcome: Outcome, result: Result) -> str:
    """The fewest writes that show a finding, and the names or hosts that they share; empty if that is not known."""
    resource, shortest = outcome.shortest.get(result.rule.id, ("", None))
    earlier, texts = set[tuple[str, Any]](), list[str]()
    for exchange in shortest.exchanges if shortest and resource == result.resource else ():
        form = exchange.request.form or {}
        fields = [f"the same {name}" if (name, form[name]) in earlier else name for name in form]
        texts += [f"{without_id(exchange)} with {', '.join(fields)}"] if fields else []
        earlier |= {(name, form[name]) for name in LABELS if name in form}
    return "; ".join(texts)


def _stands_alone(request: Request, exchanges: Iterable[Exchange]) -> bool:
    """Whether a request can show again what it showed: it needs no file, and no record that the run has removed."""
    created = {
        exchange.made_id for exchange in exchanges if exchange.request.resource == request.resource and exchange.made_id
    }
    return request.identifier not in created and all(isinstance(value, str) for value in (request.form or {}).values())


def answers_of(results: Mapping[str, Any]) -> str:
    """How many answers failed and where, and how long the slowest took, for people."""
    requests = counts_text(results.get("server_errors_at", {}))
    trace_ids = ", ".join(results.get("server_error_traces", []))
    traces = f", traces {trace_ids}" if trace_ids else ""
    at = f" of {results['requests']}, at: {requests}{traces}" if requests else ""
    return f"5xx: {results['server_errors']}{at}; slowest answer {results['slowest']:.1f} s"


def write(results: dict[str, Any], path: Path) -> None:
    """Write the file.

    Raises:
        OSError: if it cannot be written.
    """
    write_whole(path, f"{json.dumps(results, indent=1, ensure_ascii=False)}\n")


def read(path: Path) -> dict[str, Any]:
    """Read such a file.

    Raises:
        UsageError: if it cannot be read, or is not one that this version understands.
    """
    try:
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    is_this_version = isinstance(results, dict) and results.get("schema_version") == SCHEMA_VERSION
    required = set(json.loads(SCHEMA.read_text(encoding="utf-8"))["required"])
    if not is_this_version or not required <= set(results) or not _is_usable(results):
        raise UsageError(f"{path} is not a {FILE} of schema version {SCHEMA_VERSION}")
    return results


def _is_usable(results: Mapping[str, Any]) -> bool:
    """Whether all that is compared is there, and of the right type."""
    points, rows = results["open_points"], results["results"]
    if not isinstance(points, dict) or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return False
    texts = [results[name] for name in TEXTS] + [row.get(name) for row in rows for name in ("rule", "kind")]
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(values, dict) for values in points.values())
        and all(row.get("verdict") in list(Verdict) for row in rows)
    )


def name_of(result: Mapping[str, Any]) -> str:
    return f"{result['rule']}[{result['kind']}]"


def rows_of(finding: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [(name, finding[name]) for name in ("expected", "received", "sent", "answered")]
    if finding.get("at"):
        similar = f"; {finding['similar']} looks like it" if finding.get("similar") else ""
        rows.append(("at", f"{finding['at']}: {finding['value']}{similar}"))
    if finding.get("body"):
        rows.append(("body", finding["body"]))
    if finding.get("timeline"):
        rows.append(("time line", "\n".join(finding["timeline"])))
    return [*rows, *((title, finding[name]) for title, name in LAST_ROWS if finding.get(name))]


def source_of(result: Mapping[str, Any]) -> str:
    numbers = result["numbers"]
    return f"{result['section']}, {'statement' if len(numbers) == 1 else 'statements'} {', '.join(numbers)}"


def request_line(exchange: Exchange) -> str:
    query = "&".join(f"{name}={value}" for name, value in exchange.request.query)
    return f"{exchange.request.method} {exchange.request.path}{f'?{query}' if query else ''}"


def excerpt(finding: Violation, exchanges: Iterable[Exchange], masking: Masking) -> dict[str, Any]:
    """What was sent, what came back, and the write that may have caused it.

    Returns:
        `sent`, `answered` and, where they apply, `at`, `value`, `similar`, `body` and `cause`; all texts.
    """
    exchange = masking.exchange(finding.exchange)
    texts = {"sent": request_summary(exchange.request), "answered": answered(exchange)}
    unread = (
        masking.text(not_json(finding.exchange.body)) if exchange.succeeded and finding.exchange.json is None else ""
    )
    if finding.at and exchange.json is not None:
        texts |= {"at": printable(masking.text(finding.at))} | _value(exchange.json, finding.at)
    elif exchange.body:
        texts["body"] = body(exchange)
    if unread and (finding.at.startswith("/data") or "JSON" in finding.expected):
        texts["answered"] += f"; {unread}"
    cause = _cause(finding, exchanges)
    if cause is not None:
        texts["cause"] = f"{request_summary(cause.request)}, answered with {answered(masking.exchange(cause))}"
    return texts


def request_summary(request: Request) -> str:
    fields = ", ".join(
        f"{name}={_form_value(value, request.form_style)}" for name, value in (request.form or {}).items()
    )
    if request.body is not None:
        fields = f"{request.body[0]}: {_shorten(request.body[1].decode('utf-8', 'replace'), MAX_TEXT)}"
    media_type = media_type_of(request.form_style) if request.form_style != USUAL else "multipart/form-data"
    media_type += ", in chunks" if request.form_style.chunked else ""
    form = f", as {media_type}" if request.form is not None and request.body is None else ""
    sender = f", with {request.identity}" if request.identity != OWN_KEY else ""
    fields = f" with {_shorten(fields, MAX_FORM_LENGTH)}" if fields else ""
    return f"{request.method} {request.target}{fields}{form}{sender}"


def _form_value(value: FormValue, style: FormStyle) -> str:
    if isinstance(value, str):
        return _shorten(value, MAX_TEXT)
    name, content, _ = file_as_sent(value, style)
    return f"the {'' if content else 'empty '}file {name}" if name else 'an empty file input (filename="")'


def answered(exchange: Exchange) -> str:
    if exchange.status is None:
        cut = re.search(r"IncompleteRead\((\d+) bytes read, (\d+) more expected\)", exchange.error)
        if cut:
            return f"no whole answer: the body ended after {cut[1]} bytes, {cut[2]} fewer than its Content-Length says"
        return f"no answer: {_shorten(exchange.error, MAX_VALUE_LENGTH)}"
    types = [printable(text) for name, text in exchange.headers.items() if name.casefold() == "content-type"]
    return f"status {exchange.status}, {types[0] if types else 'no media type'}"


def not_json(content: bytes) -> str:
    """Why a body is not JSON, and where; empty if it is."""
    if not content.strip() or has_too_many_parts(content):
        return f"more than {MAX_PARTS:,} objects and lists" if content.strip() else "the body is empty"
    try:
        text = content.decode("utf-8-sig")
        json.loads(text, parse_constant=refuse_constant)
    except UnicodeDecodeError as error:
        return f"byte {error.start} (0x{content[error.start]:02x}) is not UTF-8"
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())
        remainder = text[error.pos :] if not re.search(r"[{\[]", text[: error.pos]) else text_shape(text[error.pos :])
        return f"not JSON from byte {at} on: {error.msg}, before {_shorten(remainder, 30)!r}"
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "JSON that is nested too deeply"
    return ""


def body(exchange: Exchange) -> str:
    """The beginning of a body: of a page, only its text, which holds the server's own message."""
    text = exchange.body.decode("utf-8", "replace")
    if MARKUP.match(exchange.body):
        text = re.sub(r"(?is)<(script|style)\b.*?</\1\s*>|<[^>]*>", " ", text)
    return _shorten(" ".join(text.split()), MAX_BODY_LENGTH)


def _value(document: Any, at: str) -> dict[str, str]:
    """The value at a JSON pointer; or that it is missing, with a key that looks like it."""
    *path, key = at.split("/")[1:]
    for step in path:
        document = _child(document, step)
    value = _child(document, key)
    if value is not MISSING:
        return {"value": _shorten(json.dumps(value, ensure_ascii=False), MAX_VALUE_LENGTH)}
    keys = [str(name) for name in document] if isinstance(document, dict) else []
    similar = next((name for name in keys if _letters(name) == _letters(key)), "")
    similar = similar or "".join(get_close_matches(key, keys, n=1, cutoff=0.75))
    return {"value": "missing"} | ({"similar": similar} if similar else {})


def _child(document: Any, step: str) -> Any:
    if isinstance(document, dict):
        return document.get(step, MISSING)
    if isinstance(document, list) and step.isdecimal() and int(step) < len(document):
        return document[int(step)]
    return MISSING


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _cause(finding: Violation, exchanges: Iterable[Exchange]) -> Exchange | None:
    """The run's latest write to the record that an answer shows wrongly, or that could not be changed or deleted.

    Of a list that fails, it is the latest write before lists began to fail, if they worked before.
    """
    exchange = finding.exchange
    if exchange.request.operation == "list" and exchange.failed:
        return _last_write_before_failures(exchange, exchanges)
    resource, identifier = exchange.request.resource, exchange.request.identifier
    row = re.match(r"/data/(\d+)", finding.at)
    if row and isinstance(exchange.data, list) and int(row[1]) < len(exchange.data):
        identifier = id_of(exchange.data[int(row[1])])
    if identifier is None or (exchange.request.operation in ("update", "delete") and exchange.succeeded):
        return None
    earlier = (step for step in exchanges if step.number < exchange.number and step.request.resource == resource)
    writes = [step for step in earlier if step.succeeded and _written_id(step) == identifier]
    return max(writes, key=lambda write: write.number, default=None)


def _last_write_before_failures(failure: Exchange, exchanges: Iterable[Exchange]) -> Exchange | None:
    resource = failure.request.resource
    steps = sorted(
        (step for step in exchanges if step.request.resource == resource and step.number <= failure.number),
        key=lambda step: step.number,
    )
    lists = [step for step in steps if step.request.operation == "list" and step.request.identity == OWN_KEY]
    worked_last = max((step.number for step in lists if step.succeeded), default=None)
    if worked_last is None:
        return None
    failed_first = min((step.number for step in lists if step.number > worked_last), default=failure.number)
    writes = [step for step in steps if step.succeeded and step.request.operation in WRITES]
    return next((write for write in reversed(writes) if worked_last < write.number < failed_first), None)


def _written_id(exchange: Exchange) -> Any:
    if exchange.request.operation == "create":
        return exchange.made_id
    return exchange.request.identifier if exchange.request.operation in ("update", "delete") else None


def _shorten(text: str, longest: int) -> str:
    """The beginning of a text, in which no character steers a terminal."""
    beginning = text if len(text) <= longest else f"{text[:longest]}…"
    return printable(beginning).replace("\n", "\\n")
