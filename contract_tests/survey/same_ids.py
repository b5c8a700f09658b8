"""The first writes of a run: to ids that records of its own have in several resources and accounts.

A server that writes by the id alone shows that here, and hits nothing of others.
"""

from contextlib import suppress
from functools import partial

from contract_tests.evidence.evidence import Listing
from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect
from contract_tests.survey.creating import Create, InvisibleError, create
from contract_tests.survey.visit import free_marker
from contract_tests.survey.visitor import Visitor
from contract_tests.target.ownership import WriteRefusedError

MAX_CREATES, PAIRS = 3, 2  # records of one resource; ids that two resources are to share


def write_to_same_ids(pages: Visitor, handlers: Visitor) -> None:
    """Create splash pages and handlers until two ids are in use in both, then update and delete there.

    What is left, one of each, is reserved: it stays until the end of the run, for writes to domains of that id.
    """
    ids: dict[Visitor, list[int]] = {pages: [], handlers: []}
    with suppress(InvisibleError, WriteRefusedError):
        while len(shared := sorted(set(ids[pages]) & set(ids[handlers]))) < PAIRS:
            visitor, other = sorted(ids, key=lambda visitor: ids[visitor][-1:])  # whose next id is the smaller
            if len(ids[visitor]) == MAX_CREATES or not _add(visitor, ids[visitor]) or _is_far(ids[visitor], ids[other]):
                break
        for visitor, created_ids in ids.items():
            _add_in_other_account(visitor, created_ids)
        for identifier in shared[:1]:
            for visitor in ids:
                visitor.update(identifier, {visitor.resource.label: visitor.records.new_marker()}, Expect.OPEN)
            _remove(handlers, identifier)
        for identifier in shared[1:2]:
            _remove(pages, identifier)
        bystanders = pages.target.bystanders
        for visitor, identifiers in ((pages, shared[:1]), (handlers, shared[1:2])):
            for identifier in identifiers:
                bystanders.read_elsewhere(visitor.resource.name, identifier)


def _add(visitor: Visitor, ids: list[int]) -> bool:
    """Create one more record, and reserve it; return whether it was made."""
    if not visitor.records.marker:
        visitor.records.marker = free_marker(visitor, Listing((), complete=False))
    [creation] = create(visitor, Create(visitor.records.required_form(), Expect.OPEN))
    if creation.identifier is None:
        return False
    ids.append(creation.identifier)
    visitor.target.ledger.reserved.add((visitor.resource.name, creation.identifier, OWN_KEY))
    return True


def _add_in_other_account(visitor: Visitor, ids: list[int]) -> None:
    """Create records in the other account until these ids are in use there, too, if it counts and is about to."""
    name, target = visitor.resource.name, visitor.target
    if OTHER not in target.keys or not ids or not 0 < target.bystanders.distance(name, ids[0], OTHER) <= MAX_CREATES:
        return
    for _ in range(MAX_CREATES):
        made_id = visitor.post(visitor.records.required_form(), Expect.OPEN, OTHER).made_id
        if made_id is None:
            break
        target.ledger.reserved.add((name, made_id, OTHER))
        visitor.read(made_id, Expect.OPEN, OTHER)
        if made_id >= ids[-1]:
            break


def _remove(visitor: Visitor, identifier: int) -> None:
    if not visitor.delete(identifier, Expect.OPEN).succeeded:
        return
    ledger, name = visitor.target.ledger, visitor.resource.name

    def is_gone(read: Exchange) -> bool:
        return not read.failed and not ledger.is_shown(name, identifier, str(read.json))

    if is_gone(visitor.waits.for_state("delete", partial(visitor.read, identifier, Expect.OPEN), is_gone)):
        ledger.note_deleted(name, identifier)  # the id may be given to somebody else's record


def _is_far(ids: list[int], others: list[int]) -> bool:
    """Whether ids will not meet: the latest one is too far away, or has passed by."""
    if not others:
        return False
    has_passed = len(ids) > 1 and ids[-2] < others[-1] < ids[-1]
    return has_passed or abs(ids[-1] - others[-1]) >= MAX_CREATES
