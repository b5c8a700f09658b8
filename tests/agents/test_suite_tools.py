"""`contract-tests mcp`, over stdio where the process matters, with the client of the protocol's own SDK."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest
from mcp_client import KEYS, complaint, result, text_of, tools, tools_in_process, until
from shell import ROOT, command

from contract_tests import cli
from contract_tests.options import SCREEN_PARAMETERS, TOOL_PARAMETERS, McpOptions, RunOptions
from link_management_contract.agents import LONGEST, QUOTED, answer, cut
from mock_server import MockServer

pytestmark = pytest.mark.anyio
RULE = "pagination.total-counts-the-records"
QUICK = {"explore": 0, "resources": ["domains"], "rules": ["pagination.*"]}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def totals(server: MockServer) -> dict[str, int]:
    return {
        f"{name} {resource}": collection.total
        for key, name in server.api_keys.items()
        if (account := server.running.mock.accounts.get(key))
        for resource, collection in account.collections.items()
    }


@pytest.mark.slow
async def test_each_tool_from_a_failure_to_conforms() -> None:
    with MockServer(defects=["total-is-one-more"]) as server:
        async with tools_in_process(cli.main) as client:
            first = await result(client, "judge", base_url=server.base_url, **QUICK)
            cause = first["fix_this_first"]
            again = await result(client, "next_finding", rule=RULE)
            after_the_last = await result(client, "next_finding")
            first_again = await result(client, "next_finding")
            script = await text_of(client, "script", rule=RULE)
            server.running.change_switches(defects=())
            second = await result(client, "judge", base_url=server.base_url, explore=0)
            compared = await result(client, "compare")
            explained = await text_of(client, "explain", name=RULE)
            statement = await text_of(client, "explain", name="45")
    assert first["verdict"].startswith("does not conform")
    assert cause["rule"] == RULE
    assert cause[QUOTED]["at"].startswith("/meta/total: ")
    assert RULE not in str(first["then"])
    assert {each["resource"] for each in again["results"]} == set(cause["resources"])
    assert (after_the_last["finding"], first_again["finding"]["rule"]) == (None, RULE)
    assert "<-- this answer" in script
    assert "mine() {" not in script
    assert second["verdict"].startswith("conforms")
    assert second["fix_this_first"] is None
    assert f"{RULE}[domains]: fail, now pass" in compared["better"]
    assert compared["worse"] == []
    assert "statements 45, D2" in explained or "45" in explained
    assert RULE in statement


@pytest.mark.slow
async def test_wrong_arguments_are_told(tmp_path: Path) -> None:
    async with tools_in_process(cli.main, "--report-dir", str(tmp_path / "reports")) as client:
        assert "invalid base URL" in await complaint(client, "judge", base_url="127.0.0.1:8000")
        assert 'no argument "url"; it takes base_url' in await complaint(client, "judge", url="http://127.0.0.1:1")
        assert "less than or equal" in await complaint(client, "judge", base_url="http://127.0.0.1:1", explore=10**6)
        unknown = await complaint(client, "judge", base_url="http://127.0.0.1:1", resources=["pages"])
        assert "resources are splash-pages" in unknown
        assert "nothing came to a verdict yet" in await complaint(client, "next_finding")
        assert "nothing came to a verdict yet" in await complaint(client, "script", rule=RULE)
        assert "two runs are compared" in await complaint(client, "compare")
        assert "did you mean" in await complaint(client, "explain", name="pagination.total-counts-records")
        assert "unreachable" in await complaint(client, "judge", base_url="http://127.0.0.1:1")
        assert "there is no tool" in await complaint(client, "allow_writes")


@pytest.mark.slow
async def test_a_server_that_hangs_ends_the_run_and_nothing_else_waits(silent: str) -> None:
    async with tools_in_process(cli.main, "--timeout", "2") as client, anyio.create_task_group() as group:
        heard = list[str]()

        async def judge() -> None:
            heard.append(await complaint(client, "judge", base_url=silent))

        group.start_soon(judge)
        explained = await text_of(client, "explain", name=RULE)
        assert not heard
    assert RULE in explained
    assert json.loads(heard[0])["exit_status"] == 7


async def cancelled_while_it_creates(client: mcp.Client, server: MockServer) -> None:
    """Let a client judge a server, and cancel that as soon as there are records of the run."""
    before, creates = totals(server), {"method": "POST", "status": "201"}
    made = len(server.running.journal.find(**creates))
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: text_of(client, "judge", base_url=server.base_url, explore=0))
        await until(lambda: len(server.running.journal.find(**creates)) > made)
        assert totals(server) != before
        group.cancel_scope.cancel()


@pytest.mark.slow
async def test_a_run_that_is_cancelled_removes_what_it_made_even_if_its_client_leaves() -> None:
    with MockServer(conditions={"latency": 0.02}) as server:
        before = totals(server)
        async with tools("contract-tests") as client:
            async with anyio.create_task_group() as group:
                group.start_soon(text_of, client, "judge")
                group.cancel_scope.cancel()
            await cancelled_while_it_creates(client, server)
            after = await result(client, "judge", base_url=server.base_url, **QUICK)
            assert after["verdict"].startswith("partial")
            await until(lambda: totals(server) == before)
            await cancelled_while_it_creates(client, server)
        await until(lambda: totals(server) == before)


@pytest.mark.slow
async def test_two_clients_do_not_see_each_other() -> None:
    with MockServer() as right, MockServer(defects=["total-is-one-more"]) as wrong:
        async with tools_in_process(cli.main) as one, tools_in_process(cli.main) as other:
            found = dict[str, Any]()

            async def judge(name: str, client: Any, server: MockServer) -> None:
                found[name] = await result(client, "judge", base_url=server.base_url, **QUICK)

            async with anyio.create_task_group() as group:
                group.start_soon(judge, "right", one, right)
                group.start_soon(judge, "wrong", other, wrong)
            assert found["right"]["fix_this_first"] is None
            assert found["wrong"]["fix_this_first"]["rule"] == RULE
            assert await complaint(one, "script", rule=RULE)
            assert await text_of(other, "script", rule=RULE)


@pytest.mark.slow
async def test_no_tool_can_reach_further_than_the_start_allows() -> None:
    away = "http://192.0.2.7"
    async with tools_in_process(cli.main) as client:
        assert "--allow-writes" in await complaint(client, "judge", base_url=away)
        assert "no argument" in await complaint(client, "judge", base_url=away, allow_writes=True)
        assert "no argument" in await complaint(client, "judge", base_url=away, api_key="other")
        described = str((await client.list_tools()).tools)
        assert "--allow-writes" not in described
    async with tools_in_process(cli.main, "--base-url", away) as client:
        assert "for http://192.0.2.7 alone" in await complaint(client, "judge", base_url="http://127.0.0.1:8000")
        assert "--allow-writes" in await complaint(client, "judge")


@pytest.mark.slow
async def test_writes_to_another_host_are_allowed_at_the_start_alone() -> None:
    async with tools_in_process(cli.main, "--allow-writes", "--timeout", "1", "--deadline", "5s") as client:
        heard = json.loads(await complaint(client, "judge", base_url="http://contract-tests.invalid"))
    assert heard["exit_status"] == 7


def test_a_result_of_any_size_is_cut_and_says_so() -> None:
    much = {f"name {number}": ["\N{CJK UNIFIED IDEOGRAPH-6C34}" * 5000] * 50 for number in range(40)}
    text = answer(short="kept", much={QUOTED: much})
    assert len(text.encode()) <= LONGEST
    assert "kept" in text
    assert text.endswith("cut")
    assert "and 4990 more characters" not in answer(text="x" * 290)
    assert json.loads(answer(text="x" * 5000, list=list(range(50))))["list"][-1] == "and 30 more"
    assert cut("one\ntwo") == "one\ntwo"


def test_nothing_in_a_result_steers_a_terminal() -> None:
    assert "\x1b" not in answer(**{"a\x1b[2J": "b\x1b[2J"})


def test_keys_are_taken_from_the_environment_alone() -> None:
    ended = command("mcp", "--api-key", "secret")
    assert ended.returncode == 4
    assert "No such option" in ended.stderr


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "contract_tests.commands.mcp", None)
    ended = command("mcp")
    assert ended.returncode == 4
    assert "[mcp]" in ended.stderr


def test_every_option_of_a_run_is_either_one_of_the_tools_or_of_the_command() -> None:
    own = {parameter.name for parameter in McpOptions.parameters()}
    assert {parameter.name for parameter in RunOptions.parameters()} == own | TOOL_PARAMETERS | SCREEN_PARAMETERS
    assert (ROOT / "docs/agents.md").exists()
