"""The verdict of a trial: as JSON, for people, as JUnit XML and as Markdown."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from link_management_contract.texts import printable
from mock_server.errors import SettingsError
from mock_server.trial.campaign import BROKEN, FAILED, NOT_TRIED, OPEN, SURVIVED, TROUBLE, Campaign, Entry

RESULTS, JUNIT, SUMMARY = "results.json", "junit.xml", "summary.md"
RELIES, INTERRUPTED, UNDECIDED = 1, 2, 6  # exit statuses
BY_YOU = "by you"
TITLES = {OPEN: "choices", TROUBLE: "kinds of trouble", BROKEN: "defects"}
FAILS = "fails with"
Document = dict[str, Any]


def document(campaign: Campaign, command: list[str], notes: Collection[str]) -> Document:
    """A verdict as JSON, with an entry for each variation."""
    results: Document = {
        "command": command,
        "runs": campaign.count,
        "seconds": round(campaign.seconds, 1),
        "stopped": campaign.stopped,
        "notes": [f"{note} This may be intended." for note in notes],
        "variations": list(campaign.entries.values()),
    }
    if campaign.chance:
        results["notes"] += [f"By itself, the client fails in {campaign.chance:.0%} of runs."]
    return results | {"status": _status(results)}


def failures(results: Document) -> list[str]:
    """The open points that a client relies on, and the trouble that it does not survive."""
    failed = [each["name"] for each in results["variations"] if each["result"] == FAILED and each["kind"] != BROKEN]
    return list(dict.fromkeys(failed))


def _status(results: Document, accepted: Collection[str] = ()) -> int:
    if set(failures(results)) - set(accepted):
        return RELIES
    return {"": 0, BY_YOU: INTERRUPTED}.get(results["stopped"], UNDECIDED)


def read_failures(baseline: Path) -> list[str]:
    """What a client relied on in an earlier trial.

    Raises:
        SettingsError: if the file, or the folder, does not hold its results.
    """
    path = baseline / RESULTS if baseline.is_dir() else baseline
    try:
        return failures(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the baseline {path} cannot be read: {error!r}; give a {RESULTS} of an earlier trial"
        raise SettingsError(message) from error


def gated(results: Document, before: Collection[str]) -> tuple[Document, list[str]]:
    """The verdict of a client that only has to rely on no more than before, and what has changed."""
    now = failures(results)
    lines = [f"worse than in the baseline: {name}" for name in now if name not in before]
    lines += [f"better than in the baseline: {name}" for name in before if name not in now and not results["stopped"]]
    return results | {"status": _status(results, before)}, lines or ["as in the baseline"]


def text(results: Document) -> str:
    """A verdict for people."""
    rows = list(_rows(results))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = []
    for *row, repeat in rows:
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip())
        lines += [f"{'':{widths[0]}}  {repeat}"] if repeat else []
    for kind, title in TITLES.items():
        if every := [each["result"] for each in results["variations"] if each["kind"] == kind]:
            untried = f"; {every.count(NOT_TRIED)} were not tried" if NOT_TRIED in every else ""
            lines.append(f"survived {every.count(SURVIVED)} of {len(every)} {title}{untried}")
    lines += [f"note: {note}" for note in results["notes"]]
    stopped = results["stopped"] and f", stopped {results['stopped']}"
    return printable("\n".join([*lines, f"{results['runs']} runs in {results['seconds']:.0f} s{stopped}"]))


def _rows(results: Document) -> Iterator[tuple[str, ...]]:
    """What a client relies on: a heading, the choice, what it fails with, where, and the command that shows it."""
    failed = [each for each in results["variations"] if each["result"] == FAILED]
    for name in dict.fromkeys(each["name"] for each in failed if each["kind"] == OPEN):
        every = [each for each in failed if each["name"] == name]
        fails = f"{FAILS} {' or '.join(map(_with, every))}"
        relies = "your client relies on", f"{name} = {every[0]['usual']}", fails, every[0]["request"]
        chosen = {name: every[0]["value"]} | every[0]["together"]
        yield (
            *relies,
            " ".join(["mock-server", *(f"--open {point}={value}" for point, value in sorted(chosen.items()))]),
        )
    for each in failed:
        for finding in each["findings"] if each["kind"] != OPEN else ():
            heading = "trouble" if each["kind"] == TROUBLE else f"a defect, {each['name']}"
            yield heading, each["what"], finding["what"], finding["request"], ""


def _with(entry: Entry) -> str:
    """The value that a client fails with, and others without which it does not."""
    others = [f"{point} = {value}" for point, value in entry["together"].items()]
    return " together with ".join([entry["value"], " and ".join(others)]) if others else str(entry["value"])


def prepare(folder: Path) -> None:
    """Make the folder of the reports.

    Raises:
        SettingsError: if that is impossible.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{folder} cannot be made: {error.strerror}; give another --report-dir") from error


def write(results: Document, folder: Path) -> None:
    """Write the reports.

    Raises:
        SettingsError: if that is impossible.
    """
    try:
        (folder / RESULTS).write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
        (folder / SUMMARY).write_text(markdown(results), "utf-8")
        _write_junit(results, folder / JUNIT)
    except OSError as error:
        raise SettingsError(f"the reports cannot be written to {folder}: {error.strerror}") from error


def markdown(results: Document) -> str:
    """A verdict for the page of a pull request."""
    sign = (
        ("\N{CROSS MARK}" if failures(results) else "\N{WARNING SIGN}")
        if results["status"]
        else "\N{WHITE HEAVY CHECK MARK}"
    )
    command = "".join(f"\\{each}" if each in "\\`*_{}[]<>()#+!|~" else each for each in shlex.join(results["command"]))
    told = text(results).replace("```", "'''")
    return f"## {sign} {printable(command) or 'the client'}\n\n```text\n{told}\n```\n"


def _write_junit(results: Document, path: Path) -> None:
    """Write a test case for each variation; a client need not survive defects."""
    suites, every = Element("testsuites"), results["variations"]
    failed = [each for each in every if each["result"] == FAILED and each["kind"] != BROKEN]
    counts = {"tests": len(every), "failures": len(failed), "errors": 0}
    counts["skipped"] = sum(each["result"] == NOT_TRIED for each in every)
    attributes = {name: str(count) for name, count in counts.items()} | {"time": str(results["seconds"])}
    suite = SubElement(suites, "testsuite", attributes, name="mock-server try")
    for each in every:
        name = f"{each['name']}={each['value']}" if "value" in each else each["name"]
        case = SubElement(suite, "testcase", classname=TITLES[each["kind"]], name=name, time="0")
        if each in failed:
            lines = [f"{finding['what']}: {finding['request']}" for finding in each["findings"]]
            told = printable("\n".join([*lines, each["output"]]))
            SubElement(case, "failure", message=lines[0]).text = told
        elif each["result"] == NOT_TRIED:
            SubElement(case, "skipped", message="stopped before")
    indent(suites)
    ElementTree(suites).write(path, "utf-8", xml_declaration=True)
