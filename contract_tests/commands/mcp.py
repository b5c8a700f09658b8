"""The command `contract-tests mcp`: the suite as tools of a coding agent."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import anyio
import click
from mcp.server.mcpserver import Context
from pydantic import Field

from contract_tests.commands.compare import Regression
from contract_tests.commands.rules import areas, text_about
from contract_tests.errors import NothingSelectedError, StoppedError, UsageError
from contract_tests.options import McpOptions, checked_url
from contract_tests.reports import results
from contract_tests.reports.causes import CauseGroup, groups, undecided
from contract_tests.repro.script import file_of
from contract_tests.target.connection import is_loopback
from contract_tests.verdicts.verdicts import VIOLATED, Verdict
from link_management_contract import Contract
from link_management_contract.agents import QUOTED, Tools, answer, carried_out, cut
from link_management_contract.texts import printable

INSTRUCTIONS = (
    "Judges servers that implement the link-management API. Call `judge`, correct what stands in `fix_this_first`,"
    " judge again, until the verdict is `conforms`. `explain` tells what a rule or a statement of the specification"
    " asks for; `script` gives a shell script that shows one failure alone."
)
MAX_EXPLORED, MAX_ROUNDS = 5000, 100
MAX_RUN_TIME = "5m"  # unless --deadline says otherwise
MAX_LISTED, MAX_FINDINGS = 3, 2  # checks that were not judged, of each reason; findings of a rule and resource
BOILERPLATE = re.compile(r"^base=.*?^trap tidy EXIT\n|^command -v contract-tests.*", re.MULTILINE | re.DOTALL)


def mcp_command(contract: Contract, options: McpOptions) -> int:
    """Serve the tools until the client goes away."""
    folder = TemporaryDirectory(prefix="contract-tests-")
    session = Session(contract, options, options.report_dir or Path(folder.name))
    tools = (session.judge, session.next_finding, session.explain, session.script, session.compare)
    Tools("contract-tests", INSTRUCTIONS, tools, (StoppedError, click.BadParameter)).serve(folder.cleanup)
    return 0


class Session:
    """The runs that one client asks for, and its tools.

    Args:
        contract: the contract.
        options: those of the command, of which no tool changes any.
        folder: where the reports of all runs go.

    Attributes:
        runs: the results of the last two runs that came to a verdict, as `results.json` holds them.
        causes_shown: how many causes of the last one were shown.
    """

    def __init__(self, contract: Contract, options: McpOptions, folder: Path) -> None:
        self._contract, self._options, self._folder = contract, options, folder
        self._is_free = anyio.Lock()  # runs of one account would disturb each other
        self._run_count = 0
        self.runs: list[dict[str, Any]] = []
        self.causes_shown = 0

    async def judge(  # noqa: PLR0913, PLR0917 - keywords, to all who use it
        self,
        context: Context[Any, Any],
        base_url: Annotated[str, Field(description="where the API answers, such as http://127.0.0.1:8000")] = "",
        resources: Annotated[list[str] | None, Field(description='such as ["domains"] [default: all]')] = None,
        rules: Annotated[list[str] | None, Field(description='or patterns: ["pagination.*"] [default: all]')] = None,
        explore: Annotated[
            int | None, Field(ge=0, le=MAX_EXPLORED, description="generated requests, some hundreds if left out")
        ] = None,
        overlap: Annotated[
            int, Field(ge=0, le=MAX_ROUNDS, description="rounds of overlapping requests: 2 are quick")
        ] = 0,
    ) -> str:
        """Judge a server: the verdict, the cause to fix first with its evidence, and what else there is.

        It creates records of its own and removes them. With resources or rules chosen, the verdict is only partial. A
        verdict names what was not judged, such as overlapping requests.
        """
        url = self._allowed(base_url)
        async with self._is_free:
            self._run_count += 1
            folder = self._folder / f"run-{os.getpid()}-{self._run_count}"
            run_options = [
                f"--base-url={url}",
                f"--resources={','.join(resources or ())}",
                f"--rules={','.join(rules or ())}",
            ]
            run_options += [] if explore is None else [f"--explore={explore}"]
            run_options += [f"--overlap={overlap}", f"--report-dir={folder}", "--quiet"]
            arguments = ["run", f"--deadline={MAX_RUN_TIME}", *self._options.arguments, *run_options]
            status, complaint = await carried_out("contract_tests", arguments, context)
            document = results.read(folder / results.FILE) if (folder / results.FILE).exists() else {"status": None}
            if status in (UsageError.status, NothingSelectedError.status):
                raise UsageError(complaint)
            if document["status"] != status:  # there is none, or it was written before the run broke off
                raise UsageError(answer(verdict=None, exit_status=status, **{QUOTED: complaint}))
            self.runs = [*self.runs[-1:], document | {"run": self._run_count, "folder": str(folder)}]
            self.causes_shown = 1
        return self._summary()

    def _allowed(self, text: str) -> str:
        """The base URL that a tool names, or the one that the command was started with."""
        options = self._options
        url = checked_url(text) if text or not options.base_url else options.base_url
        if options.base_url and url != options.base_url:
            raise UsageError(f"this was started for {options.base_url} alone; leave base_url out")
        if not (is_loopback(url) or options.base_url or options.allow_writes or options.read_only):
            raise UsageError(
                f"{url} is not this machine, and a run would send it the account's key. No tool can allow that."
                " Ask the user to start `contract-tests mcp` with --allow-writes or --read-only;"
                " with --base-url, they allow that URL alone"
            )
        return url

    def next_finding(
        self, rule: Annotated[str, Field(description="show all that was found about this rule instead")] = ""
    ) -> str:
        """The next cause of failures in the last run, or all that was found about one rule."""
        last = self._last
        if rule:
            rows = [result for result in last["results"] if result["rule"] == rule]
            if not rows:
                raise UsageError(f'the last run judged no rule "{rule}"; `explain` finds rules by patterns')
            return answer(rule=rule, required=rows[0]["statement"], results=[_result(result) for result in rows])
        causes = groups(last["results"])
        if self.causes_shown >= len(causes):
            self.causes_shown = 0
            return answer(finding=None, causes=len(causes), then="no more; the next call begins again")
        self.causes_shown += 1
        return answer(number=self.causes_shown, causes=len(causes), finding=_cause(causes[self.causes_shown - 1]))

    def explain(
        self, name: Annotated[str, Field(description="a rule, an open point, a statement's number, or pagination.*")]
    ) -> str:
        """What a rule or a statement of the specification asks for; or the rules that a pattern matches."""
        return cut(text_about(self._contract, name), f"\n... cut; areas are {', '.join(areas(self._contract))}")

    def script(self, rule: Annotated[str, Field(description="a rule that failed in the last run")]) -> str:
        """A shell script that shows one failure of the last run: it ends with 1 if broken, 0 if fixed, else 125.

        Scripts of overlapping requests (`concurrency.*`) always end with 125.
        """
        last = self._last
        path = Path(last["folder"]) / file_of(rule)
        failed = [result["rule"] for result in last["results"] if result["verdict"] in VIOLATED]
        if rule not in failed or not path.exists():
            failed_rules = ", ".join(dict.fromkeys(failed)) or "none"
            raise UsageError(f'the last run has no script for "{rule}"; rules that failed: {failed_rules}')
        keys = "CONTRACT_API_KEY=... CONTRACT_SECOND_API_KEY=..."
        head = answer(run=f"{keys} sh {path}", statuses={0: "fixed", 1: "broken", 125: "neither"})
        steps = BOILERPLATE.sub("# ...\n", path.read_text("utf-8"))
        quotes = [f"| {printable(line)}" for line in steps.splitlines()]
        return cut(
            "\n".join([head, f"{QUOTED}, each line after a bar:", *quotes]), "\n| ... cut; the file has all of it"
        )

    def compare(self) -> str:
        """What is better and what is worse in the last run than in the one before."""
        if len(self.runs) < 2:  # noqa: PLR2004 - two are compared
            raise UsageError(f"two runs are compared, and {len(self.runs)} came to a verdict; judge again first")
        before, now = self.runs[-2:]
        change = Regression.of(before, now)
        warned = [
            {results.name_of(result) for result in run["results"] if result["verdict"] == Verdict.WARN}
            for run in (before, now)
        ]
        return answer(
            verdicts=[run["verdict"] for run in (before, now)],
            worse=tuple(change.worsened.values()),
            better=tuple(change.improved.values()),
            new_warnings=sorted(warned[1] - warned[0]),
            gone_warnings=sorted(warned[0] - warned[1]),
            judged_now_alone=len(change.new),
            judged_then_alone=len(change.removed),
        )

    @property
    def _last(self) -> dict[str, Any]:
        if not self.runs:
            raise UsageError("nothing came to a verdict yet; call judge first")
        return self.runs[-1]

    def _summary(self) -> str:
        run, before = self._last, self.runs[-2] if len(self.runs) > 1 else {"notes": []}
        causes = groups(run["results"])
        failed = sum(result["verdict"] == Verdict.FAIL for result in run["results"])
        unjudged = undecided(run["results"], causes)
        return answer(
            verdict=run["verdict"],
            counts={
                "run": run["run"],
                "requests": run["requests"],
                "answers that were a 5xx": run["server_errors"],
                "seconds": run["seconds"],
                "checks": len(run["results"]),
                "failed": failed,
                "causes": len(causes),
                "not judged": sum(map(len, unjudged.values())),
            },
            **({"left_behind": len(run["left"]), "such as": {QUOTED: run["left"][:MAX_LISTED]}} if run["left"] else {}),
            fix_this_first=_cause(causes[0]) if causes else None,
            then=[_brief(group) for group in causes[1:]],
            not_judged=[
                {
                    "checks": len(checks),
                    "such as": list(map(results.name_of, checks[:MAX_LISTED])),
                    QUOTED: {
                        "why": reason,
                        "seemed broken": [_quotes(finding) for finding in checks[0]["findings"][:1]],
                    },
                }
                for reason, checks in unjudged.items()
            ],
            notes={QUOTED: [note for note in run["notes"] if not causes or note not in before["notes"]]},
            more="next_finding for the next cause, or for any rule, even one that was not judged; script for a failure"
            f" alone; a person opens {run['folder']}/report.html",
        )


def _resource_names(group: CauseGroup) -> list[str]:
    return [result["kind"] for result in group.results]


def _brief(group: CauseGroup) -> dict[str, Any]:
    first = group.results[0]
    quotes = {name: first["findings"][0][name] for name in ("sent", "received")}
    return {"rule": group.rule, "verdict": first["verdict"], "resources": _resource_names(group), QUOTED: quotes}


def _cause(group: CauseGroup) -> dict[str, Any]:
    """A cause with its first finding, and the names of what follows from it."""
    first = group.results[0]
    further_count = sum(len(result["findings"]) + result["further_findings"] for result in group.results) - 1
    return {
        "rule": group.rule,
        "verdict": first["verdict"],
        "resources": _resource_names(group),
        "required": first["statement"],
        "source": results.source_of(first),
        QUOTED: _quotes(first["findings"][0]),
        "further_findings": further_count,
        "follows": list(dict.fromkeys(result["rule"] for result in group.follows)),
    }


def _quotes(finding: Mapping[str, Any]) -> dict[str, str]:
    return dict(results.rows_of(finding)) | ({"repeat": finding["repeat"]} if finding["repeat"] else {})


def _result(result: Mapping[str, Any]) -> dict[str, Any]:
    """All that is known of a rule for one resource."""
    findings = [_quotes(finding) for finding in result["findings"][:MAX_FINDINGS]]
    further_count = len(result["findings"]) + result["further_findings"] - len(findings)
    quotes = {"reasons": result["reasons"], "findings": findings}
    return {"resource": result["kind"], "verdict": result["verdict"], "further_findings": further_count, QUOTED: quotes}
