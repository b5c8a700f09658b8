"""A file of the user's that extends the mock: its function `extend(app)` receives the Flask application."""

import re
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from pathlib import Path
from types import ModuleType
from typing import Any, Self
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask, request

from mock_server.api.representations import failure_text
from mock_server.errors import FROM_EXTENSION, SettingsError
from mock_server.http.messages import NAME_CHARACTER, READS, refuse_unread

MODULE = "mock_extension"
STATUS = re.compile(r"[2-9]\d\d(?!\d)")
NAME = re.compile(f"{NAME_CHARACTER}+")
TEXT = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
NO_LINE = "None of these lines is in {}: perhaps one of its hooks returned None, or another thing that is no response."
FAILURE = b'{"errors": [{"title": "The extension of the mock failed; its log shows where.", "status": 500}]}'


@dataclass(frozen=True)
class Extension:
    """A file of the user's as it was when it was read.

    Attributes:
        code: what it holds; no bytecode is kept of it.
    """

    path: Path
    code: bytes

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            SettingsError: if it cannot be read.
        """
        try:
            return cls(path, path.read_bytes())
        except OSError as error:
            raise SettingsError(f"{path} cannot be read: {error.strerror}; give a Python file") from error

    def extend(self, app: Flask) -> None:
        """Let the file extend an application; what it breaks there is answered with 500, and logged.

        Raises:
            SettingsError: if it has no such function, or fails; the message names the line, if one is at fault.
        """
        app.test_client = _own_client(app)  # type: ignore[method-assign]
        app.before_request(_refuse_unread)
        _run(app, self.path, self.code)
        app.wsgi_app = _answering(app, self.path)  # type: ignore[assignment, method-assign]


def _refuse_unread() -> None:
    """Refuse a write whose body was too long or did not come, before a route of the extension's own sees it."""
    if request.blueprint != "api" and request.method not in READS:
        refuse_unread(request.environ)


def _own_client(app: Flask) -> Callable[..., Any]:
    """Makes clients for requests of the extension's own, which no journal shows and nothing is forced on."""
    usual_client = app.test_client

    def test_client(*args: Any, **options: Any) -> Any:
        client = usual_client(*args, **options)
        client.environ_base[FROM_EXTENSION] = "1"
        return client

    return test_client


def _answering(app: Flask, path: Path) -> WSGIApplication:
    """An application that also answers where Flask itself fails, as where a hook returns no answer or a body breaks."""
    inner: WSGIApplication = app.wsgi_app

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        head = ("", list[tuple[str, str]]())

        def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
            nonlocal head
            head = status, headers

        try:
            body = inner(environ, start)
            try:
                content = b"".join(body)
            finally:
                getattr(body, "close", lambda: None)()  # PEP 3333
            status, headers = head
            is_hidden = environ["REQUEST_METHOD"] == "HEAD" or status.startswith("304")
            _check_head(status, headers, None if is_hidden else len(content))
        except BaseException:  # noqa: BLE001 - a `sys.exit()` of the file's too
            trace = traceback.format_exc()
            hint = "" if f'"{path}"' in trace else NO_LINE.format(path)
            app.logger.error("an extension failed on %s%s", failure_text(environ, trace), hint)  # noqa: TRY400
            status, headers, content = "500 Internal Server Error", [("Content-Type", "application/json")], FAILURE
        start_response(status, headers)
        return [content]

    return answer


def _check_head(status: str, headers: Iterable[tuple[str, str]], length: int | None) -> None:
    """Refuse what no server could send.

    Args:
        length: of the body, in bytes; None if a client does not see its body.

    Raises:
        ValueError: if it could not be sent.
    """
    if not STATUS.match(status):
        raise ValueError(f"the status {status!r} cannot be sent; give 200 to 999")
    lengths = []
    for name, text in headers:
        if not NAME.fullmatch(name) or not TEXT.fullmatch(text):
            raise ValueError(f"the header {name!r}: {text!r} cannot be sent; give a token, and text in Latin-1")
        if name.lower() == "transfer-encoding":
            raise ValueError("Transfer-Encoding is the server's own header; leave it out")
        if name.lower() == "content-length":
            lengths.append(text)
    is_number = all(text.isdecimal() for text in lengths)
    if len(lengths) > 1 or not is_number or (length is not None and lengths and int(lengths[0]) != length):
        raise ValueError(f"the Content-Length {', '.join(lengths)} is not that of the body; leave it out")


def _run(app: Flask, path: Path, code: bytes) -> None:
    module = sys.modules[MODULE] = ModuleType(MODULE)  # dataclasses look for the module that they are in
    module.__file__ = str(path)
    try:
        exec(compile(code, str(path), "exec"), module.__dict__)  # noqa: S102 - the user's own file
        function = getattr(module, "extend", None)
        if iscoroutinefunction(function) or isasyncgenfunction(function) or isgeneratorfunction(function):
            function = None  # a call of such a function would do nothing
        if function is not None:
            function(app)
    except BaseException as error:
        raise SettingsError(f"{path}{_line(error, path)}: {type(error).__name__}: {_reason(error)}") from error
    if function is None:
        raise SettingsError(f"{path} has no function `extend(app)`; define one, without async and yield")


def _reason(error: BaseException) -> str:
    """What an error says; nothing if it cannot say it."""
    try:
        return str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:  # noqa: BLE001 - of the user's own making
        return ""


def _line(error: BaseException, path: Path) -> str:
    """The line of a file in which an error came about, for people; empty if it is in none."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f", line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f", line {frames[-1].lineno}" if frames else ""
