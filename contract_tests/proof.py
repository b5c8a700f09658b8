"""The proof that the suite can fail, and fails only when it should: trials of servers known to be right or wrong."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from threading import Lock
from time import monotonic
from typing import Any, Self

import urllib3

from contract_tests.errors import UsageError
from contract_tests.evidence.observation import NEEDS_ALL, NEEDS_CONTROL, Chapters
from contract_tests.repro.script import Script, script_of
from contract_tests.repro.trial import BROKEN, run_script
from contract_tests.run import SAME_ID_RULES, Options, Progress, further_requests, needed, run
from contract_tests.target.budget import Limits
from contract_tests.target.target import JOBS
from contract_tests.verdicts.verdicts import VIOLATED, Outcome, Result, Verdict
from link_management_contract import Contract, Rule

KEY, SECOND_KEY = "demo-key-harbour", "demo-key-alpine"
SECONDS_TO_STOP = 5
RECORDS = (28, 0, 25, 40, 30)  # of each resource, at the start
STARTING_RECORDS = 26  # with fewer, the survey creates what paging needs; servers with a defect start with this many
EXPLORE = 466  # the default of a run
ROUNDS = 5  # of requests that overlap
POISON_RULE = "robustness.stored-text-can-be-read"
PARALLEL_RULE = "robustness.requests-work-in-parallel"
ACROSS_RESOURCES = {  # what a visit to one resource cannot show
    PARALLEL_RULE,
    "operations.read-shows-its-resource",
    *SAME_ID_RULES,
}

ONLY_IN_A_RUN = {  # what only requests over connections of their own, at one moment, or on demand can show
    POISON_RULE,
    "accounts.both-at-once-stay-apart",
    "accounts.connections-keep-no-key",
    "robustness.simultaneous-reads-agree",
}


@dataclass(frozen=True)
class Defect:
    """A named way of breaking one rule, as the mock describes it.

    Attributes:
        resources: the resources that it affects; if empty, all that the rule applies to.
    """

    name: str
    rule: str
    description: str
    resources: tuple[str, ...]


@contextmanager
def serving(count: int = 1) -> Iterator[list[str]]:
    """Start mock servers on free ports, wait until they listen, and stop them in the end; their base URLs.

    Threads start them: an interrupt comes to the main thread, where a process that is being started would be lost.

    Raises:
        UsageError: if there is no such program, or it does not start.
    """
    servers = [_Mock() for _ in range(count)]
    try:
        with ThreadPoolExecutor(count) as pool:
            base_urls = list(pool.map(_Mock.start, servers))
        yield base_urls
    finally:
        for server in servers:
            server.stop()


class _Mock:
    def __init__(self) -> None:
        sibling_program = Path(sys.executable).with_name("mock-server")
        program = str(sibling_program) if sibling_program.exists() else shutil.which("mock-server")
        if program is None:
            raise UsageError("the program mock-server is not installed; it comes with this one")
        self._command = [program, "--port", "0", "--log-level", "error", "--journal", "0"]
        self._process: subprocess.Popen[str] | None = None
        self._is_stopped, self._lock = False, Lock()  # an interrupt may come before anybody waits for the thread

    def start(self) -> str:
        with self._lock:
            if self._is_stopped:
                return ""
            self._process = subprocess.Popen(  # noqa: S603 - our own
                self._command, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
        line = self._process.stdout.readline() if self._process.stdout else ""
        base_url = line.rpartition(" ")[2].strip()
        if not base_url.startswith("http://"):
            raise UsageError("mock-server does not start; `mock-server --port 0` says why")
        return base_url

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                self._process.kill()
            if self._process.stdout:
                self._process.stdout.close()


def reset(base_url: str, **switches: Any) -> None:
    """Reset a mock to its initial state, with only these switches.

    Raises:
        UsageError: if the mock accepts no such name or value; the message is the mock's.
    """
    answer = urllib3.request("POST", f"{base_url}/_mock/reset", json=switches)
    if answer.status != 200:  # noqa: PLR2004 - what the control plane answers
        raise UsageError(json.loads(answer.data)["errors"][0]["title"])


def defects(base_url: str) -> dict[str, Defect]:
    answer = urllib3.request("GET", f"{base_url}/_mock/defects")
    return {
        entry["name"]: Defect(entry["name"], entry["rule"], entry["what"], tuple(entry["kinds"]))
        for entry in answer.json()
    }


def conditions(base_url: str) -> dict[str, list[float]]:
    amounts: dict[str, list[float]] = urllib3.request("GET", f"{base_url}/_mock/conditions").json()
    return amounts


def shows(contract: Contract, outcome: Outcome, result: Result, switches: Mapping[str, Any]) -> bool:
    """Whether a script says *broken* on a mock with these switches, and does not on one without its defects."""
    broken, right = script_statuses(script_of(contract, outcome, result, BROKEN), outcome.base_url, switches)
    return broken == BROKEN != right


def script_statuses(repro_script: Script, base_url: str, switches: Mapping[str, Any]) -> tuple[int, ...]:
    """The exit statuses of a script on a mock with these switches, and on one without its defects."""
    statuses, sound_switches = list[int](), {**switches, "defects": []}
    for server in (switches, sound_switches):
        reset(base_url, **server)
        statuses.append(exit_status(repro_script, base_url))
    return tuple(statuses)


def exit_status(repro_script: Script, base_url: str) -> int:
    """The exit status of a script: 1 for *broken*, 0 for *fixed*, 125 for neither."""
    keys = {"CONTRACT_API_KEY": KEY, "CONTRACT_SECOND_API_KEY": SECOND_KEY, "BASE_URL": base_url}
    return run_script(repro_script.text, keys)[0]


@dataclass(frozen=True)
class ServerSetup:
    """A server to be judged: the mock with some switches.

    Attributes:
        name: the defect's or the condition's; empty for any other server.
        seed: determines its choices and its records.
        switches: what the mock is reset with.
        rule: the rule that must be found violated, or None; exploring ends as soon as it seems violated.
        chapters: of a visit; all, or those that the rule needs.
        explore: as for a run.
        may_be_undecided: whether rules may stay inconclusive.
        is_repeated: whether to try whether a script repeats what was found.
    """

    name: str
    seed: int
    switches: Mapping[str, Any]
    resources: tuple[str, ...]
    rule: str | None = None
    chapters: Chapters = NEEDS_ALL
    explore: int = 0
    overlap: int = 0
    may_be_undecided: bool = False
    is_repeated: bool = False


@dataclass(frozen=True)
class Judgement:
    """What a run found in a trial's server.

    Attributes:
        fell: the rules found violated.
        suspected: these, and those that seemed violated in one visit alone.
        undecided: the results that stayed inconclusive, each with its reason.
        left: the records that the run made and could not remove.
        first: after how many requests of a whole visit the trial's own rule first seemed violated, or None.
        explored: whether that took more than the survey.
        scripted: whether the script of a finding shows it, and nothing on a server without the defect.
    """

    server: ServerSetup
    fell: frozenset[str]
    suspected: frozenset[str]
    undecided: tuple[str, ...]
    left: tuple[str, ...]
    first: int | None = None
    explored: bool = False
    scripted: bool = False


@dataclass(frozen=True)
class Row:
    """A line of the kill matrix: a defect, the results of all its trials, and what its rule implies."""

    defect: Defect
    judgements: tuple[Judgement, ...]
    implied: frozenset[str] = frozenset()

    @property
    def caught_count(self) -> int:
        return sum(self.defect.rule in judgement.fell for judgement in self.judgements)

    @property
    def scripted(self) -> bool:
        return any(judgement.scripted for judgement in self.judgements)

    @property
    def violated_others(self) -> frozenset[str]:
        return frozenset().union(*(judgement.fell for judgement in self.judgements)) - {self.defect.rule}

    @property
    def unrelated(self) -> str:
        """The other rules found violated that its own does not imply, for people."""
        return ", ".join(sorted(self.violated_others - self.implied))

    @property
    def requests(self) -> int | None:
        """The median number of requests after which its own rule first seemed violated."""
        counts = [judgement.first for judgement in self.judgements if judgement.first is not None]
        return int(median(counts)) if counts else None

    @property
    def verdict(self) -> str:
        """`caught`; or what is wrong: it `survives`, is `misnamed`, or violates `unrelated` rules."""
        if any(not judgement.fell for judgement in self.judgements):
            return "survives"
        if self.caught_count < len(self.judgements):
            return "misnamed"
        return "caught" if self.violated_others <= self.implied else "unrelated"


@dataclass(frozen=True)
class Proof:
    """The results of all trials: of defects, of correct servers, and of correct servers under a condition.

    Attributes:
        unshown: what the contract says that a rule's violation implies, and no trial shows; only if all defects were
            tried.
    """

    rows: tuple[Row, ...]
    right: tuple[Judgement, ...]
    hostile: tuple[Judgement, ...]
    seconds: float
    unshown: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        rules: Mapping[str, Rule],
        defects: Mapping[str, Defect],
        judgements: Iterable[Judgement],
        *,
        complete: bool = False,
    ) -> Self:
        """Sort the judged trials.

        Args:
            complete: whether these are all defects, with enough seeds.
        """
        started = monotonic()
        ordered = sorted(judgements, key=lambda result: result.server.seed)
        by_defect = {name: tuple(result for result in ordered if result.server.name == name) for name in defects}
        rows = [
            Row(defect, by_defect[name], frozenset(rules[defect.rule].implies))
            for name, defect in defects.items()
            if by_defect[name]
        ]
        return cls(
            tuple(rows),
            tuple(result for result in ordered if not result.server.name),
            tuple(result for result in ordered if result.server.may_be_undecided),
            monotonic() - started,
            tuple(_unshown(rules.values(), rows)) if complete else (),
        )

    @property
    def failures(self) -> list[str]:
        uncaught = [row for row in self.rows if row.verdict != "caught"]
        lines = [f"{row.defect.name}: {row.verdict}{row.unrelated and f' ({row.unrelated})'}" for row in uncaught]
        for judgement in (*self.right, *self.hostile):
            server_name = judgement.server.name or f"grease {judgement.server.seed}"
            lines += [f"{server_name}: {rule} fell, and the server is right" for rule in sorted(judgement.fell)]
            if not judgement.server.may_be_undecided:
                lines += [f"{server_name}: undecided, {text}" for text in judgement.undecided]
                lines += [f"{server_name}: left behind, {text}" for text in judgement.left]
        return [*lines, *self.unshown]


def _unshown(rules: Iterable[Rule], rows: Sequence[Row]) -> Iterator[str]:
    for rule in rules:
        rule_judgements = [judgement for row in rows if row.defect.rule == rule.id for judgement in row.judgements]
        suspected = frozenset().union(*(judgement.suspected for judgement in rule_judgements))
        for implied in rule.implies if rule.decided_by != "round" else ():  # those differ from run to run
            if implied not in suspected:
                yield f"openapi.yaml: no server that breaks {rule.id} was seen to break {implied}, which it implies"


def trials_of(defect: Defect, contract: Contract, seeds: Iterable[int]) -> list[ServerSetup]:
    """A trial for each seed; they take turns with the resources that a defect affects.

    The first goes through a whole visit; the others at first only through the chapters that the rule, and what it
    implies, needs. What takes several resources may show in any chapter of any of them: such trials are all whole.
    """
    rule = contract.rules[defect.rule]
    resources, overlaps = defect.resources or rule.resources, rule.decided_by == "round"
    is_across = rule.id in ACROSS_RESOURCES
    begins_with_1 = rule.id in SAME_ID_RULES  # then ids do, in all resources
    chapters = needed([rule, *map(contract.rules.__getitem__, rule.implies)]) - NEEDS_CONTROL
    return [
        ServerSetup(
            defect.name,
            seed,
            switches(seed)
            | {"records": 0 if begins_with_1 else max(STARTING_RECORDS, RECORDS[seed % len(RECORDS)])}
            | {"defects": [defect.name]},
            tuple(contract.resources) if is_across else (resources[seed % len(resources)],),
            rule.id,
            chapters if number and not is_across else NEEDS_ALL,
            explore=0 if overlaps else EXPLORE,
            overlap=ROUNDS if overlaps else 0,
            is_repeated=number == 0 and not overlaps,
        )
        for number, seed in enumerate(seeds)
    ]


def greased(seed: int, resources: Sequence[str]) -> ServerSetup:
    """A trial of a correct server with any choices; a sixth is explored, and another gets requests that overlap."""
    explore, overlap = EXPLORE if seed % 6 == 0 else 0, int(seed % 6 == 3)  # noqa: PLR2004 - any other sixth
    return ServerSetup("", seed, switches(seed), tuple(resources), explore=explore, overlap=overlap)


def hostile(name: str, amount: float, seed: int, resources: Sequence[str]) -> ServerSetup:
    server_switches = switches(seed) | {"conditions": {name: amount}}
    return ServerSetup(name, seed, server_switches, tuple(resources), overlap=1, may_be_undecided=True)


def switches(seed: int) -> dict[str, Any]:
    """The mock's switches for a seed; 0 is the mock with its defaults."""
    return {"fixture": "empty", "records": RECORDS[seed % len(RECORDS)], "grease": seed or None}


def judge(contract: Contract, base_url: str, server: ServerSetup) -> Judgement:
    """Judge a trial's server, in a whole visit with exploration if less does not show its defect."""
    chapters = set[str]()
    attempts = [server, replace(server, chapters=NEEDS_ALL, explore=EXPLORE)] if server.rule else [server]
    for attempt in attempts:
        outcome = run_suite(contract, base_url, attempt, lambda chapter, _: chapters.add(chapter))
        violated = [result for result in outcome.results if result.verdict in VIOLATED]
        failing = [result for result in violated if result.rule.id == server.rule]
        if failing:
            break
    numbers = [finding.exchange.number for result in failing for finding in result.findings]
    undecided = [result for result in outcome.results if result.verdict is Verdict.INCONCLUSIVE]
    return Judgement(
        server,
        frozenset(result.rule.id for result in violated),
        frozenset(result.rule.id for result in outcome.results if result.findings),
        tuple(f"{result.id}: {'; '.join(result.reasons)}" for result in undecided),
        tuple(map(str, outcome.left)),
        min(numbers, default=None) if server.chapters == NEEDS_ALL else None,
        server.rule is not None and any(chapter.endswith(": exploring") for chapter in chapters),
        server.is_repeated and any(shows(contract, outcome, result, server.switches) for result in failing),
    )


def run_suite(
    contract: Contract,
    base_url: str,
    server: ServerSetup,
    progress: Progress = lambda *_: None,
    *,
    try_scripts: bool = False,
) -> Outcome:
    """Run the suite on a trial's server, as `run` does by default but for what the trial says."""
    reset(base_url, **server.switches)
    limits = Limits() if "conditions" in server.switches else Limits(lag=0)
    limits = replace(limits, requests=limits.requests + further_requests(server.explore, server.overlap))
    options = Options(
        base_url,
        KEY,
        SECOND_KEY,
        server.resources,
        explore=server.explore,
        chapters=server.chapters,
        explore_until=contract.rules.get(server.rule or ""),
        overlap=server.overlap,
        poison=server.rule == POISON_RULE,
        seed=server.seed,
        limits=replace(limits, jobs=JOBS if server.seed % 2 or server.rule == PARALLEL_RULE else 1),
        shrink=None if server.is_repeated else 0,
        try_scripts=try_scripts,
    )
    return run(contract, options, progress=progress)
