"""The chapters of a visit to one resource, in the order in which they build on each other."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import count, cycle

from contract_tests.evidence.evidence import AccessAttempt, Creation, Evidence, Listing
from contract_tests.evidence.exchange import OTHER, Exchange, Expect, FormValue
from contract_tests.evidence.marks import holds, mark_of, normalize
from contract_tests.evidence.multipart import USUAL
from contract_tests.evidence.observation import NEEDS_ALL, NEEDS_CONTROL, Chapter, Chapters
from contract_tests.survey.asking_again import ask_again
from contract_tests.survey.attempts import look_after, look_around, omit, try_access, try_odd_forms
from contract_tests.survey.cleanup import remove_all
from contract_tests.survey.creating import Create, InvisibleError, create, overlook, split
from contract_tests.survey.form_values import optional, signed, standalone_types, type_form
from contract_tests.survey.lifecycle import (
    Update,
    change,
    changes_of,
    record_made,
    remove_and_revive,
    repeat_present,
    reshape,
    shapes_of,
    update_later,
)
from contract_tests.survey.other_runs import await_other_runs
from contract_tests.survey.pages import page, watch_others
from contract_tests.survey.visitor import Visitor
from contract_tests.target.budget import BudgetSpentError
from contract_tests.target.ownership import WriteRefusedError

WITHOUT_RECORDS = frozenset({Chapter.PAGING, Chapter.OMITTING, Chapter.ODD_FORMS})
CLEANING_UP = "cleaning up"
ASKING_AGAIN = "asking again what failed"
Progress = Callable[[str], None]
Step = tuple[str, Callable[[], object]]


ExtraSteps = Callable[[Visitor], Iterator[Step]]  # steps after those that change and delete records


def visit(
    visitor: Visitor,
    chapters: Chapters = NEEDS_ALL,
    extra_steps: Sequence[ExtraSteps] = (),
    progress: Progress = lambda _: None,
) -> Evidence:
    """Visit one resource; if a created record cannot be seen, go on with reads only.

    Returns:
        The evidence; none of the run's records are left, unless the target could not be made to remove them.
    """
    target, evidence = visitor.target, visitor.evidence
    evidence.has_second_key = OTHER in target.keys
    course = _Course(visitor, chapters, extra_steps, progress)
    last = ""
    try:
        with closing(course.steps()) as steps:
            for title, step in steps:
                if title != last:
                    progress(title)
                last = title
                step()
    except InvisibleError as error:
        evidence.notes.append(str(error))
        with suppress(BudgetSpentError):
            course.read_on()
    except BudgetSpentError as error:
        evidence.notes.append(str(error))
    finally:
        progress(CLEANING_UP)
        with target.budget.cleaning_up(), suppress(BudgetSpentError):
            remove_all(visitor)
    return evidence


class _Course:
    """The steps of a visit, and what they hand on: listings, ids of created records, and two of these to write to."""

    def __init__(
        self, visitor: Visitor, chapters: Chapters, extra_steps: Sequence[ExtraSteps], progress: Progress
    ) -> None:
        self._visitor = visitor
        self._chapters = chapters
        self._extra_steps = extra_steps
        self._progress = progress
        self._start = self._listing = Listing((), complete=False)
        self._subjects: list[int] = []
        self._attempts: list[AccessAttempt] = []

    def steps(self) -> Generator[Step, None, None]:
        """Each step with its title; which come depends on what the earlier ones have seen."""
        visitor, chapters = self._visitor, self._chapters
        yield "looking at what is there", self._look_first
        if self._is_no_list():
            return
        visitor.records.marker = free_marker(visitor, self._start)
        yield from self._pages_and_creates() if visitor.writes else [("paging", self._look_around)]
        if self._subjects and Chapter.UPDATING in chapters:
            yield "updating", self._update
        if self._subjects and Chapter.PAGING in chapters and (self._start.total or 0) >= visitor.min_records:
            yield "paging with new records", partial(self._page, is_repeat=True)
        if visitor.writes and (self._subjects or chapters <= WITHOUT_RECORDS):
            yield from self._refused_and_deleted()
        for make_steps in self._extra_steps:
            yield from make_steps(visitor)
        if self._subjects and Chapter.ANOTHER_SECOND in chapters:
            yield "updating in another second", partial(update_later, visitor, self._subjects[-1])
        if chapters & NEEDS_CONTROL:
            yield "looking at what others change", partial(watch_others, visitor)
        yield ASKING_AGAIN, partial(ask_again, visitor)

    def _pages_and_creates(self) -> Iterator[Step]:
        """Pages first where there are many records; where there are few, records first, as many as pages need."""
        fill = Chapter.PAGING in self._chapters and (self._start.total or 0) < self._visitor.min_records
        if Chapter.PAGING in self._chapters and not fill:
            yield "paging", self._page
        if fill or self._chapters - WITHOUT_RECORDS:
            yield "creating", partial(self._create, fill=fill)
        if fill:
            yield "paging", self._page

    def _refused_and_deleted(self) -> Iterator[Step]:
        if Chapter.ACCESS in self._chapters and self._subjects:
            yield "trying other keys", self._try_access
        if Chapter.OMITTING in self._chapters:
            yield "leaving out required fields", partial(omit, self._visitor, self._listing)
        if Chapter.ODD_FORMS in self._chapters:
            yield "trying odd forms", partial(try_odd_forms, self._visitor)
        if self._chapters & {Chapter.ACCESS, Chapter.OMITTING, Chapter.ODD_FORMS}:
            yield "listing once more", self._look_after
        yield ASKING_AGAIN, partial(ask_again, self._visitor)
        if Chapter.DELETING in self._chapters and self._subjects:
            yield "deleting", self._delete

    def _delete(self) -> None:
        """Delete a record; if that was done by a try whose answer was lost, another one, too."""
        visitor, removals = self._visitor, self._visitor.evidence.removals
        remove_and_revive(visitor, self._subjects[0], self._listing)
        deleted = removals[-1].exchange if removals else None
        if deleted and deleted.attempts and not (deleted.failed or deleted.succeeded):
            [creation] = create(visitor, Create(visitor.records.required_form(), Expect.OPEN))
            if creation.identifier is not None:
                remove_and_revive(visitor, creation.identifier, visitor.list_settled())

    def read_on(self) -> None:
        """Go on with reads after a created record could not be seen, and write nothing more."""
        evidence, listing = self._visitor.evidence, self._visitor.list_settled()
        if not evidence.change_periods:
            self._visitor.note_period("create", self._start, listing, created=set(evidence.created_ids))
        look_around(self._visitor, listing, self._progress)
        if self._chapters & NEEDS_CONTROL:
            watch_others(self._visitor)

    def _look_first(self) -> None:
        """List the collection; with a smaller page size, or none, if the largest is refused or fails."""
        visitor = self._visitor
        start = await_other_runs(visitor)
        for size in sorted(visitor.resource.page_sizes, reverse=True)[2::2]:
            if start.pages or self._is_final():
                break
            visitor.largest = size
            start = visitor.list_settled()
        if not start.pages and not self._is_final():
            visitor.list()
        self._start = self._listing = start

    def _is_final(self) -> bool:
        """Whether the last request had no answer, one about the key or the path, or any success."""
        last = self._visitor.evidence.exchanges[-1]
        return last.status is None or last.succeeded or last.status in (401, 403, 404)

    def _is_no_list(self) -> bool:
        """Whether the list was answered with something else, as is noted; nothing is written to such a resource."""
        evidence, last = self._visitor.evidence, self._visitor.evidence.exchanges[-1]
        if self._start.pages or (last.succeeded and last.json is not None):
            return False
        unread = " and no JSON" if last.json is None else ""
        answer = f"got {last.status_text}" if last.status is None else f"was answered with {last.status_text}{unread}"
        evidence.notes = [f"the list {answer}"]
        return True

    def _look_around(self) -> None:
        look_around(self._visitor, self._start, self._progress)

    def _page(self, *, is_repeat: bool = False) -> None:
        self._listing = page(self._visitor, self._listing, is_repeat=is_repeat)

    def _create(self, *, fill: bool) -> None:
        """Create one record of each sort, and as many more as paging needs."""
        visitor, before = self._visitor, self._listing
        if fill:
            if before.total == 0:
                visitor.page()
            visitor.page(results_per_page="10")
        known_ids, extra_ids = frozenset(before.ids), list[int]()
        [creation] = create(visitor, replace(_creates_of_each_kind(visitor)[0], known_ids=known_ids))
        if creation.identifier is None and not creation.exchange.failed:
            visitor.records.marker = visitor.records.marker_of(int(time.time()))  # a name used once may stay taken
            [second_creation] = create(visitor, replace(_creates_of_each_kind(visitor)[0], known_ids=known_ids))
            if second_creation.identifier is not None:
                overlook(visitor, creation)
                creation = second_creation
            else:
                types = {name: text for name, text in second_creation.form.items() if name == "type"}
                post = lambda fields: visitor.post(visitor.records.required_form(**types) | fields, Expect.OPEN)  # noqa: E731
                extra_ids = split(visitor, second_creation.exchange, post)
        created = [creation.identifier] if creation.identifier is not None else []
        self._see_label(creation)
        visitor.records.marker = _marker_of(visitor, before, created)
        noted_count = 0
        if not fill:  # what later creates do to other records shows in the first
            self._note_created([*created, *extra_ids])
            noted_count, extra_ids = len(created), []
        for kind in _creates_of_each_kind(visitor)[1:]:  # each read at once: a later create may remove it
            [creation] = create(visitor, replace(kind, known_ids=known_ids | set(created)))
            created += [creation.identifier] if creation.identifier is not None else []
        self._note_created([*created[noted_count:], *extra_ids])
        if fill and created:
            self._fill(created, exact=(before.total or 1) % 10 == 0)
        # neither the newest record, the one that a server is most likely to mix up, nor the first of many types
        self._subjects = created[:2] if not visitor.resource.types else created[1::-1]

    def _see_label(self, creation: Creation) -> None:
        """Look whether a record is shown by its name or host, so that those without a mark elsewhere are known."""
        label, record_shown = self._visitor.resource.label, creation.read and creation.read.record
        if record_shown and not isinstance(record_shown.get(label), str):
            marker, listed_row = (
                mark_of(creation.form[label]),
                self._visitor.list_settled().by_id.get(creation.identifier),
            )
            if not holds(str((listed_row or {}).get(label, "")), marker):
                self._visitor.writes = False
                raise InvisibleError(f"neither reads nor lists show a {label}: nothing more was created there")

    def _fill(self, created: list[int], *, exact: bool) -> None:
        """Create as many records as paging needs, until they exactly fill a page, unless they once did."""
        visitor, extra_ids = self._visitor, list[int]()
        total, types = self._listing.total or 0, cycle(standalone_types(visitor.resource))
        while True:
            if total % 10 == 0 and total:
                visitor.try_page(results_per_page="10", page=str(total // 10))
                exact = True
            if (total >= visitor.min_records and exact) or len(extra_ids) > visitor.min_records:
                break
            to_full_page = 10 - total % 10
            missing = min(to_full_page, visitor.min_records - total) if exact else to_full_page
            type_forms: list[dict[str, FormValue]] = [
                {"type": next(types)} if visitor.resource.types else {} for _ in range(missing)
            ]
            posts = [partial(visitor.post, visitor.records.required_form() | fields) for fields in type_forms]
            answers = visitor.retry_each(posts)
            made_ids = [answer.made_id for answer in answers if answer.made_id is not None]
            extra_ids += made_ids
            total += len(made_ids)
            if len(made_ids) < missing:
                break
        created += extra_ids
        if extra_ids:
            self._note_created(extra_ids)

    def _note_created(self, created: list[int]) -> None:
        visitor, before, total = self._visitor, self._listing, (self._listing.total or 0) + len(created)
        is_shown = lambda listing: set(created) <= set(listing.ids) and listing.total == total  # noqa: E731 - said once
        after = visitor.waits.for_state("create", visitor.list_all, is_shown)
        self._listing = visitor.note_period("create", before, after, created=set(created))

    def _update(self) -> None:
        """Update a record one field at a time, then all at once, then by forms as other clients write them."""
        visitor, subject, before = self._visitor, self._subjects[0], self._listing
        record = record_made(visitor, subject)
        try:
            for form, expects in changes_of(visitor, record):
                [record] = change(visitor, Update(subject, form, record, expects))
                split(visitor, visitor.evidence.changes[-1].exchange, partial(self._update_fields, subject))
        except WriteRefusedError:
            note = f"the record {subject} that a create answered does not show its marker, so it was not written to"
            visitor.evidence.notes.append(note)
        changed = reshape(visitor, {subject: record}, (USUAL, *shapes_of(visitor.resource)))[subject]
        changed = repeat_present(visitor, subject, changed)
        after = visitor.waits.for_state(
            "update", visitor.list_all, lambda listing: listing.by_id.get(subject) == changed
        )
        self._listing = visitor.note_period("update", before, after, changed={subject})

    def _update_fields(self, subject: int, fields: dict[str, FormValue]) -> Exchange:
        visitor = self._visitor
        return visitor.update(subject, fields or {visitor.resource.label: visitor.records.new_marker()}, Expect.OPEN)

    def _try_access(self) -> None:
        self._attempts = try_access(self._visitor, self._subjects[-1], self._listing)

    def _look_after(self) -> None:
        self._listing = look_after(self._visitor, self._attempts)


def _creates_of_each_kind(visitor: Visitor) -> list[Create]:
    """The creates of each sort; the first has a name of several words, and the second, which is read, least fields.

    Where no name is shown, the first is known by the mark in another field.
    """
    resource, minimum = visitor.resource, visitor.records.required_form()
    if resource.label == "name":
        minimum["name"] = f"{minimum['name']} Test Name"
    marker = mark_of(minimum[resource.label])
    if not resource.types:
        return [
            Create(minimum | optional(resource) | signed(resource, marker)),
            Create(visitor.records.required_form()),
        ]
    other_types = [kind for kind in resource.types if kind != "telegram"]
    odd_fields = [{"type": "email"}, {"is_enabled": "1"}, {"is_enabled": "0"}]
    return [
        Create(minimum | type_form(resource, "telegram") | signed(resource, marker, "telegram")),
        Create(visitor.records.required_form()),
        *(Create(visitor.records.required_form() | type_form(resource, kind), read=False) for kind in other_types),
        *(
            Create(visitor.records.required_form(**extra_fields), Expect.OPEN, read=False)
            for extra_fields in odd_fields
        ),
    ]


def _marker_of(visitor: Visitor, start: Listing, created: list[int]) -> str:
    """The beginning of all later markers: ids rarely recur, so an earlier run's names are not used again."""
    marker = visitor.records.marker_of(created[0]) if created else visitor.records.marker
    return visitor.records.marker if normalize(marker) in normalize(start.rows) else marker


def free_marker(visitor: Visitor, start: Listing) -> str:
    """The beginning of all markers of a visit, which no record holds already, and no other visit uses."""
    ledger = visitor.target.ledger
    used_markers = [entry.markers for entry in ledger.entries if entry.resource == visitor.resource.name]
    text = normalize(f"{start.rows} {used_markers}")
    return next(marker for marker in map(visitor.records.marker_of, count(1)) if marker not in text)
