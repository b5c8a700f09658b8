"""Advisory rules about requests that overlap: only what no order of them explains is a violation."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import permutations, product
from typing import Any

from contract_tests.evidence.evidence import Evidence, Round
from contract_tests.evidence.exchange import Exchange, FormValue, id_of, is_server_failure
from contract_tests.evidence.marks import mark_of, shows
from contract_tests.evidence.observation import (
    NEEDS_CREATES,
    NotApplicable,
    Observation,
    Observations,
    Satisfied,
    Violation,
    rule,
)
from contract_tests.evidence.urls import holds_text

RATE_LIMIT_STATUSES = (429, 503)  # how a server may refuse a burst
SHARE_THAT_FAILS = 5  # a burst fails if more than one answer in so many does
State = frozenset[str] | None  # the fields of a record that are no longer as they were, or None without a record
NO_RECORD: State = None
Contradiction = tuple[str, str] | None  # what was expected and received, or None if an order explains a round
Kinds = tuple[str, ...]


class WriteResult(Enum):
    """What became of a write, as far as its answer tells."""

    CARRIED_OUT = auto()
    REJECTED = auto()
    UNKNOWN = auto()


def fate_of(exchange: Exchange) -> WriteResult:
    """What became of a write: after a failure, without an answer or by an odd one it may have been carried out."""
    if exchange.failed:
        return WriteResult.UNKNOWN
    if not exchange.is_accepted:
        return WriteResult.REJECTED
    clear = exchange.request.operation == "delete" or id_of(exchange.data) is not None
    return WriteResult.CARRIED_OUT if clear else WriteResult.UNKNOWN


@dataclass(frozen=True)
class Step:
    """A request of a round.

    Attributes:
        name: what it is called in an order.
        changes: the fields that an update changes; empty for a read, None for a delete.
        result: what became of it.
        shows: what a read shows; of no matter for a write.
    """

    name: str
    changes: frozenset[str] | None = frozenset()
    result: WriteResult = WriteResult.CARRIED_OUT
    shows: State = frozenset()

    @property
    def is_read(self) -> bool:
        return self.changes is not None and not self.changes


def orders(steps: Sequence[Step]) -> Iterator[tuple[tuple[str, ...], State]]:
    """Each order of a round's requests that its reads allow, with the state of the record after it.

    A write that was refused changes nothing; one whose fate is unknown may have been carried out or not. An update of a
    record that is gone changes nothing, whatever it is answered.
    """
    certain = [step for step in steps if step.is_read or step.result is WriteResult.CARRIED_OUT]
    unknown = [step for step in steps if not step.is_read and step.result is WriteResult.UNKNOWN]
    for selection in product((True, False), repeat=len(unknown)):
        carried_out = certain + [step for step, is_taken in zip(unknown, selection, strict=True) if is_taken]
        for order in permutations(carried_out):
            state: State = frozenset()
            for step in order:
                if step.is_read and step.shows != state:
                    break
                if step.changes is None:
                    state = NO_RECORD
                elif state is not None:
                    state |= step.changes
            else:
                yield tuple(step.name for step in order), state


def steps_of(overlapping: Round) -> list[Step]:
    """A round's requests as steps of an order; reads that showed no record say nothing."""
    steps = []
    for number, exchange in enumerate(overlapping.exchanges, 1):
        form = exchange.request.form or {}
        if exchange.request.operation == "update":
            steps.append(Step(f"{number}: update of {', '.join(form)}", frozenset(form), fate_of(exchange)))
        elif exchange.request.operation == "delete":
            steps.append(Step(f"{number}: delete", None, fate_of(exchange)))
        elif exchange.record is not None:
            steps.append(Step(f"{number}: read", shows=changed_in(overlapping, exchange.record)))
    return steps


def changed_in(overlapping: Round, record: Mapping[str, Any] | None) -> State:
    """The fields in which a record differs from before a round, among those that its updates name."""
    if not record:
        return NO_RECORD
    form = {name: value for exchange in overlapping.exchanges for name, value in (exchange.request.form or {}).items()}
    return frozenset(name for name, value in form.items() if has_changed(name, value, overlapping.before, record))


def has_changed(name: str, value: FormValue, before: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Whether a record shows another value than before; one that is kept among its settings, the very value."""
    if name in record or not isinstance(record.get("settings"), dict):
        return bool(record.get(name) != before.get(name))
    return holds_text(record["settings"], str(value))


def described(state: State) -> str:
    if state is None:
        return "no record"
    return f"{' and '.join(sorted(state))} changed" if state else "nothing changed"


def timeline(overlapping: Round) -> tuple[str, ...]:
    """The requests with their times, what was seen afterwards, and what each order would have given."""
    round_start = min((exchange.started_at for exchange in overlapping.exchanges), default=0.0)
    lines = []
    for exchange in overlapping.exchanges:
        request, start = exchange.request, exchange.started_at - round_start
        fields = f" ({', '.join(request.form)})" if request.form else ""
        status = f"status {exchange.status}" if exchange.status else "no answer"
        is_read = request.operation == "read" and overlapping.before and exchange.record
        shows = f", {described(changed_in(overlapping, exchange.record))}" if is_read else ""
        times = f"{start * 1000:7.1f} to {(start + exchange.seconds) * 1000:.1f} ms"
        lines.append(f"{times}  {request.method} {request.target}{fields}  {status}{shows}")
    if overlapping.before:
        after = [(read.request.target, changed_in(overlapping, read.record)) for read in overlapping.reads[:1]]
        lines += [f"afterwards  GET {target}  {described(state)}" for target, state in after]
        possible: dict[str, str] = {}
        for order, state in orders(steps_of(overlapping)):
            possible.setdefault(described(state), "; ".join(order) or "none of them")
        lines += [f"would give {state}: {order}" for state, order in possible.items()]
    return tuple(lines)


def no_order_explains(overlapping: Round) -> Contradiction:
    """What a read shows afterwards that no order of the requests leads to."""
    possible = {state for _, state in orders(steps_of(overlapping))}
    after = [changed_in(overlapping, read.record) for read in overlapping.reads if _is_clear(read)]
    if not after or after[0] in possible:
        return None
    if not possible:
        reads = [exchange for exchange in overlapping.exchanges if exchange.record is not None]
        states = dict.fromkeys(described(changed_in(overlapping, read.record)) for read in reads)
        return "the record as it was before the update or as it is after it", f"reads with {', '.join(states)}"
    expected = " or ".join(sorted(map(described, possible)))
    return f"{expected} (what any order of the requests gives)", described(after[0])


def is_back(overlapping: Round) -> Contradiction:
    """A record that is there although its delete was answered."""
    deletes = [fate_of(exchange) for exchange in overlapping.exchanges if exchange.request.operation == "delete"]
    if WriteResult.CARRIED_OUT not in deletes:
        return None
    expected = "no record once its delete was answered"
    if any(read.record is not None for read in overlapping.reads):
        return expected, "a read shows it"
    return (
        (expected, "it is listed")
        if overlapping.exchanges[0].request.identifier in (overlapping.listed_ids or ())
        else None
    )


def same_id(overlapping: Round) -> Contradiction:
    """An id that two creates returned."""
    repeats = _duplicates(_created_ids(overlapping))
    return ("a different id from each create", f"{repeats[0][1]} times the id {repeats[0][0]}") if repeats else None


def not_listed_once(overlapping: Round) -> Contradiction:
    """A created record that is not read, or not listed once."""
    missing = [read.request.identifier for read in overlapping.reads if read.record is None and _is_clear(read)]
    if missing:
        return "a record under each id that a create answered", f"none under {missing[0]}"
    if overlapping.listed_ids is None:
        return None
    counts = Counter(overlapping.listed_ids)
    strange = [identifier for identifier in sorted(set(_created_ids(overlapping))) if counts[identifier] != 1]
    return ("each created record listed once", f"the id {strange[0]} {counts[strange[0]]} times") if strange else None


def shows_another(overlapping: Round) -> Contradiction:
    """A record that shows the name or host that another create gave."""
    markers = {
        exchange.made_id: mark_of(form.get("name") or form.get("host"))
        for exchange in overlapping.exchanges
        if exchange.made_id is not None and (form := exchange.request.form or {})
    }
    for read in overlapping.reads:
        others = [marker for made_id, marker in markers.items() if made_id != read.request.identifier]
        if read.record and any(shows(read.record, marker) for marker in others):
            return "the name or host that its own create gave", f"that of another create, of {read.request.identifier}"
    return None


def wrong_total(overlapping: Round) -> Contradiction:
    """A total that was right before, and is not that of the records listed afterwards."""
    if (
        overlapping.listed_ids is None
        or overlapping.total in (None, len(overlapping.listed_ids))
        or not overlapping.is_reliable
    ):
        return None
    return f"total {len(overlapping.listed_ids)}, as so many are listed", f"total {overlapping.total}"


def disagrees(overlapping: Round) -> Contradiction:
    """A list that shows more or fewer records than its own total says."""
    lists = [exchange.page for exchange in overlapping.exchanges if exchange.page and exchange.page.total is not None]
    torn = [page for page in lists if len(page.rows) != min(page.total or 0, page.meta.get("results_per_page", 0))]
    if not torn or not overlapping.is_reliable:
        return None
    received = f"{len(torn[0].rows)} records of a total of {torn[0].total}, in {len(torn)} of {len(lists)} lists"
    return "as many records as the total says, or a full page", received


def fails(overlapping: Round) -> Contradiction:
    """Failures among requests at one moment; a server may refuse some as too many."""
    failed = [exchange for exchange in overlapping.exchanges if exchange.status and is_server_failure(exchange.status)]
    if not failed:
        return None
    counts = Counter((exchange.status_text, exchange.request.operation) for exchange in failed)
    received = ", ".join(f"{status} to {count} {operation}s" for (status, operation), count in counts.most_common())
    return f"an answer to each of {len(overlapping.exchanges)} requests, or a refusal as too many", received


def reaches_other_account(overlapping: Round) -> Contradiction:
    """A record that another account lists, or that its own account does not read."""
    if overlapping.extra_count:
        return "the record in the account whose key made it", "it is listed in the other account"
    if any(read.record is None and _is_clear(read) for read in overlapping.reads):
        return "the record in the account whose key made it", "it is not read there"
    return None


def shows_duplicates(overlapping: Round) -> Contradiction:
    """A record that stands twice on one page."""
    for exchange in overlapping.exchanges:
        repeats = _duplicates([id_of(row) for row in exchange.page.rows]) if exchange.page else []
        if repeats:
            return "each record once on a page", f"the id {repeats[0][0]} {repeats[0][1]} times"
    return None


def burst_fails(overlapping: Round) -> Contradiction:
    """Failures among many reads; a server may refuse some as too many."""
    reads = overlapping.exchanges
    failed = [exchange for exchange in reads if exchange.failed and exchange.status not in RATE_LIMIT_STATUSES]
    if len(failed) * SHARE_THAT_FAILS <= len(reads):
        return None
    counts = Counter(f"status {exchange.status}" if exchange.status else "no answer" for exchange in failed)
    received = ", ".join(f"{count} times {answer}" for answer, count in counts.most_common())
    return f"an answer to each of {len(reads)} reads, or a refusal as too many", received


CREATES, DELETES = ("creates",), ("update and delete", "deletes")  # kinds of rounds, which a run sends if asked for
BURST = ("burst of creates",)


@rule("concurrency.updates-leave-other-fields", ("updates",), no_order_explains, needs=NEEDS_CREATES)
@rule("concurrency.reads-show-whole-records", ("reads",), no_order_explains, needs=NEEDS_CREATES)
@rule("concurrency.deleted-record-stays-deleted", DELETES, is_back, needs=NEEDS_CREATES)
@rule("concurrency.creates-answer-different-ids", CREATES + BURST, same_id, needs=NEEDS_CREATES)
@rule("concurrency.created-records-are-listed-once", CREATES + BURST, not_listed_once, needs=NEEDS_CREATES)
@rule("concurrency.created-records-keep-their-values", CREATES, shows_another, needs=NEEDS_CREATES)
@rule("concurrency.totals-come-right", CREATES + BURST + DELETES, wrong_total, needs=NEEDS_CREATES)
@rule("concurrency.lists-show-a-record-once", ("creates", "reads"), shows_duplicates, needs=NEEDS_CREATES)
@rule("concurrency.lists-agree-with-themselves", CREATES, disagrees, needs=NEEDS_CREATES)
@rule("concurrency.accounts-stay-apart", ("accounts",), reaches_other_account, needs=NEEDS_CREATES)
@rule("concurrency.requests-do-not-fail", ("updates", "reads", *CREATES, *BURST, *DELETES), fails, needs=NEEDS_CREATES)
@rule("concurrency.bursts-of-reads-are-answered", ("burst",), burst_fails, needs=NEEDS_CREATES)
def overlapping_requests(
    evidence: Evidence, kinds: Kinds, contradiction: Callable[[Round], Contradiction]
) -> Observations:
    """An observation for each round of some kinds; contrary evidence says how many rounds are like it."""
    rounds = [(overlapping, contradiction(overlapping)) for overlapping in evidence.rounds if overlapping.kind in kinds]
    contradicted = sum(contradicted_by is not None for _, contradicted_by in rounds)
    for overlapping, contradicted_by in rounds:
        yield _observation(overlapping, contradicted_by, f"in {contradicted} of {len(rounds)} rounds")
    if not rounds and evidence.has_overlapped:
        yield NotApplicable("no such requests could be sent")


def _observation(overlapping: Round, contradicted_by: Contradiction, frequency: str) -> Observation:
    shows_it = overlapping.reads[0] if overlapping.before and overlapping.reads else overlapping.exchanges[-1]
    if contradicted_by is None:
        return Satisfied(shows_it)
    received, requests = f"{contradicted_by[1]}, {frequency}", overlapping.exchanges
    return Violation(shows_it, contradicted_by[0], received, timeline=timeline(overlapping), exchanges=requests)


def _is_clear(read: Exchange) -> bool:
    """Whether a read says what there is, or that there is nothing; not if it failed, or was one too many."""
    return not read.failed and read.status not in RATE_LIMIT_STATUSES


def _created_ids(overlapping: Round) -> list[int]:
    return [exchange.made_id for exchange in overlapping.exchanges if exchange.made_id is not None]


def _duplicates(ids: Iterable[object]) -> list[tuple[object, int]]:
    return [(identifier, count) for identifier, count in Counter(ids).items() if identifier is not None and count > 1]
