"""What a run would do: the same run, rehearsed against a mock on this machine."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from contract_tests.evidence.exchange import Exchange
from contract_tests.proof import KEY, SECOND_KEY, reset, serving
from contract_tests.run import Options, run
from contract_tests.target.connection import Connection
from contract_tests.target.ledger import Ledger
from link_management_contract import Contract

FIRST = "asking what is there"
SIZES = (40, 0)  # how many records of each resource the rehearsal's accounts have
NAME = re.compile(r"ct[a-z\d]+-\d+z")
NO_TIME = 1e-6  # seconds between requests at a rate; what a run leaves out at a rate is left out
LONGEST = 100  # of an address; some are made up, and very long
RESERVED = re.compile(r"[^\s\"'<>]*example\.com[^\s\"'<>]*")


@dataclass(frozen=True)
class TrialRun:
    """What a run sent: requests by chapter, records created by resource, the exchanges."""

    chapters: Counter[str]
    created: Counter[str]
    exchanges: tuple[Exchange, ...]


def show(contract: Contract, options: Options, console: Console) -> None:
    """Print what a run with these options would do, on an account with some records and on an empty one."""
    with serving() as [base_url]:
        trial_runs = [_rehearse(contract, options, base_url, records) for records in SIZES]
    console.print(f"Nothing was sent to {options.base_url}. A run would send, about:\n")
    console.print(_requests(trial_runs, options))
    if options.shrink != 0 and not options.limits.read_only:
        extra_requests = "a quarter more" if options.shrink is None else f"{options.shrink} more"
        console.print(f"If something fails: up to {extra_requests}, for shorter ways to it (--shrink).")
    if not options.limits.read_only:
        console.print("\nIt would create, change and delete records of its own, and leave none:\n")
        console.print(_records(trial_runs))
        console.print("\nNames begin with ct, a free number and a few letters of the run's own.")
        console.print("Hosts and addresses are all under example.com:\n")
        console.print(Text("\n".join(f"  {address}" for address in sorted(set(_addresses(trial_runs))))))


def _rehearse(contract: Contract, options: Options, base_url: str, records: int) -> TrialRun:
    reset(base_url, fixture="empty", records=records)
    trial_options = replace(
        options,
        base_url=base_url,
        api_key=KEY,
        second_api_key=options.second_api_key and SECOND_KEY,
        public_base_url=None,
        splash_create_path=None,
        limits=replace(options.limits, interval=min(options.limits.interval, NO_TIME), seconds=None, lag=0.0, jobs=1),
        connection=Connection(),
    )
    starts: list[tuple[str, int]] = []
    ledger = Ledger()
    outcome = run(contract, trial_options, ledger, lambda chapter, requests: starts.append((chapter, requests)))
    chapters: Counter[str] = Counter({FIRST: starts[0][1]})
    ends = [requests for _, requests in starts[1:]] + [outcome.requests]
    for (chapter, start), end in zip(starts, ends, strict=True):
        chapters[chapter.partition(": ")[2] or FIRST] += end - start
    created = Counter(entry.resource for entry in ledger.entries if entry.identifier is not None)
    return TrialRun(chapters, created, outcome.exchanges)


def _table(title: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"  {title}", no_wrap=True)
    for records in SIZES:
        table.add_column(f"on {records} of each", justify="right")
    return table


def _requests(trial_runs: list[TrialRun], options: Options) -> Table:
    table = _table("chapter")
    for chapter in trial_runs[0].chapters | trial_runs[1].chapters:
        table.add_row(f"  {chapter}", *(str(trial_run.chapters[chapter]) for trial_run in trial_runs))
    totals = [trial_run.chapters.total() for trial_run in trial_runs]
    table.add_row("  all", *map(str, totals), style="bold")
    if options.limits.interval:
        seconds = [round(total * options.limits.interval) for total in totals]
        table.add_row("  time at this rate", *(f"{time // 60} min {time % 60} s" for time in seconds))
    return table


def _records(trial_runs: list[TrialRun]) -> Table:
    table = _table("records created")
    for resource in trial_runs[0].created | trial_runs[1].created:
        table.add_row(f"  {resource}", *(str(trial_run.created[resource]) for trial_run in trial_runs))
    return table


def _addresses(trial_runs: list[TrialRun]) -> Iterator[str]:
    forms = (exchange.request.form or {} for trial_run in trial_runs for exchange in trial_run.exchanges)
    for text in (text for form in forms for text in form.values() if isinstance(text, str)):
        yield from (NAME.sub("ct…", address)[:LONGEST] for address in RESERVED.findall(text))
