"""What both programs do with texts: show them, and write them to files."""

import os
import re
import shutil
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TextIO

from link_management_contract import shipped

STATEMENT = re.compile(r'^- <a id="s(D?\d+)"></a>\*\*\1\*\* \(\w+\) (.*?)(?=\n\n|\n- |\Z)', re.MULTILINE | re.DOTALL)

RULING = re.compile(r'^\d+\. <a id="r(\d+)"></a>\*\*(.*?)\*\* (.*?)(?=\n\n|\n\d+\. |\Z)', re.MULTILINE | re.DOTALL)


def printable(text: str) -> str:
    """A text in which no character steers a terminal, and which no runner of CI takes for a command."""
    shown_text = "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)
    return shown_text.replace("##[", "## [")


def printable_values(value: Any) -> Any:
    """A JSON document in which the same holds for all texts."""
    if isinstance(value, dict):
        return {printable(str(name)): printable_values(member) for name, member in value.items()}
    if isinstance(value, list):
        return [printable_values(item) for item in value]
    return printable(value) if isinstance(value, str) else value


def write_whole(path: Path, text: str, newline: str | None = None) -> None:
    """Write a file of which nobody ever reads a half, also if the disk is full.

    Raises:
        OSError: if it cannot be written; then what was there stays.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace", newline=newline)
        if path.is_file():
            shutil.copymode(path, unfinished)
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink()


def discard(stream: TextIO) -> None:
    """Discard everything that is still printed to a stream, as nobody reads it or it cannot be written."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def escape_pattern(secret: str, encoding: str = "utf-8") -> str:
    """A pattern that finds a secret, whichever of its characters are escaped as in JSON or in a URL of an encoding."""
    return "".join(_character_pattern(character, encoding) for character in secret)


def _character_pattern(character: str, encoding: str) -> str:
    in_url = "".join(f"%{byte:02x}" for byte in character.encode(encoding))
    return rf"(?:\\?{re.escape(character)}|(?i:{in_url}|\\u{ord(character):04x}))"


def shown_url(url: str) -> str:
    """A URL without its user, password and query, so a message can show it."""
    scheme, separator, remainder = url.partition("://")
    if not separator:  # perhaps a URL without its scheme
        scheme, remainder = "", url
    address = remainder.rpartition("@")[2]  # a password may hold any character, so everything before the last @ goes
    return f"{scheme}{separator}{address.partition('?')[0].partition('#')[0]}"


def is_loopback(host: str) -> bool:
    """Whether a host is a loopback name or address, which only this machine can reach."""
    with suppress(ValueError):
        return host == "localhost" or ip_address(host).is_loopback
    return False


def statements() -> dict[str, str]:
    """The statements of the specification, in the project's own words, by number, such as `45` or `D2`."""
    return {number: " ".join(text.split()) for number, text in STATEMENT.findall(_specification())}


def rulings() -> dict[str, str]:
    """What settles a question that the specification leaves ambiguous, by number, such as `14`."""
    return {number: " ".join(f"{title} {text}".split()) for number, title, text in RULING.findall(_specification())}


def _specification() -> str:
    installed = shipped("specification.md")
    path = installed if installed.exists() else shipped("docs/specification.md")
    return path.read_text("utf-8")
