"""Surface: the body of an answer, in which a run masks its keys with all spellings that escape some characters.
Attack: it is megabytes of backslashes, as text, or in the JSON of a refusal.
Holds: it is masked once, however many reports show it, and what is no JSON in its first 262,144 characters alone.
"""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest

from contract_tests.evidence.exchange import Exchange, Request
from contract_tests.evidence.masking import Masking

KEY, BACKSLASHES = "a-secret-key", "\\" * 3_000_000
BODIES = {"text": f"{BACKSLASHES}{KEY}", "JSON": json.dumps({"errors": [{"title": f"{BACKSLASHES}{KEY}"}]})}


@pytest.mark.parametrize(("kind", "max_length"), [("text", 2**18), ("JSON", len(BODIES["JSON"]))])
def test_backslashes_are_masked_once(kind: str, max_length: int) -> None:
    masking, request = Masking.of({KEY: "[key]"}, []), Request("list", "domains", "GET", "/api/domains/")
    exchange = Exchange(request, 1, 400, {}, BODIES[kind].encode())
    with patch.object(Masking, "text", autospec=True, side_effect=Masking.text) as masked:
        bodies = {masking.exchange(exchange).body for _ in range(5)}
    assert sum(len(call.args[1]) for call in masked.call_args_list) <= max_length
    assert [KEY.encode() in body for body in bodies] == [False]
    assert masking.text(r"a\u002dsecret\-key %61-secret-key") == "[key] [key]"
