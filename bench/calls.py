"""Counts the calls of the mock's own functions that one request takes: `python bench/calls.py [PATH]`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from werkzeug.test import Client

import mock_server
from mock_server.control import Control
from mock_server.settings import Settings

ROOT = Path(mock_server.__file__).parent
MOST_SHOWN = 15


def main() -> None:
    """Print how many calls a list of 25 records takes, or another read, and the functions called most."""
    path = sys.argv[1] if len(sys.argv) > 1 else "/api/domains/?results_per_page=25"
    client, headers = Client(Control(Settings())), {"Authorization": "Bearer demo-key-harbour"}
    client.get(path, headers=headers)  # the first request of a process compiles routes
    calls = Counter[str]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = Path(frame.f_code.co_filename)
        if event == "call" and module.is_relative_to(ROOT):
            calls[f"{module.relative_to(ROOT)}: {frame.f_code.co_qualname}"] += 1

    sys.setprofile(note)
    try:
        status = client.get(path, headers=headers).status_code
    finally:
        sys.setprofile(None)
    print(f"GET {path}: {status}, {calls.total()} calls of {len(calls)} functions")
    for name, count in calls.most_common(MOST_SHOWN):
        print(f"{count:5} {name}")


if __name__ == "__main__":
    main()
