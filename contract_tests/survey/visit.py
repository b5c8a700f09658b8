"""The chapters of a visit to one resource, in the order in which they build on each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count, cycle

from contract_tests.evidence import AccessAttempt, BeforeAfter, Evidence, Listing
from contract_tests.exchange import OTHER, Expect, FormValue
from contract_tests.markers import plain
from contract_tests.multipart import USUAL
from contract_tests.survey.attempts import look_after, omit, try_odd_forms
from contract_tests.survey.chapters import EVERY, Chapter, Chapters
from contract_tests.survey.cleanup import remove_all
from contract_tests.survey.creating import InvisibleError, create, overlook
from contract_tests.survey.lifecycle import remove_one, reshape, shapes_of, update, update_later
from contract_tests.survey.overlap import overlap
from contract_tests.survey.pages import is_quiet_alone, look_around, page
from contract_tests.survey.samples import alone, of_type, optional
from contract_tests.survey.unauthorized import try_access
from contract_tests.survey.visitor import Visitor
from contract_tests.survey.waiting import Lag
from contract_tests.target.target import BudgetSpentError, Target
from link_management_contract import Resource

WITHOUT_RECORDS = frozenset({Chapter.PAGING, Chapter.OMITTING, Chapter.ODD_FORMS})
ENOUGH = 26  # more than the default page size, and three pages of the smallest


def visit(  # noqa: PLR0913 - callers give the options by name
    target: Target,
    resource: Resource,
    evidence: Evidence | None = None,
    *,
    create_path: str | None = None,
    chapters: Chapters = EVERY,
    explore: Callable[[Visitor], None] | None = None,
    rounds: int = 0,
    control: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    lag: Lag | None = None,
) -> Evidence:
    """Visit one resource.

    Args:
        target: where requests go.
        resource: the resource.
        evidence: where to keep what is seen.
        create_path: another path for creates than the documented one, or None.
        chapters: those to go through.
        explore: what to do after the fixed chapters, before everything that was made is removed.
        rounds: how many rounds of overlapping requests to send after that.
        control: whether to see last what others change while the run only reads.
        progress: called with each chapter.
        lag: what is known of the lag of reads; visits share it.

    Returns:
        The evidence; none of the run's records are left, unless the target could not be made to remove them.
    """
    evidence = evidence or Evidence(target.base_url)
    evidence.has_second_key = OTHER in target.keys
    visitor = Visitor(target, resource, evidence, "", create_path, lag=lag)
    try:
        _look(visitor, chapters, explore, rounds, progress)
        if control:
            progress("looking at what others change")
            is_quiet_alone(visitor)
    except BudgetSpentError as error:
        evidence.notes[resource.name].append(str(error))
    finally:
        progress("cleaning up")
        with target.cleaning_up(), suppress(BudgetSpentError):
            remove_all(visitor)
    return evidence


def _look(
    visitor: Visitor,
    chapters: Chapters,
    explore: Callable[[Visitor], None] | None,
    rounds: int,
    progress: Callable[[str], None],
) -> None:
    """Go through all chapters; if a created record cannot be seen, go on with reads only."""
    evidence, resource = visitor.evidence, visitor.resource.name
    progress("looking at what is there")
    start = _first_look(visitor)
    first = evidence.exchanges[-1]
    if not start.pages and (not first.succeeded or first.json is None):  # nothing is written to such a resource
        evidence.notes[resource] = [f"the list was answered with status {first.status} and no JSON"]
        return
    try:
        visitor.marker = _free_marker(visitor, start)
        kept = _chapters(visitor, start, chapters, progress)
        if explore:
            evidence.explored_from = visitor.target.sent
            progress("exploring")
            explore(visitor)
        if rounds:
            progress("overlapping requests")
            overlap(visitor, rounds)
        if kept is not None and Chapter.ANOTHER_SECOND in chapters:
            progress("updating in another second")
            update_later(visitor, kept)
    except InvisibleError as error:
        evidence.notes[resource].append(str(error))
        with suppress(BudgetSpentError):
            _read_on(visitor, start, progress)


def _read_on(visitor: Visitor, start: Listing, progress: Callable[[str], None]) -> None:
    """Go on with reads after a created record could not be seen, and write nothing more."""
    evidence, resource, seen = visitor.evidence, visitor.resource.name, visitor.snapshot()
    if not evidence.before_after[resource]:
        evidence.before_after[resource].append(
            BeforeAfter("create", start, seen, made=frozenset(evidence.own[resource]))
        )
    look_around(visitor, seen, progress)


def _first_look(visitor: Visitor) -> Listing:
    """The first listing; with a smaller page size, or none, if the largest is refused or fails."""
    start = visitor.snapshot()
    for size in sorted(visitor.resource.page_sizes, reverse=True)[2::2]:
        if start.pages or _is_final(visitor):
            break
        visitor.largest = size
        start = visitor.snapshot()
    if not start.pages and not _is_final(visitor):
        visitor.list()
    return start


def _is_final(visitor: Visitor) -> bool:
    """Whether the last request had no answer, one about the key or the path, or any success."""
    last = visitor.evidence.exchanges[-1]
    return last.status is None or last.succeeded or last.status in (401, 403, 404)


def _chapters(visitor: Visitor, start: Listing, chapters: Chapters, progress: Callable[[str], None]) -> int | None:
    """Go through the chapters of the survey; return the id of a record of the run that is not deleted, or None."""
    if not visitor.writes:
        look_around(visitor, start, progress)
        return None
    fill = Chapter.PAGING in chapters and (start.total or 0) < ENOUGH
    if fill:
        _few(visitor, start)
    elif Chapter.PAGING in chapters:
        progress("paging")
        start = page(visitor, start)
    created: list[int] = []
    seen = start
    if fill or chapters - WITHOUT_RECORDS:
        progress("creating")
        created, seen = _create(visitor, start)
    if fill and created:
        created, seen = _fill(visitor, created, start, seen)
    if fill:
        progress("paging")
        seen = page(visitor, seen)
    # neither the newest record, the one that a server is most likely to mix up, nor the first of many types
    both = created[:2] if not visitor.resource.types else created[1::-1]
    if both and Chapter.UPDATING in chapters:
        progress("updating")
        seen = _update(visitor, both[0], seen)
    if both and not fill and Chapter.PAGING in chapters:
        progress("paging with new records")
        seen = page(visitor, seen, again=True)
    if both or chapters <= WITHOUT_RECORDS:
        _refused_and_deleted(visitor, both, seen, chapters, progress)
    return both[-1] if both else None


def _few(visitor: Visitor, start: Listing) -> None:
    """List the first page while there are few records, or none."""
    if start.total == 0:
        visitor.page()
    visitor.page(results_per_page="10")


def _update(visitor: Visitor, subject: int, seen: Listing) -> Listing:
    record = update(visitor, subject)
    changed = reshape(visitor, {subject: record}, (USUAL, *shapes_of(visitor.resource)))[subject]
    later = visitor.snapshot(lambda look: look.by_id.get(subject) == changed, "update")
    visitor.evidence.before_after[visitor.resource.name].append(
        BeforeAfter("update", seen, later, changed=frozenset({subject}))
    )
    return later


def _refused_and_deleted(
    visitor: Visitor, both: list[int], later: Listing, chapters: Chapters, progress: Callable[[str], None]
) -> None:
    """Try what must have no effect, then delete one record."""
    attempts: list[AccessAttempt] = []
    if Chapter.ACCESS in chapters and both:
        progress("trying other keys")
        attempts = try_access(visitor, both[-1], later)
    if Chapter.OMITTING in chapters:
        progress("leaving out required fields")
        omit(visitor, later)
    if Chapter.ODD_FORMS in chapters:
        try_odd_forms(visitor)
    if chapters & {Chapter.ACCESS, Chapter.OMITTING, Chapter.ODD_FORMS}:
        later = look_after(visitor, attempts)
    if Chapter.DELETING in chapters and both:
        progress("deleting")
        remove_one(visitor, both[0], later)


def _create(visitor: Visitor, start: Listing) -> tuple[list[int], Listing]:
    """Create one record of each sort; return the ids in order, and the listing afterwards."""
    known = frozenset(start.ids)
    first, *_ = _sorts(visitor)
    creation = create(visitor, *first, known)
    if creation.identifier is None and not creation.exchange.failed:
        token = visitor.target.ledger.token
        visitor.marker = f"ct{int(time.time()):x}{token}"  # a name that was used once may stay taken
        first, *_ = _sorts(visitor)
        again = create(visitor, *first, known)
        if again.identifier is not None:
            overlook(visitor, creation)
            creation = again
    created = [creation.identifier] if creation.identifier is not None else []
    visitor.marker = _marker_of(visitor, start, created)
    _, *others = _sorts(visitor)
    for form, label, expects in others:
        creation = create(visitor, form, label, expects, known | set(created), read=label == "least")
        created += [creation.identifier] if creation.identifier is not None else []
    return created, _after_creates(visitor, start, created)


def _fill(visitor: Visitor, created: list[int], start: Listing, seen: Listing) -> tuple[list[int], Listing]:
    """Create as many records as paging needs, until they exactly fill a page; return all ids and the listing."""
    exact = (start.total or 0) % 10 == 0 and bool(start.total)
    total, more, types = seen.total or 0, list[int](), cycle(alone(visitor.resource))
    while True:
        if total % 10 == 0 and total:
            visitor.try_page(results_per_page="10", page=str(total // 10))
            exact = True
        if (total >= ENOUGH and exact) or len(more) > ENOUGH:
            break
        form = visitor.least() | ({"type": next(types)} if visitor.resource.types else {})
        exchange = visitor.insist(lambda form=form: visitor.post(form))  # type: ignore[misc]
        if exchange.made_id is None:
            break
        more.append(exchange.made_id)
        total += 1
    return created + more, _after_creates(visitor, seen, more) if more else seen


def _after_creates(visitor: Visitor, before: Listing, made: list[int]) -> Listing:
    total = (before.total or 0) + len(made)
    after = visitor.snapshot(lambda look: set(made) <= set(look.ids) and look.total == total, "create")
    visitor.evidence.before_after[visitor.resource.name].append(
        BeforeAfter("create", before, after, made=frozenset(made))
    )
    return after


def _sorts(visitor: Visitor) -> list[tuple[Mapping[str, FormValue], str, Expect]]:
    """The forms of creates, with the sort of each and what it expects; the first has a name of several words."""
    resource, least = visitor.resource, visitor.least()
    if resource.label == "name":
        least["name"] = f"{least['name']} Test Name"
    if not resource.types:
        return [
            (least | optional(resource, files=True), "most", Expect.SUCCESS),
            (visitor.least(), "least", Expect.SUCCESS),
        ]
    return [
        (least | of_type(resource, "telegram"), "most", Expect.SUCCESS),
        (visitor.least(), "least", Expect.SUCCESS),
        *(
            (visitor.least() | of_type(resource, each), "another", Expect.SUCCESS)
            for each in resource.types
            if each != "telegram"
        ),
        (visitor.least(type="email"), "email alone", Expect.OPEN),
        (visitor.least(is_enabled="1"), "is_enabled=1", Expect.OPEN),
        (visitor.least(is_enabled="0"), "is_enabled=0", Expect.OPEN),
    ]


def _marker_of(visitor: Visitor, start: Listing, created: list[int]) -> str:
    """The beginning of all later markers: ids rarely recur, so an earlier run's names are not used again."""
    marker = f"ct{created[0]}{visitor.target.ledger.token}" if created else visitor.marker
    return visitor.marker if plain(marker) in plain(start.rows) else marker


def _free_marker(visitor: Visitor, start: Listing) -> str:
    """The beginning of all markers of a visit, which no record holds already, and no other visit uses."""
    ledger = visitor.target.ledger
    used = [entry.markers for entry in ledger.entries if entry.resource == visitor.resource.name]
    text = plain(f"{start.rows} {used}")
    return next(marker for marker in (f"ct{number}{ledger.token}" for number in count(1)) if marker not in text)
