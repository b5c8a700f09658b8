"""The verdicts as JUnit XML, one test case for each rule and resource."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from contract_tests.reports.causes import Result
from contract_tests.reports.repro import file_of
from contract_tests.reports.results import name_of, rows_of, source_of
from contract_tests.run.verdicts import Verdict

FILE = "junit.xml"
UNPRINTABLE = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML cannot hold
ELEMENTS = {
    Verdict.FAIL: "failure",
    Verdict.INCONCLUSIVE: "error",
    Verdict.NOT_APPLICABLE: "skipped",
}


def write(results: Mapping[str, Any], path: Path) -> None:
    """Write the file.

    Args:
        results: as `results.json` holds them.
        path: where to write.

    Raises:
        OSError: if it cannot be written.
    """
    every = results["results"]
    elements = [(result, _element(result, strict=results["strict"])) for result in every]
    counts = Counter(element for _, element in elements)
    further = [("waiver", text) for text in results["stale_waivers"]] + [
        ("left behind", each) for each in results["left"]
    ]
    suites = Element("testsuites")
    suite = SubElement(
        suites,
        "testsuite",
        name="contract",
        tests=str(len(every) + len(further)),
        failures=str(counts["failure"]),
        errors=str(counts["error"] + len(further)),
        skipped=str(counts["skipped"]),
        time=f"{results['seconds']:.3f}",
    )
    for result, name in elements:
        _case(suite, result, name)
    for classname, text in further:
        SubElement(SubElement(suite, "testcase", classname=classname, name=text, time="0"), "error", message=text)
    # of the suite, since the schema that CI servers use has neither properties nor an output for a case
    properties = SubElement(suite, "properties")
    SubElement(properties, "property", name="verdict", value=_printable(results["verdict"]))
    warnings = [f"warning: {name_of(each)}\n{explain(each)}" for each in every if each["verdict"] == Verdict.WARN]
    if warnings:
        SubElement(suite, "system-out").text = _printable("\n\n".join(warnings))
    indent(suites)
    ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)


def _case(suite: Element, result: Result, name: str) -> None:
    """Add the test case of a result; its name is that of the element in it, if there is one."""
    area = result["rule"].partition(".")[0]
    case = SubElement(suite, "testcase", classname=area, name=name_of(result), time=f"{result['seconds']:.3f}")
    if name:
        element = SubElement(case, name, message=result["statement"])
        element.text = _printable(explain(result))


def _printable(text: str) -> str:
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _element(result: Result, *, strict: bool) -> str:
    """The name of a result's JUnit element; empty if it passed."""
    if result["waived"]:
        return "skipped"
    verdict = Verdict(result["verdict"])
    return "failure" if strict and verdict is Verdict.WARN else ELEMENTS.get(verdict, "")


def explain(result: Result) -> str:
    """Why a verdict is what it is, in a few lines."""
    rows = [("waived", result["waived"])] if result["waived"] else []
    if result["findings"]:
        rows += [("required", result["statement"]), ("source", source_of(result["section"], result["numbers"]))]
    for finding in result["findings"][:2]:
        rows += [*rows_of(finding), ("repeat", finding["repeat"])]
    if result["findings"]:
        rows.append(("script", file_of(result["rule"])))
    return "\n".join([*(f"{name}: {text}" for name, text in rows), *result["reasons"]])
