"""A store in Redis: each change is a script, which Redis carries out as one step if nothing else changed meanwhile."""

import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

from link_management_contract.texts import shown_url
from mock_server.errors import Refusal, SettingsError, extra, without_secrets_of

PREFIX = re.compile(r"[\w ./-]{1,200}", re.ASCII)
SECONDS_TO_ANSWER = 5  # for one command
SECONDS_OF_REST = 2.0  # after a command without an answer, during which no other is sent
SECONDS_OF_GRACE = 20  # for which what is replaced can still be read
# Gives a key a lifetime, unless it was replaced and is in its grace.
KEEP = """
local left = redis.call('TTL', KEYS[1])
if left == -1 or left > tonumber(ARGV[2]) then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
"""
PIECE = 1000  # commands sent at a time
FULL = {-2: "This account", -3: "All accounts together"}  # by what a plan returns that would take too much memory
RESET, ACCOUNT_GONE = -1, -4  # what a script returns if the mock was reset meanwhile, and if an account was
RENEWALS = 4  # of all keys, in a lifetime
Command = Sequence[str]
Result = TypeVar("Result")

# Carries a plan out if no check fails: 1, or 0 if one does; -1 if the mock was reset, -4 if the account was, -2 or -3
# if it takes too much memory. Keys that begin with a colon are those of one collection; one that shares the records of
# another has its own copy before its first change.
PLAN = """
local plan = cjson.decode(ARGV[1])
local own, base = KEYS[1], KEYS[2]
local owns = own and redis.call('EXISTS', own .. ':own') == 1
local function run(command, at)
  if string.sub(command[2], 1, 1) == ':' then command[2] = at .. command[2] end
  return redis.call(unpack(command))
end
if plan.epoch and redis.call('GET', plan.epoch[1]) ~= plan.epoch[2] then return -1 end
if plan.written and redis.call('HEXISTS', plan.written, plan.counted[1]) == 0 then return -4 end
for _, check in ipairs(plan.checks) do
  if run(check[1], owns and own or base) ~= check[2] then return 0 end
end
if type(plan.room) == 'table' and redis.call('ZCARD', plan.room[1]) >= plan.room[2] then return 0 end
local price = own and not owns and redis.call('ZCARD', base .. ':ids') * plan.price or 0
if plan.size and plan.size > 0 then
  for number, field in ipairs(plan.counted) do
    local written = tonumber(redis.call('HGET', plan.written, field) or 0)
    if written + plan.size + price > plan.most[number] then return -1 - number end
  end
end
if own and not owns then
  for _, name in ipairs({':records', ':ids', ':names', ':hosts'}) do redis.call('COPY', base .. name, own .. name) end
  for _, field in ipairs(plan.counted) do redis.call('HINCRBY', plan.written, field, price) end
  redis.call('SET', own .. ':own', '1')
  if plan.lifetime > 0 then redis.call('EXPIRE', own .. ':own', plan.lifetime) end
end
for _, command in ipairs(plan.commands) do
  run(command, own)
  if plan.lifetime > 0 and command[1] ~= 'EXPIRE' then redis.call('EXPIRE', command[2], plan.lifetime) end
end
return 1
"""

SILENT = "The store behind this mock does not answer; send the request again later."

log = logging.getLogger("mock_server")


class StoreError(Refusal):
    """The store did not carry out what a request needs; whether it did in part is not known."""

    def __init__(self, title: str) -> None:
        super().__init__("503", title, mistake=False)


class FullStoreError(StoreError):
    """The store has no room for what a request writes."""


class DamagedHeadError(StoreError):
    """What all processes look at before each request is not what a mock wrote."""


class Store:
    """A database of a Redis server.

    Args:
        url: such as `redis://localhost/0`, with user and password if it needs them; `rediss://` for TLS.
        prefix: what its keys begin with.
        lifetime: for how many seconds keys are kept after the last request, at least; if 0, for ever.

    Attributes:
        lifetime: of all keys but the head, in seconds; if 0, they have none.
        heads: counts the heads that this process has followed.

    Raises:
        SettingsError: if the prefix is none, redis-py is missing, or no server answers.
    """

    def __init__(self, url: str, prefix: str, lifetime: int = 0) -> None:
        if not PREFIX.fullmatch(prefix):
            raise SettingsError(f'invalid prefix "{prefix}": expected letters, digits, spaces and . _ / -, 200 at most')
        try:
            redis = import_module("redis")
        except ImportError as error:
            raise SettingsError(
                f"--store needs redis-py 6 or later; install it, or {extra('redis')}: {error}"
            ) from error
        self.heads = 0
        self.prefix, self.lifetime, self._renewed = prefix, 2 * lifetime, -float("inf")
        self._lifetime, self._rests_until = lifetime, 0.0
        errors = redis.exceptions
        self._error, self._slow, self._full = errors.RedisError, errors.TimeoutError, errors.OutOfMemoryError
        no_retry = import_module("redis.retry").Retry(
            import_module("redis.backoff").NoBackoff(), 0
        )  # no write is repeated
        patience = {"socket_timeout": SECONDS_TO_ANSWER, "socket_connect_timeout": SECONDS_TO_ANSWER}
        try:
            self._redis = redis.Redis.from_url(url, **patience, retry=no_retry, health_check_interval=10)
            self._redis.ping()
        except (redis.exceptions.RedisError, ValueError, TypeError, OSError) as error:  # the latter for its options
            reason = without_secrets_of(url, str(error).rstrip("."))
            raise SettingsError(
                f"the store {shown_url(url)} cannot be used: {reason}; start Redis there, or give another URL"
            ) from error
        self._scripts: dict[str, Callable[..., Any]] = {}
        self._plan, self._keep = self.script(PLAN), self.script(KEEP)
        self.grace = str(min(SECONDS_OF_GRACE, max(1, lifetime // (2 * RENEWALS))) if lifetime else SECONDS_OF_GRACE)
        self._head = f"{prefix}:head"

    def script(self, text: str) -> Callable[..., Any]:
        """A function that Redis carries out as one step; takes its keys and its arguments."""
        if text not in self._scripts:
            self._scripts[text] = partial(self._call_script, self._redis.register_script(text))
        return self._scripts[text]

    def _call_script(self, script: Any, keys: Sequence[str], args: Sequence[Any]) -> Any:
        with self._reached():
            return script(keys, args)

    def ask(self, *command: str) -> Any:
        """The reply to a command; texts are bytes."""
        with self._reached():
            return self._redis.execute_command(*command)

    def ask_all(self, commands: Sequence[Command]) -> list[Any]:
        """The replies to several commands, between which others may come."""
        replies: list[Any] = []
        with self._reached():
            for start in range(0, len(commands), PIECE):
                pipeline = self._redis.pipeline(transaction=False)
                for command in commands[start : start + PIECE]:
                    pipeline.execute_command(*command)
                replies += pipeline.execute()
        return replies

    def carry_out(self, keys: Sequence[str] = (), **plan: Any) -> int:
        """Carry a plan out as one step.

        Args:
            keys: the place of a collection, and that of the records it shares until its first change.
            plan: `checks` are pairs of a command and the reply that it must have; `commands` come after them.

        Returns:
            1, or 0 if a check failed, or -1 if the epoch is over.
        """
        outcome: int = self._plan(keys, [json.dumps({"lifetime": self.lifetime, "checks": [], **plan})])
        return outcome

    @property
    def head(self) -> bytes | None:
        """What all processes look at before each request, as JSON; None if there is none yet."""
        head_json: bytes | None = self.ask("GET", self._head)
        return head_json

    def read_head(self, raw: bytes | None) -> dict[str, Any]:
        """What the head says; empty if there is none.

        Raises:
            DamagedHeadError: if it is not what a mock wrote.
        """
        try:
            head = json.loads(raw or b"{}")
        except ValueError:
            head = None
        parts = {"epoch": int, "start": dict, "switches": dict, "meant": dict}
        if isinstance(head, dict) and all(isinstance(head.get(name), kind) for name, kind in parts.items() if head):
            return head
        title = (
            f'The store holds something under "{self._head}" that no mock wrote; reset the mock, or delete that key.'
        )
        raise DamagedHeadError(title)

    def edit(self, change: Callable[[dict[str, Any]], Result], *, may_be_missing: bool = False) -> Result:
        """Change the head, with no other change in between.

        Args:
            change: changes an object; it may be called again.
            may_be_missing: whether there may be no head yet, or a damaged one; the object is then empty.

        Raises:
            StoreError: if there is none.
        """
        while True:
            before = self.head
            if before is None and not may_be_missing:
                raise StoreError("The store has lost what this mock held; send the request again.")
            checks = []
            try:
                head = self.read_head(before)
                checks = [[["GET", self._head], before.decode() if before else False]]
            except DamagedHeadError:
                if not may_be_missing:
                    raise
                head = {}
            result = change(head)
            commands = [["SET", f"{self.prefix}:epoch", str(head.get("epoch"))], ["SET", self._head, json.dumps(head)]]
            commands += [["EXPIRE", self._head, self._shorter]] if self.lifetime else []
            if self.carry_out(checks=checks, commands=commands):
                return result

    def renew(self) -> None:
        """Let all keys live on, if they have a lifetime and none did that lately."""
        now = time.monotonic()
        if not self.lifetime or now - self._renewed < self._lifetime / RENEWALS / 2:
            return
        self._renewed = now
        with suppress(FullStoreError):
            if self.ask("SET", f"{self.prefix}:renewed", "1", "NX", "EX", str(max(1, self._lifetime // RENEWALS))):
                self.keep()

    def keep(self) -> None:
        """Give all keys their lifetime, from now on."""
        if self.lifetime:
            for key in self._keys():
                if key not in (self._head, f"{self.prefix}:renewed"):
                    self._keep([key], [self.lifetime, self.grace])
            self.ask("EXPIRE", self._head, self._shorter)

    @property
    def _shorter(self) -> str:
        """The lifetime of the head, the first key to expire: as long as it is there, so is all that it refers to.

        The last renewal may have been three eighths of the promised time before the last request.
        """
        return str(self._lifetime + max(1, self._lifetime // 2))

    def remove(self, *parts: str) -> None:
        """Let all keys that begin in a way expire, once requests under way are over."""
        self.ask_all([["EXPIRE", key, self.grace] for key in self._keys(*parts)])

    def _keys(self, *parts: str) -> list[str]:
        pattern = ":".join((_literal(self.prefix), *parts, "*"))
        with self._reached():
            return [key.decode() for key in self._redis.scan_iter(pattern, PIECE)]

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Send commands, unless Redis has just left one without an answer: then the next try waits for a moment."""
        now = time.monotonic()
        if now < self._rests_until:
            raise StoreError(SILENT)
        if self._rests_until:  # one request tries whether Redis answers again, while others still fail at once
            self._rests_until = now + SECONDS_TO_ANSWER
        try:
            yield
        except self._full as error:
            self._rests_until = 0.0
            log.warning("The store is full: %s", error)
            raise FullStoreError("The store behind this mock is full: free some memory, or reset the mock.") from error
        except self._error as error:
            self._rests_until = time.monotonic() + SECONDS_OF_REST if isinstance(error, self._slow) else 0.0
            log.warning("The store did not answer: %s", error)
            raise StoreError(SILENT) from error
        self._rests_until = 0.0


@dataclass(frozen=True, slots=True)
class Namespace:
    """The part of a store for what one start or reset began; the next has another.

    Attributes:
        store: the store.
        epoch: grows with each start and reset.
        is_empty: whether it is still to be filled.
    """

    store: Store
    epoch: int
    is_empty: bool = False

    def key(self, *parts: str) -> str:
        return ":".join((self.store.prefix, str(self.epoch), *parts))

    def carry_out(self, keys: Sequence[str] = (), **plan: Any) -> int:
        """Carry a plan out as one step; whether its checks held, or a number of `FULL` if there is no room.

        Raises:
            StoreError: if the mock was reset meanwhile.
        """
        return self.check_not_reset(self.store.carry_out(keys, epoch=self.epoch_check, **plan))

    @property
    def epoch_check(self) -> tuple[str, str]:
        """A key, and the value that it has until the mock is reset."""
        return f"{self.store.prefix}:epoch", str(self.epoch)

    @staticmethod
    def check_not_reset(outcome: int) -> int:
        """What a script returned, if it found that the mock was not reset.

        Raises:
            StoreError: if it was.
        """
        if outcome == RESET:
            raise StoreError("The mock was reset while this request was under way; send it again.")
        return outcome


def _literal(text: str) -> str:
    """A pattern that matches a text alone."""
    return "".join(f"\\{character}" if character in "*?[]\\^" else character for character in text)
