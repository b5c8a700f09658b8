"""What a visit does after the survey: probes, requests that Schemathesis generates, a walk of creates and changes.

Nothing fails here: everything seen goes into the visit's evidence, for the rules to judge. All is drawn before any of
it is sent, so a seed yields the same requests wherever possible, whatever the answers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock
from typing import Any

import hypothesis.strategies as st
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, rule, run_state_machine_as_test
from schemathesis.core.result import Ok

from contract_tests.evidence.evidence import Listing, Record
from contract_tests.evidence.exchange import Expect, FormValue
from contract_tests.evidence.observation import TOGGLED
from contract_tests.survey.creating import Create, create
from contract_tests.survey.form_values import harmless, type_form, value
from contract_tests.survey.lifecycle import Update, change, delete, remove, see_late
from contract_tests.survey.probes import probes
from contract_tests.survey.visitor import Visitor
from contract_tests.target.ownership import WriteRefusedError
from link_management_contract import Contract, Resource, operation_of

WITH_FILES, WITH_TYPES = 1.17, 1.78  # times as many requests for a resource that has them: its probes take as many
STEPS = 10  # of a walk, each of about three requests
Form = dict[str, FormValue]
Step = Callable[[], object]
VARIANTS = st.sampled_from(("", "other-", "third-"))
LETTERS = st.text("aZ09éŁЖяΩ東한", min_size=1, max_size=12)
_DRAWING = Lock()  # Hypothesis draws in one thread at a time


def weight_of(resource: Resource) -> float:
    """The share of a resource in the requests that are generated."""
    return WITH_TYPES if resource.types else WITH_FILES if "file" in resource.optional.values() else 1.0


@dataclass(frozen=True)
class Exploration:
    """Explores one resource after the other.

    Attributes:
        requests: about how many to send for a resource, more if it has files or several types; the last step is not cut
            off.
    """

    contract: Contract
    requests: int
    seed: int

    def __call__(self, visitor: Visitor) -> Iterator[Step]:
        """The steps that explore a resource; of a very large collection, each lists only the first page."""
        yield partial(_look_first, visitor)
        most_pages, visitor.most_pages = visitor.most_pages, 1
        try:
            exchanges = visitor.evidence.exchanges
            end = len(exchanges) + int(self.requests * weight_of(visitor.resource))
            yield from _up_to_request(probes(visitor), exchanges, end)
            left = max(0, end - len(exchanges))
            yield from _up_to_request(self._generated(visitor, left // 3), exchanges, len(exchanges) + left // 3)
            random_steps = self._random_steps(visitor, left - left // 3)
            yield from _up_to_request(random_steps, exchanges, len(exchanges) + left - left // 3)
        finally:
            visitor.most_pages = most_pages

    @cached_property
    def _schema(self) -> schemathesis.BaseSchema:
        schema = schemathesis.openapi.from_dict(self.contract.document)
        schema.config.generation.update(allow_x00=False)
        return schema

    def _generated(self, visitor: Visitor, requests: int) -> Iterator[Step]:
        generated = Generated(visitor)
        operations = self._schema.include(tag=visitor.resource.name).get_all_operations()
        drawn_cases: list[schemathesis.Case[Any]] = []
        with _DRAWING:
            cases = st.one_of([operation.ok().as_strategy() for operation in operations if isinstance(operation, Ok)])
            seed(self.seed)(_settings(max(1, requests))(given(cases)(lambda case: drawn_cases.append(case))))()  # noqa: PLW0108 - it needs a function
        return (partial(generated.send, case) for case in drawn_cases)

    def _random_steps(self, visitor: Visitor, requests: int) -> list[Step]:
        steps: list[Step] = []
        factory: Any = seed(self.seed)(lambda: RandomWalk(visitor, steps))
        with _DRAWING:
            run_state_machine_as_test(factory, settings=_settings(requests // STEPS + 1, STEPS))
        return steps


def _look_first(visitor: Visitor) -> None:
    visitor.evidence.explored_from = visitor.target.budget.request_count
    see_late(visitor, visitor.list_settled())


def _settings(examples: int, steps: int = 1) -> settings:
    """Settings with which Hypothesis draws this many examples and does nothing else."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def _up_to_request(steps: Iterable[Step], exchanges: Sized, end: int) -> Iterator[Step]:
    """Steps until so many requests were sent; the rest is left out."""
    return (step for step in steps if len(exchanges) < end)


class Generated:
    """Sends generated requests for one resource, made harmless: only own records and reserved addresses.

    Any of them may be refused, so they are sent as open; those accepted are then judged as documented requests.
    """

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._created: list[tuple[int, str]] = []  # the ids and markers of records made here

    def send(self, case: schemathesis.Case[Any]) -> None:
        """Send a generated request; except in every other read, its id is replaced by that of a record made here."""
        operation = operation_of(str(case.operation.definition.raw["operationId"]))
        fields = case.body if isinstance(case.body, Mapping) else {}
        if operation == "list":
            self._visitor.try_page(**{name: str(text) for name, text in case.query.items()})
        elif operation == "create" or not self._created:
            self._create(fields)
        elif operation == "read":
            [identifier] = case.path_parameters.values()
            if identifier % 2:
                self._visitor.read(identifier, Expect.OPEN)
            else:
                self._read(self._created[-1][0])
        elif operation == "update":
            self._update(fields)
        else:
            self._delete()

    def _create(self, fields: Mapping[str, Any]) -> None:
        visitor, required_fields = self._visitor, self._visitor.records.required_form()
        marker = str(required_fields[visitor.resource.label])
        form = required_fields | self._form(fields, marker)
        exchange = visitor.retry(lambda: visitor.post(form, Expect.OPEN))
        visitor.count_if_accepted(exchange)
        if exchange.made_id is not None:
            self._created.append((exchange.made_id, marker))
            self._read(exchange.made_id)

    def _update(self, fields: Mapping[str, Any]) -> None:
        visitor, (identifier, marker) = self._visitor, self._created[-1]
        with suppress(WriteRefusedError):
            visitor.count_if_accepted(visitor.update(identifier, self._form(fields, marker), Expect.OPEN))
            self._read(identifier)

    def _delete(self) -> None:
        visitor, (identifier, _) = self._visitor, self._created.pop(0)
        with suppress(WriteRefusedError):
            removal = delete(visitor, identifier, Expect.OPEN)
            visitor.evidence.removals.append(removal)
            if removal.is_seen(visitor.resource):
                visitor.target.ledger.note_deleted(visitor.resource.name, identifier)

    def _read(self, identifier: int) -> None:
        """Read a record that was made here, so that its marker is seen and it may be written to."""
        self._visitor.count_if_accepted(self._visitor.read(identifier, Expect.OPEN))

    def _form(self, fields: Mapping[str, Any], marker: str) -> Form:
        """The documented fields among generated ones; a name begins with the marker, and a host is the marker."""
        resource = self._visitor.resource
        types = dict.fromkeys(resource.required, "text") | resource.optional
        valid = {name: getattr(made_up, "data", made_up) for name, made_up in fields.items() if name in types}
        form = {name: harmless(name, types[name], made_up) for name, made_up in valid.items()}  # a file's data is bytes
        if resource.label in form:
            form[resource.label] = marker if resource.label == "host" else f"{marker} {form[resource.label]}"
        return form


class RandomWalk(RuleBasedStateMachine):
    """Draws a walk of creates, updates, deletes and reads, with a dict of what each record showed last.

    The steps are carried out later, and what they see is for the rules to judge. The next step and its values never
    depend on an answer: a record that could not be created keeps its place, and steps on it do nothing. Hypothesis
    begins with a walk of the Hypothesis rules whose names come first.
    """

    slots = Bundle("places")

    def __init__(self, visitor: Visitor, steps: list[Step]) -> None:
        super().__init__()
        self.visitor = visitor
        self.steps = steps
        self.ids: list[int | None] = []
        self.model: dict[int, Record] = {}
        self.is_refused = False
        self.listing = Listing((), complete=False)

    @initialize(target=slots, data=st.data())
    def create_first(self, data: st.DataObject) -> int:
        self.steps.append(self._list)
        return self._new_slot(data)

    @rule(target=slots, data=st.data())
    def create(self, data: st.DataObject) -> int:
        """Create a record, unless an earlier create was refused; return its place."""
        return self._new_slot(data)

    @rule(slot=slots, data=st.data())
    def change(self, slot: int, data: st.DataObject) -> None:
        form, letters = data.draw(updates(self.visitor.resource)), data.draw(st.none() | LETTERS)
        self.steps.append(partial(self._change, slot, form, letters))

    @rule(slot=consumes(slots))
    def remove(self, slot: int) -> None:
        self.steps.append(partial(self._remove, slot))

    @rule(slot=slots)
    def read(self, slot: int) -> None:
        self.steps.append(partial(self._read, slot))

    @rule(size=st.integers(0, 6), number=st.integers(0, 99))
    def turn(self, size: int, number: int) -> None:
        """List a page that exists."""
        self.steps.append(partial(self._turn, self.visitor.resource.page_sizes[size], number))

    def _new_slot(self, data: st.DataObject) -> int:
        form = data.draw(creates(self.visitor.resource))
        self.steps.append(partial(self._create, len(self.ids), form))
        self.ids.append(None)
        return len(self.ids) - 1

    def _list(self) -> None:
        self.listing = self.visitor.list_settled()

    def _create(self, slot: int, form: Form) -> None:
        if self.is_refused:
            return
        [creation] = create(
            self.visitor, Create(self.visitor.records.required_form() | form, known_ids=frozenset(self.listing.ids))
        )
        self.is_refused = creation.identifier is None
        if creation.identifier is not None and creation.read and creation.read.record:
            identifier = self.ids[slot] = creation.identifier
            self.model[identifier] = creation.read.record
            self._list_after("create", identifier)
        else:
            self._list()

    def _change(self, slot: int, form: Form, letters: str | None) -> None:
        """Update a record; a name may be refused for its letters, and an address may have to be confirmed first."""
        identifier = self.ids[slot]
        if identifier is None:
            return
        label, before = self.visitor.resource.label, self.model[identifier]
        if label in form:
            marker = self.visitor.records.new_marker()
            form = form | {label: f"{marker} {letters}" if letters and label == "name" else marker}
        if before.get("type") == "email" and set(form) != {label}:
            return
        if "is_enabled" in form and before.get("type") not in TOGGLED:
            return
        expects = Expect.OPEN if letters and label in form else Expect.SUCCESS
        with suppress(WriteRefusedError):
            [self.model[identifier]] = change(self.visitor, Update(identifier, form, before, expects))
            self._list_after("update", identifier)

    def _remove(self, slot: int) -> None:
        identifier, self.ids[slot] = self.ids[slot], None
        if identifier is None:
            return
        with suppress(WriteRefusedError):
            removal = remove(self.visitor, identifier, self.listing)
            if removal.is_seen(self.visitor.resource):
                self.visitor.target.ledger.note_deleted(self.visitor.resource.name, identifier)
            self.listing = removal.after or self.listing

    def _read(self, slot: int) -> None:
        identifier = self.ids[slot]
        if identifier is not None:
            self.visitor.read(identifier)

    def _turn(self, size: int, number: int) -> None:
        pages = max(1, -(-(self.listing.total or 0) // size))
        self.visitor.try_page(results_per_page=str(size), page=str(1 + number % pages))

    def _list_after(self, event: str, identifier: int) -> None:
        record, before = self.model[identifier], self.listing
        self.listing = self.visitor.waits.for_state(
            event, self.visitor.list_all, lambda listing: listing.by_id.get(identifier) == record
        )
        ids = {"created" if event == "create" else "changed": {identifier}}
        self.visitor.note_period(event, before, self.listing, **ids)


@st.composite
def creates(draw: st.DrawFn, resource: Resource) -> Form:
    """Some documented fields of a create besides the required ones."""
    if resource.types:
        return type_form(resource, draw(st.sampled_from(resource.types)), draw(VARIANTS))
    return _optional_fields(draw, resource, 0)


@st.composite
def updates(draw: st.DrawFn, resource: Resource) -> Form:
    """Some documented fields of an update; a name or host among them still has to be filled in."""
    label: Form = {resource.label: ""}
    if resource.types:
        states = st.sampled_from(("0", "1")).map(lambda state: {"is_enabled": state})
        types = st.sampled_from(resource.types).map(lambda kind: type_form(resource, kind))
        return draw(st.one_of(st.just(label), states, types))
    return _optional_fields(draw, resource, 1) | draw(st.sampled_from(({}, label)))


def _optional_fields(draw: st.DrawFn, resource: Resource, min_count: int) -> Form:
    names = draw(st.lists(st.sampled_from(sorted(resource.optional)), min_size=min_count, max_size=4, unique=True))
    return {name: value(name, resource.optional[name], draw(VARIANTS)) for name in names}
