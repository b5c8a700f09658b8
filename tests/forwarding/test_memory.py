"""What many long uploads at a time cost in memory."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from shell import running
from wire import HARBOUR

pytestmark = pytest.mark.slow

UPLOADS, SIZE, PIECE = 100, 5 * 2**20, 256 * 2**10
MOST = 250  # MiB more than before the uploads
SOURCE = Path("/proc")


def resident(process: int) -> int:
    """The most memory that a process has had, in MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", (SOURCE / str(process) / "status").read_text())
    assert found
    return int(found[1]) // 1024


async def _deployment(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read an upload slowly, and tell how long it was."""
    await reader.readuntil(b"\r\n\r\n")
    came = 0
    while came < SIZE:
        came += len(await reader.read(PIECE))
        await asyncio.sleep(0.001)
    body = f'{{"data": {{"id": {came}}}}}'.encode()
    writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
    await writer.drain()
    writer.close()


async def _upload(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /api/projects HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"
        b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n" % (HARBOUR.encode(), SIZE)
    )
    for _ in range(SIZE // PIECE):
        writer.write(b"x" * PIECE)
        await writer.drain()
    answer = await reader.read()
    writer.close()
    return answer


async def _all(process: int, port: int, listener: asyncio.Server) -> int:
    before = resident(process)
    async with listener:
        answers = await asyncio.gather(*(_upload(port) for _ in range(UPLOADS)))
    assert all(answer.startswith(b"HTTP/1.1 201") and str(SIZE).encode() in answer for answer in answers)
    return resident(process) - before


@pytest.mark.skipif(
    not (SOURCE / "self/status").exists(), reason="needs Linux, whose /proc tells how much memory a process has"
)
def test_a_hundred_uploads_at_a_time_take_bounded_memory() -> None:
    async def uploads() -> int:
        listener = await asyncio.start_server(_deployment, "127.0.0.1", 0)
        there = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        with running("--forward-to", there, "--log-level", "error") as (process, lines):
            return await _all(process.pid, int(lines[0].split(",")[0].rpartition(":")[2]), listener)

    with ThreadPoolExecutor(1) as apart:  # the browser's event loop may be running in this thread
        assert apart.submit(asyncio.run, uploads()).result() < MOST
