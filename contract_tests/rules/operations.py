"""Rules about the operations: documented requests are not rejected as invalid."""

from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

from contract_tests.evidence.evidence import Creation, Evidence
from contract_tests.evidence.exchange import OPERATIONS, REJECTED, TRIES, WRITES, Exchange, id_of
from contract_tests.evidence.observation import (
    NEEDS_CREATES,
    NEEDS_DELETES,
    NEEDS_PAGES,
    NEEDS_UPDATES,
    OTHERS_WROTE,
    NotApplicable,
    Observation,
    Observations,
    Satisfied,
    Undecided,
    Violation,
    decide,
    rule,
)

MIN_FAILING_RECORDS = 3  # records on which an operation fails each time are no temporary trouble


def accepted(exchange: Exchange) -> Observation:
    """Whether a documented request was accepted, as far as its answer shows."""
    status = exchange.status
    if exchange.succeeded:
        if exchange.is_refusal_in_disguise:
            return Undecided("the answer is a success in status and holds errors")
        return Satisfied(exchange)
    if status in REJECTED:
        return Violation(exchange, "a success; the request is documented", exchange.status_text)
    if fails_each_time(exchange):
        return Violation(exchange, "a success", _failures_text(exchange))
    return Undecided(f"{exchange.status_text}, which may be about this account or its surroundings")


def fails_each_time(exchange: Exchange) -> bool:
    """Whether each try of a request failed alike: answered with a failure, or never with a whole answer."""
    is_alike = exchange.status is not None or not any(exchange.attempts)
    return exchange.failed and (exchange.is_usual or (is_alike and len(exchange.attempts) >= TRIES - 1))


def _failures_text(exchange: Exchange) -> str:
    times = f", like each {exchange.request.operation} before it" if exchange.is_usual else f" on each of {TRIES} tries"
    return f"{exchange.status_text}{times}"


def judge_failure(exchange: Exchange, works: set[str]) -> Observation:
    """Whether a request that may be refused makes the server fail on each try, though its operation works otherwise."""
    operation = exchange.request.operation
    if exchange.failed and operation not in works:
        return Undecided(f"each {operation} fails")
    if exchange.failed and not fails_each_time(exchange):
        return Undecided(f"the answer was {exchange.status_text}, once")
    return decide(exchange, not exchange.failed, "any answer but a failure", _failures_text(exchange))


def own_requests(evidence: Evidence) -> list[Exchange]:
    return list(evidence.of(*OPERATIONS))


@rule("operations.list-answers", needs=NEEDS_PAGES)
def list_answers(evidence: Evidence) -> Observations:
    """Lists, but for those of a page that may have gone with a record of somebody else."""
    for exchange in evidence.of("list"):
        yield accepted(exchange) if exchange.succeeded or _is_page_there(evidence, exchange) else OTHERS_WROTE


def _is_page_there(evidence: Evidence, exchange: Exchange) -> bool:
    """Whether the totals before and after a list that was refused say that there is such a page."""
    query = exchange.request.params
    number, size = query.get("page", "1"), query.get("results_per_page", str(evidence.resource.default_page_size))
    records = (int(number) - 1) * int(size) if number.isdecimal() and size.isdecimal() else 0
    totals = [(page.exchange.number, page.total) for page in evidence.pages() if page.total is not None]
    before = [total for number_before, total in totals if number_before < exchange.number][-1:]
    after = [total for number_after, total in totals if number_after > exchange.number][:1]
    return all(total > records for total in before + after) or number == "1"


@rule("operations.read-answers", needs=NEEDS_PAGES | NEEDS_UPDATES)
def read_answers(evidence: Evidence) -> Observations:
    """Reads of records that are listed, or whose create returned an id and that are listed afterwards."""
    listed_ids = {id_of(row) for page in evidence.pages() for row in page.rows}
    reads = evidence.of("read")
    return (accepted(exchange) for exchange in reads if exchange.request.identifier in listed_ids)


@rule("operations.read-shows-its-resource", needs=NEEDS_UPDATES)
def read_shows_its_resource(evidence: Evidence) -> Observations:
    """Reads under ids of the run's records of another resource."""
    name = evidence.resource.name
    reads = (check for check in evidence.bystander_checks if check.write.request.operation == "read")
    checks = [check for check in reads if check.collection[0] == name]
    for check in checks:
        words = f"no record, or one of {name}", "the run's record of another resource"
        yield Violation(check.after, *words, is_repeatable=False) if check.is_hit else Satisfied(check.after)
    if not checks:
        yield NotApplicable("the run wrote to no other resource")


@rule("operations.create-answers", needs=NEEDS_CREATES)
def create_answers(evidence: Evidence) -> Observations:
    yield from _always_fails(evidence, "create")
    yield from _as_a_whole(evidence, "create")


@rule("operations.update-answers", needs=NEEDS_UPDATES)
def update_answers(evidence: Evidence) -> Observations:
    return _as_a_whole(evidence, "update")


def _as_a_whole(evidence: Evidence, operation: str) -> Observations:
    """Whether writes are accepted; if some are, the fields of those that are not are to blame."""
    observations = [accepted(exchange) for exchange in evidence.of(operation)]
    any_accepted = any(isinstance(observation, Satisfied) for observation in observations)
    return (observation for observation in observations if not (any_accepted and isinstance(observation, Violation)))


@rule("operations.delete-answers", needs=NEEDS_DELETES)
def delete_answers(evidence: Evidence) -> Observations:
    """Deletes of the run's own records; one that is answered after a failure may have been carried out earlier."""
    yield from _always_fails(evidence, "delete")
    for exchange in evidence.of("delete"):
        retried = exchange.attempts and not exchange.failed
        yield Undecided("an earlier try failed") if retried else accepted(exchange)


def _always_fails(evidence: Evidence, operation: str) -> Observations:
    """Whether an operation fails whenever it is first tried, on several records, while others of the resource work."""
    exchanges = [exchange for exchange in evidence.of(operation) if exchange.number]  # which were sent
    first = [(*exchange.attempts, exchange.status)[0] for exchange in exchanges]
    is_lost_once = any(None in exchange.attempts and exchange.succeeded for exchange in exchanges)
    failing = [status for status in first if status is None or status >= HTTPStatus.INTERNAL_SERVER_ERROR]
    works = any(exchange.succeeded for exchange in own_requests(evidence) if exchange.request.operation != operation)
    if works and not is_lost_once and len(failing) == len(first) >= MIN_FAILING_RECORDS:
        answer = "no whole answer" if failing[0] is None else f"status {failing[0]}"
        received = f"{answer} each time, on {len(first)} records, while other operations work"
        yield Violation(exchanges[MIN_FAILING_RECORDS - 1], "a success", received)


@rule("operations.splash-pages-created-at-projects", needs=NEEDS_PAGES | NEEDS_CREATES)
def splash_pages_created_at_projects(evidence: Evidence) -> Observations:
    """Creates at the documented path, and the reads of the ids that they return."""
    for creation in evidence.creations:
        if creation.exchange.request.path != evidence.resource.create_path:
            expected = f"creates at {evidence.resource.create_path}"
            yield Violation(creation.exchange, expected, "another path was given to this run")
        elif creation.read is not None and creation.exchange.succeeded:
            yield _is_the_page(evidence, creation, creation.read)


def _is_the_page(evidence: Evidence, creation: Creation, read: Exchange) -> Observation:
    """Whether a read shows the splash page that a create has made."""
    marker = creation.form.get(evidence.label, "").partition(" ")[0].casefold()
    if read.record is None:
        clear = read.succeeded or read.status in REJECTED | {410}
        clear = clear or (evidence.is_missing(creation.identifier) and not read.failed)
        shows = bool(marker) and marker.encode() in read.body.lower()
        if not clear:
            return Undecided(f"the read of the new record: {read.status_text}")
        return decide(read, shows, f"the splash page that {evidence.resource.create_path} made", read.status_text)
    if isinstance(read.record.get("name"), str) and creation.identifier in creation.before:
        return Violation(read, "a new splash page", "one that was there before")
    return Satisfied(read) if marker else Undecided("the create had no marker")


@rule("operations.writes-not-redirected", needs=NEEDS_UPDATES | NEEDS_DELETES)
def writes_not_redirected(evidence: Evidence) -> Observations:
    for exchange in evidence.of(*WRITES):
        if exchange.redirects:
            status, location = exchange.redirects[0]
            yield Violation(exchange, "an answer, not a redirect", f"status {status} to {_split(location).path}")
        elif exchange.status is not None:
            yield Satisfied(exchange)


@rule("operations.reads-redirected-within-host", needs=NEEDS_PAGES | NEEDS_CREATES)
def reads_redirected_within_host(evidence: Evidence) -> Observations:
    host = urlsplit(evidence.base_url).netloc
    redirected = False
    for exchange in evidence.of("list", "read"):
        for status, location in exchange.redirects:
            redirected = True
            target = _split(location)
            if target.netloc not in ("", host):
                yield Violation(exchange, f"a redirect within {host}", f"status {status} to {target.netloc}")
            else:
                keeps_query = all(f"{name}={value}" in target.query for name, value in exchange.request.query)
                yield decide(exchange, keeps_query, "a redirect that keeps the query", f"status {status} without it")
    if not redirected:
        yield NotApplicable("no read or list was redirected")


def _split(location: str) -> SplitResult:
    """The parts of a `Location`; one that is not a URL counts as a path."""
    try:
        return urlsplit(location)
    except ValueError:
        return urlsplit("")._replace(path=location)
