"""The verdict in a terminal: areas, findings, what could not be decided, and the overall word."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contract_tests.reports.curl import curl
from contract_tests.reports.results import source_of
from contract_tests.reports.summary import COLUMNS, by_area
from contract_tests.run.outcome import Outcome
from contract_tests.run.verdicts import VIOLATED, Result, Verdict

STYLES = {Verdict.FAIL: "bold red", Verdict.WARN: "yellow", Verdict.INCONCLUSIVE: "yellow", Verdict.PASS: "green"}
WORD_STYLES = {"conforms": "bold green", "does not conform": "bold red"}
MOST_FINDINGS = 2


def show(outcome: Outcome, console: Console) -> None:
    """Print an outcome."""
    console.print(_areas(outcome))
    order = list(Verdict)
    for result in sorted(outcome.results, key=lambda each: order.index(each.verdict)):
        if result.verdict in VIOLATED:
            _show_finding(outcome, result, console)
    undecided = [result for result in outcome.results if result.verdict is Verdict.INCONCLUSIVE]
    for reasons, group in groupby(sorted(undecided, key=lambda each: each.reasons), key=lambda each: each.reasons):
        console.print(Text(f"\ninconclusive: {'; '.join(reasons)}", style="yellow"))
        console.print(Padding(Text("\n".join(result.id for result in group)), (0, 0, 0, 2)))
    console.print(_choices(outcome))
    for text in outcome.stale:
        console.print(Text(f"\nwaiver: {text}", style="bold red"))
    for entry in outcome.left:
        console.print(Text(f"\nleft behind: {entry}", style="bold red"))
    for note in outcome.notes:
        console.print(f"\nnote: {note}")
    removed = outcome.created - sum(entry.identifier is not None for entry in outcome.left)
    console.print(
        f"\n{outcome.requests} requests in {outcome.seconds:.1f} s; {outcome.created} records made, {removed} removed"
    )
    console.print(Text(f"\n{outcome.verdict}", style=WORD_STYLES.get(outcome.word, "bold yellow")), soft_wrap=True)


def _areas(outcome: Outcome) -> Table:
    table = Table("area", box=None, pad_edge=False, header_style="bold")
    for verdict in COLUMNS:
        table.add_column(verdict.value, justify="right")
    for area, counts in by_area((result.rule.id, result.verdict) for result in outcome.results).items():
        cells = [Text(str(counts[verdict] or "·"), style=_style(verdict, counts[verdict])) for verdict in COLUMNS]
        table.add_row(area, *cells)
    return table


def _choices(outcome: Outcome) -> RenderableType:
    chosen = ", ".join(f"{name}={'|'.join(sorted(values))}" for name, values in outcome.observed.items())
    return Group(Text("\nleft open by the contract, and chosen there"), Padding(Text(chosen), (0, 0, 0, 2)))


def _show_finding(outcome: Outcome, result: Result, console: Console) -> None:
    title = Text(f"\n{result.verdict.value}: {result.rule.id}", style=STYLES[result.verdict])
    console.print(title.append(f"  {result.resource}", style="default"))
    waived = [("waived", result.waived)] if result.waived else []
    source = source_of(result.rule.section, result.rule.numbers)
    _show_rows([("required", result.rule.statement), ("source", source), *waived], console)
    for finding in result.findings[:MOST_FINDINGS]:
        _show_rows([("expected", finding.expected), ("received", finding.received)], console)
        line = curl(outcome.base_url, finding.exchange.request)
        console.print(Text(f"  repeat    {line}"), soft_wrap=True)  # on one line, so that it can be pasted
    if len(result.findings) > MOST_FINDINGS:
        console.print(f"            and {len(result.findings) - MOST_FINDINGS} more like it")


def _show_rows(rows: Iterable[tuple[str, str]], console: Console) -> None:
    body = Table(box=None, show_header=False, pad_edge=False)
    body.add_column(style="bold", no_wrap=True, min_width=8)
    body.add_column(overflow="fold")
    for name, text in rows:
        body.add_row(name, Text(text))
    console.print(Padding(body, (0, 0, 0, 2)))


def _style(verdict: Verdict, count: int) -> str:
    return STYLES.get(verdict, "") if count else "dim"
