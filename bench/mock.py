"""Measures the mock beside other mocks and two limits, prints a table, and writes it with a plot to `docs/`.

The servers take turns in one run; what counts are ratios, because machines differ and are noisy. `--rounds` repeats the
whole and takes medians.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from load import USED, rate
from plot import bars
from servers import BARE, PEER_SERVERS, PEERS, PLAIN, PORT, RECORDS, Server, memory, mock_with

DOCS = Path(__file__).parents[1] / "docs"
DEFAULTS = (mock_with(RECORDS), *PEER_SERVERS)
SERVERS = (*DEFAULTS, *(each.quickest() for each in DEFAULTS), PLAIN, BARE)
OURS = SERVERS[0].name
RATES = ("reads", "lists of 25", "lists of 1,000", "creates", "a mix", "1 MB uploads")
PAGES = ("page 1", "last page")
UPLOADS = RATES[-1]
FIRST, MEMORY = "first answer", "memory"
ADDITIONS = 10_000_000
GROWTH = (100, 1000, 10_000, 100_000, 1_000_000)

TEXT = """# Speed

Measure the mock beside other mocks on your machine with `make bench`. This is from
{machine};
16 connections, load by {used}. The first row is what the mock does; the others are multiples of it.
*Quick* is with the options of its documentation that make a server quicker, such as no log. Memory is what is in use
before the uploads, which may keep 32 MB.

{table}

![The rates of each server as bars](speed.svg)

## What was measured

{context}

## With more records

Multiples of page 1 with 100 of them:

{growth}
"""

Figures = dict[str, float]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="how often each server is measured (1)")
    parser.add_argument("--seconds", type=int, default=3, help="of each load (3)")
    parser.add_argument("--only", help="servers whose name contains this text; nothing is written then")
    options = parser.parse_args()
    if options.only is None:
        _install_peers()
    chosen = [each for each in SERVERS if options.only is None or re.search(options.only, each.name)]
    rounds = [{each.name: measured(each, options.seconds) for each in chosen} for _ in range(options.rounds)]
    figures = {name: _medians([each[name] for each in rounds]) for name in rounds[0]}
    print(table := _table(figures))
    if options.only is None:
        print(growth := _growth(options.seconds))
        _write(figures, table, growth)


def _install_peers() -> None:
    """Install the other mocks, once, into `bench/peers`."""
    if not PEERS.exists():
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=PEERS.parent, check=True)


def measured(server: Server, seconds: float, names: Sequence[str] = RATES) -> Figures:
    """The rates of a server, how long it takes to start, and its memory after all of that."""
    with TemporaryDirectory() as folder, server.running(Path(folder)) as (process, first):
        print(f"  {server.name} ...", file=sys.stderr)
        measurable = [name for name in names if name in server.calls]
        rates = {name: rate(PORT, server.calls[name], seconds) for name in measurable if name != UPLOADS}
        figures = {FIRST: first, **rates, MEMORY: memory(process)}
        if UPLOADS in measurable:
            figures[UPLOADS] = rate(PORT, server.calls[UPLOADS], seconds)
        return figures


def _medians(several: list[Figures]) -> Figures:
    return {name: median(each[name] for each in several) for name in several[0]}


def _table(figures: Mapping[str, Figures]) -> str:
    """What this mock does in a second, and what the others do as a multiple of that."""
    rows = [["", FIRST, *RATES, MEMORY]]
    for name, each in figures.items():
        ours = figures.get(OURS, each)
        rates = [
            "-" if what not in each else f"{each[what]:,.0f}/s" if name == OURS else f"x {each[what] / ours[what]:.2f}"
            for what in RATES
        ]
        rows.append([name, f"{each[FIRST]:.1f} s", *rates, f"{each[MEMORY]:.0f} MB"])
    return _aligned(rows)


def _growth(seconds: float) -> str:
    """How the mock does with more and more records."""
    rows = [["records of each resource", FIRST, *PAGES, MEMORY]]
    before: Figures = {}
    for size in GROWTH:
        each = measured(mock_with(size), seconds, PAGES)
        before = before or each
        rates = [f"x {each[name] / before['page 1']:.2f}" for name in PAGES]
        rows.append([f"{size:,}", f"{each[FIRST]:.1f} s", *rates, f"{each[MEMORY]:.0f} MB"])
    return _aligned(rows)


def _aligned(rows: list[list[str]]) -> str:
    """A table that is Markdown as well."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |" for row in rows]
    line = "|" + "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]) + "|"
    return "\n".join([lines[0], line, *lines[1:]])


def _machine() -> str:
    """What the figures were measured on."""
    found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    processor = found[1] if found else platform.machine()
    return (
        f"{os.cpu_count()} cores ({processor}; {_seconds_to_add():.2f} s for ten million additions),"
        f" Python {platform.python_version()}"
    )


def _seconds_to_add() -> float:
    """How long this machine takes for ten million additions, by which its figures can be compared with another's."""
    began = time.perf_counter()
    number = 0
    while number < ADDITIONS:
        number += 1
    return time.perf_counter() - began


def _write(figures: Mapping[str, Figures], table: str, growth: str) -> None:
    context = "\n".join(f"- {each.name}: {each.note}." for each in SERVERS)
    text = TEXT.format(machine=_machine(), used=USED, table=table, growth=growth, context=context)
    (DOCS / "speed.md").write_text(text)
    plotted = [each.name for each in (*DEFAULTS, PLAIN)]  # bare Granian would dwarf all others
    shown = {name: {what: figures[name].get(what, 0) / figures[OURS][what] for what in RATES} for name in plotted}
    (DOCS / "speed.svg").write_text(bars(shown))


if __name__ == "__main__":
    main()
