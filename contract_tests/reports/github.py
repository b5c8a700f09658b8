"""What a run reports to GitHub when it runs there: annotations of a job, and a summary on its page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract_tests.reports.causes import groups
from contract_tests.reports.results import name_of, rows_of
from contract_tests.reports.summary import markdown
from contract_tests.run.verdicts import VIOLATED, Verdict

MOST = 10  # annotations of one sort that GitHub shows for a step


def tell(results: dict[str, Any]) -> None:
    """Print annotations, and add to the job's page.

    Args:
        results: as `results.json` holds them.

    Raises:
        OSError: if the summary cannot be written.
    """
    for line in lines_of(results):
        print(line)
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if page:
        with Path(page).open("a", encoding="utf-8") as file:
            file.write(markdown(results))


def lines_of(results: dict[str, Any]) -> Iterator[str]:
    """An error for each violated rule, and a warning for what is advisory, waived or stale, up to ten of each."""
    found = groups(results["results"])
    fallen = [each for group in found for each in group.results] + [each for group in found for each in group.follows]
    gating = VIOLATED if results["strict"] else (Verdict.FAIL,)
    errors = [each for each in fallen if each["verdict"] in gating and not each["waived"]]
    warnings = [each for each in fallen if each not in errors]
    for command, some in (("error", errors), ("warning", warnings)):
        for each in some[:MOST]:
            finding = each["findings"][0]
            rows = [("required", each["statement"]), *rows_of(finding), ("repeat", finding["repeat"])]
            text = "\n".join(f"{name}: {told}" for name, told in rows)
            yield f"::{command} title={name_of(each)}::{_escaped(text)}"
    yield f"::notice::{_escaped(results['verdict'])}"
    if not errors and results["word"].startswith("undecided"):
        yield "::error::undecided: some rules could not be judged; the summary says why"
    for text in [*results["stale_waivers"], *(f"left behind: {each}" for each in results["left"])][:MOST]:
        yield f"::error::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
