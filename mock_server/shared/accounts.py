"""Accounts in Redis: which one a key opens, and its records."""

import json
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from link_management_contract import Contract, Resource
from mock_server.errors import SettingsError
from mock_server.settings.choices import Choices, Clock, ticking
from mock_server.settings.settings import Settings, is_sandbox
from mock_server.shared.collection import (
    AccountSlot,
    ListOrder,
    SharedClock,
    SharedCollection,
    beginning,
    list_order_of,
    load,
    moment,
    seconds,
)
from mock_server.shared.store import FullStoreError, Namespace, StoreError
from mock_server.store.accounts import MemoryAccount
from mock_server.store.collection import following, unique_field
from mock_server.store.fixtures import FixtureReader
from mock_server.store.records import NO_RECORDS, Generated, check_clock

KEY_SUFFIXES = (":own", ":records", ":ids", ":names", ":hosts")
MAX_CACHED_ACCOUNTS = 2000  # accounts that one process remembers


@dataclass(frozen=True, slots=True)
class SharedAccount:
    """An account in Redis.

    Attributes:
        name: what people call it.
        collections: its records by resource.
        clock: what dates its writes.
        number: of its place.
        memories: what each defect and condition remembers about it, in this process.
    """

    name: str
    collections: dict[str, SharedCollection]
    clock: Clock
    number: int
    memories: WeakKeyDictionary[Any, dict[str, Any]] = field(default_factory=WeakKeyDictionary)


class SharedAccounts:
    """All accounts of the processes that share a store.

    Args:
        settings: further keys, the clock and how many sandboxes are kept.
        contract: the resources.
        choices: the open points.
        reader: makes generated records.
        namespace: where the accounts are.
    """

    def __init__(
        self, settings: Settings, contract: Contract, choices: Choices, reader: FixtureReader, namespace: Namespace
    ) -> None:
        self._settings, self._choices, self._resources = settings, choices, contract.resources.values()
        self._reader, self._namespace = reader, namespace
        self._looked_up: dict[str, int] = {}  # the number of the head under which an account's place was
        self._cached_accounts: OrderedDict[str, tuple[bytes, SharedAccount]] = OrderedDict()
        self._slots_key, self._usage_key = namespace.key("places"), namespace.key("used")
        start_json = namespace.store.ask("GET", namespace.key("begun"))
        if start_json is None:
            raise StoreError("The store has lost what this mock holds; reset the mock.")
        self._start: dict[str, Any] = json.loads(start_json)
        self._generated_by = {resource.name: self._generated_of(resource) for resource in self._resources}

    @property
    def keys(self) -> dict[str, str]:
        keys: dict[str, str] = self._start["keys"]
        return dict(keys)

    def knows(self, key: str) -> bool:
        return key in self._start["keys"] or is_sandbox(key)

    @property
    def now(self) -> datetime:
        return moment(int(self._namespace.store.ask("GET", self._namespace.key("now")) or self._start["start"]))

    def get(self, key: str) -> SharedAccount | None:
        """The account that a key opens, or None; a `sandbox-` key opens one of its own, made when it is first used."""
        if not self.knows(key):
            return None
        store, finding = self._namespace.store, ["HGET", self._slots_key, key]
        if not is_sandbox(key):  # its place is another only once the head is, which each request looks at first
            heads, cached = store.heads, self._cached_accounts.get(key)
            if not cached or self._looked_up.get(key) != heads:
                raw = store.ask(*finding)
                self._looked_up[key] = heads
                return self._account(key, raw) if raw else None
            return cached[1]
        try:
            raw, _ = store.ask_all([finding, ["ZADD", self._usage_key, "XX", *_now(), key]])
        except FullStoreError:  # it can still be read
            raw = store.ask(*finding)
        while raw is None:
            while int(store.ask("ZCARD", self._usage_key)) >= self._settings.sandboxes:
                self._discard(self._least_recently_used())
            if not (raw := self._make_place(key, self._start["bases"][self._first], key)):  # another process was faster
                raw = store.ask(*finding)
        return self._account(key, raw)

    def start_again(self, key: str, template: MemoryAccount | None = None) -> SharedAccount:
        """Let one account start again as it began, or as a copy of another in memory; the others stay as they are.

        Raises:
            SettingsError: if the key opens no account.
        """
        if not self.knows(key):
            raise SettingsError(f'no account has the key "{key}"')
        base = self._start["bases"].get(key, self._start["bases"][self._first])
        raw = None
        while raw is None:  # another process may be faster
            self.get(key)
            raw_before = self._namespace.store.ask("HGET", self._slots_key, key)
            before = self._account(key, raw_before) if raw_before else None
            raw = self._make_place(key, base, before.name if before else key, raw_before, template)
        self._namespace.store.edit(lambda head: head.update(places=[key, time.time_ns()]))
        if before:
            self._forget(before.number)
        return self._account(key, raw)

    @property
    def sandboxes(self) -> dict[str, SharedAccount]:
        keys = [raw_key.decode() for raw_key in self._namespace.store.ask("ZRANGE", self._usage_key, "0", "-1")]
        raws = self._namespace.store.ask("HMGET", self._slots_key, *keys) if keys else []
        return {key: self._account(key, raw) for key, raw in zip(keys, raws, strict=True) if raw}

    def set_clocks(self, now: datetime, key: str | None = None) -> None:
        """Set clocks to another time.

        Raises:
            SettingsError: if the accounts use the machine's clock, or the key opens no account.
        """
        account = self.get(key) if key else None
        if key and account is None:
            raise SettingsError(f'no account has the key "{key}"')
        check_clock(now)
        all_accounts = [account] if account else [*map(self.get, self.keys), *self.sandboxes.values()]
        for changed in filter(None, all_accounts):
            if not isinstance(changed.clock, SharedClock):
                raise SettingsError("cannot set the clock: this mock was started with --clock system")
            changed.clock.now = now
        if account is None:
            self._namespace.carry_out(commands=[["SET", self._namespace.key("now"), seconds(now)]])

    def make_room(self, key: str, resource: str, size: int = 0) -> None:
        """Not needed before: the script that writes finds out whether there is room, and asks others to give way."""

    def _give_way(self, number: int) -> bool:
        """Discard the least recently used sandbox but one; whether there was any."""
        candidates = (key for key, account in self.sandboxes.items() if account.number != number)
        if oldest := next(iter(candidates), ""):
            self._discard(oldest)
        return bool(oldest)

    def _least_recently_used(self) -> str:
        """The key of the least recently used sandbox, or an empty string."""
        oldest_keys = self._namespace.store.ask("ZRANGE", self._usage_key, "0", "0")
        return oldest_keys[0].decode() if oldest_keys else ""

    @property
    def _first(self) -> str:
        return next(iter(self.keys))

    def _discard(self, key: str) -> None:
        raw = self._namespace.store.ask("HGET", self._slots_key, key)
        if raw is None:
            self._namespace.store.ask("ZREM", self._usage_key, key)
        else:  # unless another process was faster; the key may open a new account by now
            commands = [["HDEL", self._slots_key, key], ["ZREM", self._usage_key, key]]
            if self._namespace.carry_out(checks=[[["HGET", self._slots_key, key], raw.decode()]], commands=commands):
                self._forget(self._account(key, raw).number)

    def _forget(self, number: int) -> None:
        """Let all of a place expire, in which nothing is written from now on."""
        sizes_key, expiring = self._namespace.key("written"), self._expiring(number)
        while (size := self._namespace.store.ask("HGET", sizes_key, str(number))) is not None:
            checks = [[["HGET", sizes_key, str(number)], size.decode()]]
            counting = [["HDEL", sizes_key, str(number)], ["HINCRBY", sizes_key, "all", str(-int(size))]]
            if self._namespace.carry_out(checks=checks, commands=[*counting, *expiring]):
                return

    def _expiring(self, number: int) -> list[list[str]]:
        """The commands that let all of a place expire."""
        key, names = self._namespace.key, [resource.name for resource in self._resources]
        expiring_keys = [key(str(number), name) + part for name in names for part in KEY_SUFFIXES]
        expiring_keys += [key("clock", str(number)), *(key("ids", name, str(number)) for name in names)]
        return [["EXPIRE", expiring_key, self._namespace.store.grace] for expiring_key in expiring_keys]

    def _make_place(
        self,
        key: str,
        base: int,
        name: str,
        raw_before: bytes | None = None,
        template: MemoryAccount | None = None,
    ) -> bytes | None:
        """A new place for an account instead of the one before, which holds what another does at first.

        None if the account has another place by now, or none, or if there are as many sandboxes as there may be.
        """
        store, namespace = self._namespace.store, self._namespace
        number = int(store.ask("INCR", namespace.key("count")))
        slot = AccountSlot(number, number if template else base, name)
        last = dict(self._start["last"])
        raw, is_made = json.dumps(asdict(slot)), 0
        usage_command = [["ZADD", self._usage_key, *_now(), key]] if is_sandbox(key) else []
        checks = [[["HGET", self._slots_key, key], raw_before.decode() if raw_before else False]]
        capacity = None if raw_before else [self._usage_key, self._settings.sandboxes]
        try:
            if template:
                for resource in self._resources:
                    last[resource.name] = template.collections[resource.name].ids.last
                    load(namespace, number, resource, template.collections[resource.name])
                store.keep()
            start_commands = beginning(namespace, slot, last, self.now)
            commands = [["HSET", self._slots_key, key, raw], *usage_command, *start_commands]
            is_made = namespace.carry_out(checks=checks, commands=commands, room=capacity)
        finally:
            if template and not is_made:
                store.ask_all(self._expiring(number))
        return raw.encode() if is_made else None

    def _account(self, key: str, raw: bytes) -> SharedAccount:
        """The account that is kept under a key; always the same while its place is."""
        cached = self._cached_accounts.get(key)
        if cached and cached[0] == raw:
            return cached[1]
        slot = AccountSlot(**json.loads(raw))
        shares_first_base = slot.base == self._start["bases"][self._first]
        collections = {
            resource.name: SharedCollection(
                self._namespace,
                slot,
                resource.name,
                self._list_order(resource),
                self._generated_by[resource.name] if shares_first_base else NO_RECORDS,
                partial(self._give_way, slot.number),
            )
            for resource in self._resources
        }
        step = ticking(self.now, self._settings.grease).step
        clock = self._settings.clock or SharedClock(self._namespace, slot.number, step)
        account = SharedAccount(slot.name, collections, clock, slot.number)
        self._cached_accounts[key] = raw, account
        while len(self._cached_accounts) > MAX_CACHED_ACCOUNTS:
            self._cached_accounts.popitem(last=False)
        return account

    def _list_order(self, resource: Resource) -> ListOrder:
        is_unique = unique_field(self._choices, resource) is not None
        return list_order_of(resource, self._choices["order"], following(self._choices), is_unique=is_unique)

    def _generated_of(self, resource: Resource) -> Generated:
        """The records of the first account that are made when somebody looks at them."""
        count = self._start["records"]
        id_offset = self._start["last"][resource.name] - count
        start = moment(int(self._start["start"])) - timedelta(days=365)
        return self._reader.generated(resource, count, id_offset, start) if count else NO_RECORDS


def _now() -> list[str]:
    return [str(time.time())]
