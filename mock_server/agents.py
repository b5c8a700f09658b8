"""The command `mock-server mcp`: a mock as tools of a coding agent."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Context
from pydantic import Field

from link_management_contract.agents import QUOTED, Tools, answer, carried_out, cut
from mock_server import output
from mock_server.control.switches import switch_values
from mock_server.errors import Refusal, SettingsError
from mock_server.journal.journal import frequent_remarks
from mock_server.options import ServerOptions
from mock_server.server import MockServer
from mock_server.store.protocols import Account
from mock_server.trial.client_test import FAILED
from mock_server.trial.report import RESULTS

USAGE = (
    "A stateful mock of the link-management API, to build a client against. Call `start`, let the client use its"
    " base_url with one of its keys, and look at the remarks in `journal`, which name each mistake of the client."
    " `force` makes an error happen; `try` finds out what a client relies on that other servers may do otherwise."
)
MAX_ENTRIES_SHOWN, MAX_SANDBOXES = 20, 10  # requests of the journal, and accounts
Choices = Annotated[
    dict[str, str] | None, Field(description='values of open points, such as {"create-status": "200"}; `state` lists')
]
Conditions = Annotated[dict[str, float] | None, Field(description='trouble, such as {"latency": 0.5}; `state` lists')]
Defects = Annotated[list[str] | None, Field(description="rules to break, by names that `state` lists")]


def serve(options: ServerOptions, settings: Mapping[str, Any]) -> None:
    """Serve the tools until the client goes away; then the mock stops, too.

    Args:
        options: those of the command line.
        settings: those that the mock starts with.
    """
    session = Session(options, settings)
    names = ("start", "stop", "state", "reset", "force", "journal", "choose", "try_")
    Tools("mock-server", USAGE, [getattr(session, name) for name in names], (SettingsError, Refusal)).serve(session.end)


def _totals(key: str, account: Account) -> dict[str, Any]:
    """An account's key, and how many records it has of each resource."""
    return {"key": key, **{name: collection.total for name, collection in account.collections.items()}}


class Session:
    """The mock of one client, if it runs, and the client's tools."""

    def __init__(self, options: ServerOptions, settings: Mapping[str, Any]) -> None:
        self._options, self._settings = options, settings
        self._mock: MockServer | None = None
        self._is_free = anyio.Lock()

    async def start(
        self,
        port: Annotated[int, Field(ge=0, le=65535, description="0 for a free one")] = 0,
        fixture: Annotated[str, Field(description="what it holds at first: demo, empty or a file")] = "",
        choices: Choices = None,
        conditions: Conditions = None,
        defects: Defects = None,
    ) -> str:
        """Start the mock on this machine; where it answers, and its keys."""
        if self._mock:
            raise SettingsError(f"a mock runs at {self._mock.base_url}; `choose` and `reset` change it, `stop` ends it")
        settings = dict(self._settings) | _switched(choices, conditions, defects)
        settings |= {"fixture": fixture} if fixture else {}
        mock = MockServer(port=port or (self._options.port if "port" in self._options.names_used else 0), **settings)
        self._mock = mock.__enter__()  # until `stop`, or the end
        return self.state()

    def stop(self) -> str:
        """Stop the mock; it forgets everything."""
        mistakes = [f"{rule}: {problem}" for problem, rule, _ in frequent_remarks(self._running.running.journal)]
        self.end()
        return answer(stopped=True, remarks={QUOTED: mistakes})

    def end(self) -> None:
        mock, self._mock = self._mock, None
        if mock:
            mock.__exit__(None, None, None)

    @property
    def _running(self) -> MockServer:
        if not self._mock:
            raise SettingsError("no mock runs; call start first")
        return self._mock

    def state(
        self,
        names: Annotated[
            Literal["", "choices", "conditions", "defects"], Field(description="list what can be chosen instead")
        ] = "",
        matching: Annotated[str, Field(description="list only what holds this text")] = "",
    ) -> str:
        """Where the mock answers, its keys, records, switches and forced answers; or what can be chosen."""
        if names:
            texts = {
                "choices": lambda: output.open_points({}, None),
                "conditions": output.conditions,
                "defects": output.defects,
            }
            entries = re.split(r"\n(?! )", texts[names]())  # an open point has its values below it, indented
            lines = [entry for entry in entries if matching.casefold() in entry.casefold()]
            return cut("\n".join(lines) or f'no name or text holds "{matching}"', "\n... cut; give `matching`")
        mock, running = self._running, self._running.running
        by_key = running.mock.accounts
        accounts = {key: account for key in by_key.keys if (account := by_key.get(key))}
        sandboxes = list(by_key.sandboxes.items())  # whose keys any page may choose
        return answer(
            base_url=mock.base_url,
            console=f"{mock.origin}/",
            accounts=[_totals(key, account) for key, account in accounts.items()],
            names={QUOTED: [account.name for account in accounts.values()]},
            sandboxes={"number": len(sandboxes), QUOTED: [_totals(*sandbox) for sandbox in sandboxes[-MAX_SANDBOXES:]]},
            more_keys="sandbox-ANYTHING is a private copy of the first account",
            switches={name: value for name, value in switch_values(running.settings).items() if value},
            forced={
                QUOTED: [
                    f"{effect.number}: {effect.description} on {effect.method} {effect.path}"
                    for effect in running.effects.active
                ]
            },
            journal={"requests": len(running.journal.find()), "kinds of remarks": len(running.journal.remark_counts)},
        )

    def reset(
        self,
        account: Annotated[str, Field(description="the key of the only account to reset, such as sandbox-7")] = "",
        records: Annotated[
            dict[str, list[dict[str, Any]]] | None,
            Field(description='what that account then holds, such as {"domains": [{"host": "go.example.com"}]}'),
        ] = None,
    ) -> str:
        """Let the mock start again: records, switches and forced answers; or one account alone."""
        running = self._running.running
        if account:
            running.reset_account(account, None if records is None else {"records": records})
        elif records is not None:
            raise SettingsError("records go with an account; give its key, such as sandbox-7")
        else:
            running.reset()
        return self.state()

    def force(  # noqa: PLR0913, PLR0917 - as above
        self,
        prefer: Annotated[str, Field(description="such as code=429, delay=2, lost=after, defect=NAME")] = "",
        status: Annotated[int | None, Field(description="an answer of its own, with body and headers")] = None,
        body: Annotated[Any, Field(description="JSON")] = None,
        headers: dict[str, str] | None = None,
        field: Annotated[str, Field(description="a form field that is refused by name")] = "",
        method: str = "*",
        path: Annotated[str, Field(description="such as /api/domains/*")] = "*",
        account: Annotated[str, Field(description="a key, or * for any")] = "*",
        times: Annotated[int | None, Field(description="how often; null for ever")] = 1,
        take_back: Annotated[bool, Field(description="remove all forced answers instead")] = False,  # noqa: FBT002 - as above
    ) -> str:
        """Force an answer on the next matching request, or on more."""
        running = self._running.running
        if take_back:
            running.effects.remove()
            return self.state()
        parts = {"prefer": prefer, "status": status, "body": body, "headers": headers, "field": field}
        effect = {name: value for name, value in parts.items() if value not in (None, "")}
        added = running.force(effect | {"method": method, "path": path, "account": account, "times": times})
        return answer(number=added.number, forced=added.description, method=method, path=path, times=times)

    def journal(
        self,
        number: Annotated[int | None, Field(description="show this request whole")] = None,
        after: Annotated[int, Field(ge=0, description="only requests after this number")] = 0,
        path: Annotated[str, Field(description="such as /api/domains/*")] = "",
        only_remarked: Annotated[bool, Field(description="only requests with remarks")] = False,  # noqa: FBT002
    ) -> str:
        """The latest requests with the remarks about them: mistakes of the client, each with its rule."""
        journal = self._running.running.journal
        if number is not None:
            entry = journal.entry(number)
            if entry is None:
                raise SettingsError(f"request {number} is not in the journal; leave number out to see which are")
            return answer(number=number, **{QUOTED: asdict(entry)})
        filters = {"path": path or "*"} | ({"remarks": "1"} if only_remarked else {})
        entries_found = journal.find(after=str(after), **filters)
        entries = [
            {
                "number": entry.number,
                "request": f"{entry.method} {entry.target}",
                "status": entry.status,
                "remarks": [f"{remark.rule}: {remark.what}" for remark in entry.remarks],
            }
            for entry in entries_found[-MAX_ENTRIES_SHOWN:]
        ]
        return answer(found=len(entries_found), latest={QUOTED: entries})

    def choose(self, choices: Choices = None, conditions: Conditions = None, defects: Defects = None) -> str:
        """Switch how the mock behaves, and keep its records; each switch that is given replaces the present one."""
        self._running.running.change_switches(**_switched(choices, conditions, defects))
        return self.state()

    async def try_(
        self,
        context: Context[Any, Any],
        command: Annotated[list[str], Field(min_length=1, description='starts the client: ["npm", "test"]')],
        vary: Annotated[str, Field(description="of open, trouble and defects")] = "open,trouble",
        only: Annotated[list[str] | None, Field(description="vary only these points, troubles or defects")] = None,
        env: Annotated[dict[str, str] | None, Field(description='beside $MOCK_URL: {"BASE_URL": "{url}"}')] = None,
    ) -> str:
        """Run a client's command against every server that the specification allows, and see what it relies on.

        The command runs on this machine as the user's own would, many times; it gets the server's URL in $MOCK_URL.
        """
        with TemporaryDirectory(prefix="mock-server-") as folder:
            arguments = [
                *("try" if word == "mcp" else word for word in self._options.words),
                f"--vary={vary}",
                f"--report-dir={folder}",
            ]
            arguments += [f"--only={name}" for name in only or ()]
            arguments += [f"--env={name}={text}" for name, text in (env or {}).items()]
            async with self._is_free:
                status, complaint = await carried_out("mock_server", [*arguments, "--", *command], context)
            path = Path(folder) / RESULTS
            if not path.exists():
                raise SettingsError(answer(exit_status=status, **{QUOTED: complaint}))
            return _summarize_trial(json.loads(path.read_text("utf-8")))


def _switched(
    choices: dict[str, str] | None, conditions: dict[str, float] | None, defects: list[str] | None
) -> dict[str, Any]:
    switches = {"choices": choices, "conditions": conditions, "defects": defects}
    return {name: value for name, value in switches.items() if value is not None}


def _summarize_trial(results: Mapping[str, Any]) -> str:
    """What a trial found, the servers that the client fails with first."""
    counts = Counter(f"{variation['kind']}: {variation['result']}" for variation in results["variations"])
    failed = [variation for variation in results["variations"] if variation["result"] == FAILED]
    return answer(
        exit_status=results["status"],
        runs=results["runs"],
        seconds=results["seconds"],
        stopped=results["stopped"],
        counts=counts,
        fails_with=[
            {
                "name": variation["name"],
                **{name: variation[name] for name in ("value", "usual", "what") if name in variation},
                QUOTED: {"findings": variation["findings"][:2], "output": variation["output"][-300:]},
            }
            for variation in failed
        ],
        **{QUOTED: {"output": results["output"][-300:], "notes": results["notes"]}},
    )
