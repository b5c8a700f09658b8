"""The chapter of attempts that must come to nothing, and what then came of them."""

from __future__ import annotations

from dataclasses import replace

from contract_tests.evidence import Intrusion, Omission, Snapshot
from contract_tests.exchange import Exchange, FormValue, is_integer
from contract_tests.survey.samples import optional
from contract_tests.survey.visitor import Visitor
from contract_tests.target import BOUNDARY

MOST_TRIES = 3


def omit(visitor: Visitor, before: Snapshot) -> list[tuple[str, Exchange]]:
    """Try to create without each required field."""
    omitted = []
    for field in visitor.kind.required:
        form = _without(visitor, field)
        exchange = visitor.insist(lambda form=form: visitor.post(form, "refusal"))  # type: ignore[misc]
        omitted.append((field, exchange))
        if field == visitor.kind.label and exchange.made_id is not None and before.complete:
            _vouch(visitor, exchange.made_id, before)
    return omitted


def _vouch(visitor: Visitor, identifier: int, before: Snapshot) -> None:
    """Take a record without a name for the run's own if a create just told its id, and it was not there before."""
    record = visitor.read(identifier, "open").record
    if record and identifier not in before.ids and not str(record.get(visitor.kind.label) or "").strip():
        visitor.target.ledger.vouch(visitor.target.ledger.entries[-1])


def _without(visitor: Visitor, field: str) -> dict[str, FormValue]:
    form = {name: value for name, value in visitor.least().items() if name != field}
    return form or {name: str(value) for name, value in list(optional(visitor.kind).items())[:1]}


def try_odd_forms(visitor: Visitor) -> None:
    """Send a create with rough text, and one that is cut off."""
    rough = visitor.least() | {visitor.kind.label: f"{visitor.mark()} <b>\"'\\ {'long' * 100} "}
    visitor.insist(lambda: visitor.post(rough, "open"))
    marker = visitor.mark()
    cut_off = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{visitor.kind.label}"\r\n\r\n{marker}'.encode()
    visitor.insist(lambda: visitor.post_raw(marker, f"multipart/form-data; boundary={BOUNDARY}", cut_off))
    if visitor.kind.types:
        visitor.post(visitor.least(type="contract-tests"), "open")


def look_after(
    visitor: Visitor, before: Snapshot, omitted: list[tuple[str, Exchange]], attempts: list[Intrusion]
) -> Snapshot:
    """See, as the account, what came of attempts that must come to nothing."""
    own = visitor.evidence.own.get(visitor.kind.name, set())
    after = visitor.snapshot(lambda look: own <= set(look.ids), "list after attempts")
    labels = [str(after.by_id[each].get(visitor.kind.label)).casefold() for each in set(after.ids) - set(before.ids)]
    markers = [marker.casefold() for marker in visitor.evidence.markers]
    foreign = [label for label in labels if not any(marker in label for marker in markers)]
    for field, exchange in omitted:
        again = bool(foreign) and exchange.made_id is None and _appears_again(visitor, field)
        omission = Omission(field, exchange, before, after, appears_again=again)
        visitor.evidence.omissions[visitor.kind.name].append(omission)
    intrusions = [replace(each, after=after) for each in attempts]
    visitor.evidence.intrusions[visitor.kind.name].extend(intrusions)
    if not foreign:
        return after
    now = visitor.snapshot()
    if before.complete:
        again = any(each.appears_again for each in visitor.evidence.omissions[visitor.kind.name])
        _claim_nameless(visitor, before, now, whatever_their_names=again)
    return now


def _claim_nameless(visitor: Visitor, before: Snapshot, now: Snapshot, *, whatever_their_names: bool) -> None:
    """Note what refused creates without a name have made all the same: it shows no marker, so it is told of alone."""
    ledger, kind = visitor.target.ledger, visitor.kind
    known = {entry.identifier for entry in ledger.entries if entry.kind == kind.name} | set(before.ids)
    for row in now.rows:
        label = str(row.get(kind.label) or "").strip()
        ours = not label or (whatever_their_names and not visitor.evidence.is_marked(label))
        if ours and is_integer(row.get("id")) and row["id"] not in known:
            ledger.complete(ledger.plan(kind.name, ""), row["id"])


def _appears_again(visitor: Visitor, field: str) -> bool:
    """Whether each of some more creates without a field makes one record appear, and nothing comes without one."""
    for _ in range(MOST_TRIES):
        before = visitor.snapshot()
        visitor.post(_without(visitor, field), "refusal")
        after = visitor.snapshot()
        control = visitor.snapshot()
        if len(set(after.ids) - set(before.ids)) != 1 or set(control.ids) != set(after.ids):
            return False
    return True
