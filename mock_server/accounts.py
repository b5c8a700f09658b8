"""Accounts: who a key belongs to, and the records behind it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zlib import crc32

from mock_server.choices import Choices
from mock_server.clock import Clock, Ticking
from mock_server.contract import Contract, Resource
from mock_server.errors import Refusal, SettingsError
from mock_server.fixtures import Fixture, FixtureReader
from mock_server.grease import leaping
from mock_server.settings import SANDBOX_PREFIX, Settings
from mock_server.store import Collection, IdSequence, Record

EARLIEST, LATEST = 1970, 8998  # years that clocks can be set to
BEYOND_32_BITS = 5_000_000_000
MOST_TEXT, MOST_SANDBOXED_TEXT = 32 * 2**20, 256 * 2**20  # bytes, of an account and of all sandboxes together


@dataclass(frozen=True, slots=True)
class Account:
    """An account: what people call it, its records by kind and the clock that its writes are dated by."""

    name: str
    collections: dict[str, Collection]
    clock: Clock

    @property
    def written(self) -> int:
        """How much more text it holds than at the start, in bytes."""
        return sum(each.written for each in self.collections.values())

    def copy(self, name: str, clock: Clock) -> Account:
        """An account of its own with the same records."""
        return Account(name, {kind: records.copy() for kind, records in self.collections.items()}, clock)


class Accounts:
    """All accounts of one server.

    Args:
        settings: further keys, generated records, the clock and how many sandboxes are kept.
        contract: the kinds of record.
        choices: the open points.
        reader: reads the fixture.
        before: accounts to take over, in the place of a fixture's; both then go by the same choices.

    Raises:
        SettingsError: if the fixture is not usable.
    """

    def __init__(
        self,
        settings: Settings,
        contract: Contract,
        choices: Choices,
        reader: FixtureReader,
        before: Accounts | None = None,
    ) -> None:
        self._settings = settings
        self._choices = choices
        self._resources = contract.resources
        self._lock = threading.Lock()
        if before:
            self._take_over(before)
        else:
            self._begin(reader)

    def _begin(self, reader: FixtureReader) -> None:
        settings, fixture = self._settings, reader.read(self._settings.fixture)
        self._start = fixture.now
        self._generate(fixture, reader)
        sequences = {resource.name: self._ids(fixture, resource) for resource in self._resources}
        self._by_key = {
            account.api_key: Account(
                account.name,
                {
                    resource.name: Collection(
                        sequences[resource.name],
                        self._order(resource),
                        self._unique(resource),
                        account.records[resource.name],
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
        self._model = self._copy(next(iter(self._by_key.values())), "model")
        self._by_key |= {key: self._copy(self._model, key) for key in settings.api_keys}
        self._sandboxes: OrderedDict[str, Account] = OrderedDict()

    def _take_over(self, before: Accounts) -> None:
        """Share all accounts, for requests that are still under way, too; they are arranged as this one has it."""
        self._start, self._lock = before._start, before._lock
        self._by_key, self._model, self._sandboxes = before._by_key, before._model, before._sandboxes
        with self._lock:
            for account in [*self._by_key.values(), self._model, *self._sandboxes.values()]:
                for resource in self._resources:
                    collection = account.collections[resource.name]
                    collection.arrange(self._order(resource), self._unique(resource))
                    collection.ids.follow(self._following())

    def copy(self) -> Accounts:
        """Accounts of their own that hold the same."""
        other = copy(self)
        other.part()
        return other

    def part(self) -> None:
        """Share nothing any more."""
        with self._lock:
            self._by_key = {key: _parted(account) for key, account in self._by_key.items()}
            self._model = _parted(self._model)
            self._sandboxes = OrderedDict((key, _parted(account)) for key, account in self._sandboxes.items())
        self._lock = threading.Lock()

    @property
    def sandboxes(self) -> dict[str, Account]:
        """The sandboxes that there are, by key, the latest used last."""
        with self._lock:
            return dict(self._sandboxes)

    @property
    def now(self) -> datetime:
        """Where clocks start."""
        return self._start

    def set_clocks(self, now: datetime, key: str | None = None) -> None:
        """Let clocks go on from another time.

        Args:
            now: the time.
            key: whose clock; all, if None, those of later sandboxes too.

        Raises:
            SettingsError: if the accounts go by the machine's clock, or the key opens none.
        """
        account = self.get(key) if key else None
        if key and account is None:
            raise SettingsError(f'no account has the key "{key}"')
        every = [account] if account else [*self._by_key.values(), self._model, *self.sandboxes.values()]
        if not EARLIEST <= now.year <= LATEST:
            raise SettingsError(f"{now.year} is no year that clocks can be set to; give {EARLIEST} to {LATEST}")
        for each in every:
            if not isinstance(each.clock, Ticking):
                raise SettingsError("this mock goes by the machine's clock; start it without --clock system")
            each.clock.now = now
        if account is None:
            self._start = now

    @property
    def keys(self) -> dict[str, str]:
        """The name of each account by its key, sandboxes aside."""
        return {key: account.name for key, account in self._by_key.items()}

    def get(self, key: str) -> Account | None:
        """The account that a key opens, or None; a `sandbox-` key opens one of its own, made when it is first used."""
        if not key.startswith(SANDBOX_PREFIX):
            return self._by_key.get(key)
        with self._lock:
            account = self._sandboxes.pop(key, None) or self._copy(self._model, key)
            self._sandboxes[key] = account
            while len(self._sandboxes) > self._settings.sandboxes:
                self._sandboxes.popitem(last=False)
            return account

    def make_room(self, account: Account, size: int) -> None:
        """See that so many more bytes of text can be kept for an account, at the cost of the oldest other sandboxes.

        Raises:
            Refusal: if the account holds too much already.
        """
        if account.written + size > MOST_TEXT:
            held = f"{MOST_TEXT >> 20} MiB"
            raise Refusal("413", f"This account would hold over {held} of text; delete records, or reset the mock.")
        with self._lock:
            total = size + sum(each.written for each in self._sandboxes.values())
            for key, each in list(self._sandboxes.items()):
                if total > MOST_SANDBOXED_TEXT and each is not account:
                    total -= self._sandboxes.pop(key).written

    def _copy(self, account: Account, name: str) -> Account:
        return account.copy(name, self._clock())

    def _clock(self) -> Clock:
        if self._settings.clock:
            return self._settings.clock
        seed = self._settings.grease
        return Ticking(self._start) if seed is None else leaping(self._start, seed)

    def _generate(self, fixture: Fixture, reader: FixtureReader) -> None:
        start = fixture.now - timedelta(days=365)
        for resource in self._resources:
            above = _highest(fixture, resource)
            fixture.accounts[0].records[resource.name].extend(
                reader.generated(resource, self._settings.records, above, start)
            )

    def _ids(self, fixture: Fixture, resource: Resource) -> IdSequence:
        return IdSequence(_highest(fixture, resource), self._following())

    def _following(self) -> Callable[[int], int]:
        """From an id to the next."""
        match self._choices["ids"]:
            case "large":
                return lambda last: max(last, BEYOND_32_BITS) + 1
            case "gaps":
                return lambda last: last + 1 + crc32(str(last).encode()) % 9
            case _:
                return lambda last: last + 1

    def _order(self, resource: Resource) -> Callable[[Record], Any]:
        match self._choices["order"]:
            case "by-name":
                return lambda record: (str(record.values[resource.label]).casefold(), record.id)
            case "oldest-first":
                return lambda record: record.id
            case _:
                return lambda record: -record.id

    def _unique(self, resource: Resource) -> str | None:
        return "host" if "host" in resource.fields and self._choices["host-taken"] != "accepted" else None


def _parted(account: Account) -> Account:
    clock = account.clock
    return account.copy(account.name, Ticking(clock.now) if isinstance(clock, Ticking) else clock)


def _highest(fixture: Fixture, resource: Resource) -> int:
    return max((record.id for account in fixture.accounts for record in account.records[resource.name]), default=0)
