from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mock_server import MockServer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
RESPONSE_CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance"
)
STRICT = {
    "boolean-words": "unknown",
    "odd-page": "400",
    "followed-link": "405",
    "other-slash": "404",
    "size-not-allowed": "400",
}


RUNS: dict[str, tuple[dict[str, Any], str]] = {
    "response checks on the defaults": ({}, f"{RESPONSE_CHECKS},contract_rules"),
    # a form's texts are text whatever they say: what "violates" their type there is still a text
    "nearly all checks on strict choices under a prefix": (
        {"choices": STRICT, "base_path": "/prefix"},
        "all --exclude-checks negative_data_rejection,positive_data_acceptance",
    ),
}


def judged(folder: Path, settings: dict[str, Any], options: str, checks: str = "") -> subprocess.CompletedProcess[str]:
    """Let Schemathesis judge a mock by the command of the page, with more options and, if given, other checks."""
    page = (ROOT / "docs" / "judging-reference.md").read_text("utf-8")
    shown = next(line for line in page.splitlines() if line.startswith("$ SCHEMATHESIS_HOOKS="))
    command, _, usual_checks = shown.removeprefix("$ ").partition(" --checks ")
    program = f"{Path(sys.executable).with_name('st')} run {ROOT}/openapi.yaml"
    with MockServer(**settings) as server:
        command = command.replace("http://127.0.0.1:8000", server.base_url).replace("st run openapi.yaml", program)
        line = f"{command} --checks {checks or usual_checks} --seed 1 --no-color {options}"
        return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("examples", [2, pytest.param(12, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(("settings", "checks"), RUNS.values(), ids=RUNS)
def test_schemathesis_finds_nothing_by_its_checks_and_by_the_rules(
    tmp_path: Path, settings: dict[str, Any], checks: str, examples: int
) -> None:
    ended = judged(tmp_path, settings, f"--max-examples {examples}", checks)
    assert "No issues found" in ended.stdout, ended.stdout[-4000:]
    assert ended.returncode == 0


def test_the_command_of_the_page_finds_what_breaks_a_rule(tmp_path: Path) -> None:
    elsewhere = {"public_base_url": "https://links.example.com"}
    ended = judged(tmp_path, elsewhere, "--phases examples")
    assert "ST901 pagination.links-begin-with-the-base-url: 3" in ended.stdout, ended.stdout[-4000:]  # one of each list
    assert ended.returncode == 1


def test_links_may_begin_with_the_url_that_a_variable_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elsewhere = {"public_base_url": "https://links.example.com"}
    monkeypatch.setenv("CONTRACT_PUBLIC_BASE_URL", elsewhere["public_base_url"])
    ended = judged(tmp_path, elsewhere, "--phases examples")
    assert ended.returncode == 0, ended.stdout[-4000:]


@pytest.mark.exhaustive
def test_it_finds_that_in_every_phase(tmp_path: Path) -> None:
    ended = judged(tmp_path, {"public_base_url": "https://links.example.com"}, "--max-examples 6")
    assert "ST901 pagination.links-begin-with-the-base-url: 5" in ended.stdout, ended.stdout[-4000:]
