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
from mock_server.trial.runs import MAX_KEPT, Command
from mock_server.trial.variations import Variation

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
TROUBLE = {  # what a client does not take, and what is named then
    "lost-create": ("lost-create", "502-once"),  # after either, it may be done
    "429-retry-after": ("429-retry-after",),
    "500-once": ("500-once",),
    "expired-key": ("expired-key",),
    "lag": ("lag",),
    "deleted-meanwhile": ("deleted-meanwhile", "lost-delete"),  # for the client, both are a record that is gone
}
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
    """All that a client relies on, and the trouble in which it gives up."""
    return {each["name"] for each in results["variations"] if each["result"] in ("failed", "gave up")}


@pytest.mark.slow
@pytest.mark.parametrize("choices", [CHOICES[::4], pytest.param(CHOICES, marks=pytest.mark.exhaustive)], ids=len)
def test_each_choice_on_which_a_client_relies_is_named_and_nothing_else(
    choices: tuple[str, ...], tmp_path: Path
) -> None:
    options = ("--vary", "open")
    results = verdict(tmp_path, sys.executable, CLIENTS / "planted.py", options=options, PLANTED=",".join(choices))
    assert named(results) == {*choices}
    assert not any(each.get("together") for each in results["variations"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "planted", [[*TROUBLE], *(pytest.param([each], marks=pytest.mark.exhaustive) for each in TROUBLE)], ids="+".join
)
def test_the_trouble_that_a_client_does_not_take_is_named_and_nothing_else(planted: list[str], tmp_path: Path) -> None:
    options = ("--vary", "trouble")
    results = verdict(tmp_path, sys.executable, CLIENTS / "planted.py", options=options, PLANTED=",".join(planted))
    assert named(results) == {name for each in planted for name in TROUBLE[each]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        pytest.param((sys.executable, CLIENTS / "planted.py"), marks=pytest.mark.exhaustive),
        pytest.param((sys.executable, CLIENTS / "with_requests.py"), marks=pytest.mark.exhaustive),
        pytest.param(("node", CLIENTS / "with_fetch.mjs"), marks=NODE),
        pytest.param(("bash", CLIENTS / "with_curl.sh"), marks=pytest.mark.exhaustive),
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
@pytest.mark.exhaustive
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


def test_only_the_beginning_and_the_end_of_what_a_command_prints_are_kept() -> None:
    script = "print('the beginning')\nfor i in range(300_000): print('x' * 99)\nprint('the end')"
    with MockServer() as server:
        failure, output = Command([sys.executable, "-c", script], {})(server, Variation(), 60, ())
    assert failure == ""
    assert (output[:13], output[-8:]) == ("the beginning", "the end\n")
    assert len(output) == MAX_KEPT
