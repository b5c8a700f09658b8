"""The journal, the effects, the snapshots and the files of several processes, in Redis."""

import json
import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any, TypeVar

from mock_server.effects.effect import MAX_BODY_BYTES, Effect, State
from mock_server.errors import SettingsError
from mock_server.http.masking import masked_key
from mock_server.journal.journal import (
    MAX_ANSWER_BYTES,
    MAX_BYTES,
    Count,
    Entry,
    File,
    RawEntry,
    Remark,
    matches,
)
from mock_server.shared.store import FullStoreError, Namespace, Store, StoreError
from mock_server.store.records import BARE_FILE, LIMIT, Upload

SECONDS_TO_LOOK = 0.2  # for new requests, while somebody follows them
Result = TypeVar("Result")

# Keeps a request and drops the oldest ones if there is no room; returns its number.
KEEP_ENTRY = """
local at, entry, answer, remarks = KEYS[1], ARGV[1], ARGV[2], cjson.decode(ARGV[3])
local most, most_bytes, most_of_answers, lifetime = unpack(cjson.decode(ARGV[4]))
local function drop(kind)
  local oldest = redis.call('LPOP', at .. kind .. '-order')
  redis.call('DECRBY', at .. kind .. '-bytes', redis.call('HSTRLEN', at .. kind, oldest))
  redis.call('HDEL', at .. kind, oldest)
end
local function keep(kind, number, text)
  redis.call('HSET', at .. kind, number, text)
  redis.call('RPUSH', at .. kind .. '-order', number)
  return redis.call('INCRBY', at .. kind .. '-bytes', #text)
end
local number = redis.call('INCR', at .. ':count')
keep(':entries', number, entry)
while redis.call('LLEN', at .. ':entries-order') > most
   or tonumber(redis.call('GET', at .. ':entries-bytes')) > most_bytes do drop(':entries') end
if #answer > 0 then
  keep(':answers', number, answer)
  while tonumber(redis.call('GET', at .. ':answers-bytes')) > most_of_answers do drop(':answers') end
end
for _, remark in ipairs(remarks) do
  local known = redis.call('HEXISTS', at .. ':remarked', remark[1]) == 1
  if known or redis.call('HLEN', at .. ':remarked') < most then
    redis.call('HINCRBY', at .. ':remarked', remark[1], 1)
    redis.call('HSETNX', at .. ':first', remark[1], remark[2])
  end
end
if lifetime > 0 then
  for _, name in ipairs({':count', ':entries', ':entries-order', ':entries-bytes', ':answers', ':answers-order',
                         ':answers-bytes', ':remarked', ':first'}) do redis.call('EXPIRE', at .. name, lifetime) end
end
return number
"""


class SharedJournal:
    """The latest requests that any of the processes answered.

    Args:
        store: where they are.
        most_entries: how many are kept.
    """

    def __init__(self, store: Store, most_entries: int) -> None:
        self.most_entries = most_entries
        self._store, self._at = store, f"{store.prefix}:journal"
        self._add = store.script(KEEP_ENTRY)

    def add(self, request: RawEntry | Entry, answer: bytes = b"") -> None:
        entry = request.complete()
        first = json.dumps([f"{entry.method} {entry.target}", entry.account])
        remarks = [[json.dumps([remark.what, remark.rule]), first] for remark in entry.remarks if not remark.is_meant]
        bounds = [self.most_entries, MAX_BYTES, MAX_ANSWER_BYTES, self._store.lifetime]
        arguments = [
            json.dumps(asdict(entry)),
            masked_key(request.key, answer),
            json.dumps(remarks),
            json.dumps(bounds),
        ]
        with suppress(FullStoreError):  # the request is answered all the same
            entry.number = int(self._add([self._at], arguments))

    @property
    def remark_counts(self) -> dict[tuple[str, str], Count]:
        times, first = self._store.ask_all([["HGETALL", f"{self._at}:remarked"], ["HGETALL", f"{self._at}:first"]])
        return {
            (text, rule): Count(int(count), *json.loads(first[remark_key]))
            for remark_key, count in times.items()
            for text, rule in [json.loads(remark_key)]
        }

    def find(self, **filters: str) -> list[Entry]:
        return [entry for entry in self._all_entries() if matches(entry, filters)]

    def entry(self, number: int) -> Entry | None:
        entry_json = self._store.ask("HGET", f"{self._at}:entries", str(number))
        return _entry(number, entry_json) if entry_json else None

    @property
    def exchanges(self) -> list[tuple[Entry, bytes | None]]:
        entries = self._all_entries()
        answers = self._ask_for("answers", [entry.number for entry in entries])
        return [
            (entry, (b"" if not entry.answer else None) if answer is None else answer)
            for entry, answer in zip(entries, answers, strict=True)
        ]

    def clear(self) -> None:
        kinds = ("entries", "answers")
        names = [*kinds, *(f"{kind}-{part}" for kind in kinds for part in ("order", "bytes")), "remarked", "first"]
        self._store.carry_out(commands=[["UNLINK", f"{self._at}:{name}"] for name in names])

    def follow(self, seconds: float, **filters: str) -> Iterator[Entry | None]:
        last = int(filters.pop("after")) if "after" in filters else self._latest
        while True:
            try:
                new = self._after(last, seconds)
            except StoreError:
                time.sleep(seconds)
                new = []
            last = max([last, *(entry.number for entry in new)])
            matching = [entry for entry in new if matches(entry, filters)]
            yield from matching
            if not matching:
                yield None

    def _after(self, last: int, seconds: float) -> list[Entry]:
        """The requests after one, once there are any, or some seconds have passed."""
        deadline = time.monotonic() + seconds
        while (latest := self._latest) <= last and time.monotonic() < deadline:
            time.sleep(min(SECONDS_TO_LOOK, seconds))
        return self._read(range(max(last, latest - self.most_entries) + 1, latest + 1))

    @property
    def _latest(self) -> int:
        return int(self._store.ask("GET", f"{self._at}:count") or 0)

    def _all_entries(self) -> list[Entry]:
        return self._read([int(number) for number in self._store.ask("LRANGE", f"{self._at}:entries-order", "0", "-1")])

    def _read(self, numbers: Sequence[int]) -> list[Entry]:
        return [
            _entry(number, entry_json)
            for number, entry_json in zip(numbers, self._ask_for("entries", numbers), strict=True)
            if entry_json is not None
        ]

    def _ask_for(self, kind: str, numbers: Sequence[int]) -> list[bytes | None]:
        raw: list[bytes | None] = self._store.ask("HMGET", f"{self._at}:{kind}", *map(str, numbers)) if numbers else []
        return raw


def _entry(number: int, entry_json: bytes) -> Entry:
    values = json.loads(entry_json) | {"number": number}
    values["files"] = {name: File(**file) for name, file in values["files"].items()}
    values["remarks"] = [Remark(**remark) for remark in values["remarks"]]
    return Entry(**{field.name: values[field.name] for field in fields(Entry) if field.name in values})


MAX_FORCED_BYTES = MAX_BODY_BYTES + 2**18  # bytes of JSON of all that is forced: a long body, and the rest


class SharedEffects:
    """Keeps the effects in the head that all processes look at before each request.

    Args:
        store: where the head is.
    """

    def __init__(self, store: Store) -> None:
        self.state = State()
        self._store = store

    def follow(self, head: dict[str, Any]) -> None:
        """Take over what the head says."""
        self.state = _state(head)

    def change(self, change: Callable[[State], Result]) -> Result:
        def edit(head: dict[str, Any]) -> Result:
            state = _state(head)
            count = len(state.effects)
            result = change(state)
            effects = [asdict(effect) for effect in state.effects]
            if len(effects) > count and len(json.dumps(effects, ensure_ascii=False).encode()) > MAX_FORCED_BYTES:
                raise SettingsError(
                    f"each request on a store reads all that is forced, which takes {MAX_FORCED_BYTES:,} bytes"
                    " at most; force shorter bodies and headers, or remove some"
                )
            head |= {"forced": effects, "forced_count": state.count}
            return result

        return self._store.edit(edit)


def _state(head: dict[str, Any]) -> State:
    return State([Effect(**effect) for effect in head.get("forced", ())], head.get("forced_count", 0))


# Keeps a snapshot if there is room for it: 1, or 0.
SNAPSHOT = """
local at, name, text, most, most_bytes, lifetime = KEYS[1], ARGV[1], ARGV[2], unpack(cjson.decode(ARGV[3]))
local bytes = #text - redis.call('HSTRLEN', at, name)
for _, other in ipairs(redis.call('HKEYS', at)) do bytes = bytes + redis.call('HSTRLEN', at, other) end
if bytes > most_bytes or redis.call('HEXISTS', at, name) == 0 and redis.call('HLEN', at) >= most then return 0 end
redis.call('HSET', at, name, text)
if lifetime > 0 then redis.call('EXPIRE', at, lifetime) end
return 1
"""


class SharedSnapshots(MutableMapping[str, str]):
    """Fixtures by name, as YAML, in Redis.

    Args:
        store: where they are.
        limit: how many there may be.
        most_bytes: how much they may take together.
    """

    def __init__(self, store: Store, limit: int, most_bytes: int) -> None:
        self._store, self._key, self._bounds = store, f"{store.prefix}:snapshots", (limit, most_bytes)
        self._keep = store.script(SNAPSHOT)

    def __getitem__(self, name: str) -> str:
        fixture_json: bytes | None = self._store.ask("HGET", self._key, name)
        if fixture_json is None:
            raise KeyError(name)
        return fixture_json.decode()

    def __setitem__(self, name: str, text: str) -> None:
        """Keep a fixture.

        Raises:
            SettingsError: if there is no room for it, which other processes may just have taken.
        """
        if not self._keep([self._key], [name, text, json.dumps([*self._bounds, self._store.lifetime])]):
            limit, most_bytes = self._bounds
            raise SettingsError(f"there may be {limit} snapshots, of {most_bytes >> 20} MiB together; delete one")

    def __delitem__(self, name: str) -> None:
        if not self._store.ask("HDEL", self._key, name):
            raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(name.decode() for name in self._store.ask("HKEYS", self._key)))

    def __len__(self) -> int:
        return int(self._store.ask("HLEN", self._key))


# Keeps a file and drops the oldest ones if there is no room; returns its number, or -1 if the mock was reset.
KEEP_FILE = """
if tonumber(redis.call('GET', KEYS[2]) or 0) > tonumber(ARGV[6]) then return -1 end
local at, limit, bare, lifetime = KEYS[1], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local number = redis.call('INCR', at .. ':count')
redis.call('HSET', at .. ':types', number, ARGV[1])
redis.call('HSET', at .. ':contents', number, ARGV[2])
redis.call('RPUSH', at .. ':order', number)
local bytes = redis.call('INCRBY', at .. ':bytes', #ARGV[2] + bare)
while bytes > limit do
  local oldest = redis.call('LPOP', at .. ':order')
  bytes = redis.call('DECRBY', at .. ':bytes', redis.call('HSTRLEN', at .. ':contents', oldest) + bare)
  redis.call('HDEL', at .. ':contents', oldest)
  redis.call('HDEL', at .. ':types', oldest)
end
if lifetime > 0 then
  local names = {':count', ':types', ':contents', ':order', ':bytes'}
  for _, name in ipairs(names) do redis.call('EXPIRE', at .. name, lifetime) end
end
return number
"""


class SharedUploads:
    """The content of the latest files, in Redis.

    Args:
        namespace: where it is.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace, self._at = namespace, namespace.key("uploads")
        self._add = namespace.store.script(KEEP_FILE)

    def add(self, name: str, media_type: str, content: bytes) -> Upload:
        """Keep a file, and drop the oldest ones if there is no room.

        Raises:
            StoreError: if the mock was reset meanwhile.
        """
        lifetime, (key, epoch) = self._namespace.store.lifetime, self._namespace.epoch_check
        number = self._add([self._at, key], [media_type, content, LIMIT, BARE_FILE, lifetime, epoch])
        return Upload(name, media_type, len(content), self._namespace.check_not_reset(number))

    def content(self, upload: Upload) -> bytes | None:
        file_found = self.find(upload.key)
        return file_found and file_found[1]

    def find(self, key: int) -> tuple[str, bytes] | None:
        hash_keys = (f"{self._at}:types", f"{self._at}:contents")
        media_type, content = self._namespace.store.ask_all([["HGET", hash_key, str(key)] for hash_key in hash_keys])
        return None if content is None else (media_type.decode(), content)
