"""The layout: which folder may import which, and how long modules and functions may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_LINES, MOST_OF_A_FUNCTION = 300, 40
# Each imports only what stands before it; those of one line may not import each other.
LAYERS = {
    "mock_server": [
        ("errors", "clock", "contract"),
        ("client_contract", "documents"),
        ("open_points",),
        ("settings",),
        ("http",),
        ("store",),
        ("api",),
        ("faults",),
        ("journal",),
        ("forwarding", "shared"),
        ("app", "options"),
        ("control",),
        ("server", "command_line"),
        ("workers",),
        ("printed", "pytest_plugin", "__init__"),
        ("cli",),
        ("__main__",),
    ],
    "contract_tests": [
        ("errors", "markers", "multipart", "json_reading", "contract", "__init__"),
        ("statements",),
        ("exchange",),
        ("rounds",),
        ("masking", "evidence"),
        ("rules", "target"),
        ("survey",),
        ("explore", "open_points"),
        ("run",),
        ("hooks", "reports"),
        ("proof",),
        ("commands",),
        ("cli",),
        ("plugin", "github_action"),
        ("test_contract",),
    ],
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MODULES = [path for package in LAYERS for path in sorted((ROOT / package).rglob("*.py"))]


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """The modules of its own package that a module imports, each with its line; those for types alone, too."""
    package = path.relative_to(ROOT).parts[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == package:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                path = ROOT / whole.replace(".", "/")
                yield whole if path.is_dir() or path.with_suffix(".py").exists() else node.module, node.lineno


def room(module: str) -> str:
    """The folder or top-level module that a module belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_lower_layers(path: Path) -> None:
    package, *inside = path.relative_to(ROOT).with_suffix("").parts
    floors = {name: floor for floor, names in enumerate(LAYERS[package]) for name in names}
    here = inside[0]
    assert here in floors, f"{path.relative_to(ROOT)}: put {here} into LAYERS of tests/test_layout.py"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}, which stands on the same floor or higher"
        for module, line in imported(path)
        if room(module) != here and floors[room(module)] >= floors[here]
    ]
    assert wrong == []


@pytest.mark.parametrize("package", LAYERS)
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}
    graph = {
        name: {module for module, _ in imported(path) if module in paths and module != name}
        for name, path in paths.items()
        if name.split(".")[0] == package
    }
    while free := [name for name, needs in graph.items() if not needs & graph.keys()]:
        for name in free:
            del graph[name]
    assert sorted(graph) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_are_short(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, FUNCTIONS)]
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for node in functions
        if node.end_lineno and node.end_lineno - node.lineno + 1 > MOST_OF_A_FUNCTION
    ]
    assert long == []
