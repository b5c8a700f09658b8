"""Clients of all kinds, tried as their authors would: careful ones survive, and what is planted in one is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shell import MOCK_SERVER, NODE, ROOT, ended, installed

from mock_server import MockServer

CLIENTS, GENERATORS, REACT = ROOT / "tests" / "clients", ROOT / "tests" / "generators", ROOT / "examples" / "react"
CHOICES = (
    "create-status",
    "delete-status",
    "domain-starts",
    "ids",
    "invalid-field",
    "last-datetime-after-update",
    "media-type",
    "order",
    "page-past-the-end",
    "unknown-id",
    "update-status",
    "write-answer",
)
BUNDLE = ("--bundle", "--platform=node", "--format=esm", "--log-level=error")
STRICT = ("--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "preserve", "--types", "node")


def verdict(folder: Path, *command: str | Path, options: tuple[str, ...] = (), **more: str) -> dict[str, Any]:
    """The results of trying a client; its name is first."""
    line: list[str | Path] = [MOCK_SERVER, "try", "--jobs", "8", "--report-dir", folder, *options, "--", *command]
    done = subprocess.run(line, env=os.environ | more, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    results: dict[str, Any] = json.loads((folder / "results.json").read_text("utf-8"))
    return results


def named(results: dict[str, Any]) -> set[str]:
    """All that a client relies on."""
    return {each["name"] for each in results["variations"] if each["result"] == "failed"}


@pytest.mark.slow
def test_each_of_twelve_choices_on_which_a_client_relies_is_named_and_nothing_else(tmp_path: Path) -> None:
    options = ("--vary", "open")
    results = verdict(tmp_path, sys.executable, CLIENTS / "planted.py", options=options, PLANTED=",".join(CHOICES))
    assert named(results) == {*CHOICES}
    assert not any(each.get("together") for each in results["variations"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("lost-create", {"lost-create"}),
        ("429-retry-after", {"429-retry-after"}),
        ("500-once", {"500-once"}),
        ("expired-key", {"expired-key"}),
        ("lag", {"lag"}),
        ("deleted-meanwhile", {"deleted-meanwhile", "lost-delete"}),  # for the client, both are a record that is gone
    ],
)
def test_the_trouble_that_a_client_does_not_take_is_named_and_nothing_else(
    planted: str, found: set[str], tmp_path: Path
) -> None:
    results = verdict(tmp_path, sys.executable, CLIENTS / "planted.py", options=("--vary", "trouble"), PLANTED=planted)
    assert named(results) == found


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        (sys.executable, CLIENTS / "planted.py"),
        (sys.executable, CLIENTS / "with_requests.py"),
        pytest.param(("node", CLIENTS / "with_fetch.mjs"), marks=NODE),
        ("bash", CLIENTS / "with_curl.sh"),
    ],
    ids=["urllib", "requests", "fetch", "curl"],
)
def test_a_careful_client_survives(command: tuple[str | Path, ...], tmp_path: Path) -> None:
    results = verdict(tmp_path, *command)
    assert named(results) == set()
    kinds = [each["kind"] for each in results["variations"]]
    assert kinds.count("open") > 28
    assert kinds.count("trouble") == 16


@pytest.mark.slow
@NODE
def test_a_careful_client_that_was_generated_survives(server: MockServer, tmp_path: Path) -> None:
    installed("generators")
    for file in (CLIENTS / "generated.ts", REACT / "src" / "patience.ts"):
        shutil.copy(file, tmp_path)
    (tmp_path / "node_modules").symlink_to(GENERATORS / "node_modules")
    tools = tmp_path / "node_modules" / ".bin"
    source = f"{server.base_url}/openapi.client.yaml"
    ended(tools / "openapi-ts", "--input", source, "--output", "client", "--silent", cwd=tmp_path)
    ended(tools / "tsc", *STRICT, "generated.ts", cwd=tmp_path)
    ended(tools / "esbuild", "generated.ts", *BUNDLE, "--outfile=generated.mjs", cwd=tmp_path)
    assert named(verdict(tmp_path / "report", "node", tmp_path / "generated.mjs")) == set()
