"""The verdict of a trial: as JSON, for people, as JUnit XML and as Markdown."""

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from link_management_contract.texts import printable, printable_values, write_whole
from mock_server.errors import SettingsError
from mock_server.trial.client_test import BROKEN, FAILED, GAVE_UP, NOT_TRIED, OPEN, SURVIVED, TROUBLE, ClientTest, Entry
from mock_server.trial.runs import ENDLESS, OWN_LIMIT, Runs

RESULTS, JUNIT, SUMMARY = "results.json", "junit.xml", "summary.md"
RELIES, INTERRUPTED, UNDECIDED, BY_ITSELF = 1, 2, 6, 7  # exit statuses
SIGNS = {0: "\N{WHITE HEAVY CHECK MARK}", RELIES: "\N{CROSS MARK}", BY_ITSELF: "\N{CROSS MARK}"}
LINES_SHOWN, MAX_LINE_LENGTH = 20, 160  # lines of what a client printed, and characters
TESTS_SHOWN = 5  # that failed with a choice, or in trouble
BY_YOU = "by you"
WITHOUT_JUNIT = "A run that failed left no JUnit report in the file of --client-junit; its output names the tests."
TITLES = {OPEN: "choices", TROUBLE: "kinds of trouble", BROKEN: "defects"}
Document = dict[str, Any]


def document(client_test: ClientTest, command: list[str], runs: Runs) -> Document:
    """A verdict as JSON, with an entry for each variation.

    Args:
        client_test: what was tried.
        command: what started the client.
        runs: its runs, about which notes say more.
    """
    results: Document = {
        "command": command,
        "runs": client_test.count,
        "seconds": round(client_test.seconds, 1),
        "stopped": client_test.stop_reason,
        "output": client_test.output,
        "notes": [
            *(f"{remark} This may be intended." for remark in runs.first.unread),
            *([WITHOUT_JUNIT] if runs.lacks_junit else []),
            *filter(None, [client_test.suspicion, client_test.flaky]),
        ],
        "variations": list(client_test.entries.values()),
    }
    return results | {"status": BY_ITSELF if client_test.own_failure else _status(results)}


def failures(results: Document, result: str = FAILED) -> list[str]:
    """The choices that a client fails with, and the trouble in which it does harm, or fails though all is done."""
    return [_name(entry) for entry in results["variations"] if entry["result"] == result and entry["kind"] != BROKEN]


def _name(entry: Entry) -> str:
    return f"{entry['name']}={entry['value']}" if "value" in entry else str(entry["name"])


def _status(results: Document, accepted: Collection[str] = ()) -> int:
    if set(failures(results)) - set(accepted):
        return RELIES
    return {"": 0, BY_YOU: INTERRUPTED}.get(results["stopped"], UNDECIDED)


def read_failures(baseline: Path) -> list[str]:
    """What a client failed with in an earlier trial.

    Raises:
        SettingsError: if the file, or the folder, does not hold its results.
    """
    path = baseline / RESULTS if baseline.is_dir() else baseline
    try:
        return failures(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise SettingsError(f"the baseline {path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"the baseline {path} is not the {RESULTS} of a trial; give one") from error


def gated(results: Document, before: Collection[str]) -> Document:
    """The verdict of a client that only has to fail with no more than before, and what has changed."""
    now, survived = failures(results), failures(results, SURVIVED)
    lines = [f"worse than in the baseline: {name}" for name in now if name not in before]
    lines += [f"better than in the baseline: {name}" for name in before if name in survived]
    changed = {"changes": lines or ["as in the baseline"], "accepted": [name for name in now if name in before]}
    return results | changed | {"status": _status(results, before)}


def text(results: Document) -> str:
    """A verdict for people."""
    rows = list(_rows(results))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [*results["output"].splitlines()[-LINES_SHOWN:]]
    for *row, location, details in rows:
        cells = [f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([*cells, location]).rstrip())
        lines += [f"{'':{widths[0]}}  {line}" for line in details.splitlines()]
    for kind, title in TITLES.items():
        entries = [entry for entry in results["variations"] if entry["kind"] == kind]
        if entries:
            lines += _summary_lines(entries, title)
    lines += [f"note: {note}" for note in results["notes"]] + results.get("changes", [])
    runs = f"{results['runs']} run{'s' * (results['runs'] != 1)} in {results['seconds']:.0f} s"
    return printable("\n".join([*lines, f"{runs}, stopped {results['stopped']}" if results["stopped"] else runs]))


def _summary_lines(entries: list[Entry], title: str) -> Iterator[str]:
    """How many variations of a kind had which result; of defects, those that the client did not notice."""
    counts = Counter(entry["result"] for entry in entries)
    untried_count = counts[NOT_TRIED]
    untried = f"; {untried_count} {'was' if untried_count == 1 else 'were'} not tried" if untried_count else ""
    if title == TITLES[BROKEN]:
        yield f"noticed {counts[FAILED]} of {len(entries)} {title} that no server may have{untried}"
        yield from (
            f"  not noticed: {entry['name']}: {entry['what']}" for entry in entries if entry["result"] == SURVIVED
        )
    else:
        yield f"survived {counts[SURVIVED] + counts[GAVE_UP]} of {len(entries)} {title}{untried}"
        if names := dict.fromkeys(entry["name"] for entry in entries if entry["result"] == NOT_TRIED):
            yield f"  not tried: {', '.join(names)}"
        if careful := [entry["name"] for entry in entries if entry["result"] == GAVE_UP]:
            yield f"  by giving up, without harm: {', '.join(careful)}"


def _rows(results: Document) -> Iterator[tuple[str, ...]]:
    """What a client relies on: a heading, the choice, what it fails with, where that shows first, and more lines.

    The harm that it does in trouble comes first, and what it gives up last.
    """
    failed = [entry for entry in results["variations"] if entry["result"] == FAILED]
    yield from _trouble_rows([entry for entry in failed if entry["kind"] == TROUBLE and entry["harm"]], "harm")
    for name in dict.fromkeys(entry["name"] for entry in failed if entry["kind"] == OPEN):
        group = [entry for entry in failed if entry["name"] == name]
        fails = f"fails with {' or '.join(map(_failing_value, group))}"
        choices = {name: group[0]["value"]} | group[0]["together"]
        repeat = " ".join(["mock-server", *(f"--open {point}={value}" for point, value in sorted(choices.items()))])
        first = f"first seen at {group[0]['request']}"
        yield "your client relies on", f"{name} = {group[0]['usual']}", fails, first, f"{repeat}\n{_details(group[0])}"
    yield from _trouble_rows([entry for entry in failed if entry["kind"] == TROUBLE and not entry["harm"]], "trouble")
    yield from _trouble_rows([entry for entry in results["variations"] if entry["result"] == GAVE_UP], "gives up")


def _trouble_rows(entries: Iterable[Entry], heading: str) -> Iterator[tuple[str, ...]]:
    """A row for each finding; what is told alike of several kinds of trouble is told once, below the last of them."""
    rows = [
        (heading, entry["what"], finding["what"], finding["request"], _details(entry))
        for entry in entries
        for finding in entry["findings"]
    ]
    for row, following in zip_longest(rows, rows[1:]):
        yield (*row[:-1], "" if following and following[-1] == row[-1] else row[-1])


def _details(entry: Entry) -> str:
    """The tests that failed and the first error, and how the client ended if that is not its exit status."""
    endings = [finding["what"] for finding in entry["findings"] if entry["kind"] == OPEN]
    lines = [ending for ending in endings if ENDLESS in ending or OWN_LIMIT in ending]
    tests, first_error = entry["tests"], entry["first_error"]
    lines += [f"in {test}" for test in tests[:TESTS_SHOWN]]
    lines += [f"and {len(tests) - TESTS_SHOWN} more tests"] if len(tests) > TESTS_SHOWN else []
    lines += [f"it said: {first_error}"] if first_error else []
    return "\n".join(
        line if len(line) <= MAX_LINE_LENGTH else f"{line[:MAX_LINE_LENGTH]}\N{HORIZONTAL ELLIPSIS}" for line in lines
    )


def _failing_value(entry: Entry) -> str:
    """The value that a client fails with, and the others without which it does not."""
    other_values = [f"{point} = {value}" for point, value in entry["together"].items()]
    return f"{entry['value']}{' together with ' * bool(other_values)}{' and '.join(other_values)}"


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
    """Write the reports; a full disk leaves those of an earlier trial as they were.

    Raises:
        SettingsError: if that is impossible.
    """
    try:
        results_json = json.dumps(printable_values(results), indent=1, ensure_ascii=False) + "\n"
        for name, content in {RESULTS: results_json, SUMMARY: markdown(results), JUNIT: _junit(results)}.items():
            write_whole(folder / name, content)
    except OSError as error:
        raise SettingsError(f"the reports cannot be written to {folder}: {error.strerror}") from error


def markdown(results: Document) -> str:
    """A verdict for the page of a pull request."""
    sign = SIGNS.get(results["status"], "\N{WARNING SIGN}")
    command = printable(f"mock-server try -- {shlex.join(results['command'])}") if results["command"] else "--manual"
    report_text = f"{command}\n{text(results)}".replace("```", "'''")
    return f"## {sign} mock-server try\n\n```text\n{report_text}\n```\n"


def _junit(results: Document) -> str:
    """A test case for each variation; a client need not survive defects, nor what a baseline has already."""
    suites = Element("testsuites")
    suite = SubElement(suites, "testsuite", name="mock-server try", time=str(results["seconds"]))
    for entry in results["variations"]:
        case = SubElement(suite, "testcase", classname=TITLES[entry["kind"]], name=_name(entry), time="0")
        lines = [printable(f"{finding['what']}: {finding['request']}") for finding in entry["findings"]]
        if entry["result"] == NOT_TRIED or _name(entry) in results.get("accepted", ()):
            SubElement(case, "skipped", message="as in the baseline" if lines else "stopped before")
        elif _name(entry) in failures(results):
            SubElement(case, "failure", message=lines[0]).text = "\n".join([*lines, printable(entry["output"])])
    if results["status"] == BY_ITSELF:
        case = SubElement(suite, "testcase", classname="client", name="default choices", time="0")
        SubElement(case, "error", message=printable(results["stopped"])).text = printable(results["output"])
    for name, path in {"tests": "*", "failures": "*/failure", "errors": "*/error", "skipped": "*/skipped"}.items():
        suite.set(name, str(len(suite.findall(path))))
    indent(suites)
    return tostring(suites, "unicode", xml_declaration=True) + "\n"
