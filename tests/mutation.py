"""Runs mutmut over the rules, and fails if more than one change in ten survives the tests on hand-made exchanges.

Run it with `make mutation`; it takes some eight minutes. `.venv/bin/mutmut show NAME` prints a surviving change. Where
one is right, `# pragma: no mutate: REASON` at the line says why.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUTMUT = Path(sys.executable).with_name("mutmut")
MOST = 0.1


def main() -> int:
    """Print the surviving changes by module; 1 if there are too many."""
    subprocess.run([MUTMUT, "run"], cwd=ROOT, check=True)
    every = subprocess.run(
        [MUTMUT, "results", "--all", "true"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    ends = re.findall(r"^\s*contract_tests\.rules\.(\w+)\S*: (.+)$", every, re.MULTILINE)
    survived = Counter(module for module, end in ends if end in ("survived", "no tests"))
    for module, count in survived.most_common():
        print(f"{count:5} of {sum(each == module for each, _ in ends):5}  {module}")
    share = survived.total() / len(ends)
    print(f"{survived.total()} of {len(ends)} changes survive, {share:.1%}; at most {MOST:.0%} may")
    return int(share > MOST)


if __name__ == "__main__":
    sys.exit(main())
