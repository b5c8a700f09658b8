"""Rules about whose records are shown to whom."""

from __future__ import annotations

import re
from collections.abc import Callable

from contract_tests.evidence import AccessAttempt, Evidence, Record
from contract_tests.exchange import OTHER, id_of
from contract_tests.markers import begins
from contract_tests.rules.observation import (
    NotApplicable,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    answer,
    decide,
    steady,
)
from contract_tests.rules.operations import own_requests
from link_management_contract import Resource

SEPARATION = "separation of accounts"
Attempts = list[AccessAttempt]


def bearer_key_is_accepted(evidence: Evidence, resource: Resource) -> Observations:
    """All requests with the account's key; one that is let in shows that the key is accepted."""
    requests = own_requests(evidence, resource)
    let_in = [exchange for exchange in requests if exchange.succeeded]
    if let_in:
        yield Satisfied(let_in[0])
    for exchange in requests:
        if not let_in and exchange.status in (401, 403):
            yield Violation(exchange, "to be let in", answer(exchange))


def strangers_see_no_list(evidence: Evidence, resource: Resource) -> Observations:
    """Lists by unauthorized clients."""
    return _shown_nothing(_by(evidence, resource, "list", other=False), evidence, resource)


def strangers_read_no_record(evidence: Evidence, resource: Resource) -> Observations:
    """Reads by unauthorized clients."""
    return _shown_nothing(_by(evidence, resource, "read", other=False), evidence, resource)


def strangers_create_nothing(evidence: Evidence, resource: Resource) -> Observations:
    """Creates by unauthorized clients, and the account's list afterwards."""
    return _made_nothing(_by(evidence, resource, "create", other=False), evidence, resource)


def strangers_update_nothing(evidence: Evidence, resource: Resource) -> Observations:
    """Updates by unauthorized clients, and the account's reads afterwards."""
    return _changed_nothing(_by(evidence, resource, "update", other=False), evidence, resource)


def strangers_delete_nothing(evidence: Evidence, resource: Resource) -> Observations:
    """Deletes by unauthorized clients, and the account's reads afterwards."""
    return _removed_nothing(_by(evidence, resource, "delete", other=False), evidence, resource)


def other_account_sees_no_list(evidence: Evidence, resource: Resource) -> Observations:
    """Lists by another account."""
    return _if_given(evidence, resource, "list", _shown_nothing)


def other_account_reads_nothing(evidence: Evidence, resource: Resource) -> Observations:
    """Reads by another account."""
    return _if_given(evidence, resource, "read", _shown_nothing)


def other_account_creates_apart(evidence: Evidence, resource: Resource) -> Observations:
    """Creates by another account, and this one's list afterwards."""
    return _if_given(evidence, resource, "create", _made_nothing)


def other_account_updates_nothing(evidence: Evidence, resource: Resource) -> Observations:
    """Updates by another account, and this one's reads afterwards."""
    return _if_given(evidence, resource, "update", _changed_nothing)


def other_account_deletes_nothing(evidence: Evidence, resource: Resource) -> Observations:
    """Deletes by another account, and this one's reads afterwards."""
    return _if_given(evidence, resource, "delete", _removed_nothing)


def _by(evidence: Evidence, resource: Resource, operation: str, *, other: bool) -> Attempts:
    return [each for each in _tried(evidence, resource, operation) if (each.identity == OTHER) == other]


def _tried(evidence: Evidence, resource: Resource, operation: str) -> Attempts:
    return [each for each in evidence.access_attempts[resource.name] if each.exchange.request.operation == operation]


def _if_given(
    evidence: Evidence,
    resource: Resource,
    operation: str,
    judge: Callable[[Attempts, Evidence, Resource], Observations],
) -> Observations:
    """The observations about another account, if there is one without its own record under the id."""
    if not evidence.has_second_key:
        yield NotApplicable("no second key", SEPARATION)
    elif _by(evidence, resource, "read", other=True) and not _by(evidence, resource, operation, other=True):
        yield NotApplicable("the other account may have a record of its own under the id that was tried", SEPARATION)
    else:
        yield from judge(_by(evidence, resource, operation, other=True), evidence, resource)


def _shown_nothing(access_attempts: Attempts, evidence: Evidence, resource: Resource) -> Observations:
    """None of the account's records are shown; to another account, which may have similar ones, none of the run's."""
    known: dict[tuple[str, str, str], bool] = {}
    for attempt in access_attempts:
        exchange = attempt.exchange
        if exchange.status is None and not any(each.succeeded for each in own_requests(evidence, resource)):
            yield Undecided(answer(exchange))
            continue
        rows = exchange.page.rows if exchange.page else (exchange.record,) if exchange.record else ()
        if rows and not known:
            known = {
                _look(each, resource): evidence.is_own(resource.name, each)
                for _, each in evidence.records(resource.name)
            }
        seen = [row for row in rows if known.get(_look(row, resource), False) or attempt.identity != OTHER]
        shown = [row for row in seen if _look(row, resource) in known]
        received = f"status {exchange.status} and {len(shown) or 'some'} of its records, to {attempt.identity}"
        kept = not shown and not _holds_marker(attempt, evidence, resource)
        yield decide(exchange, "none of the account's records", received, kept=kept)


def _look(record: Record, resource: Resource) -> tuple[str, str, str]:
    return str(record.get("id")), str(record.get("datetime")), str(record.get(resource.label))


def _holds_marker(attempt: AccessAttempt, evidence: Evidence, resource: Resource) -> bool:
    """Whether the answer holds a name or host of the run, other than those that unauthorized clients sent.

    Another account may have similar records of its own: of its answers, only a read that shows no record counts.
    """
    exchange = attempt.exchange
    markers = evidence.markers - {
        each.marker.removesuffix(".example.com") for each in evidence.access_attempts[resource.name]
    }
    if attempt.identity == OTHER:
        if exchange.request.operation != "read" or exchange.record:
            return False
        markers = {str((attempt.before or {}).get(resource.label))}
    body = exchange.body.decode("utf-8", "replace").casefold()
    return any(re.search(rf'"{re.escape(marker.casefold())}(?!\d)', body) for marker in markers)


def _made_nothing(access_attempts: Attempts, _: Evidence, resource: Resource) -> Observations:
    for attempt in access_attempts:
        if attempt.after is None or attempt.after.exchange is None:
            yield Undecided("the account's list could not be read then")
            continue
        kept = not any(begins(row.get(resource.label, ""), attempt.marker) for row in attempt.after.rows)
        received = f"status {attempt.exchange.status}, and the record is listed, made by {attempt.identity}"
        yield decide(attempt.exchange, "no record", received, kept=kept)


def _changed_nothing(access_attempts: Attempts, evidence: Evidence, resource: Resource) -> Observations:
    """The name or host identifies the attempt to blame; else those that succeeded are to blame, or all if none did."""
    attempts = _tried(evidence, resource, "update")
    steady_ones = [name for name in steady(resource) if name not in (resource.label, "last_datetime")]
    for attempt in access_attempts:
        record, before = attempt.read.record if attempt.read else None, attempt.before or {}
        if record is None or id_of(record) != attempt.exchange.request.identifier:
            yield Undecided("the account's record could not be read then")
            continue
        changed = [
            name
            for name in steady_ones
            if name in before and record.get(name) not in (before[name], (attempt.listed or {}).get(name))
        ]
        label = record.get(resource.label, "")
        renamed = begins(label, attempt.marker)
        is_known = any(begins(label, each.marker) for each in attempts)
        kept = not renamed and (is_known or not changed or not _is_to_blame(attempt, attempts))
        names = resource.label if renamed else ", ".join(changed)
        received = f"status {attempt.exchange.status}, and another {names}, by {attempt.identity}"
        yield decide(attempt.exchange, "the record as it was", received, kept=kept)


def _removed_nothing(access_attempts: Attempts, evidence: Evidence, resource: Resource) -> Observations:
    """If the record is gone, the attempts that succeeded are to blame, or all if none did."""
    attempts = _tried(evidence, resource, "delete")
    for attempt in access_attempts:
        observation = _still_there(attempt, evidence, resource)
        if isinstance(observation, Violation) and not _is_to_blame(attempt, attempts):
            yield Undecided("the record was gone already")
        else:
            yield observation


def _is_to_blame(attempt: AccessAttempt, attempts: list[AccessAttempt]) -> bool:
    """Whether an attempt was answered with a success, or none of those before the same read was."""
    told = [each for each in attempts if each.read is attempt.read and each.exchange.succeeded]
    return not told or attempt in told


def _still_there(attempt: AccessAttempt, evidence: Evidence, resource: Resource) -> Observation:
    read, after = attempt.read, attempt.after
    if read is None or read.failed or after is None:
        return Undecided("the account's record could not be read then")
    if not attempt.before:
        return Undecided("the record was not seen before")
    if read.record is None and read.request.identifier in after.ids:
        return Undecided("the account's record is listed, but not read")
    earlier = [page for page in evidence.pages(resource.name) if page.exchange.number < attempt.exchange.number]
    was_listed = any(id_of(row) == read.request.identifier for page in earlier for row in page.rows)
    hidden = after.complete and was_listed and read.request.identifier not in after.ids
    received = f"status {attempt.exchange.status}, and it is gone, by {attempt.identity}"
    return decide(attempt.exchange, "the record, still there", received, kept=read.record is not None and not hidden)
