"""Surface: the key of a sandbox for which an answer is forced.
Attack: the key is a pattern that other keys match: `sandbox-*`, `sandbox-[ab]`.
Holds: the sandbox with that very key gets the answer, and no other.
"""

from __future__ import annotations

from wire import HARBOUR, Client, over_network

from mock_server import MockServer

EXPECTED = {"sandbox-*": 503, "sandbox-[ab]": 503, "sandbox-a": 200, "sandbox-mine": 200, HARBOUR: 200}


def test_what_is_forced_for_one_sandbox_is_not_for_those_whose_keys_its_key_matches(server: MockServer) -> None:
    for key in ("sandbox-*", "sandbox-[ab]"):
        server.running.force({"status": 503, "account": key, "times": None})
    send = over_network(server.base_url)
    assert {key: Client(send, key).get("/api/domains/").status for key in EXPECTED} == EXPECTED
