"""Rules about the envelopes of records."""

from collections.abc import Iterator

from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.exchange import Exchange, is_integer
from contract_tests.evidence.observation import (
    NEEDS_CREATES,
    NEEDS_PAGES,
    NEEDS_UPDATES,
    OBJECT,
    STRING,
    Matcher,
    Observations,
    decide,
    expect,
    rule,
)

BOM = b"\xef\xbb\xbf"
WITH_BODY = ("list", "read", "create", "update")
ROWS = Matcher(
    "an array of objects",
    lambda value: isinstance(value, list) and all(isinstance(row, dict) for row in value),
)
INTEGER = Matcher("an integer", is_integer)
STRING_OR_NULL = Matcher("a string or null", lambda value: value is None or isinstance(value, str))


@rule("envelopes.body-is-json", needs=NEEDS_PAGES | NEEDS_UPDATES)
def body_is_json(evidence: Evidence) -> Observations:
    for exchange in _successes(evidence, *WITH_BODY):
        start = exchange.body[:30].decode("utf-8", "replace") if exchange.request.operation == "create" else ""
        received = f"a body that is not JSON{start and f': {start}'}" if exchange.body else "no body"
        holds = exchange.json is not None or exchange.body.strip() == b"null"
        yield decide(exchange, holds, "a JSON body", received)


@rule("envelopes.no-byte-order-mark", needs=NEEDS_PAGES | NEEDS_UPDATES)
def no_byte_order_mark(evidence: Evidence) -> Observations:
    for exchange in _successes(evidence, *WITH_BODY):
        yield decide(exchange, not exchange.body.startswith(BOM), "JSON from the first byte on", "a byte order mark")


@rule("envelopes.list-data-is-an-array", "list", {"/data": ROWS}, needs=NEEDS_PAGES)
@rule(
    "envelopes.list-meta-holds-integers",
    "list",
    dict.fromkeys(("/meta/page", "/meta/results_per_page", "/meta/total", "/meta/total_pages"), INTEGER),
    needs=NEEDS_PAGES,
)
@rule(
    "envelopes.list-links-are-strings",
    "list",
    dict.fromkeys(("/links/first", "/links/last", "/links/self"), STRING),
    needs=NEEDS_PAGES,
)
@rule(
    "envelopes.list-neighbours-are-strings-or-null",
    "list",
    dict.fromkeys(("/links/next", "/links/prev"), STRING_OR_NULL),
    needs=NEEDS_PAGES,
)
@rule("envelopes.read-data-is-an-object", "read", {"/data": OBJECT}, needs=NEEDS_PAGES | NEEDS_UPDATES)
@rule("envelopes.create-answers-the-id", "create", {"/data/id": INTEGER}, needs=NEEDS_CREATES)
@rule("envelopes.update-answers-the-id", "update", {"/data/id": INTEGER}, needs=NEEDS_UPDATES)
def members_match(evidence: Evidence, operation: str, matchers: dict[str, Matcher]) -> Observations:
    """Successes of an operation with JSON; the read of a record that the listing lacks, too, may be an error."""
    for exchange in _successes(evidence, operation):
        if exchange.json is None or exchange.is_refusal_in_disguise:
            continue
        if operation == "read" and evidence.is_missing(exchange.request.identifier):
            continue
        for at, matcher in matchers.items():
            yield expect(exchange, at, matcher, verbatim=operation != "read" and at != "/data")


@rule("envelopes.update-id-is-the-path-id", needs=NEEDS_UPDATES)
def update_id_is_the_path_id(evidence: Evidence) -> Observations:
    for exchange in evidence.of("update"):
        if exchange.made_id is not None:
            yield expect(exchange, "/data/id", exchange.request.identifier)


def _successes(evidence: Evidence, *operations: str) -> Iterator[Exchange]:
    return (exchange for exchange in evidence.answers(*operations) if exchange.succeeded)
