"""Uploaded files in Redis."""

from __future__ import annotations

from mock_server.shared.store import Space
from mock_server.store.uploads import BARE, LIMIT, Upload, Uploads

# Keeps a file and drops the oldest ones if there is no room; returns its number, or -1 if the mock was reset.
ADD = """
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


class SharedUploads(Uploads):
    """The content of the latest files, in Redis.

    Args:
        space: where it is.
    """

    def __init__(self, space: Space) -> None:
        self._space, self._at = space, space.key("uploads")
        self._add = space.store.script(ADD)

    def add(self, name: str, media_type: str, content: bytes) -> Upload:
        """Keep a file, and drop the oldest ones if there is no room.

        Raises:
            StoreError: if the mock was reset meanwhile.
        """
        lifetime, (key, epoch) = self._space.store.lifetime, self._space.epoch_check
        number = self._add([self._at, key], [media_type, content, LIMIT, BARE, lifetime, epoch])
        return Upload(name, media_type, len(content), self._space.still(number))

    def content(self, upload: Upload) -> bytes | None:
        """The content of a file, or None if it was dropped."""
        found = self.find(upload.key)
        return found and found[1]

    def find(self, key: int) -> tuple[str, bytes] | None:
        """The media type and content of a file by its key, or None if it was dropped."""
        places = (f"{self._at}:types", f"{self._at}:contents")
        media_type, content = self._space.store.ask_all([["HGET", each, str(key)] for each in places])
        return None if content is None else (media_type.decode(), content)
