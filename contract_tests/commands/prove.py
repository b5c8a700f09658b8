"""The command `contract-tests prove`, and the kill matrix that it prints: in a terminal, as Markdown and as JSON."""

import gc
import json
import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from queue import Empty
from statistics import median
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from contract_tests.commands.run import Interrupts
from contract_tests.errors import BROKEN, StoppedError, UsageError
from contract_tests.options import ProveOptions
from contract_tests.output import complain
from contract_tests.proof import (
    Defect,
    Judgement,
    Proof,
    Row,
    ServerSetup,
    conditions,
    defects,
    greased,
    hostile,
    judge,
    serving,
    trials_of,
)
from contract_tests.reports.terminal import TerminalConsole
from link_management_contract import Contract, shipped_contract
from link_management_contract.texts import write_whole

COLUMNS = ("area", "defects", "caught by their rule", "requests until the first finding")
DEFECT_COLUMNS = ("defect", "breaks", "caught", "others that fell", "requests")
SECONDS_BETWEEN = 1.0  # looks at the workers
SECONDS_BETWEEN_LINES = 30  # of progress, without a terminal
WORKERS_A_CORE = 4  # a trial of a defect mostly waits, since the server might be slow rather than wrong
SHORT_GREASE, SHORT_DEFECTS = 8, 7  # for a short proof: the number of seeds, and the step from defect to defect
ENOUGH_SEEDS = 5  # of each defect, to show everything that it breaks


def prove_command(contract: Contract, options: ProveOptions) -> int:
    """Judge servers known to be correct or to have a defect, and report the results.

    Returns:
        0 if each defect is caught by its own rule, and no correct server fails or keeps a run's record, else 1; 3 if
        a form of the matrix could not be written.

    Raises:
        UsageError: if a defect is unknown, or there is no mock server.
        StoppedError: if a worker process died.
    """
    Interrupts()
    is_complete = not options.defect and not options.short and options.seeds >= ENOUGH_SEEDS
    workers = options.jobs or WORKERS_A_CORE * (os.cpu_count() or 1)
    if options.defect:
        workers = min(workers, len(options.defect) * options.seeds)
    with serving(workers) as base_urls:
        defects_by_name = defects(base_urls[0])
        servers = _servers_to_judge(contract, options, defects_by_name, conditions(base_urls[0]))
        judgements = _with_progress(_judge_all(base_urls, servers), len(servers))
        proof = Proof.of(contract.rules, defects_by_name, judgements, complete=is_complete)
    show(proof, TerminalConsole(), by_defect=bool(options.defect))
    return _write(proof, options) or int(bool(proof.failures))


def _servers_to_judge(
    contract: Contract, options: ProveOptions, defects_by_name: dict[str, Defect], amounts_of: dict[str, list[float]]
) -> list[ServerSetup]:
    unknown = [name for name in options.defect if name not in defects_by_name]
    if unknown:
        similar = get_close_matches(unknown[0], defects_by_name, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(similar)}?" if similar else "`mock-server list defects` names them all"
        raise UsageError(f'no defect "{unknown[0]}"; {hint}')
    resources = tuple(contract.resources)
    names = options.defect or (list(defects_by_name)[::SHORT_DEFECTS] if options.short else list(defects_by_name))
    faulty = [
        server
        for number, name in enumerate(names)
        for server in trials_of(defects_by_name[name], contract, [number] if options.short else range(options.seeds))
    ]
    if options.defect:
        return faulty
    hostile_servers = [
        hostile(name, amounts[seed % len(amounts)], seed, resources)
        for name, amounts in amounts_of.items()
        for seed in range(1 if options.short else len(amounts))
    ]
    correct = [greased(seed, resources) for seed in range(1, (SHORT_GREASE if options.short else options.grease) + 1)]
    return _interleave(hostile_servers, [*correct, *faulty])


def _interleave(slow_servers: list[ServerSetup], servers: list[ServerSetup]) -> list[ServerSetup]:
    """Spread the few trials, most of which wait, over the first half of the many."""
    mixed = list(servers)
    for number, server in enumerate(slow_servers):
        mixed.insert(number * len(servers) // (2 * len(slow_servers)), server)
    return mixed


def _judge_all(base_urls: Sequence[str], servers: Sequence[ServerSetup]) -> Iterator[Judgement]:
    """Judge all trials in worker processes, each of which has its own mock."""
    context = get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    tasks.cancel_join_thread()  # when the command ends, trials still in the queue are dropped
    for server in [*servers, *[None] * len(base_urls)]:
        tasks.put(server)
    workers = [context.Process(target=_work, args=(url, tasks, results)) for url in base_urls]
    with _running(workers):
        for _ in servers:
            yield _next(results, workers)


def _next(results: Any, workers: Sequence[BaseProcess]) -> Judgement:
    """What a worker comes to next."""
    while True:
        with suppress(Empty):
            answer: Judgement | RuntimeError = results.get(timeout=SECONDS_BETWEEN)
            if isinstance(answer, RuntimeError):
                raise answer
            return answer
        dead = [worker.exitcode for worker in workers if worker.exitcode]
        if dead:
            raise StoppedError(f"a worker died with status {dead[0]}; if memory was short, try again with fewer --jobs")


@contextmanager
def _running(processes: Sequence[BaseProcess]) -> Iterator[None]:
    try:
        with _uninterrupted():
            for process in processes:
                process.start()
        yield
    finally:
        for process in processes:
            if process.pid is not None:
                process.terminate()
                process.join()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interrupt wait: a process that is half started would complain, and nobody would end it.

    The processes inherit that Ctrl-C waits, because in a terminal it goes to all of them; SIGTERM has to end them.
    """
    interrupts: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda number, _: interrupts.append(number)) for number in numbers}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
    if interrupts:
        raise KeyboardInterrupt


def _work(base_url: str, tasks: Any, results: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command itself is interrupted, and ends the workers
    gc.set_threshold(100_000, 20, 20)  # the evidence of a trial is discarded as a whole
    contract = shipped_contract()
    for server in iter(tasks.get, None):
        try:
            results.put(judge(contract, base_url, server))
        except Exception as error:  # noqa: BLE001 - the command must fail, not wait forever
            error.add_note(f"in the trial of {server.name or 'a server that is right'}, seed {server.seed}")
            results.put(RuntimeError(f"{error!r} {error.__notes__[0]}"))


def _with_progress(judgements: Iterator[Judgement], total: int) -> Iterator[Judgement]:
    """Yield what was judged, and show how far that is: continuously on a terminal, elsewhere a line now and then."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console, started = Console(stderr=True), time.monotonic()
    next_line = started + SECONDS_BETWEEN_LINES
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("judging", total=total)
        for count, result in enumerate(judgements, 1):
            progress.update(task, advance=1, description=result.server.name or f"grease {result.server.seed}")
            if not console.is_terminal and (now := time.monotonic()) > next_line:
                complain(f"{count} of {total} servers judged  ·  {now - started:.0f} s")
                next_line = now + SECONDS_BETWEEN_LINES
            yield result


def _write(proof: Proof, options: ProveOptions) -> int:
    """Write the requested forms of the matrix; return 0, or the exit status for a failure."""
    try:
        if options.markdown:
            write_whole(options.markdown, markdown(proof) + "\n")
        if options.json:
            write_whole(options.json, json.dumps(as_dict(proof), indent=1) + "\n")
    except OSError as error:
        complain(f"the matrix could not be written: {error}")
        return BROKEN
    return 0


def show(proof: Proof, console: Console, *, by_defect: bool) -> None:
    """Print a proof; each defect on a line of its own, if asked for."""
    console.print(_defects(proof) if by_defect else _areas(proof))
    for text in _texts(proof):
        console.print(text)
    for line in proof.failures:
        console.print(Text(line, style="bold red"))
    word = ("proved", "bold green") if not proof.failures else ("not proved", "bold red")
    console.print(Text(f"\n{word[0]}", style=word[1]))
    server_count = sum(len(row.judgements) for row in proof.rows) + len(proof.right) + len(proof.hostile)
    console.print(f"{server_count} servers judged in {proof.seconds:.0f} s")


def markdown(proof: Proof) -> str:
    lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS)), *map(_line, _summary(proof)), ""]
    lines += [f"- {text}" for text in _texts(proof)]
    lines += ["", _line(DEFECT_COLUMNS), _line(["---"] * 5)]
    lines += [
        _line(
            (
                f"`{row.defect.name}`",
                row.defect.rule,
                _ratio(row),
                ", ".join(sorted(row.violated_others)),
                row.requests or "",
            )
        )
        for row in proof.rows
    ]
    return "\n".join(lines)


def as_dict(proof: Proof) -> dict[str, Any]:
    """The whole proof, for programs: `areas`, `defects`, `right` and `hostile`, each a list, and `failures`."""
    return {
        "areas": [dict(zip(COLUMNS, cells, strict=True)) for cells in _summary(proof)],
        "defects": [
            {
                "name": row.defect.name,
                "rule": row.defect.rule,
                "what": row.defect.description,
                "verdict": row.verdict,
                "others": sorted(row.violated_others),
                "requests": row.requests,
                "scripted": row.scripted,
                "trials": [_as_json(judgement) for judgement in row.judgements],
            }
            for row in proof.rows
        ],
        "right": [_as_json(judgement) for judgement in proof.right],
        "hostile": [{"condition": judgement.server.name} | _as_json(judgement) for judgement in proof.hostile],
        "failures": proof.failures,
    }


def _as_json(judgement: Judgement) -> dict[str, Any]:
    server = judgement.server
    return {
        "switches": dict(server.switches),
        "kinds": list(server.resources),
        "fell": sorted(judgement.fell),
        "undecided": list(judgement.undecided),
        "left": list(judgement.left),
        "first": judgement.first,
        "explored": judgement.explored,
    }


def _areas(proof: Proof) -> Table:
    table = Table(*COLUMNS, box=None, pad_edge=False, header_style="bold")
    for cells in _summary(proof):
        table.add_row(*map(str, cells))
    return table


def _defects(proof: Proof) -> Table:
    table = Table(*DEFECT_COLUMNS, box=None, pad_edge=False)
    for row in proof.rows:
        table.add_row(
            row.defect.name, row.defect.rule, _ratio(row), ", ".join(sorted(row.violated_others)), str(row.requests)
        )
    return table


def _summary(proof: Proof) -> Iterable[tuple[Any, ...]]:
    rows = sorted(proof.rows, key=_area)
    for area, group in [(area, list(group)) for area, group in groupby(rows, key=_area)] + [("all", rows)]:
        counts = [row.requests for row in group if row.requests is not None]
        caught_count = sum(row.verdict == "caught" for row in group)
        middle = f"{median(counts):.0f}, at most {max(counts)}" if counts else ""
        yield area, len(group), caught_count, middle


def _texts(proof: Proof) -> Iterable[str]:
    scripted = sum(row.scripted for row in proof.rows)
    yield f"{scripted} of {len(proof.rows)} defects are shown by a script, which shows nothing without the defect"
    for judgements, setting in ((proof.right, "whatever they chose"), (proof.hostile, "under hostile conditions")):
        if judgements:
            yield _right(judgements, f"servers that are right, {setting}")


def _right(judgements: tuple[Judgement, ...], title: str) -> str:
    failed = sum(bool(judgement.fell) for judgement in judgements)
    undecided = sum(bool(judgement.undecided) for judgement in judgements)
    left = sum(bool(judgement.left) for judgement in judgements)
    return (
        f"{len(judgements)} {title}: {failed} failed, {undecided} with undecided rules, {left} with records left behind"
    )


def _ratio(row: Row) -> str:
    return f"{row.caught_count} of {len(row.judgements)}"


def _area(row: Row) -> str:
    return row.defect.rule.partition(".")[0]


def _line(cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
