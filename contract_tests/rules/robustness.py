"""Advisory rules: the server fails neither on odd input, nor without a key, nor because of other requests."""

from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.exchange import GATEWAYS, OPERATIONS, OTHER, OWN_KEY, Exchange, Expect, id_of
from contract_tests.evidence.multipart import USUAL
from contract_tests.evidence.observation import (
    NEEDS_DELETES,
    NEEDS_PAGES,
    NEEDS_UPDATES,
    Chapter,
    NotApplicable,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    expect_field,
    rule,
    shown_once,
    steady_records,
)
from contract_tests.rules.accounts import ACCESS
from contract_tests.rules.operations import fails_each_time, judge_failure, own_requests

ODD_FORMS = frozenset({Chapter.ODD_FORMS})


@rule("robustness.odd-pages-do-not-fail", "page", needs=NEEDS_PAGES)
@rule("robustness.odd-ids-do-not-fail", "id", needs=NEEDS_UPDATES | NEEDS_DELETES)
@rule("robustness.odd-text-does-not-fail", "text", needs=ODD_FORMS)
@rule("robustness.odd-forms-do-not-fail", "form", needs=ODD_FORMS | {Chapter.OMITTING})
def does_not_fail(evidence: Evidence, oddity: str) -> Observations:
    """Requests with something odd, of operations that do not fail anyway."""
    works = {request.request.operation for request in own_requests(evidence) if not request.failed}
    requests = [
        exchange
        for exchange in evidence.of(*OPERATIONS, expects=Expect.OPEN)
        if _what_is_odd(evidence, exchange) == oddity
    ]
    requests += [omission.exchange for omission in evidence.omissions if oddity == "form"]
    for exchange in requests:
        is_cut_off = exchange.status is None and not exchange.timed_out and fails_each_time(exchange)
        if exchange.status is not None or is_cut_off:
            yield judge_failure(exchange, works)


@rule("robustness.stored-text-can-be-read", needs=ODD_FORMS)
def stored_text_can_be_read(evidence: Evidence) -> Observations:
    """A read and a list after a create whose name is not UTF-8; without it, they work."""
    text = evidence.unreadable_text
    if text is None or not text.created.succeeded:
        yield NotApplicable("no text that is not UTF-8 was accepted, or sent (--poison)")
        return
    for exchange in (text.read, text.listing):
        operation = exchange.request.operation
        received = f"{exchange.status_text}, after a create whose name is not UTF-8"
        yield shown_once(decide(exchange, not exchange.failed, f"a {operation} that works", received))


@rule("robustness.strangers-do-not-fail", needs=ACCESS)
def strangers_do_not_fail(evidence: Evidence) -> Observations:
    """Unauthorized clients, each with all its requests: what fails now and then does not fail for want of a key."""
    by_identity: dict[str, list[Exchange]] = {}
    for attempt in evidence.access_attempts:
        if attempt.identity != OTHER and attempt.exchange.status not in (None, *GATEWAYS):
            by_identity.setdefault(attempt.identity, []).append(attempt.exchange)
    for identity, exchanges in by_identity.items():
        witness = next((exchange for exchange in exchanges if not exchange.failed), None)
        received = f"status {exchanges[0].status}, as on each request with {identity}"
        yield decide(witness or exchanges[0], witness is not None, "any answer but a failure", received)


@rule("robustness.requests-work-in-parallel", needs=NEEDS_PAGES | NEEDS_UPDATES)
def requests_work_in_parallel(evidence: Evidence) -> Observations:
    """Requests that failed while others were under way, and were carried out once none was."""
    exchanges = [
        step for step in evidence.exchanges if step.request.resource == evidence.resource.name and step.overlapped
    ]
    single = [step for step in exchanges if step.expects is not Expect.IGNORED]
    failures = [
        step for step in single if any(not failed_alone for failed_alone in step.fails_alone) and not step.failed
    ]
    single_failures = [step.request for step in single if any(step.fails_alone) and step.expects is Expect.SUCCESS]
    if single_failures:
        yield Undecided(f"requests fail without others, too: {single_failures[0].method} {single_failures[0].path}")
        return
    if not any(any(step.overlapped) for step in single):
        yield NotApplicable("no request of this run was sent while another was under way")
    elif not failures:
        yield Satisfied(single[0])
    for exchange in failures:
        status = next(status for status in exchange.attempts if status)
        received = f"status {status} while other requests were under way, and status {exchange.status} once none was"
        yield Violation(exchange, "the same answer as alone", received)


@rule("robustness.simultaneous-reads-agree", needs=ACCESS)
def simultaneous_reads_agree(evidence: Evidence) -> Observations:
    """Lists at one moment, beside what the lists before and after agree on; what another key sees is not compared."""
    moment, resource = evidence.simultaneous, evidence.resource
    if moment is None:
        yield NotApplicable("at a limited rate, nothing is sent at one moment")
        return
    if moment.before is None or moment.after is None:
        return
    before, after = (steady_records(resource, page.rows) for page in (moment.before, moment.after))
    for exchange in moment.exchanges:
        is_own_list = (exchange.request.identity, exchange.request.operation) == (OWN_KEY, "list")
        for row in exchange.rows if is_own_list else ():
            settled_row = before.get(id_of(row), {}) if id_of(row) is not None else {}
            names = [name for name in settled_row if name in row]
            for name in names if after.get(id_of(row)) == settled_row else ():
                is_own, reason = evidence.is_run_record(row), "as before and after requests at one moment"
                yield shown_once(expect_field(exchange, row, name, settled_row[name], reason=reason, verbatim=is_own))


def _what_is_odd(evidence: Evidence, exchange: Exchange) -> str:
    """A list's page or page size; an id that names no record, or one that is gone; a form's text, or the whole form."""
    request = exchange.request
    if request.operation in ("list", "read", "delete"):
        return "page" if request.operation == "list" else "id"
    deletes = (removal.exchange for removal in evidence.removals)
    deleted_ids = {delete.request.identifier for delete in deletes if delete.number < exchange.number}
    if request.operation == "update" and request.identifier in deleted_ids:
        return "id"
    if not request.form:
        return "form"
    return "text" if request.form_style == USUAL else ""
