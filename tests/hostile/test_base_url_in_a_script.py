"""Surface: the base URL of a run, which stands in each script of a finding.
Attack: its path is a command of the shell, by substitution or after the end of a word.
Holds: the script runs no such command, and asks for that path.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from repro import KEYS, TOTALS, judged, script_text
from upstream import Upstream, answer

from contract_tests.options import checked_url
from contract_tests.repro.trial import BROKEN, run_script
from mock_server import MockServer

PATHS = ("/$(hostile)`hostile`};hostile;", "/';hostile;'\";hostile;\"")


def test_a_base_url_is_no_command(tmp_path: Path) -> None:
    (tmp_path / "hostile").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "hostile").chmod(0o755)
    with MockServer(defects=("total-is-one-more",)) as server:
        found = judged(server, TOTALS)
    with Upstream(answer()) as other:
        for path in PATHS:
            text = script_text(replace(found, base_url=checked_url(other.url + path)), BROKEN)
            run_script(f"PATH={tmp_path}{os.pathsep}$PATH\n{text}", KEYS)
    assert {request.split()[1].decode().partition("/api/")[0] for request in other.requests} == {*PATHS}
    assert not (tmp_path / "ran").exists()
