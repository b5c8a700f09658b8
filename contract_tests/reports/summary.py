"""The outcome as Markdown, for the page of a CI job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from contract_tests.reports.causes import Group, groups, undecided
from contract_tests.reports.results import rows_of, source_of
from contract_tests.run.verdicts import VIOLATED, Verdict

FILE = "summary.md"
COLUMNS = (Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
MOST = 20  # failures that are listed one by one
SIGNS = {"conforms": "✅", "does not conform": "❌"}


def write(results: dict[str, Any], path: Path) -> None:
    """Write the file.

    Args:
        results: as `results.json` holds them.
        path: where to write.

    Raises:
        OSError: if it cannot be written.
    """
    path.write_text(markdown(results), encoding="utf-8", errors="backslashreplace")


def markdown(results: dict[str, Any]) -> str:
    """The overall word, a table of areas, and what failed or could not be decided."""
    lines = [f"## {SIGNS.get(results['word'], '⚠️')} {results['word']}", ""]
    if results["not_judged"]:
        lines += [f"Not judged: {_plain(', '.join(results['not_judged']))}", ""]
    lines += [f"`{results['base_url']}`, {results['requests']} requests in {results['seconds']:.1f} s", ""]
    lines += [f"| area | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
    for area, counts in by_area(verdicts_of(results)).items():
        lines.append(f"| {area} | {' | '.join(str(counts[verdict] or '·') for verdict in COLUMNS)} |")
    found = groups(results["results"])
    for each in found[:MOST]:
        lines += ["", *_failure(each)]
    if len(found) > MOST:
        lines += ["", f"and {len(found) - MOST} more"]
    blocked = list(undecided(results["results"], found).items())[:MOST]
    lines += ["", *(f"- {len(some)} undecided: {_plain(why)}" for why, some in blocked)]
    lines += [f"- note: {_plain(each)}" for each in results["notes"]]
    lines += [f"- left behind: {_plain(each)}" for each in results["left"]]
    lines += [f"- waiver: {_plain(each)}" for each in results["stale_waivers"]]
    return "\n".join(lines).rstrip() + "\n"


def by_area(verdicts: Iterable[tuple[str, str]]) -> dict[str, Counter[str]]:
    """How many results of each verdict there are, by area, from the rule's id and the verdict of each."""
    counts: dict[str, Counter[str]] = {}
    for rule, verdict in verdicts:
        counts.setdefault(rule.partition(".")[0], Counter())[verdict] += 1
    return dict(sorted(counts.items()))


def verdicts_of(results: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Each result's rule and verdict."""
    return ((each["rule"], each["verdict"]) for each in results["results"])


def fallen_of(results: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of rules found violated."""
    return [each for each in results["results"] if each["verdict"] in VIOLATED]


def _failure(group: Group) -> list[str]:
    result = group.results[0]
    finding = result["findings"][0]
    waived = f", waived: {_plain(result['waived'])}" if result["waived"] else ""
    follows = ", ".join(dict.fromkeys(each["rule"] for each in group.follows))
    return [
        f"**{result['verdict']}: {result['rule']}** for {', '.join(each['kind'] for each in group.results)}{waived}",
        "",
        f"- required: {_plain(result['statement'])} ({_plain(source_of(result['section'], result['numbers']))})",
        *(f"- {name}: {_plain(text)}" for name, text in rows_of(finding)),
        *([f"- follows: {follows}"] if follows else []),
        "- repeat:",
        "",
        "  ```sh",
        f"  {finding['repeat']}",
        "  ```",
    ]


def _plain(text: str) -> str:
    """A text that Markdown shows as it is, in one line."""
    one = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>()#+!|~" else letter for letter in one)
