"""How the tests call the tools of `contract-tests mcp` and `mock-server mcp`: over stdio, or in this process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from subprocess import PIPE
from typing import Any
from unittest.mock import patch

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from shell import COMMANDS, in_process
from wire import ALPINE, HARBOUR

from link_management_contract.agents import LONGEST, QUOTED, Tools

PATIENCE = 300  # seconds for an answer
KEYS = {"CONTRACT_API_KEY": HARBOUR, "CONTRACT_SECOND_API_KEY": ALPINE}


def tools(program: str, *options: str, **more: str) -> Client:
    """A client of a program's tools, as a context manager that starts and ends the program."""
    environment = dict(os.environ) | KEYS | more
    command = StdioServerParameters(command=str(COMMANDS / program), args=["mcp", *options], env=environment)
    return Client(command, read_timeout_seconds=PATIENCE)


@asynccontextmanager
async def tools_in_process(main: Callable[[list[str]], int | None], *options: str) -> AsyncIterator[Client]:
    """A client of a program's tools, which this process carries out."""
    served = list[tuple[Tools, Callable[[], object]]]()
    with patch.object(Tools, "serve", lambda *server: served.append(server)):
        assert in_process(main, "mcp", *options).returncode == 0
    ((server, end),) = served
    try:
        async with Client(server, read_timeout_seconds=PATIENCE) as client:
            yield client
    finally:
        end()


@contextmanager
def called(program: str, tool: str, arguments: dict[str, Any], **more: str) -> Iterator[subprocess.Popen[str]]:
    """A program's tools in a process of their own, which has been asked for one of them and has not answered yet."""
    versions = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": versions},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
    ]
    command, environment = [str(COMMANDS / program), "mcp"], dict(os.environ) | KEYS | more
    with subprocess.Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        process.stdin.flush()
        yield process
        process.kill()


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool answers, which is short."""
    text, is_error = await _called(client, tool, arguments)
    assert not is_error, text
    return text


async def result(client: Client, tool: str, **arguments: Any) -> Any:
    """The JSON that a tool answers."""
    return json.loads(await text_of(client, tool, **arguments))


async def complaint(client: Client, tool: str, **arguments: Any) -> str:
    """Why a tool can't do what it is asked."""
    text, is_error = await _called(client, tool, arguments)
    assert is_error, text
    return text


def without_quotes(value: Any) -> Any:
    """A result without what stands under `QUOTED`."""
    if isinstance(value, dict):
        return {name: without_quotes(each) for name, each in value.items() if name != QUOTED}
    return [without_quotes(each) for each in value] if isinstance(value, list) else value


async def until(holds: Callable[[], object]) -> None:
    with anyio.fail_after(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in another process
            await anyio.sleep(0.05)


async def _called(client: Client, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    answered = await client.call_tool(tool, arguments)
    (content,) = answered.content
    text: str = content.text  # type: ignore[union-attr]
    assert len(text.encode()) <= LONGEST
    assert HARBOUR not in text or '"accounts"' in text  # where a mock tells its own keys
    return text, bool(answered.is_error)
