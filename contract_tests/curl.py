"""Requests for a shell: as one curl command, and as words of a script with a mark of its own for that of the run."""

from __future__ import annotations

import re
from shlex import quote

from contract_tests.exchange import Request
from contract_tests.multipart import USUAL, encode
from contract_tests.target.identities import IDENTITIES

MARK = re.compile(r"ct\d+x?[0-9a-f]*-(\d+z)")  # what marks a record of a run
SHOWN_WHOLE = (32, 126)  # the codes of characters that need no escape


def curl(base_url: str, request: Request) -> str:
    """The curl command; keys come from the environment, images from a local file."""
    parts = ["curl", "-i"]
    if request.method != "GET" and request.form is None and request.body is None:
        parts += ["-X", request.method]
    parts += [IDENTITIES[request.identity].curl] if request.identity in IDENTITIES else []
    for name, value in (request.form or {}).items():
        if isinstance(value, str):
            parts += ["--form-string", quote(f"{name}={value}")]
        else:
            parts += ["-F", quote(f"{name}=@fixtures/images/logo.png;filename={value[0]};type={value[2]}")]
    if request.body is not None:
        parts += ["-H", quote(f"Content-Type: {request.body[0]}"), "--data-binary", quote(request.body[1].decode())]
    return " ".join([*filter(None, parts), quote(f"{base_url}{request.target}")])


def form(number: int, request: Request) -> tuple[list[str], list[str]]:
    """The lines that prepare files, and the arguments of curl."""
    if request.body is not None:
        media_type, body = request.body
    elif request.form is not None and request.shape != USUAL:
        body, media_type = encode(request.form, request.shape)
    else:
        return _fields(number, request)
    file = f'"$dir/{number}"'
    return [printed(body, file)], ["-H", f'"Content-Type: {quoted(media_type)}"', "--data-binary", f"@{file}"]


def _fields(number: int, request: Request) -> tuple[list[str], list[str]]:
    prepared, arguments = [], list[str]()
    for name, value in (request.form or {}).items():
        if isinstance(value, str):
            arguments += ["--form-string", f'"{quoted(f"{name}={value}")}"']
        else:
            file = f'"$dir/{number}-{name}"'
            prepared.append(printed(value[1], file))
            arguments += ["-F", f'{name}=@{file}\\;filename="{quoted(value[0])}"\\;type={value[2]}']
    return prepared, arguments


def printed(content: bytes, file: str) -> str:
    """A line that writes a file, whatever is in it; the marks of the run become those of the script."""
    parts, marks = [], []
    for piece in re.split(rb"(ct\d+x?[0-9a-f]*-\d+z)", content):
        found = MARK.fullmatch(piece.decode("latin-1"))
        if found:
            parts.append("%s")
            marks.append(f'"$mark-{found[1]}"')
        else:
            parts.append("".join(_octal(byte) for byte in piece))
    return " ".join([f"printf -- '{''.join(parts)}'", *marks, f"> {file}"])


def _octal(byte: int) -> str:
    letter = chr(byte)
    if letter == "%":
        return "%%"
    least, most = SHOWN_WHOLE
    return letter if least <= byte <= most and letter not in "\\'" else f"\\{byte:03o}"


def quoted(text: str) -> str:
    """A text between double quotes of a shell, with the script's mark for the run's; `$` stands for an id in a path."""
    escaped = re.sub(r'(["\\`]|\$(?!id_\d))', r"\\\1", text)
    escaped = MARK.sub(r"$mark-\1", escaped)
    return "$(printf '\\r')".join(escaped.split("\r"))
