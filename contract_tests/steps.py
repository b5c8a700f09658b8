"""The requests of a run that can lead to a finding."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from contract_tests.exchange import OWN, Exchange, Expect, Request, id_of
from contract_tests.observation import Violation
from link_management_contract import Resource, Rule

MOST_UPDATES, MOST_RECORDS, MOST_LISTS = 6, 30, 30


def steps_to(rule: Rule, resource: Resource, finding: Violation, exchanges: Sequence[Exchange]) -> list[Exchange]:
    """The requests that can lead to a finding about a resource, in order, with looks at what it did."""
    own = [each for each in exchanges if each.request.resource == resource.name]
    return _create_of(finding, own) if finding.together else list(_steps(rule, finding, own))


def _steps(rule: Rule, finding: Violation, every: list[Exchange]) -> Iterator[Exchange]:
    """The fewest requests that can lead to a finding: the writes that its answer may depend on, and looks at them."""
    exchange = finding.exchange
    request = exchange.request
    earlier = [each for each in every if each.number < exchange.number and each.request.identity == OWN]
    kept: dict[int, Exchange] = {}
    for identifier in _about(rule, finding, earlier):
        kept |= {each.number: each for each in _life(identifier, earlier)}
    if request.operation == "list":
        kept |= {each.number: each for each in _there(earlier)}
    if request.operation == "create" and request.form:
        kept |= {each.number: each for each in earlier if each.made_id and _alike(each.request, request)}
    about = exchange
    if request.operation == "read":  # what it shows comes from the latest update of its record
        updates = [each for each in earlier if each.request.operation == "update"]
        about = next((each for each in updates[::-1] if each.request.identifier == request.identifier), exchange)
    if about.expects is Expect.OPEN:
        others = [each for each in earlier if each is not about]
        kept |= {each.number: each for each in _usual(about.request, others)}
    if rule.decided_by == "state":
        kept |= {each.number: each for each in _looks(exchange, earlier, kept)}
    kept[exchange.number] = exchange
    yield from (kept[number] for number in sorted(kept))
    if request.method != "GET" or rule.decided_by == "state":
        yield from _after(exchange, every)


def around(finding: Violation, steps: Sequence[Exchange]) -> Iterator[list[Exchange]]:
    """Ever more of the steps to a finding, of which the first may do: its request alone, with a write before, and all.

    A request about a record comes with the create of that record.
    """
    it = next(each for each in steps if each.number == finding.exchange.number)
    earlier = steps[: steps.index(it)]
    writes = [each for each in earlier if each.request.method != "GET"]
    record = it.request.identifier
    about = [each for each in writes if record is not None and each.request.identifier == record] or writes
    looks = [each for each in earlier if each.request.method == "GET" and each.request.identity == OWN]
    after = list(steps[steps.index(it) + 1 :])
    alone, last, then = [it], about[-1:], [each for each in looks if not about or each.number > about[-1].number]
    before = [each for each in looks if about and each.number < about[-1].number]
    for some in (
        alone,
        looks[-1:] + alone,
        last + alone + after,
        before[-1:] + last + then[-1:] + alone + after,
        [each for each in before if each.request.operation == "list"][-1:] + before[-1:] + last + alone + after,
        about[-2:] + then + alone + after,
    ):
        ids = {each.request.identifier for each in some} - {None}
        creates = [each for each in earlier if each.request.operation == "create" and each.made_id in ids]
        yield [each for each in steps if each in some or each in creates]
    yield list(steps)


def _usual(request: Request, earlier: list[Exchange]) -> list[Exchange]:
    """A documented request of the same kind that was carried out, with the create of its record and reads around it."""
    done = [each for each in earlier if each.request.operation == request.operation and each.succeeded]
    usual = [each for each in done if each.expects is Expect.SUCCESS]
    usual.sort(key=lambda each: set(each.request.form or {}) != set(request.form or {}))
    if not usual:
        return []
    it, record = usual[0], usual[0].request.identifier
    creates = [each for each in earlier if each.request.operation == "create" and each.made_id == record]
    reads = [each for each in earlier if each.request.operation == "read" and each.request.identifier == record]
    before, after = ([each for each in reads if (each.number < it.number) is is_before] for is_before in (True, False))
    return [*creates, *before[-1:], it, *after[:1]] if record is not None else [it]


def _about(rule: Rule, finding: Violation, earlier: list[Exchange]) -> set[Any]:
    exchange = finding.exchange
    ids = {exchange.request.identifier} - {None}
    row = re.match(r"/data/(\d+)", finding.at)
    if row and isinstance(exchange.data, list):
        ids.add(id_of(exchange.data[int(row[1])]))
    writes = [each for each in earlier if each.request.operation in ("update", "delete")]
    if exchange.request.operation == "list" and writes and rule.decided_by == "state":
        ids.add(writes[-1].request.identifier)
    return ids


def _life(identifier: Any, earlier: list[Exchange]) -> list[Exchange]:
    """The create of a record, and the latest of what was done to it since."""
    creates = [each for each in earlier if each.request.operation == "create" and each.made_id == identifier]
    if not creates:
        return []
    since = [each for each in earlier if each.number > creates[-1].number and each.request.identifier == identifier]
    reads = [each for each in since if each.request.operation == "read"][:1]
    return [creates[-1], *reads, *[each for each in since if each.request.method != "GET"][-MOST_UPDATES:]]


def _there(earlier: list[Exchange]) -> list[Exchange]:
    """The creates of the run's records that are there."""
    gone = {each.request.identifier: each.number for each in earlier if each.request.operation == "delete"}
    creates = [each for each in earlier if each.request.operation == "create" and each.made_id]
    return [each for each in creates if gone.get(each.made_id, 0) < each.number][-MOST_RECORDS:]


def _alike(one: Request, other: Request) -> bool:
    labels = [str((each.form or {}).get("name") or (each.form or {}).get("host")).casefold() for each in (one, other)]
    return labels[0] == labels[1]


def _looks(exchange: Exchange, earlier: list[Exchange], kept: dict[int, Exchange]) -> list[Exchange]:
    """The lists since the last write, one before it, and the latest read of the same record."""
    wrote = max((number for number, each in kept.items() if each.request.method != "GET"), default=0)
    lists = [each for each in earlier if each.request.operation == "list" and each.succeeded]
    lists = [each for each in lists if each.expects is Expect.SUCCESS]
    reads = [
        each
        for each in earlier
        if each.request.operation == "read" and each.request.identifier == exchange.request.identifier
    ]
    before = [each for each in lists if each.number < wrote][-1:]
    return before + [each for each in lists if each.number > wrote][-MOST_LISTS:] + reads[-1:]


def _after(exchange: Exchange, every: list[Exchange]) -> Iterator[Exchange]:
    """Looks at what a request has done, as the account."""
    request = exchange.request
    identifier = exchange.made_id if request.operation == "create" else request.identifier
    read = next((each for each in every if each.request.operation == "read" and each.request.identity == OWN), None)
    if read is not None and identifier is not None and request.operation != "read":
        path = f"{read.request.path.rpartition('/')[0]}/{identifier}"
        yield replace(read, request=replace(read.request, path=path, identifier=identifier, query=()))
    lists = [each for each in every if each.request.operation == "list" and each.request.identity == OWN]
    plain = [each for each in lists if each.expects is Expect.SUCCESS and each.request.asked.get("page", "1") == "1"]
    yield from sorted(plain, key=lambda each: -int(each.request.asked.get("results_per_page", "0")))[:1]


def _create_of(finding: Violation, every: list[Exchange]) -> list[Exchange]:
    """The create of the record that overlapping requests are about, if they are about one."""
    sought = next((each.request.identifier for each in finding.together if each.request.identifier is not None), None)
    return [each for each in every if each.request.operation == "create" and each.made_id == sought][-1:]
