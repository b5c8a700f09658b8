"""The verdicts as JUnit XML, one test case for each rule and resource."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from contract_tests.reports.results import source_of
from contract_tests.run.outcome import Outcome
from contract_tests.run.verdicts import Result, Verdict

FILE = "junit.xml"
UNPRINTABLE = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML cannot hold
ELEMENTS = {
    Verdict.FAIL: "failure",
    Verdict.INCONCLUSIVE: "error",
    Verdict.NOT_APPLICABLE: "skipped",
}


def write(outcome: Outcome, path: Path) -> None:
    """Write the file.

    Raises:
        OSError: if it cannot be written.
    """
    results = outcome.results
    elements = [(result, _element(result, strict=outcome.strict)) for result in results]
    counts = Counter(element for _, element in elements)
    counts["error"] += len(outcome.stale) + len(outcome.left)
    suites = Element("testsuites")
    suite = SubElement(
        suites,
        "testsuite",
        name="contract",
        tests=str(len(results) + len(outcome.stale) + len(outcome.left)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
        time=f"{outcome.seconds:.3f}",
    )
    for result, name in elements:
        case = SubElement(suite, "testcase", classname=result.resource, name=result.rule.id, time="0")
        if name:
            element = SubElement(case, name, message=result.rule.statement)
            element.text = _printable(explain(result))
    for classname, texts in (("waiver", outcome.stale), ("left behind", map(str, outcome.left))):
        for text in texts:
            SubElement(SubElement(suite, "testcase", classname=classname, name=text, time="0"), "error", message=text)
    # the verdict and warnings are properties of the suite, since the schema that CI servers use has none for a case
    warnings = SubElement(suite, "properties")
    SubElement(warnings, "property", name="verdict", value=_printable(outcome.verdict))
    for result in results:
        if result.verdict is Verdict.WARN:
            text = _printable(explain(result))
            SubElement(warnings, "property", name=f"warning: {result.id}", value=text)
    indent(suites)
    ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def _printable(text: str) -> str:
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _element(result: Result, *, strict: bool) -> str:
    """The name of a result's JUnit element; empty if it passed."""
    if result.waived:
        return "skipped"
    return "failure" if strict and result.verdict is Verdict.WARN else ELEMENTS.get(result.verdict, "")


def explain(result: Result) -> str:
    """Why a verdict is what it is, in a few lines."""
    lines = [f"waived: {result.waived}"] if result.waived else []
    source = source_of(result.rule.section, result.rule.numbers)
    lines += [f"required: {result.rule.statement}", f"source:   {source}"] if result.findings else []
    for finding in result.findings[:2]:
        request = finding.exchange.request
        lines += [
            f"request:  {request.method} {request.path} with {request.identity}",
            f"expected: {finding.expected}",
            f"received: {finding.received}",
        ]
    return "\n".join([*lines, *result.reasons])
