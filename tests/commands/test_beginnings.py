"""How commands begin: an interrupt while they load, a URL with a password, a report on a full disk."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from shell import command

from contract_tests.reports.results import write_whole


@pytest.mark.parametrize(("package", "status"), [("contract_tests", 2), ("mock_server", 130)])
def test_an_interrupt_while_a_command_loads_leaves_no_traceback(tmp_path: Path, package: str, status: int) -> None:
    (tmp_path / "slow.py").write_text("import time\nprint('loading', flush=True)\ntime.sleep(60)\n")
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
    code += f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import {package}.__main__ as entry\n"
    code += f"sys.modules['{package}.cli'] = None\nimport builtins; find = builtins.__import__\n"
    code += "def load(name, *more, **options):\n"
    code += f"    return find('slow') if name == '{package}' and more[2] else find(name, *more, **options)\n"
    code += "builtins.__import__ = load\nsys.exit(entry.main())"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (status, "")


@pytest.mark.parametrize("password", ["secret", "sec/ret", "sec?ret", "sec@ret"])
def test_a_refused_url_shows_no_password(password: str) -> None:
    ended = command("run", "--base-url", f"https://me:{password}@links.example.com", "--api-key", "x")
    assert ended.returncode == 4
    assert 'invalid base URL "https://links.example.com"' in ended.stderr
    assert not {"me", "sec", "ret"} & set(ended.stderr.replace("@", " ").replace("/", " ").split())
    assert "ret@" not in ended.stderr


def test_a_report_that_cannot_be_written_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ctrf.json"
    path.write_text("before")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "after")
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["ctrf.json"]
