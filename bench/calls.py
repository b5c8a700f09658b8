"""Counts the calls of the mock's own functions that a list takes, and a create with a file: `python bench/calls.py`."""

from __future__ import annotations

import sys
from collections import Counter
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any

from werkzeug.test import Client

import mock_server
from mock_server.control import Control
from mock_server.settings.settings import Settings

ROOT = Path(mock_server.__file__).parent
MOST_SHOWN = 10
HEADERS = {"Authorization": "Bearer demo-key-harbour"}
LIST, CREATE = "/api/domains/?results_per_page=25", "/api/projects"


def main() -> None:
    """Print how many calls each request takes, in how many modules, and the functions called most."""
    client = Client(Control(Settings()))
    report(f"GET {LIST}", client, "GET", LIST)
    report(f"POST {CREATE} with a file", client, "POST", CREATE)


def report(title: str, client: Client, method: str, path: str) -> None:
    """Print the calls of one request; another like it comes first, because that compiles routes."""
    calls = Counter[tuple[str, str]]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = Path(frame.f_code.co_filename)
        if event == "call" and module.is_relative_to(ROOT):
            calls[str(module.relative_to(ROOT)), frame.f_code.co_qualname] += 1

    def send() -> int:
        form = {"name": "New", "logo": (BytesIO(b"\x89PNG" * 100), "logo.png")} if method == "POST" else None
        return client.open(path, method=method, headers=HEADERS, data=form).status_code

    send()
    sys.setprofile(note)
    try:
        status = send()
    finally:
        sys.setprofile(None)
    modules = {module for module, _ in calls}
    print(f"{title}: {status}, {calls.total()} calls of {len(calls)} functions in {len(modules)} modules")
    for (module, name), count in calls.most_common(MOST_SHOWN):
        print(f"{count:5} {module}: {name}")


if __name__ == "__main__":
    main()
