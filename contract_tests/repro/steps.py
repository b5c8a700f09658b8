"""The requests of a run that can lead to a finding."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from contract_tests.evidence.exchange import OWN_KEY, Exchange, Expect, Request, id_of
from contract_tests.evidence.observation import Violation
from link_management_contract import Resource, Rule

MAX_UPDATES, MAX_RECORDS, MAX_LISTS = 6, 30, 30


def steps_to(rule: Rule, resource: Resource, finding: Violation, exchanges: Sequence[Exchange]) -> list[Exchange]:
    """The requests that can lead to a finding about a resource, in order, with looks at what it did."""
    visited = [exchange for exchange in exchanges if exchange.request.resource == resource.name]
    return _create_of(finding, visited) if finding.exchanges else list(_steps(rule, finding, visited))


def _steps(rule: Rule, finding: Violation, exchanges: list[Exchange]) -> Iterator[Exchange]:
    """The fewest requests that can lead to a finding: the writes that its answer may depend on, and looks at them."""
    exchange = finding.exchange
    request = exchange.request
    earlier = [step for step in exchanges if step.number < exchange.number and step.request.identity == OWN_KEY]
    selected: dict[int, Exchange] = {}
    for identifier in _related_ids(rule, finding, earlier):
        selected |= {step.number: step for step in _record_history(identifier, earlier)}
    if request.operation == "delete" and not exchange.succeeded:  # earlier ones would remove what this is to remove
        selected = {number: step for number, step in selected.items() if step.request.operation != "delete"}
    if request.operation == "list":
        selected |= {step.number: step for step in _existing_creates(earlier)}
    if request.operation == "list" and not knows_page(exchange, ()) and (page := page_before(exchange, earlier)):
        selected[page.number] = page
    labels = {_label(step.request) for step in (*selected.values(), exchange)} - {""}
    creates = (step for step in exchanges if step.number < exchange.number and step.made_id)
    selected |= {step.number: step for step in creates if _label(step.request) in labels}
    subject = exchange
    if request.operation == "read":  # what it shows comes from the latest write of its record
        updates = [step for step in earlier if step.request.operation == "update"]
        subject = next((write for write in updates[::-1] if write.request.identifier == request.identifier), exchange)
    if subject.expects in (Expect.OPEN, Expect.ORDINARY):
        other_exchanges = [step for step in earlier if step is not subject]
        selected |= {step.number: step for step in _usual(subject.request, other_exchanges)}
    if rule.decided_by == "state":
        selected |= {step.number: step for step in _surrounding_reads(exchange, earlier, selected)}
    selected[exchange.number] = exchange
    yield from (selected[number] for number in sorted(selected))
    if request.method != "GET" or rule.decided_by == "state":
        yield from _after(exchange, exchanges)


def selections(finding: Violation, steps: Sequence[Exchange]) -> Iterator[list[Exchange]]:
    """Ever more of the steps to a finding, of which the first may do: its request alone, with a write before, and all.

    A request about a record comes with the create of that record.
    """
    last_step = next(step for step in steps if step.number == finding.exchange.number)
    earlier = steps[: steps.index(last_step)]
    writes = [step for step in earlier if step.request.method != "GET"]
    record = last_step.request.identifier
    writes_before = [step for step in writes if record is not None and step.request.identifier == record] or writes
    reads = [step for step in earlier if step.request.method == "GET" and step.request.identity == OWN_KEY]
    after = list(steps[steps.index(last_step) + 1 :])
    final, last, later_reads = (
        [last_step],
        writes_before[-1:],
        [step for step in reads if not writes_before or step.number > writes_before[-1].number],
    )
    before = [step for step in reads if writes_before and step.number < writes_before[-1].number]
    for selection in (
        final,
        reads[-1:] + final,
        last + final + after,
        before[-1:] + last + later_reads[-1:] + final + after,
        [step for step in before if step.request.operation == "list"][-1:] + before[-1:] + last + final + after,
        writes_before[-2:] + later_reads + final + after,
    ):
        ids = {step.request.identifier for step in selection} - {None}
        creates = [step for step in earlier if step.request.operation == "create" and step.made_id in ids]
        yield [step for step in steps if step in selection or step in creates]
    yield list(steps)


def knows_page(exchange: Exchange, earlier: Sequence[Exchange]) -> bool:
    """Whether the page that a refused list asks for exists, as the latest answer with the same page size shows."""
    number = exchange.request.params.get("page", "1")
    if exchange.request.operation != "list" or exchange.succeeded or not number.isdecimal() or int(number) <= 1:
        return True
    return page_before(exchange, earlier) is not None


def page_before(exchange: Exchange, earlier: Sequence[Exchange]) -> Exchange | None:
    """The latest list with the page size of another that shows that there is the page that the other asks for."""
    params = exchange.request.params
    for step in reversed(earlier):
        has_same_size = step.request.params.get("results_per_page") == params.get("results_per_page")
        if step.page and has_same_size and step.request.identity == exchange.request.identity:
            return step if (step.page.page_count or 0) >= int(params["page"]) else None
    return None


def _usual(request: Request, earlier: list[Exchange]) -> list[Exchange]:
    """A documented request of the same kind that was carried out, with the create of its record and reads around it."""
    successes = [step for step in earlier if step.request.operation == request.operation and step.succeeded]
    usual = [step for step in successes if step.expects is Expect.SUCCESS]
    usual.sort(key=lambda step: set(step.request.form or {}) != set(request.form or {}))
    if not usual:
        return []
    example, record = usual[0], usual[0].request.identifier
    creates = [step for step in earlier if step.request.operation == "create" and step.made_id == record]
    reads = [step for step in earlier if step.request.operation == "read" and step.request.identifier == record]
    before, after = (
        [read for read in reads if (read.number < example.number) is is_earlier] for is_earlier in (True, False)
    )
    return [*creates, *before[-1:], example, *after[:1]] if record is not None else [example]


def _related_ids(rule: Rule, finding: Violation, earlier: list[Exchange]) -> set[Any]:
    exchange = finding.exchange
    ids = {exchange.request.identifier} - {None}
    row = re.match(r"/data/(\d+)", finding.at)
    if row and isinstance(exchange.data, list):
        ids.add(id_of(exchange.data[int(row[1])]))
    writes = [step for step in earlier if step.request.operation in ("update", "delete")]
    if exchange.request.operation == "list" and writes and rule.decided_by == "state":
        ids.add(writes[-1].request.identifier)
    return ids


def _record_history(identifier: Any, earlier: list[Exchange]) -> list[Exchange]:
    """The create of a record, and the latest of what was done to it since."""
    creates = [step for step in earlier if step.request.operation == "create" and step.made_id == identifier]
    if not creates:
        return []
    history = [step for step in earlier if step.number > creates[-1].number and step.request.identifier == identifier]
    reads = [step for step in history if step.request.operation == "read"][:1]
    return [creates[-1], *reads, *[step for step in history if step.request.method != "GET"][-MAX_UPDATES:]]


def _existing_creates(earlier: list[Exchange]) -> list[Exchange]:
    deleted_at = {step.request.identifier: step.number for step in earlier if step.request.operation == "delete"}
    creates = [step for step in earlier if step.request.operation == "create" and step.made_id]
    return [create for create in creates if deleted_at.get(create.made_id, 0) < create.number][-MAX_RECORDS:]


def _label(request: Request) -> str:
    """The name or host that a request writes, in lower case; empty if it writes none."""
    form = request.form or {}
    return str(form.get("name") or form.get("host") or "").casefold()


def _surrounding_reads(exchange: Exchange, earlier: list[Exchange], selected: dict[int, Exchange]) -> list[Exchange]:
    """The lists since the last write, one before it, and the latest read of the same record."""
    wrote = max((number for number, step in selected.items() if step.request.method != "GET"), default=0)
    lists = [step for step in earlier if step.request.operation == "list" and step.succeeded]
    lists = [step for step in lists if step.expects is Expect.SUCCESS]
    reads = [
        step
        for step in earlier
        if step.request.operation == "read" and step.request.identifier == exchange.request.identifier
    ]
    before = [step for step in lists if step.number < wrote][-1:]
    return before + [step for step in lists if step.number > wrote][-MAX_LISTS:] + reads[-1:]


def _after(exchange: Exchange, exchanges: list[Exchange]) -> Iterator[Exchange]:
    """Looks at what a request has done, as the account."""
    request = exchange.request
    identifier = exchange.made_id if request.operation == "create" else request.identifier
    read = next(
        (step for step in exchanges if step.request.operation == "read" and step.request.identity == OWN_KEY), None
    )
    if read is not None and identifier is not None and request.operation != "read":
        path = f"{read.request.path.rpartition('/')[0]}/{identifier}"
        yield replace(read, request=replace(read.request, path=path, identifier=identifier, query=()))
    lists = [step for step in exchanges if step.request.operation == "list" and step.request.identity == OWN_KEY]
    first_pages = [
        step for step in lists if step.expects is Expect.SUCCESS and step.request.params.get("page", "1") == "1"
    ]
    yield from sorted(first_pages, key=lambda step: -int(step.request.params.get("results_per_page", "0")))[:1]


def _create_of(finding: Violation, exchanges: list[Exchange]) -> list[Exchange]:
    """The create of the record that overlapping requests are about, if they are about one."""
    identifier = next(
        (step.request.identifier for step in finding.exchanges if step.request.identifier is not None), None
    )
    return [step for step in exchanges if step.request.operation == "create" and step.made_id == identifier][-1:]
