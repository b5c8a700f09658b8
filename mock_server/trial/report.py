"""The verdict of a trial: as a document, for people, as JUnit XML and as Markdown."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from link_management_contract.texts import printable
from mock_server.defects import DEFECTS
from mock_server.errors import SettingsError
from mock_server.trial.campaign import FAILED, NOT_TRIED, SURVIVED, Verdict
from mock_server.trial.runs import Result
from mock_server.trial.trouble import KINDS

RESULTS, JUNIT, SUMMARY = "results.json", "junit.xml", "summary.md"
RELIES, INTERRUPTED, UNDECIDED = 1, 2, 6  # exit statuses
Document = dict[str, Any]


def document(verdict: Verdict, command: list[str]) -> Document:
    """A verdict as JSON: its words, what the client relies on, and what became of each variation."""
    relies: dict[tuple[str, ...], Document] = {}
    for choices, result in verdict.dependencies:
        names = tuple(sorted({name for name, _ in choices}))
        entry = relies.setdefault(
            names,
            {
                "relies_on": {name: verdict.usual[name] for name in names},
                "fails_with": [],
                "runs": 0,
                "request": verdict.met[choices[-1]],
                "repeat": " ".join(["mock-server", *(f"--open {name}={value}" for name, value in sorted(choices))]),
                **_failure(result),
            },
        )
        entry["fails_with"].append(dict(choices))
        entry["runs"] += verdict.failures[choices[-1]]
    trouble = [
        {
            "name": name,
            "what": KINDS[name].what,
            "result": FAILED if result.why or result.findings else SURVIVED,
            "findings": [{"what": what, "request": request} for what, request in result.findings],
            "hit": list(result.hit),
            **_failure(result),
        }
        for name, result in verdict.trouble.items()
    ]
    told: Document = {
        "command": command,
        "status": 0,
        "runs": verdict.runs,
        "seconds": round(verdict.seconds, 1),
        "first": {"seconds": round(verdict.first.seconds, 1), "requests": verdict.first.count},
        "stopped": verdict.stopped,
        "dependencies": list(relies.values()),
        "choices": [
            {"point": name, "value": value, "request": verdict.met[name, value], "result": result}
            for (name, value), result in verdict.results.items()
        ],
        "trouble": trouble,
        "defects": [
            {"name": name, "rule": DEFECTS[name].rule, "result": FAILED if result.why else SURVIVED}
            for name, result in verdict.defects.items()
        ],
        "notes": [f"{note} This may be intended." for note in verdict.first.unread]
        + ([f"By itself, the client fails in {verdict.chance:.0%} of runs."] if verdict.chance else []),
    }
    return told | {"status": _status(told)}


def _failure(result: Result) -> Document:
    return {"why": result.why, "output": result.output}


def failures(results: Document) -> list[str]:
    """What a client relies on, by name."""
    return [
        *(", ".join(each["relies_on"]) for each in results["dependencies"]),
        *(each["name"] for each in results["trouble"] if each["result"] == FAILED),
    ]


def _status(results: Document, accepted: Collection[str] = ()) -> int:
    if set(failures(results)) - set(accepted):
        return RELIES
    return {"": 0, "by you": INTERRUPTED}.get(results["stopped"], UNDECIDED)


def gated(results: Document, baseline: Path) -> tuple[Document, list[str]]:
    """The verdict of a client that only has to rely on no more than before, and what has changed.

    Raises:
        SettingsError: if there are no results of an earlier trial in the file, or in the folder.
    """
    path = baseline / RESULTS if baseline.is_dir() else baseline
    try:
        before = failures(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(
            f"the baseline {path} cannot be read: {error!r}; give a {RESULTS} of an earlier trial"
        ) from error
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
    for name, title in (("choices", "choices"), ("trouble", "kinds of trouble"), ("defects", "defects")):
        if every := results[name]:
            untried = _count(every, NOT_TRIED)
            more = f"; {untried} were not tried" if untried else ""
            lines.append(f"survived {_count(every, SURVIVED)} of {len(every)} {title}{more}")
    lines += [f"note: {note}" for note in results["notes"]]
    stopped = results["stopped"] and f", stopped {results['stopped']}"
    return printable("\n".join([*lines, f"{results['runs']} runs in {results['seconds']:.0f} s{stopped}"]))


def _rows(results: Document) -> Iterator[tuple[str, str, str, str, str]]:
    """What a client relies on: a heading, the choice, what it fails with, where, and the command that shows it."""
    for each in results["dependencies"]:
        chosen = ", ".join(f"{name} = {value}" for name, value in each["relies_on"].items())
        is_one = len(each["relies_on"]) == 1
        others = [
            ", ".join(pair[1] if is_one else "=".join(pair) for pair in values.items()) for values in each["fails_with"]
        ]
        fails = f"fails with {' or '.join(others)} ({each['runs']} run{'s' * (each['runs'] != 1)})"
        yield "your client relies on", chosen, fails, each["request"], each["repeat"]
    for each in results["trouble"]:
        for finding in each["findings"]:
            yield "trouble", each["what"], finding["what"], finding["request"], ""
        if each["why"]:
            yield "trouble", each["what"], each["why"], ", ".join(each["hit"]), ""
    for each in results["defects"]:
        if each["result"] == FAILED:
            yield "noticed a defect", each["name"], "failed", each["rule"], ""


def _count(every: list[Document], result: str) -> int:
    return sum(each["result"] == result for each in every)


def _cases(results: Document) -> Iterator[tuple[str, str, str, str]]:
    """Group, name, result and explanation of each thing that was varied."""
    why = {
        (
            name,
            value,
        ): f"relies on {each['relies_on']}\n{each['why']}\n{each['request']}\n{each['repeat']}\n{each['output']}"
        for each in results["dependencies"]
        for values in each["fails_with"]
        for name, value in values.items()
    }
    for each in results["choices"]:
        choice = each["point"], each["value"]
        yield "open points", "=".join(choice), each["result"], why.get(choice, "")
    for each in results["trouble"]:
        told = [f"{finding['what']}: {finding['request']}" for finding in each["findings"]]
        yield "trouble", each["name"], each["result"], "\n".join([each["what"], *told, each["why"], each["output"]])
    for each in results["defects"]:  # which a client need not survive
        yield "defects", each["name"], SURVIVED, ""


def write(results: Document, folder: Path) -> None:
    """Write the reports.

    Raises:
        SettingsError: if that is impossible.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RESULTS).write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
        (folder / SUMMARY).write_text(markdown(results), "utf-8")
        _write_junit(results, folder / JUNIT)
    except OSError as error:
        raise SettingsError(
            f"{error.filename} cannot be written: {error.strerror}; give another --report-dir"
        ) from error


def markdown(results: Document) -> str:
    """A verdict for the page of a pull request."""
    found, command = failures(results), shlex.join(results["command"]) or "the client"
    sign = "\N{CROSS MARK}" if found else "\N{WARNING SIGN}" if results["stopped"] else "\N{WHITE HEAVY CHECK MARK}"
    told = text(results).replace("```", "'''")
    return f"## {sign} {_plain(command)}\n\n```text\n{told}\n```\n"


def _plain(line: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>()#+!|~" else letter for letter in printable(line))


def _write_junit(results: Document, path: Path) -> None:
    cases = list(_cases(results))
    suites = Element("testsuites")
    counts = {
        "tests": len(cases),
        "failures": sum(case[2] == FAILED for case in cases),
        "errors": 0,
        "skipped": sum(case[2] == NOT_TRIED for case in cases),
    }
    attributes = {name: str(count) for name, count in counts.items()}
    suite = SubElement(suites, "testsuite", attributes, name="mock-server try", time=str(results["seconds"]))
    for group, name, result, why in cases:
        case = SubElement(suite, "testcase", classname=group, name=name, time="0")
        if result == FAILED:
            SubElement(case, "failure", message=why.partition("\n")[0]).text = printable(why)
        elif result == NOT_TRIED:
            SubElement(case, "skipped", message="stopped before")
    indent(suites)
    ElementTree(suites).write(path, "utf-8", xml_declaration=True)
