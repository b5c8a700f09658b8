from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from wire import HARBOUR, Client, over_network

ROOT = Path(__file__).parents[1]
HASHED = re.compile(r"^[\w.-]+==[^\\\n]*\\\n +--hash=sha256:[0-9a-f]{64}", re.MULTILINE)
PIN = re.compile(r"^([\w.-]+)==([^ ;]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command: list[str | Path] = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What a release consists of, by name."""
    # make may think that the environment is old, and would then install it anew, from the copy
    return released(tmp_path_factory.mktemp("release"), "make", "--old-file", ".venv/.dev", "release")


@pytest.mark.slow
def test_what_a_registry_gets_is_the_same_each_time_it_is_built(release: dict[str, Path], tmp_path: Path) -> None:
    other = released(tmp_path, ".venv/bin/python", "-m", "build", "--no-isolation", "--outdir", "dist", ".")
    assert {path.suffix for path in other.values()} == {".whl", ".gz"}
    assert {name: hashed(path) for name, path in other.items()}.items() <= {
        name: hashed(path) for name, path in release.items()
    }.items()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_release_built_twice_is_the_same(release: dict[str, Path], tmp_path: Path) -> None:
    other = released(tmp_path, "make", "--old-file", ".venv/.dev", "release")
    assert {name: hashed(path) for name, path in other.items()} == {
        name: hashed(path) for name, path in release.items()
    }


@pytest.mark.slow
def test_each_file_of_a_release_works_by_itself(release: dict[str, Path], tmp_path: Path) -> None:
    assert {path.suffix for path in release.values()} == {".whl", ".gz", ".pyz"}

    python = Path(sys.executable).resolve()  # without the packages of this environment
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CONTRACT_API_KEY": HARBOUR}
    serve: list[str | Path] = [python, release["mock-server.pyz"], "--port", "0", "--log-level", "error"]
    judge: list[str | Path] = [python, release["contract-tests.pyz"], "run", "--resources", "domains", "--read-only"]
    with subprocess.Popen(serve, cwd=tmp_path, env=bare, stdout=subprocess.PIPE, text=True) as mock:
        try:
            assert mock.stdout
            base_url = mock.stdout.readline().split()[-1]
            assert Client(over_network(base_url), HARBOUR).get("/").status == 200
            judged = subprocess.run(
                [*judge, "--base-url", base_url], cwd=tmp_path, env=bare, capture_output=True, text=True, check=False
            )
            assert judged.stdout.splitlines()[-1].startswith("partial: "), judged.stderr
        finally:
            mock.terminate()


def released(folder: Path, *command: str) -> dict[str, Path]:
    """What a command builds of a copy of this checkout, by name."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, files.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(Path(sys.prefix))
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return {path.name: path for path in sorted((folder / "dist").iterdir())}


def hashed(file: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "extras"),
    [
        ("requirements/mock.txt", ("build", "forward", "redis")),
        ("requirements/suite.txt", ("build", "tests")),
        ("constraints.txt", ("build", "forward", "redis", "tests", "dev", "mutation")),
    ],
)
def test_each_dependency_is_pinned_with_its_hashes(name: str, extras: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    names = {re.split(r"[\[<>=;! ]", each)[0].lower() for each in needed} - {project["name"]}
    assert names <= {each.lower() for each in pins(name)}, "run make lock"
    assert pins(name).items() <= pins("constraints.txt").items()
    text = (ROOT / name).read_text("utf-8")
    assert len(re.findall(HASHED, text)) == len(re.findall(PIN, text))


def pins(name: str) -> dict[str, str]:
    """The versions that a file pins."""
    return dict(re.findall(PIN, (ROOT / name).read_text("utf-8")))


def test_the_wheel_carries_the_contract_and_the_fixtures_and_no_tests(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    folders = {name.partition("/")[0] for name in names}
    assert folders == {"contract_tests", "link_management_contract", "mock_server"}
    assert "link_management_contract/openapi.yaml" in names
    assert "link_management_contract/specification.md" in names
    assert "link_management_contract/fixtures/demo.yaml" in names
    assert "link_management_contract/fixtures/images/logo.png" in names


@pytest.mark.slow
@pytest.mark.parametrize(
    "runner",
    [
        ("uvx", "--quiet", "--constraints", "pins.txt", "--from"),
        pytest.param(("pipx", "run", "--pip-args=--constraint=pins.txt", "--spec"), marks=pytest.mark.exhaustive),
    ],
    ids=["uvx", "pipx"],
)
def test_both_commands_run_from_an_empty_folder_by(runner: tuple[str, ...], wheel: Path, tmp_path: Path) -> None:
    commands = Path(sys.executable).parent
    folder = tmp_path / "empty"
    folder.mkdir()
    pinned = "\n".join(f"{name}=={version}" for name, version in pins("constraints.txt").items())
    (folder / "pins.txt").write_text(pinned, "utf-8")
    home = {"HOME": str(tmp_path / "home"), "UV_PYTHON": sys.executable, "PIPX_DEFAULT_PYTHON": sys.executable}
    new_user = {**{name: value for name, value in os.environ.items() if "CACHE" not in name}, **home}
    line: list[str | Path] = [commands / runner[0], *runner[1:]]
    process = subprocess.Popen(
        [*line, wheel, "mock-server", "--port", "0"], cwd=folder, env=new_user, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    try:
        base_url = process.stdout.readline().split()[-1]
        client = Client(over_network(base_url), HARBOUR)
        assert client.get("/api/splash-pages/").json["meta"]["total"] == 58
        for path in ("/", "/_mock/static/console.css", "/_mock/console/contract", "/_mock/openapi.yaml"):
            assert client.get(path).status == 200
        suite = f"link-management-contract[tests] @ {wheel.as_uri()}"
        explain = [*line, suite, "contract-tests", "rules", "forms.name-required"]
        rule = subprocess.run(explain, cwd=folder, env=new_user, capture_output=True, check=True)
        assert b"57 A create needs `name`." in rule.stdout
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
    assert [path.name for path in folder.iterdir()] == ["pins.txt"]
