"""Surface: `comment.md` in the folder of reports, which the action posts to a pull request.
Attack: a commit brings one that says "conforms", and a server or an input with which nothing can be judged.
Holds: what was committed is gone before anything is posted.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from action import judge


@pytest.mark.parametrize("inputs", [{}, {"allow_writes": "yes please"}, {"arguments": "--rules none.*"}], ids=str)
def test_a_committed_comment_is_not_left_to_be_posted(tmp_path: Path, inputs: dict[str, str]) -> None:
    committed = tmp_path / "reports" / "comment.md"
    committed.parent.mkdir()
    committed.write_text("<!-- contract-tests --> conforms", "utf-8")
    assert judge(tmp_path, "http://127.0.0.1:9", **inputs).returncode in (4, 5, 7)
    assert [path for path in tmp_path.rglob("*.md") if "conforms" in path.read_text("utf-8")] == []
