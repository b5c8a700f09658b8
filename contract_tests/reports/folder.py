"""The folder of a run's reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from contract_tests.open_points import profile
from contract_tests.reports import har, html, junit, repro, results, summary
from contract_tests.run.outcome import Outcome
from link_management_contract import Contract

PROFILE = "profile.yaml"


def write(contract: Contract, outcome: Outcome, told: dict[str, Any], folder: Path) -> None:
    """Write all reports.

    Args:
        contract: the open points.
        outcome: what the run came to.
        told: the same, as `results.json` holds it.
        folder: where to write; it is created if necessary.

    Raises:
        OSError: if one cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scripts = repro.scripts(contract, outcome)
    for rule in contract.rules:
        (folder / repro.file_of(rule)).unlink(missing_ok=True)  # of an earlier run
    for name, script in scripts.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(script, encoding="utf-8", errors="backslashreplace", newline="")
        path.chmod(0o755)
    results.write(told, folder / results.FILE)
    junit.write(told, folder / junit.FILE)
    html.write(outcome, told, scripts, folder / html.FILE)
    summary.write(told, folder / summary.FILE)
    har.write(outcome, folder / har.FILE)
    chosen = profile(outcome.observed, contract)
    head = f"# What {outcome.base_url} chose where the contract leaves room: mock-server --profile FILE\n"
    head += f"# Verdict: {outcome.verdict}\n"
    (folder / PROFILE).write_text(head + yaml.safe_dump(chosen), encoding="utf-8", errors="backslashreplace")
