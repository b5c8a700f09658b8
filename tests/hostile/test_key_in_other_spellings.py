"""Surface: answers that a run shows in its reports, which hold none of its keys.
Attack: the server sends the key back in capitals, in hexadecimal, or in entities of HTML.
Holds: no file of the reports and nothing that is printed holds it in any of these spellings.
"""

from __future__ import annotations

from pathlib import Path

from shell import command
from wire import HARBOUR

from mock_server import MockServer

SPELLINGS = {
    "capitals": HARBOUR.upper(),
    "hexadecimal": HARBOUR.encode().hex(),
    "hexadecimal capitals": HARBOUR.encode().hex().upper(),
    "decimal entities": "".join(f"&#{ord(letter)};" for letter in HARBOUR),
    "hexadecimal entities": "".join(f"&#x{ord(letter):x};" for letter in HARBOUR),
    "URL": "".join(f"%{ord(letter):02x}" for letter in HARBOUR),
    "JSON": "".join(f"\\u{ord(letter):04x}" for letter in HARBOUR),
}


def test_a_key_is_masked_however_it_is_written(server: MockServer, tmp_path: Path) -> None:
    page = {"status": 500, "body": "\n".join(SPELLINGS.values()), "headers": {"Content-Type": "text/html"}}
    server.running.force(page | {"method": "POST", "path": "/api/domains", "times": None})
    chosen = ("--explore", "0", "--lag", "0", "--resources", "domains", "--rules", "operations.create-answers")
    ended = command("run", "--base-url", server.base_url, *chosen, "--verbose", "--report-dir", tmp_path)
    assert ended.returncode == 1
    files = {path.name: path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()}
    texts = files | {"output": ended.stdout + ended.stderr}
    assert "record.har" in files
    assert {(name, how) for name, text in texts.items() for how, word in SPELLINGS.items() if word in text} == set()
