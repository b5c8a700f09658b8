"""README and docs: each command does what they say, and each link leads somewhere."""

from __future__ import annotations

import fnmatch
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp_client import KEYS, tools_in_process
from shell import running
from tls import TlsProxy

from contract_tests import cli as suite
from link_management_contract import shipped_contract
from mock_server import MockServer
from mock_server import cli as mock
from mock_server.options import ACTIONS, OPTIONS
from mock_server.trial.trouble import KINDS

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in [
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "clients" / "javascript" / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]
}
README, JUDGING = PAGES["README.md"], PAGES["docs/judging.md"]
BEFORE, _, REST = JUDGING.partition("## Point it at your deployment\n")
DEPLOYMENT, _, AFTER = REST.partition("\n## ")
REPORTS = PAGES["docs/judging-reference.md"].partition("## Reports\n")[2].partition("\n## ")[0]
SHOWN = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = {name: SHOWN.findall(text) for name, text in (PAGES | {"docs/judging.md": BEFORE + AFTER}).items()}
MAX_COLUMNS, MAX_PARAGRAPH_WORDS, MAX_SECTION_WORDS = 120, 120, 150
LIST_ITEM = re.compile(r" *([-*]|\d+\.) ")
ONE_URL = re.compile(rf"({LIST_ITEM.pattern})? *\S*(://|\]\()\S*")
ELSEWHERE = ("git ", "make ", "uv ", "uvx ", "pytest ", "SCHEMATHESIS_HOOKS=")  # what other tests try


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with what it is said to print."""
    return [(command, output) for command, _, output in (text.partition("\n") for text in block.split("$ ")[1:])]


def run(command: str, base_url: str) -> str:
    local = command.replace("http://127.0.0.1:8000", base_url).replace(".venv/bin/", f"{Path(sys.executable).parent}/")
    ended = subprocess.run(
        ["bash", "-c", local.replace("curl ", "curl --silent ")],
        cwd=ROOT,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    printed = ended.stdout.replace(base_url, "http://127.0.0.1:8000")
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


@pytest.mark.parametrize(
    "page",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "README.md")) for name, blocks in BLOCKS.items() if blocks],
)
def test_the_commands_print_what_a_page_shows(page: str) -> None:
    shown = [pair for block in BLOCKS[page] for pair in commands(block)]
    assert shown
    with MockServer() as server:
        for command, output in shown:
            if not command.startswith(ELSEWHERE):
                assert run(command, server.base_url) == output, command


@pytest.mark.parametrize("page", PAGES)
def test_each_link_of_a_page_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]*)\)", PAGES[page]):
        path, _, anchor = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        assert there.exists(), target
        text = there.read_text("utf-8") if anchor else ""
        headings = {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()}
        assert not anchor or anchor in headings or f'id="{anchor}"' in text, target


@pytest.mark.parametrize("page", PAGES)
def test_each_file_that_a_page_names_is_there(page: str) -> None:
    folders = "mock_server|contract_tests|tests|bench|docs|fuzz|fixtures|examples|requirements"
    for named in re.findall(rf"`((?:{folders})/[\w./-]+)[ `]", PAGES[page]):
        assert (ROOT / named).exists(), named


@pytest.mark.parametrize("script", sorted((ROOT / "bench").glob("*.py")), ids=lambda script: script.stem)
def test_a_benchmark_finds_what_it_imports(script: Path) -> None:
    runpy.run_path(str(script), run_name="imported")


@pytest.mark.parametrize(
    ("script", "tables", "sentence"),
    [
        ("tests/mock/hostile_clients.py", ["HOSTILE"], "is a table of {} inputs,"),
        ("tests/hostile/test_hostile_targets.py", ["TARGETS", "LARGE"], "has a table of {} servers:"),
        ("bench/soak.py", ["ATTACKS"], "runs {} attacks against"),
    ],
)
def test_the_page_counts_the_attacks_that_are_tried(
    monkeypatch: pytest.MonkeyPatch, script: str, tables: list[str], sentence: str
) -> None:
    monkeypatch.syspath_prepend((ROOT / script).parent)
    names = runpy.run_path(str(ROOT / script), run_name="imported")
    count = sum(len(names[table]) for table in tables)
    assert sentence.format(count) in PAGES["docs/reliability.md"]


def test_each_step_of_building_a_server_names_rules() -> None:
    steps = PAGES["docs/fixing.md"].partition("## Build a server against the suite\n")[2]
    patterns = [text.split(",") for text in re.findall(r"--rules '([^']+)'", steps)]
    rows = re.findall(r"^\|", steps, re.MULTILINE)
    assert len(patterns) == len(rows) - 3  # title, line, and the rest without options
    rules = shipped_contract().rules
    assert [pattern for step in patterns for pattern in step if not fnmatch.filter(rules, pattern)] == []


def too_long(name: str, text: str) -> list[str]:
    """Lines, paragraphs and sections of a page that are too long, each with file and line; code and tables aside."""
    mistakes: list[str] = []
    paragraphs: Counter[int] = Counter()
    sections: Counter[int] = Counter()
    paragraph, section, is_code = 0, 1, False
    for number, line in enumerate(text.splitlines(), 1):
        is_fence = line.lstrip().startswith("```")
        is_code ^= is_fence
        if is_code or is_fence or not line.strip() or line.lstrip().startswith(("#", "|")):
            paragraph = 0
            section = number if line.startswith("#") and not is_code else section
            continue
        paragraph = number if not paragraph or LIST_ITEM.match(line) else paragraph
        paragraphs[paragraph] += len(line.split())
        sections[section] += len(line.split())
        if len(line) > MAX_COLUMNS and not ONE_URL.fullmatch(line):
            mistakes.append(f"{name}:{number}: wrap this line of {len(line)} columns at {MAX_COLUMNS}")
    mistakes += [
        f"{name}:{number}: split this paragraph of {words} words, of at most {MAX_PARAGRAPH_WORDS}"
        for number, words in paragraphs.items()
        if words > MAX_PARAGRAPH_WORDS
    ]
    return mistakes + [
        f"{name}:{number}: add a heading, as {words} words follow it, and {MAX_SECTION_WORDS} may"
        for number, words in sections.items()
        if words > MAX_SECTION_WORDS
    ]


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        (f"# Page\n\n{'x' * 60} {'x' * 60}\n", ["page.md:3: wrap this line of 121 columns at 120"]),
        (f"- {'x ' * 55}\n" + "  x\n" * 66, ["page.md:1: split this paragraph of 122 words, of at most 120"]),
        ("# A\n\nx\n\n## B\n" + "\nx x\n" * 76, ["page.md:5: add a heading, as 152 words follow it, and 150 may"]),
        (f"```\n# {'x ' * 200}\n```\n| {'x ' * 200}|\n- https://{'x' * 150}\n[a](b{'x' * 150})\n", []),
        ("x " * 50 + "\n# A\n" + "- x\n" * 50 + "\n## B\n\n" + "x\n" * 120, []),
    ],
    ids=["line", "list item", "section", "code, table and URLs", "at the limits"],
)
def test_a_line_paragraph_or_section_that_is_too_long_is_named(text: str, mistakes: list[str]) -> None:
    assert too_long("page.md", text) == mistakes


@pytest.mark.parametrize("page", [name for name in PAGES if name.startswith(("docs/", "README", "CONTRIBUTING"))])
def test_a_page_has_short_lines_paragraphs_and_sections(page: str) -> None:
    assert too_long(page, PAGES[page]) == []


def test_the_readme_is_short() -> None:
    assert len([line for line in README.splitlines() if not line.lstrip().startswith("<")]) <= 120


def test_the_mock_begins_as_the_readme_shows() -> None:
    blocks = BLOCKS["README.md"]
    shown = next(output for block in blocks for command, output in commands(block) if command == "make mock")
    with running() as (_, lines):
        base_url = lines[0].split()[-1]
    assert "".join(lines).replace(base_url, "http://127.0.0.1:8000") == shown


def test_the_page_of_the_mock_explains_twelve_options_and_names_the_others() -> None:
    options = PAGES["docs/mock.md"].partition("## Options\n")[2].partition("\n## ")[0]
    known = {option.flag for option in OPTIONS if option.group != ACTIONS}
    assert len(re.findall(r"^\| `--", options, re.MULTILINE)) == 12
    assert set(re.findall(r"`(--[a-z-]+)", options)) == known - {"--log-level"}


def first_column(page: str, heading: str) -> list[str]:
    """The names in the first column of a page's table, in order."""
    table = PAGES[page].partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    return [name for cell in re.findall(r"^\| (.*?) \|", table, re.MULTILINE) for name in re.findall("`(.*?)`", cell)]


def test_the_page_about_clients_explains_each_kind_of_trouble() -> None:
    assert sorted(first_column("docs/testing-a-client.md", "name")) == sorted(KINDS)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("program", "main"), [("contract-tests", suite.main), ("mock-server", mock.main)], ids=["suite", "mock"]
)
async def test_the_page_for_agents_explains_each_tool(
    program: str, main: Callable[[list[str]], int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    async with tools_in_process(main) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert sorted(first_column("docs/agents.md", f"`{program} mcp`")) == sorted(names)


@pytest.mark.parametrize("name", [*PAGES, "action.yml", "Dockerfile"])
def test_nothing_is_installed_by_a_name_that_somebody_else_could_take(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    lines = [line for line in text.splitlines() if re.search(r"pip.* install ", line)]
    assert all("--require-hashes" in line or re.search(r'"\$ACTION"|\./contract| \. &&', line) for line in lines)
    actions = re.findall(r"uses: (actions/\S+)", text)
    assert [each for each in actions if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", each)] == []
    assert bool(lines) == (name in ("docs/ci.md", "action.yml", "Dockerfile"))


@pytest.mark.slow
def test_a_deployment_is_judged_as_the_page_says(tmp_path: Path) -> None:
    given = [command for block in SHOWN.findall(DEPLOYMENT) for command, _ in commands(block)]
    assert [command.partition(" ")[0] for command in given] == [
        "export",
        "contract-tests",
        "contract-tests",
        "contract-tests",
    ]
    with TlsProxy(tmp_path) as proxy:
        url = f"https://localhost:{proxy.port}/prefix"
        with MockServer(base_path="/prefix", public_base_url=url) as server:
            proxy.to = int(server.base_url.split(":")[2].partition("/")[0])
            keys = {"CONTRACT_API_KEY": "demo-key-harbour", "CONTRACT_SECOND_API_KEY": "demo-key-alpine"}
            environment = os.environ | keys | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
            printed = [
                subprocess.run(
                    command.replace("https://links.example.com/prefix", url).replace("60/m", "600/s").split(),
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
                for command in given[1:]
            ]
    assert printed[0].startswith("Nothing was sent to https://localhost:")
    assert "\npartial: no claim; not judged: " in printed[1]
    assert "\nconforms; not judged: overlapping requests (--overlap 0)\n" in printed[2]
    table = dict(re.findall(r"^\| `([\w.-]+)` \| (.*) \|$", REPORTS, re.MULTILINE))
    assert {each.name for each in (tmp_path / "reports").iterdir()} == set(table)


def test_make_refuses_an_old_python_before_it_sets_anything_up(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    old = tmp_path / "old-python"
    old.write_text(
        '#!/bin/sh\ncase "$*" in *print*) echo 3.10;; *sys.exit*) exit 1;; *) touch set-up;; esac\n', "utf-8"
    )
    old.chmod(0o755)
    for target in ("mock", "suite", "test"):
        ended = subprocess.run(
            ["make", target, f"PYTHON={old}"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 2
        assert (
            f"needs Python 3.11 or later, and {old} is Python 3.10. Name another: make {target} PYTHON=" in ended.stderr
        )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["Makefile", "old-python"]


def test_make_mock_takes_a_port() -> None:
    ended = subprocess.run(["make", "-n", "mock", "PORT=9000"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "mock-server --port 9000" in ended.stdout
