"""Surface: *Copy as curl* in the console, which makes a command of what any client sent.
Attack: a field, or a body of JSON, holds control characters: one clears the line of a terminal, and a command follows.
Holds: pasted into a terminal, the command starts curl alone, with the very text that the client sent.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
import requests
from wire import Client

from mock_server import MockServer

CONTROLS = "x\x15touch ran\n\tend\x03\x04\x7f\x9b'quoted'"
CURL = '#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done >words\n'


@pytest.mark.parametrize("media_type", ["application/x-www-form-urlencoded", "application/json"])
def test_a_copied_command_is_pasted(tmp_path: Path, server: MockServer, client: Client, media_type: str) -> None:
    body = f"host={CONTROLS}".encode()
    client.request("POST", "/api/domains", body=body, headers={"Content-Type": media_type})
    copied = requests.get(f"{server.base_url}/_mock/journal/1/curl", timeout=60).text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", copied)
    (tmp_path / "curl").write_text(CURL)
    (tmp_path / "curl").chmod(0o755)
    keyboard, terminal = pty.openpty()
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen(["sh", "-i"], env=environment, cwd=tmp_path, stdin=terminal, stderr=subprocess.DEVNULL):
        os.write(keyboard, f"{copied.strip()}\nexit\n".encode())
    os.close(keyboard)
    os.close(terminal)
    assert body in (tmp_path / "words").read_bytes().split(b"\0")
    assert not (tmp_path / "ran").exists()
