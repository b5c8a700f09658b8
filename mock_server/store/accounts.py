"""Accounts: which one a key opens, and its records."""

from __future__ import annotations

import threading
from collections import OrderedDict
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

from link_management_contract import Contract, Resource
from mock_server.errors import Refusal, SettingsError
from mock_server.settings.choices import Choices, Clock, SettableClock, SteppingClock, ticking
from mock_server.settings.settings import Settings, is_sandbox
from mock_server.store.collection import (
    ByteCount,
    Contents,
    IdSequence,
    MemoryCollection,
    following,
    order_of,
    unique_field,
)
from mock_server.store.fixtures import Fixture, FixtureReader
from mock_server.store.records import NO_RECORDS, Generated, Records, check_clock

MAX_ACCOUNT_BYTES, MAX_TOTAL_BYTES = (
    32 * 2**20,
    64 * 2**20,
)  # bytes that the writes of one account, and of all together, may take


@dataclass(frozen=True, slots=True)
class MemoryAccount:
    """An account.

    Attributes:
        name: what people call it.
        collections: its records by resource.
        clock: what dates its writes.
        memories: what each defect and condition remembers about it.
    """

    name: str
    collections: dict[str, MemoryCollection]
    clock: Clock
    memories: WeakKeyDictionary[Any, dict[str, Any]] = field(default_factory=WeakKeyDictionary)

    @property
    def written_bytes(self) -> int:
        """About how much memory it takes beyond what it began with, in bytes."""
        return sum([collection.written_bytes for collection in self.collections.values()])

    @property
    def size(self) -> int:
        """About how much memory its records take, in bytes."""
        return sum(collection.size for collection in self.collections.values())

    def copy(self, name: str, clock: Clock, total_bytes: ByteCount) -> MemoryAccount:
        """A separate account with the same records."""
        is_charged = is_sandbox(name)
        copies = {name: records.copy(total_bytes, is_charged=is_charged) for name, records in self.collections.items()}
        return MemoryAccount(name, copies, clock)


class MemoryAccounts:
    """All accounts of one server.

    Args:
        settings: further keys, generated records, the clock and how many sandboxes are kept.
        contract: the resources.
        choices: the open points.
        reader: reads the fixture.
        before: accounts to take over instead of a fixture's; both then follow the same choices.

    Raises:
        SettingsError: if the fixture cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        contract: Contract,
        choices: Choices,
        reader: FixtureReader,
        before: MemoryAccounts | None = None,
    ) -> None:
        self._settings, self._choices, self._resources = settings, choices, contract.resources.values()
        self._lock = threading.Lock()
        if before:
            self._take_over(before)
        else:
            self._load_fixture(reader)

    def _load_fixture(self, reader: FixtureReader) -> None:
        settings, fixture = self._settings, reader.read(self._settings.fixture)
        self._total_bytes, self._start = ByteCount(), fixture.now
        generated, ids = self._generated(fixture, reader), following(self._choices)  # for the first account
        highest = {resource.name: _highest(fixture, resource) + settings.records for resource in self._resources}
        sequences = {name: IdSequence(last, ids) for name, last in highest.items()}
        self._by_key = {
            account.api_key: MemoryAccount(
                account.name,
                {
                    resource.name: MemoryCollection(
                        sequences[resource.name],
                        Contents(
                            Records(account.records[resource.name], generated.pop(resource.name, NO_RECORDS)),
                            order_of(self._choices, resource),
                            unique_field(self._choices, resource),
                        ),
                        self._total_bytes,
                    )
                    for resource in self._resources
                },
                self._clock(),
            )
            for account in fixture.accounts
        }
        for key in settings.api_keys:
            if key in self._by_key:
                raise SettingsError(f'the key "{key}" is the fixture\'s already; give another')
        self._pristine = {key: self._copy(account, account.name) for key, account in self._by_key.items()}
        self._by_key |= {key: self._copy(self._model, key) for key in settings.api_keys}
        self._sandboxes: OrderedDict[str, MemoryAccount] = OrderedDict()

    def _take_over(self, before: MemoryAccounts) -> None:
        """Share all accounts, also with requests in progress, and arrange them as these choices require."""
        self._start, self._lock, self._total_bytes = before._start, before._lock, before._total_bytes
        self._by_key, self._pristine, self._sandboxes = before._by_key, before._pristine, before._sandboxes
        ids = following(self._choices)
        with self._lock:
            for resource in self._resources:
                order, unique = order_of(self._choices, resource), unique_field(self._choices, resource)
                for account in [*self._by_key.values(), *self._pristine.values(), *self._sandboxes.values()]:
                    account.collections[resource.name].arrange(order, unique)
                    account.collections[resource.name].ids.follow(ids)

    def copy(self) -> MemoryAccounts:
        """Separate accounts with the same records."""
        other = copy(self)
        other.part()
        return other

    def part(self) -> None:
        """Stop sharing anything but the memory that is available to both; ids that accounts share stay shared."""
        sequences: dict[IdSequence, IdSequence] = {}

        def unshared(account: MemoryAccount) -> MemoryAccount:
            clock = SteppingClock(account.clock.now) if isinstance(account.clock, SettableClock) else account.clock
            other = account.copy(account.name, clock, self._total_bytes)
            for name, collection in other.collections.items():
                collection.ids = sequences.setdefault(account.collections[name].ids, collection.ids)
            return other

        with self._lock:
            self._by_key = {key: unshared(account) for key, account in self._by_key.items()}
            self._pristine = {key: unshared(account) for key, account in self._pristine.items()}
            self._sandboxes = OrderedDict((key, unshared(account)) for key, account in self._sandboxes.items())
        self._lock = threading.Lock()

    @property
    def _model(self) -> MemoryAccount:
        """What a new account is a copy of: the first, as it was at the start."""
        return next(iter(self._pristine.values()))

    def start_again(self, key: str, template: MemoryAccount | None = None) -> MemoryAccount:
        """Let one account start again as it began, or as a copy of another; the others stay as they are.

        Raises:
            SettingsError: if the key opens no account, or a sandbox would take too much memory.
        """
        is_charged = template is not None and is_sandbox(key)
        if template and is_charged and template.size > MAX_ACCOUNT_BYTES:
            raise SettingsError(f"a sandbox holds {MAX_ACCOUNT_BYTES >> 20} MiB; give fewer or shorter records")
        with self._lock:
            accounts: dict[str, MemoryAccount] = self._sandboxes if is_sandbox(key) else self._by_key
            before = accounts.get(key)
            if before is None and not is_sandbox(key):
                raise SettingsError(f'no account has the key "{key}"')
            if before is None:
                self._keep_within_bounds()
            name = before.name if before else key
            for collection in before.collections.values() if before else ():
                collection.forget()
            account = accounts[key] = self._copy(template or self._pristine.get(key, self._model), name)
            if is_charged:
                for collection in account.collections.values():
                    collection.charge()
                self._make_way(account)
        return account

    @property
    def sandboxes(self) -> dict[str, MemoryAccount]:
        with self._lock:
            return dict(self._sandboxes)

    @property
    def now(self) -> datetime:
        return self._start

    def set_clocks(self, now: datetime, key: str | None = None) -> None:
        check_clock(now)
        account = self.get(key) if key else None
        if key and account is None:
            raise SettingsError(f'no account has the key "{key}"')
        all_accounts = [*self._by_key.values(), *self._pristine.values(), *self.sandboxes.values()]
        for changed in [account] if account else all_accounts:
            if not isinstance(changed.clock, SettableClock):
                raise SettingsError("cannot set the clock: this mock was started with --clock system")
            changed.clock.now = now
        if account is None:
            self._start = now

    @property
    def keys(self) -> dict[str, str]:
        return {key: account.name for key, account in self._by_key.items()}

    def knows(self, key: str) -> bool:
        return key in self._by_key or is_sandbox(key)

    def get(self, key: str) -> MemoryAccount | None:
        """The account that a key opens, or None.

        A `sandbox-` key opens a separate account, made when the key is first used. If there are too many, the least
        recently used one is discarded.
        """
        if not is_sandbox(key):
            return self._by_key.get(key)
        with self._lock:
            account = self._sandboxes.pop(key, None)
            if account is None:
                self._keep_within_bounds()
                account = self._copy(self._model, key)
            self._sandboxes[key] = account
            return account

    def _keep_within_bounds(self) -> None:
        """Discard sandboxes until there may be one more, for one who has the lock."""
        while len(self._sandboxes) >= self._settings.sandboxes:
            self._discard(self._least_recently_used())

    def _least_recently_used(self, but: MemoryAccount | None = None) -> str:
        """The key of the least recently used sandbox, or an empty string, for one who has the lock."""
        return next((key for key, account in self._sandboxes.items() if account is not but), "")

    def _discard(self, key: str) -> None:
        for collection in self._sandboxes.pop(key).collections.values():
            collection.forget()

    def make_room(self, key: str, resource: str, size: int = 0) -> None:
        """Make room for an account to keep `size` more bytes in one of its collections; see `Accounts`."""
        account = self._sandboxes.get(key) or self._by_key.get(key)
        if account is None:  # discarded meanwhile
            return
        size += account.collections[resource].copy_cost
        if account.written_bytes + size > MAX_ACCOUNT_BYTES:
            raise full("This account", MAX_ACCOUNT_BYTES)
        if self._total_bytes.bytes + size <= MAX_TOTAL_BYTES:
            return
        with self._lock:
            if not self._make_way(account, size):
                raise full("All accounts together", MAX_TOTAL_BYTES)

    def _make_way(self, account: MemoryAccount, size: int = 0) -> bool:
        """Discard other sandboxes until `size` more bytes fit, for one who has the lock; return whether they do."""
        while self._total_bytes.bytes + size > MAX_TOTAL_BYTES:
            oldest = self._least_recently_used(account)
            if not oldest:
                return False
            self._discard(oldest)
        return True

    def _copy(self, account: MemoryAccount, name: str) -> MemoryAccount:
        return account.copy(name, self._clock(), self._total_bytes)

    def _clock(self) -> Clock:
        return self._settings.clock or ticking(self._start, self._settings.grease)

    def _generated(self, fixture: Fixture, reader: FixtureReader) -> dict[str, Generated]:
        """The further records of the first account, by resource."""
        start, count = fixture.now - timedelta(days=365), self._settings.records
        return {
            resource.name: reader.generated(resource, count, _highest(fixture, resource), start)
            for resource in self._resources
        }


def _highest(fixture: Fixture, resource: Resource) -> int:
    return max((record.id for account in fixture.accounts for record in account.records[resource.name]), default=0)


def full(subject: str, max_bytes: int) -> Refusal:
    """The refusal of a write that would take too much memory."""
    return Refusal("413", f"{subject} would take over {max_bytes >> 20} MiB; delete records, or reset the mock.")
