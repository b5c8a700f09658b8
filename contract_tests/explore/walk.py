"""A walk of creates, updates, deletes and reads in any order, with a dict of what each record showed last."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import hypothesis.strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, rule

from contract_tests.evidence import BeforeAfter, Listing, Record
from contract_tests.exchange import Expect, FormValue
from contract_tests.rules.observation import TOGGLED
from contract_tests.survey.creating import create
from contract_tests.survey.lifecycle import change, remove
from contract_tests.survey.samples import of_type, value
from contract_tests.survey.visitor import Visitor
from contract_tests.target.target import WriteRefusedError
from link_management_contract import Resource

Form = dict[str, FormValue]
Step = Callable[[], None]
VARIANTS = st.sampled_from(("", "other-", "third-"))
LETTERS = st.text("aZ09éŁЖяΩ東한", min_size=1, max_size=12)


class Walk(RuleBasedStateMachine):
    """Draws a walk through one resource; the steps are carried out later, and what they see is for the rules to judge.

    The next step and its values never depend on an answer: a record that could not be created keeps its place, and
    steps on it do nothing. Hypothesis begins with a walk of the Hypothesis rules whose names come first.

    Args:
        visitor: sends the requests, when the steps are carried out.
        steps: where to add the steps.
    """

    places = Bundle("places")

    def __init__(self, visitor: Visitor, steps: list[Step]) -> None:
        super().__init__()
        self.visitor = visitor
        self.steps = steps
        self.ids: list[int | None] = []
        self.model: dict[int, Record] = {}
        self.refused = False
        self.seen = Listing((), complete=False)

    @initialize(target=places, data=st.data())
    def begin(self, data: st.DataObject) -> int:
        """List the collection, and create a first record."""
        self.steps.append(self._begin)
        return self._place(data)

    def _begin(self) -> None:
        self.seen = self.visitor.snapshot()

    @rule(target=places, data=st.data())
    def create(self, data: st.DataObject) -> int:
        """Create a record, unless an earlier create was refused; return its place."""
        return self._place(data)

    def _place(self, data: st.DataObject) -> int:
        form = data.draw(creates(self.visitor.resource))
        place = len(self.ids)
        self.ids.append(None)
        self.steps.append(partial(self._create, place, form))
        return place

    def _create(self, place: int, form: Form) -> None:
        if self.refused:
            return
        creation = create(self.visitor, self.visitor.least() | form, "walk", Expect.SUCCESS, frozenset(self.seen.ids))
        self.refused = creation.identifier is None
        if creation.identifier is not None and creation.read and creation.read.record:
            made = self.ids[place] = creation.identifier
            self.model[made] = creation.read.record
            self._look("create", made)
        else:
            self._begin()

    @rule(place=places, data=st.data())
    def change(self, place: int, data: st.DataObject) -> None:
        """Update a record."""
        form, letters = data.draw(updates(self.visitor.resource)), data.draw(st.none() | LETTERS)
        self.steps.append(partial(self._change, place, form, letters))

    def _change(self, place: int, form: Form, letters: str | None) -> None:
        """Update a record; a name may be refused for its letters, and an address may have to be confirmed first."""
        identifier = self.ids[place]
        if identifier is None:
            return
        label, before = self.visitor.resource.label, self.model[identifier]
        if label in form:
            mark = self.visitor.mark()
            form = form | {label: f"{mark} {letters}" if letters and label == "name" else mark}
        if before.get("type") == "email" and set(form) != {label}:
            return
        if "is_enabled" in form and before.get("type") not in TOGGLED:
            return
        expects = Expect.OPEN if letters and label in form else Expect.SUCCESS
        with suppress(WriteRefusedError):
            self.model[identifier] = change(self.visitor, identifier, form, before, expects)
            self._look("update", identifier)

    @rule(place=consumes(places))
    def remove(self, place: int) -> None:
        """Delete a record."""
        self.steps.append(partial(self._remove, place))

    def _remove(self, place: int) -> None:
        identifier, self.ids[place] = self.ids[place], None
        with suppress(WriteRefusedError):
            if identifier is None:
                return
            removal = remove(self.visitor, identifier, self.seen)
            if removal.is_seen(self.visitor.resource):
                self.visitor.target.ledger.remove(self.visitor.resource.name, identifier)
            self.seen = removal.after or self.seen

    @rule(place=places)
    def read(self, place: int) -> None:
        """Read a record."""
        self.steps.append(partial(self._read, place))

    def _read(self, place: int) -> None:
        identifier = self.ids[place]
        if identifier is not None:
            self.visitor.read(identifier)

    @rule(size=st.integers(0, 6), number=st.integers(0, 99))
    def turn(self, size: int, number: int) -> None:
        """List a page that exists."""
        self.steps.append(partial(self._turn, self.visitor.resource.page_sizes[size], number))

    def _turn(self, size: int, number: int) -> None:
        pages = max(1, -(-(self.seen.total or 0) // size))
        self.visitor.try_page(results_per_page=str(size), page=str(1 + number % pages))

    def _look(self, event: str, identifier: int) -> None:
        """List the collection after a create or an update."""
        record, before = self.model[identifier], self.seen
        self.seen = self.visitor.snapshot(lambda look: look.by_id.get(identifier) == record, event)
        made, changed = (frozenset({identifier} if event == each else ()) for each in ("create", "update"))
        phase = BeforeAfter(event, before, self.seen, made=made, changed=changed)
        self.visitor.evidence.before_after[self.visitor.resource.name].append(phase)


@st.composite
def creates(draw: st.DrawFn, resource: Resource) -> Form:
    """Some documented fields of a create besides the required ones."""
    if resource.types:
        return of_type(resource, draw(st.sampled_from(resource.types)), draw(VARIANTS))
    return _some(draw, resource, 0)


@st.composite
def updates(draw: st.DrawFn, resource: Resource) -> Form:
    """Some documented fields of an update; a name or host among them still has to be filled in."""
    label: Form = {resource.label: ""}
    if resource.types:
        states = st.sampled_from(("0", "1")).map(lambda state: {"is_enabled": state})
        types = st.sampled_from(resource.types).map(lambda each: of_type(resource, each))
        return draw(st.one_of(st.just(label), states, types))
    return _some(draw, resource, 1) | draw(st.sampled_from(({}, label)))


def _some(draw: st.DrawFn, resource: Resource, least: int) -> Form:
    names = draw(st.lists(st.sampled_from(sorted(resource.optional)), min_size=least, max_size=4, unique=True))
    return {name: value(name, resource.optional[name], draw(VARIANTS)) for name in names}
