"""What a run would do: the same run, rehearsed against a mock on this machine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contract_tests.exchange import Exchange
from contract_tests.proof import mocks
from contract_tests.proof.mocks import KEY, SECOND_KEY
from contract_tests.run.options import Options
from contract_tests.run.runner import run
from contract_tests.target.connection import Connection
from contract_tests.target.ledger import Ledger
from link_management_contract import Contract

SIZES = (40, 0)  # how many records of each resource the rehearsal's accounts have
NAME = re.compile(r"ct[a-z\d]+-\d+z")
LONGEST = 100  # of an address; some are made up, and very long
RESERVED = re.compile(r"[^\s\"'<>]*example\.com[^\s\"'<>]*")


@dataclass(frozen=True)
class Rehearsal:
    """What a run sent: requests by chapter, records created by resource, the exchanges."""

    chapters: Counter[str]
    created: Counter[str]
    exchanges: tuple[Exchange, ...]


def show(contract: Contract, options: Options, console: Console) -> None:
    """Print what a run with these options would do, on an account with some records and on an empty one."""
    with mocks.serving() as [base_url]:
        rehearsals = [_rehearse(contract, options, base_url, records) for records in SIZES]
    console.print(f"Nothing was sent to {options.base_url}. A run would send, about:")
    console.print(Padding(_requests(rehearsals, options), (1, 0, 1, 2)))
    if not options.limits.read_only:
        console.print("It would create, change and delete records of its own, and leave none:")
        console.print(Padding(_records(rehearsals), (1, 0, 1, 2)))
        console.print("Names begin with ct, a number that is free and a few letters of the run's own.")
        addresses = sorted(set(_addresses(rehearsals)))
        console.print("Hosts and addresses are all under example.com:")
        console.print(Padding(Text("\n".join(addresses)), (1, 0, 0, 2)))


def _rehearse(contract: Contract, options: Options, base_url: str, records: int) -> Rehearsal:
    mocks.reset(base_url, fixture="empty", records=records)
    second = options.second_api_key and SECOND_KEY
    limits = replace(options.limits, interval=0.0, seconds=None, lag=0.0)
    there = replace(options, base_url=base_url, api_key=KEY, second_api_key=second, public_base_url=None, limits=limits)
    began: list[tuple[str, int]] = []
    ledger = Ledger()
    rehearsed = replace(there, connection=Connection(), splash_create_path=None, jobs=1)
    outcome = run(contract, rehearsed, ledger, lambda chapter, sent: began.append((chapter, sent)))
    chapters: Counter[str] = Counter({"asking what is there": began[0][1]})
    ends = [sent for _, sent in began[1:]] + [outcome.requests]
    for (chapter, start), end in zip(began, ends, strict=True):
        chapters[chapter.partition(": ")[2]] += end - start
    created = Counter(entry.resource for entry in ledger.entries if entry.identifier is not None)
    return Rehearsal(chapters, created, outcome.exchanges)


def _table(title: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, no_wrap=True)
    for records in SIZES:
        table.add_column(f"on {records} of each", justify="right")
    return table


def _requests(rehearsals: list[Rehearsal], options: Options) -> Table:
    table = _table("chapter")
    for chapter in rehearsals[0].chapters | rehearsals[1].chapters:
        table.add_row(chapter, *(str(each.chapters[chapter]) for each in rehearsals))
    totals = [each.chapters.total() for each in rehearsals]
    table.add_row("all", *map(str, totals), style="bold")
    if options.limits.interval:
        seconds = (round(total * options.limits.interval) for total in totals)
        table.add_row("time at this rate", *(f"{each // 60} min {each % 60} s" for each in seconds))
    return table


def _records(rehearsals: list[Rehearsal]) -> Table:
    table = _table("records created")
    for resource in rehearsals[0].created | rehearsals[1].created:
        table.add_row(resource, *(str(each.created[resource]) for each in rehearsals))
    return table


def _texts(rehearsal: Rehearsal) -> Iterator[str]:
    for exchange in rehearsal.exchanges:
        yield from (text for text in (exchange.request.form or {}).values() if isinstance(text, str))


def _addresses(rehearsals: list[Rehearsal]) -> Iterator[str]:
    for text in (text for rehearsal in rehearsals for text in _texts(rehearsal)):
        yield from (NAME.sub("ct…", address)[:LONGEST] for address in RESERVED.findall(text))
