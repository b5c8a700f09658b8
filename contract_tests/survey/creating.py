"""Creates that are never repeated blindly, and whose records are seen before anything else is done to them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from contract_tests.evidence import Creation
from contract_tests.exchange import TRIES, Exchange, Expect, FormValue, request_of, whole_id
from contract_tests.masking import mark_of, shows
from contract_tests.survey.visitor import Visitor


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
    known: frozenset[Any] = frozenset()
    read: bool = True


def create(visitor: Visitor, *creates: Create) -> list[Creation]:
    """Create records, none blindly twice, and only then read them, so that what reads lag is waited for once.

    Raises:
        InvisibleError: if a returned id is not that of the new record.
    """
    sent, resource = list[tuple[Exchange, int | None]](), visitor.resource
    for each in creates:
        exchange = visitor.post(each.form, each.expects)
        sent.append(_again(visitor, each, exchange) if exchange.failed else (exchange, exchange.made_id))
    creations = []
    for each, (exchange, identifier) in zip(creates, sent, strict=True):
        texts = {name: value for name, value in each.form.items() if isinstance(value, str)}
        creation = Creation(exchange, texts, each.known, identifier)
        if identifier is not None and each.read:
            shows_it = partial(visitor.shows, marker=mark_of(each.form[resource.label]))
            read = visitor.wait_until(
                "create", partial(visitor.send, request_of(resource, "read", identifier)), shows_it
            )
            creation = replace(creation, read=read)
        visitor.evidence.creations.append(creation)
        creations.append(creation)
        if creation.read and not creation.read.failed and not _is_seen(visitor, creation):
            visitor.treat(creation.read, Expect.OPEN)
            visitor.writes = False
            raise InvisibleError(f"a created record does not show in {resource.name}: nothing more was created there")
    return creations


def _again(visitor: Visitor, create: Create, exchange: Exchange) -> tuple[Exchange, int | None]:
    """Send a create again after a failure if its record is not listed; return the last answer and the id."""
    identifier = exchange.made_id
    for _ in range(TRIES - 1):
        if not exchange.failed or identifier is not None:
            break
        marker = mark_of(create.form[visitor.resource.label])
        identifier = whole_id(next((row for row in visitor.list_all().rows if shows(row, marker)), None))
        if identifier is not None:
            visitor.note_own(visitor.target.ledger.latest(visitor.resource.name), identifier)
        else:
            again = visitor.post(create.form, create.expects)
            exchange = replace(again, attempts=(*exchange.attempts, exchange.status))
            visitor.evidence.exchanges[-1] = exchange
            identifier = exchange.made_id
    return exchange, identifier


def overlook(visitor: Visitor, creation: Creation) -> None:
    """Exclude a create from every rule."""
    visitor.evidence.creations.remove(creation)
    visitor.treat(creation.exchange, Expect.OVERLOOKED)


def _is_seen(visitor: Visitor, creation: Creation) -> bool:
    """Whether the record that a create returned was read or is listed, with its marker."""
    ledger, identifier = visitor.target.ledger, creation.identifier or 0
    if not ledger.allows_write(visitor.resource.name, identifier):
        visitor.list_all()
    return ledger.allows_write(visitor.resource.name, identifier)
