"""Rules about whose records are shown to whom."""

import re
from collections.abc import Callable, Iterator

from contract_tests.evidence.evidence import AccessAttempt, Evidence, Record
from contract_tests.evidence.exchange import OTHER, OWN_KEY, id_of
from contract_tests.evidence.marks import begins
from contract_tests.evidence.observation import (
    NEEDS_DELETES,
    NEEDS_PAGES,
    NEEDS_UPDATES,
    Chapter,
    NotApplicable,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    rule,
    shown_once,
    steady,
)
from contract_tests.rules.operations import own_requests
from contract_tests.target.identities import IDENTITIES
from link_management_contract import Resource

SEPARATION = "separation of accounts"
ACCESS = NEEDS_PAGES | NEEDS_UPDATES | {Chapter.ACCESS}
BOTH = (OWN_KEY, OTHER)
NOT_READ = Undecided("the account's record could not be read then")
NO_OTHER_CASES = NotApplicable("the key has no letters, or may be read in any case")
Attempts = list[AccessAttempt]
JudgeOfAttempts = Callable[[Attempts, Evidence], Observations]


@rule("accounts.bearer-key-is-accepted", needs=NEEDS_PAGES | NEEDS_UPDATES | NEEDS_DELETES)
def bearer_key_is_accepted(evidence: Evidence) -> Observations:
    """All requests with the account's key; one that is let in shows that the key is accepted."""
    requests = own_requests(evidence)
    let_in = [exchange for exchange in requests if exchange.succeeded]
    if let_in:
        yield Satisfied(let_in[0])
    for exchange in requests:
        if not let_in and exchange.status in (401, 403):
            yield Violation(exchange, "to be let in", exchange.status_text)


def shown_nothing(attempts: Attempts, evidence: Evidence) -> Observations:
    """None of the account's records are shown; to another account, which may have similar ones, none of the run's."""
    belongs: dict[tuple[str, str, str], bool] = {}
    totals = {page.total for page in evidence.pages() if page.total} if attempts else set()
    for attempt in attempts:
        exchange = attempt.exchange
        if exchange.status is None and not any(request.succeeded for request in own_requests(evidence)):
            yield Undecided(exchange.status_text)
            continue
        rows = exchange.rows
        if rows and not belongs:
            records = (record for source, record in evidence.records() if source.request.identity == OWN_KEY)
            belongs = {_key(record, evidence.resource): evidence.is_run_record(record) for record in records}
        matches = [row for row in rows if belongs.get(_key(row, evidence.resource), False) or attempt.identity != OTHER]
        shown_count = sum(_key(row, evidence.resource) in belongs for row in matches)
        received = f"status {exchange.status} and {shown_count or 'some'} of its records, to {attempt.identity}"
        total = exchange.page.total if exchange.page and not exchange.page.rows else None
        is_counted = attempt.identity != OTHER and total in totals
        holds = not shown_count and not is_counted and not _holds_marker(attempt, evidence)
        yield decide(exchange, holds, "none of the account's records", received)


def _key(record: Record, resource: Resource) -> tuple[str, str, str]:
    return str(record.get("id")), str(record.get("datetime")), str(record.get(resource.label))


def _holds_marker(attempt: AccessAttempt, evidence: Evidence) -> bool:
    """Whether the answer holds a name or host of the run, other than those that unauthorized clients sent.

    Another account may have similar records of its own: of its answers, only a read that shows no record counts.
    """
    exchange = attempt.exchange
    sent_markers = {other.marker.removesuffix(".example.com") for other in evidence.access_attempts}
    markers = evidence.markers - sent_markers
    if attempt.identity == OTHER:
        if exchange.request.operation != "read" or exchange.record:
            return False
        markers = {str((attempt.before or {}).get(evidence.label))}
    body = exchange.body.decode("utf-8", "replace").casefold()
    return any(re.search(rf'"{re.escape(marker.casefold())}(?!\d)', body) for marker in markers)


def made_nothing(attempts: Attempts, evidence: Evidence) -> Observations:
    """No record of theirs is listed in the account afterwards."""
    for attempt in attempts:
        if attempt.after is None or attempt.after.exchange is None:
            yield Undecided("the account's list could not be read then")
            continue
        is_created = any(begins(row.get(evidence.label), attempt.marker) for row in attempt.after.rows)
        received = f"status {attempt.exchange.status}, and the record is listed, made by {attempt.identity}"
        yield decide(attempt.exchange, not is_created, "no record", received)


def changed_nothing(attempts: Attempts, evidence: Evidence) -> Observations:
    """The name or host identifies the attempt to blame; else those that succeeded are to blame, or all if none did."""
    updates = _attempts_at(evidence, "update")
    fields = [name for name in steady(evidence.resource) if name not in (evidence.label, "last_datetime")]
    for attempt in attempts:
        record, before = attempt.read.record if attempt.read else None, attempt.before or {}
        if record is None or id_of(record) != attempt.exchange.request.identifier:
            is_sole_attempt = (
                attempt.exchange.succeeded
                and sum(other.read is attempt.read for other in evidence.access_attempts) == 1
            )
            yield _record_remains(attempt, evidence) if is_sole_attempt else NOT_READ
            continue
        listed_row = attempt.listed_record or {}
        changed = [
            name for name in fields if name in before and record.get(name) not in (before[name], listed_row.get(name))
        ]
        label = record.get(evidence.label)
        renamed = begins(label, attempt.marker)
        is_known = any(begins(label, update.marker) for update in updates)
        holds = not renamed and (is_known or not changed or not _is_to_blame(attempt, updates))
        names = evidence.label if renamed else ", ".join(changed)
        received = f"status {attempt.exchange.status}, and another {names}, by {attempt.identity}"
        yield decide(attempt.exchange, holds, "the record as it was", received)


def removed_nothing(attempts: Attempts, evidence: Evidence) -> Observations:
    """If the record is gone, the attempts that succeeded are to blame, or all if none did."""
    deletes = _attempts_at(evidence, "delete")
    for attempt in attempts:
        observation = _record_remains(attempt, evidence)
        if isinstance(observation, Violation) and not _is_to_blame(attempt, deletes):
            yield Undecided("the record was gone already")
        else:
            yield observation


def _is_to_blame(attempt: AccessAttempt, attempts: Attempts) -> bool:
    """Whether an attempt was answered with a success, or none of those before the same read was."""
    succeeded = [candidate for candidate in attempts if candidate.read is attempt.read and candidate.exchange.succeeded]
    return not succeeded or attempt in succeeded


def _record_remains(attempt: AccessAttempt, evidence: Evidence) -> Observation:
    read, after = attempt.read, attempt.after
    if read is None or read.failed or after is None:
        return NOT_READ
    if not attempt.before:
        return Undecided("the record was not seen before")
    if read.record is None and read.request.identifier in after.ids:
        return Undecided("the account's record is listed, but not read")
    earlier = [page for page in evidence.pages() if page.exchange.number < attempt.exchange.number]
    was_listed = any(id_of(row) == read.request.identifier for page in earlier for row in page.rows)
    if read.record is not None and after.complete and was_listed and read.request.identifier not in after.ids:
        return Undecided("the account's record is read, but not listed")
    received = f"status {attempt.exchange.status}, and it is gone, by {attempt.identity}"
    return decide(attempt.exchange, read.record is not None, "the record, still there", received)


@rule("accounts.strangers-see-no-list", "list", shown_nothing, needs=ACCESS)
@rule("accounts.strangers-read-no-record", "read", shown_nothing, needs=ACCESS)
@rule("accounts.strangers-create-nothing", "create", made_nothing, needs=ACCESS)
@rule("accounts.strangers-update-nothing", "update", changed_nothing, needs=ACCESS)
@rule("accounts.strangers-delete-nothing", "delete", removed_nothing, needs=ACCESS)
def unauthorized_clients(evidence: Evidence, operation: str, judge: JudgeOfAttempts) -> Observations:
    """Attempts of unauthorized clients, and what the account sees afterwards."""
    return judge([attempt for attempt in _attempts_at(evidence, operation) if _is_unauthorized(attempt)], evidence)


def _is_unauthorized(attempt: AccessAttempt) -> bool:
    """Whether it was made without a key, or with one that is no account's."""
    return attempt.identity != OTHER and not IDENTITIES[attempt.identity].holds_key


@rule("accounts.strangers-are-refused", needs=ACCESS)
def strangers_are_refused(evidence: Evidence) -> Observations:
    """What unauthorized clients were answered with success, though it shows and changes nothing of the account."""
    for attempt in filter(_is_unauthorized, evidence.access_attempts):
        exchange = attempt.exchange
        if exchange.status is not None:
            is_empty_list = exchange.page is not None and not exchange.page.rows
            is_written = exchange.request.operation in ("create", "update") and exchange.made_id is not None
            received = f"{exchange.status_text} and {'an empty list' if is_empty_list else 'an id'}"
            is_refused = not is_empty_list and not is_written
            yield decide(exchange, is_refused, "a refusal", f"{received}, to {attempt.identity}")


@rule("accounts.both-at-once-stay-apart", needs=ACCESS)
def both_at_once_stay_apart(evidence: Evidence) -> Observations:
    """Requests that were sent at one moment with both keys: none shows a record that only the other account has."""
    if not evidence.has_second_key:
        yield NotApplicable("no second key", SEPARATION)
        return
    if evidence.simultaneous is None:
        yield NotApplicable("at a limited rate, nothing is sent at one moment")
        return
    keys_of = {identity: {_key(row, evidence.resource) for row in _rows_of(evidence, identity)} for identity in BOTH}
    for exchange in evidence.simultaneous.exchanges:
        identity = exchange.request.identity
        others_keys = keys_of[OTHER if identity == OWN_KEY else OWN_KEY] - keys_of[identity]
        hits = sum(_key(row, evidence.resource) in others_keys for row in exchange.rows)
        if hits:
            received = f"{exchange.status_text} and {hits} of the other account's, which sent requests at that moment"
            yield shown_once(Violation(exchange, "none but the account's own records", received))
        elif exchange.status is not None:
            yield Satisfied(exchange)


@rule("accounts.creates-stay-in-their-account", needs=ACCESS)
def creates_stay_in_their_account(evidence: Evidence) -> Observations:
    """Creates with both keys: those of the account that it is shown, and those whose record the other account has."""
    if not evidence.has_second_key:
        yield NotApplicable("no second key", SEPARATION)
        return
    for creation in evidence.creations:
        if creation.read and creation.read.record:
            yield Satisfied(creation.read)
    for read in evidence.stray_reads:
        received = f"{read.status_text} and what a create with the other account's key has made"
        yield shown_once(Violation(read, "the record in the account whose key its create carried", received))


@rule("accounts.connections-keep-no-key", needs=ACCESS)
def connections_keep_no_key(evidence: Evidence) -> Observations:
    """Reads over one connection with the key and with it in other cases, which may be accepted always, or never."""
    reads = evidence.key_reads
    if reads is None:
        yield NO_OTHER_CASES
    elif reads.first.record is None or reads.alone.record is None or reads.other_first.failed or reads.second.failed:
        yield NOT_READ
    else:
        after = "as over a connection of its own"
        is_let_in = reads.other_second.record is not None and reads.other_first.record is None
        received = f"{reads.other_second.status_text} to the key in other cases, after the key itself"
        yield shown_once(decide(reads.other_second, not is_let_in, f"a refusal, {after}", received))
        received = f"{reads.second.status_text} to the key, after the key in other cases"
        yield shown_once(decide(reads.second, reads.second.record is not None, f"the record, {after}", received))


@rule("accounts.key-in-other-cases-is-refused", needs=ACCESS)
def key_in_other_cases_is_refused(evidence: Evidence) -> Observations:
    """A read with the account's key in other cases, over a connection of its own."""
    reads = evidence.key_reads
    if reads is None:
        yield NO_OTHER_CASES
    elif reads.other_first.failed:
        yield NOT_READ
    else:
        received = f"{reads.other_first.status_text} and the record"
        yield decide(reads.other_first, reads.other_first.record is None, "a refusal", received)


def _rows_of(evidence: Evidence, identity: str) -> Iterator[Record]:
    """The records that an account was shown while the other was at rest."""
    if identity == OWN_KEY:
        yield from (record for source, record in evidence.records() if source.request.identity == OWN_KEY)
    for attempt in evidence.access_attempts:
        if attempt.identity == identity:
            yield from attempt.exchange.rows


@rule("accounts.key-opens-nothing-elsewhere", needs=ACCESS)
def key_opens_nothing_elsewhere(evidence: Evidence) -> Observations:
    """Lists and reads with the account's own key, sent in other ways than as a bearer token."""
    attempts = [*_attempts_at(evidence, "list"), *_attempts_at(evidence, "read")]
    return shown_nothing([attempt for attempt in attempts if IDENTITIES[attempt.identity].holds_key], evidence)


@rule("accounts.other-account-sees-no-list", "list", shown_nothing, needs=ACCESS)
@rule("accounts.other-account-reads-nothing", "read", shown_nothing, needs=ACCESS)
@rule("accounts.other-account-creates-apart", "create", made_nothing, needs=ACCESS)
@rule("accounts.other-account-updates-nothing", "update", changed_nothing, needs=ACCESS)
@rule("accounts.other-account-deletes-nothing", "delete", removed_nothing, needs=ACCESS)
def other_account(evidence: Evidence, operation: str, judge: JudgeOfAttempts) -> Observations:
    """Attempts of another account, if there is one without its own record under the id."""
    attempts = [attempt for attempt in _attempts_at(evidence, operation) if attempt.identity == OTHER]
    reads = [attempt for attempt in _attempts_at(evidence, "read") if attempt.identity == OTHER]
    if not evidence.has_second_key:
        yield NotApplicable("no second key", SEPARATION)
    elif reads and not attempts:
        yield NotApplicable("the other account may have a record of its own under the id that was tried", SEPARATION)
    else:
        observations = list(judge(attempts, evidence))
        is_violated = any(isinstance(observation, Violation) for observation in observations)
        if (
            operation == "create"
            and attempts
            and all(each.exchange.is_refusal for each in attempts)
            and not is_violated
        ):
            reason = f"with the second key, a create is answered with {attempts[0].exchange.status_text}"
            yield NotApplicable(reason, "creates in the second account")
        else:
            yield from observations


def _attempts_at(evidence: Evidence, operation: str) -> Attempts:
    attempts = evidence.access_attempts
    return [attempt for attempt in attempts if attempt.exchange.request.operation == operation]
