"""Load on a server: by wrk where it is installed, else by a small generator in Python."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

Call = tuple[str, str, Mapping[str, str], bytes]
CONNECTIONS = 16
WRK = shutil.which("wrk")
USED = "wrk" if WRK else "the generator in bench/load.py (install wrk for higher loads)"
SCRIPT = """
local calls = {{ {calls} }}
local at = 0
request = function()
  at = at % #calls + 1
  return calls[at]
end
"""


def rate(port: int, calls: list[Call], seconds: float) -> float:
    """How many of these requests a server answers in a second, on 16 connections.

    Raises:
        RuntimeError: if an answer is an error.
    """
    return _wrk(port, calls, seconds) if WRK else _python(port, calls, seconds)


def _wrk(port: int, calls: list[Call], seconds: float) -> float:
    with TemporaryDirectory() as folder:
        script = Path(folder) / "calls.lua"
        texts = ", ".join('"' + "".join(f"\\{byte:03}" for byte in _bytes(port, call)) + '"' for call in calls)
        script.write_text(SCRIPT.format(calls=texts))
        command = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds:.0f}s", "--timeout", "10s", "-s", str(script)]
        told = subprocess.run(
            [str(WRK), *command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True
        ).stdout
    if "Non-2xx" in told:
        raise RuntimeError(told)
    found = re.search(r"Requests/sec:\s+([\d.]+)", told)
    assert found, told
    return float(found[1])


def _bytes(port: int, call: Call) -> bytes:
    method, path, headers, body = call
    told = {"Host": f"127.0.0.1:{port}", **headers} | ({"Content-Length": str(len(body))} if body else {})
    lines = "".join(f"{name}: {text}\r\n" for name, text in told.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def _python(port: int, calls: list[Call], seconds: float) -> float:
    """Run this module as a process of its own."""
    given = json.dumps([[_bytes(port, call).decode("latin-1") for call in calls], port, seconds])
    command = [sys.executable, __file__]
    return float(subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout)


async def _client(port: int, calls: list[bytes], until: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    answered = 0
    for call in cycle(calls):
        if time.perf_counter() > until:
            break
        writer.write(call)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(head.decode("latin-1"))
        if found := re.search(rb"content-length: (\d+)", head, re.IGNORECASE):
            await reader.readexactly(int(found[1]))
        else:
            while size := int(await reader.readuntil(b"\r\n"), 16):
                await reader.readexactly(size + 2)
            await reader.readexactly(2)
        answered += 1
    writer.close()
    return answered


async def _load() -> float:
    texts, port, seconds = json.load(sys.stdin)
    calls, began = [text.encode("latin-1") for text in texts], time.perf_counter()
    turned = [calls[at % len(calls) :] + calls[: at % len(calls)] for at in range(CONNECTIONS)]
    answered = await asyncio.gather(*(_client(port, each, began + seconds) for each in turned))
    return sum(answered) / (time.perf_counter() - began)


if __name__ == "__main__":
    print(asyncio.run(_load()))
