"""A file of the user's that extends the mock: its function `extend(app)` receives the Flask application."""

import sys
import traceback
from pathlib import Path
from types import ModuleType

from flask import Flask

from mock_server.errors import SettingsError

MODULE = "mock_extension"


def extend(app: Flask, path: Path) -> None:
    """Let a file extend an application, as it is now: no bytecode is kept of it.

    Raises:
        SettingsError: if it cannot be read, has no such function, or fails; the message names the line.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}; give a Python file") from error
    module = sys.modules[MODULE] = ModuleType(MODULE)  # dataclasses look for the module that they are in
    module.__file__ = str(path)
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102 - the user's own file
        function = getattr(module, "extend", None)
        if function is not None:
            function(app)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise SettingsError(f"{path}{_line(error, path)}: {type(error).__name__}: {reason}") from error
    if function is None:
        raise SettingsError(f"{path} has no function `extend(app)`; define one")


def _line(error: BaseException, path: Path) -> str:
    """The line of a file in which an error came about, for people; empty if it is in none."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f", line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f", line {frames[-1].lineno}" if frames else ""
