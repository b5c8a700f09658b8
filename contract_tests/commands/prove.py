"""The command `contract-tests prove`."""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Empty
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from contract_tests.errors import BROKEN, StoppedError, UsageError
from contract_tests.proof import matrix, mocks
from contract_tests.proof.mocks import Defect
from contract_tests.proof.trials import Judged, Proof, Trial, greased, hostile, judge, trials_of
from contract_tests.reports.screen import complain
from link_management_contract import Contract, shipped_contract

SECONDS_BETWEEN = 1.0  # looks at the workers
WORKERS_A_CORE = 4  # a trial of a defect mostly waits, since the server might be slow rather than wrong
SHORT_GREASE, SHORT_DEFECTS = 8, 7  # for a short proof: the number of seeds, and the step from defect to defect


def prove_command(contract: Contract, given: argparse.Namespace) -> int:
    """Judge servers known to be correct or to have a defect, and report the results.

    Args:
        contract: the rules.
        given: the options from the command line.

    Returns:
        0 if each defect is caught by its own rule, and no correct server fails or keeps a run's record, else 1; 3 if
        a form of the matrix could not be written.

    Raises:
        UsageError: if a defect is unknown, or there is no mock server.
        StoppedError: if a worker process died.
    """
    console = Console(highlight=False, markup=False)
    with mocks.serving(given.jobs or WORKERS_A_CORE * (os.cpu_count() or 1)) as base_urls:
        known = mocks.defects(base_urls[0])
        trials = _trials(contract, given, known, mocks.conditions(base_urls[0]))
        judged = _judged(base_urls, trials)
        proof = Proof.of(known, _watched(judged, len(trials)))
    matrix.show(proof, console, each=bool(given.defect))
    return _write(proof, given) or int(bool(proof.failures))


def _trials(
    contract: Contract, given: argparse.Namespace, known: dict[str, Defect], conditions: dict[str, list[float]]
) -> list[Trial]:
    unknown = [name for name in given.defect if name not in known]
    if unknown:
        near = get_close_matches(unknown[0], known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`mock-server --list-defects` names them all"
        raise UsageError(f'no defect "{unknown[0]}"; {hint}')
    resources = tuple(contract.resources)
    chosen = given.defect or (list(known)[::SHORT_DEFECTS] if given.short else list(known))
    wrong = [
        trial
        for number, name in enumerate(chosen)
        for trial in trials_of(known[name], contract, [number] if given.short else range(given.seeds))
    ]
    if given.defect:
        return wrong
    under = [
        hostile(name, measures[seed % len(measures)], seed, resources)
        for name, measures in conditions.items()
        for seed in range(1 if given.short else len(measures))
    ]
    right = [greased(seed, resources) for seed in range(1, (SHORT_GREASE if given.short else given.grease) + 1)]
    return _spread(under, [*right, *wrong])


def _spread(few: list[Trial], many: list[Trial]) -> list[Trial]:
    """Spread the few trials, most of which wait, over the first half of the many."""
    mixed = list(many)
    for number, each in enumerate(few):
        mixed.insert(number * len(many) // (2 * len(few)), each)
    return mixed


def _judged(base_urls: Sequence[str], trials: Sequence[Trial]) -> Iterator[Judged]:
    """Judge all trials in worker processes, each of which has its own mock."""
    context = get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    tasks.cancel_join_thread()  # when the command ends, trials still in the queue are dropped
    for trial in [*trials, *[None] * len(base_urls)]:
        tasks.put(trial)
    workers = [context.Process(target=_work, args=(url, tasks, results)) for url in base_urls]
    with _running(workers):
        for _ in trials:
            yield _next(results, workers)


def _next(results: Any, workers: Sequence[BaseProcess]) -> Judged:
    """What a worker comes to next.

    Raises:
        RuntimeError: if a trial broke.
        StoppedError: if a worker has died.
    """
    while True:
        with suppress(Empty):
            answer: Judged | RuntimeError = results.get(timeout=SECONDS_BETWEEN)
            if isinstance(answer, RuntimeError):
                raise answer
            return answer
        dead = [each.exitcode for each in workers if each.exitcode]
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

    The processes inherit that it waits, so that Ctrl-C in a terminal, which goes to all, does not reach them.
    """
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt


def _work(base_url: str, tasks: Any, results: Any) -> None:
    """Judge trials from the queue, in a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command itself is interrupted, and ends the workers
    gc.set_threshold(100_000, 20, 20)  # the evidence of a trial is discarded as a whole
    contract = shipped_contract()
    for trial in iter(tasks.get, None):
        try:
            results.put(judge(contract, base_url, trial))
        except Exception as error:  # noqa: BLE001 - the command must fail, not wait forever
            error.add_note(f"in the trial of {trial.name or 'a server that is right'}, seed {trial.seed}")
            results.put(RuntimeError(f"{error!r} {error.__notes__[0]}"))


def _watched(judged: Iterator[Judged], total: int) -> Iterator[Judged]:
    """Pass on the judged trials, and show the progress."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("judging", total=total)
        for each in judged:
            progress.update(task, advance=1, description=each.trial.name or f"grease {each.trial.seed}")
            yield each


def _write(proof: Proof, given: argparse.Namespace) -> int:
    """Write the requested forms of the matrix; return 0, or the exit status for a failure."""
    try:
        if given.markdown:
            Path(given.markdown).write_text(matrix.markdown(proof) + "\n", encoding="utf-8")
        if given.json:
            Path(given.json).write_text(json.dumps(matrix.as_dict(proof), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        complain(f"the matrix could not be written: {error}")
        return BROKEN
    return 0
