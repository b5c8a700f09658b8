"""How the tests call the tools of `contract-tests mcp` and `mock-server mcp`: over stdio, or in this process."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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
