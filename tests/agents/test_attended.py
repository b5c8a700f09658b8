"""Commands that an agent's tools carry out end with the program that started them, however it went."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_command_ends_and_tidies_up_once_its_parent_is_gone(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(
        "import sys, time\n"
        "from signal import SIGTERM, signal\n"
        "signal(SIGTERM, lambda *_: sys.exit(0))\n"
        "print(sys.argv[1:], flush=True)\n"
        "time.sleep(600)\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "link_management_contract.attended", "endless", "one", "--two"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdin
    with process, process.stdout:
        assert process.stdout.readline() == "['one', '--two']\n"
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_command_that_ends_by_itself_ends_so(tmp_path: Path) -> None:
    (tmp_path / "short.py").write_text("raise SystemExit(3)\n", "utf-8")
    command = [sys.executable, "-m", "link_management_contract.attended", "short"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE) as process:
        assert process.wait(60) == 3
