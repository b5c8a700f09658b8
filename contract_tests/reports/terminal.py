"""The verdict in a terminal: what was found, in the order in which to fix it, and at the end what to fix first."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from contract_tests.output import print_to
from contract_tests.reports.causes import CauseGroup, groups, undecided
from contract_tests.reports.ci import COLUMNS, by_area
from contract_tests.reports.results import answers_of, name_of, rows_of, source_of
from contract_tests.repro.script import file_of
from contract_tests.verdicts.verdicts import Verdict
from link_management_contract.texts import printable_values

STYLES = {Verdict.FAIL: "bold red", Verdict.WARN: "yellow", Verdict.INCONCLUSIVE: "yellow", Verdict.PASS: "green"}
WORD_STYLES = {"conforms": "bold green", "does not conform": "bold red"}
MAX_RULES_NAMED = 6  # rules that follow from another
MAX_RESULTS_LISTED = 3  # results that could not be judged
INDENT, MIN_WIDTH = 12, 40  # columns


class TerminalConsole(Console):
    """Standard output, or standard error; no text is taken for markup, and nothing is padded in a pipe."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, in a pipe without styles and without spaces at the ends of lines."""
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as captured:
            super().print(*objects, **options)
        text = re.sub(r" +$", "", captured.get(), flags=re.MULTILINE).removesuffix("\n")
        print_to(sys.stderr if self.stderr else sys.stdout, text)


def show(
    results: Mapping[str, Any],
    console: Console,
    *,
    verbose: bool = False,
    folder: Path | None = None,
    changes: Sequence[str] = (),
) -> None:
    """Print an outcome.

    Args:
        verbose: whether to print the areas, the server's choices and every result that could not be judged, too.
        folder: where reports were written, and with them scripts that repeat what was found; or None.
        changes: what is worse and better than in an earlier run.
    """
    results = printable_values(results)
    if verbose:
        console.print(_areas(results))
    cause_groups = groups(results["results"])
    for group in cause_groups:
        _show_group(group, console, folder)
    for reason, checks in undecided(results["results"], cause_groups).items():
        console.print(Text(f"\n{len(checks)} not judged: {reason}", style="yellow"))
        limit = len(checks) if verbose else MAX_RESULTS_LISTED
        names = [*map(_doubted, checks[:limit]), *([f"and {len(checks) - limit} more"] if len(checks) > limit else [])]
        console.print(Text("\n".join(f"  {name}" for name in names)))
    if verbose:
        choices = ", ".join(f"{name}={'|'.join(sorted(values))}" for name, values in results["open_points"].items())
        console.print(Text("\nleft open by the contract, and chosen there"))
        _show_rows([("", choices)], console, indent=2)
    for text in results["stale_waivers"]:
        console.print(Text(f"\nwaiver: {text}", style="bold red"))
    for text in results.get("exceeded", []):
        console.print(Text(f"\nlimit: {text}", style="bold red"), soft_wrap=True)
    for note in results["notes"]:
        console.print(f"\nnote: {note}")
    _show_end(results, cause_groups, console, changes)


def _doubted(result: Mapping[str, Any]) -> str:
    """What could not be judged, and what seemed broken, if anything did."""
    seemed = [f": received {finding['received']}" for finding in result["findings"][:1]]
    return "".join([name_of(result), *seemed])


def _show_end(
    results: Mapping[str, Any], cause_groups: list[CauseGroup], console: Console, changes: Sequence[str]
) -> None:
    all_violations = [result for group in cause_groups for result in (*group.results, *group.follows)]
    failed = sum(result["verdict"] == Verdict.FAIL for result in all_violations)
    if failed:
        causes = sum(group.results[0]["verdict"] == Verdict.FAIL for group in cause_groups)
        counts = f"{failed} of {len(results['results'])} checks failed ({causes} root cause{'s' * (causes > 1)})"
        first = f"{cause_groups[0].rule} ({', '.join(result['kind'] for result in cause_groups[0].results)})"
        console.print(f"\n{counts}\nfix this first: {first}", soft_wrap=True)
    records = f"{results['created']} records created, {results['removed']} removed"
    console.print(f"\n{results['requests']} requests in {results['seconds']:.1f} s; {records}", soft_wrap=True)
    console.print(answers_of(results))
    if changes:
        console.print("\n".join(["", *changes]), soft_wrap=True)
    style = WORD_STYLES.get(results["word"], "bold yellow")
    console.print(Text(f"\n{results['verdict']}", style=style), soft_wrap=True)


def _areas(results: Mapping[str, Any]) -> Table:
    table = Table("area", box=None, pad_edge=False, header_style="bold")
    for verdict in COLUMNS:
        table.add_column(verdict.value, justify="right")
    for area, counts in by_area(results).items():
        styles = [STYLES.get(verdict, "") if counts[verdict] else "dim" for verdict in COLUMNS]
        cells = [str(counts[verdict] or "·") for verdict in COLUMNS]
        table.add_row(area, *map(Text, cells, styles))
    return table


def _show_group(group: CauseGroup, console: Console, folder: Path | None) -> None:
    first = group.results[0]
    finding = first["findings"][0]
    title = Text(f"\n{first['verdict']}: {group.rule}", style=STYLES[first["verdict"]])
    resources = ", ".join(result["kind"] for result in group.results)
    console.print(title.append(f"  {resources}", style="default"), soft_wrap=True)
    waived = [("waived", first["waived"])] if first["waived"] else []
    rows = [("required", first["statement"]), ("source", source_of(first)), *waived, *rows_of(finding)]
    _show_rows(rows, console)
    script = folder and "no_script" not in finding and str(folder / file_of(group.rule))
    lines = [("repeat", finding["repeat"]), ("script", script)]
    for name, text in [*lines, ("trace", finding.get("trace"))]:
        if text:
            console.print(Text(f"  {name:8}  {text}"), soft_wrap=True)  # on one line, so that it can be pasted
    further_count = sum(len(result["findings"]) + result["further_findings"] for result in group.results) - 1
    if further_count:
        console.print(f"            and {further_count} more like it")
    if group.follows:
        rules = list(dict.fromkeys(result["rule"] for result in group.follows))
        omission_note = f" and {len(rules) - MAX_RULES_NAMED} more" if len(rules) > MAX_RULES_NAMED else ""
        checks = "1 check" if len(group.follows) == 1 else f"{len(group.follows)} checks"
        follows = f"{checks}: {', '.join(rules[:MAX_RULES_NAMED])}{omission_note}"
        console.print(Text(f"  follows   {follows}"), soft_wrap=True)


def _show_rows(rows: Iterable[tuple[str, str]], console: Console, indent: int = INDENT) -> None:
    width = max(MIN_WIDTH, console.width - indent)
    for name, text in rows:
        lines = [part for line in text.splitlines() for part in wrap(line, width, break_on_hyphens=False) or [""]] or [
            ""
        ]
        for number, line in enumerate(lines):
            title = f"  {name if number == 0 else ''}".ljust(indent)
            console.print(Text(title, style="bold").append(line, style="not bold"), soft_wrap=True)
