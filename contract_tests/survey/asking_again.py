"""What failed while the server was up is asked once more: a failure that does not come back was no rule's business."""

from dataclasses import replace

from contract_tests.evidence.exchange import OWN_KEY, Exchange, Expect, FormValue, Request
from contract_tests.evidence.marks import mark_of
from contract_tests.survey.form_values import type_form
from contract_tests.survey.visitor import Visitor
from contract_tests.target.availability import is_page
from contract_tests.target.ownership import WriteRefusedError

MAX_KINDS = 12  # of failures that are asked again
Kind = tuple[str, frozenset[str], tuple[tuple[str, str], ...], object]


def ask_again(visitor: Visitor) -> None:
    """Send one request of each kind that failed once more; where that works, nothing of the kind is judged.

    Of an operation that never works, one request is enough.
    """
    exchanges = visitor.evidence.exchanges
    failures: dict[Kind, list[Exchange]] = {}
    for exchange in exchanges:
        if _counts(visitor, exchange):
            failures.setdefault(_kind_of(exchange.request), []).append(exchange)
    hopeless = set[str]()
    for similar in list(failures.values())[:MAX_KINDS]:
        if similar[0].request.operation in hopeless:
            continue
        reply = _send(visitor, similar[0])
        if reply is not None and reply.is_usual:
            hopeless.add(reply.request.operation)
        if reply is not None and not visitor.target.availability.is_trouble(reply):
            for exchange in similar:
                visitor.evidence.treat(exchange, Expect.IGNORED if not is_page(exchange) else Expect.OPEN)


def _counts(visitor: Visitor, exchange: Exchange) -> bool:
    """Whether an exchange counts against the server though it may have failed for the moment."""
    is_documented = exchange.request.identity == OWN_KEY and exchange.expects in (Expect.SUCCESS, Expect.ORDINARY)
    return is_documented and exchange.number > 0 and visitor.target.availability.is_trouble(exchange)


def _kind_of(request: Request) -> Kind:
    """Requests fail for the same reason if they are alike in all that they send, but for values."""
    return request.operation, frozenset(request.form or ()), request.query, request.form_style


def _send(visitor: Visitor, failed: Exchange) -> Exchange | None:
    """The answer to the same request now: with another name, unless that is the point, and to a record still there."""
    request = failed.request
    label, form = visitor.resource.label, dict(request.form or {})
    renamed = dict(form)
    if label in form and form[label] != visitor.freed_label:
        renamed[label] = str(form[label]).replace(mark_of(form[label]), visitor.records.new_marker())
    if request.operation == "create" and request.form:
        entry = visitor.target.ledger.plan(visitor.resource.name, mark_of(renamed.get(label)))
        return visitor.send(replace(request, form=renamed), entry)
    if request.operation in ("update", "delete"):
        own_entries = visitor.target.ledger.removable(visitor.resource.name)
        ids = [entry.identifier for entry in own_entries if entry.seen and entry.identifier is not None]
        if not ids:
            return None
        identifier = request.identifier if request.identifier in ids else ids[0]
        path = f"{visitor.resource.record_path}{identifier}"
        request = replace(request, identifier=identifier, path=path, form=renamed if request.form else request.form)
        visitor.records.note_update(request)
    try:
        if request.operation == "update" and visitor.resource.types:
            _restore(visitor, failed, identifier)
        return visitor.send(request)
    except WriteRefusedError:
        return None


def _restore(visitor: Visitor, failed: Exchange, identifier: int) -> None:
    """Give a handler the type and the state again in which an update of one has failed."""
    before = next((change.before for change in visitor.evidence.changes if change.exchange is failed), {})
    now, handler_type = visitor.read(identifier, Expect.OPEN).record or {}, before.get("type")
    form: dict[str, FormValue] = {}
    if handler_type in visitor.resource.types and now.get("type") != handler_type:
        form |= type_form(visitor.resource, str(handler_type))
    if isinstance(before.get("is_enabled"), bool) and now.get("is_enabled") is not before["is_enabled"]:
        form["is_enabled"] = str(int(before["is_enabled"]))
    if form:
        visitor.update(identifier, form, Expect.OPEN)
