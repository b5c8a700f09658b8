"""Surface: the bodies of forced answers, which each request on a store reads.
Attack: 25 bodies of a megabyte are forced for a sandbox.
Holds: those that would take more than their bound together are refused, and a request reads no more than that.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import redis
from wire import Client, over_network

from mock_server import MockServer, SettingsError
from mock_server.effects.effect import MAX_BODY_BYTES

BODY = {"status": 503, "body": "x" * 1_000_000, "account": "sandbox-a", "times": None}


@pytest.mark.slow
def test_forced_bodies_that_each_request_would_read_are_bounded(redis_url: str, tmp_path: Path) -> None:
    store = redis.Redis.from_url(redis_url)
    with MockServer(store=redis_url, store_prefix=str(tmp_path)) as server, store:
        server.running.force(BODY)
        for _ in range(24):
            with pytest.raises(SettingsError, match="force shorter ones, or remove some"):
                server.running.force(BODY)
        assert server.running.force({"status": 418, "account": "sandbox-a", "times": None}).status == 418
        before = store.info("stats")["total_net_output_bytes"]
        assert Client(over_network(server.base_url)).get("/api/domains/1").status == 200
        assert store.info("stats")["total_net_output_bytes"] - before < 2 * MAX_BODY_BYTES
