"""What a rule finds in the evidence, and the table in which each rule has the function that decides it."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, TypeVar

from contract_tests.evidence.evidence import Evidence, Record
from contract_tests.evidence.exchange import Exchange, id_of
from contract_tests.evidence.masking import is_telling, text_shape
from link_management_contract import Resource

MAX_VALUE_LENGTH, MAX_ID_LENGTH = 60, 20  # characters of a value in a finding
BEFORE_A_DIFFERENCE, MAX_WORD_LENGTH = 20, 15  # characters
TOGGLED = ("webhook", "slack")  # types of a handler that no service has a reason to switch on or off by itself


class Chapter(Enum):
    """A part of a visit that can be left out."""

    PAGING = auto()
    CREATING = auto()
    UPDATING = auto()
    ACCESS = auto()
    OMITTING = auto()
    ODD_FORMS = auto()
    DELETING = auto()
    ANOTHER_SECOND = auto()  # between the create and the updates of a record
    CONTROL = auto()  # what others change while the run only reads; only if a rule seems violated


Chapters = frozenset[Chapter]
NEEDS_ALL = frozenset(Chapter) - {Chapter.CONTROL}
NEEDS_PAGES, NEEDS_CREATES, NEEDS_CONTROL = (
    frozenset({chapter}) for chapter in (Chapter.PAGING, Chapter.CREATING, Chapter.CONTROL)
)
NEEDS_UPDATES, NEEDS_DELETES = NEEDS_CREATES | {Chapter.UPDATING}, NEEDS_CREATES | {Chapter.DELETING}


@dataclass(frozen=True)
class Satisfied:
    """A witness: the rule was tested there, and satisfied."""

    exchange: Exchange


@dataclass(frozen=True)
class Violation:
    """Contrary evidence.

    Attributes:
        at: the place of the value in the answer's JSON (RFC 6901), if it has one; it may be missing there.
        timeline: requests that overlapped, a line each, and what each order of them would have led to.
        exchanges: those requests.
        is_repeatable: whether it may be shown again: not if that may hit what others have, or needs an odd moment.
    """

    exchange: Exchange
    expected: str
    received: str
    at: str = ""
    timeline: tuple[str, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    is_repeatable: bool = True


@dataclass(frozen=True)
class Undecided:
    """The rule applies, but could not be decided there."""

    reason: str


@dataclass(frozen=True)
class NotApplicable:
    """The rule does not apply, because its condition does not hold.

    Attributes:
        unjudged: what was not judged because the run lacked an option; empty otherwise.
    """

    reason: str
    unjudged: str = ""


Observation = Satisfied | Violation | Undecided | NotApplicable
Observations = Iterator[Observation]
Judge = TypeVar("Judge", bound=Callable[..., Observations])
OTHERS_WROTE = Undecided("others wrote meanwhile")


@dataclass(frozen=True)
class Decision:
    """How a rule is decided."""

    judge: Callable[..., Observations]
    arguments: tuple[Any, ...]
    needs: Chapters

    def __call__(self, evidence: Evidence) -> Observations:
        return self.judge(evidence, *self.arguments)


DECISIONS: dict[str, Decision] = {}  # filled by the decorators below, never changed afterwards


def rule(rule_id: str, *arguments: Any, needs: Chapters) -> Callable[[Judge], Judge]:
    """Register the function that decides a rule; several rules of one shape share a function, with other arguments."""

    def register(judge: Judge) -> Judge:
        DECISIONS[rule_id] = Decision(judge, arguments, needs)
        return judge

    return register


@dataclass(frozen=True)
class Matcher:
    """What a value has to be like, in words, and the test of it."""

    words: str
    test: Callable[[Any], bool]


class _Missing:
    """No value at all, which is not the same as null."""


MISSING = _Missing()
STRING = Matcher("a string", lambda value: isinstance(value, str))
OBJECT = Matcher("an object", lambda value: isinstance(value, dict))


def decide(exchange: Exchange, holds: bool, expected: str, received: str, at: str = "") -> Observation:  # noqa: FBT001
    return Satisfied(exchange) if holds else Violation(exchange, expected, received, at)


def shown_once(observation: Observation) -> Observation:
    """The same, of requests whose moment or connection matters, so a script of one after the other cannot show it."""
    return replace(observation, is_repeatable=False) if isinstance(observation, Violation) else observation


def expect(  # noqa: PLR0913 - all of a comparison
    exchange: Exchange, at: str, required: Any, note: str = "", *, reason: str = "", verbatim: bool = True
) -> Observation:
    """Whether the value at a place of an answer's JSON is what it has to be.

    Args:
        at: the place, as a JSON pointer (RFC 6901), such as `/meta/page`.
        required: the very value, or what it has to be like.
        note: more about what was received.
        reason: why it has to be.
        verbatim: whether the run may show the value; of others' records, only shapes are.
    """
    value = exchange.json
    for step in at.split("/")[1:]:
        value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
    if _matches(value, required):
        return Satisfied(exchange)
    return _differing(
        exchange, at.removeprefix("/").replace("/", "."), at, value, required, note, reason, verbatim=verbatim
    )


def expect_field(  # noqa: PLR0913 - all of a comparison
    exchange: Exchange, record: Record, name: str, required: Any, *, reason: str = "", verbatim: bool = True
) -> Observation:
    """The same for a field of a record in an answer; a list shows several."""
    value = record.get(name, MISSING)
    if _matches(value, required):
        return Satisfied(exchange)
    title, at = title_of(exchange, record, name), field_pointer(exchange, record, name)
    return _differing(exchange, title, at, value, required, "", reason, verbatim=verbatim)


def _matches(value: Any, required: Any) -> bool:
    """Whether there is a value, and it is the wanted one, or like that."""
    return value is not MISSING and (required.test(value) if isinstance(required, Matcher) else bool(value == required))


def _differing(  # noqa: PLR0913, PLR0917 - all of a comparison
    exchange: Exchange, title: str, at: str, value: Any, required: Any, note: str, reason: str, *, verbatim: bool
) -> Violation:
    name = at.rpartition("/")[2]
    if isinstance(required, Matcher):
        description, received = required.words, format_value(value, name, verbatim=verbatim)
    else:
        description, received = format_both(required, value, name, verbatim=verbatim)
    return Violation(exchange, f"{title}: {description}{reason and f', {reason}'}", f"{title}: {received}{note}", at)


def title_of(exchange: Exchange, record: Record, name: str) -> str:
    """What a report calls a field; an answer that lists several records needs the id, too."""
    return f"{name} of record {id_text(record)}" if isinstance(exchange.data, list) else name


def field_pointer(exchange: Exchange, record: Any, name: str) -> str:
    """Where the field of a record is in an answer that shows this very record."""
    rows = exchange.data if isinstance(exchange.data, list) else []
    number = next((number for number, row in enumerate(rows) if row is record), None)
    return f"/data/{name}" if number is None else f"/data/{number}/{name}"


def format_value(value: Any, name: str = "", *, verbatim: bool = True) -> str:
    """A value for a report, as JSON; if the record is somebody else's, only the shape of what tells something about it.

    Args:
        name: the field that holds it.
    """
    if value is MISSING:
        return "missing"
    encoded = json.dumps(value, ensure_ascii=False)
    text = f"{encoded[:MAX_VALUE_LENGTH]}{'…' if len(encoded) > MAX_VALUE_LENGTH else ''}"
    is_shown = verbatim or value is None or isinstance(value, bool) or is_telling(name, value)
    return text if is_shown or not any(map(str.isalnum, text)) else f"[masked: {text_shape(text)}]"


def format_both(required: Any, received: Any, name: str, *, verbatim: bool) -> tuple[str, str]:
    """Two values that differ, for a report; of two that look alike once they are masked, it says where they differ."""
    first, second = (format_value(value, name, verbatim=verbatim) for value in (required, received))
    if first == second:
        position = same_beginning(json.dumps(required, ensure_ascii=False), json.dumps(received, ensure_ascii=False))
        second = f"{second}, different from character {position} on"
    return first, second


def from_first_difference(required: str, received: str) -> tuple[str, str]:
    """Two texts of the run for a report; long ones from shortly before the place where they begin to differ."""
    common_length = same_beginning(required, received)
    start = common_length - BEFORE_A_DIFFERENCE if max(len(required), len(received)) > MAX_VALUE_LENGTH else 0
    word_start = next(
        (at for at in range(start, start - MAX_WORD_LENGTH, -1) if at < 1 or required[at - 1].isspace()), start
    )
    first, second = (format_value(text if word_start < 1 else f"…{text[word_start:]}") for text in (required, received))
    return first, second


def same_beginning(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((position for position, (left, right) in pairs if left != right), min(len(one), len(other)))


def id_text(record: Record) -> str:
    """The id of a record for a report, as it stands in the JSON."""
    return json.dumps(record.get("id"))[:MAX_ID_LENGTH]


def steady(resource: Resource) -> list[str]:
    """The fields that only a write changes; whether a domain is enabled may change by itself."""
    return [name for name in resource.record_schema if name != "is_enabled" or resource.types]


def steady_records(resource: Resource, rows: Iterable[Record]) -> dict[Any, Record]:
    """Records by id, with only the fields that only a write changes; others may show the time."""
    return {id_of(row): {name: row.get(name) for name in steady(resource)} for row in rows}


def others_wrote(evidence: Evidence) -> bool:
    """Whether records changed, came or went while the run only read."""
    return any(
        steady_records(evidence.resource, before.rows) != steady_records(evidence.resource, after.rows)
        for before, after in evidence.controls
    )
