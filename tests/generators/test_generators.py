"""What others make of the rendering for clients: each client compiles strictly, and lists, creates and deletes.

Each mock answers with the examples.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from openapi_schema_validator import OAS30Validator
from shell import NODE, ROOT, installed

from mock_server import MockServer

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
TOOLS, PYTHON = Path("node_modules", ".bin"), Path(sys.executable).parent
INSTALLED = pytest.mark.skipif(
    not os.environ.get("CI") and not (HERE / "node_modules" / ".ready").exists(),
    reason="the generators are not installed; make generators installs them",
)
KEY = "sandbox-generators"
LOGO = [("logo", "logo.png", 8)]  # the field, the file's name and its bytes
REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"
TYPESCRIPT: dict[str, list[str | Path]] = {
    "openapi-typescript": [TOOLS / "openapi-typescript", "client.yaml", "-o", "out/openapi-typescript/api.ts"],
    "hey-api": [TOOLS / "openapi-ts", "-i", "client.yaml", "-o", "out/hey-api"],
    "orval": [TOOLS / "orval"],
    "kubb": [TOOLS / "kubb", "generate"],
    "oazapfts": [TOOLS / "oazapfts", "client.yaml", "out/oazapfts/api.ts"],
    "swagger-typescript-api": [
        *(TOOLS / "swagger-typescript-api", "generate", "-p", "client.yaml"),
        *("-o", "out/swagger-typescript-api", "-n", "api.ts"),
    ],
    "openapi-zod-client": [TOOLS / "openapi-zod-client", "client.yaml", "-o", "out/openapi-zod-client/api.ts"],
    "rtk-query": [TOOLS / "rtk-query-codegen-openapi", "rtk.json"],
}
OURS: dict[str, list[str | Path]] = {
    "openapi-python-client": [
        *(PYTHON / "openapi-python-client", "generate", "--path", "client.yaml"),
        *("--meta", "none", "--output-path", "python_client"),
    ],
    "datamodel-code-generator": [
        *(PYTHON / "datamodel-codegen", "--input", "client.yaml", "--input-file-type", "openapi"),
        *("--output-model-type", "pydantic_v2.BaseModel", "--use-annotated", "--formatters", "builtin"),
        *("--output", "models.py"),
    ],
}
HANDLERS: list[str | Path] = [
    TOOLS / "msw-auto-mock",
    "client.yaml",
    "-o",
    "handlers",
    "--codes",
    "200,201,204",
    "--base-url",
]
SENT = {
    "list": ("/api/splash-pages/", "get"),
    "read": ("/api/splash-pages/{splash_page_id}", "get"),
    "create": ("/api/projects", "post"),
}
MOCKS = {  # and how each answers to a page link, a form without a name and a request without a key; None is not at all
    "msw-auto-mock": (None, 201, 200),  # it takes turns at the statuses of the document
    "@msw/source": (None, 200, 200),
    "Mockoon": (404, 200, 200),
    "Scalar": (404, 200, 401),
    "Prism": (405, 422, 401),
}


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(fixture="demo") as running:
        yield running


@pytest.fixture(scope="module")
def workshop(server: MockServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rendering that a mock serves, in which generators write."""
    folder = tmp_path_factory.mktemp("generators")
    answer = requests.get(f"{server.base_url}/openapi.client.yaml", timeout=60)
    (folder / "client.yaml").write_bytes(answer.content)
    return folder


@pytest.fixture(scope="module")
def equipped(workshop: Path) -> Path:
    """The same, with the tools that run in Node."""
    installed("generators")
    for path in HERE.glob("*.*"):
        if path.suffix in {".ts", ".mjs", ".json"}:
            shutil.copy(path, workshop)
    (workshop / "node_modules").symlink_to(HERE / "node_modules")
    return workshop


@pytest.fixture(scope="module")
def generated(server: MockServer, equipped: Path) -> Path:
    """The same, with what the generators of TypeScript made of it."""
    for name in TYPESCRIPT:
        (equipped / "out" / name).mkdir(parents=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda command: running(equipped, server, *command), TYPESCRIPT.values()))
    return equipped


def running(folder: Path, server: MockServer, *command: str | Path) -> str:
    """What a command prints that succeeds."""
    environment = os.environ | {
        "MOCK": server.base_url,
        "KEY": KEY,
        "PATH": f"{PYTHON}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@INSTALLED
@pytest.mark.exhaustive
def test_every_typescript_client_compiles_strictly(server: MockServer, generated: Path) -> None:
    running(generated, server, TOOLS / "tsc", "--project", ".")
    assert {path.name for path in (generated / "out").iterdir() if list(path.rglob("*.ts"))} == set(TYPESCRIPT)


@INSTALLED
@pytest.mark.exhaustive
def test_each_lists_creates_with_a_logo_and_deletes(server: MockServer, generated: Path) -> None:
    options = ("--bundle", "--platform=node", "--format=esm", "--outfile=walk.mjs", "--log-level=warning")
    running(generated, server, TOOLS / "esbuild", "walk.ts", *options, f"--banner:js={REQUIRE}")
    walked = json.loads(running(generated, server, "node", "walk.mjs"))
    assert set(walked) == set(TYPESCRIPT)
    for name, totals in walked.items():
        here = {"before": totals["before"], "id": "number", "between": totals["before"] + 1, "after": totals["before"]}
        assert totals == here, name
    assert uploads(server).items() >= dict.fromkeys(TYPESCRIPT, LOGO).items()
    assert not server.running.journal.find(remarks="1", account=KEY)


@NODE
def test_a_typescript_client_compiles_strictly_lists_creates_with_a_logo_and_deletes(
    server: MockServer, workshop: Path, node_modules: None, tmp_path: Path
) -> None:
    for name in ("fetching.ts", "one.ts"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    api = tmp_path / "out" / "openapi-typescript" / "api.ts"
    running(tmp_path, server, TOOLS / "openapi-typescript", workshop / "client.yaml", "-o", api)
    strict = ("--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node")
    running(tmp_path, server, TOOLS / "tsc", *strict, "one.ts")
    walked = json.loads(running(tmp_path, server, "node", "one.js"))
    totals = walked["openapi-typescript"]
    assert totals == {"before": 58, "id": "number", "between": 59, "after": 58}
    assert uploads(server)["openapi-typescript"] == LOGO


def test_the_python_client_lists_creates_with_a_logo_and_deletes(
    server: MockServer, workshop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(workshop, server, *OURS["openapi-python-client"])
    running(
        *(workshop, server, PYTHON / "mypy", "--follow-imports=silent"),
        *("-p", "python_client.api", "-p", "python_client.models"),
    )
    monkeypatch.syspath_prepend(str(workshop))
    importlib.invalidate_caches()
    made = importlib.import_module("python_client")
    calls, models = (importlib.import_module(f"python_client.{name}") for name in ("api.splash_pages", "models"))
    types = importlib.import_module("python_client.types")

    def call(name: str, *arguments: Any, **more: Any) -> Any:
        return importlib.import_module(f"{calls.__name__}.{name}").sync_detailed(*arguments, client=client, **more)

    ten = models.PageSize(10)
    with made.AuthenticatedClient(base_url=server.base_url, token=KEY) as client:
        before = call("list_splash_pages", results_per_page=ten).parsed.meta.total
        logo = types.File(payload=b"\x89PNG\r\n\x1a\n", file_name="logo.png", mime_type="image/png")
        identifier = call("create_splash_page", body=models.SplashPageCreate(name="python", logo=logo)).parsed.data.id
        assert call("list_splash_pages", results_per_page=ten).parsed.meta.total == before + 1
        assert call("delete_splash_page", identifier).status_code == 200
        assert call("list_splash_pages", results_per_page=ten).parsed.meta.total == before
    assert uploads(server)["python"] == LOGO


@pytest.mark.exhaustive
def test_the_models_read_what_the_mock_answers(
    server: MockServer, workshop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(workshop, server, *OURS["datamodel-code-generator"])
    running(workshop, server, PYTHON / "mypy", "--strict", "models.py")
    monkeypatch.syspath_prepend(str(workshop))
    importlib.invalidate_caches()
    models = importlib.import_module("models")
    headers = {"Authorization": f"Bearer {KEY}"}
    answer = requests.get(f"{server.base_url}/api/domains/", headers=headers, timeout=60)
    read = models.DomainListEnvelope.model_validate_json(answer.text)
    assert [each.id.root for each in read.data] == [each["id"] for each in answer.json()["data"]] != []


@INSTALLED
@pytest.mark.exhaustive
def test_mocks_of_other_tools_answer_with_the_examples_and_keep_nothing(server: MockServer, equipped: Path) -> None:
    seen = server.running.journal.find()
    running(equipped, server, *HANDLERS)
    walked = json.loads(running(equipped, server, "node", "mocks.mjs"))
    document = yaml.safe_load((equipped / "client.yaml").read_text("utf-8"))
    assert set(walked) == set(MOCKS)
    for name, answers in walked.items():
        for sent, (path, method) in SENT.items():
            content = document["paths"][path][method]["responses"]["200"]["content"]["application/json"]
            assert answers[sent] == {"status": 200, "json": content["example"]}, (name, sent)
            OAS30Validator({**content["schema"], "components": document["components"]}).validate(answers[sent]["json"])
        assert answers["again"] == answers["list"], name
        assert answers["delete"] == {"status": 200, "json": ""}, name
        assert tuple(answers[sent]["status"] for sent in ("link", "nameless", "keyless")) == MOCKS[name], name
    assert server.running.journal.find() == seen


def uploads(server: MockServer) -> dict[str, list[tuple[str, str, int]]]:
    """The files of each splash page that was created, by its name: their fields, names and bytes."""
    return {
        entry.fields["name"]: [(field, file.name, file.size) for field, file in entry.files.items()]
        for entry in server.running.journal.find(path="/api/projects")
    }
