"""Advisory rules about requests that overlap: only what no order of them explains is a violation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from contract_tests.evidence import Evidence
from contract_tests.exchange import Exchange, id_of
from contract_tests.rounds import Fate, Round, fate_of, orders, told
from contract_tests.rules.observation import NotApplicable, Observation, Observations, Satisfied, Violation
from link_management_contract import Resource

TOO_MANY = (429, 503)  # how a server may refuse a burst
SHARE_THAT_FAILS = 5  # a burst fails if more than one answer in so many does
NOTHING = "no such requests could be sent"
Look = Callable[[Round], tuple[str, str] | None]  # what was expected and received, or None if an order explains it


def updates_leave_other_fields(evidence: Evidence, resource: Resource) -> Observations:
    """Updates of different fields of one record."""
    return _judged(evidence, resource, ("updates",), _unexplained)


def reads_show_whole_records(evidence: Evidence, resource: Resource) -> Observations:
    """Reads and lists while one update of several fields is carried out."""
    return _judged(evidence, resource, ("reads",), _unexplained)


def deleted_record_stays_deleted(evidence: Evidence, resource: Resource) -> Observations:
    """An update and a delete of one record, and two deletes."""

    def look(round_: Round) -> tuple[str, str] | None:
        deletes = [fate_of(each) for each in round_.exchanges if each.request.operation == "delete"]
        if Fate.DONE not in deletes:
            return None
        identifier = round_.exchanges[0].request.identifier
        if any(read.record is not None for read in round_.reads):
            return "no record once its delete was answered", "a read shows it"
        if identifier in (round_.listed or ()):
            return "no record once its delete was answered", "it is listed"
        return None

    return _judged(evidence, resource, ("update and delete", "deletes"), look)


def creates_answer_different_ids(evidence: Evidence, resource: Resource) -> Observations:
    """Creates at one moment."""

    def look(round_: Round) -> tuple[str, str] | None:
        twice = _twice(_made(round_))
        return ("a different id from each create", f"{twice[0][1]} times the id {twice[0][0]}") if twice else None

    return _judged(evidence, resource, ("creates",), look)


def created_records_are_listed_once(evidence: Evidence, resource: Resource) -> Observations:
    """Creates at one moment, and what is read and listed afterwards."""

    def look(round_: Round) -> tuple[str, str] | None:
        made = sorted(set(_made(round_)))
        missing = [read.request.identifier for read in round_.reads if read.record is None and _tells(read)]
        if missing:
            return "a record under each id that a create answered", f"none under {missing[0]}"
        counts = Counter(round_.listed or ())
        wrong = [(each, counts[each]) for each in made if counts[each] != 1] if round_.listed is not None else []
        return ("each created record listed once", f"the id {wrong[0][0]} {wrong[0][1]} times") if wrong else None

    return _judged(evidence, resource, ("creates",), look)


def totals_come_right(evidence: Evidence, resource: Resource) -> Observations:
    """The total once creates or deletes that overlap are all answered."""

    def look(round_: Round) -> tuple[str, str] | None:
        if round_.listed is None or round_.total is None or not round_.is_sound:
            return None
        listed = len(round_.listed)
        return (f"total {listed}, as so many are listed", f"total {round_.total}") if round_.total != listed else None

    return _judged(evidence, resource, ("creates", "deletes", "update and delete"), look)


def lists_show_a_record_once(evidence: Evidence, resource: Resource) -> Observations:
    """Lists while records are created and changed."""

    def look(round_: Round) -> tuple[str, str] | None:
        for each in round_.exchanges:
            twice = _twice([id_of(row) for row in each.page.rows]) if each.page else []
            if twice:
                return "each record once on a page", f"the id {twice[0][0]} {twice[0][1]} times"
        return None

    return _judged(evidence, resource, ("creates", "reads"), look)


def bursts_of_reads_are_answered(evidence: Evidence, resource: Resource) -> Observations:
    """Many reads of one record at one moment; a server may refuse some as too many."""

    def look(round_: Round) -> tuple[str, str] | None:
        failed = [each for each in round_.exchanges if each.failed and each.status not in TOO_MANY]
        if len(failed) * SHARE_THAT_FAILS <= len(round_.exchanges):
            return None
        words = Counter(f"status {each.status}" if each.status else "no answer" for each in failed)
        received = ", ".join(f"{count} times {word}" for word, count in words.most_common())
        return f"an answer to each of {len(round_.exchanges)} reads, or a refusal as too many", received

    return _judged(evidence, resource, ("burst",), look)


def _unexplained(round_: Round) -> tuple[str, str] | None:
    """What no order of a round's requests explains."""
    possible = {state for _, state in orders(round_.steps())}
    after = [round_.changed(read.record) for read in round_.reads if _tells(read)]
    if not after or after[0] in possible:
        return None
    if not possible:
        shown = dict.fromkeys(told(round_.changed(each.record)) for each in round_.exchanges if each.record is not None)
        return "the record as it was before the update or as it is after it", f"reads with {', '.join(shown)}"
    return f"{' or '.join(sorted(map(told, possible)))} (what any order of the requests gives)", told(after[0])


def _tells(read: Exchange) -> bool:
    """Whether a read says what there is, or that there is nothing; not if it failed, or was one too many."""
    return not read.failed and read.status not in TOO_MANY


def _made(round_: Round) -> list[int]:
    return [each.made_id for each in round_.exchanges if each.made_id is not None]


def _twice(ids: Iterable[object]) -> list[tuple[object, int]]:
    return [(each, count) for each, count in Counter(ids).items() if each is not None and count > 1]


def _judged(evidence: Evidence, resource: Resource, kinds: tuple[str, ...], look: Look) -> Observations:
    """An observation for each round; contrary evidence says how many rounds are like it."""
    rounds = [each for each in evidence.rounds[resource.name] if each.kind in kinds]
    seen = [(each, look(each)) for each in rounds]
    broken = sum(found is not None for _, found in seen)
    for round_, found in seen:
        yield from _observation(round_, found, f"in {broken} of {len(seen)} rounds")
    if not rounds and evidence.has_overlapped:
        yield NotApplicable(NOTHING)


def _observation(round_: Round, found: tuple[str, str] | None, often: str) -> Iterator[Observation]:
    shown = _witness(round_)
    if found:
        yield Violation(shown, found[0], f"{found[1]}, {often}", timeline=round_.timeline(), together=round_.exchanges)
    else:
        yield Satisfied(shown)


def _witness(round_: Round) -> Exchange:
    """The exchange that shows what a round led to."""
    return round_.reads[0] if round_.before and round_.reads else round_.exchanges[-1]
