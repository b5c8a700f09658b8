"""The records of one resource of one account, in Redis, and what they begin with."""

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from link_management_contract import Resource
from mock_server.settings.choices import SettableClock
from mock_server.settings.settings import Settings, is_sandbox
from mock_server.shared.store import ACCOUNT_GONE, FULL, Namespace, StoreError
from mock_server.store import accounts as in_memory
from mock_server.store.accounts import MemoryAccounts
from mock_server.store.collection import BYTES_PER_RECORD, MemoryCollection, UnknownIdError, ValueTakenError
from mock_server.store.records import NO_RECORDS, NUMBER, Generated, Record, Upload, Values, size_of


@dataclass(frozen=True, slots=True)
class ListOrder:
    """How a collection is arranged.

    Attributes:
        order: the value of the open point `order`.
        label: the field that lists may be sorted by.
        following: from an id to the next.
        host: the field whose values may have to be unique, or None.
        is_unique: whether they have to.
    """

    order: str
    label: str
    following: Callable[[int], int]
    host: str | None
    is_unique: bool


@dataclass(frozen=True, slots=True)
class AccountSlot:
    """Where the records of an account are.

    Attributes:
        number: of this account.
        base: the number of the account whose records it shares until its first change; it never changes itself.
        name: what people call the account.
        shares_ids: whether it takes its ids from the same sequences as the accounts that the mock began with.
    """

    number: int
    base: int
    name: str
    shares_ids: bool = False


class SharedClock(SettableClock):
    """A settable clock in Redis.

    Args:
        namespace: where it is.
        number: of the account's place.
        step: by how much it advances.
    """

    def __init__(self, namespace: Namespace, number: int, step: Callable[[], timedelta]) -> None:
        self._namespace, self._key, self._step = namespace, namespace.key("clock", str(number)), step

    def __call__(self) -> datetime:
        return moment(int(self._namespace.store.ask("INCRBY", self._key, str(int(self._step().total_seconds())))))

    @property
    def now(self) -> datetime:
        return moment(int(self._namespace.store.ask("GET", self._key) or 0))

    @now.setter
    def now(self, now: datetime) -> None:
        self._namespace.carry_out(commands=[["SET", self._key, seconds(now)]])


def seconds(time: datetime) -> str:
    """A time as seconds since 1970."""
    return str(int(time.replace(tzinfo=UTC).timestamp()))


def moment(after: int) -> datetime:
    """The time so many seconds after 1970 began."""
    return datetime.fromtimestamp(after, UTC).replace(tzinfo=None)


def list_order_of(
    resource: Resource, order: str, following: Callable[[int], int], *, is_unique: bool = False
) -> ListOrder:
    """How the records of a resource are arranged."""
    host = "host" if "host" in resource.fields else None
    return ListOrder(order, resource.label, following, host, is_unique)


SHORT_RECORD = 2000  # bytes of a record
MAX_SORT_LENGTH = 200  # characters that lists are sorted by
BEFORE = "local at = redis.call('EXISTS', KEYS[1] .. ':own') == 1 and KEYS[1] or KEYS[2]\n"
# The JSON of a record, and its score, which only those have that are there.
READ = BEFORE + "return {redis.call('HGET', at .. ':records', ARGV[1]), redis.call('ZSCORE', at .. ':ids', ARGV[1])}"
FIND_CLAIM = BEFORE + "return redis.call('ZSCORE', at .. ':hosts', ARGV[1])"
# How many records there are and, if that is as expected, those between two positions.
PAGE = (
    BEFORE
    + """
local total = redis.call('ZCARD', at .. ':ids')
if total ~= tonumber(ARGV[1]) then return {total} end
local start, stop = tonumber(ARGV[2]), math.min(tonumber(ARGV[3]), total) - 1
if start > stop then return {total, {}, {}} end
local found, ids, records = redis.call(ARGV[4], at .. ARGV[5], start, stop), {}, {}
for number, member in ipairs(found) do ids[number] = string.match(member, '[1-9]%d*$') end
for first = 1, #ids, 1000 do
  local some = redis.call('HMGET', at .. ':records', unpack(ids, first, math.min(first + 999, #ids)))
  for number, record in ipairs(some) do records[first + number - 1] = record end
end
return {total, ids, records}
"""
)
ORDERS = {"newest-first": ("ZREVRANGE", ":ids"), "oldest-first": ("ZRANGE", ":ids"), "by-name": ("ZRANGE", ":names")}


class SharedCollection:
    """The records of one resource in one account.

    Args:
        namespace: where they are.
        slot: that of the account.
        resource: the name of the resource.
        list_order: how they are arranged.
        generated: records that are made when somebody looks at them.
        give_way: lets another account give way if all together are full; whether there was any.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - all that it depends on
        self,
        namespace: Namespace,
        slot: AccountSlot,
        resource: str,
        list_order: ListOrder,
        generated: Generated,
        give_way: Callable[[], bool] = lambda: False,
    ) -> None:
        self._namespace, self._list_order, self._generated, self._give_way = namespace, list_order, generated, give_way
        self._slot_keys = [namespace.key(str(number), resource) for number in (slot.number, slot.base)]
        self._ids = namespace.key("ids", resource, *([] if slot.shares_ids else [str(slot.number)]))
        self._number, self._written_key = str(slot.number), namespace.key("written")
        self._known_total, self._overhead = 0, BYTES_PER_RECORD if is_sandbox(slot.name) else 0
        self._last: int | None = None  # the id that this process used last
        self._last_read: tuple[Record, list[Any], list[list[str]]] | None = None
        self._lock = threading.Lock()  # those of one process do not get in each other's way
        self._read, self._page, self._find_claim = map(namespace.store.script, (READ, PAGE, FIND_CLAIM))

    def add(self, values: Callable[[int], Values], now: Callable[[], datetime]) -> Record:
        """Add a record: in one step, unless somebody else has added one since this process did."""
        created = now()
        with self._lock:
            record = self._added(self._last, values, created, asks_now=False) if self._last is not None else None
            while record is None:
                last = self._namespace.store.ask("GET", self._ids)
                if last is None:
                    raise StoreError("The store has lost what this mock held; send the request again.")
                record = self._added(int(last), values, created, asks_now=True)
            self._last = record.id
            return record

    def _added(self, last: int, values: Callable[[int], Values], created: datetime, *, asks_now: bool) -> Record | None:
        identifier = self._list_order.following(last)
        record = Record(identifier, values(identifier), created)
        checks = [[["GET", self._ids], str(last)], *self._claim_checks(record, asks_now=asks_now)]
        commands = [["SET", self._ids, str(identifier)], *self.putting(record)]
        return record if self._carry_out(checks, commands, record.values, {}) else None

    def get(self, identifier: int) -> Record:
        self._last_read = self._read_for_change(identifier)
        return self._last_read[0]

    def update(self, identifier: int, change: Callable[[Record], Record]) -> Record:
        """Replace a record: in one step, unless somebody else has changed it since this process read it."""
        with self._lock:
            new = self._updated(change, self._latest(identifier), asks_now=False)
            while new is None:
                new = self._updated(change, self._read_for_change(identifier), asks_now=True)
            return new

    def _latest(self, identifier: int) -> tuple[Record, list[Any], list[list[str]]]:
        """What this process read last, if that was this record; a check finds out if it has changed since."""
        latest, self._last_read = self._last_read, None
        return latest if latest and latest[0].id == identifier else self._read_for_change(identifier)

    def _updated(
        self,
        change: Callable[[Record], Record],
        current: tuple[Record, list[Any], list[list[str]]],
        *,
        asks_now: bool,
    ) -> Record | None:
        old, checks, removing = current
        new = replace(change(old), id=old.id, created=old.created)
        try:
            free = self._claim_checks(new, asks_now=asks_now) if self._claim(new) != self._claim(old) else []
        except ValueTakenError:
            if self._read_for_change(old.id)[0] != old:  # perhaps by this very record, meanwhile
                return None
            raise
        commands = [*removing, *self.putting(new)]
        return new if self._carry_out([*checks, *free], commands, new.values, old.values) else None

    def delete(self, identifier: int) -> None:
        """Remove a record: in one step, unless somebody else has changed it since this process read it."""
        with self._lock:
            old, checks, removing = self._latest(identifier)
            while not self._carry_out(checks, removing, {}, old.values):
                old, checks, removing = self._read_for_change(identifier)

    @property
    def all_records(self) -> list[Record]:
        return self.page(lambda total: (0, total))[0]

    @property
    def total(self) -> int:
        return self.page(lambda _: (0, 0))[1]

    def page(self, view: Callable[[int], tuple[int, int]]) -> tuple[list[Record], int]:
        """The records between two positions: in one step, unless there are more or fewer than this process knows."""
        while True:
            known_total = self._known_total
            positions, order = view(known_total), ORDERS.get(self._list_order.order, ORDERS["newest-first"])
            total, *rows = self._page(self._slot_keys, [known_total, *positions, *order])
            if rows:
                return [self._record(int(number), raw) for number, raw in zip(*rows, strict=True)], total
            self._known_total = total

    def putting(self, record: Record) -> list[list[str]]:
        """The commands that put a record in its place."""
        identifier = str(record.id)
        return [
            ["HSET", ":records", identifier, as_json(record)],
            ["ZADD", ":ids", identifier, identifier],
            ["ZADD", ":names", "0", self._name(record)],
            *([["ZINCRBY", ":hosts", "1", self._claim(record)]] if self._list_order.host else []),
        ]

    def listing(self, record: Record) -> list[list[str]]:
        """The commands that put a generated record in its place: it is in the lists, and made when it is looked at."""
        return [command for command in self.putting(record) if command[1] in (":ids", ":names")]

    def _read_for_change(self, identifier: int) -> tuple[Record, list[Any], list[list[str]]]:
        """A record, the checks that it is still as it is, and the commands that remove it."""
        raw, score = self._read(self._slot_keys, [identifier])
        if score is None:
            raise UnknownIdError(identifier)
        record, number = self._record(identifier, raw), str(identifier)
        has = [["HGET", ":records", number], raw.decode() if raw else False]
        is_listed = [["ZSCORE", ":ids", number], score.decode()]
        removing = [["HDEL", ":records", number], ["ZREM", ":ids", number], ["ZREM", ":names", self._name(record)]]
        if raw and self._list_order.host:
            removing += [
                ["ZINCRBY", ":hosts", "-1", self._claim(record)],
                ["ZREMRANGEBYSCORE", ":hosts", "-inf", "0"],
            ]
        return record, [has, is_listed], removing

    def _record(self, identifier: int, raw: bytes | None) -> Record:
        if not raw:
            return self._generated.make(identifier)
        return _read_once(identifier, raw) if len(raw) < SHORT_RECORD else _read(identifier, raw)

    def _claim_checks(self, record: Record, *, asks_now: bool) -> list[Any]:
        """The check that no other record has a record's unique value.

        Args:
            record: the record.
            asks_now: whether to ask now, which only needs to be done if the check failed, to know that it was this one.
        """
        if not (self._list_order.is_unique and self._list_order.host):
            return []
        claim, match = self._claim(record), NUMBER.search(self._claim(record))
        number = int(match[0]) if match else 0
        is_taken = asks_now and self._find_claim(self._slot_keys, [claim]) is not None
        if not is_taken and number in self._generated.ids:
            raw, score = self._read(self._slot_keys, [number])
            is_taken = not raw and score is not None and self._claim(self._generated.make(number)) == claim
        if is_taken:
            raise ValueTakenError(claim)
        return [[["ZSCORE", ":hosts", claim], False]]

    def _claim(self, record: Record) -> str:
        host = self._list_order.host
        return _encodable(str(record.values.get(host, "")).lower()) if host else ""

    def _name(self, record: Record) -> str:
        name = str(record.values.get(self._list_order.label, "")).casefold()[:MAX_SORT_LENGTH]
        return f"{_encodable(name)}\0{record.id:016}"

    def _carry_out(self, checks: list[Any], commands: list[list[str]], new: Values, old: Values) -> bool:
        """Write, and count how much more memory that takes."""
        size = (size_of(new) if new else 0) - (size_of(old) if old else 0)
        counters = [self._number, "all"]
        counting = [["HINCRBY", self._written_key, counter, str(size)] for counter in counters]
        limits = [in_memory.MAX_ACCOUNT_BYTES, in_memory.MAX_TOTAL_BYTES]
        plan = {
            "price": self._overhead,
            "written": self._written_key,
            "counted": counters,
            "size": size,
            "most": limits,
        }
        while (
            result := self._namespace.carry_out(self._slot_keys, checks=checks, commands=[*commands, *counting], **plan)
        ) < 0:
            if result == ACCOUNT_GONE:
                raise StoreError("The account was reset while this request was under way; send it again.")
            own_limit = next(iter(FULL))
            if result == own_limit or not self._give_way():
                raise in_memory.full(FULL[result], limits[result != own_limit])
        return bool(result)


def as_json(record: Record) -> str:
    values = {name: _jsonable(value) for name, value in record.values.items()}
    return json.dumps([values, seconds(record.created), record.updated and seconds(record.updated)])


def _jsonable(value: Any) -> Any:
    return [asdict(value)] if isinstance(value, Upload) else value


@lru_cache(2000)  # with the JSON that answers hold
def _read_once(identifier: int, raw: bytes) -> Record:
    return _read(identifier, raw)


def _read(identifier: int, raw: bytes) -> Record:
    values, created, updated = json.loads(raw)
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = Upload(**value[0])
    return Record(identifier, values, moment(int(created)), updated and moment(int(updated)))


def _encodable(text: str) -> str:
    """A text that can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode()


BATCH_SIZE = 500  # generated records


def store_accounts(
    memory: MemoryAccounts, settings: Settings, resources: Iterable[Resource], namespace: Namespace
) -> None:
    """Put all accounts into a store.

    Args:
        memory: the accounts.
        settings: further keys, and how many records are generated.
        resources: the resources.
        namespace: where they come.
    """
    accounts = {key: account for key in memory.keys if (account := memory.get(key))}
    first = next(iter(accounts))
    bases = {key: number for number, key in enumerate(accounts) if key not in settings.api_keys}
    last = {resource.name: accounts[first].collections[resource.name].ids.last for resource in resources}
    start = {"keys": memory.keys, "bases": bases, "records": settings.records, "last": last}
    start["start"] = seconds(memory.now)
    for key, number in bases.items():
        for resource in resources:
            load(namespace, number, resource, accounts[key].collections[resource.name])
    commands = [["SET", namespace.key("ids", name), str(identifier)] for name, identifier in last.items()]
    commands += [["SET", namespace.key("now"), seconds(memory.now)], ["SET", namespace.key("begun"), json.dumps(start)]]
    for number, (key, name) in enumerate(memory.keys.items(), len(bases)):
        slot = AccountSlot(number, bases.get(key, bases[first]), name, shares_ids=key in bases)
        commands += [["HSET", namespace.key("places"), key, json.dumps(asdict(slot))]]
        commands += beginning(namespace, slot, last, memory.now)
    commands += [["SET", namespace.key("count"), str(len(bases) + len(accounts))]]
    namespace.store.ask_all(commands)


def beginning(namespace: Namespace, slot: AccountSlot, last: dict[str, int], now: datetime) -> list[list[str]]:
    """The commands that give a place its clock, its ids and the count of what is written there."""
    number = str(slot.number)
    ids = (
        []
        if slot.shares_ids
        else [["SET", namespace.key("ids", name, number), str(identifier)] for name, identifier in last.items()]
    )
    return [
        ["SET", namespace.key("clock", number), seconds(now)],
        ["HSET", namespace.key("written"), number, "0"],
        *ids,
    ]


def load(namespace: Namespace, number: int, resource: Resource, collection: MemoryCollection) -> None:
    """Put the records of a collection in memory into a place of their own."""
    list_order = list_order_of(resource, "", lambda last: last + 1)
    target = SharedCollection(namespace, AccountSlot(number, number, ""), resource.name, list_order, NO_RECORDS)
    slot_key = namespace.key(str(number), resource.name)
    commands = [["SET", f"{slot_key}:own", "1"]]
    for record in collection.records_in_memory:
        commands += [[name, slot_key + key, *arguments] for name, key, *arguments in target.putting(record)]
    namespace.store.ask_all(commands)
    generated = collection.generated
    for start in range(0, len(generated.ids), BATCH_SIZE):
        list_commands = [
            command
            for number in generated.ids[start : start + BATCH_SIZE]
            for command in target.listing(generated.make(number))
        ]
        for part in (":ids", ":names"):
            pairs = [text for _, key, *arguments in list_commands if key == part for text in arguments]
            namespace.store.ask("ZADD", slot_key + part, *pairs)
