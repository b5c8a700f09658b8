"""What the runner of a client's tests prints: which tests failed, and why."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, ParseError, parse

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")  # colours, and links
FAILURE_LINES = (
    r"FAILED (\S+::.+?)(?: - .*)?",  # pytest
    r"FAIL +(\S+ > .+)",  # Vitest
    r"(?:\u2718|\u00d7|\u2716|\u2717) +(?:\d+ +)?(.+)",  # Playwright, Vitest, Node
    r"\d+\) +(.+ \u203a .+)",  # Playwright
    r"\u25cf (.+ \u203a .+)",  # Jest
    r"not ok \d+ -? ?(.+)",  # TAP
    r"(?:FAIL|ERROR): (\w+ \(.+\))",  # unittest
    r"--- FAIL: (\S+).*",  # Go
    r"test (\S+) \.\.\. FAILED",  # Cargo
    r"rspec (\S+ # .+)",  # RSpec
)
FAILING = re.compile(rf"\s*(?:{'|'.join(FAILURE_LINES)})\s*")
TRAILING = re.compile(r"(?:\s+\(?\d[\d.]*\s?m?s\)?|\s+\(retry #\d+\)|\s*[\u2500=]+)+$")  # how long it took, or a line
ERROR_LINE = re.compile(
    r"(?:E +)?((?:[\w.]+)?(?:Error|Exception|Failure)(?: \[\w+\])?: .+)|error: '(.+)'|(Test timeout of .+ exceeded.*)"
)
BLOCK = re.compile(r"error: \|-\n\s*(.+)")  # of several lines, as TAP has it
DETAIL, DETAIL_LINES = re.compile(r"(Locator|Expected|Received)\b.*:"), 4  # of an error, where Playwright puts them
TITLE_SEPARATOR = re.compile(" (?:>|\u203a) ")  # between a file, suites and a title
SUITE, SUITE_LINES = "subtestsFailed", 7  # where TAP says that what failed is a suite
OWN_LIMIT = re.compile(
    r"(?:timed out in|timed out after|Test timeout of|Exceeded timeout of|[Tt]imeout of) (\d[\d.]* ?m?s)\b"
)


def without_colours(text: str) -> str:
    """A text without colours."""
    return ESCAPES.sub("", text)


def failing_tests(text: str) -> list[str]:
    """The names of the tests that a runner marks as failed, each once; none that is only made of others."""
    lines = text.splitlines()
    names = dict[str, None]()
    for number, line in enumerate(lines):
        match = FAILING.fullmatch(line)
        if match and SUITE not in "".join(lines[number : number + SUITE_LINES]):
            names[TRAILING.sub("", next(filter(None, match.groups()))).strip()] = None
    return [name for name in names if not any(other != name and other.endswith(name) for other in names)]


def pattern_of(tests: Sequence[str]) -> str:
    """A regular expression that the titles of some tests match, as runners take it (`-t`, `-g`); of all tests, if none.

    Args:
        tests: their names, of which each ends with the title.
    """
    return "|".join(re.sub(r"\W+", ".+", TITLE_SEPARATOR.split(test)[-1].strip()) for test in tests) or "."


def first_error(text: str) -> str:
    """The first error in a text; its last line if it holds neither an error nor a failing test."""
    lines = [line.strip() for line in BLOCK.sub(r"error: '\1'", text).splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if match := ERROR_LINE.fullmatch(line):
            error, next_lines = next(filter(None, match.groups())), lines[number + 1 : number + 1 + DETAIL_LINES]
            details = next_lines[:1] if error.endswith(":") else filter(DETAIL.match, next_lines)
            return "; ".join([error, *details])
    return "" if failing_tests(text) else "".join(lines[-1:])


def own_limit(text: str) -> str:
    """The time limit of the runner itself that ended a test, or an empty string."""
    limit = OWN_LIMIT.search(text)
    return limit[1] if limit else ""


def failing_cases(path: Path, start_time: float) -> dict[str, str] | None:
    """The tests that failed, as a JUnit file says, and their errors; None if it was not written since some time."""
    try:
        is_of_this_run = path.is_file() and path.stat().st_mtime >= start_time
        return dict(_failing_cases(parse(path))) if is_of_this_run else None  # noqa: S314 - the user's own file
    except (OSError, ParseError, ValueError, LookupError):  # the last two of an encoding that nobody can read
        return None


def _failing_cases(report: "ElementTree[Element]") -> Iterator[tuple[str, str]]:
    for case in report.iter("testcase"):
        for failure in (*case.iter("failure"), *case.iter("error")):
            message = (failure.get("message") or failure.text or "").strip()
            yield " > ".join(filter(None, (case.get("classname"), case.get("name")))), message.partition("\n")[0]
