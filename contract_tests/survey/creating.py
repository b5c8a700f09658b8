"""Creates of the survey: `create` repeats none without looking for its record, and reads it before anything else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from contract_tests.evidence.evidence import Creation, FieldIsolation
from contract_tests.evidence.exchange import REJECTED, TRIES, Exchange, Expect, FormValue, whole_id
from contract_tests.evidence.marks import mark_of, shows
from contract_tests.evidence.multipart import USUAL, FormStyle
from contract_tests.survey.visitor import MAX_RETRIES, AwaitedRead, Visitor

ABOUT_THE_KEY_OR_PACE = {HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS}  # a refusal, not of the form


class InvisibleError(Exception):
    """A create returned an id under which its record cannot be seen; the id may be somebody else's."""


@dataclass(frozen=True)
class Create:
    """A create to send: the form, with a marker in the label, the answer it should get, and the ids that exist before.

    Attributes:
        read: whether to read the record, waiting until the read shows it.
    """

    form: Mapping[str, FormValue]
    expects: Expect = Expect.SUCCESS
    known_ids: frozenset[Any] = frozenset()
    read: bool = True
    form_style: FormStyle = USUAL


def create(visitor: Visitor, *creates: Create) -> list[Creation]:
    """Create records, none blindly twice, and only then read them, so that what reads lag is waited for once.

    Raises:
        InvisibleError: if a returned id is not that of the new record.
    """
    resource, creations, known_ids = visitor.resource, list[Creation](), set[int]()
    exchanges = [visitor.post(step.form, step.expects, form_style=step.form_style) for step in creates]
    outcomes = [
        _create_again(visitor, requested, exchange) if exchange.failed else (exchange, exchange.made_id)
        for requested, exchange in zip(creates, exchanges, strict=True)
    ]
    awaited_reads = {
        position: AwaitedRead(identifier, partial(visitor.shows, marker=mark_of(requested.form[resource.label])))
        for position, (requested, (_, identifier)) in enumerate(zip(creates, outcomes, strict=True))
        if identifier is not None and requested.read
    }
    reads = dict(zip(awaited_reads, visitor.read_until("create", list(awaited_reads.values())), strict=True))
    for position, (requested, (exchange, identifier)) in enumerate(zip(creates, outcomes, strict=True)):
        texts = {name: value for name, value in requested.form.items() if isinstance(value, str)}
        creation = Creation(exchange, texts, requested.known_ids | known_ids, identifier, reads.get(position))
        known_ids |= {identifier} if identifier is not None else set()
        (visitor.evidence.creations if requested.form_style == USUAL else visitor.evidence.shaped).append(creation)
        creations.append(creation)
        if creation.read and not creation.read.failed and not _shows_record(visitor, creation):
            visitor.evidence.treat(creation.read, Expect.OPEN)
            visitor.writes = False
            raise InvisibleError(f"a created record does not show in {resource.name}: nothing more was created there")
    return creations


def _create_again(visitor: Visitor, create: Create, exchange: Exchange) -> tuple[Exchange, int | None]:
    """Send a create again after a failure if its record is not listed; return the last answer and the id."""
    identifier = exchange.made_id
    for number in range(MAX_RETRIES):
        is_own_failure = exchange.expects is not Expect.IGNORED
        if not exchange.failed or identifier is not None or (number >= TRIES - 1 and is_own_failure):
            break
        marker = mark_of(create.form[visitor.resource.label])
        identifier = whole_id(next((row for row in visitor.list_all().rows if shows(row, marker)), None))
        if identifier is not None:
            visitor.records.note_own(visitor.target.ledger.latest(visitor.resource.name, marker), identifier)
        else:
            retried = visitor.post(create.form, create.expects, form_style=create.form_style)
            exchange = retried.after(exchange)
            visitor.evidence.exchanges[-1] = exchange
            identifier = exchange.made_id
    return exchange, identifier


def split(visitor: Visitor, exchange: Exchange, send: Callable[[dict[str, FormValue]], Exchange]) -> list[int]:
    """After a refusal that may be about the account, send each optional field of the form alone, and all of them again.

    Once for creates, and once for updates.

    Args:
        send: sends the same operation with other optional fields.

    Returns:
        The ids that were answered.
    """
    operations_split = {isolation.all_fields.request.operation for isolation in visitor.evidence.isolations}
    needed = {visitor.resource.label, *visitor.resource.required}
    fields = {name: value for name, value in (exchange.request.form or {}).items() if name not in needed}
    if exchange.succeeded or exchange.failed or exchange.status in REJECTED | ABOUT_THE_KEY_OR_PACE:
        return []
    if len(fields) < 2 or exchange.request.operation in operations_split:  # noqa: PLR2004 - one field is alone already
        return []
    single_fields = tuple(send({name: value}) for name, value in fields.items())
    isolation = FieldIsolation(single_fields, send(fields), send({}))
    visitor.evidence.isolations.append(isolation)
    return [
        reply.made_id
        for reply in (*single_fields, isolation.all_fields, isolation.required_only)
        if reply.made_id is not None
    ]


def overlook(visitor: Visitor, creation: Creation) -> None:
    """Exclude a create from every rule."""
    visitor.evidence.creations.remove(creation)
    visitor.evidence.treat(creation.exchange, Expect.IGNORED)


def _shows_record(visitor: Visitor, creation: Creation) -> bool:
    """Whether the record that a create returned was read or is listed, with its marker."""
    ledger, identifier = visitor.target.ledger, creation.identifier or 0
    if not ledger.allows_write(visitor.resource.name, identifier):
        visitor.list_all()
    return ledger.allows_write(visitor.resource.name, identifier)
