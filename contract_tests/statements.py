"""The statements of the specification, in the project's own words, that rules and open points rest on."""

from __future__ import annotations

import re

from link_management_contract import shipped

NAME = "specification.md"
STATEMENT = re.compile(r'^- <a id="s(D?\d+)"></a>\*\*\1\*\* \(\w+\) (.*?)(?=\n\n|\n- |\Z)', re.MULTILINE | re.DOTALL)


def statements() -> dict[str, str]:
    """The text of each statement by its number, such as `45` or `D2`."""
    installed = shipped(NAME)
    path = installed if installed.exists() else shipped(f"docs/{NAME}")
    return {number: " ".join(text.split()) for number, text in STATEMENT.findall(path.read_text("utf-8"))}
