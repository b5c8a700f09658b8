"""Surface: forced answers, which each request on a store reads.
Attack: 25 bodies of a megabyte are forced for a sandbox, or 50 headers of 4,000 characters each, 25 times.
Holds: those that would take more than their bound together are refused, and a request reads no more than that.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import redis
from wire import Client, over_network

from mock_server import MockServer, SettingsError
from mock_server.shared.journal import MAX_FORCED_BYTES

FORCED = {"status": 503, "account": "sandbox-a", "times": None}
BODY = FORCED | {"body": "x" * 1_000_000}
HEADERS = FORCED | {"headers": {f"X-{number}": "x" * 4000 for number in range(50)}}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "count"), [(BODY, 1), (HEADERS, 6)], ids=["body", "headers"])
def test_what_is_forced_is_bounded_as_each_request_would_read_it(
    redis_url: str, tmp_path: Path, answer: dict[str, object], count: int
) -> None:
    store = redis.Redis.from_url(redis_url)
    with MockServer(store=redis_url, store_prefix=str(tmp_path)) as server, store:
        for _ in range(count):
            server.running.force(answer)
        for _ in range(25 - count):
            with pytest.raises(SettingsError, match="force shorter bodies and headers, or remove some"):
                server.running.force(answer)
        assert server.running.force(FORCED | {"status": 418}).status == 418
        before = store.info("stats")["total_net_output_bytes"]
        assert Client(over_network(server.base_url)).get("/api/domains/1").status == 200
        assert store.info("stats")["total_net_output_bytes"] - before < 2 * MAX_FORCED_BYTES
