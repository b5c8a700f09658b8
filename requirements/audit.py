"""Asks the registries whether any pinned version has a known vulnerability; says so where a registry cannot tell.

Exit status 1 if one has, and 0 if none has or nobody could be asked.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PIP_AUDIT = ["-m", "pip_audit", "--requirement", "constraints.txt", "--disable-pip", "--format", "json"]
NPM_FOLDERS = (".", "tests/generators", "tests/mutants/express")
SECONDS = 120


def main() -> int:
    found = [*of_python(), *(line for folder in NPM_FOLDERS for line in of_npm(folder))]
    for line in found:
        print(line)
    return int(bool(found))


def of_python() -> list[str]:
    """The vulnerabilities of the packages in constraints.txt."""
    told = asked([sys.executable, *PIP_AUDIT], ROOT).get("dependencies", [])
    if skipped := [each["name"] for each in told if "skip_reason" in each] or ["all"] * (not told):
        print(f"not audited, because the package index could not tell: {len(skipped)} of {len(told)} Python packages")
    return [f"{each['name']} {each['version']}: {vuln['id']}" for each in told for vuln in each.get("vulns", ())]


def of_npm(folder: str) -> list[str]:
    """The vulnerabilities of the packages in a lock file."""
    npm = shutil.which("npm")
    told = asked([npm, "audit", "--json"], ROOT / folder) if npm else {}
    if "vulnerabilities" not in told:
        print(f"not audited, because the npm registry could not tell: {folder}")
    return [f"{name}: {each['severity']}" for name, each in told.get("vulnerabilities", {}).items()]


def asked(command: list[str], folder: Path) -> dict[str, Any]:
    """What a command prints as JSON; nothing if it does not."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)
        told: dict[str, Any] = json.loads(done.stdout)
    except (ValueError, subprocess.TimeoutExpired):
        return {}
    return told


if __name__ == "__main__":
    sys.exit(main())
