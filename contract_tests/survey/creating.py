"""Creates that are never repeated blindly, and whose records are seen before anything else is done to them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from contract_tests.evidence import Creation
from contract_tests.exchange import TRIES, Expect, FormValue, is_integer
from contract_tests.masking import mark_of, shows
from contract_tests.survey.visitor import Visitor


class InvisibleError(Exception):
    """A create returned an id under which its record cannot be seen; the id may be somebody else's."""


def create(  # noqa: PLR0913 - each is about the one create
    visitor: Visitor,
    form: Mapping[str, FormValue],
    label: str,
    expects: Expect,
    known: frozenset[Any],
    *,
    read: bool = True,
) -> Creation:
    """Create a record, never blindly twice, and read it if asked, waiting until the read shows it.

    Raises:
        InvisibleError: if the returned id is not that of the new record.
    """
    return _read(visitor, _send(visitor, form, label, expects, known), read=read)


def create_each(
    visitor: Visitor, forms: Sequence[Mapping[str, FormValue]], label: str, expects: Expect
) -> list[Creation]:
    """Create records and only then read them, so that what reads lag is waited for once.

    Raises:
        InvisibleError: as for a single one.
    """
    sent = [_send(visitor, form, label, expects, frozenset()) for form in forms]
    return [_read(visitor, creation) for creation in sent]


def _send(
    visitor: Visitor, form: Mapping[str, FormValue], label: str, expects: Expect, known: frozenset[Any]
) -> Creation:
    """Send a create, again after a failure if its record is not listed."""
    exchange = visitor.post(form, expects)
    identifier = exchange.made_id
    for _ in range(TRIES - 1):
        if not exchange.failed or identifier is not None:
            break
        identifier = _find(visitor, mark_of(form[visitor.resource.label]))
        if identifier is not None:
            visitor.note_own(visitor.target.ledger.latest(visitor.resource.name), identifier)
        else:
            exchange = replace(visitor.post(form, expects), attempts=(*exchange.attempts, exchange.status))
            visitor.evidence.exchanges[-1] = exchange
            identifier = exchange.made_id
    texts = {name: value for name, value in form.items() if isinstance(value, str)}
    return Creation(exchange, texts, known, identifier, label=label)


def _read(visitor: Visitor, creation: Creation, *, read: bool = True) -> Creation:
    """Keep a create that was sent, after reading its record if asked."""
    marker, identifier = mark_of(creation.form[visitor.resource.label]), creation.identifier
    if identifier is not None and read:
        shown = visitor.wait_until("create", lambda: visitor.read(identifier), lambda seen: visitor.shows(seen, marker))
        creation = replace(creation, read=shown)
    visitor.evidence.creations.append(creation)
    if creation.read and not creation.read.failed and not _is_seen(visitor, creation):
        visitor.treat(creation.read, Expect.OPEN)
        visitor.writes = False
        raise InvisibleError(
            f"a created record does not show in {visitor.resource.name}: nothing more was created there"
        )
    return creation


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


def _find(visitor: Visitor, marker: str) -> int | None:
    row = next((row for row in visitor.list_all().rows if shows(row, marker)), {})
    return int(row["id"]) if is_integer(row.get("id")) else None
