"""The outcome for CI servers: JUnit XML, a summary as Markdown, and GitHub's annotations.

Each takes results as `results.json` holds them.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from contract_tests.output import runs_in_github
from contract_tests.reports.causes import CauseGroup, Result, groups, undecided
from contract_tests.reports.results import answers_of, name_of, rows_of, source_of
from contract_tests.repro.script import file_of
from contract_tests.verdicts.verdicts import VIOLATED, Verdict
from link_management_contract import Contract
from link_management_contract.texts import write_whole

JUNIT, CTRF, SUMMARY, COMMENT = "junit.xml", "ctrf.json", "summary.md", "comment.md"
SARIF, SARIF_LEVELS = "results.sarif", {Verdict.FAIL: "error", Verdict.WARN: "warning"}
COMMENT_MARKER, MAX_COMMENT_LENGTH = "<!-- contract-tests -->", 65_000  # by which a comment is found again; characters
UNPRINTABLE = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML cannot hold
ELEMENTS = {
    Verdict.FAIL: "failure",
    Verdict.INCONCLUSIVE: "error",
    Verdict.NOT_APPLICABLE: "skipped",
    Verdict.WARN: "skipped",  # which, unlike the output of a test that passes, CI servers show
}
COLUMNS = (Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
MAX_FAILURES_LISTED = 20  # failures that the summary lists one by one
MAX_ANNOTATIONS = 10  # of one sort that GitHub shows for a step
FENCE = "\n  ```"
SIGNS = {"conforms": "✅", "does not conform": "❌"}


def write_ctrf(results: Mapping[str, Any], path: Path) -> None:
    """Write the verdicts as a Common Test Report.

    Raises:
        OSError: if it cannot be written.
    """
    write_whole(path, f"{json.dumps(ctrf(results), indent=1, ensure_ascii=False)}\n")


def sarif(results: Mapping[str, Any], contract: Contract) -> dict[str, Any]:
    """What was found, for code scanning (SARIF 2.1.0): each finding at the line of its rule in the contract."""
    lines = contract.text.splitlines()
    violated = [result for result in results["results"] if result["verdict"] in VIOLATED and not result["waived"]]
    rules = {
        result["rule"]: {
            "id": result["rule"],
            "shortDescription": {"text": result["statement"]},
            "fullDescription": {"text": result["statement"]},
            "help": {"text": f"{result['statement']} {source_of(result)}; `contract-tests rules {result['rule']}`."},
        }
        for result in violated
    }
    findings = [
        {
            "ruleId": result["rule"],
            "level": SARIF_LEVELS[result["verdict"]],
            "message": {
                "text": f"{result['kind']}: expected {finding['expected']}; received {finding['received']}\n"
                f"{finding['sent']}, answered with {finding['answered']}"
            },
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "openapi.yaml"},
                        "region": {"startLine": _line_of(result["rule"], lines)},
                    }
                }
            ],
            "partialFingerprints": {"rule/v1": name_of(result), "primaryLocationLineHash": name_of(result)},
        }
        for result in violated
        for finding in result["findings"][:1]
    ]
    driver = {"name": "contract-tests", "version": results["suite_version"], "rules": list(rules.values())}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    verdict = {"level": "note", "message": {"text": results["verdict"]}}
    invocation = {"executionSuccessful": True, "toolExecutionNotifications": [verdict]}
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": findings}
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}


def _line_of(rule: str, lines: Sequence[str]) -> int:
    return next((number for number, line in enumerate(lines, 1) if line.strip() == f"- id: {rule}"), 1)


def write_junit(results: Mapping[str, Any], path: Path) -> None:
    """Write the verdicts as JUnit XML, one test case for each rule and resource.

    Raises:
        OSError: if it cannot be written.
    """
    rows = results["results"]
    elements = [(result, _element(result, strict=results["strict"])) for result in rows]
    factor = results["seconds"] / (sum(result["seconds"] for result in rows) or 1)  # an answer may serve several rules
    counts = Counter(element for _, element in elements)
    other_errors = [("waiver", text) for text in results["stale_waivers"]]
    other_errors += [("limit", text) for text in results.get("exceeded", [])]
    other_errors += [("left behind", text) for text in results["left"]]
    suites = Element("testsuites")
    suite = SubElement(
        suites,
        "testsuite",
        name="contract",
        tests=str(len(rows) + len(other_errors)),
        failures=str(counts["failure"]),
        errors=str(counts["error"] + len(other_errors)),
        skipped=str(counts["skipped"]),
        time=f"{results['seconds']:.3f}",
    )
    for result, element in elements:
        area = result["rule"].partition(".")[0]
        seconds = f"{result['seconds'] * factor:.3f}"
        case = SubElement(suite, "testcase", classname=area, name=name_of(result), time=seconds)
        if element:
            warning = "warning: " if result["verdict"] == Verdict.WARN and element == "skipped" else ""
            SubElement(case, element, message=f"{warning}{result['statement']}").text = _for_xml(explain(result))
    for classname, text in other_errors:
        SubElement(SubElement(suite, "testcase", classname=classname, name=text, time="0"), "error", message=text)
    # of the suite, since the schema that CI servers use has neither properties nor an output for a case
    properties = SubElement(suite, "properties")
    SubElement(properties, "property", name="verdict", value=_for_xml(results["verdict"]))
    indent(suites)
    ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


CTRF_STATUS = {Verdict.PASS: "passed", Verdict.FAIL: "failed", Verdict.NOT_APPLICABLE: "skipped"}


def ctrf(results: Mapping[str, Any]) -> dict[str, Any]:
    """The verdicts as a Common Test Report (ctrf.io), one test for each rule and resource."""
    tests = [
        {
            "name": name_of(result),
            "suite": [result["rule"].partition(".")[0]],
            "status": "skipped" if result["waived"] else CTRF_STATUS.get(Verdict(result["verdict"]), "other"),
            "rawStatus": result["verdict"],
            "duration": round(result["seconds"] * 1000),
            "message": result["statement"],
            **({"trace": text} if (text := explain(result)) else {}),
        }
        for result in results["results"]
    ]
    counts = Counter(test["status"] for test in tests)
    start = round(datetime.fromisoformat(results["began"]).timestamp() * 1000)
    times = {"start": start, "stop": start + round(results["seconds"] * 1000)}
    statuses = ("passed", "failed", "pending", "skipped", "other")
    summary = {"tests": len(tests)} | {status: counts[status] for status in statuses} | times
    tool = {"name": "contract-tests", "version": results["suite_version"]}
    content = {"tool": tool, "summary": summary, "tests": tests, "extra": {"verdict": results["verdict"]}}
    return {"reportFormat": "CTRF", "specVersion": "0.0.0", "results": content}


def _for_xml(text: str) -> str:
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _element(result: Result, *, strict: bool) -> str:
    if result["waived"]:
        return "skipped"
    verdict = Verdict(result["verdict"])
    return "failure" if strict and verdict is Verdict.WARN else ELEMENTS.get(verdict, "")


def explain(result: Result) -> str:
    rows = [("waived", result["waived"])] if result["waived"] else []
    if result["findings"]:
        rows += [("required", result["statement"]), ("source", source_of(result))]
    for finding in result["findings"][:2]:
        rows += [*rows_of(finding), *_ways_to(finding)]
    if result["findings"] and "no_script" not in result["findings"][0]:
        rows.append(("script", file_of(result["rule"])))
    return "\n".join([*(f"{name}: {text}" for name, text in rows), *result["reasons"]])


def markdown(results: Mapping[str, Any], changes: Iterable[str] = ()) -> str:
    """The overall word, what has changed since a baseline, areas, and what failed or could not be decided."""
    lines = [f"## {SIGNS.get(results['word'], '⚠️')} {results['headline']}", ""]
    changed = [f"- {_markdown(change)}" for change in changes]
    lines += ["Since the baseline:", "", *changed, ""] if changed else []
    if results["not_judged"]:
        lines += [f"Not judged: {_markdown(', '.join(results['not_judged']))}", ""]
    requests = f"{results['requests']} requests in {results['seconds']:.1f} s"
    lines += [f"`{results['base_url']}`, {requests}; {answers_of(results)}", ""]
    lines += [f"| area | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
    for area, counts in by_area(results).items():
        lines.append(f"| {area} | {' | '.join(str(counts[verdict] or '·') for verdict in COLUMNS)} |")
    cause_groups = groups(results["results"])
    for group in cause_groups[:MAX_FAILURES_LISTED]:
        lines += ["", *_failure(group)]
    if len(cause_groups) > MAX_FAILURES_LISTED:
        lines += ["", f"and {len(cause_groups) - MAX_FAILURES_LISTED} more"]
    blocked = list(undecided(results["results"], cause_groups).items())[:MAX_FAILURES_LISTED]
    lines += ["", *(f"- {len(checks)} undecided: {_markdown(reason)}" for reason, checks in blocked)]
    for title, key in (("note", "notes"), ("left behind", "left"), ("waiver", "stale_waivers"), ("limit", "exceeded")):
        lines += [f"- {title}: {_markdown(text)}" for text in results.get(key, [])]
    return "\n".join(lines).rstrip() + "\n"


def comment(results: Mapping[str, Any], changes: Iterable[str] = ()) -> str:
    """The summary as a comment on a pull request, no longer than servers take, with what is worse and better first."""
    text = f"{COMMENT_MARKER}\n{markdown(results, changes)}"
    if len(text) <= MAX_COMMENT_LENGTH:
        return text
    end = f"\n\nThe rest is in `{SUMMARY}`.\n"
    excerpt = text[: MAX_COMMENT_LENGTH - len(end) - len(FENCE)].rpartition("\n")[0]
    return f"{excerpt}{FENCE if excerpt.count('```') % 2 else ''}{end}"


def by_area(results: Mapping[str, Any]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for result in results["results"]:
        counts.setdefault(result["rule"].partition(".")[0], Counter())[result["verdict"]] += 1
    return dict(sorted(counts.items()))


def _failure(group: CauseGroup) -> list[str]:
    result = group.results[0]
    finding = result["findings"][0]
    waived = f", waived: {_markdown(result['waived'])}" if result["waived"] else ""
    follows = ", ".join(dict.fromkeys(violation["rule"] for violation in group.follows))
    kinds = ", ".join(violation["kind"] for violation in group.results)
    return [
        f"**{result['verdict']}: {result['rule']}** for {kinds}{waived}",
        "",
        f"- required: {_markdown(result['statement'])} ({_markdown(source_of(result))})",
        *(f"- {name}: {_markdown(text)}" for name, text in rows_of(finding)),
        *([f"- follows: {follows}"] if follows else []),
        *(["- repeat:", "", "  ```sh", f"  {finding['repeat']}", "  ```"] if finding["repeat"] else []),
        *([] if "no_script" in finding else [f"- script: `{file_of(result['rule'])}`"]),
        *([f"- trace: `{finding['trace']}`"] if "trace" in finding else []),
    ]


def _ways_to(finding: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How to repeat a finding, and where a server's traces may hold it, as far as that is known."""
    return [(name, finding[name]) for name in ("repeat", "trace") if finding.get(name)]


def _markdown(text: str) -> str:
    one = " ".join(text.split())
    literal = "".join(f"\\{letter}" if letter in "\\`*_{}[]<>()#+!|~" else letter for letter in one)
    return literal.replace("@", "&#64;")  # which would call people


def report_to_github(
    results: Mapping[str, Any], changes: Iterable[str] = (), worsened: Mapping[str, str] | None = None
) -> None:
    """Print annotations, and add the summary to the job's page.

    Args:
        changes: what has changed since the baseline, if there is one.
        worsened: by name, the results that are worse than in the baseline; None without one.

    Raises:
        OSError: if the summary cannot be written.
    """
    for line in annotations_of(results, worsened):
        print(line)
    _add_to_page(markdown(results, changes))


def report_unusable(reason: str, folder: Path | None) -> None:
    """Say why nothing could be judged, where a verdict would stand: in a folder of reports, and on a job's page.

    Raises:
        OSError: if that cannot be written.
    """
    text = f"# ❌ nothing was judged\n\n{_markdown(reason)}\n"
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / SUMMARY, text)
        write_whole(folder / COMMENT, f"{COMMENT_MARKER}\n{text}")
    if runs_in_github():
        print(f"::error::nothing was judged: {_escape_command(reason)}")
        _add_to_page(text)


def _add_to_page(text: str) -> None:
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if page:
        with Path(page).open("a", encoding="utf-8") as file:
            file.write(text)


def annotations_of(results: Mapping[str, Any], worsened: Mapping[str, str] | None = None) -> Iterator[str]:
    """An error for each violated rule, and a warning for what is advisory, waived or stale, up to ten of each.

    With a baseline, only what is worse than there is an error.
    """
    cause_groups = groups(results["results"])
    violated = [result for group in cause_groups for result in group.results]
    violated += [result for group in cause_groups for result in group.follows]
    gating = VIOLATED if results["strict"] else (Verdict.FAIL,)
    errors = [result for result in violated if result["verdict"] in gating and not result["waived"]]
    errors = [result for result in errors if worsened is None or name_of(result) in worsened]
    yield from _annotations("error", errors)
    yield from _annotations("warning", [result for result in violated if result not in errors])
    yield f"::notice::{_escape_command(results['verdict'])}"
    if not errors and worsened != {} and results["word"].startswith("undecided"):
        yield "::error::undecided: some rules could not be judged; the summary says why"
    records = [f"left behind: {text}" for text in results["left"]]
    problems = [*results["stale_waivers"], *results.get("exceeded", []), *records]
    for text in problems[:MAX_ANNOTATIONS]:
        yield f"::error::{_escape_command(text)}"


def _annotations(command: str, results: Iterable[Result]) -> Iterator[str]:
    for result in list(results)[:MAX_ANNOTATIONS]:
        finding = result["findings"][0]
        rows = [("required", result["statement"]), *rows_of(finding), *_ways_to(finding)]
        text = "\n".join(f"{name}: {value}" for name, value in rows)
        yield f"::{command} title={name_of(result)}::{_escape_command(text)}"


def _escape_command(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
