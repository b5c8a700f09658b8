"""The examples of front ends' tests and clients, each against a mock, as the README says."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from front_end import IMAGES, site
from playwright.sync_api import Browser, Page, expect
from shell import MOCK_SERVER, NODE, ROOT, TOOLS, ended, installed

from mock_server import MockServer

EXAMPLES, GENERATORS = ROOT / "examples", ROOT / "tests" / "generators"
STRICT = ("--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "preserve")
INSTALLED = pytest.mark.skipif(
    not os.environ.get("CI") and not (GENERATORS / "node_modules" / ".ready").exists(),
    reason="what the example needs is not installed; make generators installs it",
)


@pytest.mark.slow
def test_pytest() -> None:
    printed = ended(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", EXAMPLES / "test_pytest.py")
    assert "6 passed" in printed


@NODE
def test_plain_fetch(server: MockServer) -> None:
    printed = ended("node", "--test", "examples/fetch.test.mjs", MOCK=server.base_url)
    assert "# pass 4\n" in printed or "pass 4\n" in printed
    assert not server.running.journal.find(remarks="1", path="/api/domains/")


@pytest.mark.slow
@NODE
@pytest.mark.parametrize(
    ("fewer", "count", "workers"),
    [
        (("--grep", r"\([1-3]\)|why|begins", "--workers", "2"), 5, 2),
        pytest.param((), 20, 8, marks=pytest.mark.exhaustive),
    ],
    ids=["five in two workers", "twenty in eight workers"],
)
def test_tests_in_several_workers_never_meet(  # noqa: PLR0913, PLR0917 - fixtures and a table
    server: MockServer,
    node_modules: None,
    chromium: str,
    tmp_path: Path,
    fewer: tuple[str, ...],
    count: int,
    workers: int,
) -> None:
    options = ("--config", "examples/playwright.config.mjs", "--output", tmp_path)
    printed = ended(TOOLS / "playwright", "test", *options, *fewer, MOCK=server.base_url, CHROMIUM=chromium)
    assert f"{count} passed" in printed
    assert f"Running {count} tests using {workers} workers" in printed
    assert len(server.running.mock.accounts.sandboxes) == count


@pytest.mark.slow
@NODE
def test_vitest_with_an_account_for_each_test(node_modules: None) -> None:
    options = ("--config", "examples/vitest.config.mjs", "--no-color")
    printed = ended(TOOLS / "vitest", "run", *options, MOCK_SERVER=str(MOCK_SERVER))
    assert "Tests  5 passed (5)" in printed


@pytest.mark.slow
@pytest.mark.exhaustive  # in CI, tests/test_javascript.py checks them together with the package
@NODE
@pytest.mark.parametrize(
    "options",
    [(*STRICT, EXAMPLES / "vitest.test.ts"), ("--project", EXAMPLES / "cypress")],
    ids=["vitest", "cypress"],
)
def test_an_example_fits_its_types(node_modules: None, options: tuple[str | Path, ...]) -> None:
    ended(TOOLS / "tsc", *options)


@pytest.mark.slow
@NODE
def test_a_typed_client(server: MockServer, node_modules: None, tmp_path: Path) -> None:
    for name in ("typed.ts", "tsconfig.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    ended(TOOLS / "openapi-typescript", f"{server.base_url}/openapi.yaml", "--output", "api.ts", cwd=tmp_path)
    ended(TOOLS / "tsc", cwd=tmp_path)
    printed = ended("node", "typed.js", cwd=tmp_path, MOCK=server.base_url)
    assert json.loads(printed) == {"host": "typed.example.com", "total": 55}


@pytest.mark.slow
@pytest.mark.exhaustive
@INSTALLED
def test_a_front_end_in_react(server: MockServer, node_modules: None, chromium: str, tmp_path: Path) -> None:
    installed("generators")
    app = tmp_path / "react"
    shutil.copytree(EXAMPLES / "react", app)
    (app / "node_modules").symlink_to(GENERATORS / "node_modules")
    for step in ("generate", "check", "build"):
        ended("npm", "run", step, cwd=app, MOCK=server.base_url)
    config = EXAMPLES / "react" / "playwright.config.mjs"
    tests = (TOOLS / "playwright", "test", "--config", config, "--output", tmp_path / "results")
    for vary in (["--vary", "open"], ["--only", "lag", "--only", "lost-create", "--only", "503-three-times"]):
        printed = ended(MOCK_SERVER, "try", *vary, "--", *tests, APP=str(app), CHROMIUM=chromium)
        assert "survived " in printed
        assert "relies on" not in printed


@pytest.mark.slow
@pytest.mark.exhaustive
@INSTALLED
def test_a_page_that_answers_itself_and_keeps_nothing_as_the_mock_does(
    server: MockServer, browser: Browser, tmp_path: Path
) -> None:
    installed("generators")
    example = tmp_path / "in-the-page"
    shutil.copytree(EXAMPLES / "in-the-page", example)
    (example / "node_modules").symlink_to(GENERATORS / "node_modules")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in ("document", "build"):
        ended("npm", "run", step, cwd=example, MOCK=server.base_url, PATH=path)
    page = browser.new_context().new_page()
    with site(example / "dist") as url:
        page.goto(url)
        expect(page.get_by_role("listitem")).to_have_text("Spring sale #336699")
        create(page, "Made in the page")
        expect(page.get_by_role("status")).to_have_text("Created 12")
        expect(page.get_by_role("heading")).to_have_text("Splash pages (1)")
        expect(page.get_by_role("listitem")).to_have_text("Spring sale #336699")
        assert not server.running.journal.find(path="/api/*")
        page.goto(f"{url}?mock")
        expect(page.get_by_role("heading")).to_have_text("Splash pages (58)")
        create(page, "Made on the mock")
        expect(page.get_by_role("heading")).to_have_text("Splash pages (59)")
        expect(page.get_by_role("listitem").first).to_contain_text("Made on the mock")
    (created,) = server.running.journal.find(method="POST", path="/api/projects")
    assert created.files["logo"].size == (IMAGES / "logo.png").stat().st_size
    page.context.close()


def create(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Logo").set_input_files(IMAGES / "logo.png")
    page.get_by_role("button", name="Create").click()


@pytest.mark.parametrize("example", ["react", "in-the-page"])
def test_an_example_has_the_versions_that_are_tried(example: str) -> None:
    wanted = json.loads((EXAMPLES / example / "package.json").read_text("utf-8"))
    tried = json.loads((GENERATORS / "package.json").read_text("utf-8"))["devDependencies"]
    for name, version in (wanted["dependencies"] | wanted["devDependencies"]).items():
        assert tried[name] == version, f"examples/{example}/package.json: {name}"
