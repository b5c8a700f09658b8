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
    section = "\n".join([BEGIN, *beside(proof, st), "", *by_area(proof["areas"]), END])
    PAGE.write_text(before + section + after, "utf-8")


def beside(proof: dict[str, Any], st: dict[str, int]) -> list[str]:
    defects, right, hostile = proof["defects"], proof["right"], proof["hostile"]
    caught = sum(each["verdict"] == "caught" for each in defects)
    failed, hostile_failed = (sum(bool(each["fell"]) for each in trials) for trials in (right, hostile))
    servers = sum(len(each["trials"]) for each in defects)
    apart = f"{st['apart']} of {st['defects']} distinguished from a correct server"
    return [
        f"| servers | `contract-tests` | `st run`, default settings, on {st['right']} and {st['defects']} of them |",
        "|---|---|---|",
        f"| right, whatever they chose | {failed} of {len(right)} fail | {st['right_failed']} of {st['right']} fail |",
        f"| right, under hostile conditions | {hostile_failed} of {len(hostile)} fail | not tried |",
        f"| with one of {len(defects)} defects, {servers} in all | {caught} caught, always by their rule | {apart} |",
    ]


def by_area(areas: list[dict[str, Any]]) -> list[str]:
    rows = [list(areas[0]), ["---"] * len(areas[0]), *(each.values() for each in areas)]
    return [f"| {' | '.join(map(str, row))} |" for row in rows]


if __name__ == "__main__":
    main(*sys.argv[1:])
