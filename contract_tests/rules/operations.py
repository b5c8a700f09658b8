"""Rules about the operations: documented requests are not rejected as invalid."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

from contract_tests.evidence import Evidence
from contract_tests.exchange import TRIES, Exchange, id_of
from contract_tests.rules.observation import (
    NotApplicable,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    answer,
)
from link_management_contract import Resource

SEVERAL = 3  # records on which an operation fails each time are no temporary trouble
TOLD_WRONG = {400, 404, 405, 415, 422, 501}


def accepted(exchange: Exchange) -> Observation:
    """Whether a documented request was accepted, as far as its answer shows."""
    status = exchange.status
    if exchange.succeeded:
        if exchange.is_refusal_in_disguise:
            return Undecided("the answer is a success in status and holds errors")
        return Satisfied(exchange)
    if status in TOLD_WRONG:
        return Violation(exchange, "a success; the request is documented", answer(exchange))
    if status is not None and exchange.failed and len(exchange.attempts) >= TRIES - 1:
        return Violation(exchange, "a success", f"{answer(exchange)} on each of {TRIES} tries")
    return Undecided(f"the answer was {answer(exchange)}, which may be about this account or its surroundings")


def list_answers(evidence: Evidence, resource: Resource) -> Observations:
    """Documented lists."""
    yield from map(accepted, evidence.of(resource.name, "list"))


def read_answers(evidence: Evidence, resource: Resource) -> Observations:
    """Reads of records that are listed, or whose create returned an id and that are listed afterwards."""
    listed = {id_of(row) for page in evidence.pages(resource.name) for row in page.rows}
    reads = [each for each in evidence.of(resource.name, "read") if each.request.identifier in listed]
    yield from map(accepted, reads)


def create_answers(evidence: Evidence, resource: Resource) -> Observations:
    """Creates with the required fields."""
    yield from _each_time(evidence, resource, "create")
    yield from _as_a_whole(list(evidence.of(resource.name, "create")))


def update_answers(evidence: Evidence, resource: Resource) -> Observations:
    """Updates of the run's own records."""
    yield from _as_a_whole(list(evidence.of(resource.name, "update")))


def _as_a_whole(exchanges: list[Exchange]) -> Observations:
    """Whether writes are accepted; if some are, the fields of those that are not are to blame."""
    observations = [accepted(exchange) for exchange in exchanges]
    some = any(isinstance(each, Satisfied) for each in observations)
    yield from (each for each in observations if not (some and isinstance(each, Violation)))


def delete_answers(evidence: Evidence, resource: Resource) -> Observations:
    """Deletes of the run's own records; one that is answered after a failure may have been carried out earlier."""
    yield from _each_time(evidence, resource, "delete")
    for exchange in evidence.of(resource.name, "delete"):
        stumbled = exchange.attempts and not exchange.failed
        yield Undecided("an earlier try failed") if stumbled else accepted(exchange)


def _each_time(evidence: Evidence, resource: Resource, operation: str) -> Observations:
    """Whether an operation fails whenever it is first tried, on several records, while others of the resource work."""
    exchanges = list(evidence.of(resource.name, operation))
    first = [(*each.attempts, each.status)[0] for each in exchanges]
    failing = [status for status in first if status is not None and status >= HTTPStatus.INTERNAL_SERVER_ERROR]
    works = any(each.succeeded for each in own_requests(evidence, resource) if each.request.operation != operation)
    if works and len(failing) == len(first) >= SEVERAL:
        received = f"status {failing[0]} each time, on {len(first)} records, while other operations work"
        yield Violation(exchanges[SEVERAL - 1], "a success", received)


def splash_pages_created_at_projects(evidence: Evidence, resource: Resource) -> Observations:
    """Creates at the documented path, and the reads of the ids that they return."""
    for creation in evidence.creations[resource.name]:
        if creation.exchange.request.path != resource.create_path:
            yield Violation(
                creation.exchange, f"creates at {resource.create_path}", "another path was given to this run"
            )
        elif creation.read is not None and creation.exchange.succeeded:
            marker = creation.form.get(resource.label, "").partition(" ")[0].casefold()
            record = creation.read.record
            told = creation.read.succeeded or creation.read.status in TOLD_WRONG | {410}
            missing = evidence.is_missing(resource.name, creation.identifier) and not creation.read.failed
            if record is None and not told and not missing:
                yield Undecided(f"the read of the new record was {answer(creation.read)}")
            elif record is None and marker and marker.encode() in creation.read.body.lower():
                yield Satisfied(creation.read)
            elif record is None:
                yield Violation(
                    creation.read, f"the splash page that {resource.create_path} made", answer(creation.read)
                )
            elif isinstance(record.get("name"), str) and creation.identifier in creation.before:
                yield Violation(creation.read, "a new splash page", "one that was there before")
            else:
                yield Satisfied(creation.read) if marker else Undecided("the create had no marker")


def writes_not_redirected(evidence: Evidence, resource: Resource) -> Observations:
    """All writes at documented paths."""
    for exchange in evidence.of(resource.name, "create", "update", "delete"):
        if exchange.redirects:
            status, location = exchange.redirects[0]
            yield Violation(exchange, "an answer, not a redirect", f"status {status} to {_split(location).path}")
        elif exchange.status is not None:
            yield Satisfied(exchange)


def reads_redirected_within_host(evidence: Evidence, resource: Resource) -> Observations:
    """Reads and lists that were redirected."""
    host = urlsplit(evidence.base_url).netloc
    redirected = False
    for exchange in evidence.of(resource.name, "list", "read"):
        for status, location in exchange.redirects:
            redirected = True
            there = _split(location)
            kept_query = not exchange.request.query or all(
                f"{name}={value}" in there.query for name, value in exchange.request.query
            )
            if there.netloc not in ("", host):
                yield Violation(exchange, f"a redirect within {host}", f"status {status} to {there.netloc}")
            elif not kept_query:
                yield Violation(exchange, "a redirect that keeps the query", f"status {status} without it")
            else:
                yield Satisfied(exchange)
    if not redirected:
        yield NotApplicable("no read or list was redirected")


def _split(location: str) -> SplitResult:
    """The parts of a `Location`; one that is no URL counts as a path."""
    try:
        return urlsplit(location)
    except ValueError:
        return SplitResult("", "", location, "", "")


def own_requests(evidence: Evidence, resource: Resource) -> list[Exchange]:
    """All documented requests with the account's key."""
    return list(evidence.of(resource.name, "list", "read", "create", "update", "delete"))
