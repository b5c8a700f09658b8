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


@pytest.mark.parametrize(
    ("choices", "options"),
    [
        ({}, ["--checks", RESPONSE_CHECKS]),
        # a form's texts are text whatever they say: what "violates" their type there is still a text
        (STRICT, ["--checks", "all", "--exclude-checks", "negative_data_rejection,positive_data_acceptance"]),
    ],
    ids=["response checks on the defaults", "nearly all checks on strict choices"],
)
def test_schemathesis_finds_nothing(tmp_path: Path, choices: dict[str, str], options: list[str]) -> None:
    with MockServer(choices=choices) as server:
        command: list[str | Path] = [
            Path(sys.executable).with_name("st"),
            "run",
            ROOT / "openapi.yaml",
            "--url",
            server.base_url,
        ]
        command += [
            "--header",
            "Authorization: Bearer demo-key-harbour",
            "--seed",
            "1",
            "--max-examples",
            "12",
            "--no-color",
        ]
        ended = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "No issues found" in ended.stdout, ended.stdout[-4000:]
    assert ended.returncode == 0


@pytest.mark.parametrize(
    ("settings", "printed"),
    [
        ({}, "No issues found"),
        ({"choices": STRICT, "base_path": "/prefix"}, "No issues found"),
        ({"public_base_url": "https://links.example.com"}, "ST901 pagination.links-begin-with-the-base-url: 5"),
    ],
    ids=["default", "strict choices under a prefix", "links elsewhere"],
)
def test_the_rules_work_in_schemathesis_as_the_page_says(
    tmp_path: Path, settings: dict[str, Any], printed: str
) -> None:
    page = (ROOT / "docs" / "judging.md").read_text("utf-8")
    shown = next(line for line in page.splitlines() if line.startswith("$ SCHEMATHESIS_HOOKS="))
    with MockServer(**settings) as server:
        command = shown.removeprefix("$ ").replace("http://127.0.0.1:8000", server.base_url)
        command = command.replace(
            "st run openapi.yaml", f"{Path(sys.executable).with_name('st')} run {ROOT}/openapi.yaml"
        )
        arguments = ["bash", "-c", f"{command} --seed 1 --max-examples 6 --no-color"]
        ended = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert printed in ended.stdout, ended.stdout[-4000:]
