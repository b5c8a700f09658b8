"""Surface: the arguments of each command that a script of a finding starts, which every user of a machine can list.
Attack: somebody lists them (`ps`) while the script runs, with the keys of both accounts.
Holds: no argument holds a key, and no file with one is left.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from repro import KEYS, judged, script_text

from contract_tests.repro.trial import BROKEN, run_script
from mock_server import MockServer


def test_a_script_hands_curl_its_keys_in_files(tmp_path: Path) -> None:
    programs, temporary = tmp_path / "bin", tmp_path / "tmp"
    programs.mkdir()
    temporary.mkdir()
    (programs / "curl").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/arguments\nexec {shutil.which("curl")} "$@"\n')
    (programs / "curl").chmod(0o755)
    with MockServer(defects=("other-account-reads",)) as server:
        text = script_text(judged(server, "accounts.*"), BROKEN)
        first_words = f"PATH={programs}{os.pathsep}$PATH\n"
        assert run_script(first_words + text, KEYS | {"TMPDIR": str(temporary)})[0] == BROKEN
    arguments = (tmp_path / "arguments").read_text()
    assert "/api/" in arguments
    assert [key for key in KEYS.values() if key in arguments] == []
    assert list(temporary.iterdir()) == []
