"""How commands begin: an interrupt while they load, a URL with a password, a report on a full disk."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest


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
