"""Surface: the answer to a create, from which the script of a finding takes the id of its record.
Attack: it holds no id, or refuses what it has done, so that the next path would be that of the whole collection.
Holds: the script writes nothing more after its create.
"""

from __future__ import annotations

import pytest
from repro import KEYS, UPDATES, judged, script_text

from contract_tests.repro.trial import BROKEN, UNCLEAR, run_script
from mock_server import MockServer


@pytest.mark.parametrize("defect", ["create-tells-no-id", "creates-are-done-and-fail"])
def test_a_script_whose_create_answers_no_id_writes_nothing_more(defect: str) -> None:
    with MockServer(defects=("update-resets-the-name",)) as server:
        text = script_text(judged(server, UPDATES), BROKEN)
    with MockServer(defects=(defect,)) as server:
        assert run_script(text, KEYS | {"BASE_URL": server.base_url})[0] == UNCLEAR
        entries = server.running.journal.find()
    assert [(entry.method, entry.path) for entry in entries if entry.method != "GET"] == [("POST", "/api/projects")]
