"""Runs mutmut over the rules, and fails if more than 8 % of the changes survive the tests on hand-made exchanges.

Run it with `make mutation`; it takes some ten minutes on two cores, in `build/mutation`. `mutmut show NAME` prints a
surviving change there. Where one is right, `# pragma: no mutate: REASON` at the line says why.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "mutation"
MUTMUT = Path(sys.executable).with_name("mutmut")
COPIED = ("contract_tests", "link_management_contract", "mock_server", "docs", "fixtures", "tests")
FILES = ("openapi.yaml", "pyproject.toml", "README.md")
MOST = 0.08


def main() -> int:
    """Print the surviving changes by module; 1 if there are too many."""
    shutil.rmtree(PLACE, ignore_errors=True)
    ignored = shutil.ignore_patterns("node_modules", "__pycache__")
    for name in COPIED:
        shutil.copytree(ROOT / name, PLACE / name, ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, PLACE / name)
    for path in (*PLACE.glob("contract_tests/rules/*.py"), PLACE / "contract_tests/overlap/rules.py"):
        path.write_text(undecorated(path.read_text("utf-8")), "utf-8")
    subprocess.run([MUTMUT, "run"], cwd=PLACE, check=True)
    every = subprocess.run(
        [MUTMUT, "results", "--all", "true"], cwd=PLACE, check=True, capture_output=True, text=True
    ).stdout
    ends = re.findall(r"^\s*contract_tests\.([\w.]+)\.x_\S*: (.+)$", every, re.MULTILINE)
    survived = Counter(module for module, end in ends if end in ("survived", "no tests"))
    for module, count in survived.most_common():
        print(f"{count:5} of {sum(each == module for each, _ in ends):5}  {module}")
    share = survived.total() / len(ends)
    print(f"{survived.total()} of {len(ends)} changes survive, {share:.1%}; at most {MOST:.0%} may")
    return int(share > MOST)


def undecorated(source: str) -> str:
    """The same module with `rule(...)(function)` after each function instead of `@rule(...)` on it.

    mutmut changes no function that has a decorator.
    """
    lines = source.splitlines(keepends=True)
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            first = min(each.lineno for each in node.decorator_list)
            calls = [f"{ast.get_source_segment(source, each)}({node.name})\n" for each in node.decorator_list]
            lines[first - 1 : node.end_lineno] = [*lines[node.lineno - 1 : node.end_lineno], "\n\n", *calls]
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
