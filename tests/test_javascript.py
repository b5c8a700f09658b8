"""The JavaScript package: what it declares and packs, how it starts a mock, and that no mock outlives its parent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from shell import MOCK_SERVER, NODE, ROOT, TOOLS, ended
from walk import READ_SCHEMAS

from link_management_contract import load_yaml, shipped_contract
from mock_server import MockServer
from mock_server.store.fixture_format import fixture_schema

PACKAGE, TESTS = ROOT / "clients" / "javascript", ROOT / "tests" / "javascript"
INDEX = (PACKAGE / "src" / "index.d.ts").read_text("utf-8")
CONTROL = load_yaml((ROOT / "mock_server" / "control" / "openapi.yaml").read_text("utf-8"))["components"]["schemas"]
NAMES = {"string": "string", "integer": "number", "boolean": "boolean", "null": "null"}
SECONDS = 60  # in which a mock has to be gone, even on a busy machine
STARTED = f"""
import {{ startMock }} from {json.dumps(str(PACKAGE / "src" / "index.js"))};
const mock = await startMock();
console.log(mock.baseUrl);
"""
ENDS: dict[str, tuple[str, signal.Signals | None]] = {
    "it has nothing left to do": ("", None),
    "it exits": ("process.exit(3)", None),
    "it throws": ("throw new Error('a bug')", None),
    "Ctrl-C": ("setInterval(() => {}, 1000)", signal.SIGINT),
    "SIGTERM": ("setInterval(() => {}, 1000)", signal.SIGTERM),
    "SIGHUP": ("setInterval(() => {}, 1000)", signal.SIGHUP),
    "SIGKILL": ("setInterval(() => {}, 1000)", signal.SIGKILL),
}


def interface(name: str) -> dict[str, str]:
    """The types of an interface's members by name, with a question mark behind those that may be left out."""
    found = re.search(rf"^export interface {name}( extends [^{{]*)? {{\n(.*?)^}}", INDEX, re.MULTILINE | re.DOTALL)
    assert found, name
    return dict(re.findall(r"^  (\w+\??): (.*);$", found[2], re.MULTILINE))


def typescript(schema: dict[str, Any]) -> str:
    """The type of a value that fits a schema."""
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(NAMES[each] for each in types)


@pytest.mark.parametrize("resource", READ_SCHEMAS)
def test_records_have_the_fields_that_a_fixture_may_have(resource: str) -> None:
    account = fixture_schema(shipped_contract().resources.values())["properties"]["accounts"]["items"]
    schema = account["properties"]["records"]["properties"][resource]["items"]
    fields = {
        name if name in schema["required"] else f"{name}?": typescript(field)
        for name, field in schema["properties"].items()
    }
    assert interface(READ_SCHEMAS[resource]) == fields, (
        f"src/index.d.ts of clients/javascript: {READ_SCHEMAS[resource]}"
    )


def test_what_the_control_plane_takes_and_shows_is_declared() -> None:
    forced = CONTROL["Forced"]["properties"]
    read_only = {name for name, schema in forced.items() if schema.get("readOnly")}
    taken = {name.rstrip("?") for name in interface("Forced") | interface("Which")}
    assert taken == set(forced) - read_only - {"account"}
    assert set(interface("InForce")) == read_only | {"account", "method"}
    entry = CONTROL["Entry"]["properties"]
    assert set(interface("Entry")) == set(entry)
    assert set(interface("Remark")) == set(entry["remarks"]["items"]["properties"])


def test_the_package_has_the_licence_of_the_project() -> None:
    assert (PACKAGE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@NODE
def test_an_account_of_a_mock_from_node(server: MockServer) -> None:
    ended("node", "--test", TESTS / "account.test.mjs", TESTS / "cypress.test.mjs", MOCK=server.base_url)


@pytest.mark.slow
@NODE
def test_a_mock_is_found_and_started_or_the_reason_is_told() -> None:
    ended("node", "--test", TESTS / "start.test.mjs", HERE=str(MOCK_SERVER))


@pytest.mark.slow
@NODE
def test_the_package_and_the_examples_fit_its_declarations(node_modules: None, tmp_path: Path) -> None:
    types, examples = ROOT / "node_modules", ROOT / "examples"
    options = {"types": ["node", "cypress"], "typeRoots": [str(types / "@types"), str(types)]}
    checked = [str(path) for path in (PACKAGE / "src", examples / "cypress", examples / "vitest.test.ts")]
    project = {"extends": str(PACKAGE / "tsconfig.json"), "compilerOptions": options, "include": checked}
    (tmp_path / "tsconfig.json").write_text(json.dumps(project))
    ended(TOOLS / "tsc", "--project", tmp_path)


@pytest.mark.slow
@pytest.mark.exhaustive
@NODE
def test_the_package_alone_fits_its_declarations(node_modules: None) -> None:
    ended(TOOLS / "tsc", "--project", PACKAGE)


def wait_until_gone(base_url: str) -> None:
    """Wait until nobody answers at a URL."""
    deadline = time.monotonic() + SECONDS
    with suppress(URLError, ConnectionError):
        while time.monotonic() < deadline:
            urlopen(f"{base_url}/openapi.yaml").close()
            time.sleep(0.05)
        pytest.fail(f"{base_url} still answers after {SECONDS} seconds")


@pytest.mark.slow
@NODE
@pytest.mark.parametrize(
    "end",
    [
        "it has nothing left to do",
        "Ctrl-C",
        "SIGKILL",
        *(pytest.param(end, marks=pytest.mark.exhaustive) for end in ("it exits", "it throws", "SIGTERM", "SIGHUP")),
    ],
)
def test_a_mock_ends_with_the_process_that_started_it(end: str) -> None:
    last, number = ENDS[end]
    command = f"sh -c '{MOCK_SERVER} \"$@\"; exit' sh"  # a shell passes no signal on
    process = subprocess.Popen(
        ["node", "--input-type=module", "--eval", STARTED + last],
        env=os.environ | {"MOCK_SERVER": command},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    with process.stdout:
        base_url = process.stdout.readline().strip()
    assert base_url.startswith("http://127.0.0.1:")
    if number:
        os.killpg(process.pid, number)  # as a terminal does with Ctrl-C
    process.wait()
    wait_until_gone(base_url)


@pytest.mark.slow
@NODE
@pytest.mark.parametrize("resolution", ["nodenext", pytest.param("bundler", marks=pytest.mark.exhaustive)])
def test_what_is_packed_serves_a_strict_project(node_modules: None, tmp_path: Path, resolution: str) -> None:
    packed = ended("npm", "pack", "--silent", "--pack-destination", tmp_path, cwd=PACKAGE).strip()
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"private": true, "type": "module"}')
    ended("npm", "install", "--offline", "--no-audit", "--no-fund", tmp_path / packed, cwd=project)
    (project / "strict.ts").write_text((TESTS / "strict.ts").read_text("utf-8"))
    options = {
        "strict": True,
        "target": "es2022",
        "lib": ["es2022", "dom"],
        "types": [],
        "moduleResolution": resolution,
    }
    options["module"] = {"nodenext": "nodenext", "bundler": "es2022"}[resolution]
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["strict.ts"]}))
    ended(TOOLS / "tsc", cwd=project)
    printed = ended("node", "strict.js", cwd=project, MOCK_SERVER=str(MOCK_SERVER))
    assert json.loads(printed) == {
        "created": 201,
        "failed": 503,
        "host": "go.example.com",
        "rules": ["pagination.other-sizes-are-not-used"],
        "statuses": [201, 503, 200, 200],
    }


@pytest.mark.slow
@NODE
@pytest.mark.parametrize(
    ("runner", "fixture", "command", "configuration"),
    [
        (
            "playwright",
            "account",
            ("playwright", "test"),
            "{ reporter: [['line'], ['json', { outputFile: 'report.json' }]] }",
        ),
        ("vitest", "mockAccount", ("vitest", "run"), "{ test: { globalSetup: 'link-management-mock/vitest/setup' } }"),
    ],
    ids=["playwright", "vitest"],
)
def test_a_mistake_of_the_client_fails_its_test_alone(  # noqa: PLR0913, PLR0917 - a fixture and a table
    node_modules: None, tmp_path: Path, runner: str, fixture: str, command: tuple[str, str], configuration: str
) -> None:
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    (tmp_path / f"{runner}.config.mjs").write_text(f"export default {configuration};")
    (tmp_path / "mistakes.test.mjs").write_text(
        f"""
        import {{ test }} from "link-management-mock/{runner}";
        const read = ({{ baseUrl, headers }}) => fetch(`${{baseUrl}}/api/domains/?results_per_page=7`, {{ headers }});
        test("right", async ({{ {fixture} }}) => {{ await {fixture}.journal(); }});
        test("wrong", async ({{ {fixture} }}) => {{ await read({fixture}); }});
        test("meant", async ({{ {fixture} }}) => {{ await {fixture}.means("pagination.*"); await read({fixture}); }});
        """
    )
    environment = os.environ | {"MOCK_SERVER": str(MOCK_SERVER), "NO_COLOR": "1"}
    words: list[str | Path] = [TOOLS / command[0], *command[1:]]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"\b1 failed\b.*\b2 passed\b", done.stdout, re.DOTALL), done.stdout
    assert "the client made mistakes" in done.stdout + done.stderr
    assert "GET /api/domains/: pagination.other-sizes-are-not-used: " in done.stdout + done.stderr
    if runner == "playwright":
        assert (tmp_path / "report.json").read_text("utf-8").count('"name": "requests to the mock"') == 1
