"""Records that a write may hit, too: those with its id in another resource or account, and the next one of the run.

Each is read just before the write and just after it, until one read has shown that the operation leaves it alone. Once
one was hit, nothing is written to an id under which others have a record; once a delete has removed more than one
record, nothing at all.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from threading import RLock

from contract_tests.evidence.evidence import BystanderCheck
from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Expect, Request, request_of, whole_id
from contract_tests.evidence.marks import holds, mark_of
from contract_tests.target.ledger import Ledger
from link_management_contract import Resource

CollectionKey = tuple[str, str]  # a resource, and whose records of it
REREADS = (0.2, 0.6, 1.2)  # seconds until a record that is missing is read again: another replica may have missed it
WRITES = ("update", "delete")
LARGEST_PAGE = (("results_per_page", "1000"), ("page", "1"))
UNCLEAR = (401, 403, 429)  # statuses that show nothing about a record


class Bystanders:
    """Looks for what writes hit elsewhere.

    Args:
        send: sends a request.
        is_own_refusal: whether an answer with 403 is what the server says of an id that nobody has.

    Attributes:
        checks: what was seen, in all resources.
        harm: what a write hit; empty as long as none did.
    """

    def __init__(
        self, ledger: Ledger, send: Callable[[Request], Exchange], is_own_refusal: Callable[[Exchange], bool]
    ) -> None:
        self.checks: list[BystanderCheck] = []
        self.harm = ""
        self._ledger, self._send, self._is_own_refusal = ledger, send, is_own_refusal
        self._resources: dict[CollectionKey, Resource] = {}
        self._listings: dict[CollectionKey, frozenset[int]] = {}
        self._cleared: set[tuple[str, str, CollectionKey]] = set()
        self._checking: set[tuple[str, str, CollectionKey]] = set()  # by writes to the run's own that are under way
        self._suspected: set[tuple[str, str, CollectionKey]] = set()
        self._deleted: set[tuple[str, int, str]] = set()
        self._read_under: set[str] = set()  # resources under whose ids the others were read
        self._deletes_more = False  # whether a delete has removed another record of the same resource
        self._lock = RLock()

    def list_first(self, resource: Resource, identity: str) -> None:
        """List what an account has of a resource before the run's first write."""
        collection = (resource.name, identity)
        self._resources[collection] = resource
        self._listings[collection] = self._list(collection)

    def _list(self, collection: CollectionKey) -> frozenset[int]:
        """The ids of others' records in a collection; the first thousand."""
        resource, identity = self._resources[collection], collection[1]
        request = request_of(resource, "list", expects=Expect.OPEN, identity=identity, query=LARGEST_PAGE)
        page = self._send(request).page or self._send(replace(request, query=())).page
        rows = page.rows if page else ()
        self._ledger.note_listing(resource.name, rows, identity)
        ids = (whole_id(row) for row in rows)
        own_ids = {entry.identifier for entry in self._ledger.entries if (entry.resource, entry.owner) == collection}
        return frozenset(identifier for identifier in ids if identifier is not None) - own_ids

    def distance(self, resource: str, identifier: int, identity: str) -> int:
        """How many ids an account has to give out in a resource until it comes to this one, if it counts."""
        return identifier - max(self._listings.get((resource, identity), ()), default=0)

    def turn(self, request: Request) -> AbstractContextManager[object]:
        """The turn of a write that may hit what others have: one at a time, so that the next knows what it did."""
        return self._lock if self.may_hit_others(request) else nullcontext()

    def may_hit_others(self, request: Request) -> bool:
        """Whether others have a record under the id of a write that was not yet seen to leave such records alone."""
        return any(self._is_foreign(collection, request) for collection in self._uncleared_collections(request))

    def _is_foreign(self, collection: CollectionKey, request: Request) -> bool:
        return request.identifier in self._listings[collection]

    def allows(self, resource: str, identifier: int | None, identity: str = OWN_KEY) -> bool:
        """Whether to write to an id; once a write has hit something, only where others have nothing under it."""
        owner = OTHER if identity == OTHER else OWN_KEY
        collections = [collection for collection in self._resources if collection != (resource, owner)]
        is_in_use = any(identifier in self._listings[collection] for collection in collections)
        return not self.harm or not (is_in_use or self._deletes_more)

    def is_cleared(self, request: Request) -> bool:
        """Whether nothing is known under the id elsewhere that a write like this was not seen to leave alone."""
        collections = self._uncleared_collections(request)
        return not any(self._is_known(collection, request.identifier) for collection in collections)

    def before(self, request: Request) -> list[Exchange]:
        """Read what a write by the id alone would hit, too, and the run's record that is next to it."""
        if request.operation == "delete":
            owner = OTHER if request.identity == OTHER else OWN_KEY
            self._deleted.add((request.resource, request.identifier or 0, owner))
        is_first_write, reads = request.resource not in self._read_under, self._read_neighbour(request)
        self._read_under.add(request.resource)
        for collection in self._uncleared_collections(request):
            is_known = self._is_known(collection, request.identifier)
            if not is_known and (not is_first_write or collection[1] != OWN_KEY):
                continue
            key, is_foreign = (request.resource, request.operation, collection), self._is_foreign(collection, request)
            if is_known and key in self._checking and not is_foreign:
                continue
            self._checking.add(key)
            read = self._read(collection, request.identifier or 0)
            if is_known and read.record and not self._is_shown(request.resource, read):
                reads.append(read)
            else:
                self._checking.discard(key)
            if collection[1] == OWN_KEY and is_first_write:
                self._note_read(read, collection)
        return reads

    def _read_neighbour(self, request: Request) -> list[Exchange]:
        """Read the run's record with the nearest id, if none was seen yet to be left alone by such a write."""
        collection, identifier = (request.resource, OWN_KEY), request.identifier or 0
        resource, key = self._resources.get(collection), (request.resource, request.operation, collection)
        if resource is None or request.identity != OWN_KEY or not _may_show(request, resource):
            return []
        if key in self._cleared or key in self._checking:
            return []
        seen_ids = (entry.identifier for entry in self._ledger.unremoved(*collection) if entry.seen)
        other_ids = [other_id for other_id in seen_ids if other_id is not None and other_id != identifier]
        if not other_ids:
            return []
        nearest_id = min(other_ids, key=lambda other_id: (abs(other_id - identifier), -other_id))
        self._checking.add(key)
        read = self._read(collection, nearest_id)
        if not read.record:
            self._checking.discard(key)
        return [read] if read.record else []

    def read_elsewhere(self, resource: str, identifier: int) -> None:
        """Read under the id of one of the run's records in the other resources of the account."""
        for collection in self._resources:
            if collection != (resource, OWN_KEY) and collection[1] == OWN_KEY:
                self._note_read(self._read(collection, identifier), collection)

    def _note_read(self, read: Exchange, collection: CollectionKey) -> None:
        """Note whether a read shows a record of the run that is of another resource."""
        other_resources = [name for name, owner in self._resources if owner == OWN_KEY and name != collection[0]]
        is_hit = not self._is_shown(collection[0], read) and any(self._is_shown(name, read) for name in other_resources)
        self.checks.append(BystanderCheck(read, read, collection, is_own=is_hit, is_hit=is_hit))

    def _is_shown(self, resource: str, read: Exchange) -> bool:
        """Whether a read shows the account's record of a resource that has its id."""
        return self._ledger.is_shown(resource, read.request.identifier or 0, _text(read))

    def after(self, write: Exchange, reads: Sequence[Exchange]) -> None:
        """Read the same once more, and note what the write did to it."""
        for before in reads:
            collection = (before.request.resource, before.request.identity)
            key = (write.request.resource, write.request.operation, collection)
            after = self._read(collection, before.request.identifier or 0)
            self._checking.discard(key)
            is_hit = self._is_hit(write.request, before, after)
            if is_hit is None:
                continue
            is_own = self._is_own(collection, before.request.identifier)
            if is_hit and not is_own and key not in self._suspected and self._others_work(collection, before):
                self._suspected.add(key)  # they may have removed it just now; a second time, they have not
                continue
            self.checks.append(BystanderCheck(write, after, collection, is_own=is_own, is_hit=is_hit))
            self._cleared.add(key)
            if is_hit:
                self.harm = self.harm or self.checks[-1].sentence
                self._deletes_more |= self.checks[-1].is_in_same_list and write.request.operation == "delete"
                marker = self._marker(write.request, before)  # by which a record of the run is known from now on
                self._ledger.note_marker(collection[0], before.request.identifier or 0, marker, collection[1])

    def _uncleared_collections(self, request: Request) -> list[CollectionKey]:
        """The collections where nobody has seen yet what a write like this does."""
        key, own = (request.resource, request.operation), (request.resource, OWN_KEY)
        if request.operation not in WRITES or request.identity != OWN_KEY or own not in self._resources:
            return []
        if not _may_show(request, self._resources[own]):
            return []
        return [
            collection
            for collection in self._resources
            if collection != own and (*key, collection) not in self._cleared
        ]

    def _is_known(self, collection: CollectionKey, identifier: int | None) -> bool:
        return identifier in self._listings[collection] or self._is_own(collection, identifier)

    def _is_own(self, collection: CollectionKey, identifier: int | None) -> bool:
        return any(entry.identifier == identifier and entry.seen for entry in self._ledger.unremoved(*collection))

    def _read(self, collection: CollectionKey, identifier: int) -> Exchange:
        return self._send(
            request_of(self._resources[collection], "read", identifier, Expect.OPEN, identity=collection[1])
        )

    def _is_hit(self, request: Request, before: Exchange, after: Exchange) -> bool | None:
        """Whether a write did something to a record that was read before and after it; None if that can't be told."""
        if request.operation == "update":
            marker = self._marker(request, before)
            is_unclear = not marker or after.failed or self._was_deleted(before.request)
            return None if is_unclear else holds(_text(after), marker)
        for pause in REREADS:
            if after.record:
                return False
            if self._was_deleted(before.request):
                return None
            time.sleep(pause)
            after = self._send(before.request)
        is_unclear = after.failed or (after.status in UNCLEAR and not self._is_own_refusal(after))
        is_clear = not is_unclear and (after.is_refusal or after.json is not None)
        return None if self._was_deleted(before.request) or not is_clear else not after.record

    def _was_deleted(self, read: Request) -> bool:
        """Whether the run itself has deleted the record that a request reads."""
        return (read.resource, read.identifier or 0, read.identity) in self._deleted

    def _marker(self, request: Request, before: Exchange) -> str:
        """The marker that an update writes; empty if the record showed it before."""
        marker = mark_of((request.form or {}).get(self._resources[request.resource, OWN_KEY].label))
        return "" if holds(_text(before), marker) else marker

    def _others_work(self, collection: CollectionKey, before: Exchange) -> bool:
        """Whether others have added or removed more there than a record that the run may have hit."""
        changed = self._list(collection) ^ self._listings[collection]
        return bool(changed - {before.request.identifier})


def _may_show(request: Request, resource: Resource) -> bool:
    """Whether another record that is hit shows it; what an update does to other fields may not show elsewhere."""
    return request.operation == "delete" or resource.label in (request.form or {})


def _text(exchange: Exchange) -> str:
    return exchange.body.decode("utf-8", "replace") if exchange.succeeded else ""
