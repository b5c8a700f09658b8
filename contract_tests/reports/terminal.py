"""The verdict in a terminal: what was found, in the order in which to mend it, and at the end what to mend first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contract_tests.masking import printable_values
from contract_tests.reports.causes import Group, Result, groups, undecided
from contract_tests.reports.repro import file_of
from contract_tests.reports.results import name_of, rows_of, source_of
from contract_tests.reports.summary import COLUMNS, by_area, verdicts_of
from contract_tests.run.verdicts import Verdict

STYLES = {Verdict.FAIL: "bold red", Verdict.WARN: "yellow", Verdict.INCONCLUSIVE: "yellow", Verdict.PASS: "green"}
WORD_STYLES = {"conforms": "bold green", "does not conform": "bold red"}
MOST_NAMED = 6  # rules that follow from another
MOST_LISTED = 3  # results that could not be judged, or records left behind


def show(results: Mapping[str, Any], console: Console, *, verbose: bool = False, folder: Path | None = None) -> None:
    """Print an outcome.

    Args:
        results: as `results.json` holds them.
        console: where to print.
        verbose: whether to print the areas, the server's choices and every result that could not be judged, too.
        folder: where reports were written, and with them scripts that repeat what was found; or None.
    """
    results = printable_values(results)
    if verbose:
        console.print(_areas(results))
    found = groups(results["results"])
    for group in found:
        _show_group(group, console, folder)
    for why, some in undecided(results["results"], found).items():
        console.print(Text(f"\n{len(some)} not judged: {why}", style="yellow"))
        console.print(Padding(Text(_first(list(map(name_of, some)), every=verbose)), (0, 0, 0, 2)))
    if verbose:
        chosen = ", ".join(f"{name}={'|'.join(sorted(values))}" for name, values in results["open_points"].items())
        console.print(Text("\nleft open by the contract, and chosen there"))
        console.print(Padding(Text(chosen), (0, 0, 0, 2)))
    for text in results["stale_waivers"]:
        console.print(Text(f"\nwaiver: {text}", style="bold red"))
    if results["left"]:
        console.print(Text(f"\nleft behind: {_first(results['left'], every=verbose)}", style="bold red"))
    for note in results["notes"]:
        console.print(f"\nnote: {note}")
    _show_end(results, found, console)


def _show_end(results: Mapping[str, Any], found: list[Group], console: Console) -> None:
    failed = [each for group in found for each in (*group.results, *group.follows) if each["verdict"] == Verdict.FAIL]
    causes = sum(group.results[0]["verdict"] == Verdict.FAIL for group in found)
    counts = f"{len(failed)} of {len(results['results'])} results fail, by {causes} causes; " if failed else ""
    console.print(
        f"\n{counts}{results['requests']} requests in {results['seconds']:.1f} s; "
        f"{results['created']} records made, {results['removed']} removed",
        soft_wrap=True,
    )
    if failed:
        first = f"mend first: {found[0].rule} ({', '.join(each['kind'] for each in found[0].results)})"
        console.print(first, soft_wrap=True)
    style = WORD_STYLES.get(results["word"], "bold yellow")
    console.print(Text(f"\n{results['verdict']}", style=style), soft_wrap=True)


def _areas(results: Mapping[str, Any]) -> Table:
    table = Table("area", box=None, pad_edge=False, header_style="bold")
    for verdict in COLUMNS:
        table.add_column(verdict.value, justify="right")
    for area, counts in by_area(verdicts_of(results)).items():
        cells = [Text(str(counts[verdict] or "·"), style=_style(verdict, counts[verdict])) for verdict in COLUMNS]
        table.add_row(area, *cells)
    return table


def _show_group(group: Group, console: Console, folder: Path | None) -> None:
    first = group.results[0]
    title = Text(f"\n{first['verdict']}: {group.rule}", style=STYLES[first["verdict"]])
    console.print(
        title.append(f"  {', '.join(each['kind'] for each in group.results)}", style="default"), soft_wrap=True
    )
    waived = [("waived", first["waived"])] if first["waived"] else []
    rows = [("required", first["statement"]), ("source", source_of(first["section"], first["numbers"])), *waived]
    finding = first["findings"][0]
    _show_rows([*rows, *rows_of(finding)], console)
    console.print(Text(f"  repeat    {finding['repeat']}"), soft_wrap=True)  # on one line, so that it can be pasted
    if folder:
        console.print(Text(f"  script    {folder / file_of(group.rule)}"), soft_wrap=True)
    further = sum(len(each["findings"]) + each["further_findings"] for each in group.results) - 1
    if further:
        console.print(f"            and {further} more like it")
    if group.follows:
        console.print(Text(f"  follows   {_named(group.follows)}"), soft_wrap=True)


def _first(texts: list[str], *, every: bool) -> str:
    """The first of some texts, a line each."""
    more = [f"and {len(texts) - MOST_LISTED} more"] if len(texts) > MOST_LISTED and not every else []
    return "\n".join([*(texts if every else texts[:MOST_LISTED]), *more])


def _named(results: list[Result]) -> str:
    rules = list(dict.fromkeys(each["rule"] for each in results))
    more = f" and {len(rules) - MOST_NAMED} more" if len(rules) > MOST_NAMED else ""
    return f"{len(results)} results: {', '.join(rules[:MOST_NAMED])}{more}"


def _show_rows(rows: Iterable[tuple[str, str]], console: Console) -> None:
    body = Table(box=None, show_header=False, pad_edge=False)
    body.add_column(style="bold", no_wrap=True, min_width=8)
    body.add_column(overflow="fold")
    for name, text in rows:
        body.add_row(name, Text(text))
    console.print(Padding(body, (0, 0, 0, 2)))


def _style(verdict: Verdict, count: int) -> str:
    return STYLES.get(verdict, "") if count else "dim"
