"""Puts the summary of a proof into docs/proof.md, beside the figures of Schemathesis on a sample of the same servers.

Takes two files: that of `contract-tests prove --json` and that of `bench/st.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "proof.md"
BEGIN, END = "<!-- proof -->", "<!-- /proof -->"


def main(proof_file: str, st_file: str) -> None:
    proof, st = (json.loads(Path(each).read_text("utf-8")) for each in (proof_file, st_file))
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    section = "\n".join([BEGIN, *table(proof, st), END])
    PAGE.write_text(before + section + after, "utf-8")


def table(proof: dict[str, Any], st: dict[str, int]) -> list[str]:
    defects, right, hostile = proof["defects"], proof["right"], proof["hostile"]
    caught = sum(each["verdict"] == "caught" for each in defects)
    servers = sum(len(each["trials"]) for each in defects)
    requests = proof["areas"][-1]["requests until the first finding"]
    apart = f"{st['apart']} of {st['defects']} distinguished from a correct server"
    caught_by = f"{caught} caught, always by their rule; requests until the first finding: {requests}"
    undecided = f"{counted(hostile, 'undecided')} have undecided rules"
    return [
        f"| servers | `contract-tests` | `st run`, default settings, on {st['right']} and {st['defects']} of them |",
        "|---|---|---|",
        f"| right, whatever they chose | {failed(right)} | {st['right_failed']} of {st['right']} fail |",
        f"| right, under hostile conditions | {failed(hostile)}, {undecided} | not tried |",
        f"| with one of {len(defects)} defects, {servers} in all | {caught_by} | {apart} |",
    ]


def failed(trials: list[dict[str, Any]]) -> str:
    return f"{counted(trials, 'fell')} of {len(trials)} fail, {counted(trials, 'left')} keep a record of the run"


def counted(trials: list[dict[str, Any]], member: str) -> int:
    """How many trials have anything in a member."""
    return sum(bool(trial[member]) for trial in trials)


if __name__ == "__main__":
    main(*sys.argv[1:])
