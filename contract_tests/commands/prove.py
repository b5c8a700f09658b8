"""The command `contract-tests prove`."""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from contract_tests.contract import Contract
from contract_tests.errors import BROKEN, UsageError
from contract_tests.proof import matrix, mocks
from contract_tests.proof.mocks import Defect, Mock
from contract_tests.proof.trials import Judged, Proof, Trial, greased, hostile, judge, trials_of
from contract_tests.reports.screen import complain

WORKERS_A_CORE = 4  # a trial of a broken server is waiting most of the time: it might have been slow, not wrong
SHORT_GREASE, SHORT_DEFECTS = 8, 7  # of a short proof: how many seeds, and one in how many defects


def prove_command(contract: Contract, given: argparse.Namespace) -> int:
    """Judge servers that are known to be right or wrong, and tell what came of it.

    Args:
        contract: the rules.
        given: the options, as the command line has them.

    Returns:
        0 if each defect is caught by its own rule and no server that is right fails, else 1; 3 if no form of the
        matrix could be written.

    Raises:
        UsageError: if a defect is not known, or there is no mock.
    """
    console = Console(highlight=False, markup=False)
    with ExitStack() as stack:
        servers = [stack.enter_context(Mock()) for _ in range(given.jobs or WORKERS_A_CORE * (os.cpu_count() or 1))]
        known = mocks.defects(servers[0].base_url)
        trials = _trials(contract, given, known, mocks.conditions(servers[0].base_url))
        judged = _judged([server.base_url for server in servers], trials)
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
    """The few, most of which wait, here and there in the first half of the many."""
    mixed = list(many)
    for number, each in enumerate(few):
        mixed.insert(number * len(many) // (2 * len(few)), each)
    return mixed


def _judged(base_urls: Sequence[str], trials: Sequence[Trial]) -> Iterator[Judged]:
    """Judge all trials, each on the mock of a process of its own."""
    context = get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    tasks.cancel_join_thread()  # what nobody took when the command ends need not be taken
    for trial in [*trials, *[None] * len(base_urls)]:
        tasks.put(trial)
    with _running([context.Process(target=_work, args=(url, tasks, results)) for url in base_urls]):
        for _ in trials:
            answer: Judged | RuntimeError = results.get()
            if isinstance(answer, RuntimeError):
                raise answer
            yield answer


@contextmanager
def _running(processes: Sequence[BaseProcess]) -> Iterator[None]:
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _work(base_url: str, tasks: Any, results: Any) -> None:
    """What a worker process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command itself is told, and ends the workers
    gc.set_threshold(100_000, 20, 20)  # what a trial sees is thrown away as a whole
    contract = Contract()
    for trial in iter(tasks.get, None):
        try:
            results.put(judge(contract, base_url, trial))
        except Exception as error:  # noqa: BLE001 - the command is to break, not to wait for ever
            error.add_note(f"in the trial of {trial.name or 'a server that is right'}, seed {trial.seed}")
            results.put(RuntimeError(f"{error!r} {error.__notes__[0]}"))


def _watched(judged: Iterator[Judged], total: int) -> Iterator[Judged]:
    """Pass on what was judged, and show how far it is."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("judging", total=total)
        for each in judged:
            progress.update(task, advance=1, description=each.trial.name or f"grease {each.trial.seed}")
            yield each


def _write(proof: Proof, given: argparse.Namespace) -> int:
    """Write the forms of the matrix that were asked for; an exit status, if that could not be done."""
    try:
        if given.markdown:
            Path(given.markdown).write_text(matrix.markdown(proof) + "\n", encoding="utf-8")
        if given.json:
            Path(given.json).write_text(json.dumps(matrix.as_dict(proof), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        complain(f"the matrix could not be written: {error}")
        return BROKEN
    return 0
