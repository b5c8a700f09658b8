"""The chapter of attempts that must have no effect, and a check of their effects."""

from __future__ import annotations

from dataclasses import replace

from contract_tests.evidence import AccessAttempt, Listing, Omission, Record
from contract_tests.exchange import TRIES, Exchange, Expect, FormValue, id_of, is_integer
from contract_tests.markers import begins, shows
from contract_tests.multipart import BOUNDARY
from contract_tests.survey.pages import is_quiet_alone
from contract_tests.survey.visitor import Visitor


def omit(visitor: Visitor, before: Listing) -> None:
    """Try a create without each required field, once, and see what happens.

    The form carries a marker in another field that reads show, if there is one; by that its record is recognised,
    and removed at the end. One that cannot be recognised is never made twice: a second visit only looks for it.
    """
    for field in visitor.resource.required:
        before = _look_again(visitor, field) or _omit(visitor, field, before)


def _omit(visitor: Visitor, field: str, before: Listing) -> Listing:
    marker = visitor.mark()
    exchange = _send(visitor, field, marker, before)
    after = visitor.snapshot()
    new = [after.by_id[each] for each in set(after.ids) - set(before.ids)]
    came = [row for row in new if not _is_others(visitor, row, marker) and (before.complete or shows(row, marker))]
    is_quiet = not came or _claim(visitor, came, marker, exchange)
    omission = Omission(field, exchange, marker, tuple(came), is_quiet)
    visitor.evidence.omissions[visitor.resource.name].append(omission)
    return after


def _look_again(visitor: Visitor, field: str) -> Listing | None:
    """Look for the record of an earlier visit's create, if it could not be recognised and so was not removed."""
    resource = visitor.resource.name
    left = [each for each in visitor.target.ledger.left if each.resource == resource and each.without == field]
    stray = next((each.identifier for each in left if each.identifier and not each.seen), None)
    creates = (each for each in visitor.target.exchanges if each.request.operation == "create")
    refused = (each for each in creates if each.expects is Expect.REFUSAL and each.request.resource == resource)
    exchange = next((each for each in refused if field not in (each.request.form or {})), None)
    if stray is None or exchange is None:
        return None
    seen = visitor.snapshot()
    came = (seen.by_id[stray],) if stray in seen.by_id else ()
    visitor.evidence.omissions[resource].append(Omission(field, exchange, "", came))
    return seen


def _send(visitor: Visitor, field: str, marker: str, before: Listing) -> Exchange:
    """Send the create, and again after a failure, but only if no record has appeared."""
    form = _without(visitor, field, marker)
    for _ in range(TRIES):
        exchange = visitor.post(form, Expect.REFUSAL, marker=marker, without=field)
        if not exchange.failed or set(visitor.snapshot().ids) - set(before.ids):
            break
    return exchange


def _without(visitor: Visitor, field: str, marker: str) -> dict[str, FormValue]:
    """A form without a field, and with a marker in another: the name, an address, or any text."""
    resource, form = visitor.resource, visitor.least()
    form = {name: value for name, value in form.items() if name != field}
    if resource.label in form:
        return form | {resource.label: marker}
    address = "webhook" if resource.types else next((name for name in resource.optional if name in resource.shape), "")
    texts = {name: marker for name, type_ in list(resource.optional.items())[:1] if type_ == "text"}
    return form | ({address: f"https://www.example.com/{marker}"} if address else texts)


def _is_others(visitor: Visitor, row: Record, marker: str) -> bool:
    """Whether a record is another one, which the run made on purpose."""
    return any(shows(row, each) for each in visitor.evidence.markers if not begins(marker, each))


def _claim(visitor: Visitor, came: list[Record], marker: str, exchange: Exchange) -> bool:
    """Note what the create made, as far as known; return whether nobody else makes records meanwhile."""
    ledger, resource = visitor.target.ledger, visitor.resource
    entry = ledger.latest(resource.name)
    marked = [row for row in came if shows(row, marker)]
    own = marked or [row for row in came if row.get("id") == exchange.made_id and _is_nameless(row, resource.label)]
    is_quiet = bool(own) or (not _others_wrote(visitor, came) and is_quiet_alone(visitor))
    for row in (own or came)[:1] if is_quiet else own:
        if is_integer(row.get("id")):
            ledger.complete(entry, int(row["id"]))
            if own:
                ledger.vouch(entry)
    return is_quiet


def _others_wrote(visitor: Visitor, came: list[Record]) -> bool:
    """Whether this visit's lists have shown new records before that are not the run's."""
    resource, ledger = visitor.resource.name, visitor.target.ledger
    own = {entry.identifier for entry in ledger.entries if entry.resource == resource} | set(map(id_of, came))
    whole = {"page": "1", "results_per_page": str(visitor.largest)}
    first, *later = [page for page in visitor.evidence.pages(resource) if page.exchange.request.asked == whole]
    known = {id_of(row) for row in first.rows} | own
    return any(id_of(row) not in known and not _is_others(visitor, row, "") for page in later for row in page.rows)


def _is_nameless(row: Record, label: str) -> bool:
    return not str(row.get(label) or "").strip()


def try_odd_forms(visitor: Visitor) -> None:
    """Send a create with rough text, one that is cut off and, for handlers, one of an unknown type."""
    rough = visitor.least() | {visitor.resource.label: f"{visitor.mark()} <b>\"'\\ {'long' * 100} "}
    visitor.insist(lambda: visitor.post(rough, Expect.OPEN))
    marker = visitor.mark()
    cut_off = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{visitor.resource.label}"\r\n\r\n{marker}'.encode()
    )
    visitor.insist(lambda: visitor.post_raw(marker, f"multipart/form-data; boundary={BOUNDARY}", cut_off))
    if visitor.resource.types:
        visitor.post(visitor.least(type="contract-tests"), Expect.OPEN)


def look_after(visitor: Visitor, attempts: list[AccessAttempt]) -> Listing:
    """List, as the account, to see the effects of attempts that must have none."""
    own = visitor.evidence.own.get(visitor.resource.name, set())
    after = visitor.snapshot(lambda look: own <= set(look.ids), "create")
    visitor.evidence.access_attempts[visitor.resource.name].extend(replace(each, after=after) for each in attempts)
    return after
