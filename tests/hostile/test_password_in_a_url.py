"""Surface: the URLs that the commands take, some of which are refused.
Attack: they hold a password, which may hold any character itself, or a token in their query.
Holds: what the command prints shows neither.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import command, in_process

from mock_server import cli

PASSWORDS = ("Kolibri", "s/Kolibri", "s?Kolibri", "s@Kolibri", "s#Kolibri")
URLS = [
    *(f"https://Zeisig:{password}@links.example.com" for password in PASSWORDS),
    "https://links.example.com/?token=Kolibri",
    "Zeisig:Kolibri@links.example.com",
]


@pytest.mark.parametrize("url", URLS)
def test_a_refused_url_shows_no_secret(tmp_path: Path, url: str) -> None:
    (tmp_path / "record.har").write_text('{"log": {"entries": []}}')
    refused = [
        command("run", "--base-url", url),
        command("run", "--base-url", "http://127.0.0.1:9", "--public-base-url", url),
        command("judge", tmp_path / "record.har", "--base-url", url),
        in_process(cli.main, "--public-base-url", url),
        in_process(cli.main, "--forward-to", url),
    ]
    for ended in refused:
        assert ended.returncode in (2, 4)
        assert "links.example.com" in ended.stderr
        assert "Zeisig" not in ended.stdout + ended.stderr
        assert "Kolibri" not in ended.stdout + ended.stderr
