"""A run: visits to each resource, a second visit where rules are in doubt, and the verdicts."""

import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property, partial
from importlib import import_module
from itertools import product
from pathlib import Path
from queue import Empty, SimpleQueue
from shutil import which
from threading import Event, Lock, Thread
from urllib.parse import quote_plus, urlsplit

from contract_tests.errors import NothingSelectedError, UnusableTargetError, UsageError
from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect, counts_text, request_counts
from contract_tests.evidence.masking import Masking
from contract_tests.evidence.observation import DECISIONS, NEEDS_ALL, NEEDS_CONTROL, Chapters, Violation
from contract_tests.options import RunOptions, TargetOptions
from contract_tests.overlap.survey import overlap
from contract_tests.repro.replayed import marks_of
from contract_tests.repro.script import script, shows_key
from contract_tests.repro.shrinking import Shrinking
from contract_tests.repro.trial import BROKEN, MAX_SECONDS, REQUESTS_OF_A_STEP, UNCLEAR, curl_options, run_script
from contract_tests.survey.cleanup import remove_all
from contract_tests.survey.on_demand import poison, send_large_files
from contract_tests.survey.same_ids import write_to_same_ids
from contract_tests.survey.visit import CLEANING_UP, ExtraSteps, Step, visit
from contract_tests.survey.visitor import Visitor
from contract_tests.survey.waits import Lag
from contract_tests.target.availability import outage_numbers
from contract_tests.target.budget import BUDGET_SPENT, BudgetSpentError, Limits
from contract_tests.target.connection import Connection, is_loopback
from contract_tests.target.identities import WRONG_KEY, identities
from contract_tests.target.ledger import Ledger
from contract_tests.target.preflight import preflight
from contract_tests.target.target import JOBS, Target
from contract_tests.verdicts.open_points import remarks
from contract_tests.verdicts.verdicts import (
    Outcome,
    Result,
    ShortestSteps,
    Verdict,
    doubts,
    first_violated,
    is_violated,
    judge,
    overall,
    possible,
    unjudged,
    unsettled,
)
from contract_tests.verdicts.waivers import Waiver, apply_waivers, read_waivers
from link_management_contract import Contract, Resource, Rule
from link_management_contract.texts import printable

MOMENTS_OF_A_ROUND, MAX_MOMENTS = 25, 156  # 700 requests with the second key in three resources
REQUESTS_OF_A_ROUND, REQUESTS_OF_BURSTS = 540, 900  # for all resources, with what removes their records
A_SHARE, SLOW = 4, 0.2  # of all requests, a quarter for shorter ways to what was found; seconds between two requests
REQUESTS_OF_A_RECORD = 5  # at most, to create it and to remove it
PAIRED = ("splash-pages", "notification-handlers")  # the resources whose records nobody else hears of
SAME_ID_RULES = {f"lifecycle.{operation}-leaves-same-ids" for operation in ("update", "delete")}
SECONDS_TO_NOTICE = 0.1
SECONDS_BETWEEN = 3.0  # at least, between looks at what has failed so far
TIMES_AS_LONG = 10  # as a look took, until the next one
MAX_VISITS = 5  # of one resource, while others keep rules from being decided
MAX_FINDINGS = 5  # findings reported of one rule and resource
WAITING = "waiting for"
Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Options:
    """The options of a run.

    Attributes:
        second_api_key: the key of another account, or None.
        rules: patterns of the ids of rules to judge, such as `pagination.*`.
        public_base_url: what page links must begin with, if not the base URL.
        splash_create_path: where splash pages are created, if not at the documented path.
        fail_on: patterns of the ids of advisory rules that fail the run.
        max_5xx: how many documented requests may be answered with a 5xx while the server is up; any number, if None.
        slowest: how many seconds an answer to one may take, or None.
        max_failures: after how many failing results the run stops, or None.
        explore: about how many requests to generate besides the survey's.
        chapters: the chapters of a visit, if no `rules` are selected; otherwise those that the rules need.
        explore_until: the rule with whose first violation exploring ends, or None.
        overlap: how many rounds of requests that overlap to send.
        large_files: whether to send images of up to 2 MB.
        poison: whether to send text that is not UTF-8.
        fill: how many records of the first resource there have to be for paging to be judged; 0 for the usual.
        try_scripts: whether to run the script of each finding.
        shrink: how many requests to send for shorter ways to what was found; None for a quarter of the others.
    """

    base_url: str
    api_key: str
    second_api_key: str | None = None
    resources: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    public_base_url: str | None = None
    splash_create_path: str | None = None
    strict: bool = False
    fail_on: tuple[str, ...] = ()
    max_5xx: int | None = None
    slowest: float | None = None
    limits: Limits = field(default_factory=Limits)
    connection: Connection = field(default_factory=Connection)
    max_failures: int | None = None
    explore: int = 0
    chapters: Chapters = NEEDS_ALL
    explore_until: Rule | None = None
    overlap: int = 0
    large_files: bool = False
    poison: bool = False
    fill: int = 0
    shrink: int | None = 0
    try_scripts: bool = False
    seed: int = 0
    waivers: tuple[Waiver, ...] = ()


def options_of(args: RunOptions) -> Options:
    """The options of a run, from those of the command line.

    Raises:
        UsageError: if they are invalid.
    """
    api_key, second = keys_of(args)
    _refuse_contradictions(args)
    limits, explore, overlap_ = limits_of(args), args.explore, args.overlap
    shrink = args.shrink if args.report_dir and not args.watch else 0  # it is for the scripts
    additional_requests = further_requests(explore, overlap_) + (shrink or 0) + REQUESTS_OF_A_RECORD * (args.fill or 0)
    requests = args.max_requests or limits.requests + additional_requests
    return Options(
        base_url=args.base_url,
        api_key=api_key,
        second_api_key=second,
        resources=args.resources,
        rules=args.rules,
        public_base_url=args.public_base_url,
        splash_create_path=args.splash_create_path,
        strict=args.strict,
        fail_on=args.fail_on,
        max_5xx=0 if args.strict and args.max_5xx is None else args.max_5xx,
        slowest=args.slowest,
        limits=replace(
            limits,
            requests=requests,
            seconds=args.deadline,
            lag=args.lag,
            read_only=args.read_only,
            jobs=args.jobs or JOBS,
        ),
        connection=connection_of(args),
        max_failures=args.max_failures,
        explore=0 if args.read_only else explore,
        overlap=0 if args.read_only else overlap_,
        large_files=args.large_files and not args.read_only,
        poison=args.poison and not args.read_only,
        fill=0 if args.read_only else args.fill or 0,
        shrink=shrink,
        try_scripts=bool(args.report_dir and not args.watch),
        seed=args.seed,
        waivers=tuple(read_waivers(args.waivers)) if args.waivers else (),
    )


def further_requests(explore: int, overlap: int) -> int:
    return 2 * explore + (REQUESTS_OF_BURSTS + overlap * REQUESTS_OF_A_ROUND if overlap else 0)


def _refuse_contradictions(args: RunOptions) -> None:
    if not (args.allow_writes or args.read_only or args.plan or is_loopback(args.base_url)):
        raise UsageError(
            f"{urlsplit(args.base_url).hostname} is not this machine, and a run creates, changes and deletes its own"
            " records there; say --allow-writes if that is meant, --read-only if not, or --plan to see what it would do"
        )
    if args.poison and not is_loopback(args.base_url):
        raise UsageError(
            f"--poison may break each list of an account, so it is for servers on this machine, and"
            f" {urlsplit(args.base_url).hostname} is not"
        )
    if args.splash_create_path and not args.splash_create_path.startswith("/"):
        raise UsageError(f'invalid path "{args.splash_create_path}": expected something like /api/splash-pages')
    if args.client_key and not args.client_cert:
        raise UsageError("--client-key goes with --client-cert; give that too")
    if args.write_waivers and args.write_waivers.exists():
        raise UsageError(f"{args.write_waivers} already exists, with its reasons; give another file")
    if args.ca_bundle and not args.base_url.startswith("https:"):
        raise UsageError(f"--ca-bundle has no effect on {args.base_url}; give a base URL that begins with https://")
    if args.adopt and not args.adopt.is_dir():
        raise UsageError(f"{args.adopt} is not a folder; --adopt takes one that holds the ledgers of earlier runs")
    if args.adopt and args.read_only:
        raise UsageError("--adopt removes records and --read-only writes nothing; give one of them")
    if args.read_only and args.allow_writes:
        raise UsageError("--read-only and --allow-writes contradict each other; give one of them")


def keys_of(args: TargetOptions) -> tuple[str, str | None]:
    """The API keys of the account and, if there is one, of another.

    Raises:
        UsageError: if the first is missing, or both are the same.
    """
    api_key = (args.api_key or os.environ.get("CONTRACT_API_KEY") or "").strip()
    if not api_key:
        raise UsageError("no API key; set CONTRACT_API_KEY or give --api-key")
    second = (args.second_api_key or os.environ.get("CONTRACT_SECOND_API_KEY") or "").strip() or None
    for name, key in (("API key", api_key), ("second API key", second or "")):
        if not re.fullmatch(r"[!-~]*", key):
            raise UsageError(f"the {name} has a space or a letter beyond ASCII; is it the whole key, and nothing else?")
    if second == api_key:
        raise UsageError("the second API key is the first; give one of another account, or none")
    return api_key, second


def limits_of(args: TargetOptions) -> Limits:
    return Limits(interval=args.rate or 0.0, timeout=args.timeout, patience=args.patience)


def connection_of(args: TargetOptions) -> Connection:
    usual_bundle = Path(os.environ.get("REQUESTS_CA_BUNDLE", ""))
    ca_bundle = args.ca_bundle or (usual_bundle if usual_bundle.is_file() else None)
    return Connection(ca_bundle, args.insecure, args.client_cert, args.client_key, dict(args.header))


@dataclass
class Visits:
    """The visits to one resource, the rules to judge there, and the verdicts so far.

    Attributes:
        evidences: the evidence of each visit.
        is_complete: whether the resource was visited to the end.
    """

    rules: list[Rule]
    resource: Resource
    evidences: list[Evidence] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    is_complete: bool = False

    def judge(self) -> None:
        self.results = [judge(rule, *self.evidences) for rule in self.rules]

    @property
    def notes(self) -> list[str]:
        """Why not all of the resource could be visited."""
        return list(dict.fromkeys(note for evidence in self.evidences for note in evidence.notes))


def run(  # noqa: PLR0913, PLR0917 - what a run tells, and how it ends
    contract: Contract,
    options: Options,
    ledger: Ledger | None = None,
    progress: Progress = lambda _chapter, _requests: None,
    interrupted: Callable[[], bool] = lambda: False,
    certain: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Judge an implementation.

    Args:
        ledger: where creates are noted; if None, only in memory.
        progress: called with the chapter and the number of requests, at the beginning of each and before each request.
        interrupted: whether the run must end; what it made is then removed.
        certain: called with the outcome so far whenever more failures are certain, one call at a time.

    Raises:
        NothingSelectedError: if there is nothing to judge.
        UnusableTargetError: if nothing can be judged there.
        KeyboardInterrupt: if the run had to end.
    """
    judging = Run(contract, options, ledger or Ledger(), progress, certain)
    judging.target.budget.interrupted = interrupted
    judging.look_first()
    try:
        try:
            judging.write_first()
            side_by_side([partial(judging.visit, visits) for visits in judging.visits], judging.target)
        finally:
            judging.remove_reserved()
        judging.shrink()
        judging.try_scripts()
    except (Exception, KeyboardInterrupt):
        if not interrupted():  # otherwise the interrupt may have hit code that expects no exceptions
            raise
    judging.target.close()
    return judging.outcome([result for visits in judging.visits for result in visits.results])


class Run:
    """What a run knows: its target, its visits, and what is certain so far."""

    def __init__(
        self,
        contract: Contract,
        options: Options,
        ledger: Ledger,
        progress: Progress,
        certain: Callable[[Outcome], None] | None,
    ) -> None:
        self._contract = contract
        self._options = options
        self._certain = certain
        self._certain_results: dict[str, list[Result]] = {}
        self._certain_failures: set[str] = set()
        self._lock = Lock()
        self._started = time.time()
        self._next_look = time.monotonic() + SECONDS_BETWEEN
        self._shortest: dict[str, tuple[str, ShortestSteps]] = {}
        self._script_statuses: dict[str, int] = {}
        self._shown_again: dict[str, str] = {}
        self._script_count = 0
        self._lag = Lag(options.limits.lag / Limits.lag)
        pairs = selected(contract, options)
        by_resource = {name: [rule for rule, resource in pairs if resource.name == name] for name in contract.resources}
        self.visits = [Visits(rules, contract.resources[name]) for name, rules in by_resource.items() if rules]
        keys = identities(options.api_key, options.second_api_key)
        self.target = Target(options.base_url, keys, ledger, options.limits, options.connection)
        self._report = progress
        self.target.retries.waiting = self._report_waiting
        self._chapter = "looking"
        self._paired: list[Visitor] = []
        self.target.budget.on_request = lambda request_count: progress(self._chapter, request_count)
        if options.explore:  # Schemathesis is slow to load
            Thread(target=import_module, args=("contract_tests.exploration",), daemon=True).start()

    def look_first(self) -> None:
        """See whether there is such a service, and whether it accepts the key."""
        try:
            preflight(self.target, self._contract.resources.values())
        except UnusableTargetError as error:
            raise UnusableTargetError(printable(self._masking.text(error.args[0]))) from error
        except BudgetSpentError as error:
            if str(error) == BUDGET_SPENT:
                raise UsageError(f"{error} before the lists could be read; allow more") from error
            raise UnusableTargetError(f"{error} before its lists could be read") from error

    def write_first(self) -> None:
        """List what others have, and write to records of the run that have the ids of others of the run."""
        if self._options.limits.read_only:
            return
        target, resources = self.target, self._contract.resources
        with suppress(BudgetSpentError):
            accounts = [OWN_KEY, OTHER] if OTHER in target.keys else [OWN_KEY]
            collections = product(resources.values(), accounts)
            target.side_by_side([partial(target.bystanders.list_first, *collection) for collection in collections])
            visited = {visits.resource.name: visits.rules for visits in self.visits}
            rules = {rule.id for name in PAIRED for rule in visited.get(name, [])}
            if visited.keys() >= set(PAIRED) and rules & SAME_ID_RULES:
                self._chapter = "looking for ids in use twice"
                self._paired = [self._visitor(resources[name]) for name in PAIRED]
                write_to_same_ids(*self._paired)

    def remove_reserved(self) -> None:
        """Remove what the first writes have left."""
        self.target.ledger.reserved.clear()
        self._chapter = CLEANING_UP if self._paired else self._chapter

        def remove(visitor: Visitor) -> None:
            with self.target.budget.cleaning_up(), suppress(BudgetSpentError):
                remove_all(visitor)

        self.target.side_by_side([partial(remove, visitor) for visitor in self._paired])

    def visit(self, visits: Visits) -> None:
        """Visit a resource and, if a rule that several requests decide seems violated, visit it again for that.

        Rules that nobody could decide because others wrote get a few further visits.
        """
        options, resource = self._options, visits.resource
        chapters, extra_steps = self._first_plan(visits)
        while True:
            visitor = self._visitor(resource)
            evidence = visitor.evidence
            visits.evidences.append(evidence)
            if options.fill and visits is self.visits[0]:
                visitor.min_records = options.fill
            try:
                visit(visitor, chapters, extra_steps, partial(self._begin_chapter, visits))
            finally:
                visits.judge()
            visit_count = len(visits.evidences)
            doubted = doubts(visits.results, evidence) if visit_count == 1 else {}
            if not doubted and visit_count < MAX_VISITS:
                doubted = dict.fromkeys(unsettled(visits.results), False)
            self._note_certain(visits, [result for result in visits.results if result.rule not in doubted])
            if not doubted:
                break
            if any(doubted.values()):  # in what only exploration shows, all before it may have a part
                chapters, extra_steps = chapters | (needed(doubted) & NEEDS_CONTROL), [self._explore]
            else:
                chapters, extra_steps = needed(doubted), []
        visits.is_complete = True

    def _visitor(self, resource: Resource) -> Visitor:
        checks, options = self.target.bystanders.checks, self._options
        evidence = Evidence(
            resource, options.base_url, public_base_url=options.public_base_url, bystander_checks=checks
        )
        visitor = Visitor(self.target, resource, evidence, lag=self._lag)
        if options.splash_create_path and resource.name == "splash-pages":
            visitor.records.create_path = options.splash_create_path
        visitor.moments = min(visitor.moments + MOMENTS_OF_A_ROUND * options.overlap, MAX_MOMENTS)
        return visitor

    def shrink(self) -> None:
        """Try what was found again with fewer requests, of each rule for the first resource that breaks it."""
        target, limits = self.target, self._options.limits
        limit = target.budget.request_count // A_SHARE if self._options.shrink is None else self._options.shrink
        slow = limits.interval > SLOW and self._options.shrink is None
        if not limit or slow or limits.read_only or target.budget.stop_reason or target.budget.interrupted():
            return
        looks_only = bool(target.ledger.left)  # if something could not be removed, nothing more is made
        findings_by_resource: dict[str, list[tuple[Rule, Violation]]] = {}
        for result in first_violated(result for visits in self.visits for result in visits.results):
            if result.rule.decided_by != "round" and result.findings[0].is_repeatable:
                findings_by_resource.setdefault(result.resource, []).append((result.rule, result.findings[0]))
        self._chapter = "shrinking"
        finding_count = sum(map(len, findings_by_resource.values()))
        for resource, findings in findings_by_resource.items():
            visitor = Visitor(target, self._contract.resources[resource], lag=self._lag)
            visitor.records.marker = visitor.records.marker_of(int(time.time()))
            budget = limit * len(findings) // finding_count
            exchanges = sorted(target.exchanges, key=lambda exchange: exchange.number)
            shrinking = Shrinking(visitor, self._options.public_base_url)
            self._shortest |= {
                rule: (resource, shortest)
                for rule, shortest in shrinking.shrink(findings, exchanges, budget, looks_only=looks_only).items()
            }
            self._shown_again |= {f"{rule}[{resource}]": text for rule, text in shrinking.shown_again.items()}

    def try_scripts(self) -> None:
        """Run the scripts of what was found, those of fewest requests first, and keep those that show it."""
        target, limits, connection = self.target, self._options.limits, self._options.connection
        curl = curl_options(connection, self._options.base_url)
        is_left_out = limits.read_only or target.budget.is_rate_limited or curl is None or which("curl") is None
        if not self._options.try_scripts or is_left_out or target.budget.interrupted():
            return
        results = [result for visits in self.visits for result in visits.results]
        violated = [result for result in first_violated(results) if result.rule.decided_by != "round"]
        if not is_loopback(self._options.base_url):  # one for each cause
            implied = {rule for result in violated for rule in result.rule.implies}
            violated = [result for result in violated if result.rule.id not in implied]
        self._chapter = "trying scripts"
        for resource in dict.fromkeys(result.resource for result in violated):
            visitor = Visitor(target, self._contract.resources[resource], lag=self._lag)
            for result in violated:
                if result.findings[0].is_repeatable and result.resource == resource and not target.budget.interrupted():
                    self._try_script(result, visitor, str(curl))

    def _try_script(self, result: Result, visitor: Visitor, curl: str) -> None:
        """Run the script of a finding: of the fewest requests if they are known, else of all that may lead to it."""
        target, options, rule = self.target, self._options, result.rule
        exchanges = sorted(target.exchanges, key=lambda exchange: exchange.number)
        resource, shortest = self._shortest.get(rule.id, ("", None))
        for steps in [shortest, None] if shortest and resource == result.resource else [None]:
            subject = (options.base_url, rule, visitor.resource, result.findings[0], exchanges)
            attempt = script(*subject, steps, options.public_base_url, BROKEN)
            may_send = target.budget.may_send(REQUESTS_OF_A_STEP * len(attempt.exchanges))
            writes = any(step.request.method != "GET" for step in attempt.exchanges)
            if not may_send or (writes and target.ledger.left) or any(map(shows_key, attempt.exchanges)):
                return  # if something could not be removed, nothing more is made
            self._script_count += 1
            run_marker = visitor.records.marker_of(int(self._started) + self._script_count)
            entries = []
            for step in attempt.exchanges:
                owner = OTHER if step.request.identity == OTHER else OWN_KEY
                for marker in marks_of(step):  # a record that was renamed shows the mark of its update
                    visitor.evidence.markers.add(own_marker := f"{run_marker}-{marker.rpartition('-')[2]}")
                    entries.append(target.ledger.plan(visitor.resource.name, own_marker, owner))
            keys = {"CONTRACT_API_KEY": options.api_key, "CONTRACT_SECOND_API_KEY": options.second_api_key or ""}
            variables = keys | {"MARK": run_marker, "CURL_OPTIONS": curl}
            try:
                status, requests = run_script(attempt.text, variables, min(MAX_SECONDS, target.budget.seconds_left))
                target.budget.count_elsewhere(requests)
            finally:
                with target.budget.cleaning_up(), suppress(BudgetSpentError):
                    if writes:
                        remove_all(visitor)
                for entry in entries:
                    if entry.missing:  # the script has ended, and removed it
                        target.ledger.note_removed(entry)
            if status == UNCLEAR:  # nothing is known of it, as of one that was not tried
                return
            self._script_statuses[result.id] = status
            if status == BROKEN:
                return
            self._shortest.pop(rule.id, None)

    def _first_plan(self, visits: Visits) -> tuple[Chapters, list[ExtraSteps]]:
        options, extra_steps = self._options, list[ExtraSteps]()
        if options.explore:
            extra_steps.append(self._explore)
        if options.overlap and any(rule.decided_by == "round" for rule in visits.rules):
            extra_steps.append(self._overlap)
        if options.large_files or options.poison:
            extra_steps.append(self._try_further)
        return needed(visits.rules) - NEEDS_CONTROL if options.rules else options.chapters, extra_steps

    @cached_property
    def exploration(self) -> Callable[[Visitor], Iterator[Callable[[], object]]]:
        from contract_tests.exploration import Exploration, weight_of  # noqa: PLC0415

        weights = sum(map(weight_of, self._contract.resources.values()))
        return Exploration(self._contract, math.ceil(self._options.explore / weights), self._options.seed)

    def _explore(self, visitor: Visitor) -> Iterator[Step]:
        rule, steps = self._options.explore_until, self.exploration(visitor)
        while not (rule and is_violated(rule, visitor.evidence)) and (step := next(steps, None)):
            yield "exploring", step

    def _overlap(self, visitor: Visitor) -> Iterator[Step]:
        yield "overlapping requests", partial(overlap, visitor, self._options.overlap)

    def _try_further(self, visitor: Visitor) -> Iterator[Step]:
        if self._options.large_files:
            yield "sending large files", partial(send_large_files, visitor)
        if self._options.poison:
            yield "sending text that is not UTF-8", partial(poison, visitor)

    def _report_waiting(self, seconds: float, reason: str) -> None:
        reason = printable(self._masking.text(reason))  # it may hold what the server wrote
        self._report(f"{reason}: {WAITING} {seconds:.3g} s", self.target.budget.request_count)

    def _begin_chapter(self, visits: Visits, chapter: str) -> None:
        """Report a chapter that begins, and now and then what has failed so far."""
        self._chapter = f"{visits.resource.name}: {chapter}"
        self._report(self._chapter, self.target.budget.request_count)
        is_awaited = self._certain or self._options.max_failures
        if is_awaited and (started := time.monotonic()) > self._next_look:
            self._next_look = math.inf  # until this look is over
            visits.judge()
            self._note_certain(visits, [result for result in visits.results if result.is_certain_failure])
            finished = time.monotonic()
            self._next_look = finished + max(SECONDS_BETWEEN, TIMES_AS_LONG * (finished - started))

    def _note_certain(self, visits: Visits, results: list[Result]) -> None:
        """Report what nothing will change; once enough has failed, the target sends no more."""
        with self._lock:
            self._certain_results[visits.resource.name] = results
            confirmed = [result for resource_results in self._certain_results.values() for result in resource_results]
            failed = {result.id for result in confirmed if result.verdict is Verdict.FAIL}
            limit = self._options.max_failures
            if limit and len(failed) >= limit:
                self.target.budget.stop(f"stopped, as {len(failed)} checks failed and --max-failures is {limit}")
            if self._certain and not failed <= self._certain_failures:
                self._certain(self.outcome(confirmed, has_notes=False))
            self._certain_failures |= failed

    def outcome(self, results: list[Result], *, has_notes: bool = True) -> Outcome:
        """The outcome of the results, with secrets masked and waived failures marked; notes come at the end."""
        options, ledger, masking = self._options, self.target.ledger, self._masking
        is_complete = all(visits.is_complete for visits in self.visits)
        exchanges = sorted(self.target.exchanges, key=lambda exchange: exchange.number)
        if options.limits.read_only:
            results = [result for result in results if result.verdict is not Verdict.INCONCLUSIVE or result.findings]
        judged_numbers = {exchange.number for exchange in exchanges}
        gone_reason = self.target.availability.gone_reason
        if gone_reason:  # which is why, whatever else was in the way
            results = [
                replace(result, reasons=(gone_reason,))
                if result.verdict is Verdict.INCONCLUSIVE and not result.findings
                else result
                for result in results
            ]
        masked = [_masked(self._with_named_rules_failing(result), masking) for result in results]
        final_results, stale = apply_waivers(options.waivers, masked, self._contract, datetime.now(UTC).date())
        exceeded = tuple(self._exceeded())
        not_run = possible(judgeable_rules(self._contract, options)) - len(final_results)
        is_failing = any(result.verdict is Verdict.FAIL for result in final_results)
        notes = self._remarks(exchanges, is_failing=is_failing) if has_notes else ()
        word, status = overall(
            final_results,
            partial=not_run > 0,
            strict=options.strict,
            stale=bool(stale),
            exceeded=bool(exceeded),
            left=bool(ledger.left),
            interrupted=not is_complete,
            is_gone=bool(gone_reason),
        )
        return Outcome(
            base_url=options.base_url,
            version=self._contract.version,
            started_at=self._started,
            seconds=time.time() - self._started,
            word=word,
            status=status,
            not_judged=tuple(map(masking.text, self._not_judged(final_results, not_run, is_complete=is_complete))),
            results=tuple(final_results),
            exchanges=tuple(exchanges),
            tries=tuple(exchange for exchange in self.target.all_exchanges if exchange.number not in judged_numbers),
            requests=self.target.budget.request_count,
            not_run=not_run,
            created=sum(entry.identifier is not None for entry in ledger.entries),
            left=tuple(ledger.left),
            harm=self.target.bystanders.harm,
            strict=options.strict,
            insecure=options.connection.insecure,
            notes=tuple(printable(masking.text(note)) for note in notes),
            stale=tuple(stale),
            exceeded=exceeded,
            interrupted=not is_complete,
            public_base_url=options.public_base_url,
            shortest=self._shortest,
            shown_again=self._shown_again,
            script_statuses=self._script_statuses,
            masking=masking,
        )

    def _with_named_rules_failing(self, result: Result) -> Result:
        """A result as `--fail-on` makes it."""
        is_named = any(fnmatchcase(result.rule.id, pattern) for pattern in self._options.fail_on)
        return replace(result, verdict=Verdict.FAIL) if is_named and result.verdict is Verdict.WARN else result

    def _exceeded(self) -> Iterator[str]:
        """The limits of `--max-5xx` and `--slowest` that were exceeded, with the requests."""
        max_5xx, max_seconds, failed = self._options.max_5xx, self._options.slowest, self._server_errors
        if max_5xx is not None and len(failed) > max_5xx:
            requests = counts_text(request_counts(failed))
            yield f"{len(failed)} documented requests got a 5xx, and {max_5xx} may: {requests}"
        slow = [exchange for exchange in self._documented if max_seconds and exchange.seconds > max_seconds]
        if slow:
            longest, requests = max(exchange.seconds for exchange in slow), counts_text(request_counts(slow))
            yield f"{len(slow)} answers took longer than {max_seconds:g} s, up to {longest:.2g} s: {requests}"

    @property
    def _documented(self) -> list[Exchange]:
        """All exchanges of documented requests, earlier tries and witnesses too."""
        return [exchange for exchange in self.target.all_exchanges if exchange.expects is Expect.SUCCESS]

    @property
    def _server_errors(self) -> list[Exchange]:
        """The answers to documented requests with a 5xx while the server was up."""
        state, hit = self.target.availability, outage_numbers(self.target.all_exchanges)
        failed = [exchange for exchange in self._documented if exchange.is_server_error]
        return [exchange for exchange in failed if not state.was_away(exchange) and exchange.number not in hit]

    def _remarks(self, exchanges: list[Exchange], *, is_failing: bool) -> Iterator[str]:
        yield from remarks(exchanges, self._contract)
        yield from _unanswered(exchanges)
        simultaneous = [evidence.simultaneous for visits in self.visits for evidence in visits.evidences]
        requests = [exchange.request for moment in simultaneous if moment for exchange in moment.exchanges]
        if (failed := self._server_errors) and self._options.max_5xx is None and not is_failing:
            requests_text = counts_text(request_counts(failed))
            yield f"{len(failed)} documented requests got a 5xx while others worked: {requests_text} (see --max-5xx)"
        if pairs := sum(request.identity == OTHER for request in requests):
            yield f"{pairs} lists and reads were sent with the second key while the first key sent the same"
        if rate := self.target.availability.suggested_rate:
            count = self.target.availability.limit_count
            yield f"{count} requests were refused because there were too many; --rate {rate} would have avoided that"

    def _not_judged(self, results: list[Result], not_run: int, *, is_complete: bool) -> list[str]:
        reason = "deselected, or in need of writes" if is_complete else "the run was interrupted"
        left_out = [f"{not_run or 'some'} checks ({reason})"] if not_run or not is_complete else []
        options_off = ["rarer input (--explore 0)"] if not self._options.explore else []
        options_off += ["overlapping requests (--overlap 0)"] if not self._options.overlap else []
        reasons = dict.fromkeys(reason for visits in self.visits for reason in visits.notes)
        cut_short = {
            reason: [visits.resource.name for visits in self.visits if reason in visits.notes] for reason in reasons
        }
        notes = [f"the rest of {' and '.join(names)} ({reason})" for reason, names in cut_short.items()]
        runs = sorted({run for visits in self.visits for evidence in visits.evidences for run in evidence.other_runs})
        notes += [f"what another run ({run}) disturbs, which is at work in this account" for run in runs]
        return [*unjudged(results), *notes, *options_off, *left_out]

    @property
    def _masking(self) -> Masking:
        entries = self.target.ledger.entries
        records = [
            (entry.resource, entry.owner, entry.identifier)
            for entry in entries
            if entry.seen and entry.identifier is not None
        ]
        return Masking.of(
            _secrets(self._options), records, {marker for entry in entries for marker in entry.markers if marker}
        )


def side_by_side(steps: Sequence[Callable[[], None]], target: Target) -> None:
    """Carry out visits in threads; after an interrupt or an error, each is told to end, and tidies up first.

    Raises:
        Exception: the first that a step raised.
        KeyboardInterrupt: if the run must end.
    """
    waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
    for step in steps:
        waiting.put(step)
    errors: list[BaseException] = []
    end_event, was_interrupted = Event(), target.budget.interrupted
    target.budget.interrupted = lambda: end_event.is_set() or was_interrupted()

    def work(is_done: Event) -> None:
        try:
            while not end_event.is_set():
                waiting.get_nowait()()
        except Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            errors.append(error)
            end_event.set()
        finally:
            is_done.set()

    working = [Event() for _ in range(min(target.limits.jobs, len(steps)))]
    for number, is_done in enumerate(working):
        Thread(target=work, args=(is_done,), daemon=True, name=f"visit {number}").start()
    try:
        _wait_for(working)
    except KeyboardInterrupt as error:
        errors.insert(0, error)
        end_event.set()
        _wait_for(working)  # a second interrupt ends the tidying, too
    target.budget.interrupted = was_interrupted
    if errors:
        raise errors[0]


def _wait_for(working: Iterable[Event]) -> None:
    """Wait for threads by what they set at their end: an interrupted `join` takes a running thread for ended."""
    for is_done in working:
        while not is_done.wait(SECONDS_TO_NOTICE):
            pass


def selected(contract: Contract, options: Options) -> list[tuple[Rule, Resource]]:
    """The rules to judge, each with each of its resources.

    Raises:
        NothingSelectedError: if there are none.
    """
    for patterns, error in ((options.rules, NothingSelectedError), (options.fail_on, UsageError)):
        unused = [pattern for pattern in patterns if not any(fnmatchcase(rule, pattern) for rule in contract.rules)]
        if unused:
            areas = ", ".join(dict.fromkeys(f"{rule.partition('.')[0]}.*" for rule in contract.rules))
            raise error(f'no rule of the contract matches "{unused[0]}"; choose from {areas}')
    if any(pattern.startswith("concurrency") for pattern in options.rules) and not options.overlap:
        raise NothingSelectedError("rules of overlapping requests are judged with --overlap N; give that too")
    selection = [
        (rule, contract.resources[name])
        for rule in judgeable_rules(contract, options)
        if not options.rules or any(fnmatchcase(rule.id, pattern) for pattern in options.rules)
        for name in rule.resources
        if not options.resources or name in options.resources
    ]
    if not selection:
        raise NothingSelectedError("no rule of the contract matches what was selected")
    return selection


def judgeable_rules(contract: Contract, options: Options) -> list[Rule]:
    """The rules that a run can judge: those of overlapping requests only if it sends some."""
    return [rule for rule in contract.rules.values() if options.overlap or rule.decided_by != "round"]


def needed(rules: Iterable[Rule]) -> Chapters:
    return frozenset().union(*(DECISIONS[rule.id].needs for rule in rules))


def _unanswered(exchanges: list[Exchange]) -> list[str]:
    """A note on requests that got no answer; a server that crashes looks like that, and so does a bad connection."""
    lost = [exchange for exchange in exchanges if exchange.status is None]
    if not lost:
        return []
    first = f"{lost[0].request.method} {lost[0].request.target}: {lost[0].error[:100]}"
    return [f"{len(lost)} requests got no answer, first {first}"]


def _secrets(options: Options) -> dict[str, str]:
    """What must not be reported, each with its replacement."""
    words = [word for value in options.connection.headers.values() for word in (value, *value.split())]
    headers = identities(options.api_key, options.second_api_key)
    similar = [
        value.partition(" ")[2] or quote_plus(options.api_key) for name, value in headers.items() if name != WRONG_KEY
    ]
    secrets = dict.fromkeys(words, "[hidden]") | dict.fromkeys(similar, "[nearly the key]") | {options.api_key: "[key]"}
    return secrets | ({options.second_api_key: "[second key]"} if options.second_api_key else {})


def _masked(result: Result, masking: Masking) -> Result:
    """A result whose texts hold no secret; findings beyond the first few are only counted."""
    findings = [
        replace(
            finding,
            expected=printable(masking.findings(finding.exchange, finding.expected)) if number < MAX_FINDINGS else "",
            received=printable(masking.findings(finding.exchange, finding.received)) if number < MAX_FINDINGS else "",
        )
        for number, finding in enumerate(result.findings)
    ]
    reasons = tuple(printable(masking.text(reason)) for reason in result.reasons)
    return replace(result, findings=tuple(findings), reasons=reasons)
