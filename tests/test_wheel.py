from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from wire import HARBOUR, Client, over_network

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command: list[str | Path] = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_carries_the_contract_and_the_fixtures_and_no_tests(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    folders = {name.partition("/")[0] for name in names}
    assert folders == {"contract_tests", "link_management_contract", "mock_server"}
    assert "link_management_contract/openapi.yaml" in names
    assert "link_management_contract/specification.md" in names
    assert "link_management_contract/fixtures/demo.yaml" in names
    assert "link_management_contract/fixtures/images/logo.png" in names


def test_the_mock_runs_from_an_empty_folder_where_only_the_wheel_is_installed(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    commands = tmp_path / "venv" / "bin"
    install: list[str | Path] = [
        commands / "pip",
        "install",
        "--quiet",
        "--constraint",
        ROOT / "constraints.txt",
        wheel,
    ]
    subprocess.run(install, check=True, capture_output=True)
    folder = tmp_path / "empty"
    folder.mkdir()
    process = subprocess.Popen([commands / "mock-server", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        base_url = process.stdout.readline().split()[-1]
        client = Client(over_network(base_url), HARBOUR)
        assert client.get("/api/splash-pages/").json["meta"]["total"] == 58
        for path in ("/", "/_mock/static/console.css", "/_mock/console/contract", "/_mock/openapi.yaml"):
            assert client.get(path).status == 200
        rules = subprocess.run([commands / "contract-tests", "rules"], cwd=folder, capture_output=True, check=True)
        assert b"forms.name-required" in rules.stdout
        explain: list[str | Path] = [commands / "contract-tests", "rules", "forms.name-required"]
        rule = subprocess.run(explain, cwd=folder, capture_output=True, check=True)
        assert b"57 A create needs `name`." in rule.stdout
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert list(folder.iterdir()) == []
