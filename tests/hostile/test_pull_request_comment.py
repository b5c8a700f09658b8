"""Surface: the comments of a pull request, one of which the action updates, and a file that it posts.
Attack: somebody else writes the marker of the action into a comment; the look-up fails; the file is empty.
Holds: only a comment of the action's own author is updated, and nothing is posted without a text.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from action import comment
from shell import ROOT


@pytest.mark.parametrize(("me", "author"), [("", "github-actions[bot]"), ("a-bot", "a-bot")])
def test_only_comments_of_its_own_author_are_updated(tmp_path: Path, me: str, author: str) -> None:
    _, looks, _ = comment(tmp_path, "", me)
    assert f'select(.user.login == "{author}")' in looks


def test_nothing_is_posted_if_the_look_up_fails_or_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert comment(tmp_path, "fails")[::2] == (1, "")
    assert comment(tmp_path, "", text="")[::2] == (0, "")


CURL = """#!/bin/sh
case "$*" in
*--request*) echo "$*" >>"$CALLS" ;;
*/user) echo '{"id": 5}' ;;
*'&page=2') [ "$NOTES" ] && echo "$NOTES" ;;
*'&page=1') [ "$NOTES" ] && echo '[{"id": 1, "author": {"id": 7}, "body": "hello"}]' ;;
*) echo '[]' ;;
esac
"""


@pytest.mark.parametrize(
    ("author", "wanted"),
    [(5, "--request PUT"), (6, "--request POST"), (None, "")],
    ids=["own", "another's", "no answer"],
)
def test_the_lines_for_gitlab_update_a_note_of_their_own_alone(tmp_path: Path, author: int | None, wanted: str) -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    [block] = [text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "NOTES_TOKEN" in text]
    [script] = yaml.safe_load(block)["after_script"]
    (tmp_path / "curl").write_text(CURL)
    (tmp_path / "curl").chmod(0o755)
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "comment.md").write_text("<!-- contract-tests -->")
    note = {"id": 9, "body": "<!-- contract-tests -->", "author": {"id": author}}
    environment = {"CALLS": str(tmp_path / "calls"), "NOTES": json.dumps([note]) if author else "", "NOTES_TOKEN": "x"}
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-c", script], env=environment | {"PATH": path}, cwd=tmp_path, check=True)
    calls = tmp_path / "calls"
    assert wanted in (calls.read_text() if calls.exists() else "")
    assert calls.exists() == bool(wanted)
